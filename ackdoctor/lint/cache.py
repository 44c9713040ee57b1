"""Results of earlier runs: what the analysis of one cluster of files found.

A key covers all that the analysis depends on: ackdoctor's own code, Python, the parsers, the settings, and the names
and bytes of all files of the cluster, base classes and helpers included.  So a result can never be out of date.  Each entry begins with
a digest of the rest; a damaged one counts as missing.  Entries are JSON, and only ever read from `CacheFolder`.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import ackdoctor
from ackdoctor.cache_folder import CacheFolder, NoCacheError
from ackdoctor.lint.clusters.outcome import Outcome, Terms
from ackdoctor.lint.files.index import Cluster
from ackdoctor.lint.languages.reader import LANGUAGES
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
    """The results in one folder that hold for one set of terms."""

    def __init__(self, folder: CacheFolder, terms: Terms) -> None:
        """NoCacheError where ackdoctor's own code cannot be read."""
        self._folder = folder
        self._terms = repr((_tool(), sorted(terms.versions.items()), sorted(terms.extra_bases.items())))
        self._wrote = False
        self._full = False

    def get(self, cluster: Cluster, digests: Mapping[str, str]) -> Outcome | None:
        """The result for a cluster; `digests` are those of all its files, by path."""
        key = self._key(cluster, digests)
        entry = self._folder.read(key, _LARGEST) if key else None
        if entry is None:
            return None
        checksum, _, text = entry.partition(b"\n")
        if checksum != _checksum(key, text):
            return None
        try:
            return _decode(json.loads(text))
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError):  # none of ours
            return None

    def put(self, cluster: Cluster, digests: Mapping[str, str], outcome: Outcome) -> None:
        """Keep a result that the same files would give again.  Where nothing can be written, nothing is."""
        key = self._key(cluster, digests)
        if not (key and outcome.lasting) or self._full:
            return
        text = json.dumps(_encode(outcome), separators=(",", ":")).encode()
        entry = _checksum(key, text) + b"\n" + text
        if len(entry) <= _LARGEST:
            try:
                self._folder.write(key, entry)
                self._wrote = True
            except OSError:
                self._full = True

    def close(self) -> None:
        """Keep the folder small."""
        if self._wrote:
            with suppress(OSError):
                self._folder.prune(days=_UNUSED_DAYS, files=_MOST, size=_ALL)

    def _key(self, cluster: Cluster, digests: Mapping[str, str]) -> str:
        """The name of the entry; "" where a file of the cluster could not be read."""
        parts = [
            (word, source.shown, source.module, source.is_package, digests.get(source.path, ""))
            for word, sources in (("own", cluster.own), ("context", cluster.context))
            for source in sources
        ]
        if not all(part[-1] for part in parts):
            return ""
        return blake2b(repr((self._terms, cluster.language, parts)).encode(), digest_size=20).hexdigest()


def _checksum(key: str, text: bytes) -> bytes:
    return blake2b(text, key=key.encode(), digest_size=20).hexdigest().encode()


def _tool() -> str:
    """A digest of ackdoctor's own code, which an editable install changes without a new version, and what it rests on."""
    digest = blake2b(repr((ackdoctor.__version__, sys.version, _parsers())).encode(), digest_size=20)
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


def _parsers() -> list[str]:
    names = sorted({parser for language in LANGUAGES.values() for parser in language.parsers})
    return [f"{name} {_version(name)}" for name in names]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _encode(outcome: Outcome) -> list[Any]:
    """An outcome as plain JSON values."""
    unreadable, unknown = (list(map(_values, items)) for items in (outcome.unreadable, outcome.unknown_bases))
    findings = [_encode_finding(finding) for finding in outcome.findings]
    return [outcome.components, unreadable, unknown, findings]


def _decode(raw: list[Any]) -> Outcome:
    """The outcome again; a value of another shape raises."""
    components, unreadable, unknown, findings = raw
    return Outcome(
        components=components,
        unreadable=tuple(Unreadable(**item) for item in unreadable),
        unknown_bases=tuple(UnknownBase(**item) for item in unknown),
        findings=tuple(_decode_finding(item) for item in findings),
    )


def _values(item: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are."""
    return {field.name: getattr(item, field.name) for field in fields(item)}


def _encode_site(site: Site) -> list[Any]:
    return [site.path, *site.span]


def _decode_site(raw: list[Any]) -> Site:
    path, *span = raw
    return Site(path, Span(*span))


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
