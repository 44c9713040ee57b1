"""Messages of a real acker and a real spout, read from their log without Spark."""

import gzip
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import Row

ANSWER = re.compile(r"Emitting direct: \d+; __acker __ack_(ack|fail) \[(-?\d+)")
_KINDS = {"acked": "ack", "failed": "fail"}


def text_of(files: Iterable[str]) -> str:
    """Return the text of some files."""
    return "".join(
        (gzip.decompress(data) if path.endswith(".gz") else data).decode()
        for path, data in ((path, Path(path).read_bytes()) for path in files)
    )


def answers(text: str) -> Counter[tuple[str, int]]:
    """Count the answers of the acker to spouts, by kind and root."""
    return Counter((kind, int(root)) for kind, root in ANSWER.findall(text))


def replayed(entries: Iterable[Row]) -> Counter[tuple[str, int]]:
    """Count the answers in ENTRIES, by kind and root."""
    return Counter((_KINDS[row["outcome"]], row["root"]) for row in entries if row["outcome"] in _KINDS)


def spout_calls(text: str) -> list[tuple[str, str]]:
    """Return the calls of ack() and fail() on the spout."""
    calls = (line.split("\t") for line in text.splitlines())
    return [(kind, message) for kind, message in calls if kind != "pending"]
