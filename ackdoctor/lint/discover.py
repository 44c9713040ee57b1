"""Which files a run reads: named files as they are, folders by walking them for the suffixes of the languages.

A walk skips the names that the settings exclude and those that .gitignore files exclude; a file or folder that the
user names is read whatever its name.  A folder or file behind a symbolic link is read once, unless the walk meets it
anyway.  What the system refuses becomes an `Unreadable`.  The walk opens only folders and .gitignore files, so it
cannot hang.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from ackdoctor.config import FILES, Settings, holds_settings
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import read_file
from ackdoctor.topology.texts import may_matter

LIMIT = 10_000_000  # bytes; larger files are generated, and none of them holds a component


# ---- languages ----


class Language(NamedTuple):
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


_PYTHON = Language("python", "Python", (".py",), "python", parsers=("libcst",), owned_packages=True)
_JAVA = Language("java", "Java", (".java",), "java", parsers=("tree_sitter", "tree_sitter_java"))
_KOTLIN = Language("kotlin", "Kotlin", (".kt", ".kts"), "java")
_SCALA = Language("scala", "Scala", (".scala",), "java")
LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {language.name: language for language in (_PYTHON, _JAVA, _KOTLIN, _SCALA)}
)
_BY_SUFFIX = {suffix: language for language in LANGUAGES.values() for suffix in language.suffixes}
_SUFFIXES = tuple(_BY_SUFFIX)
_ALSO_PYTHON = (".pyw", ".pyi", ".py2", ".py3")


def is_text(path: str) -> bool:
    """Whether a file is no source code, but may wire or configure a topology."""
    return not path.endswith(_PYTHON.suffixes) and may_matter(path)


def is_linted(path: str) -> bool:
    """Whether lint reads a file of this name, be it saved or not."""
    return is_text(path) or (path.endswith(_SUFFIXES) and language_of(path).is_read)


def language_of(path: str) -> Language:
    """Return the language of a file; a named file of any other suffix counts as Python."""
    return _BY_SUFFIX.get(f".{path.rpartition('.')[2]}".lower(), _PYTHON)


def refusal(path: str) -> str:
    """Return why a named file is not read for its name alone, or ""; without a suffix it may be a script."""
    titles = [language.title for language in LANGUAGES.values() if language.is_read]
    language = language_of(path)
    kind = "a notebook" if path.endswith(".ipynb") else "" if language.is_read else language.title
    if kind:
        return f"{kind}; only {' and '.join(titles)} source is read"
    suffix = os.path.splitext(path)[1].lower()
    if not suffix or is_text(path) or suffix in _SUFFIXES or suffix in _ALSO_PYTHON:
        return ""
    return f"neither {' nor '.join(titles)}, nor YAML or Clojure that wires a topology; lint reads only these"


# ---- patterns of .gitignore ----
# A pattern with a slash before its end is anchored to the folder of the list; one without fits a name at any depth; one
# that ends in a slash fits folders only; `!` re-includes; the last pattern that fits decides.  `*` and `?` stop at
# slashes, `**` does not.
#
# `fnmatch.translate` makes expressions that do not backtrack.  It knows no slash, so a path is matched segment by
# segment, in time linear in the path for each star.  docs/decisions.md says why this is not pathspec.

_Path: TypeAlias = "tuple[re.Pattern[str] | None, ...]"  # one for each segment; None is `**`
_ANY = re.compile(translate("?*"))
_NOTHING = re.compile(r"(?!)")


class _Pattern(NamedTuple):
    """One line of a list; the expressions of its segments, None for `**`.  Without `anchored` it has one segment."""

    excludes: bool
    folders_only: bool
    anchored: bool
    segments: tuple[str | None, ...]


class _Group(NamedTuple):
    """Neighbouring patterns of one sign: an expression for names at any depth, and anchored paths."""

    excludes: bool
    name: re.Pattern[str]
    paths: tuple[_Path, ...]


class Patterns:
    """A compiled list of patterns."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = [pattern for line in lines if (pattern := _read(line)) is not None]
        self._for_folders = _groups(found)
        self._for_files = _groups(pattern for pattern in found if not pattern.folders_only)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Return True if the path is excluded, False if it is re-included, None if no pattern fits.

        `path` is relative to the folder of the list, with forward slashes.
        """
        parts = path.split("/")
        for group in self._for_folders if folder else self._for_files:
            if group.name.match(parts[-1]) or any(_fits(pattern, parts) for pattern in group.paths):
                return group.excludes
        return None


def matches_glob(path: str, text: str) -> bool:
    """Whether a pattern fits a path or a folder above it; a segment without a valid set matches literally."""
    parts = path.split("/")
    pattern = _literal(text.strip("/"))
    if "/" not in text.rstrip("/"):
        return any(_fits(pattern, [part]) for part in parts)
    return _fits((*pattern, None), parts)


@lru_cache(maxsize=256)
def _literal(text: str) -> _Path:
    return _compiled(
        [None if part == "**" else _segment(part) or re.escape(part) + r"\Z" for part in text.split("/")]
    )


def _read(line: str) -> _Pattern | None:
    """Return the pattern of a line; None for a comment, a blank line, and a bracket that makes no set."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if text.startswith("#"):
        return None
    excludes = not text.startswith("!")
    text = text if excludes else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    parts = text.lstrip("/").split("/")
    segments = tuple(None if part == "**" and anchored else _segment(part) for part in parts)
    broken = any(segment is None and part != "**" for segment, part in zip(segments, parts, strict=True))
    return None if parts == [""] or broken else _Pattern(excludes, folders_only, anchored, segments)


def _groups(patterns: Iterable[_Pattern]) -> list[_Group]:
    """Group the patterns by sign; the last pattern decides, so the last group comes first."""
    groups = []
    for excludes, run in groupby(patterns, key=lambda pattern: pattern.excludes):
        same = list(dict.fromkeys(run))
        names = [str(pattern.segments[0]) for pattern in same if not pattern.anchored]
        paths = tuple(_compiled(pattern.segments) for pattern in same if pattern.anchored)
        groups.append(_Group(excludes, re.compile("|".join(names)) if names else _NOTHING, paths))
    return groups[::-1]


def _segment(text: str) -> str | None:
    """Return the expression of a pattern without slashes; None where a bracket is open or its range is empty."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\" and at < len(text):
            char = text[at]
            at += 1
            pieces.append(f"[{char}]" if char in "*?[" else char)
        elif char == "[":
            negated = text[at : at + 1] in ("!", "^")
            end = text.find("]", at + negated + 1)
            if end < 0:
                return None
            pieces.append(f"[{'!' if negated else ''}{text[at + negated : end]}]")
            at = end + 1
        else:
            pieces.append(char)
    expression = translate("".join(pieces))
    try:
        re.compile(expression)
    except re.error:  # `[z-a]` before Python 3.11
        return None
    return None if "(?!)" in expression else expression  # `[z-a]` since then


def _compiled(expressions: Sequence[str | None]) -> _Path:
    """Compile the segments; `**` is any number of segments, at the end at least one."""
    found = [None if expression is None else re.compile(expression) for expression in expressions]
    return (*found, _ANY) if found[-1] is None else tuple(found)


def _fits(pattern: _Path, path: Sequence[str]) -> bool:
    """Whether a pattern fits all segments of a path; it is enough to move the last `**`, as for stars."""
    at = place = 0
    star, tried = -1, 0
    while place < len(path):
        wanted = pattern[at] if at < len(pattern) else _NOTHING
        if wanted is None:
            star, tried = at, place
            at += 1
        elif wanted.match(path[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            tried += 1
            at, place = star + 1, tried
        else:
            return False
    return all(rest is None for rest in pattern[at:])


# ---- files ----


class Candidate(NamedTuple):
    """A file to read: its path, its path in reports, its size, and whether the user named it.

    `modified` is the time of its last change in nanoseconds, 0 for a text that is not on disk.
    """

    path: str
    display_path: str
    size: int
    named: bool
    modified: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Discovery:
    """The files of a run in the order of their display paths, and what could not be reached.

    `texts` may wire or configure a topology.  `foreign` are files in languages that ackdoctor does not read.  `other_settings` are settings files that are nearer
    to some file than those of the run, `lists` the .gitignore files, both as display paths.
    """

    files: tuple[Candidate, ...]
    texts: tuple[Candidate, ...]
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
    found = sorted(walk.files.values(), key=attrgetter("display_path"))
    files = [file for file in found if not is_text(file.path)]
    return Discovery(
        texts=tuple(file for file in found if is_text(file.path)),
        files=tuple(file for file in files if language_of(file.path).is_read),
        foreign=tuple(file for file in files if not language_of(file.path).is_read),
        unreadable=tuple(sorted(walk.unreadable.values(), key=attrgetter("path"))),
        other_settings=tuple(sorted(display_path(path, walk.root) for path in walk.other_settings)),
        lists=tuple(sorted(display_path(path, walk.root) for path in walk.lists)),
    )


def with_new(found: Discovery, overlay: Mapping[str, bytes], root: str) -> Discovery:
    """Return the files of a run with those that no one has saved yet."""
    new = [
        Candidate(path, display_path(path, root), len(data), named=False)
        for path, data in sorted(overlay.items())
        if not os.path.lexists(path) and is_linted(path)
    ]
    files = [file for file in new if not is_text(file.path)]
    texts = [file for file in new if is_text(file.path)]
    return replace(found, files=(*found.files, *files), texts=(*found.texts, *texts))


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


def _printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "a symbolic link that leads back to itself",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOENT: "it disappeared during the run",
}


def reason(error: OSError) -> str:
    """Return why the system refused, in words that do not depend on the system."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


# ---- the walk ----

_LARGEST_LIST = 100_000  # bytes of a .gitignore; each path is matched with each of its patterns
_NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL}
_KINDS = (
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
)
# The .gitignore files that apply to a folder, the nearest first, each with the length of its folder's path:
_Lists: TypeAlias = tuple[tuple[int, Patterns], ...]


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
            self._refuse(path, "a broken symbolic link" if error.errno == errno.ENOENT else reason(error))
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        why = "" if is_folder else refusal(path)
        if why and not _is_script(path):
            self._refuse(path, why)
            return
        above = path
        while self._searched and os.path.join(above, "") != self._prefix and above != os.path.dirname(above):
            above = os.path.dirname(above)
            for each in FILES:
                self._note_settings(os.path.join(above, each))
        if is_folder:
            self._walk(path)
        else:
            self._file(path, display_path(path, self.root), status, named=True, link=os.path.islink(path))

    def drop_links(self) -> None:
        """Drop a link to a file that the run reads anyway, unless the user named the link."""
        for path in sorted(self._links):
            if not self.files[path].named and self._links[path] in self._visited:
                del self.files[path]
            self._visited.add(self._links[path])

    def _refuse(self, path: str, why: str) -> None:
        self.unreadable[path] = Unreadable(path=display_path(path, self.root), line=0, column=0, reason=why)

    def _note_settings(self, path: str) -> None:
        """Note settings that are not those of the run."""
        own = os.path.join(os.path.dirname(path), "") == self._prefix
        if self._searched and not own and os.path.isfile(path) and holds_settings(Path(path)):
            self.other_settings.add(path)

    def _file(self, path: str, where: str, status: os.stat_result, *, named: bool, link: bool) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._refuse(path, next((text for test, text in _KINDS if test(status.st_mode)), "not a file"))
        elif status.st_size > LIMIT:
            self._refuse(path, f"larger than {LIMIT // 1_000_000} MB ({status.st_size:,} bytes)")
        elif not named or path not in self.files:
            identity = (status.st_dev, status.st_ino)
            if link:
                self._links[path] = identity
            else:
                self._visited.add(identity)
            self.files[path] = Candidate(path, where, status.st_size, named, status.st_mtime_ns)

    def _walk(self, top: str) -> None:
        start = "" if top == self.root else display_path(top, self.root).rstrip("/") + "/"
        waiting = [(top, start, self._lists_above(top))]
        while waiting:
            folder, where, lists = waiting.pop()
            try:
                status = os.stat(folder)
                with os.scandir(folder) as entries:
                    found = sorted(entries, key=attrgetter("name"))
            except OSError as error:
                self._refuse(folder, f"cannot list this directory: {reason(error)}")
                continue
            if (status.st_dev, status.st_ino) in self._visited:
                continue
            self._visited.add((status.st_dev, status.st_ino))
            if any(entry.name == ".gitignore" for entry in found):
                lists = self._read_list(folder) + lists
            waiting += [
                (entry.path, f"{where}{_printable(entry.name)}/", lists)
                for entry in reversed(found)
                if self._look_at(entry, top, where, lists)
            ]

    def _look_at(self, entry: "os.DirEntry[str]", top: str, where: str, lists: _Lists) -> bool:
        """Add a file, whose display path starts with `where`; True for a folder to walk."""
        wanted = entry.name.endswith(_SUFFIXES) or is_text(entry.name)
        if entry.name in FILES:
            self._note_settings(entry.path)
        try:
            if entry.is_dir():
                if self._is_excluded(entry, lists, folder=True):
                    return False
                return not entry.is_symlink() or self._leads_elsewhere(entry, top)
            if wanted and not self._is_excluded(entry, lists, folder=False):
                name, link = where + _printable(entry.name), entry.is_symlink()
                self._file(entry.path, name, entry.stat(), named=False, link=link)
        except OSError as error:
            if wanted and not self._is_excluded(entry, lists, folder=False):
                broken = error.errno == errno.ENOENT and os.path.islink(entry.path)
                self._refuse(entry.path, "a broken symbolic link" if broken else reason(error))
        return False

    def _is_excluded(self, entry: "os.DirEntry[str]", lists: _Lists, *, folder: bool) -> bool:
        """Whether the settings exclude an entry, or the nearest .gitignore with a pattern that fits."""
        path = entry.path.replace(os.sep, "/")
        inside = entry.path.startswith(self._prefix)
        if self._excludes.verdict(path[len(self._prefix) :] if inside else entry.name, folder=folder):
            return True
        verdicts = (patterns.verdict(path[start:], folder=folder) for start, patterns in lists)
        return bool(next((verdict for verdict in verdicts if verdict is not None), False))

    def _leads_elsewhere(self, entry: "os.DirEntry[str]", top: str) -> bool:
        """Whether to walk a linked folder: not if it leads back up, nor if the walk meets it anyway."""
        target = os.path.realpath(entry.path)
        here = os.path.realpath(os.path.dirname(entry.path))
        if here == target or here.startswith(target.rstrip(os.sep) + os.sep):
            self._refuse(entry.path, "a symbolic link that leads back to a directory above it")
            return False
        return not target.startswith(os.path.realpath(top) + os.sep)

    def _lists_above(self, folder: str) -> _Lists:
        """Return the lists above a folder, up to the top of the repository; none outside a repository."""
        above: list[str] = []
        while not os.path.exists(os.path.join(folder, ".git")):
            if folder == os.path.dirname(folder):
                return ()
            folder = os.path.dirname(folder)
            above.append(folder)
        return tuple(found for each in above for found in self._read_list(each))

    def _read_list(self, folder: str) -> _Lists:
        path = os.path.join(folder, ".gitignore")
        self.lists.add(path)
        try:
            data = read_file(path, _LARGEST_LIST)
        except OSError as error:
            if error.errno not in _NO_FILE:
                self._refuse(path, f"not used: {reason(error)}")
            return ()
        lines = data.decode("utf-8-sig", "replace").split("\n")
        return ((len(folder.rstrip(os.sep)) + 1, Patterns(lines)),)


def _is_script(path: str) -> bool:
    """Whether the first line makes a file of any name a Python script."""
    try:
        first = read_file(path, LIMIT).partition(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first
