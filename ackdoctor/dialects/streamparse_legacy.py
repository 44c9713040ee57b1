"""streamparse 2.x, 1.x and 0.0.x, which share their names with 3 and later but not all of their promises.

Read: Parsely/streamparse streamparse/storm/bolt.py, storm/spout.py, storm/component.py @ v2.1.4; bolt.py,
spout.py, ipc.py, base.py @ v1.1.0; the same @ v0.0.13.  Not told
apart: 2.0.x, whose BatchingBolt never acks ticks, and 2.1.x, whose auto_fail never fires.
"""

from dataclasses import replace

from ackdoctor.dialects import pystorm
from ackdoctor.dialects.streamparse import (
    BASIC_CLASSES,
    BOLT_EMIT_MANY,
    SPOUT_EMIT_MANY,
    bolt_paths,
    spout_paths,
)
from ackdoctor.model.dialect import (
    OFF,
    ON,
    Anchoring,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Misuse,
    Price,
    Role,
    TickDuty,
    Verb,
    VerbKind,
)

__all__ = ["DIALECTS"]

_WORDS = (b"streamparse",)
_INIT = Entry(method="initialize", kind=EntryKind.INIT, subject=None)
_PROCESS = Entry(method="process", kind=EntryKind.DATA)
_BATCH = Entry(method="process_batch", kind=EntryKind.BATCH, subject=1, off_thread=True)
_RUN = {"run": "the loop that reads, dispatches and completes tuples never runs"}
_OPAQUE = "json.dumps raises TypeError"
_LIST_ONLY = "emit raises TypeError: all tuples must be lists"


def _older(discipline: Discipline) -> Discipline:
    """Before pystorm: standard output redirected, JSON errors raised, the end at every exception."""
    return replace(
        discipline,
        stdout_is_pipe=False,
        exits=ON,  # always sys.exit(1)
        prices={**discipline.prices, Misuse.PAYLOAD_OPAQUE: (Price.ERROR,)},
        notes={**discipline.notes, Misuse.PAYLOAD_OPAQUE: _OPAQUE},
    )


def _lists(discipline: Discipline) -> Discipline:
    """Before 2.0: a payload must be a list, and a received tuple is no namedtuple."""
    return replace(
        discipline,
        payload_types=("list",),
        prices={
            **discipline.prices,
            Misuse.ANCHOR_SHAPE: (Price.ERROR,),
            Misuse.PAYLOAD_TUPLE: (Price.ERROR,),
        },
        notes={
            **discipline.notes,
            Misuse.ANCHOR_SHAPE: "the tuple cannot be iterated: TypeError",
            Misuse.PAYLOAD_SHAPE: _LIST_ONLY,
            Misuse.PAYLOAD_TUPLE: _LIST_ONLY,
        },
    )


def _waiting(verbs: tuple[Verb, ...], emit_many: Verb) -> tuple[Verb, ...]:
    """An emit that blocks for task ids unless told not to, and an emit_many that calls it."""
    waiting = tuple(replace(v, waits=True) if v.task_ids else v for v in verbs)
    return (*waiting, replace(emit_many, waits=True))


_BATCH_EMIT_MANY = replace(
    BOLT_EMIT_MANY, keyword_only=("stream", "anchors", "direct_task", "need_task_ids"), task_ids=None
)


# ---- 2.x ----


def _two(role: Role, classes: tuple[str, ...], emit_many: Verb) -> Role:
    verbs = _waiting(role.verbs, emit_many) if emit_many.task_ids else (*role.verbs, emit_many)
    return replace(role, classes=classes, verbs=verbs, discipline=_older(role.discipline))


_TWO = (
    _two(pystorm.BOLT, bolt_paths("Bolt"), BOLT_EMIT_MANY),
    _two(pystorm.BATCHING, bolt_paths("BatchingBolt"), _BATCH_EMIT_MANY),
    _two(pystorm.TICKLESS, bolt_paths("TicklessBatchingBolt"), _BATCH_EMIT_MANY),
    _two(pystorm.SPOUT, spout_paths("Spout"), SPOUT_EMIT_MANY),
)


# ---- 1.x: no process_tick, batches on a timer thread, payloads are lists ----


def _without_ticks(verbs: tuple[Verb, ...]) -> tuple[Verb, ...]:
    return tuple(v for v in verbs if v.name not in ("is_tick", "is_heartbeat", "report_metric"))


_ONE_BOLT = replace(
    pystorm.BOLT,
    classes=bolt_paths("Bolt"),
    entries=(_PROCESS, _INIT),
    verbs=_waiting(_without_ticks(pystorm.BOLT.verbs), BOLT_EMIT_MANY),
    discipline=replace(_lists(_older(pystorm.BOLT.discipline)), ticks_in_data=True),
    owned=_RUN,
)
_ONE_SPOUT = replace(
    pystorm.SPOUT,
    classes=spout_paths("Spout"),
    entries=tuple(e for e in pystorm.SPOUT.entries if e.kind is not EntryKind.LIFE),
    verbs=_waiting(
        _without_ticks(pystorm.SPOUT.verbs),
        replace(
            SPOUT_EMIT_MANY,
            params=("tuples", "stream", "anchors", "direct_task", "need_task_ids"),
            message_id=None,
            breaks="it passes anchors on to emit, which has none: TypeError",
        ),
    ),
    discipline=_lists(_older(pystorm.SPOUT.discipline)),
    owned=_RUN,
)
_ONE = (
    _ONE_BOLT,
    replace(_ONE_BOLT, name="BasicBolt", classes=BASIC_CLASSES),
    replace(
        pystorm.TICKLESS,
        name="BatchingBolt",
        classes=bolt_paths("BatchingBolt"),
        entries=(_BATCH, _INIT),
        verbs=(*_without_ticks(pystorm.TICKLESS.verbs), _BATCH_EMIT_MANY),
        discipline=replace(
            _lists(_older(pystorm.TICKLESS.discipline)), tick=TickDuty.AUTO, ticks_in_data=True
        ),
        owned=_RUN,
    ),
    _ONE_SPOUT,
)


# ---- 0.0.x: Bolt does nothing by itself, BasicBolt acks and anchors, nothing fails ----

_ZERO_PRICES = {Misuse.ANCHOR_ID: (Price.ERROR,)}
_ZERO_NOTES = {
    Misuse.ANCHOR_ID: "a character of the id has no attribute id: AttributeError",
}
_ZERO_DISCIPLINE = replace(
    _ONE_BOLT.discipline,
    auto_ack=OFF,
    auto_fail=OFF,
    auto_anchor=OFF,
    anchoring=Anchoring.NONE,
    tick=TickDuty.REQUIRED,
    thread_safe=False,
    prices={
        **_ONE_BOLT.discipline.prices,
        **_ZERO_PRICES,
        Misuse.NEVER_RUNS: (Price.LEAK, Price.TIMEOUT),
        Misuse.OFF_THREAD: (Price.KILL,),
    },
    notes={
        **_ONE_BOLT.discipline.notes,
        **_ZERO_NOTES,
        Misuse.NEVER_RUNS: "the call makes a generator or coroutine that nobody runs, and nothing completes the tuple",
        Misuse.OFF_THREAD: "two threads write into one pipe and the worker cannot parse what arrives",
    },
)
_ZERO_BASIC_DISCIPLINE = replace(
    _ZERO_DISCIPLINE,
    auto_ack=ON,
    auto_anchor=ON,
    anchoring=Anchoring.CURRENT,
    tick=TickDuty.AUTO,
    prices={**_ZERO_DISCIPLINE.prices, Misuse.NEVER_RUNS: (Price.LOSS,)},
    notes={**_ZERO_DISCIPLINE.notes, Misuse.NEVER_RUNS: pystorm.BOLT.discipline.notes[Misuse.NEVER_RUNS]},
)
_ZERO_REPORTS = tuple(v for v in _ONE_BOLT.verbs if v.kind in (VerbKind.REPORT, VerbKind.LOG))
_ZERO_PARAMS = ("stream", "anchors", "direct_task")
_ZERO_VERBS = (
    pystorm.ACK,
    pystorm.FAIL,
    Verb(
        name="emit",
        kind=VerbKind.EMIT,
        params=("tup", *_ZERO_PARAMS),
        anchors="anchors",
        direct="direct_task",
    ),
    Verb(
        name="emit_many",
        kind=VerbKind.EMIT_MANY,
        params=("tuples", *_ZERO_PARAMS),
        subject="tuples",
        anchors="anchors",
        direct="direct_task",
    ),
    *_ZERO_REPORTS,
)
_ZERO_BY_HAND = (
    "derive from `Bolt`, anchor each emit and complete each tuple by hand, once on every path, ticks too"
)
_ZERO_BOLT = replace(_ONE_BOLT, verbs=_ZERO_VERBS, discipline=_ZERO_DISCIPLINE, by_hand="")
_ZERO_SPOUT_PARAMS = ("tup_id", "stream", "direct_task")
_ZERO = (
    _ZERO_BOLT,
    replace(
        _ZERO_BOLT,
        name="BasicBolt",
        classes=BASIC_CLASSES,
        discipline=_ZERO_BASIC_DISCIPLINE,
        by_hand=_ZERO_BY_HAND,
    ),
    replace(
        _ZERO_BOLT,
        name="BatchingBolt",
        classes=bolt_paths("BatchingBolt"),
        entries=(_BATCH, _INIT),
        discipline=replace(_ZERO_BASIC_DISCIPLINE, auto_anchor=OFF, anchoring=Anchoring.NONE),
        by_hand=_ZERO_BY_HAND,
        owned={**_RUN, "process": "tuples are neither batched nor acked"},
    ),
    replace(
        _ONE_SPOUT,
        verbs=(
            Verb(
                name="emit",
                kind=VerbKind.EMIT,
                params=("tup", *_ZERO_SPOUT_PARAMS),
                message_id="tup_id",
                direct="direct_task",
            ),
            Verb(
                name="emit_many",
                kind=VerbKind.EMIT_MANY,
                params=("tuples", *_ZERO_SPOUT_PARAMS),
                subject="tuples",
                message_id="tup_id",
                direct="direct_task",
            ),
            *_ZERO_REPORTS,
        ),
        discipline=replace(_ONE_SPOUT.discipline, thread_safe=False),
    ),
)


def _dialect(name: str, version: str, since: tuple[int, ...], roles: tuple[Role, ...]) -> Dialect:
    return Dialect(
        name=name,
        language="python",
        title=f"streamparse {version}",
        since=since,
        replaces="streamparse",
        words=_WORDS,
        roles=tuple(replace(role, config_attribute=None) for role in roles),
    )


DIALECTS = (
    _dialect("streamparse_2", "2.x", (2,), _TWO),
    _dialect("streamparse_legacy", "1.x", (1,), _ONE),
    _dialect("streamparse_0", "0.0.x", (0,), _ZERO),
)
