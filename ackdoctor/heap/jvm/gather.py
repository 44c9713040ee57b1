"""The entries of ackers in millions, as columns: 2.x's AckObjects and 1.x's Clojure maps.

    2.x   Acker$AckObject {val startTime spoutTask failed}
    1.x   PersistentArrayMap.array -> [:val Long :spout-task Integer :start-time Long :failed Boolean], as many as are known

What an entry is fits one byte: its kind, and whether it is old.  2.x's are known after the first pass; 1.x's
need the arrays and the Longs, which the second pass collects.
"""

from array import array
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ackdoctor.heap.jvm.entries import Kind, kind_of
from ackdoctor.heap.jvm.layout import Classes
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.rows import Rows
from ackdoctor.heap.jvm.sweep import Take, TakeArray

__all__ = ["NIL_ROW", "OLD", "AckObjects", "ClojureMaps", "Entries"]

OLD = 8  # added to a kind
NIL_ROW = 0xFFFFFFFF  # of a node without a value
_NO_TASK = -1
_PAIR = 2
_MOST_ELEMENTS = 16  # of a Clojure array map; an acker's has eight at most
_TIMES = 1 << 43  # a Long below that is a time, or small: an id is below it once in a million


class AckObjects:
    """2.x: a byte for every AckObject; `oldest` is the least start of all, in ms."""

    clojure = False

    def __init__(self, old_before_ms: int) -> None:
        self.rows = Rows("B")
        self.oldest = 0
        self._old_before = old_before_ms

    def taker(self, classes: Classes, class_id: int) -> Take:
        """Takes an instance; KeyError if the class has not the fields of an AckObject."""
        reader, places = classes.unpacker(class_id)
        val, start, task, failed = (places[name] for name in ("val", "startTime", "spoutTask", "failed"))
        push_id, push_code = self.rows.push
        unpack, old_before, least = reader.unpack_from, self._old_before, 1 << 63

        def take(data: bytes, at: int) -> None:
            nonlocal least
            fields = unpack(data, at)
            push_id(fields[0])
            if fields[task] != _NO_TASK:
                code = 0
            elif fields[failed]:
                code = 3
            else:
                code = 1 if fields[val] else 2
            began = fields[start]
            if began < old_before:
                code |= OLD
            push_code(code)
            if 0 < began < least:
                least = began
                self.oldest = min(self.oldest or began, began)

        return take

    def takers(self, classes: Classes) -> tuple[Mapping[int, Take], Mapping[int, TakeArray]]:
        """Nothing more is needed of the second pass."""
        del classes
        return {}, {}

    def codes(self, objects: Objects) -> "array[int]":
        """A byte for each row."""
        del objects
        return self.rows.columns[0]

    def plain(self, id_: int, objects: Objects) -> tuple[int | None, int | None, bool, int]:
        """Value, task, failed and start of one entry."""
        fields = objects.fields(id_)
        task = fields.get("spoutTask", _NO_TASK)
        return (
            fields.get("val"),
            None if task == _NO_TASK else task,
            bool(fields.get("failed")),
            fields.get("startTime", 0),
        )


class _Shape(NamedTuple):
    """Which value of an array belongs to which of the acker's keywords; -1 for none."""

    val: int
    task: int
    failed: int
    start: int


class ClojureMaps:
    """1.x: every PersistentArrayMap with its array; the keywords, the arrays that begin with one, and small Longs."""

    clojure = True

    def __init__(self, old_before_ms: int) -> None:
        self.rows = Rows("Q")
        self.oldest = 0
        self._old_before = old_before_ms
        self._keywords: set[bytes] = set()
        self._arrays = Rows("QH")  # where in `_flat`, which keys
        self._flat = array("Q")
        self._shapes: dict[bytes, int] = {}  # the keys of an array -> a number
        self._longs = Rows("q")

    def taker(self, classes: Classes, class_id: int) -> Take:
        """Takes the reference to the array."""
        reader, places = classes.unpacker(class_id)
        place, unpack = places["array"], reader.unpack_from
        push_id, push_array = self.rows.push

        def take(data: bytes, at: int) -> None:
            fields = unpack(data, at)
            push_id(fields[0])
            push_array(fields[place])

        return take

    def keyword_taker(self, width: int) -> Take:
        """Takes the id of a keyword, as bytes."""
        add = self._keywords.add
        return lambda data, at: add(data[at + 1 : at + 1 + width])

    def takers(self, classes: Classes) -> tuple[Mapping[int, Take], Mapping[int, TakeArray]]:
        """Arrays that begin with a keyword, and Longs that may be zero or a time."""
        longs = {each: self._long_taker(classes, each) for each in classes.named("java.lang.Long")}
        arrays = {each: self._array_taker(classes.id_size) for each in classes.named("java.lang.Object[]")}
        return longs, arrays

    def _long_taker(self, classes: Classes, class_id: int) -> Take:
        reader, places = classes.unpacker(class_id)
        unpack, place = reader.unpack_from, places["value"]
        push_id, push_value = self._longs.push

        def take(data: bytes, at: int) -> None:
            fields = unpack(data, at)
            if 0 <= fields[place] < _TIMES:
                push_id(fields[0])
                push_value(fields[place])

        return take

    def _array_taker(self, width: int) -> TakeArray:
        push_id, push_place, push_shape = self._arrays.push
        flat, shapes, keywords = self._flat, self._shapes, self._keywords
        head, whole = 1 + width + 4 + 4 + width, int.from_bytes

        def take(data: bytes, at: int, length: int) -> None:
            first = at + head
            if length > _MOST_ELEMENTS or length % 2 or data[first : first + width] not in keywords:
                return
            end = first + length * width
            keys = (
                data[first : first + width]
                if length == _PAIR
                else b"".join(data[each : each + width] for each in range(first, end, 2 * width))
            )
            push_id(whole(data[at + 1 : at + 1 + width], "big"))
            push_place(len(flat))
            push_shape(shapes.setdefault(keys, len(shapes)))
            for each in range(first + width, end, 2 * width):
                flat.append(whole(data[each : each + width], "big"))

        return take

    def codes(self, objects: Objects) -> "array[int]":
        """A byte for each row, now that arrays and Longs are known."""
        find_array, find_long = self._arrays.sort(), self._longs.sort()
        places, numbers = self._arrays.columns
        values, flat = self._longs.columns[0], self._flat
        shapes = [_shape(keys, objects) for keys in self._shapes]
        codes = array("B")
        for array_id in self.rows.columns[0]:
            row = find_array(array_id)
            shape = shapes[numbers[row]] if row >= 0 else None
            if shape is None:
                codes.append(Kind.OTHER)
                continue
            place = places[row]
            code = _code(shape, place, flat, find_long, values)
            if shape.start >= 0 and (at := find_long(flat[place + shape.start])) >= 0:
                began = values[at]
                code += OLD if began < self._old_before else 0
                if not 0 < self.oldest <= began:
                    self.oldest = began
            codes.append(code)
        return codes

    def plain(self, id_: int, objects: Objects) -> tuple[int | None, int | None, bool, int]:
        """Value, task, failed and start of one entry; keys that are none of the acker's are passed over."""
        elements = list(objects.elements(objects.fields(id_).get("array", 0)))
        found = {
            keyword(key, objects): objects.fields(value).get("value")
            for key, value in zip(elements[::2], elements[1::2], strict=False)
        }
        return found.get("val"), found.get("spout-task"), "failed" in found, found.get("start-time") or 0


Entries = AckObjects | ClojureMaps


def _code(
    shape: _Shape, place: int, flat: "array[int]", find: Callable[[int], int], values: "array[int]"
) -> int:
    """The kind; the value itself is of no matter, but whether it is zero is."""
    value: int | None = None
    if shape.val >= 0:
        at = find(flat[place + shape.val])
        value = 1 if at < 0 else values[at]
    return kind_of(value, 0 if shape.task >= 0 else None, failed=shape.failed >= 0)


def _shape(keys: bytes, objects: Objects) -> _Shape | None:
    """None where the keys are not those of an acker's entry."""
    width = objects.id_size
    names = [
        keyword(int.from_bytes(keys[at : at + width], "big"), objects) for at in range(0, len(keys), width)
    ]
    if not set(names) <= {"val", "spout-task", "failed", "start-time"}:
        return None
    return _Shape(
        *(
            names.index(name) if name in names else -1
            for name in ("val", "spout-task", "failed", "start-time")
        )
    )


def keyword(id_: int, objects: Objects) -> str:
    """What a clojure.lang.Keyword is called, '' for anything else."""
    symbol = objects.fields(objects.fields(id_).get("sym", 0))
    return objects.text(symbol.get("name", 0))
