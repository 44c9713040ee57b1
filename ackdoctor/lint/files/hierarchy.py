"""Which classes come from a framework's base class, as far as outlines tell, through any number of files.

Answers err towards yes: a class counts when one of the names in its parentheses may lead to a framework.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ackdoctor.lint.files.survey import Survey
from ackdoctor.lint.languages.reader import Places

__all__ = ["ClassKey", "Hierarchy", "Lead"]

_HOPS = 12  # re-exports followed before giving up


class ClassKey(NamedTuple):
    """A class of the project: the file and its bare name."""

    path: str
    name: str


class Lead(NamedTuple):
    """Where a name may lead: a class (None: a framework's), and the files on the way, the first one included."""

    cls: ClassKey | None
    way: tuple[str, ...]


class Hierarchy:
    """Bases followed and remembered.

    `bases` are the files in which a class of the key file has a base, directly or through re-exports.
    """

    def __init__(self, survey: Survey, places: Places) -> None:
        self._survey = survey
        self._places = places
        self._answers: dict[ClassKey, bool] = {}
        self.bases: dict[str, set[str]] = {}

    def is_component(self, key: ClassKey) -> bool:
        """Whether a framework's class is among the ancestors.  A cycle of bases leads nowhere."""
        waiting = [key]
        below: dict[ClassKey, set[ClassKey]] = {}
        while waiting:
            cls = waiting.pop()
            if cls in self._answers:
                continue
            self._answers[cls] = False
            for base in self._bases_of(cls):
                if base is None or self._answers.get(base):
                    self._yes(cls, below)
                else:
                    below.setdefault(base, set()).add(cls)
                    waiting.append(base)
        return self._answers[key]

    def _yes(self, cls: ClassKey, below: dict[ClassKey, set[ClassKey]]) -> None:
        waiting = [cls]
        while waiting:
            cls = waiting.pop()
            if not self._answers.get(cls):
                self._answers[cls] = True
                waiting += below.get(cls, ())

    def _bases_of(self, cls: ClassKey) -> Iterator[ClassKey | None]:
        """The classes of the project that it derives from; None stands for one of a framework."""
        for name, bases in self._survey.outline(cls.path).classes:
            if name == cls.name:
                for base in bases:
                    for lead in self.leads(cls.path, base):
                        self.bases.setdefault(cls.path, set()).update(lead.way)
                        yield lead.cls

    def leads(self, path: str, dotted: str) -> Iterator[Lead]:
        """Where a dotted name in a file may lead, through imports, renamings, re-exports and star imports."""
        seen: set[tuple[str, str]] = set()
        waiting: list[tuple[tuple[str, ...], str]] = [((path,), dotted)]
        while waiting:
            way, name = waiting.pop()
            here = way[-1]
            if len(way) > _HOPS or (here, name) in seen:
                continue
            seen.add((here, name))
            found = self._survey.outline(here)
            last = name.rpartition(".")[2]
            if here != path or any(cls == last for cls, _ in found.classes):
                yield Lead(ClassKey(here, last), way)
            for meaning in self._survey.reader.meanings(found, name):
                if self._survey.lexicon.is_base(meaning):
                    yield Lead(None, way)
                elif meaning.startswith("="):
                    waiting.append((way, meaning[1:]))
                else:
                    files = self._files(here, meaning)
                    waiting += [((*way, there), ".".join(rest)) for there, rest in files]

    def _files(self, origin: str, qualified: str) -> Iterable[tuple[str, tuple[str, ...]]]:
        """The file of the longest module in the name, unless it is a framework's own."""
        for path, rest in self._places.locate(origin, qualified):
            module = ".".join(qualified.split(".")[: -len(rest)] if rest else qualified.split("."))
            if self._survey.lexicon.is_module(module):
                return ()
            if rest and self._survey.add(path):
                return ((path, rest),)
        return ()
