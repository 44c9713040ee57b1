"""`ackdoctor trace`: record what components do at run time, and report what went wrong."""

import errno
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from ackdoctor.acker.versions import NEWEST, profile
from ackdoctor.cli.commands import (
    AckerVersion,
    HeldTopology,
    Isolated,
    MessageTimeout,
    MinSeverity,
    acker_option,
    callback_of,
    formats_option,
    path_parser,
)
from ackdoctor.cli.output import (
    FOR_PEOPLE,
    complain,
    complain_unread,
    context_for,
    destination,
    filter_findings,
    settings_for,
    tolerant,
    write_report,
    write_screen,
)
from ackdoctor.config import FORMATS
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Report, counted
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import SCHEMA, Event, RunTally
from ackdoctor.reporters.promise import Promise
from ackdoctor.reporters.trace import About, document, screen, timeline, verdict
from ackdoctor.tracer.ledger import Level
from ackdoctor.tracer.proxy import proxy
from ackdoctor.tracer.recorder import finish_killed
from ackdoctor.tracer.replay import judge_trace, outcomes, timeline_of_delivery, timeline_of_root
from ackdoctor.tracer.run import name_of_run, run
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.trace_files import line
from ackdoctor.tracer.trace_reader import Reading, read

_DEFAULT_TIMEOUT_S = 30  # Storm's own: a younger root may still complete
_NOT_STARTED = {126, 127}  # exit codes of shells
_MAX_FAULTS = 10  # of one kind that are printed
_SNAPSHOTS = "ackdoctor.heap.python_heap"  # the module that processes import for --heap

trace = typer.Typer(
    help="Record what components do at run time, and report it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Words = Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command to run.")]
_Directory = Annotated[
    Path,
    typer.Option(
        "--trace",
        parser=path_parser("--trace"),
        metavar="DIR",
        help="The directory to write the trace to; it is created if necessary.",
    ),
]
_Traces = Annotated[
    list[Path],
    typer.Argument(
        parser=path_parser("TRACE"),
        metavar="TRACE...",
        help="Directories of traces, parts of traces, or patterns.",
    ),
]
_DEFAULT_DIRECTORY = Path("ackdoctor-trace")


@dataclass(slots=True, kw_only=True)
class Run:
    """Run a command, and trace the components in it.

    Every Python process that it starts traces its bolts and spouts.

    The exit code is the command's own.
    """

    command: _Words
    directory: _Directory = _DEFAULT_DIRECTORY
    level: Annotated[
        str,
        typer.Option(
            metavar="|".join(map(str, Level)),
            help="trace: write a row for every event; sites: write no rows, only what --heap needs; off: do not trace.",
        ),
    ] = "trace"
    heap: Annotated[
        bool, typer.Option("--heap", help="Take snapshots of the processes' heaps as well; needs guppy3.")
    ] = False

    def run(self) -> int:
        """Run the command, print where its trace is, and return its exit code."""
        if self.heap:
            from ackdoctor.heap.python_heap import missing

            if reason := missing():
                raise UsageError(f"--heap: {reason}")
        try:
            level = Level.named(self.level)
        except ValueError as error:
            raise UsageError(f"--level: {error}") from None
        _require_directory(self.directory, writable=level is Level.TRACE or self.heap)
        name = name_of_run()
        observers = (_SNAPSHOTS,) if self.heap else ()
        code = run(self.command, self.directory, level, name=name, observers=observers)
        folder = _run_folder(self.directory, name)
        if level is not Level.TRACE:
            complain(f"level {level} writes no trace; --level trace writes one")
        elif _has_events(folder):
            complain(f"the trace is in {self.directory}; ackdoctor trace report {quote(str(self.directory))}")
        elif folder.exists():
            complain(f"no trace could be written to {self.directory}")
        else:
            complain("no component was traced: no Python process of the command ran one")
        if self.heap and code not in _NOT_STARTED:
            _print_heaps(folder)
        return code


@dataclass(slots=True, kw_only=True)
class Proxy:
    """Trace the messages between ShellBolt and a component.

    Run it in place of the component: it forwards the multilang pipe.

    It changes no byte, and if the tracer fails, the component goes on. The exit code is the component's own.
    """

    command: _Words
    directory: _Directory = _DEFAULT_DIRECTORY

    def run(self) -> int:
        """Run the component, and return its exit code; standard output belongs to the component."""
        name = name_of_run()
        code = proxy(self.command, self.directory, run=name)
        if code not in _NOT_STARTED and not _has_events(_run_folder(self.directory, name)):
            complain(f"no trace could be written to {self.directory}")
        return code


@dataclass(slots=True, kw_only=True)
class ReportCommand:
    """Report what a trace shows.

    Shows findings, entries that stay in the acker, growth, and counts per component.

    Exit code: 0 nothing found; 1 findings; 2 the work could not be done, a part of the trace could not be read
    to its end, or no row is about acking.
    """

    traces: _Traces
    output_format: Annotated[str, formats_option(*FORMATS)] = "full"
    acker_version: AckerVersion = None
    message_timeout: MessageTimeout = None
    topology: HeldTopology = None
    min_severity: MinSeverity = None
    isolated: Isolated = False

    def run(self) -> int:
        """Judge the trace, write the report and return the exit code."""
        version = acker_option(self.acker_version, profile, NEWEST)
        settings = settings_for(isolated=self.isolated, min_severity=self.min_severity)
        rows = _Rows(self.traces)
        place = Site(self.traces[0].as_posix(), NOWHERE)
        found = judge_trace(
            rows.events,
            version,
            message_timeout_s=self.message_timeout,
            patience_s=self.message_timeout or _DEFAULT_TIMEOUT_S,
            places=Places(folder=str(Path.cwd()), nowhere=place.path),
            nowhere=place,
        )
        report = Report(
            findings=tuple(found.findings),
            unreadable=tuple(rows.first.unreadable),
            files=tuple(sorted(str(path) for path in rows.first.sources)),
            components=len(found.tally.components),
            notes=found.notes,
        )
        report = filter_findings(report, settings)
        rows.complain()
        for path in self.traces:
            if path.is_dir():
                finish_killed(path)
        if not rows.first.sources and self.output_format in FOR_PEOPLE:
            return 2  # the faults of the paths are printed
        about = About(
            tally=found.tally,
            acker=version.name,
            rows=found.rows,
            roots=found.roots,
            seconds=found.seconds,
            telling=found.telling,
            unjudged=len(found.tally.unobserved),
            expired=found.expired,
            promise=self._promise(rows, found.tally),
        )
        if about.promise is not None and self.output_format not in {"full", "json"}:
            for text in about.promise.lines():
                complain(text)
        write_report(
            report,
            self.output_format,
            verdict(report, about),
            screen=lambda *where: screen(report, about, *where),
            document=lambda stream: document(report, about, stream),
        )
        return 2 if report.unreadable or not found.telling else 1 if report.findings else 0

    def _promise(self, rows: "_Rows", tally: RunTally) -> Promise | None:
        """Return the guarantee of the topology beside what became of the messages, if a topology is named."""
        if not self.topology:
            return None
        from ackdoctor.cli.topology import promise_of  # imports lint

        return promise_of(
            self.topology,
            outcomes(rows.events()),
            components=[each.component for each in tally.components],
            complete=not (tally.dropped or rows.first.unreadable or rows.first.torn),
            isolated=self.isolated,
        )


@dataclass(slots=True, kw_only=True)
class Cat:
    """Print every row of a trace as a line of JSON, in order."""

    traces: _Traces

    def run(self) -> int:
        """Print the rows and return the exit code."""
        rows = _Rows(self.traces)
        with destination() as stream:
            stream.writelines(f"{line(event)}\n" for event in rows.events())
        rows.complain()
        return 2 if rows.first.unreadable else 0


_BEFORE_COMMAND = {"allow_interspersed_args": False, "ignore_unknown_options": True}
trace.command("run", context_settings=_BEFORE_COMMAND)(callback_of(Run))
trace.command("proxy", context_settings=_BEFORE_COMMAND)(callback_of(Proxy))
trace.command("report")(callback_of(ReportCommand))
trace.command("cat")(callback_of(Cat))


def explain_root(subject: str, traces: Sequence[Path], acker_version: str | None) -> int:
    """Write the timeline of a root, or of the tuples with that id; raise UsageError if the trace has neither."""
    version = acker_option(acker_version, profile, NEWEST)
    rows = _Rows(traces)
    try:
        root = int(subject)
    except ValueError:
        root = 0  # as in rows without a root
    found = timeline_of_root(rows.events, root, version) if root else None
    if found is None:
        found = timeline_of_delivery(rows.events, subject)
    rows.complain()
    if found is None:
        if rows.first.unreadable and next(iter(rows.events()), None) is None:
            return 2
        raise UsageError(
            f"the trace has neither a root nor a tuple {subject}; `ackdoctor trace cat` prints all ids"
        )
    with destination() as stream:
        context = context_for(stream)
        write_screen(stream, context, lambda text: timeline(found, text, context))
    return 2 if rows.first.unreadable else 0


# ---- directories ----


def _require_directory(directory: Path, *, writable: bool) -> None:
    """Raise UsageError unless the directory exists, or can be created and written to."""
    existing = next(path for path in (directory, *directory.absolute().parents) if os.path.exists(path))  # noqa: PTH110 - no error without permission
    if not existing.is_dir():
        raise UsageError(f"--trace: {existing} is not a directory")
    if writable and not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(f"--trace: {directory} cannot be written to: {os.strerror(errno.EACCES)}")


def _run_folder(directory: Path, run: str) -> Path:
    """Return the directory of a run, which the first process with a row creates."""
    return directory / f"v{SCHEMA}" / f"run={run}"


def _has_events(folder: Path) -> bool:
    return bool(read([folder]).sources)


# ---- reading ----


class _Rows:
    """The rows of traces, which can be read repeatedly; `first` is the first reading, whose faults count."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._repeated = False
        self.first: Reading = read(paths)

    def events(self) -> Iterable[Event]:
        """Return all rows."""
        reading = read(self._paths) if self._repeated else self.first
        self._repeated = True
        return reading.events()

    def complain(self) -> None:
        """Print what could not be read."""
        amounts: Counter[str] = Counter()
        for fault in self.first.unreadable:
            amounts[fault.reason] += 1
            if amounts[fault.reason] <= _MAX_FAULTS:
                complain_unread(fault)
        for reason, amount in amounts.items():
            if amount > _MAX_FAULTS:
                complain(f"{counted(amount - _MAX_FAULTS, 'more file')}: {reason}")
        if self.first.torn:
            complain(f"{counted(self.first.torn, 'incomplete row')}: the process was killed while writing")


# ---- reports ----


def _print_heaps(folder: Path) -> None:
    """Print a report for each process with heap snapshots to standard error."""
    from ackdoctor.heap.python_heap import LAST, files, load
    from ackdoctor.heap.python_judge import findings
    from ackdoctor.reporters.heap import snapshots_screen
    from ackdoctor.reporters.terminal import full

    stream = tolerant(sys.stderr)
    context = context_for(stream)
    paths = list(files(folder))
    for path in paths:
        try:
            snapshots = load(path)
        except (OSError, ValueError) as error:
            complain(f"heap: {error}")
            continue
        killed = snapshots and snapshots[-1].label != LAST
        note = ", killed before its last snapshot; what it held later is unknown" if killed else ""
        stream.write(f"\nheap of process {path.stem.rpartition('-')[2]}{note}: ")
        shown = partial(snapshots_screen, snapshots, context=context)
        write_screen(stream, context, shown)
        found = findings(snapshots, Places())
        if found:
            stream.write("\n")
            full(Report(findings=found), stream, context)
        stream.flush()
    if not paths and folder.exists():  # a process that runs a component creates it
        complain("no heap snapshots: no process that ran a component could take or write one")
    elif not paths:
        complain("no heap snapshots: no process ran a component")
