"""What `ackdoctor heap` does: from a dump or histograms to a screen and an exit code."""

import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ackdoctor.acker.versions import Profile, profile
from ackdoctor.cli.given import known_word, measured_bytes
from ackdoctor.cli.heap import FORMS
from ackdoctor.cli.manual import pages
from ackdoctor.cli.shown import settings_for, show_with, shown
from ackdoctor.cli.streams import chatter, glyphs_for, palette_for, tolerant, until_reader_leaves, width_for
from ackdoctor.cli.texts import MOST_OF_HISTOGRAMS, lines_of
from ackdoctor.heap import growth, judge
from ackdoctor.heap.dump import HeapDump, read_dump
from ackdoctor.heap.judge import run_evidence
from ackdoctor.heap.jvm.histogram import Histogram, parse, timed, told_most
from ackdoctor.heap.jvm.hprof import HprofError
from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Finding, Report, Severity, Unreadable
from ackdoctor.reporters import Context, heap
from ackdoctor.reporters.context import PLAIN, Sources, counted
from ackdoctor.tracer.judge.places import Places

__all__ = ["DumpRequest", "HistRequest", "show_dump", "show_histograms"]

_SAMPLES, _SAMPLES_WITH_TRACE = 3, 1_000
_EVERY_S = 10.0
_MOST_ROWS = 3  # damaged rows of a histogram that are named
_MOST_FAULTS = 100  # on standard error
_JCMD_PATIENCE_S = 120
_NO_HISTOGRAM = "no class histogram: no line like `1:  1000  40000  java.lang.Long`"
_CUT_OFF = "the histogram is cut off and left out: it lacks its last line, Total"
_OF_ANOTHER = "{count} of JVM {its} left out, since most are of {jvm}: give each JVM's by themselves"
_PEOPLE = {"full", "concise"}


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Shape:
    """What both commands are asked for."""

    top: int = 20
    acker_version: str | None = None
    output_format: str = "full"
    min_severity: str | None = None
    isolated: bool = False

    def __post_init__(self) -> None:
        """UsageError for a word that is none."""
        known_word("--output-format", self.output_format, FORMS)
        if self.min_severity is not None:
            known_word("--min-severity", self.min_severity, [severity.word for severity in Severity])

    @property
    def keeper(self) -> Profile | None:
        """Whose acker it is, where the user says so."""
        return None if self.acker_version is None else profile(self.acker_version)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class DumpRequest(_Shape):
    """The arguments of `ackdoctor heap dump`, as given."""

    file: Path
    traces: tuple[Path, ...] = ()
    message_timeout_s: int | None = None
    samples: int | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class HistRequest(_Shape):
    """The arguments of `ackdoctor heap hist`, as given."""

    files: tuple[Path, ...] = ()
    pid: int | None = None
    count: int = 6
    every_s: float | None = None
    live: bool = True
    xmx: str | None = None

    @property
    def limit(self) -> int:
        """What --xmx says; 0 where nothing is said."""
        return 0 if self.xmx is None else measured_bytes("--xmx", self.xmx)


# ---- a dump ----


def show_dump(request: DumpRequest) -> int:
    """Everything `ackdoctor heap dump` does; the result is the exit code."""
    keeper = request.keeper
    samples = request.samples
    if samples is None:
        samples = _SAMPLES_WITH_TRACE if request.traces else _SAMPLES
    try:
        dump = read_dump(request.file, samples=samples, timeout_s=request.message_timeout_s)
    except HprofError as error:
        chatter(f"{request.file}: {error}", prefix="")
        return 2
    found = judge.findings(dump, keeper)
    notes: tuple[str, ...] = ()
    unreadable = [_fault(dump.path, fault) for fault in dump.faults]
    if request.traces:
        found, notes, faults = _with_trace(dump, found, request, keeper)
        unreadable += faults
    report = _report(found, unreadable, [dump.path], request, notes)
    with until_reader_leaves():
        stream = tolerant(sys.stdout)
        match request.output_format:
            case "full":
                context = _context(stream, "full")
                heap.dump_screen(report, dump, stream, context, width=width_for(stream), top=request.top)
            case "json":
                heap.dump_document(report, dump, stream, top=request.top)
            case form:
                show_with(heap.dump_verdict(report, dump), report, form, stream, _context(stream, form))
    return _code(report)


def _with_trace(
    dump: HeapDump, found: Sequence[Finding], request: DumpRequest, keeper: Profile | None
) -> tuple[tuple[Finding, ...], tuple[str, ...], list[Unreadable]]:
    """The findings with the culprits that a trace or a log names, and how many of the roots it knows."""
    wanted = judge.trees(dump)
    evidence = run_evidence(request.traces, wanted)
    places = Places(folder=str(Path.cwd()), nowhere=dump.path)
    word = "log" if evidence.logs else "trace"
    notes = [
        f"of {len(wanted):,} roots read, the {word} knows {len(evidence.trees):,} and explains {evidence.named:,}"
    ]
    if evidence.expected:
        notes.append(
            f"another {evidence.expected:,} {'is' if evidence.expected == 1 else 'are'} left by acks after a fail or a timeout, as correct programs leave them, too"
        )
    if evidence.logs and not evidence.trees:
        notes.append("a worker's log tells of tuples only where topology.debug is true")
    found = judge.with_culprits(evidence.trees, dump, found, keeper=keeper, places=places)
    return found, tuple(notes), list(evidence.unreadable)


# ---- histograms ----


def show_histograms(request: HistRequest) -> int:
    """Everything `ackdoctor heap hist` does; the result is the exit code."""
    limit, keeper = request.limit, request.keeper
    if request.pid is None and not request.files:
        raise UsageError("name files with histograms, or a JVM with --pid PID")
    if request.pid is not None and request.files:
        raise UsageError("--pid takes histograms itself: name no files with it")
    for file in request.files:
        if str(file).isdecimal() and not file.exists():
            raise UsageError(f"{file}: no such file; a JVM is named with --pid {file}")
    unreadable: list[Unreadable] = []
    if request.pid is not None:
        limit = limit or _max_heap(request.pid)  # asked first: a JVM that fills up may not live to answer
        dated, found = True, _taken_in_time(request.pid, request, unreadable)
    else:
        dated, found = _read(request, unreadable)
    _name(unreadable)
    if not found:
        return 2
    grown = growth.growth(found, dated=dated, limit=limit)
    path = request.files[0].as_posix() if request.files else f"pid {request.pid}"
    told = growth.findings(grown, path, keeper)
    report = _report(told, unreadable, [str(file) for file in request.files], request, ())
    with until_reader_leaves():
        stream = tolerant(sys.stdout)
        match request.output_format:
            case "full":
                context = _context(stream, "full")
                heap.growth_screen(report, grown, stream, context, width=width_for(stream), top=request.top)
            case "json":
                heap.growth_document(report, grown, stream, top=request.top)
            case form:
                said = heap.growth_verdict(report, grown)
                show_with(said, report, form, stream, _context(stream, form))
    return 2 if unreadable else 1 if report.findings else 0


def _read(request: HistRequest, unreadable: list[Unreadable]) -> tuple[bool, Sequence[Histogram]]:
    read: list[tuple[Path, Histogram]] = []
    for file in request.files:
        faults: list[str] = []
        everything = list(parse(lines_of(file, faults, most=MOST_OF_HISTOGRAMS)))
        unreadable += [_fault(file.as_posix(), fault) for fault in faults]
        if not everything and faults:
            continue
        of_file = [each for each in everything if not each.garbage] or everything
        if not of_file:
            unreadable.append(_fault(file.as_posix(), _NO_HISTOGRAM))
        most = max((len(each.classes) for each in of_file), default=0)
        cut = [each for each in of_file if not each.whole and len(each.classes) < most]
        unreadable += [_fault(file.as_posix(), _CUT_OFF, line=each.line) for each in cut]
        read += [(file, each) for each in of_file if each not in cut]  # what it lacks would have shrunk
    read = _each_once(_sound(read, unreadable))
    if not read:
        named = {fault.path for fault in unreadable}
        silent = [file.as_posix() for file in request.files if file.as_posix() not in named]
        unreadable += [_fault(file, _NO_HISTOGRAM) for file in silent]
        return False, ()
    jvm = told_most(each for _, each in read)
    kept = [(file, each) for file, each in read if each.jvm in {"", jvm}]
    others = Counter((file, each.jvm) for file, each in read if each.jvm not in {"", jvm})
    unreadable += [
        _fault(file.as_posix(), _OF_ANOTHER.format(count=counted(count, "histogram"), its=its, jvm=jvm))
        for (file, its), count in others.items()
    ]
    every_ms = None if request.every_s is None else int(request.every_s * 1000)
    return timed(
        [each for _, each in kept], every_ms=every_ms, fallback=[_changed_ms(file) for file, _ in kept]
    )


def _sound(
    read: Sequence[tuple[Path, Histogram]], unreadable: list[Unreadable]
) -> list[tuple[Path, Histogram]]:
    """Without histograms that contradict themselves, and without the classes that a damaged row may have counted."""
    sound = []
    for file, each in read:
        if each.contradicts:
            unreadable.append(_fault(file.as_posix(), f"{each.contradicts}: left out", line=each.last_line))
        else:
            sound.append((file, each))
        for line, text in each.lost[:_MOST_ROWS]:
            unreadable.append(_fault(file.as_posix(), f"no row of a histogram: {text!r}", line=line))
        if (more := len(each.lost) - _MOST_ROWS) > 0:
            unreadable.append(_fault(file.as_posix(), f"{more:,} more are no rows", line=each.line))
    names = {name for _, each in sound for name in each.classes}
    unknown = {name for _, each in sound if each.lost for name in names - each.classes.keys()}
    for _, each in sound:
        each.classes = {name: row for name, row in each.classes.items() if name not in unknown}
    return [(file, each) for file, each in sound if each.classes]


def _each_once(read: Sequence[tuple[Path, Histogram]]) -> list[tuple[Path, Histogram]]:
    """Without copies of one before, from which nothing could be seen to grow or to stand still."""
    first: dict[tuple[object, ...], tuple[Path, Histogram]] = {}
    for file, each in read:
        first.setdefault((each.time_ms, *each.classes.items()), (file, each))
    kept = list(first.values())
    if copies := len(read) - len(kept):
        chatter(f"{counted(copies, 'histogram')} given again: each is counted once")
    return kept


def _changed_ms(file: Path) -> int:
    """0 for what has no time: standard input, a file that was rotated away meanwhile."""
    try:
        return int(file.stat().st_mtime * 1000)
    except OSError:
        return 0


def _taken_in_time(pid: int, request: HistRequest, unreadable: list[Unreadable]) -> Sequence[Histogram]:
    """All that could be taken before Ctrl-C, or before the JVM was gone; UsageError if that is none."""
    found: list[Histogram] = []
    try:
        for each in _taken(pid, request):
            found.append(each)  # noqa: PERF402  # what has been taken is kept whatever comes
    except KeyboardInterrupt:
        if not found:
            raise
        chatter(f"interrupted: {counted(len(found), 'histogram')} of {request.count} taken")
    except UsageError as error:
        if not found:
            raise
        unreadable.append(_fault(f"pid {pid}", f"gone after {counted(len(found), 'histogram')}: {error}"))
    return found


def _taken(pid: int, request: HistRequest) -> Iterator[Histogram]:
    """Histograms of a JVM that runs, with their times; UsageError where jcmd cannot reach it."""
    every = request.every_s or _EVERY_S
    begin = time.monotonic()
    for number in range(request.count):
        time.sleep(max(0.0, begin + number * every - time.monotonic()))
        at = time.monotonic()
        text = _jcmd(pid, "GC.class_histogram", *([] if request.live else ["-all"]))
        histogram = next(parse(text.splitlines()), None)
        if histogram is None:
            raise UsageError(f"--pid {pid}: jcmd gave no histogram: {text.strip()[:200]}")
        histogram.time_ms = int((at - begin) * 1000)
        chatter(f"{number + 1} of {request.count}: {histogram.size / 1e6:,.1f} MB")
        yield histogram


def _max_heap(pid: int) -> int:
    """-XX:MaxHeapSize of that JVM; 0 if it does not say."""
    for word in _jcmd(pid, "VM.flags").split():
        name, _, value = word.partition("=")
        if name == "-XX:MaxHeapSize" and value.isdecimal():
            return int(value)
    return 0


def _jcmd(pid: int, *command: str) -> str:
    program = shutil.which("jcmd")
    if program is None:
        raise UsageError("--pid needs jcmd, which comes with a JDK, on the path")
    try:
        ran = subprocess.run(  # noqa: S603  # the words are ours
            [program, str(pid), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=_JCMD_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"--pid {pid}: the JVM does not answer within {_JCMD_PATIENCE_S} s") from None
    if ran.returncode:
        said = [line for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
        reason = next((line for line in said if "Exception" in line and not line[:1].isspace()), "")
        raise UsageError(f"--pid {pid}: jcmd cannot reach it: {reason or (said or ['no reason given'])[0]}")
    return ran.stdout


# ---- both ----


def _fault(path: str, reason: str, line: int = 0) -> Unreadable:
    return Unreadable(path=path, line=line, column=0, reason=reason)


def _report(
    found: Sequence[Finding],
    unreadable: Sequence[Unreadable],
    files: Sequence[str],
    request: _Shape,
    notes: Sequence[str],
) -> Report:
    settings = settings_for(isolated=request.isolated, min_severity=request.min_severity)
    chosen = shown(found, settings, Path.cwd())
    return Report(
        findings=chosen.findings,
        unreadable=tuple(unreadable),
        files=tuple(files),
        suppressed=chosen.suppressed,
        hidden=chosen.hidden,
        notes=(*notes, *chosen.notes),
    )


def _name(faults: Sequence[Unreadable]) -> None:
    """Each fault on standard error, the first hundred of them."""
    for fault in faults[:_MOST_FAULTS]:
        place = f", line {fault.line:,}" if fault.line else ""
        chatter(f"{fault.path}{place}: {fault.reason}", prefix="")
    if len(faults) > _MOST_FAULTS:
        chatter(f"{len(faults) - _MOST_FAULTS:,} more faults: --output-format json has them all", prefix="")


def _code(report: Report) -> int:
    _name(report.unreadable)
    if report.unreadable:
        return 2
    return 1 if report.findings else 0


def _context(stream: TextIO, form: str) -> Context:
    return Context(
        sources=Sources(root=Path.cwd()),
        palette=palette_for(stream) if form in _PEOPLE else PLAIN,
        glyphs=glyphs_for(stream),
        pages=pages,
    )
