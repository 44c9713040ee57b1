"""The result of an analysis: small tables of plain values.  Reporters read it, so it needs no pyspark.

Times are in milliseconds since the epoch, or virtual; ids and values are Java longs.
"""

from dataclasses import dataclass, field

from ackdoctor.model.finding import Finding, Unreadable
from ackdoctor.model.trace import Outcomes, RunTally, TupleTree


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Completions:
    """The deliveries of one component on one stream, by how often each was completed, without ticks.

    `acked` and `failed` count calls; `mixed` deliveries saw both.  `p50_ms` to `max_ms` are the time from
    receipt to the first completion, `oldest_ms` the age of the oldest open delivery at the end.
    """

    component: str
    stream: str
    delivered: int
    never: int
    once: int
    more: int
    mixed: int
    acked: int
    failed: int
    p50_ms: float = 0.0
    p90_ms: float = 0.0
    p99_ms: float = 0.0
    max_ms: float = 0.0
    oldest_ms: float = 0.0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Latency:
    """Complete latency: from the spout's init to the acker's answer, of the roots that one spout saw acked."""

    spout: str
    roots: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class AckerLoad:
    """What one acker task received: roots and messages; its largest map, and what is left in it."""

    run: str
    acker: int
    roots: int
    messages: int
    high_water: int
    pending: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TreeCount:
    """How many roots ended so; `left` of them were in the map at the end."""

    verdict: str
    residue: str
    roots: int
    left: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Uncompleted:
    """A component that received tuples of roots that timed out or are open, and never completed them."""

    component: str
    stream: str
    roots: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Deaths:
    """How often workers died of one cause, in the words of `diagnose`, and the component that caused it, '' if none is named."""

    cause: str
    component: str
    times: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Expired:
    """How many roots timed out for one cause."""

    cause: str
    roots: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Comb:
    """Timeouts in bursts: `bursts` of them, `period_s` apart, `roots` in all."""

    period_s: int
    bursts: int
    roots: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Replays:
    """Message ids that a spout emitted more than once; `worst` was emitted most often, `most` times."""

    spout: str
    ids: int
    emits: int
    most: int
    worst: str


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Forecast:
    """The straight line through the pending map: entries a second, its fit (R2), and when a heap is full.

    `full_in` is None if the map does not grow in a line, or the size of an entry is not known.
    """

    per_second: float
    fit: float
    entry_bytes: int | None
    heap: int
    full_in: str | None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TimelineRow:
    """One event of a root."""

    time_ms: float
    what: str
    component: str
    task: int
    delivery: str
    value: int
    site: str


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Timeline:
    """A root that did not end well, with its rows in order; `more` rows are left out."""

    tree: TupleTree
    rows: tuple[TimelineRow, ...]
    more: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Quarantined:
    """Rows that cannot be used, with one of them as a sample."""

    file: str
    reason: str
    rows: int
    sample: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class RowCounts:
    """What became of every row: `rows` = `used` + `continued` + `foreign` + `quarantined`."""

    files: int
    rows: int
    used: int
    continued: int = 0  # lines without a stamp, which continue the line before them
    foreign: int = 0  # lines of a log that are not about acking, or repeat others
    quarantined: int = 0
    # of `used`: rows about a component, a rotation, an end or a loss, and about no tuple
    silent: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every row is accounted for."""
        return self.rows == self.used + self.continued + self.foreign + self.quarantined

    @property
    def useless(self) -> bool:
        """Whether no row is about acking."""
        return self.used <= self.silent


@dataclass(slots=True, kw_only=True)
class Analysis:
    """The result of `ackdoctor analyze`."""

    acker: str  # the version of the replayed acker
    row_counts: RowCounts
    tally: RunTally
    findings: tuple[Finding, ...] = ()
    roots: int = 0
    begin_ms: float = 0.0
    end_ms: float = 0.0
    logged: bool = False  # some rows are from logs, whose times count as UTC if they name no zone
    window_ms: int = 1000
    completions: tuple[Completions, ...] = ()
    latencies: tuple[Latency, ...] = ()
    ackers: tuple[AckerLoad, ...] = ()
    trees: tuple[TreeCount, ...] = ()
    uncompleted: tuple[Uncompleted, ...] = ()
    combs: tuple[Comb, ...] = ()
    expired: tuple[Expired, ...] = ()
    deaths: tuple[Deaths, ...] = ()
    messages_dropped: int = 0  # by the connections between workers, by their logs
    replays: tuple[Replays, ...] = ()
    outcomes: tuple[Outcomes, ...] = ()  # of message ids, if a topology is held against the run
    forecast: Forecast | None = None
    timelines: tuple[Timeline, ...] = ()
    quarantine: tuple[Quarantined, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    files: tuple[str, ...] = ()
    passed_over: tuple[tuple[str, str], ...] = ()  # files that need not be read, and why
    notes: tuple[str, ...] = ()
    # components that had all their tuples in hand where a log ends, or whose completions a mock hides
    unjudged: tuple[str, ...] = ()
    taken: bool = False  # restarted workers took tuples with them, which are not judged
    missing: tuple[str, ...] = ()  # tasks that logs name and of which no log has a line
    gaps: bool = False  # a rotated file of a log is missing
    # more roots lack their beginning than a log that begins in the middle explains
    unbegun: bool = False
    silent_ackers: bool = False  # logs have roots, but no line of an acker
    left_out: int = 0  # lines of logs that repeat others, and roots with too many messages: not used
    disordered: bool = False  # the times of a log go back
    written: tuple[str, ...] = field(default=())  # tables under --output-dir

    @property
    def seconds(self) -> float:
        """From the first row to the last."""
        return (self.end_ms - self.begin_ms) / 1000
