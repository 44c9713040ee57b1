"""Heron: heronpy 0.15 and later, pyheron 0.14, and its own Java interface: com.twitter.heron to 0.17, then org.apache.heron.

Acks and fails count only in ATLEAST_ONCE, which is not the default.  Heron has no acker: the stream manager does the
XOR and forgets a complete root, so that there are no orphans.  Python components have no pipe and no auto_ack.
Heron's copies of Storm's packages are known as Storm's.

Read: apache/incubator-heron heronpy/api/bolt/base_bolt.py, bolt.py, window_bolt.py, api/spout/base_spout.py,
heron/instance/src/python/basics/bolt_instance.py, utils/tuple.py,
heron/api/src/java/org/apache/heron/api/{bolt,spout,tuple,windowing}/*.java @ 1c5779d;
heron/pyheron/src/python @ 0.14.9; heron/api/src/python @ 0.15.0.
"""

from dataclasses import replace

from ackdoctor.dialects import storm_java
from ackdoctor.dialects.storm_py import COMPLETIONS, SHELL_BOLT, SHELL_SPOUT, SPOUT_ENTRIES, emit, log
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
    cost,
    plain_entries,
)

_FIELDS = cost(  # PhysicalPlanHelper.java:150, pplan_helper.py:111 @ 1c5779d
    "the number of values must match the declared fields: an exception stops the instance", Price.EXIT
)
_STREAM = cost("Heron knows no stream of that name: an exception stops the instance", Price.EXIT)
_DECLARED = {Misuse.FIELDS: _FIELDS, Misuse.STREAM: _STREAM}
_ON_BOLT = {
    **storm_java.LOSSES,
    Misuse.TWICE: cost(
        "the stream manager adds the tuple to its tree twice: while the tree is open it can never become zero, and times out",
        Price.TIMEOUT,
    ),
    Misuse.MIXED: cost("the first of the two counts and the other is ignored", Price.NOTHING),
    Misuse.NEVER: cost("its tree times out at the spout", Price.TIMEOUT),
    Misuse.LATE_EMIT: cost(
        "the tree may be complete already, and a failure downstream is lost silently, or it can never become zero and times out",
        Price.LOSS,
        Price.TIMEOUT,
    ),
}
_ON_SPOUT = {
    Misuse.NO_MESSAGE_ID: cost(
        "Heron does not track the tuple and will never call ack or fail for it", Price.LOSS
    ),
    Misuse.NEVER_RETURNS: cost(
        "the same thread handles ack, fail and checkpoints, which never come, and emitted tuples leave only in full buffers",
        Price.TIMEOUT,
    ),
}

# ---- Java ----

_ROOTS = ("org.apache.heron.api", "com.twitter.heron.api")
_ROLES = ("Bolt", "BasicBolt", "WindowedBolt", "StatefulWindowedBolt", "Spout")


def _role(role: Role) -> Role:
    spout = role.kind is Kind.SPOUT
    names = [name.rpartition(".")[2] for name in role.classes]
    return role.derive(
        classes=tuple(f"{root}.{role.kind.value}.{name}" for root in _ROOTS for name in names),
        discipline=role.discipline.derive(
            advisory=True,
            costs={**_DECLARED, **(_ON_SPOUT | {Misuse.OFF_THREAD: None} if spout else _ON_BOLT)},
        ),
    )


# ---- Python ----

_NEW = "heronpy.api"
_OLD = ("heron.api.src.python", "heron.pyheron.src.python", "pyheron")
_ALL = (_NEW, *_OLD)

_SKIPPED = cost(
    "Heron skips anchors that are not HeronTuples, without an error: the emit is unanchored", Price.LOSS
)
_PYTHON = {  # no STREAM: a topology may add streams (optional_outputs)
    Misuse.FIELDS: _FIELDS,
    Misuse.STREAM_TYPE: _STREAM,
}
_OPAQUE = cost("the serializer raises and the instance stops", Price.EXIT)

_INIT = plain_entries(EntryKind.INIT, "initialize")
_STATE = plain_entries(EntryKind.LIFECYCLE, "init_state", "pre_save")

_BOLT = Role(
    name="Bolt",
    kind=Kind.BOLT,
    classes=(
        *(f"{root}.bolt.bolt.Bolt" for root in _ALL),
        *(f"{root}.bolt.base_bolt.BaseBolt" for root in _ALL),
        *(f"{root}.Bolt" for root in _OLD),
        *(f"{root}.bolt.Bolt" for root in _OLD),
    ),
    entries=(Entry("process", EntryKind.DATA), Entry("process_tick", EntryKind.TICK), *_INIT, *_STATE),
    verbs=(
        *COMPLETIONS,
        emit("tup stream anchors direct_task need_task_ids"),
        Verb("is_tick", VerbKind.TICK_TEST),
        log("message level"),
    ),
    discipline=Discipline(
        tick=TickDuty.FORBIDDEN,
        advisory=True,
        serializer="pickle",
        costs={
            **_ON_BOLT,
            **_PYTHON,
            Misuse.TWICE: cost(
                "Heron adds the tuple to its tree twice: while the tree is open, it can no longer complete",
                Price.TIMEOUT,
            ),
            Misuse.LATE_EMIT: cost(
                "the tree may have completed already: the new tuple is untracked, or the tree times out",
                Price.LOSS,
                Price.TIMEOUT,
            ),
            Misuse.TICK_TWICE: cost(
                "ack calls int() on the tick's id, which raises ValueError and stops the instance", Price.EXIT
            ),
            Misuse.ANCHOR_SHAPE: _SKIPPED,
            Misuse.ANCHOR_ELEMENT: _SKIPPED,
            Misuse.ANCHOR_ID: _SKIPPED,
            Misuse.SUBJECT_ID: cost(
                'Heron logs "Only HeronTuple type is supported" and ignores the call', Price.TIMEOUT
            ),
            Misuse.PAYLOAD_SHAPE: _FIELDS,
            Misuse.PAYLOAD_TUPLE: _FIELDS,
            Misuse.PAYLOAD_OPAQUE: _OPAQUE,
            Misuse.NEVER_RUNS: cost(SHELL_BOLT[Misuse.NEVER_RUNS].note, Price.TIMEOUT),
        },
    ),
    config_attribute="config",
)
_TUMBLING = _BOLT.derive(
    name="TumblingWindowBolt",
    classes=(
        *(f"{root}.bolt.window_bolt.TumblingWindowBolt" for root in (_NEW, _OLD[0])),
        f"{_OLD[0]}.TumblingWindowBolt",
        f"{_OLD[0]}.TumbingWindowBolt",  # its first spelling
        f"{_OLD[0]}.bolt.window_bolt.TumbingWindowBolt",
    ),
    entries=(Entry("processWindow", EntryKind.BATCH, subject=1), *_INIT),
    discipline=_BOLT.discipline.derive(
        auto_ack=ON,
        tick=TickDuty.FRAMEWORK,
        costs={
            Misuse.NEVER_RUNS: cost(
                "the call makes a generator or coroutine that never runs, and the window is still acked",
                Price.LOSS,
            )
        },
    ),
    owned={
        "process": "tuples are neither kept for the window nor acked",
        "process_tick": "no window is ever processed",
        "initialize": "the window has no length and no timer",
    },
    by_hand="derive from `Bolt`, keep the window yourself, anchor each emit and complete each tuple by hand, once on every path",
)
_SLIDING = _TUMBLING.derive(
    name="SlidingWindowBolt",
    classes=(
        *(f"{root}.bolt.window_bolt.SlidingWindowBolt" for root in (_NEW, _OLD[0])),
        f"{_OLD[0]}.SlidingWindowBolt",
    ),
    discipline=_TUMBLING.discipline.derive(completion=Moment.EXPIRY),
)
_SPOUT = Role(
    name="Spout",
    kind=Kind.SPOUT,
    classes=(
        *(f"{root}.spout.spout.Spout" for root in _ALL),
        *(f"{root}.spout.base_spout.BaseSpout" for root in _ALL),
        *(f"{root}.Spout" for root in _OLD),
        *(f"{root}.spout.Spout" for root in _OLD),
    ),
    entries=(*SPOUT_ENTRIES, *plain_entries(EntryKind.LIFECYCLE, "close"), *_STATE),
    verbs=(emit("tup tup_id stream direct_task need_task_ids"), log("message level")),
    discipline=Discipline(
        advisory=True,
        serializer="pickle",
        costs={
            **_ON_SPOUT,
            **_PYTHON,
            Misuse.NEVER_RUNS: SHELL_SPOUT[Misuse.NEVER_RUNS],
            Misuse.PAYLOAD_SHAPE: _FIELDS,
            Misuse.PAYLOAD_OPAQUE: _OPAQUE,
        },
    ),
    config_attribute="config",
)
_WINDOWS = tuple(
    f"{root}.bolt.window_bolt.{name}"
    for root in _ALL
    for name in ("SlidingWindowBolt", "TumblingWindowBolt", "TumbingWindowBolt")
)

DIALECTS = (
    replace(
        storm_java.STORM,
        name="heron_java",
        title="Heron",
        since=(),
        until=(0, 20),
        words=(b"org.apache.heron", b"com.twitter.heron"),
        default=False,
        roles=tuple(_role(role) for role in storm_java.roles("") if role.name in _ROLES),
        verbs=storm_java.verbs(*_ROOTS),
        objects={
            name: kind
            for root in _ROOTS
            for name, kind in storm_java.objects(root, tasks="bolt", spouts="spout", topology="bolt").items()
        },
    ),
    Dialect(
        name="heronpy",
        language="python",
        title="heronpy",
        since=(0, 14),
        until=(0, 20),
        words=(b"heron",),
        outputs="outputs",
        stream_classes=tuple(f"{root}.stream.Stream" for root in _ALL),
        acker="heron",
        roles=(_BOLT, _SLIDING, _TUMBLING, _SPOUT),
        shape=TupleShape(ticks=(("component", "__system"), ("stream", "__tick"), ("id", "__tick"))),
        wire=Wire(
            form=WireForm.DELEGATE,
            send=(
                *(
                    f"{root}.bolt.base_bolt.BaseBolt.{verb}"
                    for root in _ALL
                    for verb in ("emit", "ack", "fail")
                ),
                *(f"{root}.spout.base_spout.BaseSpout.emit" for root in _ALL),
            ),
            receive=(),
            modules=("heronpy", *_OLD),
            completes=tuple(
                f"{window}.{name}" for window in _WINDOWS for name in ("_expire", "process_tick")
            ),
            buffers=("current_tuples",),
        ),
    ),
)
