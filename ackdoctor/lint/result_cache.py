"""The results of earlier runs: one entry for each cluster, with a key that covers all that its analysis depends on."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import ackdoctor
from ackdoctor.cache_folder import CacheFolder, NoCacheError
from ackdoctor.config import Settings
from ackdoctor.lint.discover import LANGUAGES
from ackdoctor.lint.files import digest_of
from ackdoctor.lint.project import Cluster, Inputs, Result
from ackdoctor.model import RulebookError
from ackdoctor.model.topology import Gap, Value

_LARGEST = 10_000_000  # bytes of an entry
_MOST = 20_000  # entries
_ALL = 200_000_000  # bytes of all entries
_UNUSED_DAYS = 30


def cache_folder(paths: Iterable[str], settings: Settings, root: Path) -> tuple[CacheFolder | None, str]:
    """Return the folder of the results of runs on these paths, or None and the reason why there is none."""
    absolute = [root / path for path in paths]
    named = [
        path if os.path.isdir(path) else path.parent for path in absolute
    ]  # no error for a name too long
    git = (folder for folder in (root, *root.parents) if os.path.exists(folder / ".git"))
    outside = (root, settings.directory or root, next(git, root), *named)
    try:
        return CacheFolder("lint", outside=outside), ""
    except NoCacheError as error:
        return None, str(error)


class ResultCache:
    """The results of earlier runs that hold for the inputs of this one, one entry per cluster.

    A key covers all that the analysis depends on: ackdoctor's own code, Python, the parsers, the settings, and the
    names and bytes of all files of the cluster.  So an entry is never out of date.  It is JSON behind a checksum: a
    damaged entry counts as missing.  `CacheFolder` keeps it where no repository can supply it.
    """

    def __init__(self, folder: CacheFolder, inputs: Inputs) -> None:
        """NoCacheError where ackdoctor's own code cannot be read."""
        self._folder = folder
        self._digests = inputs.digests or {}
        settings = (sorted(inputs.versions.items()), sorted(inputs.extra_bases.items()), inputs.wired)
        self._common = repr((_tool(), *settings))
        self._wrote = False
        self._full = False

    def get(self, cluster: Cluster) -> Result | None:
        """Return the result for a cluster, if there is one."""
        key = self._key(cluster)
        entry = self._folder.read(key, _LARGEST) if key else None
        checksum, _, text = (entry or b"").partition(b"\n")
        if entry is None or checksum != _checksum(key, text):
            return None
        # A value of another shape was not written by this class.
        with suppress(TypeError, ValueError, LookupError, AttributeError, RecursionError):
            result: Result = from_json(Result, json.loads(text))
            return result
        return None

    def put(self, cluster: Cluster, result: Result) -> None:
        """Store a result that the same files would give again.  A full disk costs the entry only."""
        key = self._key(cluster)
        if not (key and result.repeatable) or self._full:
            return
        text = json.dumps(asdict(result), separators=(",", ":"), default=_plain).encode()
        entry = _checksum(key, text) + b"\n" + text
        if len(entry) <= _LARGEST:
            try:
                self._folder.write(key, entry)
                self._wrote = True
            except OSError:
                self._full = True

    def close(self) -> None:
        """Delete old entries, if new ones were written."""
        if self._wrote:
            with suppress(OSError):
                self._folder.prune(days=_UNUSED_DAYS, files=_MOST, size=_ALL)

    def _key(self, cluster: Cluster) -> str:
        """Return the name of the entry; "" if a file of the cluster could not be read."""
        parts = [(*source[1:], self._digests.get(source.path, "")) for source in cluster.sources]
        if not all(digest for *_, digest in parts):
            return ""
        content = repr((self._common, cluster.language, len(cluster.own), parts))
        return digest_of(content.encode())


def _checksum(key: str, text: bytes) -> bytes:
    return blake2b(text, key=key.encode(), digest_size=20).hexdigest().encode()


def _tool() -> str:
    """Return a digest of ackdoctor's own code and messages, which may change without a new version, and of Python."""
    from importlib.metadata import PackageNotFoundError, version  # a run without a cache does not need them

    from ackdoctor.rulebook import locate

    parsers = {}
    for name in sorted({parser for language in LANGUAGES.values() for parser in language.parsers}):
        with suppress(PackageNotFoundError):
            parsers[name] = version(name)
    digest = blake2b(repr((ackdoctor.__version__, sys.version, parsers)).encode(), digest_size=20)
    try:
        for top, names in (
            (Path(ackdoctor.__file__).parent, "*.py"),
            (Path(ackdoctor.__file__).parent, "*.toml"),
            (locate(), "*.md"),
        ):
            for path in sorted(top.rglob(names)):
                code = path.read_bytes()
                digest.update(f"{path.relative_to(top)}\0{len(code)}\0".encode() + code)
    except (OSError, RulebookError) as error:
        raise NoCacheError(str(error)) from error
    return digest.hexdigest()


# ---- JSON -> nouns ----


def _plain(value: object) -> object:
    """Return an enum's value, and a set's elements, for JSON."""
    return value.value if isinstance(value, Enum) else sorted(value)  # type: ignore[call-overload]


@cache
def _fields_of(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def from_json(kind: Any, raw: Any) -> Any:
    """Return the value of that type from its JSON; raise an error for a value of another shape.

    A union of dataclasses is read as its first one: lint stores no other evidence than a path.
    """
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        fields = _fields_of(kind)  # type: ignore[arg-type]
        if raw.keys() != fields.keys():
            raise TypeError(f"other fields than those of {kind}")
        return kind(**{name: from_json(fields[name], value) for name, value in raw.items()})  # type: ignore[operator]
    if Gap in args:
        return _setting(raw)
    if origin in (Union, UnionType):
        return None if raw is None and type(None) in args else from_json(args[0], raw)
    if origin is tuple:
        if not isinstance(raw, list):
            raise TypeError(f"{raw!r} is no list")
        wanted = [args[0]] * len(raw) if args[1:] == (...,) else args
        return tuple(from_json(each, value) for each, value in zip(wanted, raw, strict=True))
    if origin is not None:  # a mapping
        return {key: from_json(args[1], value) for key, value in raw.items()}
    if hasattr(kind, "_fields"):
        return kind(*map(from_json, _fields_of(kind).values(), raw))
    if issubclass(kind, Enum):
        return kind(raw)
    if not isinstance(raw, kind):
        raise TypeError(f"{raw!r} is not of {kind}")
    return raw


def _setting(raw: Any) -> Value:
    """Return what a file can set: `Value` refers to itself, which type hints cannot say."""
    if isinstance(raw, list):
        return tuple(map(_setting, raw))
    if isinstance(raw, dict):
        if raw.keys() == {"why", "place"}:
            gap: Gap = from_json(Gap, raw)
            return gap
        return {key: _setting(value) for key, value in raw.items()}
    plain: Value = raw
    return plain
