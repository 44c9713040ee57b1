r"""A line of a log that is JSON, as the lines that it says: those of log4j's and logback's layouts, of docker's and of shippers.

    {"level": "ERROR", "thread_name": "Thread-8-count-executor[3, 3]", "message": "Async loop died!",
     "stack_trace": "java.lang.RuntimeException: ...\n\tat org.apache.storm...\nCaused by: ..."}

is an entry with its stack below it, on one line or, as `jq` and log4j's layout print it, on several between `{` and `}`.  What names no thread carries a line of somebody else's log (`docker logs`' own file, Filebeat).
Names of fields: log4j's JsonLayout, GelfLayout, EcsLayout.json and LogstashJsonEventLayoutV1.json, logstash-logback-encoder, docker's
json-file.  Whatever else has a stack in one line, with its ends of lines escaped, is read as the lines of that stack, too.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["entries", "unpacked"]

_THREAD = ("thread", "thread_name", "process.thread.name", "_thread")
_LEVEL = ("level", "log.level", "severity")
_MESSAGE = ("message", "log", "msg", "textPayload", "short_message")
_WHY = re.compile(
    r"err|exc|thrown|stack|trace|cause|full", re.IGNORECASE
)  # the name of what tells of an exception
_OF_JSON_LAYOUT = "extendedStackTrace"
_STACK = re.compile(r"\\n(?:\\t| +)(?:at|File) ")  # of Java, or of Python
# around an entry on several lines; log4j's `complete` layout writes them as a list
_BEGINS = frozenset({"{", "[{", ",{", ", {"})
_ENDS = frozenset({"}", "},", "}]"})
_MOST_LINES = 20_000  # of one entry
_LONGEST = 20_000_000  # characters of one entry
_ESCAPED = re.compile(r"\\([nt])")


def entries(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, those of one entry as one; what begins as one and is none, or is too long, comes line by line."""
    begun: list[str] = []
    number = length = 0
    for number, line in enumerate(lines, start=1):
        words = line.rstrip()
        if not begun and words not in _BEGINS:
            yield number, line
            continue
        begun.append(line)
        length += len(line)
        if words in _ENDS or len(begun) == _MOST_LINES or length > _LONGEST:
            yield from _joined(begun, number - len(begun) + 1)
            begun.clear()
            length = 0
    yield from _joined(begun, number - len(begun) + 1) if begun else ()


def _joined(lines: Sequence[str], first: int) -> Iterator[tuple[int, str]]:
    whole = "\n".join(lines).strip(" \t\r\n,[]")
    yield from [(first, whole)] if _entry(whole) else enumerate(lines, start=first)


def unpacked(line: str) -> Iterator[str]:
    """What the line says; the line itself where it is no entry of a log in JSON."""
    entry = _entry(line)
    texts = dict(_texts("", entry))
    thread, level, words = (_first(texts, names) for names in (_THREAD, _LEVEL, _MESSAGE))
    if not (thread or words):
        yield from _stack(line)
    elif thread:
        yield from f"[{level or 'INFO'}] {thread} {words}".splitlines()
    else:
        for each in words.splitlines():
            yield from unpacked(each)
    why = [text for name, text in texts.items() if _WHY.search(name) and name not in _MESSAGE]
    stacks = [text for text in why if "\n" in text]
    for text in stacks or (each for each in why if " " in each):
        yield from text.splitlines()


def _stack(line: str) -> Sequence[str]:
    if not _STACK.search(line):
        return (line,)
    return _ESCAPED.sub(lambda escaped: "\n" if escaped[1] == "n" else "\t", line).splitlines()


def _entry(line: str) -> Mapping[str, object]:
    """The object that the line is; an empty one where it is none."""
    if not (line.startswith("{") and line.endswith("}")):
        return {}
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _texts(path: str, entry: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each text with its name, `error.stack_trace`, whether it is written so or as an object in an object."""
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


def _first(texts: Mapping[str, str], names: Sequence[str]) -> str:
    return next(filter(None, map(texts.get, names)), "")
