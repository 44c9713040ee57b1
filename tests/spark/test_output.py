"""Full tables may be written beside the input, and may replace only earlier tables."""

import re
from pathlib import Path

import pytest

from ackdoctor.model import UsageError
from ackdoctor.spark.analysis import need_place
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import Inputs


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
def test_another_file_is_not_overwritten(spark, tmp_path, name):
    folder = tmp_path / "growth"
    spark.range(1).write.parquet(str(folder))
    (folder / name).touch()
    message = f"--output-dir: the table {folder} would overwrite another file: {name}"
    with pytest.raises(UsageError, match=re.escape(message)):
        need_place(spark, reading(), str(tmp_path))
    folder.rename(tmp_path / "elsewhere")
    folder.touch()
    with pytest.raises(UsageError, match="another file: growth"):
        need_place(spark, reading(), str(tmp_path))


@pytest.mark.parametrize(
    ("below", "reason"),
    [("", "File exists"), ("/deep", "Not a directory")],
)
def test_a_place_that_cannot_be_written_is_refused(spark, tmp_path, below, reason):
    (tmp_path / "file").touch()
    directory = f"{tmp_path}/file{below}"
    message = f"--output-dir {directory} cannot be written: {reason}"
    with pytest.raises(UsageError, match=re.escape(message)):
        need_place(spark, reading(), directory)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder is known that refuses new ones")
def test_a_folder_that_refuses_new_ones_is_refused(spark):
    with pytest.raises(
        UsageError, match=r"^--output-dir /proc/none cannot be written: No such file or directory$"
    ):
        need_place(spark, reading(), "/proc/none")


def test_the_check_leaves_a_place_unchanged(spark, tmp_path):
    (tmp_path / "verdicts").mkdir()
    need_place(spark, reading(), str(tmp_path))
    need_place(spark, reading(), f"{tmp_path}/not/yet/there")
    assert list(tmp_path.rglob("*")) == [tmp_path / "verdicts"]


@pytest.mark.parametrize("below", ["", "/part-1-000000000000.parquet", "/run=lab/part-1-000000000000.jsonl"])
def test_an_input_is_not_overwritten(spark, tmp_path, below):
    (tmp_path / "link").symlink_to(tmp_path)
    name = f"{tmp_path}/deliveries{below}"
    for directory in (tmp_path, tmp_path / "link", tmp_path.as_uri()):
        message = f"--output-dir: the table {directory}/deliveries would overwrite an input: {name}"
        with pytest.raises(UsageError, match=re.escape(message)):
            need_place(spark, reading(f"{tmp_path}/deliveries-1", name), str(directory))
