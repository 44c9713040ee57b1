"""Findings for people: each with its source and its path, or one line each.

        |                           tuple
     28 | def process(self, tup):   ╭ received   owed
     31 |     if not row:           ├ true
     32 |         return            ╰ returns    owed
        |         ^^^^^^

Source lines appear in the order of the path, without the indentation they share.  The steps of a helper method are
indented in the gutter.  A row of its own names another file.  If a row would be too wide, the steps are below their
source line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple, TextIO

from ackdoctor.model.finding import (
    Confidence,
    Finding,
    HeapWitness,
    PathStep,
    PathWitness,
    Report,
    Severity,
    TreeWitness,
    counted,
)
from ackdoctor.model.source import NOWHERE
from ackdoctor.reporters import Context, Glyphs, columns, printable, wrapped

_VERDICT_STYLES = {"BROKEN": "error", "GROWING": "warning", "INCOMPLETE": "warning", "EMPTY": "warning"}
_MEGABYTE = 1_000_000
_MIN_DIGITS = 5  # of line numbers, so that the frames of one report are aligned
_MARGIN = _MIN_DIGITS + len(" | ")
_MAX_SOURCE_ROWS = 3  # of one source line
_UNWRAPPED = 140  # columns of a frame where lines are not wrapped
_GAP = 2  # columns between sources, notes and states
_MIN_NOTE = 20  # columns
_STATE = "tuple"  # the head of the column of states
_TAB_WIDTH = 4
_MAX_STEPS = 24  # the middle of a longer path is folded


class _Place(NamedTuple):
    """A source line."""

    path: str
    line: int


def full(report: Report, stream: TextIO, context: Context) -> None:
    """Write each finding with its source, its path and its help; a rule's page is named with its first finding."""
    explained: set[str] = set()
    for finding in report.findings:
        lines = _finding(finding, context, explain=finding.code not in explained)
        explained.add(finding.code)
        stream.writelines(f"{line.rstrip()}\n" for line in lines)
        stream.write("\n")


def concise(report: Report, stream: TextIO, context: Context) -> None:
    """Write `path:line:column: CODE name message` for each finding."""
    stream.writelines(context.fitted(one_line(finding, context)) for finding in report.findings)


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
    topologies = {judged.topology.place for judged in report.topologies}  # without their branches
    judged = counted(len(topologies), "topology") if topologies and not report.components else ""
    volume = f"{counted(len(report.files), 'file')}, {judged or counted(report.components, 'component')}"
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
    stream.write(context.fitted(f" {context.glyphs.dot} ".join(parts)))
    stream.write(context.fitted("\n".join(printable(str(item)) for item in report.unknown_bases)))


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


def _finding(finding: Finding, context: Context, *, explain: bool) -> Iterator[str]:
    paint = context.palette.paint
    severity = paint(finding.severity.word, finding.severity.word)
    where = paint("path", printable(str(finding.site)))
    name = f"{paint('code', finding.code)} {finding.name}{_may(finding, context)}"
    head, message = f"{where}  {severity} {name}", printable(finding.message)
    if not context.wraps or columns(f"{head}  {message}") <= context.width:
        yield f"{head}  {message}"
    else:
        yield from [head] if columns(head) <= context.width else (where, f"  {severity} {name}")
        yield from context.wrap(f"  {message}", hang="  ")
    yield from _frame(finding, context)
    margin = " " * _MIN_DIGITS
    for label, text in _notes_below(finding, context, explain=explain):
        line = f"{margin} = {paint('label', f'{label}:')} {text}"
        yield from context.wrap(line, hang=f"{margin}   ")


def _notes_below(finding: Finding, context: Context, *, explain: bool) -> Iterator[tuple[str, str]]:
    """Yield what a run or a heap adds, and the help with the command that explains more: on one line if it fits."""
    yield from ((label, printable(text)) for label, text in evidence_notes(finding.evidence))
    advice = [printable(finding.help)] if finding.help else []
    advice += [context.palette.paint("faint", f"ackdoctor explain {finding.code}")] if explain else []
    line = f" {context.glyphs.dot} ".join(advice)
    fits = not context.wraps or columns(line) <= context.width - _MARGIN - len("help: ")
    for text in [line] if line and fits else advice:
        yield "help", text


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


# ---- the frame: source lines with the path beside or below them ----


class _Note(NamedTuple):
    """A step of the path: its lines in the gutter, its words, and the tuple's state where it changes."""

    gutter: str
    text: str
    state: str = ""
    below: str = ""  # the gutter of further rows

    @property
    def words(self) -> str:
        """The gutter and the words."""
        return f"{self.gutter} {self.text}"


@dataclass(slots=True, kw_only=True)
class _Line:
    """A source line with the steps at it; a fold has neither number nor source.

    `file` is the path if it is not the previous line's, with the fault if the source cannot be shown; `marked` are the first column and the length of the carets.
    """

    number: str = ""
    source: str = ""
    notes: list[_Note] = field(default_factory=list)
    file: str = ""
    marked: tuple[int, int] | None = None


class _Frame(NamedTuple):
    """The widths of the columns; without a width for sources, notes are below them."""

    digits: int
    source: int
    note: int
    state: int


def _frame(finding: Finding, context: Context) -> Iterator[str]:
    """Yield the rows of a finding: its own line and its path; none for a finding outside source code."""
    if isinstance(finding.evidence, TreeWitness | HeapWitness) and not finding.evidence.steps:
        return
    lines = _lines(finding, context)
    paint = context.palette.paint
    room = (context.width if context.wraps else _UNWRAPPED) - _MARGIN
    frame = _measured(lines, room)
    bar = paint("number", "|")

    def row(number: str, source: str, style: str = "", note: _Note | None = None) -> str:
        left = f"{paint('number', number.rjust(frame.digits))} {bar} {paint(style, source)}"
        if note is None:
            return left
        gap = " " * (frame.note - columns(note.words))
        beside = f"{paint('gutter', note.gutter)} {paint('note', note.text)}{gap}{paint('state', note.state)}"
        return f"{left}{' ' * max(0, frame.source - columns(source))}{beside}"

    if frame.state:
        yield row("", "", note=_Note("", "", _STATE))
    for line in lines:
        if line.file:
            yield row("", f"--> {line.file}", "path")
        left = [*_source_rows(line, frame, room, context.glyphs.fold)]
        notes = [part for note in line.notes for part in _parts(note, frame)]
        if not frame.source:
            yield from (row(*cells) for cells in left)
            yield from (row("", "", note=note) for note in notes)
            continue
        passing = _Note(notes[-1].below, "") if notes else None
        for cells, note in zip_longest(left, notes):
            number, source, style = cells or ("", "", "")
            yield row(number, source, style, note or passing)


def _measured(lines: Sequence[_Line], room: int) -> _Frame:
    """Return the widths of the columns; notes go below the sources if they do not fit beside them."""
    digits = max(_MIN_DIGITS, *(len(line.number) for line in lines))
    notes = [note for line in lines for note in line.notes]
    note = max((columns(each.words) for each in notes), default=0) + _GAP
    states = [columns(each.state) for each in notes if each.state]
    state = max(len(_STATE), *states) if states else 0
    source = max(columns(line.source) for line in lines) + _GAP
    if source + note + state <= room or not notes:
        return _Frame(digits, min(source, room), note, state)
    return _Frame(digits, 0, min(note, max(_MIN_NOTE, room - state)), state)


def _source_rows(line: _Line, frame: _Frame, room: int, cut: str) -> Iterator[tuple[str, str, str]]:
    """Yield number, text and style of a source line, which may take several rows, and of the carets below each."""
    marked = line.marked or (0, 0)
    for count, (begin, hang, part) in enumerate(_folded(line.source, frame.source or room)):
        if count == _MAX_SOURCE_ROWS:
            yield "", cut, ""
            return
        yield "" if count else line.number, " " * hang + part, ""
        start, end = (max(0, column - begin) for column in (marked[0], sum(marked)))
        if start < min(end, columns(part)):
            yield "", " " * (hang + start) + "^" * (min(end, columns(part)) - start), "caret"


def _folded(source: str, room: int) -> Iterator[tuple[int, int, str]]:
    """Yield a source line in parts of at most `room` columns, each with its first column and its new indentation."""
    begin = hang = 0
    while columns(source) > room - hang:
        end = min(len(source), room - hang)
        while columns(source[:end]) > room - hang:
            end -= 1
        indent = len(source) - len(source.lstrip())
        space = max(source.rfind(char, indent + 1, end) for char in " ,(") + 1
        end = space if space > room // 2 else end
        yield begin, hang, source[:end]
        begin += columns(source[:end])
        source = source[end:]
        hang = hang or min(indent + _TAB_WIDTH, room // 2)
    yield begin, hang, source


def _parts(note: _Note, frame: _Frame) -> Iterator[_Note]:
    """Yield the rows of a note."""
    first, *more = wrapped(note.text, frame.note - _GAP - columns(note.gutter) - 1, hang="")
    yield note._replace(text=first)
    for text in more:
        yield _Note(note.below.ljust(len(note.gutter)), text, below=note.below)


def _lines(finding: Finding, context: Context) -> list[_Line]:
    """Return the source lines in the order of the path, without the indentation they share."""
    primary = _Place(finding.site.path, finding.site.span.line)
    steps = _steps(finding.evidence.steps, context.glyphs)
    marked = max((n for n, (place, _) in enumerate(steps) if place == primary), default=None)
    if marked is None:
        steps.insert(0, (primary, None))
        marked = 0
    texts = {
        place: context.sources.line(*place).expandtabs(_TAB_WIDTH) for place, _ in steps if place is not None
    }
    indent = min((len(text) - len(text.lstrip(" ")) for text in texts.values() if text.strip()), default=0)
    lines: list[_Line] = []
    previous = _Place("", 0)
    for n, (place, note) in enumerate(steps):
        if place is not None and place != previous:
            number = str(place.line) if finding.site.span != NOWHERE else ""
            line = _Line(number=number, source=printable(texts[place].rstrip()[indent:]))
            fault = context.sources.fault(*place) if number else ""
            if fault and place.path != previous.path:
                line.file = printable(f"{place.path}: {fault}")
            elif place.path != (previous.path or primary.path):
                line.file = printable(place.path)
            lines.append(line)
            previous = place
        if note is not None:
            lines[-1].notes.append(note)
        if n == marked and finding.site.span != NOWHERE:
            lines[-1].marked = _carets(finding, context, indent)
    return lines


def _steps(path: Sequence[PathStep], glyphs: Glyphs) -> list[tuple[_Place | None, _Note | None]]:
    """Return the notes of a path with their places; the middle of a long path is one note without a place."""
    steps: list[tuple[_Place | None, _Note | None]] = []
    if len(path) == 1 and not (path[0].note or path[0].state):  # only a place, as of a setting
        return [(_Place(path[0].site.path, path[0].site.span.line), None)]
    for n, step in enumerate(path):
        # the tuple's state is shown where it changes, and at the end
        unchanged = 0 < n < len(path) - 1 and step.state == path[n - 1].state
        state = "" if unchanged else printable(step.state)
        note = _Note(_gutter(n, path, glyphs), printable(step.note), state, _below(n, path, glyphs))
        steps.append((_Place(step.site.path, step.site.span.line), note))
    surplus = len(path) - _MAX_STEPS
    if surplus > 0:
        start = _MAX_STEPS // 2
        steps[start : start + surplus] = [(None, _Note(glyphs.fold, f"{surplus} steps"))]
    return steps


def _gutter(n: int, path: Sequence[PathStep], glyphs: Glyphs) -> str:
    if len(path) == 1:
        return glyphs.only
    if n == 0:
        return glyphs.first
    if n == len(path) - 1:
        return glyphs.last + glyphs.into * 2 * path[n].depth
    return (glyphs.through + " ") * path[n].depth + glyphs.middle


def _below(n: int, path: Sequence[PathStep], glyphs: Glyphs) -> str:
    """Return the gutter of rows between a step and the next one."""
    last = len(path) - 1
    if n == last:
        return ""
    depth = min(path[n].depth, path[n + 1].depth) if n + 1 < last else 0
    return (glyphs.through + " ") * depth + glyphs.through


def _carets(finding: Finding, context: Context, indent: int) -> tuple[int, int] | None:
    """Return the first column and the length of the finding's first line, in columns of the row as shown."""
    raw = context.sources.line(finding.site.path, finding.site.span.line)
    span = finding.site.span
    end = span.end_column - 1 if span.end_line == span.line else len(raw.rstrip())
    before = columns(raw[: span.column - 1].expandtabs(_TAB_WIDTH)) - indent
    width = columns(raw[:end].expandtabs(_TAB_WIDTH)) - indent - before
    return None if before < 0 else (before, max(1, width))
