"""What earlier runs found out, in one file that may be deleted at any time.

Records hold for a file while its time and size do.  Outcomes hold for a cluster while the bytes of all its
files do, whatever their times: a fresh checkout costs hashing, not analysis.  Both hold only for the same
tool, Python and settings.  A cache that cannot be read is an empty one; one that cannot be written is a note.
"""

import os
import time
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ackdoctor.engine.clusters.outcome import Outcome
from ackdoctor.engine.files.index import Cluster
from ackdoctor.engine.files.lexicon import Lexicon
from ackdoctor.engine.files.survey import Record, Survey
from ackdoctor.engine.stored.codec import decode_outcome, encode_outcome
from ackdoctor.engine.stored.record_codec import decode_lexicon, decode_record, encode_lexicon, encode_record
from ackdoctor.engine.stored.store import Store, trusted

__all__ = ["Cache"]

_FILE = "lint.json"


class Cache:
    """The memory of one root; `key` says for whom the contents hold, and for anybody else it is empty."""

    def __init__(self, folder: Path, key: str) -> None:
        self._store = Store(folder, _FILE, key)
        self._started = time.time_ns()
        contents = self._store.load()
        if not all(isinstance(contents.get(part), dict) for part in ("lexicons", "records", "outcomes")):
            contents = {}
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
            if not trusted(raw[0], self._started):
                raw[0] = 0  # it may change again within the clock's grain
        seen = {file.shown for survey in surveys.values() for file in survey.files.values()}
        others = [shown for shown in self._records if shown not in seen]
        gone = {shown for shown in others if not os.path.exists(os.path.join(root, shown))}
        records = {shown: raw for shown, raw in self._records.items() if shown not in gone}
        outcomes = self._used if len(gone) == len(others) else {**self._outcomes, **self._used}
        lexicons = {language: encode_lexicon(survey.lexicon) for language, survey in surveys.items()}
        contents = {
            "lexicons": {**self._lexicons, **lexicons},
            "records": {**records, **fresh},
            "outcomes": outcomes,
        }
        return self._store.save(contents)


def cluster_key(cluster: Cluster, survey: Survey) -> str:
    """What the outcome of a cluster depends on: the bytes and names of its files, and which are its own."""
    parts = [
        (word, source.shown, source.module, survey.digest(source.path))
        for word, sources in (("own", cluster.own), ("context", cluster.context))
        for source in sources
    ]
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()
