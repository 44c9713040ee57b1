"""Writer for small HPROF files of both id sizes, from classes and objects of a test."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import pack
from typing import Any

from ackdoctor.heap.dump import HeapDump, read_dump

TYPES = {"object": 2, "boolean": 4, "char": 5, "byte": 8, "int": 10, "long": 11}
CODES = {4: ">?", 5: ">H", 8: ">b", 10: ">i", 11: ">q"}
TAKEN_MS = 1_700_000_000_000


@dataclass
class Heap:
    """`heap.declare("A", {"x": "long"})`, `heap.add(64, "A", x=1)`, `heap.hprof()`."""

    id_size: int = 8
    version: str = "1.0.2"
    names: dict[str, int] = field(default_factory=dict)
    classes: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)

    def declare(self, name: str, fields: dict[str, str] | None = None, parent: str = "") -> None:
        self.classes[name] = (0x7000_0000 + 16 * len(self.classes), fields or {})
        self.parents[name] = parent

    def add(self, id_: int, name: str, /, **values: int) -> None:
        data = b""
        at = name
        while at:
            fields = self.classes[at][1]
            data += b"".join(self._value(TYPES[kind], values[each]) for each, kind in fields.items())
            at = self.parents[at]
        head = b"\x21" + self._id(id_) + pack(">I", 1) + self._id(self.classes[name][0])
        self.body.append(head + pack(">I", len(data)) + data)

    def array(self, id_: int, name: str, *elements: int) -> None:
        head = b"\x22" + self._id(id_) + pack(">II", 1, len(elements)) + self._id(self.classes[name][0])
        self.body.append(head + b"".join(map(self._id, elements)))

    def text(self, id_: int, text: bytes) -> None:
        self.body.append(b"\x23" + self._id(id_) + pack(">IIB", 1, len(text), 8) + text)

    def hprof(self) -> bytes:
        declared = b"".join(self._class(name) for name in self.classes)  # names its strings on the way
        strings = b"".join(_record(1, self._id(id_) + name.encode()) for name, id_ in self.names.items())
        loads = b"".join(
            _record(
                2,
                pack(">I", 1) + self._id(id_) + pack(">I", 1) + self._id(self.names[name.replace(".", "/")]),
            )
            for name, (id_, _) in self.classes.items()
        )
        head = b"JAVA PROFILE " + self.version.encode() + b"\0" + pack(">IQ", self.id_size, TAKEN_MS)
        heap = declared + b"".join(self.body) + b"\xff" + self._id(1) + b"\x05" + self._id(2)
        return head + strings + loads + _record(0x1C, heap) + _record(0x2C, b"")

    def _class(self, name: str) -> bytes:
        id_, fields = self.classes[name]
        self._name(name.replace(".", "/"))
        parent = self.classes[self.parents[name]][0] if self.parents[name] else 0
        data = b"\x20" + self._id(id_) + pack(">I", 1) + self._id(parent) + self._id(0) * 5
        data += pack(">IHH", 0, 0, 1) + self._id(self._name("LOG")) + b"\x02" + self._id(0)  # a static field
        data += pack(">H", len(fields))
        return data + b"".join(
            self._id(self._name(each)) + bytes([TYPES[kind]]) for each, kind in fields.items()
        )

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, 0x10 + len(self.names))

    def _value(self, kind: int, value: int) -> bytes:
        return self._id(value) if kind == 2 else pack(CODES[kind], value)

    def _id(self, id_: int) -> bytes:
        return id_.to_bytes(self.id_size, "big")


def read(heap: Heap, folder: Path, **words: Any) -> HeapDump:
    """What is read of the heap; the words are options of `read_dump`."""
    path = folder / "worker.hprof"
    path.write_bytes(heap.hprof())
    return read_dump(path, **words)


def _record(tag: int, body: bytes) -> bytes:
    return pack(">BII", tag, 0, len(body)) + body


def orphans(amount: int) -> list[tuple[int, int, int]]:
    """Root, value, spout task: 1, 2, ... of the roots -1, -2, ..."""
    return [(-number, number, -1) for number in range(1, amount + 1)]


def acker_heap(
    id_size: int = 8,
    entries: int = 5,
    prefix: str = "org.apache.storm",
    held: Sequence[tuple[int, int, int]] = (),
) -> Heap:
    """A 2.x acker with one bucket: what is `held`, or that many `orphans`, all in one chain."""
    held = held or orphans(entries)
    entries = len(held)
    heap = Heap(id_size)
    heap.declare("java.lang.Object")
    heap.declare(f"{prefix}.daemon.Acker", {"collector": "object", "pending": "object"}, "java.lang.Object")
    heap.declare(
        f"{prefix}.daemon.Acker$AckObject",
        {"val": "long", "startTime": "long", "spoutTask": "int", "failed": "boolean"},
        "java.lang.Object",
    )
    heap.declare(
        f"{prefix}.utils.RotatingMap", {"buckets": "object", "callback": "object"}, "java.lang.Object"
    )
    heap.declare(
        "java.util.LinkedList", {"size": "int", "first": "object", "last": "object"}, "java.lang.Object"
    )
    heap.declare(
        "java.util.LinkedList$Node",
        {"item": "object", "next": "object", "prev": "object"},
        "java.lang.Object",
    )
    heap.declare("java.util.HashMap", {"table": "object", "size": "int"}, "java.lang.Object")
    heap.declare(
        "java.util.HashMap$Node",
        {"hash": "int", "key": "object", "value": "object", "next": "object"},
        "java.lang.Object",
    )
    heap.declare(
        "java.util.HashMap$TreeNode", {"left": "object", "right": "object"}, "java.util.HashMap$Node"
    )
    heap.declare("[Ljava.util.HashMap$Node;")
    heap.declare("java.lang.Long", {"value": "long"}, "java.lang.Object")
    heap.add(64, f"{prefix}.daemon.Acker", collector=0, pending=96)
    heap.add(96, f"{prefix}.utils.RotatingMap", buckets=128, callback=0)
    heap.add(128, "java.util.LinkedList", size=1, first=160, last=160)
    heap.add(160, "java.util.LinkedList$Node", item=192, next=0, prev=0)
    heap.add(192, "java.util.HashMap", table=256, size=entries)
    first = 1024
    heap.array(256, "[Ljava.util.HashMap$Node;", 0, first if entries else 0, *[0] * max(2, entries - 2))
    for number, (root, value, task) in enumerate(held):
        at = first + 128 * number
        following = at + 128 if number + 1 < entries else 0
        tree = {"left": 0, "right": 0} if number % 2 else {}
        kind = "java.util.HashMap$TreeNode" if tree else "java.util.HashMap$Node"
        heap.add(at, kind, hash=1, key=at + 64, value=at + 96, next=following, **tree)
        heap.add(at + 64, "java.lang.Long", value=root)
        heap.add(
            at + 96, f"{prefix}.daemon.Acker$AckObject",
            val=value, startTime=TAKEN_MS - 1000 * number, spoutTask=task, failed=0,
        )  # fmt: skip
    return heap
