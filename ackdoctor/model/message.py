"""Messages between executors and an acker task, and the acker implementations.

All ids and values are Java longs: signed 64-bit integers, combined by XOR.  A spout that emits root 66
to two tasks with edges 1 and 2 sends `AckInit(66, 3, task)`; a bolt that received edge 1 and anchored
child 4 to it sends `AckAck(66, 5)`; a value of 0 means that every edge was seen exactly twice.
"""

from enum import Enum, unique
from typing import NamedTuple, TypeAlias

__all__ = [
    "AckAck",
    "AckFail",
    "AckInit",
    "Answer",
    "AnswerKind",
    "Engine",
    "Message",
    "ResetTimeout",
    "Tick",
]


class AckInit(NamedTuple):
    """`__ack_init`: a spout task emitted a root; `value` is the XOR of its edges."""

    root: int
    value: int
    task: int


class AckAck(NamedTuple):
    """`__ack_ack`: a tuple was acked; `value` is its own edge XOR the edges of its children."""

    root: int
    value: int


class AckFail(NamedTuple):
    """`__ack_fail`: a tuple was failed."""

    root: int


class ResetTimeout(NamedTuple):
    """`__ack_reset_timeout` (Storm 1.0 and later)."""

    root: int


class Tick(NamedTuple):
    """A tick tuple: the acker rotates its pending map."""


Message: TypeAlias = AckInit | AckAck | AckFail | ResetTimeout | Tick


@unique
class AnswerKind(Enum):
    """The stream of an answer to the spout."""

    ACK = "ack"
    FAIL = "fail"
    RESET = "reset"


class Answer(NamedTuple):
    """An answer of the acker to spout task `task`; `age_ms` is the time since the root was emitted."""

    kind: AnswerKind
    root: int
    task: int
    age_ms: int = 0


@unique
class Engine(Enum):
    """The implementation that tracks the roots."""

    CLOJURE = "acker.clj"
    JAVA = "Acker.java"
    JSTORM = "com.alibaba.jstorm.task.acker.Acker"
    HERON = "stream manager"
