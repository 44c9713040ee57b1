"""Heaps of Python processes: snapshots by guppy3, and what the known holders of tuples keep."""
