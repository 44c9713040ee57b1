"""Output streams: what they can show, where reports go, which findings a report shows, and messages to people."""

import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ackdoctor.cli.commands import rule_pages
from ackdoctor.config import Settings, find_config, load_settings
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Report, Severity, Unreadable
from ackdoctor.model.source import replacing
from ackdoctor.reporters import (
    COLOURED,
    PLAIN,
    Context,
    Palette,
    Sources,
    escape_commands,
    glyphs_for,
    printable,
    reporter,
    wrapped,
)

if TYPE_CHECKING:
    from rich.progress import Progress as Line

FOR_PEOPLE = frozenset({"full", "concise"})
_PIPE_WIDTH = 100  # columns


# ---- streams ----


def palette_for(stream: TextIO) -> Palette:
    """Return colours for a terminal; NO_COLOR and FORCE_COLOR take precedence."""
    if os.environ.get("NO_COLOR"):
        return PLAIN
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return COLOURED
    return COLOURED if stream.isatty() and os.environ.get("TERM") != "dumb" else PLAIN


def can_clear(stream: TextIO) -> bool:
    """Whether the stream is a terminal on which a line can be cleared."""
    return stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}


def width_for(stream: TextIO) -> int:
    """Return the columns of the stream: COLUMNS, or the terminal's, or a default for pipes."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _PIPE_WIDTH
    except (OSError, ValueError):
        return _PIPE_WIDTH


def tolerant(stream: TextIO) -> TextIO:
    """Make the stream escape what its encoding lacks: a file name may hold any byte."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def context_for(stream: TextIO, form: str = "full", sources: Sources | None = None) -> Context:
    """Return the context of a report in that format on that stream."""
    return Context(
        sources=sources or Sources(root=Path.cwd()),
        workspace=os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR", ""),
        palette=palette_for(stream) if form in FOR_PEOPLE else PLAIN,
        glyphs=glyphs_for(stream.encoding),
        width=width_for(stream),
        wraps=stream.isatty() or (form == "full" and bool(os.environ.get("COLUMNS"))),
        pages=rule_pages,
    )


# ---- messages on standard error ----


def write_error(line: str) -> None:
    """Write a line to standard error; if that is closed or full, only the exit code remains."""
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        # the interpreter would try again at exit, and change the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def complain(text: str, *, prefix: str = "ackdoctor: ") -> None:
    """Write a message for people to standard error: on one line, but wrapped on a terminal."""
    line = escape_commands(f"{prefix}{printable(text)}")
    stream = tolerant(sys.stderr)
    parts = wrapped(line, width_for(stream)) if stream.isatty() else [line]
    write_error("".join(f"{part}\n" for part in parts))


def complain_unread(fault: Unreadable) -> None:
    """Write where and why a file could not be read."""
    place = f"{fault.path}:{fault.line}" if fault.line else fault.path
    complain(f"{place}: {fault.reason}")


# ---- where a report goes ----


def require_writable(file: Path | None, option: str = "--output-file") -> None:
    """Raise UsageError before any work is done if `destination` could not write the file."""
    if file is None:
        return
    folder = file.parent
    try:
        # a pipe or device is written itself, a file is replaced in its directory
        written = [file] if file.exists() else []
        written += [] if written and not file.is_file() else [folder]
        obstacles = {
            errno.EISDIR: file.is_dir(),
            errno.ENOENT: not folder.exists(),
            errno.ENOTDIR: not folder.is_dir(),
            errno.EACCES: not all(os.access(path, os.W_OK) for path in written),
        }
    except OSError as error:
        raise UsageError(f"{option}: {file} cannot be written: {error.strerror}") from error
    for number, exists in obstacles.items():
        if exists:
            raise UsageError(f"{option}: {file} cannot be written: {os.strerror(number)}")


def require_not_an_input(file: Path | None, inputs: Iterable[str | Path]) -> None:
    """Raise UsageError if `destination` would overwrite an input."""
    if file is not None and os.path.realpath(file) in map(os.path.realpath, inputs):
        raise UsageError(f"--output-file: {file} is an input; choose another file")


@contextmanager
def destination(file: Path | None = None, option: str = "--output-file") -> Iterator[TextIO]:
    """Yield a stream that replaces the file at the end, or standard output; raise UsageError if writing fails.

    A reader of standard output may leave early (`| head`).
    """
    try:
        if file is not None:
            with replacing(file) as stream:
                yield stream
        else:
            yield tolerant(sys.stdout)
            sys.stdout.flush()
    except OSError as error:
        if file is not None:
            raise UsageError(f"{option}: {file} cannot be written: {error.strerror}") from error
        # the interpreter would complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise UsageError(f"standard output cannot be written: {error.strerror}") from error


def escaped_report(text: str, form: str) -> str:
    """Return the report so that a GitHub runner reads no line of it as a workflow command."""
    inside = os.environ.get("GITHUB_ACTIONS") == "true"
    if form == "github":
        return text
    if form.startswith(("json", "sarif", "gitlab")) or form.endswith("json"):
        return text.replace("##[", r"#\u0023[") if inside else text
    return "".join(escape_commands(line, anywhere=inside) for line in text.splitlines(keepends=True))


@contextmanager
def escaping(stream: TextIO, form: str) -> Iterator[io.StringIO]:
    """Yield a text that is written to the stream at the end, escaped for a GitHub runner."""
    text = io.StringIO()
    yield text
    stream.write(escaped_report(text.getvalue(), form))


# ---- which findings a report shows ----


def settings_for(*, isolated: bool, min_severity: Severity | None) -> Settings:
    """Return lint's settings, of which rules, thresholds and comments apply to every report."""
    file = None if isolated else find_config(Path.cwd())
    settings = load_settings(file) if file is not None else Settings(directory=Path.cwd())
    return settings if min_severity is None else replace(settings, min_severity=min_severity)


def filter_findings(report: Report, settings: Settings) -> Report:
    """Return the report with the findings that the settings and the comments in the sources leave."""
    from ackdoctor.lint.select import filter_report, select
    from ackdoctor.rulebook import UNUSED_IGNORE

    root = Path.cwd()
    paths = {finding.site.path for finding in report.findings}
    texts = Sources(root=root)
    sources = {path: content for path in paths if (content := texts.content(path))}
    selected = select(report.findings, sources, paths, settings, str(root))
    faults = (f"{fault.path}: {fault.reason}" for fault in selected.unread)
    report = replace(
        report,
        findings=tuple(finding for finding in selected.findings if finding.code != UNUSED_IGNORE),
        suppressed=selected.suppressed,
        notes=(*report.notes, *selected.notes, *faults),
    )
    return filter_report(report, settings, None)


def write_step_summary(report: Report, context: Context) -> None:
    """Add the findings to the summary of the step on GitHub, which shows few annotations."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as stream:
                reporter("step-summary")(report, stream, context)
        except OSError as error:
            complain(f"GITHUB_STEP_SUMMARY: {path} cannot be written: {error.strerror}")


def write_screen(stream: TextIO, context: Context, screen: Callable[[TextIO], None]) -> None:
    """Write a screen, with the lines wrapped that are wider than the stream."""
    text = io.StringIO()
    screen(text)
    stream.write(context.fitted(text.getvalue()))


def write_report(
    report: Report,
    form: str,
    verdict: str,
    *,
    screen: Callable[[TextIO, Context], None],
    document: Callable[[TextIO], None],
    file: Path | None = None,
) -> None:
    """Write a report with a verdict to a file or standard output: as a screen of some width, as JSON, or its findings alone.

    The verdict is the last line of `concise`.  For other formats without findings, it goes to standard error unless it is
    OK, and into a note of SARIF.
    """
    with destination(file) as stream:
        context = context_for(stream, form)
        if form == "full":
            write_screen(stream, context, lambda text: screen(text, context))
        elif form == "json":
            document(stream)
        elif form == "concise":
            reporter(form)(report, stream, context)
            stream.write(context.fitted(printable(verdict)))
        else:
            if not report.findings and not verdict.startswith("OK"):
                if form == "sarif":
                    report = replace(report, notes=(verdict, *report.notes))
                complain(verdict)
            reporter(form)(report, stream, context)


# ---- the progress of a long run ----


_DELAY_S = 1.0  # before the line is shown
_INTERVAL_S = 0.1  # between two updates of the line
_BAR = 20  # columns
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Progress:
    """The line: call it with the work that is done and in total; without a total, 0, the bar moves to and fro.

    It has no thread of its own: lint forks only in a process without other threads.
    """

    def __init__(self, what: str, *, in_bytes: bool = False) -> None:
        self.what = what
        self._in_bytes = in_bytes
        self._due = time.monotonic() + _DELAY_S
        self._line: Line | None = None

    def __call__(self, done: int, total: int) -> None:
        """Show the state, unless the last one was shown just now."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _INTERVAL_S
        line = self._line or self._begin()
        text = f"{self.what}: {self._amount(done, total)}" if done or total else self.what
        task = line.tasks[0]
        task.total = total or None  # `update` takes None for no change
        line.update(task.id, description=text, completed=done, refresh=True)

    def within(self, paths: Iterable[Path]) -> Mapping[Path, Callable[[int], None]]:
        """Return a function for each file, in the order in which they are read; it takes the position in the file."""
        sizes = {path: path.stat().st_size if path.is_file() else 0 for path in paths}
        begins = accumulate(sizes.values(), initial=0)
        return {
            path: partial(self._at, begin, sum(sizes.values()))
            for path, begin in zip(sizes, begins, strict=False)
        }

    def _at(self, begin: int, total: int, position: int) -> None:
        self(begin + position, total)

    def end(self) -> None:
        """Clear the line."""
        if self._line is not None:
            self._line.stop()

    def _begin(self) -> "Line":
        from rich.console import Console  # most runs are shorter than a second
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Line
        from rich.table import Column

        text = TextColumn(
            "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")
        )
        self._line = Line(
            text,
            BarColumn(_BAR),
            console=Console(file=sys.stderr),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._line.add_task(self.what)
        self._line.start()
        return self._line

    def _amount(self, done: int, total: int) -> str:
        if not self._in_bytes:
            return f"{done:,} of {total:,}" if total else f"{done:,}"
        size, unit = next((each for each in _UNITS if max(done, total) >= each[0]), _UNITS[-1])
        of = f" of {total / size:,.1f}" if total else ""
        return f"{done / size:,.1f}{of} {unit}"


@contextmanager
def progress(what: str, *, quiet: bool = False, in_bytes: bool = False) -> Iterator[Progress | None]:
    """Yield the line for standard error; None if that is no terminal, or one that cannot clear a line."""
    if quiet or not can_clear(sys.stderr):
        yield None
        return
    line = Progress(what, in_bytes=in_bytes)
    try:
        yield line
    finally:
        line.end()
