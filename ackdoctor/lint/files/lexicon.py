"""What the frameworks are called, boiled down to what the search for their users needs."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.lint.languages.reader import Language

if TYPE_CHECKING:
    from ackdoctor.model.dialect import Dialect

__all__ = ["DIRECTIVE", "Lexicon", "lexicon"]

DIRECTIVE = b"ackdoctor:"  # what every suppression comment contains


class Lexicon(NamedTuple):
    """The words of all dialects of one language and of the user's extra bases.

    `words` occur in every file that names a framework.  `classes` are the qualified names of base
    classes, `exported` their last parts, `modules` where they live, `theirs` those that a framework
    defines itself, `vendored` those of them whose module is copied into projects, so that any module
    whose last part fits counts; `packages` are the top-level packages of the others.
    """

    words: tuple[bytes, ...]
    classes: frozenset[str]
    exported: frozenset[str]
    modules: frozenset[str]
    theirs: frozenset[str]
    vendored: frozenset[str]
    packages: frozenset[str]

    def is_base(self, qualified: str) -> bool:
        """Whether that is the name of a framework's base class."""
        if qualified in self.classes:
            return True
        tail = ".".join(qualified.rsplit(".", 2)[-2:])
        return tail in self.vendored

    def is_foreign(self, qualified: str) -> bool:
        """Whether that name lies in a framework's own package: what it does is known from its dialect."""
        return qualified.partition(".")[0] in self.packages or self.is_module(qualified)

    def is_module(self, qualified: str) -> bool:
        """Whether that is the name of a framework's module."""
        return qualified in self.modules or qualified.rpartition(".")[2] in self.modules


def lexicon(dialects: "Iterable[Dialect]", extra_bases: Mapping[str, str], language: Language) -> Lexicon:
    """The lexicon of those dialects that belong to a language."""
    ours = [dialect for dialect in dialects if dialect.language == language.dialects]
    words = {word for dialect in ours for word in dialect.words}
    words |= {base.rpartition(".")[2].encode() for base in extra_bases}
    theirs = {name for dialect in ours for role in dialect.roles for name in role.classes}
    vendored = {
        name for dialect in ours if dialect.vendored for role in dialect.roles for name in role.classes
    }
    classes = theirs | set(extra_bases)
    owned = theirs - vendored if language.top_level else ()
    return Lexicon(
        words=_shortest(words),
        classes=frozenset(classes),
        exported=frozenset(name.rpartition(".")[2] for name in classes),
        modules=frozenset(name.rpartition(".")[0] for name in classes) - {""},
        theirs=frozenset(theirs),
        vendored=frozenset(vendored),
        packages=frozenset(name.partition(".")[0] for name in owned),
    )


def _shortest(words: set[bytes]) -> tuple[bytes, ...]:
    """Without the words that contain another one: finding that one finds them."""
    return tuple(sorted(w for w in words if not any(v != w and v in w for v in words)))
