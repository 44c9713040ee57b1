"""storm.py, the module that Storm ships for Python components and that projects copy into their resources.

Other Python frameworks derive from what is described here: the costs of mistakes over a multilang pipe (ShellBolt and
ShellSpout answer them alike for each framework), and the usual calls and entries.

Read: apache/storm storm-multilang/python/src/main/resources/resources/storm.py,
storm-client/src/jvm/org/apache/storm/task/ShellBolt.java:176-262 and spout/ShellSpout.java:196-219 @ v2.8.8;
storm-core/src/multilang/py/storm.py @ v0.9.2 and v0.9.3; ShellBolt is the same in 0.9.7, 0.10.2, 1.0.0 and 1.2.4.
BasicBolt fails a tuple whose processing raised only since 0.9.3.
"""

from typing import Any

from ackdoctor.dialects.storm_java import LOSSES, UNDECLARED, UNTRACKED
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
    cost,
    plain_entries,
)

_EXITS = "and the worker exits"
_TWICE = f'ShellBolt answers "Acked a non-existent or already acked/failed id" {_EXITS}'
_UNPARSED = f"the text lands between the protocol's messages, %s cannot parse it {_EXITS}"
_GENERATOR = "the call makes a generator or coroutine that never runs"
ACKED_ALL_THE_SAME = cost(f"{_GENERATOR}, and the tuple is still acked", Price.LOSS)

_STREAM_TYPE = cost(  # JsonSerializer.java:115 @ v2.8.8
    "the worker cannot cast it to a string (ClassCastException) and exits", Price.KILL
)

SHELL_BOLT = {
    **LOSSES,
    **UNDECLARED,
    Misuse.STREAM_TYPE: _STREAM_TYPE,
    Misuse.TWICE: cost(_TWICE, Price.KILL),
    Misuse.MIXED: cost(
        f'ShellBolt answers "Acked (or Failed) a non-existent or already acked/failed id" {_EXITS}',
        Price.KILL,
    ),
    Misuse.NEVER: cost(
        "its entry stays in ShellBolt.inputs for the life of the worker, and its tree times out",
        Price.LEAK,
        Price.TIMEOUT,
    ),
    Misuse.LATE_EMIT: cost(f'ShellBolt answers "Anchored onto ... after ack/fail" {_EXITS}', Price.KILL),
    Misuse.TICK_TWICE: cost(_TWICE, Price.KILL),
    Misuse.TICK_NEVER: cost("ShellBolt.inputs grows by one entry per tick", Price.LEAK),
    Misuse.STDOUT: cost(_UNPARSED % "ShellBolt", Price.KILL),
    Misuse.STDIN: cost(
        "the call takes a message that Storm sent to the framework, and its tuple is never processed",
        Price.LEAK,
        Price.TIMEOUT,
    ),
    Misuse.OFF_THREAD: cost(
        f"two threads write into one pipe, ShellBolt cannot parse what arrives {_EXITS}", Price.KILL
    ),
    Misuse.NEVER_RUNS: cost(f"{_GENERATOR}, and nothing completes the tuple", Price.LEAK, Price.TIMEOUT),
}

SHELL_SPOUT = {
    **UNDECLARED,
    Misuse.STREAM_TYPE: _STREAM_TYPE,
    Misuse.STDOUT: cost(_UNPARSED % "ShellSpout", Price.KILL),
    Misuse.STDIN: cost(
        'Storm sends nothing before the spout answers: the call waits until ShellSpout reports "subprocess heartbeat timeout" '
        f"{_EXITS}",
        Price.KILL,
    ),
    Misuse.NO_MESSAGE_ID: UNTRACKED,
    Misuse.SPOUT_COMPLETES: cost(f'ShellSpout answers "Unknown command received" {_EXITS}', Price.KILL),
    Misuse.OFF_THREAD: cost(
        f"two threads write into one pipe, ShellSpout cannot parse what arrives {_EXITS}", Price.KILL
    ),
    Misuse.NEVER_RUNS: cost(f"{_GENERATOR}, and nothing is emitted", Price.LOSS),
    Misuse.NEVER_RETURNS: cost(
        "meanwhile ShellSpout waits for the answer: no ack, fail or deactivation arrives, and if the spout emits "
        'nothing for a worker\'s timeout (30 s) it reports "subprocess heartbeat timeout" '
        f"{_EXITS}",
        Price.KILL,
        Price.TIMEOUT,
    ),
}

NOT_ITERABLE = cost("the tuple cannot be iterated: TypeError", Price.ERROR)
NO_ID_OF_CHARACTER = cost("a character of the id has no attribute id: AttributeError", Price.ERROR)
NOT_JSON = cost("json.dumps raises TypeError", Price.ERROR)


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
    return Verb(name, VerbKind.LOG, on=on, params=tuple(params.split()), subject=None)


COMPLETIONS = (Verb("ack", VerbKind.ACK), Verb("fail", VerbKind.FAIL))
HIDES_ACK = "the framework acks through it, so no tuple is acked"
LOOP = {"run": "the loop that reads, dispatches and completes tuples never runs"}
INIT = Entry("initialize", EntryKind.INIT, subject=None, params=("conf", "context"))
SPOUT_ENTRIES = (
    *plain_entries(EntryKind.NEXT, "next_tuple"),
    Entry("ack", EntryKind.ACKED),
    Entry("fail", EntryKind.FAILED),
    *plain_entries(EntryKind.LIFECYCLE, "activate", "deactivate"),
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
    entries=(Entry("process", EntryKind.DATA), INIT),
    verbs=(),
    discipline=Discipline(
        tick=TickDuty.REQUIRED,
        ticks_in_data=True,
        stdout_is_pipe=True,
        serializer="simplejson",
        costs={
            **SHELL_BOLT,
            Misuse.SUBJECT_ID: cost("an id has no attribute id: AttributeError", Price.ERROR),
            Misuse.ANCHOR_SHAPE: NOT_ITERABLE,
            Misuse.ANCHOR_ELEMENT: cost("the anchor has no attribute id: AttributeError", Price.ERROR),
            Misuse.ANCHOR_ID: NO_ID_OF_CHARACTER,
            Misuse.ANCHOR_NONE: cost("None cannot be iterated: TypeError", Price.ERROR),
            Misuse.PAYLOAD_SHAPE: cost(
                "ShellBolt cannot cast it to a list (ClassCastException) and the worker exits", Price.KILL
            ),
            Misuse.PAYLOAD_TUPLE: cost("a Tuple is not JSON serializable: TypeError", Price.ERROR),
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
            Misuse.ANCHOR_ELEMENT: None,
            Misuse.ANCHOR_ID: None,
            Misuse.ANCHOR_NONE: None,
            Misuse.ANCHOR_IGNORED: cost(
                "BasicBolt anchors to its input tuple and ignores anchors", Price.NOTHING
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
    entries=(*plain_entries(EntryKind.NEXT, "nextTuple"), *SPOUT_ENTRIES[1:]),
    verbs=(_SPOUT_EMIT, emit("task tup stream id", name="emitDirect", on=_STORM)),
    discipline=Discipline(
        stdout_is_pipe=True,
        serializer="simplejson",
        costs={
            **SHELL_SPOUT,
            Misuse.PAYLOAD_SHAPE: cost(
                "ShellSpout cannot cast it to a list (ClassCastException) and the worker exits", Price.KILL
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
        Verb("reportError", VerbKind.REPORT, on=_STORM, params=("msg",), subject=None),
        log("msg level", on=_STORM),
        *(log(name=name, on=_STORM) for name in ("logTrace", "logDebug", "logInfo", "logWarn", "logError")),
        Verb("rpcMetrics", VerbKind.OTHER, on=_STORM, params=("name", "params"), subject=None),
        Verb("sync", VerbKind.SYNC, on=_STORM, params=(), subject=None),
        Verb("is_heartbeat_tuple", VerbKind.HEARTBEAT_TEST, on="tuple", params=(), subject=None),
    ),
    wire=WIRE,
)

DIALECTS = (STORM_PY,)
