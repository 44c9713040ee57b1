"""One message of a component as the JVM reads it: JsonSerializer.readShellMsg, casts and all.

Read: apache/storm storm-client/src/jvm/org/apache/storm/multilang/JsonSerializer.java:96-160 and
ShellMsg.java @ v2.8.8.  Storm reads JSON with json-simple (1.x, 2.0), strictly; whoever needs the leniency of
newer versions (json-smart, which takes a stray text for a string and then cannot cast it) must know
that the worker dies of it either way.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ackdoctor.lab.shell.error import ShellError

__all__ = ["RUNTIME", "ShellMsg", "java_text", "parse", "shell_msg"]

RUNTIME = "java.lang.RuntimeException"
_CAST = "java.lang.ClassCastException"
_NULL = "java.lang.NullPointerException"
_IO = "java.io.IOException"
_CLASSES: dict[type, str] = {
    str: "java.lang.String",
    bool: "java.lang.Boolean",
    int: "java.lang.Long",
    float: "java.lang.Double",
    list: "org.json.simple.JSONArray",
    dict: "org.json.simple.JSONObject",
}
_WANTED = {**_CLASSES, list: "java.util.List"}
_TOKENS = {
    "{": "LEFT BRACE",
    "}": "RIGHT BRACE",
    "[": "LEFT SQUARE",
    "]": "RIGHT SQUARE",
    ",": "COMMA",
    ":": "COLON",
}


@dataclass(slots=True, kw_only=True)
class ShellMsg:
    """What a component said, with Storm's defaults filled in."""

    command: str
    id: object = None
    msg: str | None = None
    stream: str = "default"
    task: int = 0  # not 0: a direct emit
    need_task_ids: bool = True
    values: list[object] | None = None
    anchors: tuple[str | None, ...] = ()
    metric: str | None = None
    params: object = None
    level: int = 2


def parse(text: str) -> object:
    """The JSON value of one frame; ShellError in json-simple's words if it is none."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ShellError(_IO, _complaint(text, error.pos)) from None
    except _ConstantError:
        found = re.search(r"NaN|-?Infinity", text)
        assert found
        raise ShellError(_IO, _complaint(text, found.start())) from None


class _ConstantError(Exception):
    pass


def _refuse(_name: str) -> NoReturn:
    """Python writes NaN, JSON has no word for it."""
    raise _ConstantError


def _complaint(text: str, position: int) -> str:
    if position >= len(text):
        return f"Unexpected token END OF FILE at position {position}."
    sign = text[position]
    if sign in _TOKENS:
        return f"Unexpected token {_TOKENS[sign]}({sign}) at position {position}."
    return f"Unexpected character ({sign}) at position {position}."


def shell_msg(value: object) -> ShellMsg:
    """The message that a JSON value makes; ShellError where a cast fails."""
    row = _cast(value, dict)
    if row is None:
        raise ShellError(_NULL, "")
    command = _cast(row.get("command"), str)
    need = row.get("need_task_ids")
    level = row.get("level")
    name = row.get("name")
    msg = ShellMsg(
        command="",
        id=row.get("id"),
        msg=_cast(row.get("msg"), str),
        stream=_cast(row.get("stream"), str) or "default",
        task=_cast(row.get("task"), int) or 0,
        need_task_ids=True if need is None else bool(_cast(need, bool)),
        values=_cast(row.get("tuple"), list),
        anchors=_anchors(row),
        metric=name if isinstance(name, str) else None,
        params=row.get("params"),
        level=int(level) if isinstance(level, int | float) else 2,
    )
    if command is None:
        raise ShellError(_NULL, "")  # `command.equals("log")` comes before the check for null
    msg.command = command
    return msg


def _anchors(row: Mapping[str, object]) -> tuple[str | None, ...]:
    anchors = row.get("anchors")
    if anchors is None:
        return ()
    if isinstance(anchors, str):
        return (anchors,)
    return tuple(_cast(anchor, str) for anchor in _cast(anchors, list))


def _cast(value: object, kind: type) -> Any:
    """Java's cast: null passes; bool is no int here."""
    if value is None or type(value) is kind:
        return value
    raise ShellError(_CAST, f"{_CLASSES[type(value)]} cannot be cast to {_WANTED[kind]}")


def java_text(value: object) -> str:
    """`String.valueOf` of a JSON value: null, 5, [1,2]."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case _:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
