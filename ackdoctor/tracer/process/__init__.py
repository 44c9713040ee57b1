"""Whole processes: `trace run` and `trace proxy`."""
