"""How a tuple tree ended, which tuples explain it, and the counts of a run."""

from dataclasses import dataclass
from enum import Enum, unique

__all__ = [
    "Cause",
    "ComponentTally",
    "Culprit",
    "GrowthPoint",
    "PendingEntry",
    "Residue",
    "RunTally",
    "TupleTree",
    "Verdict",
]


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
class Cause:
    """A probable cause of a heap entry or a log symptom, the law behind it, and the rules that explain it."""

    text: str
    law: str = ""
    rules: tuple[str, ...] = ()
