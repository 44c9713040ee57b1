"""A file of the cache's folder: for whom it holds, and how it is put in place.

A file that cannot be read, is damaged or was written for somebody else is an empty one.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import ackdoctor
from ackdoctor.config import Settings
from ackdoctor.engine.disk.reading import read_file
from ackdoctor.engine.files.discover import LIMIT
from ackdoctor.engine.languages.reader import LANGUAGES

__all__ = ["Store", "put", "run_key", "trusted"]

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of ackdoctor; delete it at will.\n"
)
_LARGEST = 20 * LIMIT
_FINE, _COARSE = 100_000_000, 2_000_000_000  # ns that must have passed before a file's time is trusted


class Store:
    """One file; `key` says for whom the contents hold."""

    def __init__(self, folder: Path, name: str, key: str) -> None:
        self._folder = folder
        self._name = name
        self._key = key

    def load(self) -> Mapping[str, Any]:
        """The contents, or nothing."""
        try:
            contents = json.loads(read_file(str(self._folder / self._name), _LARGEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return contents if isinstance(contents, dict) and contents.get("key") == self._key else {}

    def save(self, contents: Mapping[str, Any]) -> str:
        """Puts the file in place in one step, so that no reader sees half of it; the answer says why it could not."""
        text = json.dumps({"key": self._key, **contents}, separators=(",", ":"))
        return put(self._folder, self._name, text.encode())


def put(folder: Path, name: str, data: bytes) -> str:
    """As `Store.save`, whatever the data."""
    part = folder / f"{name}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for own, content in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            if not (folder / own).exists():
                (folder / own).write_text(content, encoding="utf-8")
        part.write_bytes(data)
        part.replace(folder / name)
    except OSError as error:
        return f"nothing was cached: {folder}: {(error.strerror or str(error)).lower()}"
    return ""


def trusted(mtime_ns: int, started_ns: int) -> bool:
    """Whether a file that was read after `started_ns` cannot have changed since without a new time."""
    return mtime_ns <= started_ns - (_FINE if mtime_ns % 1_000_000_000 else _COARSE)


def run_key(settings: Settings) -> str:
    """For whom a cache holds: this tool as it stands on disk, its parsers, this Python, these settings.

    It is plain text: the import of OpenSSL, which any hash brings with it, would cost more than to compare it.
    """
    tool = (ackdoctor.__version__, sorted(_sources()), sorted(_parsers()))
    return repr((*tool, sys.version_info[:2], settings.fingerprint()))


def _sources() -> Iterable[tuple[str, int, int]]:
    top = os.path.dirname(ackdoctor.__file__)
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    yield entry.path[len(top) :], status.st_mtime_ns, status.st_size
                elif entry.is_dir() and entry.name != "__pycache__":
                    waiting.append(entry.path)


def _parsers() -> Iterable[str]:
    """The installed versions of the parsers, as their folders are called: asking them would import them."""
    heads = tuple(f"{parser}-" for language in LANGUAGES.values() for parser in language.parsers)
    for folder in sys.path:
        with suppress(OSError):
            yield from (name for name in os.listdir(folder or ".") if name.startswith(heads))
