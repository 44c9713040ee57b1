"""storm.py, the module that Storm ships for Python components and that projects copy into their resources.

Read: apache/storm storm-multilang/python/src/main/resources/resources/storm.py @ v2.8.8, and
storm-core/src/multilang/py/storm.py @ v0.9.2 and v0.9.3.
BasicBolt fails a tuple whose processing raised only since 0.9.3.
"""

from collections.abc import Mapping

from ackdoctor.dialects._shellbolt import BOLT_NOTES, BOLT_PRICES, SPOUT_NOTES, SPOUT_PRICES
from ackdoctor.model.dialect import (
    OFF,
    ON,
    Anchoring,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Price,
    Role,
    TickDuty,
    Verb,
    VerbKind,
    Wire,
    WireForm,
)

__all__ = ["DIALECTS"]

_ON = "storm"

_PRICES: Mapping[Misuse, tuple[Price, ...]] = {
    **BOLT_PRICES,
    Misuse.SUBJECT_ID: (Price.ERROR,),
    Misuse.ANCHOR_SHAPE: (Price.ERROR,),
    Misuse.ANCHOR_ID: (Price.ERROR,),
    Misuse.ANCHOR_NONE: (Price.ERROR,),
    Misuse.PAYLOAD_SHAPE: (Price.KILL,),
    Misuse.PAYLOAD_TUPLE: (Price.ERROR,),
    Misuse.PAYLOAD_OPAQUE: (Price.ERROR,),
}
_NOTES = {
    **BOLT_NOTES,
    Misuse.SUBJECT_ID: "an id has no attribute id: AttributeError",
    Misuse.ANCHOR_SHAPE: "the tuple cannot be iterated: TypeError",
    Misuse.ANCHOR_ID: "a character of the id has no attribute id: AttributeError",
    Misuse.ANCHOR_NONE: "None cannot be iterated: TypeError",
    Misuse.PAYLOAD_SHAPE: "ShellBolt cannot cast it to a list (ClassCastException) and the worker exits",
    Misuse.PAYLOAD_TUPLE: "a Tuple is not JSON serializable: TypeError",
    Misuse.PAYLOAD_OPAQUE: "json.dumps raises TypeError",
}
_BASIC_PRICES: Mapping[Misuse, tuple[Price, ...]] = {
    misuse: price
    for misuse, price in _PRICES.items()
    if misuse not in (Misuse.ANCHOR_SHAPE, Misuse.ANCHOR_ID, Misuse.ANCHOR_NONE)
}

_BOLT_DISCIPLINE = Discipline(
    tick=TickDuty.REQUIRED,
    ticks_in_data=True,
    stdout_is_pipe=True,
    serializer="simplejson",
    prices=_PRICES,
    notes=_NOTES,
)
_BASIC_DISCIPLINE = Discipline(
    auto_ack=ON,
    auto_fail=ON,
    auto_anchor=ON,
    exits=OFF,  # storm.py:231-258 @ v2.8.8; up to 0.9.2 an exception ends the process
    anchoring=Anchoring.FORCED,
    tick=TickDuty.AUTO,
    ticks_in_data=True,
    stdout_is_pipe=True,
    serializer="simplejson",
    prices={
        **_BASIC_PRICES,
        Misuse.ANCHOR_IGNORED: (Price.NOTHING,),
        Misuse.NEVER_RUNS: (Price.LOSS,),
    },
    notes={
        **_NOTES,
        Misuse.ANCHOR_IGNORED: "BasicBolt anchors to its input tuple, whatever anchors says",
        Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and the tuple is acked all the same",
    },
)
_SPOUT_DISCIPLINE = Discipline(
    stdout_is_pipe=True,
    serializer="simplejson",
    prices={
        **SPOUT_PRICES,
        Misuse.PAYLOAD_SHAPE: (Price.KILL,),
        Misuse.PAYLOAD_OPAQUE: (Price.ERROR,),
    },
    notes={
        **SPOUT_NOTES,
        Misuse.PAYLOAD_SHAPE: "ShellSpout cannot cast it to a list (ClassCastException) and the worker exits",
        Misuse.PAYLOAD_OPAQUE: "json.dumps raises TypeError",
    },
)

_BOLT_PARAMS = ("tup", "stream", "anchors", "directTask")
_SPOUT_PARAMS = ("tup", "stream", "id", "directTask")

_BOLT_EMITS = (
    Verb(
        name="emit",
        kind=VerbKind.EMIT,
        on=_ON,
        params=_BOLT_PARAMS,
        anchors="anchors",
        direct="directTask",
        waits=True,
    ),
    Verb(
        name="emitDirect",
        kind=VerbKind.EMIT,
        on=_ON,
        params=("task", "tup", "stream", "anchors"),
        anchors="anchors",
        direct="task",
    ),
    Verb(
        name="emitBolt",
        kind=VerbKind.EMIT,
        on=_ON,
        params=_BOLT_PARAMS,
        anchors="anchors",
        direct="directTask",
    ),
)
_SPOUT_EMITS = (
    Verb(
        name="emit",
        kind=VerbKind.EMIT,
        on=_ON,
        params=_SPOUT_PARAMS,
        message_id="id",
        direct="directTask",
        waits=True,
    ),
    Verb(
        name="emitDirect",
        kind=VerbKind.EMIT,
        on=_ON,
        params=("task", "tup", "stream", "id"),
        message_id="id",
        direct="task",
    ),
)
_EMIT_SPOUT = Verb(
    name="emitSpout", kind=VerbKind.EMIT, on=_ON, params=_SPOUT_PARAMS, message_id="id", direct="directTask"
)
_LOGS = tuple(
    Verb(name=name, kind=VerbKind.LOG, on=_ON, params=("msg",), subject=None)
    for name in ("logTrace", "logDebug", "logInfo", "logWarn", "logError")
)

_BY_HAND = (
    "derive from `Bolt`, anchor each emit and complete each tuple by hand, once on every path, ticks too"
)
_INIT = Entry(method="initialize", kind=EntryKind.INIT, subject=None)
_PROCESS = Entry(method="process", kind=EntryKind.DATA)
_RUN = "the loop that reads, dispatches and completes tuples never runs"

DIALECTS = (
    Dialect(
        name="storm_py",
        heartbeats="the storm.py of Storm 0.9.3",
        language="python",
        title="Storm's storm.py",
        until=(2,),
        words=(b"storm",),
        vendored=True,
        roles=(
            Role(
                name="Bolt",
                kind=Kind.BOLT,
                classes=("storm.Bolt",),
                entries=(_PROCESS, _INIT),
                verbs=(),
                discipline=_BOLT_DISCIPLINE,
                owned={"run": _RUN},
            ),
            Role(
                name="BasicBolt",
                kind=Kind.BOLT,
                classes=("storm.BasicBolt",),
                entries=(_PROCESS, _INIT),
                verbs=(),
                discipline=_BASIC_DISCIPLINE,
                by_hand=_BY_HAND,
                to_fail="raise an exception",
                owned={"run": _RUN},
            ),
            Role(
                name="Spout",
                kind=Kind.SPOUT,
                classes=("storm.Spout",),
                entries=(
                    Entry(method="nextTuple", kind=EntryKind.NEXT, subject=None),
                    Entry(method="ack", kind=EntryKind.ACKED),
                    Entry(method="fail", kind=EntryKind.FAILED),
                    Entry(method="activate", kind=EntryKind.LIFE, subject=None),
                    Entry(method="deactivate", kind=EntryKind.LIFE, subject=None),
                    _INIT,
                ),
                verbs=_SPOUT_EMITS,
                discipline=_SPOUT_DISCIPLINE,
                owned={"run": _RUN},
            ),
        ),
        verbs=(
            Verb(name="ack", kind=VerbKind.ACK, on=_ON),
            Verb(name="fail", kind=VerbKind.FAIL, on=_ON),
            *_BOLT_EMITS,
            _EMIT_SPOUT,
            Verb(name="reportError", kind=VerbKind.REPORT, on=_ON, params=("msg",), subject=None),
            Verb(name="log", kind=VerbKind.LOG, on=_ON, params=("msg", "level"), subject=None),
            *_LOGS,
            Verb(name="rpcMetrics", kind=VerbKind.OTHER, on=_ON, params=("name", "params"), subject=None),
            Verb(name="sync", kind=VerbKind.SYNC, on=_ON, params=(), subject=None),
            Verb(
                name="is_heartbeat_tuple", kind=VerbKind.HEARTBEAT_TEST, on="tuple", params=(), subject=None
            ),
        ),
        wire=Wire(
            form=WireForm.MESSAGE,
            send=("storm.sendMsgToParent",),
            receive=("storm.readTuple",),
            modules=("storm",),
            completes=("storm.BasicBolt.run",),
        ),
    ),
)
