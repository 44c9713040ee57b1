"""The run and the worker of a row, with files that agree and files that do not."""

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from ackdoctor.model.trace import Event, EventKind
from ackdoctor.spark.events import opened, traces
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.tracer.trace_reader import read


@pytest.fixture
def part(tmp_path):
    """Write a part of one row below a folder."""

    def write(folder: str) -> str:
        place = tmp_path / folder / "part-1-0.jsonl"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps({"schema": 1, "kind": 10, "time_ns": 1}) + "\n")
        return str(place)

    return write


def named(spark, *files):
    return sorted(map(tuple, traces(spark, FileKind.JSON_LINES, files).select("run", "worker").collect()))


def test_the_run_is_named_alike_for_one_or_several(spark, part):
    one, other = part("v1/run=one/worker=w"), part("v1/run=2.two/worker=w")
    assert named(spark, one) == [("one", "w")]
    assert named(spark, other) == [("2.two", "w")]
    assert named(spark, one, other) == [("2.two", "w"), ("one", "w")]


def test_the_nearest_folder_names_the_run(spark, part):
    inner = part("run=outer/v1/run=inner/worker=w")
    assert named(spark, inner) == [("inner", "w")]
    assert named(spark, inner, part("loose")) == [("", ""), ("inner", "w")]


def test_an_escaped_name_stays_escaped(spark, part):
    assert named(spark, part("v1/run=a b/worker=w")) == [("a%20b", "w")]


INIT = "select cast(10 as tinyint) as kind, {}L as time_ns, 7L as root, '' as delivery"


def columnar(spark, place: Path, rows: str = INIT.format(1)) -> Path:
    """Write one Parquet file under this name."""
    whole = place.with_name("_whole")
    spark.sql(rows).coalesce(1).write.mode("overwrite").parquet(str(whole))
    shutil.copy(next(whole.glob("part-*.parquet")), place)
    shutil.rmtree(whole)
    return place


def row_counts(spark, inputs):
    with opened(spark, inputs) as source:
        return source.row_counts()


def test_parquet_is_read_as_such_under_any_name(spark, tmp_path):
    inputs = find_inputs([columnar(spark, tmp_path / name) for name in ("000000_0", "part-1-0.parquet")])
    counts = row_counts(spark, inputs)
    assert (counts.files, counts.rows, counts.used, counts.quarantined) == (1, 1, 1, 0)  # the other is a copy
    inputs.files[FileKind.PARQUET].append(str(columnar(spark, tmp_path / "trace.pq")))
    counts = row_counts(spark, inputs)
    assert (counts.files, counts.rows, counts.used, counts.quarantined) == (2, 2, 2, 0)


@pytest.mark.parametrize("lacks", ["root", "delivery"])
def test_parquet_without_needed_columns_is_refused(tmp_path, lacks):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    row = Event(EventKind.INIT, 1, root=7)._asdict()
    columns = {name: [value] for name, value in row.items() if name not in ("run", "worker", lacks)}
    part = tmp_path / "part-1-0.parquet"
    table = pyarrow.table(columns | {"kind": [int(row["kind"])]})
    parquet.write_table(table.replace_schema_metadata({"ackdoctor.schema": "1"}), part)
    mine = read([part])
    assert list(mine.events()) == []
    reason = f"no part of a trace: it has no column {lacks!r}"
    assert [item.reason for item in (*mine.unreadable, *find_inputs([part]).unreadable)] == [reason, reason]


def test_a_file_name_is_no_pattern(spark, tmp_path):
    names = [
        "1",
        "a[1]",
        "a{x,y}",
        "a*b",
        "a?b",
        "a\\b",
        "a\\",
        "a,b",
        "a%20b",
    ]
    for number, name in enumerate(names):
        row = {"schema": 1, "kind": 10, "time_ns": 1, "root": number}
        (tmp_path / f"{name}{number}.jsonl").write_text(json.dumps(row) + "\n")
    columnar(spark, tmp_path / "b[1].parquet")
    columnar(spark, tmp_path / "b1.parquet", INIT.format(2))
    (tmp_path / "worker[1].log").write_text("2026-11-21 20:22:08.403 x y [INFO] Emitting\n")
    inputs = find_inputs([tmp_path])
    lines, table = inputs.files[FileKind.JSON_LINES], inputs.files[FileKind.PARQUET]
    roots = traces(spark, FileKind.JSON_LINES, lines).select("root").collect()
    assert sorted(row["root"] for row in roots) == list(range(len(names)))
    times = traces(spark, FileKind.PARQUET, table).select("time_ns").collect()
    assert sorted(row["time_ns"] for row in times) == [1, 2]
    counts = row_counts(spark, inputs)
    assert (counts.rows, counts.quarantined) == (len(roots) + 3, 0)
