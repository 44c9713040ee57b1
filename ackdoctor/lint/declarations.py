"""The classes and imports that the bytes of a file declare, before any parser.

A parser is hundreds of times slower, and most files hold no component.  So a run reads these declarations first,
follows them from file to file, and parses only what leads to a component.  In ordinary code they may contain too much
(a class in a docstring), never too little.

`from .base import Bolt as B`, `import storm` and `class C(B, storm.X):` make the classes `C: B, storm.X` and the imports
`B = .base.Bolt, storm = storm`.  `package a.b; import c.Base; import d.*;` and `class C<T> extends Base<T> implements I`
make the package `a.b`, the class `C: Base, I`, the import `Base = c.Base` and the stars `a.b, d`.

Every expression that runs over a whole file starts with a literal: the regular expression engine then skips ahead at
the speed of a substring search, ten times as fast as any pattern that starts at the beginning of a line.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Declarations", "capital_names", "java_declarations", "meanings", "python_declarations"]

_LONGEST = 4_000  # bytes of a class header, of an import, of the part of a line before a keyword
_Classes = tuple[tuple[str, tuple[str, ...]], ...]


class Declarations(NamedTuple):
    """Classes with the names of their bases; imports as bound name and qualified name.

    Relative names keep their leading dots.  `aliases` are plain `name = other.name` assignments, `stars` the modules or
    packages whose names are all imported, `modules` those of a plain import.  `package` is what a Java file states.
    """

    classes: _Classes = ()
    imports: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    stars: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    package: str = ""


def meanings(found: Declarations, dotted: str, *, java: bool) -> Iterator[str]:
    """Yield the qualified names that a dotted name in a file may stand for; "=name" is another name in the same file."""
    first, _, rest = dotted.partition(".")
    tail = f".{rest}" if rest else ""
    for bound, qualified in found.imports:
        if bound == first:
            yield qualified + tail
    for bound, target in found.aliases:
        if bound == first:
            yield f"={target}{tail}"
    if java and rest:
        yield dotted
    for star in found.stars:
        yield f"{star}{'' if star.endswith('.') or not star else '.'}{dotted}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _line_start(data: bytes, at: int, *ends: bytes) -> int:
    """Return where the line begins, or a place not too far before `at`: a line may have such words by the thousand."""
    least = max(0, at - _LONGEST)
    return max(least, *(data.rfind(end, least, at) + 1 for end in ends))


# ---- Python ----

_CLASS = re.compile(rb"class[ \t]+(\w+)[ \t]*\(")
_IMPORT = re.compile(rb"import(?=[ \t(*\\])")
_BRACKET = re.compile(rb"[()#]")
_LOGICAL = re.compile(rb"(?:[^\\\n#;]|\\\r?\n|\\)*")
_FROM = re.compile(rb"from[ \t]+([.\w \t]+?)[ \t\\\r\n]*$|from[ \t]*(\.+)[ \t]*$")
_ALIAS = re.compile(rb"^(\w+)[ \t]*=[ \t]*([A-Za-z_][\w.]*)[ \t]*\r?$", re.MULTILINE)
_DOTTED = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
_HASH = re.compile(r"#[^\n]*|\\\r?\n")


def python_declarations(data: bytes) -> Declarations:
    """Return the declarations of a Python file."""
    data = data.removeprefix(BOM_UTF8)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    imports: list[tuple[str, str]] = []
    stars: list[str] = []
    modules: list[str] = []
    for place in _IMPORT.finditer(data):
        before = _before(data, place.start())
        match = _FROM.match(before)
        if not before or match:
            source = "".join(_text(match[1] or match[2]).split()) if match else None
            for words in _members(data, place.end()):
                _import(source, words, imports, stars, modules)
    return Declarations(
        classes=tuple(_python_classes(data)),
        imports=tuple(imports),
        aliases=tuple((_text(name), _text(target)) for name, target in _ALIAS.findall(data)),
        stars=tuple(stars),
        modules=tuple(modules),
    )


def _python_classes(data: bytes) -> Iterator[tuple[str, tuple[str, ...]]]:
    for head in _CLASS.finditer(data):
        before = data[_line_start(data, head.start(), b"\n") : head.start()].strip()
        if before and not before.endswith((b":", b";")):
            continue
        names = _DOTTED.findall(_HASH.sub(" ", _text(_bracketed(data, head.end()))))
        bases = tuple("".join(name.split()) for name in names)
        if bases and bases != ("object",):
            yield _text(head[1]), bases


def _bracketed(data: bytes, start: int) -> bytes:
    """Return the text between a parenthesis, opened just before `start`, and the one that closes it."""
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


def _before(data: bytes, at: int) -> bytes:
    """Return the text of the statement before the word `import` at `at`."""
    start = _line_start(data, at, b"\n")
    if data[start - 2 : start] == b"\\\n" or data[start - 3 : start] == b"\\\r\n":
        start = _line_start(data, start - 1, b"\n")
    before = data[start:at]
    cut = max(before.rfind(b":"), before.rfind(b";"))
    return before[cut + 1 :].strip()


def _members(data: bytes, at: int) -> Iterator[list[str]]:
    """Yield what is imported, each as its words: `["a.b"]`, `["a", "as", "b"]`, `["*"]`."""
    while data[at : at + 1] in (b" ", b"\t"):
        at += 1
    if data[at : at + 1] == b"(":
        names = _bracketed(data, at + 1)
    else:
        found = _LOGICAL.match(data, at, at + _LONGEST)
        names = found[0] if found else b""
    for part in _HASH.sub(" ", _text(names)).split(","):
        if words := part.split():
            yield words


def _import(
    source: str | None, words: list[str], imports: list[tuple[str, str]], stars: list[str], modules: list[str]
) -> None:
    """Add one imported name; without a `source` it is a module."""
    name, renamed = words[0], len(words) > 1
    if source is None:
        modules.append(name)
        top = name.partition(".")[0]
        imports.append((words[-1], name) if renamed else (top, top))
    elif name == "*":
        stars.append(source)
    else:
        joint = "" if source.endswith(".") else "."
        imports.append((words[-1], f"{source}{joint}{name}"))


# ---- Java ----

_NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_HEADS = tuple(
    re.compile(word + rb"\s+(" + _NAME + rb")") for word in (b"class", b"interface", b"enum", b"record")
)
_NEW = re.compile(rb"new\s+(" + _NAME + rb"(?:\." + _NAME + rb")*)")
_END = re.compile(rb"[;{}]")
_PACKAGE = re.compile(rb"package\s+([\w$.\x80-\xff]+)\s*;")
_JAVA_IMPORT = re.compile(rb"import\s+(?:static\s+)?([\w$.\x80-\xff]+)(\*)?\s*;")
_CAPITAL = re.compile(rb"\b[A-Z][\w$\x80-\xff]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ARGUMENTS = re.compile(r"<[^<>]*>")
_ANNOTATION = re.compile(r"@[\w.]+(?:\([^()]*\))?")
_BASES = re.compile(r"\b(?:extends|implements)\b(.*?)(?=\bextends\b|\bimplements\b|\bpermits\b|$)", re.DOTALL)
_DEEPEST = 8  # type arguments in type arguments


def java_declarations(data: bytes) -> Declarations:
    """Return the declarations of a Java file: nested classes by their bare names, bodies of anonymous ones as "$"."""
    data = data.removeprefix(BOM_UTF8)
    package = next((_text(found[1]) for found in _PACKAGE.finditer(data) if _starts(data, found.start())), "")
    imports: list[tuple[str, str]] = []
    stars = [package]
    for found in _JAVA_IMPORT.finditer(data):
        if _starts(data, found.start()):
            name = _text(found[1])
            if found[2]:
                stars.append(name.rstrip("."))
            else:
                imports.append((name.rpartition(".")[2], name))
    classes = sorted((*_named_classes(data), *_anonymous_classes(data)))
    return Declarations(
        classes=tuple((name, bases) for _, name, bases in classes if bases),
        imports=tuple(imports),
        stars=tuple(stars),
        package=package,
    )


def capital_names(data: bytes, found: Declarations) -> frozenset[str]:
    """Return the capitalised names in a Java file that it neither imports nor declares: a package needs no import."""
    known = {name for name, _ in found.imports}
    known.update(_text(head[1]) for pattern in _HEADS for head in pattern.finditer(data))
    return frozenset(map(_text, _CAPITAL.findall(data))) - known


def _starts(data: bytes, at: int) -> bool:
    """Whether a declaration may begin at `at`: on its line only the end of another one is before it."""
    before = data[_line_start(data, at, b"\n", b"\r") : at].strip()
    return not before or before.endswith((b";", b"*/"))


def _named_classes(data: bytes) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the classes that have bases: place, name, bases."""
    for pattern in _HEADS:
        for name, header in _class_headers(pattern, data):
            if b"extends" in header or b"implements" in header:
                yield name.start(), _text(name[1]), _java_bases(_text(header))


def _anonymous_classes(data: bytes) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    for name, header in _class_headers(_NEW, data):
        if header.rstrip().endswith(b")"):
            yield name.start(), "$", (_text(name[1]),)


def _class_headers(pattern: re.Pattern[bytes], data: bytes) -> Iterable[tuple[re.Match[bytes], bytes]]:
    """Yield each match with the text from it to a `{` that comes before the end of a statement."""
    end = -1
    for found in pattern.finditer(data):
        start = found.end()
        if end < start:
            stop = _END.search(data, start)
            end = stop.start() if stop else len(data)
        if data[end : end + 1] == b"{" and end - start <= _LONGEST:
            yield found, data[start:end]


def _java_bases(header: str) -> tuple[str, ...]:
    """Return the names after `extends` and `implements`, without type arguments and annotations."""
    header = _ANNOTATION.sub(" ", _COMMENT.sub(" ", header))
    for _ in range(_DEEPEST):
        header = _ARGUMENTS.sub(" ", header)
    parts = (part for clause in _BASES.findall(header) for part in clause.split(","))
    return tuple(name for part in parts if (name := "".join(part.split())))
