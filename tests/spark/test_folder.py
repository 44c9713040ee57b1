"""Spark reads the trace folder as a table.  Needs pyspark and a JVM."""

import pytest

from ackdoctor.model.trace import EventKind
from ackdoctor.tracer import recorder as write
from tests.tracer.traces import recorder, rows, say

pytestmark = pytest.mark.slow


def trace(tmp_path) -> None:
    writers = [recorder(tmp_path, worker=worker, events=1000) for worker in ("a", "b")]
    for writer in writers:
        say(writer, 2_500)
        writer.write(EventKind.INIT, "__acker", 7, root=-66, value=3)
        writer.write(EventKind.ACK, "__acker", 7, root=-66, value=1)
        writer.close()
    live = recorder(tmp_path, worker="b")
    say(live, 40)  # a live file, which Spark must skip


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_the_folder_is_a_table(tmp_path, spark, form, monkeypatch):
    if form == "json":
        monkeypatch.setattr(write, "parquet_module", lambda: None)
    trace(tmp_path)
    table = spark.read.format(form).load(str(tmp_path / "v1"))
    finished = rows(*tmp_path.rglob("part-*"))
    assert table.count() == len(finished)
    named = table.select("run", "worker", "pid", "seq", "kind", "component", "delivery", "root", "value")
    assert sorted(tuple(row) for row in named.collect()) == sorted(
        (
            row.run,
            row.worker,
            row.pid,
            row.seq,
            int(row.kind),
            row.component,
            row.delivery,
            row.root,
            row.value,
        )
        for row in finished
    )


def test_a_root_that_never_reaches_zero_is_one_query(tmp_path, spark):
    trace(tmp_path)
    writer = recorder(tmp_path, worker="c")
    for root, value in ((1, 3), (1, 3), (2, 3), (2, 1)):
        writer.write(EventKind.ACK, task=7, root=root, value=value)
    writer.close()
    spark.read.parquet(str(tmp_path / "v1")).createOrReplaceTempView("trace")
    open_ = spark.sql(
        "select root, bit_xor(value) v from trace where worker = 'c' group by root having v != 0"
    )
    assert [tuple(row) for row in open_.collect()] == [(2, 2)]
