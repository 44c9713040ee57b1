import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from ackdoctor.model.trace import RELIABLE, Event, EventKind
from ackdoctor.tracer import recorder as module
from ackdoctor.tracer.trace_reader import read
from tests.tracer.traces import Ticking, files, recorder, rows, say

K = EventKind


@pytest.fixture(params=["parquet", "json lines"])
def suffix(request, monkeypatch):
    """Both formats: the second is what a process without pyarrow writes."""
    if request.param == "json lines":
        monkeypatch.setattr(module, "parquet_module", lambda: None)
        return ".jsonl"
    return ".parquet"


def test_every_column_survives_a_round_trip(tmp_path, suffix):
    writer = recorder(tmp_path, clock=lambda: 1_001)
    writer.test = "test_bolts.py::test_one"
    writer.write(
        K.EMITTED,
        "count",
        -1,
        "words",
        "-6955786537413359385",
        root=(1 << 63) - 1,
        value=-(1 << 63),
        site="/src/bölts.py:12 Count.process",
        flags=RELIABLE,
        thread="Thread-1",
        note='line\nbreak "quoted" \\ \x00 \U0001f41d',
    )
    writer.close()
    assert rows(tmp_path) == [
        Event(
            kind=K.EMITTED,
            time_ns=1001,
            seq=0,
            component="count",
            task=-1,
            stream="words",
            delivery="-6955786537413359385",
            root=(1 << 63) - 1,
            value=-(1 << 63),
            site="/src/bölts.py:12 Count.process",
            thread="Thread-1",
            flags=RELIABLE,
            test="test_bolts.py::test_one",
            note='line\nbreak "quoted" \\ \x00 \U0001f41d',
            run="r",
            worker="w",
            pid=os.getpid(),
        )
    ]
    assert files(writer.folder) == ["_meta.json", f"part-PID-000000000000{suffix}"]


@pytest.mark.parametrize(
    "delivery",
    ["", "0", "-0", "7", "007", "+7", " 7", "1_000", "٣", "9223372036854775807", "9223372036854775808",
     "-9223372036854775808", "-9223372036854775809", "foo", "None", "é", "a\nb", "1" * 5000],
)  # fmt: skip
def test_a_delivery_id_survives_the_round_trip(tmp_path, suffix, delivery):
    writer = recorder(tmp_path)
    writer.write(K.ACKED, delivery=delivery)
    writer.write(K.ACKED, delivery="14")
    writer.write(K.ACKED, delivery=delivery)
    writer.flush()
    live = [row.delivery for row in rows(tmp_path)]
    writer.close()
    assert [row.delivery for row in rows(tmp_path)] == live == [delivery, "14", delivery]


def test_a_number_that_is_too_large_loses_only_its_row(tmp_path, suffix):
    writer = recorder(tmp_path)
    writer.write(K.INIT, delivery="before", root=1)
    writer.flush()
    writer.write(K.INIT, delivery="too large", root=1 << 63)
    writer.write(K.INIT, task=1 << 31)
    writer.write(K.INIT, delivery="after", root=2)
    writer.close()
    reading = read([tmp_path])
    assert [(row.kind, row.delivery, row.value) for row in reading.events()] == [
        (K.INIT, "before", 0),
        (K.INIT, "after", 0),
        (K.DROPPED, "", 2),
    ]
    assert (reading.unreadable, reading.torn) == ([], 0)


def test_a_lone_surrogate_is_escaped(tmp_path, suffix):
    writer = recorder(tmp_path)
    writer.write(K.ACKED, "bolt\udcff", 1, "", "id\ud800")
    writer.close()
    assert [(row.component, row.delivery) for row in rows(tmp_path)] == [("bolt\\udcff", "id\\ud800")]


def test_a_long_text_is_cut(tmp_path):
    writer = recorder(tmp_path)
    writer.write(K.DIED, note="x" * 5000)
    writer.close()
    assert [row.note for row in rows(tmp_path)] == ["x" * 4096 + "..."]


def test_a_process_without_rows_writes_no_file(tmp_path):
    writer = recorder(tmp_path / "trace")
    writer.test = "test_one"
    writer.close()
    assert not (tmp_path / "trace").exists()


def test_the_folder_names_its_writer(tmp_path):
    writer = recorder(tmp_path, run="2026/11 nightly=1", worker="gw0", level="sites")
    say(writer, 1)
    writer.close()
    assert writer.folder == tmp_path / "v1" / "run=2026%2F11 nightly%3D1" / "worker=gw0"
    meta = json.loads((writer.folder / "_meta.json").read_text())
    assert {key: meta[key] for key in ("schema", "run", "worker", "level")} == {
        "schema": 1,
        "run": "2026/11 nightly=1",
        "worker": "gw0",
        "level": "sites",
    }
    assert [(row.run, row.worker) for row in rows(tmp_path)] == [("2026/11 nightly=1", "gw0")]


def test_a_full_file_becomes_a_part(tmp_path, suffix):
    writer = recorder(tmp_path, events=100)
    say(writer, 250)
    writer.flush()
    assert files(writer.folder) == [
        ".live-PID-000000000200.jsonl",
        "_meta.json",
        f"part-PID-000000000000{suffix}",
        f"part-PID-000000000100{suffix}",
    ]
    assert [row.delivery for row in rows(tmp_path)] == [str(number) for number in range(250)]
    writer.close()
    assert [row.delivery for row in rows(tmp_path)] == [str(number) for number in range(250)]


def test_an_old_file_becomes_a_part(tmp_path):
    clock = Ticking()
    writer = recorder(tmp_path, clock=clock, seconds=5)
    say(writer, 2)
    writer.flush()
    clock.now += 5_000_000_000
    say(writer, 1, start=2)
    writer.flush()
    say(writer, 1, start=3)
    writer.flush()
    assert [name for name in files(writer.folder) if "PID" in name] == [
        ".live-PID-000000000003.jsonl",
        "part-PID-000000000000.parquet",
    ]
    part = rows(writer.folder / f"part-{os.getpid()}-000000000000.parquet")
    assert [row.delivery for row in part] == ["0", "1", "2"]
    writer.close()


def test_a_template_outlives_its_part(tmp_path):
    writer = recorder(tmp_path)
    template = writer.template(K.RECEIVED, "bolt", 1, "default")
    for _ in range(3):
        writer.put(template, '"word"')
        writer.roll()
    assert [(row.component, row.delivery) for row in rows(tmp_path)] == [("bolt", "word")] * 3
    writer.close()


def test_a_single_row_is_written_at_once_and_others_in_batches(tmp_path):
    clock = Ticking()
    writer = recorder(tmp_path, clock=clock)
    writer.write(K.NAMED, "bolt")
    received = writer.template(K.RECEIVED, "bolt", 1, "default")

    def put(first: int, last: int) -> list[str]:
        for number in range(first, last):
            writer.put(received, f'"{number}"')
        return [row.delivery for row in rows(tmp_path)]

    assert put(0, 1) == ["", "0"]
    assert put(1, 3) == ["", "0"]
    clock.now += 1_000_000
    assert put(3, 4) == ["", "0", "1", "2", "3"]
    assert len(put(4, 4 + module.BATCH)) == 5 + module.BATCH
    writer.close()


def test_discarded_rows_leave_no_part(tmp_path):
    writer = recorder(tmp_path)
    say(writer, 40)
    writer.discard()
    say(writer, 1, start=40)
    writer.close()
    assert [row.delivery for row in rows(tmp_path)] == ["40"]


def test_seq_continues_after_an_earlier_process_with_the_same_pid(tmp_path):
    for _ in range(2):
        writer = recorder(tmp_path)
        say(writer, 2)
        writer.close()
    assert [row.seq for row in rows(tmp_path)] == [0, 1, 65536, 65537]


def test_threads_lose_no_rows_while_segments_change(tmp_path):
    writer = recorder(tmp_path, events=97)
    gate = threading.Barrier(4)

    def work(name: int) -> None:
        gate.wait()
        for number in range(2_000):
            writer.write(K.ACKED, "", name, "", f"{name}/{number}" if number % 7 == 0 else str(number))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = rows(tmp_path)
    wanted = [f"{n}" for n in range(2_000)]
    for name in range(4):
        mine = [row.delivery for row in found if row.task == name]
        assert [each.removeprefix(f"{name}/") for each in mine] == wanted
    assert len({row.seq for row in found}) == len(found) == 8_000
    assert writer.dropped == 0


def test_a_signal_handler_may_write(tmp_path):
    writer = recorder(tmp_path, events=1_000)
    handled, again = 0, True

    def handler(*args: object) -> None:
        nonlocal handled
        handled += 1
        for _ in range(3):
            writer.write(K.ACKED, "", 2, "", "from the handler")
        if again:
            signal.setitimer(signal.ITIMER_REAL, 0.002)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    try:
        say(writer, 20_000)
    finally:
        again = False  # a late signal would start the timer once more, and the next one end the process
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    writer.close()
    found = rows(tmp_path)
    assert handled > 0
    assert [row.delivery for row in found if row.task == 3] == [str(number) for number in range(20_000)]
    assert sum(row.task == 2 for row in found) + writer.dropped == handled * 3


def test_a_fork_writes_its_own_files(tmp_path):
    writer = recorder(tmp_path, clock=time.time_ns)
    writer.write(K.RECEIVED, "bolt", 1, "", "before")
    writer.write(K.RECEIVED, "bolt", 1, "", "not yet written")
    child = os.fork()
    if child == 0:
        writer.write(K.RECEIVED, "bolt", 2, "", "child")
        writer.close()
        os._exit(0)
    os.waitpid(child, 0)
    writer.write(K.RECEIVED, "bolt", 1, "", "after")
    writer.close()
    assert [(row.pid == child, row.component, row.delivery, row.seq) for row in rows(tmp_path)] == [
        (False, "bolt", "before", 0),
        (False, "bolt", "not yet written", 1),
        (True, "bolt", "child", 0),
        (False, "bolt", "after", 2),
    ]


def test_rows_after_the_end_are_counted(tmp_path):
    writer = recorder(tmp_path)
    say(writer, 1)
    writer.close()
    say(writer, 2)
    writer.flush()
    assert writer.dropped == 2
    assert [row.delivery for row in rows(tmp_path)] == ["0"]


def no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_loses_rows_only(tmp_path, monkeypatch):
    """A row counts the lost rows as soon as there is room."""
    clock = Ticking()
    writer = recorder(tmp_path, clock=clock)
    say(writer, 10)
    writer.flush()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_room)
        say(writer, 5, start=10)
        writer.flush()
    say(writer, 1, start=15)  # too early to try again
    writer.flush()
    clock.now += 5_000_000_000
    say(writer, 2, start=16)
    writer.close()
    assert writer.dropped == 6
    assert [(row.kind, row.delivery, row.value) for row in rows(tmp_path)] == [
        *[(K.RECEIVED, str(number), 0) for number in range(10)],
        (K.DROPPED, "", 6),
        (K.RECEIVED, "16", 0),
        (K.RECEIVED, "17", 0),
    ]


def test_a_disk_that_fills_in_the_middle_of_a_batch_leaves_whole_lines(tmp_path, monkeypatch):
    writer = recorder(tmp_path)
    say(writer, 1)
    write, calls = os.write, []

    def half(descriptor: int, data: memoryview) -> int:
        calls.append(data)
        if len(calls) > 1:
            no_room()
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        say(writer, 5, start=1)
        writer.flush()
    assert [row.delivery for row in rows(tmp_path)] == ["0"]
    assert writer.dropped == 5
    writer.close()


def test_a_folder_that_cannot_be_created_loses_rows_only(tmp_path):
    (tmp_path / "v1").write_text("a file")
    writer = recorder(tmp_path)
    say(writer, 3)
    writer.close()
    assert writer.dropped == 3


def test_a_removed_folder_does_not_stop_the_writer(tmp_path):
    writer = recorder(tmp_path)
    say(writer, 3)
    shutil.rmtree(writer.folder)
    writer.close()
    assert not writer.folder.exists()


def test_a_disk_that_is_full_from_the_start_is_unchanged(tmp_path, monkeypatch):
    writer = recorder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(module, "create", no_room)
        say(writer, 2)
        writer.flush()
    assert (files(writer.folder), writer.dropped) == ([], 2)


def test_a_part_for_which_pyarrow_has_no_room_stays_json_lines(tmp_path, monkeypatch):
    parquet = pytest.importorskip("ackdoctor.tracer.parquet")
    writer = recorder(tmp_path)
    say(writer, 3)
    monkeypatch.setattr(parquet, "convert", no_room)
    writer.close()
    assert files(writer.folder) == ["_meta.json", "part-PID-000000000000.jsonl"]
    assert [row.delivery for row in rows(tmp_path)] == ["0", "1", "2"]


def test_the_oldest_parts_are_deleted_at_the_limit(tmp_path):
    writer = recorder(tmp_path, events=100, limit=1)
    say(writer, 250)
    writer.close()
    assert [(row.kind, row.delivery, row.value) for row in rows(tmp_path)] == [
        (K.DROPPED, "", 100),
        *[(K.RECEIVED, str(number), 0) for number in range(200, 250)],
        (K.DROPPED, "", 100),
    ]


def test_the_newest_part_is_never_deleted(tmp_path):
    writer = recorder(tmp_path, limit=1)
    say(writer, 3)
    writer.close()
    assert [row.delivery for row in rows(tmp_path)] == ["0", "1", "2"]
    assert writer.dropped == 0


def test_a_part_has_a_limit():
    with pytest.raises(ValueError, match="a part has 1 to 65536 rows, not 0"):
        recorder(Path("nowhere"), events=0)
