"""The languages that a run may meet, by suffix, and who reads them.

A language that is read has a package of its own beside this module, whose door has the functions of
`Reader`; it is imported when the first file of that language is met, and its parser when the first file
is lowered.  The others are counted where they name a framework, so that nobody takes silence for praise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ackdoctor.lint.languages.outline import Outline

if TYPE_CHECKING:
    from ackdoctor.lint.languages.directive import Directive
    from ackdoctor.model.component import Unit
    from ackdoctor.model.finding import Unreadable

__all__ = ["LANGUAGES", "SUFFIXES", "Language", "Lowered", "Places", "Reader", "language_of", "reader"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Language:
    """A language: `dialects` is the language whose frameworks it uses, `parsers` are the packages that parse it.

    Without a parser nobody reads it.
    `top_level` says that a top-level package belongs to one owner, as "streamparse" does and "org" does not.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    dialects: str
    parsers: tuple[str, ...] = ()
    top_level: bool = False

    @property
    def read(self) -> bool:
        """Whether there is a reader."""
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
                top_level=True,
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


def language_of(path: str) -> Language:
    """The language of a file; a named file of any other suffix is taken for Python."""
    return _BY_SUFFIX.get(f".{path.rpartition('.')[2]}".lower()) or LANGUAGES["python"]


class Lowered(NamedTuple):
    """What a frontend made of a file: a unit, or nothing, and the places that it could not read."""

    unit: "Unit | None"
    unreadable: "tuple[Unreadable, ...]"


class Places(Protocol):
    """The files of a run, by what their code is called."""

    def locate(self, origin: str, qualified: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Files that a qualified name in the file `origin` may lead to, and what is left of the name in each."""


class Reader(Protocol):
    """All that the engine wants to know of a language; its package's door is one."""

    def skeleton(self, data: bytes, /) -> Outline:
        """The classes, and perhaps the rest."""

    def outline(self, data: bytes, /) -> Outline:
        """The outline of a source file."""

    def is_odd(self, data: bytes, /) -> bool:
        """Whether no source text of that language looks like that."""

    def is_shaped(self, data: bytes, /) -> bool:
        """Whether there may be a handler of tuples in it, whatever its class derives from."""

    def meanings(self, found: Outline, dotted: str, /) -> Iterator[str]:
        """What a dotted name in a file may stand for; "=name" is another name in the same file."""

    def module_name(self, shown: str, found: Outline, /) -> tuple[str, bool]:
        """The dotted name of a file's module, and whether it is a package's own file."""

    def places(self, paths: Iterable[str], root: str, outline_of: Callable[[str], Outline], /) -> Places:
        """The files of a run, to be asked for names."""

    def helps(self, depth: int, *, named: bool, acts: bool) -> bool:
        """Whether a file that a component reaches in `depth` imports is worth lowering with it."""

    def directives(self, data: bytes, /) -> "Sequence[Directive]":
        """What the file's comments, and whatever else may speak to us, say."""

    def lower(self, shown: str, module: str, data: bytes, /, *, is_package: bool) -> Lowered:
        """The file, lowered; never raises for bad input."""


def reader(name: str) -> Reader:
    """The reader of a language that is read."""
    if name == "java":
        from ackdoctor.lint.languages import java

        return java
    from ackdoctor.lint.languages import python

    return python
