"""The search for inputs, without Spark."""

import errno
import gzip
import json
import shutil
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from ackdoctor.model import UsageError
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import find_inputs

ROOT = Path(__file__).parents[2]
LOG = "2026-11-21 20:22:08.403 o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] Emitting: x default [1]\n"
ROW = '{"schema": 1, "kind": 10, "time_ns": 1}\n'


def reasons(inputs):
    return {Path(item.path).name: item.reason for item in inputs.unreadable}


def test_traces_and_logs_are_distinguished():
    inputs = find_inputs(
        [ROOT / "fixtures" / "traces" / "statements" / "v1", ROOT / "fixtures" / "logs" / "storm-2.8.3"]
    )
    assert [Path(file).name for file in inputs.files[FileKind.LOG]] == ["worker.log", "worker.log.1.gz"]
    assert inputs.files[FileKind.PARQUET] + inputs.files[FileKind.JSON_LINES]
    assert reasons(inputs) == {}
    foreign = "neither a trace nor a worker's log: no line begins as Storm's do"
    assert {item.reason for item in inputs.passed_over} == {foreign}
    assert "heard.txt" in {Path(item.path).name for item in inputs.passed_over}


def test_an_unreadable_file_is_named_with_its_reason(tmp_path):
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "blank.jsonl").write_text("\n \n")
    (tmp_path / "prose.txt").write_text("once upon a time\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and so on")
    (tmp_path / "other.parquet").write_bytes(b"not at all")
    (tmp_path / "new.jsonl").write_text(json.dumps({"schema": 99, "kind": 1}) + "\n")
    (tmp_path / "foreign.jsonl").write_text('{"kind": 1}\n')
    docker = {"log": LOG, "stream": "stdout", "time": "2026-11-21T20:22:17.710123456Z"}
    (tmp_path / "4711-json.log").write_text(json.dumps(docker, separators=(",", ":")) + "\n")
    whole = gzip.compress((LOG * 5000).encode())
    (tmp_path / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path, tmp_path / "prose.txt", tmp_path / "absent", tmp_path / "*.none"])
    assert reasons(inputs) == {
        "empty.jsonl": "the file is empty",
        "blank.jsonl": "the file is empty",
        "prose.txt": "neither a trace nor a worker's log: no line begins as Storm's do",
        "cut.parquet": "cut off: it has no Parquet footer",
        "other.parquet": "named .parquet, but not Parquet",
        "new.jsonl": "schema 99; this version of ackdoctor reads up to 1",
        "foreign.jsonl": "JSON without a schema, and so no part of a trace; logs are read as text, not as JSON",
        "4711-json.log": "Docker's own file, in JSON: `docker logs CONTAINER > worker.log` makes a log of it",
        "cut.log.gz": "cut off or damaged: Compressed file ended before the end-of-stream marker was reached",
        "absent": "no such file or directory",
        "*.none": "nothing matches",
    }
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "worker.log")]


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    for name in ("open", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "worker.log").write_text(LOG)
    original = Path.iterdir

    def iterdir(path):
        if path.name == "secret":
            raise PermissionError(errno.EACCES, "Permission denied")
        return original(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    inputs = find_inputs([tmp_path])
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "open" / "worker.log")]
    assert reasons(inputs) == {"secret": "this directory cannot be listed: Permission denied"}
    assert reasons(find_inputs([tmp_path / "secret"])) == reasons(inputs)


def test_linked_folders_are_read_once_under_their_names(tmp_path):
    for number, name in enumerate(("a", "b")):
        (tmp_path / "disk" / name).mkdir(parents=True)
        row = ROW.replace("1}", f"{number}}}")
        (tmp_path / "disk" / name / "part-1-0.jsonl").write_text(row)
        place = tmp_path / "trace" / "v1" / f"run={name}"
        place.mkdir(parents=True)
        (place / "worker=w").symlink_to(tmp_path / "disk" / name)
    (tmp_path / "trace" / "v1" / "run=a" / "round").symlink_to(tmp_path / "trace")
    inputs = find_inputs([tmp_path / "trace"])
    assert inputs.files[FileKind.JSON_LINES] == [
        str(tmp_path / "trace" / "v1" / f"run={name}" / "worker=w" / "part-1-0.jsonl") for name in ("a", "b")
    ]
    assert find_inputs([tmp_path / "disk", tmp_path / "trace" / ".." / "trace"]).count() == 2


def test_a_broken_link_is_an_error_if_it_is_named_or_named_like_ours(tmp_path):
    (tmp_path / "whole.log").write_text(LOG)
    for name in ("current.log", "worker.log", "round"):
        (tmp_path / name).symlink_to(tmp_path / ("round" if name == "round" else "nowhere"))
    nothing = "a symbolic link to nothing"
    inputs = find_inputs([tmp_path])
    assert reasons(inputs) == {"worker.log": nothing}
    assert [(Path(item.path).name, item.reason) for item in inputs.passed_over] == [
        ("current.log", nothing),
        ("round", nothing),
    ]
    assert reasons(find_inputs([tmp_path, tmp_path / "current.log"])) == {
        "worker.log": nothing,
        "current.log": nothing,
    }


def test_the_name_of_a_zipped_file_ends_in_gz(tmp_path):
    zipped = gzip.compress(LOG.encode())
    (tmp_path / "worker.log.gz.1").write_bytes(zipped)
    (tmp_path / "worker.log.2").write_bytes(zipped)
    (tmp_path / "part-1-0.jsonl.gz").write_text(ROW)
    (tmp_path / "photos.tgz").write_bytes(gzip.compress(b"\x89PNG"))
    (tmp_path / "worker.log.3.gz").write_bytes(zipped)
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert [Path(file).name for file in inputs.files[FileKind.LOG]] == ["worker.log", "worker.log.3.gz"]
    assert reasons(inputs) == {
        "part-1-0.jsonl.gz": "its name ends in .gz, but it is not zipped: rename it",
        "worker.log.2": "zipped, but its name does not end in .gz, by which Spark knows it: rename it",
        "worker.log.gz.1": "zipped, but its name does not end in .gz, by which Spark knows it: rename it",
    }


def test_a_damaged_zipped_file_is_an_error(tmp_path):
    whole = gzip.compress((LOG * 5000).encode())
    places = (3, 12, 30, len(whole) // 2, len(whole) - 6)
    for place in places:
        damaged = bytearray(whole)
        damaged[place : place + 2] = bytes(byte ^ 0xFF for byte in damaged[place : place + 2])
        (tmp_path / f"worker.log.{place}.gz").write_bytes(damaged)
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert [Path(file).name for file in inputs.files[FileKind.LOG]] == ["worker.log"]
    assert len(inputs.unreadable) == len(places)
    assert all(item.reason.startswith("cut off or damaged: ") for item in inputs.unreadable)


def test_a_colon_in_a_file_name_is_an_error(tmp_path):
    (tmp_path / "2026-11-21T10:00:00.log").write_text(LOG)
    (tmp_path / "notes: more.txt").write_text("prose\n")
    (tmp_path / "at 10:00").mkdir()
    (tmp_path / "at 10:00" / "worker.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "at 10:00" / "worker.log")]
    assert reasons(inputs) == {
        "2026-11-21T10:00:00.log": "a colon in its name: Hadoop, which reads for Spark, takes what is before it for a scheme"
    }


@pytest.mark.parametrize(
    ("name", "text", "sort"),
    [
        ("t.jsonl", ROW[9:] + ROW, FileKind.JSON_LINES),
        ("t.jsonl", "\n \n" * 300 + ROW, FileKind.JSON_LINES),
        ("t.jsonl", "\ufeff" + ROW, FileKind.JSON_LINES),
        ("t.jsonl", '{"schema"\n' + ROW, FileKind.JSON_LINES),
        ("part-1-0.jsonl", ROW[9:] * 9, FileKind.JSON_LINES),
        ("part-1-0.jsonl", "\n", FileKind.JSON_LINES),
        ("part-1-0.jsonl", "x" * 100_000 + "\n" + ROW, FileKind.JSON_LINES),
        ("worker.log.1", "\tat java.lang.Thread.run\n" * 5_000 + LOG, FileKind.LOG),
        ("wc-1-2-worker-6700.log", "\tat java.lang.Thread.run\n" * 5_000 + LOG, FileKind.LOG),
        ("worker.log", "\ufeff" + LOG, FileKind.LOG),
        ("worker.log", LOG + ROW, FileKind.LOG),
    ],
)
def test_a_text_is_recognized_by_its_first_known_line(tmp_path, name, text, sort):
    (tmp_path / name).write_text(text, encoding="utf-8")
    inputs = find_inputs([tmp_path])
    assert inputs.files[sort] == [str(tmp_path / name)]


def test_the_rows_of_a_live_process_are_an_error(tmp_path):
    folder = tmp_path / "v1" / "run=a" / "worker=b"
    folder.mkdir(parents=True)
    (folder / ".live-7-000000000000.jsonl").write_bytes(b"rows")
    (folder / "_meta.json").write_text("{}")
    inputs = find_inputs([tmp_path])
    assert reasons(inputs) == {
        ".live-7-000000000000.jsonl": "holds rows of a process that is running, or was killed: "
        f"`ackdoctor trace report {folder}` makes them readable"
    }
    with pytest.raises(
        UsageError, match=r"^nothing to read: .*\.live-7-000000000000.jsonl: holds rows of a process"
    ):
        inputs.need_some(str(ROOT))


def test_copies_of_a_part_are_read_once(tmp_path):
    part = next((ROOT / "fixtures" / "traces" / "statements").rglob("part-*"))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(part, tmp_path / name / part.name)
    inputs = find_inputs([tmp_path, tmp_path / "a"])
    assert inputs.count() == 1
    assert [item.reason for item in inputs.passed_over] == [f"the same bytes as {tmp_path / 'a' / part.name}"]


def test_the_best_whole_format_of_a_part_is_read(tmp_path):
    columnar = b"PAR1" + bytes(8) + b"PAR1"
    forms = {".jsonl": ROW.encode(), ".jsonl.gz": gzip.compress(ROW.encode()), ".parquet": columnar}
    for name in ("part-1-0", "part-1-000000000000", "part-2-0", "part-12-0"):
        for suffix, data in forms.items():
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / f"{name}{suffix}").write_bytes(data + name.encode() * (suffix == ".jsonl"))
    (tmp_path / "part-2-0" / "part-2-0.parquet").write_bytes(columnar[:-1])
    (tmp_path / "part-12-0" / "part-12-0.parquet").unlink()
    for place in (tmp_path / "part-1-0", tmp_path / "part-1-000000000000"):
        inputs = find_inputs([place])
        assert (inputs.count(), inputs.size) == (1, len(columnar))
        best = str(place / f"{place.name}.parquet")
        assert inputs.files[FileKind.PARQUET] == [best]
        assert {item.reason for item in inputs.passed_over} == {f"the same part as {best}"}
    for place in (tmp_path / "part-2-0", tmp_path / "part-12-0"):
        inputs = find_inputs([place])
        assert inputs.files[FileKind.JSON_LINES] == [str(place / f"{place.name}.jsonl")]
        assert [Path(item.path).name for item in inputs.passed_over] == [f"{place.name}.jsonl.gz"]


def test_hidden_files_are_named_and_an_empty_folder_is_an_error(tmp_path):
    (tmp_path / "_old.log").write_text(LOG)
    inputs = find_inputs([tmp_path])
    assert [Path(item.path).name for item in inputs.passed_over] == ["_old.log"]
    (tmp_path / "_old.log").unlink()
    with pytest.raises(UsageError, match=r"^nothing to read: .*: the directory is empty$"):
        find_inputs([tmp_path]).need_some(str(ROOT))


def test_three_reasons_are_named_if_nothing_can_be_read(tmp_path):
    names = [str(tmp_path / name) for name in "abcde"]
    gone = "{}: no such file or directory"
    for named, more in ((names[:3], ""), (names, r" \(and 2 more\)")):
        message = "; ".join(map(gone.format, names[:3]))
        with pytest.raises(UsageError, match=f"^nothing to read: {message}{more}$"):
            find_inputs(named).need_some(str(ROOT))


def test_the_checkpoint_of_a_watch_is_no_input(tmp_path):
    noted = tmp_path / "v1.watch"
    (noted / "spark").mkdir(parents=True)
    (tmp_path / "worker.log").write_text(LOG)
    (noted / "lock").touch()
    for name in ("request.json", "reports.jsonl", "spark/metadata"):
        (noted / name).write_text('{"id": 1}\n')
    inputs = find_inputs([tmp_path])
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "worker.log")]
    assert (inputs.unreadable, inputs.passed_over) == ([], [])
    assert reasons(find_inputs([noted])) == {"v1.watch": "the checkpoint of `ackdoctor watch`, not a trace"}


def test_an_address_is_left_to_spark_and_a_file_uri_is_a_path(tmp_path):
    (tmp_path / "worker.log").write_text(LOG)
    inputs = find_inputs(["hdfs://namenode/logs", f"file://{tmp_path}/worker.log"])
    assert inputs.addresses == ["hdfs://namenode/logs"]
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "worker.log")]


def test_errors_name_paths_relative_to_the_current_folder(tmp_path):
    (tmp_path / "worker.log").write_text("prose\n")
    with pytest.raises(UsageError, match=r"^nothing to read: worker.log: neither"):
        find_inputs([tmp_path / "worker.log"]).need_some(str(tmp_path))


def test_other_files_beside_a_worker_log_are_passed_over(tmp_path):
    (tmp_path / "worker.log").write_text(LOG)
    (tmp_path / "worker.log.err").touch()
    (tmp_path / "worker.log.out").write_text("\n")
    (tmp_path / "worker.log.metrics").write_text("2026-11-21 20:22:08,403 1 h:6700 4:x __ack-count {a=1}\n")
    (tmp_path / "worker.yaml").write_text("worker-id: 1\n")
    (tmp_path / "conf.json").write_text('{"a": 1}\n')
    (tmp_path / "topology.jar").write_bytes(b"PK\x03\x04" + bytes(20))
    inputs = find_inputs([tmp_path])
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "worker.log")]
    assert inputs.unreadable == []
    assert len(inputs.passed_over) == 6
    empty = {each.name: "the file is empty" for each in tmp_path.glob("worker.log.[eo]*")}
    assert reasons(find_inputs(tmp_path / name for name in empty)) == empty


STRANGE = LOG.replace("2026-11-21 20:22:08.403", "21.11.2026 20:22:08")
TUPLE = "Processing received TUPLE: source: s:4, stream: default, id: {1=2}, [1]"


@pytest.mark.parametrize(
    ("name", "text", "missed"),
    [
        ("worker.log", STRANGE, True),
        ("wc-1-2-worker-6700.log.3", STRANGE, True),
        ("pod.txt", STRANGE, False),
        ("pod.txt", STRANGE + f"21.11.2026 20:22:09 {TUPLE}\n", True),
        ("pod.json", f'{{"level":"INFO","message":"{TUPLE}"}}\n', True),
    ],
)
def test_an_unreadable_worker_log_is_an_error(tmp_path, name, text, missed):
    (tmp_path / "whole.log").write_text(LOG)
    (tmp_path / name).write_text(text)
    inputs = find_inputs([tmp_path])
    assert (set(reasons(inputs)) == {name}) is missed
    assert len(inputs.passed_over) == (not missed)


def test_an_argument_without_files_to_read_is_an_error(tmp_path):
    (tmp_path / "worker.log").write_text(LOG)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_text("prose\n")
    assert find_inputs([tmp_path]).unreadable == []
    inputs = find_inputs([tmp_path, tmp_path / "notes", tmp_path / "notes" / "*.txt"])
    nothing = "it holds no part of a trace and no log"
    assert reasons(inputs) == {"notes": nothing, "*.txt": nothing}


def test_a_log_in_an_archive_is_an_error(tmp_path):
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        (tmp_path / "worker.log").write_text(f"2026-11-21 20:22:09.000 o.a.s.d.Task main [INFO] {TUPLE}\n")
        archive.add(tmp_path / "worker.log", "worker.log")
    with tarfile.open(tmp_path / "photos.tar", "w") as archive:
        archive.add(ROOT / "LICENSE", "LICENSE")
    (tmp_path / "worker.log.1.zip").write_bytes(b"PK\x03\x04" + bytes(20))
    (tmp_path / "old.log.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    inputs = find_inputs([tmp_path])
    assert inputs.files[FileKind.LOG] == [str(tmp_path / "worker.log")]
    assert reasons(inputs) == {
        "logs.tar.gz": "a tar archive: unpack it first",
        "worker.log.1.zip": "a zip archive: unpack it first",
        "old.log.zst": "compressed with zstd: unpack it first",
    }
    assert [item.reason for item in inputs.passed_over] == ["a tar archive: unpack it first"]
