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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings, nearest
from ackdoctor.lint.discover import language_of
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
from ackdoctor.rulebook import UNUSED_IGNORE, Words, words

__all__ = ["Selection", "Suppressed", "compare_report", "filter_report", "select", "suppress"]


if TYPE_CHECKING:
    from ackdoctor.frontends.java.syntax import Annotation


class Suppressed(NamedTuple):
    """The findings to report, ACK901 included, how many findings comments silenced, and files whose comments are unknown."""

    kept: tuple[Finding, ...]
    suppressed: int
    unread: tuple[Unreadable, ...] = ()


# ---- reading comments ----


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Directive:
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
_IN_JAVA = re.compile(_DIRECTIVE.format(mark=r"//|/?\*+"))


def _directives(language: str, data: bytes) -> list[_Directive]:
    """Return the directives of a file, in order."""
    found: list[_Directive] = []
    if language == "java":
        from ackdoctor.frontends.java.syntax import comments_of

        comments, annotations = comments_of(data)
        for comment in comments:
            found += _of_comment(comment, _IN_JAVA, "`// ackdoctor: ignore[ACK101] reason`", top="class")
        found += (_of_annotation(each) for each in annotations if each.text.startswith(_JAVA_PREFIX))
        return sorted(found, key=lambda directive: directive.span)
    from ackdoctor.frontends.python.source import comments_of as python_comments
    from ackdoctor.frontends.python.source import decode

    text = decode("", data)
    for comment in python_comments(text) if isinstance(text, str) else ():
        found += _of_comment(comment, _IN_PYTHON, "`# ackdoctor: ignore[ACK101] reason`", top="statement")
    return found


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


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Ignore:
    """One well-formed comment: the codes that it silences, and in which lines."""

    site: Site
    written: str
    codes: tuple[str, ...]
    first: int
    last: int

    def silences(self, finding: Finding) -> bool:
        return finding.code in self.codes and self.first <= finding.site.span.line <= self.last


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
    ran = frozenset(rules if active is None else active)
    ignores: list[_Ignore] = []
    complaints: list[Finding] = []
    unread: list[Unreadable] = []
    for path in sorted(path for path, data in sources.items() if MARK in data.replace(b"\0", b"")):
        try:
            directives = _directives(language_of(path).name, sources[path])
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
    if UNUSED_IGNORE not in ran:
        return Suppressed(tuple(kept), suppressed, tuple(unread))
    sure = [ignore for ignore in ignores if ignore.site.path not in unsure]
    complaints = _worst_each([*_unused(sure, used, ran), *complaints])
    complaints.sort(key=lambda complaint: (complaint.site.path, complaint.site.span, complaint.cause))
    kept_complaints = _without_silenced(complaints, by_path, used)
    suppressed += len(complaints) - len(kept_complaints)
    return Suppressed((*kept, *kept_complaints), suppressed, tuple(unread))


def _without_silenced(
    findings: Iterable[Finding], by_path: Mapping[str, Sequence[_Ignore]], used: set[tuple[_Ignore, str]]
) -> list[Finding]:
    """Return the findings that no comment silences; add each comment that silences one to `used`."""
    kept = []
    for finding in findings:
        hits = [ignore for ignore in by_path.get(finding.site.path, ()) if ignore.silences(finding)]
        used.update((ignore, finding.code) for ignore in hits)
        if not hits:
            kept.append(finding)
    return kept


def _read(
    directive: _Directive,
    path: str,
    rules: Mapping[str, str],
    ignores: list[_Ignore],
    complaints: list[Finding],
) -> None:
    """Add what a directive silences to `ignores`, and what is wrong with it to `complaints`."""
    site = Site(path, directive.span)
    word, written = directive.word, directive.written

    def complain(case: str, severity: Severity = Severity.ERROR, **values: object) -> None:
        text = words(UNUSED_IGNORE, case, written=written, example=directive.example, **values)
        complaints.append(_complaint(site, written, text, severity))

    if word not in {"ignore", "ignore-file"}:
        complain("unknown word", word=word)
        return
    if not directive.names:
        complain("no rule")
        return
    code_of = {**{code: code for code in rules}, **{name: code for code, name in rules.items()}}
    for name in directive.names:
        if name not in code_of:
            starts = any(code.startswith(name) for code in rules)
            hint = "; a comment names whole codes" if starts else nearest(name, code_of)
            complain("unknown rule", name=name, hint=hint)
    if not directive.reason:
        complain("no reason", Severity.WARNING)
    if word == "ignore-file" and not directive.at_top:
        complain("not at top", top=directive.top)
        return
    first, last = (1, 1 << 60) if word == "ignore-file" else (directive.first, directive.last)
    codes = tuple(dict.fromkeys(code_of[name] for name in directive.names if name in code_of))
    ignores.append(_Ignore(site=site, written=written, codes=codes, first=first, last=last))


def _worst_each(complaints: Iterable[Finding]) -> list[Finding]:
    """Return the worst complaint about each comment: to repair that is the first step, and may repair the rest."""
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
            text = words(UNUSED_IGNORE, "unused", written=ignore.written, which=which)
            complaints.append(_complaint(ignore.site, ignore.written, text, Severity.WARNING))
    return complaints


def _complaint(site: Site, written: str, text: Words, severity: Severity) -> Finding:
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
    )


if TYPE_CHECKING:
    from ackdoctor.lint.baseline import Baseline, Comparison, Entry
    from ackdoctor.rulebook import Rule


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
