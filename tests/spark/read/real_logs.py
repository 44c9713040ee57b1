"""What a real acker and a real spout said, read from their log without Spark."""

import gzip
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import Row

ANSWER = re.compile(r"Emitting direct: \d+; __acker __ack_(ack|fail) \[(-?\d+)")
_KINDS = {"acked": "ack", "failed": "fail"}


def text_of(files: Iterable[str]) -> str:
    """The lines of some files, as they are."""
    return "".join(
        (gzip.decompress(data) if path.endswith(".gz") else data).decode()
        for path, data in ((path, Path(path).read_bytes()) for path in files)
    )


def answers(text: str) -> Counter[tuple[str, int]]:
    """The acker's answers to spouts, by kind and root."""
    return Counter((kind, int(root)) for kind, root in ANSWER.findall(text))


def replayed(entries: Iterable[Row]) -> Counter[tuple[str, int]]:
    """The same of ENTRIES."""
    return Counter((_KINDS[row["outcome"]], row["root"]) for row in entries if row["outcome"] in _KINDS)


def spout_calls(text: str) -> list[tuple[str, str]]:
    """What the spout was called with."""
    calls = (line.split("\t") for line in text.splitlines())
    return [(kind, message) for kind, message in calls if kind != "pending"]
