"""The files of a run in one language: a byte filter over each of them, and their declarations on demand.

The filter reads every file once and keeps no bytes: most files hold nothing that concerns a run.  A parser is fifty
times slower, so the classes and imports of a file are first read by regular expressions, followed from file to file,
and only what leads to a component is parsed.  In ordinary code they may find too much (a class in a docstring), never
too little.  Every expression that runs over a whole file starts with a literal: the engine then skips ahead at the
speed of a substring search, ten times as fast as any pattern that starts at the beginning of a line.
"""

import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

from ackdoctor.lint.discover import LIMIT, Candidate, Language, display_path, reason
from ackdoctor.model.dialect import Dialect
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import cookie_of, read_file

MARK = b"ackdoctor:"  # every suppression comment contains it
_INFORMS = re.compile(
    rb"\bcatch\s{0,9}\("
    rb"|except\s{0,9}(?::|\(?\s{0,9}(?:Base)?Exception\b)"
    rb"|\benum\s{1,9}[A-Z]"
)
_ON_TOP = (
    "org.apache.stormcrawler.",
    "com.digitalpebble.",
)  # libraries with bases: projects are in their packages
_ACTS = re.compile(rb"[._](?:ack|fail|emit)\w{0,80}[ \t]*\(")  # \w* would be quadratic in `_ack_ack_ack`
_HANDLERS = {  # language -> a word that every handler of tuples contains, and its head
    "python": (
        b"tup",
        re.compile(
            rb"def (?:process(?:_tuple)?[ \t]{0,9}\([ \t]{0,9}self[ \t]{0,9},[ \t]{0,9}(?:_?tup_?|(?:a_|storm_)?tuple_?)\b"
            rb"|next_tuple[ \t]{0,9}\([ \t]{0,9}self\b)"
        ),
    ),
    "java": (
        b"Tuple",
        re.compile(
            rb"void\s{1,9}(?:(?:execute|process)\s{0,9}\(\s{0,9}(?:final\s{1,9})?(?:[\w.]{1,99}\.)?Tuple\s"
            rb"|nextTuple\s{0,9}\()"
        ),
    ),
}

_WIRES = {  # language -> what only a file that builds a topology contains
    "python": re.compile(
        rb"TopologyBuilder|\.spec[ \t]{0,9}\(|\.set(?:Spout|Bolt)\(|\.add_(?:spout|bolt)\(|new_source\("
    ),
    "java": re.compile(
        rb"TopologyBuilder|TridentTopology|StreamBuilder|ConfigurableTopology|submitTopology|Submitter"
    ),
}


_STARTS = b"void main("  # of a Java program


def digest_of(data: bytes) -> str:
    """Return a digest that no other bytes have."""
    return blake2b(data, digest_size=20).hexdigest()


# ---- frameworks ----


class FrameworkNames(NamedTuple):
    """The names of all frameworks of one language, and of the user's extra bases.

    One of `words` is in every file that names a framework.  `bases` are the qualified names of base classes, `modules`
    the modules that hold them.  `own_classes` are those that a framework defines.  `vendored` are those of them whose
    module is copied into projects: any module whose last part fits counts.  `packages` are top-level packages that
    belong to a framework.
    """

    words: tuple[bytes, ...]
    bases: frozenset[str]
    modules: frozenset[str]
    own_classes: frozenset[str]
    vendored: frozenset[str]
    packages: frozenset[str]

    def is_base(self, qualified: str) -> bool:
        """Whether that is the name of a framework's base class."""
        return qualified in self.bases or ".".join(qualified.rsplit(".", 2)[-2:]) in self.vendored

    def is_module(self, qualified: str) -> bool:
        """Whether that is the name of a framework's module."""
        return qualified in self.modules or qualified.rpartition(".")[2] in self.modules

    def holds_modules(self, package: str) -> bool:
        """Whether that is a framework's module, or a package above one, as `org.apache.storm` is."""
        return bool(package) and any(f"{module}.".startswith(f"{package}.") for module in self.modules)

    def is_in_framework(self, qualified: str) -> bool:
        """Whether that name is in a framework's own package: its dialect describes what is there."""
        return qualified.partition(".")[0] in self.packages or self.is_module(qualified)


def framework_names(
    dialects: Iterable[Dialect], extra_bases: Mapping[str, str], language: Language
) -> FrameworkNames:
    """Collect the names of the dialects of a language."""
    ours = [dialect for dialect in dialects if dialect.language == language.dialects]
    words = {word for dialect in ours for word in dialect.words}
    words |= {base.rpartition(".")[2].encode() for base in extra_bases}
    classes = {name for dialect in ours for role in dialect.roles for name in role.classes}
    copied = {name for dialect in ours if dialect.vendored for role in dialect.roles for name in role.classes}
    bases = classes | set(extra_bases)
    framework = {name for name in bases if not name.startswith(_ON_TOP)}
    owned = (classes - copied) & framework if language.owned_packages else ()
    return FrameworkNames(
        words=tuple(sorted(w for w in words if not any(v != w and v in w for v in words))),
        bases=frozenset(bases),
        modules=frozenset(name.rpartition(".")[0] for name in framework) - {""},
        own_classes=frozenset(classes),
        vendored=frozenset(copied),
        packages=frozenset(name.partition(".")[0] for name in owned),
    )


# ---- the filter ----


class Facts(NamedTuple):
    """What the byte filter found in a file.

    `has_mark`: it may hold a suppression comment.  `has_handler`: a method in it looks like a handler of tuples.
    `wires`: it may build a topology.  `starts`: it has a program.  `not_text`: no source text looks like that.
    """

    names_framework: bool
    has_mark: bool = False
    has_handler: bool = False
    wires: bool = False
    not_text: bool = False
    starts: bool = False


class Files:
    """The files of one language by path, with the facts about each.

    `overlay` holds contents that are not (yet) on disk.  A file that cannot be read has no facts and is in
    `unreadable`.  What `known`, the files of an earlier run, holds about an unchanged file is taken over.  `tick` is
    called before each file is read.
    """

    def __init__(
        self,
        candidates: Iterable[Candidate],
        language: Language,
        names: FrameworkNames,
        root: str,
        overlay: Mapping[str, bytes],
        known: "Files | None" = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        self._tick = tick
        self.language = language
        self.names = names
        self.root = root
        self.overlay = overlay
        self.known = known
        if known is not None:
            known.known = None
        self._unchanged: set[str] = set()
        self.by_path: dict[str, Candidate] = {}
        self.facts: dict[str, Facts] = {}
        self.unreadable: list[Unreadable] = []
        self.declared: dict[str, Declarations] = {}
        self.digests: dict[str, str] = {}
        for candidate in candidates:
            self._filter(candidate)

    def add(self, path: str) -> bool:
        """Take in a file that the run does not list; False if it cannot be read."""
        if path not in self.by_path:
            try:
                found = os.stat(path)
            except (OSError, ValueError):
                return False
            if not stat.S_ISREG(found.st_mode) or found.st_size > LIMIT:
                return False
            where = display_path(path, self.root)
            self._filter(Candidate(path, where, found.st_size, named=False, modified=found.st_mtime_ns))
        return path in self.facts

    def leads_as(self, known: "Files") -> bool:
        """Whether the files are those of an earlier run, and their classes and imports lead to the same files."""
        for path in known.by_path.keys() - self.by_path.keys():
            self.add(path)
        changed = self.by_path.keys() - self._unchanged
        return (
            self.by_path.keys() == known.by_path.keys()
            and changed <= self.overlay.keys() & known.overlay.keys()
            and all(self.outline(path) == known.outline(path) for path in changed)
        )

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file; None and an entry in `unreadable` where the system refuses."""
        if self._tick is not None:
            self._tick()
        if path in self.overlay:
            return self.overlay[path]
        try:
            return read_file(path, LIMIT)
        except OSError as error:
            place = self.by_path[path].display_path
            self._refuse(Unreadable(path=place, line=0, column=0, reason=reason(error)))
            return None

    def declarations(self, path: str) -> "Declarations":
        """Return the file's classes and imports.  An internal error costs this file and no other."""
        if path not in self.declared:
            declare = java_declarations if self.language.name == "java" else python_declarations
            try:
                found = declare(self.read(path) or b"")
            except Exception as error:  # noqa: BLE001  # the other files go on
                self._refuse(Unreadable.crash(self.by_path[path].display_path, error))
                found = Declarations()
            self.declared[path] = found
        return self.declared[path]

    def acts(self, path: str) -> bool:
        """Whether the file calls something like an ack, a fail or an emit."""
        return _ACTS.search(self.read(path) or b"") is not None

    def informs(self, path: str) -> bool:
        """Whether a file has an exception handler (in Python, one of all exceptions), or an enum that a `switch` elsewhere may cover."""
        return _INFORMS.search(self.read(path) or b"") is not None

    def digest(self, path: str) -> str:
        """Return the digest of the file's bytes; "" where the system refuses to read it."""
        if path not in self.digests:
            data = self.read(path)
            self.digests[path] = "" if data is None else digest_of(data)
        return self.digests[path]

    def _filter(self, candidate: Candidate) -> None:
        self.by_path[candidate.path] = candidate
        if self._take_over(candidate):
            return
        data = self.read(candidate.path)
        if data is None:
            return
        named = any(word in data for word in self.names.words)
        if not self.language.is_read:
            self.facts[candidate.path] = Facts(named)
            return
        word, handler = _HANDLERS[self.language.name]
        has_zeros = b"\0" in data
        self.facts[candidate.path] = Facts(
            named,
            has_mark=MARK in (data.replace(b"\0", b"") if has_zeros else data),  # UTF-16
            has_handler=word in data and handler.search(data) is not None,
            wires=_WIRES[self.language.name].search(data) is not None,
            starts=self.language.name == "java" and _STARTS in data,
            # A Python file may declare its encoding, a Java file does not.
            not_text=has_zeros
            or (self.language.name == "python" and not _is_utf8(data) and cookie_of(data) is None),
        )

    def _take_over(self, candidate: Candidate) -> bool:
        """Take over what an earlier run knows about a file; False if it knows none or another version."""
        path, known = candidate.path, self.known
        if known is None or path not in known.facts or known.overlay.get(path) != self.overlay.get(path):
            return False
        if path not in self.overlay and known.by_path[path] != candidate:
            return False
        self._unchanged.add(path)
        self.facts[path] = known.facts[path]
        if path in known.declared:
            self.declared[path] = known.declared[path]
        if path in known.digests:
            self.digests[path] = known.digests[path]
        self.unreadable += (fault for fault in known.unreadable if fault.path == candidate.display_path)
        return True

    def outline(self, path: str) -> tuple[object, ...]:
        """Return all that clusters depend on in a file."""
        if path not in self.facts:
            return ()
        declared, data = self.declarations(path), self.read(path) or b""
        names = capital_names(data, declared) if self.language.name == "java" else ()
        return self.facts[path], declared, names, self.acts(path), self.informs(path)

    def _refuse(self, fault: Unreadable) -> None:
        if all(item.path != fault.path for item in self.unreadable):
            self.unreadable.append(fault)


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# ---- declarations ----

_LONGEST = 4_000  # bytes of a class header, of an import, of the part of a line before a keyword
_Classes = tuple[tuple[str, tuple[str, ...]], ...]


class Declarations(NamedTuple):
    """Classes with the names of their bases; imports as bound name and qualified name.

    `from .base import Bolt as B`, `import storm` and `class C(B, storm.X):` make the classes `C: B, storm.X` and the
    imports `B = .base.Bolt, storm = storm`; relative names keep their leading dots.  `package a.b; import c.Base;
    import d.*;` and `class C<T> extends Base<T> implements I` make the package `a.b`, the class `C: Base, I`, the import
    `Base = c.Base` and the stars `a.b, d`.

    `aliases` are plain `name = other.name` assignments, `stars` the modules or packages whose names are all imported,
    `modules` those of a plain import.
    """

    classes: _Classes = ()
    imports: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    stars: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    package: str = ""

    def imported(self) -> Iterator[str]:
        """Yield the qualified names of all that is imported."""
        yield from (*self.modules, *self.stars)
        yield from (qualified for _, qualified in self.imports)

    def meanings(self, dotted: str, *, java: bool) -> Iterator[str]:
        """Yield the qualified names that a dotted name may stand for; "=name" is another name in the same file."""
        first, _, rest = dotted.partition(".")
        tail = f".{rest}" if rest else ""
        yield from (qualified + tail for bound, qualified in self.imports if bound == first)
        yield from (f"={target}{tail}" for bound, target in self.aliases if bound == first)
        if java and rest:
            yield dotted
        for star in self.stars:
            yield f"{star}{'' if star.endswith('.') or not star else '.'}{dotted}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _line_start(data: bytes, at: int, *ends: bytes) -> int:
    """Return where the line begins, or a place not too far before `at`: a line may have such words by the thousand."""
    least = max(0, at - _LONGEST)
    return max(least, *(data.rfind(end, least, at) + 1 for end in ends))


# ---- Python ----

_CLASS = re.compile(rb"class[ \t]+(\w+)[ \t]*\(")
_IMPORT = re.compile(rb"import(?=[ \t(*\\])[ \t]*")
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
        if before and not match:
            continue
        source = "".join(_text(match[1] or match[2]).split()) if match else ""
        for name, *renamed in _members(data, place.end()):
            if not match:
                modules.append(name)
                top = name.partition(".")[0]
                imports.append((renamed[-1], name) if renamed else (top, top))
            elif name == "*":
                stars.append(source)
            else:
                joint = "" if source.endswith(".") else "."
                imports.append((renamed[-1] if renamed else name, f"{source}{joint}{name}"))
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
        if found[0] == b"#":
            at = data.find(b"\n", at, start + _LONGEST)
            if at < 0:
                return b""
        else:
            depth += 1 if found[0] == b"(" else -1
    return data[start : at - 1] if depth == 0 else b""


def _before(data: bytes, at: int) -> bytes:
    """Return the text of the statement before the word `import` at `at`."""
    start = _line_start(data, at, b"\n")
    if data[start - 2 : start] == b"\\\n" or data[start - 3 : start] == b"\\\r\n":
        start = _line_start(data, start - 1, b"\n")
    before = data[start:at]
    return before[max(before.rfind(b":"), before.rfind(b";")) + 1 :].strip()


def _members(data: bytes, at: int) -> Iterator[list[str]]:
    """Yield what is imported, each as its words: `["a.b"]`, `["a", "as", "b"]`, `["*"]`."""
    if data[at : at + 1] == b"(":
        names = _bracketed(data, at + 1)
    else:
        found = _LOGICAL.match(data, at, at + _LONGEST)
        names = found[0] if found else b""
    for part in _HASH.sub(" ", _text(names)).split(","):
        if words := part.split():
            yield words


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
    classes = [
        (name.start(), _text(name[1]), _java_bases(_text(header)))
        for pattern in _HEADS
        for name, header in _class_headers(pattern, data)
        if b"extends" in header or b"implements" in header
    ]
    classes += (
        (name.start(), "$", (_text(name[1]),))
        for name, header in _class_headers(_NEW, data)
        if header.rstrip().endswith(b")")
    )
    return Declarations(
        classes=tuple((name, bases) for _, name, bases in sorted(classes) if bases),
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
