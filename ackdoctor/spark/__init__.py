"""Trace analytics: DataFrame -> DataFrame, from a laptop trace to a cluster's logs.

The way in is `analysis.analyze`; a trace that still grows is followed by `live`.  The columns stand in `schema`.
"""
