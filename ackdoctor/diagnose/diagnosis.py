"""Logs or a pasted error, read: which known symptoms they have, in which components, how often, and the innermost causes."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ackdoctor.diagnose.exceptions import Exceptions, Part, Thrown, shown
from ackdoctor.diagnose.findings import DAEMONS, Diagnosis, Occurrence, Sign
from ackdoctor.diagnose.lives import Lives, without_announcements, without_echoes_of_supervisors
from ackdoctor.diagnose.log_lines import (
    component_of,
    entries,
    instance_of,
    is_logged,
    kind_of_line,
    kind_of_name,
    moment_of,
    unpacked,
)
from ackdoctor.diagnose.silence import Silence, silent_logs
from ackdoctor.diagnose.symptoms import Symptom, Table, table
from ackdoctor.diagnose.threads import Threads
from ackdoctor.tracer.trace.worker_log import bare

__all__ = ["diagnose"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 400
_WHOLE = 20_000  # characters of a line that are looked at: what has more is data
_LONGEST_ENTRY = 10_000_000  # of one in JSON
_HEAD_LINES = 200
_WORKER = "worker"
_KIND_LINES = 2_000  # of a file, in which it says what it is
_MOST_KEPT = 5_000  # occurrences of a symptom
_OTHER: Mapping[str, re.Pattern[str]] = {  # what a text is that is no log
    "a class histogram: ackdoctor heap hist reads it": re.compile(
        r"^ *num +(?:#instances|object count)|^ *1: +\d+ +\d+ +\S+"
    ),
    "a part of a trace: ackdoctor trace report reads it": re.compile(r'^\{"schema":\d+,"kind":\d+,'),
}
# what topology.debug logs of each tuple: a user's values are in it, and no symptom
_TRAFFIC = re.compile(
    r"^.{0,300}?(?:\[INFO\] |INFO +\S+ - )(?:Processing received |Emitting|TRANSFERING |Transferring|BOLT (?:ack|fail) |SPOUT Acking |Execute done )"
)
_SYSTEM = "source: __system:"  # ticks, which go on when nothing else does
_STAMP = 40  # characters that have a line's time
# a stack on one line, as web pages and some layouts have it
_INLINE = re.compile(
    r" (?=at [\w$.<>/@-]{3,300}\((?:[\w$]{1,100}\.(?:java|clj|scala|kt|groovy)(?::\d{1,6})?|Native Method|Unknown Source)\))"
)
_COMMAND = re.compile(r"\bCommand: (\[.*?\]|\S+), ProcessInfo")


def diagnose(
    lines: Iterable[str],
    names: Sequence[str] = (),
    *,
    begins: Sequence[int] = (),
    rows: Table | None = None,
) -> Diagnosis:
    """Looks for each symptom in each line and each exception.

    Of several files read as one, `names` are theirs, and `begins` says after which lines one begins, as it becomes known.
    """
    rows = rows or table()
    found: dict[str, Sign] = {}
    reading = _Reading(rows, found, names[0] if names else "")
    silences: list[Silence] = []
    notes: list[str] = []
    number, file, other = 0, max(bisect_left(begins, 1) - 1, 0), ""
    for number, line in _read(lines):
        at = max(bisect_left(begins, number) - 1, 0)
        if at != file:
            reading.end()
            silences.append(reading.silence)
            notes.append(reading.threads.note)
            reading, file = reading.next(names[at] if at < len(names) else "", begins[at]), at
        if number <= _HEAD_LINES and not other:
            other = next((said for said, form in _OTHER.items() if form.match(line)), "")
        reading.line(number, line)
    reading.end()
    silences.append(reading.silence)
    notes.append(reading.threads.note)
    for occurrence in silent_logs(silences, rows):
        _note(found, occurrence)
    remaining = without_echoes_of_supervisors(without_announcements(found.values()), reading.lives.ports)
    signs = _in_time(remaining, rows.symptoms)
    innermost = next((cause for sign in signs for cause in sign.causes if not cause.thread), reading.first)
    note = next(filter(None, notes), "")
    return Diagnosis(signs=signs, first=innermost, lines=number, other=other, note=note)


def _note(found: dict[str, Sign], occurrence: Occurrence) -> None:
    sign = found.get(occurrence.symptom.name)
    if sign is None:
        found[occurrence.symptom.name] = Sign(occurrence.symptom, [occurrence])
    elif len(sign.occurrences) < _MOST_KEPT:
        sign.occurrences.append(occurrence)
    else:
        sign.more += 1


def _in_time(signs: Sequence[Sign], symptoms: Sequence[Symptom]) -> tuple[Sign, ...]:
    """What was said first is first, since the rest may have come of it; what a worker survives is last."""
    for sign in signs:
        sign.occurrences.sort(key=lambda each: each.line)
    return tuple(sorted(signs, key=lambda sign: (not sign.fatal, sign.line, symptoms.index(sign.symptom))))


def _read(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """What each line says, with its number."""
    for number, raw in entries(lines):
        line = _bare(raw[:_LONGEST_ENTRY])
        if line.startswith("{") or "\\n" in line:
            yield from ((number, _bare(each)[:_WHOLE]) for each in unpacked(line))
        elif line.count(" at ") > 1 and "." in line and _INLINE.search(line):
            yield from (
                (number, each)
                for each in _INLINE.sub("\n\t", line).replace(" Caused by: ", "\nCaused by: ").splitlines()
            )
        else:
            yield number, line


def _bare(raw: str) -> str:
    """The line as it was written; zeros are those of a file that was cut while it was open, or of an editor's UTF-16."""
    line = raw.replace("\0", "").rstrip("\r\n")
    line = line if line.startswith("{") else line[:_WHOLE]
    return bare(_COLOURS.sub("", line) if "\x1b" in line else line)


@dataclass(slots=True)
class _Reading:
    """One file, read line by line; what it tells goes into `found`."""

    rows: Table
    found: dict[str, Sign]
    name: str
    before: int = 0  # lines of the files before it
    lives: Lives = field(default_factory=Lives)
    first: Thrown | None = None  # of all files
    exceptions: Exceptions = field(init=False)
    silence: Silence = field(init=False)
    threads: Threads = field(default_factory=Threads)
    kind: str = field(init=False)
    _starts: Collection[str] = field(init=False)  # a line without any of these says nothing
    _open: Thrown | None = None  # the exception that is being read
    _head: Part | None = None  # the line above it
    _waiting: Part | None = None  # the line above this one, if it is no exception's

    def __post_init__(self) -> None:
        self.exceptions = Exceptions(instance_of(self.name))
        self.silence = Silence(self.name)
        self.kind = kind_of_name(self.name)
        self.lives.begin(self.name)
        self._starts = {start for row in self.rows.symptoms if row.of_lines for start in row.starts}

    def next(self, name: str, before: int) -> "_Reading":
        """The file behind this one."""
        return _Reading(self.rows, self.found, name, before, self.lives, self.first)

    def line(self, number: int, line: str) -> None:
        """One line."""
        if self.threads.read(number, line):
            return
        traffic = _TRAFFIC.match(line) is not None
        ticks = traffic and _SYSTEM in line
        if traffic:
            line = line[:_STAMP]
        was = self.exceptions.now
        self.exceptions.read(number, line)
        now = self.exceptions.now
        if now is not None and now is not was and now is not self._open:
            self._settle()
            self._open = now
            if not is_logged(line):
                self._head, self._waiting = self._waiting, None
        elif now is None and self._open is not None and is_logged(line):
            self._settle()
        if self._waiting is not None:
            self._alone(self._waiting)
        if traffic:
            self.silence.hear(number, line, component=not ticks)
        else:
            self._about(number, line)
        self._waiting = None if traffic or now is not None else Part(number, line)

    def end(self) -> None:
        """The file's last line has been read."""
        if self._waiting is not None:
            self._alone(self._waiting)
        self._settle()
        for part, whose in self.threads.parts():
            self._match_thread(part, whose)
        lag = self.silence.lag(self.rows)
        for occurrence in filter(None, (lag, self.silence.fallen(self.rows, self.lives.stopped))):
            _note(self.found, occurrence)

    def _about(self, number: int, line: str) -> None:
        """What the line tells of the process that wrote it."""
        if self.kind != _WORKER and not kind_of_name(self.name) and number - self.before <= _KIND_LINES:
            # a LocalCluster is all daemons and the workers in one process
            kind = kind_of_line(line)
            self.kind = kind if kind == _WORKER else self.kind or kind
        self.lives.read(line)
        self.silence.hear(number, line)
        if whole := instance_of(line) if "Starting instance" in line else "":
            self.exceptions.whole = whole

    def _alone(self, part: Part) -> None:
        """A line that is no part of an exception."""
        if not any(map(part.text.__contains__, self._starts)):
            return
        for row in self.rows.symptoms:
            if row.of_lines and row.is_read_in(self.kind) and (match := row.match(part)):
                if not (row.stops and self.lives.stopping):
                    occurrence = self._occurrence(row, part, match, None)
                    occurrence.ended = any(word in part.text for word in self.rows.ends)
                    self._tell(occurrence)
                return

    def _settle(self) -> None:
        """No more of the exception will come."""
        thrown, head = self._open, self._head
        self._open = self._head = None
        if thrown is None:
            return
        parts = [head, *thrown.parts] if head is not None else thrown.parts
        ended = any(word in part.text for part in parts for word in self.rows.ends)
        echo = any(thrown.text.rstrip('")').endswith(word) for word in self.rows.echoes)
        if thrown.text and not echo:
            self.first = self.first or thrown
        found = self._explained(parts, python=thrown.python)
        if found is None and ended:
            dead = "a daemon that ended" if self.kind in DAEMONS else "a dead executor"
            found = (self.rows.called(dead), parts[0], None)
        if found is not None and not (found[0].stops and self.lives.stopping and not echo):
            row, part, match = found
            occurrence = self._occurrence(row, part, match, thrown, head)
            occurrence.ended = ended
            if row.generic and thrown.text:
                occurrence.line = thrown.line
            self._tell(occurrence, echo=echo)
        around = [frame for part in reversed(thrown.parts) for frame in part.frames]
        thrown.evidence = shown(thrown.frames, around)
        thrown.parts, thrown.frames = [], []  # they may be long

    def _explained(
        self, parts: Sequence[Part], *, python: bool
    ) -> tuple[Symptom, Part, re.Match[str] | None] | None:
        """The most telling symptom of an exception's words, the part that says it, and its match."""
        generic = None
        for row in self.rows.symptoms:
            if row.counted or not row.is_read_in(self.kind) or (generic and row.generic):
                continue
            for part in parts:
                if (match := row.match(part)) is None:
                    continue
                if not row.generic and not (row.yields and python):
                    return row, part, match
                generic = generic or ((row, part, match) if row.generic else None)
                break
        return generic

    def _occurrence(
        self,
        row: Symptom,
        part: Part,
        match: re.Match[str] | None,
        thrown: Thrown | None,
        head: Part | None = None,
    ) -> Occurrence:
        said = head or part
        command = _COMMAND.search(said.text) if "Command: " in said.text else None
        subject = (match.groupdict().get("id") or "") if match else ""
        return Occurrence(
            symptom=row,
            line=part.line,
            text=part.text.strip()[:_LONGEST],
            subject=subject,
            thrown=thrown,
            component=thrown.component if thrown else component_of(part.text) or self.exceptions.whole,
            command=command[1].strip("[]").replace(", ", " ") if command else "",
            at=moment_of(said.text) or (self.silence.last if thrown else None),
            kind=self.kind,
            worker=self.lives.worker,
            tellings={_telling(said)} if thrown else set(),
        )

    def _tell(self, occurrence: Occurrence, *, echo: bool = False) -> None:
        """Record a new occurrence, or merge it into the earlier one that it repeats."""
        earlier = self.lives.earlier(occurrence, echo=echo)
        if earlier is None and (echo or (occurrence.symptom.generic and occurrence.thrown is None)):
            if self.kind not in DAEMONS:
                occurrence.symptom = self.rows.called("a death without its cause")
            occurrence.thrown = None
        if earlier is None:
            _note(self.found, occurrence)
            if occurrence.thrown or occurrence.fatal:
                self.lives.note(occurrence)
        elif earlier is not occurrence:
            self._join(earlier, occurrence)

    def _join(self, earlier: Occurrence, later: Occurrence) -> None:
        """Merge a repeated occurrence into the first: add what the later report has."""
        earlier.tellings |= later.tellings
        earlier.ended = earlier.ended or later.ended
        if later.thrown is not None:  # else it may be of another component
            earlier.component = earlier.component or later.component
            earlier.command = earlier.command or later.command
        if earlier.symptom.generic and not later.symptom.generic:
            sign = self.found[earlier.symptom.name]
            sign.occurrences = [each for each in sign.occurrences if each is not earlier]
            if not sign.occurrences:
                del self.found[earlier.symptom.name]
            earlier.symptom, earlier.subject = later.symptom, later.subject
            _note(self.found, earlier)

    def _match_thread(self, part: Part, whose: str) -> None:
        for row in self.rows.symptoms:
            if row.logs != {"dump"} or (row.executor and not whose):
                continue
            if match := row.match(part):
                occurrence = self._occurrence(row, part, match, None)
                occurrence.component = whose
                if part.frames:
                    evidence = shown(part.frames)
                    occurrence.thrown = Thrown(part.text, part.line, whose, evidence=evidence, thread=True)
                _note(self.found, occurrence)
                return


def _telling(part: Part) -> str:
    """The words around an exception without the time, so that the same ones are the next exception."""
    moment = moment_of(part.text)
    return re.sub(r"^\S+(?: \d\S*)?", "", part.text)[:200] if moment else part.text[:200]
