"""Complete, truncated, damaged and foreign dumps of both id sizes: readable parts are read, the rest is reported."""

import errno
import gzip
import io
import os
import tempfile
from pathlib import Path

import pytest

from ackdoctor.heap.dump import read_dump
from ackdoctor.heap.entries import Kind
from ackdoctor.heap.hprof import HprofError
from ackdoctor.heap.objects import NARROW
from tests.heap.hprof_writer import TAKEN_MS, Heap, acker_heap


@pytest.fixture
def stored(tmp_path):
    def store(content: bytes, name: str = "worker.hprof"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return store


@pytest.mark.parametrize("id_size", [4, 8])
@pytest.mark.parametrize("prefix", ["org.apache.storm", "backtype.storm"])
def test_an_acker_is_walked_through_chains_and_tree_bins(id_size, prefix, stored):
    dump = read_dump(stored(acker_heap(id_size, prefix=prefix).hprof()), samples=9)
    [acker] = dump.ackers
    assert acker.path == "Acker.pending.buckets"
    assert [(bucket.size, bucket.lost) for bucket in acker.tally.buckets] == [(5, 0)]
    assert [(entry.root, entry.value, entry.age_ms) for entry in acker.tally.samples[Kind.ORPHAN]] == [
        (-1, 1, 0),
        (-2, 2, 1000),
        (-3, 3, 2000),
        (-4, 4, 3000),
        (-5, 5, 4000),
    ]
    assert acker.tally.oldest_ms == 4000
    assert (dump.taken_ms, dump.version, dump.id_size, dump.faults) == (TAKEN_MS, "1.0.2", id_size, ())


def test_a_dump_of_32_bits_has_small_headers(stored):
    assert read_dump(stored(acker_heap(4).hprof())).oops == NARROW


def test_a_compressed_dump_is_the_same_dump(stored):
    plain = read_dump(stored(acker_heap().hprof()))
    packed = read_dump(stored(gzip.compress(acker_heap().hprof()), "worker.hprof.gz"))
    assert (packed.objects, packed.classes, packed.entries) == (plain.objects, plain.classes, plain.entries)


def test_a_dump_that_hotspot_compressed_in_blocks_is_read(stored):
    whole = acker_heap().hprof()
    blocks = b"".join(gzip.compress(whole[at : at + 300]) for at in range(0, len(whole), 300))
    assert read_dump(stored(blocks)).entries == 5


def test_classes_are_counted_with_their_arrays(stored):
    heap = Heap()
    heap.declare("java.lang.Object")
    heap.declare("[Ljava.lang.Object;")
    heap.add(8, "java.lang.Object")
    heap.array(16, "[Ljava.lang.Object;", 8, 8, 8)
    heap.text(48, b"four bytes")
    rows = read_dump(stored(heap.hprof())).classes
    assert [(row.name, row.instances, row.size) for row in rows] == [
        ("byte[]", 1, 32),
        ("java.lang.Object[]", 1, 32),
        ("java.lang.Object", 1, 16),
    ]


def test_entries_that_a_cut_dump_lacks_are_counted_as_lost(stored):
    whole = acker_heap(entries=50).hprof()
    dump = read_dump(stored(whole[: len(whole) - 2000]))
    fault, lost = dump.faults
    assert lost.endswith(" of 50 entries are not in the dump")
    assert fault.startswith(f"cut off after {len(whole) - 2000:,} bytes, within the record at byte ")
    [bucket] = dump.ackers[0].tally.buckets
    assert 0 < bucket.kinds[Kind.ORPHAN] < 50
    assert bucket.kinds[Kind.ORPHAN] + bucket.lost == bucket.size == 50


@pytest.mark.parametrize("kept", range(31, 2200, 7))
def test_a_dump_cut_anywhere_is_read_as_far_as_it_goes(kept, stored):
    whole = acker_heap().hprof()
    dump = read_dump(stored(whole[:kept]))
    assert dump.objects <= read_dump(stored(whole, "whole.hprof")).objects
    assert bool(dump.faults) == (kept < len(whole))


def _starts_of_records(whole: bytes) -> dict[int, int]:
    """Where each begins, with its tag."""
    at, starts = whole.index(b"\0") + 13, {}
    while at < len(whole):
        starts[at] = whole[at]
        at += 9 + int.from_bytes(whole[at + 5 : at + 9], "big")
    return starts


def test_a_dump_cut_between_two_records_lacks_its_heap_or_its_end(stored):
    whole = acker_heap().hprof()
    said = {tag: read_dump(stored(whole[:at])).faults for at, tag in _starts_of_records(whole).items()}
    assert set(said) == {0x01, 0x02, 0x1C, 0x2C}
    [last], *others = said.pop(0x2C), *said.values()
    assert last == f"cut off after {len(whole) - 9:,} bytes, before the last of its heap's segments"
    assert all(fault.endswith(" bytes, before its heap begins") for [fault] in others)


def test_the_one_record_of_an_older_dump_needs_no_end(stored):
    heap = acker_heap()
    heap.version = "1.0.1"
    whole = heap.hprof()[:-9]
    at = next(at for at, tag in _starts_of_records(whole).items() if tag == 0x1C)
    assert read_dump(stored(whole[:at] + b"\x0c" + whole[at + 1 :])).faults == ()


def test_a_cut_archive_is_read_as_far_as_it_goes(stored):
    packed = gzip.compress(acker_heap(entries=2000).hprof())
    dump = read_dump(stored(packed[: len(packed) // 2]))
    assert dump.faults[0] == "the compressed data end early"
    assert dump.ackers[0].tally.lost > 0


def test_damage_loses_only_the_damaged_records(stored):
    heap = acker_heap()
    heap.body.insert(5, b"\x77" + bytes(40))
    dump = read_dump(stored(heap.hprof()))
    [fault] = dump.faults
    assert fault.endswith("no sub-record has the tag 0x77; 41 bytes are left out")
    assert (dump.objects, dump.entries) == (read_dump(stored(acker_heap().hprof())).objects, 5)


def test_damage_before_an_invalid_record_loses_the_rest_of_its_segment(stored):
    heap = acker_heap()
    heap.body[5:] = [b"\x77" + bytes(400)]
    dump = read_dump(stored(heap.hprof()))
    assert dump.faults[0].endswith("no sub-record has the tag 0x77; the rest of the segment is left out")
    assert dump.objects == 5


def test_a_damaged_class_loses_only_its_objects(stored):
    heap = acker_heap()
    heap.declare("Other", {"x": "long"})
    heap.add(0x8000, "Other", x=1)
    whole = heap.hprof()
    at = whole.index(b"\x20" + heap.classes["Other"][0].to_bytes(8, "big"))
    last = whole.index(b"\x0b", at)  # the type of x
    dump = read_dump(stored(whole[:last] + b"\x8a" + whole[last + 1 :]))
    assert dump.faults == (f"byte {at:,}: a class with a field of type 138; its objects are left out",)
    assert dump.entries == 5


def test_a_damaged_tag_loses_only_its_record(stored):
    whole = acker_heap().hprof()
    [at] = [at for at, tag in _starts_of_records(whole).items() if tag == 0x2C]
    assert read_dump(stored(whole[:at] + b"\x05\0\0\0\0\0\0\0\0" + whole[at:])).faults == ()
    dump = read_dump(stored(whole[:at] + b"\x85\0\0\0\0\0\0\0\1x" + whole[at:]))
    assert dump.faults == (f"byte {at:,}: no record has the tag 0x85; its 1 bytes are left out",)
    assert dump.entries == 5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"JAVA PROFILE 1.0.2\0\0\0", "the dump ends within its header"),
        (b"JAVA PROFILE 1.0.2\0" + bytes(3) + b"\x05" + bytes(8), "its header claims ids of 5 bytes, not 4 or 8: the header is damaged"),
        (b"JAVA PROFILE 1.0.3\0" + bytes(12), "not a heap dump of HotSpot, but a heap dump of Android, which has other records: convert it with hprof-conv"),
        (b"\x7fELF\x02", "not a heap dump of HotSpot, but a program or a core file: make a heap dump of a core file with jhsdb jmap --binaryheap --core FILE --exe JAVA"),
        (b" num     #instances         #bytes  class name\n", "not a heap dump of HotSpot, but a class histogram: ackdoctor heap hist reads it"),
        (b"Sat Nov 21 10:58:35 PM UTC 2026\n4711:\n num     #instances         #bytes\n", "not a heap dump of HotSpot, but a class histogram: ackdoctor heap hist reads it"),
        (b"hello, world, this is text", "not a heap dump: it begins with b'hello, world', not with 'JAVA PROFILE 1.0.2'"),
        (gzip.compress(b"hello, world, this is text", mtime=0), "not a heap dump: it begins with b'hello, world', not with 'JAVA PROFILE 1.0.2'"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_dump_is_named_by_its_kind(content, reason, stored):
    with pytest.raises(HprofError) as refused:
        read_dump(stored(content))
    assert str(refused.value) == reason


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dump_from_a_pipe_is_the_same_dump(pack, stored):
    whole = acker_heap().hprof()
    reader, writer = os.pipe()
    os.write(writer, pack(whole))
    os.close(writer)
    piped = read_dump(Path(f"/dev/fd/{reader}"))
    os.close(reader)
    assert piped.classes == read_dump(stored(whole)).classes
    assert piped.faults == ()


@pytest.mark.parametrize("piped", [False, True])
def test_a_dump_may_be_standard_input(piped, stored, monkeypatch):
    path = stored(acker_heap().hprof())
    whole = read_dump(path)
    reader, writer = os.pipe()
    os.write(writer, path.read_bytes())
    os.close(writer)
    with os.fdopen(reader) as pipe, path.open() as file:
        monkeypatch.setattr("sys.stdin", pipe if piped else file)
        assert read_dump(Path("-")).classes == whole.classes


def test_a_full_disk_is_no_fault_of_the_dump(stored, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/var/tmp")
    with pytest.raises(HprofError) as refused:
        read_dump(stored(gzip.compress(acker_heap().hprof())))
    assert str(refused.value) == (
        "there is no room for a copy of it in /var/tmp: No space left on device; set TMPDIR to another directory"
    )


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(HprofError, match="cannot be read: No such file or directory"):
        read_dump(tmp_path / "worker.hprof")


def test_a_directory_is_not_a_dump(tmp_path):
    with pytest.raises(HprofError, match="cannot be read: Is a directory"):
        read_dump(tmp_path)


def test_an_acker_that_was_never_prepared_is_empty(stored):
    heap = acker_heap()
    heap.body = []
    heap.add(64, "org.apache.storm.daemon.Acker", collector=0, pending=0)
    [acker] = read_dump(stored(heap.hprof())).ackers
    assert acker.problem == "it has not been prepared: it has no map"


def test_objects_in_any_order_are_found(stored):
    heap = acker_heap(entries=40)
    heap.body.reverse()
    dump = read_dump(stored(heap.hprof()))
    assert dump.ackers[0].tally.kinds[Kind.ORPHAN] == 40


def test_objects_of_regions_in_any_order_are_found(stored):
    heap = acker_heap(entries=3000)
    third = len(heap.body) // 3
    heap.body = [*heap.body[2 * third :], *heap.body[:third], *heap.body[third : 2 * third]]
    [acker] = read_dump(stored(heap.hprof()), samples=3000).ackers
    assert sorted(-entry.root for entry in acker.tally.samples[Kind.ORPHAN]) == list(range(1, 3001))
