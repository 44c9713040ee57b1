"""Find known symptoms in logs or a pasted error, with components, counts and innermost causes."""

import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ackdoctor.diagnose.log_lines import (
    component_of,
    entries,
    instance_of,
    is_logged,
    kind_of_line,
    kind_of_name,
    lines_in,
    moment_of,
    unpacked,
)
from ackdoctor.diagnose.processes import (
    Processes,
    Silence,
    silent_logs,
    without_announcements,
    without_echoes,
)
from ackdoctor.diagnose.stacks import Exceptions, Part, Threads, Thrown, relevant_frames, thread_frames
from ackdoctor.diagnose.symptoms import DAEMONS, Death, Diagnosis, Occurrence, Sign, Symptom, fatal, table
from ackdoctor.tracer.worker_log import bare

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
    "a summary of a Python heap: pytest --ackdoctor-heap shows which component holds what": re.compile(
        r"^Partition of a set of \d+ objects|^Allocation results for \S+ at the high watermark"
    ),
    "a part of a trace: ackdoctor trace report reads it": re.compile(r'^\{"schema":\d+,"kind":\d+,'),
}
# topology.debug's lines about each tuple; they contain user values, so they are not searched
_TRAFFIC = re.compile(
    r"^.{0,300}?(?:\[INFO\] |INFO +\S+ - )(?:Processing received |Emitting|TRANSFERING |Transferring|BOLT (?:ack|fail) |SPOUT Acking |Execute done )"
)
_SYSTEM = "source: __system:"  # ticks, which continue in an idle topology
_CRASH_LINES = 1_000  # lines of frames between a crash and the report of the exit code
_STAMP = 40  # characters with a line's time
# a stack on one line, as in web pages and some layouts
_INLINE = re.compile(
    r" (?=at [\w$.<>/@-]{3,300}\((?:[\w$]{1,100}\.(?:java|clj|scala|kt|groovy)(?::\d{1,6})?|Native Method|Unknown Source)\))"
)
_RETRY = "connection attempt "  # Netty's client connects until the other worker has started
_COMMAND = re.compile(r"\bCommand: (\[.*?\]|\S+), ProcessInfo")


@dataclass(slots=True)
class Places:
    """Files that are read as one text, and the number of lines before each; maps a line back to its file."""

    files: Sequence[str] = ()
    begins: list[int] = field(default_factory=list)

    def lines(self, read: Callable[[str], Iterable[str]]) -> Iterator[str]:
        """Yield the lines of all files, which `read` returns for each."""
        number = 0
        for file in self.files:
            self.begins.append(number)
            for line in read(file):
                number += 1
                yield line

    def index(self, line: int) -> int:
        """Return the index of the line's file; -1 if no file is known."""
        return bisect_left(self.begins, line) - 1

    def of(self, line: int) -> tuple[str | None, int]:
        """Return the file (None if there is none) and the line in it."""
        at = self.index(line)
        return (self.files[at], line - self.begins[at]) if at >= 0 else (None, line)


def deaths(paths: Iterable[Path]) -> tuple[Death, ...]:
    """Return the deaths of workers in these logs, each once, in the order of files and lines.

    The rotated files of a worker come oldest first.  A file that cannot be read ends there.
    """
    places = Places([str(path) for path in paths])
    return deaths_of(diagnose(places.lines(_readable_lines), places), places)


def deaths_of(found: Diagnosis, places: Places) -> tuple[Death, ...]:
    """Return the deaths of a diagnosis."""
    result = []
    for each in fatal(found.signs):
        file, line = places.of(each.line)
        thrown = each.thrown
        result.append(
            Death(
                time=each.at.text if each.at else "",
                worker=each.worker,
                symptom=each.symptom.name,
                says=each.symptom.meaning,
                component=each.component,
                tuple_id=each.subject,
                cause=thrown.text if thrown and thrown.text else each.text,
                file=file or "",
                line=line,
                frames=tuple(frame.text for frame in thrown.evidence) if thrown else (),
            )
        )
    return tuple(result)


def _readable_lines(file: str) -> Iterator[str]:
    with suppress(OSError, EOFError, zlib.error), Path(file).open("rb") as raw:
        yield from lines_in(raw)


def diagnose(lines: Iterable[str], places: Places | None = None) -> Diagnosis:
    """Search each line and each exception for each symptom.

    Several files may be read as one text: `places` maps its lines to files; it may grow during the reading.
    """
    places = places or Places()
    signs: dict[str, Sign] = {}
    processes, silences = Processes(), []
    first: Thrown | None = None
    number, file, other, note = 0, 0, "", ""
    reader = _LogReader(signs, processes, places.files[0] if places.files else "")
    for number, line in _read_lines(lines):
        if (at := max(places.index(number), 0)) != file:
            reader.end()
            silences.append(reader.silence)
            first, note, file = first or reader.first, note or reader.threads.note, at
            reader = _LogReader(signs, processes, places.files[at], places.begins[at])
        if number <= _HEAD_LINES and not other:
            other = next((kind for kind, form in _OTHER.items() if form.match(line)), "")
        reader.line(number, line)
    reader.end()
    for occurrence in silent_logs([*silences, reader.silence]):
        _add(signs, occurrence)
    remaining = without_echoes(without_announcements(signs.values()), processes.ports)
    for sign in remaining:
        sign.occurrences.sort(key=lambda each: each.line)
    rows = table().symptoms
    # later symptoms may be consequences of earlier ones
    remaining.sort(key=lambda sign: (not sign.fatal, sign.first.line, rows.index(sign.symptom)))
    innermost = next((cause for sign in remaining for cause in sign.causes if not cause.thread), None)
    return Diagnosis(
        signs=tuple(remaining),
        first=innermost or first or reader.first,
        lines=number,
        other=other,
        note=note or reader.threads.note,
    )


def _add(signs: dict[str, Sign], occurrence: Occurrence) -> None:
    sign = signs.setdefault(occurrence.symptom.name, Sign(occurrence.symptom, []))
    if len(sign.occurrences) < _MOST_KEPT:
        sign.occurrences.append(occurrence)
    else:
        sign.more += 1


def _read_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the text of each line with its number; JSON entries and one-line stacks yield several lines."""
    for number, raw in entries(lines):
        line = _clean(raw[:_LONGEST_ENTRY])
        if line.startswith("{") or "\\n" in line:
            texts = (_clean(each)[:_LONGEST_LINE] for each in unpacked(line))
            yield from ((number, each) for each in texts)
        elif line.count(" at ") > 1 and "." in line and _INLINE.search(line):
            stack = _INLINE.sub("\n\t", line).replace(" Caused by: ", "\nCaused by: ").splitlines()
            yield from ((number, each) for each in stack)
        else:
            yield number, line


def _clean(raw: str) -> str:
    """Strip colours, prefixes and zeros; zeros come from a file truncated while open, or from UTF-16."""
    line = raw.replace("\0", "").rstrip("\r\n")
    line = line if line.startswith("{") else line[:_LONGEST_LINE]
    return bare(_COLOURS.sub("", line) if "\x1b" in line else line)


@dataclass(slots=True)
class _LogReader:
    """Reads one file line by line and adds its occurrences to `signs`."""

    signs: dict[str, Sign]
    processes: Processes
    name: str
    before: int = 0  # number of lines in the files before it
    first: Thrown | None = None  # first exception
    exceptions: Exceptions = field(init=False)
    silence: Silence = field(init=False)
    threads: Threads = field(default_factory=Threads)
    kind: str = field(init=False)
    _open: Thrown | None = None  # the current exception
    _head: Part | None = None  # the line above it
    _waiting: Part | None = None  # the previous line, unless it belongs to an exception

    def __post_init__(self) -> None:
        self.exceptions = Exceptions(instance_of(self.name))
        self.silence = Silence(self.name)
        self.kind = kind_of_name(self.name)
        self.processes.begin(self.name)

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
        for crash in self.threads.crashes:
            self._record_crash(crash)
        for occurrence in self.silence.occurrences(self.processes.stopped):
            _add(self.signs, occurrence)

    def _update_process(self, number: int, line: str) -> None:
        """Update kind and component of the process that wrote the line."""
        if self.kind != _WORKER and not kind_of_name(self.name) and number - self.before <= _KIND_LINES:
            # a LocalCluster runs daemons and workers in one process
            kind = kind_of_line(line)
            self.kind = kind if kind == _WORKER else self.kind or kind
        self.processes.read(line)
        self.silence.read_line(number, line)
        if "Starting instance" in line:
            self.exceptions.log_component = instance_of(line) or self.exceptions.log_component

    def _match_line(self, part: Part) -> None:
        """Match a line that does not belong to an exception."""
        if not any(map(part.text.__contains__, table().starts)):
            return
        for row in table().symptoms:
            if row.of_lines and row.is_read_in(self.kind) and (match := row.match(part)):
                if not (row.stops and self.processes.stopping):
                    occurrence = self._occurrence(row, part, match)
                    occurrence.ended = any(word in part.text for word in table().ends)
                    self._record(occurrence)
                return

    def _end_exception(self) -> None:
        """Match the current exception, which is complete."""
        thrown, head = self._open, self._head
        self._open = self._head = None
        if thrown is None:
            return
        parts = [head, *thrown.parts] if head is not None else thrown.parts
        ended = any(word in part.text for part in parts for word in table().ends)
        echo = thrown.text.rstrip('")').endswith(table().echoes)
        retries = any(_RETRY in part.text for part in parts)
        if thrown.text and not (echo or retries):
            self.first = self.first or thrown
        found = self._match_exception(parts, python=thrown.python)
        if found is None and ended:
            dead = "a daemon that ended" if self.kind in DAEMONS else "a dead executor"
            found = (table().called(dead), parts[0], None)
        if found is not None and not (found[0].stops and self.processes.stopping and not echo):
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
        for row in table().symptoms:
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
        thrown: Thrown | None = None,
        head: Part | None = None,
    ) -> Occurrence:
        first = head or part
        entry = thrown.entry if thrown and "Command: " not in first.text else first.text
        command = _COMMAND.search(entry) if "Command: " in entry else None
        # the text around an exception without its time: an equal text announces a new exception
        context = re.sub(r"^\S+(?: \d\S*)?", "", first.text) if moment_of(first.text) else first.text
        component = thrown.component if thrown else component_of(part.text) or self.exceptions.log_component
        return Occurrence(
            symptom=row,
            line=part.line,
            text=part.text.strip()[:_LONGEST],
            subject=(match.groupdict().get("id") or "") if match else "",
            thrown=thrown,
            component=component,
            command=command[1].strip("[]").replace(", ", " ") if command else "",
            at=moment_of(first.text) or (self.silence.last if thrown else None),
            kind=self.kind,
            worker=self.processes.worker,
            contexts={context[:200]} if thrown else set(),
        )

    def _record(self, occurrence: Occurrence, *, echo: bool = False) -> None:
        """Record a new occurrence, or merge it into the earlier one that it repeats."""
        earlier = self.processes.earlier(occurrence, echo=echo)
        if earlier is None:
            if echo or (occurrence.symptom.generic and occurrence.thrown is None):
                if self.kind not in DAEMONS:
                    occurrence.symptom = table().called("a death without its cause")
                occurrence.thrown = None
            _add(self.signs, occurrence)
            if occurrence.thrown or occurrence.fatal:
                self.processes.note(occurrence)
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
            sign = self.signs[earlier.symptom.name]
            sign.occurrences = [each for each in sign.occurrences if each is not earlier]
            if not sign.occurrences:
                del self.signs[earlier.symptom.name]
            earlier.symptom, earlier.subject = later.symptom, later.subject
            _add(self.signs, earlier)

    def _match_thread(self, part: Part, component_name: str) -> None:
        for row in table().symptoms:
            if row.logs != {"dump"} or (row.executor and not component_name):
                continue
            if match := row.match(part):
                occurrence = self._occurrence(row, part, match)
                occurrence.component = component_name
                if part.frames:
                    evidence = thread_frames(part)
                    occurrence.thrown = Thrown(
                        part.text, part.line, component_name, evidence=evidence, thread=True
                    )
                _add(self.signs, occurrence)
                return

    def _record_crash(self, part: Part) -> None:
        """Record the crash of a Python process with its frames, or add them to the report of its exit code."""
        thrown = Thrown(part.text, part.line, evidence=relevant_frames(part.frames))
        row = table().called("a component's process that crashed")
        sign = self.signs.get(row.name)
        for each in sign.occurrences if sign else ():
            if each.thrown is None and 0 <= each.line - part.line <= _CRASH_LINES:
                each.thrown = thrown
                return
        occurrence = self._occurrence(row, part, None)
        occurrence.thrown = thrown
        _add(self.signs, occurrence)
