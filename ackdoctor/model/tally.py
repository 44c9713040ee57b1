"""What a traced run counted: the tables of `ackdoctor trace report` and of pytest's summary."""

from dataclasses import dataclass

from ackdoctor.model.verdict import TupleTree

__all__ = ["ComponentTally", "GrowthPoint", "RunTally"]


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
    offences: int = 0


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
