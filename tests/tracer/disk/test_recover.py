import os
import signal
import time
from collections.abc import Iterator

import pytest

from ackdoctor.model.event import IN_HAND, Event, EventKind
from ackdoctor.model.finding import Unreadable
from ackdoctor.tracer.disk import recover as module
from ackdoctor.tracer.disk import wal
from ackdoctor.tracer.disk.codec import RECORD, RECORDS
from ackdoctor.tracer.disk.recover import recover
from ackdoctor.tracer.disk.segments import home
from tests.tracer.disk.traces import die_writing, files, recorder, rows, say

K = EventKind


def killed(tmp_path, count: int, *, pids: int = 1) -> list[int]:
    """Processes that wrote so many rows and were killed."""

    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        for number in range(count + 1):
            say(writer, 1, start=number)
            yield number

    return [die_writing(work, after=count) for _ in range(pids)]


def received(tmp_path) -> list[Event]:
    """What the processes themselves have written."""
    return [row for row in rows(tmp_path) if row.kind is K.RECEIVED]


def test_what_a_killed_process_has_written_is_there(tmp_path):
    (pid,) = killed(tmp_path, 20)
    before = rows(tmp_path)
    recovery = recover(tmp_path)
    *after, died = rows(tmp_path)
    assert after == before
    assert (died.kind, died.component, died.task, died.flags) == (K.DIED, "bolt", 3, IN_HAND)
    assert (died.note, died.seq) == ("without closing its trace: killed, or by os._exit", 20)
    assert [row.delivery for row in before] == [str(number) for number in range(20)]
    assert (recovery.rows, recovery.torn, recovery.live, recovery.unreadable) == (20, 0, [], [])
    assert recovery.parts == [home(tmp_path, "r", "w") / f"part-{pid}-000000000000.parquet"]
    assert [name for name in files(home(tmp_path, "r", "w")) if name.startswith(".")] == []


def test_nothing_is_written_through_a_link_in_a_trace(tmp_path):
    """Another user may have sent it."""
    trace, precious = tmp_path / "trace", tmp_path / "precious"
    (pid,) = killed(trace, 20)
    precious.write_text("mine")
    (home(trace, "r", "w") / f".part-{pid}-000000000000.{os.getpid()}").symlink_to(precious)
    assert len(recover(trace).parts) == 1
    assert precious.read_text() == "mine"
    assert len(received(trace)) == 20


def test_recovering_again_changes_nothing(tmp_path):
    killed(tmp_path, 5, pids=2)
    recover(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = recover(tmp_path)
    assert (again.parts, again.rows, again.live, again.unreadable) == ([], 0, [], [])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_who_has_written_that_it_died_is_not_declared_dead_again(tmp_path):
    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        say(writer, 1)
        writer.write(K.DIED, writer.code("bolt"), 3, 0, "")
        yield 1

    die_writing(work, after=1)
    recover(tmp_path)
    assert [(row.kind, row.flags) for row in rows(tmp_path)] == [(K.RECEIVED, 0), (K.DIED, 0)]


def test_who_lived_on_when_there_was_no_room_for_a_part_is_not_declared_dead(tmp_path):
    (pid,) = killed(tmp_path, 2)
    segment = home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"
    for name in (".wal", ".codes"):
        early = segment.with_name(segment.name.replace(".wal", name))
        early.with_name(early.name.replace("000000000000", "000000065536")).write_bytes(early.read_bytes())
    recover(tmp_path)
    assert [(row.kind, row.seq) for row in rows(tmp_path) if row.kind is K.DIED] == [(K.DIED, 65538)]


def test_a_live_writer_is_left_alone(tmp_path):
    writer = recorder(tmp_path)
    say(writer, 3)
    killed(tmp_path, 2)
    recovery = recover(tmp_path)
    assert recovery.rows == 2
    assert recovery.live == [writer.folder / f".wal-{os.getpid()}-000000000000"]
    say(writer, 2, start=3)
    writer.close()
    assert [row.delivery for row in rows(tmp_path) if row.pid == os.getpid()] == ["0", "1", "2", "3", "4"]


def test_a_fork_of_a_dead_writer_does_not_keep_its_segment_alive(tmp_path):
    wait, done = os.pipe()
    born, cry = os.pipe()

    def work() -> Iterator[object]:
        writer = recorder(tmp_path)
        say(writer, 1)
        if os.fork() == 0:
            os.close(done)
            os.write(cry, b".")
            os.read(wait, 1)  # lives until the test lets it go
            os._exit(0)
        os.read(born, 1)
        yield 1

    die_writing(work, after=1)
    recovery = recover(tmp_path)
    os.close(done)
    assert (recovery.rows, recovery.live) == (1, [])


def test_where_files_cannot_be_locked_rows_are_kept_and_nothing_is_touched(tmp_path, monkeypatch):
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(wal, "flock", no_locks)
    (pid,) = killed(tmp_path, 3)
    recovery = recover(tmp_path)
    assert recovery.live == [home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"]
    assert [row.delivery for row in received(tmp_path)] == ["0", "1", "2"]


def test_recoveries_beside_each_other_make_each_part_once(tmp_path):
    killed(tmp_path, 300, pids=6)
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os._exit(min(len(recover(tmp_path).parts), 100))
        children.append(pid)
    made = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert sum(made) == 6
    assert len(received(tmp_path)) == 1_800


def test_a_process_that_died_between_part_and_clean_up_is_not_counted_twice(tmp_path):
    (pid,) = killed(tmp_path, 4)
    folder = home(tmp_path, "r", "w")
    segment = (folder / f".wal-{pid}-000000000000").read_bytes()
    recover(tmp_path)
    (folder / f".wal-{pid}-000000000000").write_bytes(segment)
    assert len(received(tmp_path)) == 4
    assert recover(tmp_path).parts == []
    assert files(folder) == ["_meta.json", f"part-{pid}-000000000000.parquet"]


def test_a_record_that_was_not_finished_is_counted(tmp_path):
    (pid,) = killed(tmp_path, 3)
    segment = home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"
    data = bytearray(segment.read_bytes())
    tail = RECORDS + 2 * RECORD.size - 2
    data[tail : tail + 2] = bytes(2)
    segment.write_bytes(data)
    recovery = recover(tmp_path)
    assert (recovery.rows, recovery.torn) == (2, 1)
    assert [(row.seq, row.delivery) for row in received(tmp_path)] == [(0, "0"), (2, "2")]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"", "this is no segment of a trace"),
        (lambda data: bytes(100), "this is no segment of a trace"),
        (lambda data: b"not ours\n" + data, "this is no segment of a trace"),
        (lambda data: b"[1]\n" + data, "this is no segment of a trace"),
        (
            lambda data: data.replace(b'"schema": 1', b'"schema": 9', 1),
            "written by a newer ackdoctor: schema 9, this one reads up to 1",
        ),
        (lambda data: data.replace(b'"record": 32', b'"record": 31', 1), "its head is damaged"),
    ],
)
def test_a_segment_that_cannot_be_read_is_left_and_told(tmp_path, damage, reason):
    (pid,) = killed(tmp_path, 3)
    segment = home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"
    segment.write_bytes(damage(segment.read_bytes()))
    left = segment.read_bytes()
    recovery = recover(tmp_path)
    assert recovery.unreadable == [Unreadable(path=str(segment), line=0, column=0, reason=reason)]
    assert segment.read_bytes() == left


def test_a_segment_is_read_up_to_where_it_was_cut(tmp_path):
    (pid,) = killed(tmp_path, 10)
    segment = home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"
    os.truncate(segment, RECORDS + 4 * RECORD.size + 30)
    left = segment.read_bytes()
    recovery = recover(tmp_path)
    kept = segment.with_name(f".damaged-{pid}-000000000000")
    reason = "cut off: 4 rows are left; the segment is kept under this name"
    assert recovery.unreadable == [Unreadable(path=str(kept), line=0, column=0, reason=reason)]
    assert kept.read_bytes() == left
    assert kept.with_name(f"{kept.name}.codes").exists()
    assert [row.delivery for row in received(tmp_path)] == ["0", "1", "2", "3"]
    assert recover(tmp_path).unreadable == []


def test_one_damaged_segment_does_not_keep_the_others_from_being_recovered(tmp_path):
    """Every way in which a segment can be damaged, beside a whole one before it and one after it."""
    pids = [killed(tmp_path, 3)[0] for _ in range(9)]
    folder = home(tmp_path, "r", "w")
    wal, codes = (
        (lambda n: folder / f".wal-{pids[n]}-000000000000"),
        (lambda n: folder / f".codes-{pids[n]}-000000000000"),
    )
    wal(1).write_bytes(wal(1).read_bytes().replace(b'"schema": 1', b'"schema":[]', 1))
    wal(2).write_bytes(b"[" * 100_000)
    codes(3).write_bytes(b'["\xff\n')
    codes(4).write_bytes(b'{"not": "a text"}\n' + codes(4).read_bytes())
    data = bytearray(wal(5).read_bytes())
    for slot in (0, 1):
        data[RECORDS + (slot + 1) * RECORD.size - 2 : RECORDS + (slot + 1) * RECORD.size] = b"no"
    wal(5).write_bytes(data)
    wal(6).unlink()
    os.mkfifo(wal(6))
    elsewhere = tmp_path / "elsewhere"
    wal(7).rename(elsewhere)
    wal(7).symlink_to(elsewhere)
    recovery = recover(tmp_path)
    reasons = {each.path: each.reason for each in recovery.unreadable}
    assert reasons == {
        str(wal(1)): "this is no segment of a trace",
        str(wal(2)): "this is no segment of a trace",
        str(wal(3)): f"its names are damaged: line 1 of {codes(3).name}",
        str(wal(4)): f"its names are damaged: line 1 of {codes(4).name}",
        str(
            folder / f".damaged-{pids[5]}-000000000000"
        ): "damaged: 2 of its records cannot be read; the segment is kept under this name",
        str(wal(6)): "not a regular file",
        str(wal(7)): "Too many levels of symbolic links",
    }
    assert [path.name.split("-")[1] for path in sorted(recovery.parts)] == sorted(
        str(pids[n]) for n in (0, 5, 8)
    )
    assert all(wal(n).exists() for n in (1, 2, 3, 4, 6, 7))
    assert elsewhere.exists()


def test_a_segment_is_kept_where_its_part_cannot_be_read(tmp_path):
    (pid,) = killed(tmp_path, 4)
    segment = home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"
    data = segment.read_bytes()
    (part,) = recover(tmp_path).parts
    segment.write_bytes(data)
    part.write_bytes(part.read_bytes()[:-10])
    (fault,) = recover(tmp_path).unreadable
    assert fault.path == str(segment)
    assert fault.reason.startswith(f"the segment is kept, since {part.name} cannot be read: ")
    assert segment.read_bytes() == data


def test_a_link_in_the_place_of_a_draft_leads_nothing_elsewhere(tmp_path):
    (pid,) = killed(tmp_path, 4)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    draft = home(tmp_path, "r", "w") / f".part-{pid}-000000000000.{os.getpid()}"
    draft.symlink_to(outside)
    assert len(recover(tmp_path).parts) == 1
    assert outside.read_text() == "mine"


def test_texts_that_are_lost_are_read_as_nothing(tmp_path):
    (pid,) = killed(tmp_path, 2)
    (home(tmp_path, "r", "w") / f".codes-{pid}-000000000000").unlink()
    recover(tmp_path)
    assert [(row.component, row.delivery) for row in received(tmp_path)] == [("", "0"), ("", "1")]


def test_a_full_disk_leaves_the_segment(tmp_path, monkeypatch):
    (pid,) = killed(tmp_path, 2)
    segment = home(tmp_path, "r", "w") / f".wal-{pid}-000000000000"

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "store", no_room)
        recovery = recover(tmp_path)
    assert recovery.unreadable == [
        Unreadable(path=str(segment), line=0, column=0, reason="No space left on device")
    ]
    assert recover(tmp_path).rows == 2


def test_drafts_of_dead_processes_are_swept_when_they_are_old(tmp_path):
    killed(tmp_path, 1)
    folder = home(tmp_path, "r", "w")
    names = [".part-9-000000000000.9", ".new-9-000000000000", ".codes-9-000000000000"]
    for name in (*names, ".part-8-000000000000.8", ".mine"):
        (folder / name).touch()
    for name in (*names, ".mine"):
        os.utime(folder / name, (time.time() - 61,) * 2)
    recover(tmp_path)
    assert [name for name in files(folder) if name.startswith(".")] == [".mine", ".part-8-000000000000.8"]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    assert recover(tmp_path / "none").unreadable == [
        Unreadable(path=str(tmp_path / "none"), line=0, column=0, reason="no such folder")
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_may_not_be_looked_into_is_told(tmp_path):
    closed = tmp_path / "v1"
    closed.mkdir(mode=0)
    assert recover(tmp_path).unreadable == [
        Unreadable(path=str(closed), line=0, column=0, reason="Permission denied")
    ]


@pytest.mark.minutes
@pytest.mark.slow
def test_six_writers_killed_at_any_moment_lose_nothing_they_were_told_is_written(tmp_path):
    """The same for 100 rounds: benchmarks/trace.py."""
    for round_ in range(5):
        directory = tmp_path / str(round_)
        told = [os.pipe() for _ in range(6)]
        pids = []
        for _, tell in told:
            pid = os.fork()
            if pid == 0:
                try:
                    writer = recorder(directory, clock=time.time_ns, events=500)
                    for number in range(1 << 30):
                        writer.write(K.ACKED, 0, 0, 0, f"id {number}" if number % 9 == 0 else number)
                        os.write(tell, b".")
                finally:
                    os._exit(1)
            pids.append(pid)
            os.close(tell)
        deadline = time.monotonic() + 0.1 + round_ / 20
        counts = dict.fromkeys(pids, 0)
        while time.monotonic() < deadline:
            for pid, (hear, _) in zip(pids, told, strict=True):
                counts[pid] += len(os.read(hear, 1 << 16))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for pid, (hear, _) in zip(pids, told, strict=True):
            while more := os.read(hear, 1 << 16):
                counts[pid] += len(more)
            os.close(hear)
        recovery = recover(directory)
        assert (recovery.live, recovery.unreadable) == ([], [])
        found = rows(directory)
        for pid in pids:
            mine = [row.delivery.removeprefix("id ") for row in found if row.pid == pid]
            assert mine == [str(number) for number in range(len(mine))]
            assert len(mine) - counts[pid] in (0, 1)  # one may be written and not yet told
