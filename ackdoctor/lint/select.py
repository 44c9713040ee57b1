"""Which findings a run reports: of files that it was asked for, of selected rules, not silenced, above the thresholds.

A finding in a helper or a base class belongs to the file of the component as well: a run over one file, as editors and
pre-commit start it, reports every fault of its bolts, wherever the code is.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings
from ackdoctor.model.finding import Finding, HeapWitness, Report, TreeWitness, Unreadable, stamp

if TYPE_CHECKING:
    from ackdoctor.lint.baseline import Baseline, Comparison, Entry
    from ackdoctor.rulebook import Rule

__all__ = ["Selection", "compare_report", "filter_report", "select"]


class Selection(NamedTuple):
    """The selected findings, how many comments silenced, faults of the rulebook, and files whose comments are unknown."""

    findings: tuple[Finding, ...]
    suppressed: int
    notes: tuple[str, ...]
    unread: tuple[Unreadable, ...] = ()


def select(
    findings: Iterable[Finding],
    sources: Mapping[str, bytes],
    requested: Collection[str],
    settings: Settings,
    root: str,
    *,
    unsure: Collection[str] = (),
) -> Selection:
    """Return the findings to report, sorted by path, line, column and code.

    `sources` are the files that may hold suppression comments, by display path.  In a file that was not `requested`,
    comments silence findings and are not judged.  In the files of `unsure` there may be more findings than this run
    knows.
    """

    def belongs(finding: Finding) -> bool:
        return finding.site.path in requested or finding.home in requested

    candidates = _without_inherited(filter(belongs, findings))
    if not candidates and not sources:
        return Selection((), 0, ())
    from ackdoctor.lint.suppress import suppress  # a clean run needs neither this nor the rulebook
    from ackdoctor.rulebook import survey

    rules, errors = survey()
    active = _active_rules(rules, settings)
    unpaged = {f.code for f in candidates if f.code not in rules and settings.selects(f.code, f.name)}
    selected = [finding for finding in candidates if finding.code in active | unpaged]
    names = {code: rule.name for code, rule in rules.items()}
    kept, suppressed, unread = suppress(selected, sources, names, active=active, unsure=unsure)
    reported = [f for f in kept if belongs(f) and not _is_ignored(f, settings, root)]
    return Selection(
        tuple(sorted(reported, key=_order)), suppressed, tuple(str(error) for error in errors), unread
    )


def _active_rules(rules: Mapping[str, "Rule"], settings: Settings) -> set[str]:
    """Return the codes of the rules that run."""
    return {code for code, rule in rules.items() if settings.selects(code, rule.name, default=rule.default)}


def filter_report(report: Report, settings: Settings, comparison: "Comparison | None") -> Report:
    """Return the report with its findings stamped, without those of the baseline and those below the thresholds."""
    if comparison is None:
        findings = stamp(report.findings)
    else:
        findings = comparison.new
        report = replace(
            report, baselined=len(comparison.known), fixed=tuple(str(entry) for entry in comparison.fixed)
        )
    reported = tuple(
        finding
        for finding in findings
        if finding.severity >= settings.min_severity and finding.confidence >= settings.min_confidence
    )
    return replace(report, findings=reported, hidden=report.hidden + len(findings) - len(reported))


def compare_report(report: Report, settings: Settings, baseline: "Baseline", *, root: Path) -> "Comparison":
    """Compare the report's findings, stamped, with the baseline.  `root` is where the report's paths start."""
    from ackdoctor.lint.baseline import compare  # most runs have no baseline
    from ackdoctor.rulebook import survey

    rules, _ = survey()
    active = _active_rules(rules, settings)
    read_files = {_absolute(root / path) for path in report.files}
    unread = {_absolute(root / unreadable.path) for unreadable in report.unreadable}

    def place_of(entry: "Entry") -> str:
        return _absolute(baseline.file.absolute().parent / entry.path)

    def gone(entry: "Entry") -> bool:
        return not os.path.exists(place_of(entry))

    def checked(entry: "Entry") -> bool:
        place = place_of(entry)
        ran = entry.code in active or entry.code not in rules
        return ran and place not in unread and (place in read_files or gone(entry))

    return compare(baseline, stamp(report.findings), root=root, checked=checked, gone=gone)


def _absolute(path: Path) -> str:
    return os.path.normpath(path.absolute())


def _without_inherited(findings: Iterable[Finding]) -> list[Finding]:
    """Return one of the findings that several components inherit from one place in their base class.

    A finding of a trace or a heap may have no place in the code, so each component and cause has its own.
    """
    found: dict[tuple[object, ...], Finding] = {}
    for finding in sorted(findings, key=_order):
        observed = isinstance(finding.evidence, TreeWitness | HeapWitness)
        own = (finding.component, finding.cause) if observed else ()
        found.setdefault((finding.code, finding.site, *own), finding)
    return list(found.values())


def _order(finding: Finding) -> tuple[object, ...]:
    return (
        finding.site.path,
        *finding.site.span[:2],
        finding.code,
        -finding.confidence,
        finding.component,
        finding.message,
    )


def _is_ignored(finding: Finding, settings: Settings, root: str) -> bool:
    """Whether per-file-ignores, whose globs start at the settings file, silence the finding."""
    if not settings.per_file_ignores:
        return False
    directory = os.path.abspath(settings.directory or root)
    path = os.path.relpath(os.path.join(root, finding.site.path), directory)
    return settings.ignores(path.replace(os.sep, "/"), finding.code, finding.name)
