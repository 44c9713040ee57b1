"""storm.py, the module that Storm ships for Python components and that projects copy into their resources.

Other Python frameworks derive from what is described here: the costs of mistakes over a multilang pipe (ShellBolt and
ShellSpout answer them alike for each framework), and the usual calls and entries.

Read: apache/storm storm-multilang/python/src/main/resources/resources/storm.py,
storm-client/src/jvm/org/apache/storm/task/ShellBolt.java:176-262 and spout/ShellSpout.java:196-219 @ v2.8.8;
storm-core/src/multilang/py/storm.py @ v0.9.2 and v0.9.3; ShellBolt is the same in 0.9.7, 0.10.2, 1.0.0 and 1.2.4.
BasicBolt fails a tuple whose processing raised only since 0.9.3.
"""

from typing import Any

from ackdoctor.dialects.storm_java import LOSSES, UNTRACKED
from ackdoctor.model.dialect import (
    OFF,
    ON,
    Anchoring,
    Cost,
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

__all__ = [
    "ACKED_ALL_THE_SAME",
    "BASIC",
    "BOLT",
    "COMPLETIONS",
    "DIALECTS",
    "INIT",
    "LOOP",
    "NOT_ITERABLE",
    "NOT_JSON",
    "NO_ID_OF_CHARACTER",
    "SHELL_BOLT",
    "SHELL_SPOUT",
    "SPOUT",
    "SPOUT_ENTRIES",
    "STORM_PY",
    "WIRE",
    "emit",
    "log",
    "plain_entries",
]

_EXITS = "and the worker exits"
_TWICE = f'ShellBolt answers "Acked a non-existent or already acked/failed id" {_EXITS}'
_UNPARSED = f"the text lands between the protocol's messages, %s cannot parse it {_EXITS}"
_GENERATOR = "the call makes a generator or coroutine that never runs"
ACKED_ALL_THE_SAME = Cost(prices=(Price.LOSS,), note=f"{_GENERATOR}, and the tuple is still acked")

SHELL_BOLT = {
    **LOSSES,
    Misuse.TWICE: Cost(prices=(Price.KILL,), note=_TWICE),
    Misuse.MIXED: Cost(
        prices=(Price.KILL,),
        note=f'ShellBolt answers "Acked (or Failed) a non-existent or already acked/failed id" {_EXITS}',
    ),
    Misuse.NEVER: Cost(
        prices=(Price.LEAK, Price.TIMEOUT),
        note="its entry stays in ShellBolt.inputs for the life of the worker, and its tree times out",
    ),
    Misuse.LATE_EMIT: Cost(
        prices=(Price.KILL,), note=f'ShellBolt answers "Anchored onto ... after ack/fail" {_EXITS}'
    ),
    Misuse.TICK_TWICE: Cost(prices=(Price.KILL,), note=_TWICE),
    Misuse.TICK_NEVER: Cost(prices=(Price.LEAK,), note="ShellBolt.inputs grows by one entry per tick"),
    Misuse.STDOUT: Cost(prices=(Price.KILL,), note=_UNPARSED % "ShellBolt"),
    Misuse.OFF_THREAD: Cost(
        prices=(Price.KILL,),
        note=f"two threads write into one pipe, ShellBolt cannot parse what arrives {_EXITS}",
    ),
    Misuse.NEVER_RUNS: Cost(
        prices=(Price.LEAK, Price.TIMEOUT), note=f"{_GENERATOR}, and nothing completes the tuple"
    ),
}

SHELL_SPOUT = {
    Misuse.STDOUT: Cost(prices=(Price.KILL,), note=_UNPARSED % "ShellSpout"),
    Misuse.NO_MESSAGE_ID: UNTRACKED,
    Misuse.SPOUT_COMPLETES: Cost(
        prices=(Price.KILL,), note=f'ShellSpout answers "Unknown command received" {_EXITS}'
    ),
    Misuse.NEVER_RUNS: Cost(prices=(Price.LOSS,), note=f"{_GENERATOR}, and nothing is emitted"),
    Misuse.NEVER_RETURNS: Cost(
        prices=(Price.KILL, Price.TIMEOUT),
        note="meanwhile ShellSpout waits for the answer: no ack, fail or deactivation arrives, and if the spout emits "
        'nothing for a worker\'s timeout (30 s) it reports "subprocess heartbeat timeout" '
        f"{_EXITS}",
    ),
}

NOT_ITERABLE = Cost(prices=(Price.ERROR,), note="the tuple cannot be iterated: TypeError")
NO_ID_OF_CHARACTER = Cost(
    prices=(Price.ERROR,), note="a character of the id has no attribute id: AttributeError"
)
NOT_JSON = Cost(prices=(Price.ERROR,), note="json.dumps raises TypeError")


# ---- calls and entries ----


def emit(params: str, *, name: str = "emit", **fields: Any) -> Verb:
    """An emit by its formal parameters, whose meanings follow from their usual names."""
    words = tuple(params.split())

    def find(*names: str) -> str | None:
        return next((word for word in names if word in words), None)

    meanings: dict[str, Any] = {
        "kind": VerbKind.EMIT_MANY if "tuples" in words else VerbKind.EMIT,
        "subject": find("tup", "tuples", "values"),
        "anchors": find("anchors"),
        "message_id": find("tup_id", "tup_ids", "id"),
        "direct": find("direct_task", "directTask", "task"),
        "task_ids": find("need_task_ids"),
    }
    return Verb(name=name, params=words, **{**meanings, **fields})


def log(params: str = "msg", *, name: str = "log", on: str = "self") -> Verb:
    """A call that logs."""
    return Verb(name=name, kind=VerbKind.LOG, on=on, params=tuple(params.split()), subject=None)


def plain_entries(kind: EntryKind, *methods: str) -> tuple[Entry, ...]:
    """Methods that the framework calls without a tuple."""
    return tuple(Entry(method=method, kind=kind, subject=None) for method in methods)


COMPLETIONS = (Verb(name="ack", kind=VerbKind.ACK), Verb(name="fail", kind=VerbKind.FAIL))
LOOP = {"run": "the loop that reads, dispatches and completes tuples never runs"}
(INIT,) = plain_entries(EntryKind.INIT, "initialize")
_CALLBACKS = (Entry(method="ack", kind=EntryKind.ACKED), Entry(method="fail", kind=EntryKind.FAILED))
SPOUT_ENTRIES = (
    *plain_entries(EntryKind.NEXT, "next_tuple"),
    *_CALLBACKS,
    *plain_entries(EntryKind.LIFE, "activate", "deactivate"),
    INIT,
)

# ---- storm.py ----

_STORM = "storm"
_BOLT_EMIT = emit("tup stream anchors directTask", on=_STORM, waits=True)
_SPOUT_EMIT = emit("tup stream id directTask", on=_STORM, waits=True)

BOLT = Role(
    name="Bolt",
    kind=Kind.BOLT,
    classes=("storm.Bolt",),
    entries=(Entry(method="process", kind=EntryKind.DATA), INIT),
    verbs=(),
    discipline=Discipline(
        tick=TickDuty.REQUIRED,
        ticks_in_data=True,
        stdout_is_pipe=True,
        serializer="simplejson",
        costs={
            **SHELL_BOLT,
            Misuse.SUBJECT_ID: Cost(prices=(Price.ERROR,), note="an id has no attribute id: AttributeError"),
            Misuse.ANCHOR_SHAPE: NOT_ITERABLE,
            Misuse.ANCHOR_ID: NO_ID_OF_CHARACTER,
            Misuse.ANCHOR_NONE: Cost(prices=(Price.ERROR,), note="None cannot be iterated: TypeError"),
            Misuse.PAYLOAD_SHAPE: Cost(
                prices=(Price.KILL,),
                note="ShellBolt cannot cast it to a list (ClassCastException) and the worker exits",
            ),
            Misuse.PAYLOAD_TUPLE: Cost(
                prices=(Price.ERROR,), note="a Tuple is not JSON serializable: TypeError"
            ),
            Misuse.PAYLOAD_OPAQUE: NOT_JSON,
        },
    ),
    owned=LOOP,
)
BASIC = BOLT.derive(
    name="BasicBolt",
    classes=("storm.BasicBolt",),
    discipline=BOLT.discipline.derive(
        auto_ack=ON,
        auto_fail=ON,
        auto_anchor=ON,
        exits=OFF,  # storm.py:231-258 @ v2.8.8; up to 0.9.2 an exception ends the process
        anchoring=Anchoring.FORCED,
        tick=TickDuty.AUTO,
        costs={
            Misuse.ANCHOR_SHAPE: None,
            Misuse.ANCHOR_ID: None,
            Misuse.ANCHOR_NONE: None,
            Misuse.ANCHOR_IGNORED: Cost(
                prices=(Price.NOTHING,), note="BasicBolt anchors to its input tuple and ignores anchors"
            ),
            Misuse.NEVER_RUNS: ACKED_ALL_THE_SAME,
        },
    ),
    by_hand="derive from `Bolt`, anchor each emit and complete each tuple by hand, once on every path, ticks too",
    to_fail="raise an exception",
)
SPOUT = Role(
    name="Spout",
    kind=Kind.SPOUT,
    classes=("storm.Spout",),
    entries=(
        *plain_entries(EntryKind.NEXT, "nextTuple"),
        *_CALLBACKS,
        *plain_entries(EntryKind.LIFE, "activate", "deactivate"),
        INIT,
    ),
    verbs=(_SPOUT_EMIT, emit("task tup stream id", name="emitDirect", on=_STORM)),
    discipline=Discipline(
        stdout_is_pipe=True,
        serializer="simplejson",
        costs={
            **SHELL_SPOUT,
            Misuse.PAYLOAD_SHAPE: Cost(
                prices=(Price.KILL,),
                note="ShellSpout cannot cast it to a list (ClassCastException) and the worker exits",
            ),
            Misuse.PAYLOAD_OPAQUE: NOT_JSON,
        },
    ),
    owned=LOOP,
)

WIRE = Wire(
    form=WireForm.MESSAGE,
    send=("storm.sendMsgToParent",),
    receive=("storm.readTuple",),
    modules=("storm",),
    completes=("storm.BasicBolt.run",),
)
STORM_PY = Dialect(
    name="storm_py",
    heartbeats="the storm.py of Storm 0.9.3",
    language="python",
    title="Storm's storm.py",
    until=(2,),
    words=(b"storm",),
    vendored=True,
    roles=(BOLT, BASIC, SPOUT),
    verbs=(
        *(verb.derive(on=_STORM) for verb in COMPLETIONS),
        _BOLT_EMIT,
        emit("task tup stream anchors", name="emitDirect", on=_STORM),
        _BOLT_EMIT.derive(name="emitBolt", waits=False),
        _SPOUT_EMIT.derive(name="emitSpout", waits=False),
        Verb(name="reportError", kind=VerbKind.REPORT, on=_STORM, params=("msg",), subject=None),
        log("msg level", on=_STORM),
        *(log(name=name, on=_STORM) for name in ("logTrace", "logDebug", "logInfo", "logWarn", "logError")),
        Verb(name="rpcMetrics", kind=VerbKind.OTHER, on=_STORM, params=("name", "params"), subject=None),
        Verb(name="sync", kind=VerbKind.SYNC, on=_STORM, params=(), subject=None),
        Verb(name="is_heartbeat_tuple", kind=VerbKind.HEARTBEAT_TEST, on="tuple", params=(), subject=None),
    ),
    wire=WIRE,
)

DIALECTS = (STORM_PY,)
