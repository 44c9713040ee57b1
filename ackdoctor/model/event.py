"""What a trace is made of: one kind of row for everything that happens to tuples (fixtures/traces/README.md).

A component's own rows name deliveries: the private id under which it was handed one tuple.  Rows
of the acker name roots.  Only where both are known (the lab, Storm's own logs) do LINKED rows tie them.
"""

from enum import IntEnum, unique
from typing import NamedTuple

__all__ = ["AUTO", "BARE", "IN_HAND", "RELIABLE", "SCHEMA", "TICK", "Event", "EventKind"]

SCHEMA = 1  # the version of the rows; raised when a column changes its meaning


@unique
class EventKind(IntEnum):
    """What happened; the number is what stands on disk and never changes its meaning."""

    RECEIVED = 1  # a component was handed a tuple: delivery, component, task, stream
    EMITTED = 2  # delivery = the first anchor; of a spout its message id
    ANCHORED = 3  # a further anchor of the EMITTED row before it
    ACKED = 4  # delivery
    FAILED = 5  # delivery
    LINKED = 6  # the delivery stands for edge `value` of `root`
    NAMED = 7  # a component is seen for the first time: site = its class, note = "pystorm Bolt auto_ack"
    WAITS = 8  # at the end of the run the framework still keeps the delivery, for its next batch
    SENT = 9  # a component sent the acker a message of this `stream`, by a log of Storm 0.9: root, value
    INIT = 10  # messages to the acker: root, value
    ACK = 11  # root, value; delivery where it is known which tuple was acked
    FAIL = 12  # root
    RESET = 13  # root
    ROTATED = 14  # the acker dropped its oldest bucket
    COMPLETED = 20  # answers to the spout: root
    GAVE_UP = 21  # FAIL answered
    EXTENDED = 22  # RESET answered
    TIMED_OUT = 23  # the spout's own map dropped the root
    DIED = 30  # the worker or component ended; `note` says why
    DROPPED = 31  # no room for rows, or the tracer fell behind; value = how many are missing


AUTO = 1  # flag: the framework did it, not the author's code
TICK = 2  # flag: a tick tuple
RELIABLE = 4  # flag: a spout emitted with a message id, a bolt with at least one anchor
BARE = 8  # flag: a bolt's emit that leaves its anchors to the framework
IN_HAND = 16  # flag: a component DIED before the end of its input, maybe in the middle of a tuple


class Event(NamedTuple):
    """One row.  `seq` orders the rows of one process; (run, worker, pid, seq) is the key over all."""

    kind: EventKind
    time_ns: int  # since the epoch, or virtual
    seq: int = 0
    component: str = ""
    task: int = 0
    stream: str = ""
    delivery: str = ""
    root: int = 0
    value: int = 0
    site: str = ""  # "path:line function"
    thread: str = ""  # '' for the thread that receives
    flags: int = 0
    test: str = ""  # pytest's node id
    note: str = ""
    run: str = ""
    worker: str = ""
    pid: int = 0
