"""Exceptions in a log: begin, end, deepest cause, frames, and which frames are the user's."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ackdoctor.diagnose.log_lines import component_of, is_logged
from ackdoctor.dialects import known

__all__ = ["TRACEBACK", "Exceptions", "Frame", "Part", "Thrown", "is_own", "shown"]


_MOST = 6
_JAVA = re.compile(r"^\s*at (?:[\w.@-]*/)*(?P<where>[\w$.<>/-]+)\(")
_PYTHON = re.compile(r'^\s*File "(?P<file>[^"]*)", line \d+')
_LIBRARIES = re.compile(
    r"(?:java|javax|jdk|sun|com\.sun|jakarta|scala|kotlin|groovy|clojure|kafka|storm|redis|akka|reactor|rx"
    r"|backtype|org\.(?:apache|slf4j|codehaus|springframework|hibernate|json|jboss|eclipse|elasticsearch|objenesis|joda|w3c|xml|postgresql|mongodb|bson|antlr|objectweb|yaml|jetbrains|spark_project|influxdb|iq80)"
    r"|ch\.qos|io\.(?:netty|grpc|lettuce|micrometer|opentelemetry|confluent|dropwizard)"
    r"|com\.(?:alibaba\.(?:jstorm|fastjson|druid)|amazonaws|codahale|datastax|esotericsoftware|fasterxml|github\.benmanes|google|lmax|microsoft|mongodb|mysql|ning|rabbitmq|squareup|twitter|typesafe|yammer|zaxxer)"
    r"|net\.(?:minidev|sf|bytebuddy)|software\.amazon|okhttp3|oracle|shaded)\."
)
_JAR = re.compile(r"\s+~?\[[^\]]*\]\s*$")  # the jar that log4j and logback put behind a frame
_STARTERS = re.compile(
    r"^storm\.starter\.|^(?:org\.apache|backtype)\.storm\.starter\."
)  # examples are users' code
_FRAMEWORKS = "|".join(
    sorted(
        {
            module
            for dialect in known()
            if dialect.wire and not dialect.vendored
            for module in dialect.wire.modules
            if "." not in module
        }
    )
)
_PYTHON_LIBRARIES = re.compile(
    rf"(?:site|dist)-packages/|/lib(?:64)?/python\d|^<|(?:^|/)(?:{_FRAMEWORKS})/|(?:^|/)storm\.py$"
)


@dataclass(slots=True, frozen=True)
class Frame:
    """One line of a stack as it is written, without its indentation."""

    text: str
    own: bool


def is_own(frame: str) -> bool:
    """Whether the frame is of the user's code, as far as its package or its file tells."""
    if found := _JAVA.match(frame):
        where = found["where"]
        return "." in where and (_STARTERS.match(where) is not None or _LIBRARIES.match(where) is None)
    if found := _PYTHON.match(frame):
        return _PYTHON_LIBRARIES.search(found["file"].replace("\\", "/")) is None
    return False


def shown(stack: Sequence[str], around: Sequence[str] = ()) -> tuple[Frame, ...]:
    """The frames that a reader needs: the user's own nearest to the exception, then the nearest ones in their order.

    Python's innermost frame is its last.  If a traceback is inside a Java stack, its frames are the cause's.  `around` are
    those of what wraps the exception, the nearest first: Java leaves out of the cause's frames what both have.
    """
    python = [each for each in stack if _PYTHON.match(each)]
    frames = python[::-1] or [each for each in stack if _JAVA.match(each)]
    unlike = list(dict.fromkeys(frames))  # recursion repeats a frame
    first = next(filter(is_own, [*unlike, *around]), None)
    chosen = [first] if first is not None else []
    chosen += [each for each in unlike if each != first]
    return tuple(Frame(" ".join(_JAR.sub("", each).split()), is_own(each)) for each in chosen[:_MOST])


TRACEBACK = "Traceback (most recent call last)"
_CAUSED = re.compile(r"^\s*Caused by: (?P<what>.+)")
_ENDS = ("Exception", "Error", "Throwable")
_THROWN = re.compile(
    rf"(?:^|\s)(?P<what>(?:[a-z_][\w$]*\.)+(?:[A-Z][\w$]*)?(?:{'|'.join(_ENDS)})(?::.*|\s*$))"
)
_OF_THRIFT = re.compile(
    r"(?:^|\s)(?P<what>\w+Exception\(\w+:.*\)?)\s*$"
)  # as Thrift's classes print themselves
_FRAME = re.compile(r"^\s+at .*\(|^\s*\.\.\. \d+ (?:more|common frames)|^\s+Suppressed: |^at [\w$./<>]+\(")
_PYTHON_FRAME = re.compile(r'^\s+File "')
_CHAINED = re.compile(
    r"^(?:During handling of the above exception, another|The above exception was the direct cause)"
)
_PIPE = re.compile(r"NoOutputException|IOException: Broken pipe")  # a consequence of what Python has raised
_HAS_WORDS = re.compile(
    rf"{_PIPE.pattern}|launching multilang subprocess"
)  # of the process, where it has said any
_LAST_WORDS = re.compile(
    r"^\w[\w.]*(?:Error|Exception)(?::|\s*$)|No such file or directory|can't open file|Permission denied"
)
_LONGEST = 400
_NEAR = 40  # lines within which one entry of a log explains the next
_MOST_FRAMES = 200  # of one cause
_MOST_PARTS = 100  # of one exception


@dataclass(slots=True)
class Part:
    """One line of an exception's words, or of a log, and the frames that follow it."""

    line: int
    text: str
    frames: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Thrown:
    """One exception: its deepest cause, as far as it has been read, with its line and frames; of a traceback '' until its end.

    `component` is whose it is, '' where the log does not say so; `parts` are all of its words; `python` if Python raised
    the cause.  When it has been read, `evidence` is what is shown of its frames; `thread` if it is a thread of a dump.
    """

    text: str
    line: int
    component: str = ""
    parts: list[Part] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    python: bool = False
    evidence: tuple[Frame, ...] = ()
    thread: bool = False

    def say(self, part: Part) -> None:
        """One more line of its words, unless there have been very many."""
        if len(self.parts) < _MOST_PARTS:
            self.parts.append(part)


class Exceptions:
    """Follows exceptions through `Caused by` and tracebacks.

    An exception ends where neither its words, a stack nor a cause follow; what is logged, and the throwable that the
    logger prints on the next line, are one.  Where a pipe only broke because Python had raised, that is the cause.
    """

    def __init__(self, component: str = "") -> None:
        self.now: Thrown | None = None  # the one that is being read
        self.component = component  # that of what was logged last
        self.whole = component  # that of the whole log, where it has only one
        self._part = Part(0, "")  # the last words that were read
        self._stacked = False  # and frames after them
        self._begun = 0  # the line of the deepest cause
        self._last: Thrown | None = None
        self._raised = Thrown("", -_NEAR)  # by Python
        self._traced: Thrown | None = None  # whose traceback has ended
        self._files: list[str] = []  # frames of the traceback that is being read
        self._python = False  # a traceback is being read,
        self._later = False  # which came of the one before
        self._chained = False  # set by a line that announces the next one

    def read(self, number: int, line: str) -> None:
        """One line."""
        logged = is_logged(line)
        if logged or "pid:" in line:
            self._name(line, logged=logged)
        if found := _CAUSED.match(line):
            self._keep(number, line, found["what"], self._last)
            self._python = TRACEBACK in line
        elif TRACEBACK in line:
            self._trace(number, line)
        elif self._python and line[:1].strip() and not logged:
            self._end_trace(number, line)
        elif self._python and not logged:
            if len(self._files) < _MOST_FRAMES and _PYTHON_FRAME.match(line):
                self._files.append(line)
        elif _FRAME.match(line):
            self._stacked = True
            if len(self._part.frames) < _MOST_FRAMES:
                self._part.frames.append(line)
        elif found := self._find(line):
            new = found.start("what") or self._stacked
            self._keep(number, line, found["what"], None if new else self.now)
        elif logged or self._stacked or number - self._begun > _NEAR:
            self._chained = self._chained or _CHAINED.match(line) is not None
            self._python, self.now = False, None
            self._part = Part(number, line)
        elif self.now and _HAS_WORDS.search(self.now.text) and _LAST_WORDS.search(line):
            self._raise(number, line)
        else:
            self._chained = self._chained or _CHAINED.match(line) is not None
            if self.now is not None and line.strip():
                self.now.say(Part(number, line))

    def _find(self, line: str) -> re.Match[str] | None:
        if not any(map(line.__contains__, _ENDS)):
            return None
        return _THROWN.search(line) or _OF_THRIFT.search(line)

    def _name(self, line: str, *, logged: bool) -> None:
        """Whose a new entry of the log is; that of a process is known by the words of its end, too."""
        if found := component_of(line):
            self.component = found
        elif logged:
            self.component = self.whole

    def _trace(self, number: int, line: str) -> None:
        """A traceback begins: a part of what is read, or what came of the one before."""
        part = Part(number, line)
        if self._chained:
            self.now = self._last
        elif self.now is None or self.now is self._traced:
            self._open(Thrown("", number, self.component), part)
        if self.now is not None:
            self.now.say(part)
        self._files = []
        self._python, self._later, self._chained = True, self._chained, False

    def _end_trace(self, number: int, line: str) -> None:
        """What was raised; where one was raised of another the first is the cause."""
        if not self._later:
            self._raise(number, line)
        self._python = self._later = False

    def _raise(self, number: int, line: str) -> None:
        """What ended the process, in its own words."""
        self._raised = Thrown(line.strip()[:_LONGEST], number, frames=self._files)
        self._keep(number, line, line, self.now, python=True)
        self._traced = self.now

    def _keep(self, number: int, line: str, what: str, of: Thrown | None, *, python: bool = False) -> None:
        """A deeper cause of that exception, or a new one."""
        text, part = what.strip()[:_LONGEST], Part(number, line)
        if python:
            part.frames += self._files
        thrown = of or Thrown(text, number, self.component)
        thrown.text, thrown.line, thrown.frames, thrown.python = text, number, part.frames, python
        if _PIPE.search(text) and number - self._raised.line <= _NEAR:
            thrown.text, thrown.line, thrown.frames = (
                self._raised.text,
                self._raised.line,
                self._raised.frames,
            )
            thrown.python = True
        thrown.say(part)
        self._open(thrown, part)
        self._last = thrown

    def _open(self, thrown: Thrown, part: Part) -> None:
        self.now, self._part, self._begun, self._stacked = thrown, part, part.line, False
