"""Findings for people: each with its source and its path, or one line each.

     28 | def process(self, tup):   ╭ received   owed
     31 |     if not row:           ├ true
     32 |         return            ╰ returns    owed
        |         ^^^^^^

Source lines appear in the order of the path, without the indentation they share.  The steps of a helper method are
indented in the gutter.  A row of its own names another file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TextIO, TypeAlias

from ackdoctor.model.finding import (
    Confidence,
    Finding,
    HeapWitness,
    PathStep,
    PathWitness,
    Report,
    Severity,
    TreeWitness,
)
from ackdoctor.model.source import NOWHERE
from ackdoctor.reporters import Context, Glyphs, counted, printable

_VERDICT_STYLES = {"BROKEN": "error", "GROWING": "warning", "INCOMPLETE": "warning", "EMPTY": "warning"}
_MEGABYTE = 1_000_000
_MIN_DIGITS = 5  # of line numbers, so that the frames of one report are aligned
_MAX_SOURCE_WIDTH = 68
_TAB_WIDTH = 4
_MAX_STEPS = 24  # the middle of a longer path is folded

_Place: TypeAlias = tuple[str, int]  # path and line


def full(report: Report, stream: TextIO, context: Context) -> None:
    """Write each finding with its source, its path and its help."""
    for finding in report.findings:
        stream.writelines(f"{line.rstrip()}\n" for line in _finding(finding, context))
        stream.write("\n")


def concise(report: Report, stream: TextIO, context: Context) -> None:
    """Write `path:line:column: CODE name message` for each finding."""
    stream.writelines(one_line(finding, context) + "\n" for finding in report.findings)


def files(report: Report, stream: TextIO, _context: Context) -> None:
    """Write the paths of the analysed files."""
    stream.writelines(f"{printable(path)}\n" for path in report.files)


def statistics(report: Report, stream: TextIO, context: Context) -> None:
    """Write how many findings each rule has, the most frequent rule first."""
    from ackdoctor.reporters.tables import grid

    rows = [(str(count), code, name) for count, code, name in rule_counts(report)]
    stream.write(grid(rows, context, right=0, bold=1))


def rule_counts(report: Report) -> list[tuple[int, str, str]]:
    """Return the number of findings, code and name of each rule, the most frequent rule first."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    return sorted(
        ((count, code, name) for (code, name), count in counts.items()), key=lambda row: (-row[0], row[1])
    )


def summary(report: Report, stream: TextIO, context: Context) -> None:
    """Write how much was found and analysed, and what is hidden, on one line."""
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
    volume = f"{counted(len(report.files), 'file')}, {counted(report.components, 'component')}"
    faults = [item for item in report.unreadable if not item.internal]
    unread = {item.path for item in faults if not item.partial}
    partly = {item.path for item in faults} - unread
    crashes = len(report.unreadable) - len(faults)
    amounts = [
        (crashes, counted(crashes, "internal error")),
        (len(unread), f"{counted(len(unread), 'file')} not read"),
        (len(partly), f"{counted(len(partly), 'file')} read in part"),
        (report.hidden, f"{report.hidden} hidden by --min-severity or --min-confidence"),
        (report.suppressed, f"{report.suppressed} suppressed by comments"),
        (report.baselined, f"{report.baselined} in the baseline"),
    ]
    parts = [f"{found} in {volume}", *(text for amount, text in amounts if amount)]
    stream.write(f" {context.glyphs.dot} ".join(parts) + "\n")
    stream.writelines(f"{printable(str(item))}\n" for item in report.unknown_bases)


def headline(verdict: str, context: Context) -> str:
    """Return a verdict with its first word in the colour of its severity."""
    word, colon, rest = verdict.partition(":")
    return f"{context.palette.paint(_VERDICT_STYLES.get(word, 'label'), word)}{colon}{rest}\n"


def nothing_wrong(report: Report) -> str:
    """Return `nothing is wrong`, with the number of findings that are not shown."""
    hidden = report.hidden + report.suppressed
    return "nothing is wrong" + (f" except {counted(hidden, 'hidden finding')}" if hidden else "")


def more_findings(report: Report) -> str:
    """Return `, and 2 more findings`; '' for a single finding."""
    others = len(report.findings) - 1
    return f", and {counted(others, 'more finding')}" if others else ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity, then by how often the run shows them."""
    return sorted(findings, key=lambda finding: (-finding.severity, -finding.seen))


def finding_place(finding: Finding) -> str:
    """Return `path:line`, or the path of a finding outside source code."""
    site = finding.site
    return f"{site.path}:{site.span.line}" if site.span != NOWHERE else site.path


def one_line(finding: Finding, context: Context) -> str:
    """Return the finding as editors and `grep` read it."""
    paint = context.palette.paint
    where = paint("path", printable(str(finding.site)))
    rule = f"{paint('code', finding.code)} {finding.name}"
    return f"{where}: {rule}{_may(finding, context)} {printable(finding.message)}"


def _may(finding: Finding, context: Context) -> str:
    return context.palette.paint("faint", " (may)") if finding.confidence is Confidence.MAY else ""


def _finding(finding: Finding, context: Context) -> Iterator[str]:
    paint = context.palette.paint
    severity = paint(finding.severity.word, finding.severity.word)
    where = paint("path", printable(str(finding.site)))
    name = f"{paint('code', finding.code)} {finding.name}{_may(finding, context)}"
    yield f"{where}  {severity} {name}  {printable(finding.message)}"
    yield from _aligned(_frame(finding, context), context)
    margin = " " * _MIN_DIGITS
    for label, text in evidence_notes(finding.evidence):
        yield f"{margin} = {paint('label', f'{label}:')} {printable(text)}"
    advice = [printable(finding.help)] if finding.help else []
    advice.append(paint("faint", f"ackdoctor explain {finding.code}"))
    yield f"{margin} = {paint('label', 'help:')} {f' {context.glyphs.dot} '.join(advice)}"


def evidence_notes(evidence: PathWitness | TreeWitness | HeapWitness) -> Iterator[tuple[str, str]]:
    """Yield what a run or a heap adds to the path, as label and text."""
    if isinstance(evidence, PathWitness):
        return
    if isinstance(evidence, HeapWitness):
        sample = "" if evidence.sample is None else " in a sample of {:,} of {:,}".format(*evidence.sample)
        megabytes = f"{evidence.size / 1e6:,.1f} MB"
        size = megabytes if evidence.size >= _MEGABYTE else f"{evidence.size:,} bytes"
        about = f", about {size}" if evidence.size else ""
        yield "held", f"{evidence.path}: {evidence.entries:,} entries{sample}{about}"
        if evidence.roots:
            shown = len(evidence.roots)
            part = f" ({shown} of {evidence.entries:,})" if shown < evidence.entries else ""
            yield "roots", ", ".join(map(str, evidence.roots)) + part
    else:
        times = [f"{evidence.seen:,} times"] if evidence.seen > 1 else []
        first = "first of delivery" if times else "delivery"
        parts = [*times, *([f"{first} {evidence.delivery}"] if evidence.delivery else [])]
        test = f" in {evidence.test}" if evidence.test else ""
        if parts or test:
            yield "seen", f"{', '.join(parts) or 'once'}{test}"
    for line in evidence.left:
        yield "left", line


# ---- the frame: source lines with the path beside them ----


class _Row(NamedTuple):
    """One line of the frame; `number` is '' for a row without a source line."""

    number: str = ""
    source: str = ""
    gutter: str = ""
    note: str = ""
    state: str = ""
    carets: str = ""
    file: str = ""


class _Step(NamedTuple):
    """A step of the path and its row without source; a fold has no place."""

    place: _Place | None
    row: _Row


def _aligned(rows: list[_Row], context: Context) -> Iterator[str]:
    if not rows:
        return
    paint = context.palette.paint
    digits = max(_MIN_DIGITS, *(len(row.number) for row in rows))
    source_width = max(_columns(row.source) for row in rows) + 2
    note_width = max(_columns(f"{row.gutter} {row.note}") for row in rows) + 2
    bar = paint("number", "|")
    for row in rows:
        number = paint("number", row.number.rjust(digits))
        if row.file:
            yield f"{' ' * digits} {bar} {paint('path', f'--> {row.file}')}"
            continue
        text = row.carets or row.source
        text += " " * max(0, source_width - _columns(text))
        text = paint("caret", text) if row.carets else text
        note = f"{paint('gutter', row.gutter)} {paint('note', row.note)}"
        gap = " " * (note_width - _columns(f"{row.gutter} {row.note}"))
        yield f"{number} {bar} {text}{note}{gap}{paint('state', row.state)}"


def _frame(finding: Finding, context: Context) -> list[_Row]:
    """Return the rows of a finding: its own line and its path; none for a finding outside source code."""
    if isinstance(finding.evidence, TreeWitness | HeapWitness) and not finding.evidence.steps:
        return []
    steps = _steps(finding, context.glyphs)
    primary = (finding.site.path, finding.site.span.line)
    marked = max((n for n, step in enumerate(steps) if step.place == primary), default=None)
    if marked is None:
        steps.insert(0, _Step(primary, _Row()))
        marked = 0
    texts = {
        place: context.sources.line(*place).expandtabs(_TAB_WIDTH) for place, _ in steps if place is not None
    }
    indent = min((len(text) - len(text.lstrip(" ")) for text in texts.values() if text.strip()), default=0)
    rows: list[_Row] = []
    previous: _Place = ("", 0)
    for n, (place, row) in enumerate(steps):
        if place and place[0] != (previous[0] or primary[0]):
            rows.append(_Row(file=printable(place[0])))
        if place is None or place == previous:
            rows.append(row)
        else:
            number = str(place[1]) if finding.site.span != NOWHERE else ""
            rows.append(row._replace(number=number, source=_truncated(texts[place], indent)))
        if n == marked and finding.site.span != NOWHERE:
            through = context.glyphs.through if row.gutter and n + 1 < len(steps) else ""
            rows.append(_Row(carets=_carets(finding, context, indent), gutter=through))
        previous = place or previous
    return rows


def _steps(finding: Finding, glyphs: Glyphs) -> list[_Step]:
    """Return the steps of the path; the middle of a long path is one step."""
    path = finding.evidence.steps
    steps = []
    for n, step in enumerate(path):
        # the tuple's state is shown where it changes, and at the end
        unchanged = 0 < n < len(path) - 1 and step.state == path[n - 1].state
        state = "" if unchanged else printable(step.state)
        row = _Row(gutter=_gutter(n, path, glyphs), note=printable(step.note), state=state)
        steps.append(_Step((step.site.path, step.site.span.line), row))
    surplus = len(path) - _MAX_STEPS
    if surplus > 0:
        start = _MAX_STEPS // 2
        steps[start : start + surplus] = [_Step(None, _Row(gutter=glyphs.fold, note=f"{surplus} steps"))]
    return steps


def _gutter(n: int, path: Sequence[PathStep], glyphs: Glyphs) -> str:
    if len(path) == 1:
        return glyphs.only
    if n == 0:
        return glyphs.first
    if n == len(path) - 1:
        return glyphs.last + glyphs.into * 2 * path[n].depth
    return (glyphs.through + " ") * path[n].depth + glyphs.middle


def _truncated(text: str, indent: int) -> str:
    shown = printable(text.rstrip()[indent:])
    if _columns(shown) <= _MAX_SOURCE_WIDTH:
        return shown
    while _columns(shown) >= _MAX_SOURCE_WIDTH:
        shown = shown[: min(len(shown) - 1, _MAX_SOURCE_WIDTH)]
    return shown + "…"


def _carets(finding: Finding, context: Context, indent: int) -> str:
    """Return carets under the finding's first line, in columns of the row as shown."""
    raw = context.sources.line(finding.site.path, finding.site.span.line)
    span = finding.site.span
    end = span.end_column - 1 if span.end_line == span.line else len(raw.rstrip())
    before = _columns(raw[: span.column - 1].expandtabs(_TAB_WIDTH)) - indent
    width = _columns(raw[:end].expandtabs(_TAB_WIDTH)) - indent - before
    if before < 0 or before >= _MAX_SOURCE_WIDTH:
        return ""
    return " " * before + "^" * max(1, min(width, _MAX_SOURCE_WIDTH - before))


def _columns(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # most sources are ASCII

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
