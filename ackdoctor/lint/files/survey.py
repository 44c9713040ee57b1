"""What is known about each file before any of them is parsed.

A `Record` is what one look at a file's bytes gives.  No bytes are kept: most files of a run never matter again.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ackdoctor.lint.disk.reading import digest_of, read_file
from ackdoctor.lint.files.discover import LIMIT, Candidate, reason, shown
from ackdoctor.lint.files.lexicon import DIRECTIVE, Lexicon
from ackdoctor.lint.languages.outline import Outline
from ackdoctor.lint.languages.reader import Reader
from ackdoctor.model.finding import Unreadable

__all__ = ["Record", "Survey"]

_ACTS = re.compile(rb"[._](?:ack|fail|emit)\w{0,80}[ \t]*\(")  # \w* would be quadratic in `_ack_ack_ack`


class Record(NamedTuple):
    """One look at a file.

    `named` tells that it contains a framework's word, `marked` that it may hold a suppression comment,
    `odd` that it is not the text of a program, `acts` that it calls something like an ack, `shaped` that it has what looks
    like a handler of tuples.
    """

    named: bool = False
    marked: bool = False
    odd: bool = False
    acts: bool = False
    outline: Outline | None = None
    shaped: bool = False


class Survey:
    """The records of a run's files in one language, made on demand.

    Without a `reader` only the files that name a framework are found.  `overlay` holds contents that are not (yet) on
    disk.  A file that cannot be read has no record and is listed in `unreadable`.
    """

    def __init__(
        self,
        files: Iterable[Candidate],
        lexicon: Lexicon,
        root: str,
        reader: Reader | None,
        *,
        overlay: Mapping[str, bytes],
    ) -> None:
        self.files = {file.path: file for file in files}
        self.lexicon = lexicon
        self.root = root
        self._reader = reader
        self.records: dict[str, Record] = {}
        self.unreadable: list[Unreadable] = []
        self._overlay = overlay
        self._skeletons: dict[str, Outline] = {}
        self._digests: dict[str, str] = {}
        for file in self.files.values():
            self._record(file)

    @property
    def reader(self) -> Reader:
        """Who reads this language."""
        assert self._reader is not None
        return self._reader

    def add(self, path: str) -> bool:
        """Takes in a file that the run did not list; False if it cannot be read."""
        if path not in self.files:
            try:
                found = os.stat(path)
            except (OSError, ValueError):
                return False
            if not stat.S_ISREG(found.st_mode) or found.st_size > LIMIT:
                return False
            file = Candidate(path, shown(path, self.root), found.st_size, named=False)
            self.files[path] = file
            self._record(file)
        return path in self.records

    def read(self, path: str) -> bytes:
        """The bytes of a file; b"" and an entry in `unreadable` where they cannot be had."""
        if path in self._overlay:
            return self._overlay[path]
        try:
            return read_file(path, LIMIT)
        except OSError as error:
            self._refuse(path, reason(error))
            return b""

    def classes(self, path: str) -> Outline:
        """The file's outline, perhaps with nothing in it but the classes."""
        record = self.records.get(path)
        known = (record and record.outline) or self._skeletons.get(path)
        if known is None:
            known = self._skeletons[path] = self._outlined(path, self.read(path), self.reader.skeleton)
        return known

    def outline(self, path: str) -> Outline:
        """The file's complete outline."""
        record = self.records.get(path)
        if record is not None and record.outline is not None and record.outline.complete:
            return record.outline
        data = self.read(path)
        full = self._outlined(path, data, self.reader.outline)
        if record is not None:
            self.records[path] = record._replace(outline=full, acts=_ACTS.search(data) is not None)
        return full

    def digest(self, path: str) -> str:
        """The digest of the file's bytes; "" where they cannot be read."""
        if path not in self._digests:
            data = self.read(path)
            unread = {item.path for item in self.unreadable}
            self._digests[path] = "" if self.files[path].shown in unread else digest_of(data)
        return self._digests[path]

    def _record(self, file: Candidate) -> None:
        try:
            data = self._overlay[file.path] if file.path in self._overlay else read_file(file.path, LIMIT)
        except OSError as error:
            self._refuse(file.path, reason(error))
            return
        named = any(word in data for word in self.lexicon.words)
        record = Record(named)
        if self._reader is not None:
            odd = self._reader.is_odd(data)
            plain = data.replace(b"\0", b"") if odd else data  # UTF-16
            shaped = self._reader.is_shaped(data)
            record = record._replace(marked=DIRECTIVE in plain, odd=odd, shaped=shaped)
            if named:
                acts = _ACTS.search(data) is not None
                outline = self._outlined(file.path, data, self._reader.outline)
                record = record._replace(outline=outline, acts=acts)
        self.records[file.path] = record

    def _outlined(self, path: str, data: bytes, read: Callable[[bytes], Outline]) -> Outline:
        """What `read` finds in a file; its internal error costs this file, and no other."""
        try:
            return read(data)
        except Exception as error:  # noqa: BLE001  # the other files go on
            self._add(Unreadable.crash(self.files[path].shown, error))
            return Outline(complete=True)

    def _refuse(self, path: str, why: str) -> None:
        self._add(Unreadable(path=self.files[path].shown, line=0, column=0, reason=why))

    def _add(self, fault: Unreadable) -> None:
        if all(item.path != fault.path for item in self.unreadable):
            self.unreadable.append(fault)
