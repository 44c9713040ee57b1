"""Inline comments that silence a finding, and the findings about such comments (ACK901).

    self.ack(tup)  # ackdoctor: ignore[ACK103] the broker counts per item

silences double-ack on the statement it stands in, or, alone on its line, on the next statement.
`ackdoctor: ignore-file[...] reason` at the top silences a whole file.  Codes and names both serve.
A comment earns its place: without a rule it does nothing, and without a reason or an effect it is
reported itself.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ackdoctor.config import nearest
from ackdoctor.lint.languages.directive import Directive
from ackdoctor.lint.languages.reader import language_of, reader
from ackdoctor.model.finding import Confidence, Finding, PathWitness, Severity, Unreadable
from ackdoctor.model.source import Site, Span

__all__ = ["MARK", "UNUSED_IGNORE", "Outcome", "apply"]

MARK = b"ackdoctor:"  # a file without these bytes has no such comment
UNUSED_IGNORE = "ACK901"


class Outcome(NamedTuple):
    """What is left to report, ACK901 included, how many findings comments silenced, and files whose comments are unknown."""

    kept: tuple[Finding, ...]
    suppressed: int
    unread: tuple[Unreadable, ...] = ()


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Ignore:
    """One well-formed comment: the codes it silences, and where."""

    site: Site
    written: str  # as the author wrote it, for messages
    codes: tuple[str, ...]
    first: int
    last: int

    def silences(self, finding: Finding) -> bool:
        return finding.code in self.codes and self.first <= finding.site.span.line <= self.last


def apply(
    findings: Sequence[Finding],
    sources: Mapping[str, bytes],
    rules: Mapping[str, str],
    *,
    active: Collection[str] | None = None,
    unsure: Collection[str] = (),
) -> Outcome:
    """Take away what comments silence and add what is to be said about the comments.

    `sources` are the files that were read, by the path their findings carry; `rules` maps every code to its
    name; `active` are the codes that ran (None: all): no other code can be called unused, and nothing can in a
    file in which there may be more findings (`unsure`): only a part was read, or not all who use it.
    Order is kept; the findings about comments come last, by file and line.
    """
    ran = frozenset(rules if active is None else active)
    ignores: list[_Ignore] = []
    complaints: list[Finding] = []
    unread: list[Unreadable] = []
    for path in sorted(path for path, data in sources.items() if MARK in data.replace(b"\0", b"")):
        try:
            directives = reader(language_of(path).name).directives(sources[path])
        except Exception as error:  # noqa: BLE001  # the other files go on
            unread.append(Unreadable.crash(path, error, where="its comments", partial=True))
            continue
        for directive in directives:
            _read(directive, path, rules, ignores, complaints)
    by_path: dict[str, list[_Ignore]] = {}
    for ignore in ignores:
        by_path.setdefault(ignore.site.path, []).append(ignore)
    used: set[tuple[_Ignore, str]] = set()
    kept = _without_silenced(findings, by_path, used)
    suppressed = len(findings) - len(kept)
    whole = [ignore for ignore in ignores if ignore.site.path not in unsure]
    complaints = _one_each([*_unused(whole, used, ran), *complaints])
    if UNUSED_IGNORE not in ran:
        return Outcome(tuple(kept), suppressed, tuple(unread))
    complaints.sort(key=lambda complaint: (complaint.site.path, complaint.site.span, complaint.cause))
    kept_complaints = _without_silenced(complaints, by_path, used)
    suppressed += len(complaints) - len(kept_complaints)
    return Outcome((*kept, *kept_complaints), suppressed, tuple(unread))


def _without_silenced(
    findings: Iterable[Finding], by_path: Mapping[str, Sequence[_Ignore]], used: set[tuple[_Ignore, str]]
) -> list[Finding]:
    """The findings that no comment silences; adds the comments that did their work to `used`."""
    kept = []
    for finding in findings:
        hits = [ignore for ignore in by_path.get(finding.site.path, ()) if ignore.silences(finding)]
        used.update((ignore, finding.code) for ignore in hits)
        if not hits:
            kept.append(finding)
    return kept


def _read(
    directive: Directive,
    path: str,
    rules: Mapping[str, str],
    ignores: list[_Ignore],
    complaints: list[Finding],
) -> None:
    """One directive, into what it silences and what is wrong with it."""
    site = Site(path, Span(directive.line, directive.column, directive.line, directive.end_column))
    word, written = directive.word, directive.written
    advice = f"write {directive.example}"

    def complain(message: str, severity: Severity = Severity.ERROR) -> None:
        complaints.append(_complaint(site, message, severity, advice))

    if word not in {"ignore", "ignore-file"}:
        complain(f"`ackdoctor: {word}` means nothing, so it silences nothing")
        return
    if not directive.names:
        complain(f"`{written}` names no rule, so it silences nothing")
        return
    code_of = {**{code: code for code in rules}, **{name: code for code, name in rules.items()}}
    for name in directive.names:
        if name not in code_of:
            starts = any(code.startswith(name) for code in rules)
            hint = "; a comment names whole codes" if starts else nearest(name, code_of)
            complain(f"`{written}`: there is no rule `{name}`{hint}")
    if not directive.reason:
        complain(f"`{written}` gives no reason", Severity.WARNING)
    if word == "ignore-file" and not directive.at_top:
        where = f"it belongs above the first {directive.top} of the file"
        complain(f"`{written}` silences nothing here: {where}")
        return
    first, last = (1, 1 << 60) if word == "ignore-file" else (directive.first, directive.last)
    codes = tuple(dict.fromkeys(code_of[name] for name in directive.names if name in code_of))
    ignores.append(_Ignore(site=site, written=written, codes=codes, first=first, last=last))


def _one_each(complaints: Iterable[Finding]) -> list[Finding]:
    """The worst that is to be said of each comment; mending that is the first step, and may mend the rest."""
    worst: dict[Site, Finding] = {}
    for complaint in sorted(complaints, key=lambda complaint: -complaint.severity):
        worst.setdefault(complaint.site, complaint)
    return list(worst.values())


def _unused(
    ignores: Iterable[_Ignore], used: Collection[tuple[_Ignore, str]], ran: Collection[str]
) -> list[Finding]:
    complaints = []
    for ignore in ignores:
        idle = [
            code
            for code in ignore.codes
            if code in ran and code != UNUSED_IGNORE and (ignore, code) not in used
        ]
        if idle:
            which = "" if len(idle) == len(ignore.codes) else f" for {', '.join(idle)}"
            message = f"`{ignore.written}` silences nothing{which}"
            complaints.append(_complaint(ignore.site, message, Severity.WARNING, "remove it"))
    return complaints


def _complaint(site: Site, message: str, severity: Severity, advice: str) -> Finding:
    return Finding(
        code=UNUSED_IGNORE,
        name="unused-ignore",
        severity=severity,
        confidence=Confidence.MUST,
        site=site,
        message=message,
        component="",
        handler="",
        dialect="",
        evidence=PathWitness(steps=()),
        cause=message,
        help=advice,
    )
