"""Messages of a component as the JVM reads them: JsonSerializer.readShellMsg with its casts.

Source: apache/storm storm-client/src/jvm/org/apache/storm/multilang/JsonSerializer.java:96-160 and ShellMsg.java
@ v2.8.8; tests/differential compare with the real ShellBolt.  Storm uses two JSON libraries.  json-simple, until
Storm 2.5, is strict.  json-smart, since 2.6, reads stray text as a string, which is no JSONObject.  It also reads small
numbers as Integers, so the cast of `task` to Long fails: a direct emit kills the worker.
Errors of casts have Java 8's text; later versions extend it.
"""

import json
import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any, NoReturn

from ackdoctor.lab.shell.child import ShellError

__all__ = ["RUNTIME", "Json", "ShellMsg", "java_text", "json_of", "parse", "shell_msg"]


RUNTIME = "java.lang.RuntimeException"
_CAST = "java.lang.ClassCastException"
_NULL = "java.lang.NullPointerException"
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
    level: int = 2


def parse(text: str, library: Json) -> object:
    """Parse one frame as JSON; ShellError with the library's text if it is invalid."""
    if library is Json.SMART:
        return _parse_leniently(text)
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ShellError(_IO, _error_text(text, error.pos)) from None
    except _ConstantError:
        found = re.search(r"NaN|-?Infinity", text)
        assert found
        raise ShellError(_IO, _error_text(text, found.start())) from None


def _parse_leniently(text: str) -> object:
    """Parse as json-smart's permissive mode: text that is no object or list is a string, NaN is a number.

    It also reads Python's repr of a dict or a list on one line.  Bare words within an object are not modelled; they
    raise an IOException.
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return _word(stripped)
    try:
        return _DECODER.raw_decode(stripped)[0]
    except json.JSONDecodeError as error:
        try:
            return literal_eval(stripped.partition("\n")[0])  # json-smart ignores further lines
        except (SyntaxError, ValueError):
            raise ShellError(_IO, _error_text(stripped, error.pos)) from None


def _word(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


class _ConstantError(Exception):
    pass


def _refuse(_name: str) -> NoReturn:
    """Reject NaN, which Python writes and JSON does not have."""
    raise _ConstantError


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
        raise ShellError(_NULL, "")
    if not isinstance(value, dict):
        raise _cast_error(value, f"{library.value}.JSONObject", library)
    row = _Row(value, library)
    command = row.take("command", str)
    need = row.take("need_task_ids", bool)
    level = value.get("level")
    name = value.get("name")
    msg = ShellMsg(
        command="",
        id=value.get("id"),
        msg=row.take("msg", str),
        stream=row.take("stream", str) or "default",
        task=_task(row.take("task", int)),
        need_task_ids=need is not False,
        values=row.take("tuple", list),
        anchors=row.anchors(),
        metric=name if isinstance(name, str) else None,
        params=value.get("params"),
        level=int(level) if isinstance(level, int | float) else 2,
    )
    if command is None:
        raise ShellError(_NULL, "")  # `command.equals("log")` comes before the check for null
    msg.command = command
    return msg


@dataclass(slots=True)
class _Row:
    """One JSONObject."""

    values: Mapping[str, object]
    library: Json

    def take(self, key: str, kind: type) -> Any:
        """Return a field after a cast; null passes."""
        return self._cast(self.values.get(key), kind)

    def anchors(self) -> tuple[str | None, ...]:
        """Return the anchors; a string is one anchor."""
        anchors = self.values.get("anchors")
        if isinstance(anchors, str):
            return (anchors,)
        return tuple(self._cast(anchor, str) for anchor in self._cast(anchors, list) or ())

    def _cast(self, value: object, kind: type) -> Any:
        if value is None or _java_class(value, self.library) == _WANTED[kind] or kind is type(value) is list:
            return value
        raise _cast_error(value, _WANTED[kind], self.library)


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
