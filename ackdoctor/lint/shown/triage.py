"""What of a report is shown: fingerprints, then the baseline, then the thresholds."""

import os.path
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ackdoctor.config import Settings
from ackdoctor.model.finding import Report, stamp

if TYPE_CHECKING:
    from ackdoctor.lint.shown.baseline import Baseline, Comparison, Entry

__all__ = ["against", "triage"]


def triage(report: Report, settings: Settings, comparison: "Comparison | None") -> Report:
    """The report with its findings stamped and sifted, those of the baseline (`against`) too; every one left out is counted."""
    if comparison is None:
        findings = stamp(report.findings)
    else:
        findings = comparison.new
        report = replace(
            report, baselined=len(comparison.known), fixed=tuple(str(entry) for entry in comparison.fixed)
        )
    shown = tuple(
        finding
        for finding in findings
        if finding.severity >= settings.min_severity and finding.confidence >= settings.min_confidence
    )
    return replace(report, findings=shown, hidden=report.hidden + len(findings) - len(shown))


def against(
    report: Report,
    settings: Settings,
    baseline: "Baseline",
    *,
    root: Path,
) -> "Comparison":
    """The report's findings, stamped, beside the baseline.

    `root` is where the report's paths start.
    """
    from ackdoctor.lint.shown.baseline import compare  # most runs have none
    from ackdoctor.lint.shown.select import running
    from ackdoctor.rulebook import survey

    rules, _ = survey()
    ran = running(rules, settings)
    seen = {_absolute(root / path) for path in report.files}
    unread = {_absolute(root / unreadable.path) for unreadable in report.unreadable}

    def place_of(entry: "Entry") -> str:
        return _absolute(baseline.file.absolute().parent / entry.path)

    def gone(entry: "Entry") -> bool:
        return not os.path.exists(place_of(entry))

    def looked_at(entry: "Entry") -> bool:
        place = place_of(entry)
        asked = entry.code in ran or entry.code not in rules
        return asked and place not in unread and (place in seen or gone(entry))

    return compare(baseline, stamp(report.findings), root=root, looked_at=looked_at, gone=gone)


def _absolute(path: Path) -> str:
    return os.path.normpath(path.absolute())
