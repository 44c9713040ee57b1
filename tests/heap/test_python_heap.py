"""Containers of known owners: paths and sizes."""

import gc
from collections import OrderedDict, deque

import pytest
from guppy import hpy
from pystorm import Bolt
from pystorm.spout import Spout

from ackdoctor.acker.acker import StormAcker, make_acker
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.heap.python_heap import ACKER, BOLT, EXACT, SPOUT, Owner, containers, weigh
from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.model.acker import AckInit, Tick
from tests.heap.shortest import shortest_path


def filled(entries: int, version: str = "storm-2.8") -> StormAcker:
    acker = make_acker(profile(version), VirtualClock())
    assert isinstance(acker, StormAcker)
    for number in range(entries):
        acker.receive(AckInit(10**12 + number * 7919, 10**10 + number, 3))
    return acker


def paths(owner: Owner) -> dict[str, int]:
    return {each.path: len(each.value) for each in containers(owner)}


class Box:
    """An owner with one field."""

    def __init__(self, kept: object) -> None:
        self.kept = kept


class Slotted:
    __slots__ = ("__hidden", "never_set", "rows")

    def __init__(self) -> None:
        self.rows = list(range(3))
        self.__hidden = [1, 2, 3, 4]


def held(kept: object) -> dict[str, int]:
    return paths(Owner(name="Box", kind=BOLT, value=Box(kept)))


def test_the_entries_of_an_acker_are_in_its_buckets():
    acker = filled(3)
    acker.receive(Tick())
    acker.receive(AckInit(1, 2, 3))
    assert paths(Owner(name="acker", kind=ACKER, value=acker)) == {
        "acker._pending._buckets[0]": 1,
        "acker._pending._buckets[1]": 3,
    }


@pytest.mark.parametrize("entries", [100, 20_000])
def test_the_path_is_the_one_that_guppy_finds(entries):
    acker = filled(entries)
    (ours,) = containers(Owner(name="acker", kind=ACKER, value=acker))
    assert ours.path == shortest_path(acker, ours.value, "acker") == "acker._pending._buckets[0]"
    entry = ours.value[10**12]
    assert ours.first == shortest_path(acker, entry, "acker") == "acker._pending._buckets[0][1000000000000]"


def test_the_paths_to_spout_buffers_and_bolt_fields_are_those_of_guppy():
    class Words(Spout):
        def initialize(self, storm_conf, context):
            self.buffer = {}

        def next_tuple(self):
            self.buffer[len(self.buffer)] = ["word"]
            self.emit(["word"], tup_id=len(self.buffer))

    class Groups(Bolt):
        auto_ack = False

        def initialize(self, conf, context):
            self.groups: dict[str, deque[object]] = {"a": deque(), "b": deque()}

        def process(self, tup):
            self.groups["b"].append(tup)

    with SpoutBench(Words) as spout, Bench(Groups) as bolt:
        for _ in range(30):
            spout.next_tuple()
            bolt.feed("word")
        assert paths(Owner(name="Words", kind=SPOUT, value=spout.component)) == {"Words.buffer": 30}
        assert shortest_path(spout.component, spout.component.buffer, "Words") == "Words.buffer"
        found = paths(Owner(name="Groups", kind=BOLT, value=bolt.component))
        assert found["Groups.groups['b']"] == 30


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (list(range(5)), {"Box.kept": 5}),
        (OrderedDict.fromkeys(range(5)), {"Box.kept": 5}),
        ({1, 2, 3}, {"Box.kept": 3}),
        ({"a": [1, 2, 3], "b": [1]}, {"Box.kept['a']": 3}),  # the list of one is less than the dict of two
        ({number: [number] for number in range(9)}, {"Box.kept": 9}),
        ([[0] * 100, [0] * 100], {"Box.kept[0]": 100, "Box.kept[1]": 100}),
        (Box({"x": 1}), {"Box.kept.kept": 1}),
        (Slotted(), {"Box.kept.rows": 3, "Box.kept._Slotted__hidden": 4}),
        ({Box(1): [1, 2]}, {"Box.kept[<Box>]": 2}),
        ({"x" * 50: [1, 2]}, {"Box.kept['" + "x" * 36 + "...]": 2}),
        ([], {}),
    ],
)
def test_entries_are_counted_at_their_container(kept, expected):
    assert held(kept) == expected


def test_a_container_in_itself_is_walked_once():
    kept: list[object] = [1, 2]
    kept.append(kept)
    assert held(kept) == {"Box.kept": 3}


def test_loggers_modules_and_classes_are_not_walked():
    import logging

    assert held([logging.getLogger(), logging, Box]) == {"Box.kept": 3}


def test_only_a_sample_of_many_items_is_walked():
    looked = []

    class Row(list):  # type: ignore[type-arg]
        def __iter__(self):
            looked.append(id(self))
            return super().__iter__()

    rows = [Row([1]) for _ in range(10_000)]
    assert held(rows) == {"Box.kept": 10_000}
    assert len(looked) == 3


# ---- weight ----


def test_the_weight_is_the_dominated_size_of_guppy():
    acker = filled(2_000)
    gc.collect()
    ours = weigh(acker._pending._buckets[0], {id(acker)})
    assert ours.what == "int: AckObject"
    assert ours.exact
    assert ours.size == hpy().iso(acker._pending._buckets[0]).domisize


def test_only_a_sample_of_many_entries_is_weighed():
    acker = filled(EXACT * 2)
    ours = weigh(acker._pending._buckets[0], {id(acker)})
    assert not ours.exact
    assert ours.size == pytest.approx(hpy().iso(acker._pending._buckets[0]).domisize, rel=0.01)


def test_an_object_that_entries_share_is_weighed_once():
    shared = "x" * 10_000
    one, many = [[shared]], [[shared] for _ in range(100)]
    assert weigh(many, ()).size - weigh(one, ()).size < 100 * 120
