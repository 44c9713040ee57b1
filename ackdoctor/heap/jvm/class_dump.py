"""Classes as a dump declares them: name, fields in the order of an instance's bytes, and what an instance takes.

HPROF writes the fields of the class itself first, then those of its superclass.  It does not say how
the JVM had laid them out, so bytes on the heap are a model: header, fields, rounded up to eight.
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
    """What the JVM spends on a header, an array's header and a reference, in bytes."""

    header: int
    array: int
    reference: int

    def rounded(self, size: int) -> int:
        """A size on the heap."""
        return -(-size // 8) * 8


@dataclass(slots=True)
class ClassDump:
    """A class: its superclass (0 for none) and its own fields as (id of the name, type); `damage` if these are not known."""

    id: int
    super_id: int
    fields: Sequence[tuple[int, int]]
    damage: str = ""


def parse_class(data: bytes, at: int, id_size: int) -> tuple[ClassDump, int] | None:
    """The CLASS_DUMP whose tag is at `at`, and where it ends; None if the bytes do not reach that far.

    Raises KeyError for a static field of a type that does not exist: where it ends is not known.
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

    for skipped in (2, id_size):  # constants: u2 place; statics: id of the name
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
    """All classes of a dump by id; names are Java's, `java.util.HashMap$Node`, `byte[]`."""

    id_size: int
    strings: dict[int, bytes] = field(
        default_factory=dict
    )  # only those that name a class or may name a field
    names: dict[int, str] = field(default_factory=dict)
    dumps: dict[int, ClassDump] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    def load(self, class_id: int, name_id: int) -> None:
        """Remember what a class is called."""
        raw = self.strings.get(name_id, b"?").decode("utf-8", "replace")
        self.names[class_id] = _readable(raw)

    def name(self, class_id: int) -> str:
        """The name, or the id where the dump has lost the name."""
        return self.names.get(class_id, f"class {class_id:#x}")

    def named(self, name: str) -> list[int]:
        """The ids of the classes of that name: as many as there are class loaders that have it."""
        return [class_id for class_id, known in self.names.items() if known == name]

    def family(self, name: str) -> frozenset[int]:
        """The classes of that name and all their subclasses."""
        found = set(self.named(name))
        before = -1
        while len(found) != before:
            before = len(found)
            found |= {dump.id for dump in self.dumps.values() if dump.super_id in found}
        return frozenset(found)

    def lineage(self, class_id: int) -> Iterator[ClassDump]:
        """The class and its superclasses, as far as the dump has them."""
        seen: set[int] = set()
        while class_id in self.dumps and class_id not in seen:
            seen.add(class_id)
            yield self.dumps[class_id]
            class_id = self.dumps[class_id].super_id

    def fields(self, class_id: int) -> list[tuple[str, int]]:
        """Name and type of every field, in the order of an instance's bytes."""
        return [
            (self.strings.get(name, b"?").decode("utf-8", "replace"), kind)
            for dump in self.lineage(class_id)
            for name, kind in dump.fields
        ]

    def unpacker(self, class_id: int) -> tuple[Struct, dict[str, int]]:
        """What reads an instance at once, from its tag on, and the place of each field in what it gives.

        The id is at place 0.  A field of the class itself hides one of the same name further up.
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
        """Where the bytes of each field begin, counted from an instance's tag, and its type; hidden as in `unpacker`."""
        widths = {OBJECT: self.id_size, **WIDTHS}
        at = 1 + self.id_size + 4 + self.id_size + 4  # tag, id, stack, class, length
        found: dict[str, tuple[int, int]] = {}
        for name, kind in self.fields(class_id):
            found.setdefault(name, (at, kind))
            at += widths[kind]
        return found

    def with_fields(self, class_ids: Iterable[int], **kinds: int) -> list[int]:
        """Those classes that have these fields, of these types (0: any); the others are noted as damaged, but for those without a dump."""
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
        """What an instance takes on the heap."""
        widths = {OBJECT: oops.reference, **WIDTHS}
        return oops.rounded(oops.header + sum(widths[kind] for _, kind in self.fields(class_id)))


def _readable(raw: str) -> str:
    """`[Ljava/lang/Object;` as `java.lang.Object[]`."""
    depth = len(raw) - len(raw.lstrip("["))
    if not depth:
        return raw.replace("/", ".")
    element = raw[depth:]
    plain = _LETTERS.get(element)
    if plain is not None:
        return plain + "[]" * (depth - 1)
    return element.removeprefix("L").removesuffix(";").replace("/", ".") + "[]" * depth
