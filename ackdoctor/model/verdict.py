"""What became of a root, and who is to blame."""

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

    COMPLETE = "complete"  # the spout heard ACK
    FAILED = "failed"  # the spout heard FAIL
    EXPIRED = "expired"  # the spout's own map dropped it
    OPEN = "open"  # still pending
    ORPHAN = "orphan"  # messages without, or after, the spout's interest


@unique
class Residue(Enum):
    """What a pending entry's value tells by law L1."""

    EVEN = "a tuple was acked an even number of times, or never"  # value != 0
    ODD = "a surplus of acks cancelled out"  # orphan with value 0
    FAILED = "only a fail is left"
    NONE = "nothing is left"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class PendingEntry:
    """One entry of the acker's pending map; `task` is None for an orphan, `value` None for 1.x's nil."""

    root: int
    value: int | None
    task: int | None
    failed: bool = False
    age_ms: int = 0
    bucket: int = 0  # 0 is the newest


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Culprit:
    """A tuple whose ack value explains a residue, alone or with others: `acks` is how often it was acked."""

    delivery: str
    component: str
    task: int
    value: int
    acks: int
    sites: tuple[str, ...] = ()
    lost: str = ""  # "ack", "fail", "init" or "tuple": the component sent it and its receiver never took it


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TupleTree:
    """One root's life, as far as the evidence goes.

    It stands for `roots`, itself among them: the others went the same way and are not told one by one.
    """

    root: int
    verdict: Verdict
    entry: PendingEntry | None = None
    residue: Residue = Residue.NONE
    culprits: tuple[Culprit, ...] = ()
    ambiguous: bool = False  # another set of as many culprits explains it as well
    roots: int = 1
    run: str = ""  # of the trace, where that is known
    dropped_ms: int | None = (
        None  # when the acker's map dropped the entry of its spout; None where that is not known
    )


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ComponentTally:
    """One component's deliveries; `pending` is what is open at the end, `high_water` the most at once.

    Ticks and heartbeats are counted apart: they are no obligations of the author's.
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
    oldest_ms: int = 0  # age of the oldest open delivery at the end
    violations: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class GrowthPoint:
    """The acker's pending map (or, without an acker, the open deliveries) at the end of a window.

    `started` is the load: the roots (or deliveries) begun in the window; 0 throughout where nobody counted.
    """

    time_ms: int
    pending: int
    orphans: int = 0
    started: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class RunTally:
    """A whole run; `trees` are those that did not end well, `dropped` the rows the tracer's cap cost."""

    components: tuple[ComponentTally, ...] = ()
    growth: tuple[GrowthPoint, ...] = ()
    trees: tuple[TupleTree, ...] = ()
    completed: int = 0  # roots that ended well
    pending: int = 0
    high_water: int = 0
    dropped: int = 0
    unobserved: tuple[str, ...] = ()  # components whose wire was replaced by a mock, with the reason


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cause:
    """One explanation, the law that it follows from, if any, and the rules that tell more."""

    text: str
    law: str = ""
    rules: tuple[str, ...] = ()
