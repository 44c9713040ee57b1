"""`ackdoctor watch`: follow a directory of traces while they are written."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ackdoctor.cli.commands import (
    AckerVersion,
    MessageTimeout,
    SparkConf,
    SparkMaster,
    acker_option,
    formats_option,
    path_parser,
    require_spark,
    seconds_option,
    spark_settings,
)
from ackdoctor.cli.output import complain, tolerant
from ackdoctor.model import UsageError
from ackdoctor.model.acker import NEWEST
from ackdoctor.model.finding import counted
from ackdoctor.reporters import printable

if TYPE_CHECKING:
    from ackdoctor.spark.certain import WatchRequest
    from ackdoctor.spark.watch import Watch as Stream


_FORMATS = ("full", "json-lines")
_WAITING = (
    "{count} file{s} of running or killed processes will be read once complete "
    "(`ackdoctor trace report {folder}` completes those of killed processes)"
)
_NO_PARTS = "{folder}: the directory has no part of a trace; `ackdoctor trace run` writes traces, `ackdoctor analyze` reads logs"
_SETTINGS = {  # for many small plans
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
_SECOND = 1_000_000_000

_Event: TypeAlias = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Watch:
    """Follow a growing trace, and report at once what went wrong.

    Reports each root that never becomes zero, and each tuple that was acked too often, once it is certain.

    After a restart it continues where it stopped. Needs Spark (the extra ackdoctor[spark]) and Java 17 or 21,
    or with pyspark 4.2 or newer 25. Exit code: 0 nothing reported; 1 something reported; 2 the work could not be done, a part could not be read, or there was none.
    """

    folder: Annotated[
        Path,
        typer.Argument(
            parser=path_parser("DIR"), metavar="DIR", help="The directory to which traces are written."
        ),
    ]
    acker_version: AckerVersion = None
    message_timeout: MessageTimeout = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            parser=path_parser("--checkpoint"),
            metavar="DIR",
            help="The directory that remembers what was read and reported. Default: DIR.watch, beside DIR.",
        ),
    ] = None
    every: Annotated[float, seconds_option(0.1, "How often to look for new parts.")] = 5
    once: Annotated[bool, typer.Option("--once", help="Read the parts that exist, then exit.")] = False
    until_idle: Annotated[
        float | None, seconds_option(0, "Exit when no new part has come for this time.")
    ] = None
    remember: Annotated[
        int, seconds_option(1, "How long to remember finished roots, by the trace's clock.")
    ] = 300
    parts_at_once: Annotated[
        int, typer.Option(min=1, metavar="N", help="The maximum number of parts per batch.")
    ] = 64
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"
    master: SparkMaster = "local[*]"
    conf: SparkConf = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing on standard error.")] = False

    def __post_init__(self) -> None:
        """Raise UsageError for arguments that cannot be used."""
        if self.once and self.until_idle is not None:
            raise UsageError("--once and --until-idle exclude each other")
        if not self.folder.is_dir():
            fault = "not a directory" if self.folder.exists() else "no such directory"
            raise UsageError(f"{self.folder}: {fault}")
        if self.checkpoint_folder.is_relative_to(self.folder.resolve()):
            raise UsageError(
                f"--checkpoint: {self.checkpoint_folder} is inside the watched directory and would be read as a trace; choose another directory"
            )
        _ = self.settings

    @property
    def checkpoint_folder(self) -> Path:
        """The directory of the checkpoint."""
        if self.checkpoint is not None:
            return self.checkpoint.resolve()
        folder = self.folder.resolve()
        return folder.with_name(f"{folder.name}.watch")

    @property
    def settings(self) -> Mapping[str, str]:
        """The Spark settings, overridden by --conf."""
        return {**_SETTINGS, **spark_settings(self.conf)}

    def run(self) -> int:
        """Follow the trace, print events and a summary, and return the exit code."""
        require_spark("watch")
        from ackdoctor.spark.certain import WatchRequest
        from ackdoctor.spark.replay import acker_version
        from ackdoctor.spark.session import session, spark_errors
        from ackdoctor.spark.watch import check_checkpoint, held, waiting

        version = acker_option(self.acker_version, acker_version, NEWEST)
        timeout = self.message_timeout
        request = WatchRequest(version=version, message_timeout_s=timeout, remember_s=self.remember)
        constant = {  # between runs with one checkpoint
            "DIR": str(self.folder.resolve()),
            "--acker-version": version.name,
            "--message-timeout": "" if timeout is None else str(timeout),
        }
        no_parts = _NO_PARTS.format(folder=self.folder)
        size, unfinished = waiting(self.folder)
        if unfinished and not self.quiet:
            plural = "s" * (unfinished != 1)
            complain(_WAITING.format(count=unfinished, s=plural, folder=quote(str(self.folder))))
        with held(self.checkpoint_folder):
            check_checkpoint(self.checkpoint_folder, constant)
            with spark_errors():
                spark = session(master=self.master, input_bytes=size, settings=self.settings)
            stream = _stream(self, request, spark)
            if not self.quiet:
                complain(f"watching {self.folder}" + ("" if self.once else "; Ctrl-C ends it"))
                if not (size or unfinished or self.once):
                    complain(no_parts)
            with spark_errors(), _stop_on_signals(stream):
                stream.run(once=self.once, idle_s=self.until_idle)
        if not self.quiet:
            for line in _summary(stream):
                complain(line)
        if stream.refused:
            return 2
        if not (stream.journal.totals.get("parts") or stream.stopped):
            complain(no_parts)
            return 2
        return 1 if stream.reported else 0


# ---- Spark ----


def _stream(options: Watch, request: "WatchRequest", spark: Any) -> "Stream":
    from ackdoctor.spark.watch import Journal
    from ackdoctor.spark.watch import Watch as Stream

    def show(events: Sequence[_Event]) -> None:
        out = tolerant(sys.stdout)
        try:
            plain = (json.dumps(event, separators=(",", ":")) for event in events)
            lines = sentences(events) if options.output_format == "full" else plain
            out.writelines(f"{line}\n" for line in lines)
            out.flush()
        except BrokenPipeError:  # the reader has left; the journal has the events
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            stream.stopped = 1

    stream = Stream(
        session=spark,
        folder=options.folder.resolve(),
        checkpoint=options.checkpoint_folder,
        request=request,
        journal=Journal.opened(options.checkpoint_folder),
        show=show,
        every_s=options.every,
        parts_at_once=options.parts_at_once,
    )
    return stream


@contextmanager
def _stop_on_signals(stream: "Stream") -> Iterator[None]:
    """Finish the current batch on Ctrl-C or SIGTERM; a second signal abandons it, and nothing is lost."""

    def stop(_signal: int, _frame: object) -> None:
        stream.stopped += 1

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- what is printed ----


def sentences(events: Sequence[_Event]) -> Iterator[str]:
    """Yield a line for each cause of a batch's events, with their number."""
    causes: dict[tuple[Any, ...], list[_Event]] = {}
    for event in events:
        causes.setdefault(_cause(event), []).append(event)
    for same in causes.values():
        first = same[0]
        at = " " * 20
        if "certain_ns" in first:
            seconds = first["certain_ns"] // _SECOND
            at = f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        rule = f"{first['code']} {first['name']}  " if "code" in first else ""
        more = f" (and {len(same) - 1:,} more like this)" if len(same) > 1 else ""
        yield printable(f"{at}  {first['what']:<11}  {rule}{_details(first)}{more}")


def _cause(event: _Event) -> tuple[Any, ...]:
    match event["what"]:
        case "acked-twice":
            calls = ((one["verb"], one["site"]) for one in event["completions"])
            return (event["what"], event["code"], event["component"], *calls)
        case "never-zero" | "over-acked":
            who = sorted((one["component"], one["site"], one["acks"]) for one in event["by"])
            return (event["what"], event["run"], event["spout"], event["timed_out"], *who)
        case _:
            return (event["what"], event["file"], event["reason"])


def _details(event: _Event) -> str:
    match event["what"]:
        case "acked-twice":
            calls = ", then ".join(f"{one['verb']} at {one['site'] or '?'}" for one in event["completions"])
            roots = f", of root {event['roots'][0]}" if event["roots"] else ""
            return f"{event['component']}[{event['task']}] delivery {event['delivery']}: {calls}{roots}"
        case "over-acked":
            return f"root {event['root']}: acked after it was complete{_culprits(event)}"
        case "never-zero":
            how = "its spout timed it out" if event["timed_out"] else "the acker dropped it"
            of = f" of {event['spout']}" if event["spout"] else ""
            value = "no value" if event["value"] is None else f"value {event['value']}"
            return f"root {event['root']}{of}: {how} after {event['messages']} messages, {value}{_culprits(event)}"
        case "unreadable":
            return f"{event['file']}: {event['reason']}"
        case _:
            return f"{event['file']}: {counted(event['rows'], 'row')} left out: {event['reason']}"


def _culprits(event: _Event) -> str:
    culprits = [
        f"{one['component']}[{one['task']}]"
        + (f" delivery {one['delivery']}" if one["delivery"] else "")
        + (f" at {one['site']}" if one["site"] else "")
        for one in event["by"]
    ]
    return f", by {', '.join(culprits)}" if culprits else ""


def _summary(stream: "Stream") -> Iterator[str]:
    clock, totals = stream.clock, stream.journal.totals
    waiting = sum(run.open for run in clock.runs.values())
    yield (
        f"reported {stream.reported:,} in this run, {totals.get('reported', 0):,} since the checkpoint was created; read {counted(clock.rows, 'row')} of "
        f"{counted(totals.get('parts', 0), 'part')}; {counted(waiting, 'root')} {'is' if waiting == 1 else 'are'} open"
    )
    amounts = {
        "parts, or rows of parts, could not be read": totals.get("refused", 0),
        "parts came again under another name and were left out": totals.get("again", 0),
        "parts were removed before they could be read": totals.get("gone", 0),
        "times rows of a process came too late: `ackdoctor analyze` may judge them differently": clock.late,
        "rows were lost by the tracer": clock.missing,
    }
    for what, amount in amounts.items():
        if amount:
            yield f"{amount:,} {what}"
