"""What the bytes of a Java file say about classes and imports, read without a parser.

`package a.b; import c.Base; import d.*;` and `class C<T extends X> extends Base<T> implements I {` make

    package  "a.b"
    classes  (("C", ("Base", "I")),)
    imports  (("Base", "c.Base"),)
    stars    ("a.b", "d")

Nested classes stand under their bare names, bodies of anonymous ones under "$".  Every expression here
that runs over a whole file starts with a literal, as in Python's; `names` are sought only in files that
name a framework, or whose outline somebody asked for.
"""

import re
from codecs import BOM_UTF8 as _MARK
from collections.abc import Iterable, Iterator

from ackdoctor.lint.languages.outline import Outline

__all__ = ["meanings", "outline", "skeleton"]

_NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_HEADS = tuple(
    re.compile(word + rb"\s+(" + _NAME + rb")") for word in (b"class", b"interface", b"enum", b"record")
)
_NEW = re.compile(rb"new\s+(" + _NAME + rb"(?:\." + _NAME + rb")*)")
_END = re.compile(rb"[;{}]")
_PACKAGE = re.compile(rb"package\s+([\w$.\x80-\xff]+)\s*;")
_IMPORT = re.compile(rb"import\s+(?:static\s+)?([\w$.\x80-\xff]+)(\*)?\s*;")
_NAMED = re.compile(rb"\b[A-Z][\w$\x80-\xff]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ARGUMENTS = re.compile(r"<[^<>]*>")
_ANNOTATION = re.compile(r"@[\w.]+(?:\([^()]*\))?")
_BASES = re.compile(r"\b(?:extends|implements)\b(.*?)(?=\bextends\b|\bimplements\b|\bpermits\b|$)", re.DOTALL)
_LONGEST = 4_000  # bytes of a header
_DEEPEST = 8  # type arguments in type arguments

_Class = tuple[int, str, tuple[str, ...]]  # where it stands, its name, its bases


def skeleton(data: bytes) -> Outline:
    """The classes with names: no import gives one another name, and who writes an anonymous bolt names a framework."""
    return Outline(_sorted(_named(data)))


def outline(data: bytes) -> Outline:
    """The outline of a source file."""
    data = data.removeprefix(_MARK)
    own = next((_text(found[1]) for found in _PACKAGE.finditer(data) if _starts(data, found.start())), "")
    imports: list[tuple[str, str]] = []
    stars = [own]
    for found in _IMPORT.finditer(data):
        if _starts(data, found.start()):
            name = _text(found[1])
            if found[2]:
                stars.append(name.rstrip("."))
            else:
                imports.append((name.rpartition(".")[2], name))
    bound = {name for name, _ in imports}
    bound.update(_text(head[1]) for pattern in _HEADS for head in pattern.finditer(data))
    return Outline(
        classes=_sorted((*_named(data), *_anonymous(data))),
        imports=tuple(imports),
        stars=tuple(stars),
        package=own,
        names=tuple(sorted(set(map(_text, _NAMED.findall(data))) - bound)),
        complete=True,
    )


def meanings(found: Outline, dotted: str) -> Iterator[str]:
    """What a dotted name may stand for: an imported class, a full name, a class of the package or of a star."""
    first, _, rest = dotted.partition(".")
    tail = f".{rest}" if rest else ""
    for bound, qualified in found.imports:
        if bound == first:
            yield qualified + tail
    if rest:
        yield dotted
    for star in found.stars:
        yield f"{star}.{dotted}" if star else dotted


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _starts(data: bytes, at: int) -> bool:
    """Whether a declaration may begin there: nothing but the end of another one stands before it on its line."""
    least = max(0, at - _LONGEST)
    line_start = max(data.rfind(b"\n", least, at), data.rfind(b"\r", least, at)) + 1
    before = data[max(least, line_start) : at].strip()
    return not before or before.endswith((b";", b"*/"))


def _named(data: bytes) -> Iterator[_Class]:
    """Classes that have bases."""
    for pattern in _HEADS:
        for name, header in _headers(pattern, data):
            if b"extends" in header or b"implements" in header:
                yield name.start(), _text(name[1]), _bases(_text(header))


def _anonymous(data: bytes) -> Iterator[_Class]:
    """Bodies of anonymous classes."""
    for name, header in _headers(_NEW, data):
        if header.rstrip().endswith(b")"):
            yield name.start(), "$", (_text(name[1]),)


def _headers(pattern: re.Pattern[bytes], data: bytes) -> Iterator[tuple[re.Match[bytes], bytes]]:
    """What fits a pattern, with what stands between it and a brace that comes before a statement's end."""
    end = -1
    for found in pattern.finditer(data):
        start = found.end()
        if end < start:
            stop = _END.search(data, start)
            end = stop.start() if stop else len(data)
        if data[end : end + 1] == b"{" and end - start <= _LONGEST:
            yield found, data[start:end]


def _sorted(classes: Iterable[_Class]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """In the order of the source."""
    return tuple((name, bases) for _, name, bases in sorted(classes) if bases)


def _bases(header: str) -> tuple[str, ...]:
    """The names behind `extends` and `implements`, without type arguments and annotations."""
    header = _ANNOTATION.sub(" ", _COMMENT.sub(" ", header))
    for _ in range(_DEEPEST):
        header = _ARGUMENTS.sub(" ", header)
    parts = (part for clause in _BASES.findall(header) for part in clause.split(","))
    return tuple(name for part in parts if (name := "".join(part.split())))
