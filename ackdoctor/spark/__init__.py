"""Trace analytics on Spark, from a laptop's trace to a cluster's logs.

`analysis.analyze` is the entrance; `live` follows a trace that grows.  `schema` has the columns of every table.
"""
