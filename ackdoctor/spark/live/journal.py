"""What a watch has told: every line once, whatever is killed in between.

    CHECKPOINT/told.jsonl    the lines of a batch, and behind them one that says that the batch is done

A batch is done when that last line is whole.  It also names the folder of the state that the batch left, so one write
commits both; what follows the last such line was cut off, and is removed.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackdoctor.model.errors import UsageError
from ackdoctor.tracer.trace.files import LOCK, TERMS

__all__ = ["Journal", "Line", "held", "same_terms"]

Line = Mapping[str, Any]

_DONE = "done"


@dataclass(slots=True, kw_only=True)
class Journal:
    """The last batch that is done, -1 before the first, its state and its totals; and which batch was shown last.

    Standard output cannot be taken back: what was not noted as shown when the process died is shown again.
    """

    place: Path
    batch: int = -1
    state: str = ""
    totals: dict[str, int] = field(default_factory=dict)
    _unshown: list[Line] = field(default_factory=list)

    @classmethod
    def opened(cls, folder: Path) -> "Journal":
        """That of a checkpoint; what a killed process did not finish is gone."""
        journal = cls(place=folder / "told.jsonl")
        if journal.place.exists():
            journal._recall()
        return journal

    def _recall(self) -> None:
        shown = self._shown()
        whole = 0
        lines: list[Line] = []
        with self.place.open("r+b") as kept:
            while (text := kept.readline()).endswith(b"\n"):
                line = json.loads(text)
                if _DONE not in line:
                    lines.append(line)
                    continue
                whole = kept.tell()
                self.batch, self.state, self.totals = line[_DONE], line["state"], line["totals"]
                if self.batch > shown:
                    self._unshown += lines
                lines = []
            kept.truncate(whole)

    def unshown(self) -> Sequence[Line]:
        """The lines of batches that are done, and that nobody may have seen."""
        lines, self._unshown = self._unshown, []
        return lines

    def commit(self, batch: int, lines: Sequence[Line], *, state: str, totals: Mapping[str, int]) -> None:
        """A batch is done."""
        end = {_DONE: batch, "state": state, "totals": dict(totals)}
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (*lines, end))
        with self.place.open("ab") as out:
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        self.batch, self.state, self.totals = batch, state, dict(totals)

    def show(self) -> None:
        """Everything that is done has been shown."""
        _replace(self.place.with_name("shown"), self.batch)

    def _shown(self) -> int:
        place = self.place.with_name("shown")
        return int(json.loads(place.read_text())) if place.exists() else -1


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The checkpoint's folder, for one process at a time; UsageError if another has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise UsageError(f"{folder}: no place for a checkpoint: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another watch is at work with this checkpoint") from None
        yield


def same_terms(folder: Path, terms: Mapping[str, str]) -> None:
    """UsageError if the checkpoint was begun on other terms, or has lost what Spark knows of it."""
    place, told, read = folder / TERMS, (folder / "told.jsonl").exists(), (folder / "spark").is_dir()
    if not place.exists() or not (told or read):  # Spark never came up
        _replace(place, dict(terms))
        return
    before = json.loads(place.read_text())
    for name, value in terms.items():
        if before.get(name) != value:
            raise UsageError(
                f"{folder} was begun with {name} {before.get(name) or 'unsaid'}, and now it is {value or 'unsaid'}: "
                "name another --checkpoint, or remove this one"
            )
    if told and not read:
        raise UsageError(f"{folder} has lost what was read: remove it to begin anew")


def _replace(place: Path, content: object) -> None:
    new = place.with_name(f"{place.name}.new")
    with new.open("w") as out:
        json.dump(content, out)
        out.flush()
        os.fsync(out.fileno())
    new.replace(place)
