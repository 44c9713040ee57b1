"""The shape of what we know about a framework: data, no behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, unique

__all__ = [
    "OFF",
    "ON",
    "PLAIN",
    "Anchoring",
    "Dialect",
    "Discipline",
    "Entry",
    "EntryKind",
    "Kind",
    "Misuse",
    "Moment",
    "Price",
    "Role",
    "Switch",
    "TickDuty",
    "TupleShape",
    "Variant",
    "Verb",
    "VerbKind",
    "Wire",
    "WireForm",
]


@unique
class Kind(Enum):
    """What a component is."""

    BOLT = "bolt"
    SPOUT = "spout"


@unique
class EntryKind(Enum):
    """What the framework calls a method for."""

    DATA = "data"  # one input tuple (in some dialects ticks come this way too)
    BATCH = "batch"  # a list of input tuples
    TICK = "tick"  # one tick tuple, or nothing (pyleus SimpleBolt)
    INIT = "init"
    NEXT = "next"  # spout: emit something
    ACKED = "acked"  # spout: this id is done
    FAILED = "failed"  # spout: this id has failed
    LIFE = "life"  # activate, deactivate, close, cleanup


@unique
class VerbKind(Enum):
    """What a framework call does."""

    ACK = "ack"
    FAIL = "fail"
    EMIT = "emit"
    EMIT_MANY = "emit-many"
    RESET = "reset-timeout"
    REPORT = "report"  # reports an error; completes nothing
    LOG = "log"
    TICK_TEST = "tick-test"  # asks whether a tuple is a tick
    HEARTBEAT_TEST = "heartbeat-test"  # asks whether it is Storm's heartbeat
    SYNC = "sync"  # answers a heartbeat; completes nothing
    OTHER = "other"


@unique
class Anchoring(Enum):
    """What an emit is anchored to when the code names no anchor."""

    NONE = "none"
    CURRENT = "current"  # the current tuple or batch, if the auto_anchor switch is on
    FORCED = "forced"  # the current tuple, whatever the code names


@unique
class TickDuty(Enum):
    """Who must complete a tick tuple."""

    FRAMEWORK = "framework"  # the framework always does: by hand is a double completion
    AUTO = "auto"  # completed by the same switch as data tuples
    REQUIRED = "required"  # by hand, or one entry leaks per tick
    FORBIDDEN = "forbidden"  # completing it is an error of its own (heronpy)
    OPTIONAL = "optional"  # harmless either way (Java)


@unique
class Moment(Enum):
    """When the framework completes a tuple by itself."""

    RETURN = "return"  # as soon as the handler that got it returns
    EXPIRY = "expiry"  # some time later, when it has left the window
    STORED = "stored"  # once it is written down, which may be before the handler gets it


@unique
class WireForm(Enum):
    """How `Wire.send` is called."""

    MESSAGE = "message"  # one dict: {"command": "ack", "id": "7"}
    COMMAND = "command"  # the command, then a dict of the rest
    DELEGATE = "delegate"  # a method per verb, with tuples, not ids


@unique
class Misuse(Enum):
    """What can be done wrong; what it costs is each dialect's to say."""

    TWICE = "completed twice"
    MIXED = "acked and failed"
    NEVER = "never completed"
    UNANCHORED = "emitted unanchored"
    LATE_EMIT = "anchored after completion"
    TICK_TWICE = "tick completed twice"
    TICK_NEVER = "tick never completed"
    ANCHOR_SHAPE = "anchors is no list of tuples"
    ANCHOR_ID = "anchors is an id"
    PAYLOAD_SHAPE = "payload is no list"
    PAYLOAD_TUPLE = "payload is the input tuple itself"
    PAYLOAD_OPAQUE = "payload cannot be serialised"
    SWALLOWED = "exception swallowed"
    STDOUT = "written to stdout"
    OFF_THREAD = "completed from another thread"
    EARLY = "completed before the work is done"
    NEVER_RUNS = "the handler's body never runs"
    SUBJECT_ID = "completed by its id"
    ANCHOR_NONE = "anchors is None"
    ANCHOR_IGNORED = "anchors are given to a class that ignores them"
    EMIT_POSITIONAL = "emitted with a positional argument that must be a keyword"
    NO_MESSAGE_ID = "emitted without a message id"
    SPOUT_COMPLETES = "completed by a spout"
    NEVER_RETURNS = "the call for the next tuple never returns"


@unique
class Price(Enum):
    """What a misuse costs; the values say it to a reader."""

    KILL = "the worker dies"
    LEAK = "an entry stays in ShellBolt.inputs for the life of the worker"
    TIMEOUT = "the tree times out, and is replayed if its spout emitted it with a message id"
    ZOMBIE = "the acker keeps an entry that can never complete"
    LOSS = "data is lost in silence"
    EXIT = "the component process exits"
    ERROR = "the handler raises"
    NOTHING = "nothing is noticed"


@dataclass(slots=True, eq=False, kw_only=True)
class Switch:
    """A behaviour of the framework: `default`, and the class attribute that turns it (None: fixed)."""

    default: bool
    attribute: str | None = None


ON = Switch(default=True)
OFF = Switch(default=False)


@dataclass(slots=True, eq=False, kw_only=True)
class TupleShape:
    """What a handler's tuple calls its attributes.

    `ticks` are the attribute values that only a tick tuple has.
    """

    id: str = "id"
    component: str = "component"
    stream: str = "stream"
    task: str = "task"
    values: str = "values"
    getters: Mapping[str, str] = field(default_factory=dict)  # its methods, and what each of them reads
    keyed: frozenset[str] = frozenset()  # the getters that must be told which field
    fallible: frozenset[str] = frozenset()  # the getters that raise where the tuple is not as expected
    views: tuple[str, ...] = ()  # methods of a window that give its tuples
    past: tuple[str, ...] = ()  # methods of a window that give tuples the framework has already acked
    tick_names: frozenset[str] = frozenset()  # constants that hold one of the values in `ticks`
    ticks: tuple[tuple[str, object], ...] = (("component", "__system"), ("stream", "__tick"), ("task", -1))


PLAIN = TupleShape()


@dataclass(slots=True, eq=False, kw_only=True)
class Discipline:
    """What the framework does by itself, and what it does not forgive; a misuse without a price costs nothing there."""

    auto_ack: Switch = OFF
    auto_fail: Switch = OFF
    auto_anchor: Switch = OFF
    exits: Switch = ON  # an exception that leaves the handler ends the worker
    anchoring: Anchoring = Anchoring.NONE
    tick: TickDuty = TickDuty.OPTIONAL
    ticks_in_data: bool = False  # ticks arrive through the DATA entry
    completion: Moment = Moment.RETURN  # when auto_ack acks
    advisory: bool = False  # completions count only in a reliability mode that is not the default
    replays: bool = False  # spout: failed tuples are emitted again by the framework
    payload_types: tuple[str, ...] = ()  # what emit accepts; () where it does not look
    serializer: str = "json"  # what a payload must survive: "json", "simplejson", "msgpack" or "pickle"
    # messages are written under a lock; the current tuple is still the main thread's
    thread_safe: bool = False
    stdout_is_pipe: bool = False
    accepts_id: bool = False  # ack/fail take the id as well as the tuple
    prices: Mapping[Misuse, tuple[Price, ...]] = field(default_factory=dict)
    notes: Mapping[Misuse, str] = field(
        default_factory=dict
    )  # the exact error text or consequence, one clause


@dataclass(slots=True, eq=False, kw_only=True)
class Entry:
    """A method that the framework calls; `subject` is the position of the tuple, list or id after self (None: none).

    `takes` are the simple names of its parameters' types, in a language that tells methods of one name apart by them.
    """

    method: str
    kind: EntryKind
    subject: int | None = 0
    takes: tuple[str, ...] = ()
    off_thread: bool = False  # called from a thread of the framework's own


@dataclass(slots=True, eq=False, kw_only=True)
class Verb:
    """A call the framework offers.

    `on` is "self" for a method of the component, "tuple" for a method of the tuple it receives, a name among
    `Dialect.objects` for a method of such an object, else the qualified module ("storm") or class whose function
    it is.  `params` are the formal parameters in order, after self; the fields below name one of
    them, or None where the call has no such thing.  `keyword_only` parameters are refused by position.
    Where several calls share one name, `types` says what each parameter takes ("text", "number", "tuple",
    "list", or "" for anything), and `message_id` names a parameter that another of them may have.
    """

    name: str
    kind: VerbKind
    on: str = "self"
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
    breaks: str = ""  # what happens whenever it is called, where it never works


@dataclass(slots=True, eq=False, kw_only=True)
class Role:
    """One base class of a framework.

    `classes` are all qualified names it is reached by; `by_hand` and `to_fail` begin a sentence that advises.  `owned` maps a method that the framework
    implements itself to what breaks when a subclass overrides it and does not call super.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    entries: tuple[Entry, ...]
    verbs: tuple[Verb, ...]
    discipline: Discipline
    owned: Mapping[str, str] = field(default_factory=dict)
    batch_ticks: int = 0  # how many ticks end a batch unless the component says otherwise; 0: none does
    abstract: bool = False  # a base that defines no component by itself
    config_attribute: str | None = None  # the class attribute that may hold the tick frequency
    fields: Mapping[str, str] = field(default_factory=dict)  # inherited fields that hold `Dialect.objects`
    variant: "Variant | None" = None
    by_hand: str = ""  # what to do so that the framework completes nothing by itself
    to_fail: str = ""  # how code fails a tuple that the framework acks, where the worker lives on


@dataclass(slots=True, eq=False, kw_only=True)
class Variant:
    """What a role becomes where the project asks for it.

    It is asked for by `call`, a method of the framework's that is called on the component or on a new one as it is
    built, or by a method of its own, `predicate`, that returns nothing but true.
    """

    role: Role
    call: str
    predicate: str


@dataclass(slots=True, eq=False, kw_only=True)
class Wire:
    """Where a framework's messages cross, for the tracer; all names are qualified.

    Every command of a component passes one of `send`; every input tuple leaves one of `receive`, and then
    enters a handler.  `completes` and `fails` are functions of the framework that complete tuples by
    themselves, after a handler has returned and after it has raised; `modules` are its own, whose frames
    are never the author's.
    """

    form: WireForm
    send: tuple[str, ...]  # "pystorm.component.Component.send_message", "storm.sendMsgToParent"
    receive: tuple[str, ...]
    modules: tuple[str, ...]
    completes: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()  # what is called with a message that the serializer cannot write, and drops
    buffers: tuple[str, ...] = ()  # fields in which the framework itself keeps tuples
    hands: tuple[str, ...] = ()  # those of `buffers` that mean nothing once the handler has returned
    benches: tuple[str, ...] = ()  # modules that tests drive components with, which complete nothing


@dataclass(slots=True, eq=False, kw_only=True)
class Dialect:
    """A framework: how its modules are recognised and what its base classes promise.

    `words` are byte strings one of which every source file that imports the framework contains.
    `verbs` are module-level functions (storm.emit) shared by all roles; a role's own verb of the same
    name and place goes first.  A `vendored` framework is a module that projects copy: "storm.Bolt" is
    also reached as "<any package>.storm.Bolt", unless another dialect has that name.  A dialect that
    `replaces` another describes an older version of it, from `since` on: it has the same class paths
    and is left out until the configuration names such a version.  Where calls are made on objects that the
    framework hands out, `objects` maps the qualified classes by which those are declared to the name that
    verbs know them by.  `own` is what a method calls its own component, and `advice` says what to do about
    a misuse where the words of a rule would not fit; "{name}" in it is the tuple.
    """

    name: str
    language: str  # "python" or "java"
    title: str  # as a sentence names it: "streamparse", "Storm's storm.py"
    words: tuple[bytes, ...]
    roles: tuple[Role, ...]
    verbs: tuple[Verb, ...] = ()
    shape: TupleShape = PLAIN
    since: tuple[int, ...] = ()  # the first version described
    # the last one, as far as these digits go; () for one that a newer one follows
    until: tuple[int, ...] = ()
    replaces: str = ""
    vendored: bool = False
    python2: bool = False  # runs on no other Python
    # on Python 2 what is printed goes to the log, also where stdout is the pipe
    python2_logs_stdout: bool = False
    tick_settings: tuple[str, ...] = ("topology.tick.tuple.freq.secs",)
    heartbeats: str = (
        ""  # the versions that answer heartbeats, where an older one hands them to the component
    )
    own: str = "self"
    objects: Mapping[str, str] = field(default_factory=dict)
    advice: Mapping[Misuse, str] = field(default_factory=dict)
    wire: Wire | None = None
