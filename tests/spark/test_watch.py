"""`ackdoctor watch` reports each certain fact of a growing trace once, as `analyze` does for the whole trace."""

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame

from ackdoctor.acker.versions import profile
from ackdoctor.model import UsageError
from ackdoctor.model.acker import AckAck, AckInit, Tick
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.spark import certain
from ackdoctor.spark.analysis import analyze
from ackdoctor.spark.certain import WatchRequest
from ackdoctor.spark.deliveries import deliveries
from ackdoctor.spark.events import traces
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.judge import Request
from ackdoctor.spark.replay import acker_version, messages, replay
from ackdoctor.spark.schema import CARRIED, DONE, EVENTS
from ackdoctor.spark.watch import Journal, Watch
from ackdoctor.tracer.trace_files import Stem, worker_folder
from tests.spark.model_entries import KINDS, stream
from tests.trace_rows import write_lines

MS = 1_000_000
FOREVER = 10**9
REPORTED = ("never-zero", "over-acked", "acked-twice")


def write(rows: Sequence[Event], folder: Path, mtime: int | None = None) -> Path:
    """Add a part to the trace; `mtime` is its place in the order of reading."""
    place = worker_folder(folder, rows[0].run, rows[0].worker)
    place.mkdir(parents=True, exist_ok=True)
    path = Stem(rows[0].pid, rows[0].seq).part(place, ".jsonl")
    draft = place / f".{path.name}"
    write_lines((row._replace(run="", worker="") for row in rows), draft)
    if mtime is not None:
        os.utime(draft, (mtime, mtime))
    return draft.rename(path)


class Watched:
    """A folder with a watch that reads the present parts and ends."""

    def __init__(self, spark: Any, place: Path, request: WatchRequest, *, parts_at_once: int = 64) -> None:
        self.folder, self.checkpoint = place / "trace", place / "checkpoint"
        self.folder.mkdir()
        self.checkpoint.mkdir()
        self._spark, self._request, self._files = spark, request, parts_at_once
        self.watch: Watch | None = None

    def __call__(self, *rows: Event) -> list[Mapping[str, Any]]:
        if rows:
            write(rows, self.folder)
        lines: list[Mapping[str, Any]] = []
        self.watch = Watch(
            session=self._spark,
            folder=self.folder,
            checkpoint=self.checkpoint,
            request=self._request,
            journal=Journal.opened(self.checkpoint),
            show=lines.extend,
            parts_at_once=self._files,
        )
        self.watch.run(once=True)
        return lines


@pytest.fixture
def watched(spark, tmp_path):
    return lambda request=None, **more: Watched(spark, tmp_path, request or WatchRequest(), **more)


# ---- what `analyze` makes of the whole ----


def traced(seed: int, name: str, *, ticks: bool) -> list[Event]:
    """A run with every defect: messages of an acker, and deliveries of a bolt; every other run has two ackers."""
    dice = random.Random(seed)
    run = f"run-{seed}"
    found: list[Event] = []
    for sent in stream(seed, profile(name), bits=(3, 6, 64)[seed % 3]):
        message, time_ns = sent.message, sent.at_ms * MS + sent.pos
        if isinstance(message, Tick):
            if ticks:
                found.append(Event(EventKind.ROTATED, time_ns, component="__acker"))
            continue
        value = message.value if isinstance(message, AckInit | AckAck) else 0
        task = message.task if isinstance(message, AckInit) else 7
        found.append(
            Event(KINDS[type(message)], time_ns, component="bolt", task=task, root=message.root, value=value)
        )
        if isinstance(message, AckInit) and dice.random() < 0.1:
            late = time_ns + dice.randrange(60_000) * MS
            found.append(Event(EventKind.TIMED_OUT, late, component="spout", root=message.root))
    found += handed(dice)
    found.sort(key=lambda row: row.time_ns)
    split = seed % 2
    counts: dict[int, int] = {}
    placed: list[Event] = []
    for row in found:
        pid = 10 + (dice.randrange(2) if split and row.kind is not EventKind.ROTATED else 0)
        placed.append(row._replace(run=run, worker="w", pid=pid, seq=counts.setdefault(pid, 0)))
        counts[pid] += 1
    return placed


def handed(dice: random.Random) -> Iterator[Event]:
    for number in range(20):
        at = dice.randrange(100_000) * MS + number
        row = Event(
            EventKind.RECEIVED, at, component="split", task=9, delivery=f"d{number}", stream="default"
        )
        yield row
        yield row._replace(kind=EventKind.LINKED, time_ns=at + 1, root=number, value=1)
        for again in range(dice.choice([1, 1, 1, 0, 2, 3])):
            verb = dice.choice([EventKind.ACKED, EventKind.ACKED, EventKind.FAILED])
            later = 2 + again * dice.choice([1, 40_000 * MS])
            yield row._replace(kind=verb, time_ns=at + later, site=f"b.py:{again} f")


def cut(rows: Sequence[Event], dice: random.Random) -> Iterator[list[Event]]:
    """Return the parts of each process, oldest first."""
    for pid in sorted({row.pid for row in rows}):
        own = [row for row in rows if row.pid == pid]
        places = sorted(dice.sample(range(1, len(own)), 3))
        for begin, end in zip((0, *places), (*places, len(own)), strict=True):
            yield own[begin:end]


def expected(
    entries: DataFrame,
    done: DataFrame,
    timed: Mapping[tuple[str, int], list[int]],
    frontier: Mapping[str, int],
) -> set[tuple[Any, ...]]:
    """Return the facts by definition, over the entries and deliveries of the whole trace."""
    found: set[tuple[Any, ...]] = set()
    by_root: dict[tuple[str, int], list[Any]] = {}
    for row in entries.orderBy("nth").collect():
        by_root.setdefault((row.run, row.root), []).append(row)
    for (run, root), own in by_root.items():
        before = None
        for entry in own:
            end = FOREVER**3 if entry.end_ns is None else entry.end_ns
            gave_up = [at for at in timed.get((run, root), []) if entry.first_ns <= at < end]
            ends = gave_up[:1] + ([end] if entry.outcome == "expired" else [])
            orphan = entry.n_init == 0 or entry.init_ns > entry.first_ns
            if before == "acked" and orphan and entry.n_ack and entry.first_ns < frontier[run]:
                found.add(("over-acked", run, root, entry.first_ns, entry.first_ns))
            elif entry.n_init and ends and min(ends) < frontier[run]:
                found.add(("never-zero", run, root, entry.first_ns, min(ends)))
            before = entry.outcome
    for row in done.where("acked + failed > greatest(received, 1) and not tick").collect():
        found.add(("acked-twice", row.run, row.pid, row.delivery))
    return found


def key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    if line["what"] == "acked-twice":
        return (line["what"], line["run"], line["pid"], line["delivery"])
    return (line["what"], line["run"], line["root"], line["begin_ns"], line["certain_ns"])


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("name", "timeout_s"), [("2.8.8", None), pytest.param("1.2.4", 10, marks=pytest.mark.minutes)]
)
def test_batches_prove_what_the_whole_trace_shows(spark, watched, name, timeout_s):
    request = WatchRequest(
        version=acker_version(name), message_timeout_s=timeout_s, remember_s=FOREVER, patience_s=FOREVER
    )
    watch = watched(request, parts_at_once=12)
    rows = [row for seed in range(8) for row in traced(seed, name, ticks=timeout_s is None)]
    dice = random.Random(name)
    for seed in range(8):
        mtimes: dict[int, int] = {}
        for part in cut([row for row in rows if row.run == f"run-{seed}"], dice):
            pid = part[0].pid
            mtimes[pid] = mtimes[pid] + dice.randrange(1, 50) if pid in mtimes else 1_000
            write(part, watch.folder, mtimes[pid])
    lines = watch()
    assert watch.watch.clock.late == 0
    assert watch.watch.clock.rows == len(rows)
    assert {line["batch"] for line in lines} == {0, 1, 2, 3}
    keys = [key(line) for line in lines]
    assert len(keys) == len(set(keys))
    timed: dict[tuple[str, int], list[int]] = {}
    for row in rows:
        if row.kind is EventKind.TIMED_OUT:
            timed.setdefault((row.run, row.root), []).append(row.time_ns)
    frontier = {run: state.frontier_ns for run, state in watch.watch.clock.runs.items()}
    read = traces(
        spark, FileKind.JSON_LINES, find_inputs([watch.folder]).files[FileKind.JSON_LINES]
    ).persist()
    entries = replay(messages(read), acker_version(name), message_timeout_s=timeout_s).entries
    whole = expected(entries, deliveries(read), timed, frontier)
    read.unpersist()
    assert set(keys) == whole
    assert {line["what"] for line in lines} == set(REPORTED)


@pytest.mark.minutes
def test_the_lines_of_a_run_are_the_findings_of_analyze(spark, watched):
    watch = watched(WatchRequest(version=acker_version("1.1.0")), parts_at_once=1)
    parts_of_statements(watch.folder, 100)
    lines = watch()
    request = Request(version=acker_version("1.1.0"), nowhere="trace", folder=str(ROOT))
    analysis = analyze(find_inputs([str(STATEMENTS)]), session=spark, request=request)
    seen = {finding.code: finding.evidence.seen for finding in analysis.findings if finding.code != "ACK603"}
    counts = Counter(line["what"] for line in lines)
    assert seen == {"ACK104": counts["acked-twice"], "ACK101": counts["never-zero"]}
    assert {(line["what"], line["code"], line["name"]) for line in lines} == {
        ("acked-twice", "ACK104", "ack-in-loop"),
        ("over-acked", "ACK602", "orphan-entry"),
        ("never-zero", "ACK601", "never-zero-entry"),
    }
    by_verdict = {tree.root: tree.verdict.value for tree in analysis.tally.trees}
    assert {line["root"] for line in lines if line["what"] == "over-acked"} == {
        root for root, verdict in by_verdict.items() if verdict == "complete"
    }
    assert {line["root"] for line in lines if line["what"] == "never-zero"} == {
        root for root, verdict in by_verdict.items() if verdict == "expired"
    }


# ---- what cannot be read ----

TWICE = (
    Event(
        EventKind.INIT, 1_000, seq=0, component="lines", task=1, root=7, value=5, run="r/1", worker="w", pid=1
    ),
    Event(
        EventKind.ACK, 2_000, seq=1, component="count", task=4, root=7, value=5, run="r/1", worker="w", pid=1
    ),
    Event(
        EventKind.ACK, 3_000, seq=2, component="count", task=4, root=7, value=5, run="r/1", worker="w", pid=1
    ),
)


@pytest.mark.minutes
def test_an_unreadable_part_is_reported_once_and_the_rest_is_read(watched):
    watch = watched()
    part = write(TWICE[:2], watch.folder)
    part.write_text(part.read_text(encoding="utf-8") + "{cut off\n", encoding="utf-8")
    place = worker_folder(watch.folder, "r/1", "w")
    damaged = place / "part-2-000000000000.parquet"
    damaged.write_bytes(b"PAR1" + bytes(200) + b"\x10\x00\x00\x00PAR1")
    (place / "part-3-000000000000.parquet").write_bytes(b"PAR1" + bytes(200))
    (place / "part-4-000000000000.jsonl").touch()
    (place / "part-6-000000000000.jsonl.gz").write_text("{}\n")
    zipped = gzip.compress(part.read_bytes())
    (place / f"{part.name}.gz").write_bytes(zipped)
    (place / ".live-5-000000000000.jsonl").write_bytes(b"rows of a process that runs")
    copy = worker_folder(watch.folder / "copy", "r/1", "w")
    copy.mkdir(parents=True)
    (copy / part.name).write_bytes(part.read_bytes())
    reported = {Path(line["file"]).name: line for line in watch()}
    refused = reported.pop(part.name)
    assert (refused["what"], refused["rows"]) == ("refused", 1)
    assert damaged.name in reported.pop(damaged.name)["file"]
    assert {name: line["reason"] for name, line in reported.items()} == {
        "part-3-000000000000.parquet": "cut off: it has no Parquet footer",
        "part-4-000000000000.jsonl": "the file is empty",
        "part-6-000000000000.jsonl.gz": "JSON without a schema, and so no part of a trace; logs are read as text, not as JSON",
    }
    late = write(TWICE[2:], watch.folder)
    late.with_name(f"{late.name}.gz").write_bytes(gzip.compress(late.read_bytes()))
    late.unlink()
    again = watch()
    assert [(line["what"], line["root"], line["by"][0]["component"]) for line in again] == [
        ("over-acked", 7, "count")
    ]
    assert watch.watch.journal.totals == {"parts": 2, "reported": 1, "refused": 5, "again": 2, "gone": 0}


@pytest.mark.minutes
def test_a_trace_may_begin_with_empty_parts(watched):
    watch = watched()
    part = write([TWICE[0]._replace(pid=9)], watch.folder)
    part.write_text(part.read_text(encoding="utf-8").replace('"kind":', '"sort":'), encoding="utf-8")
    assert [line["what"] for line in watch()] == ["refused"]
    part.with_name("part-8-000000000000.jsonl").write_text("\n", encoding="utf-8")
    assert watch(*TWICE[:2]) == []
    assert [line["what"] for line in watch(TWICE[2])] == ["over-acked"]


@pytest.mark.minutes
def test_removing_the_folder_ends_the_watch(watched):
    watch = watched()
    assert watch(*TWICE[:2]) == []
    watch.watch.show = lambda _lines: shutil.rmtree(watch.folder)
    write(TWICE[2:], watch.folder)
    with pytest.raises(UsageError, match=r"/trace is gone$"):
        watch.watch.run(idle_s=20)


def test_a_folder_removed_while_spark_starts_is_reported(watched):
    watch = watched()
    watch.folder.rmdir()
    with pytest.raises(UsageError, match=r"/trace is gone$"):
        watch()


@pytest.mark.minutes
def test_a_folder_name_is_no_pattern(spark, tmp_path):
    for name in ("a1", "a[1]{x,y}*?\\"):
        (tmp_path / name).mkdir()
    watch = Watched(spark, tmp_path / name, WatchRequest())
    assert watch(*TWICE[:2]) == []
    assert [line["what"] for line in watch(TWICE[2])] == ["over-acked"]
    assert watch.watch.clock.rows == 3


# ---- killed ----

ROOT = Path(__file__).parents[2]
STATEMENTS = ROOT / "fixtures" / "traces" / "statements" / "v1" / "run=lab" / "worker=main"


def parts_of_statements(folder: Path, size: int) -> None:
    place = folder / "v1" / "run=lab" / "worker=main"
    place.mkdir(parents=True)
    lines = (STATEMENTS / "part-1-000000000000.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for first in range(0, len(lines), size):
        part = place / f"part-1-{first:012d}.jsonl"
        part.write_text("".join(lines[first : first + size]), encoding="utf-8")
        os.utime(part, (first + 1, first + 1))


@pytest.mark.minutes
@pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="there is no Java")
def test_a_watch_that_is_killed_reports_everything_once(tmp_path):
    folder, checkpoint, shown = tmp_path / "trace", tmp_path / "checkpoint", tmp_path / "shown"
    parts_of_statements(folder, 48)
    command = [sys.executable, "-m", "ackdoctor", "watch", str(folder), "--once", "--acker-version", "1.1.0"]
    command += [
        "--checkpoint",
        str(checkpoint),
        "--parts-at-once",
        "1",
        "--output-format",
        "json-lines",
        "-q",
    ]
    dice = random.Random(0)
    with shown.open("ab") as out:
        for batch in (0, 1, 2):
            with subprocess.Popen(command, stdout=out, cwd=ROOT) as process:
                begun = checkpoint / "spark" / "offsets" / str(batch)
                while process.poll() is None and not begun.exists():
                    sleep(0.02)
                sleep(dice.random() * 3)
                assert process.poll() is None, "it should have had more to do"
                process.kill()
        assert subprocess.run(command, stdout=out, cwd=ROOT, check=False).returncode == 1
    journal = [json.loads(line) for line in (checkpoint / "reports.jsonl").read_text().splitlines()]
    reported = [line for line in journal if "done" not in line]
    done = [line["done"] for line in journal if "done" in line]
    assert done == list(range(len(done)))
    # a part that was recorded but not begun when the process died belongs to the next batch
    assert len(done) in {3, 4}
    assert Counter(line["what"] for line in reported) == {
        "acked-twice": 15,
        "over-acked": 12,
        "never-zero": 3,
    }
    assert len({key(line) for line in reported}) == len(reported)
    seen = {(line["batch"], line["nr"]) for line in map(json.loads, shown.read_text().splitlines())}
    assert seen == {(line["batch"], line["nr"]) for line in reported}


def test_spark_runs_no_python(spark, capsys):
    rows = spark.createDataFrame([], CARRIED)
    entries = certain.replayed_entries(rows, WatchRequest())
    judged = certain.judged(rows, entries, {"r": (1, 0)})
    done = certain.done(
        certain.delivery_rows(spark.createDataFrame([], DONE), spark.createDataFrame([], EVENTS))
    )
    for table in (certain.carried_roots(rows, judged), certain.remembered(done, {"r": 0})):
        table.explain()
    plans = capsys.readouterr().out
    assert plans.count("== Physical Plan ==") == 2
    assert "Python" not in plans
