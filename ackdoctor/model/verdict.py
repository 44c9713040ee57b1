"""What became of a root, and who is to blame."""

from dataclasses import dataclass
from enum import Enum, unique

__all__ = ["Culprit", "PendingEntry", "Residue", "TupleTree", "Verdict"]


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
