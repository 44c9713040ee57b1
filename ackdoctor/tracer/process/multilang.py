"""What the messages on a multilang pipe mean, from their bytes.

A message is JSON, a line end, `end` and a line end.  `Frames` cuts a stream of bytes into messages,
`Conversation` turns the messages of one component into rows.  Nothing here writes to the pipe, and
nothing that stands on it is an error: what is no message is counted and left out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ackdoctor.model.event import RELIABLE, TICK, EventKind

__all__ = ["LONGEST", "Conversation", "Frames", "Row", "messages"]

LONGEST = 16 << 20  # bytes of a message that is still looked at
_END = b"\nend\n"


@dataclass(slots=True)
class Row:
    """What a message says, in the terms of the trace."""

    kind: EventKind
    delivery: str
    stream: str = ""
    flags: int = 0


class Frames:
    """Cuts one direction of the pipe into messages; `lost` counts those that were left out."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.lost = 0
        self._longest = longest
        self._open = bytearray(b"\n")  # so that an `end` right at the start has its line end
        self._in_step = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that these bytes complete."""
        looked = max(len(self._open) - len(_END), 0)
        self._open += data
        start = 0
        while (end := self._open.find(_END, max(start, looked))) >= 0:
            message = bytes(self._open[start:end])
            start = end + len(_END) - 1  # the last line end belongs to the next message as well
            if self._in_step:
                yield message
            else:
                self.lost, self._in_step = self.lost + 1, True
        del self._open[:start]
        if len(self._open) > self._longest:
            del self._open[: -len(_END)]
            self._in_step = False

    def skip(self) -> None:
        """Bytes are missing here: what follows is understood again after the next `end`."""
        self._open[:] = b""
        self._in_step = False


def messages(said: bytes) -> object:
    """The JSON of a message; None if it is none."""
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None


class Conversation:
    """One component's side of the story: who it is, and the rows that its messages make."""

    def __init__(self) -> None:
        self.component = ""
        self.task = 0
        self.trouble = ""  # the last error that the component reported
        self.junk = 0  # messages that are none

    def hear(self, said: object) -> Iterator[Row]:
        """A message from Storm to the component: the handshake, a tuple, a command to a spout, task ids."""
        if not isinstance(said, dict):
            self.junk += not isinstance(said, list)
        elif "tuple" in said:
            yield from self._receive(said)
        elif isinstance(said.get("context"), dict):
            self._introduce(said["context"])
        elif said.get("command") == "ack":
            yield Row(EventKind.COMPLETED, _id(said.get("id")))
        elif said.get("command") == "fail":
            yield Row(EventKind.GAVE_UP, _id(said.get("id")))

    def say(self, said: object) -> Iterator[Row]:
        """A message from the component to Storm."""
        if not isinstance(said, dict):
            self.junk += 1
            return
        match said.get("command"):
            case "ack":
                yield Row(EventKind.ACKED, _id(said.get("id")))
            case "fail":
                yield Row(EventKind.FAILED, _id(said.get("id")))
            case "emit":
                yield from _emit(said)
            case "error":
                self.trouble = str(said.get("msg", "")).strip()

    def _receive(self, said: dict[str, Any]) -> Iterator[Row]:
        stream = str(said.get("stream", ""))
        if stream == "__heartbeat":
            return
        tick = said.get("comp") == "__system" and stream == "__tick"
        yield Row(EventKind.RECEIVED, _id(said.get("id")), stream, TICK if tick else 0)

    def _introduce(self, context: dict[str, Any]) -> None:
        task = context.get("taskid")
        self.task = task if isinstance(task, int) else 0
        named = context.get("task->component")
        told = named.get(str(self.task)) if isinstance(named, dict) else None
        self.component = str(context.get("componentid") or told or "")


def _emit(said: dict[str, Any]) -> Iterator[Row]:
    """Of a bolt the first anchor is the delivery and the others follow; of a spout it is the message id."""
    stream = str(said.get("stream") or "default")
    anchors = said.get("anchors")
    named = [anchors] if isinstance(anchors, str) else anchors if isinstance(anchors, list) else []
    first, *others = [_id(anchor) for anchor in named] or [_id(said.get("id"))]
    yield Row(EventKind.EMITTED, first, stream, RELIABLE if first else 0)
    for anchor in others:
        yield Row(EventKind.ANCHORED, anchor, stream, RELIABLE)


def _id(said: object) -> str:
    """An id as text; a spout's message id may be any JSON."""
    if said is None:
        return ""
    return said if isinstance(said, str) else json.dumps(said, sort_keys=True)
