"""What the bytes of a Python file say about classes and imports, read without a parser.

`from .base import Bolt as B`, `import storm` and `class C(B, storm.X):`
make

    classes  (("C", ("B", "storm.X")),)
    imports  (("B", ".base.Bolt"), ("storm", "storm"))

Every expression here starts with a literal: the regular expression engine then skips ahead at the speed of
a substring search, ten times as fast as any pattern that starts at a line's beginning.
"""

import re
from codecs import BOM_UTF8 as _MARK
from collections.abc import Iterator

from ackdoctor.lint.languages.outline import Outline

__all__ = ["meanings", "outline", "skeleton"]

_CLASS = re.compile(rb"class[ \t]+(\w+)[ \t]*\(")
_IMPORT = re.compile(rb"import(?=[ \t(*\\])")
_AS = re.compile(rb" as[ \t]+(\w+)")
_BRACKET = re.compile(rb"[()#]")
_LOGICAL = re.compile(rb"(?:[^\\\n#;]|\\\r?\n|\\)*")
_FROM = re.compile(rb"from[ \t]+([.\w \t]+?)[ \t\\\r\n]*$|from[ \t]*(\.+)[ \t]*$")
_ALIAS = re.compile(rb"^(\w+)[ \t]*=[ \t]*([A-Za-z_][\w.]*)[ \t]*\r?$", re.MULTILINE)
_DOTTED = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
_COMMENT = re.compile(r"#[^\n]*|\\\r?\n")
_LONGEST = 4_000  # bytes between parentheses before they are taken for prose


def skeleton(data: bytes) -> Outline:
    """The classes, and all the rest only where a base goes by another name than its class."""
    data = data.removeprefix(_MARK)
    classes = _classes(data)
    if classes and b" as " in data:
        renamed = {_text(name) for name in _AS.findall(data)}
        if any(base.partition(".")[0] in renamed for _, bases in classes for base in bases):
            return outline(data)
    return Outline(classes)


def outline(data: bytes) -> Outline:
    """The outline of a source file."""
    data = data.removeprefix(_MARK)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    imports: list[tuple[str, str]] = []
    stars: list[str] = []
    modules: list[str] = []
    for module, names in _statements(data):
        if module is None:
            _plain(names, imports, modules)
        else:
            _from(module, names, imports, stars)
    aliases = tuple((_text(name), _text(target)) for name, target in _ALIAS.findall(data))
    return Outline(_classes(data), tuple(imports), aliases, tuple(stars), tuple(modules), complete=True)


def meanings(found: Outline, dotted: str) -> Iterator[str]:
    """What a dotted name may stand for; "=name" is another name in the same file."""
    first, _, rest = dotted.partition(".")
    tail = f".{rest}" if rest else ""
    for bound, qualified in found.imports:
        if bound == first:
            yield qualified + tail
    for bound, target in found.aliases:
        if bound == first:
            yield f"={target}{tail}"
    for star in found.stars:
        yield f"{star}{'' if star.endswith('.') else '.'}{dotted}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# ---- classes ----


def _classes(data: bytes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for head in _CLASS.finditer(data):
        if _starts_statement(data, head.start()):
            bases = _dotted(_text(_bracketed(data, head.end())))
            if bases and bases != ("object",):
                found.append((_text(head[1]), bases))
    return tuple(found)


def _starts_statement(data: bytes, at: int) -> bool:
    before = data[_line_start(data, at) : at].strip()
    return not before or before.endswith((b":", b";"))


def _line_start(data: bytes, at: int) -> int:
    """Where the line begins; a longer part of a line is not looked at, since it may have such words by the thousand."""
    least = max(0, at - _LONGEST)
    return max(least, data.rfind(b"\n", least, at) + 1)


def _bracketed(data: bytes, start: int) -> bytes:
    """What stands between a parenthesis, opened just before `start`, and the one that closes it."""
    depth, at = 1, start
    while depth and (found := _BRACKET.search(data, at, start + _LONGEST)):
        at = found.end()
        match found[0]:
            case b"(":
                depth += 1
            case b")":
                depth -= 1
            case _:
                line_end = data.find(b"\n", at, start + _LONGEST)
                if line_end < 0:
                    return b""
                at = line_end
    return data[start : at - 1] if depth == 0 else b""


def _dotted(text: str) -> tuple[str, ...]:
    return tuple("".join(name.split()) for name in _DOTTED.findall(_COMMENT.sub(" ", text)))


# ---- imports ----


def _statements(data: bytes) -> Iterator[tuple[str | None, str]]:
    """Every import as (module, names), or (None, modules)."""
    for found in _IMPORT.finditer(data):
        before = _before(data, found.start())
        if not before:
            yield None, _names(data, found.end())
        elif match := _FROM.match(before):
            yield _text(match[1] or match[2]), _names(data, found.end())


def _before(data: bytes, at: int) -> bytes:
    """The statement's own text before the word at `at`."""
    start = _line_start(data, at)
    if data[start - 2 : start] == b"\\\n" or data[start - 3 : start] == b"\\\r\n":
        start = _line_start(data, start - 1)
    before = data[start:at]
    cut = max(before.rfind(b":"), before.rfind(b";"))
    return before[cut + 1 :].strip()


def _names(data: bytes, at: int) -> str:
    while data[at : at + 1] in (b" ", b"\t"):
        at += 1
    if data[at : at + 1] == b"(":
        return _text(_bracketed(data, at + 1))
    found = _LOGICAL.match(data, at, at + _LONGEST)
    return _text(found[0]) if found else ""


def _from(module: str, names: str, imports: list[tuple[str, str]], stars: list[str]) -> None:
    module = "".join(module.split())
    for part in _COMMENT.sub(" ", names).split(","):
        words = part.split()
        if not words:
            continue
        if words[0] == "*":
            stars.append(module)
        else:
            joint = "" if module.endswith(".") else "."
            imports.append((words[-1], f"{module}{joint}{words[0]}"))


def _plain(names: str, imports: list[tuple[str, str]], modules: list[str]) -> None:
    for part in _COMMENT.sub(" ", names).split(","):
        words = part.split()
        if not words:
            continue
        modules.append(words[0])
        bound = words[-1] if len(words) > 1 else words[0].partition(".")[0]
        imports.append((bound, words[0] if len(words) > 1 else bound))
