"""Results of earlier runs, one entry per cluster.

A key covers all that the analysis depends on: ackdoctor's own code, Python, the parsers, the settings, and the names
and bytes of all files of the cluster.  So an entry is never out of date.  It is JSON behind a checksum: a damaged entry
counts as missing.  `CacheFolder` keeps it where no repository can supply it.
"""

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import ackdoctor
from ackdoctor.cache_folder import CacheFolder, NoCacheError
from ackdoctor.lint.cluster import Cluster, Inputs, Result
from ackdoctor.lint.languages import LANGUAGES
from ackdoctor.model.finding import (
    Confidence,
    Finding,
    PathStep,
    PathWitness,
    Severity,
    UnknownBase,
    Unreadable,
)
from ackdoctor.model.source import Site, Span

__all__ = ["Cache"]

_LARGEST = 10_000_000  # bytes of an entry
_MOST = 20_000  # entries
_ALL = 200_000_000  # bytes of all entries
_UNUSED_DAYS = 30


class Cache:
    """The results in one folder that hold for the inputs of a run."""

    def __init__(self, folder: CacheFolder, inputs: Inputs) -> None:
        """NoCacheError where ackdoctor's own code cannot be read."""
        self._folder = folder
        self._digests = inputs.digests or {}
        self._common = repr((_tool(), sorted(inputs.versions.items()), sorted(inputs.extra_bases.items())))
        self._wrote = False
        self._full = False

    def get(self, cluster: Cluster) -> Result | None:
        """Return the result for a cluster, if there is one."""
        key = self._key(cluster)
        entry = self._folder.read(key, _LARGEST) if key else None
        if entry is None:
            return None
        checksum, _, text = entry.partition(b"\n")
        if checksum != _checksum(key, text):
            return None
        try:
            return _result(json.loads(text))
        except (
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            RecursionError,
        ):  # not written by this class
            return None

    def put(self, cluster: Cluster, result: Result) -> None:
        """Store a result that the same files would give again.  A full disk costs the entry only."""
        key = self._key(cluster)
        if not (key and result.repeatable) or self._full:
            return
        text = json.dumps(asdict(result), separators=(",", ":")).encode()
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
        return blake2b(content.encode(), digest_size=20).hexdigest()


def _checksum(key: str, text: bytes) -> bytes:
    return blake2b(text, key=key.encode(), digest_size=20).hexdigest().encode()


def _tool() -> str:
    """Return a digest of ackdoctor's own code, which an editable install changes without a new version, and of Python."""
    parsers = sorted({parser for language in LANGUAGES.values() for parser in language.parsers})
    versions = (ackdoctor.__version__, sys.version, [(name, _version(name)) for name in parsers])
    digest = blake2b(repr(versions).encode(), digest_size=20)
    top = Path(ackdoctor.__file__).parent
    try:
        for folder, folders, names in os.walk(top):
            folders.sort()
            for path in sorted(os.path.join(folder, name) for name in names if name.endswith(".py")):
                code = Path(path).read_bytes()
                digest.update(f"{path[len(str(top)) :]}\0{len(code)}\0".encode() + code)
    except OSError as error:
        raise NoCacheError(f"{error.filename}: {error.strerror}") from error
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


# ---- results from JSON; a value of another shape raises ----


def _result(raw: dict[str, Any]) -> Result:
    return Result(
        findings=tuple(map(_finding, raw["findings"])),
        unreadable=tuple(Unreadable(**item) for item in raw["unreadable"]),
        components=raw["components"],
        unknown_bases=tuple(UnknownBase(**item) for item in raw["unknown_bases"]),
    )


def _finding(raw: dict[str, Any]) -> Finding:
    steps = [{**step, "site": _site(step["site"])} for step in raw["evidence"]["steps"]]
    changes = {
        "site": _site(raw["site"]),
        "evidence": PathWitness(steps=tuple(PathStep(**step) for step in steps)),
        "severity": Severity(raw["severity"]),
        "confidence": Confidence(raw["confidence"]),
    }
    return Finding(**{**raw, **changes})


def _site(raw: dict[str, Any]) -> Site:
    return Site(raw["path"], Span(*raw["span"]))
