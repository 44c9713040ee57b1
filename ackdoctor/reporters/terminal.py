"""For people: each finding with its source and its path, or one line each."""

from collections.abc import Iterator
from typing import TextIO

from ackdoctor.model.finding import Confidence, Finding, HeapWitness, PathWitness, Report, TreeWitness
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.frame import Row, columns, frame, padded

__all__ = ["concise", "files", "full", "one_line", "told"]

_MEGABYTE = 1_000_000
_FEWEST_DIGITS = 5  # room for line numbers, so that frames of one report stand in line


def full(report: Report, stream: TextIO, context: Context) -> None:
    """Every finding as a compiler shows it."""
    for finding in report.findings:
        stream.writelines(f"{line.rstrip()}\n" for line in _finding(finding, context))
        stream.write("\n")


def concise(report: Report, stream: TextIO, context: Context) -> None:
    """`path:line:column: CODE name message`."""
    stream.writelines(one_line(finding, context) + "\n" for finding in report.findings)


def files(report: Report, stream: TextIO, _context: Context) -> None:
    """The files that were looked at."""
    stream.writelines(f"{printable(path)}\n" for path in report.files)


def one_line(finding: Finding, context: Context) -> str:
    """The finding as editors and `grep` read it."""
    paint = context.palette.paint
    where = paint("path", printable(str(finding.site)))
    return f"{where}: {paint('code', finding.code)} {finding.name}{_doubt(finding, context)} {printable(finding.message)}"


def _doubt(finding: Finding, context: Context) -> str:
    return context.palette.paint("faint", " (may)") if finding.confidence is Confidence.MAY else ""


def _finding(finding: Finding, context: Context) -> Iterator[str]:
    paint = context.palette.paint
    severity = paint(finding.severity.word, finding.severity.word)
    where = paint("path", printable(str(finding.site)))
    name = f"{paint('code', finding.code)} {finding.name}{_doubt(finding, context)}"
    yield f"{where}  {severity} {name}  {printable(finding.message)}"
    yield from _rows(frame(finding, context), context)
    margin = " " * _FEWEST_DIGITS
    for label, text in told(finding.evidence):
        yield f"{margin} = {paint('label', f'{label}:')} {printable(text)}"
    advice = [printable(finding.help)] if finding.help else []
    advice.append(paint("faint", f"ackdoctor explain {finding.code}"))
    yield f"{margin} = {paint('label', 'help:')} {f' {context.glyphs.dot} '.join(advice)}"


def told(evidence: PathWitness | TreeWitness | HeapWitness) -> Iterator[tuple[str, str]]:
    """What a run or a heap adds to the path, as label and text: how often it was seen, and what it left behind."""
    if isinstance(evidence, PathWitness):
        return
    if isinstance(evidence, HeapWitness):
        read = "" if evidence.sample is None else " in a sample of {:,} of {:,}".format(*evidence.sample)
        yield "held", f"{evidence.path}: {evidence.entries:,} entries{read}{_weight(evidence.size)}"
        if evidence.roots:
            some = (
                f" ({len(evidence.roots)} of {evidence.entries:,})"
                if len(evidence.roots) < evidence.entries
                else ""
            )
            yield "roots", ", ".join(map(str, evidence.roots)) + some
        for line in evidence.left:
            yield "left", line
        return
    often = [f"{evidence.seen:,} times"] if evidence.seen > 1 else []
    first = "first of delivery" if often else "delivery"
    said = [*often, *([f"{first} {evidence.delivery}"] if evidence.delivery else [])]
    where = f" in {evidence.test}" if evidence.test else ""
    if said or where:
        yield "seen", f"{', '.join(said) or 'once'}{where}"
    for line in evidence.left:
        yield "left", line


def _weight(size: int) -> str:
    return f", about {size / 1e6:,.1f} MB" if size >= _MEGABYTE else f", about {size:,} bytes" if size else ""


def _rows(rows: list[Row], context: Context) -> Iterator[str]:
    """The rows with their columns in line."""
    if not rows:
        return
    paint = context.palette.paint
    digits = max(_FEWEST_DIGITS, *(len(row.number) for row in rows))
    source_width = max(columns(row.source) for row in rows) + 2
    note_width = max(columns(f"{row.gutter} {row.note}") for row in rows) + 2
    bar = paint("number", "|")
    for row in rows:
        number = paint("number", row.number.rjust(digits))
        if row.file:
            yield f"{' ' * digits} {bar} {paint('path', f'--> {row.file}')}"
            continue
        text = (
            paint("caret", padded(row.carets, source_width))
            if row.carets
            else padded(row.source, source_width)
        )
        note = f"{paint('gutter', row.gutter)} {paint('note', row.note)}"
        gap = " " * (note_width - columns(f"{row.gutter} {row.note}"))
        yield f"{number} {bar} {text}{note}{gap}{paint('state', row.state)}"
