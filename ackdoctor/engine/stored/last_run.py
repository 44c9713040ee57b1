"""What came of the last run, for one that finds everything as that run did.

The result holds for the same tool, Python, parsers and settings (the store's key), on the same files with the
same times and sizes (the listing), if every look beside them would see the same (`around`).  It is kept only if
it would come out the same again: nothing was refused by the system, nothing crashed, and every time is old
enough to tell that the file has not changed since it was read.
"""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ackdoctor.engine.clusters.outcome import Outcome, Whole
from ackdoctor.engine.disk.surroundings import Seen, seen
from ackdoctor.engine.files.discover import Candidate
from ackdoctor.engine.stored.store import Store, trusted

__all__ = ["LastRun"]

_FILE = "run.json"
_NOTHING = [0, [], []]  # an outcome without anything in it, as it is stored


class LastRun:
    """The last result of a cache's folder; made before the first file is read."""

    def __init__(self, folder: Path, key: str, files: Iterable[Candidate], root: str) -> None:
        self._store = Store(folder, _FILE, key)
        self._started = time.time_ns()
        self._files = tuple(files)
        self._root = root

    def recall(self) -> tuple[Whole, dict[str, Seen]] | None:
        """The result and what it looked at beside the files, if all is as it was."""
        contents = self._store.load()
        try:
            if contents.get("listing") != self._listing():
                return None
            looks = {path: _tuple(was) for path, was in contents["around"].items()}
            if any(seen(path) != was for path, was in looks.items()):
                return None
            marked, notes = contents["marked"], contents["notes"]
            return Whole(_decoded(contents["outcome"]), tuple(marked), tuple(notes)), looks
        except (TypeError, ValueError, LookupError, AttributeError):
            return None

    def keep(self, result: Whole, looks: Mapping[str, Seen]) -> None:
        """Writes the result down, if it is worth it."""
        times = [file.mtime_ns for file in self._files] + [was[1] for was in looks.values() if was]
        if result.outcome.lasting and all(trusted(mtime_ns, self._started) for mtime_ns in times):
            from ackdoctor.engine.stored.codec import encode_outcome

            self._store.save(
                {
                    "listing": self._listing(),
                    "around": looks,
                    "outcome": encode_outcome(result.outcome),
                    "marked": result.marked,
                    "notes": result.notes,
                }
            )

    def _listing(self) -> str:
        """The files in their order, as text: to hash it would cost the import of OpenSSL."""
        lines = (f"{path}\n{mtime_ns} {size}" for path, _, mtime_ns, size, _ in self._files)
        return "\n".join((self._root, *lines))


def _tuple(raw: list[int] | None) -> Seen:
    if raw is None:
        return None
    mode, mtime_ns, ctime_ns, size, inode = raw
    return mode, mtime_ns, ctime_ns, size, inode


def _decoded(raw: list[object]) -> Outcome:
    if raw == _NOTHING:
        return Outcome()
    from ackdoctor.engine.stored.codec import decode_outcome  # a clean run has nothing to decode

    return decode_outcome(raw)
