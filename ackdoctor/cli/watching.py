"""Run `ackdoctor watch`: a stream of parts, lines as they become certain, and a summary at the end."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from ackdoctor.cli.given import known_word, spark_settings
from ackdoctor.cli.streams import chatter, tolerant
from ackdoctor.cli.watch import FORMS
from ackdoctor.model.acker_versions import NEWEST
from ackdoctor.model.errors import UsageError
from ackdoctor.reporters.context import counted, printable

if TYPE_CHECKING:
    from ackdoctor.spark.live.certain import LiveTerms
    from ackdoctor.spark.live.watch import Watch

__all__ = ["Request", "run", "sentences"]

_NEEDS_SPARK = "watch needs Spark, which is not installed: pip install 'ackdoctor[spark]'"
_WAITING = (
    "{count} file{s} of processes that write, or were killed, will be read once they are parts "
    "(of killed ones `ackdoctor trace report {folder}` makes them)"
)
_NO_PARTS = "no part of a trace is in {folder}: a tracer writes them (`ackdoctor trace run`); `ackdoctor analyze` reads logs"
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}  # small plans, again and again
_SECOND = 1_000_000_000

Line = Mapping[str, Any]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Request:
    """The arguments of `ackdoctor watch`, as given."""

    folder: Path
    acker_version: str | None = None
    message_timeout_s: int | None = None
    checkpoint: Path | None = None
    every_s: float = 5
    once: bool = False
    idle_s: float | None = None
    remember_s: int = 300
    parts_at_once: int = 64
    output_format: str = "full"
    master: str = "local[*]"
    conf: tuple[str, ...] = ()
    quiet: bool = False

    def __post_init__(self) -> None:
        """Raise a UsageError for contradicting options."""
        known_word("--output-format", self.output_format, FORMS)
        if self.once and self.idle_s is not None:
            raise UsageError("--once ends by itself: leave --until-idle out")
        if not self.folder.is_dir():
            raise UsageError(
                f"{self.folder}: {'a file, and no' if self.folder.exists() else 'no such'} folder"
            )
        if self.place.is_relative_to(self.folder.resolve()):
            raise UsageError(f"{self.place}: a checkpoint inside of what is watched would be read as traces")
        _ = self.settings

    @property
    def place(self) -> Path:
        """The checkpoint's folder."""
        beside = self.folder.resolve()
        return (
            beside.with_name(f"{beside.name}.watch") if self.checkpoint is None else self.checkpoint.resolve()
        )

    @property
    def settings(self) -> Mapping[str, str]:
        """Spark's: ours, and those of --conf."""
        return {**_SETTINGS, **spark_settings(self.conf)}


def run(request: Request) -> int:
    """Run the command, and return its exit code."""
    if find_spec("pyspark") is None:
        raise UsageError(_NEEDS_SPARK)
    from ackdoctor.spark.live.lines import waiting
    from ackdoctor.spark.live.watch import held, same_terms
    from ackdoctor.spark.session import session, spark_errors

    terms = _terms(request)
    no_parts = _NO_PARTS.format(folder=request.folder)
    size, segments = waiting(request.folder)
    if segments and not request.quiet:
        chatter(_WAITING.format(count=segments, s="s" * (segments != 1), folder=quote(str(request.folder))))
    with held(request.place):
        same_terms(request.place, _recorded_options(request))
        with spark_errors():
            spark = session(master=request.master, input_bytes=size, settings=request.settings)
        watched = _watch(request, terms, spark)
        if not request.quiet:
            chatter(f"watching {request.folder}" + ("" if request.once else "; Ctrl-C ends it"))
            if not (size or segments or request.once):
                chatter(no_parts)
        with spark_errors(), _signals(watched):
            watched.run(once=request.once, idle_s=request.idle_s)
    if not request.quiet:
        for line in _summary(watched):
            chatter(line)
    if watched.refused:
        return 2
    if not (watched.journal.totals.get("parts") or watched.stopped):
        chatter(no_parts)
        return 2
    return 1 if watched.reported else 0


def _terms(request: Request) -> "LiveTerms":
    from ackdoctor.spark.live.certain import LiveTerms
    from ackdoctor.spark.replay.messages import acker_version

    return LiveTerms(
        version=NEWEST if request.acker_version is None else acker_version(request.acker_version),
        message_timeout_s=request.message_timeout_s,
        remember_s=request.remember_s,
    )


def _recorded_options(request: Request) -> Mapping[str, str]:
    timeout = request.message_timeout_s
    return {
        "DIR": str(request.folder.resolve()),
        "--acker-version": _terms(request).version.name,
        "--message-timeout": "" if timeout is None else str(timeout),
    }


def _watch(request: Request, terms: "LiveTerms", spark: Any) -> "Watch":
    from ackdoctor.spark.live.watch import Journal, Watch

    def show(lines: Sequence[Line]) -> None:
        out = tolerant(sys.stdout)
        try:
            texts = sentences(lines) if request.output_format == "full" else map(_as_json, lines)
            out.writelines(f"{text}\n" for text in texts)
            out.flush()
        except BrokenPipeError:  # the reader has left; the journal has the lines
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            watched.stopped = 1

    watched = Watch(
        session=spark,
        folder=request.folder.resolve(),
        checkpoint=request.place,
        terms=terms,
        journal=Journal.opened(request.place),
        show=show,
        every_s=request.every_s,
        parts_at_once=request.parts_at_once,
    )
    return watched


@contextmanager
def _signals(watched: "Watch") -> Iterator[None]:
    """Let the current batch end on Ctrl-C or SIGTERM; a second signal does not wait, and loses nothing either."""

    def stop(_signal: int, _frame: object) -> None:
        watched.stopped += 1

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- output ----


def _as_json(line: Line) -> str:
    return json.dumps(line, separators=(",", ":"))


def sentences(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the lines of a batch for people: facts with one cause are one line, counted."""
    causes: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        causes.setdefault(_cause(line), []).append(line)
    for alike in causes.values():
        first = alike[0]
        more = f" (and {len(alike) - 1:,} more like this)" if len(alike) > 1 else ""
        yield printable(f"{_when(first)}  {first['what']:<11}  {_rule(first)}{_fact(first)}{more}")


def _cause(line: Line) -> tuple[Any, ...]:
    match line["what"]:
        case "acked-twice":
            return (
                line["what"],
                line["code"],
                line["component"],
                *((one["verb"], one["site"]) for one in line["completions"]),
            )
        case "never-zero" | "over-acked":
            who = sorted((one["component"], one["site"], one["acks"]) for one in line["by"])
            return (line["what"], line["run"], line["spout"], line["timed_out"], *who)
        case _:
            return (line["what"], line["file"], line["reason"])


def _rule(line: Line) -> str:
    return f"{line['code']} {line['name']}  " if "code" in line else ""


def _when(line: Line) -> str:
    if "certain_ns" not in line:
        return " " * 20
    at = datetime.fromtimestamp(line["certain_ns"] // _SECOND, timezone.utc)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _fact(line: Line) -> str:
    match line["what"]:
        case "acked-twice":
            calls = ", then ".join(f"{one['verb']} at {one['site'] or '?'}" for one in line["completions"])
            roots = f", of root {line['roots'][0]}" if line["roots"] else ""
            return f"{line['component']}[{line['task']}] delivery {line['delivery']}: {calls}{roots}"
        case "over-acked":
            return f"root {line['root']}: acked after it was complete{_by(line)}"
        case "never-zero":
            how = "its spout timed it out" if line["timed_out"] else "the acker dropped it"
            of = f" of {line['spout']}" if line["spout"] else ""
            value = "no value" if line["value"] is None else f"value {line['value']}"
            return f"root {line['root']}{of}: {how} after {line['messages']} messages, {value}{_by(line)}"
        case "unreadable":
            return f"{line['file']}: {line['reason']}"
        case _:
            return f"{line['file']}: {counted(line['rows'], 'row')} left out: {line['reason']}"


def _by(line: Line) -> str:
    culprits = [
        f"{one['component']}[{one['task']}]"
        + (f" delivery {one['delivery']}" if one["delivery"] else "")
        + (f" at {one['site']}" if one["site"] else "")
        for one in line["by"]
    ]
    return f", by {', '.join(culprits)}" if culprits else ""


def _summary(watched: "Watch") -> Iterator[str]:
    clock, totals = watched.clock, watched.journal.totals
    waiting = sum(run.open for run in clock.runs.values())
    yield (
        f"reported {watched.reported:,}, {totals.get('told', 0):,} since this checkpoint was created; read {counted(clock.rows, 'row')} of "
        f"{counted(totals.get('parts', 0), 'part')}; {counted(waiting, 'root')} {'is' if waiting == 1 else 'are'} open"
    )
    figures = {
        "parts, or rows of parts, could not be read": totals.get("refused", 0),
        "parts came again under another name and were left out": totals.get("again", 0),
        "parts were removed before they could be read": totals.get("gone", 0),
        "times rows of a process came later than facts that were reported: `ackdoctor analyze` may judge them otherwise": clock.late,
        "rows were lost by the tracer": clock.missing,
    }
    for what, count in figures.items():
        if count:
            yield f"{count:,} {what}"
