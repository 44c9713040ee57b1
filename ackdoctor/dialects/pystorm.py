"""pystorm 1.0 and later: the multilang library under streamparse 3.

Read: pystorm/pystorm pystorm/bolt.py, spout.py, component.py, serializers/serializer.py @ v3.1.4.
Its roles are shared by `streamparse`.
"""

from ackdoctor.dialects._shellbolt import BOLT_NOTES, BOLT_PRICES, SPOUT_NOTES, SPOUT_PRICES
from ackdoctor.model.dialect import (
    Anchoring,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Price,
    Role,
    Switch,
    TickDuty,
    Verb,
    VerbKind,
    Wire,
    WireForm,
)

__all__ = ["ACK", "BATCHING", "BOLT", "DIALECTS", "FAIL", "RELIABLE", "SPOUT", "TICKLESS", "WIRE"]

# bolt.py:89, 183-214, 315-350, 380-402, 481; component.py:319; serializers/serializer.py:28-38
WIRE = Wire(
    form=WireForm.MESSAGE,
    send=("pystorm.component.Component.send_message",),
    receive=("pystorm.bolt.Bolt.read_tuple",),
    modules=("pystorm",),
    completes=(
        "pystorm.bolt.Bolt._run",
        "pystorm.bolt.BatchingBolt.process_batches",
        "pystorm.bolt.BatchingBolt.process_tick",
        "pystorm.bolt.TicklessBatchingBolt.process_tick",
    ),
    fails=(
        "pystorm.bolt.Bolt._handle_run_exception",
        "pystorm.bolt.BatchingBolt._handle_run_exception",
    ),
    drops=("pystorm.serializers.serializer.log.exception",),
    buffers=("_batches", "_current_tups"),
    hands=("_current_tups",),
)

_PRICES = {
    **BOLT_PRICES,
    Misuse.OFF_THREAD: (Price.LOSS,),
    Misuse.NEVER_RUNS: (Price.LOSS,),
    Misuse.ANCHOR_SHAPE: (Price.KILL,),
    Misuse.ANCHOR_ID: (Price.KILL,),
    Misuse.PAYLOAD_SHAPE: (Price.ERROR,),
    Misuse.PAYLOAD_TUPLE: (Price.LOSS,),
    Misuse.PAYLOAD_OPAQUE: (Price.LOSS,),
}
_NOTES = {
    **BOLT_NOTES,
    Misuse.OFF_THREAD: "an emit without anchors takes whatever tuple the main thread is at, or none",
    Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and the tuple is acked all the same",
    Misuse.ANCHOR_SHAPE: "the tuple's five fields are sent as five anchors and the worker exits",
    Misuse.ANCHOR_ID: "every character of the id is sent as an anchor and the worker exits",
    Misuse.PAYLOAD_SHAPE: "emit raises TypeError: all Tuples must be either lists or tuples",
    Misuse.PAYLOAD_TUPLE: "the five fields of the tuple are emitted instead of its values",
    Misuse.PAYLOAD_OPAQUE: "the serializer logs the error and sends nothing, and the input is acked",
}

_DISCIPLINE = Discipline(
    auto_ack=Switch(default=True, attribute="auto_ack"),
    auto_fail=Switch(default=True, attribute="auto_fail"),
    auto_anchor=Switch(default=True, attribute="auto_anchor"),
    exits=Switch(default=True, attribute="exit_on_exception"),  # component.py:176 @ v3.1.4
    anchoring=Anchoring.CURRENT,
    tick=TickDuty.AUTO,
    thread_safe=True,
    stdout_is_pipe=True,
    accepts_id=True,
    payload_types=("list", "tuple"),
    serializer="simplejson",
    prices=_PRICES,
    notes=_NOTES,
)
_BATCH_DISCIPLINE = Discipline(
    auto_ack=_DISCIPLINE.auto_ack,
    auto_fail=_DISCIPLINE.auto_fail,
    auto_anchor=_DISCIPLINE.auto_anchor,
    exits=_DISCIPLINE.exits,
    anchoring=Anchoring.CURRENT,
    tick=TickDuty.FRAMEWORK,
    thread_safe=True,
    stdout_is_pipe=True,
    accepts_id=True,
    payload_types=("list", "tuple"),
    serializer="simplejson",
    prices={**_PRICES, Misuse.EMIT_POSITIONAL: (Price.ERROR,)},
    notes={
        **_NOTES,
        Misuse.EMIT_POSITIONAL: "emit takes keywords only after the payload and raises TypeError, which fails the batch",
    },
)
_SPOUT_DISCIPLINE = Discipline(
    thread_safe=True,
    stdout_is_pipe=True,
    payload_types=("list", "tuple"),
    serializer="simplejson",
    prices={
        **SPOUT_PRICES,
        Misuse.PAYLOAD_SHAPE: (Price.ERROR,),
        Misuse.PAYLOAD_OPAQUE: (Price.LOSS,),
    },
    notes={
        **SPOUT_NOTES,
        Misuse.PAYLOAD_SHAPE: "emit raises TypeError: all Tuples must be either lists or tuples",
        Misuse.PAYLOAD_OPAQUE: "the serializer logs the error and sends nothing",
    },
)
_RELIABLE_DISCIPLINE = Discipline(
    thread_safe=True,
    stdout_is_pipe=True,
    replays=True,
    payload_types=("list", "tuple"),
    serializer="simplejson",
    prices={**_SPOUT_DISCIPLINE.prices, Misuse.NO_MESSAGE_ID: (Price.ERROR,)},
    notes={
        **_SPOUT_DISCIPLINE.notes,
        Misuse.NO_MESSAGE_ID: "emit raises ValueError: a ReliableSpout tracks by tuple id",
        Misuse.PAYLOAD_OPAQUE: "nothing is sent, but the payload stays in unacked_tuples for ever",
    },
)

ACK = Verb(name="ack", kind=VerbKind.ACK)
FAIL = Verb(name="fail", kind=VerbKind.FAIL)
_REPORTS = (
    Verb(name="raise_exception", kind=VerbKind.REPORT, params=("exception", "tup"), subject=None),
    Verb(name="log", kind=VerbKind.LOG, params=("message", "level"), subject=None),
    Verb(name="report_metric", kind=VerbKind.OTHER, params=("name", "value"), subject=None),
)
_TESTS = (
    Verb(name="is_tick", kind=VerbKind.TICK_TEST),
    Verb(name="is_heartbeat", kind=VerbKind.HEARTBEAT_TEST),
)
_EMIT = Verb(
    name="emit",
    kind=VerbKind.EMIT,
    params=("tup", "stream", "anchors", "direct_task", "need_task_ids"),
    anchors="anchors",
    direct="direct_task",
    task_ids="need_task_ids",
)
_EMIT_BATCH = Verb(
    name="emit",
    kind=VerbKind.EMIT,
    params=("tup", "stream", "anchors", "direct_task", "need_task_ids"),
    keyword_only=("stream", "anchors", "direct_task", "need_task_ids"),
    anchors="anchors",
    direct="direct_task",
)
_EMIT_SPOUT = Verb(
    name="emit",
    kind=VerbKind.EMIT,
    params=("tup", "tup_id", "stream", "direct_task", "need_task_ids"),
    message_id="tup_id",
    direct="direct_task",
    task_ids="need_task_ids",
)

_BY_HAND = "set `auto_ack = False` on the class and complete each tuple by hand, once on every path"
_INIT = Entry(method="initialize", kind=EntryKind.INIT, subject=None)
_RUN = "the loop that reads, dispatches and completes tuples never runs"
_SPOUT_ENTRIES = (
    Entry(method="next_tuple", kind=EntryKind.NEXT, subject=None),
    Entry(method="ack", kind=EntryKind.ACKED),
    Entry(method="fail", kind=EntryKind.FAILED),
    Entry(method="activate", kind=EntryKind.LIFE, subject=None),
    Entry(method="deactivate", kind=EntryKind.LIFE, subject=None),
    _INIT,
)
_BATCH_VERBS = (
    ACK,
    FAIL,
    _EMIT_BATCH,
    *_REPORTS,
    *_TESTS,
    Verb(name="process_batches", kind=VerbKind.OTHER, params=(), subject=None),
)

BOLT = Role(
    name="Bolt",
    kind=Kind.BOLT,
    classes=("pystorm.Bolt", "pystorm.bolt.Bolt"),
    entries=(
        Entry(method="process", kind=EntryKind.DATA),
        Entry(method="process_tick", kind=EntryKind.TICK),
        _INIT,
    ),
    verbs=(ACK, FAIL, _EMIT, *_REPORTS, *_TESTS),
    discipline=_DISCIPLINE,
    owned={"run": _RUN, "_run": _RUN},
    by_hand=f"{_BY_HAND}, ticks too",
)
BATCHING = Role(
    name="BatchingBolt",
    kind=Kind.BOLT,
    classes=("pystorm.BatchingBolt", "pystorm.bolt.BatchingBolt"),
    entries=(Entry(method="process_batch", kind=EntryKind.BATCH, subject=1), _INIT),
    verbs=_BATCH_VERBS,
    discipline=_BATCH_DISCIPLINE,
    owned={
        "process": "tuples are neither batched nor acked",
        "process_tick": "ticks are not acked and no batch is ever processed",
        "process_batches": "batches are not acked",
        "run": _RUN,
        "_run": _RUN,
    },
    by_hand=_BY_HAND,
    batch_ticks=2,  # ticks_between_batches = 1, and the tick after that (bolt.py:273, 328 @ pystorm 3.1.4)
)
TICKLESS = Role(
    name="TicklessBatchingBolt",
    kind=Kind.BOLT,
    classes=("pystorm.TicklessBatchingBolt", "pystorm.bolt.TicklessBatchingBolt"),
    entries=(Entry(method="process_batch", kind=EntryKind.BATCH, subject=1, off_thread=True), _INIT),
    verbs=_BATCH_VERBS,
    discipline=_BATCH_DISCIPLINE,
    owned={
        "process": "tuples are neither batched nor acked",
        "process_tick": "ticks are not acked",
        "process_batches": "batches are not acked",
        "run": _RUN,
        "_run": _RUN,
    },
    by_hand=_BY_HAND,
)
SPOUT = Role(
    name="Spout",
    kind=Kind.SPOUT,
    classes=("pystorm.Spout", "pystorm.spout.Spout"),
    entries=_SPOUT_ENTRIES,
    verbs=(_EMIT_SPOUT, *_REPORTS),
    discipline=_SPOUT_DISCIPLINE,
    owned={"run": _RUN, "_run": _RUN},
)
RELIABLE = Role(
    name="ReliableSpout",
    kind=Kind.SPOUT,
    classes=("pystorm.ReliableSpout", "pystorm.spout.ReliableSpout"),
    entries=_SPOUT_ENTRIES,
    verbs=(_EMIT_SPOUT, *_REPORTS),
    discipline=_RELIABLE_DISCIPLINE,
    owned={
        "ack": "unacked_tuples is never emptied",
        "fail": "failed tuples are not replayed",
        "emit": "nothing is tracked, so nothing is replayed",
        "run": _RUN,
        "_run": _RUN,
    },
)

DIALECTS = (
    Dialect(
        name="pystorm",
        language="python",
        title="pystorm",
        since=(1,),
        until=(3,),
        words=(b"pystorm",),
        python2_logs_stdout=True,  # component.py replaces sys.stdout by a LogStream
        roles=(BOLT, BATCHING, TICKLESS, SPOUT, RELIABLE),
        wire=WIRE,
    ),
)
