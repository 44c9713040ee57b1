"""Petrel 1.0.3: storm.py's functions behind classes that declare their own fields.

Read: AirSage/Petrel petrel/petrel/storm.py, petrel/petrel/emitter.py @ c4be9b7.
Standard output is redirected to a logger.
"""

from collections.abc import Mapping
from typing import TypeVar

from ackdoctor.dialects._shellbolt import BOLT_NOTES, BOLT_PRICES, SPOUT_NOTES, SPOUT_PRICES
from ackdoctor.model.dialect import (
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

_ON = "petrel.storm"
_T = TypeVar("_T")


def _without(rows: Mapping[Misuse, _T], *misuses: Misuse) -> dict[Misuse, _T]:
    return {misuse: row for misuse, row in rows.items() if misuse not in misuses}


_PRICES: Mapping[Misuse, tuple[Price, ...]] = {
    **_without(BOLT_PRICES, Misuse.STDOUT),
    Misuse.SUBJECT_ID: (Price.ERROR,),
    Misuse.ANCHOR_SHAPE: (Price.ERROR,),
    Misuse.ANCHOR_ID: (Price.ERROR,),
    Misuse.ANCHOR_NONE: (Price.ERROR,),
    Misuse.PAYLOAD_SHAPE: (Price.KILL,),
    Misuse.PAYLOAD_TUPLE: (Price.ERROR,),
    Misuse.PAYLOAD_OPAQUE: (Price.ERROR,),
}
_NOTES: Mapping[Misuse, str] = {
    **_without(BOLT_NOTES, Misuse.STDOUT),
    Misuse.SUBJECT_ID: "an id has no attribute id (AttributeError); ackId takes an id",
    Misuse.ANCHOR_SHAPE: "the tuple cannot be iterated: TypeError",
    Misuse.ANCHOR_ID: "a character of the id has no attribute id: AttributeError",
    Misuse.ANCHOR_NONE: "None cannot be iterated: TypeError",
    Misuse.PAYLOAD_SHAPE: "ShellBolt cannot cast it to a list (ClassCastException) and the worker exits",
    Misuse.PAYLOAD_TUPLE: "a Tuple is not JSON serializable: TypeError",
    Misuse.PAYLOAD_OPAQUE: "json.dumps raises TypeError",
}

_BOLT_DISCIPLINE = Discipline(tick=TickDuty.REQUIRED, ticks_in_data=True, prices=_PRICES, notes=_NOTES)
_BASIC_DISCIPLINE = Discipline(
    auto_ack=ON,
    auto_anchor=ON,
    anchoring=Anchoring.FORCED,
    tick=TickDuty.AUTO,
    ticks_in_data=True,
    prices={
        **_without(_PRICES, Misuse.ANCHOR_SHAPE, Misuse.ANCHOR_ID, Misuse.ANCHOR_NONE),
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
    prices={
        **_without(SPOUT_PRICES, Misuse.STDOUT),
        Misuse.PAYLOAD_SHAPE: (Price.KILL,),
        Misuse.PAYLOAD_OPAQUE: (Price.ERROR,),
    },
    notes={
        **_without(SPOUT_NOTES, Misuse.STDOUT),
        Misuse.PAYLOAD_SHAPE: "ShellSpout cannot cast it to a list (ClassCastException) and the worker exits",
        Misuse.PAYLOAD_OPAQUE: "json.dumps raises TypeError",
    },
)

_BOLT_PARAMS = ("tup", "stream", "anchors", "directTask", "need_task_ids")
_SPOUT_PARAMS = ("tup", "stream", "id", "directTask", "need_task_ids")
_BROKEN = "Petrel 1.0 prints a Python list instead of messages, the worker cannot parse it and exits"

_BOLT_EMITS = (
    *(
        Verb(
            name=name,
            kind=VerbKind.EMIT,
            on=_ON,
            params=_BOLT_PARAMS,
            anchors="anchors",
            direct="directTask",
            task_ids="need_task_ids",
        )
        for name in ("emit", "emitBolt")
    ),
    Verb(
        name="emitDirect",
        kind=VerbKind.EMIT,
        on=_ON,
        params=("task", "tup", "stream", "anchors"),
        anchors="anchors",
        direct="task",
    ),
    *(
        Verb(
            name=name,
            kind=VerbKind.EMIT_MANY,
            on=_ON,
            params=("tuples", "stream", "anchors", "directTask"),
            subject="tuples",
            anchors="anchors",
            direct="directTask",
            breaks=_BROKEN,
        )
        for name in ("emitMany", "emitManyBolt")
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
        task_ids="need_task_ids",
    ),
    Verb(
        name="emitDirect",
        kind=VerbKind.EMIT,
        on=_ON,
        params=("task", "tup", "stream", "id"),
        message_id="id",
        direct="task",
    ),
    Verb(
        name="emitMany",
        kind=VerbKind.EMIT_MANY,
        on=_ON,
        params=("tuples", *_SPOUT_PARAMS[1:]),
        subject="tuples",
        message_id="id",
        direct="directTask",
        breaks=_BROKEN,
    ),
)

_BY_HAND = (
    "derive from `Bolt`, anchor each emit and complete each tuple by hand, once on every path, ticks too"
)
_INIT = Entry(method="initialize", kind=EntryKind.INIT, subject=None)
_PROCESS = Entry(method="process", kind=EntryKind.DATA)
_RUN = "the loop that reads, dispatches and completes tuples never runs"

DIALECTS = (
    Dialect(
        name="petrel",
        heartbeats="Petrel 0.9.3.0.2",
        language="python",
        title="Petrel",
        until=(1, 0),
        words=(b"petrel",),
        roles=(
            Role(
                name="Bolt",
                kind=Kind.BOLT,
                classes=("petrel.emitter.Bolt", "petrel.storm.Bolt"),
                entries=(_PROCESS, _INIT),
                verbs=(),
                discipline=_BOLT_DISCIPLINE,
                owned={"run": _RUN},
            ),
            Role(
                name="BasicBolt",
                kind=Kind.BOLT,
                classes=("petrel.emitter.BasicBolt", "petrel.storm.BasicBolt"),
                entries=(_PROCESS, _INIT),
                verbs=(),
                discipline=_BASIC_DISCIPLINE,
                by_hand=_BY_HAND,
                owned={"run": _RUN},
            ),
            Role(
                name="Spout",
                kind=Kind.SPOUT,
                classes=("petrel.emitter.Spout", "petrel.storm.Spout"),
                entries=(
                    Entry(method="nextTuple", kind=EntryKind.NEXT, subject=None),
                    Entry(method="ack", kind=EntryKind.ACKED),
                    Entry(method="fail", kind=EntryKind.FAILED),
                    _INIT,
                ),
                verbs=_SPOUT_EMITS,
                discipline=_SPOUT_DISCIPLINE,
                owned={"run": _RUN},
            ),
        ),
        verbs=(
            Verb(name="ack", kind=VerbKind.ACK, on=_ON),
            Verb(name="ackId", kind=VerbKind.ACK, on=_ON, params=("tupid",), subject="tupid", by_id=True),
            Verb(name="fail", kind=VerbKind.FAIL, on=_ON),
            *_BOLT_EMITS,
            Verb(
                name="emitSpout",
                kind=VerbKind.EMIT,
                on=_ON,
                params=_SPOUT_PARAMS,
                message_id="id",
                direct="directTask",
                task_ids="need_task_ids",
            ),
            Verb(name="reportError", kind=VerbKind.REPORT, on=_ON, params=("msg",), subject=None),
            Verb(name="log", kind=VerbKind.LOG, on=_ON, params=("msg",), subject=None),
            Verb(name="sync", kind=VerbKind.SYNC, on=_ON, params=(), subject=None),
            Verb(name="is_tick_tuple", kind=VerbKind.TICK_TEST, on="tuple", params=(), subject=None),
            Verb(
                name="is_heartbeat_tuple", kind=VerbKind.HEARTBEAT_TEST, on="tuple", params=(), subject=None
            ),
        ),
        wire=Wire(
            form=WireForm.MESSAGE,
            send=("petrel.storm.sendMsgToParent",),
            receive=("petrel.storm.readTuple",),
            modules=("petrel",),
            completes=("petrel.storm.BasicBolt.run",),
            benches=("petrel.mock",),
        ),
    ),
)
