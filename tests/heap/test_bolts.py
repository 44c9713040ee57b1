"""Only fields of Java bolts that lead to tuples are reported."""

from pathlib import Path

import pytest

from ackdoctor.heap import dump as heap_dump
from ackdoctor.heap import judge
from ackdoctor.heap.dump import read_dump
from tests.heap.hprof_writer import Heap, read

OBJECT = "java.lang.Object"
TUPLES = 1_000


def worker(tuples: int = TUPLES, prefix: str = "org.apache.storm") -> Heap:
    """A bolt, at 64, whose `waiting` is a list at 96 with its array at 128; tuples of the stream `words` from 4096 on."""
    heap = Heap(8)
    heap.declare(OBJECT)
    heap.declare("[Ljava.lang.Object;")
    heap.declare(f"{prefix}.tuple.TupleImpl", {"streamId": "object", "context": "object"}, OBJECT)
    heap.declare(f"{prefix}.topology.base.BaseRichBolt", {}, OBJECT)
    heap.declare(f"{prefix}.task.OutputCollector", {"delegate": "object"}, OBJECT)
    heap.declare("java.util.ArrayList", {"size": "int", "elementData": "object"}, OBJECT)
    heap.declare("java.lang.String", {"value": "object", "coder": "byte"}, OBJECT)
    heap.declare("com.acme.Base", {"collector": "object"}, f"{prefix}.topology.base.BaseRichBolt")
    heap.declare("com.acme.Sink", {"waiting": "object", "size": "int"}, "com.acme.Base")
    heap.declare("com.acme.Plain", {"batch": "object"}, OBJECT)
    heap.declare("org.apache.storm.daemon.Task", {"componentId": "object", "taskObject": "object"}, OBJECT)
    heap.text(256, b"words")
    heap.add(288, "java.lang.String", value=256, coder=0)
    for number in range(tuples):
        heap.add(4096 + 32 * number, f"{prefix}.tuple.TupleImpl", streamId=288, context=0)
    heap.add(96, "java.util.ArrayList", size=tuples, elementData=128)
    heap.array(128, "[Ljava.lang.Object;", *(4096 + 32 * number for number in range(tuples)), 0, 0)
    return heap


def held(heap: Heap, folder: Path) -> list[tuple[str, str, int, bool]]:
    dump = read(heap, folder)
    assert judge.findings(dump) == ()  # a heap does not show whether they are acked
    return [(buffer.path, buffer.owner, buffer.entries, buffer.more) for buffer in dump.buffers]


@pytest.mark.parametrize("prefix", ["org.apache.storm", "backtype.storm"])
def test_the_field_of_a_bolt_that_leads_to_tuples_is_named(prefix, tmp_path):
    heap = worker(prefix=prefix)
    heap.add(64, "com.acme.Sink", waiting=96, size=3, collector=0)
    assert held(heap, tmp_path) == [("Sink.waiting", "", TUPLES, False)]
    [buffer] = read_dump(tmp_path / "worker.hprof").buffers
    assert (buffer.groups, buffer.looked_at) == ({"words": TUPLES}, TUPLES)


def test_a_task_names_its_component_for_any_base_class(tmp_path):
    heap = worker()
    heap.add(64, "com.acme.Plain", batch=96)
    heap.add(320, "org.apache.storm.daemon.Task", componentId=288, taskObject=64)
    assert held(heap, tmp_path) == [("Plain.batch", "words", TUPLES, False)]


def test_tuples_that_storm_holds_are_not_held_by_the_bolt(tmp_path):
    heap = worker()
    heap.add(64, "com.acme.Sink", waiting=0, size=3, collector=352)
    heap.add(352, "org.apache.storm.task.OutputCollector", delegate=96)
    assert held(heap, tmp_path) == []


def test_only_bolts_are_searched(tmp_path):
    heap = worker()
    heap.add(64, "com.acme.Plain", batch=96)
    assert held(heap, tmp_path) == []


def test_the_holder_of_few_tuples_is_not_searched(tmp_path):
    heap = worker(TUPLES - 1)
    heap.add(64, "com.acme.Sink", waiting=96, size=3, collector=0)
    assert held(heap, tmp_path) == []


def test_an_incomplete_search_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(heap_dump, "_MOST_IN_ALL", 500)
    heap = worker()
    heap.add(64, "com.acme.Sink", waiting=96, size=3, collector=0)
    [(path, _, entries, more)] = held(heap, tmp_path)
    assert (path, entries < TUPLES, more) == ("Sink.waiting", True, True)


def test_a_late_field_is_found_behind_a_large_one(tmp_path, monkeypatch):
    monkeypatch.setattr(heap_dump, "_MOST_PER_FIELD", 100)
    heap = worker()
    heap.add(64, "com.acme.Sink", waiting=96, size=3, collector=0)
    heap.add(320, "com.acme.Plain", batch=352)
    heap.add(352, "java.util.ArrayList", size=1, elementData=384)
    heap.array(384, "[Ljava.lang.Object;", 4096)
    heap.add(416, "org.apache.storm.daemon.Task", componentId=288, taskObject=64)
    heap.add(448, "org.apache.storm.daemon.Task", componentId=0, taskObject=320)
    assert held(heap, tmp_path) == [
        ("Sink.waiting", "words", TUPLES, False),
        ("Plain.batch", "", 1, False),
    ]


def test_fields_beside_a_large_table_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(heap_dump, "_MOST_BEFORE_TUPLE", 20)
    heap = worker()
    heap.declare("java.util.HashMap", {"table": "object"}, OBJECT)
    heap.declare("java.util.HashMap$Node", {"next": "object", "value": "object"}, OBJECT)
    heap.array(512, "[Ljava.lang.Object;", *(0x10000 + 64 * number for number in range(TUPLES)))
    for number in range(TUPLES):
        following = 0x10000 + 64 * (number + 1) if number + 1 < TUPLES else 0
        heap.add(0x10000 + 64 * number, "java.util.HashMap$Node", next=following, value=4096 + 32 * number)
    heap.add(480, "java.util.HashMap", table=512)
    heap.add(64, "com.acme.Sink", waiting=480, size=3, collector=0)
    assert held(heap, tmp_path) == [("Sink.waiting", "", TUPLES, False)]
