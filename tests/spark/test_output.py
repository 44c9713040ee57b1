"""Where the full tables may be written: beside what is read, and over nothing but earlier tables."""

import re
from pathlib import Path

import pytest

from ackdoctor.model.errors import UsageError
from ackdoctor.spark.analysis import need_place
from ackdoctor.spark.read.file_kinds import FileKind
from ackdoctor.spark.read.inputs import Inputs


def reading(*names) -> Inputs:
    inputs = Inputs()
    inputs.files[FileKind.PARQUET].extend(map(str, names))
    return inputs


def test_earlier_tables_are_written_again(spark, tmp_path):
    need_place(spark, reading(tmp_path / "in" / "part-1-000000000000.parquet"), str(tmp_path))
    spark.range(3).repartition(2).write.parquet(str(tmp_path / "growth"))
    spark.range(1).write.option("compression", "gzip").parquet(str(tmp_path / "verdicts"))
    (tmp_path / "ackers" / "_temporary").mkdir(parents=True)  # a run was killed
    need_place(spark, reading(tmp_path / "in" / "part-1-000000000000.parquet"), f"file://{tmp_path}/")


@pytest.mark.parametrize("name", ["notes.txt", "part-1-000000000000.parquet", "run=lab", ".notes", "_notes"])
def test_what_is_no_table_is_not_overwritten(spark, tmp_path, name):
    folder = tmp_path / "growth"
    spark.range(1).write.parquet(str(folder))
    (folder / name).touch()
    said = f"--output-dir: the table {folder} would overwrite another file: {name}"
    with pytest.raises(UsageError, match=re.escape(said)):
        need_place(spark, reading(), str(tmp_path))
    folder.rename(tmp_path / "elsewhere")
    folder.touch()
    with pytest.raises(UsageError, match="no table of ours: a file"):
        need_place(spark, reading(), str(tmp_path))


@pytest.mark.parametrize(
    ("below", "reason"),
    [("", "Parent path is not a directory: "), ("/deep", "Parent path is not a directory: ")],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(spark, tmp_path, below, reason):
    (tmp_path / "file").touch()
    directory = f"{tmp_path}/file{below}"
    said = f"--output-dir {directory} cannot be written: {reason}"
    with pytest.raises(UsageError, match=re.escape(said)):
        need_place(spark, reading(), directory)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder is known in which nobody can make one")
def test_a_place_in_which_no_folder_can_be_made_is_refused(spark):
    with pytest.raises(
        UsageError, match=r"^--output-dir /proc/none cannot be written: no folder can be made there$"
    ):
        need_place(spark, reading(), "/proc/none")


def test_to_look_at_a_place_leaves_it_as_it_was(spark, tmp_path):
    (tmp_path / "verdicts").mkdir()
    need_place(spark, reading(), str(tmp_path))
    need_place(spark, reading(), f"{tmp_path}/not/yet/there")
    assert list(tmp_path.rglob("*")) == [tmp_path / "verdicts"]


@pytest.mark.parametrize("below", ["", "/part-1-000000000000.parquet", "/run=lab/part-1-000000000000.jsonl"])
def test_an_input_is_not_overwritten_whatever_the_folder_is_called(spark, tmp_path, below):
    (tmp_path / "link").symlink_to(tmp_path)
    name = f"{tmp_path}/deliveries{below}"
    for directory in (tmp_path, tmp_path / "link", tmp_path.as_uri()):
        said = f"--output-dir: the table {directory}/deliveries would overwrite an input: {name}"
        with pytest.raises(UsageError, match=re.escape(said)):
            need_place(spark, reading(f"{tmp_path}/deliveries-1", name), str(directory))
