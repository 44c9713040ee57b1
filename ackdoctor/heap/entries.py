"""Entries of an acker's pending map, read as columns: AckObjects of Storm 2.x and JStorm, Clojure maps of 1.x."""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum, unique
from itertools import compress
from struct import Struct

from ackdoctor.heap.hprof import BOOLEAN, INT, LONG, OBJECT, Heads
from ackdoctor.heap.objects import COMPRESSED, Objects
from ackdoctor.heap.sweep import LONGEST_ARRAY, Classes, Oops, Rows, Taker, Takers


@unique
class Kind(IntEnum):
    """The kind of an entry, as far as the heap shows it."""

    WAITING = 0  # a spout task is known: a tree under way, or one that has timed out
    ORPHAN = 1  # no spout task, and a value that is not zero
    ZERO = 2  # no spout task, value zero
    FAILED = 3  # no spout task, failed
    NIL = 4  # no spout task and no value: 1.x, after a reset
    OTHER = 5  # not an entry of an acker


STORM = r"(?:org\.apache|backtype)\.storm\."
_ACK_OBJECT = re.compile(rf"{STORM}daemon\.Acker\$AckObject|com\.alibaba\.jstorm\.task\.acker\.AckObject")
# bytes per entry, by "compressed oops"; an entry of JStorm has eight bytes less
_JAVA: Mapping[bool, int] = {True: 104, False: 120}
# (bytes with compressed oops, bytes without)
_CLOJURE: Mapping[Kind, tuple[int, int]] = {
    Kind.WAITING: (200, 248),
    Kind.ORPHAN: (144, 176),
    Kind.ZERO: (120, 152),
    Kind.FAILED: (120, 152),
    Kind.NIL: (64, 80),
}
_WAITING, _ORPHAN, _ZERO, _FAILED, _NIL, _OTHER = map(int, Kind)  # plain ints are faster
_NO_TASK = -1
NIL_ROW = 0xFFFFFFFF  # the row of a node without a value
_TIMES = 1 << 43  # a Long below this is a time or small; one root id in a million is below it


def entry_bytes(kind: Kind, oops: Oops, *, clojure: bool) -> int:
    """Return the bytes of one entry, including its share of the hash table; 0 if not measured."""
    compressed = oops.reference == COMPRESSED.reference
    if not clojure:
        return 0 if kind is Kind.OTHER else _JAVA[compressed]
    return _CLOJURE.get(kind, (0, 0))[not compressed]


class AckObjects:
    """Entries of Storm 2.x and JStorm: a row for every AckObject; rows of JStorm lack start and task."""

    clojure = False

    def __init__(self) -> None:
        self.rows = Rows("Bqi")  # kind, start, task

    def takers(self, classes: Classes) -> Takers:
        """Return the takers of the first pass: all AckObjects."""
        takers: dict[int, Taker] = {}
        for class_id in [each for each, name in classes.names.items() if _ACK_OBJECT.fullmatch(name)]:
            if any(name == "startTime" for name, _ in classes.fields(class_id)):
                types = {"val": LONG, "startTime": LONG, "spoutTask": INT, "failed": BOOLEAN}
                takers |= classes.takers([class_id], self._take, **types)
            else:
                types = {"val": 0, "spout_task": OBJECT, "failed": BOOLEAN}
                takers |= classes.takers([class_id], self._take_of_jstorm, **types)
        return takers

    def _take(
        self,
        ids: Sequence[int],
        vals: Sequence[int],
        starts: Sequence[int],
        tasks: Sequence[int],
        fails: Sequence[bool],
    ) -> None:
        kinds = [
            _WAITING if task != _NO_TASK else _FAILED if failed else _ORPHAN if val else _ZERO
            for val, task, failed in zip(vals, tasks, fails, strict=True)
        ]
        self.rows.extend(ids, kinds, starts, tasks)

    def _take_of_jstorm(
        self, ids: Sequence[int], vals: Sequence[int], tasks: Sequence[int], fails: Sequence[bool]
    ) -> None:
        self._take(ids, vals, [0] * len(ids), [0 if task else _NO_TASK for task in tasks], fails)

    def takers_of_walk(self, objects: Objects) -> Takers:
        """Return no takers: the first pass has read everything."""
        del objects
        return {}

    def sort(self) -> None:
        """Sort the rows, so that they can be found by id."""
        self.rows.sort()

    def read(self, rows: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Return kinds, start times (0: unknown) and spout tasks of some rows."""
        kinds, starts, tasks = ([column[row] for row in rows] for column in self.rows.columns)
        return kinds, starts, tasks

    def read_one(self, id_: int, objects: Objects) -> tuple[int | None, int | None, bool, int]:
        """Return value, task, failed and start of one entry."""
        fields = objects.fields(id_)
        task = fields.get("spoutTask", objects.fields(fields.get("spout_task", 0)).get("value", _NO_TASK))
        return (
            fields.get("val"),
            None if task == _NO_TASK else task,
            bool(fields.get("failed")),
            fields.get("startTime", 0),
        )


class ClojureMaps:
    """Entries of Storm 1.x: PersistentArrayMaps, the arrays that begin with a keyword, and Longs that are zero or a time."""

    clojure = True

    def __init__(self) -> None:
        self.rows = Rows("Q")  # array
        self._keywords: set[int] = set()
        self._arrays = Rows("BQQQ")  # kind, and the ids of value, start and task
        self._shapes: dict[tuple[int, ...], tuple[Kind, list[int]] | None] = {}  # by the keys of an array
        self._zeros: set[int] = set()
        self._times = Rows("q")

    def takers(self, classes: Classes) -> Takers:
        """Return the takers of the first pass: all array maps and keywords."""
        maps = classes.named("clojure.lang.PersistentArrayMap")
        return {
            **classes.takers(classes.named("clojure.lang.Keyword"), self._keywords.update),
            **classes.takers(maps, self.rows.extend, array=OBJECT),
        }

    def takers_of_walk(self, objects: Objects) -> Takers:
        """Return takers of arrays that begin with a keyword, and of Longs that may be zero or a time."""
        classes = objects.classes
        arrays = dict.fromkeys(classes.named("java.lang.Object[]"), self._array_taker(objects))
        return arrays | classes.takers(classes.named("java.lang.Long"), self._take_longs, value=LONG)

    def _take_longs(self, ids: Sequence[int], values: Sequence[int]) -> None:
        times = [0 < value < _TIMES for value in values]
        self._times.extend(compress(ids, times), compress(values, times))
        if 0 in values:
            self._zeros.update(id_ for id_, value in zip(ids, values, strict=True) if not value)

    def _array_taker(self, objects: Objects) -> Taker:
        heads = Heads(objects.dump.id_size)
        code, between = "Q" if heads.half else "I", heads.read.size - 1 - heads.width
        forms = [Struct(f">x{code}{between}x{length}{code}") for length in range(LONGEST_ARRAY + 1)]

        def take(data: bytes, places: Sequence[int]) -> None:
            found = []
            for at in places:
                form = forms[heads.read.unpack_from(data, at)[1] >> heads.half]
                if at + form.size > len(data):  # the file ends within the array
                    continue
                row = form.unpack_from(data, at)
                if len(row) % 2 and row[1:] and row[1] in self._keywords:
                    keys, values = row[1::2], (*row[2::2], 0)
                    if keys not in self._shapes:
                        self._shapes[keys] = _shape(keys, objects)
                    if shape := self._shapes[keys]:
                        found.append((row[0], shape[0], *(values[place] for place in shape[1])))
            if found:
                self._arrays.extend(*zip(*found, strict=True))

        return take

    def sort(self) -> None:
        """Sort the rows, so that they can be found by id."""
        for each in (self.rows, self._arrays, self._times):
            each.sort()

    def read(self, rows: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Return kinds, start times (0: unknown) and ids of the spout tasks of some rows."""
        refer = self.rows.columns[0]
        places = self._arrays.find(refer[row] if row != NIL_ROW else 0 for row in rows)
        kinds, vals, starts, tasks = (
            [column[place] if place >= 0 else 0 for place in places] for column in self._arrays.columns
        )
        for at, (row, place) in enumerate(zip(rows, places, strict=True)):
            if place < 0:
                kinds[at] = _NIL if row == NIL_ROW else _OTHER
            elif kinds[at] == _ORPHAN and vals[at] in self._zeros:
                kinds[at] = _ZERO
        times = self._times.columns[0]
        return kinds, [times[place] if place >= 0 else 0 for place in self._times.find(starts)], tasks

    def read_one(self, id_: int, objects: Objects) -> tuple[int | None, int | None, bool, int]:
        """Return value, task, failed and start of one entry; unknown keys are ignored."""
        elements = list(objects.elements(objects.field(id_, "array")))
        found = {
            _keyword(key, objects): objects.fields(value).get("value")
            for key, value in zip(elements[::2], elements[1::2], strict=False)
        }
        return found.get("val"), found.get("spout-task"), "failed" in found, found.get("start-time") or 0


Entries = AckObjects | ClojureMaps


def _shape(keys: Sequence[int], objects: Objects) -> tuple[Kind, list[int]] | None:
    """Return the kind of an array with these keys, and the places of value, start and task, -1 for none.

    Returns None for other maps: an entry may lack keys, but has no unknown ones.
    """
    names = [_keyword(key, objects) for key in keys]
    if not set(names) <= {"val", "spout-task", "failed", "start-time"}:
        return None
    kind = Kind.ORPHAN if "val" in names else Kind.NIL
    if "spout-task" in names:
        kind = Kind.WAITING
    elif "failed" in names:
        kind = Kind.FAILED
    places = [names.index(name) if name in names else -1 for name in ("val", "start-time", "spout-task")]
    return kind, places


def _keyword(id_: int, objects: Objects) -> str:
    """Return the name of a clojure.lang.Keyword; '' for anything else."""
    return objects.text(objects.field(id_, "sym", "name"))
