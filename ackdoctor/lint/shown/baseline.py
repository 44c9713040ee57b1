"""The findings a team has agreed to live with for now, in a file that shrinks.

A fingerprint names the defect, not the line: rule, component, handler and cause.  Where the same defect
stands several times it is counted, first in its own file, then in others, so that a file may be moved.
An edit on the path to a defect changes its cause; what is left over then is counted by file, rule and
handler, without the file where that is gone, and where it is more than was accepted all of it is new.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ackdoctor.model.errors import BaselineError
from ackdoctor.model.finding import Finding, plain
from ackdoctor.model.reading import read_file
from ackdoctor.model.writing import replacing

__all__ = ["Baseline", "Comparison", "Entry", "compare", "entries_of", "read", "save", "write"]

_VERSION = 1
_LARGEST = 50_000_000  # bytes


class Entry(NamedTuple):
    """One accepted finding; all but the fingerprint is there for the reader of a diff."""

    path: str
    code: str
    where: str  # "CountBolt.process"
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.code} {self.where}".rstrip()


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Baseline:
    """A baseline file and its entries; their paths start where the file stands."""

    file: Path
    entries: tuple[Entry, ...]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Comparison:
    """Findings not in the baseline, findings that are, entries that no longer occur, and those nobody looked for."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    fixed: tuple[Entry, ...]
    unseen: tuple[Entry, ...]


def compare(
    baseline: Baseline,
    findings: Sequence[Finding],
    *,
    root: Path,
    looked_at: Callable[[Entry], bool],
    gone: Callable[[Entry], bool],
) -> Comparison:
    """Stamped findings against the baseline.  An entry that this run did not look at is neither moved, edited nor fixed.

    `root` is where the paths of the findings start; `gone` says whether an entry's file is there no more.
    """
    looked = {entry: looked_at(entry) for entry in sorted(baseline.entries)}
    places = [_place(finding, root, baseline.file) for finding in findings]
    known: set[int] = set()
    met: set[Entry] = set()
    for alike in (_unmoved, _moved, _edited, _moved_and_edited):
        waiting: dict[tuple[str, ...], list[Entry]] = {}
        for entry, was_looked_at in looked.items():
            if entry in met or not (was_looked_at or alike is _unmoved):
                continue
            if alike is not _moved_and_edited or gone(entry):
                waiting.setdefault(alike(entry), []).append(entry)
        left: dict[tuple[str, ...], list[int]] = {}
        for number, place in enumerate(places):
            if number not in known:
                left.setdefault(alike(place), []).append(number)
        for key, numbers in left.items():
            entries = waiting.get(key, [])
            same = alike in {_unmoved, _moved}
            if same or len(numbers) <= len(entries):  # else nobody knows which of them is new
                known.update(numbers[: len(entries)])
                met.update(entries[: len(numbers)])
    return Comparison(
        new=tuple(finding for number, finding in enumerate(findings) if number not in known),
        known=tuple(finding for number, finding in enumerate(findings) if number in known),
        fixed=tuple(entry for entry in looked if entry not in met and looked[entry]),
        unseen=tuple(entry for entry in looked if entry not in met and not looked[entry]),
    )


def _unmoved(entry: Entry) -> tuple[str, ...]:
    return (plain(entry.fingerprint), entry.path)


def _moved(entry: Entry) -> tuple[str, ...]:
    return (plain(entry.fingerprint),)


def _edited(entry: Entry) -> tuple[str, ...]:
    return (entry.path, entry.code, _handler(entry))


def _moved_and_edited(entry: Entry) -> tuple[str, ...]:
    return (entry.code, _handler(entry))


def _handler(entry: Entry) -> str:
    """Where the defect is; what is in no handler, such as a comment of ours, is told by its fingerprint alone."""
    return entry.where or plain(entry.fingerprint)


def _place(finding: Finding, root: Path, file: Path) -> Entry:
    """The finding as an entry of the baseline at `file`."""
    return Entry(
        path=_path(finding, root, file),
        code=finding.code,
        where=".".join(filter(None, (finding.component, finding.handler))),
        fingerprint=finding.fingerprint,
    )


def _path(finding: Finding, root: Path, file: Path) -> str:
    """The finding's path as seen from the baseline file, with forward slashes."""
    try:
        relative = os.path.relpath(root / finding.site.path, file.absolute().parent)
    except ValueError:  # another drive
        return finding.site.path
    return relative.replace(os.sep, "/")


def read(path: Path) -> Baseline:
    """A baseline file; BaselineError says what is wrong with it."""
    import json  # only a run with a baseline needs it

    try:
        document = json.loads(read_file(str(path), _LARGEST).decode("utf-8-sig"))
    except FileNotFoundError:
        raise BaselineError(f"{path}: there is no such baseline; --write-baseline makes it") from None
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror}") from error
    except RecursionError:
        raise BaselineError(f"{path}: not a baseline: nested too deeply") from None
    except ValueError as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise BaselineError(f"{path}: not a baseline of version {_VERSION}")
    entries = document.get("findings")
    if not isinstance(entries, list):
        raise BaselineError(f"{path}: not a baseline: `findings` must be a list")
    found = (_entry(path, number, raw) for number, raw in enumerate(entries, start=1))
    return Baseline(file=path, entries=tuple(dict.fromkeys(found)))  # a merge may have doubled one


def _entry(path: Path, number: int, raw: object) -> Entry:
    values = [raw.get(name) for name in Entry._fields] if isinstance(raw, dict) else []
    if len(values) != len(Entry._fields) or not all(isinstance(value, str) for value in values):
        raise BaselineError(f"{path}: entry {number} must have {', '.join(Entry._fields)}")
    return Entry(*map(str, values))


def write(path: Path, findings: Iterable[Finding], *, root: Path, unseen: Iterable[Entry] = ()) -> None:
    """The findings as the entries of a baseline file, beside those that were there and that nobody looked for."""
    save(path, [*entries_of(findings, path, root=root), *unseen])


def entries_of(findings: Iterable[Finding], path: Path, *, root: Path) -> list[Entry]:
    """The findings as entries of the baseline at `path`; `root` is where their own paths start."""
    return [_place(finding, root, path) for finding in findings]


def save(path: Path, entries: Iterable[Entry]) -> None:
    """One entry a line, sorted, so that a review shows what was added and what was mended."""
    import json

    lines = ",\n    ".join(json.dumps(entry._asdict(), ensure_ascii=False) for entry in sorted(entries))
    body = f"\n    {lines}\n  " if lines else ""
    try:
        with replacing(path) as stream:
            stream.write(f'{{\n  "version": {_VERSION},\n  "findings": [{body}]\n}}\n')
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be written: {error.strerror}") from error
