"""The entrance of `ackdoctor analyze`: from inputs to an Analysis, and to the full tables on disk.

    EVENTS ──> DELIVERIES ──> shapes ──> violations ────────┐
       └─────> MESSAGES ──> ENTRIES ──> VERDICTS ──> trees ─┴─> findings
                               └──────> growth, latency, load of the ackers

Only counts and samples reach the driver.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ackdoctor.model import UsageError
from ackdoctor.spark import collect, deliveries, logs, roots
from ackdoctor.spark.events import constant_columns, files_at, opened, remove_unreadable, with_addresses
from ackdoctor.spark.inputs import Inputs, local, shorten, unescaped
from ackdoctor.spark.judge import Terms, examine
from ackdoctor.spark.replay import expired_by_restarts, messages, replay
from ackdoctor.spark.session import Cache, Frames
from ackdoctor.spark.tables import Analysis
from ackdoctor.spark.verdicts import verdicts

__all__ = ["Terms", "analyze", "frames", "need_place", "write_tables"]

_SMALL_BYTES = 30_000_000  # of input
_TABLES = ("verdicts", "entries", "deliveries", "completions", "growth", "ackers")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = rf"part-\d{{5,}}-{_UUID}\S*\.parquet"  # a part of a trace has no UUID
_WRITTEN_BY_SPARK = re.compile(rf"_temporary|_SUCCESS|\._SUCCESS\.crc|{_PART}|\.{_PART}\.crc")


def analyze(
    inputs: Inputs, *, session: SparkSession, terms: Terms, output_dir: str | None = None
) -> Analysis:
    """Return the analysis of the inputs; UsageError if nothing can be read.

    With `output_dir` the full tables are written below it as Parquet.  If Spark fails at a file, that file is left out
    and the analysis starts again.
    """
    inputs = with_addresses(session, inputs)
    inputs.need_some(terms.folder)
    if output_dir is not None:
        need_place(session, inputs, output_dir)
    try:
        return _analyze(inputs, session, terms, output_dir)
    except (Py4JJavaError, PySparkException):
        unreadable = remove_unreadable(session, inputs.files)
        if not unreadable:
            raise
        for file, reason in unreadable.items():
            inputs.fail(file, reason)
    inputs.need_some(terms.folder)
    return _analyze(inputs, session, terms, output_dir)


def _analyze(inputs: Inputs, session: SparkSession, terms: Terms, output_dir: str | None) -> Analysis:
    with opened(session, inputs) as source:
        survey, restarts = source.survey, source.survey.restarts
        terms, contradictions = terms.with_timeout_of(survey, only_logs=not source.trace_files)
        terms = replace(
            terms,
            ackers=max(1, survey.ackers),
            ticks_disabled=survey.ticks_disabled,
            log_ends=tuple(source.ends(inputs.ended).items()),
            next_starts=tuple(restarts.next_starts().items()),
            acker_restarts=tuple(restarts.of_ackers()),
            missing=source.missing,
            constants=tuple(constant_columns(inputs.files).items()),
        )
        with frames(source.events, terms, small=inputs.size < _SMALL_BYTES) as tables:
            result = examine(session, tables, terms, source.books())
            if output_dir is not None:
                result.written = write_tables(tables, result, output_dir)

    def short(text: str) -> str:
        return shorten(text, terms.folder)

    def short_uri(uri: str) -> str:
        return short(unescaped(uri))

    result.quarantine = tuple(replace(row, file=short_uri(row.file)) for row in source.refused)
    result.unreadable = tuple(replace(each, path=short(each.path)) for each in inputs.unreadable)
    result.files = tuple(short(name) for names in inputs.files.values() for name in names)
    copies = (
        (short_uri(log.file), f"a copy of {short_uri(log.copy_of)}") for log in survey.logs if log.copy_of
    )
    passed_over = ((short(each.path), short(each.reason)) for each in inputs.passed_over)
    result.passed_over = (*passed_over, *copies)
    result.left_out += survey.left_out
    result.disordered = bool(survey.disordered)
    result.messages_dropped = survey.passed["dropped"]
    result.notes += (
        *contradictions,
        *collect.notes_on_timeouts(result),
        *logs.notes(survey, short_uri),
        *collect.notes_on_passed_over(result.passed_over),
    )
    return result


@contextmanager
def frames(events: DataFrame, terms: Terms, *, small: bool = False) -> Iterator[Frames]:
    """Prepare every table, cached until this exits; the replay runs its proof at once."""
    with Cache(small=small) as cache:
        sent = messages(events, ackers=terms.ackers)
        replayed = replay(
            sent,
            terms.version,
            message_timeout_s=terms.message_timeout_s,
            constants=dict(terms.constants),
            persist=cache,
        )
        replayed.entries = expired_by_restarts(replayed.entries, terms.acker_restarts)
        yield Frames(
            events=events,
            deliveries=cache(deliveries.deliveries(events)),
            messages=sent,
            entries=replayed.entries,
            verdicts=verdicts(replayed, cache),
            too_large=replayed.too_large,
        )


# ---- the full tables ----


def write_tables(tables: Frames, analysis: Analysis, directory: str) -> tuple[str, ...]:
    """Write the full tables as Parquet below a folder, or any URI that Spark can write, and return their places."""
    full = (
        tables.verdicts,
        tables.entries,
        tables.deliveries,
        deliveries.completions(tables.deliveries),
        roots.growth(tables.entries, analysis.window_ms),
        roots.ackers(tables.entries),
    )
    places = tuple(_place(directory, name) for name in _TABLES)
    for place, table in zip(places, full, strict=True):
        table.write.mode("overwrite").parquet(place)
    return places


def _place(directory: str, table: str) -> str:
    return f"{directory.rstrip('/')}/{table}"


def need_place(session: SparkSession, inputs: Inputs, directory: str) -> None:
    """Raise a UsageError if a table would overwrite an input or another file, or a folder cannot be created."""
    read = tuple(chain.from_iterable(inputs.files.values()))
    for table in _TABLES:
        place = _place(directory, table)
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
