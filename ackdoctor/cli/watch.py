"""`ackdoctor watch`: a folder that traces are written to, for as long as they are."""

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from ackdoctor.cli.streams import chatter
from ackdoctor.config import nearest
from ackdoctor.model.errors import UsageError

if TYPE_CHECKING:
    from ackdoctor.spark.live import LiveTerms

__all__ = ["FORMS", "watch"]

FORMS = ("concise", "json-lines")
_NEEDS_SPARK = "watch needs Spark, which is not installed: pip install 'ackdoctor[spark]'"
_WAITING = (
    "{count} of the trace's files in {folder} {are} still being written, or {were} when their process died; "
    "their rows are told of once they are parts. Of dead processes, 'ackdoctor trace recover {folder}' makes parts"
)

_Version = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="Whose acker: 1.1.0, 2.8.8, jstorm-2.4.0, heron. Default: newest."),
]
_Timeout = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="SECONDS",
        help="When a tree is given up. Default: when the trace says so, or else 30.",
    ),
]
_Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="What has been read and told stands there. Default: DIR.watch, beside DIR."
    ),
]


def watch(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where traces are written to.")],
    *,
    acker_version: _Version = None,
    message_timeout: _Timeout = None,
    checkpoint: _Checkpoint = None,
    once: Annotated[bool, typer.Option("--once", help="Read what is there, and end.")] = False,
    output_format: Annotated[
        str, typer.Option(metavar="|".join(FORMS), help="How to tell it, a line for each root.")
    ] = "concise",
    output_file: Annotated[
        Path | None,
        typer.Option("--output-file", "-o", metavar="FILE", help="Append to a file, each line exactly once."),
    ] = None,
    files_at_once: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many parts are taken together at most.")
    ] = 64,
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs.")] = "local[*]",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
) -> None:
    """Say of a running cluster's traces, as soon as it is certain, which trees never completed or were over-acked.

    Started again, it goes on where it was. Needs Spark (the extra ackdoctor[spark]) and Java 17. Exit code, with
    --once or after Ctrl-C: 0 nothing told; 1 something told; 2 the work could not be done, or a line could not be read.
    """
    if output_format not in FORMS:
        raise UsageError(
            f"--output-format must be one of {', '.join(FORMS)}, not {output_format!r}{nearest(output_format, FORMS)}"
        )
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    if find_spec("pyspark") is None:
        raise UsageError(_NEEDS_SPARK)
    from ackdoctor.spark.live import LiveTerms
    from ackdoctor.spark.versions import NEWEST, version

    terms = LiveTerms(
        version=NEWEST if acker_version is None else version(acker_version), message_timeout_s=message_timeout
    )
    resolved = folder.resolve()
    place = resolved.with_name(f"{resolved.name}.watch") if checkpoint is None else checkpoint.resolve()
    if place.is_relative_to(resolved):
        raise UsageError(f"{place}: a checkpoint inside of what is watched would be read as traces")
    code = _watched(
        resolved,
        place,
        terms,
        once=once,
        as_json=output_format == "json-lines",
        file=output_file,
        files_at_once=files_at_once,
        master=master,
        quiet=quiet,
    )
    raise typer.Exit(code)


def _watched(
    folder: Path,
    checkpoint: Path,
    terms: "LiveTerms",
    *,
    once: bool,
    as_json: bool,
    file: Path | None,
    files_at_once: int,
    master: str,
    quiet: bool,
) -> int:
    from ackdoctor.spark.live_journal import Journal, held, same_terms
    from ackdoctor.spark.live_parts import waiting
    from ackdoctor.spark.session import session
    from ackdoctor.spark.stream import Watch
    from ackdoctor.spark.trouble import hushed, told

    unread: list[str] = []

    def refused(path: str, lines: int) -> None:
        name = unquote(urlsplit(path).path)
        unread.append(name)
        chatter(
            f"{name}: {lines} line{'s' * (lines != 1)} that {'are' if lines != 1 else 'is'} no row of a trace"
        )

    count, size, segments = waiting(folder)
    with held(checkpoint), _ended_by_signals():
        same_terms(checkpoint / "terms.json", _said(folder, terms), _differ(checkpoint))
        seen = Watch(
            folder=folder,
            checkpoint=checkpoint,
            terms=terms,
            journal=Journal(checkpoint / "told.json", file),
            line=_as_json if as_json else _concise,
            refused=refused,
            files_at_once=files_at_once,
        )
        if not quiet:
            _begin(folder, count, segments, once=once)
        with hushed() as said, told(said):
            spark = session(master=master, input_bytes=size)
        with told():
            seen.run(spark, once=once)
    if unread:
        return 2
    return 1 if seen.told else 0


def _begin(folder: Path, count: int, segments: int, *, once: bool) -> None:
    if segments:
        one = segments == 1
        chatter(
            _WAITING.format(
                count=segments, folder=folder, are="is" if one else "are", were="was" if one else "were"
            )
        )
    if once and not count:
        chatter(f"{folder}: no part of a trace yet")
    elif not once:
        chatter(
            f"watching {folder}, where there {'is' if count == 1 else 'are'} {count} part{'s' * (count != 1)}; Ctrl-C ends it"
        )


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM is what Ctrl-C is; either, before Spark has begun, is no error."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _said(folder: Path, terms: "LiveTerms") -> Mapping[str, str]:
    timeout = terms.message_timeout_s
    return {
        "DIR": str(folder),
        "--acker-version": terms.version.name,
        "--message-timeout": "" if timeout is None else str(timeout),
    }


def _differ(checkpoint: Path) -> Any:
    def sentence(name: str, before: str, now: str) -> str:
        return (
            f"{checkpoint} was begun with {name} {before or 'unsaid'}, and now it is {now or 'unsaid'}: "
            "name another --checkpoint, or remove this one"
        )

    return sentence


# ---- a line ----


def _as_json(row: Any) -> str:
    return json.dumps(row.asDict(recursive=True), separators=(",", ":"))


def _concise(row: Any) -> str:
    """Time, what, root, and who: `2026-11-21T12:03:04Z never-zero root 7 (acker 1, run x): ...`."""
    when = datetime.fromtimestamp(row["certain_ns"] // 1_000_000_000, timezone.utc)
    where = f"acker {row['acker']}" + (f", run {row['run']}" if row["run"] else "")
    told = [_what(row)]
    for culprit in row["culprits"] or ():
        times = "once" if culprit["acks"] == 1 else f"{culprit['acks']} times"
        told.append(
            f"{_sender(culprit['component'], culprit['task'], culprit['site'])} acked"
            f"{' ' + culprit['delivery'] if culprit['delivery'] else ''} {times}"
        )
    if not row["culprits"] and row["last_component"]:
        told.append(f"last heard of {_sender(row['last_component'], row['last_task'], row['last_site'])}")
    if row["order"] != "exact":
        told.append("ordered by clocks of several processes")
    return f"{when:%Y-%m-%dT%H:%M:%SZ} {row['what']} root {row['root']} ({where}): {'; '.join(told)}"


def _what(row: Any) -> str:
    from ackdoctor.spark.live import NEVER_ZERO, OVER_ACKED

    match row["what"]:
        case what if what == OVER_ACKED:
            return f"{row['surplus']} ack{'s' * (row['surplus'] != 1)} after it was complete"
        case what if what == NEVER_ZERO:
            spout = f" of {row['spout']}" if row["spout"] else ""
            left = "nothing" if row["value"] is None else row["value"]
            return (
                f"a tree{spout} was given up with {left} left after {row['n']} message{'s' * (row['n'] != 1)}"
            )
        case _:
            return "acks of a tree that no spout began, or that was over long before"


def _sender(component: str, task: int, site: str) -> str:
    return f"{component or '?'}:{task}" + (f" ({site})" if site else "")
