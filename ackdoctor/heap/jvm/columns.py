"""Fields of many instances of a class at once, each field a column.

In a run the places are a range, and a column is put together from stepped slices, one for each byte of the field:
some nanoseconds a value.  Otherwise each instance is read by itself.
"""

import sys
from array import array
from collections.abc import Sequence
from itertools import repeat
from struct import Struct

from ackdoctor.heap.jvm.layout import OBJECT, WIDTHS, Classes

__all__ = ["Columns", "stepped"]

_CODES = {OBJECT: "Q", 4: "B", 5: "H", 6: "I", 7: "Q", 8: "b", 9: "h", 10: "i", 11: "q"}


class Columns:
    """Reads the id and the named fields of a class's instances; KeyError for a field that the class has not."""

    def __init__(self, classes: Classes, class_id: int, *names: str) -> None:
        known = classes.offsets(class_id)
        cells = [(1, OBJECT), *(known[name] for name in names)]
        widths = {**WIDTHS, OBJECT: classes.id_size}
        self._cells = [(at, widths[kind], _CODES[kind]) for at, kind in cells]
        form, end = ">", 0
        for at, width, code in sorted(self._cells):
            form += f"{at - end}x" + ("I" if code == "Q" and width < 8 else code)  # noqa: PLR2004
            end = at + width
        self._struct = Struct(form)
        order = sorted(range(len(cells)), key=cells.__getitem__)
        self._order = [order.index(cell) for cell in range(len(cells))]

    def read(self, data: bytes, places: Sequence[int]) -> "list[array[int]]":
        """A column for each field, the ids first; `places` are those of the tags, in order.

        Instances at the end are left out if the bytes end within them.
        """
        while places and places[-1] + self._struct.size > len(data):
            places = places[:-1]
        if isinstance(places, range) and places:
            return [stepped(data, places, *cell) for cell in self._cells]
        rows = zip(*map(self._struct.unpack_from, repeat(data), places), strict=True)
        columns = list(rows) or [()] * len(self._cells)
        return [
            array(code, columns[place]) for (_, _, code), place in zip(self._cells, self._order, strict=True)
        ]


def stepped(data: bytes, places: range, at: int, width: int, code: str) -> "array[int]":
    """What stands so far behind each place: byte by byte, the most significant first, as a column of that type."""
    column = array(code)
    wide = column.itemsize
    cells = bytearray(wide * len(places))
    for byte in range(width):
        target = width - 1 - byte if sys.byteorder == "little" else wide - width + byte
        first = places.start + at + byte
        cells[target::wide] = data[first : first + len(places) * places.step : places.step]
    column.frombytes(cells)
    return column
