"""pyleus 0.3.0, and 0.1 and 0.2 by the same names.

Read: Yelp/pyleus pyleus/storm/__init__.py, bolt.py, spout.py, component.py, pyleus/json_fields_bolt.py
@ v0.3.0; pyleus/storm.py @ v0.1.10.  The docstring of
SimpleBolt says that it fails tuples; its code never does.
"""

from ackdoctor.dialects._shellbolt import BOLT_NOTES, BOLT_PRICES, SPOUT_NOTES, SPOUT_PRICES
from ackdoctor.model.dialect import (
    ON,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Price,
    Role,
    TickDuty,
    TupleShape,
    Verb,
    VerbKind,
    Wire,
    WireForm,
)

__all__ = ["DIALECTS"]

_PRICES = {
    **BOLT_PRICES,
    Misuse.SUBJECT_ID: (Price.ERROR,),
    Misuse.ANCHOR_SHAPE: (Price.ERROR,),
    Misuse.ANCHOR_ID: (Price.ERROR,),
    Misuse.PAYLOAD_SHAPE: (Price.ERROR,),
    Misuse.PAYLOAD_TUPLE: (Price.LOSS,),
    Misuse.PAYLOAD_OPAQUE: (Price.ERROR,),
}
_NOTES = {
    **BOLT_NOTES,
    Misuse.SUBJECT_ID: "an id has no attribute id: AttributeError",
    Misuse.ANCHOR_SHAPE: "the fields of the tuple have no attribute id: AttributeError",
    Misuse.ANCHOR_ID: "a character of the id has no attribute id: AttributeError",
    Misuse.PAYLOAD_SHAPE: "emit asserts a list or a tuple: AssertionError",
    Misuse.PAYLOAD_TUPLE: "the five fields of the tuple are emitted instead of its values",
    Misuse.PAYLOAD_OPAQUE: "the serializer raises TypeError",
}

_BOLT_DISCIPLINE = Discipline(
    tick=TickDuty.REQUIRED,
    ticks_in_data=True,
    stdout_is_pipe=True,
    payload_types=("list", "tuple"),
    serializer="msgpack",
    prices=_PRICES,
    notes=_NOTES,
)
_SIMPLE_DISCIPLINE = Discipline(
    auto_ack=ON,
    tick=TickDuty.AUTO,
    stdout_is_pipe=True,
    payload_types=("list", "tuple"),
    serializer="msgpack",
    prices={**_PRICES, Misuse.NEVER_RUNS: (Price.LOSS,)},
    notes={
        **_NOTES,
        Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and the tuple is acked all the same",
    },
)
_SPOUT_DISCIPLINE = Discipline(
    stdout_is_pipe=True,
    payload_types=("list", "tuple"),
    serializer="msgpack",
    prices={
        **SPOUT_PRICES,
        Misuse.PAYLOAD_SHAPE: (Price.ERROR,),
        Misuse.PAYLOAD_OPAQUE: (Price.ERROR,),
    },
    notes={
        **SPOUT_NOTES,
        Misuse.PAYLOAD_SHAPE: "emit asserts a list or a tuple: AssertionError",
        Misuse.PAYLOAD_OPAQUE: "the serializer raises TypeError",
    },
)

_REPORTS = (
    Verb(name="error", kind=VerbKind.REPORT, params=("msg",), subject=None),
    Verb(name="log", kind=VerbKind.LOG, params=("msg", "level"), subject=None),
    *(
        Verb(name=name, kind=VerbKind.LOG, params=("msg",), subject=None)
        for name in ("log_trace", "log_debug", "log_info", "log_warn", "log_error")
    ),
)
_BOLT_VERBS = (
    Verb(name="ack", kind=VerbKind.ACK),
    Verb(name="fail", kind=VerbKind.FAIL),
    Verb(
        name="emit",
        kind=VerbKind.EMIT,
        params=("values", "stream", "anchors", "direct_task", "need_task_ids"),
        subject="values",
        anchors="anchors",
        direct="direct_task",
        task_ids="need_task_ids",
        waits=True,
    ),
    Verb(name="sync", kind=VerbKind.SYNC, params=(), subject=None),
    *_REPORTS,
)

_BY_HAND = "derive from `Bolt` and complete each tuple by hand, once on every path, ticks too"
_INIT = Entry(method="initialize", kind=EntryKind.INIT, subject=None)
_TICK = Entry(method="process_tick", kind=EntryKind.TICK, subject=None)
_RUN = "the loop that reads, dispatches and completes tuples never runs"
_BOLT_OWNED = {"run": _RUN, "run_component": _RUN, "_process_tuple": "heartbeats are not answered"}
_SIMPLE_OWNED = {**_BOLT_OWNED, "_process_tuple": "heartbeats are not answered and nothing is acked"}

DIALECTS = (
    Dialect(
        name="pyleus",
        language="python",
        title="pyleus",
        until=(0, 3),
        words=(b"pyleus",),
        python2=True,  # setup.py:85 @ v0.3.0
        roles=(
            Role(
                name="Bolt",
                kind=Kind.BOLT,
                classes=("pyleus.storm.Bolt", "pyleus.storm.bolt.Bolt"),
                entries=(Entry(method="process_tuple", kind=EntryKind.DATA), _INIT),
                verbs=_BOLT_VERBS,
                discipline=_BOLT_DISCIPLINE,
                owned=_BOLT_OWNED,
            ),
            Role(
                name="SimpleBolt",
                kind=Kind.BOLT,
                classes=("pyleus.storm.SimpleBolt", "pyleus.storm.bolt.SimpleBolt"),
                entries=(Entry(method="process_tuple", kind=EntryKind.DATA), _TICK, _INIT),
                verbs=_BOLT_VERBS,
                discipline=_SIMPLE_DISCIPLINE,
                by_hand=_BY_HAND,
                owned=_SIMPLE_OWNED,
            ),
            Role(
                name="JSONFieldsBolt",
                kind=Kind.BOLT,
                classes=("pyleus.json_fields_bolt.JSONFieldsBolt",),
                entries=(Entry(method="extract_fields", kind=EntryKind.DATA, subject=None), _TICK, _INIT),
                verbs=_BOLT_VERBS,
                discipline=_SIMPLE_DISCIPLINE,
                by_hand=_BY_HAND,
                owned={**_SIMPLE_OWNED, "process_tuple": "extract_fields is never called"},
            ),
            Role(
                name="Spout",
                kind=Kind.SPOUT,
                classes=("pyleus.storm.Spout", "pyleus.storm.spout.Spout"),
                entries=(
                    Entry(method="next_tuple", kind=EntryKind.NEXT, subject=None),
                    Entry(method="ack", kind=EntryKind.ACKED),
                    Entry(method="fail", kind=EntryKind.FAILED),
                    _INIT,
                ),
                verbs=(
                    Verb(
                        name="emit",
                        kind=VerbKind.EMIT,
                        params=("values", "stream", "tup_id", "direct_task", "need_task_ids"),
                        subject="values",
                        message_id="tup_id",
                        direct="direct_task",
                        task_ids="need_task_ids",
                        waits=True,
                    ),
                    *_REPORTS,
                ),
                discipline=_SPOUT_DISCIPLINE,
                owned={"run": _RUN, "run_component": _RUN},
            ),
        ),
        verbs=(
            Verb(name="is_tick", kind=VerbKind.TICK_TEST, on="pyleus.storm"),
            Verb(name="is_heartbeat", kind=VerbKind.HEARTBEAT_TEST, on="pyleus.storm"),
        ),
        shape=TupleShape(component="comp", ticks=(("comp", "__system"), ("stream", "__tick"), ("task", -1))),
        tick_settings=("tick_freq_secs", "topology.tick.tuple.freq.secs"),
        wire=Wire(
            form=WireForm.COMMAND,
            send=("pyleus.storm.component.Component.send_command",),
            receive=("pyleus.storm.component.Component.read_tuple",),
            modules=("pyleus",),
            completes=("pyleus.storm.bolt.SimpleBolt._process_tuple",),
        ),
    ),
)
