"""The types that describe a framework.

A dialect inherits: `derive` copies a description with the given changes, so that a framework states only its differences.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum, unique
from typing import Any, TypeVar

KEEPER = "batch helper"  # in `Dialect.objects`: a class of the framework that keeps tuples and completes them later


@unique
class Kind(Enum):
    """The kind of a component."""

    BOLT = "bolt"
    SPOUT = "spout"


@unique
class EntryKind(Enum):
    """The event for which the framework calls a method."""

    DATA = "data"  # one input tuple (in some dialects ticks come this way too)
    BATCH = "batch"  # a list of input tuples
    TICK = "tick"  # one tick tuple, or no argument
    INIT = "init"
    NEXT = "next"  # spout: emit something
    ACKED = "acked"  # spout: the tree of this id is complete
    FAILED = "failed"  # spout: the tree of this id failed or timed out
    LIFECYCLE = "lifecycle"  # activate, deactivate, close, cleanup


@unique
class VerbKind(Enum):
    """The effect of a framework call."""

    ACK = "ack"
    FAIL = "fail"
    EMIT = "emit"
    EMIT_MANY = "emit-many"
    RESET = "reset-timeout"
    REPORT = "report"  # reports an error; completes nothing
    LOG = "log"
    TICK_TEST = "tick-test"  # tests whether a tuple is a tick
    HEARTBEAT_TEST = "heartbeat-test"  # tests whether it is Storm's heartbeat
    HOLD = "hold"  # an object of the framework gets the tuple and completes it later
    SYNC = "sync"  # answers a heartbeat; completes nothing
    OTHER = "other"


@unique
class Anchoring(Enum):
    """The anchors of an emit without explicit anchors."""

    NONE = "none"
    CURRENT = "current"  # the current tuple or batch, if the auto_anchor switch is on
    FORCED = "forced"  # always the current tuple, also with explicit anchors


@unique
class TickDuty(Enum):
    """Who must complete a tick tuple."""

    FRAMEWORK = "framework"  # the framework always does: completing it by hand is a double completion
    AUTO = "auto"  # completed by the same switch as data tuples
    REQUIRED = "required"  # the component, or one entry leaks per tick
    FORBIDDEN = "forbidden"  # no one: completing it raises an error
    OPTIONAL = "optional"  # harmless either way


@unique
class Moment(Enum):
    """When the framework completes a tuple by itself."""

    RETURN = "return"  # when its handler returns
    EXPIRY = "expiry"  # later, when it leaves the window
    STORED = "stored"  # when it is stored, which may be before its handler runs


@unique
class WireForm(Enum):
    """How `Wire.send` is called."""

    MESSAGE = "message"  # one dict: {"command": "ack", "id": "7"}
    COMMAND = "command"  # the command, then a dict of the rest
    DELEGATE = "delegate"  # a method per verb, with tuples, not ids


@unique
class Misuse(Enum):
    """The mistakes; each dialect states their costs."""

    TWICE = "completed twice"
    MIXED = "acked and failed"
    NEVER = "never completed"
    UNANCHORED = "emitted unanchored"
    LATE_EMIT = "anchored after completion"
    TICK_TWICE = "tick completed twice"
    TICK_NEVER = "tick never completed"
    ANCHOR_SHAPE = "anchors is not a list of tuples"
    ANCHOR_ELEMENT = "anchors holds something that is no tuple"
    ANCHOR_ID = "anchors is an id"
    PAYLOAD_SHAPE = "payload is not a list"
    PAYLOAD_TUPLE = "payload is the input tuple itself"
    PAYLOAD_OPAQUE = "payload cannot be serialised"
    FIELDS = "payload has another number of fields than its stream declares"
    STREAM = "stream is not declared"
    STREAM_TYPE = "stream is not a string"
    SWALLOWED = "exception swallowed"
    STDOUT = "written to stdout"
    STDIN = "read from stdin"
    OFF_THREAD = "completed from another thread"
    EARLY = "completed before the work is done"
    NEVER_RUNS = "the handler's body never runs"
    SUBJECT_ID = "completed by its id"
    ANCHOR_NONE = "anchors is None"
    ANCHOR_IGNORED = "anchors are passed to a class that ignores them"
    EMIT_POSITIONAL = "emitted with a positional argument that must be a keyword"
    NO_MESSAGE_ID = "emitted without a message id"
    SPOUT_COMPLETES = "completed by a spout"
    NEVER_RETURNS = "the call for the next tuple never returns"


@unique
class Price(Enum):
    """A consequence of a misuse; the values are shown to users."""

    KILL = "the worker dies"
    LEAK = "an entry stays in ShellBolt.inputs for the life of the worker"
    TIMEOUT = "the tree times out, and is replayed if its spout emitted it with a message id"
    ZOMBIE = "the acker keeps an entry that can never complete"
    LOSS = "data is lost in silence"
    EXIT = "the component process exits"
    ERROR = "the handler raises"
    NOTHING = "nothing is noticed"


@dataclass(slots=True)
class Cost:
    """The consequences of a misuse in a framework.

    `note` is the exact error text or consequence, in one clause.  Without prices the misuse costs nothing.
    """

    note: str
    prices: tuple[Price, ...]


def cost(note: str, *prices: Price) -> Cost:
    """Describe the consequences of a misuse."""
    return Cost(note, prices)


_Self = TypeVar("_Self", bound="_Derivable")


class _Derivable:
    """A description that others inherit from."""

    __slots__ = ()

    def derive(self: _Self, **changes: Any) -> _Self:  # noqa: PYI019 - Self is in Python 3.11
        """A copy with the given changes; mappings are merged, and a None in one removes its entry."""
        for name, change in changes.items():
            inherited = getattr(self, name)
            if isinstance(inherited, Mapping):
                merged = {**inherited, **change}
                changes[name] = {key: value for key, value in merged.items() if value is not None}
        return replace(self, **changes)  # type: ignore[type-var]


@dataclass(slots=True, eq=False, kw_only=True)
class Switch:
    """A behaviour of the framework: its default, and the class attribute that sets it (None: fixed)."""

    default: bool
    attribute: str | None = None


ON = Switch(default=True)
OFF = Switch(default=False)


@dataclass(slots=True, eq=False, kw_only=True)
class TupleShape(_Derivable):
    """The names of a tuple's attributes and methods.

    `ticks` are the attribute values that only a tick tuple has.
    """

    id: str = "id"
    component: str = "component"
    stream: str = "stream"
    task: str = "task"
    values: str = "values"
    getters: Mapping[str, str] = field(
        default_factory=dict
    )  # methods, with the attribute that each one reads
    keyed: frozenset[str] = frozenset()  # getters that take a field
    fallible: frozenset[str] = frozenset()  # getters that raise if the tuple has another shape
    views: tuple[str, ...] = ()  # methods of a window that return its tuples
    past: tuple[str, ...] = ()  # methods of a window that return tuples the framework has already acked
    tick_names: frozenset[str] = frozenset()  # constants that hold one of the values in `ticks`
    ticks: tuple[tuple[str, object], ...] = (("component", "__system"), ("stream", "__tick"), ("task", -1))


PLAIN = TupleShape()


@dataclass(slots=True, eq=False, kw_only=True)
class Discipline(_Derivable):
    """What the framework does by itself, and what each misuse costs there."""

    auto_ack: Switch = OFF
    auto_fail: Switch = OFF
    auto_anchor: Switch = OFF
    exits: Switch = ON  # an exception that leaves the handler ends the worker
    anchoring: Anchoring = Anchoring.NONE
    tick: TickDuty = TickDuty.OPTIONAL
    ticks_in_data: bool = False  # ticks arrive through the DATA entry
    completion: Moment = Moment.RETURN  # when auto_ack acks
    advisory: bool = False  # completions count only in a reliability mode that is not the default
    replays: str = ""  # spout: the field from which the framework emits failed tuples again
    payload_types: tuple[str, ...] = ()  # the types that emit accepts; () if it does not check
    serializer: str = "json"  # "json", "simplejson", "msgpack", "pickle" or "kryo"
    # a lock protects the messages; the current tuple still belongs to the main thread
    thread_safe: bool = False
    stdout_is_pipe: bool = False
    stdout_waits: bool = False  # in a buffer of 8 kB that messages do not flush
    accepts_id: bool = False  # ack and fail take the id as well as the tuple
    costs: Mapping[Misuse, Cost] = field(default_factory=dict)

    @property
    def prices(self) -> Mapping[Misuse, tuple[Price, ...]]:
        """The prices of each misuse that costs something."""
        return {misuse: cost.prices for misuse, cost in self.costs.items() if cost.prices}

    @property
    def notes(self) -> Mapping[Misuse, str]:
        """The consequence of each misuse, in one clause."""
        return {misuse: cost.note for misuse, cost in self.costs.items()}


@dataclass(slots=True, eq=False)
class Entry:
    """A method that the framework calls; `subject` is the position of the tuple, list or id after self (None: none).

    `takes` are the simple type names of its parameters, in a language with overloads; `params` are the names of those
    that it has beside the tuple or the id.
    """

    method: str
    kind: EntryKind
    _: KW_ONLY
    subject: int | None = 0
    takes: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    off_thread: bool = False  # called from a thread of the framework


def plain_entries(kind: EntryKind, *methods: str) -> tuple[Entry, ...]:
    """Describe methods that the framework calls without a tuple."""
    return tuple(Entry(method, kind, subject=None) for method in methods)


OWN, OF_TUPLE = "self", "tuple"  # values of `Verb.on`


@dataclass(slots=True, eq=False)
class Verb(_Derivable):
    """A call that the framework offers.

    `on` is `OWN` for a method of the component, `OF_TUPLE` for a method of its tuple, which is the `subject`, a name in
    `Dialect.objects` for a method of such an object, else the qualified module ("storm") or class of the function.
    `params` are the formal
    parameters in order, without self; the fields below name one of them, or are None.  Parameters in `keyword_only`
    cannot be passed by position.  For overloads, `types` are the types of the parameters ("text", "number", "tuple",
    "list", or "" for any), and `message_id` names a parameter that another overload may have.
    """

    name: str
    kind: VerbKind
    _: KW_ONLY
    on: str = OWN
    params: tuple[str, ...] = ("tup",)
    types: tuple[str, ...] = ()
    keyword_only: tuple[str, ...] = ()
    subject: str | None = "tup"  # what is completed, tested or emitted
    anchors: str | None = None
    message_id: str | None = None
    direct: str | None = None
    task_ids: str | None = None
    waits: bool = False  # blocks for task ids unless `task_ids` is false
    by_id: bool = False  # ack, fail: takes the id, not the tuple
    breaks: str = ""  # the consequence of any call, if the call never works


@dataclass(slots=True, eq=False, kw_only=True)
class Role(_Derivable):
    """A base class of a framework.

    `classes` are all its qualified names; `by_hand` and `to_fail` begin a sentence that advises.  `owned` maps a
    method that the framework implements itself to what breaks if a subclass overrides it without calling super.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    entries: tuple[Entry, ...]
    verbs: tuple[Verb, ...]
    discipline: Discipline
    owned: Mapping[str, str] = field(default_factory=dict)
    batch_ticks: int = 0  # the default number of ticks that end a batch; 0: none does
    abstract: bool = False  # a base that defines no component by itself
    config_attribute: str | None = None  # the class attribute that may hold the tick frequency
    fields: Mapping[str, str] = field(default_factory=dict)  # inherited fields that hold `Dialect.objects`
    variant: "Variant | None" = None
    by_hand: str = ""  # how to make the framework complete nothing by itself
    to_fail: str = ""  # how code fails a tuple that the framework acks, if the worker lives on


@dataclass(slots=True, eq=False, kw_only=True)
class Variant:
    """The role that replaces another one if the project asks for it.

    The project asks by calling the framework's method `call` on the component or where it is built, or by a method
    `predicate` that returns only true.
    """

    role: Role
    call: str
    predicate: str


@dataclass(slots=True, eq=False, kw_only=True)
class Wire(_Derivable):
    """The functions that the tracer patches, and the framework's own modules and fields; all names are qualified.

    Every command of a component passes one of `send`; every input tuple leaves one of `receive`, and then enters a
    handler.  `completes` and `fails` are functions of the framework that complete tuples after a handler returned or
    raised.  `modules` belong to the framework: the tracer skips their frames.
    """

    form: WireForm
    send: tuple[str, ...]  # "pystorm.component.Component.send_message", "storm.sendMsgToParent"
    receive: tuple[str, ...]
    modules: tuple[str, ...]
    completes: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()  # functions called with a message that cannot be serialised and is dropped
    buffers: tuple[str, ...] = ()  # fields in which the framework keeps tuples
    hands: tuple[str, ...] = ()  # those of `buffers` that are meaningless after the handler returned
    benches: tuple[str, ...] = ()  # modules that drive components in tests, and complete nothing


@dataclass(slots=True, eq=False, kw_only=True)
class Dialect(_Derivable):
    """A framework: how to recognise its modules, and what its base classes do.

    Every source file that imports the framework contains one of the byte strings `words`.  `verbs` are module-level
    functions (storm.emit) of all roles; a role's own verb of the same name and place has priority.  Projects copy
    the module of a `vendored` framework: "storm.Bolt" is then also "<any package>.storm.Bolt", unless another dialect
    has that name.  A dialect that `replaces` another describes an older version, from `since` on, with the same
    classes; it is used only if the configuration names such a version.  `objects` maps the qualified classes of
    objects with verbs to the name in `Verb.on`.  `advice` replaces the words of a rule about a misuse; "{name}" in it is the tuple.
    """

    name: str
    language: str  # "python" or "java"
    title: str  # in sentences: "streamparse", "Storm's storm.py"
    words: tuple[bytes, ...]
    roles: tuple[Role, ...]
    verbs: tuple[Verb, ...] = ()
    shape: TupleShape = PLAIN
    since: tuple[int, ...] = ()  # the first version described
    until: tuple[
        int, ...
    ] = ()  # the last version described, up to these digits; () if a newer dialect follows
    replaces: str = ""
    outputs: str = ""  # the class attribute or the method that declares the output streams
    own_streams: tuple[str, ...] = ()  # that the framework declares for every component
    stream_classes: tuple[str, ...] = ()  # of a declared stream: called with its fields and its name
    default: bool = False  # the framework to suggest if a file imports none
    vendored: bool = False
    python2: bool = False  # runs on Python 2 only
    python2_logs_stdout: bool = False  # print goes to the log on Python 2, also if stdout is the pipe
    tick_settings: tuple[str, ...] = ("topology.tick.tuple.freq.secs",)
    heartbeats: str = (
        ""  # the first version that answers heartbeats itself; older ones pass them to the component
    )
    runners: tuple[str, ...] = ()  # programs that run its components
    acker: str = ""  # the version of the acker that the bench uses; "" for Storm's newest
    objects: Mapping[str, str] = field(default_factory=dict)
    advice: Mapping[Misuse, str] = field(default_factory=dict)
    wire: Wire | None = None

    def verbs_of(self, role: Role) -> tuple[Verb, ...]:
        """The framework calls that a component with this role may make, its own verbs first."""
        return (*role.verbs, *self.verbs)
