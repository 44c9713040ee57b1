"""Handshake and messages between a component and the JVM, as JsonSerializer.readShellMsg reads them with its casts.

Source: apache/storm storm-client/src/jvm/org/apache/storm/multilang/JsonSerializer.java:96-160 and ShellMsg.java
@ v2.8.8; tests/differential compare with the real ShellBolt.  Storm uses two JSON libraries.  json-simple, until
Storm 2.5, is strict.  json-smart, since 2.6, reads stray text as a string, which is no JSONObject.  It also reads small
numbers as Integers, so the cast of `task` to Long fails: a direct emit kills the worker.
Errors of casts have Java 8's text; later versions extend it.
"""

import json
import re
from ast import literal_eval
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Any, NoReturn

from ackdoctor.lab.child import ShellError

RUNTIME = "java.lang.RuntimeException"
NULL_POINTER = "java.lang.NullPointerException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
_CAST = "java.lang.ClassCastException"
_IO = "java.io.IOException"
_SCALARS: dict[type, str] = {str: "java.lang.String", bool: "java.lang.Boolean", float: "java.lang.Double"}
_WANTED = {**_SCALARS, int: "java.lang.Long", list: "java.util.List"}
_TOKENS = {
    "{": "LEFT BRACE",
    "}": "RIGHT BRACE",
    "[": "LEFT SQUARE",
    "]": "RIGHT SQUARE",
    ",": "COMMA",
    ":": "COLON",
}
_SMART_SINCE = (2, 6)
_INT_BITS = 31
_DECODER = json.JSONDecoder()


@unique
class Json(Enum):
    """The JVM's JSON library; the value is its package."""

    SIMPLE = "org.apache.storm.shade.org.json.simple"
    SMART = "org.apache.storm.shade.net.minidev.json"


def json_of(profile: str) -> Json:
    """Return the library of a Storm version ("storm-2.8.3")."""
    found = re.match(r"storm-(\d+)\.(\d+)", profile)
    newer = found is not None and (int(found[1]), int(found[2])) >= _SMART_SINCE
    return Json.SMART if newer else Json.SIMPLE


@dataclass(slots=True, kw_only=True)
class Setup:
    """The content of the handshake, and the JVM's settings for the component.

    `input_fields` are source -> stream -> field names, the attributes of `tup.values`.
    `metrics` are the names registered on the JVM's side; any other kills the worker.  `arguments` end the command
    line, where pyleus reads its `options`.  `json` is the JVM's library, by default that of Storm 2.6 and later.
    """

    conf: Mapping[str, object] = field(default_factory=dict)
    input_fields: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    output_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: frozenset[str] = frozenset()
    arguments: Sequence[str] = ()
    json: Json = Json.SMART


class Transcript:
    """Every frame that a component wrote after the handshake, in order; `messages` are those that are JSON objects.

    `errors` and `metrics` are those that the JVM reports; an error does not kill the worker.  Frames after the
    worker's death are kept, although the worker ignores them.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.messages: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self.metrics: list[tuple[str, object]] = []

    def note(self, text: str) -> None:
        """Keep one frame."""
        self.texts.append(text)
        with suppress(json.JSONDecodeError):
            message = json.loads(text)
            if isinstance(message, dict):
                self.messages.append(message)


@dataclass(slots=True, kw_only=True)
class ShellMsg:
    """A component's message, with Storm's defaults."""

    command: str
    id: object = None
    msg: str | None = None
    stream: str = "default"
    task: int | None = None  # target of a direct emit
    need_task_ids: bool = True
    values: list[object] | None = None
    anchors: tuple[str | None, ...] = ()
    metric: str | None = None
    params: object = None


def parse(text: str, library: Json) -> object:
    """Parse one frame as JSON; ShellError with the library's text if it is invalid."""
    if library is Json.SMART:
        return _parse_leniently(text)

    def reject(constant: str) -> NoReturn:  # NaN, which Python writes and JSON does not have
        raise json.JSONDecodeError(constant, text, text.index(constant))

    try:
        return json.loads(text, parse_constant=reject)
    except json.JSONDecodeError as error:
        raise ShellError(_IO, _error_text(text, error.pos)) from None


def _parse_leniently(text: str) -> object:
    """Parse as json-smart's permissive mode: text that is no object or list is a string, NaN is a number.

    It also reads Python's repr of a dict or a list on one line.  Bare words within an object are not modelled; they
    raise an IOException.
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        try:
            return json.loads(stripped)
        except json.JSONDecodeError:
            return stripped
    try:
        return _DECODER.raw_decode(stripped)[0]
    except json.JSONDecodeError as error:
        try:
            return literal_eval(stripped.partition("\n")[0])  # json-smart ignores further lines
        except (SyntaxError, ValueError):
            raise ShellError(_IO, _error_text(stripped, error.pos)) from None


def _error_text(text: str, position: int) -> str:
    if position >= len(text):
        return f"Unexpected token END OF FILE at position {position}."
    sign = text[position]
    if sign in _TOKENS:
        return f"Unexpected token {_TOKENS[sign]}({sign}) at position {position}."
    return f"Unexpected character ({sign}) at position {position}."


def shell_msg(value: object, library: Json) -> ShellMsg:
    """Convert a JSON value to a message; ShellError if a cast fails."""
    if value is None:
        raise ShellError(NULL_POINTER, "")
    if not isinstance(value, dict):
        raise _cast_error(value, f"{library.value}.JSONObject", library)
    command = _cast(value.get("command"), str, library)
    need = _cast(value.get("need_task_ids"), bool, library)
    name = value.get("name")
    msg = ShellMsg(
        command="",
        id=value.get("id"),
        msg=_cast(value.get("msg"), str, library),
        stream=_cast(value.get("stream"), str, library) or "default",
        task=_task(_cast(value.get("task"), int, library)),
        need_task_ids=need is not False,
        values=_cast(value.get("tuple"), list, library),
        anchors=_anchors(value.get("anchors"), library),
        metric=name if isinstance(name, str) else None,
        params=value.get("params"),
    )
    if command is None:
        raise ShellError(NULL_POINTER, "")  # `command.equals("log")` comes before the check for null
    msg.command = command
    return msg


def _cast(value: object, kind: type, library: Json) -> Any:
    """Return a value after a cast; null passes."""
    if value is None or _java_class(value, library) == _WANTED[kind] or kind is type(value) is list:
        return value
    raise _cast_error(value, _WANTED[kind], library)


def _anchors(value: object, library: Json) -> tuple[str | None, ...]:
    """Return the anchors; a string is one anchor."""
    if isinstance(value, str):
        return (value,)
    return tuple(_cast(anchor, str, library) for anchor in _cast(value, list, library) or ())


def _task(task: int | None) -> int | None:
    """Convert `task` as `(int) task` does; 0 is no direct emit."""
    return (task + (1 << 31)) % (1 << 32) - (1 << 31) if task else None


def _java_class(value: object, library: Json) -> str:
    match value:
        case list():
            return f"{library.value}.JSONArray"
        case dict():
            return f"{library.value}.JSONObject"
        case int() if not isinstance(value, bool):
            small = library is Json.SMART and value.bit_length() <= _INT_BITS
            return "java.lang.Integer" if small else "java.lang.Long"
        case _:
            return _SCALARS[type(value)]


def _cast_error(value: object, wanted: str, library: Json) -> ShellError:
    return ShellError(_CAST, f"{_java_class(value, library)} cannot be cast to {wanted}")


def java_text(value: object) -> str:
    """Return `String.valueOf` of a JSON value: null, 5, [1,2]."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case _:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
