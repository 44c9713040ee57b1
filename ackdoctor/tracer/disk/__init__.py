"""The trace on disk: segments, parts, reading, recovery."""
