"""From the bytes of a multilang pipe to the rows of a trace.

A message is JSON, a line end, `end` and a line end. `Frames` cuts a stream of bytes into messages, `Conversation` turns
one component's messages into rows, `observe` writes them. Bytes that are no message are counted and skipped.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackdoctor.model.trace import IN_HAND, RELIABLE, TICK, EventKind
from ackdoctor.tracer.process.tap import Chunk, Direction
from ackdoctor.tracer.trace.write import Recorder

__all__ = ["LONGEST", "Conversation", "Frames", "Row", "observe", "parse"]


LONGEST = 16 << 20  # bytes of a message that is still looked at
_END = b"\nend\n"


@dataclass(slots=True)
class Row:
    """A message as a row of the trace."""

    kind: EventKind
    delivery: str
    stream: str = ""
    flags: int = 0


class Frames:
    """Cuts one direction of the pipe into messages; `lost` counts skipped ones."""

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
        """Bytes are missing here: parsing starts again after the next `end`."""
        self._open[:] = b""
        self._in_step = False


def parse(data: bytes) -> object:
    """The JSON of a message; None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


class Conversation:
    """The rows of one component's messages, and its name from the handshake."""

    def __init__(self) -> None:
        self.component = ""
        self.task = 0
        self.trouble = ""  # the last error that the component reported
        self.junk = 0  # invalid messages

    def hear(self, message: object) -> Iterator[Row]:
        """A message from Storm to the component: the handshake, a tuple, a command to a spout, task ids."""
        if not isinstance(message, dict):
            self.junk += not isinstance(message, list)
        elif "tuple" in message:
            yield from self._receive(message)
        elif isinstance(message.get("context"), dict):
            self._introduce(message["context"])
        elif message.get("command") == "ack":
            yield Row(EventKind.COMPLETED, _id(message.get("id")))
        elif message.get("command") == "fail":
            yield Row(EventKind.GAVE_UP, _id(message.get("id")))

    def say(self, message: object) -> Iterator[Row]:
        """A message from the component to Storm."""
        if not isinstance(message, dict):
            self.junk += 1
            return
        match message.get("command"):
            case "ack":
                yield Row(EventKind.ACKED, _id(message.get("id")))
            case "fail":
                yield Row(EventKind.FAILED, _id(message.get("id")))
            case "emit":
                yield from _emit(message)
            case "error":
                self.trouble = str(message.get("msg", "")).strip()

    def _receive(self, message: dict[str, Any]) -> Iterator[Row]:
        stream = str(message.get("stream", ""))
        if stream == "__heartbeat":
            return
        tick = message.get("comp") == "__system" and stream == "__tick"
        yield Row(EventKind.RECEIVED, _id(message.get("id")), stream, TICK if tick else 0)

    def _introduce(self, context: dict[str, Any]) -> None:
        task = context.get("taskid")
        self.task = task if isinstance(task, int) else 0
        named = context.get("task->component")
        by_task = named.get(str(self.task)) if isinstance(named, dict) else None
        self.component = str(context.get("componentid") or by_task or "")


def _emit(message: dict[str, Any]) -> Iterator[Row]:
    """An emit: a bolt's first anchor is the delivery and the others follow; a spout's delivery is the message id."""
    stream = str(message.get("stream") or "default")
    anchors = message.get("anchors")
    named = [anchors] if isinstance(anchors, str) else anchors if isinstance(anchors, list) else []
    first, *others = [_id(anchor) for anchor in named] or [_id(message.get("id"))]
    yield Row(EventKind.EMITTED, first, stream, RELIABLE if first else 0)
    for anchor in others:
        yield Row(EventKind.ANCHORED, anchor, stream, RELIABLE)


def _id(message: object) -> str:
    """An id as text; a spout's message id may be any JSON."""
    if message is None:
        return ""
    return message if isinstance(message, str) else json.dumps(message, sort_keys=True)


_ENDS = {Direction.ENDED: 0, Direction.CUT: IN_HAND}  # the flags of the DIED row
_NO_STORM = "nothing on this pipe is multilang JSON: another serializer?"


def observe(passing: Iterable[Chunk], directory: Path, run: str, name: str) -> None:
    """Record the chunks; `name` is the component's name before the handshake."""
    _Observer(directory, run, name).watch(passing)


class _Observer:
    """Writes the rows of one component; the time of a row is the time of its bytes."""

    def __init__(self, directory: Path, run: str, name: str) -> None:
        self._now = 0
        self._recorder = Recorder(
            directory, run=run, worker=os.uname().nodename, level="proxy", clock=lambda: self._now
        )
        self._talk = Conversation()
        self._name = name
        self._frames = {side: Frames() for side in (Direction.TO_COMPONENT, Direction.FROM_COMPONENT)}
        self._understood = self._seen = 0

    def watch(self, passing: Iterable[Chunk]) -> None:
        """Read until the pump has ended."""
        for chunk in passing:
            self._now = chunk.time_ns
            if chunk.direction in _ENDS:
                self._end(chunk.data.decode(), _ENDS[chunk.direction])
            else:
                self._pass(chunk)
        self._recorder.close()

    def _pass(self, chunk: Chunk) -> None:
        frames = self._frames[chunk.direction]
        self._seen += len(chunk.data)
        if chunk.missed:
            frames.skip()
            self._write(Row(EventKind.DROPPED, ""), value=chunk.missed, note="the tracer fell behind")
        for message in frames.feed(chunk.data):
            for row in self._rows(chunk.direction, message):
                self._write(row)
        self._recorder.flush()

    def _rows(self, side: Direction, data: bytes) -> Iterator[Row]:
        message = parse(data)
        self._understood += isinstance(message, dict)
        return self._talk.hear(message) if side is Direction.TO_COMPONENT else self._talk.say(message)

    def _end(self, status: str, flags: int) -> None:
        lost = self._talk.junk + sum(frames.lost for frames in self._frames.values())
        if lost or (self._seen and not self._understood):
            note = "no multilang JSON" if self._understood else _NO_STORM
            self._write(Row(EventKind.DROPPED, ""), value=lost, note=note)
        trouble = self._talk.trouble.rpartition("\n")[2]
        self._write(Row(EventKind.DIED, "", flags=flags), note=f"{status}: {trouble}" if trouble else status)

    def _write(self, row: Row, *, value: int = 0, note: str = "") -> None:
        self._recorder.write(
            row.kind,
            self._talk.component or self._name,
            self._talk.task,
            row.stream,
            row.delivery,
            value=value,
            flags=row.flags,
            note=note,
        )
