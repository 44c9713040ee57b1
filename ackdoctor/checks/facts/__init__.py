"""Queries that several checks share: buffers, completions, data flow, provenance and spouts."""
