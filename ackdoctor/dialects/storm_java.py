"""Apache Storm's Java interface: org.apache.storm, from 1.0 on, and backtype.storm before, which JStorm uses too.

Read: apache/storm storm-client/src/jvm/org/apache/storm/task/OutputCollector.java, spout/SpoutOutputCollector.java,
topology/{BasicOutputCollector,BasicBoltExecutor,WindowedBoltExecutor,StatefulBoltExecutor,PersistentWindowedBoltExecutor,base/*}.java,
tuple/{ITuple,Tuple}.java, windowing/Window.java, utils/TupleUtils.java, Constants.java, daemon/Acker.java,
executor/bolt/BoltOutputCollectorImpl.java @ v2.8.8, acker.clj @ v1.1.0, docs/Concepts.md (thread-safe collector)
@ v1.0.0 and v2.8.8.

No bridge dies of a mistake in Java: the acker's arithmetic goes wrong, as `tests/acker/truth_table.py` shows.  How long
the acker keeps an entry that cannot complete depends on the version (`ackdoctor/model/acker.py`): it never rotates
its map in 1.0.0 to 1.0.5, 1.1.0 and 1.1.1; otherwise it does every topology.message.timeout.secs, and entries live
for two rotations in 1.x and for three in 2.x.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ackdoctor.model.dialect import (
    KEEPER,
    OFF,
    ON,
    Anchoring,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Moment,
    Price,
    Role,
    TickDuty,
    TupleShape,
    Variant,
    Verb,
    VerbKind,
    cost,
    plain_entries,
)

_ROOT = "org.apache.storm"
UNTIL_RESTART = "until its worker restarts"

# ---- what mistakes cost ----

LOSSES = {  # in every framework
    Misuse.UNANCHORED: cost("a failure downstream is never replayed", Price.LOSS),
    Misuse.SWALLOWED: cost("the spout sees an ack for a tuple whose work was not done", Price.LOSS),
    Misuse.EARLY: cost("a failure after the ack is never replayed", Price.LOSS),
}
UNDECLARED = {  # TupleImpl.java:56, Task.java:160 @ v2.8.8; TupleImpl.java:52, task.clj:148 @ v1.1.0
    Misuse.FIELDS: cost(
        "if a bolt reads the stream, Storm 1.x throws IllegalArgumentException and the worker exits, as does 2.x in local "
        "mode; a Storm 2.x cluster sends the tuple as it is",
        Price.KILL,
        Price.LOSS,
    ),
    Misuse.STREAM: cost(
        "Storm 2.x throws IllegalArgumentException and the worker exits; Storm 1.x sends nothing",
        Price.KILL,
        Price.LOSS,
    ),
}
UNDECLARED_1 = {  # before Storm 2.0
    Misuse.FIELDS: cost(
        "if a bolt reads the stream, Storm throws IllegalArgumentException and the worker exits", Price.KILL
    ),
    Misuse.STREAM: cost("Storm finds no reader of that stream and sends nothing", Price.LOSS),
}
UNTRACKED = cost("Storm does not track the tuple and will never call ack or fail for it", Price.LOSS)


def _bolt(lifetime: str) -> Discipline:
    """A bolt that acks by hand; `lifetime` is how long the acker keeps an entry that cannot complete."""
    return Discipline(
        tick=TickDuty.OPTIONAL,
        ticks_in_data=True,
        serializer="kryo",
        thread_safe=True,
        costs={
            **LOSSES,
            **UNDECLARED,
            Misuse.TWICE: cost(
                "while its tree is open the acker's entry can never become zero again, and its tree times out; "
                f"after that the second ack makes an orphan entry, kept {lifetime}",
                Price.ZOMBIE,
                Price.TIMEOUT,
            ),
            Misuse.MIXED: cost(
                "the spout gets one of the two, perhaps an ack for work that failed, and the other makes an orphan "
                f"entry in the acker, kept {lifetime}",
                Price.ZOMBIE,
                Price.LOSS,
            ),
            Misuse.NEVER: cost(
                "its tree times out, and is replayed if its spout emitted it with a message id", Price.TIMEOUT
            ),
            Misuse.LATE_EMIT: cost(
                "its tree may be complete already, and a failure downstream is lost silently, or it can never "
                f"become zero and times out; the late acks make an orphan entry, kept {lifetime}",
                Price.LOSS,
                Price.ZOMBIE,
                Price.TIMEOUT,
            ),
        },
    )


def _basic(lifetime: str) -> Discipline:
    """A bolt whose executor anchors and acks, and fails the tuple only for a FailedException."""
    return _bolt(lifetime).derive(
        auto_ack=ON,
        auto_anchor=ON,
        anchoring=Anchoring.FORCED,
        tick=TickDuty.AUTO,
        costs={
            Misuse.OFF_THREAD: cost(
                "the emit is anchored to the executor's current tuple, or to its last one, which is "
                "acked: a failure downstream replays another tuple, or none",
                Price.LOSS,
            )
        },
    )


def _windowed(lifetime: str) -> Discipline:
    """A bolt whose tuples are acked when they leave the window, before the handler gets them as expired."""
    return _bolt(lifetime).derive(
        auto_ack=ON,
        auto_anchor=ON,
        anchoring=Anchoring.CURRENT,
        tick=TickDuty.FRAMEWORK,
        ticks_in_data=False,
        completion=Moment.EXPIRY,
        costs={
            Misuse.OFF_THREAD: cost(
                "the emit is anchored to the executor's current window: a failure downstream replays "
                "other tuples, or none",
                Price.LOSS,
            )
        },
    )


def _stateful_window(lifetime: str) -> Discipline:
    """A windowed bolt that acks at the checkpoint, and that may be persistent although its class does not say so."""
    windowed = _windowed(lifetime)
    twice = windowed.costs[Misuse.TWICE]
    note = f"{twice.note}; under withPersistence() it would do nothing"
    return windowed.derive(costs={Misuse.TWICE: cost(note, *twice.prices)})


def _persistent(lifetime: str) -> Discipline:
    """A windowed bolt whose tuples are acked at the checkpoint that stores them, and whose emits have no anchor.

    Its collector ignores acks and passes fails on (PersistentWindowedBoltExecutor.java:133-140,208-212,237-246 @ v2.8.8).
    """
    return _windowed(lifetime).derive(
        auto_anchor=OFF,
        anchoring=Anchoring.NONE,
        completion=Moment.STORED,
        costs={
            Misuse.TWICE: cost("no effect: the collector of a persistent window ignores acks"),
            Misuse.MIXED: cost(
                "the spout gets a fail although the stored window has the tuple, and the checkpoint still acks it: "
                f"an orphan entry in the acker, kept {lifetime}",
                Price.ZOMBIE,
            ),
            Misuse.SWALLOWED: cost(
                "the window is stored and its tuples are acked although their work was not done", Price.LOSS
            ),
            **dict.fromkeys((Misuse.NEVER, Misuse.UNANCHORED, Misuse.EARLY, Misuse.OFF_THREAD)),
        },
    )


def _stateful(lifetime: str) -> Discipline:
    """A bolt that acks at the checkpoint; an emit without anchor throws."""
    throws = "a stateful bolt's collector throws UnsupportedOperationException, which ends the worker"
    return _bolt(lifetime).derive(costs={Misuse.UNANCHORED: cost(throws, Price.KILL)})


_SPOUT = Discipline(  # its collector belongs to the thread that calls nextTuple
    serializer="kryo",
    costs={
        **UNDECLARED,
        Misuse.NO_MESSAGE_ID: UNTRACKED,
        Misuse.OFF_THREAD: cost(
            "a SpoutOutputCollector is not thread-safe: tuples and their pending entries can get lost",
            Price.LOSS,
        ),
        Misuse.NEVER_RETURNS: cost(
            "the same thread handles ack, fail and timeouts, which never come, so its pending map only grows",
            Price.TIMEOUT,
        ),
    },
)

# ---- tuples ----

_COLLECTOR, _BASIC, _SPOUT_COLLECTOR = "OutputCollector", "BasicOutputCollector", "SpoutOutputCollector"

_KINDS = "Value String Integer Long Boolean Short Byte Double Float Binary".split()
_KEYED = frozenset(f"get{kind}{how}" for kind in _KINDS for how in ("", "ByField"))
_READS = {
    **dict.fromkeys(sorted(_KEYED), "values"),
    **dict.fromkeys(("getValues", "getFields", "select", "size", "contains", "fieldIndex"), "values"),
    "getSourceComponent": "component",
    "getSourceStreamId": "stream",
    "getSourceTask": "task",
    "getSourceGlobalStreamId": "values",
    "getSourceGlobalStreamid": "values",
    "getMessageId": "values",
    "getContext": "values",
}
_SHAPE = TupleShape(
    id="",
    getters=_READS,
    keyed=_KEYED,
    fallible=frozenset(name for name in _READS if name.startswith("get") and _READS[name] == "values")
    - {"getValues", "getFields", "getMessageId"},
    views=("get", "getNew", "getIter"),
    past=("getExpired",),
    tick_names=frozenset({"SYSTEM_COMPONENT_ID", "SYSTEM_TICK_STREAM_ID", "SYSTEM_FLUSH_STREAM_ID"}),
)


def objects(root: str, *, tasks: str, spouts: str, topology: str, windows: bool = True) -> Mapping[str, str]:
    """The classes of collectors, tuples and windows in a framework, by its root package and their subpackages."""
    found = {
        f"{root}.{folder}.{name}": kind
        for folder, names, kind in (
            (tasks, ("OutputCollector", "IOutputCollector"), _COLLECTOR),
            (topology, ("BasicOutputCollector", "IBasicOutputCollector"), _BASIC),
            (tasks, ("IBasicOutputCollector",), _BASIC),
            (spouts, ("SpoutOutputCollector", "ISpoutOutputCollector"), _SPOUT_COLLECTOR),
            ("tuple", ("Tuple", "TupleImpl"), "tuple"),
        )
        for name in names
    }
    found[f"{root}.utils.BatchHelper"] = _BATCH_HELPER
    return {**found, f"{root}.windowing.TupleWindow": "window"} if windows else found


# ---- calls ----

_BATCH_HELPER = KEEPER  # utils/BatchHelper.java @ v2.8.8
_TAKES = {"taskId": "number", "streamId": "text", "anchor": "tuple", "anchors": "list", "tuple": "list"}


def _emits(on: str, *overloads: str, message_id: str | None = None) -> tuple[Verb, ...]:
    """The overloads of emit, and those of emitDirect, which take a task first."""
    forms = [tuple(overload.split()) for overload in overloads]
    return tuple(
        Verb(
            "emitDirect" if params[0] == "taskId" else "emit",
            VerbKind.EMIT,
            on=on,
            params=params,
            types=tuple(_TAKES.get(param, "") for param in params),
            subject="tuple",
            anchors=next((param for param in ("anchor", "anchors") if param in params), None),
            message_id=message_id,
            direct="taskId" if params[0] == "taskId" else None,
        )
        for params in (*forms, *(("taskId", *form) for form in forms))
    )


_ON_INPUT = {VerbKind.ACK: "ack", VerbKind.FAIL: "fail", VerbKind.RESET: "resetTimeout"}
_OTHERS = (
    (_COLLECTOR, "flush"),
    (_SPOUT_COLLECTOR, "flush"),
    (_SPOUT_COLLECTOR, "getPendingCount"),
    (_BASIC, "setContext"),
)
_VERBS = (
    *(
        Verb(name, VerbKind.HOLD, on=_BATCH_HELPER, params=("tuple",), subject="tuple")
        for name in ("shouldHandle", "addBatch")
    ),
    *(
        Verb(name, kind, on=_COLLECTOR, params=("input",), subject="input")
        for kind, name in _ON_INPUT.items()
    ),
    Verb("resetTimeout", VerbKind.RESET, on=_BASIC, params=("input",), subject="input"),
    *_emits(
        _COLLECTOR,
        "tuple",
        "streamId tuple",
        "anchor tuple",
        "anchors tuple",
        "streamId anchor tuple",
        "streamId anchors tuple",
    ),
    *_emits(_BASIC, "tuple", "streamId tuple"),
    *_emits(
        _SPOUT_COLLECTOR,
        "tuple",
        "streamId tuple",
        "tuple messageId",
        "streamId tuple messageId",
        message_id="messageId",
    ),
    *(
        Verb("reportError", VerbKind.REPORT, on=on, params=("error",), subject=None)
        for on in (_COLLECTOR, _BASIC, _SPOUT_COLLECTOR)
    ),
    *(Verb(name, VerbKind.OTHER, on=on, params=(), subject=None) for on, name in _OTHERS),
)


def verbs(*roots: str) -> tuple[Verb, ...]:
    """The calls of a framework by its root packages."""
    tests = (Verb("isTick", VerbKind.TICK_TEST, on=f"{root}.utils.TupleUtils") for root in roots)
    return (*_VERBS, *tests)


# ---- entries and roles ----


_LIFECYCLE = (*plain_entries(EntryKind.INIT, "prepare"), *plain_entries(EntryKind.LIFECYCLE, "cleanup"))
_STATE = plain_entries(EntryKind.LIFECYCLE, "initState", "preCommit", "prePrepare", "preRollback")
_EXECUTE = (Entry("execute", EntryKind.DATA, takes=("Tuple",)), *_LIFECYCLE)
_EXECUTE_BASIC = (Entry("execute", EntryKind.DATA, takes=("Tuple", "BasicOutputCollector")), *_LIFECYCLE)
_EXECUTE_WINDOW = (Entry("execute", EntryKind.BATCH, takes=("TupleWindow",)), *_LIFECYCLE)
_PROCESS = (
    Entry("process", EntryKind.DATA, takes=("Tuple",)),
    Entry("onTickTuple", EntryKind.TICK, takes=("Tuple",)),
    *_LIFECYCLE,
)
_NEXT_TUPLE = (
    *plain_entries(EntryKind.NEXT, "nextTuple"),
    Entry("ack", EntryKind.ACKED, takes=("Object",)),
    Entry("fail", EntryKind.FAILED, takes=("Object",)),
    *plain_entries(EntryKind.INIT, "open"),
    *plain_entries(EntryKind.LIFECYCLE, "activate", "deactivate", "close", "initState"),
)
_CLIENTS = "redis.bolt.AbstractRedisBolt jdbc.bolt.AbstractJdbcBolt"
# StormCrawler's bases: StatusEmitterBolt.java and AbstractIndexerBolt.java @ 384e98c5; up to 2.11 in com.digitalpebble
_CRAWLERS = ("org.apache.stormcrawler", "com.digitalpebble.stormcrawler")
_EMITTERS = " ".join(f"{root}.bolt.StatusEmitterBolt" for root in _CRAWLERS)
_INDEXERS = " ".join(f"{root}.indexing.AbstractIndexerBolt" for root in _CRAWLERS)
_WRITERS = f"hbase.bolt.AbstractHBaseBolt mongodb.bolt.AbstractMongoBolt {_EMITTERS} {_INDEXERS}"
_ONCE = "anchor each emit and complete each tuple by hand, once on every path"


def _role(name: str, classes: str, entries: tuple[Entry, ...], discipline: Discipline, **more: Any) -> Role:
    return Role(
        name=name,
        kind=Kind.SPOUT if name == "Spout" else Kind.BOLT,
        classes=tuple(
            path if path.startswith(("com.", "org.")) else f"{_ROOT}.{path}" for path in classes.split()
        ),
        entries=entries,
        verbs=(),
        discipline=discipline,
        **more,
    )


def roles(lifetime: str, *, persistence: bool = False) -> tuple[Role, ...]:
    """The base classes; with `persistence` a stateful window may keep its tuples in the state as well, as from 2.0 on."""
    bolt, collector = _bolt(lifetime), {"collector": _COLLECTOR}
    tick_aware = bolt.derive(ticks_in_data=False)
    rich = f"derive from `BaseRichBolt`, {_ONCE}"
    window = f"derive from `BaseRichBolt`, keep the window yourself, {_ONCE}"
    stateful_window = _role(
        "StatefulWindowedBolt",
        "topology.base.BaseStatefulWindowedBolt topology.IStatefulWindowedBolt",
        (*_EXECUTE_WINDOW, *_STATE),
        _windowed(lifetime),
        by_hand=window.replace("BaseRichBolt", "BaseStatefulBolt"),
    )
    if persistence:
        persistent = stateful_window.derive(name="PersistentWindowedBolt", discipline=_persistent(lifetime))
        stateful_window = stateful_window.derive(
            discipline=_stateful_window(lifetime),
            variant=Variant(role=persistent, call="withPersistence", predicate="isPersistent"),
        )
    base = "topology.base.Base"
    found = (
        _role("Bolt", f"{base}RichBolt topology.IRichBolt task.IBolt", _EXECUTE, bolt),
        _role("TickAwareBolt", f"{base}TickTupleAwareRichBolt", _PROCESS, tick_aware),
        _role("ClientBolt", _CLIENTS, _PROCESS, tick_aware, fields=collector),
        _role("WriterBolt", _WRITERS, _EXECUTE, bolt, fields=collector),
        _role(
            "BasicBolt",
            f"{base}BasicBolt topology.IBasicBolt",
            _EXECUTE_BASIC,
            _basic(lifetime),
            by_hand=rich,
            to_fail="throw a `FailedException`",
        ),
        _role(
            "WindowedBolt",
            f"{base}WindowedBolt topology.IWindowedBolt",
            _EXECUTE_WINDOW,
            _windowed(lifetime),
            by_hand=window,
        ),
        _role(
            "StatefulBolt",
            f"{base}StatefulBolt topology.IStatefulBolt",
            (*_EXECUTE, *_STATE),
            _stateful(lifetime),
        ),
        stateful_window,
        _role("Spout", f"{base}RichSpout topology.IRichSpout spout.ISpout", _NEXT_TUPLE, _SPOUT),
    )
    if persistence:
        return found
    return tuple(role.derive(discipline=role.discipline.derive(costs=UNDECLARED_1)) for role in found)


STORM = Dialect(
    name="storm_java",
    language="java",
    title="Storm",
    since=(2, 0),
    until=(2,),
    words=(b"org.apache.storm", b"digitalpebble.stormcrawler"),
    default=True,
    roles=roles("for two to three timeouts", persistence=True),
    verbs=verbs(_ROOT),
    shape=_SHAPE,
    outputs="declareOutputFields",
    objects=objects(_ROOT, tasks="task", spouts="spout", topology="topology"),
    advice={
        Misuse.UNANCHORED: "give `{name}` as the argument before the values; an emit that needs no replay may stay as it is",
        Misuse.NO_MESSAGE_ID: "pass the source's key of the record as the last argument, and send the record again in `fail`, a few times at most",
    },
    tick_settings=("topology.tick.tuple.freq.secs", "TOPOLOGY_TICK_TUPLE_FREQ_SECS"),
)

_OLDER = (
    ("storm_java_1_2", (1, 1, 2), "for one to two timeouts"),
    ("storm_java_1_1", (1, 1), UNTIL_RESTART),
    ("storm_java_1_0_6", (1, 0, 6), "for one to two timeouts"),
    ("storm_java_1_0", (1, 0), UNTIL_RESTART),
)

# ---- up to 0.10, and JStorm ----
# Storm's acker of 0.9 and 0.10 never rotates its map: an entry that nothing completes stays until the worker restarts.
# Its collector belongs to the thread that calls execute (docs/Concepts.md and Troubleshooting.md @ v0.9.7, v0.10.2).
# JStorm 2 rotates three buckets every half timeout while messages come, drops a fail for an unknown root, and forgets
# child edges that are older than about a timeout (alibaba/jstorm BoltCollector.java, Acker.java @ 0e22855).

_OLD_ROOT = "backtype.storm"
_OLD_ROLES = ("Bolt", "BasicBolt", "Spout")
_CALLBACKS = (
    "com.alibaba.jstorm.client.spout.IAckValueSpout",
    "com.alibaba.jstorm.client.spout.IFailValueSpout",
)


def _one_thread(role: Role) -> Discipline:
    if role.kind is Kind.SPOUT:
        return role.discipline
    off_thread = cost(
        "the collector belongs to the thread that calls execute: two threads that use it cause a NullPointerException inside "
        "Storm, which ends the worker",
        Price.KILL,
    )
    return role.discipline.derive(thread_safe=False, costs={Misuse.OFF_THREAD: off_thread})


def _jstorm(role: Role) -> Discipline:
    """JStorm calls ack and fail on another thread, unless `spout.single.thread` (jstorm-core Task.java @ 0e22855)."""
    # TupleImpl.java:53 @ 0e22855: the check is commented out
    fields = cost("JStorm sends the tuple as it is", Price.LOSS)
    costs = {Misuse.FIELDS: fields, Misuse.STREAM: None}
    if role.kind is Kind.SPOUT:
        return role.discipline.derive(costs={**costs, Misuse.NEVER_RETURNS: None})
    twice = cost(
        "the second ack sends the tuple's bare id: while its tree is open it can never become zero and "
        "times out; after that an orphan entry stays for one to one and a half timeouts",
        Price.ZOMBIE,
        Price.TIMEOUT,
    )
    mixed = cost(
        "the spout gets one of the two, perhaps an ack for work that failed; a fail for a tree that the "
        "acker does not know is dropped, an ack makes an orphan entry",
        Price.ZOMBIE,
        Price.LOSS,
    )
    return role.discipline.derive(costs={**costs, Misuse.TWICE: twice, Misuse.MIXED: mixed})


def _old_role(role: Role, discipline: Discipline) -> Role:
    classes = tuple(name.replace("org.apache.storm", _OLD_ROOT) for name in role.classes)
    return role.derive(
        classes=(*classes, *_CALLBACKS) if role.kind is Kind.SPOUT else classes, discipline=discipline
    )


def _inherited(lifetime: str) -> tuple[Role, ...]:
    return tuple(role for role in roles(lifetime) if role.name in _OLD_ROLES)


_BACKTYPE = replace(
    STORM,
    name="backtype_storm",
    since=(0, 8),
    until=(0, 10),
    words=(b"backtype.storm", b"com.alibaba.jstorm"),
    default=False,
    roles=tuple(_old_role(role, _one_thread(role)) for role in _inherited(UNTIL_RESTART)),
    verbs=verbs(_OLD_ROOT),
    objects=objects(_OLD_ROOT, tasks="task", spouts="spout", topology="topology", windows=False),
    own_streams=("WATERMARK",),  # JStorm's, backtype/storm/topology/TopologyBuilder.java:464 @ 0e22855
)

DIALECTS = (
    STORM,
    *(
        STORM.derive(name=name, replaces=STORM.name, since=since, until=(), roles=roles(lifetime))
        for name, since, lifetime in _OLDER
    ),
    _BACKTYPE,
    _BACKTYPE.derive(
        name="jstorm",
        title="JStorm",
        replaces=_BACKTYPE.name,
        since=(2, 0),
        until=(2,),
        roles=tuple(
            _old_role(role, _jstorm(role)) for role in _inherited("for one to one and a half timeouts")
        ),
    ),
)
