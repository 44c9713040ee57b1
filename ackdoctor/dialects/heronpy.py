"""heronpy 0.15 and later, and pyheron 0.14: Heron's Python interface, without a pipe and without auto_ack.

Read: apache/incubator-heron heronpy/api/bolt/base_bolt.py, bolt.py, window_bolt.py,
api/spout/base_spout.py, heron/instance/src/python/basics/bolt_instance.py, utils/tuple.py @ 1c5779d;
heron/pyheron/src/python @ 0.14.9; heron/api/src/python @ 0.15.0.
Completions reach the stream manager only in ATLEAST_ONCE, which is not the default.
"""

from dataclasses import replace

from ackdoctor.model.dialect import (
    ON,
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
    Verb,
    VerbKind,
    Wire,
    WireForm,
)

__all__ = ["DIALECTS"]

_NEW = "heronpy.api"
_OLD = ("heron.api.src.python", "heron.pyheron.src.python", "pyheron")

_PRICES = {
    Misuse.TWICE: (Price.TIMEOUT,),
    Misuse.MIXED: (Price.NOTHING,),
    Misuse.NEVER: (Price.TIMEOUT,),
    Misuse.UNANCHORED: (Price.LOSS,),
    Misuse.LATE_EMIT: (Price.LOSS, Price.TIMEOUT),
    Misuse.TICK_TWICE: (Price.EXIT,),
    Misuse.ANCHOR_SHAPE: (Price.LOSS,),
    Misuse.ANCHOR_ID: (Price.LOSS,),
    Misuse.SUBJECT_ID: (Price.TIMEOUT,),
    Misuse.PAYLOAD_SHAPE: (Price.EXIT,),
    Misuse.PAYLOAD_TUPLE: (Price.EXIT,),
    Misuse.PAYLOAD_OPAQUE: (Price.EXIT,),
    Misuse.SWALLOWED: (Price.LOSS,),
    Misuse.EARLY: (Price.LOSS,),
    Misuse.NEVER_RUNS: (Price.TIMEOUT,),
}
_NOTES = {
    Misuse.TWICE: "Heron counts the tuple in twice: while its tree is open, the tree can no longer complete",
    Misuse.MIXED: "the first of the two counts and the other is ignored",
    Misuse.NEVER: "its tree times out at the spout",
    Misuse.UNANCHORED: "the tree ends here: whatever fails downstream is never replayed",
    Misuse.LATE_EMIT: "the tree may have completed already: the new tuple is untracked, or the tree times out",
    Misuse.TICK_TWICE: "ack calls int() on the tick's id, which raises ValueError and stops the instance",
    Misuse.ANCHOR_SHAPE: "what is no HeronTuple is skipped without a word, so the emit is unanchored",
    Misuse.ANCHOR_ID: "what is no HeronTuple is skipped without a word, so the emit is unanchored",
    Misuse.SUBJECT_ID: 'Heron logs "Only HeronTuple type is supported" and ignores the call',
    Misuse.PAYLOAD_SHAPE: "the number of values must match the declared fields: RuntimeError stops the instance",
    Misuse.PAYLOAD_TUPLE: "the number of values must match the declared fields: RuntimeError stops the instance",
    Misuse.PAYLOAD_OPAQUE: "the serializer raises and the instance stops",
    Misuse.SWALLOWED: "the spout sees an ack for a tuple whose work was not done",
    Misuse.EARLY: "what fails after the ack is never replayed",
    Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and nothing completes the tuple",
}

_DISCIPLINE = Discipline(
    tick=TickDuty.FORBIDDEN, advisory=True, serializer="pickle", prices=_PRICES, notes=_NOTES
)
_WINDOW_NOTES = {
    **_NOTES,
    Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and the window is acked all the same",
}
_TUMBLING_DISCIPLINE = replace(
    _DISCIPLINE,
    auto_ack=ON,
    tick=TickDuty.FRAMEWORK,
    prices={**_PRICES, Misuse.NEVER_RUNS: (Price.LOSS,)},
    notes=_WINDOW_NOTES,
)
_SLIDING_DISCIPLINE = replace(_TUMBLING_DISCIPLINE, completion=Moment.EXPIRY)
_SPOUT_DISCIPLINE = Discipline(
    advisory=True,
    serializer="pickle",
    prices={
        Misuse.NO_MESSAGE_ID: (Price.LOSS,),
        Misuse.NEVER_RUNS: (Price.LOSS,),
        Misuse.NEVER_RETURNS: (Price.TIMEOUT,),
        Misuse.PAYLOAD_SHAPE: (Price.EXIT,),
        Misuse.PAYLOAD_OPAQUE: (Price.EXIT,),
    },
    notes={
        Misuse.NO_MESSAGE_ID: "Heron does not track the tuple and will never call ack or fail for it",
        Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and nothing is emitted",
        Misuse.NEVER_RETURNS: "ack, fail and checkpoints are the same thread's work and never come, and what is emitted leaves in full buffers only",
        Misuse.PAYLOAD_SHAPE: _NOTES[Misuse.PAYLOAD_SHAPE],
        Misuse.PAYLOAD_OPAQUE: _NOTES[Misuse.PAYLOAD_OPAQUE],
    },
)

_WINDOWS = tuple(
    f"{root}.bolt.window_bolt.{name}"
    for root in (_NEW, *_OLD)
    for name in ("SlidingWindowBolt", "TumblingWindowBolt", "TumbingWindowBolt")
)
_WIRE = Wire(
    form=WireForm.DELEGATE,
    send=(
        *(
            f"{root}.bolt.base_bolt.BaseBolt.{verb}"
            for root in (_NEW, *_OLD)
            for verb in ("emit", "ack", "fail")
        ),
        *(f"{root}.spout.base_spout.BaseSpout.emit" for root in (_NEW, *_OLD)),
    ),
    receive=(),
    modules=("heronpy", *_OLD),
    completes=tuple(f"{window}.{name}" for window in _WINDOWS for name in ("_expire", "process_tick")),
    buffers=("current_tuples",),
)

_LOG = Verb(name="log", kind=VerbKind.LOG, params=("message", "level"), subject=None)
_BOLT_VERBS = (
    Verb(name="ack", kind=VerbKind.ACK),
    Verb(name="fail", kind=VerbKind.FAIL),
    Verb(
        name="emit",
        kind=VerbKind.EMIT,
        params=("tup", "stream", "anchors", "direct_task", "need_task_ids"),
        anchors="anchors",
        direct="direct_task",
        task_ids="need_task_ids",
    ),
    Verb(name="is_tick", kind=VerbKind.TICK_TEST),
    _LOG,
)

_INIT = Entry(method="initialize", kind=EntryKind.INIT, subject=None)
_STATE = (
    Entry(method="init_state", kind=EntryKind.LIFE, subject=None),
    Entry(method="pre_save", kind=EntryKind.LIFE, subject=None),
)
_WINDOW_ENTRIES = (Entry(method="processWindow", kind=EntryKind.BATCH, subject=1), _INIT)
_WINDOW_OWNED = {
    "process": "tuples are neither kept for the window nor acked",
    "process_tick": "no window is ever processed",
    "initialize": "the window has no length and no timer",
}

_BY_HAND = "derive from `Bolt`, keep the window yourself, anchor each emit and complete each tuple by hand, once on every path"

_BOLT = Role(
    name="Bolt",
    kind=Kind.BOLT,
    classes=(
        *(f"{root}.bolt.bolt.Bolt" for root in (_NEW, *_OLD)),
        *(f"{root}.bolt.base_bolt.BaseBolt" for root in (_NEW, *_OLD)),
        *(f"{root}.Bolt" for root in _OLD),
        *(f"{root}.bolt.Bolt" for root in _OLD),
    ),
    entries=(
        Entry(method="process", kind=EntryKind.DATA),
        Entry(method="process_tick", kind=EntryKind.TICK),
        _INIT,
        *_STATE,
    ),
    verbs=_BOLT_VERBS,
    discipline=_DISCIPLINE,
    config_attribute="config",
)
_SLIDING = Role(
    name="SlidingWindowBolt",
    kind=Kind.BOLT,
    classes=(
        *(f"{root}.bolt.window_bolt.SlidingWindowBolt" for root in (_NEW, _OLD[0])),
        f"{_OLD[0]}.SlidingWindowBolt",
    ),
    entries=_WINDOW_ENTRIES,
    verbs=_BOLT_VERBS,
    discipline=_SLIDING_DISCIPLINE,
    owned=_WINDOW_OWNED,
    config_attribute="config",
    by_hand=_BY_HAND,
)
_TUMBLING = Role(
    name="TumblingWindowBolt",
    kind=Kind.BOLT,
    classes=(
        *(f"{root}.bolt.window_bolt.TumblingWindowBolt" for root in (_NEW, _OLD[0])),
        f"{_OLD[0]}.TumblingWindowBolt",
        f"{_OLD[0]}.TumbingWindowBolt",  # so spelt when it was new
        f"{_OLD[0]}.bolt.window_bolt.TumbingWindowBolt",
    ),
    entries=_WINDOW_ENTRIES,
    verbs=_BOLT_VERBS,
    discipline=_TUMBLING_DISCIPLINE,
    owned=_WINDOW_OWNED,
    config_attribute="config",
    by_hand=_BY_HAND,
)
_SPOUT = Role(
    name="Spout",
    kind=Kind.SPOUT,
    classes=(
        *(f"{root}.spout.spout.Spout" for root in (_NEW, *_OLD)),
        *(f"{root}.spout.base_spout.BaseSpout" for root in (_NEW, *_OLD)),
        *(f"{root}.Spout" for root in _OLD),
        *(f"{root}.spout.Spout" for root in _OLD),
    ),
    entries=(
        Entry(method="next_tuple", kind=EntryKind.NEXT, subject=None),
        Entry(method="ack", kind=EntryKind.ACKED),
        Entry(method="fail", kind=EntryKind.FAILED),
        Entry(method="activate", kind=EntryKind.LIFE, subject=None),
        Entry(method="deactivate", kind=EntryKind.LIFE, subject=None),
        Entry(method="close", kind=EntryKind.LIFE, subject=None),
        _INIT,
        *_STATE,
    ),
    verbs=(
        Verb(
            name="emit",
            kind=VerbKind.EMIT,
            params=("tup", "tup_id", "stream", "direct_task", "need_task_ids"),
            message_id="tup_id",
            direct="direct_task",
            task_ids="need_task_ids",
        ),
        _LOG,
    ),
    discipline=_SPOUT_DISCIPLINE,
    config_attribute="config",
)

DIALECTS = (
    Dialect(
        name="heronpy",
        language="python",
        title="heronpy",
        since=(0, 14),
        until=(0, 20),
        words=(b"heron",),
        roles=(_BOLT, _SLIDING, _TUMBLING, _SPOUT),
        shape=TupleShape(ticks=(("component", "__system"), ("stream", "__tick"), ("id", "__tick"))),
        wire=_WIRE,
    ),
)
