"""One line that says what the run came to."""

from collections import Counter
from typing import TextIO

from ackdoctor.model.finding import Report, Severity
from ackdoctor.reporters.context import Context, printable

__all__ = ["counted", "footer"]


def footer(report: Report, stream: TextIO, context: Context) -> None:
    """How much was found and looked at, and what is not shown and why."""
    paint = context.palette.paint
    severities = Counter(finding.severity for finding in report.findings)
    by_severity = ", ".join(
        paint(
            severity.word,
            counted(severities[severity], "note" if severity is Severity.INFO else severity.word),
        )
        for severity in sorted(severities, reverse=True)
    )
    found = (
        f"{counted(len(report.findings), 'finding')} ({by_severity})" if report.findings else "no findings"
    )
    looked_at = f"{counted(len(report.files), 'file')}, {counted(report.components, 'component')}"
    faults = [item for item in report.unreadable if not item.internal]
    unread = {item.path for item in faults if not item.partial}
    partly = {item.path for item in faults} - unread
    crashes = len(report.unreadable) - len(faults)
    unseen = [
        (crashes, counted(crashes, "internal error")),
        (unread, f"{counted(len(unread), 'file')} not read"),
        (partly, f"{counted(len(partly), 'file')} read in part"),
        (report.hidden, f"{report.hidden} hidden by --min-severity or --min-confidence"),
        (report.suppressed, f"{report.suppressed} suppressed by comments"),
        (report.baselined, f"{report.baselined} in the baseline"),
    ]
    parts = [f"{found} in {looked_at}", *(text for amount, text in unseen if amount)]
    stream.write(f" {context.glyphs.dot} ".join(parts) + "\n")
    stream.writelines(f"{printable(str(item))}\n" for item in report.unknown_bases)


def counted(amount: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{amount} {noun}" if amount == 1 else f"{amount:,} {noun}s"
