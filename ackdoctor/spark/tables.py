"""What an analysis comes to: small tables, plain values.  No pyspark in here, so that reporters may read it.

Times are in milliseconds since the epoch, or virtual; ids and values are Java longs.
"""

from dataclasses import dataclass, field

from ackdoctor.model.finding import Finding, Unreadable
from ackdoctor.model.verdict import RunTally, TupleTree

__all__ = [
    "AckerLoad",
    "Analysis",
    "Books",
    "Comb",
    "Completions",
    "Deaths",
    "Expired",
    "Forecast",
    "Holder",
    "Latency",
    "Life",
    "LifeRow",
    "Quarantined",
    "Replays",
    "TreeCount",
]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Completions:
    """The deliveries of one component on one stream, by how often each was completed; ticks are left out.

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
    """What one acker task took in: roots and messages, its largest map and what is left in it."""

    run: str
    acker: int
    roots: int
    messages: int
    high_water: int
    pending: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TreeCount:
    """How many lives of entries ended so; `left` of them stayed in the map to the end."""

    verdict: str
    residue: str
    roots: int
    left: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Holder:
    """Who held roots that timed out or are still open: deliveries received and never completed."""

    component: str
    stream: str
    roots: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Deaths:
    """How often workers died of one cause, in `diagnose`'s words, and which component caused it, '' where none is named."""

    cause: str
    component: str
    times: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Expired:
    """How many roots timed out, and why as far as the rows show it."""

    cause: str
    roots: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Comb:
    """Timeouts that come in bursts: `bursts` of them, `period_s` apart, `roots` in all."""

    period_s: int
    bursts: int
    roots: int


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Replays:
    """Message ids that a spout emitted more than once; `most` is how often the worst one came, `worst` its id."""

    spout: str
    ids: int
    emits: int
    most: int
    worst: str


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Forecast:
    """The straight line through the pending map: entries a second, its fit (R2), and when a heap is full.

    `full_in` is None where the map does not grow in a line, or nobody has measured the bytes of an entry.
    """

    per_second: float
    fit: float
    entry_bytes: int | None
    heap: int
    full_in: str | None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class LifeRow:
    """One thing that happened to a root."""

    time_ms: float
    what: str
    component: str
    task: int
    delivery: str
    value: int
    site: str


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Life:
    """A root that did not end well, with its rows in order; `more` were left out."""

    tree: TupleTree
    rows: tuple[LifeRow, ...]
    more: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Quarantined:
    """Rows that nobody could use, with one of them to look at."""

    file: str
    reason: str
    rows: int
    sample: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Books:
    """Where every row that was read went: `rows` = `used` + `continued` + `foreign` + `quarantined`; anything else is told."""

    files: int
    rows: int
    used: int
    continued: int = 0  # lines without a stamp, of the line before them
    foreign: int = 0  # lines of a log that tell nothing of acking, or nothing new
    quarantined: int = 0
    # of `used`: rows that name a component, a rotation, an end or a loss, and tell of no tuple
    silent: int = 0

    @property
    def balanced(self) -> bool:
        """Whether nothing was lost on the way."""
        return self.rows == self.used + self.continued + self.foreign + self.quarantined

    @property
    def useless(self) -> bool:
        """Whether no row tells of acking."""
        return self.used <= self.silent


@dataclass(slots=True, kw_only=True)
class Analysis:
    """All that `ackdoctor analyze` has to say."""

    acker: str  # the version whose acker judged
    books: Books
    tally: RunTally
    findings: tuple[Finding, ...] = ()
    roots: int = 0
    begin_ms: float = 0.0
    end_ms: float = 0.0
    logged: bool = False  # some of it is told by logs, whose times are taken as UTC where they name no zone
    window_ms: int = 1000
    completions: tuple[Completions, ...] = ()
    latencies: tuple[Latency, ...] = ()
    ackers: tuple[AckerLoad, ...] = ()
    trees: tuple[TreeCount, ...] = ()
    holders: tuple[Holder, ...] = ()
    combs: tuple[Comb, ...] = ()
    expired: tuple[Expired, ...] = ()
    deaths: tuple[Deaths, ...] = ()
    messages_dropped: int = 0  # by the connections between workers, as their logs say
    replays: tuple[Replays, ...] = ()
    forecast: Forecast | None = None
    lives: tuple[Life, ...] = ()
    quarantine: tuple[Quarantined, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    files: tuple[str, ...] = ()
    passed_over: tuple[tuple[str, str], ...] = ()  # files that nobody need read, and why
    notes: tuple[str, ...] = ()
    # components that had all in hand that they were ever given, where a log ends, or whose wire was hidden
    unjudged: tuple[str, ...] = ()
    taken: bool = False  # workers that were started anew took something along, which is not judged
    missing: tuple[str, ...] = ()  # tasks of which no log has a line, though others name them
    # roots whose beginning is in no log, where that is more than a log that begins in the middle explains
    unbegun: bool = False
    silent_ackers: bool = False  # logs tell of roots, and no line is an acker's
    # lines that only one of two logs has where both should tell the same, and that are not used
    left_out: int = 0
    written: tuple[str, ...] = field(default=())  # tables under --output-dir

    @property
    def seconds(self) -> float:
        """From the first row to the last."""
        return (self.end_ms - self.begin_ms) / 1000
