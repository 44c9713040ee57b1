"""When a line of a worker's log was written, and so when a log begins and ends."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

from ackdoctor.tracer.trace.worker_log import bare

__all__ = ["begun_ns", "ended_ns", "stamped_ns"]

_STAMP = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d+))?"
    r"(?: ?(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?\S* |(?P<ms>\d+) +\["
)


def stamped_ns(line: str) -> int | None:
    """When a line of a log was written, taken as UTC where it names no zone; None if it has no stamp."""
    if (stamp := _STAMP.match(bare(line))) is None:
        return None
    if stamp["ms"]:
        return int(stamp["ms"]) * 1_000_000
    try:
        at = datetime.fromisoformat(f"{stamp['day']} {stamp['time']}").replace(tzinfo=timezone.utc)
        if stamp["sign"]:
            ahead = timedelta(hours=int(stamp["hours"]), minutes=int(stamp["minutes"]))
            at += ahead if stamp["sign"] == "-" else -ahead
    except (ValueError, OverflowError):
        return None
    return int(at.timestamp()) * 1_000_000_000 + int((stamp["part"] or "0").ljust(3, "0")[:3]) * 1_000_000


def begun_ns(lines: Iterable[str]) -> int | None:
    """When a log of these lines begins; rotated in the middle of a stack trace, its first may have no stamp."""
    return next(filter(None, map(stamped_ns, lines)), None)


def ended_ns(lines: Sequence[str]) -> int | None:
    """When the last of these lines was written that has a stamp."""
    return begun_ns(reversed(lines))
