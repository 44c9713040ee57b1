"""What `ackdoctor trace` does: from traces to a screen and an exit code."""

import errno
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TextIO

from ackdoctor.acker.versions import NEWEST, Profile, profile
from ackdoctor.cli.given import known_word
from ackdoctor.cli.manual import pages
from ackdoctor.cli.shown import settings_for, show_with, shown
from ackdoctor.cli.streams import chatter, glyphs_for, palette_for, tolerant, until_reader_leaves, width_for
from ackdoctor.config import FORMATS, Settings
from ackdoctor.model.errors import UsageError
from ackdoctor.model.event import SCHEMA, Event
from ackdoctor.model.finding import Report, Severity, Unreadable
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.reporters import Context
from ackdoctor.reporters.context import PLAIN, Sources, counted
from ackdoctor.reporters.trace import About, document, life, screen, verdict
from ackdoctor.tracer.judge.life import life_of_delivery, life_of_root
from ackdoctor.tracer.judge.places import Places
from ackdoctor.tracer.judge.replay import TraceReport, judge_trace
from ackdoctor.tracer.ledger.ledger import Level
from ackdoctor.tracer.process.proxy import proxy
from ackdoctor.tracer.process.run import name_of_run, run
from ackdoctor.tracer.trace import files
from ackdoctor.tracer.trace.read import Reading, read
from ackdoctor.tracer.trace.write import finish_killed

__all__ = [
    "Question",
    "print_rows",
    "run_command",
    "run_with_heaps",
    "show_life",
    "show_report",
    "stand_between",
]

_PATIENCE_S = 30  # Storm's own message timeout: a root that is younger may still complete
_NEVER_STARTED = {126, 127}  # as shells say it
_MOST_FAULTS = 10  # of one kind, told one by one
_PEOPLE = {"full", "concise"}


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Question:
    """The arguments of `ackdoctor trace report`, as given."""

    traces: tuple[Path, ...]
    output_format: str = "full"
    acker_version: str | None = None
    message_timeout_s: int | None = None
    min_severity: str | None = None
    isolated: bool = False

    def __post_init__(self) -> None:
        """UsageError for a word that is none."""
        known_word("--output-format", self.output_format, FORMATS)
        if self.min_severity is not None:
            known_word("--min-severity", self.min_severity, [severity.word for severity in Severity])


def run_with_heaps(command: Sequence[str], directory: Path, level: str) -> int:
    """As `run_command`, with snapshots of the processes' heaps; their reports come on standard error."""
    from ackdoctor.cli.snapshots import RECORDING, show_heaps
    from ackdoctor.heap.python.guppy import missing

    if why := missing():
        raise UsageError(f"--heap: {why}")
    name = name_of_run()
    code = run_command(command, directory, level, name=name, observers=(RECORDING,))
    if code not in _NEVER_STARTED:
        show_heaps(_folder(directory, name))
    return code


def _need_folder(directory: Path, *, written: bool) -> None:
    """UsageError where no folder is or, if anything will be `written`, none can be made or filled."""
    there = next(place for place in (directory, *directory.absolute().parents) if os.path.exists(place))  # noqa: PTH110 - no error where it may not look
    if not there.is_dir():
        raise UsageError(f"--trace: {there} is no folder")
    if written and not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--trace: {directory}: no traces can be written there: {os.strerror(errno.EACCES)}")


def run_command(
    command: Sequence[str], directory: Path, level: str, *, name: str = "", observers: Sequence[str] = ()
) -> int:
    """The command under the tracer; whether it left a trace, and how to read it, is said on standard error."""
    try:
        wanted = Level.named(level)
    except ValueError as error:
        raise UsageError(f"--level: {error}") from None
    _need_folder(directory, written=wanted is Level.TRACE or bool(observers))
    name = name or name_of_run()
    code = run(command, directory, wanted, name=name, observers=observers)
    if wanted is not Level.TRACE:
        chatter(f"level {wanted} writes no trace; --level trace writes one")
    elif _is_recorded(directory, name):
        chatter(f"the trace is in {directory}; ackdoctor trace report {quote(str(directory))}")
    elif _folder(directory, name).exists():
        chatter(f"nothing was recorded: no trace could be written to {directory}")
    else:
        chatter("no component was traced: no Python process of the command has run one")
    return code


def stand_between(command: Sequence[str], directory: Path) -> int:
    """The component with its pipe observed; nothing of ours is said on it, and a trace that fails is said only."""
    name = name_of_run()
    code = proxy(command, directory, run=name)
    if code not in _NEVER_STARTED and not _is_recorded(directory, name):
        chatter(f"nothing was recorded: no trace could be written to {directory}")
    return code


def _is_recorded(directory: Path, run: str) -> bool:
    return bool(read([_folder(directory, run)]).sources)


def _folder(directory: Path, run: str) -> Path:
    """Made by the first process that had a row to write."""
    return directory / f"v{SCHEMA}" / f"run={run}"


def show_report(question: Question) -> int:
    """Everything `ackdoctor trace report` does; the result is the exit code."""
    version = _version(question.acker_version)
    settings = settings_for(isolated=question.isolated, min_severity=question.min_severity)
    trace = _Trace(question.traces)
    here = Path.cwd()
    nowhere = Site(question.traces[0].as_posix(), NOWHERE)
    found = judge_trace(
        trace.events,
        version,
        message_timeout_s=question.message_timeout_s,
        patience_s=question.message_timeout_s or _PATIENCE_S,
        places=Places(folder=str(here), nowhere=nowhere.path),
        nowhere=nowhere,
    )
    report = _report(found, trace, settings, here)
    trace.complain()
    for path in question.traces:
        if path.is_dir():
            finish_killed(path)
    if not trace.first.sources and question.output_format in _PEOPLE:
        return 2  # what is wrong with the paths has been said
    with until_reader_leaves():
        _show(question.output_format, report, found, version, tolerant(sys.stdout), Sources(root=here))
    if report.unreadable or not found.telling:
        return 2
    return 1 if report.findings else 0


def show_life(subject: str, traces: Sequence[Path], acker_version: str | None) -> int:
    """What happened to one root, or to one delivery of that id; UsageError if the trace knows neither."""
    version = _version(acker_version)
    trace = _Trace(traces)
    root = _number(subject)
    # rows without a root have 0
    told = life_of_root(trace.events, root, version) if root else None
    if told is None:
        told = life_of_delivery(trace.events, subject)
    trace.complain()
    if told is None:
        raise UsageError(f"neither a root nor a delivery of the trace is called {subject}")
    stream = tolerant(sys.stdout)
    with until_reader_leaves():
        life(told, stream, _context(stream, Sources(root=Path.cwd())))
    return 2 if trace.first.unreadable else 0


def print_rows(traces: Sequence[Path]) -> int:
    """Every row as a line of JSON."""
    trace = _Trace(traces)
    with until_reader_leaves():
        sys.stdout.writelines(f"{files.line(event)}\n" for event in trace.events())
    trace.complain()
    return 2 if trace.first.unreadable else 0


# ---- reading ----


class _Trace:
    """Traces that can be read more than once; what is wrong with them is that of the first reading."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._again = False
        self.first: Reading = read(paths)

    def events(self) -> Iterable[Event]:
        """Every row, from the beginning."""
        reading = read(self._paths) if self._again else self.first
        self._again = True
        return reading.events()

    def complain(self) -> None:
        """On standard error, whatever the format."""
        _complain(self.first.unreadable, self.first.torn)


def _complain(unreadable: Iterable[Unreadable], torn: int) -> None:
    amounts: Counter[str] = Counter()
    for fault in unreadable:
        amounts[fault.reason] += 1
        where = f"{fault.path}:{fault.line}" if fault.line else fault.path
        if amounts[fault.reason] <= _MOST_FAULTS:
            chatter(f"{where}: {fault.reason}", prefix="")
    for reason, amount in amounts.items():
        if amount > _MOST_FAULTS:
            chatter(f"{counted(amount - _MOST_FAULTS, 'more file')}: {reason}", prefix="")
    if torn:
        chatter(f"{counted(torn, 'row')} begun and never finished: its process was killed")


def _version(name: str | None) -> Profile:
    return NEWEST if name is None else profile(name)


def _number(subject: str) -> int | None:
    try:
        return int(subject)
    except ValueError:
        return None


# ---- what is shown ----


def _report(found: TraceReport, trace: _Trace, settings: Settings, here: Path) -> Report:
    """What lint's settings and comments leave of the findings."""
    chosen = shown(found.findings, settings, here)
    return Report(
        findings=chosen.findings,
        unreadable=tuple(trace.first.unreadable),
        files=tuple(sorted(str(path) for path in trace.first.sources)),
        components=len(found.tally.components),
        suppressed=chosen.suppressed,
        hidden=chosen.hidden,
        notes=(*found.notes, *chosen.notes),
    )


def _show(
    form: str, report: Report, found: TraceReport, version: Profile, stream: TextIO, sources: Sources
) -> None:
    context = _context(stream, sources, form)
    about = About(
        tally=found.tally,
        acker=version.name,
        rows=found.rows,
        roots=found.roots,
        seconds=found.seconds,
        telling=found.telling,
        unjudged=len(found.tally.unobserved),
        expired=found.expired,
        width=width_for(stream),
    )
    show = {"full": partial(screen, context=context, about=about), "json": partial(document, about=about)}
    if form in show:
        show[form](report, stream)
    else:
        show_with(verdict(report, about), report, form, stream, context)


def _context(stream: TextIO, sources: Sources, form: str = "full") -> Context:
    return Context(
        sources=sources,
        palette=palette_for(stream) if form in _PEOPLE else PLAIN,
        glyphs=glyphs_for(stream),
        pages=pages,
    )
