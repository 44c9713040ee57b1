"""Columns of integers beside sorted ids: what a walk over millions of entries looks things up in.

An object per entry would take ten times the memory; a dict five times.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Find", "Rows"]

_PER_CELL = 16  # ids that share a cell of the coarse index
_TOGETHER = 64  # ids that are compared at once
_PART = 1 << 14  # ids that are numbers of Python's at a time


class Rows:
    """Rows are appended as (ids, *columns), many at once; after `sort`, the places of ids are found.

    `codes` are those of `array`, one for each column.  Objects lie in the order of their ids, so as a rule
    there is nothing to sort.
    """

    def __init__(self, codes: str = "") -> None:
        self.ids: array[int] = array("Q")
        self.columns: list[array[int]] = [array(code) for code in codes]

    def __len__(self) -> int:
        return len(self.ids)

    def extend(self, ids: "array[int]", *columns: "array[int]") -> None:
        """Appends rows; each column has the type that it was made with."""
        self.ids.extend(ids)
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)

    def sort(self) -> "Find":
        """Puts the rows in the order of their ids; what it gives finds them."""
        if not _ascends(self.ids):
            order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
            self.ids = _permuted(self.ids, order)
            self.columns = [_permuted(column, order) for column in self.columns]
        return Find(self.ids)


def _ascends(ids: "array[int]") -> bool:
    """A list that is in order is sorted faster than its neighbours are compared."""
    parts = (ids[at : at + _PART + 1].tolist() for at in range(0, len(ids), _PART))
    return all(part == sorted(part) for part in parts)


def _permuted(column: "array[int]", order: Sequence[int]) -> "array[int]":
    return array(column.typecode, map(column.__getitem__, order))


class Find:
    """Finds the places of ids among ascending ones: those of many at once, -1 where there is none.

    Ids are addresses, so they fill their range evenly: a search begins in the right cell.  What refers to
    each other was made in the same order, and collectors keep it.
    """

    def __init__(self, ids: "array[int]") -> None:
        self._ids = ids
        self._lowest = ids[0] if ids else 0
        spread = ids[-1] - self._lowest if ids else 0
        self._shift = max(0, (spread // (len(ids) // _PER_CELL + 1)).bit_length() - 1)
        self._cells = array("Q", bytes(8 * ((spread >> self._shift) + 2)))
        at, count = 0, len(ids)
        for cell in range(len(self._cells)):
            bound, near = self._lowest + (cell << self._shift), min(at + 4 * _PER_CELL, count)
            at = bisect_left(ids, bound, at, near)
            if at == near:
                at = bisect_left(ids, bound, at)
            self._cells[cell] = at
        self._cells[-1] = max(0, count - 1)  # so that every place that a search comes to is one

    def all(self, wanted: "array[int]") -> "array[int]":
        """The place of each; the next few are looked at first, whether they stand in a row."""
        found, ids, guess = array("q"), self._ids, 0
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            if ids[guess : guess + len(some)] == some:
                found.extend(range(guess, guess + len(some)))
                guess += len(some)
            else:
                found.extend(self._searched(some))
                guess = found[-1] + 1
        return found

    def _searched(self, wanted: "array[int]") -> list[int]:
        ids, cells, lowest, shift = self._ids, self._cells, self._lowest, self._shift
        highest = ids[-1] if ids else -1
        return [
            place
            if lowest <= id_ <= highest
            and ids[place := bisect_left(ids, id_, cells[cell := id_ - lowest >> shift], cells[cell + 1])]
            == id_
            else -1
            for id_ in wanted
        ]
