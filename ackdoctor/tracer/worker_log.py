r"""Worker logs of Storm: the text in a file, the lines without what a log collector puts before them, and the messages of a few roots.

    2026-11-21T20:22:17.710123456Z 2026-11-21 20:22:17.710 o.a.s.d.Task Thread-41-source-executor[4, 4] [INFO] ...
    2026-11-21T20:22:17.710123456Z \tat org.apache.storm.daemon.Task.getOutgoingTasks(Task.java:133)

Storm's own time stamp can look like a collector's, since a log4j layout can write anything. A time alone therefore
counts as the collector's only if it has nanoseconds, which no Java logger writes, or if Storm's own stamp follows.
A user's worker.xml may put the level or the thread first; ` - ` or a colon then ends the prefix, and `bare` restores
Storm's order:

    2026-11-21 20:22:17,710 INFO  [Thread-41-source-executor[4, 4]] o.a.s.d.Task - Emitting Tuple: taskId=4
    2026-11-21 20:22:17.710 [Thread-41-source-executor[4, 4]] INFO  o.a.s.d.Task - Emitting Tuple: taskId=4

The patterns mean the same in Python and Java, since Spark uses them too.

A log names a tuple by its ids, `{root=edge}`. The value of an ack is on the line before the bolt's own
(`Emitting ... __ack_ack [root value]`, then `BOLT ack ... id: {root=edge}`), which ties the two. An ack that only
the acker's worker has logged becomes an ACK without a delivery. All patterns are anchored on the left, since a
user's values are on the right.
"""

import errno
import gzip
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import TextIO

from ackdoctor.model.finding import Unreadable
from ackdoctor.model.trace import Event, EventKind

LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR|FATAL"

_SECOND = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)"
_TIME = rf"{_SECOND}(?:\.\d{{1,9}})?{_ZONE}"
_STORMS = r"(?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d{1,12} +\[)"  # the stamp of a worker, or of a LocalCluster
_WHOSE = (
    r"\[pod/[^ \]]{1,600}\] ",  # kubectl logs --prefix
    r"[A-Za-z][^ |]{0,99} +\| ",  # docker compose logs
)
_WHEN = (
    rf"{_SECOND}\.\d{{7,9}}{_ZONE} (?:std(?:out|err) [FP] )?",  # kubectl logs --timestamps, docker logs -t; a file of CRI
    rf"{_TIME} std(?:out|err) [FP] ",  # a file of containerd, which leaves zeros at the end of a time out
    rf"{_TIME} [^ ]{{1,255}} [^ \[]{{1,99}}\[\d{{1,9}}\]: ",  # journalctl -o short-iso, rsyslog
    r"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [^ ]{1,255} [^ :\[]{1,99}(?:\[\d{1,9}\])?: ",  # journalctl, syslog
    rf"<\d{{1,3}}>1 {_TIME} (?:[^ ]{{1,255}} ){{4}}- ",  # syslog of RFC 5424, without data of its own
    rf"{_TIME} {_STORMS}",
)
_HOLE = (
    r"\x00{1,1048576}"  # what a file system leaves of what it had not yet written when the machine went down
)
PUT_BEFORE = rf"^(?:{_HOLE})?(?:{'|'.join(_WHOSE)})?(?:{'|'.join(_WHEN)})?(?!^)"  # something, at least

_THREAD = r"Thread-.{1,300}?\[-?\d{1,10},? -?\d{1,10}\]|[^ \[\]]{1,300}"
_LEVEL = rf"\[?(?:{LEVELS})\]?"
# a stamp, and what no logger is called, which is what Storm has there: a level, or a thread in brackets
OTHER_BEGIN = rf"^\[?(\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ \]]{{0,20}})\]? {{1,9}}(?=\[|(?:{LEVELS}) )"
OTHER_LAYOUT = (
    rf"{OTHER_BEGIN}(?:"
    rf"(?={_LEVEL} )\[?([A-Z]+)\]? +(?:\[?({_THREAD})\]? +)?([^ \[\]]+?)(?: +\[({_THREAD})\])?"
    rf"|\[({_THREAD})\] +(?={_LEVEL} )\[?([A-Z]+)\]? +([^ \[\]]+?)"
    r")(?: -|:) "
)
REORDERED = "$1 $4$8 $3$5$6 [$2$7] "  # as Java writes it
_PUT_BEFORE, _OTHER_LAYOUT = re.compile(PUT_BEFORE), re.compile(OTHER_LAYOUT)
_REORDERED = REORDERED.replace("$", "\\")


def bare(line: str) -> str:
    """The line as the worker wrote it, in Storm's own layout."""
    # a search would look for the line's beginning at each of its places
    if before := _PUT_BEFORE.match(line):
        line = line[before.end() :]
    if other := _OTHER_LAYOUT.match(line):
        return f"{other.expand(_REORDERED)}{line[other.end() :]}"
    return line


# a line that shows that the file is a log of Storm's
LOG_LINE = rf"^(?:\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ ]* [^ ]+ .*\[(?:{LEVELS})\]|\d+ +\[.*\] (?:{LEVELS}) +[^ ]+ - )"
# an executor that is started: its component, its first and its last task
LOADS = r"Loading executor (?:tasks )?(.+):\[(-?\d+),? (-?\d+)\]"
_HEAD_LINES = 200
_LONGEST = 16_384  # characters of a line that are looked at for what it begins with
GZIP = b"\x1f\x8b"
_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)  # as PowerShell writes what a command prints
PACKED: Mapping[bytes, str] = {  # how files begin that nothing here unpacks
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it first",
    b"\xfd7zXZ": "compressed with xz: unpack it first",
    b"BZh": "compressed with bzip2: unpack it first",
}
_NO_TEXT: Mapping[bytes, str] = {
    **PACKED,
    b"JAVA PROFILE": "a heap dump: ackdoctor heap dump reads it",
    b"PAR1": "a part of a trace: ackdoctor trace report reads it",
    b"FLR\x00": "a recording of the flight recorder",
    b"\x7fELF": "a program, or a core file",
}
_LONGEST_MAGIC = 16
# in any encoding; zeros are holes
_OF_TEXT = bytes({*range(7, 14), 0x1B, *range(0x20, 0x7F), *range(0x80, 0x100), 0})
_ODD = 1 / 32  # of a file's first bytes; of what is packed, or no text at all, a tenth are none of a text's
_HEAD_BYTES = 512

_LINE = re.compile(
    r"(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S* \S+ (.*?) ?\[INFO\] |\d+ +\[(.*?)\] INFO +\S+ - )(.*)"
)
_TELLS = re.compile(r"__ack_|id: \{-?\d|SPOUT |Loading executor ")
_NUMBER = re.compile(r"-?\d+")
_EXECUTOR = re.compile(r"Thread-\d+-(.*)-(?:executor)?\[(-?\d+),? (-?\d+)\]$")
_LOADS = re.compile(LOADS)
_TUPLE = (
    r"(?:TUPLE: )?source: (?P<source>.*?):(?P<from>-?\d+), stream: (?P<stream>[^,]*), id: \{(?P<ids>[^}]*)\}"
)
_RECEIVED = re.compile(
    rf"Processing received (?:message )?(?:FOR (?P<task>-?\d+) )?{_TUPLE}, \[?(?P<values>[^\]]*)"
)
_AT_END = re.compile(r" for TASK: (-?\d+) ?$")
_ACKED = re.compile(rf"BOLT ack TASK: (?P<task>-?\d+) TIME: \S* ?{_TUPLE}")
_SENT = re.compile(
    r"Emitting(?:: (?P<component>.*?) | Tuple: taskId=-?\d+ componentId=(?P<late>.*?) stream=)"
    r"(?P<stream>__ack_\w+) (?:values=)?\[(?P<values>[^\]]*)"
)
_ANSWER = re.compile(r"Emitting direct: (-?\d+); __acker (__ack_ack|__ack_fail) \[(-?\d+)")
_HEARD = re.compile(r"SPOUT (Acking message|Failing) (-?\d+)(?:.*REASON: (TIMEOUT|FAIL-STREAM))?")
_ANSWERS = {
    "__ack_ack": EventKind.COMPLETED,
    "__ack_fail": EventKind.GAVE_UP,
    "Acking message": EventKind.COMPLETED,
    "FAIL-STREAM": EventKind.GAVE_UP,
    "TIMEOUT": EventKind.TIMED_OUT,
}


def is_log(path: Path) -> bool:
    """Whether one of the first lines is Storm's, also in a gzipped file."""
    try:
        with open_log(path) as lines:
            head = (lines.readline(_LONGEST) for _ in range(_HEAD_LINES))  # a bomb may be one line
            return any(re.match(LOG_LINE, bare(line)) for line in head)
    except (OSError, EOFError, zlib.error):
        return False


@contextmanager
def open_log(path: Path) -> Iterator[TextIO]:
    """The text of a log, opened once: a pipe (`<(kubectl logs POD)`) cannot be read twice."""
    with path.open("rb") as raw, log_text(raw) as lines:
        yield lines


@contextmanager
def log_text(raw: BufferedReader) -> Iterator[TextIO]:
    """The text, gzipped or not, in UTF-8 or UTF-16, with or without BOM; invalid bytes are replaced.

    OSError for what is no text: its `strerror` says what it is.
    """
    unpacked = gzip.GzipFile(fileobj=raw) if raw.peek(2).startswith(GZIP) else raw
    head = unpacked.peek(_LONGEST_MAGIC)
    if kind := next((kind for magic, kind in _NO_TEXT.items() if head.startswith(magic)), ""):
        raise OSError(errno.EINVAL, kind)
    encoding = encoding_of(head)
    first = head[:_HEAD_BYTES]
    if "16" not in encoding and len(first.translate(None, _OF_TEXT)) > max(3, _ODD * len(first)):
        raise OSError(errno.EINVAL, "no text")
    text = TextIOWrapper(unpacked, encoding=encoding, errors="replace")
    try:
        yield text
    finally:
        text.detach()  # the caller closes the file


def encoding_of(head: bytes) -> str:
    """The encoding of a text by its first bytes: UTF-16 by its BOM or by the zeros between ASCII; else UTF-8."""
    if head.startswith(_UTF_16):
        return "utf-16"
    head = head[:_LONGEST_MAGIC]
    even, odd = head[::2], head[1::2]
    if odd and all(even) and not any(odd):
        return "utf-16-le"
    return "utf-16-be" if odd and all(odd) and not any(even) else "utf-8-sig"


@dataclass(slots=True)
class WorkerLogs:
    """The logs of one topology's workers, read for some roots; `unreadable` is complete after `events`."""

    paths: Collection[Path]
    roots: Collection[int]
    unreadable: list[Unreadable] = field(default_factory=list)
    _components: dict[int, str] = field(default_factory=dict)  # by task
    _sent: defaultdict[int, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    _tied: Counter[tuple[int, int, int]] = field(default_factory=Counter)  # task, root, value
    _begun: set[int] = field(default_factory=set)  # roots whose init has been seen
    _acks_named: bool = False  # a bolt's own line says which tuple it acks: not before Storm 0.10

    def events(self) -> Iterator[Event]:
        """LINKED, INIT, ACK, FAIL and answers; at the end, ACKs that only the acker's log has."""
        rows = [row for path in sorted(self.paths, key=_first_stamp) for row in self._rows(path)]
        taken = [row for row in rows if row.kind is EventKind.ACK and not row.delivery]
        for row in rows:
            is_bare_link = row.kind is EventKind.LINKED and not self._acks_named
            if is_bare_link and any(value == row.value for _, value in self._sent.get(row.root, ())):
                continue  # an ack with the edge of the tuple left for the acker
            if row.kind is not EventKind.ACK or row.delivery:
                yield row._replace(component=row.component or self._components.get(row.task, ""))
        for row in taken:
            if self._tied[row.task, row.root, row.value]:
                self._tied[row.task, row.root, row.value] -= 1
            else:
                yield row

    def _rows(self, path: Path) -> Iterator[Event]:
        wanted = set(map(str, self.roots))
        try:
            with open_log(path) as lines:
                for line in lines:
                    if _TELLS.search(line) and (
                        "Loading" in line or not wanted.isdisjoint(_NUMBER.findall(line))
                    ):
                        yield from self._line_rows(line)
        except (OSError, EOFError, zlib.error) as error:
            self.unreadable.append(Unreadable(path=str(path), line=0, column=0, reason=f"cut off: {error}"))

    def _line_rows(self, line: str) -> Iterator[Event]:
        """The rows of one line."""
        parts = _LINE.match(bare(line))
        if parts is None:
            return
        thread, message = parts[1] or parts[2] or "", parts[3]
        if found := _RECEIVED.match(message):
            yield from self._received(found, thread, message)
        elif found := _SENT.match(message):
            yield from self._emitted(found, thread)
        elif found := _ACKED.match(message):
            yield from self._acked(found, thread)
        elif found := _ANSWER.match(message) or _HEARD.match(message):
            root, why = (found[3], found[2]) if found.re is _ANSWER else (found[2], found[3] or found[1])
            if int(root) in self.roots and why in _ANSWERS:
                yield _row(_ANSWERS[why], int(root))
        elif found := _LOADS.search(message):
            self._components.update(dict.fromkeys(range(int(found[2]), int(found[3]) + 1), found[1]))

    def _received(self, found: re.Match[str], thread: str, message: str) -> Iterator[Event]:
        """A message that an acker received, or a tuple that a bolt received: an edge of each of its roots."""
        source, task = found["source"], int(found["from"])
        self._components[task] = source
        if source == "__acker":
            return  # an answer, which is in the acker's own line
        if found["stream"].startswith("__ack_"):
            root, value, spout = _three(found["values"])
            if root in self.roots:
                yield from self._message(found["stream"], source, task, root, value, spout)
            return
        late = _AT_END.search(message)
        component, own = _executor(thread, found["task"] or (late and late[1]))
        for root, edge in _links(found["ids"]):
            if root in self.roots:
                yield _row(EventKind.LINKED, root, edge, component, own, found["ids"])

    def _message(
        self, stream: str, source: str, task: int, root: int, value: int, spout: int
    ) -> Iterator[Event]:
        match stream:
            case "__ack_ack":
                yield _row(EventKind.ACK, root, value, source, task)
            case "__ack_fail":
                yield _row(EventKind.FAIL, root, 0, source, task)
            case "__ack_init" if root not in self._begun:
                self._begun.add(root)
                yield _row(EventKind.INIT, root, value, source, spout or task)

    def _emitted(self, found: re.Match[str], thread: str) -> Iterator[Event]:
        """A message that an executor sends to an acker; a later line ties an ack to its tuple."""
        component = found["component"] or found["late"]
        root, value, spout = _three(found["values"])
        if found["stream"] == "__ack_ack":
            self._sent[root].append((thread or component, value))
        elif found["stream"] == "__ack_init" and root in self.roots:
            yield from self._message("__ack_init", component, spout, root, value, spout)

    def _acked(self, found: re.Match[str], thread: str) -> Iterator[Event]:
        """An ack of a bolt: its value is the earliest that this executor has sent for the root."""
        self._acks_named = True
        component, task = _executor(thread, found["task"])
        whose = {thread or component, self._components.get(task, "")} - {""}
        for root, _ in _links(found["ids"]):
            sent = self._sent[root]
            place = next(
                (at for at, (sender, _) in enumerate(sent) if sender in whose), 0 if not thread else -1
            )
            if root in self.roots and 0 <= place < len(sent):
                _, value = sent.pop(place)
                self._tied[task, root, value] += 1
                yield _row(EventKind.ACK, root, value, component, task, found["ids"])


def _row(
    kind: EventKind, root: int, value: int = 0, component: str = "", task: int = 0, delivery: str = ""
) -> Event:
    return Event(kind, 0, component=component, task=task, delivery=delivery, root=root, value=value)


def _executor(thread: str, task: str | None) -> tuple[str, int]:
    """Component and task of a line, from its thread."""
    found = _EXECUTOR.search(thread)
    if found is None:
        return "", int(task or 0)
    return found[1], int(task or found[2])


def _three(values: str) -> tuple[int, int, int]:
    """Root, value and spout task of a message to an acker; 0 for missing ones."""
    root, value, spout, *_ = (*map(int, _NUMBER.findall(values)), 0, 0, 0)
    return root, value, spout


def _links(ids: str) -> Iterator[tuple[int, int]]:
    """`66=7, 67=8` as roots and edges."""
    for link in ids.split(", "):
        root, tied, edge = link.partition("=")
        if tied and _NUMBER.fullmatch(root) and _NUMBER.fullmatch(edge):
            yield int(root), int(edge)


def _first_stamp(path: Path) -> str:
    """By which the files of a rotation are put in order."""
    try:
        with open_log(path) as lines:
            return next((line[:23].replace("T", " ") for line in map(bare, lines) if _LINE.match(line)), "")
    except (OSError, EOFError, zlib.error):
        return ""
