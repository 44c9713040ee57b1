"""Stacks in a text: exceptions with their deepest cause, and the threads of a dump."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ackdoctor.diagnose.log_lines import PYTHON_FRAMEWORKS, component_of, is_logged
from ackdoctor.model.finding import counted

_MOST = 6  # frames shown
_JAVA = re.compile(r"^\s*at (?:[\w.@-]*/)*(?P<where>[\w$.<>/-]+)\(")
_PYTHON = re.compile(r'^\s*File "(?P<file>[^"]*)", line \d+')
_LIBRARIES = re.compile(
    r"(?:java|javax|jdk|sun|com\.sun|jakarta|scala|kotlin|groovy|clojure|kafka|storm|redis|akka|reactor|rx"
    r"|backtype|org\.(?:apache|slf4j|codehaus|springframework|hibernate|json|jboss|eclipse|elasticsearch|objenesis|joda|w3c|xml|postgresql|mongodb|bson|antlr|objectweb|yaml|jetbrains|spark_project|influxdb|iq80)"
    r"|ch\.qos|io\.(?:netty|grpc|lettuce|micrometer|opentelemetry|confluent|dropwizard)"
    r"|com\.(?:alibaba\.(?:jstorm|fastjson|druid)|amazonaws|codahale|datastax|esotericsoftware|fasterxml|github\.benmanes|google|lmax|microsoft|mongodb|mysql|ning|rabbitmq|squareup|twitter|typesafe|yammer|zaxxer)"
    r"|net\.(?:minidev|sf|bytebuddy)|software\.amazon|okhttp3|oracle|shaded)\."
)
_JAR = re.compile(r"\s+~?\[[^\]]*\]\s*$")  # the jar that log4j and logback append to a frame
# storm-starter's examples count as user code
_STARTERS = re.compile(r"^storm\.starter\.|^(?:org\.apache|backtype)\.storm\.starter\.")
_PYTHON_LIBRARIES = re.compile(
    rf"(?:site|dist)-packages/|/lib(?:64)?/python\d|^<|(?:^|/)(?:{PYTHON_FRAMEWORKS})/|(?:^|/)storm\.py$"
)

TRACEBACK = "Traceback (most recent call last)"
_CAUSED = re.compile(r"^\s*Caused by: (?P<what>.+)")
_SUFFIXES = ("Exception", "Error", "Throwable")
_THROWN = re.compile(
    rf"(?:^|\s)(?P<what>(?:[a-z_][\w$]*\.)+(?:[A-Z][\w$]*)?(?:{'|'.join(_SUFFIXES)})(?::.*|\s*$))"
)
_OF_THRIFT = re.compile(r"(?:^|\s)(?P<what>\w+Exception\(\w+:.*\)?)\s*$")  # toString() of a Thrift exception
_FRAME = re.compile(r"^\s+at .*\(|^\s*\.\.\. \d+ (?:more|common frames)|^\s+Suppressed: |^at [\w$./<>]+\(")
_PYTHON_FRAME = re.compile(r'^\s+File "')
_CHAINED = re.compile(
    r"^(?:During handling of the above exception, another|The above exception was the direct cause)"
)
_PIPE = re.compile(r"NoOutputException|IOException: Broken pipe")  # consequences of a Python exception
# exceptions whose text may end with the process's stderr
_HAS_OUTPUT = re.compile(rf"{_PIPE.pattern}|launching multilang subprocess")
_LAST_OUTPUT = re.compile(
    r"^\w[\w.]*(?:Error|Exception)(?::|\s*$)|No such file or directory|can't open file|Permission denied"
    r"|^PHP (?:Fatal|Parse) error:|^panic: |\((?:\w+::)*\w*Error\)$"
)
_OUTPUT = "errorString:"  # in ShellBolt's entry, before what the process wrote on stderr
_LONGEST = 400
_NEAR = 40  # lines within which one log entry explains the next
_MOST_FRAMES = 200  # frames of one cause
_MOST_PARTS = 100  # parts of one exception
# ---- thread dumps ----
# the first line of a thread
_THREAD = re.compile(
    r'"(?P<name>[^"]{0,300})"(?= .*(?:\bprio=|\btid=|\bnid=|\bId=|\bcpu=| - Thread t@)|.* - Thread t@)'
    r'|#\d+ "(?P<jcmd>[^"]{0,300})"(?: virtual)?(?: (?P<state>[A-Z_]{3,})\b.*)?\s*$'  # Thread.dump_to_file
    r'|(?P<spy>Thread \S+ \([^)]{0,99}\)(?:: "[^"]{0,300}")?)\s*$'  # py-spy
    r"|(?P<fault>(?:Current t|T)hread 0x[0-9a-fA-F]+)[^(]{0,99} \(most recent call first\):"  # faulthandler
)
_STATE = re.compile(r"^\s*java\.lang\.Thread\.State: (?P<state>[A-Z_]+)")
_THREAD_FRAME = re.compile(
    r"^\s*(?:at )?(?P<java>[\w.$<>/@-]+\.[\w$<>]+\([^()]+\))"
    r'|^\s+File "(?P<file>[^"]*)", line (?P<number>\d+) in (?P<name>.*)'
    r"|^ {4}(?P<spied>\S.*) \((?P<source>[^()]+):(?P<at>\d+)\)"
)
_OTHER_LINE = re.compile(r"^\s+//|^ {4}\S.* \([^()]+\)$|^ {8}")  # of py-spy and Thread.dump_to_file
_WAITS = re.compile(r"\.(?:park|parkNanos|wait0?|sleep0?)\(")
_CRASH = re.compile(
    r"(?:^|errorString:)(?P<what>Fatal Python error: (?:Segmentation fault|Aborted|Bus error|Floating-? ?point exception|Illegal instruction))"
)
_PYTHON_FRAMEWORK = re.compile(rf'(?:^|[/"])(?:(?:{PYTHON_FRAMEWORKS})/|storm\.py")')
_TALKS = re.compile(
    r", in _?(?:read|send|write|emit|ack|fail|report|log)\w*$"
)  # of a framework to the worker
IN_A_HANDLER = "in a component's own code"  # of a Python thread
_BEGINS_DUMP = re.compile(r'^Full thread dump|^\s*"threadDump": \{')
_LOCK = re.compile(r"^\s+- (?P<how>waiting to lock|locked|)[^<]*(?P<lock><0x[0-9a-fA-F]+>)?")
_DEADLOCK = re.compile(r"^Found one Java-level deadlock")
_EXECUTOR = re.compile(
    r"^Thread-\d+-(?!disruptor-)(?P<storm>\S+?)-executor\[|^(?P<jstorm>[^:]+):\d+-(?:Bolt|\w*Spout)Executors?|^Thread-\d+-(?!disruptor-|executor)(?P<old>[A-Za-z][\w.-]*)$"
)
_READS_FROM_CHILD = re.compile(r"ShellBolt\$BoltReaderRunnable\.run|ShellProcess\.readShellMsg")
_MOST_THREAD_FRAMES = 100
_LONGEST_FRAME = 300  # characters of a frame that are kept
_MOST_THREADS = 5_000


@dataclass(slots=True, frozen=True)
class Frame:
    """One line of a stack without its indentation; `own` marks user code."""

    text: str
    own: bool


def is_own(frame: str) -> bool:
    """Return whether the frame is user code, judged by its package or file."""
    if found := _JAVA.match(frame):
        where = found["where"]
        return "." in where and (_STARTERS.match(where) is not None or _LIBRARIES.match(where) is None)
    if found := _PYTHON.match(frame):
        file = found["file"].replace("\\", "/")
        return _PYTHON_LIBRARIES.search(file) is None and _root(file) not in sys.stdlib_module_names
    return False


def _root(file: str) -> str:
    """Return the module or package at the root of a relative path, as py-spy shortens paths; '' of an absolute one."""
    return file.partition("/")[0].removesuffix(".py")


def relevant_frames(
    stack: Sequence[str], around: Sequence[str] = (), is_own: Callable[[str], bool] = is_own
) -> tuple[Frame, ...]:
    """Return the frames to show: the user frame nearest to the exception, then the innermost frames in order.

    A Python traceback lists the innermost frame last.  If a Java stack contains a traceback, the cause's frames are
    those of the traceback.  `around` has the frames of the wrapping exceptions, nearest first, because Java omits
    the frames that cause and wrapper share.
    """
    python = [each for each in stack if _PYTHON.match(each)]
    frames = python[::-1] or [each for each in stack if _JAVA.match(each)]
    unlike = list(dict.fromkeys(frames))  # recursion repeats a frame
    first = next(filter(is_own, [*unlike, *around]), None)
    chosen = [first] if first is not None else []
    chosen += [each for each in unlike if each != first]
    return tuple(Frame(" ".join(_JAR.sub("", each).split()), is_own(each)) for each in chosen[:_MOST])


@dataclass(slots=True)
class Part:
    """One line of an exception or a log, with the frames that follow it.

    `python`: Python raised it.  `entry` is the first line of the log entry if the exception is in a later line of its message.
    """

    line: int
    text: str
    frames: list[str] = field(default_factory=list)
    python: bool = False
    entry: str = ""


@dataclass(slots=True, eq=False)
class Thrown:
    """One exception: text, line and frames of the deepest cause so far; the text is '' until a traceback ends.

    `component` is '' if the log does not name it; `parts` are all of its lines; `python`: Python raised the cause.
    After the last line, `evidence` has the frames to show.  `thread`: it is a thread of a dump.  `entry` is the first
    line of its log entry.
    """

    text: str
    line: int
    component: str = ""
    parts: list[Part] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    python: bool = False
    evidence: tuple[Frame, ...] = ()
    thread: bool = False
    entry: str = ""

    def add(self, part: Part) -> None:
        """Append a line, up to a limit."""
        if len(self.parts) < _MOST_PARTS:
            self.parts.append(part)


class Exceptions:
    """Follows exceptions through `Caused by` and tracebacks.

    An exception ends if no further text, stack or cause follows.  A log entry and the throwable that the logger
    prints on the next line belong together.  If a pipe broke because Python raised, the Python exception is the cause.
    """

    def __init__(self, component: str = "") -> None:
        self.now: Thrown | None = None  # the current exception
        self.component = component  # component of the last log entry
        self.log_component = component  # component of a log of a single component
        self._part = Part(0, "")  # the last line of text
        self._stacked = False  # frames have followed `_part`
        self._begun = 0  # line of the deepest cause
        self._last: Thrown | None = None
        self._raised = Thrown("", -_NEAR)  # the last exception raised by Python
        self._traced: Thrown | None = None  # the exception whose traceback has ended
        self._files: list[str] = []  # frames of the current traceback
        self._python = False  # within a traceback
        self._entry = ""  # first line of the current log entry
        self._later = False  # the traceback is a consequence of the previous one
        self._chained = False  # a line has announced a chained traceback

    def read(self, number: int, line: str) -> None:
        """Read a line."""
        logged = is_logged(line)
        self._read_entry(number, line, logged=logged)
        if found := _CAUSED.match(line):
            self._set_cause(number, line, found["what"], self._last)
            self._python = TRACEBACK in line
        elif TRACEBACK in line:
            self._trace(number, line)
        elif self._python and line[:1].strip() and not logged:
            if not self._later:  # in a chain of tracebacks the first one is the cause
                self._raise(number, line)
            self._python = self._later = False
        elif self._python and not logged:
            if len(self._files) < _MOST_FRAMES and _PYTHON_FRAME.match(line):
                self._files.append(line)
        elif _FRAME.match(line):
            self._stacked = True
            if len(self._part.frames) < _MOST_FRAMES:
                self._part.frames.append(line)
        elif found := self._thrown(line):
            within = found.start("what") > 0
            of = None if within or self._stacked else self.now
            self._set_cause(
                number, line, found["what"], of, entry=self._entry if within and not logged else ""
            )
        elif logged or self._stacked or number - self._begun > _NEAR:
            self._chained = self._chained or _CHAINED.match(line) is not None
            self._python, self.now = False, None
            self._part = Part(number, line)
        elif self.now and _HAS_OUTPUT.search(self.now.text) and _LAST_OUTPUT.search(line):
            self._raise(number, line)
        else:
            self._chained = self._chained or _CHAINED.match(line) is not None
            if self.now is not None and line.strip():
                self.now.add(Part(number, line))

    def _read_entry(self, number: int, line: str, *, logged: bool) -> None:
        """Update the log entry, its component, and what a process in any language has raised."""
        if logged:
            self._entry = line
        elif (
            self.now is None
            and _OUTPUT in self._entry
            and _LAST_OUTPUT.search(line)
            and not self._thrown(line)
        ):
            self._raised = Thrown(line.strip()[:_LONGEST], number)
        if logged or "pid:" in line:
            # a new log entry, or a process whose end is reported
            self.component = component_of(line) or (self.log_component if logged else self.component)

    def _thrown(self, line: str) -> re.Match[str] | None:
        if not any(map(line.__contains__, _SUFFIXES)):
            return None
        return _THROWN.search(line) or _OF_THRIFT.search(line)

    def _trace(self, number: int, line: str) -> None:
        """Begin a traceback: a part of the current exception, or a consequence of the previous traceback."""
        part = Part(number, line)
        if self._chained:
            self.now = self._last
        elif self.now is None or self.now is self._traced:
            self._open(Thrown("", number, self.component), part)
        if self.now is not None:
            self.now.add(part)
        self._files = []
        self._python, self._later, self._chained = True, self._chained, False

    def _raise(self, number: int, line: str) -> None:
        """Record the exception that ended the process."""
        self._raised = Thrown(line.strip()[:_LONGEST], number, frames=self._files, python=True)
        self._set_cause(number, line, line, self.now, python=True)
        self._traced = self.now

    def _set_cause(
        self, number: int, line: str, what: str, of: Thrown | None, *, python: bool = False, entry: str = ""
    ) -> None:
        """Record a deeper cause of the exception `of`, or a new exception."""
        text = what.strip()[:_LONGEST]
        part = Part(number, line, [*self._files] if python else [], python, entry)
        thrown = of or Thrown(text, number, self.component)
        thrown.text, thrown.line, thrown.frames, thrown.python = text, number, part.frames, python
        raised = self._raised
        if _PIPE.search(text) and number - raised.line <= _NEAR:
            thrown.text, thrown.line, thrown.frames, thrown.python = (
                raised.text,
                raised.line,
                raised.frames,
                raised.python,
            )
        thrown.add(part)
        self._open(thrown, part)
        self._last = thrown

    def _open(self, thrown: Thrown, part: Part) -> None:
        self.now, self._part, self._begun, self._stacked = thrown, part, part.line, False
        thrown.entry = thrown.entry or self._entry


def thread_frames(part: Part) -> tuple[Frame, ...]:
    """Return the frames to show of a thread; in a Python handler only the handler's own package is user code."""
    handler = _PYTHON.match(part.frames[0]) if part.python else None

    def is_of_handler(frame: str) -> bool:
        found = _PYTHON.match(frame)
        return bool(found and handler and _root(found["file"]) == _root(handler["file"]) and is_own(frame))

    return relevant_frames(part.frames, is_own=is_of_handler if handler else is_own)


def begins_dump(lines: Iterable[str]) -> bool:
    """Return whether a text begins with a thread dump: a title, or below the process the first thread."""
    head = list(islice(lines, 6))
    return any(map(_BEGINS_DUMP.match, head[:3])) or any(map(_THREAD.match, head))


def _thread_frame(found: re.Match[str]) -> str:
    """Return a frame as a stack of Java or a traceback of Python writes it."""
    if found["java"]:
        return f"\tat {found['java']}"
    file, number, name = (found["file"], found["number"], found["name"]) if found["file"] else found.group("source", "at", "spied")  # fmt: skip
    return f'  File "{file}", line {number}, in {name}'


@dataclass(slots=True)
class Threads:
    """Collects the threads of the dumps in a text; threads with equal name, state and frames are one."""

    _current: Part | None = None
    _holders: dict[str, str] = field(default_factory=dict)  # lock -> thread that holds it
    _waiting_for: dict[int, str] = field(default_factory=dict)  # line of a thread -> lock it waits for
    _found: dict[tuple[str, str], tuple[Part, str]] = field(default_factory=dict)
    _dumps: Counter[tuple[str, str]] = field(default_factory=Counter)  # in how many dumps a thread is
    crashes: list[Part] = field(default_factory=list)  # of Python, with the frames of the thread that crashed
    _stateless: bool = False  # the dump does not give the thread's state
    _crashed: bool = False  # `Current thread` is the next one of a crash
    _python: bool = False  # a Python thread is among them

    def read(self, number: int, line: str) -> bool:
        """Read a line; return whether it belongs to a dump."""
        if line[:1] in '"#TC' and (found := _THREAD.match(line)):
            self._close()
            self._begin(number, found)
            return True
        if "Fatal Python" in line and (found := _CRASH.search(line)):
            self._close()
            if len(self.crashes) < _MOST_THREADS:
                self.crashes.append(Part(number, found["what"], python=True))
                self._crashed = True
            return False
        if line.startswith("Found ") and _DEADLOCK.match(line):
            self._close()
            self._found.setdefault(("", line), (Part(number, line.strip()), ""))
            return True
        if self._current is None:
            return False
        if state := _STATE.match(line):
            self._current.text += f" {state['state']}"
        elif found := _THREAD_FRAME.match(line):
            if len(self._current.frames) < _MOST_THREAD_FRAMES:
                self._current.frames.append(_thread_frame(found)[:_LONGEST_FRAME])
        elif found := _LOCK.match(line):
            how, lock = found["how"], found["lock"]
            if lock and how == "locked" and len(self._holders) < _MOST_THREADS:
                self._holders.setdefault(lock, self._current.text.rpartition(" ")[0])
            elif lock and how:
                self._waiting_for.setdefault(self._current.line, lock)
        elif not _OTHER_LINE.match(line):
            self._close()
            return not line.strip()
        return True

    def _begin(self, number: int, head: re.Match[str]) -> None:
        """Begin a thread; the one of a crash continues the crash."""
        if head["fault"] and self._crashed and head["fault"].startswith("Current"):
            self._current, self._crashed = self.crashes[-1], False
            return
        name = next(filter(None, head.group("name", "jcmd", "spy", "fault")), "")
        python = not (head["name"] or head["jcmd"])
        self._current = Part(number, f"{name} {head['state']}" if head["state"] else name, python=python)
        self._stateless = bool(head["jcmd"]) and not head["state"]

    def _close(self) -> None:
        current, self._current = self._current, None
        if current is None or not current.frames:
            return
        if current.python:
            frames = current.frames
            frames.reverse()  # as in a traceback, the innermost last
            if self.crashes and current is self.crashes[-1]:
                return
            self._python = True
            framework = [at for at, each in enumerate(frames) if _PYTHON_FRAMEWORK.search(each)]
            # the other threads of a crash do not hang
            if framework and not self.crashes and not _TALKS.search(frames[framework[-1]]):
                del frames[: framework[-1] + 1]
                current.text += f", {IN_A_HANDLER}" if frames and is_own(frames[0]) else ""
        elif self._stateless:
            current.text += " WAITING" if _WAITS.search(current.frames[0]) else " RUNNABLE (or blocked)"
        if len(self._found) < _MOST_THREADS:
            name = _EXECUTOR.match(current.text.rpartition(" ")[0])
            component = next(filter(None, name.groups()), "") if name else ""
            component = "" if component.startswith("__") else component
            key = (current.text, "".join(current.frames))
            self._dumps[key] += 1
            self._found.setdefault(key, (current, component))

    @property
    def note(self) -> str:
        """A summary for a dump without symptoms; threads that read from a child are normal, but worth a check."""
        self._close()
        if not self._found:
            return ""
        if self._python:
            return f"{counted(len(self._found), 'thread')}: none is {IN_A_HANDLER}, called by its framework"
        readers = sum(
            _READS_FROM_CHILD.search("\n".join(part.frames)) is not None for part, _ in self._found.values()
        )
        note = (
            f"{len(self._found)} threads: none waits for a lock, a full queue or a child that does not read"
        )
        if readers:
            note += f"; {readers} read the next message of a child: py-spy dump --pid CHILD_PID shows whether it hangs"
        return note

    def parts(self) -> Iterator[tuple[Part, str]]:
        """Yield each thread (name, state, frames) with its component, '' if it is not an executor; once for each dump."""
        self._close()
        for key, (part, component) in self._found.items():
            if holder := self._holders.get(self._waiting_for.get(part.line, "")):
                part.text += f', waits for a lock that "{holder}" holds'
            yield from [(part, component)] * max(1, self._dumps[key])
