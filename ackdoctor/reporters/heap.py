"""What a dump and histograms of a heap have in common on a screen: the verdict, and what comes with it."""

from collections.abc import Iterable
from typing import TextIO

from ackdoctor.model.finding import Finding, HeapWitness, Report
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.footer import counted
from ackdoctor.reporters.terminal import full

__all__ = ["opening", "verdict"]

_STYLES = {"BROKEN": "error", "GROWING": "warning", "INCOMPLETE": "warning", "EMPTY": "warning"}


def opening(report: Report, said: str, about: Iterable[str], stream: TextIO, context: Context) -> None:
    """The verdict, its first word in the colour of what it says; what was looked at; and the findings."""
    word, colon, rest = said.partition(":")
    stream.write(f"{context.palette.paint(_STYLES.get(word, 'label'), word)}{colon}{rest}\n")
    stream.writelines(f"  {printable(line)}\n" for line in about)
    if report.findings:
        stream.write("\n")
        full(report, stream, context)


def verdict(report: Report, volume: str) -> str:
    """What is worst of what was found, or that nothing is wrong in `volume`, "3 histograms"; no more than that."""
    if report.findings:
        worst = max(
            report.findings, key=lambda finding: (finding.severity, finding.confidence, _entries(finding))
        )
        others = len(report.findings) - 1
        more = f", and {counted(others, 'more finding')}" if others else ""
        what = worst.message.partition("; ")[0]
        return f"BROKEN: {printable(what)} ({worst.code}, {_amount(worst)}){more}"
    unseen = report.hidden + report.suppressed
    nothing = "nothing is wrong" + (f" but for {counted(unseen, 'finding')} not shown" if unseen else "")
    if report.unreadable:
        return f"INCOMPLETE: {nothing} in what could be read ({volume})"
    return f"OK: {volume}, {nothing}"


def _entries(finding: Finding) -> int:
    return finding.evidence.entries if isinstance(finding.evidence, HeapWitness) else 0


def _amount(finding: Finding) -> str:
    sample = finding.evidence.sample if isinstance(finding.evidence, HeapWitness) else None
    read = "" if sample is None else f" in a sample of {sample[0]:,}"
    return f"{_entries(finding):,} entries{read}"
