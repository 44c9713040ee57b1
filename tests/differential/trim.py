"""Reduce a LocalCluster's log to a worker's: `python trim.py LOGS... > worker.log`, oldest file first.

The lines of Nimbus, the supervisors, ZooKeeper and the worker's start name the machine; they are removed.
"""

import gzip
import re
import sys
from pathlib import Path

STAMPED = re.compile(
    r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (?P<worker>\S+) |\d+ +\[.*?\] [A-Z]+ +(?P<local>\S+) - )"
)
COMPONENT = re.compile(
    r"(?:o\.a|b)\.s\.(?:d\.(?:executor|task|Task|acker|Acker)|e\.\S+)|(?:M\.|MisuseTopology)\S*"
)


def main() -> None:
    """Write the lines of Storm's executors and of the topology, with their continuation lines."""
    is_kept = False
    for path in map(Path, sys.argv[1:]):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        for line in text.splitlines(keepends=True):
            if stamp := STAMPED.match(line):
                is_kept = bool(COMPONENT.fullmatch(stamp["worker"] or stamp["local"]))
            if is_kept:
                sys.stdout.write(line)


main()
