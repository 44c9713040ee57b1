"""Heaps of Python processes: guppy3 snapshots, and the containers of the components that hold tuples."""
