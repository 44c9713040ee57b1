import errno
import json
import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from ackdoctor.model.finding import Unreadable
from ackdoctor.model.trace import EventKind
from ackdoctor.tracer import recorder as write
from ackdoctor.tracer import trace_files
from ackdoctor.tracer import trace_reader as module
from ackdoctor.tracer.trace_reader import read
from tests.tracer.traces import Ticking, recorder, rows, say

K = EventKind


def fault(path, reason: str, line: int = 0) -> Unreadable:
    return Unreadable(path=str(path), line=line, column=0, reason=reason)


def parts(tmp_path, count: int, *, json_lines: bool = False):
    """Write a trace of parts with 100 rows each."""
    with pytest.MonkeyPatch.context() as patch:
        if json_lines:
            patch.setattr(write, "parquet_module", lambda: None)
        writer = recorder(tmp_path, events=100)
        say(writer, 100 * count)
        writer.close()
    return sorted(writer.folder.glob("part-*"))


def test_a_part_a_folder_a_glob_and_a_text_are_all_paths(tmp_path):
    first, second = parts(tmp_path, 2)
    assert [row.delivery for row in rows(second)] == [str(number) for number in range(100, 200)]
    everything = [str(number) for number in range(200)]
    for paths in (
        [tmp_path],
        [str(first), str(second)],
        [f"{tmp_path}/v1/run=*/**/part-*"],
        [tmp_path, first],
    ):
        assert [row.delivery for row in rows(*paths)] == everything


def test_processes_are_merged_by_time_and_each_preserves_its_order(tmp_path):
    clocks = [Ticking(0), Ticking(500), Ticking(250)]
    clocks[1].now = 500
    for worker, clock in enumerate(clocks):
        writer = recorder(tmp_path, worker=str(worker), clock=clock)
        say(writer, 300)
        writer.close()
    found = rows(tmp_path)
    assert [row.time_ns for row in found] == sorted(row.time_ns for row in found)
    for name in "012":
        assert [row.seq for row in found if row.worker == name] == list(range(300))


def test_a_clock_that_goes_back_changes_no_order(tmp_path):
    times = iter([50, 10, 60])
    writer = recorder(tmp_path, clock=lambda: next(times))
    say(writer, 3)
    writer.close()
    assert [(row.seq, row.time_ns) for row in rows(tmp_path)] == [(0, 50), (1, 10), (2, 60)]


@pytest.mark.parametrize("json_lines", [False, True])
def test_rows_are_seen_once_while_they_are_written(tmp_path, json_lines, monkeypatch):
    """A reader during a write sees a prefix of the written rows."""
    if json_lines:
        monkeypatch.setattr(write, "parquet_module", lambda: None)
    writer = recorder(tmp_path, events=50)
    say(writer, 1)
    thread = threading.Thread(target=say, args=(writer, 2_000), kwargs={"start": 1})
    thread.start()
    seen = 0
    while thread.is_alive():
        found = [row.delivery for row in rows(tmp_path)]
        assert found == [str(number) for number in range(len(found))]
        assert len(found) >= seen
        seen = len(found)
    thread.join()
    writer.close()
    assert len(rows(tmp_path)) == 2_001


@pytest.mark.parametrize("damage", ["cut", "empty", "no end"])
def test_a_truncated_parquet_part_is_reported_and_the_others_are_read(tmp_path, damage):
    _, second, _ = parts(tmp_path, 3)
    data = second.read_bytes()
    second.write_bytes({"cut": data[:700], "empty": b"", "no end": data[:-4]}[damage])
    reading = read([tmp_path])
    assert [row.seq for row in reading.events()] == [*range(100), *range(200, 300)]
    assert reading.unreadable == [
        fault(second, "no Parquet footer: the file is cut off, or was never finished")
    ]


def test_a_changed_byte_in_a_parquet_part_is_reported(tmp_path):
    (part,) = parts(tmp_path, 1)
    data = bytearray(part.read_bytes())
    data[len(data) // 8] ^= 0xFF
    part.write_bytes(data)
    reading = read([tmp_path])
    assert list(reading.events()) == []
    (found,) = reading.unreadable
    assert found.path == str(part)
    assert found.reason


@pytest.mark.parametrize("seed", range(40))
def test_no_damage_to_a_part_is_an_error_of_ours_or_an_invented_row(tmp_path, seed):
    """With any byte changed or any tail cut, only written rows are read."""
    dice = random.Random(seed)
    written = rows(*parts(tmp_path / "whole", 1, json_lines=seed % 2 == 0))
    (part,) = parts(tmp_path, 1, json_lines=seed % 2 == 0)
    data = bytearray(part.read_bytes())
    if seed % 4 < 2:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    else:
        del data[dice.randrange(len(data)) :]
    part.write_bytes(data)
    reading = read([part])
    found = list(reading.events())
    if part.suffix == ".parquet" and found:
        assert found == written[: len(found)]
    assert found == written or reading.unreadable or seed % 4 == 0  # JSON has no checksum


def test_an_unfinished_last_line_is_counted_and_reported(tmp_path):
    (part,) = parts(tmp_path, 1, json_lines=True)
    part.write_bytes(part.read_bytes()[:-30])
    reading = read([tmp_path])
    assert [row.delivery for row in reading.events()] == [str(number) for number in range(99)]
    assert reading.torn == 1
    assert reading.unreadable == [fault(part, "the last line was not finished", 100)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "no row of a trace"),
        ('{"kind":1,"time_ns":1}', "no row of a trace"),
        ('{"schema":1,"kind":99,"time_ns":1}', "no row of a trace: its kind or its time is missing"),
        ('{"schema":1,"kind":1}', "no row of a trace: its kind or its time is missing"),
        ('{"schema":1,"kind":1,"time_ns":"1"}', "no row of a trace: time_ns is '1'"),
        ('{"schema":1,"kind":1,"time_ns":true}', "no row of a trace: time_ns is True"),
        ('{"schema":2}', "written by a newer ackdoctor: schema 2, this one reads up to 1"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(tmp_path, line, reason):
    (part,) = parts(tmp_path, 1, json_lines=True)
    lines = part.read_text().splitlines(keepends=True)
    part.write_text("".join([*lines[:2], line + "\n", *lines[3:]]))
    reading = read([part])
    assert [row.delivery for row in reading.events()] == ["0", "1"]
    assert reading.unreadable == [fault(part, reason, 3)]
    assert reading.torn == 0


def test_a_line_may_omit_unknown_values(tmp_path):
    path = tmp_path / "by hand.jsonl"
    path.write_text('{"schema":1,"kind":10,"time_ns":5,"root":66,"value":3,"unknown":[]}\n')
    (row,) = rows(path)
    assert (row.kind, row.root, row.value, row.run) == (K.INIT, 66, 3, "")


def test_a_foreign_parquet_file_is_reported(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    part = tmp_path / "part-1-000000000000.parquet"
    parquet.write_table(pa.table({"kind": [1]}), part)
    newer = tmp_path / "part-2-000000000000.parquet"
    table = pa.table({"kind": [1]}).replace_schema_metadata({"ackdoctor.schema": "2"})
    parquet.write_table(table, newer)
    fewer = tmp_path / "part-3-000000000000.parquet"
    table = pa.table({"kind": [1]}).replace_schema_metadata({"ackdoctor.schema": "1"})
    parquet.write_table(table, fewer)
    reading = read([tmp_path])
    assert list(reading.events()) == []
    assert reading.unreadable == [
        fault(part, "a Parquet file, but no part of a trace"),
        fault(newer, "written by a newer ackdoctor: schema 2, this one reads up to 1"),
        fault(fewer, "no part of a trace: it has no column 'time_ns'"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "read_", "reason"),
    [
        ("kind", 77, 2, "no row of a trace: its kind is 77"),
        ("kind", None, 2, "no row of a trace: its kind is None"),
        ("root", "66", 0, "no part of a trace: its column 'root' holds no whole numbers but string"),
    ],
)
def test_an_invalid_value_is_reported_and_the_rows_before_it_are_read(tmp_path, name, value, read_, reason):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (part,) = parts(tmp_path, 1)
    table = parquet.read_table(part).slice(0, 3)
    kind = pa.string() if isinstance(value, str) else pa.int8()
    column = pa.array([*map(type(value or 0), table.column(name).to_pylist()[:2]), value], kind)
    table = table.set_column(table.schema.get_field_index(name), name, column)
    parquet.write_table(table.replace_schema_metadata({"ackdoctor.schema": "1"}), part)
    reading = read([part])
    assert len(list(reading.events())) == read_
    after = f" (after {read_} rows)" if read_ else ""
    assert reading.unreadable == [fault(part, f"{reason}{after}")]


@pytest.mark.parametrize("json_lines", [True, False])
def test_a_repeated_part_is_read_once(tmp_path, json_lines):
    (part, _) = parts(tmp_path / "a", 2, json_lines=json_lines)
    shutil.copytree(tmp_path / "a", tmp_path / "backup")
    paths = [tmp_path, tmp_path / "a", part, tmp_path / "a" / "v1" / ".." / "v1"]
    reading = read(paths)
    assert (len(list(reading.events())), reading.unreadable) == (200, [])


def test_parts_of_one_name_from_two_machines_are_both_read(tmp_path):
    for machine, component in ("a", b"one"), ("b", b"two"):
        (tmp_path / machine).mkdir()
        line = b'{"schema":1,"kind":1,"time_ns":1,"seq":0,"component":"%s","delivery":"1"}\n' % component
        (tmp_path / machine / "part-7-000000000000.jsonl").write_bytes(line)
    assert {row.component for row in read([tmp_path]).events()} == {"one", "two"}


def test_foreign_files_and_missing_paths_are_reported(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "notes.txt").write_text("hello")
    (tmp_path / "strange" / "_SUCCESS").touch()
    (tmp_path / "strange" / ".draft-1-000000000000-1").touch()
    reading = read([tmp_path / name for name in ("empty", "notes.txt", "strange", "none", "none*")])
    assert list(reading.events()) == []
    assert reading.unreadable == [
        fault(tmp_path / "empty", "no trace in this directory; `ackdoctor trace run` writes one"),
        fault(tmp_path / "notes.txt", "no part of a trace"),
        fault(tmp_path / "strange" / "notes.txt", "no part of a trace"),
        fault(tmp_path / "none", "no such file or directory"),
        fault(tmp_path / "none*", "nothing matches"),
    ]


def test_an_unreadable_folder_is_reported_and_the_others_are_read(tmp_path, monkeypatch):
    parts(tmp_path, 1)
    closed = tmp_path / "v1" / "run=closed"
    closed.mkdir()

    def refusing(name):
        call = getattr(os, name)

        def ask(path=".", *rest, **words):
            looked_into = Path(path).parent if name == "stat" else Path(path)
            if looked_into == closed:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return call(path, *rest, **words)

        return ask

    for name in ("stat", "listdir", "scandir"):
        monkeypatch.setattr(os, name, refusing(name))
    reading = read([tmp_path])
    assert len(list(reading.events())) == 100
    assert reading.unreadable == [fault(closed, "Permission denied")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("json_lines", [True, False])
def test_an_unreadable_part_is_reported(tmp_path, json_lines):
    (part,) = parts(tmp_path, 1, json_lines=json_lines)
    part.chmod(0)
    reading = read([tmp_path])
    assert list(reading.events()) == []
    assert reading.unreadable == [fault(part, "Permission denied")]


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (part,) = parts(tmp_path, 1)
    monkeypatch.setattr(module, "parquet_module", lambda: None)
    reading = read([tmp_path])
    assert list(reading.events()) == []
    assert reading.unreadable == [fault(part, "reading Parquet needs pyarrow: install ackdoctor[trace]")]


def test_the_checkpoint_of_a_watch_is_no_trace(tmp_path):
    parts(tmp_path, 1)
    noted = tmp_path / "v1.watch" / "state" / "0-1" / "roots"
    noted.mkdir(parents=True)
    (noted / "part-00000-a.snappy.parquet").touch()
    for name in ("lock", "request.json", "fault.jsonl"):
        (tmp_path / "v1.watch" / name).touch()
    reading = read([tmp_path])
    assert (len(list(reading.events())), reading.unreadable) == (100, [])


def test_a_workers_log_is_reported_with_the_command_that_reads_it(tmp_path):
    (tmp_path / "pip.log").write_text("hello\n")
    log = Path(__file__).parents[2] / "fixtures" / "logs" / "storm-2.8.3" / "worker.log.1.gz"
    assert read([log, tmp_path]).unreadable == [
        fault(log, "no part of a trace but a worker's log: `ackdoctor analyze` reads it"),
        fault(tmp_path / "pip.log", "no part of a trace"),
    ]


def test_a_gzipped_part_is_reported_with_the_command_that_reads_it(tmp_path):
    zipped = tmp_path / "part-1-000000000000.jsonl.gz"
    zipped.touch()
    reason = "a zipped part: unzip it, or let `ackdoctor analyze` read it as it is"
    assert read([zipped]).unreadable == read([tmp_path]).unreadable == [fault(zipped, reason)]


def test_cat_prints_the_fields_of_a_part(tmp_path):
    (part,) = parts(tmp_path, 1, json_lines=True)
    printed = [trace_files.line(row._replace(run="", worker="")) for row in rows(part)]
    assert list(map(json.loads, part.read_text().splitlines())) == list(map(json.loads, printed))


def test_a_row_as_a_line_reads_back_as_itself(tmp_path):
    parts(tmp_path, 1)
    path = tmp_path / "cat.jsonl"
    path.write_text("".join(trace_files.line(row) + "\n" for row in rows(tmp_path / "v1")))
    assert rows(path) == rows(tmp_path / "v1")
