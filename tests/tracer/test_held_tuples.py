"""The field that holds an open tuple."""

from collections import defaultdict, deque
from queue import Queue
from typing import Any
from unittest.mock import Mock

from pystorm.component import Tuple

from ackdoctor.tracer.components import NODES, fields_holding


class Component:
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


class Buffer:
    def __init__(self, *tups: Any) -> None:
        self.rows = list(tups)


class Trap:
    @property
    def id(self) -> str:
        raise AssertionError("the tracer must not run this")


def tup(delivery: str) -> Any:
    return Tuple(delivery, "spout", "default", 4, ("a", [1]))


def test_tuples_are_found_in_fields_of_any_type():
    queue: Queue[Any] = Queue()
    queue.put(tup("queue"))
    nested = defaultdict(list, {"key": [(1.5, tup("nested"))]})
    component = Component(
        plain=tup("plain"),
        queue=queue,
        nested=nested,
        own=Buffer(tup("own")),
        ring=deque([tup("ring")], maxlen=3),
    )
    wanted = {"plain", "queue", "nested", "own", "ring", "nowhere"}
    assert fields_holding(component, wanted) == {name: name for name in wanted - {"nowhere"}}


def test_bare_ids_are_found_only_on_demand():
    component = Component(counts={"7": 1}, seen=["8"], known={"9"}, numbers=[10], kept=tup("8"))
    wanted = {"7", "8", "9", 10}
    assert fields_holding(component, wanted) == {"8": "kept"}
    assert fields_holding(component, wanted, ids=True) == {
        "7": "counts",
        "8": "seen",
        "9": "known",
        10: "numbers",
    }


def test_the_calls_of_a_mock_are_no_buffer():
    store = Mock()
    store.save(tup("1"))
    assert fields_holding(Component(store=store, stores=[store]), {"1"}) == {}


def test_cycles_properties_and_unhashable_objects_do_no_harm():
    ring: list[Any] = [Trap(), {1: [2]}, ([1], 2)]
    ring.append(ring)
    assert fields_holding(Component(ring=ring, tup=tup("1")), {"1"}) == {"1": "tup"}


def test_the_walk_is_bounded():
    assert fields_holding(Component(big=list(range(NODES * 2)), tup=tup("1")), {"1"}) == {}


def test_a_component_without_fields_holds_nothing():
    assert fields_holding(object(), {"1"}) == {}
