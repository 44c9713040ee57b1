"""Traces that try to hang a reader or to fill its memory."""

import json
import os

import pytest

from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer import trace_files
from ackdoctor.tracer.trace_reader import Reading, read

GOOD = trace_files.line(Event(EventKind.RECEIVED, 5, component="bolt", delivery="1")) + "\n"


def reading(folder) -> Reading:
    found = read([folder])
    rows = list(found.events())
    assert [row.delivery for row in rows] == ["1"]
    return found


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[" * 100_000, "no JSON"),
        ('{"schema":' + "9" * 400 + "}", "no row of a trace"),
        ('{"schema":1,"kind":1,"time_ns":' + "9" * 400 + "}", "no row of a trace: time_ns is " + "9" * 60),
        (
            '{"schema":1,"kind":1,"time_ns":1,"note":' + json.dumps(["x"] * 9) + "}",
            "no row of a trace: note is ['x', ",
        ),
        ("x" * (16 << 20), "a line of more than 16 MB"),
    ],
    ids=["deep", "schema", "number", "list", "long"],
)
def test_an_oversized_line_is_reported_and_the_rows_before_it_are_read(tmp_path, line, reason):
    (tmp_path / "part-1-000000000000.jsonl").write_text(f"{GOOD}{line}\n{GOOD}")
    (fault,) = reading(tmp_path).unreadable
    assert fault.line == 2
    assert fault.reason.startswith(reason)
    assert len(fault.reason) < 120


@pytest.mark.parametrize(
    "name", ["part-2-000000000000.jsonl", "part-2-000000000000.parquet", ".live-2-000000000000.jsonl"]
)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_path_that_is_no_regular_file_is_reported_and_the_others_are_read(tmp_path, name, make):
    (tmp_path / "part-1-000000000000.jsonl").write_text(GOOD)
    make(tmp_path / name)
    (fault,) = reading(tmp_path).unreadable
    assert (fault.path, fault.reason) == (str(tmp_path / name), "not a regular file")


def test_a_part_that_claims_more_rows_than_its_bytes_can_hold_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "part-1-000000000000.jsonl").write_text(GOOD)
    count = 4_000_000
    numbers = {
        name: pa.array([1], pa.int64()).take(pa.array([0] * count, pa.int32())) for name in ("seq", "time_ns")
    }
    columns = {}
    for name, kind in Event.__annotations__.items():
        if name in {"run", "worker"}:
            continue
        text = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x"]))
        columns[name] = text if kind in (str, "str") else numbers["seq"]
    table = pa.table(columns)
    table = table.replace_schema_metadata({b"ackdoctor.schema": b"1"})
    pq.write_table(table, tmp_path / "part-2-000000000000.parquet", row_group_size=count, compression="zstd")
    (fault,) = reading(tmp_path).unreadable
    assert "bytes claim 4,000,000 rows" in fault.reason


def test_columns_of_another_type_are_reported(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "part-1-000000000000.jsonl").write_text(GOOD)
    names = [name for name in Event._fields if name not in {"run", "worker"}]
    table = pa.table({name: pa.array([7]) for name in names}).replace_schema_metadata(
        {b"ackdoctor.schema": b"1"}
    )
    pq.write_table(table, tmp_path / "part-2-000000000000.parquet")
    (fault,) = reading(tmp_path).unreadable
    assert fault.reason == "no part of a trace: its column 'component' holds no texts but int64"
