"""Inputs at an address, here of Hadoop's `viewfs`, which mounts a local folder: Spark lists them, names decide."""

import gzip

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.events import with_addresses
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import Inputs, find_inputs
from tests.spark.test_inputs import LOG

AT = "viewfs://lab/data"
UNNAMED = "neither named like a part of a trace nor like a worker's log"


@pytest.fixture
def mounted(spark, tmp_path):
    """A folder that Spark sees at `AT`."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.lab.link./data", tmp_path.as_uri())
    hadoop.set("fs.viewfs.impl.disable.cache", "true")
    yield tmp_path
    hadoop.unset("fs.viewfs.mounttable.lab.link./data")


def found(spark, *addresses: str) -> Inputs:
    return with_addresses(spark, find_inputs(addresses))


def reasons(unreadable) -> dict[str, str]:
    return {fault.path.removeprefix(AT): fault.reason for fault in unreadable}


def test_a_folder_is_searched_and_its_files_are_recognized_by_name(spark, mounted):
    deep = mounted / "a b [x] {y} 100% \u00fc"
    deep.mkdir()
    (deep / "worker.log").write_text(LOG)
    (mounted / "worker.log.1.gz").write_bytes(gzip.compress(LOG.encode()))
    (mounted / "part-1-0.jsonl").write_text('{"schema": 1}\n')
    (mounted / "part-2-0.parquet").write_bytes(b"PAR1")
    (mounted / "README").write_text("words\n")
    (mounted / "v9" / "run=r").mkdir(parents=True)
    (mounted / "v9" / "run=r" / "part-1-0.parquet").write_bytes(b"PAR1")
    inputs = found(spark, AT)
    assert inputs.files == {
        FileKind.LOG: [f"{AT}/a b [x] {{y}} 100% \u00fc/worker.log", f"{AT}/worker.log.1.gz"],
        FileKind.JSON_LINES: [f"{AT}/part-1-0.jsonl"],
        FileKind.PARQUET: [f"{AT}/part-2-0.parquet"],
    }
    assert inputs.addresses == []
    assert reasons(inputs.passed_over) == {"/README": UNNAMED}
    assert reasons(inputs.unreadable) == {
        "/v9/run=r/part-1-0.parquet": "schema 9; this version of ackdoctor reads up to 1",
    }


def test_a_file_that_the_user_names_is_a_log_under_any_name(spark, mounted):
    (mounted / "pod.txt").write_text(LOG)
    assert found(spark, f"{AT}/pod.txt").files[FileKind.LOG] == [f"{AT}/pod.txt"]
    pattern = found(spark, f"{AT}/po*")
    assert reasons(pattern.passed_over) == {"/pod.txt": UNNAMED}
    assert reasons(pattern.unreadable) == {"/po*": "it holds no part of a trace and no log"}


def test_a_file_at_two_addresses_is_read_once(spark, mounted):
    (mounted / "worker.log").write_text(LOG)
    inputs = found(spark, AT, f"{AT}/*.log", f"{AT}/worker.log")
    assert inputs.files[FileKind.LOG] == [f"{AT}/worker.log"]


def test_a_part_is_read_in_its_best_format_only(spark, mounted):
    for name in ("part-1-000000000000.parquet", "part-1-000000000000.jsonl", "part-1-000000000009.jsonl.gz"):
        (mounted / name).write_text("x")
    inputs = found(spark, AT)
    assert inputs.files[FileKind.PARQUET] == [f"{AT}/part-1-000000000000.parquet"]
    assert inputs.files[FileKind.JSON_LINES] == [f"{AT}/part-1-000000000009.jsonl.gz"]
    assert reasons(inputs.passed_over) == {
        "/part-1-000000000000.jsonl": f"the same part as {AT}/part-1-000000000000.parquet"
    }
    assert inputs.size == 2


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (f"{AT}/nothing", "Path does not exist"),
        (f"{AT}/noth*", "Path does not exist"),
        (f"{AT}/hollow", "the directory is empty"),
        ("gopher://lab/data", 'No FileSystem for scheme "gopher"'),
        (
            "s3a://bucket/data",
            "Spark comes without what reads this: for s3a --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION",
        ),
        ("hdfs://no.such.host.invalid:1/data", "no such host: no.such.host.invalid"),
    ],
)
def test_an_address_without_files_is_reported_and_the_others_are_read(spark, mounted, address, reason):
    (mounted / "hollow" / "within").mkdir(parents=True)
    (mounted / "worker.log").write_text(LOG)
    inputs = found(spark, address, f"{AT}/worker.log")
    (failed,) = inputs.unreadable
    assert failed.path == address
    assert reason in failed.reason
    assert inputs.files[FileKind.LOG] == [f"{AT}/worker.log"]
