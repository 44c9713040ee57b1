"""Reads a file's bytes, for the engine."""

from ackdoctor.model.reading import read_file

__all__ = ["read_file"]
