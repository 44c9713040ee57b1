"""What `ackdoctor analyze` does: from inputs to a screen, a page or tables, and an exit code."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ackdoctor.cli.analyze import FORMS
from ackdoctor.cli.deaths import add_deaths
from ackdoctor.cli.given import known_word, measured_bytes, measured_ms, named, spark_settings
from ackdoctor.cli.manual import names, pages
from ackdoctor.cli.shown import settings_for, shown
from ackdoctor.cli.streams import (
    chatter,
    destination,
    glyphs_for,
    need_unread,
    need_writable,
    palette_for,
    until_reader_leaves,
    width_for,
)
from ackdoctor.config import nearest
from ackdoctor.model.acker_versions import NEWEST
from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Finding, Report, Severity
from ackdoctor.reporters import Context, reporter
from ackdoctor.reporters.context import PLAIN, Sources
from ackdoctor.spark.read.paths import inside

if TYPE_CHECKING:
    from ackdoctor.spark.analysis import Terms
    from ackdoctor.spark.tables import Analysis

__all__ = ["Request", "run"]

_NEEDS_SPARK = "analyze needs Spark, which is not installed: pip install 'ackdoctor[spark]'"
_NEVER, _INCOMPLETE = "never", "incomplete"
_PATIENCE_S = 30  # Storm's own message timeout


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Request:
    """The arguments of `ackdoctor analyze`, as given."""

    inputs: tuple[str, ...]
    acker_version: str | None = None
    message_timeout_s: int | None = None
    window: str | None = None
    heap: str = "768m"
    output_format: str = "full"
    output_file: Path | None = None
    output_dir: str | None = None
    fail_on: str | None = None
    min_severity: str | None = None
    master: str = "local[*]"
    conf: tuple[str, ...] = ()
    isolated: bool = False
    quiet: bool = False

    def __post_init__(self) -> None:
        """UsageError for a word that is none, and for tables that have no place."""
        for name in self.inputs:
            named("INPUT", name)
        known_word("--output-format", self.output_format, FORMS)
        if self.min_severity is not None:
            known_word("--min-severity", self.min_severity, [severity.word for severity in Severity])
        if self.output_format == "parquet" and self.output_dir is None:
            raise UsageError("--output-format parquet needs --output-dir DIR")
        if self.output_format == "parquet" and self.output_file is not None:
            raise UsageError("tables are written to --output-dir, not to --output-file")
        if self.output_dir is not None:
            self._check_tables(self.output_dir)
        _ = self.settings, self.heap_bytes, self.window_ms  # complains about what cannot be read

    def _check_tables(self, directory: str) -> None:
        if not directory.strip():
            raise UsageError("--output-dir names no folder")
        if (folder := inside(directory, self.inputs)) is not None:
            raise UsageError(
                f"--output-dir {directory} lies in {folder}, which is read: the tables would be read as traces"
            )

    @property
    def settings(self) -> Mapping[str, str]:
        """Spark's, from --conf."""
        return spark_settings(self.conf)

    @property
    def heap_bytes(self) -> int:
        """What --heap says."""
        return measured_bytes("--heap", self.heap)

    @property
    def window_ms(self) -> int:
        """What --window says; 0 where nothing is said."""
        if self.window is None:
            return 0
        return measured_ms("--window", self.window)


def run(request: Request) -> int:
    """Everything the command does; the result is the exit code."""
    if find_spec("pyspark") is None:
        raise UsageError(_NEEDS_SPARK)
    settings = settings_for(isolated=request.isolated, min_severity=request.min_severity)
    fails = _fails(request.fail_on)
    need_writable(request.output_file)
    analysis = _analysis(request)
    here = Path.cwd()
    chosen = shown(analysis.findings, settings, here)
    report = Report(
        findings=chosen.findings,
        unreadable=analysis.unreadable,
        files=analysis.files,
        components=len(analysis.tally.components),
        suppressed=chosen.suppressed,
        hidden=chosen.hidden,
        notes=chosen.notes,
    )
    _complain(report, analysis)
    with until_reader_leaves(), destination(request.output_file) as stream:
        _show(request.output_format, report, analysis, stream, here)
    if not request.quiet and request.output_format != "parquet":  # which has told them
        for place in analysis.written:
            chatter(f"wrote {place}")
    if report.unreadable or analysis.books.useless or not analysis.books.balanced:
        return 2
    return 1 if fails.on(report, analysis) else 0


# ---- arguments ----


class _Fails:
    """Which findings make the exit code 1, and whether it does that something could not be judged."""

    def __init__(self, floor: Severity | None, words: frozenset[str]) -> None:
        self._floor, self._incomplete = floor, _INCOMPLETE in words
        self._rules = tuple(sorted(words - {_INCOMPLETE}))

    def on(self, report: Report, analysis: "Analysis") -> bool:
        """Whether the run is one of these."""
        from ackdoctor.reporters.analysis import incomplete

        return any(map(self._named, report.findings)) or (self._incomplete and incomplete(report, analysis))

    def _named(self, finding: Finding) -> bool:
        by_rule = finding.code.startswith(self._rules) if self._rules else False
        return by_rule or (self._floor is not None and finding.severity >= self._floor)


def _fails(said: str | None) -> _Fails:
    """`error`, `ACK101,ACK6`, `missing-ack`, `incomplete`; without a word every finding that is shown counts."""
    if said is None:
        return _Fails(Severity.INFO, frozenset())
    levels = {severity.word: severity for severity in Severity}
    known = names()
    by_name = {name: code for code, name in known.items()}
    floor: Severity | None = None
    rules: set[str] = set()
    given = tuple(filter(None, map(str.strip, said.split(","))))
    if not given:  # as an empty variable makes it
        raise UsageError(f"--fail-on names neither {', '.join(levels)}, {_INCOMPLETE}, {_NEVER} nor a rule")
    for word in given:
        if word in levels:
            floor = levels[word] if floor is None else min(floor, levels[word])
        elif word == _INCOMPLETE or word in by_name:
            rules.add(by_name.get(word, word))
        elif word.startswith("ACK") and any(code.startswith(word) for code in known):
            rules.add(word)
        elif word != _NEVER:
            words = (*levels, _INCOMPLETE, _NEVER, *known, *by_name)
            raise UsageError(f"--fail-on: neither a severity nor a rule: {word!r}{nearest(word, words)}")
    return _Fails(floor, frozenset(rules))


# ---- Spark ----


def _terms(request: Request) -> "Terms":
    from ackdoctor.spark.analysis import Terms
    from ackdoctor.spark.replay.messages import acker_version

    return Terms(
        version=NEWEST if request.acker_version is None else acker_version(request.acker_version),
        message_timeout_s=request.message_timeout_s,
        patience_s=request.message_timeout_s or _PATIENCE_S,
        window_ms=request.window_ms,
        heap=request.heap_bytes,
        folder=str(Path.cwd()),
        nowhere=request.inputs[0],
    )


def _analysis(request: Request) -> "Analysis":
    from ackdoctor.spark.analysis import analyze
    from ackdoctor.spark.read.inputs import find_inputs
    from ackdoctor.spark.session import LARGE_BYTES, session, spark_errors

    terms = _terms(request)
    inputs = find_inputs(request.inputs)
    inputs.need_some(terms.folder)  # before a JVM is started for nothing
    read = (*chain(*inputs.files.values()), *(fault.path for fault in inputs.unreadable))
    need_unread(request.output_file, read)
    # what lies at an address may be much
    size = max(inputs.size, LARGE_BYTES) if inputs.addresses else inputs.size
    with _progress(request), spark_errors():
        spark = session(master=request.master, input_bytes=size, settings=request.settings)
        analysis = analyze(inputs, session=spark, terms=terms, output_dir=request.output_dir)
    add_deaths(analysis, inputs)
    return analysis


@contextmanager
def _progress(request: Request) -> Iterator[None]:
    """Says that it has begun: a JVM takes seconds to come up."""
    waiting = not request.quiet and sys.stderr.isatty()
    if waiting:
        sys.stderr.write("ackdoctor: Spark is at work ...\r")
        sys.stderr.flush()
    try:
        yield
    finally:
        if waiting:
            sys.stderr.write("\x1b[2K")


# ---- what is shown ----


def _complain(report: Report, analysis: "Analysis") -> None:
    """Files that could not be read, and that none told anything: never silent, whatever the format."""
    from ackdoctor.reporters.analysis import verdict

    for fault in report.unreadable:
        chatter(f"{fault.path}: {fault.reason}", prefix="")
    if analysis.books.useless:
        chatter(verdict(report, analysis))


def _show(form: str, report: Report, analysis: "Analysis", stream: TextIO, here: Path) -> None:
    from ackdoctor.reporters.analysis import document, screen, verdict
    from ackdoctor.reporters.html import page

    people = form == "full"
    context = Context(
        sources=Sources(root=here),
        palette=palette_for(stream) if people else PLAIN,
        glyphs=glyphs_for(stream),
        pages=pages,
    )
    match form:
        case "full":
            screen(report, analysis, stream, context, width_for(stream))
        case "json":
            document(report, analysis, stream)
        case "html":
            page(report, analysis, stream)
        case "parquet":
            stream.writelines(f"{place}\n" for place in analysis.written)
        case _:
            said = (verdict(report, analysis),) if analysis.books.useless else ()
            whole = replace(report, notes=(*said, *report.notes, *analysis.notes))
            reporter(form)(whole, stream, context)
