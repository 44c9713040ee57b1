"""Lines of logs: bounded reading, JSON layouts, time, component and kind of process."""

import errno
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import BufferedReader
from pathlib import PurePath
from typing import NamedTuple

from ackdoctor.dialects import known
from ackdoctor.tracer.worker_log import log_text

_LONGEST_LINE = 10_000_000  # characters kept of a line
_MOST_OF_LINE = 250_000_000  # characters; a file with a longer line is not a log
_UNPACKED = 1 << 24  # characters after which a compressed log may be a bomb
_MOST_TIMES = 200  # characters per compressed byte; logs reach 10 to 50
_CHECK_EVERY = 1 << 22
_SHORTEST = 32  # characters that a line counts as
# ---- JSON layouts ----
_THREAD = ("thread", "thread_name", "process.thread.name", "_thread")
_LEVEL = ("level", "log.level", "severity", "levelname")
_LOGGER_FIELD = ("logger_name", "loggerName", "log.logger", "logger", "_logger", "name")
_MESSAGE = ("message", "log", "msg", "textPayload", "short_message")
# names of fields that contain an exception
_EXCEPTION_FIELD = re.compile(r"err|exc|thrown|stack|trace|cause|full", re.IGNORECASE)
_OF_JSON_LAYOUT = "extendedStackTrace"
_STACK = re.compile(r"\\n(?:\\t| +)(?:at|File) ")  # an escaped stack of Java or Python
# first and last line of a multi-line entry; log4j's `complete` layout writes a list of them
_BEGINS = frozenset({"{", "[{", ",{", ", {"})
_ENDS = frozenset({"}", "},", "}]"})
_MOST_LINES = 20_000  # lines of one entry
_OF_CRI = re.compile(r"\S+ std(?:out|err) (?P<part>[FP]) ")  # P: the line goes on in the next one
_LONGEST = 20_000_000  # characters of one entry
# ---- time, component and kind ----
_HEAD = re.compile(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[./-]\d\d|\d\d:\d\d:\d\d|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)|\d{1,12} +\["
)
_LEVEL_WORD = re.compile(r"(?<![\w.-])(?:(?P<quiet>TRACE|DEBUG|INFO)|WARN(?:ING)?|ERROR|SEVERE|FATAL)\b")
_ONLY_THROWN = re.compile(r"[\W_]*(?:(?:[\w$]+\.)+[\w$]+: ?)*(?:[\w$]+\.)*")
_THROWS = re.compile(
    r"(?:Exception|Error|Throwable)(?::\s|\b\s*$)|[\w$]\.$"
)  # at the end of what precedes an exception's words
PYTHON_FRAMEWORKS = "|".join(
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
_FRAMEWORK_LOGGER = re.compile(
    r"\b(?:o\.a\.|org\.apache\.|b\.s\.|backtype\.|c\.a\.j\.|com\.alibaba\.jstorm\.|com\.twitter\.heron\.|k\.|kafka\.|s\.k\.|s\.t\.|storm\.|i\.n\.|io\.netty\.|c\.n\.c\.|com\.netflix\.)\w"
    rf"|\bSTD(?:ERR|OUT|IO)\b|\b(?:{PYTHON_FRAMEWORKS})\b"
)
_NAME = r"[A-Za-z_$][\w$]*(?:\.[\w$]+)+"  # of a class
# the logger's name, before the level or behind it
_LOGGER_BEFORE = re.compile(rf"(?:^|[ \[]){_NAME}(?=[ \]])|- [\w.]+ - \[?$| [A-Za-z_]\w*  \[$")
_LOGGER_AFTER = re.compile(
    rf"[\]:]?[ \[]*(?:\d{{4}}-\d\d-\d\d[T ][\d:.,]+[ \[\]]+)?(?:{_NAME}(?:(?::\d+)?[ \]\[][^ \]]*\]|(?=[ :\]]))|[A-Za-z_]\w*(?: -|:))"
)
_OF_CHILD = "ShellLog pid:"  # before the text that a component logs through Storm
_MOMENT = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,6})?")
_MOMENT_WITHIN = 80  # characters at the beginning of a line that are searched for a time
_LONGEST_PATH = 1_000
_COMPONENT = re.compile(
    r"\bpid:\S*, name:(?P<died>\S+)"
    r"|\bThread-\d+-(?!disruptor-)(?P<thread>\S+?)-executor\["
    r"|[ \[(](?P<jstorm>[^\s:\[(]+):\d+-(?:Bolt|\w*Spout)Executors?\b"
    r"|\b(?P<reported>[\w.-]+):\d+ (?:bolt|spout) ex\w+ +error"
    r"|\[Thread-\d+-(?!disruptor-|executor\b)(?P<local>[A-Za-z_][\w.-]*)\] "
)
_COMPONENT_MARKS = ("-executor[", "pid:", "Executors", " error", "[Thread-")
_INSTANCE = re.compile(
    r"Starting instance \S+ for topology .* for component (?P<component>\S+) with taskId \d+"
)
_INSTANCE_NAME = re.compile(r"container_\d+_(?P<component>.+)_\d+\.log")
_NAMES = {
    "worker": re.compile(r"^worker|-worker-\d+|^container_\d+_"),
    "nimbus": re.compile(r"^nimbus|^heron-tmaster"),
    "supervisor": re.compile(r"^supervisor|^heron-executor"),
    "drpc": re.compile(r"^drpc"),
    "ui": re.compile(r"^(?:ui|logviewer|access-(?:ui|logviewer)|pacemaker)\b"),
    "client": re.compile(r"^client"),
}
_LINES = {  # loggers and messages of only one kind of process
    "nimbus": re.compile(
        r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.d(?:aemon)?\.n(?:imbus)?\b"
    ),
    "supervisor": re.compile(
        r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.d(?:aemon)?\.s(?:upervisor)?\b|SLOT_\d+ \[|\bc\.a\.j\.d\.s\."
    ),
    "drpc": re.compile(r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.d(?:aemon)?\.drpc\b"),
    "worker": re.compile(
        r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.(?:d(?:aemon)?\.(?:w(?:orker)?|executor|task)|task|t\.Shell|e(?:xecutor)?)\b"
        r"|Launching worker for |-executor\[|\bc\.a\.j\.(?:t|d\.w)\."
    ),
}


def lines_in(raw: BufferedReader) -> Iterator[str]:
    """Yield each line, cut after 10 million characters; raise OSError for binary data, an endless line, or a zip bomb."""
    checked = total = 0
    with log_text(raw) as text:
        while line := text.readline(_LONGEST_LINE):
            yield line
            length, rest = len(line), line
            while rest and not rest.endswith("\n"):
                rest = text.readline(_LONGEST_LINE)
                length += len(rest)
                if length > _MOST_OF_LINE:
                    raise OSError(
                        errno.EINVAL, f"a line of more than {_MOST_OF_LINE:,} characters: this is not text"
                    )
            total += max(_SHORTEST, length)
            if total > max(_UNPACKED, checked + _CHECK_EVERY):
                checked = total
                # a pipe has no position
                if raw.seekable() and total > raw.tell() * _MOST_TIMES:
                    raise OSError(
                        errno.EFBIG,
                        f"it unpacks to more than {_MOST_TIMES} times its size, unlike any text: reading stops here",
                    )


def entries(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; the lines of a multi-line JSON entry are joined.

    Invalid and overlong entries are yielded line by line.
    """
    begun: list[str] = []
    number = length = 0
    for number, line in _whole(lines):
        words = line.rstrip()
        if not begun and words not in _BEGINS:
            yield number, line
            continue
        begun.append(line)
        length += len(line)
        if words in _ENDS or len(begun) == _MOST_LINES or length > _LONGEST:
            yield from _joined(begun, number)
            begun.clear()
            length = 0
    yield from _joined(begun, number)


def _whole(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; those that the container runtime has split are joined."""
    begun, number = "", 0
    for number, part in enumerate(lines, start=1):
        mark = _OF_CRI.match(part)
        if begun and mark is None:
            yield number - 1, begun
        line = begun + part[mark.end() :] if begun and mark else part
        begun = line.rstrip("\r\n") if mark and mark["part"] == "P" and len(line) < _LONGEST else ""
        if not begun:
            yield number, line
    if begun:
        yield number, begun


def _joined(lines: Sequence[str], last: int) -> Iterable[tuple[int, str]]:
    whole, first = "\n".join(lines).strip(" \t\r\n,[]"), last - len(lines) + 1
    return [(first, whole)] if _entry(whole) else enumerate(lines, start=first)


def unpacked(line: str) -> Iterator[str]:
    """Yield the text lines of a JSON log entry; yield any other line unchanged."""
    entry = _entry(line)
    if "threadDump" in entry:
        yield from _threads(entry["threadDump"])
        return
    texts = dict(_texts("", entry))
    thread, level, logger, words = (
        next(filter(None, map(texts.get, names)), "") for names in (_THREAD, _LEVEL, _LOGGER_FIELD, _MESSAGE)
    )
    if not (thread or words):
        stack = _STACK.search(line) is not None
        yield from line.replace("\\n", "\n").replace("\\t", "\t").splitlines() if stack else (line,)
    elif thread or (logger and words):  # in the layout of a LocalCluster
        yield from f"0 [{thread}] {level or 'INFO'} {logger} - {words}".splitlines()
    else:
        for each in words.splitlines():
            yield from unpacked(each)
    exceptions = [
        text for name, text in texts.items() if _EXCEPTION_FIELD.search(name) and name not in _MESSAGE
    ]
    stacks = [text for text in exceptions if "\n" in text]
    for text in stacks or (each for each in exceptions if " " in each):
        yield from text.splitlines()


def _threads(node: object) -> Iterator[str]:
    """Yield the threads of `jcmd PID Thread.dump_to_file -format=json` as its text format has them."""
    if isinstance(node, list):
        for each in node:
            yield from _threads(each)
    elif isinstance(node, dict):
        if isinstance(stack := node.get("stack"), list):
            yield f'#{node.get("tid")} "{node.get("name")}" {node.get("state") or ""}'
            yield from (f"      {frame}" for frame in stack)
            yield ""
        yield from _threads(node.get("threadContainers"))
        yield from _threads(node.get("threads"))


def _entry(line: str) -> Mapping[str, object]:
    """Parse the line as a JSON object; return an empty mapping if it is not one."""
    if not (line.startswith("{") and line.endswith("}")):
        return {}
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _texts(path: str, entry: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each text with its dotted name (`error.stack_trace`), from flat and nested objects."""
    for key, value in entry.items():
        name = f"{path}{key}"
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, dict) and _OF_JSON_LAYOUT in value:
            yield name, "\n".join(_thrown(value))
        elif isinstance(value, dict):
            yield from _texts(f"{name}.", value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            yield name, "\n".join(value)


def _thrown(thrown: Mapping[str, object]) -> Iterator[str]:
    """An exception of JsonLayout, whose stack is a text with all causes, or a list with each cause in an object."""
    frames = thrown.get(_OF_JSON_LAYOUT)
    if isinstance(frames, str):
        yield from frames.splitlines()
        return
    yield f"{thrown.get('name')}: {thrown.get('message')}"
    for frame in frames if isinstance(frames, list) else ():
        if isinstance(frame, dict):
            yield f"\tat {frame.get('class')}.{frame.get('method')}({frame.get('file')}:{frame.get('line')})"
    cause = thrown.get("cause")
    if isinstance(cause, dict):
        first, *rest = _thrown(cause)
        yield f"Caused by: {first}"
        yield from rest


class Moment(NamedTuple):
    """A time as the log writes it, and in seconds; seconds are comparable within one log."""

    text: str
    seconds: float


def is_logged(line: str) -> bool:
    """Return whether the line begins a log entry."""
    return _HEAD.match(line) is not None


def is_chatter(line: str, at: int) -> bool:
    """Return whether the text at `at` is data, not a symptom.

    That is so in a message of the application unless it begins with an exception, and below WARN also behind other words.
    """
    head = line[:at]
    level = _LEVEL_WORD.search(head)
    if level is None or not is_logged(line):
        return False
    before = _LOGGER_BEFORE.search(head, 0, level.start())
    after = None if before else _LOGGER_AFTER.match(head, level.end())
    begin = after.end() if after else level.end()
    is_first = _ONLY_THROWN.fullmatch(head, begin) is not None
    is_framework = _FRAMEWORK_LOGGER.search(head[: max(begin, level.end())]) is not None
    if _OF_CHILD in head or ((before or after) and not is_framework):
        return not (is_first and _THROWS.search(head, level.end()))
    return level["quiet"] is not None and not is_first and not is_framework


def moment_of(line: str) -> Moment | None:
    """Return the time of a line; None if it has none or an invalid one."""
    found = _MOMENT.search(line, 0, _MOMENT_WITHIN)
    if found is None:
        return None
    try:
        at = datetime.fromisoformat(f"{found['day']}T{found['time']}")
    except ValueError:
        return None
    part = float(f"0.{found['part'][1:]}") if found["part"] else 0.0
    return Moment(f"{found['day']} {found['time']}", (at - datetime(1970, 1, 1)).total_seconds() + part)  # noqa: DTZ001


def component_of(line: str) -> str:
    """Return the component whose executor or process wrote the line; '' if unknown."""
    if not any(map(line.__contains__, _COMPONENT_MARKS)):
        return ""
    found = _COMPONENT.search(line)
    return next(filter(None, found.groups()), "") if found else ""


def instance_of(text: str) -> str:
    """Return the component of a whole log, from Heron's first lines or the file name; '' if unknown."""
    found = None
    if "Starting instance" in text:
        found = _INSTANCE.search(text)
    elif "container_" in text and len(text) < _LONGEST_PATH:
        found = _INSTANCE_NAME.search(PurePath(text).name)
    return found["component"] if found else ""


def kind_of_name(path: str) -> str:
    """Return the kind of log by its file name; '' if unknown."""
    name = PurePath(path).name
    return next((kind for kind, form in _NAMES.items() if form.search(name)), "")


def kind_of_line(line: str) -> str:
    """Return the kind of process by the line's logger; '' if unknown."""
    head = line[:200]
    return next((kind for kind, form in _LINES.items() if form.search(head)), "")
