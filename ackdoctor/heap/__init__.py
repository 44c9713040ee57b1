"""Analysis of heaps: JVM dumps, class histograms and Python snapshots, and the pending entries in them.

`dump.read_dump` reads a dump and `growth` compares histograms.  `jvm` parses the formats; `python` takes
snapshots of the current process.
"""
