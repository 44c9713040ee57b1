"""The entrance of `ackdoctor analyze`: from inputs to an Analysis, and to the full tables on disk.

    EVENTS ──> DELIVERIES ──> shapes ──> violations ────────┐
       └─────> MESSAGES ──> ENTRIES ──> VERDICTS ──> trees ─┴─> findings
                               └──────> growth, latency, load of the ackers

Only counts and samples reach the driver.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ackdoctor.model import UsageError
from ackdoctor.model.finding import counted
from ackdoctor.spark import deliveries, logs, roots
from ackdoctor.spark.events import (
    Opened,
    constant_columns,
    files_at,
    opened,
    remove_unreadable,
    with_addresses,
)
from ackdoctor.spark.inputs import Inputs, local, shorten, unescaped
from ackdoctor.spark.judge import Frames, Request, examine
from ackdoctor.spark.replay import expired_by_restarts, messages, replay
from ackdoctor.spark.session import Cache
from ackdoctor.spark.tables import Analysis
from ackdoctor.spark.verdicts import verdicts
from ackdoctor.tracer.timeouts import asides

_SMALL_BYTES = 30_000_000  # of input


def analyze(
    inputs: Inputs, *, session: SparkSession, request: Request, output_dir: str | None = None
) -> Analysis:
    """Return the analysis of the inputs; UsageError if nothing can be read.

    With `output_dir` the full tables are written below it as Parquet.  If Spark fails at a file, that file is left out
    and the analysis starts again.
    """
    inputs = with_addresses(session, inputs)
    inputs.need_some(request.folder)
    if output_dir is not None:
        need_place(session, inputs, output_dir)
    try:
        return _analyze(inputs, session, request, output_dir)
    except (Py4JJavaError, PySparkException):
        unreadable = remove_unreadable(session, inputs.files)
        if not unreadable:
            raise
        for file, reason in unreadable.items():
            inputs.fail(file, reason)
    inputs.need_some(request.folder)
    return _analyze(inputs, session, request, output_dir)


def _analyze(inputs: Inputs, session: SparkSession, request: Request, output_dir: str | None) -> Analysis:
    with opened(session, inputs) as source:
        request, contradictions = _with_logs(request, source, inputs)
        with frames(source.events, request, small=inputs.size < _SMALL_BYTES) as tables:
            result = examine(session, tables, request, source.row_counts())
            if output_dir is not None:
                result.written = _write_tables(tables, result, output_dir)

    def short(text: str) -> str:
        return shorten(text, request.folder)

    def short_uri(uri: str) -> str:
        return short(unescaped(uri))

    survey = source.survey
    result.quarantine = tuple(replace(row, file=short_uri(row.file)) for row in source.refused)
    result.unreadable = tuple(replace(each, path=short(each.path)) for each in inputs.unreadable)
    result.files = tuple(short(name) for names in inputs.files.values() for name in names)
    result.passed_over = (
        *((short(each.path), short(each.reason)) for each in inputs.passed_over),
        *((short_uri(log.file), f"a copy of {short_uri(log.copy_of)}") for log in survey.logs if log.copy_of),
    )
    result.left_out += survey.left_out
    result.disordered = bool(survey.disordered)
    result.messages_dropped = survey.passed["dropped"]
    result.notes += (
        *contradictions,
        *_notes_on_timeouts(result),
        *logs.notes(survey, short_uri),
        *_notes_on_passed_over(result.passed_over),
    )
    return result


def _with_logs(request: Request, source: Opened, inputs: Inputs) -> tuple[Request, list[str]]:
    """Return the request with what the logs say, and notes where they are in doubt.

    The message timeout of the logs overrides the option, unless they name several.  Ticks in a log override a schedule.
    """
    survey, option = source.survey, request.message_timeout_s
    known, notes = sorted({*survey.ticks_s, *survey.configured_s}), list[str]()  # one topology has one
    setting = "the logs say topology.message.timeout.secs is"
    if not known:
        timeout_s = option
    elif len(known) == 1:
        (timeout_s,) = known
        if option not in (None, timeout_s):
            notes.append(f"{setting} {timeout_s}: --message-timeout {option} is not used")
    else:
        timeout_s = option or max(known)
        *others, last = map(str, known)
        chosen = "the longest" if option is None else f"--message-timeout {option}"
        notes.append(f"{setting} {', '.join(others)} or {last}: {chosen} is used")
    ticked = survey.ticks_s and not source.trace_files
    known_request = replace(
        request,
        message_timeout_s=None if option is None or ticked else timeout_s,
        timeout_s=timeout_s,
        patience_s=timeout_s or request.patience_s,
        ackers=max(1, survey.ackers),
        ticks_disabled=survey.ticks_disabled,
        log_ends=source.ends(inputs.ended),
        next_starts=survey.restarts.next_starts(),
        acker_restarts=list(survey.restarts.of_ackers()),
        missing=source.missing,
        gaps=bool(survey.gaps),
        constants=constant_columns(inputs.files),
    )
    return known_request, notes


@contextmanager
def frames(events: DataFrame, request: Request, *, small: bool = False) -> Iterator[Frames]:
    """Prepare every table, cached until this exits; the replay runs its proof at once."""
    with Cache(small=small) as cache:
        sent = messages(events, ackers=request.ackers)
        replayed = replay(
            sent,
            request.version,
            message_timeout_s=request.message_timeout_s,
            constants=request.constants,
            persist=cache,
        )
        replayed.entries = expired_by_restarts(replayed.entries, request.acker_restarts)
        yield Frames(
            events=events,
            deliveries=cache(deliveries.deliveries(events)),
            messages=sent,
            entries=replayed.entries,
            verdicts=verdicts(replayed, cache),
            too_large=replayed.too_large,
        )


def _notes_on_timeouts(result: Analysis) -> Iterator[str]:
    """Yield notes on roots that timed out for a reason that is no finding."""
    drops = result.messages_dropped
    many = counted(drops, "message")
    dropped = f" (the workers' connections dropped {many})" if drops else ""
    yield from asides(
        ((one.cause, one.roots) for one in result.expired),
        missing=dropped or " (it waits in a queue, or a worker's log is missing)",
        late=dropped,
    )


def _notes_on_passed_over(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a note for each reason for which files were passed over."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in files:
        by_reason.setdefault(reason, []).append(path)
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        yield f"passed over {paths[0]}{more}: {reason}"


# ---- the full tables ----

_TABLES = ("verdicts", "entries", "deliveries", "completions", "growth", "ackers")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = rf"part-\d{{5,}}-{_UUID}\S*\.parquet"  # a part of a trace has no UUID
_WRITTEN_BY_SPARK = re.compile(rf"_temporary|_SUCCESS|\._SUCCESS\.crc|{_PART}|\.{_PART}\.crc")


def _places(directory: str) -> dict[str, str]:
    return {name: f"{directory.rstrip('/')}/{name}" for name in _TABLES}


def _write_tables(tables: Frames, analysis: Analysis, directory: str) -> tuple[str, ...]:
    """Write the full tables as Parquet below a folder, or any URI that Spark can write, and return their places."""
    full = {
        "verdicts": tables.verdicts,
        "entries": tables.entries,
        "deliveries": tables.deliveries,
        "completions": deliveries.completions(tables.deliveries),
        "growth": roots.growth(tables.entries, analysis.window_ms),
        "ackers": roots.ackers(tables.entries),
    }
    places = _places(directory)
    for name, place in places.items():
        full[name].write.mode("overwrite").parquet(place)
    return tuple(places.values())


def need_place(session: SparkSession, inputs: Inputs, directory: str) -> None:
    """Raise a UsageError if a table would overwrite an input or another file, or a folder cannot be created."""
    read = tuple(chain.from_iterable(inputs.files.values()))
    for place in _places(directory).values():
        folder = local(place)
        there = place if folder is None else os.path.realpath(folder)
        for name in read:
            if f"{name}/".startswith(f"{there}/"):
                raise UsageError(f"--output-dir: the table {place} would overwrite an input: {name}")
        for name in _files_in(session, place, folder):
            if not _WRITTEN_BY_SPARK.fullmatch(name):
                raise UsageError(f"--output-dir: the table {place} would overwrite another file: {name}")
    if (here := local(directory)) is not None:
        _need_folder(here, directory)


def _files_in(session: SparkSession, place: str, folder: Path | None) -> Iterator[str]:
    """Yield what a table's place holds: the names in a folder, or the file that has its name."""
    if folder is None:
        try:
            yield from (path.rpartition("/")[2] for path in files_at(session, place))
        except UsageError:  # nothing is there; if it cannot be written, Spark says so
            return
    elif folder.is_dir():
        yield from (each.name for each in folder.iterdir())
    elif folder.exists():
        yield folder.name


def _need_folder(folder: Path, directory: str) -> None:
    """Raise a UsageError if the folder cannot be created; a new one is removed again, with its new parents."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(None, "Permission denied")
    except OSError as error:
        raise UsageError(f"--output-dir {directory} cannot be written: {error.strerror}") from error
    finally:
        for path in new:
            if path.is_dir():
                path.rmdir()
