"""Results of earlier runs, one entry per cluster.

A key covers all that the analysis depends on: ackdoctor's own code, Python, the parsers, the settings, and the names
and bytes of all files of the cluster.  So an entry is never out of date.  It is JSON behind a checksum: a damaged entry
counts as missing.  `CacheFolder` keeps it where no repository can supply it.
"""

import json
import os
import sys
from contextlib import suppress
from dataclasses import fields
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
            return _decode(json.loads(text))
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
        text = json.dumps(_encode(result), separators=(",", ":")).encode()
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


# ---- results as JSON; a value of another shape raises ----


def _encode(result: Result) -> list[Any]:
    return [
        result.components,
        [_values(item) for item in result.unreadable],
        [_values(item) for item in result.unknown_bases],
        [_encode_finding(finding) for finding in result.findings],
    ]


def _decode(raw: list[Any]) -> Result:
    components, unreadable, unknown, findings = raw
    return Result(
        components=components,
        unreadable=tuple(Unreadable(**item) for item in unreadable),
        unknown_bases=tuple(UnknownBase(**item) for item in unknown),
        findings=tuple(_decode_finding(item) for item in findings),
    )


def _values(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, as they are."""
    return {field.name: getattr(item, field.name) for field in fields(item)}


def _encode_finding(finding: Finding) -> dict[str, Any]:
    steps = [{**_values(step), "site": _encode_site(step.site)} for step in finding.evidence.steps]
    return {**_values(finding), "site": _encode_site(finding.site), "evidence": steps}


def _decode_finding(raw: dict[str, Any]) -> Finding:
    steps = tuple(PathStep(**{**step, "site": _decode_site(step["site"])}) for step in raw["evidence"])
    changes = {
        "site": _decode_site(raw["site"]),
        "evidence": PathWitness(steps=steps),
        "severity": Severity(raw["severity"]),
        "confidence": Confidence(raw["confidence"]),
    }
    return Finding(**{**raw, **changes})


def _encode_site(site: Site) -> list[Any]:
    return [site.path, *site.span]


def _decode_site(raw: list[Any]) -> Site:
    path, *span = raw
    return Site(path, Span(*span))
