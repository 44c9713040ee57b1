"""A pass counts every object and passes it to its taker; `Rows` finds the same rows as a dict."""

from array import array
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.heap.hprof import Hprof
from ackdoctor.heap.sweep import Rows, sweep
from tests.heap.hprof_writer import Heap

KINDS = ("Point", "Pair", "[LPoint;", "byte[]")
PHRASES = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 3)), min_size=1, max_size=4)


def heap_of(phrases, id_size):
    """Objects in the order of the phrases, each so many times; of a kind and a length."""
    heap = Heap(id_size)
    heap.declare("Point", {"x": "int", "y": "long"})
    heap.declare("Pair", {"left": "object", "right": "object", "sure": "boolean"})
    heap.declare("[LPoint;")
    objects = [each for phrase, times in phrases for each in phrase * times]
    for number, (kind, length) in enumerate(objects):
        id_ = 0x8000_0000 + 8 * number
        if kind == "Point":
            heap.add(id_, kind, x=-number, y=number * number)
        elif kind == "Pair":
            heap.add(id_, kind, left=id_ - 8, right=0, sure=number % 2)
        elif kind == "byte[]":
            heap.text(id_, b"!" * length)
        else:
            heap.array(id_, kind, *[id_] * length)
    return heap, objects


@given(st.lists(st.tuples(PHRASES, st.integers(1, 200)), min_size=1, max_size=5), st.sampled_from([4, 8]))
def test_every_object_is_counted_and_handed_out_once(tmp_path_factory, phrases, id_size):
    heap, objects = heap_of(phrases, id_size)
    file = tmp_path_factory.mktemp("heap") / "worker.hprof"
    file.write_bytes(heap.hprof())
    taken: dict[str, list[tuple[int, ...]]] = {"Point": [], "Pair": [], "Point[]": []}

    def choose(classes):
        def taker(name, *fields):
            def take(*columns):
                taken[name].extend(zip(*columns, strict=True))

            return classes.takers(classes.named(name), take, **dict.fromkeys(fields, 0))

        return taker("Point", "y", "x") | taker("Pair", "sure", "left") | taker("Point[]")

    with Hprof(file) as dump:
        census = sweep(dump, choose)
    of = {
        census.classes.name(id_): amount
        for id_, amount in [*census.instances.items(), *census.arrays.items()]
    }
    counted = Counter(kind for kind, _ in objects)
    assert of == {
        {"[LPoint;": "Point[]"}.get(kind, kind): amount
        for kind, amount in counted.items()
        if kind != "byte[]"
    }
    assert dict(census.primitives) == ({8: counted["byte[]"]} if counted["byte[]"] else {})
    assert dict(census.numbers) == (
        {8: sum((length + 7) // 8 * 8 for kind, length in objects if kind == "byte[]")}
        if counted["byte[]"]
        else {}
    )
    ids = [(0x8000_0000 + 8 * number, number, kind) for number, (kind, _) in enumerate(objects)]
    assert {name: sorted(rows) for name, rows in taken.items()} == {
        "Point": [(id_, number * number, -number) for id_, number, kind in ids if kind == "Point"],
        "Pair": [(id_, number % 2, id_ - 8) for id_, number, kind in ids if kind == "Pair"],
        "Point[]": [(id_,) for id_, _, kind in ids if kind == "[LPoint;"],
    }


IDS = st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 400), unique=True)


@given(IDS, st.lists(st.integers(0, 500)), st.integers(1, 5))
def test_every_id_is_found_in_its_row_and_no_other(ids, strangers, at_once):
    rows = Rows("q")
    for first in range(0, len(ids), at_once):
        part = ids[first : first + at_once]
        rows.extend(array("Q", part), array("q", range(first, first + len(part))))
    rows.sort()
    values = rows.columns[0]
    assert [values[place] for place in rows.find(ids)] == list(range(len(ids)))
    assert [values[place] for place in rows.find(sorted(ids))] == sorted(range(len(ids)), key=ids.__getitem__)
    foreign = [id_ for id_ in strangers if id_ not in ids]
    assert list(rows.find(foreign)) == [-1] * len(foreign)
