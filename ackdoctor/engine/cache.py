"""What earlier runs found out, in one file that may be deleted at any time.

Records hold for a file while its time and size do.  Outcomes hold for a cluster while the bytes of all its
files do, whatever their times: a fresh checkout costs hashing, not analysis.  Both hold only for the same
tool, Python and settings.  A cache that cannot be read is an empty one; one that cannot be written is a note.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import ackdoctor
from ackdoctor.config import Settings
from ackdoctor.engine.codec import (
    decode_lexicon,
    decode_outcome,
    decode_record,
    encode_lexicon,
    encode_outcome,
    encode_record,
)
from ackdoctor.engine.discover import LIMIT
from ackdoctor.engine.index import Cluster
from ackdoctor.engine.languages import LANGUAGES
from ackdoctor.engine.lexicon import Lexicon
from ackdoctor.engine.outcome import Outcome
from ackdoctor.engine.reading import read_file
from ackdoctor.engine.survey import Record, Survey

__all__ = ["Cache", "run_key"]

_FILE = "lint.json"
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of ackdoctor; delete it at will.\n"
)
_LARGEST = 20 * LIMIT
_FINE, _COARSE = 100_000_000, 2_000_000_000  # ns that must have passed before a file's time is trusted


class Cache:
    """The memory of one root; `key` says for whom the contents hold, and for anybody else it is empty."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._key = key
        self._started = time.time_ns()
        contents = _load(folder, key)
        self._records: dict[str, Any] = contents.get("records", {})
        self._outcomes: dict[str, Any] = contents.get("outcomes", {})
        self._lexicons: dict[str, Any] = contents.get("lexicons", {})
        self._used: dict[str, Any] = {}
        self._changed = not contents

    def lexicon(self, language: str) -> Lexicon | None:
        """The lexicon of these settings: an unchanged run need not read any framework's data."""
        try:
            return decode_lexicon(self._lexicons[language])
        except (TypeError, ValueError, LookupError, AttributeError):
            return None

    def record(self, shown: str) -> Record | None:
        """The record of a file."""
        raw = self._records.get(shown)
        if raw is None:
            return None
        try:
            return decode_record(raw)
        except (TypeError, ValueError, LookupError):
            return None

    def outcome(self, group: Cluster, survey: Survey) -> Outcome | None:
        """What is known of a cluster."""
        return self._outcome(cluster_key(group, survey))

    def remember(self, group: Cluster, survey: Survey, outcome: Outcome) -> None:
        """Keeps an outcome that would come out the same again, a syntax error included."""
        if outcome.lasting:
            self._used[cluster_key(group, survey)] = encode_outcome(outcome)
            self._changed = True

    def _outcome(self, key: str) -> Outcome | None:
        raw = self._outcomes.get(key)
        if raw is None:
            return None
        try:
            found = decode_outcome(raw)
        except (TypeError, ValueError, LookupError, AttributeError):
            return None
        self._used[key] = raw
        return found

    def save(self, surveys: Mapping[str, Survey], root: str) -> str:
        """Writes what is known now, if that is anything new; the answer says why it could not ("" if it could).

        `surveys` are those of the run, by language.
        """
        fresh = {
            shown: encode_record(record)
            for survey in surveys.values()
            for shown, record in survey.learnt().items()
        }
        if not (fresh or self._changed):
            return ""
        for raw in fresh.values():
            if raw[0] > self._started - (_FINE if raw[0] % 1_000_000_000 else _COARSE):
                raw[0] = 0  # it may change again within the clock's grain
        seen = {file.shown for survey in surveys.values() for file in survey.files.values()}
        others = [shown for shown in self._records if shown not in seen]
        gone = {shown for shown in others if not os.path.exists(os.path.join(root, shown))}
        records = {shown: raw for shown, raw in self._records.items() if shown not in gone}
        outcomes = self._used if len(gone) == len(others) else {**self._outcomes, **self._used}
        lexicons = {language: encode_lexicon(survey.lexicon) for language, survey in surveys.items()}
        contents = {
            "key": self._key,
            "lexicons": {**self._lexicons, **lexicons},
            "records": {**records, **fresh},
            "outcomes": outcomes,
        }
        return _store(self._folder, json.dumps(contents, separators=(",", ":")))


def run_key(settings: Settings) -> str:
    """For whom a cache holds: this tool as it stands on disk, its parsers, this Python, these settings."""
    tool = (ackdoctor.__version__, sorted(_sources()), sorted(_parsers()))
    words = (*tool, sys.version_info[:2], settings.fingerprint())
    return blake2b(repr(words).encode(), digest_size=16).hexdigest()


def cluster_key(cluster: Cluster, survey: Survey) -> str:
    """What the outcome of a cluster depends on: the bytes and names of its files, and which are its own."""
    parts = [
        (word, source.shown, source.module, survey.digest(source.path))
        for word, sources in (("own", cluster.own), ("context", cluster.context))
        for source in sources
    ]
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _sources() -> Iterable[tuple[str, int, int]]:
    top = os.path.dirname(ackdoctor.__file__)
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir() and entry.name != "__pycache__":
                    waiting.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    yield entry.path[len(top) :], status.st_mtime_ns, status.st_size


def _parsers() -> Iterable[str]:
    """The installed versions of the parsers, as their folders are called: asking them would import them."""
    heads = tuple(f"{parser}-" for language in LANGUAGES.values() for parser in language.parsers)
    for folder in sys.path:
        with suppress(OSError):
            yield from (name for name in os.listdir(folder or ".") if name.startswith(heads))


def _load(folder: Path, key: str) -> Mapping[str, Any]:
    try:
        contents = json.loads(read_file(str(folder / _FILE), _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(contents, dict) or contents.get("key") != key:
        return {}
    sound = all(isinstance(contents.get(part), dict) for part in ("lexicons", "records", "outcomes"))
    return contents if sound else {}


def _store(folder: Path, text: str) -> str:
    """Puts the file in place in one step; no reader ever sees half of it."""
    part = folder / f"{_FILE}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            if not (folder / name).exists():
                (folder / name).write_text(content, encoding="utf-8")
        part.write_text(text, encoding="utf-8")
        part.replace(folder / _FILE)
    except OSError as error:
        return f"nothing was cached: {folder}: {(error.strerror or str(error)).lower()}"
    return ""
