"""Damaged inputs, made from sound ones by a seeded generator."""

import random
import re
from collections.abc import Callable, Sequence

__all__ = ["damaged"]

_TOKENS = re.compile(rb"\w+|\s+|[^\w\s]")
_SNIPPETS = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\x0c", b"\\\n", b'"""', b"'''", b"'", b'"', b"/*", b"*/", b"//", b"#", b"{", b"}",
    b"(", b")", b"[", b"]", b";", b":", b",", b"=", b"->", b"<", b">", b"@", b"\t", b"    ", b"lambda: ", b"not ", b"if x:\n", b"else:\n",
    b"try:\n", b"finally:\n", b"yield ", b"await ", b"return\n", b"self", b"tup", b"self.ack(tup)\n", b"collector.ack(t);",
    b"# coding: idna\n", b"# coding: utf-7\n", b"# ackdoctor: ignore[", b"ackdoctor: ", b"f'{", b"\xc3\xa9", "\u2028".encode(), b"*", b"**",
    b":=", b"match x:\n    case _:\n", b"async ", b"del tup\n", b"global tup\n", b"nonlocal tup\n", b"tup = not tup\n", b"tup = [tup, tup]\n",
    b"super().", b"this.", b"while (true) {", b"switch (x) {", b"case 1:", b"break;", b"continue;", b"new Runnable() {", b"() -> {", b"class A {",
    b"import ", b"from . import *\n", b"extends ", b"implements ", b"static ", b"0x", b"1e999", b"9" * 5_000, b"%", b"{{{{", b"]]]]", b"\x1b[2J",
    b"1979-05-27", b"nan", b"inf", b"true", b"null", b"\\ud800", b"\\u0000", b"[[", b"[tool.", b".", b"1" * 400, b'"a"."b"',
)  # fmt: skip
_DEEP = (
    (b"(", b")"),
    (b"[", b"]"),
    (b"{", b"}"),
    (b"not ", b""),
    (b"-", b""),
    (b"a.", b""),
    (b"lambda: ", b""),
    (b"{'a':", b"}"),
)


def damaged(source: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return a source with one to four faults."""
    for _ in range(chance.randint(1, 4)):
        source = chance.choice(_FAULTS)(source, others, chance)
    return source[:200_000]


def _span(source: bytes, chance: random.Random, longest: int = 200) -> tuple[int, int]:
    start = chance.randint(0, len(source))
    return start, min(len(source), start + chance.randint(1, longest))


def _deleted(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _span(source, chance)
    return source[:start] + source[end:]


def _doubled(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _span(source, chance)
    return source[:start] + source[start:end] * chance.choice([2, 2, 3, 50]) + source[end:]


def _flipped(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    data = bytearray(source)
    for _time in range(chance.randint(1, 5) if data else 0):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _swapped(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    tokens = _TOKENS.findall(source)
    for _time in range(chance.randint(1, 6) if len(tokens) > 1 else 0):
        one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return b"".join(tokens)


def _renamed(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    words = re.findall(rb"[A-Za-z_]\w*", source)
    if not words:
        return source
    one, other = chance.choice(words), chance.choice(words)
    return re.sub(rb"\b" + one + rb"\b", other, source)


def _inserted(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(source))
    return source[:at] + chance.choice(_SNIPPETS) * chance.choice([1, 1, 1, 2, 300]) + source[at:]


def _lines(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    lines = source.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    if chance.random() < 0.3:
        lines[one] = b"    " + lines[one]
    return b"\n".join(lines)


def _spliced(source: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(others)
    start, end = _span(other, chance, 800)
    at = chance.randint(0, len(source))
    return source[:at] + other[start:end] + source[at:]


def _nested(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    opened, closed = chance.choice(_DEEP)
    depth = chance.choice([3, 20, 90, 300, 5_000])
    at = chance.randint(0, len(source))
    return source[:at] + opened * depth + b"x" + closed * chance.choice([depth, depth - 1]) + source[at:]


def _cut(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    return source[: chance.randint(0, len(source))]


def _encoded(source: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    name = chance.choice(
        [
            "utf-16",
            "utf-32",
            "utf-7",
            "latin-1",
            "cp037",
            "utf-8-sig",
            "idna-cookie",
            "hz-cookie",
            "rot13-cookie",
        ]
    )
    if name.endswith("-cookie"):
        return f"# coding: {name.removesuffix('-cookie')}\n".encode() + source
    return source.decode("latin-1").encode(name, "replace")


_FAULTS: tuple[Callable[[bytes, Sequence[bytes], random.Random], bytes], ...] = (
    _deleted, _deleted, _doubled, _flipped, _swapped, _swapped, _renamed, _renamed, _inserted, _inserted, _inserted, _lines, _lines, _spliced,
    _spliced, _nested, _cut, _encoded,
)  # fmt: skip
