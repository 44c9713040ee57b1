"""Which files a run looks at: named files as they are, folders by walking them for the languages' suffixes.

A folder is walked without the names that the settings exclude and without what .gitignore files leave
out; a file or folder that the user names is taken whatever its name.  A folder behind a symbolic link
is walked once, unless it lies inside a folder that is walked anyway, and so is a file taken.  What cannot be read becomes an
`Unreadable`; nothing is opened here except folders and .gitignore files, so nothing can hang.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ackdoctor.config import FILES, Settings, holds_settings
from ackdoctor.lint.disk.ignored import Patterns
from ackdoctor.lint.disk.reading import read_file
from ackdoctor.lint.languages.reader import LANGUAGES, SUFFIXES, language_of
from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Unreadable

__all__ = ["LIMIT", "Candidate", "Discovery", "discover", "reason", "refusal", "shown"]

LIMIT = 10_000_000  # bytes; larger files are generated, and none of them holds a component

_LARGEST_LIST = 100_000  # bytes of a .gitignore; each file is matched with each of its patterns
_NO_LIST = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL}  # nothing there, or no file
_ALSO_PYTHON = (".pyw", ".pyi", ".py2", ".py3")
_Refuse = Callable[[str, str], None]

_by_name = attrgetter("name")
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
    """A file to look at: where it is, how the reader knows it, and what the file system says of it.

    `named` tells a file that the user named, and that no walk has found.
    """

    path: str
    shown: str
    size: int
    named: bool


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Discovery:
    """The files of a run in the order of their shown paths, and what could not be reached.

    `foreign` are files in languages that nobody here reads, `passed_over` the shown paths of settings that lie nearer
    to some file than those of the run; none where those were not looked for.  `lists` are the shown paths of
    the .gitignore files.
    """

    files: tuple[Candidate, ...]
    foreign: tuple[Candidate, ...]
    unreadable: tuple[Unreadable, ...]
    passed_over: tuple[str, ...]
    lists: tuple[str, ...]


def discover(paths: Sequence[Path], settings: Settings, root: Path) -> Discovery:
    """All files under `paths`.  UsageError for a path that does not exist."""
    walk = _Walk(settings, os.path.abspath(root))
    for path in paths:
        walk.take(str(path))
    walk.drop_links()
    files: list[Candidate] = []
    foreign: list[Candidate] = []
    for file in sorted(walk.files.values(), key=attrgetter("shown")):
        (files if language_of(file.path).read else foreign).append(file)
    return Discovery(
        files=tuple(files),
        foreign=tuple(foreign),
        unreadable=tuple(sorted(walk.unreadable.values(), key=lambda item: item.path)),
        passed_over=tuple(sorted(shown(path, walk.root) for path in walk.passed_over)),
        lists=tuple(sorted(shown(path, walk.root) for path in walk.lists)),
    )


def shown(path: str, root: str) -> str:
    """The path as the reader will see it: relative to the root, with forward slashes, printable."""
    if path.startswith(root + os.sep):
        text = path[len(root) + 1 :]
    else:
        try:
            text = os.path.relpath(path, root)
        except ValueError:  # another drive
            text = path
    text = text.replace(os.sep, "/")
    return _printable(text)


def refusal(path: str) -> str:
    """Why a file that the user named is not read for its name alone, or nothing; without a suffix it may be a script."""
    titles = [language.title for language in LANGUAGES.values() if language.read]
    language = language_of(path)
    kind = "a notebook" if path.endswith(".ipynb") else "" if language.read else language.title
    if kind:
        return f"{kind}; only {' and '.join(titles)} source is read"
    suffix = os.path.splitext(path)[1].lower()
    if not suffix or suffix in SUFFIXES or suffix in _ALSO_PYTHON:
        return ""
    return f"not {' or '.join(titles)}, which is all that lint reads"


def _is_script(path: str) -> bool:
    """Whether a file of any name is a Python script by its first line."""
    try:
        first = read_file(path, LIMIT).partition(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def _printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def reason(error: OSError) -> str:
    """Why the system would not, in words that do not depend on the system."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


class _Walk:
    """One run's files as they are found, each once."""

    def __init__(self, settings: Settings, root: str) -> None:
        self.root = root
        base = os.path.abspath(settings.directory) if settings.directory else root
        self.prefix = base.rstrip(os.sep) + os.sep  # where the anchored patterns of the settings start
        self.excludes = Patterns((*settings.exclude, *settings.extend_exclude))
        self.files: dict[str, Candidate] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self.links: dict[str, tuple[int, int]] = {}  # files behind a link, and which they are
        self.searched = settings.searched
        self.passed_over: set[str] = set()
        self.lists: set[str] = set()
        self.visited: set[tuple[int, int]] = set()  # folders and files that are no links

    def take(self, name: str) -> None:
        """A path that the user named."""
        path = os.path.abspath(name)
        try:
            status = os.stat(path)
        except ValueError:
            raise UsageError(f"{name!r}: not a path") from None
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.islink(path):
                raise UsageError(f"{name}: no such file or folder") from None
            self._refuse(path, "a broken symbolic link" if error.errno == errno.ENOENT else reason(error))
            return
        why = refusal(path)
        if why and not stat.S_ISDIR(status.st_mode) and not _is_script(path):
            self._refuse(path, why)
            return
        self._rise(path)
        if stat.S_ISDIR(status.st_mode):
            self._walk(path, _Ignores.above(path, self.lists, self._refuse))
        else:
            self._file(path, shown(path, self.root), status, named=True, link=os.path.islink(path))

    def _rise(self, path: str) -> None:
        """Looks for settings above a path that the user named, up to where those of the run lie."""
        while self.searched and os.path.join(path, "") != self.prefix and path != os.path.dirname(path):
            path = os.path.dirname(path)
            for name in FILES:
                self._govern(os.path.join(path, name))

    def _govern(self, path: str) -> None:
        """Remembers settings that are not those of the run."""
        beside = os.path.join(os.path.dirname(path), "") == self.prefix
        if self.searched and not beside and os.path.isfile(path) and holds_settings(Path(path)):
            self.passed_over.add(path)

    def drop_links(self) -> None:
        """Forgets a link to a file that is taken anyway, unless the user has named the link."""
        for path in sorted(self.links):
            if not self.files[path].named and self.links[path] in self.visited:
                del self.files[path]
            self.visited.add(self.links[path])

    def _file(self, path: str, where: str, status: os.stat_result, *, named: bool, link: bool) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._refuse(path, next((text for test, text in _KINDS if test(status.st_mode)), "not a file"))
        elif status.st_size > LIMIT:
            self._refuse(path, f"larger than {LIMIT // 1_000_000} MB ({status.st_size:,} bytes)")
        elif not named or path not in self.files:
            identity = (status.st_dev, status.st_ino)
            if link:
                self.links[path] = identity
            else:
                self.visited.add(identity)
            self.files[path] = Candidate(path, where, status.st_size, named)

    def _refuse(self, path: str, why: str) -> None:
        where = shown(path, self.root)
        self.unreadable[path] = Unreadable(path=where, line=0, column=0, reason=why)

    def _walk(self, top: str, ignores: "_Ignores") -> None:
        waiting = [(top, "" if top == self.root else shown(top, self.root).rstrip("/") + "/", ignores)]
        while waiting:
            folder, where, ignores = waiting.pop()
            try:
                status = os.stat(folder)
                with os.scandir(folder) as entries:
                    found = sorted(entries, key=_by_name)
            except OSError as error:
                self._refuse(folder, f"cannot list this folder: {reason(error)}")
                continue
            if (status.st_dev, status.st_ino) in self.visited:
                continue
            self.visited.add((status.st_dev, status.st_ino))
            ignores = ignores.inside(folder, found, self.lists, self._refuse)
            waiting += [
                (entry.path, f"{where}{_printable(entry.name)}/", ignores)
                for entry in reversed(found)
                if self._look(entry, top, where, ignores)
            ]

    def _look(self, entry: "os.DirEntry[str]", top: str, where: str, ignores: "_Ignores") -> bool:
        """Takes a file, shown with `where` before its name; True for a folder to walk."""
        wanted = entry.name.endswith(SUFFIXES)
        if entry.name in FILES:
            self._govern(entry.path)
        try:
            if entry.is_dir():
                if self._left_out(entry, ignores, folder=True):
                    return False
                return not entry.is_symlink() or self._through(entry, top)
            if wanted and not self._left_out(entry, ignores, folder=False):
                name, link = where + _printable(entry.name), entry.is_symlink()
                self._file(entry.path, name, entry.stat(), named=False, link=link)
        except OSError as error:
            if wanted and not self._left_out(entry, ignores, folder=False):
                broken = error.errno == errno.ENOENT and os.path.islink(entry.path)
                self._refuse(entry.path, "a broken symbolic link" if broken else reason(error))
        return False

    def _left_out(self, entry: "os.DirEntry[str]", ignores: "_Ignores", *, folder: bool) -> bool:
        path, name = entry.path, entry.name
        relative = _below(path, len(self.prefix)) if path.startswith(self.prefix) else name
        verdict = self.excludes.folder(relative, name) if folder else self.excludes.file(relative, name)
        return bool(verdict) or ignores.leaves_out(path, name, folder=folder)

    def _through(self, entry: "os.DirEntry[str]", top: str) -> bool:
        """Whether to walk a linked folder: not if it leads back up, nor if the walk meets it anyway."""
        target = os.path.realpath(entry.path)
        here = os.path.realpath(os.path.dirname(entry.path))
        if here == target or here.startswith(target.rstrip(os.sep) + os.sep):
            self._refuse(entry.path, "a symbolic link that leads back to a folder above it")
            return False
        return not target.startswith(os.path.realpath(top) + os.sep)


class _Ignores:
    """The .gitignore files that govern a folder, the nearest first."""

    __slots__ = ("_lists",)

    def __init__(self, lists: tuple[tuple[int, Patterns], ...] = ()) -> None:
        self._lists = lists

    @classmethod
    def above(cls, folder: str, seen: set[str], refuse: "_Refuse") -> "_Ignores":
        """Those of the folders above, up to the top of the repository; none where there is no repository."""
        above: list[str] = []
        here = folder
        while not os.path.exists(os.path.join(here, ".git")):
            parent = os.path.dirname(here)
            if parent == here:
                return cls()
            here = parent
            above.append(here)
        lists = (read for here in above if (read := _read(here, seen, refuse)) is not None)
        return cls(tuple(lists))

    def inside(
        self, folder: str, found: Iterable["os.DirEntry[str]"], seen: set[str], refuse: "_Refuse"
    ) -> "_Ignores":
        """With the folder's own, if it has one."""
        if ".gitignore" in [entry.name for entry in found]:
            read = _read(folder, seen, refuse)
            if read is not None:
                return _Ignores((read, *self._lists))
        return self

    def leaves_out(self, path: str, name: str, *, folder: bool) -> bool:
        """Whether the nearest list that mentions the path leaves it out."""
        for start, patterns in self._lists:
            relative = _below(path, start)
            verdict = patterns.folder(relative, name) if folder else patterns.file(relative, name)
            if verdict is not None:
                return verdict
        return False


def _below(path: str, start: int) -> str:
    """The rest of the path, with forward slashes."""
    return path[start:] if os.sep == "/" else path[start:].replace(os.sep, "/")


def _read(folder: str, seen: set[str], refuse: _Refuse) -> tuple[int, Patterns] | None:
    path = os.path.join(folder, ".gitignore")
    seen.add(path)
    try:
        data = read_file(path, _LARGEST_LIST)
    except OSError as error:
        if error.errno not in _NO_LIST:
            refuse(path, f"not used: {reason(error)}")
        return None
    return len(folder.rstrip(os.sep)) + 1, Patterns(data.decode("utf-8-sig", "replace").split("\n"))
