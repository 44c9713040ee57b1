"""The acking protocol: one table, stage x operation -> next stage and breach.

A tuple that a bolt receives is OWED one completion.  Storing it in a field or a queue, or passing it to another thread,
makes it HELD: other code now owes the completion.  ACK and FAIL complete it.  A second completion, or an anchor to a
completed tuple, is a breach.

Example: RECEIVE, ANCHOR, FAIL, AUTO_ACK walks OWED, OWED, FAILED and ends in ACK_AFTER_FAIL, which
ShellBolt answers with "Acked a non-existent or already acked/failed id".
"""

from enum import Enum, unique
from typing import NamedTuple


@unique
class Stage(Enum):
    """The stage of a tuple in the protocol."""

    OWED = "owed"
    HELD = "held"
    ACKED = "acked"
    FAILED = "failed"


@unique
class Op(Enum):
    """An operation on a tuple, by the code or (AUTO_*) by the framework."""

    ANCHOR = "anchor"
    ACK = "ack"
    FAIL = "fail"
    AUTO_ACK = "auto-ack"
    AUTO_FAIL = "auto-fail"
    HOLD = "hold"
    RELEASE = "release"
    END = "end"


@unique
class Breach(Enum):
    """A violation of the protocol."""

    MISSING_ACK = "missing ack"
    DOUBLE_ACK = "double ack"
    DOUBLE_FAIL = "double fail"
    ACK_AFTER_FAIL = "ack after fail"
    FAIL_AFTER_ACK = "fail after ack"
    EMIT_AFTER_ACK = "emit after ack"
    EMIT_AFTER_FAIL = "emit after fail"


class Move(NamedTuple):
    """The stage after an operation, and the breach, if there is one."""

    state: Stage
    breach: Breach | None


def _table() -> dict[tuple[Stage, Op], Move]:
    s, o, b = Stage, Op, Breach
    rows: dict[tuple[Stage, Op], Move] = {}
    for state in (s.OWED, s.HELD):
        rows[state, o.ANCHOR] = Move(state, None)
        rows[state, o.HOLD] = Move(s.HELD, None)
        rows[state, o.RELEASE] = Move(s.OWED, None)
        for op, after in (
            (o.ACK, s.ACKED),
            (o.AUTO_ACK, s.ACKED),
            (o.FAIL, s.FAILED),
            (o.AUTO_FAIL, s.FAILED),
        ):
            rows[state, op] = Move(after, None)
    rows[s.OWED, o.END] = Move(s.OWED, b.MISSING_ACK)
    rows[s.HELD, o.END] = Move(s.HELD, None)
    done = {
        s.ACKED: (b.EMIT_AFTER_ACK, b.DOUBLE_ACK, b.FAIL_AFTER_ACK),
        s.FAILED: (b.EMIT_AFTER_FAIL, b.ACK_AFTER_FAIL, b.DOUBLE_FAIL),
    }
    for state, (on_anchor, on_ack, on_fail) in done.items():
        rows[state, o.ANCHOR] = Move(state, on_anchor)
        for op in (o.ACK, o.AUTO_ACK):
            rows[state, op] = Move(state, on_ack)
        for op in (o.FAIL, o.AUTO_FAIL):
            rows[state, op] = Move(state, on_fail)
        for op in (o.HOLD, o.RELEASE, o.END):
            rows[state, op] = Move(state, None)
    return rows


TABLE = _table()


def move(state: Stage, op: Op) -> Move:
    """Look up one step of the protocol; the table is total."""
    return TABLE[state, op]


@unique
class Tick(Enum):
    """What is known about a tuple: tick, other system tuple, or data."""

    MAYBE = "maybe"
    YES = "yes"
    NO = "no"
    HEARTBEAT = (
        "heartbeat"  # Storm's check of a subprocess, answered by a sync; ShellBolt does not track its id
    )
    OTHER = "other"  # any other system stream, such as `__metrics`

    @property
    def is_system(self) -> bool:
        """Whether Storm itself sends the tuple: it belongs to no tree and no spout waits for it."""
        return self in (Tick.YES, Tick.HEARTBEAT, Tick.OTHER)
