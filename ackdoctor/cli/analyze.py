"""`ackdoctor analyze`: traces and a cluster's logs of any size, with Spark."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple, TextIO

import typer

from ackdoctor.cli.commands import (
    AckerVersion,
    HeldTopology,
    Isolated,
    MessageTimeout,
    MinSeverity,
    OutputFile,
    SparkConf,
    SparkMaster,
    acker_option,
    bytes_of,
    formats_option,
    milliseconds_of,
    nonempty,
    require_spark,
    rule_names,
    spark_settings,
)
from ackdoctor.cli.output import (
    Progress,
    complain,
    context_for,
    destination,
    filter_findings,
    progress,
    require_not_an_input,
    require_writable,
    settings_for,
    write_screen,
)
from ackdoctor.config import nearest
from ackdoctor.diagnose.diagnosis import deaths
from ackdoctor.diagnose.symptoms import Death
from ackdoctor.model import UsageError
from ackdoctor.model.acker import NEWEST
from ackdoctor.model.finding import Confidence, Finding, Report, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.reporters import reporter
from ackdoctor.reporters.analysis import document, incomplete, screen, verdict
from ackdoctor.reporters.promise import Promise
from ackdoctor.rulebook import (
    ACK_AND_FAIL,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    rule_name,
    words,
)
from ackdoctor.spark.inputs import Inputs, inside
from ackdoctor.spark.tables import Analysis, Deaths
from ackdoctor.tracer.findings import gathered

_FORMATS = ("full", "json", "json-lines", "sarif", "parquet", "html")
_NEVER, _INCOMPLETE = "never", "incomplete"
_DEFAULT_TIMEOUT_S = 30  # Storm's own
_LOOK_S = 0.2  # between two looks at the stages


@dataclass(slots=True, kw_only=True)
class Analyze:
    """Report what traces and logs of any size show, with Spark.

    Shows which trees never completed and why, who acked twice or never, and how the acker's map grew.

    Needs Spark (the extra ackdoctor[spark]) and Java 17 or 21, or with pyspark 4.2 or newer 25. Exit code: 0 nothing
    found; 1 findings; 2 the work could not be done, an input could not be read, or no row is about acking.
    """

    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Traces or logs: files, directories, patterns, addresses that Spark reads.",
        ),
    ]
    acker_version: AckerVersion = None
    message_timeout: MessageTimeout = None
    window: Annotated[
        int | None,
        typer.Option(
            parser=partial(milliseconds_of, "--window"),
            metavar="TIME",
            help="The window of the growth curve: 500ms, 10s, 5m. Default: automatic.",
        ),
    ] = None
    heap: Annotated[
        str,
        typer.Option(metavar="SIZE", help="The heap of a worker with ackers, for the forecast: 768m, 4g."),
    ] = "768m"
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"
    output_file: OutputFile = None
    output_dir: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write the full tables to a directory, as Parquet: verdicts, entries, deliveries, completions, growth, ackers. Earlier tables are overwritten, other files are not.",
        ),
    ] = None
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Exit with 1 only for these: error, warning, incomplete, never, or rules, separated by commas.",
        ),
    ] = None
    topology: HeldTopology = None
    min_severity: MinSeverity = None
    master: SparkMaster = "local[*]"
    conf: SparkConf = None
    isolated: Isolated = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress on standard error.")] = False

    def __post_init__(self) -> None:
        """Raise UsageError for arguments that cannot be read."""
        for name in self.inputs:
            nonempty("INPUT", name)
        if self.output_format == "parquet" and self.output_dir is None:
            raise UsageError("--output-format parquet needs --output-dir DIR")
        if self.output_format == "parquet" and self.output_file is not None:
            raise UsageError("--output-file: tables are written to a directory; use --output-dir")
        if self.output_dir is not None:
            if not self.output_dir.strip():
                raise UsageError("--output-dir: the path is empty")
            if (folder := inside(self.output_dir, self.inputs)) is not None:
                raise UsageError(
                    f"--output-dir: {self.output_dir} is inside the input {folder}, so tables would be read as traces; choose another directory"
                )
        _ = self.settings, self.heap_bytes

    @property
    def settings(self) -> Mapping[str, str]:
        """The Spark settings of --conf."""
        return spark_settings(self.conf)

    @property
    def heap_bytes(self) -> int:
        """The size of --heap."""
        return bytes_of("--heap", self.heap)

    def run(self) -> int:
        """Analyze the inputs, write the report and return the exit code."""
        require_spark("analyze")
        settings = settings_for(isolated=self.isolated, min_severity=self.min_severity)
        fail_on = _fail_on(self.fail_on)
        require_writable(self.output_file)
        analysis = _analysis(self)
        report = Report(
            findings=analysis.findings,
            unreadable=analysis.unreadable,
            files=analysis.files,
            components=len(analysis.tally.components),
        )
        report = filter_findings(report, settings)
        for fault in report.unreadable:
            complain(f"{fault.path}: {fault.reason}")
        if analysis.row_counts.useless:
            complain(verdict(report, analysis))
        promise = _promise(self, analysis)
        with destination(self.output_file) as stream:
            _write(self, report, analysis, promise, stream)
        if not self.quiet and self.output_format != "parquet":  # which prints them itself
            for path in analysis.written:
                complain(f"wrote {path}")
        if report.unreadable or analysis.row_counts.useless or not analysis.row_counts.balanced:
            return 2
        return 1 if fail_on.matches(report, analysis) else 0


# ---- --fail-on ----


class _FailOn(NamedTuple):
    """What makes the exit code 1: findings of a severity, findings of rules, and an incomplete analysis."""

    least: Severity | None = None
    rules: tuple[str, ...] = ()
    incomplete: bool = False

    def matches(self, report: Report, analysis: Analysis) -> bool:
        """Return whether the exit code is 1."""
        return (self.incomplete and incomplete(report, analysis)) or any(
            finding.code.startswith(self.rules) or (self.least is not None and finding.severity >= self.least)
            for finding in report.findings
        )


def _fail_on(value: str | None) -> _FailOn:
    """Parse `error`, `ACK101,ACK6`, `missing-ack`, `incomplete`; without a value, every visible finding counts."""
    if value is None:
        return _FailOn(Severity.INFO)
    levels = {severity.word: severity for severity in Severity}
    names = rule_names()
    codes = {name: code for code, name in names.items()}
    kinds = ", ".join((*levels, _INCOMPLETE, _NEVER))
    words = tuple(filter(None, map(str.strip, value.split(","))))
    if not words:  # an empty variable
        raise UsageError(f"--fail-on: no word is given; use {kinds} or a rule")
    rules = []
    for word in words:
        if word in codes or (word.startswith("ACK") and any(code.startswith(word) for code in names)):
            rules.append(codes.get(word, word))
        elif word not in {*levels, _INCOMPLETE, _NEVER}:
            hint = nearest(word, (*levels, _INCOMPLETE, _NEVER, *names, *codes))
            raise UsageError(f"--fail-on: {word!r} is neither a rule nor one of {kinds}{hint}")
    least = min((levels[word] for word in words if word in levels), default=None)
    return _FailOn(least, tuple(rules), _INCOMPLETE in words)


# ---- Spark ----


def _analysis(options: Analyze) -> Analysis:
    from ackdoctor.spark.analysis import analyze
    from ackdoctor.spark.inputs import find_inputs
    from ackdoctor.spark.judge import Request
    from ackdoctor.spark.replay import acker_version
    from ackdoctor.spark.session import LARGE_BYTES, session, spark_errors, tasks

    request = Request(
        version=acker_option(options.acker_version, acker_version, NEWEST),
        message_timeout_s=options.message_timeout,
        patience_s=options.message_timeout or _DEFAULT_TIMEOUT_S,
        window_ms=options.window or 0,
        heap=options.heap_bytes,
        folder=str(Path.cwd()),
        nowhere=options.inputs[0],
        outcomes=bool(options.topology),
    )
    inputs = find_inputs(options.inputs)
    inputs.need_some(request.folder)  # before a JVM is started
    files = (*chain(*inputs.files.values()), *(fault.path for fault in inputs.unreadable))
    require_not_an_input(options.output_file, files)
    # a remote input may be large
    size = max(inputs.size, LARGE_BYTES) if inputs.addresses else inputs.size
    with _stages(quiet=options.quiet) as follow, spark_errors():
        spark = session(master=options.master, input_bytes=size, settings=options.settings)
        follow(partial(tasks, spark))
        analysis = analyze(inputs, session=spark, request=request, output_dir=options.output_dir)
    add_deaths(analysis, inputs)
    return analysis


@contextmanager
def _stages(*, quiet: bool) -> Iterator[Callable[[Callable[[], tuple[int, int]]], None]]:
    """Show the tasks of Spark's stages from another thread; yield a function that takes what counts them."""
    counts: list[Callable[[], tuple[int, int]]] = []  # none while Spark starts
    ended = threading.Event()

    def follow(line: Progress) -> None:
        while not ended.wait(_LOOK_S):
            done, total = counts[0]() if counts else (0, 0)
            line.what = "Spark is at work, tasks" if counts else line.what
            line(done, total)

    with progress("starting Spark", quiet=quiet) as line:
        follower = threading.Thread(target=follow, args=(line,), daemon=True)
        if line is not None:
            follower.start()
        try:
            yield counts.append
        finally:
            ended.set()
            if line is not None:
                follower.join()


# ---- deaths of workers, which `diagnose` finds in local logs ----

_MAX_LOG_BYTES = 512 << 20
_TOO_LARGE = "the logs are too large to search for causes of deaths as well; run ackdoctor diagnose"
_MAX_DEATHS = 5  # that a finding lists
_DOUBLE_COMPLETION = frozenset({DOUBLE_ACK, ACK_IN_LOOP, ACK_WITH_AUTO_ACK, ACK_AND_FAIL})
_RULES_OF_DEATHS: Mapping[str, str] = {  # by symptom
    "acked twice": DOUBLE_ACK,
    "failed twice": ACK_AND_FAIL,
    "anchored too late": EMIT_AFTER_ACK,
}


def add_deaths(analysis: Analysis, inputs: Inputs) -> None:
    """Count the deaths of workers in local logs; a death by a double completion or a late anchor is a finding."""
    files = inputs.local_logs()
    if not files:
        return
    if inputs.size > _MAX_LOG_BYTES:
        analysis.notes += (_TOO_LARGE,)
        return
    found = deaths([Path(name) for name in files])
    times = Counter((death.symptom, death.component) for death in found)
    analysis.deaths = tuple(
        Deaths(cause=cause, component=component, times=count)
        for (cause, component), count in times.most_common()
    )
    explained: defaultdict[tuple[str, str], list[Death]] = defaultdict(list)
    for death in found:
        if death.symptom in _RULES_OF_DEATHS and death.component:
            explained[death.symptom, death.component].append(death)
    if explained:
        analysis.findings = gathered(_with_deaths(analysis.findings, explained))


def _with_deaths(
    findings: Iterable[Finding], explained: Mapping[tuple[str, str], Sequence[Death]]
) -> Iterator[Finding]:
    """Yield the findings with the deaths that they explain, and a finding for each other kind of death."""
    named = set()
    for finding in findings:
        for (symptom, component), those in explained.items():
            code = _RULES_OF_DEATHS[symptom]
            codes = _DOUBLE_COMPLETION if code in _DOUBLE_COMPLETION else {code}
            if (
                finding.component == component
                and finding.code in codes
                and isinstance(finding.evidence, TreeWitness)
            ):
                named.add((symptom, component))
                left = (*finding.evidence.left, *_death_lines(those))
                finding = replace(finding, evidence=replace(finding.evidence, left=left))  # noqa: PLW2901
        yield finding
    for (symptom, component), those in explained.items():
        if (symptom, component) in named:
            continue
        code = _RULES_OF_DEATHS[symptom]
        yield Finding(
            code=code,
            name=rule_name(code),
            severity=Severity.ERROR,
            confidence=Confidence.MAY,  # an id that a serializer changed looks the same
            site=Site(those[0].file, NOWHERE),
            message=words(code, "death").message,
            component=component,
            handler="",
            dialect="",
            evidence=TreeWitness(steps=(), left=tuple(_death_lines(those)), seen=len(those)),
            cause=f"death|{symptom}",
            help="complete each tuple exactly once; `ackdoctor diagnose` on this log lists the likely causes in order",
        )


def _death_lines(those: Sequence[Death]) -> Iterator[str]:
    for death in those[:_MAX_DEATHS]:
        yield f"{death.worker or death.file}: died {death.time or f'at line {death.line}'}: {death.cause}"
    if (more := len(those) - _MAX_DEATHS) > 0:
        yield f"and {more:,} more deaths like these"


# ---- the report ----


def _promise(options: Analyze, analysis: Analysis) -> Promise | None:
    """Return the guarantee of the topology beside what became of the messages, if a topology is named."""
    if not options.topology:
        return None
    from ackdoctor.cli.topology import promise_of  # imports lint

    missing = analysis.missing or analysis.quarantine or analysis.unreadable or analysis.tally.dropped
    partial = analysis.taken or analysis.unbegun or analysis.silent_ackers or analysis.left_out
    return promise_of(
        options.topology,
        analysis.outcomes,
        components=[each.component for each in analysis.tally.components],
        complete=not (missing or partial),
        isolated=options.isolated,
    )


def _write(
    options: Analyze, report: Report, analysis: Analysis, promise: Promise | None, stream: TextIO
) -> None:
    form = options.output_format
    context = context_for(stream, form)
    match form:
        case "full":
            shown = partial(screen, report, analysis, context=context, promise=promise)
            write_screen(stream, context, shown)
        case "json":
            document(report, analysis, stream, promise)
        case "html":
            from ackdoctor.reporters.analysis_html import page  # imports Jinja2

            page(report, analysis, stream, promise, inputs=options.inputs, made=datetime.now(timezone.utc))
        case "parquet":
            stream.writelines(f"{path}\n" for path in analysis.written)
        case _:
            for line in promise.lines() if promise is not None else ():
                complain(line)
            text = (verdict(report, analysis),) if analysis.row_counts.useless else ()
            report = replace(report, notes=(*text, *report.notes, *analysis.notes))
            reporter(form)(report, stream, context)
