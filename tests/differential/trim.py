"""Cuts a LocalCluster's log down to what a worker's has: `python trim.py LOGS... > worker.log`, oldest file first.

What Nimbus, the supervisors, ZooKeeper and the worker say at the start names the machine and is left out.
"""

import gzip
import re
import sys
from pathlib import Path

STAMPED = re.compile(
    r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (?P<worker>\S+) |\d+ +\[.*?\] [A-Z]+ +(?P<local>\S+) - )"
)
KEPT = re.compile(
    r"(?:o\.a|b)\.s\.(?:d\.(?:executor|task|Task|acker|Acker)|e\.\S+)|(?:M\.|MisuseTopology)\S*"
)


def main() -> None:
    """Writes the lines of Storm's executors and of the topology, and what continues them."""
    kept = False
    for path in map(Path, sys.argv[1:]):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        for line in text.splitlines(keepends=True):
            if begun := STAMPED.match(line):
                kept = bool(KEPT.fullmatch(begun["worker"] or begun["local"]))
            if kept:
                sys.stdout.write(line)


main()
