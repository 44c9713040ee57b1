"""Seeded damage to dumps and histograms, as from a disk, a truncated transfer or an attacker."""

import random
import struct
from collections.abc import Callable
from itertools import pairwise

HEADER = 31  # "JAVA PROFILE 1.0.2\0", u4 size of an id, u8 time
LENGTHS = (0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF)
TAGS = (0x00, 0x01, 0x02, 0x0C, 0x1C, 0x20, 0x21, 0x22, 0x23, 0x2C, 0x80, 0xFE, 0xFF)


def damaged_dump(whole: bytes, seed: int) -> bytes:
    """The dump with one to four faults."""
    chance = random.Random(seed)
    data = bytearray(whole)
    for _ in range(chance.choice((1, 1, 2, 4))):
        if len(data) > 1:
            chance.choice(_FAULTS)(data, chance)
    return bytes(data)


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 8, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(1, len(data)) :]


def _header(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(min(HEADER, len(data)))] = chance.randrange(256)


def _long(data: bytearray, chance: random.Random) -> None:
    """Somewhere in the heap four bytes become a length."""
    at = chance.randrange(max(1, len(data) - 4))
    data[at : at + 4] = struct.pack(">I", chance.choice(LENGTHS))


def _id(data: bytearray, chance: random.Random) -> None:
    """Eight bytes are copied over others: one object refers to another, or has its id."""
    source, target = (chance.randrange(max(1, len(data) - 8)) for _ in range(2))
    data[target : target + 8] = data[source : source + 8]


def _tag(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] = chance.choice(TAGS)


def _class_field(data: bytearray, chance: random.Random) -> None:
    """The type of a field in a class becomes another."""
    at = chance.randrange(len(data))
    known = data.find(b"\x02", at)
    if known >= 0:
        data[known] = chance.choice((0, 1, 3, 4, 8, 10, 11, 12, 138, 255))


def _records(data: bytearray) -> list[int]:
    """Where the outermost records begin, and where the last ends."""
    places, at = [], HEADER
    while at + 9 <= len(data):
        places.append(at)
        at += 9 + struct.unpack_from(">I", data, at + 5)[0]
    return [*places, min(at, len(data))]


def _record_length(data: bytearray, chance: random.Random) -> None:
    places = _records(data)[:-1]
    if places:
        at = chance.choice((*places[-3:], chance.choice(places))) + 5
        data[at : at + 4] = struct.pack(">I", chance.choice(LENGTHS))


def _order(data: bytearray, chance: random.Random) -> None:
    """The outermost records in another order, one of them twice or lost."""
    parts = [bytes(data[at:end]) for at, end in pairwise(_records(data))]
    if not parts:
        return
    match chance.randrange(3):
        case 0:
            chance.shuffle(parts)
        case 1:
            parts.insert(chance.randrange(len(parts)), chance.choice(parts))
        case _:
            del parts[chance.randrange(len(parts))]
    data[HEADER:] = b"".join(parts)


def _drop(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 7, 64))]


def _fill(data: bytearray, chance: random.Random) -> None:
    at, length = chance.randrange(len(data)), chance.choice((1, 16, 256))
    data[at : at + length] = bytes([chance.choice((0, 0x21, 0xFF))]) * length


_FAULTS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _flip, _cut, _header, _long, _long, _id, _id, _tag, _class_field, _record_length, _order, _drop, _fill,
)  # fmt: skip


def damaged_text(whole: str, seed: int) -> bytes:
    """A histogram with one to four faults."""
    chance = random.Random(seed)
    lines = whole.splitlines()
    for _ in range(chance.choice((1, 1, 2, 4))):
        chance.choice(_FAULTS_OF_TEXT)(lines, chance)
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.1 else data


_NUMBERS = (
    "9" * 4_345, "9" * 40, "-1", "1e999", "{}", "0x7f", "", "٣٤٥", "½", "²", "1_000", "1.5", "NaN", "0", "9223372036854775808",
)  # fmt: skip
_WORDS = (
    "\0", "\ud800", "[" * 5_000, "[L;", "x" * 100_000, ";[[I", "num     #instances         #bytes  class name",
    "Total", "Total 1 " + "9" * 5_000, "2026-99-99T99:99:99Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "[99999999999999999999.999s]", "9999999999999", "Wed Nov ٣ 14:10:14 UTC ٢٠٢٦", "99999999999999999999:", "%s{}\x1b[2J",
)  # fmt: skip


def _number(lines: list[str], chance: random.Random) -> None:
    if lines:
        at = chance.randrange(len(lines))
        words = lines[at].split(" ")
        words[chance.randrange(len(words))] = chance.choice(_NUMBERS)
        lines[at] = " ".join(words)


def _word(lines: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(lines) + 1)
    if chance.random() < 0.5 and lines:
        line = lines[at % len(lines)]
        cut = chance.randrange(len(line) + 1)
        lines[at % len(lines)] = line[:cut] + chance.choice(_WORDS) + line[cut:]
    else:
        lines.insert(at, chance.choice(_WORDS))


def _lose(lines: list[str], chance: random.Random) -> None:
    if lines:
        at = chance.randrange(len(lines))
        del lines[at : at + chance.choice((1, 1, 5, 30))]


def _mix(lines: list[str], chance: random.Random) -> None:
    if lines:
        at = chance.randrange(len(lines))
        part = lines[at : at + 10]
        chance.shuffle(part)
        lines[at : at + 10] = part * chance.choice((1, 2))


_FAULTS_OF_TEXT: tuple[Callable[[list[str], random.Random], None], ...] = (
    _number,
    _number,
    _word,
    _lose,
    _mix,
)
