"""Where the same few records stand again and again, all of them at once.

A map with millions of entries is millions of times `HashMap$Node Long AckObject`: collectors keep together what
belongs together.  Of such a run only the first turn is read; of all others it is made sure that every byte
of a head that says what the record is (its tag, class and length) is the same.  A stepped slice has such a byte of
every turn, and what `lstrip` leaves of it begins with the first that differs: no loop, but those of slices.
"""

from typing import NamedTuple

from ackdoctor.heap.jvm.records import INSTANCE, OBJECTS, PRIMITIVE, Heads

__all__ = ["Run", "Turn", "run_at"]

_FEWEST = 16  # turns: fewer are read as fast one by one
_LONGEST = 1 << 10  # bytes of one turn
_TRIES = 3  # times that the first record's class may stand in one turn


class Turn(NamedTuple):
    """One record of the first turn: where its tag stands, and its head as `Heads.read` gives it."""

    at: int
    tag: int
    left: int
    right: int


class Run(NamedTuple):
    """The records of the first turn; the same come again every `period` bytes, `amount` turns in all."""

    turns: tuple[Turn, ...]
    period: int
    amount: int

    def places(self, at: int) -> range:
        """Where a record of the first turn stands in every turn."""
        return range(at, at + self.amount * self.period, self.period)


def run_at(data: bytes, at: int, end: int, heads: Heads) -> Run | None:
    """The run that begins at `at`, as far as its turns end before `end`; None if there is none worth it."""
    head, kind = heads.read.size, heads.kind
    if data[at] not in (INSTANCE, OBJECTS):
        return None
    key = data[at + kind : at + head]
    found = at + kind
    for _ in range(_TRIES):
        found = data.find(key, found + 1, min(end, at + _LONGEST))
        period = found - kind - at
        if found < 0 or (end - at) // period < _FEWEST:
            return None
        if data[found - kind + period] != data[at] or not data.startswith(key, found + period):
            continue  # it does not even come twice
        turns = _turns(data, at, at + period, heads)
        if turns and (amount := _alike(data, turns, period, (end - at) // period, heads)) >= _FEWEST:
            return Run(turns, period, amount)
    return None


def _turns(data: bytes, at: int, end: int, heads: Heads) -> tuple[Turn, ...]:
    """The records from `at` to `end`; none if there is another between them, or none ends there."""
    found = []
    while at < end:
        tag, left, right = heads.read.unpack_from(data, at)
        found.append(Turn(at, tag, left, right))
        size = heads.size(tag, left, right)
        if not size:
            return ()
        at += size
    return tuple(found) if at == end else ()


def _alike(data: bytes, turns: tuple[Turn, ...], period: int, most: int, heads: Heads) -> int:
    """How many turns are like the first; less than _FEWEST if it is not worth it."""
    for at, tag, _, _ in turns:
        last = heads.small if tag == PRIMITIVE else heads.read.size
        for byte in (at, *range(at + heads.kind, at + last)):
            column = data[byte : byte + most * period : period]
            most = len(column) - len(column.lstrip(column[:1]))
            if most < _FEWEST:
                return most
    return most
