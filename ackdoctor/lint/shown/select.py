"""Which of the findings a run shows: those of files it was asked for, of rules that are selected, not silenced.

A finding in a helper or a base class belongs to the file of the component as well: who lints one file, as editors
and pre-commit do, hears what is wrong with its bolt wherever that stands.

The rulebook is read only when there is something to judge: a finding, or a comment that may silence one.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings
from ackdoctor.model.finding import Finding, HeapWitness, TreeWitness, Unreadable

if TYPE_CHECKING:
    from ackdoctor.rulebook import Rule

__all__ = ["Choice", "running", "select"]


class Choice(NamedTuple):
    """What is left, how many findings comments silenced, what was wrong with the rulebook, and files whose comments are unknown."""

    findings: tuple[Finding, ...]
    suppressed: int
    notes: tuple[str, ...]
    unread: tuple[Unreadable, ...] = ()


def select(
    findings: Iterable[Finding],
    sources: Mapping[str, bytes],
    asked: Collection[str],
    settings: Settings,
    root: str,
    *,
    unsure: Collection[str] = (),
) -> Choice:
    """The choice among all findings of a run, sorted by path, line, column and code.

    `sources` are the files that were read and may hold comments of ours, by shown path; in those of `unsure` there
    may be more findings than this run can know.  In a file that was not asked for comments silence, and are not judged.
    """

    def belongs(finding: Finding) -> bool:
        return finding.site.path in asked or finding.home in asked

    candidates = _once(filter(belongs, findings))
    if not candidates and not sources:
        return Choice((), 0, ())
    from ackdoctor.lint.shown.suppress import apply  # a clean run needs neither this nor the rulebook
    from ackdoctor.rulebook import survey

    rules, errors = survey()
    active = running(rules, settings)
    unpaged = {f.code for f in candidates if f.code not in rules and settings.selects(f.code, f.name)}
    selected = [finding for finding in candidates if finding.code in active | unpaged]
    names = {code: rule.name for code, rule in rules.items()}
    kept, suppressed, unread = apply(selected, sources, names, active=active, unsure=unsure)
    places = _Places(settings, root)
    return Choice(
        tuple(sorted((f for f in kept if belongs(f) and not places.ignores(f)), key=_order)),
        suppressed,
        tuple(str(error) for error in errors),
        unread,
    )


def running(rules: Mapping[str, "Rule"], settings: Settings) -> set[str]:
    """The codes of the rules that run."""
    return {code for code, rule in rules.items() if settings.selects(code, rule.name, default=rule.default)}


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Heirs inherit the faults of their bases: what several components have in common is said once.

    What a run or a heap has shown may have no place in the code, so there each component and cause stands for itself.
    """
    found: dict[tuple[object, ...], Finding] = {}
    for finding in sorted(findings, key=_order):
        own = (
            (finding.component, finding.cause)
            if isinstance(finding.evidence, TreeWitness | HeapWitness)
            else ()
        )
        found.setdefault((finding.code, finding.site, *own), finding)
    return list(found.values())


def _order(finding: Finding) -> tuple[object, ...]:
    span = finding.site.span
    return (
        finding.site.path,
        *span[:2],
        finding.code,
        -finding.confidence,
        finding.component,
        finding.message,
    )


@dataclass(slots=True, unsafe_hash=True)
class _Places:
    """Findings seen from the folder where the settings lie."""

    settings: Settings
    root: str

    def ignores(self, finding: Finding) -> bool:
        """Whether per-file-ignores silences it."""
        if not self.settings.per_file_ignores:
            return False
        directory = os.path.abspath(self.settings.directory or self.root)
        path = os.path.relpath(os.path.join(self.root, finding.site.path), directory)
        return self.settings.ignores(path.replace(os.sep, "/"), finding.code, finding.name)
