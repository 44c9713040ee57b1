"""Exceptions in a text, read line by line: where each begins and ends, its deepest cause, and whose it is.

    2026-01-01 12:00:00.000 o.a.s.t.ShellBolt Thread-8 [ERROR] Halting process: ShellBolt died. ... pid:17, name:count ...
    java.lang.RuntimeException: org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken!
    Serializer Exception:
    Traceback (most recent call last):
      File "count.py", line 9, in process
    KeyError: 'user'
    <TAB>at org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:121)

One exception of the component `count`, whose deepest cause is that of Python.
"""

import re
from dataclasses import dataclass, field

__all__ = ["TRACEBACK", "Exceptions", "Stack", "Thrown"]

TRACEBACK = "Traceback (most recent call last)"
_CAUSED = re.compile(r"^\s*Caused by: (?P<what>.+)")
_ENDS = ("Exception", "Error", "Throwable")
_THROWN = re.compile(
    rf"(?:^|\s)(?P<what>(?:[a-z_][\w$]*\.)+(?:[A-Z][\w$]*)?(?:{'|'.join(_ENDS)})(?::.*|\s*$))"
)
_FRAME = re.compile(r"^\s+at .*\(|^\s*\.\.\. \d+ (?:more|common frames)|^\s+Suppressed: |^at [\w$./<>]+\(")
_HEAD = re.compile(  # of what is logged
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[./-]\d\d|\d\d:\d\d:\d\d|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)|\d{1,12} +\["
)
# collector.reportError logs once more what `ShellBolt.die` or an executor's loop has logged (ReportError.java @ v2.8.3; executor.clj)
_REPORTED = re.compile(r"\[ERROR\] (?:Error)?\s*$")
_COMPONENT = re.compile(
    r"\bpid:\S*, name:(?P<died>\S+)|\bThread-\d+-(?!disruptor-)(?P<thread>\S+?)-executor\["
)
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
_MOST_LINES = 200


@dataclass(slots=True)
class Stack:
    """The lines of the stack below one cause, the first of them, as far as they have been read."""

    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Thrown:
    """One exception: its deepest cause, as far as it has been read, with its line; of a traceback '' until its end.

    `component` is whose it is, '' where the log does not say so.
    """

    text: str
    line: int
    component: str = ""
    began: str = ""  # its first line, before its causes; '' where it may not be told again


class Exceptions:
    """Follows exceptions through `Caused by` and tracebacks.

    An exception ends where neither its words, a stack nor a cause follow; what is logged, and the throwable that the
    logger prints on the next line, are one.  Where a pipe only broke because Python had raised, that is the cause.
    """

    def __init__(self) -> None:
        self.first: Thrown | None = None
        self.now: Thrown | None = None  # the one that is being read
        self.stack = Stack()  # below its deepest cause
        self.component = ""  # that of what was logged last
        self._begun = 0  # the line of the deepest cause
        self._last: Thrown | None = None
        self._raised: tuple[str, int] = ("", -_NEAR)  # by Python
        self._python = False  # a traceback is being read,
        self._later = False  # which came of the one before
        self._chained = False  # and it is said that the next one does
        self._reporting = False  # the entry that is read is `reportError`'s

    def read(self, number: int, line: str) -> None:
        """One line."""
        logged = _HEAD.match(line) is not None
        if logged or "pid:" in line:
            self._name(line)
        if logged:
            self._reporting = "[ERROR] " in line and _REPORTED.search(line) is not None
        if found := _CAUSED.match(line):
            self._keep(number, found["what"], self._last)
            self._python = TRACEBACK in line
        elif TRACEBACK in line:
            self._trace(number)
        elif self._python and line[:1].strip() and not logged:
            self._end_trace(number, line)
        elif self._python and not logged:
            return
        elif _FRAME.match(line):
            if len(self.stack.lines) < _MOST_LINES:
                self.stack.lines.append(line)
        elif found := _THROWN.search(line) if any(map(line.__contains__, _ENDS)) else None:
            self._keep(number, found["what"], None if found.start("what") else self.now)
        elif logged or self.stack.lines or number - self._begun > _NEAR:
            self._chained = self._chained or _CHAINED.match(line) is not None
            self._python, self.now = False, None
        elif self.now and _HAS_WORDS.search(self.now.text) and _LAST_WORDS.search(line):
            self._raise(number, line)
        else:
            self._chained = self._chained or _CHAINED.match(line) is not None

    def _name(self, line: str) -> None:
        """Whose a new entry of the log is; that of a process is told by the words of its end, too."""
        tells = "-executor[" in line or "pid:" in line
        if found := _COMPONENT.search(line) if tells else None:
            self.component = found["died"] or found["thread"]
        elif _HEAD.match(line):
            self.component = ""

    def _trace(self, number: int) -> None:
        """A traceback begins: a part of what is read, or what came of the one before."""
        if self._chained:
            self.now = self._last
        elif self.now is None:
            self._open(Thrown("", number, self.component), number)
        self._python, self._later, self._chained = True, self._chained, False

    def _end_trace(self, number: int, line: str) -> None:
        """What was raised; where one was raised of another the first is the cause."""
        if not self._later:
            self._raise(number, line)
        self._python = self._later = False

    def _raise(self, number: int, line: str) -> None:
        """What ended the process, in its own words."""
        self._raised = (line.strip()[:_LONGEST], number)
        self._keep(number, line, self.now)

    def _keep(self, number: int, what: str, of: Thrown | None) -> None:
        """A deeper cause of that exception, or a new one."""
        text, line = what.strip()[:_LONGEST], number
        told = self._last if self._reporting else None
        if told is not None and told.began and (of is told or (of is None and text == told.began)):
            self._open(told, number)  # told once more
            return
        if _PIPE.search(text) and number - self._raised[1] <= _NEAR:
            text, line = self._raised
        if of is None:
            of = Thrown(text, line, self.component, began="" if self._reporting else what.strip()[:_LONGEST])
        else:
            of.text, of.line = text, line
        self._open(of, number)
        self.first = self.first or of
        self._last = of

    def _open(self, thrown: Thrown, number: int) -> None:
        self.now, self.stack, self._begun = thrown, Stack(), number
