"""Heron's own Java interface: com.twitter.heron up to 0.17, org.apache.heron from 0.18 on.

Acks and fails count only in ATLEAST_ONCE, which is not the default.  Heron has no acker: the stream manager does the
XOR and forgets a complete root, so that there are no orphans.  Heron's copies of Storm's packages are known as Storm's.
Read: apache/incubator-heron heron/api/src/java/org/apache/heron/api/{bolt,spout,tuple,windowing}/*.java @ 1c5779d.
"""

from dataclasses import replace

from ackdoctor.dialects import storm_java
from ackdoctor.model.dialect import Kind, Misuse, Price, Role, cost

__all__ = ["DIALECTS", "HERON_BOLT", "HERON_SPOUT"]

HERON_BOLT = {
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
HERON_SPOUT = {
    Misuse.NO_MESSAGE_ID: cost(
        "Heron does not track the tuple and will never call ack or fail for it", Price.LOSS
    ),
    Misuse.NEVER_RETURNS: cost(
        "the same thread handles ack, fail and checkpoints, which never come, and emitted tuples leave only in full buffers",
        Price.TIMEOUT,
    ),
}

_ROOTS = ("org.apache.heron.api", "com.twitter.heron.api")
_ROLES = ("Bolt", "BasicBolt", "WindowedBolt", "StatefulWindowedBolt", "Spout")


def _role(role: Role) -> Role:
    spout = role.kind is Kind.SPOUT
    names = [name.rpartition(".")[2] for name in role.classes]
    return role.derive(
        classes=tuple(f"{root}.{role.kind.value}.{name}" for root in _ROOTS for name in names),
        discipline=role.discipline.derive(
            advisory=True, costs={**HERON_SPOUT, Misuse.OFF_THREAD: None} if spout else HERON_BOLT
        ),
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
)
