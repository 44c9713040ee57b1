"""Exact verdicts on Spark, against a bare XOR per root and against DuckDB's windows, in one run.

    python benchmarks/spark.py DIRECTORY [--events 1000000 10000000] [--heap 2g] [--duckdb PYTHON] [--hot]

Every measurement is a process of its own; its CPU is that of the whole tree, the JVM too, and its peak
memory the sum of their high-water marks.  `--duckdb` names an interpreter that has duckdb (nothing of ours
needs it).  Traces are generated once and kept in DIRECTORY: trees of 3 to 10 tuples, 64-bit ids, a tick every
30 s, 1 % of the roots with a defect: never acked, acked twice at once or late, acked three times, failed,
no init, reset late.
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

HERE = Path(__file__).resolve()
RATE = 20_000  # messages a second
DEFECTS = 7
SUMMARY = "count(*) as lives, sum(n) as messages, bit_xor(coalesce(value, 0)) as left_over, sum(cast(outcome = 'acked' as int)) as acked, sum(cast(outcome = 'failed' as int)) as failed, sum(cast(outcome = 'expired' as int)) as expired"


def generate(folder: Path, events: int, *, hot: bool) -> None:
    """A trace of about so many messages, in the order in which an acker takes them."""
    from pyspark.sql import functions as F  # noqa: N812

    spark = spark_session("2g")
    roots = events * 2 // 15
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    base = spark.range(roots).selectExpr(
        "xxhash64(id, 7) as root",
        "3 + pmod(xxhash64(id, 1), 8) as edges",
        f"if(pmod(xxhash64(id, 2), 100) = 0, 1 + pmod(xxhash64(id, 3), {DEFECTS}), 0) as defect",
        f"id * 7500 div {RATE} as start_ms",
    )
    edge = "xxhash64(root, {0})"
    chain = base.selectExpr("*", "explode(sequence(0L, edges)) as i").selectExpr(
        "root",
        "defect",
        "i",
        "edges",
        f"case when i = 0 then {edge.format('1L')} when i = edges then {edge.format('i')}"
        f" else {edge.format('i')} ^ {edge.format('i + 1L')} end as value",
        "start_ms + i * 3 + pmod(xxhash64(root, i, 5), 3) as ms",
    )
    last = "i = edges"
    copies = chain.selectExpr(
        "*",
        f"""explode(case
            when defect = 1 and {last} then array()
            when defect = 2 and {last} then array(0L, 1L)
            when defect = 3 and {last} then array(0L, 20000L)
            when defect = 4 and {last} then array(0L, 1L, 2L)
            when defect = 6 and i = 0 then array()
            else array(0L) end) as late""",
    )
    rows = copies.selectExpr(
        f"case when i = 0 then 10 when defect = 5 and {last} then 12 when defect = 7 and {last} then 13 else 11 end as kind",
        "ms + late as ms",
        "root",
        "value",
    )
    seconds = events // RATE
    ticks = spark.range(seconds // 30 + 1).selectExpr(
        "14 as kind", "30000 * (id + 1) as ms", "0L as root", "0L as value"
    )
    told = rows.unionAll(ticks)
    if hot:
        spread = f"cast(id * {seconds * 1000} / {events // 9} as bigint)"
        one = spark.range(events // 9).selectExpr(
            "if(id = 0, 10, 11) as kind", f"{spread} as ms", "42L as root", "xxhash64(id) as value"
        )
        told = told.unionAll(one)
    ordered = (
        told.repartitionByRange(8, "ms")
        .sortWithinPartitions("ms")
        .selectExpr(
            "cast(kind as tinyint) as kind",
            "ms * 1000000 as time_ns",
            "monotonically_increasing_id() as seq",
            "if(kind = 10, 'spout', concat('bolt', pmod(value, 5))) as component",
            "cast(if(kind = 10, 3, 4 + pmod(value, 8)) as int) as task",
            *("'' as stream", "'' as delivery"),
            "root",
            "if(kind in (10, 11), value, 0) as value",
            *(
                "'' as site",
                "'' as thread",
                "cast(0 as tinyint) as flags",
                "'' as test",
                "'' as note",
                "1 as pid",
            ),
        )
    )
    ordered.withColumn("run", F.lit("bench")).withColumn("worker", F.lit("w")).write.partitionBy(
        "run", "worker"
    ).option("compression", "zstd").parquet(str(folder / "v1"))
    spark.stop()


def spark_session(heap: str, master: str = "local[2]") -> "SparkSession":
    """As `ackdoctor analyze` has it."""
    from ackdoctor.spark.session import session

    return session(
        master=master,
        input_bytes=1 << 40 if master != "local[1]" else 0,
        settings={"spark.driver.memory": heap, "spark.local.dir": os.environ.get("SPARK_LOCAL", "/tmp")},
    )


def events_of(spark: "SparkSession", folder: Path) -> "DataFrame":
    """EVENTS of the trace."""
    from ackdoctor.spark.read.traces import traces

    return traces(spark, sorted(map(str, (folder / "v1").rglob("part-*.parquet"))))


def ours(folder: Path, heap: str, plan: str, master: str = "local[2]") -> dict[str, object]:
    """Verdicts of all roots, each column looked at; and the lives, in short, for comparison."""
    from ackdoctor.spark.messages import messages
    from ackdoctor.spark.trees import Plan, entries
    from ackdoctor.spark.verdicts import verdicts
    from ackdoctor.spark.versions import version

    spark = spark_session(heap, master)
    sent = messages(events_of(spark, folder))
    lives = entries(sent, version("2.8"), plan=Plan[plan])
    table = verdicts(lives, sent)
    looked_at = ", ".join(f"bit_xor(xxhash64({name})) as {name}" for name in table.columns)
    found = table.groupBy("verdict").count().collect() if master == "local[1]" else None
    if found is None:
        row = spark.sql(f"select count(*) as roots, {looked_at} from {{table}}", table=table).first()
        return {"roots": row["roots"], "check": hash(tuple(row))}
    return {"roots": sum(row["count"] for row in found)}


def lives(folder: Path, heap: str, plan: str) -> dict[str, object]:
    """The lives alone, in short."""
    from ackdoctor.spark.messages import messages
    from ackdoctor.spark.trees import Plan, entries
    from ackdoctor.spark.versions import version

    spark = spark_session(heap)
    table = entries(messages(events_of(spark, folder)), version("2.8"), plan=Plan[plan])
    return spark.sql(f"select {SUMMARY} from {{table}}", table=table).first().asDict()


def bare_xor(folder: Path, heap: str) -> dict[str, object]:
    """The least that could be asked: scan, and one XOR per root."""
    spark = spark_session(heap)
    events = events_of(spark, folder).where("kind in (10, 11)")
    sums = events.groupBy("root").agg({"value": "bit_xor"}).toDF("root", "left_over")
    return (
        sums.selectExpr(
            "count(*) as roots", "bit_xor(left_over) as left_over", "count_if(left_over != 0) as bad"
        )
        .first()
        .asDict()
    )


def bare_start(_: Path, heap: str) -> dict[str, object]:
    """A session, and a count of a range."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    return {"count": spark.range(1000).count(), "heap": heap}


DUCKDB = """
with m as (select kind, root, value, seq as pos from read_parquet('{files}') where kind between 10 and 13),
w1 as (select *, bit_xor(case when kind <= 11 then value else 0 end) over w as lft, max(kind = 10) over w as begun, max(kind = 12) over w as given_up,
  count(*) over (partition by root) as size
  from m window w as (partition by root order by pos rows unbounded preceding)),
w2 as (select *, begun and (lft = 0 or given_up) as ends from w1),
w3 as (select *, coalesce(max(ends) over (partition by root order by pos rows between unbounded preceding and 1 preceding), false) as after from w2),
l as (select root, after, max(ends) as ended, count(*) as n, bit_xor(case when kind <= 11 then value else 0 end) as value,
  min(pos) as first_pos, max(case when kind >= 12 then pos end) as again_pos from w3 group by root, after),
t as (select seq as pos from read_parquet('{files}') where kind = 14),
e as (select *, case when ended and value = 0 then 'acked' when ended then 'failed'
  when (select count(*) from t where t.pos > greatest(first_pos, coalesce(again_pos, first_pos))) >= 3 then 'expired' else 'pending' end as outcome from l)
select {summary} from e
"""


def duckdb_windows(folder: Path, heap: str) -> dict[str, object]:
    """The same windows in DuckDB, which knows of no odd root."""
    import duckdb

    base = duckdb.connect()
    base.execute(
        f"set threads = 2; set memory_limit = '{heap.upper()}B'; set temp_directory = '{folder / 'spill'}'"
    )
    relation = base.execute(DUCKDB.format(files=folder / "v1" / "*" / "*" / "*.parquet", summary=SUMMARY))
    return dict(
        zip((column[0] for column in relation.description), map(int, relation.fetchone()), strict=True)
    )


JOBS = {
    "verdicts, windows": lambda folder, heap: ours(folder, heap, "WINDOWS"),
    "verdicts, proof first": lambda folder, heap: ours(folder, heap, "PROVE_FIRST"),
    "lives, windows": lambda folder, heap: lives(folder, heap, "WINDOWS"),
    "lives, proof first": lambda folder, heap: lives(folder, heap, "PROVE_FIRST"),
    "bare xor": bare_xor,
    "duckdb windows": duckdb_windows,
    "start": bare_start,
    "first result": lambda folder, heap: ours(folder, heap, "WINDOWS", "local[1]"),
}


def one(name: str, folder: Path, heap: str) -> None:
    """Runs a job in this process and prints what it cost."""
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
    """A process and all that it started; threads come and go while one looks."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [each for child in task.read_text().split() for each in tree(int(child))]
    return found


def measured(python: str, name: str, folder: Path, heap: str) -> dict[str, object]:
    """A job in a process of its own."""
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
    """All jobs on all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--heap", default="2g")
    parser.add_argument("--duckdb", default="")
    parser.add_argument("--hot", action="store_true")
    parser.add_argument(
        "--jobs", nargs="+", default=[name for name in JOBS if name not in ("start", "first result")]
    )
    parser.add_argument("--one", default="")
    asked = parser.parse_args()
    if asked.one:
        one(asked.one, asked.directory, asked.heap)
        return
    for events in asked.events:
        folder = asked.directory / f"{events}{'-hot' if asked.hot else ''}"
        if not (folder / "v1").exists():
            generate(folder, events, hot=asked.hot)
        for name in asked.jobs:
            python = asked.duckdb if name.startswith("duckdb") else sys.executable
            if python:
                print(events, json.dumps(measured(python, name, folder, asked.heap)), flush=True)


if __name__ == "__main__":
    main()
