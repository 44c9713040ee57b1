"""`ackdoctor heap`: what the heap of a worker holds, from a dump or from class histograms."""

import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from ackdoctor.acker.versions import Profile, profile
from ackdoctor.cli.commands import (
    Isolated,
    acker_option,
    bytes_of,
    callback_of,
    formats_option,
    lines_of,
    path_parser,
    seconds_option,
    severity_of,
)
from ackdoctor.cli.output import Progress, complain, filter_findings, progress, settings_for, write_report
from ackdoctor.heap import growth, judge
from ackdoctor.heap.dump import HeapDump, read_dump
from ackdoctor.heap.growth import Histogram, most_common_jvm, parse, timed
from ackdoctor.heap.hprof import HprofError
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Finding, Report, Severity, Unreadable, counted
from ackdoctor.reporters import heap as reports
from ackdoctor.tracer.sites import Places

if TYPE_CHECKING:
    from typer._click import Command, Context


_MAX_CHARACTERS = 256 << 20  # of a file with histograms
_FORMATS = ("full", "json", "json-lines", "concise", "sarif")
_MAX_ENTRIES = (1 << 31) - 1
_SAMPLES, _SAMPLES_WITH_TRACE = 3, 1_000
_INTERVAL_S = 10.0
_MAX_ROWS = 3  # damaged rows of a histogram that are printed
_MAX_FAULTS = 100  # on standard error
_JCMD_TIMEOUT_S = 120
_NUMBER = re.compile(r"[0-9]{1,18}")
_NO_HISTOGRAM = "no class histogram: no line like `1:  1000  40000  java.lang.Long`"
_CUT_OFF = "the histogram is cut off and ignored: its last line, Total, is missing"
_OTHER_JVM = "{count} of JVM {other} ignored, since most are of {jvm}: run the command once for each JVM"


class _Group(TyperGroup):
    """Suggests `heap dump` and `heap hist` for a file in the place of a command."""

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """Return the command; fail for a file."""
        found = super().get_command(ctx, cmd_name)
        file = Path(cmd_name)
        if found is None and not ctx.resilient_parsing and (file.suffix or file.exists()):
            ctx.fail(
                f"`ackdoctor heap dump {quote(cmd_name)}` reads a heap dump, "
                f"`ackdoctor heap hist {quote(cmd_name)}` class histograms"
            )
        return found


heap = typer.Typer(
    cls=_Group,
    help="Show which tuples a heap holds because of wrong acking.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass(slots=True, kw_only=True)
class _Options:
    """The options of both commands."""

    top: Annotated[int, typer.Option(min=0, metavar="N", help="How many classes to list.")] = 20
    acker_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="The version whose acker to assume: 1.1.0, 2.8.8. Default: unknown."
        ),
    ] = None
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"
    min_severity: Annotated[
        Severity | None,
        typer.Option(
            parser=severity_of, metavar="info|warning|error", help="Hide findings below this severity."
        ),
    ] = None
    isolated: Isolated = False

    @property
    def profile(self) -> Profile | None:
        """The acker's profile; None if the version is unknown."""
        return acker_option(self.acker_version, profile, None)


@dataclass(slots=True, kw_only=True)
class Dump(_Options):
    """Show who holds which tuples in a heap dump, and why.

    Lists the classes, each acker's entries by bucket and kind, ShellBolt's inputs and the spouts' pending messages.

    Make a dump with `jcmd PID GC.heap_dump worker.hprof`. Exit code: 0 nothing found; 1 findings; 2 the dump could
    not be read to its end.
    """

    file: Annotated[
        Path,
        typer.Argument(
            parser=path_parser("FILE"),
            metavar="FILE",
            help="An HPROF dump: worker.hprof, worker.hprof.gz; - is standard input.",
        ),
    ]
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            parser=path_parser("--trace"),
            metavar="TRACE|LOG",
            help="A trace of the same run, or logs of its workers with topology.debug (rotated and zipped ones too), or a directory of logs: their acks name the culprits. Repeat it for more.",
        ),
    ] = None
    message_timeout: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MAX_ENTRIES,
            metavar="SECONDS",
            help="topology.message.timeout.secs, if the dump does not hold the topology's configuration. Default: 30.",
        ),
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_MAX_ENTRIES,
            metavar="N",
            help="How many entries of each kind to read in full. Default: 3, with --trace 1000.",
        ),
    ] = None

    def run(self) -> int:
        """Read the dump, write the report and return the exit code."""
        profile = self.profile
        samples = _SAMPLES_WITH_TRACE if self.trace else _SAMPLES
        samples = samples if self.samples is None else self.samples
        try:
            with progress(f"reading {self.file.name}", in_bytes=True) as line:
                dump = read_dump(self.file, samples=samples, timeout_s=self.message_timeout, progress=line)
        except HprofError as error:
            complain(f"{self.file}: {error}")
            return 2
        findings = judge.findings(dump, profile)
        notes: tuple[str, ...] = ()
        unreadable = [_fault(dump.path, fault) for fault in dump.faults]
        if self.trace:
            findings, notes, faults = _with_trace(dump, findings, self.trace, profile)
            unreadable += faults
        report = _report(self, findings, unreadable, [dump.path], notes)
        write_report(
            report,
            self.output_format,
            reports.dump_verdict(report, dump),
            screen=lambda *where: reports.dump_screen(report, dump, *where, top=self.top),
            document=lambda stream: reports.dump_document(report, dump, stream, top=self.top),
        )
        _complain(report.unreadable)
        return 2 if report.unreadable else 1 if report.findings else 0


@dataclass(slots=True, kw_only=True)
class Hist(_Options):
    """Show which classes grow, and how fast, in class histograms.

    Shows each class over time, what it means, and how long until the heap is full.

    Exit code: 0 nothing found; 1 findings; 2 a file could not be read.
    """

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=path_parser("FILE"),
            metavar="FILE...",
            help="Outputs of jcmd GC.class_histogram or jmap -histo, oldest first; - is standard input.",
        ),
    ] = None
    pid: Annotated[
        int | None, typer.Option(min=1, metavar="PID", help="Take the histograms from this JVM with jcmd.")
    ] = None
    count: Annotated[int, typer.Option(min=2, metavar="N", help="With --pid: how many to take.")] = 6
    every: Annotated[
        float | None,
        seconds_option(
            0.1, "The time between two histograms. Default: the times in the files; with --pid 10."
        ),
    ] = None
    unreachable: Annotated[
        bool, typer.Option("--all", help="With --pid: count garbage too, without a full collection.")
    ] = False
    xmx: Annotated[
        int | None,
        typer.Option(
            parser=partial(bytes_of, "--xmx"),
            metavar="SIZE",
            help="The worker's -Xmx, for the forecast: 768m, 4g.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Raise UsageError unless either files or a JVM are named."""
        if self.pid is None and not self.files:
            raise UsageError("name files with histograms, or a JVM with --pid PID")
        if self.pid is not None and self.files:
            raise UsageError("--pid takes histograms itself: name no files with it")
        for file in self.files or ():
            if str(file).isdecimal() and not file.exists():
                raise UsageError(f"{file}: no such file; name a JVM with --pid {file}")

    def run(self) -> int:
        """Read the histograms, write the report and return the exit code."""
        limit, profile = self.xmx or 0, self.profile
        files = self.files or []
        unreadable: list[Unreadable] = []
        if self.pid is not None:
            if not limit:  # first: a JVM that fills up may not live to answer
                flags = dict(word.partition("=")[::2] for word in _jcmd(self.pid, "VM.flags").split())
                value = flags.get("-XX:MaxHeapSize", "")
                limit = int(value) if value.isdecimal() else 0
            dated, found = True, _take_histograms(self, self.pid, unreadable)
        else:
            with progress("reading histograms", in_bytes=True) as line:
                dated, found = _read(files, self.every, unreadable, line)
        _complain(unreadable)
        if not found:
            return 2
        trends = growth.growth(found, dated=dated, limit=limit)
        path = files[0].as_posix() if files else f"pid {self.pid}"
        findings = judge.growth_findings(trends, path, profile)
        report = _report(self, findings, unreadable, [str(file) for file in files])
        write_report(
            report,
            self.output_format,
            reports.growth_verdict(report, trends),
            screen=lambda *where: reports.growth_screen(report, trends, *where, top=self.top),
            document=lambda stream: reports.growth_document(report, trends, stream, top=self.top),
        )
        return 2 if unreadable else 1 if report.findings else 0


heap.command("dump")(callback_of(Dump))
heap.command("hist")(callback_of(Hist))


def _with_trace(
    dump: HeapDump, findings: Sequence[Finding], traces: Sequence[Path], profile: Profile | None
) -> tuple[tuple[Finding, ...], tuple[str, ...], list[Unreadable]]:
    """Add the culprits that a trace or a log names; return the findings, notes on the match, and unreadable files."""
    roots = judge.trees(dump)
    evidence = judge.run_evidence(traces, roots)
    places = Places(folder=str(Path.cwd()), nowhere=dump.path)
    word = "log" if evidence.logs else "trace"
    notes = [
        f"of {len(roots):,} roots read, the {word} knows {len(evidence.trees):,} and explains {evidence.named:,}"
    ]
    if evidence.expected:
        notes.append(
            f"acks after a fail or a timeout explain another {evidence.expected:,}: correct programs leave such entries too"
        )
    if evidence.logs and not evidence.trees:
        notes.append("a worker logs tuples only with topology.debug=true")
    found = judge.with_culprits(evidence.trees, dump, findings, keeper=profile, places=places)
    return found, tuple(notes), list(evidence.unreadable)


# ---- histograms ----


def _read(
    files: Sequence[Path], every: float | None, unreadable: list[Unreadable], line: Progress | None
) -> tuple[bool, Sequence[Histogram]]:
    """Return whether the histograms have times, and the histograms of one JVM."""
    read: list[tuple[Path, Histogram]] = []
    numbered = len({_NUMBER.sub("", file.as_posix()) for file in files}) == 1
    if numbered:  # the shell puts hist-10.txt before hist-9.txt
        files = sorted(files, key=lambda file: [int(each) for each in _NUMBER.findall(file.as_posix())])
    steps = line.within(files) if line else {}
    for file in files:
        faults: list[str] = []
        parsed = list(parse(lines_of(file, faults, limit=_MAX_CHARACTERS, progress=steps.get(file))))
        unreadable += [_fault(file.as_posix(), fault) for fault in faults]
        if not parsed and faults:
            continue
        histograms = [each for each in parsed if not each.garbage] or parsed
        if not histograms:
            unreadable.append(_fault(file.as_posix(), _NO_HISTOGRAM))
        most = max((len(each.classes) for each in histograms), default=0)
        # the missing classes of a histogram that is cut off would seem to shrink
        cut = [each for each in histograms if not each.whole and len(each.classes) < most]
        unreadable += [_fault(file.as_posix(), _CUT_OFF, line=each.line) for each in cut]
        read += [(file, each) for each in histograms if each not in cut]
    read = _without_copies(_without_damage(read, unreadable))
    if not read:
        named = {fault.path for fault in unreadable}
        silent = [file.as_posix() for file in files if file.as_posix() not in named]
        unreadable += [_fault(file, _NO_HISTOGRAM) for file in silent]
        return False, ()
    jvm = most_common_jvm(each for _, each in read)
    same = [(file, each) for file, each in read if each.jvm in {"", jvm}]
    others = Counter((file, each.jvm) for file, each in read if each.jvm not in {"", jvm})
    unreadable += [
        _fault(file.as_posix(), _OTHER_JVM.format(count=counted(count, "histogram"), other=other, jvm=jvm))
        for (file, other), count in others.items()
    ]
    # standard input and a file that is gone have no time
    modified = [int(file.stat().st_mtime * 1000) if file.exists() else 0 for file, _ in same]
    timeless = sum(each.time_ms is None for _, each in same)
    dated, found = timed(
        [each for _, each in same],
        every_ms=None if every is None else int(every * 1000),
        fallback=[0] * len(same) if numbered and modified != sorted(modified) else modified,
    )
    if timeless and dated and every is None and len(same) > 1:
        complain(
            f"{counted(timeless, 'histogram')} without a time: ordered by the times of the files' last changes; "
            "--every SECONDS keeps the order given"
        )
    return dated, found


def _without_damage(
    read: Sequence[tuple[Path, Histogram]], unreadable: list[Unreadable]
) -> list[tuple[Path, Histogram]]:
    """Drop histograms that contradict themselves, and classes that a damaged row may have counted."""
    sound = []
    for file, each in read:
        if each.contradicts:
            unreadable.append(_fault(file.as_posix(), f"{each.contradicts}: ignored", line=each.last_line))
        else:
            sound.append((file, each))
        for line, text in each.lost[:_MAX_ROWS]:
            unreadable.append(_fault(file.as_posix(), f"not a row of a histogram: {text!r}", line=line))
        if (more := len(each.lost) - _MAX_ROWS) > 0:
            unreadable.append(_fault(file.as_posix(), f"{more:,} more lines are not rows", line=each.line))
    names = {name for _, each in sound for name in each.classes}
    unknown = {name for _, each in sound if each.lost for name in names - each.classes.keys()}
    for _, each in sound:
        each.classes = {name: row for name, row in each.classes.items() if name not in unknown}
    return [(file, each) for file, each in sound if each.classes]


def _without_copies(read: Sequence[tuple[Path, Histogram]]) -> list[tuple[Path, Histogram]]:
    """Drop copies of an earlier histogram, which would hide growth."""
    first: dict[tuple[object, ...], tuple[Path, Histogram]] = {}
    for file, each in read:
        first.setdefault((each.time_ms, *each.classes.items()), (file, each))
    distinct = list(first.values())
    if copies := len(read) - len(distinct):
        complain(f"{counted(copies, 'repeated histogram')} ignored")
    return distinct


def _take_histograms(options: Hist, pid: int, unreadable: list[Unreadable]) -> Sequence[Histogram]:
    """Return the histograms of a running JVM taken before Ctrl-C or its end; raise UsageError if there are none."""
    every = options.every or _INTERVAL_S
    found: list[Histogram] = []
    begin = time.monotonic()
    try:
        for number in range(options.count):
            time.sleep(max(0.0, begin + number * every - time.monotonic()))
            at = time.monotonic()
            text = _jcmd(pid, "GC.class_histogram", *(["-all"] if options.unreachable else []))
            histogram = next(parse(text.splitlines()), None)
            if histogram is None:
                raise UsageError(f"--pid {pid}: jcmd printed no histogram: {text.strip()[:200]}")  # noqa: TRY301
            histogram.time_ms = int((at - begin) * 1000)
            complain(f"{number + 1} of {options.count}: {histogram.size / 1e6:,.1f} MB")
            found.append(histogram)
    except (KeyboardInterrupt, UsageError) as error:
        if not found:
            raise
        taken = counted(len(found), "histogram")
        if isinstance(error, UsageError):
            unreadable.append(_fault(f"pid {pid}", f"gone after {taken}: {error}"))
        else:
            complain(f"interrupted: {taken} of {options.count} taken")
    return found


def _jcmd(pid: int, *command: str) -> str:
    program = shutil.which("jcmd")
    if program is None:
        raise UsageError("--pid: jcmd is not on the path; install a JDK")
    try:
        result = subprocess.run(  # noqa: S603  # no word comes from an input
            [program, str(pid), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=_JCMD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"--pid {pid}: the JVM does not answer within {_JCMD_TIMEOUT_S} s") from None
    if result.returncode:
        lines = [line for line in (result.stderr or result.stdout).splitlines() if line.strip()]
        reason = next((line for line in lines if "Exception" in line and not line[:1].isspace()), "")
        raise UsageError(f"--pid {pid}: jcmd cannot reach it: {reason or (lines or ['no reason given'])[0]}")
    return result.stdout


# ---- the report ----


def _fault(path: str, reason: str, line: int = 0) -> Unreadable:
    return Unreadable(path=path, line=line, column=0, reason=reason)


def _report(
    options: _Options,
    findings: Sequence[Finding],
    unreadable: Sequence[Unreadable],
    files: Sequence[str],
    notes: Sequence[str] = (),
) -> Report:
    settings = settings_for(isolated=options.isolated, min_severity=options.min_severity)
    report = Report(
        findings=tuple(findings), unreadable=tuple(unreadable), files=tuple(files), notes=tuple(notes)
    )
    return filter_findings(report, settings)


def _complain(faults: Sequence[Unreadable]) -> None:
    """Print at most a hundred faults."""
    for fault in faults[:_MAX_FAULTS]:
        place = f", line {fault.line:,}" if fault.line else ""
        complain(f"{fault.path}{place}: {fault.reason}")
    if len(faults) > _MAX_FAULTS:
        complain(f"{len(faults) - _MAX_FAULTS:,} more faults: --output-format json has all of them")
