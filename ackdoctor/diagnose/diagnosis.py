"""Find known symptoms in logs or a pasted error, with components, counts and innermost causes."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ackdoctor.diagnose.exceptions import Exceptions, Part, Thrown, relevant_frames
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
from ackdoctor.tracer.worker_log import bare

__all__ = ["diagnose"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 400  # characters kept of a matching line
_LONGEST_LINE = 20_000  # characters searched in a line; the rest is data
_LONGEST_ENTRY = 10_000_000  # characters of a JSON entry
_HEAD_LINES = 200  # lines searched for another file format
_WORKER = "worker"
_KIND_LINES = 2_000  # lines of a file that are searched for its kind of process
_MOST_KEPT = 5_000  # occurrences kept of a symptom
_OTHER: Mapping[str, re.Pattern[str]] = {  # other file formats
    "a class histogram: ackdoctor heap hist reads it": re.compile(
        r"^ *num +(?:#instances|object count)|^ *1: +\d+ +\d+ +\S+"
    ),
    "a part of a trace: ackdoctor trace report reads it": re.compile(r'^\{"schema":\d+,"kind":\d+,'),
}
# topology.debug's lines about each tuple; they contain user values, so they are not searched
_TRAFFIC = re.compile(
    r"^.{0,300}?(?:\[INFO\] |INFO +\S+ - )(?:Processing received |Emitting|TRANSFERING |Transferring|BOLT (?:ack|fail) |SPOUT Acking |Execute done )"
)
_SYSTEM = "source: __system:"  # ticks, which continue in an idle topology
_STAMP = 40  # characters with a line's time
# a stack on one line, as in web pages and some layouts
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
    """Search each line and each exception for each symptom.

    Several files may be read as one text: `names` has their names, `begins` the number of lines before each.  The
    caller appends to `begins` while it reads.
    """
    rows = rows or table()
    found: dict[str, Sign] = {}
    reader = _LogReader(rows, found, names[0] if names else "")
    silences: list[Silence] = []
    notes: list[str] = []
    number, file, other = 0, max(bisect_left(begins, 1) - 1, 0), ""
    for number, line in _read_lines(lines):
        at = max(bisect_left(begins, number) - 1, 0)
        if at != file:
            reader.end()
            silences.append(reader.silence)
            notes.append(reader.threads.note)
            reader, file = reader.next(names[at] if at < len(names) else "", begins[at]), at
        if number <= _HEAD_LINES and not other:
            other = next((kind for kind, form in _OTHER.items() if form.match(line)), "")
        reader.line(number, line)
    reader.end()
    silences.append(reader.silence)
    notes.append(reader.threads.note)
    for occurrence in silent_logs(silences, rows):
        _add(found, occurrence)
    remaining = without_echoes_of_supervisors(without_announcements(found.values()), reader.lives.ports)
    signs = _sorted_signs(remaining, rows.symptoms)
    innermost = next((cause for sign in signs for cause in sign.causes if not cause.thread), reader.first)
    note = next(filter(None, notes), "")
    return Diagnosis(signs=signs, first=innermost, lines=number, other=other, note=note)


def _add(found: dict[str, Sign], occurrence: Occurrence) -> None:
    sign = found.get(occurrence.symptom.name)
    if sign is None:
        found[occurrence.symptom.name] = Sign(occurrence.symptom, [occurrence])
    elif len(sign.occurrences) < _MOST_KEPT:
        sign.occurrences.append(occurrence)
    else:
        sign.more += 1


def _sorted_signs(signs: Sequence[Sign], symptoms: Sequence[Symptom]) -> tuple[Sign, ...]:
    """Sort signs by first occurrence, because later ones may be consequences; non-fatal signs come last."""
    for sign in signs:
        sign.occurrences.sort(key=lambda each: each.line)
    return tuple(sorted(signs, key=lambda sign: (not sign.fatal, sign.line, symptoms.index(sign.symptom))))


def _read_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the text of each line with its number; JSON entries and one-line stacks yield several lines."""
    for number, raw in entries(lines):
        line = _clean(raw[:_LONGEST_ENTRY])
        if line.startswith("{") or "\\n" in line:
            yield from ((number, _clean(each)[:_LONGEST_LINE]) for each in unpacked(line))
        elif line.count(" at ") > 1 and "." in line and _INLINE.search(line):
            yield from (
                (number, each)
                for each in _INLINE.sub("\n\t", line).replace(" Caused by: ", "\nCaused by: ").splitlines()
            )
        else:
            yield number, line


def _clean(raw: str) -> str:
    """Strip colours, prefixes and zeros; zeros come from a file truncated while open, or from UTF-16."""
    line = raw.replace("\0", "").rstrip("\r\n")
    line = line if line.startswith("{") else line[:_LONGEST_LINE]
    return bare(_COLOURS.sub("", line) if "\x1b" in line else line)


@dataclass(slots=True)
class _LogReader:
    """Reads one file line by line and adds its occurrences to `found`."""

    rows: Table
    found: dict[str, Sign]
    name: str
    before: int = 0  # number of lines in the files before it
    lives: Lives = field(default_factory=Lives)
    first: Thrown | None = None  # first exception of all files
    exceptions: Exceptions = field(init=False)
    silence: Silence = field(init=False)
    threads: Threads = field(default_factory=Threads)
    kind: str = field(init=False)
    _starts: Collection[str] = field(init=False)  # every matching line contains one of these
    _open: Thrown | None = None  # the current exception
    _head: Part | None = None  # the line above it
    _waiting: Part | None = None  # the previous line, unless it belongs to an exception

    def __post_init__(self) -> None:
        self.exceptions = Exceptions(instance_of(self.name))
        self.silence = Silence(self.name)
        self.kind = kind_of_name(self.name)
        self.lives.begin(self.name)
        self._starts = {start for row in self.rows.symptoms if row.of_lines for start in row.starts}

    def next(self, name: str, before: int) -> "_LogReader":
        """Return the reader of the next file."""
        return _LogReader(self.rows, self.found, name, before, self.lives, self.first)

    def line(self, number: int, line: str) -> None:
        """Read a line."""
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
            self._end_exception()
            self._open = now
            if not is_logged(line):
                self._head, self._waiting = self._waiting, None
        elif now is None and self._open is not None and is_logged(line):
            self._end_exception()
        if self._waiting is not None:
            self._match_line(self._waiting)
        if traffic:
            self.silence.read_line(number, line, component=not ticks)
        else:
            self._update_process(number, line)
        self._waiting = None if traffic or now is not None else Part(number, line)

    def end(self) -> None:
        """Finish after the last line of the file."""
        if self._waiting is not None:
            self._match_line(self._waiting)
        self._end_exception()
        for part, component_name in self.threads.parts():
            self._match_thread(part, component_name)
        missed_heartbeats = self.silence.missed_heartbeats(self.rows)
        for occurrence in filter(
            None, (missed_heartbeats, self.silence.silent_components(self.rows, self.lives.stopped))
        ):
            _add(self.found, occurrence)

    def _update_process(self, number: int, line: str) -> None:
        """Update kind, life and component of the process that wrote the line."""
        if self.kind != _WORKER and not kind_of_name(self.name) and number - self.before <= _KIND_LINES:
            # a LocalCluster runs daemons and workers in one process
            kind = kind_of_line(line)
            self.kind = kind if kind == _WORKER else self.kind or kind
        self.lives.read(line)
        self.silence.read_line(number, line)
        if log_component := instance_of(line) if "Starting instance" in line else "":
            self.exceptions.log_component = log_component

    def _match_line(self, part: Part) -> None:
        """Match a line that does not belong to an exception."""
        if not any(map(part.text.__contains__, self._starts)):
            return
        for row in self.rows.symptoms:
            if row.of_lines and row.is_read_in(self.kind) and (match := row.match(part)):
                if not (row.stops and self.lives.stopping):
                    occurrence = self._occurrence(row, part, match, None)
                    occurrence.ended = any(word in part.text for word in self.rows.ends)
                    self._record(occurrence)
                return

    def _end_exception(self) -> None:
        """Match the current exception, which is complete."""
        thrown, head = self._open, self._head
        self._open = self._head = None
        if thrown is None:
            return
        parts = [head, *thrown.parts] if head is not None else thrown.parts
        ended = any(word in part.text for part in parts for word in self.rows.ends)
        echo = any(thrown.text.rstrip('")').endswith(word) for word in self.rows.echoes)
        if thrown.text and not echo:
            self.first = self.first or thrown
        found = self._match_exception(parts, python=thrown.python)
        if found is None and ended:
            dead = "a daemon that ended" if self.kind in DAEMONS else "a dead executor"
            found = (self.rows.called(dead), parts[0], None)
        if found is not None and not (found[0].stops and self.lives.stopping and not echo):
            row, part, match = found
            occurrence = self._occurrence(row, part, match, thrown, head)
            occurrence.ended = ended
            if row.generic and thrown.text:
                occurrence.line = thrown.line
            self._record(occurrence, echo=echo)
        around = [frame for part in reversed(thrown.parts) for frame in part.frames]
        thrown.evidence = relevant_frames(thrown.frames, around)
        thrown.parts, thrown.frames = [], []  # free memory

    def _match_exception(
        self, parts: Sequence[Part], *, python: bool
    ) -> tuple[Symptom, Part, re.Match[str] | None] | None:
        """Return the most specific symptom of an exception, with the matching part and its match."""
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
        first = head or part
        command = _COMMAND.search(first.text) if "Command: " in first.text else None
        subject = (match.groupdict().get("id") or "") if match else ""
        return Occurrence(
            symptom=row,
            line=part.line,
            text=part.text.strip()[:_LONGEST],
            subject=subject,
            thrown=thrown,
            component=thrown.component
            if thrown
            else component_of(part.text) or self.exceptions.log_component,
            command=command[1].strip("[]").replace(", ", " ") if command else "",
            at=moment_of(first.text) or (self.silence.last if thrown else None),
            kind=self.kind,
            worker=self.lives.worker,
            contexts={_context_of(first)} if thrown else set(),
        )

    def _record(self, occurrence: Occurrence, *, echo: bool = False) -> None:
        """Record a new occurrence, or merge it into the earlier one that it repeats."""
        earlier = self.lives.earlier(occurrence, echo=echo)
        if earlier is None and (echo or (occurrence.symptom.generic and occurrence.thrown is None)):
            if self.kind not in DAEMONS:
                occurrence.symptom = self.rows.called("a death without its cause")
            occurrence.thrown = None
        if earlier is None:
            _add(self.found, occurrence)
            if occurrence.thrown or occurrence.fatal:
                self.lives.note(occurrence)
        elif earlier is not occurrence:
            self._merge(earlier, occurrence)

    def _merge(self, earlier: Occurrence, later: Occurrence) -> None:
        """Merge a repeated occurrence into the first one."""
        earlier.contexts |= later.contexts
        earlier.ended = earlier.ended or later.ended
        if later.thrown is not None:  # else it may belong to another component
            earlier.component = earlier.component or later.component
            earlier.command = earlier.command or later.command
        if earlier.symptom.generic and not later.symptom.generic:
            sign = self.found[earlier.symptom.name]
            sign.occurrences = [each for each in sign.occurrences if each is not earlier]
            if not sign.occurrences:
                del self.found[earlier.symptom.name]
            earlier.symptom, earlier.subject = later.symptom, later.subject
            _add(self.found, earlier)

    def _match_thread(self, part: Part, component_name: str) -> None:
        for row in self.rows.symptoms:
            if row.logs != {"dump"} or (row.executor and not component_name):
                continue
            if match := row.match(part):
                occurrence = self._occurrence(row, part, match, None)
                occurrence.component = component_name
                if part.frames:
                    evidence = relevant_frames(part.frames)
                    occurrence.thrown = Thrown(
                        part.text, part.line, component_name, evidence=evidence, thread=True
                    )
                _add(self.found, occurrence)
                return


def _context_of(part: Part) -> str:
    """Return the text around an exception without its time; an equal text announces a new exception."""
    moment = moment_of(part.text)
    return re.sub(r"^\S+(?: \d\S*)?", "", part.text)[:200] if moment else part.text[:200]
