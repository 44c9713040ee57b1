"""Which field of a Java bolt leads to tuples, and to how many: a walk from the bolt, over what is not Storm's own.

In 2.x a `Task` has the bolt as its `taskObject`, and the component's name; where there are none (1.x and before), a bolt
is known by its base class, and one that only implements an interface is not, since a dump does not tell of interfaces.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from ackdoctor.heap.jvm.ackers import Holder, Roles, short
from ackdoctor.heap.jvm.layout import OBJECT, Classes
from ackdoctor.heap.jvm.objects import Objects
from ackdoctor.heap.jvm.records import INSTANCE, OBJECTS

__all__ = ["TUPLES", "bolts"]

TUPLES = frozenset({"org.apache.storm.tuple.TupleImpl", "backtype.storm.tuple.TupleImpl"})
# Storm's own that keep what a bolt gives them: its windows, its batches; the rest leads everywhere
_KEEPS = re.compile(
    r"(?:org\.apache|backtype)\.storm\.(?:windowing\..*|topology\.\w*Executor|utils\.(?:RotatingMap|TimeCacheMap|BatchHelper)\b.*)"
)
_ELSEWHERE = re.compile(
    r"(?:org\.apache|backtype)\.storm\..*|java\.lang\.(?:Thread|ClassLoader|String|Class|ref\..*)|sun\..*|jdk\..*"
)
_NEIGHBOURS = frozenset({"next", "prev", "after", "before", "left", "right", "parent"})
_FEW = 1_000  # objects that are looked at below a field before the first tuple is met
_SOME = 3_000  # below each field
_ALL = 150_000  # those below the fields that lead to more share what is left


def bolts(found: Roles, classes: Classes, objects: Objects) -> Iterator[Holder]:
    """The fields that lead to tuples, each bolt's in the order of its class."""
    names: dict[int, str] = {}
    for task in found.tasks:
        fields = objects.fields(task)
        names[fields.get("taskObject", 0)] = objects.text(fields.get("componentId", 0))
    walks = []
    left = _ALL
    for bolt in dict.fromkeys((*names, *found.bolts)):
        for walk in _of_bolt(bolt, classes, objects):
            walk.go(min(left, _SOME))
            left -= walk.looked_at
            if walk.tuples:
                walks.append((bolt, walk))
    unended = [walk for _, walk in walks if walk.more]
    for walk in unended:
        walk.go(walk.looked_at + left // len(unended))
    for bolt, walk in walks:
        groups = dict(walk.streams)
        yield Holder("bolt", names.get(bolt, ""), walk.path, walk.tuples, groups, walk.tuples, more=walk.more)


def _of_bolt(bolt: int, classes: Classes, objects: Objects) -> "Iterator[_Walk]":
    """A walk from each of its fields."""
    seen = objects.at(bolt)
    if seen is None or seen.kind != INSTANCE:
        return
    title, values = short(classes.name(seen.class_id)), objects.fields(bolt)
    for field in dict.fromkeys(name for name, kind in classes.fields(seen.class_id) if kind == OBJECT):
        yield _Walk(classes, objects, f"{title}.{field}", [bolt, values.get(field, 0)])


class _Walk:
    """What can be reached from one field; `more` if it did not come to an end.

    It goes down to what an entry holds before it goes on to the next one, or a large table would be all that it sees.
    """

    def __init__(self, classes: Classes, objects: Objects, path: str, begin: list[int]) -> None:
        self._classes, self._objects = classes, objects
        self.path = path
        self._seen, self._waiting = {0, begin[0]}, begin[1:]
        self._names: dict[int, str] = {}
        self._references: dict[int, tuple[str, ...]] = {}
        self.looked_at = self.tuples = 0
        self.streams: Counter[str] = Counter()

    @property
    def more(self) -> bool:
        """Whether there is something left to look at."""
        return bool(self._waiting)

    def go(self, most: int) -> None:
        """On, until everything has been seen, or so many objects, or nothing found among the first."""
        while self._waiting and self.looked_at < (most if self.tuples else min(_FEW, most)):
            self._waiting += self._next(self._waiting.pop())

    def _next(self, id_: int) -> Iterator[int]:
        if id_ in self._seen:
            return
        self._seen.add(id_)
        found = self._objects.at(id_)
        self.looked_at += 1
        if found is None or found.kind not in (INSTANCE, OBJECTS):
            return
        if found.kind == OBJECTS:
            yield from (each for each in self._objects.elements(id_) if each not in self._seen)
            return
        name = self._classes.name(found.class_id)
        if name in TUPLES:
            self.tuples += 1
            stream = self._objects.fields(id_).get("streamId", 0)
            if stream not in self._names:
                self._names[stream] = self._objects.text(stream) or "?"
            self.streams[self._names[stream]] += 1
        elif _KEEPS.fullmatch(name) or not _ELSEWHERE.fullmatch(name):
            fields: Mapping[str, int] = self._objects.fields(id_)
            yield from (fields[each] for each in self._of(found.class_id) if each in fields)

    def _of(self, class_id: int) -> tuple[str, ...]:
        """The fields of a class that refer to something, those to other entries first: they are taken last."""
        if class_id not in self._references:
            names = [name for name, kind in self._classes.fields(class_id) if kind == OBJECT]
            self._references[class_id] = tuple(sorted(names, key=lambda name: name not in _NEIGHBOURS))
        return self._references[class_id]
