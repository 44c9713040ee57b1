"""Classes of a dump: names, fields in the order of an instance's bytes, and instance sizes.

HPROF writes the fields of the class first, then those of its superclass.  It does not record the JVM's
layout, so sizes on the heap are a model: header plus fields, rounded up to eight bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

__all__ = [
    "BOOLEAN",
    "INT",
    "LONG",
    "OBJECT",
    "PRIMITIVES",
    "WIDTHS",
    "ClassDump",
    "Classes",
    "Oops",
    "parse_class",
]


OBJECT, BOOLEAN, INT, LONG = 2, 4, 10, 11
WIDTHS: Mapping[int, int] = {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
PRIMITIVES: Mapping[int, str] = {
    4: "boolean[]",
    5: "char[]",
    6: "float[]",
    7: "double[]",
    8: "byte[]",
    9: "short[]",
    10: "int[]",
    11: "long[]",
}
_CODES: Mapping[int, str] = {4: "?", 5: "H", 6: "f", 7: "d", 8: "b", 9: "h", 10: "i", 11: "q"}
_LETTERS: Mapping[str, str] = {
    "Z": "boolean[]",
    "C": "char[]",
    "F": "float[]",
    "D": "double[]",
    "B": "byte[]",
    "S": "short[]",
    "I": "int[]",
    "J": "long[]",
}


class Oops(NamedTuple):
    """The JVM's object layout: bytes of an object header, an array header and a reference."""

    header: int
    array: int
    reference: int

    def rounded(self, size: int) -> int:
        """Round a size up to the heap's alignment of eight bytes."""
        return -(-size // 8) * 8


@dataclass(slots=True)
class ClassDump:
    """A class: superclass id (0 for none) and its own fields as (name id, type).

    `damage` is the reason why the fields are unknown, else ''.
    """

    id: int
    super_id: int
    fields: Sequence[tuple[int, int]]
    damage: str = ""


def parse_class(data: bytes, at: int, id_size: int) -> tuple[ClassDump, int] | None:
    """Parse the CLASS_DUMP whose tag is at `at`; return it and its end, or None if `data` ends before it does.

    Raises KeyError for a static field of an invalid type, because the record's end is then unknown.
    """
    start = at + 1
    id_ = int.from_bytes(data[start : start + id_size], "big")
    start += id_size + 4
    super_id = int.from_bytes(data[start : start + id_size], "big")
    start += 6 * id_size + 4
    widths = {OBJECT: id_size, **WIDTHS}

    def count() -> int:
        nonlocal start
        start += 2
        return int.from_bytes(data[start - 2 : start], "big")

    for skipped in (2, id_size):  # constants: u2 index; static fields: name id
        for _ in range(count()):
            start += skipped + 1
            if start > len(data):
                return None
            start += widths[data[start - 1]]
    amount = count()
    end = start + amount * (id_size + 1)
    if end > len(data):
        return None
    fields = [
        (int.from_bytes(data[each : each + id_size], "big"), data[each + id_size])
        for each in range(start, end, id_size + 1)
    ]
    strange = next((kind for _, kind in fields if kind not in widths), None)
    if strange is not None:
        return ClassDump(id_, super_id, (), f"a class with a field of type {strange}"), end
    return ClassDump(id_, super_id, fields), end


@dataclass(slots=True)
class Classes:
    """All classes of a dump by id; names are written as in Java: `java.util.HashMap$Node`, `byte[]`."""

    id_size: int
    # strings that may name a class or a field
    strings: dict[int, bytes] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    dumps: dict[int, ClassDump] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    def load(self, class_id: int, name_id: int) -> None:
        """Record the name of a class."""
        raw = self.strings.get(name_id, b"?").decode("utf-8", "replace")
        self.names[class_id] = _readable(raw)

    def name(self, class_id: int) -> str:
        """Return the name, or the id if the dump lacks the name."""
        return self.names.get(class_id, f"class {class_id:#x}")

    def named(self, name: str) -> list[int]:
        """Return the ids of the classes of that name, one for each class loader."""
        return [class_id for class_id, known in self.names.items() if known == name]

    def family(self, name: str) -> frozenset[int]:
        """Return the classes of that name and all their subclasses."""
        found = set(self.named(name))
        before = -1
        while len(found) != before:
            before = len(found)
            found |= {dump.id for dump in self.dumps.values() if dump.super_id in found}
        return frozenset(found)

    def lineage(self, class_id: int) -> Iterator[ClassDump]:
        """Yield the class and its superclasses, as far as the dump contains them."""
        seen: set[int] = set()
        while class_id in self.dumps and class_id not in seen:
            seen.add(class_id)
            yield self.dumps[class_id]
            class_id = self.dumps[class_id].super_id

    def fields(self, class_id: int) -> list[tuple[str, int]]:
        """Return name and type of every field, in the order of an instance's bytes."""
        return [
            (self.strings.get(name, b"?").decode("utf-8", "replace"), kind)
            for dump in self.lineage(class_id)
            for name, kind in dump.fields
        ]

    def unpacker(self, class_id: int) -> tuple[Struct, dict[str, int]]:
        """Return a struct that unpacks a whole instance from its tag, and the index of each field in the result.

        The id has index 0.  A field hides an inherited field of the same name.
        """
        wide = self.id_size == 8  # noqa: PLR2004
        codes = {**_CODES, OBJECT: "Q" if wide else "I"}
        fields = self.fields(class_id)
        places: dict[str, int] = {}
        for place, (name, _) in enumerate(fields, start=1):
            places.setdefault(name, place)
        head = ">xQ16x" if wide else ">xI12x"  # tag, id, stack, class, length
        return Struct(head + "".join(codes[kind] for _, kind in fields)), places

    def offsets(self, class_id: int) -> dict[str, tuple[int, int]]:
        """Return (offset from the instance's tag, type) of each field; fields hide inherited ones as in `unpacker`."""
        widths = {OBJECT: self.id_size, **WIDTHS}
        at = 1 + self.id_size + 4 + self.id_size + 4  # tag, id, stack, class, length
        found: dict[str, tuple[int, int]] = {}
        for name, kind in self.fields(class_id):
            found.setdefault(name, (at, kind))
            at += widths[kind]
        return found

    def with_fields(self, class_ids: Iterable[int], **kinds: int) -> list[int]:
        """Return the classes that have these fields with these types (0: any type).

        The other classes are recorded as damage, unless the dump lacks them.
        """
        found = []
        for class_id in class_ids:
            if class_id not in self.dumps:
                continue
            known = self.offsets(class_id)
            lost = [
                name
                for name, kind in kinds.items()
                if name not in known or known[name][1] != (kind or known[name][1])
            ]
            if lost:
                self.damage.append(
                    f"the class {self.name(class_id)} lacks the field {lost[0]}: its instances cannot be read"
                )
            else:
                found.append(class_id)
        return found

    def instance_bytes(self, class_id: int, oops: Oops) -> int:
        """Return the bytes of an instance on the heap."""
        widths = {OBJECT: oops.reference, **WIDTHS}
        return oops.rounded(oops.header + sum(widths[kind] for _, kind in self.fields(class_id)))


def _readable(raw: str) -> str:
    """Convert `[Ljava/lang/Object;` to `java.lang.Object[]`."""
    depth = len(raw) - len(raw.lstrip("["))
    if not depth:
        return raw.replace("/", ".")
    element = raw[depth:]
    plain = _LETTERS.get(element)
    if plain is not None:
        return plain + "[]" * (depth - 1)
    return element.removeprefix("L").removesuffix(";").replace("/", ".") + "[]" * depth
