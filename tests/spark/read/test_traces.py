"""Which run and worker a row is of, whether all files say the same or not."""

import json

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.read.traces import traces


@pytest.fixture
def part(tmp_path):
    """Writes a part of one row below a folder."""

    def write(folder: str) -> str:
        place = tmp_path / folder / "part-1-0.jsonl"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps({"schema": 1, "kind": 10, "time_ns": 1}) + "\n")
        return str(place)

    return write


def named(spark, *files):
    return sorted(map(tuple, traces(spark, files).select("run", "worker").collect()))


def test_files_of_one_run_or_of_several_name_it_alike(spark, part):
    one, other = part("v1/run=one/worker=w"), part("v1/run=2.two/worker=w")
    assert named(spark, one) == [("one", "w")]
    assert named(spark, other) == [("2.two", "w")]
    assert named(spark, one, other) == [("2.two", "w"), ("one", "w")]


def test_the_nearest_folder_names_the_run(spark, part):
    inner = part("run=outer/v1/run=inner/worker=w")
    assert named(spark, inner) == [("inner", "w")]
    assert named(spark, inner, part("loose")) == [("", ""), ("inner", "w")]


def test_a_name_that_is_escaped_in_a_path_stays_so(spark, part):
    assert named(spark, part("v1/run=a b/worker=w")) == [("a%20b", "w")]
