"""Petrel 1.0.3: storm.py's functions and classes, which declare their own fields.

Read: AirSage/Petrel petrel/petrel/storm.py, petrel/petrel/emitter.py @ c4be9b7.  Petrel redirects standard output to
a logger, and does not fail the tuple of an exception.
"""

from ackdoctor.dialects import storm_py
from ackdoctor.dialects.storm_java import UNDECLARED_1
from ackdoctor.dialects.storm_py import emit, log
from ackdoctor.model.dialect import OFF, ON, Discipline, Misuse, Price, Role, Verb, VerbKind, cost

_STORM = "petrel.storm"
_BROKEN = "Petrel 1.0 prints a Python list instead of messages, the worker cannot parse it and exits"
_BOLT_EMIT = emit("tup stream anchors directTask need_task_ids", on=_STORM)
_BOLT_EMIT_MANY = emit("tuples stream anchors directTask", name="emitMany", on=_STORM, breaks=_BROKEN)
_SPOUT_EMIT = emit("tup stream id directTask need_task_ids", on=_STORM)
_OTHERS = ("ack", "fail", "reportError", "sync", "is_heartbeat_tuple")


def _discipline(role: Role) -> Discipline:
    bolt = Misuse.SUBJECT_ID in role.discipline.costs
    by_id = cost("an id has no attribute id (AttributeError); ackId takes an id", Price.ERROR)
    return role.discipline.derive(
        auto_fail=OFF,
        exits=ON,
        stdout_is_pipe=False,
        serializer="json",
        costs={**UNDECLARED_1, Misuse.STDOUT: None, Misuse.SUBJECT_ID: by_id if bolt else None},
    )


def _role(role: Role) -> Role:
    return role.derive(
        classes=(f"petrel.emitter.{role.name}", f"petrel.storm.{role.name}"),
        discipline=_discipline(role),
        to_fail="",
    )


DIALECTS = (
    storm_py.STORM_PY.derive(
        name="petrel",
        heartbeats="Petrel 0.9.3.0.2",
        title="Petrel",
        until=(1, 0),
        words=(b"petrel",),
        outputs="declareOutputFields",  # topologybuilder.py:153
        vendored=False,
        roles=(
            _role(storm_py.BOLT),
            _role(storm_py.BASIC),
            _role(storm_py.SPOUT).derive(
                entries=tuple(
                    entry
                    for entry in storm_py.SPOUT.entries
                    if entry.method not in ("activate", "deactivate")
                ),
                verbs=(
                    _SPOUT_EMIT,
                    emit("task tup stream id", name="emitDirect", on=_STORM),
                    emit(
                        "tuples stream id directTask need_task_ids",
                        name="emitMany",
                        on=_STORM,
                        task_ids=None,
                        breaks=_BROKEN,
                    ),
                ),
            ),
        ),
        verbs=(
            *(
                verb if verb.on == "tuple" else verb.derive(on=_STORM)
                for verb in storm_py.STORM_PY.verbs
                if verb.name in _OTHERS
            ),
            Verb("ackId", VerbKind.ACK, on=_STORM, params=("tupid",), subject="tupid", by_id=True),
            _BOLT_EMIT,
            _BOLT_EMIT.derive(name="emitBolt"),
            emit("task tup stream anchors", name="emitDirect", on=_STORM),
            _BOLT_EMIT_MANY,
            _BOLT_EMIT_MANY.derive(name="emitManyBolt"),
            _SPOUT_EMIT.derive(name="emitSpout"),
            log(on=_STORM),
            Verb("is_tick_tuple", VerbKind.TICK_TEST, on="tuple", params=(), subject=None),
        ),
        wire=storm_py.WIRE.derive(
            send=("petrel.storm.sendMsgToParent",),
            receive=("petrel.storm.readTuple",),
            modules=("petrel",),
            completes=("petrel.storm.BasicBolt.run",),
            benches=("petrel.mock",),
        ),
    ),
)
