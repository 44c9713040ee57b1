"""Inline comments that silence a finding, and the findings about such comments (ACK901).

    self.ack(tup)  # ackdoctor: ignore[ACK103] the broker counts per item

silences double-ack on the statement it stands in, or, alone on its line, on the next statement.
`ackdoctor: ignore-file[...] reason` at the top silences a whole file.  Codes and names both serve.
A comment earns its place: without a rule it does nothing, and without a reason or an effect it is
reported itself.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import nearest
from ackdoctor.model.finding import Confidence, Finding, PathWitness, Severity
from ackdoctor.model.source import Site, Span

if TYPE_CHECKING:
    from ackdoctor.engine.comments import Comment

__all__ = ["MARK", "UNUSED_IGNORE", "Outcome", "apply"]

MARK = b"ackdoctor:"  # a file without these bytes has no such comment
UNUSED_IGNORE = "ACK901"

_DIRECTIVE = re.compile(r"#\s*ackdoctor:\s*(?P<word>[\w-]*)\s*(?:\[(?P<rules>[^\]]*)\])?(?P<reason>.*)")
_HELP = "write `# ackdoctor: ignore[ACK101] reason`"


class Outcome(NamedTuple):
    """What is left to report, ACK901 included, and how many findings comments silenced."""

    kept: tuple[Finding, ...]
    suppressed: int


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
) -> Outcome:
    """Take away what comments silence and add what is to be said about the comments.

    `sources` are the files that were read to the end, by the path their findings carry; `rules` maps every
    code to its name; `active` are the codes that ran (None: all): no other code can be called unused.
    Order is kept; the findings about comments come last, by file and line.
    """
    ran = frozenset(rules if active is None else active)
    ignores: list[_Ignore] = []
    complaints: list[Finding] = []
    for path, comment in _comments(sources):
        _read(comment, path, rules, ignores, complaints)
    by_path: dict[str, list[_Ignore]] = {}
    for ignore in ignores:
        by_path.setdefault(ignore.site.path, []).append(ignore)
    used: set[tuple[_Ignore, str]] = set()
    kept = _without_silenced(findings, by_path, used)
    suppressed = len(findings) - len(kept)
    complaints = _one_each([*_unused(ignores, used, ran), *complaints])
    if UNUSED_IGNORE not in ran:
        return Outcome(tuple(kept), suppressed)
    complaints.sort(key=lambda complaint: (complaint.site.path, complaint.site.span, complaint.cause))
    kept_complaints = _without_silenced(complaints, by_path, used)
    suppressed += len(complaints) - len(kept_complaints)
    return Outcome((*kept, *kept_complaints), suppressed)


def _comments(sources: Mapping[str, bytes]) -> Iterator[tuple[str, "Comment"]]:
    """Every comment of the files that may hold one of ours, by path and line."""
    marked = [path for path in sorted(sources) if MARK in sources[path]]
    if not marked:
        return
    from ackdoctor.engine.comments import comments_of  # most runs need no lexer
    from ackdoctor.engine.text import decode

    for path in marked:
        for comment in comments_of(decode(sources[path])):
            yield path, comment


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
    comment: "Comment",
    path: str,
    rules: Mapping[str, str],
    ignores: list[_Ignore],
    complaints: list[Finding],
) -> None:
    """One comment, into what it silences and what is wrong with it."""
    found = _DIRECTIVE.search(comment.text)
    if found is None:
        return
    word, listed, reason = found["word"], found["rules"], found["reason"].strip(" \t-:")
    start = comment.column + found.start()
    site = Site(path, Span(comment.line, start, comment.line, comment.column + len(comment.text)))
    if word not in {"ignore", "ignore-file"}:
        complaints.append(
            _complaint(
                site, f"`ackdoctor: {word}` means nothing, so it silences nothing", word, Severity.ERROR
            )
        )
        return
    names = [name.strip() for name in (listed or "").split(",") if name.strip()]
    written = f"{word}[{', '.join(names)}]"
    if not names:
        message = f"`ackdoctor: {word}` names no rule, so it silences nothing"
        complaints.append(_complaint(site, message, word, Severity.ERROR))
        return
    code_of = {**{code: code for code in rules}, **{name: code for code, name in rules.items()}}
    for name in names:
        if name not in code_of:
            starts = any(code.startswith(name) for code in rules)
            hint = "; a comment names whole codes" if starts else nearest(name, code_of)
            message = f"`{written}`: there is no rule `{name}`{hint}"
            complaints.append(_complaint(site, message, written, Severity.ERROR))
    if not reason:
        complaints.append(_complaint(site, f"`{written}` gives no reason", written))
    if word == "ignore-file" and not comment.at_top:
        message = f"`{written}` silences nothing here: it belongs above the first statement of the file"
        complaints.append(_complaint(site, message, written, Severity.ERROR))
        return
    first, last = (1, 1 << 60) if word == "ignore-file" else (comment.first, comment.last)
    codes = tuple(dict.fromkeys(code_of[name] for name in names if name in code_of))
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
            complaints.append(_complaint(ignore.site, message, ignore.written, advice="remove it"))
    return complaints


def _complaint(
    site: Site, message: str, cause: str, severity: Severity = Severity.WARNING, advice: str = _HELP
) -> Finding:
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
        cause=cause,
        help=advice,
    )
