"""What a run shows: the events of a trace, the violations among them, and how the tuple trees ended."""

from dataclasses import dataclass
from enum import Enum, IntEnum, unique
from typing import NamedTuple

from ackdoctor.model.dialect import Misuse

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


@dataclass(slots=True, unsafe_hash=True)
class CallSite:
    """The site of a call; `framework` is true for calls in framework code ("auto ack by Bolt._run").

    `path` is the interpreter's path of the file; `line` counts from 1 and is 0 if unknown.
    """

    path: str
    line: int
    function: str  # qualified, "PerSqlBolt.process"
    framework: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}"


@unique
class AccessKind(Enum):
    """An operation on a tuple."""

    RECEIVED = "received"
    ANCHORED = "anchored"
    EMITTED = "emitted"  # an emit without this tuple as anchor while it was current
    ACKED = "acked"
    FAILED = "failed"
    RETURNED = "handler returned"
    ENDED = "end of the run"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Access:
    """One recorded operation on a tuple.

    `entry` is the number of the handler call: two accesses with the same `entry` belong to one call.  `thread` is ''
    for the receiving thread.
    """

    kind: AccessKind
    site: CallSite | None = None  # None below level `sites`
    thread: str = ""
    time_ns: int = 0
    entry: int = 0
    in_except: bool = False  # inside an except block


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TracedComponent:
    """A traced component; `path` and `line` locate its class statement."""

    name: str  # "PerSqlBolt"
    dialect: str  # "pystorm"
    role: str  # name of the dialect's Role
    path: str
    line: int
    task: int = 0
    auto_ack: bool = False
    auto_fail: bool = False
    auto_anchor: bool = False


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Violation:
    """One misuse of one tuple.

    `history` has the recent operations on the tuple in order, the misuse last; `discarded` counts older ones.
    """

    misuse: Misuse
    traced: TracedComponent
    handler: str
    delivery: str
    history: tuple[Access, ...]
    tick: bool = False
    batch: bool = False  # a batch handler received it
    held: str = ""  # the field that still holds the tuple: "self.pending"
    named: str = ""  # the field that still holds the tuple's id
    test: str = ""
    count: int = 1  # tuples with the same misuse at the same sites
    discarded: int = 0
    root: int | None = None


@unique
class Verdict(Enum):
    """How a tuple tree ended."""

    COMPLETE = "complete"  # the spout received ACK
    FAILED = "failed"  # the spout received FAIL
    EXPIRED = "expired"  # the spout's pending map dropped it
    OPEN = "open"  # still pending
    ORPHAN = "orphan"  # messages without an init, or after the end


@unique
class Residue(Enum):
    """What the value of a pending entry implies (law L1)."""

    EVEN = "a tuple was acked an even number of times, or never"  # value != 0
    ODD = "a surplus of acks cancelled out"  # orphan with value 0
    FAILED = "only a fail is left"
    NONE = "nothing is left"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class PendingEntry:
    """One entry of the acker's pending map; `task` is None for an orphan, `value` is None for nil in Storm 1.x."""

    root: int
    value: int | None
    task: int | None
    failed: bool = False
    age_ms: int = 0
    bucket: int = 0  # 0 is the newest


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Culprit:
    """A tuple whose ack value explains a residue, alone or with others; `acks` counts its acks."""

    delivery: str
    component: str
    task: int
    value: int
    acks: int
    sites: tuple[str, ...] = ()
    lost: str = ""  # "ack", "fail", "init" or "tuple": a message that was sent and never received


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TupleTree:
    """What is known about one root.

    It represents `roots` roots with the same history, itself included.
    """

    root: int
    verdict: Verdict
    entry: PendingEntry | None = None
    residue: Residue = Residue.NONE
    culprits: tuple[Culprit, ...] = ()
    ambiguous: bool = False  # another set of the same size explains it as well
    roots: int = 1
    run: str = ""  # the run in the trace, if known
    dropped_ms: int | None = None  # when the acker dropped the spout's entry, if known


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ComponentTally:
    """The tuples of one component; `pending` are open at the end, `high_water` is the maximum at once.

    Ticks and heartbeats are counted separately: no spout waits for their acks.
    """

    component: str
    dialect: str
    delivered: int = 0
    emitted: int = 0
    acked: int = 0
    failed: int = 0
    ticks: int = 0
    pending: int = 0
    high_water: int = 0
    oldest_ms: int = 0  # age of the oldest open tuple at the end
    violations: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class GrowthPoint:
    """The size of the acker's pending map (without an acker: of the open tuples) at the end of a time window.

    `started` counts the roots (or tuples) that began in the window; it is always 0 if they were not counted.
    """

    time_ms: int
    pending: int
    orphans: int = 0
    started: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class RunTally:
    """The counts of a run; `trees` are the trees that did not complete, `dropped` counts missing rows."""

    components: tuple[ComponentTally, ...] = ()
    growth: tuple[GrowthPoint, ...] = ()
    trees: tuple[TupleTree, ...] = ()
    completed: int = 0  # completed roots
    pending: int = 0
    high_water: int = 0
    dropped: int = 0
    unobserved: tuple[str, ...] = ()  # components whose transport a test mocks, with the reason


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Outcomes:
    """What became of the message ids of one spout; a task's ids are its own.

    `failed` were failed or timed out at least once, `replayed` of them were emitted again.  `lost` failed at every emit,
    `open` wait for an answer at the end of the run, `repeated` completed more than once.
    """

    spout: str
    ids: int = 0
    completed: int = 0
    failed: int = 0
    replayed: int = 0
    lost: int = 0
    open: int = 0
    repeated: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cause:
    """A probable cause of a heap entry or a log symptom, the law behind it, and the rules that explain it."""

    text: str
    law: str = ""
    rules: tuple[str, ...] = ()
