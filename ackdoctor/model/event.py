"""Trace events: one kind of row for everything that happens to tuples (see fixtures/traces/README.md).

A row of a component names a tuple by its delivery: the id under which the component received it.  A row of the acker
names a root.  LINKED rows connect the two; only the lab and Storm's logs know both.
"""

from enum import IntEnum, unique
from typing import NamedTuple

__all__ = ["AUTO", "BARE", "IN_HAND", "RELIABLE", "SCHEMA", "TICK", "Event", "EventKind"]

SCHEMA = 1  # version of the rows; increased when a column changes its meaning


@unique
class EventKind(IntEnum):
    """What happened; the number is stored on disk and never changes its meaning."""

    RECEIVED = 1  # a component received a tuple: delivery, component, task, stream
    EMITTED = 2  # delivery = the first anchor; for a spout, the message id
    ANCHORED = 3  # a further anchor of the EMITTED row before it
    ACKED = 4  # delivery
    FAILED = 5  # delivery
    LINKED = 6  # the delivery is edge `value` of `root`
    NAMED = 7  # first row of a component: site = its class, note = "pystorm Bolt auto_ack"
    WAITS = 8  # at the end of the run the framework buffers the tuple for its next batch
    SENT = 9  # a log of Storm 0.9: a component sent a message on `stream` to the acker: root, value
    INIT = 10  # messages to the acker: root, value
    ACK = 11  # root, value; delivery if the acked tuple is known
    FAIL = 12  # root
    RESET = 13  # root
    ROTATED = 14  # the acker dropped its oldest bucket
    COMPLETED = 20  # the spout received ACK: root
    GAVE_UP = 21  # the spout received FAIL
    EXTENDED = 22  # the spout received RESET
    TIMED_OUT = 23  # the spout's pending map dropped the root
    DIED = 30  # the worker or component ended; `note` says why
    DROPPED = 31  # rows are missing, because of a cap or because the tracer was too slow; value = how many


AUTO = 1  # flag: the framework did it
TICK = 2  # flag: a tick tuple
RELIABLE = 4  # flag: a spout emit with a message id, or a bolt emit with an anchor
BARE = 8  # flag: a bolt emit that leaves the anchors to the framework
IN_HAND = 16  # flag: a component DIED before the end of its input


class Event(NamedTuple):
    """One row.  `seq` orders the rows of a process; (run, worker, pid, seq) is unique."""

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
    thread: str = ""  # '' for the receiving thread
    flags: int = 0
    test: str = ""  # pytest's node id
    note: str = ""
    run: str = ""
    worker: str = ""
    pid: int = 0
