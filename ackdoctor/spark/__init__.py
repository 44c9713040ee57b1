"""Trace analytics: DataFrame -> DataFrame, from a laptop trace to a cluster's logs."""
