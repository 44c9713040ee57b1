"""The languages that a run may meet, and what lint asks of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.model.files import cookie_of

if TYPE_CHECKING:
    from ackdoctor.model.component import Unit
    from ackdoctor.model.finding import Unreadable

__all__ = [
    "LANGUAGES",
    "SUFFIXES",
    "Language",
    "Lowered",
    "has_handler",
    "is_not_text",
    "language_of",
    "lower",
]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Language:
    """A language: `dialects` is the language whose frameworks it uses, `parsers` are the packages that parse it.

    ackdoctor does not read a language without a parser: it counts the files that name a framework and says so.
    `owned_packages` says that a top-level package belongs to one owner, as "streamparse" does and "org" does not.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    dialects: str
    parsers: tuple[str, ...] = ()
    owned_packages: bool = False

    @property
    def is_read(self) -> bool:
        """Whether ackdoctor reads it."""
        return bool(self.parsers)


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        language.name: language
        for language in (
            Language(
                name="python",
                title="Python",
                suffixes=(".py",),
                dialects="python",
                parsers=("libcst",),
                owned_packages=True,
            ),
            Language(
                name="java",
                title="Java",
                suffixes=(".java",),
                dialects="java",
                parsers=("tree_sitter", "tree_sitter_java"),
            ),
            Language(name="kotlin", title="Kotlin", suffixes=(".kt", ".kts"), dialects="java"),
            Language(name="scala", title="Scala", suffixes=(".scala",), dialects="java"),
        )
    }
)
_BY_SUFFIX = {suffix: language for language in LANGUAGES.values() for suffix in language.suffixes}
SUFFIXES = tuple(_BY_SUFFIX)
_PYTHON_HANDLER = re.compile(
    rb"def (?:process(?:_tuple)?[ \t]{0,9}\([ \t]{0,9}self[ \t]{0,9},[ \t]{0,9}(?:_?tup_?|(?:a_|storm_)?tuple_?)\b|next_tuple[ \t]{0,9}\([ \t]{0,9}self\b)"
)
_JAVA_HANDLER = re.compile(
    rb"void\s{1,9}(?:(?:execute|process)\s{0,9}\(\s{0,9}(?:final\s{1,9})?(?:[\w.]{1,99}\.)?Tuple\s|nextTuple\s{0,9}\()"
)


def language_of(path: str) -> Language:
    """Return the language of a file; a named file of any other suffix counts as Python."""
    return _BY_SUFFIX.get(f".{path.rpartition('.')[2]}".lower()) or LANGUAGES["python"]


def has_handler(language: str, data: bytes) -> bool:
    """Whether a method looks like a handler of tuples: `def process(self, tup)`, `void execute(Tuple input)`."""
    if language == "java":
        return b"Tuple" in data and _JAVA_HANDLER.search(data) is not None
    return b"tup" in data and _PYTHON_HANDLER.search(data) is not None


def is_not_text(language: str, data: bytes) -> bool:
    """Whether no source text looks like that.  A Python file may declare its encoding, a Java file does not."""
    if b"\0" in data:
        return True
    if language == "java" or data.isascii():
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return cookie_of(data) is None
    return False


class Lowered(NamedTuple):
    """A file's unit, or None, and the places that the parser could not read."""

    unit: "Unit | None"
    unreadable: "tuple[Unreadable, ...]" = ()


def lower(language: str, display_path: str, module: str, data: bytes, *, is_package: bool) -> Lowered:
    """Parse and lower one file; never raises for bad input.  The parser is imported here, for the first file."""
    from ackdoctor.model.finding import Unreadable

    if language == "java":
        from ackdoctor.frontends import java

        unit = java.lower_source(path=display_path, data=data)
        if isinstance(unit, Unreadable):
            return Lowered(None, (unit,))
        return Lowered(unit.unit, tuple(replace(place, partial=True) for place in unit.broken))
    from ackdoctor.frontends import python

    found = python.lower_source(path=display_path, module=module, is_package=is_package, data=data)
    return Lowered(None, (found,)) if isinstance(found, Unreadable) else Lowered(found)
