"""Which files a run reads: named files as they are, folders by walking them for the suffixes of the languages.

A walk skips the names that the settings exclude and those that .gitignore files exclude; a file or folder that the
user names is read whatever its name.  A folder or file behind a symbolic link is read once, unless the walk meets it
anyway.  What the system refuses becomes an `Unreadable`.  The walk opens only folders and .gitignore files, so it
cannot hang.
"""

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ackdoctor.config import FILES, Settings, holds_settings
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.globs import Patterns
from ackdoctor.model.source import read_file

__all__ = [
    "LANGUAGES",
    "LIMIT",
    "SUFFIXES",
    "Candidate",
    "Discovery",
    "Language",
    "discover",
    "display_path",
    "language_of",
    "reason",
    "refusal",
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


def language_of(path: str) -> Language:
    """Return the language of a file; a named file of any other suffix counts as Python."""
    return _BY_SUFFIX.get(f".{path.rpartition('.')[2]}".lower()) or LANGUAGES["python"]


LIMIT = 10_000_000  # bytes; larger files are generated, and none of them holds a component

_LARGEST_IGNORE_FILE = 100_000  # bytes; each path is matched with each of its patterns
_NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL}
_ALSO_PYTHON = (".pyw", ".pyi", ".py2", ".py3")
_KINDS = (
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
)
_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "a symbolic link that leads back to itself",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOENT: "it disappeared during the run",
}


class Candidate(NamedTuple):
    """A file to read: its path, its path in reports, its size, and whether the user named it."""

    path: str
    display_path: str
    size: int
    named: bool


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Discovery:
    """The files of a run in the order of their display paths, and what could not be reached.

    `foreign` are files in languages that ackdoctor does not read.  `other_settings` are settings files that are nearer
    to some file than those of the run, `lists` the .gitignore files, both as display paths.
    """

    files: tuple[Candidate, ...]
    foreign: tuple[Candidate, ...]
    unreadable: tuple[Unreadable, ...]
    other_settings: tuple[str, ...]
    lists: tuple[str, ...]


def discover(paths: Sequence[Path], settings: Settings, root: Path) -> Discovery:
    """Return all files under `paths`.  UsageError for a path that does not exist."""
    walk = _Walk(settings, os.path.abspath(root))
    for path in paths:
        walk.take(str(path))
    walk.drop_links()
    files = sorted(walk.files.values(), key=attrgetter("display_path"))
    return Discovery(
        files=tuple(file for file in files if language_of(file.path).is_read),
        foreign=tuple(file for file in files if not language_of(file.path).is_read),
        unreadable=tuple(sorted(walk.unreadable.values(), key=lambda item: item.path)),
        other_settings=tuple(sorted(display_path(path, walk.root) for path in walk.other_settings)),
        lists=tuple(sorted(display_path(path, walk.root) for path in walk.lists)),
    )


def display_path(path: str, root: str) -> str:
    """Return the path for reports: relative to the root, with forward slashes, printable."""
    if path.startswith(root + os.sep):
        text = path[len(root) + 1 :]
    else:
        try:
            text = os.path.relpath(path, root)
        except ValueError:  # another drive
            text = path
    return _printable(text.replace(os.sep, "/"))


def refusal(path: str) -> str:
    """Return why a named file is not read for its name alone, or ""; without a suffix it may be a script."""
    titles = [language.title for language in LANGUAGES.values() if language.is_read]
    language = language_of(path)
    kind = "a notebook" if path.endswith(".ipynb") else "" if language.is_read else language.title
    if kind:
        return f"{kind}; only {' and '.join(titles)} source is read"
    suffix = os.path.splitext(path)[1].lower()
    if not suffix or suffix in SUFFIXES or suffix in _ALSO_PYTHON:
        return ""
    return f"neither {' nor '.join(titles)}; lint reads only these"


def reason(error: OSError) -> str:
    """Return why the system refused, in words that do not depend on the system."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def _is_script(path: str) -> bool:
    """Whether the first line makes a file of any name a Python script."""
    try:
        first = read_file(path, LIMIT).partition(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def _printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class _Walk:
    """The files of one run as they are found, each once."""

    def __init__(self, settings: Settings, root: str) -> None:
        self.root = root
        base = os.path.abspath(settings.directory) if settings.directory else root
        self._prefix = base.rstrip(os.sep) + os.sep  # where anchored patterns of the settings start
        self._excludes = Patterns((*settings.exclude, *settings.extend_exclude))
        self._searched = settings.searched
        self._links: dict[str, tuple[int, int]] = {}  # files behind a link, with their device and inode
        self._visited: set[tuple[int, int]] = set()  # folders, and files that are no links
        self.files: dict[str, Candidate] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self.other_settings: set[str] = set()
        self.lists: set[str] = set()

    def take(self, name: str) -> None:
        """Add a path that the user named."""
        path = os.path.abspath(name)
        try:
            status = os.stat(path)
        except ValueError:
            raise UsageError(f"{name!r}: not a path") from None
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.islink(path):
                raise UsageError(f"{name}: no such file or directory") from None
            self.refuse(path, "a broken symbolic link" if error.errno == errno.ENOENT else reason(error))
            return
        why = refusal(path)
        if why and not stat.S_ISDIR(status.st_mode) and not _is_script(path):
            self.refuse(path, why)
            return
        self._look_for_settings_above(path)
        if stat.S_ISDIR(status.st_mode):
            self._walk(path, _Ignores.above(path, self))
        else:
            self._file(path, display_path(path, self.root), status, named=True, link=os.path.islink(path))

    def drop_links(self) -> None:
        """Drop a link to a file that the run reads anyway, unless the user named the link."""
        for path in sorted(self._links):
            if not self.files[path].named and self._links[path] in self._visited:
                del self.files[path]
            self._visited.add(self._links[path])

    def refuse(self, path: str, why: str) -> None:
        """Report a path that is not read."""
        self.unreadable[path] = Unreadable(path=display_path(path, self.root), line=0, column=0, reason=why)

    def _look_for_settings_above(self, path: str) -> None:
        """Look for settings between a named path and the settings of the run."""
        while self._searched and os.path.join(path, "") != self._prefix and path != os.path.dirname(path):
            path = os.path.dirname(path)
            for name in FILES:
                self._note_settings(os.path.join(path, name))

    def _note_settings(self, path: str) -> None:
        """Note settings that are not those of the run."""
        own = os.path.join(os.path.dirname(path), "") == self._prefix
        if self._searched and not own and os.path.isfile(path) and holds_settings(Path(path)):
            self.other_settings.add(path)

    def _file(self, path: str, where: str, status: os.stat_result, *, named: bool, link: bool) -> None:
        if not stat.S_ISREG(status.st_mode):
            self.refuse(path, next((text for test, text in _KINDS if test(status.st_mode)), "not a file"))
        elif status.st_size > LIMIT:
            self.refuse(path, f"larger than {LIMIT // 1_000_000} MB ({status.st_size:,} bytes)")
        elif not named or path not in self.files:
            identity = (status.st_dev, status.st_ino)
            if link:
                self._links[path] = identity
            else:
                self._visited.add(identity)
            self.files[path] = Candidate(path, where, status.st_size, named)

    def _walk(self, top: str, ignores: "_Ignores") -> None:
        waiting = [(top, "" if top == self.root else display_path(top, self.root).rstrip("/") + "/", ignores)]
        while waiting:
            folder, where, ignores = waiting.pop()
            try:
                status = os.stat(folder)
                with os.scandir(folder) as entries:
                    found = sorted(entries, key=attrgetter("name"))
            except OSError as error:
                self.refuse(folder, f"cannot list this directory: {reason(error)}")
                continue
            if (status.st_dev, status.st_ino) in self._visited:
                continue
            self._visited.add((status.st_dev, status.st_ino))
            ignores = ignores.inside(folder, found, self)
            waiting += [
                (entry.path, f"{where}{_printable(entry.name)}/", ignores)
                for entry in reversed(found)
                if self._look_at(entry, top, where, ignores)
            ]

    def _look_at(self, entry: "os.DirEntry[str]", top: str, where: str, ignores: "_Ignores") -> bool:
        """Add a file, whose display path starts with `where`; True for a folder to walk."""
        wanted = entry.name.endswith(SUFFIXES)
        if entry.name in FILES:
            self._note_settings(entry.path)
        try:
            if entry.is_dir():
                if self._is_excluded(entry, ignores, folder=True):
                    return False
                return not entry.is_symlink() or self._leads_elsewhere(entry, top)
            if wanted and not self._is_excluded(entry, ignores, folder=False):
                name, link = where + _printable(entry.name), entry.is_symlink()
                self._file(entry.path, name, entry.stat(), named=False, link=link)
        except OSError as error:
            if wanted and not self._is_excluded(entry, ignores, folder=False):
                broken = error.errno == errno.ENOENT and os.path.islink(entry.path)
                self.refuse(entry.path, "a broken symbolic link" if broken else reason(error))
        return False

    def _is_excluded(self, entry: "os.DirEntry[str]", ignores: "_Ignores", *, folder: bool) -> bool:
        inside = entry.path.startswith(self._prefix)
        relative = _below(entry.path, len(self._prefix)) if inside else entry.name
        return bool(self._excludes.verdict(relative, folder=folder)) or ignores.exclude(
            entry.path, folder=folder
        )

    def _leads_elsewhere(self, entry: "os.DirEntry[str]", top: str) -> bool:
        """Whether to walk a linked folder: not if it leads back up, nor if the walk meets it anyway."""
        target = os.path.realpath(entry.path)
        here = os.path.realpath(os.path.dirname(entry.path))
        if here == target or here.startswith(target.rstrip(os.sep) + os.sep):
            self.refuse(entry.path, "a symbolic link that leads back to a directory above it")
            return False
        return not target.startswith(os.path.realpath(top) + os.sep)


class _Ignores:
    """The .gitignore files that apply to a folder, the nearest first, each with the length of its folder's path."""

    __slots__ = ("_lists",)

    def __init__(self, lists: Iterable[tuple[int, Patterns]] = ()) -> None:
        self._lists = tuple(lists)

    @classmethod
    def above(cls, folder: str, walk: _Walk) -> "_Ignores":
        """Return those of the folders above, up to the top of the repository; none outside a repository."""
        above: list[str] = []
        here = folder
        while not os.path.exists(os.path.join(here, ".git")):
            parent = os.path.dirname(here)
            if parent == here:
                return cls()
            here = parent
            above.append(here)
        return cls(found for here in above if (found := _read_ignore_file(here, walk)) is not None)

    def inside(self, folder: str, entries: Iterable["os.DirEntry[str]"], walk: _Walk) -> "_Ignores":
        """Return them with the folder's own, if it has one."""
        if any(entry.name == ".gitignore" for entry in entries):
            found = _read_ignore_file(folder, walk)
            if found is not None:
                return _Ignores((found, *self._lists))
        return self

    def exclude(self, path: str, *, folder: bool) -> bool:
        """Whether the nearest list with a pattern that fits excludes the path."""
        verdicts = (patterns.verdict(_below(path, start), folder=folder) for start, patterns in self._lists)
        return bool(next((verdict for verdict in verdicts if verdict is not None), False))


def _below(path: str, start: int) -> str:
    """Return the rest of the path, with forward slashes."""
    return path[start:] if os.sep == "/" else path[start:].replace(os.sep, "/")


def _read_ignore_file(folder: str, walk: _Walk) -> tuple[int, Patterns] | None:
    path = os.path.join(folder, ".gitignore")
    walk.lists.add(path)
    try:
        data = read_file(path, _LARGEST_IGNORE_FILE)
    except OSError as error:
        if error.errno not in _NO_FILE:
            walk.refuse(path, f"not used: {reason(error)}")
        return None
    return len(folder.rstrip(os.sep)) + 1, Patterns(data.decode("utf-8-sig", "replace").split("\n"))
