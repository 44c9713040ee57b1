"""The text files of a project that wire or configure topologies, or tell the version of the framework.

A file matters if its name and a few of its bytes say so.  Whatever one file names is looked up among the files that were
discovered; nothing else is opened.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from posixpath import basename, dirname, normpath

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TEMPLATE_SUFFIX = re.compile(r"\.(j2|jinja2?|erb|tmpl|tpl|template|example|sample|dist)$")
_YAML = re.compile(
    rb"(?m)^[ \t]*(?:- *)?[\"']?(?:spouts?|bolts?|streams|topologySource|topology|includes|components|config)[\"']? *:"
    rb"|topology\.[a-z]|^[\"']?(?:storm|nimbus|supervisor)\.[a-z]"
)
_BUILD = re.compile(b"")  # replaced by `_build_words`
_COMMAND = re.compile(rb"-conf\b|--filter\b|flux|storm +jar", re.IGNORECASE)
_FILTER = re.compile(rb"(?m)^[ \t]*[\w.\-]+[ \t]*[=:]")

# how a file's name ends (or the whole name): what must be in it
_BY_SUFFIX: Mapping[str, re.Pattern[bytes]] = {
    ".yaml": _YAML,
    ".yml": _YAML,
    ".flux": _YAML,
    ".clj": re.compile(rb"spout|bolt"),
    ".properties": _FILTER,
    ".sh": _COMMAND,
}
_BY_NAME: Mapping[str, re.Pattern[bytes]] = {
    "config.json": re.compile(rb'"envs"|"options"|"topology\.'),
    "pom.xml": _BUILD,
    "build.gradle": _BUILD,
    "build.gradle.kts": _BUILD,
    "gradle.properties": _BUILD,
    "build.sbt": _BUILD,
    "project.clj": _BUILD,
    "pyproject.toml": _BUILD,
    "setup.cfg": _BUILD,
    "Pipfile": _BUILD,
    "Makefile": _COMMAND,
}
_WIRES = frozenset({".clj", ".yaml", ".yml", ".flux"})
_REQUIREMENTS = re.compile(r"(^|/)([\w.\-]*requirements[\w.\-]*|virtualenvs/[^/]+)\.txt$")


def suffix_of(path: str) -> str:
    """The suffix of a file, of a template that of the file that it makes: ".yaml" of "topology.yaml.j2"."""
    name = _TEMPLATE_SUFFIX.sub("", basename(path))
    return name[name.rfind(".") :] if "." in name else ""


def _pattern(path: str) -> re.Pattern[bytes] | None:
    name = _TEMPLATE_SUFFIX.sub("", basename(path))
    if name in _BY_NAME:
        return _BY_NAME[name]
    if _REQUIREMENTS.search(path):
        return _BUILD
    return _BY_SUFFIX.get(suffix_of(path).lower())


def may_matter(path: str) -> bool:
    """Whether the name of a file says that it may belong to a topology."""
    return _pattern(path) is not None


def may_wire(path: str) -> bool:
    """Whether the name of a file says that it may wire a topology, and not only configure one."""
    return suffix_of(path).lower() in _WIRES


@cache
def _build_words() -> re.Pattern[bytes]:
    """What a build file of a topology names; the list is in `frameworks.toml`."""
    read = tomllib.loads(Path(__file__).with_name("frameworks.toml").read_text(encoding="utf-8"))
    return re.compile("|".join(read["build_files"]).encode(), re.IGNORECASE)


def matters(path: str, data: bytes) -> bool:
    """Whether a file belongs to a topology, as far as its bytes tell."""
    pattern = _pattern(path)
    pattern = _build_words() if pattern is _BUILD else pattern
    return pattern is not None and pattern.search(data) is not None


class Texts(Mapping[str, bytes]):
    """The files that matter, by the path in reports."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(sorted(files.items()))

    def __getitem__(self, path: str) -> bytes:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for path in self._files:
            found.setdefault(basename(path), []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    def named(self, name: str) -> tuple[str, ...]:
        """The files with that name, in any directory."""
        return self._by_name.get(name, ())

    def from_directory(self, path: str, relative: str) -> tuple[str, ...]:
        """What a relative name means in a file: beside it, or beside a directory above it, or any other file of that name.

        The name is relative to the directory in which a command runs, which is likely one of the first.
        """
        for folder in _above(path):
            wanted = normpath(f"{folder}/{relative}" if folder else relative)
            if wanted in self._files:
                return (wanted,)
        return self._ending(path, relative)

    def from_class_path(self, path: str, resource: str) -> tuple[str, ...]:
        """The files that a class path resource may be, nearest to the file that names it; several if they tie."""
        found = self._ending(path, resource)
        shared = {each: _shared_folders(each, path) for each in found}
        nearest = max(shared.values(), default=0)
        return tuple(each for each in found if shared[each] == nearest)

    def above(self, path: str, names: tuple[str, ...]) -> Iterator[str]:
        """The files of these names in the directory of a file and in those above it, nearest first."""
        for folder in _above(path):
            for name in names:
                candidate = f"{folder}/{name}" if folder else name
                if candidate in self._files:
                    yield candidate

    def _ending(self, path: str, name: str) -> tuple[str, ...]:
        """The other files whose paths end with a name."""
        wanted = normpath(name).lstrip("/")
        if not wanted or wanted.startswith(".."):
            return ()
        found = self.named(basename(wanted))
        return tuple(each for each in found if f"/{each}".endswith(f"/{wanted}") and each != path)


def _above(path: str) -> Iterator[str]:
    """The directory of a file and each one above it; "" is the directory in which the run starts."""
    folder = dirname(path)
    while folder and folder != "/":
        yield folder
        folder = dirname(folder)
    yield folder


def _shared_folders(one: str, other: str) -> int:
    count = 0
    for left, right in zip(dirname(one).split("/"), dirname(other).split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
