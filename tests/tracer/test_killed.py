"""Killed processes lose their last batch at most; `finish_killed` turns their files into parts."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackdoctor.model.finding import Unreadable
from ackdoctor.model.trace import IN_HAND, Event, EventKind
from ackdoctor.tracer import recorder as write
from ackdoctor.tracer import trace_files as module
from ackdoctor.tracer.recorder import BATCH, finish_killed
from ackdoctor.tracer.trace_files import worker_folder
from ackdoctor.tracer.trace_reader import read
from tests.tracer.traces import die_writing, files, recorder, rows, say

K = EventKind


def killed(tmp_path, count: int, *, pids: int = 1) -> list[int]:
    """Processes that are killed after they have written rows."""

    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        for number in range(count + 1):
            say(writer, 1, start=number)
            writer.flush()
            yield number

    return [die_writing(work, after=count) for _ in range(pids)]


def live(tmp_path, pid: int) -> Path:
    return worker_folder(tmp_path, "r", "w") / f".live-{pid}-000000000000.jsonl"


def received(tmp_path) -> list[Event]:
    """Return the rows that the processes have written."""
    return [row for row in rows(tmp_path) if row.kind is K.RECEIVED]


def test_a_killed_process_loses_at_most_its_last_batch(tmp_path):
    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        say(writer, 100)
        yield 1

    die_writing(work, after=1)
    found = [row.delivery for row in received(tmp_path)]
    assert found == [str(number) for number in range(len(found))]
    assert 100 - BATCH < len(found) <= 100


def test_the_rows_of_a_killed_process_end_with_its_death_before_and_after_they_are_finished(tmp_path):
    (pid,) = killed(tmp_path, 20)
    before = rows(tmp_path)
    assert finish_killed(tmp_path) == []
    assert rows(tmp_path) == before
    *written, died = before
    assert (died.kind, died.component, died.task, died.flags) == (K.DIED, "bolt", 3, IN_HAND)
    assert (died.note, died.seq) == ("without closing its trace: killed, or by os._exit", 20)
    assert [row.delivery for row in written] == [str(number) for number in range(20)]
    assert files(worker_folder(tmp_path, "r", "w")) == ["_meta.json", f"part-{pid}-000000000000.parquet"]


def test_finishing_again_changes_nothing(tmp_path):
    killed(tmp_path, 5, pids=2)
    finish_killed(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert finish_killed(tmp_path) == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_component_that_reported_its_death_gets_no_second_row(tmp_path):
    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        say(writer, 1)
        writer.write(K.DIED, "bolt", 3)
        writer.flush()
        yield 1

    die_writing(work, after=1)
    finish_killed(tmp_path)
    assert [(row.kind, row.flags) for row in rows(tmp_path)] == [(K.RECEIVED, 0), (K.DIED, 0)]


def test_a_process_with_a_newer_file_did_not_die_in_the_first(tmp_path):
    (pid,) = killed(tmp_path, 2)
    later = live(tmp_path, pid).with_name(f".live-{pid}-000000000002.jsonl")
    later.write_text(
        live(tmp_path, pid).read_text().replace('"seq":0', '"seq":2').replace('"seq":1', '"seq":3')
    )
    finish_killed(tmp_path)
    assert [row.seq for row in rows(tmp_path) if row.kind is K.DIED] == [4]


def test_the_file_of_a_running_process_is_left_alone(tmp_path):
    writer = recorder(tmp_path)
    say(writer, 3)
    killed(tmp_path, 2)
    assert finish_killed(tmp_path) == []
    assert f".live-{os.getpid()}-000000000000.jsonl" in {path.name for path in writer.folder.iterdir()}
    say(writer, 2, start=3)
    writer.close()
    assert [row.delivery for row in rows(tmp_path) if row.pid == os.getpid()] == ["0", "1", "2", "3", "4"]


def test_a_fork_of_a_killed_process_does_not_keep_its_file_locked(tmp_path):
    wait, done = os.pipe()
    born, cry = os.pipe()

    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        say(writer, 1)
        if os.fork() == 0:
            os.close(done)
            os.write(cry, b".")
            os.read(wait, 1)  # runs until the test lets it go
            os._exit(0)
        os.read(born, 1)
        yield 1

    (pid,) = [die_writing(work, after=1)]
    finish_killed(tmp_path)
    os.close(done)
    assert not live(tmp_path, pid).exists()


def test_rows_are_read_without_changes_if_files_cannot_be_locked(tmp_path, monkeypatch):
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    for place in (module, write):
        monkeypatch.setattr(place, "flock", no_locks)
    (pid,) = killed(tmp_path, 3)
    finish_killed(tmp_path)
    assert live(tmp_path, pid).exists()
    assert [row.delivery for row in received(tmp_path)] == ["0", "1", "2"]


def test_processes_that_finish_the_same_files_make_each_part_once(tmp_path):
    killed(tmp_path, 30, pids=6)
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            finish_killed(tmp_path)
            os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    assert len(received(tmp_path)) == 180
    assert len(list(tmp_path.rglob("part-*"))) == 6


def test_a_process_that_died_between_part_and_clean_up_is_not_counted_twice(tmp_path):
    (pid,) = killed(tmp_path, 4)
    data = live(tmp_path, pid).read_bytes()
    finish_killed(tmp_path)
    live(tmp_path, pid).write_bytes(data)
    assert len(received(tmp_path)) == 4
    finish_killed(tmp_path)
    assert files(worker_folder(tmp_path, "r", "w")) == ["_meta.json", f"part-{pid}-000000000000.parquet"]


@pytest.mark.parametrize(("cut", "deliveries"), [(1, ["0", "1", "2"]), (30, ["0", "1"])])
def test_an_incomplete_last_line_is_counted_and_dropped(tmp_path, cut, deliveries):
    (pid,) = killed(tmp_path, 3)
    os.truncate(live(tmp_path, pid), live(tmp_path, pid).stat().st_size - cut)
    reading = read([tmp_path])
    assert [row.delivery for row in reading.events() if row.kind is K.RECEIVED] == deliveries
    assert (reading.torn, reading.unreadable) == (3 - len(deliveries), [])
    finish_killed(tmp_path)
    assert [row.delivery for row in received(tmp_path)] == deliveries


def test_a_damaged_file_does_not_stop_the_finishing_of_others(tmp_path):
    pids = killed(tmp_path, 3, pids=6)
    first, damaged, newer, pipe, link, last = (live(tmp_path, pid) for pid in pids)
    damaged.write_bytes(damaged.read_bytes().replace(b'"seq":1', b'"seq":?'))
    newer.write_bytes(newer.read_bytes().replace(b'"schema":1', b'"schema":9', 1))
    pipe.unlink()
    os.mkfifo(pipe)
    elsewhere = tmp_path / "elsewhere"
    link.rename(elsewhere)
    link.symlink_to(elsewhere)
    before = damaged.read_bytes()
    assert {fault.path: (fault.line, fault.reason) for fault in finish_killed(tmp_path)} == {
        str(damaged): (2, "no JSON"),
        str(newer): (1, "written by a newer ackdoctor: schema 9, this one reads up to 1"),
    }
    assert damaged.read_bytes() == before
    assert not first.exists()
    assert not last.exists()
    assert all(path.exists() for path in (pipe, link, elsewhere))


def test_nothing_is_written_through_a_link_in_a_trace(tmp_path):
    """Another user may have sent the trace."""
    trace, precious = tmp_path / "trace", tmp_path / "precious"
    (pid,) = killed(trace, 20)
    precious.write_text("mine")
    for name in (f"part-{pid}-000000000000.parquet", f".draft-{pid}-000000000000"):
        (worker_folder(trace, "r", "w") / name).symlink_to(precious)
    finish_killed(trace)
    assert precious.read_text() == "mine"


def test_a_full_disk_leaves_the_file(tmp_path, monkeypatch):
    (pid,) = killed(tmp_path, 2)

    def no_room(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(write, "_complete", no_room)
        assert finish_killed(tmp_path) == [
            Unreadable(path=str(live(tmp_path, pid)), line=0, column=0, reason="No space left on device")
        ]
    assert finish_killed(tmp_path) == []
    assert len(received(tmp_path)) == 2


def test_old_drafts_are_deleted(tmp_path):
    killed(tmp_path, 1)
    folder = worker_folder(tmp_path, "r", "w")
    for name in (".draft-9-a", ".draft-8-b", ".mine"):
        (folder / name).touch()
    for name in (".draft-9-a", ".mine"):
        os.utime(folder / name, (time.time() - 61,) * 2)
    finish_killed(tmp_path)
    assert [name for name in files(folder) if name.startswith(".")] == [".draft-8-b", ".mine"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_trace_in_a_read_only_folder_is_read_as_it_is(tmp_path):
    (pid,) = killed(tmp_path, 3)
    folder = worker_folder(tmp_path, "r", "w")
    folder.chmod(0o500)
    try:
        finish_killed(tmp_path)
        assert len(received(tmp_path)) == 3
        assert live(tmp_path, pid).exists()
    finally:
        folder.chmod(0o700)


@pytest.mark.minutes
@pytest.mark.slow
def test_six_writers_killed_at_any_moment_lose_their_last_batch_only(tmp_path):
    """The same for 100 rounds: benchmarks/trace.py."""
    for round_ in range(5):
        directory = tmp_path / str(round_)
        pipes = [os.pipe() for _ in range(6)]
        pids = []
        for _, tell in pipes:
            pid = os.fork()
            if pid == 0:
                try:
                    writer = recorder(directory, clock=time.time_ns, events=500)
                    for number in range(1 << 30):
                        writer.write(
                            K.ACKED, "bolt", delivery=f"id {number}" if number % 9 == 0 else str(number)
                        )
                        os.write(tell, b".")
                finally:
                    os._exit(1)
            pids.append(pid)
            os.close(tell)
        deadline = time.monotonic() + 0.1 + round_ / 20
        counts = dict.fromkeys(pids, 0)
        while time.monotonic() < deadline:
            for pid, (hear, _) in zip(pids, pipes, strict=True):
                counts[pid] += len(os.read(hear, 1 << 16))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for pid, (hear, _) in zip(pids, pipes, strict=True):
            while more := os.read(hear, 1 << 16):
                counts[pid] += len(more)
            os.close(hear)
        assert finish_killed(directory) == []
        found = [row for row in rows(directory) if row.kind is K.ACKED]
        for pid in pids:
            mine = [row.delivery.removeprefix("id ") for row in found if row.pid == pid]
            assert mine == [str(number) for number in range(len(mine))]
            assert counts[pid] - BATCH <= len(mine) <= counts[pid] + 1
