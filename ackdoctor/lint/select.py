"""Which findings a run reports: of files that it was asked for, of selected rules, not silenced, above the thresholds.

A finding in a helper or a base class belongs to the file of the component as well: a run over one file, as editors and
pre-commit start it, reports every fault of its bolts, wherever the code is.

    self.ack(tup)  # ackdoctor: ignore[ACK103] the broker counts per item

silences double-ack on the statement that the comment is in; a comment alone on its line silences the next statement.
`ackdoctor: ignore-file[...] reason` at the top silences a whole file, and `@SuppressWarnings("ackdoctor:ACK103 reason")`
a declaration in Java.  Codes and names both work.  A comment without a rule does nothing; a comment without a reason,
or one that silences nothing, is a finding itself (ACK901).
"""

import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings, exactness, nearest
from ackdoctor.lint.discover import is_text, language_of, matches_glob
from ackdoctor.lint.files import MARK
from ackdoctor.model.finding import (
    Confidence,
    Finding,
    HeapWitness,
    PathWitness,
    Report,
    Severity,
    TreeWitness,
    Unreadable,
    stamp,
)
from ackdoctor.model.source import Comment, Site, Span

if TYPE_CHECKING:
    from ackdoctor.frontends.java.syntax import Annotation
    from ackdoctor.lint.baseline import Comparison


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
    from ackdoctor.rulebook import survey  # a clean run does not need it

    rules, errors = survey()
    active = {code for code, rule in rules.items() if settings.selects(code, rule.name, default=rule.default)}
    unpaged = {f.code for f in candidates if f.code not in rules and settings.selects(f.code, f.name)}
    shown = active | unpaged
    selected = [f for f in candidates if f.code in shown and f.repaired_by not in shown]
    names = {code: rule.name for code, rule in rules.items()}
    kept, suppressed, unread = suppress(selected, sources, names, active=active, unsure=unsure)
    reported = [f for f in kept if belongs(f) and not _is_ignored(f, settings, root)]
    return Selection(
        tuple(sorted(reported, key=_order)), suppressed, tuple(str(error) for error in errors), unread
    )


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
    place = (finding.site.path, *finding.site.span[:2], finding.code)
    return (*place, -finding.confidence, finding.component, finding.message)


def _is_ignored(finding: Finding, settings: Settings, root: str) -> bool:
    """Whether per-file-ignores, whose globs start at the settings file, silence the finding."""
    if not settings.per_file_ignores:
        return False
    directory = os.path.abspath(settings.directory or root)
    path = os.path.relpath(os.path.join(root, finding.site.path), directory).replace(os.sep, "/")
    return any(
        matches_glob(path, glob) and exactness(selectors, finding.code, finding.name)
        for glob, selectors in settings.per_file_ignores.items()
    )


def filter_report(report: Report, settings: Settings, comparison: "Comparison | None") -> Report:
    """Return the report with its findings stamped, without those of the baseline and those below the thresholds."""
    if comparison is None:
        findings = stamp(report.findings)
    else:
        findings = comparison.new
        fixed = tuple(str(entry) for entry in comparison.fixed)
        report = replace(report, baselined=len(comparison.known), fixed=fixed)
    reported = tuple(
        finding
        for finding in findings
        if finding.severity >= settings.min_severity and finding.confidence >= settings.min_confidence
    )
    return replace(report, findings=reported, hidden=report.hidden + len(findings) - len(reported))


# ---- reading comments ----

_MAX_FILES = 256  # whose comments are remembered


class _Directive(NamedTuple):
    """One request to silence rules; `first` to `last` are the lines that it describes.

    `word` is "ignore", "ignore-file", or what else the author wrote.  `written` is how messages quote it, `example` how
    to write one, `top` what an ignore-file must be above.
    """

    span: Span
    word: str
    names: tuple[str, ...]
    reason: str
    written: str
    example: str
    first: int
    last: int
    at_top: bool = False
    top: str = ""


_JAVA_PREFIX = "ackdoctor:"
_DIRECTIVE = (
    r"(?:{mark})\s*ackdoctor:\s*(?P<word>[\w-]*)(?:\s*\[(?P<rules>[^\]]*)\])?"
    r"(?P<reason>.*?)(?=\s+(?:{mark})(?:\s|ackdoctor:)|\s*$)"
)
_IN_PYTHON = re.compile(_DIRECTIVE.format(mark="#"))
_IN_TEXT = re.compile(_DIRECTIVE.format(mark="#|;+"))
_TEXT_COMMENT = re.compile(r"(?:^|\s)([#;].*ackdoctor:.*)")
_IN_JAVA = re.compile(_DIRECTIVE.format(mark=r"//|/?\*+"))


@lru_cache(_MAX_FILES)
def _directives(path: str, data: bytes) -> tuple[_Directive, ...]:
    """Return the directives of a file, in order; topologies and the report ask for the same files."""
    found: list[_Directive] = []
    if is_text(path):
        for comment in _text_comments(data):
            found += _of_comment(comment, _IN_TEXT, "`# ackdoctor: ignore[ACK501] reason`", top="line")
        return tuple(found)
    if language_of(path).name == "java":
        from ackdoctor.frontends.java.syntax import comments_of

        comments, annotations = comments_of(data)
        for comment in comments:
            found += _of_comment(comment, _IN_JAVA, "`// ackdoctor: ignore[ACK101] reason`", top="class")
        found += (_of_annotation(each) for each in annotations if each.text.startswith(_JAVA_PREFIX))
        return tuple(sorted(found, key=lambda directive: directive.span))
    from ackdoctor.frontends.python.source import comments_of as python_comments
    from ackdoctor.frontends.python.source import decode

    text = decode("", data)
    for comment in python_comments(text) if isinstance(text, str) else ():
        found += _of_comment(comment, _IN_PYTHON, "`# ackdoctor: ignore[ACK101] reason`", top="statement")
    return tuple(found)


def _text_comments(data: bytes) -> Iterator[Comment]:
    """Yield the comments of a YAML, Clojure or properties file that may hold directives.

    Behind a value a comment describes its own line, on a line of its own the next line that is neither blank nor comment.
    """
    lines = data.decode("utf-8", "replace").splitlines()
    code = [number for number, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] not in "#;"]
    for number, line in enumerate(lines, 1):
        if found := _TEXT_COMMENT.search(line):
            place = bisect_left(code, number)
            described = code[place] if place < len(code) else number
            first = found.start(1)
            yield Comment(
                line=number,
                column=first + 1,
                text=found[1],
                at_top=not code or number < code[0],
                first=described,
                last=described,
            )


def _of_comment(
    comment: Comment, pattern: re.Pattern[str], example: str, *, top: str
) -> Iterator[_Directive]:
    """Yield the directives in a comment; a reason ends at the next comment mark."""
    for found in pattern.finditer(comment.text):
        word = found["word"]
        names = tuple(name.strip() for name in (found["rules"] or "").split(",") if name.strip())
        start, end = (comment.column + place for place in found.span())
        yield _Directive(
            span=Span(comment.line, start, comment.line, end),
            word=word,
            names=names,
            reason=found["reason"].strip(" \t-:"),
            written=f"{word}[{', '.join(names)}]" if names else f"ackdoctor: {word}",
            example=example,
            first=comment.first,
            last=comment.last,
            at_top=comment.at_top,
            top=top,
        )


def _of_annotation(annotation: "Annotation") -> _Directive:
    rule, _, reason = annotation.text.removeprefix(_JAVA_PREFIX).strip().partition(" ")
    return _Directive(
        span=annotation.span,
        word="ignore",
        names=(rule,) if rule else (),
        reason=reason.strip(" \t-:") or annotation.beside.strip(" \t/*"),
        written=f'@SuppressWarnings("{_JAVA_PREFIX}{rule}")',
        example='`@SuppressWarnings("ackdoctor:ACK101 reason")`',
        first=annotation.first,
        last=annotation.last,
    )


# ---- applying them ----


class Suppressed(NamedTuple):
    """The findings to report, ACK901 included, how many findings comments silenced, and files whose comments are unknown."""

    kept: tuple[Finding, ...]
    suppressed: int
    unread: tuple[Unreadable, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class _Ignore:
    """One well-formed comment: the codes that it silences, in which lines, and those of a finding that it silenced."""

    site: Site
    written: str
    codes: tuple[str, ...]
    first: int
    last: int
    used: set[str]


def suppress(
    findings: Sequence[Finding],
    sources: Mapping[str, bytes],
    rules: Mapping[str, str],
    *,
    active: Collection[str] | None = None,
    unsure: Collection[str] = (),
) -> Suppressed:
    """Remove the findings that comments silence, and add the findings about the comments.

    `sources` are the files that were read, by the path that findings have; `rules` maps every code to its name;
    `active` are the codes that ran (None: all).  A comment is unused only if its code ran and its file is not in
    `unsure`, where there may be more findings than this run knows.  The order is kept; the findings about comments come
    last, by file and line.
    """
    from ackdoctor.rulebook import UNUSED_IGNORE

    ran = frozenset(rules if active is None else active)
    ignores: dict[str, list[_Ignore]] = {}
    complaints: list[Finding] = []
    unread: list[Unreadable] = []
    for path in sorted(path for path, data in sources.items() if MARK in data.replace(b"\0", b"")):
        try:
            directives = _directives(path, sources[path])
        except Exception as error:  # noqa: BLE001  # the other files go on
            unread.append(Unreadable.crash(path, error, where="its comments", partial=True))
            continue
        for directive in directives:
            site = Site(path, directive.span)
            complaints += _faults(directive, site, rules)
            ignores.setdefault(path, []).extend(_ignore(directive, site, rules))
    kept = [finding for finding in findings if not _silence(finding, ignores)]
    suppressed = len(findings) - len(kept)
    if UNUSED_IGNORE in ran:
        sure = (ignore for path, group in ignores.items() if path not in unsure for ignore in group)
        judged = _worst_each((*_unused(sure, ran - {UNUSED_IGNORE}), *complaints))
        reported = [complaint for complaint in judged if not _silence(complaint, ignores)]
        kept += reported
        suppressed += len(judged) - len(reported)
    return Suppressed(tuple(kept), suppressed, tuple(unread))


def silenced(findings: Sequence[Finding], sources: Mapping[str, bytes]) -> frozenset[tuple[str, int, str]]:
    """Return file, line and rule of the findings that comments silence."""
    if not sources:
        return frozenset()
    from ackdoctor.rulebook import survey

    kept = set(
        map(id, suppress(findings, sources, {code: rule.name for code, rule in survey()[0].items()}).kept)
    )
    return frozenset((f.site.path, f.site.span.line, f.code) for f in findings if id(f) not in kept)


def _silence(finding: Finding, ignores: Mapping[str, Sequence[_Ignore]]) -> bool:
    """Whether a comment silences a finding; each one that does is marked as used."""
    line = finding.site.span.line
    hits = [
        ignore
        for ignore in ignores.get(finding.site.path, ())
        if finding.code in ignore.codes and ignore.first <= line <= ignore.last
    ]
    for ignore in hits:
        ignore.used.add(finding.code)
    return bool(hits)


def _codes(rules: Mapping[str, str]) -> Mapping[str, str]:
    """Map every code and name to its code."""
    return {**{code: code for code in rules}, **{name: code for code, name in rules.items()}}


def _ignore(directive: _Directive, site: Site, rules: Mapping[str, str]) -> Iterator[_Ignore]:
    """Yield what a well-formed directive silences."""
    whole = directive.word == "ignore-file"
    if (directive.word == "ignore" or (whole and directive.at_top)) and directive.names:
        code_of = _codes(rules)
        first, last = (1, 1 << 60) if whole else (directive.first, directive.last)
        codes = tuple(dict.fromkeys(code_of[name] for name in directive.names if name in code_of))
        yield _Ignore(site=site, written=directive.written, codes=codes, first=first, last=last, used=set())


def _faults(directive: _Directive, site: Site, rules: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with a directive, whether it silences anything or not."""
    complain = partial(_complaint, site, directive.written, example=directive.example)
    if directive.word not in {"ignore", "ignore-file"}:
        yield complain("unknown word", word=directive.word)
        return
    if not directive.names:
        yield complain("no rule")
        return
    code_of = _codes(rules)
    for name in directive.names:
        if name not in code_of:
            starts = any(code.startswith(name) for code in rules)
            hint = "; a comment names whole codes" if starts else nearest(name, code_of)
            yield complain("unknown rule", name=name, hint=hint)
    if not directive.reason:
        yield complain("no reason", severity=Severity.WARNING)
    if directive.word == "ignore-file" and not directive.at_top:
        yield complain("not at top", top=directive.top)


def _unused(ignores: Iterable[_Ignore], ran: Collection[str]) -> Iterator[Finding]:
    for ignore in ignores:
        idle = [code for code in ignore.codes if code in ran and code not in ignore.used]
        if idle:
            which = "" if len(idle) == len(ignore.codes) else f" for {', '.join(idle)}"
            complaint = _complaint(
                ignore.site, ignore.written, "unused", severity=Severity.WARNING, which=which
            )
            yield replace(complaint, details=() if not which else tuple(idle))


def _worst_each(complaints: Iterable[Finding]) -> list[Finding]:
    """Return the worst complaint about each comment: to repair that is the first step, and may repair the rest."""
    worst: dict[Site, Finding] = {}
    for complaint in sorted(complaints, key=lambda complaint: -complaint.severity):
        worst.setdefault(complaint.site, complaint)
    return sorted(worst.values(), key=lambda complaint: (complaint.site.path, complaint.site.span))


def _complaint(
    site: Site, written: str, case: str, *, severity: Severity = Severity.ERROR, **values: object
) -> Finding:
    from ackdoctor.rulebook import UNUSED_IGNORE, words

    text = words(UNUSED_IGNORE, case, written=written, **values)
    return Finding(
        code=UNUSED_IGNORE,
        name="unused-ignore",
        severity=severity,
        confidence=Confidence.MUST,
        site=site,
        message=text.message,
        component="",
        handler="",
        dialect="",
        evidence=PathWitness(steps=()),
        cause=f"{text.case}|{written}",
        help=text.help,
        case=text.case,
    )
