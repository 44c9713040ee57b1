"""Measure exact verdicts on Spark beside a bare XOR per root and DuckDB's windows; and log lines beside a text scan.

    python benchmarks/spark.py DIRECTORY [--events 1000000 10000000] [--lines 1000000] [--heap 2g] [--duckdb PYTHON] [--hot] [--idle] [--sick]

Each measurement is a process of its own.  CPU and peak memory include its children, such as the JVM.
`--duckdb` names an interpreter that has duckdb.  The script generates traces once, into DIRECTORY: trees of
3 to 10 tuples, 64-bit ids, a tick every 30 s, and 1 % of the roots with a defect (never acked, acked twice at
once or late, acked three times, failed, no init, reset late).

    --hot    one more root has a tenth of all messages
    --idle   the acker ticks three times before the first message
    --sick   95 % of the roots are acked twice
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ackdoctor.spark.replay import Replay
    from ackdoctor.spark.session import Persist

HERE = Path(__file__).resolve()
RATE = 20_000  # messages a second
FEW_DEFECTS = "case when hash(id, 2) % 100 = 0 then 1 + hash(id, 3) % 7 else 0 end"
TWICE = "case when hash(id, 2) % 100 < 95 then 2 else 0 end"
SUMMARY = "count(*) as entries, sum(n) as messages, bit_xor(coalesce(value, 0)) as left_over, sum(cast(outcome = 'acked' as int)) as acked, sum(cast(outcome = 'failed' as int)) as failed, sum(cast(outcome = 'expired' as int)) as expired"

VERDICT_SUMMARY = "count(*) as roots, sum(n) as messages, bit_xor(coalesce(value, 0)) as left_over, sum(surplus) as surplus, sum({size}(culprits)) as culprits, sum(cast(verdict = 'COMPLETE' as int)) as complete, sum(cast(verdict = 'EXPIRED' as int)) as expired, sum(cast(residue = 'EVEN' as int)) as uneven"
LOG = "worker.log"
CHECK = "check_sum"  # over all columns, so that the engine computes each of them


TRACE = """
copy (
  with base as (select id, (hash(id, 7) >> 1)::bigint as root, (3 + hash(id, 1) % 8)::bigint as edges,
      {defect} as defect, id * 7500 // {rate} as start_ms
    from range({roots}) t(id)),
  chain as (select *, unnest(range(edges + 1)) as i from base),
  valued as (select *, case when i = 0 then edge(root, 1) when i = edges then edge(root, i) else xor(edge(root, i), edge(root, i + 1)) end as value,
      start_ms + i * 3 + (hash(root, i, 5) % 3)::bigint as ms from chain),
  messages as (select case when i = 0 then 10 when i = edges and defect = 5 then 12 when i = edges and defect = 7 then 13 else 11 end as kind,
      ms + unnest(case when i = edges then case defect when 1 then [] when 2 then [0, 1] when 3 then [0, 20000] when 4 then [0, 1, 2] else [0] end
        when i = 0 and defect = 6 then [] else [0] end) as ms, root, value from valued
    union all select 14, 30000 * (id + 1), 0, 0 from range({seconds} // 30 + 1) t(id)
    {more})
  select 1::tinyint as schema, kind::tinyint as kind, ms * 1000000 as time_ns, row_number() over (order by ms) as seq,
    case when kind = 10 then 'spout' else 'bolt' || value % 5 end as component, (case when kind = 10 then 3 else 4 + value % 8 end)::int as task,
    '' as stream, '' as delivery, root, case when kind in (10, 11) then value else 0 end as value,
    '' as site, '' as thread, 0::tinyint as flags, '' as test, '' as note, 1::int as pid
  from messages order by seq
) to '{place}' (format parquet, compression zstd, row_group_size 500000)
"""
HOT = "union all select case when id = 0 then 10 else 11 end, id * {seconds} * 1000 // {count}, 42, (hash(id) >> 1)::bigint from range({count}) t(id)"
IDLE = "union all select 14, -30000 * (id + 1), 0, 0 from range(3) t(id)"


def generate(folder: Path, events: int, *, hot: bool, idle: bool, sick: bool) -> None:
    """Write a trace of about so many messages, in the order in which an acker receives them."""
    import duckdb

    place = folder / "v1" / "run=bench" / "worker=w"
    place.mkdir(parents=True)
    base = duckdb.connect()
    base.execute(f"set threads = 2; set memory_limit = '3GB'; set temp_directory = '{folder / 'spill'}'")
    base.execute("create macro edge(root, i) as (hash(root, i) >> 1)::bigint")
    seconds = events // RATE + 1
    more = [HOT.format(seconds=seconds, count=events // 9)] * hot + [IDLE] * idle
    base.execute(
        TRACE.format(
            defect=TWICE if sick else FEW_DEFECTS,
            rate=RATE,
            roots=events * 2 // 15,
            seconds=seconds,
            more=" ".join(more),
            place=place / "part-1-0.parquet",
        )
    )


def spark_session(heap: str, folder: Path | None, master: str = "local[2]") -> "SparkSession":
    """Return the session that `ackdoctor analyze` makes for what lies in the folder."""
    from ackdoctor.spark.session import session

    return session(
        master=master,
        input_bytes=sum(file.stat().st_size for file in folder.rglob("*.*")) if folder else 0,
        settings={"spark.driver.memory": heap, "spark.local.dir": os.environ.get("SPARK_LOCAL", "/tmp")},
    )


def defaults(master: str) -> "SparkSession.Builder":
    """Return the builder of a session with Spark's defaults."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.master(master).config("spark.ui.enabled", "false")


def events_of(spark: "SparkSession", folder: Path) -> "DataFrame":
    """Return EVENTS of the trace."""
    from ackdoctor.spark.events import traces
    from ackdoctor.spark.file_kinds import FileKind

    return traces(spark, FileKind.PARQUET, sorted(map(str, (folder / "v1").rglob("part-*.parquet"))))


def analysis(folder: Path) -> dict[str, object]:
    """Run `ackdoctor analyze` without its report."""
    from ackdoctor.spark.analysis import analyze
    from ackdoctor.spark.inputs import find_inputs
    from ackdoctor.spark.judge import Request
    from ackdoctor.spark.replay import acker_version

    spark = spark_session("1g", folder, "local[1]")
    return {
        "roots": analyze(
            find_inputs([str(folder / "v1")]), session=spark, request=Request(version=acker_version("2.8"))
        ).roots
    }


def verdicts_of(folder: Path, heap: str, master: str = "local[2]") -> dict[str, object]:
    """Compute the verdicts of all roots, and a hash over every column; on one core, only their number."""
    from ackdoctor.spark.session import Cache
    from ackdoctor.spark.verdicts import verdicts

    cache = Cache()
    replayed = replay_of(spark_session(heap, folder, master), folder, cache)
    table = verdicts(replayed, cache)
    if master == "local[1]":
        return {"roots": sum(row["count"] for row in table.groupBy("verdict").count().collect())}
    query = f"select {VERDICT_SUMMARY.format(size='size')}, bit_xor(xxhash64(*)) as {CHECK} from {{table}}"
    return table.sparkSession.sql(query, table=table).collect()[0].asDict()


def entries(folder: Path, heap: str) -> dict[str, object]:
    """Compute the entries of all roots without verdicts, summarized."""
    from ackdoctor.spark.session import Cache

    table = replay_of(spark_session(heap, folder), folder, Cache()).entries
    return table.sparkSession.sql(f"select {SUMMARY} from {{table}}", table=table).collect()[0].asDict()


def replay_of(spark: "SparkSession", folder: Path, persist: "Persist") -> "Replay":
    """Replay the trace as `ackdoctor analyze` does."""
    from ackdoctor.spark.events import constant_columns
    from ackdoctor.spark.file_kinds import FileKind
    from ackdoctor.spark.replay import acker_version, messages, replay

    parts = sorted(map(str, (folder / "v1").rglob("part-*.parquet")))
    constants = constant_columns({FileKind.PARQUET: parts, FileKind.LOG: []})
    sent = messages(events_of(spark, folder))
    return replay(sent, acker_version("2.8"), constants=constants, persist=persist)


def bare_xor(folder: Path, heap: str) -> dict[str, object]:
    """Scan, and compute one XOR per root, in the session of `analyze`."""
    return xor_per_root(spark_session(heap, folder), folder)


def defaults_xor(folder: Path, heap: str) -> dict[str, object]:
    """Scan, and compute one XOR per root, in a session with Spark's defaults."""
    builder = defaults("local[2]").config("spark.driver.memory", heap)
    return xor_per_root(builder.getOrCreate(), folder)


def xor_per_root(spark: "SparkSession", folder: Path) -> dict[str, object]:
    """Count the roots whose messages do not cancel out."""
    events = events_of(spark, folder).where("kind in (10, 11)")
    sums = events.groupBy("root").agg({"value": "bit_xor"}).toDF("root", "left_over")
    return (
        sums.selectExpr(
            "count(*) as roots", "bit_xor(left_over) as left_over", "count_if(left_over != 0) as bad"
        )
        .collect()[0]
        .asDict()
    )


def bare_start(_: Path, heap: str) -> dict[str, object]:
    """Start a session with Spark's defaults and count a range."""
    return {"count": defaults("local[1]").getOrCreate().range(1000).count(), "heap": heap}


def our_start(_: Path, heap: str) -> dict[str, object]:
    """Start the session of a small analysis and count a range."""
    return {"count": spark_session(heap, None, "local[1]").range(1000).count(), "heap": heap}


def text_scan(folder: Path, heap: str) -> dict[str, object]:
    """Count the lines of a log."""
    return {"lines": spark_session(heap, folder).read.text(str(folder / LOG)).count()}


def log_ingested(folder: Path, heap: str) -> dict[str, object]:
    """Parse the lines of a log, check that each is accounted for, and read each event once."""
    from stormlog import ingest

    return {"lines": ingest(spark_session(heap, folder), str(folder / LOG))}


def duckdb_entries(folder: Path, heap: str) -> dict[str, object]:
    """Compute the entries alone, by windows in DuckDB."""
    return in_duckdb(folder, heap, f"select {SUMMARY} from entries")


def duckdb_verdicts(folder: Path, heap: str) -> dict[str, object]:
    """Compute the verdicts of all roots by windows in DuckDB, and a hash over every column."""
    check = f"bit_xor(hash(verdicts)) as {CHECK}"
    return in_duckdb(folder, heap, f"select {VERDICT_SUMMARY.format(size='len')}, {check} from verdicts")


def in_duckdb(folder: Path, heap: str, query: str) -> dict[str, object]:
    """Return the one row of a query on the tables of verdicts.duckdb.sql."""
    import duckdb

    base = duckdb.connect()
    base.execute(
        f"set threads = 2; set memory_limit = '{heap.upper()}B'; set temp_directory = '{folder / 'spill'}'"
    )
    tables = (HERE.parent / "verdicts.duckdb.sql").read_text(encoding="utf-8")
    relation = base.execute(tables.format(files=folder / "v1" / "*" / "*" / "*.parquet") + query)
    names = [column[0] for column in relation.description]
    return dict(zip(names, map(int, relation.fetchone()), strict=True))


JOBS = {
    "verdicts": verdicts_of,
    "entries": entries,
    "bare xor": bare_xor,
    "bare xor, Spark's defaults": defaults_xor,
    "duckdb entries": duckdb_entries,
    "duckdb verdicts": duckdb_verdicts,
    "start": bare_start,
    "start, our settings": our_start,
    "first result": lambda folder, heap: verdicts_of(folder, heap, "local[1]"),
    "whole analysis": lambda folder, _: analysis(folder),
    "text scan": text_scan,
    "log ingest": log_ingested,
}


STARTS = ("start", "start, our settings", "first result", "whole analysis")  # for a small trace; see --jobs
LOGS = ("text scan", "log ingest")  # see --lines


def one(name: str, folder: Path, heap: str) -> None:
    """Run a job in this process and print its cost."""
    begin = time.perf_counter()
    answer = JOBS[name](folder, heap)
    wall = time.perf_counter() - begin
    cpu, peak = 0.0, 0
    for pid in tree(os.getpid()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        marks = [
            line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")
        ]
        peak += int(marks[0].split()[1]) if marks else 0
    print(
        json.dumps(
            {
                "job": name,
                "cpu_s": round(cpu, 1),
                "wall_s": round(wall, 1),
                "peak_mb": peak // 1024,
                "answer": answer,
            }
        ),
        flush=True,
    )


def tree(pid: int) -> list[int]:
    """Return a process and its descendants; a thread may end meanwhile."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [each for child in task.read_text().split() for each in tree(int(child))]
    return found


def measure(python: str, name: str, folder: Path, heap: str) -> dict[str, object]:
    """Run a job in a process of its own and return its cost."""
    done = subprocess.run(
        [python, str(HERE), str(folder), "--one", name, "--heap", heap],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"job": name, "error": done.stderr.strip().splitlines()[-1:]}
    return dict(json.loads(lines[-1]))


def main() -> None:
    """Run all jobs on all sizes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--lines", type=int, nargs="*", default=[])
    parser.add_argument("--heap", default="2g")
    parser.add_argument("--duckdb", default="")
    parser.add_argument("--hot", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--sick", action="store_true")
    parser.add_argument("--jobs", nargs="+", default=[name for name in JOBS if name not in (*STARTS, *LOGS)])
    parser.add_argument("--one", default="")
    options = parser.parse_args()
    if options.one:
        one(options.one, options.directory, options.heap)
        return
    for events in options.events:
        folder = (
            options.directory
            / f"{events}{'-hot' * options.hot}{'-idle' * options.idle}{'-sick' * options.sick}"
        )
        if not (folder / "v1").exists():
            script = f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); import spark; from pathlib import Path; spark.generate(Path({str(folder)!r}), {events}, hot={options.hot}, idle={options.idle}, sick={options.sick})"
            subprocess.run([options.duckdb or sys.executable, "-c", script], check=True)
        for name in options.jobs:
            python = options.duckdb if name.startswith("duckdb") else sys.executable
            if python:
                print(events, json.dumps(measure(python, name, folder, options.heap)), flush=True)
    for lines in options.lines:
        folder = options.directory / f"log-{lines}"
        if not (folder / LOG).exists():
            from stormlog import write_log

            folder.mkdir(parents=True)
            write_log(folder / LOG, lines)
        for name in LOGS:
            print(lines, json.dumps(measure(sys.executable, name, folder, options.heap)), flush=True)


if __name__ == "__main__":
    main()
