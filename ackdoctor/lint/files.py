"""The files of a run in one language: a byte filter over each of them, and their declarations on demand.

The filter reads every file once and keeps no bytes: most files hold nothing that concerns a run.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.lint.declarations import Declarations, java_declarations, python_declarations
from ackdoctor.lint.discover import LIMIT, Candidate, display_path, reason
from ackdoctor.lint.languages import Language, has_handler, is_not_text
from ackdoctor.model.files import read_file
from ackdoctor.model.finding import Unreadable

if TYPE_CHECKING:
    from ackdoctor.model.dialect import Dialect

__all__ = ["MARK", "Facts", "Files", "FrameworkNames", "digest_of", "framework_names"]

MARK = b"ackdoctor:"  # every suppression comment contains it
_ACTS = re.compile(rb"[._](?:ack|fail|emit)\w{0,80}[ \t]*\(")  # \w* would be quadratic in `_ack_ack_ack`


def digest_of(data: bytes) -> str:
    """Return a digest that no other bytes have."""
    return blake2b(data, digest_size=20).hexdigest()


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

    def is_in_framework(self, qualified: str) -> bool:
        """Whether that name is in a framework's own package: its dialect describes what is there."""
        return qualified.partition(".")[0] in self.packages or self.is_module(qualified)


def framework_names(
    dialects: "Iterable[Dialect]", extra_bases: Mapping[str, str], language: Language
) -> FrameworkNames:
    """Collect the names of the dialects of a language."""
    ours = [dialect for dialect in dialects if dialect.language == language.dialects]
    words = {word for dialect in ours for word in dialect.words}
    words |= {base.rpartition(".")[2].encode() for base in extra_bases}
    classes = {name for dialect in ours for role in dialect.roles for name in role.classes}
    vendored = {
        name for dialect in ours if dialect.vendored for role in dialect.roles for name in role.classes
    }
    bases = classes | set(extra_bases)
    owned = classes - vendored if language.owned_packages else ()
    return FrameworkNames(
        words=tuple(sorted(w for w in words if not any(v != w and v in w for v in words))),
        bases=frozenset(bases),
        modules=frozenset(name.rpartition(".")[0] for name in bases) - {""},
        own_classes=frozenset(classes),
        vendored=frozenset(vendored),
        packages=frozenset(name.partition(".")[0] for name in owned),
    )


class Facts(NamedTuple):
    """What the byte filter found in a file.

    `has_mark`: it may hold a suppression comment.  `has_handler`: a method in it looks like a handler of tuples.
    `not_text`: no source text looks like that.
    """

    names_framework: bool
    has_mark: bool = False
    has_handler: bool = False
    not_text: bool = False


class Files:
    """The files of one language by path, with the facts about each.

    `overlay` holds contents that are not (yet) on disk.  A file that cannot be read has no facts and is in
    `unreadable`.
    """

    def __init__(
        self,
        candidates: Iterable[Candidate],
        language: Language,
        names: FrameworkNames,
        root: str,
        overlay: Mapping[str, bytes],
    ) -> None:
        self.language = language
        self.names = names
        self.root = root
        self._overlay = overlay
        self.by_path: dict[str, Candidate] = {}
        self.facts: dict[str, Facts] = {}
        self.unreadable: list[Unreadable] = []
        self._declarations: dict[str, Declarations] = {}
        self._digests: dict[str, str] = {}
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
            self._filter(Candidate(path, display_path(path, self.root), found.st_size, named=False))
        return path in self.facts

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; b"" and an entry in `unreadable` where the system refuses."""
        return self._read(path) or b""

    def declarations(self, path: str) -> Declarations:
        """Return the file's classes and imports.  An internal error costs this file and no other."""
        if path not in self._declarations:
            declare = java_declarations if self.language.name == "java" else python_declarations
            try:
                found = declare(self.read(path))
            except Exception as error:  # noqa: BLE001  # the other files go on
                self._refuse(Unreadable.crash(self.by_path[path].display_path, error))
                found = Declarations()
            self._declarations[path] = found
        return self._declarations[path]

    def acts(self, path: str) -> bool:
        """Whether the file calls something like an ack, a fail or an emit."""
        return _ACTS.search(self.read(path)) is not None

    def digest(self, path: str) -> str:
        """Return the digest of the file's bytes; "" where the system refuses to read it."""
        if path not in self._digests:
            data = self._read(path)
            self._digests[path] = "" if data is None else digest_of(data)
        return self._digests[path]

    def _read(self, path: str) -> bytes | None:
        if path in self._overlay:
            return self._overlay[path]
        try:
            return read_file(path, LIMIT)
        except OSError as error:
            place = self.by_path[path].display_path
            self._refuse(Unreadable(path=place, line=0, column=0, reason=reason(error)))
            return None

    def _filter(self, candidate: Candidate) -> None:
        self.by_path[candidate.path] = candidate
        data = self._read(candidate.path)
        if data is None:
            return
        named = any(word in data for word in self.names.words)
        if not self.language.is_read:
            self.facts[candidate.path] = Facts(named)
            return
        language = self.language.name
        not_text = is_not_text(language, data)
        text = data.replace(b"\0", b"") if not_text else data  # UTF-16
        self.facts[candidate.path] = Facts(named, MARK in text, has_handler(language, data), not_text)

    def _refuse(self, fault: Unreadable) -> None:
        if all(item.path != fault.path for item in self.unreadable):
            self.unreadable.append(fault)
