"""Inputs at an address, here of Hadoop's `viewfs`, which mounts a local folder: found and judged as local files are."""

import gzip

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.read.inputs import Inputs, listed, resolved
from ackdoctor.spark.read.sorts import Sort
from tests.spark.read.test_inputs import LOG

AT = "viewfs://lab/data"
FOREIGN = "neither a trace nor a worker's log: no line begins as Storm's do"


@pytest.fixture
def mounted(spark, tmp_path):
    """A folder that Spark sees at `AT`."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.lab.link./data", tmp_path.as_uri())
    hadoop.set("fs.viewfs.impl.disable.cache", "true")
    yield tmp_path
    hadoop.unset("fs.viewfs.mounttable.lab.link./data")


def found(spark, *addresses: str) -> Inputs:
    return resolved(spark, listed(addresses))


def reasons(unreadable) -> dict[str, str]:
    return {fault.path.removeprefix(AT): fault.reason for fault in unreadable}


def test_a_folder_is_searched_to_its_ground_and_every_name_is_taken_as_it_stands(spark, mounted):
    deep = mounted / "a b [x] {y} 100% ü"
    deep.mkdir()
    (deep / "worker.log").write_text(LOG)
    (mounted / "worker.log.1.gz").write_bytes(gzip.compress(LOG.encode()))
    (mounted / "part-1-0.jsonl").write_text('{"schema": 1}\n')
    (mounted / "part-2-0.parquet").write_bytes(b"PAR1")
    inputs = found(spark, AT)
    assert inputs.files == {
        Sort.LOG: [f"{AT}/a b [x] {{y}} 100% ü/worker.log", f"{AT}/worker.log.1.gz"],
        Sort.JSON_LINES: [f"{AT}/part-1-0.jsonl"],
        Sort.PARQUET: [f"{AT}/part-2-0.parquet"],
    }
    assert inputs.size == sum(path.stat().st_size for path in mounted.rglob("*") if path.is_file())
    assert (inputs.unreadable, inputs.passed_over, inputs.remote) == ([], [], [])
    assert inputs.begun[f"{AT}/worker.log.1.gz"] is not None
    assert inputs.ended[f"{AT}/a b [x] {{y}} 100% ü/worker.log"]() == inputs.begun[f"{AT}/worker.log.1.gz"]


def test_what_is_nothing_to_us_is_passed_over_and_a_fault_only_where_it_was_named(spark, mounted):
    (mounted / "worker.log").write_text(LOG)
    (mounted / "README").write_text("words\n")
    (mounted / "_notes").write_text("words\n")
    (mounted / "_SUCCESS").touch()
    inputs = found(spark, AT)
    assert reasons(inputs.passed_over) == {
        "/README": FOREIGN,
        "/_notes": "hidden: Spark reads no name that begins with a dot or an underscore",
    }
    assert inputs.unreadable == []
    assert reasons(found(spark, f"{AT}/README").unreadable) == {"/README": FOREIGN}
    pattern = found(spark, f"{AT}/READ*")
    assert reasons(pattern.passed_over) == {"/README": FOREIGN}
    assert reasons(pattern.unreadable) == {"/READ*": "no part of a trace and no log is there"}


def test_what_cannot_be_read_is_told_with_its_reason(spark, mounted):
    (mounted / "part-9-0.jsonl").touch()
    (mounted / "worker.log.1.gz").write_bytes(b"\x1f\x8bjunk")
    (mounted / "worker.log.2.gz").write_text(LOG)
    (mounted / "worker.log.3").write_bytes(LOG.encode("utf-16"))
    (mounted / ".live-7-0.jsonl").write_bytes(b"rows")
    (mounted / ".live-8-0.jsonl").write_bytes(b"rows")
    (mounted / "part-8-0.jsonl").write_text("{}\n")
    (mounted / "v9" / "run=r").mkdir(parents=True)
    (mounted / "v9" / "run=r" / "part-1-0.parquet").write_bytes(b"PAR1")
    assert reasons(found(spark, AT).unreadable) == {
        "/part-9-0.jsonl": "the file is empty",
        "/worker.log.1.gz": "cut off or damaged: Error -3 while decompressing data: unknown compression method",
        "/worker.log.2.gz": "its name ends in .gz and it is not zipped, which Spark would take it for: rename it",
        "/worker.log.3": "UTF-16, and Spark reads UTF-8 only: `iconv -f UTF-16 -t UTF-8 FILE > worker.log` writes it so",
        "/.live-7-0.jsonl": "holds rows of a process that was killed: `ackdoctor trace report` of a local copy makes them readable",
        "/v9/run=r/part-1-0.parquet": "schema 9; this version of ackdoctor reads up to 1",
    }


def test_a_log_may_begin_with_long_stack_traces(spark, mounted):
    (mounted / "worker.log").write_text("\tat a.B.c(B.java:1)\n" * 10_000 + LOG)
    (mounted / "worker.log.1").write_text("\tat a.B.c(B.java:1)\n" * 10_000)
    inputs = found(spark, AT)
    assert inputs.files[Sort.LOG] == [f"{AT}/worker.log"]
    assert reasons(inputs.unreadable) == {"/worker.log.1": FOREIGN}


def test_a_file_that_two_addresses_lead_to_is_read_once(spark, mounted):
    (mounted / "worker.log").write_text(LOG)
    assert found(spark, AT, f"{AT}/*.log", f"{AT}/worker.log").files[Sort.LOG] == [f"{AT}/worker.log"]


def test_a_part_is_read_in_its_best_form_only(spark, mounted):
    for name in ("part-1-000000000000.parquet", "part-1-000000000000.jsonl", "part-1-000000000009.jsonl.gz"):
        (mounted / name).write_text("x")
    inputs = found(spark, AT)
    assert inputs.files[Sort.PARQUET] == [f"{AT}/part-1-000000000000.parquet"]
    assert inputs.files[Sort.JSON_LINES] == [f"{AT}/part-1-000000000009.jsonl.gz"]
    assert reasons(inputs.passed_over) == {
        "/part-1-000000000000.jsonl": f"the same part as {AT}/part-1-000000000000.parquet"
    }
    assert inputs.size == 2


def test_what_a_watch_has_noted_is_no_input(spark, mounted):
    noted = mounted / "v1.watch"
    noted.mkdir()
    for name in ("lock", "terms.json", "told.jsonl"):
        (noted / name).write_text('{"id": 1}\n')
    (mounted / "worker.log").write_text(LOG)
    inputs = found(spark, AT)
    assert (inputs.files[Sort.LOG], inputs.unreadable, inputs.passed_over) == ([f"{AT}/worker.log"], [], [])
    assert reasons(found(spark, f"{AT}/v1.watch").unreadable) == {
        "/v1.watch": "what `ackdoctor watch` has noted, and no trace"
    }


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (f"{AT}/nothing", "no such file or folder"),
        (f"{AT}/noth*", "nothing matches"),
        (f"{AT}/hollow", "the folder is empty"),
        ("gopher://lab/data", 'No FileSystem for scheme "gopher"'),
        (
            "s3a://bucket/data",
            "Spark comes without what reads this: for s3a --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION",
        ),
        ("hdfs://no.such.host.invalid:1/data", "no such host: no.such.host.invalid"),
    ],
)
def test_an_address_that_leads_nowhere_is_told_and_the_others_are_read(spark, mounted, address, reason):
    (mounted / "hollow" / "within").mkdir(parents=True)
    (mounted / "worker.log").write_text(LOG)
    inputs = found(spark, address, f"{AT}/worker.log")
    assert [(fault.path, fault.reason) for fault in inputs.unreadable] == [(address, reason)]
    assert inputs.files[Sort.LOG] == [f"{AT}/worker.log"]
