"""How often each rule was broken."""

import json
from collections import Counter
from typing import TextIO

from ackdoctor.model.finding import Report
from ackdoctor.reporters.context import Context

__all__ = ["document", "table"]


def _counts(report: Report) -> list[tuple[int, str, str]]:
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    return sorted(
        ((count, code, name) for (code, name), count in counts.items()), key=lambda row: (-row[0], row[1])
    )


def table(report: Report, stream: TextIO, context: Context) -> None:
    """One row per rule, the most frequent first."""
    rows = _counts(report)
    width = max((len(str(count)) for count, _, _ in rows), default=0)
    stream.writelines(
        f"{count:>{width}}  {context.palette.paint('code', code)}  {name}\n" for count, code, name in rows
    )


def document(report: Report, stream: TextIO, _context: Context) -> None:
    """The same as JSON."""
    rows = [{"code": code, "name": name, "count": count} for count, code, name in _counts(report)]
    json.dump({"statistics": rows}, stream, indent=2)
    stream.write("\n")
