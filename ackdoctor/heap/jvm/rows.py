"""Columns of integers beside sorted ids: what a walk over millions of entries looks things up in.

An object per entry would take ten times the memory; a dict five times.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import islice
from operator import le

__all__ = ["Rows"]

_PER_CELL = 8  # ids that share a cell of the coarse index


class Rows:
    """Rows are appended as (id, *columns) by way of `push`; after `sort`, `find(id)` gives a row's place.

    `codes` are those of `array`, one for each column.  Objects lie in the order of their ids, so as a rule
    there is nothing to sort.
    """

    def __init__(self, codes: str = "") -> None:
        self.ids: array[int] = array("Q")
        self.columns: list[array[int]] = [array(code) for code in codes]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def push(self) -> tuple[Callable[[int], None], ...]:
        """What appends to each column, the ids' first; a tight loop calls them itself."""
        return (self.ids.append, *(column.append for column in self.columns))

    def sort(self) -> Callable[[int], int]:
        """Puts the rows in the order of their ids; the result finds one: its place, or -1."""
        if not _ascends(self.ids):
            order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
            self.ids = _permuted(self.ids, order)
            self.columns = [_permuted(column, order) for column in self.columns]
        return _finder(self.ids)


def _ascends(ids: "array[int]") -> bool:
    return all(map(le, ids, islice(ids, 1, None)))


def _permuted(column: "array[int]", order: Sequence[int]) -> "array[int]":
    return array(column.typecode, map(column.__getitem__, order))


def _finder(ids: "array[int]") -> Callable[[int], int]:
    """A search that begins in the right cell: ids are addresses, so they fill their range evenly.

    The next one is tried first: what refers to each other was made in the same order, and collectors keep it.
    """
    if not ids:
        return lambda _: -1
    lowest, highest, count = ids[0], ids[-1], len(ids)
    shift = max(0, ((highest - lowest) // (count // _PER_CELL + 1)).bit_length() - 1)
    cells = array("Q", bytes(8 * (((highest - lowest) >> shift) + 2)))
    at = 0
    for cell in range(len(cells)):
        bound = lowest + (cell << shift)
        at = bisect_left(ids, bound, at)
        cells[cell] = at
    cells[-1] = count

    guess = 0

    def find(wanted: int) -> int:
        nonlocal guess
        if ids[guess] == wanted:
            place = guess
        elif lowest <= wanted <= highest:
            cell = (wanted - lowest) >> shift
            place = bisect_left(ids, wanted, cells[cell], cells[cell + 1])
            if place == count or ids[place] != wanted:
                return -1
        else:
            return -1
        guess = place + 1 if place + 1 < count else 0
        return place

    return find
