"""Silent, endless and expanding input is stopped in bounded time and memory."""

import gzip
import io
import os
import resource
import threading
import time
import zlib
from pathlib import Path

import pytest

from ackdoctor.cli import commands
from ackdoctor.diagnose import log_lines
from ackdoctor.heap import hprof
from ackdoctor.heap.dump import read_dump
from ackdoctor.heap.hprof import HprofError
from tests.heap.hprof_writer import Heap, acker_heap

MB = 1 << 20
HEAPS = Path(__file__).parents[2] / "fixtures" / "heaps"
HIST = HEAPS / "histograms" / "growing-2.8.3.txt"
HEADER = b"JAVA PROFILE 1.0.2\0" + b"\0\0\0\x08" + bytes(8)


@pytest.fixture
def bounded():
    """Fails what takes 10 s, or 200 MB more than before."""
    begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - begun < 10
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < 200


def bomb(path: Path, begin: bytes, part: bytes, times: int, end: bytes = b"") -> None:
    """So many times the part, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(begin))
        for _ in range(times):
            file.write(packer.compress(part))
        file.write(packer.compress(end) + packer.flush())


def test_a_dump_that_expands_to_zeros_is_rejected_at_once(bounded, tmp_path):
    bomb(tmp_path / "a.gz", HEADER, bytes(MB), 192)
    dump = read_dump(tmp_path / "a.gz")
    assert dump.faults == ("byte 31: no record has the tag 0x00; the rest is left out",)
    assert dump.file_size < 4 * MB


def test_an_archive_without_a_dump_is_rejected_at_once(bounded, tmp_path):
    bomb(tmp_path / "a.gz", b"", b"x" * MB, 192)
    with pytest.raises(HprofError, match="not a heap dump: it begins with b'xxxxxxxxxxxx'"):
        read_dump(tmp_path / "a.gz")


def test_a_real_dump_may_expand_without_a_limit(bounded, tmp_path):
    heap = Heap()
    heap.declare("java.lang.Object")
    heap.text(64, b"")
    whole = heap.hprof()
    at = whole.index(b"\x23" + (64).to_bytes(8, "big")) + 1 + 8 + 4  # of the length of an array of bytes
    segment = whole.index(b"\x1c\0\0\0\0") + 5
    length = int.from_bytes(whole[segment : segment + 4], "big") + 192 * MB
    whole = whole[:segment] + length.to_bytes(4, "big") + whole[segment + 4 :]
    whole = whole[:at] + (192 * MB).to_bytes(4, "big") + whole[at + 4 :]
    bomb(tmp_path / "a.gz", whole[: at + 5], bytes(MB), 192, whole[at + 5 :])
    dump = read_dump(tmp_path / "a.gz")
    assert (dump.faults, dump.classes[0].size) == ((), 192 * MB + 16)


def test_a_copy_leaves_room_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("ackdoctor.heap.hprof._LOOK", 1)
    monkeypatch.setattr("ackdoctor.heap.hprof._RESERVE", 1 << 62)
    (tmp_path / "a.gz").write_bytes(gzip.compress(acker_heap().hprof()))
    with pytest.raises(
        HprofError, match=r"there is no room for a copy of it in .*set TMPDIR to another directory"
    ):
        read_dump(tmp_path / "a.gz")


def test_lengths_of_gigabytes_take_no_memory(bounded, tmp_path):
    heap = acker_heap()
    heap.declare("[Ljava.lang.Object;")
    heap.array(0x9000, "[Ljava.lang.Object;", 1, 2, 3)
    whole = heap.hprof()
    at = whole.index(b"\x22" + (0x9000).to_bytes(8, "big")) + 1 + 8 + 4
    (tmp_path / "a").write_bytes(whole[:at] + b"\xff\xff\xff\xff" + whole[at + 4 :])
    dump = read_dump(tmp_path / "a")
    [fault] = dump.faults
    assert fault.startswith(
        f"byte {at - 13:,}: an object of 34,359,738,385 bytes runs past the end of its segment"
    )
    assert dump.size < MB
    assert dump.entries == 5


@pytest.mark.parametrize("part", [b"x" * MB, b"\n" * MB, b"a line of a log\n" * (MB // 16)])
def test_a_histogram_that_expands_without_end_is_stopped(part, bounded, tmp_path, shell):
    bomb(tmp_path / "a.gz", HIST.read_bytes(), part, 192)
    outcome = shell("heap", "hist", str(tmp_path / "a.gz"))
    assert outcome.code == 2
    assert "this is not text" in outcome.err or "unlike any text" in outcome.err
    assert outcome.out.startswith("BROKEN")  # what came before is judged


def test_a_text_has_a_maximum_size(bounded, tmp_path, monkeypatch):
    faults: list[str] = []
    (tmp_path / "a").write_bytes(b"0123456789abcdef 0123456789abcdef\n" * 1000)
    assert len(list(commands.lines_of(tmp_path / "a", faults, limit=MB // 64))) == 16384 // 34 + 1
    [fault] = faults
    assert fault.startswith("cannot be read: it has more than 0 MB of text; line 482 is the last")


def test_a_line_of_megabytes_is_cut(bounded, tmp_path, monkeypatch):
    monkeypatch.setattr(log_lines, "_LONGEST_LINE", 1 << 16)
    (tmp_path / "a").write_bytes(b"a" * MB + b"\nb\n")
    faults: list[str] = []
    assert [len(line) for line in commands.lines_of(tmp_path / "a", faults)] == [1 << 16, 2]
    assert faults == []


COMMANDS = [("dump",), ("hist",)]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (
            os.mkfifo,
            "nothing was written into the pipe for 0 s; for a slow writer pass `-` and use standard input",
        ),
        (lambda path: path.symlink_to("/dev/zero"), "a device, not a file"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    ],
)
def test_a_path_that_is_not_a_file_is_reported_in_one_line(
    command, make, said, bounded, shell, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hprof, "_PATIENCE_S", 0.05)
    make(Path("worker"))
    assert shell("heap", *command, "worker") == (2, "", f"ackdoctor: worker: cannot be read: {said}\n")


def test_a_named_pipe_with_a_writer_is_read(tmp_path):
    pipe, whole = tmp_path / "pipe", acker_heap().hprof()
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(whole))
    writer.start()
    assert read_dump(pipe).entries == 5
    writer.join()


def test_endless_input_without_a_dump_is_rejected(bounded, monkeypatch):
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, room):
            room[:] = b"x" * len(room)
            return len(room)

    class Stdin:
        buffer = io.BufferedReader(Endless())

    monkeypatch.setattr("sys.stdin", Stdin)
    with pytest.raises(HprofError, match="not a heap dump: it begins with"):
        read_dump(Path("-"))


PACKED = gzip.compress(HIST.read_bytes())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (PACKED[: len(PACKED) // 2], "Compressed file ended before the end-of-stream marker was reached"),
        (PACKED[:100] + b"\xff" * 50 + PACKED[150:], "Error -3 while decompressing data"),
    ],
)
def test_a_damaged_archive_of_histograms_is_reported(data, said, shell, tmp_path):
    (tmp_path / "a.gz").write_bytes(data)
    outcome = shell("heap", "hist", str(tmp_path / "a.gz"))
    assert outcome.code == 2
    assert said in outcome.err


def test_an_archive_of_several_members_is_read_whole(tmp_path):
    data = HIST.read_bytes()
    faults: list[str] = []
    (tmp_path / "a.gz").write_bytes(gzip.compress(data[:5000]) + gzip.compress(data[5000:]))
    assert "".join(commands.lines_of(tmp_path / "a.gz", faults)) == data.decode()
    assert faults == []


def test_a_damaged_archive_of_a_dump_is_read_as_far_as_it_goes(tmp_path):
    packed = gzip.compress(acker_heap(entries=3000).hprof(), compresslevel=1)
    at = len(packed) // 2
    (tmp_path / "a.gz").write_bytes(packed[:at] + b"\xff" * 40 + packed[at + 40 :])
    dump = read_dump(tmp_path / "a.gz")
    assert dump.faults[0].startswith("the compressed data are damaged before byte ")
    assert dump.ackers[0].tally.kinds
