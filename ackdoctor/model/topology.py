"""The nouns of a wired topology: what readers find in the files, what lint knows of a component, and the verdict.

A reader turns one way to write a topology into `Topology` objects.  `ComponentFacts` are what the code of one bolt or
spout shows.  The guarantee joins both into a `Verdict`.  What the files do not decide is a `Gap`, never a default.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import NamedTuple, TypeAlias

DEFAULT_STREAM = "default"
_CALL = re.compile(r"[\w.]+(?=\()")
_SCRIPTS = (".py", ".pex", ".js", ".rb", ".php", ".pl", ".sh", ".lua")
UNREAD = "?"  # a stream, grouping or id that the files do not decide

# What a file can set: null, booleans, numbers, strings, and lists and mappings of them; a Gap where it is not decided.
Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | dict[str, Value] | Gap | None"


class Place(NamedTuple):
    """A line of a file; `path` is the path in reports, line 0 is the file as a whole."""

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(slots=True, unsafe_hash=True)
class Gap:
    """Something that the files do not decide: "ackers come from args[2]", and where that is."""

    why: str
    place: Place


# ---- what readers find ----


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Setting:
    """One assignment of a setting, in the framework's own spelling of the key.

    `component` is the id of the component that it applies to, "" for the whole topology.  `effective` is false if
    nothing reads it where it is written; then `why` says so.
    """

    key: str
    value: Value
    place: Place
    component: str = ""
    effective: bool = True
    why: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Node:
    """A component as it is wired.

    `cls` is its class as written, qualified where the file says so ("bolts.count.CountBolt").  `code` is where its class
    starts, if a file of the run has it.  `streams` are the streams that the wiring itself declares, with their fields, or
    None if it declares none.  `arguments` are what the wiring passes to a library class, by the library's own names
    ("processingGuarantee", "maxRetries"), and `given` the lines that do, where they are known.  `unread` says why nothing is known of its code; "" if it is read or known.
    `functions` are those of a Trident stream on the way to the node, since the node before.
    """

    id: str
    role: str  # "spout", "bolt" or "state" (a Trident state)
    cls: str
    place: Place
    code: Place | None = None
    parallelism: int | None = None
    tasks: int | None = None
    streams: Mapping[str, tuple[str, ...] | None] | None = None
    arguments: Mapping[str, Value] = field(default_factory=dict)
    given: Mapping[str, Place] = field(default_factory=dict)
    unread: str = ""
    repeated: bool = False  # one node for all components of a loop
    functions: tuple["Node", ...] = ()

    @property
    def short_class(self) -> str:
        """The class without its package; of a component in another process its script, of a computed class the call."""
        if call := _CALL.search(self.cls):
            return f"{call[0]}(..)"
        return self.cls if self.cls.endswith(_SCRIPTS) else self.cls.rpartition(".")[2]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Edge:
    """A subscription: `target` receives `stream` of `source`."""

    source: str
    target: str
    place: Place
    stream: str = DEFAULT_STREAM
    grouping: str = ""  # "shuffle", "fields(word)", "all", ...


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Defect:
    """A fault of the wiring or the configuration, before it becomes a finding.

    `kind` is one of those in `rules/ACK50*.md`; `sure` is "certain", "likely" or "information".
    """

    kind: str
    sure: str
    place: Place
    why: str
    component: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Topology:
    """One wired topology, on one branch of the code that builds it.

    `kind` names the reader ("streamparse-py", "flux", ...), `framework` the framework and its version as far as the
    files name it ("storm 1.2.4", "heron", ...).  `settings` are in the order in which they apply: the last one of a key wins.
    `branch` is the condition under which this graph and these settings hold, "" if there is only one.  `config` is where the
    submitted configuration object is made, or where its section begins; None if there is none.  `gaps` are what could
    change the graph; a setting or argument that is not decided holds its own gap.  `main` is the program that submits it,
    None if it is read from a function that only other code calls.
    """

    name: str
    kind: str
    framework: str
    place: Place
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    settings: tuple[Setting, ...] = ()
    config: Place | None = None
    branch: str = ""
    gaps: tuple[Gap, ...] = ()
    defects: tuple[Defect, ...] = ()
    main: Place | None = None


# ---- what the code of a component shows ----


@unique
class Anchors(Enum):
    """To which of its causes a bolt anchors an emit."""

    ALL = "all"
    SOME = "some"
    NONE = "none"
    WAIVED = "waived"  # none, and the code says so: `anchors=[]`, auto_anchor = False, an ignore comment
    FRAMEWORK = "framework"
    UNKNOWN = "unknown"


@unique
class OnFail(Enum):
    """What a spout does with a message that failed."""

    REPLAYS = "replays"  # it emits the message again, without a limit
    SOURCE = "source"  # the source delivers it again
    BOUNDED = "bounded"  # it gives up after some attempts
    DEAD_LETTER = "dead-letter"  # it moves the message elsewhere on purpose, at the first failure
    BURIED = "buried"  # it emits the message again, and after some attempts moves it elsewhere on purpose
    NOTHING = "nothing"
    UNKNOWN = "unknown"


@unique
class SourceAck(Enum):
    """When the source of a spout forgets a message."""

    ON_ACK = "on-ack"
    ON_DELIVERY = "on-delivery"  # auto-commit, a pop, an ack before the tuple is complete
    GENERATED = "generated"  # the spout makes its messages itself
    UNKNOWN = "unknown"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Emit:
    """An emit of a component; `has_id` is None if only some paths give an id, or if it is not known."""

    stream: str  # UNREAD if computed
    place: Place
    anchors: Anchors = Anchors.UNKNOWN
    has_id: bool | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ComponentFacts:
    """What the code of one component shows, independent of its wiring.

    `cls` is the qualified class name.  `faults` are the findings about it: rule, confidence word, place, message; those of
    a Trident state hold a reason ("state-forgets-txid") instead of a rule.  `settings` are those of its class.
    """

    cls: str
    role: str
    dialect: str
    place: Place
    emits: tuple[Emit, ...] = ()
    auto_ack: bool | None = None
    completes: bool | None = None  # False: no path acks or fails an input
    acks_early: Place | None = (
        None  # effects of the input happen after its ack (a flush by tick, count or thread)
    )
    keeps: Place | None = None  # data of acked tuples stay in the memory of the bolt
    stateful: bool = False
    windowed: bool = False
    holds: bool = False  # keeps tuples un-acked after the handler returns
    sleep: tuple[float, Place] | None = None  # the longest constant sleep of a handler, in seconds
    linger: tuple[float, Place] | None = (
        None  # a client of the bolt collects records so long before it sends them, in seconds
    )
    batch_size: int | None = None  # a bolt completes no tuple before it holds so many; a constant of its code
    on_fail: OnFail = OnFail.UNKNOWN
    on_fail_place: Place | None = None
    source: str = ""  # "kafka", "redis", "http", ...; "" if not recognised
    source_ack: SourceAck = SourceAck.UNKNOWN
    source_ack_place: Place | None = None
    flushes_at_ticks: bool = False  # a bolt that completes tuples at ticks only
    batch: str = ""  # of a Trident spout or state: "non-transactional", "transactional" or "opaque"
    streams: Mapping[str, tuple[str, ...] | None] | None = None
    settings: tuple[Setting, ...] = ()
    faults: tuple["Fault", ...] = ()


class Fault(NamedTuple):
    """A finding about a component, as far as the guarantee needs it; `ignored` by a comment or the settings.

    `after_catch` is true if the bolt, or a class of the project that it calls, catches the failure.
    """

    code: str
    must: bool
    place: Place
    message: str
    ignored: bool = False
    after_catch: bool = False


# ---- the verdict ----


@unique
class Word(Enum):
    """A guarantee; ordered by `rank`."""

    AT_MOST_ONCE = "at-most-once"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"

    @property
    def rank(self) -> int:
        """0 for the weakest guarantee."""
        return list(Word).index(self)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Reason:
    """A fact that weakens the guarantee; `fact` is one of those in guarantee.py, `sure` false for a *may*."""

    fact: str
    place: Place
    why: str
    component: str = ""
    sure: bool = True
    lowers_to: Word = Word.AT_MOST_ONCE


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Verdict:
    """The guarantee of one topology or one of its paths: the word lies between `lower` and `upper`.

    `may_lose` and `may_repeat` are None if unknown.  `reasons` are all that weaken it, the deciding one first; `gaps` what
    keeps it open.  `death` says what the death of the spout does.  `broken_paths` are the component ids of each path
    that is weaker than at least once.  `notes` are footnotes that change nothing.
    """

    lower: Word
    upper: Word
    may_lose: bool | None
    may_repeat: bool | None
    reasons: tuple[Reason, ...] = ()
    gaps: tuple[Gap, ...] = ()
    death: str = ""
    broken_paths: tuple[tuple[str, ...], ...] = ()
    boundary: str = ""  # "tracking ends at count (count.py:51), on purpose"
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The word for users: "unknown" if both ends differ."""
        return self.lower.value if self.lower is self.upper else "unknown"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Judged:
    """A topology with its verdict, the facts of its components by id, and its defects."""

    topology: Topology
    verdict: Verdict
    facts: Mapping[str, ComponentFacts]
    defects: tuple[Defect, ...] = ()
