"""What Spark makes of a trace is what the model of the acker makes of it: life by life, root by root."""

from typing import Any

import pytest

from ackdoctor.acker.versions import profile
from tests.spark.lives import COLUMNS, Model, rows, stream

pytest.importorskip("pyspark")

from ackdoctor.spark.schema import MESSAGES
from ackdoctor.spark.trees import Plan, entries
from ackdoctor.spark.versions import version

TRACES = range(12)


@pytest.fixture
def table(spark, tmp_path):
    """Messages as a Parquet table, so that plans are those of real input."""

    def write(messages: list[tuple[Any, ...]]):
        spark.createDataFrame(messages, MESSAGES).coalesce(1).write.parquet(str(tmp_path / "messages"))
        return spark.read.schema(MESSAGES).parquet(str(tmp_path / "messages"))

    return write


def lives_of(frame):
    return sorted(map(tuple, frame.select("run", *COLUMNS).collect()), key=repr)


@pytest.mark.parametrize("plan", Plan)
@pytest.mark.parametrize("name", ["0.9.0-rc2", "1.1.0", "1.2.4", "2.8.8", "jstorm", "heron"])
def test_every_life_of_every_entry_is_that_of_the_model(name, plan, table):
    messages: list[tuple[Any, ...]] = []
    expected: list[tuple[Any, ...]] = []
    for seed in TRACES:
        sent = stream(seed, profile(name), bits=(3, 6, 64)[seed % 3])
        messages += rows(f"run{seed}", sent)
        expected += [
            (f"run{seed}", *(getattr(life, column) for column in COLUMNS))
            for life in Model(profile(name)).run(sent)
        ]
    assert lives_of(entries(table(messages), version(name), plan=plan)) == sorted(expected, key=repr)
