"""The process beside the proxy: from the bytes that passed to the rows of a trace."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ackdoctor.model.event import IN_HAND, EventKind
from ackdoctor.tracer.process.multilang import Conversation, Frames, Row, messages
from ackdoctor.tracer.process.tap import Chunk, Direction
from ackdoctor.tracer.trace.write import Recorder

__all__ = ["observe"]

_ENDS = {Direction.ENDED: 0, Direction.CUT: IN_HAND}  # the flags of the DIED row
_NO_STORM = "nothing on this pipe is multilang JSON: another serializer?"


def observe(passing: Iterable[Chunk], directory: Path, run: str, name: str) -> None:
    """Write down what the chunks say; `name` is the component's until it has introduced itself."""
    _Observer(directory, run, name).watch(passing)


class _Observer:
    """The rows of one component; the time of a row is when its bytes passed."""

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
        """Until the pump has no more to show."""
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
        for said in frames.feed(chunk.data):
            for row in self._rows(chunk.direction, said):
                self._write(row)
        self._recorder.flush()

    def _rows(self, side: Direction, said: bytes) -> Iterator[Row]:
        message = messages(said)
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
