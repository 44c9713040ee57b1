"""streamparse: from 3 on, pystorm's classes with `outputs`, `config` and `par`; and the older 2.x, 1.x and 0.0.x.

Read: Parsely/streamparse streamparse/storm/bolt.py, storm/spout.py, storm/component.py, bolt.py, spout.py,
__init__.py @ aabd9d0 (5.0.1); storm/bolt.py, storm/spout.py, storm/component.py @ v2.1.4; bolt.py, spout.py, ipc.py,
base.py @ v1.1.0 and v0.0.13.  2.x is one dialect, although BatchingBolt never acks ticks in 2.0.x, and auto_fail
never fires in 2.1.x.
"""

from ackdoctor.dialects import pystorm
from ackdoctor.dialects.storm_py import (
    COMPLETIONS,
    INIT,
    NO_ID_OF_CHARACTER,
    NOT_ITERABLE,
    NOT_JSON,
    SHELL_BOLT,
    emit,
)
from ackdoctor.model.dialect import (
    OFF,
    ON,
    Anchoring,
    Dialect,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Price,
    Role,
    TickDuty,
    Verb,
    VerbKind,
    cost,
)

_PACKAGES = ("streamparse", "streamparse.storm")
_BASIC_CLASSES = ("streamparse.bolt.BasicBolt",)
_BOLT_MANY = emit("tuples stream anchors direct_task need_task_ids", name="emit_many")
_BATCH_MANY = _BOLT_MANY.derive(keyword_only=pystorm.KEYWORDS, task_ids=None)
_SPOUT_MANY = emit("tuples stream tup_ids direct_task need_task_ids", name="emit_many")


def _classes(role: Role) -> tuple[str, ...]:
    """Every name by which a class can be imported."""
    return tuple(
        f"{package}{module}.{role.name}" for package in _PACKAGES for module in ("", f".{role.kind.value}")
    )


# ---- 3 and later ----


def _role(role: Role, *verbs: Verb) -> Role:
    return role.derive(classes=_classes(role), verbs=(*role.verbs, *verbs), config_attribute="config")


_BOLT = _role(pystorm.BOLT, _BOLT_MANY)
_STREAMPARSE = pystorm.PYSTORM.derive(
    name="streamparse",
    title="streamparse",
    since=(3,),
    until=(5,),
    words=(b"streamparse",),
    outputs="outputs",
    stream_classes=("streamparse.Stream", "streamparse.dsl.Stream", "streamparse.dsl.stream.Stream"),
    default=True,
    runners=("streamparse_run",),
    roles=(
        _BOLT,
        _role(pystorm.BATCHING, _BATCH_MANY),
        _role(pystorm.TICKLESS, _BATCH_MANY),
        # Only 0.0.x and 1.x have it.  Where they differ the older one counts: 1.x calls it deprecated.
        _BOLT.derive(
            name="BasicBolt",
            classes=_BASIC_CLASSES,
            discipline=_BOLT.discipline.derive(auto_fail=OFF, payload_types=("list",)),
            by_hand="derive from `Bolt`, set `auto_ack = False` and complete each tuple by hand, once on every path, ticks too",
        ),
        _role(pystorm.SPOUT, _SPOUT_MANY),
        _role(pystorm.RELIABLE),
    ),
    wire=pystorm.WIRE.derive(modules=("pystorm", "streamparse")),
)


def _version(name: str, version: str, since: tuple[int, ...], *roles: Role) -> Dialect:
    return _STREAMPARSE.derive(
        name=name,
        title=f"streamparse {version}",
        since=since,
        until=(),
        replaces=_STREAMPARSE.name,
        outputs="",  # in the topology's Clojure file
        python2_logs_stdout=False,
        roles=roles,
        wire=None,
    )


# ---- 2.x ----


def _waiting(verbs: tuple[Verb, ...]) -> tuple[Verb, ...]:
    """With emits that block for task ids by default."""
    return tuple(verb.derive(waits=True) if verb.task_ids else verb for verb in verbs)


def _two(role: Role, emit_many: Verb) -> Role:
    """Before pystorm: standard output is redirected, JSON errors are raised, every exception ends the process."""
    verbs = (*role.verbs, emit_many)
    return role.derive(
        classes=_classes(role),
        verbs=_waiting(verbs) if emit_many.task_ids else verbs,
        discipline=role.discipline.derive(
            stdout_is_pipe=False,
            exits=ON,  # always sys.exit(1)
            costs={Misuse.PAYLOAD_OPAQUE: NOT_JSON},
        ),
    )


_TWO = (
    _two(pystorm.BOLT, _BOLT_MANY),
    _two(pystorm.BATCHING, _BATCH_MANY),
    _two(pystorm.TICKLESS, _BATCH_MANY),
    _two(pystorm.SPOUT, _SPOUT_MANY),
)


# ---- 1.x: no process_tick, batches on a timer thread, payloads are lists, received tuples are no namedtuples ----

_LIST_ONLY = cost("emit raises TypeError: all tuples must be lists", Price.ERROR)
_PROCESS = Entry("process", EntryKind.DATA)
_BATCH = Entry("process_batch", EntryKind.BATCH, subject=1, off_thread=True)
_NEW_IN_2 = ("is_tick", "is_heartbeat", "report_metric")


def _one(role: Role) -> Role:
    return role.derive(
        entries=(_PROCESS, INIT) if role.kind is Kind.BOLT else role.entries,
        verbs=tuple(verb for verb in role.verbs if verb.name not in _NEW_IN_2),
        discipline=role.discipline.derive(
            ticks_in_data=role.kind is Kind.BOLT,
            payload_types=("list",),
            costs={
                Misuse.ANCHOR_SHAPE: NOT_ITERABLE,
                Misuse.PAYLOAD_SHAPE: _LIST_ONLY,
                Misuse.PAYLOAD_TUPLE: _LIST_ONLY,
            },
        ),
        owned={method: None for method in role.owned if method != "run"},
    )


_ONE_BOLT = _one(_TWO[0])
_ONE_BATCHING = _one(_TWO[2]).derive(name="BatchingBolt", classes=_TWO[1].classes, entries=(_BATCH, INIT))
_ONE_SPOUT = _one(_TWO[3])
_ONE = (
    _ONE_BOLT,
    _ONE_BOLT.derive(name="BasicBolt", classes=_BASIC_CLASSES),
    _ONE_BATCHING.derive(discipline=_ONE_BATCHING.discipline.derive(tick=TickDuty.AUTO)),
    _ONE_SPOUT.derive(
        entries=tuple(entry for entry in _ONE_SPOUT.entries if entry.kind is not EntryKind.LIFECYCLE),
        verbs=(
            *(verb for verb in _ONE_SPOUT.verbs if verb.name != "emit_many"),
            _BOLT_MANY.derive(
                anchors=None, waits=True, breaks="it passes anchors on to emit, which has none: TypeError"
            ),
        ),
    ),
)


# ---- 0.0.x: Bolt does nothing by itself, BasicBolt acks and anchors, nothing fails ----

_BOLT_0 = _ONE_BOLT.derive(
    verbs=(
        *COMPLETIONS,
        emit("tup stream anchors direct_task"),
        emit("tuples stream anchors direct_task", name="emit_many"),
        *(verb for verb in _ONE_BOLT.verbs if verb.kind in (VerbKind.REPORT, VerbKind.LOG)),
    ),
    discipline=_ONE_BOLT.discipline.derive(
        auto_ack=OFF,
        auto_fail=OFF,
        auto_anchor=OFF,
        anchoring=Anchoring.NONE,
        tick=TickDuty.REQUIRED,
        thread_safe=False,
        costs={
            Misuse.ANCHOR_ID: NO_ID_OF_CHARACTER,
            Misuse.NEVER_RUNS: SHELL_BOLT[Misuse.NEVER_RUNS],
            Misuse.OFF_THREAD: cost(
                "two threads write into one pipe and the worker cannot parse what arrives", Price.KILL
            ),
        },
    ),
    by_hand="",
)
_BASIC_0 = _BOLT_0.derive(
    name="BasicBolt",
    classes=_BASIC_CLASSES,
    discipline=_BOLT_0.discipline.derive(
        auto_ack=ON,
        auto_anchor=ON,
        anchoring=Anchoring.CURRENT,
        tick=TickDuty.AUTO,
        costs={Misuse.NEVER_RUNS: pystorm.BOLT.discipline.costs[Misuse.NEVER_RUNS]},
    ),
    by_hand="derive from `Bolt`, anchor each emit and complete each tuple by hand, once on every path, ticks too",
)
_ZERO = (
    _BOLT_0,
    _BASIC_0,
    _BASIC_0.derive(
        name="BatchingBolt",
        classes=_TWO[1].classes,
        entries=(_BATCH, INIT),
        discipline=_BASIC_0.discipline.derive(auto_anchor=OFF, anchoring=Anchoring.NONE),
        owned={"process": "tuples are neither batched nor acked"},
    ),
    _ONE[3].derive(
        verbs=(
            emit("tup tup_id stream direct_task"),
            emit("tuples tup_id stream direct_task", name="emit_many"),
            *(verb for verb in _ONE_BOLT.verbs if verb.kind in (VerbKind.REPORT, VerbKind.LOG)),
        ),
        discipline=_ONE_SPOUT.discipline.derive(thread_safe=False),
    ),
)

DIALECTS = (
    _STREAMPARSE,
    _version("streamparse_2", "2.x", (2,), *_TWO),
    _version("streamparse_legacy", "1.x", (1,), *_ONE),
    _version("streamparse_0", "0.0.x", (0,), *_ZERO),
)
