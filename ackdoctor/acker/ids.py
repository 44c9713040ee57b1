"""Sources of root and edge ids, and the acker task of a root.

All ids are Java longs.  Storm draws them from one java.util.Random per executor.  Tests without coincidences
draw powers of two, which are linearly independent under XOR (1, 2 and 3 are not: 1 ^ 2 == 3).
"""

from typing import Protocol

__all__ = ["IdSource", "JavaRandom", "PowersOfTwo", "acker_index", "signed", "unsigned"]

_MASK_64 = (1 << 64) - 1
_MASK_48 = (1 << 48) - 1


class IdSource(Protocol):
    """A source of ids (MessageId.generateId)."""

    def next_long(self) -> int:
        """Draw the next id, a Java long."""


def signed(value: int) -> int:
    """Return the low 64 bits of an integer as a Java long."""
    value &= _MASK_64
    return value - (1 << 64) if value >> 63 else value


def unsigned(value: int) -> int:
    """Return the 64 bits of a Java long as an unsigned number."""
    return value & _MASK_64


class JavaRandom:
    """java.util.Random, bit for bit; 48 bits of state, so one executor can draw at most 2**48 ids."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & _MASK_48

    def next_int(self) -> int:
        """Random.nextInt(): the next 32 bits, signed."""
        self._state = (self._state * 0x5DEECE66D + 0xB) & _MASK_48
        bits = self._state >> 16
        return bits - (1 << 32) if bits >> 31 else bits

    def next_long(self) -> int:
        """Random.nextLong(): `((long) next(32) << 32) + next(32)`, the low half signed as well."""
        high = self.next_int()
        return signed((high << 32) + self.next_int())


class PowersOfTwo:
    """The ids 1, 2, 4, ..., linearly independent under XOR; the 65th draw raises OverflowError."""

    __slots__ = ("_exponent",)

    def __init__(self, first_exponent: int = 0) -> None:
        self._exponent = first_exponent

    def next_long(self) -> int:
        """Draw the next power of two; the last one is -2**63."""
        if self._exponent >= 64:  # noqa: PLR2004 - the width of a long
            raise OverflowError("a long has 64 bits: all powers of two are drawn")
        self._exponent += 1
        return signed(1 << (self._exponent - 1))


def acker_index(root: int, ackers: int) -> int:
    """Return the index of a root's acker among the sorted acker tasks: the hash of a list, modulo their number."""
    bits = unsigned(root)
    long_hash = (bits ^ (bits >> 32)) & 0xFFFFFFFF
    list_hash = (31 + long_hash) & 0xFFFFFFFF
    if list_hash >> 31:
        list_hash -= 1 << 32
    return list_hash % ackers
