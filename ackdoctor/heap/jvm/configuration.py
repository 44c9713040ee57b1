"""Read a topology's configuration out of the contexts of its tasks.

TopologyContext._stormConf (topoConf from 2.x on) -> a map of String to anything:
java.util.HashMap.table -> nodes; in 1.x clojure.lang.PersistentArrayMap.array, or PersistentHashMap.root ->
BitmapIndexedNode.array [key value | null node], ArrayNode.array [node], HashCollisionNode.array [key value]
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ackdoctor.heap.jvm.objects import Objects

__all__ = ["settings_of"]


_CONFS = ("_stormConf", "_topoConf", "topoConf", "stormConf")
_MOST_CONTEXTS = 200
_MOST = 5_000  # settings of one map, nodes on the way to them
_NUMBERS = {"java.lang.Integer", "java.lang.Long", "java.lang.Short"}


def settings_of(
    contexts: Iterable[int], names: Iterable[str], objects: Objects
) -> Mapping[str, Counter[int]]:
    """Numbers and booleans (0, 1) by setting: each value, and in how many configurations it is."""
    wanted = frozenset(names)
    found: dict[str, Counter[int]] = {name: Counter() for name in wanted}
    fields = map(objects.fields, islice(contexts, _MOST_CONTEXTS))
    confs = dict.fromkeys(each[name] for each in fields for name in _CONFS if each.get(name))
    for conf in confs:
        for key, value in islice(_items(conf, objects), _MOST):
            name = objects.text(key)
            if name not in wanted:
                continue
            number = objects.fields(value).get("value")
            if number is not None and objects.class_name(value) in {*_NUMBERS, "java.lang.Boolean"}:
                found[name][int(number)] += 1
    return found


def _items(map_id: int, objects: Objects) -> Iterator[tuple[int, int]]:
    """Keys and values of a map of Java's or Clojure's, as ids."""
    fields = objects.fields(map_id)
    if "m" in fields and "table" not in fields:  # Collections.unmodifiableMap
        fields = objects.fields(fields["m"])
    if "table" in fields:
        yield from _nodes(fields["table"], objects)
    elif "root" in fields:
        yield from _clojure(fields["root"], objects)
    elif "array" in fields:
        elements = list(islice(objects.elements(fields["array"]), _MOST))
        yield from zip(elements[::2], elements[1::2], strict=False)


def _nodes(table: int, objects: Objects) -> Iterator[tuple[int, int]]:
    left = _MOST
    for head in islice(objects.elements(table), _MOST):
        at = head
        while at and left:
            left -= 1
            node = objects.fields(at)
            if "key" not in node:
                break
            yield node["key"], node.get("value", node.get("val", 0))
            at = node.get("next", 0)


def _clojure(root: int, objects: Objects) -> Iterator[tuple[int, int]]:
    waiting, left = [root], _MOST
    while waiting and left:
        left -= 1
        node = waiting.pop()
        name = objects.class_name(node).rpartition("$")[2]
        elements = list(islice(objects.elements(objects.fields(node).get("array", 0)), _MOST))
        if name == "ArrayNode":
            waiting += filter(None, elements)
            continue
        for key, value in zip(elements[::2], elements[1::2], strict=False):
            if key:
                yield key, value
            elif value:
                waiting.append(value)
