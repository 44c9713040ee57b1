"""Trace analytics on Spark, from a laptop's trace to a cluster's logs.

    inputs, file_kinds -> events (log_lines, logs) -> replay -> verdicts, roots, deliveries -> judge, causes -> tables

`analysis.analyze` is the entrance; `watch` follows a trace that grows, by `certain`.  `schema` has the columns of every
table; `inputs` and `tables` need no pyspark.
"""
