"""The sub-records of a heap segment: how they begin, and where they end."""

from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from ackdoctor.heap.jvm.layout import WIDTHS

__all__ = ["CLASS", "INSTANCE", "OBJECTS", "PRIMITIVE", "Heads", "heads"]

CLASS, INSTANCE, OBJECTS, PRIMITIVE = 0x20, 0x21, 0x22, 0x23


class Heads(NamedTuple):
    """How sub-records begin under one size of ids.

    One read serves three kinds: the tag, then, behind id and stack, 12 (or 8) bytes that are class and length
    of an instance, length and class of an array of objects, length and type of one of primitives.
    """

    read: Struct
    kind: int  # where class and length begin
    small: int  # bytes before the elements of an array of primitives
    half: int  # how far to shift for a length
    mask: int
    width: int  # of an id
    roots: Mapping[int, int]  # tag -> bytes

    def elements(self, left: int) -> int:
        """How many an array has."""
        return left >> self.half

    def class_of_array(self, left: int, right: int) -> int:
        """The class of an array of objects."""
        return (left & self.mask) << 32 | right

    def type_of_array(self, left: int, right: int) -> int:
        """What an array of primitives has, as a code of HPROF's."""
        return left >> 24 & 255 if self.half else right >> 24

    def size(self, tag: int, left: int, right: int) -> int:
        """Bytes of the whole record; 0 if it is no object."""
        if tag == INSTANCE:
            return self.read.size + right
        if tag == OBJECTS:
            return self.read.size + self.elements(left) * self.width
        width = WIDTHS.get(self.type_of_array(left, right)) if tag == PRIMITIVE else None
        return 0 if width is None else self.small + self.elements(left) * width


def heads(id_size: int) -> Heads:
    """For ids of 4 or 8 bytes."""
    wide = id_size == 8  # noqa: PLR2004
    tails = {0xFF: 0, 1: id_size, 2: 8, 3: 8, 4: 4, 5: 0, 6: 4, 7: 0, 8: 8}
    return Heads(
        read=Struct(">B12xQI" if wide else ">B8xII"),
        kind=1 + id_size + 4,
        small=1 + id_size + 4 + 4 + 1,
        half=32 if wide else 0,
        mask=0xFFFFFFFF if wide else 0,
        width=id_size,
        roots={tag: 1 + id_size + tail for tag, tail in tails.items()},
    )
