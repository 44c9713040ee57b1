"""Which findings of a run the user wants to see: those that lint's settings and comments leave; and the verdict in any format."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TextIO

from ackdoctor.cli.streams import chatter
from ackdoctor.config import Settings, find_config, load_settings
from ackdoctor.lint.select import select
from ackdoctor.model.finding import Finding, Report, Severity, stamp
from ackdoctor.reporters import Context, reporter
from ackdoctor.reporters.context import Sources, printable
from ackdoctor.rulebook.messages import UNUSED_IGNORE

__all__ = ["Shown", "settings_for", "show_with", "shown"]


class Shown(NamedTuple):
    """What is left, how many comments silenced, how many are too mild, and what was wrong with the rulebook."""

    findings: tuple[Finding, ...]
    suppressed: int
    hidden: int
    notes: tuple[str, ...]


def settings_for(*, isolated: bool, min_severity: str | None) -> Settings:
    """Those of lint, as far as they speak of findings: rules, thresholds, comments."""
    file = None if isolated else find_config(Path.cwd())
    settings = load_settings(file) if file is not None else Settings(directory=Path.cwd())
    return (
        settings if min_severity is None else replace(settings, min_severity=Severity[min_severity.upper()])
    )


def shown(findings: Iterable[Finding], settings: Settings, here: Path) -> Shown:
    """The choice; `here` is where the paths of findings start."""
    found = tuple(findings)
    paths = {finding.site.path for finding in found}
    texts = Sources(root=here)
    sources = {path: content for path in paths if (content := texts.content(path))}
    chosen = select(found, sources, paths, settings, str(here))
    notes = (*chosen.notes, *(f"{fault.path}: {fault.reason}" for fault in chosen.unread))
    heard = [finding for finding in chosen.findings if finding.code != UNUSED_IGNORE]
    kept = [finding for finding in heard if _is_shown(finding, settings)]
    return Shown(stamp(kept), chosen.suppressed, len(heard) - len(kept), notes)


def show_with(said: str, report: Report, form: str, stream: TextIO, context: Context) -> None:
    """The report in a format that lists findings, and the verdict: in the last line, a note, or on standard error.

    Without findings most formats are empty, and nobody could tell OK from the rest.
    """
    telling = not report.findings and not said.startswith("OK")
    if form == "concise":
        reporter(form)(report, stream, context)
        stream.write(f"{printable(said)}\n")
        return
    if telling and form == "sarif":
        report = replace(report, notes=(said, *report.notes))
    if telling:
        chatter(said)
    reporter(form)(report, stream, context)


def _is_shown(finding: Finding, settings: Settings) -> bool:
    return finding.severity >= settings.min_severity and finding.confidence >= settings.min_confidence
