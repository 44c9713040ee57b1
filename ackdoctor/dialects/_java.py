"""What Storm's Java interface is made of, and Heron's and JStorm's copies of it: calls, entries, tuples.

Read: apache/storm storm-client/src/jvm/org/apache/storm/task/OutputCollector.java, spout/SpoutOutputCollector.java,
topology/BasicOutputCollector.java, topology/BasicBoltExecutor.java, topology/WindowedBoltExecutor.java,
topology/StatefulBoltExecutor.java, tuple/{ITuple,Tuple}.java, windowing/Window.java, utils/TupleUtils.java,
Constants.java @ v2.8.8.
"""

from collections.abc import Mapping

from ackdoctor.model.dialect import Entry, EntryKind, Misuse, TupleShape, Verb, VerbKind

__all__ = [
    "ADVICE",
    "BASIC_BOLT",
    "BOLT",
    "BY_HAND",
    "COLLECTOR",
    "SHAPE",
    "SPOUT",
    "STATEFUL_BOLT",
    "STATEFUL_WINDOWED_BOLT",
    "TICK_AWARE_BOLT",
    "TO_FAIL",
    "VERBS",
    "WINDOWED_BOLT",
    "objects",
    "tick_tests",
]

COLLECTOR, _BASIC, _SPOUT_COLLECTOR = "OutputCollector", "BasicOutputCollector", "SpoutOutputCollector"

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
SHAPE = TupleShape(
    id="",
    getters=_READS,
    keyed=_KEYED,
    fallible=frozenset(name for name in _READS if name.startswith("get") and _READS[name] == "values")
    - {"getValues", "getFields", "getMessageId"},
    views=("get", "getNew", "getIter"),
    past=("getExpired",),
    ticks=(("component", "__system"), ("stream", "__tick"), ("task", -1)),
    tick_names=frozenset({"SYSTEM_COMPONENT_ID", "SYSTEM_TICK_STREAM_ID", "SYSTEM_FLUSH_STREAM_ID"}),
)


def objects(package: str, *, tasks: str, spouts: str, topology: str, tuples: str) -> Mapping[str, str]:
    """The classes by which a collector or tuple is declared in a framework whose packages these are."""
    return {
        f"{package}.{folder}.{name}": kind
        for folder, names, kind in (
            (tasks, ("OutputCollector", "IOutputCollector"), COLLECTOR),
            (topology, ("BasicOutputCollector", "IBasicOutputCollector"), _BASIC),
            (tasks, ("IBasicOutputCollector",), _BASIC),
            (spouts, ("SpoutOutputCollector", "ISpoutOutputCollector"), _SPOUT_COLLECTOR),
            (tuples, ("Tuple", "TupleImpl"), "tuple"),
        )
        for name in names
    }


# ---- calls ----

_TAKES = {"taskId": "number", "streamId": "text", "anchor": "tuple", "anchors": "list", "tuple": "list"}


def _emit(on: str, params: tuple[str, ...], extra: str = "") -> Verb:
    """One overload of an emit: it is direct where a task is its first parameter."""
    direct = params[0] == "taskId"
    given = "anchor" if "anchor" in params else "anchors"
    return Verb(
        name="emitDirect" if direct else "emit",
        kind=VerbKind.EMIT,
        on=on,
        params=params,
        types=tuple(_TAKES.get(param, "") for param in params),
        subject="tuple",
        anchors=given if on == COLLECTOR and given in params else None,
        message_id=extra or None,
        direct="taskId" if direct else None,
    )


def _emits(on: str, *forms: str, extra: str = "") -> tuple[Verb, ...]:
    plain = [tuple(form.split()) for form in forms]
    return tuple(_emit(on, params, extra) for params in (*plain, *(("taskId", *params) for params in plain)))


_REPORTS = tuple(
    Verb(name="reportError", kind=VerbKind.REPORT, on=on, params=("error",), subject=None)
    for on in (COLLECTOR, _BASIC, _SPOUT_COLLECTOR)
)
_OTHERS = tuple(
    Verb(name=name, kind=VerbKind.OTHER, on=on, params=(), subject=None)
    for on, name in (
        (COLLECTOR, "flush"),
        (_SPOUT_COLLECTOR, "flush"),
        (_SPOUT_COLLECTOR, "getPendingCount"),
        (_BASIC, "setContext"),
    )
)

VERBS = (
    Verb(name="ack", kind=VerbKind.ACK, on=COLLECTOR, params=("input",), subject="input"),
    Verb(name="fail", kind=VerbKind.FAIL, on=COLLECTOR, params=("input",), subject="input"),
    Verb(name="resetTimeout", kind=VerbKind.RESET, on=COLLECTOR, params=("input",), subject="input"),
    Verb(name="resetTimeout", kind=VerbKind.RESET, on=_BASIC, params=("input",), subject="input"),
    *_emits(
        COLLECTOR,
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
        extra="messageId",
    ),
    *_REPORTS,
    *_OTHERS,
)


def tick_tests(package: str) -> tuple[Verb, ...]:
    """The framework's own question whether a tuple is a tick."""
    return (Verb(name="isTick", kind=VerbKind.TICK_TEST, on=f"{package}.TupleUtils", params=("tup",)),)


# ---- entries ----

_PREPARE = Entry(method="prepare", kind=EntryKind.INIT, subject=None)
_CLEANUP = Entry(method="cleanup", kind=EntryKind.LIFE, subject=None)
_STATE = tuple(
    Entry(method=name, kind=EntryKind.LIFE, subject=None)
    for name in ("initState", "preCommit", "prePrepare", "preRollback")
)

BOLT = (Entry(method="execute", kind=EntryKind.DATA, takes=("Tuple",)), _PREPARE, _CLEANUP)
BASIC_BOLT = (
    Entry(method="execute", kind=EntryKind.DATA, takes=("Tuple", "BasicOutputCollector")),
    _PREPARE,
    _CLEANUP,
)
TICK_AWARE_BOLT = (
    Entry(method="process", kind=EntryKind.DATA, takes=("Tuple",)),
    Entry(method="onTickTuple", kind=EntryKind.TICK, takes=("Tuple",)),
    _PREPARE,
    _CLEANUP,
)
WINDOWED_BOLT = (Entry(method="execute", kind=EntryKind.BATCH, takes=("TupleWindow",)), _PREPARE, _CLEANUP)
STATEFUL_BOLT = (*BOLT, *_STATE)
STATEFUL_WINDOWED_BOLT = (*WINDOWED_BOLT, *_STATE)
SPOUT = (
    Entry(method="nextTuple", kind=EntryKind.NEXT, subject=None),
    Entry(method="ack", kind=EntryKind.ACKED, takes=("Object",)),
    Entry(method="fail", kind=EntryKind.FAILED, takes=("Object",)),
    Entry(method="open", kind=EntryKind.INIT, subject=None),
    *(
        Entry(method=name, kind=EntryKind.LIFE, subject=None)
        for name in ("activate", "deactivate", "close", "initState")
    ),
)

_ONCE = "anchor each emit and complete each tuple by hand, once on every path"
BY_HAND = {
    "BasicBolt": f"derive from `BaseRichBolt`, {_ONCE}",
    "WindowedBolt": f"derive from `BaseRichBolt`, keep the window yourself, {_ONCE}",
    "StatefulWindowedBolt": f"derive from `BaseStatefulBolt`, keep the window yourself, {_ONCE}",
}
TO_FAIL = {"BasicBolt": "throw a `FailedException`"}

ADVICE = {
    Misuse.UNANCHORED: "give `{name}` as the argument before the values; an emit that needs no replay may stay as it is",
    Misuse.NO_MESSAGE_ID: "give what the source knows the record by as the last argument, and send it again in `fail`, a few times at most",
}
