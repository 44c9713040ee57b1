"""The findings that a team accepts for now, in a file that shrinks.

A fingerprint identifies the defect, not the line: rule, component, handler and cause.  Equal fingerprints are counted,
first in their own file, then across files, so that a file may be moved.  An edit on the path to a defect changes its
cause.  The remaining findings are then counted by file, rule and handler, and without the file where that is gone: if a
handler gains findings of a rule, all of that rule's findings in it are new.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ackdoctor.config import Settings
from ackdoctor.model import BaselineError
from ackdoctor.model.finding import Finding, Report, plain, stamp
from ackdoctor.model.source import read_file, replacing

_VERSION = 1
_LARGEST = 50_000_000  # bytes


class Entry(NamedTuple):
    """One accepted finding; the fingerprint identifies it, the rest is for the reader of a diff."""

    path: str
    code: str
    where: str  # "CountBolt.process"
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.code} {self.where}".rstrip()


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Baseline:
    """A baseline file and its entries; their paths are relative to its folder."""

    file: Path
    entries: tuple[Entry, ...]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Comparison:
    """Findings that are not in the baseline, findings that are, entries without a finding, entries that the run skipped."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    fixed: tuple[Entry, ...]
    unseen: tuple[Entry, ...]


# ---- comparing ----


def _handler(entry: Entry) -> str:
    """Return the handler of the defect, or the fingerprint of a finding that is in no handler."""
    return entry.where or plain(entry.fingerprint)


_Key = Callable[[Entry], tuple[str, ...]]
_KEYS: Mapping[str, _Key] = {  # in this order: what a finding and its entry have in common
    "unmoved": lambda entry: (plain(entry.fingerprint), entry.path),
    "moved": lambda entry: (plain(entry.fingerprint),),
    "edited": lambda entry: (entry.path, entry.code, _handler(entry)),
    "moved and edited": lambda entry: (entry.code, _handler(entry)),
}


def compare(
    baseline: Baseline,
    findings: Sequence[Finding],
    *,
    root: Path,
    checked: Callable[[Entry], bool],
    gone: Callable[[Entry], bool],
) -> Comparison:
    """Compare stamped findings with the baseline; `root` is where their paths start.

    `checked` says whether the run would have found an entry: one that it did not check counts neither as moved nor as
    edited nor as fixed.  `gone` says whether an entry's file no longer exists.
    """
    entries = {entry: checked(entry) for entry in sorted(baseline.entries)}
    places = [_entry_of(finding, root, baseline.file) for finding in findings]
    known: set[int] = set()
    met: set[Entry] = set()
    for how, key_of in _KEYS.items():
        waiting: dict[tuple[str, ...], list[Entry]] = {}
        for entry, was_checked in entries.items():
            comparable = (was_checked or how == "unmoved") and (how != "moved and edited" or gone(entry))
            if entry not in met and comparable:
                waiting.setdefault(key_of(entry), []).append(entry)
        unmatched: dict[tuple[str, ...], list[int]] = {}
        for number, place in enumerate(places):
            if number not in known:
                unmatched.setdefault(key_of(place), []).append(number)
        for key, numbers in unmatched.items():
            same_key = waiting.get(key, [])
            # With more findings than entries in an edited handler any of them may be new.
            if how in {"unmoved", "moved"} or len(numbers) <= len(same_key):
                known.update(numbers[: len(same_key)])
                met.update(same_key[: len(numbers)])
    return Comparison(
        new=tuple(finding for number, finding in enumerate(findings) if number not in known),
        known=tuple(finding for number, finding in enumerate(findings) if number in known),
        fixed=tuple(entry for entry in entries if entry not in met and entries[entry]),
        unseen=tuple(entry for entry in entries if entry not in met and not entries[entry]),
    )


def _entry_of(finding: Finding, root: Path, file: Path) -> Entry:
    """Return the finding as an entry of the baseline at `file`; its path has forward slashes."""
    try:
        path = os.path.relpath(root / finding.site.path, file.absolute().parent).replace(os.sep, "/")
    except ValueError:  # another drive
        path = finding.site.path
    where = ".".join(filter(None, (finding.component, finding.handler)))
    return Entry(path, finding.code, where, finding.fingerprint)


def compare_report(report: Report, settings: Settings, baseline: Baseline, *, root: Path) -> Comparison:
    """Compare the report's findings, stamped, with the baseline.  `root` is where the report's paths start."""
    from ackdoctor.rulebook import survey  # most runs have no baseline

    rules, _ = survey()
    active = {code for code, rule in rules.items() if settings.selects(code, rule.name, default=rule.default)}
    read_files = {_absolute(root / path) for path in report.files}
    unread = {_absolute(root / unreadable.path) for unreadable in report.unreadable}

    def place_of(entry: Entry) -> str:
        return _absolute(baseline.file.absolute().parent / entry.path)

    def gone(entry: Entry) -> bool:
        return not os.path.exists(place_of(entry))

    def checked(entry: Entry) -> bool:
        place = place_of(entry)
        ran = entry.code in active or entry.code not in rules
        return ran and place not in unread and (place in read_files or gone(entry))

    return compare(baseline, stamp(report.findings), root=root, checked=checked, gone=gone)


def _absolute(path: Path) -> str:
    return os.path.normpath(path.absolute())


# ---- the file ----


def read(path: Path) -> Baseline:
    """Read a baseline file; BaselineError says what is wrong with it."""
    import json  # only a run with a baseline needs it

    try:
        document = json.loads(read_file(str(path), _LARGEST).decode("utf-8-sig"))
    except FileNotFoundError:
        raise BaselineError(f"{path}: no such file; --write-baseline creates it") from None
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror}") from error
    except RecursionError:
        raise BaselineError(f"{path}: not a baseline: nested too deeply") from None
    except UnicodeDecodeError:
        raise BaselineError(f"{path}: not a baseline: not UTF-8") from None
    except ValueError as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise BaselineError(f"{path}: not a baseline of version {_VERSION}")
    entries = document.get("findings")
    if not isinstance(entries, list):
        raise BaselineError(f"{path}: not a baseline: `findings` must be a list")
    found = (_read_entry(path, number, raw) for number, raw in enumerate(entries, start=1))
    return Baseline(file=path, entries=tuple(dict.fromkeys(found)))  # a merge may have doubled one


def _read_entry(path: Path, number: int, raw: object) -> Entry:
    values = [raw.get(name) for name in Entry._fields] if isinstance(raw, dict) else []
    if len(values) != len(Entry._fields) or not all(isinstance(value, str) for value in values):
        raise BaselineError(f"{path}: entry {number} must have {', '.join(Entry._fields)}")
    return Entry(*map(str, values))


def entries_of(findings: Iterable[Finding], path: Path, *, root: Path) -> list[Entry]:
    """Return the findings as entries of the baseline at `path`; `root` is where their own paths start."""
    return [_entry_of(finding, root, path) for finding in findings]


def text_of(entries: Iterable[Entry]) -> str:
    """Return the file of these entries, one a line, sorted, so that a diff shows what was added and what was fixed."""
    import json

    lines = ",\n    ".join(json.dumps(entry._asdict(), ensure_ascii=False) for entry in sorted(entries))
    body = f"\n    {lines}\n  " if lines else ""
    return f'{{\n  "version": {_VERSION},\n  "findings": [{body}]\n}}\n'


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write the entries to a file."""
    try:
        with replacing(path) as stream:
            stream.write(text_of(entries))
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be written: {error.strerror}") from error
