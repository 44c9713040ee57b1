"""What a heap tells: JVM dumps and histograms, and the entries that acking has left in them.

A dump is read by `dump.read_dump`, histograms are compared by `growth`;
`jvm` knows the formats, `python` takes snapshots of this process.
"""
