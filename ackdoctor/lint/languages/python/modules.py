"""From the name of a module, as a file's import has it, to the file that holds it.

There is no import path to ask.  An absolute name fits every file whose own path ends in it, so that
`bolts.base` finds `src/bolts/base.py`; among several the one that shares most folders with the importing
file is meant.  What the run did not list is looked for on disk, in the folders above the importing file.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from ackdoctor.lint.languages.nearby import shared

__all__ = ["Modules", "module_name"]

_SIBLINGS = ("", "src")  # where code lies, seen from a folder above the importing file
_HEIGHT = 8  # folders looked at above a file that does not lie under the root
_PACKAGE = "__init__"


def module_name(shown: str) -> tuple[str, bool]:
    """The dotted name of a file, as long as its shown path is, and whether it is a package's own file."""
    parts = shown.removesuffix(".py").split("/")
    is_package = parts[-1] == _PACKAGE and len(parts) > 1
    if is_package:
        parts.pop()
    kept = [part.replace(".", "_") for part in parts if part not in ("", ".", "..")]
    return ".".join(kept) or "__main__", is_package


class Modules:
    """The files of a run and their neighbours on disk, by module name."""

    def __init__(self, paths: Iterable[str], root: str) -> None:
        self._root = root
        self._exact = frozenset(paths)
        self._by_last: dict[str, list[tuple[tuple[str, ...], str]]] | None = None  # most runs never ask
        self._found: dict[tuple[str, tuple[str, ...]], str | None] = {}

    def locate(self, origin: str, qualified: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Files that a qualified name may lead to, and what is left of the name in each; longest module first."""
        name = qualified.lstrip(".")
        parts = tuple(name.split(".")) if name else ()
        level = len(qualified) - len(name)
        folder = os.path.dirname(origin)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        for length in range(len(parts), 0 if level == 0 else -1, -1):
            path = self._within(folder, parts[:length]) if level else self._absolute(origin, parts[:length])
            if path is not None and path != origin:
                yield path, parts[length:]

    def _absolute(self, origin: str, parts: tuple[str, ...]) -> str | None:
        folder = os.path.dirname(origin)
        key = (folder, parts)
        if key not in self._found:
            self._found[key] = self._search(origin, folder, parts)
        return self._found[key]

    def _search(self, origin: str, folder: str, parts: tuple[str, ...]) -> str | None:
        if parts[0] in sys.stdlib_module_names:  # only a file beside it can hide the standard library's
            return self._within(folder, parts)
        here = _parts(origin)
        fitting = [
            (shared(theirs, here), -len(theirs), path)
            for theirs, path in self._ending(parts[-1])
            if theirs[-len(parts) :] == parts
        ]
        if fitting:
            return max(fitting)[2]
        return next(
            (path for base in self._bases(folder) if (path := self._within(base, parts)) is not None), None
        )

    def _ending(self, last: str) -> Sequence[tuple[tuple[str, ...], str]]:
        """The run's modules whose name ends so."""
        if self._by_last is None:
            self._by_last = {}
            for path in self._exact:
                parts = _parts(path)
                self._by_last.setdefault(parts[-1], []).append((parts, path))
        return self._by_last.get(last, ())

    def _bases(self, folder: str) -> Iterator[str]:
        for _ in range(_HEIGHT if not folder.startswith(self._root) else len(folder)):
            for sibling in _SIBLINGS:
                yield os.path.join(folder, sibling) if sibling else folder
            if folder in (self._root, os.path.dirname(folder)):
                return
            folder = os.path.dirname(folder)

    def _within(self, folder: str, parts: tuple[str, ...]) -> str | None:
        """The module of that name in a folder."""
        stem = os.path.join(folder, *parts)
        for path in (f"{stem}.py", os.path.join(stem, f"{_PACKAGE}.py")):
            if path in self._exact or os.path.isfile(path):
                return path
        return None


def _parts(path: str) -> tuple[str, ...]:
    """The names on the way to a module, a package's own file standing for its folder."""
    parts = path.removesuffix(".py").split(os.sep)
    return tuple(parts[:-1] if parts[-1] == _PACKAGE else parts)
