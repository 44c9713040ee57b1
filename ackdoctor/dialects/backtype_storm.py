"""Apache Storm's Java interface up to 0.10, and JStorm's: backtype.storm.

Storm's acker of 0.9 and 0.10 never rotates its map: an entry that nothing completes stays until the worker restarts.
Its collector belongs to the thread that calls execute (docs/Concepts.md and Troubleshooting.md @ v0.9.7, v0.10.2).
JStorm 2 rotates three buckets every half timeout while messages come, drops a fail for an unknown root, and forgets
child edges that are older than about a timeout (alibaba/jstorm BoltCollector.java, Acker.java @ 0e22855).
"""

from dataclasses import replace

from ackdoctor.dialects import storm_java
from ackdoctor.model.dialect import Discipline, Kind, Misuse, Price, Role, cost

__all__ = ["DIALECTS"]

_ROOT = "backtype.storm"
_ROLES = ("Bolt", "BasicBolt", "Spout")
_CALLBACKS = (
    "com.alibaba.jstorm.client.spout.IAckValueSpout",
    "com.alibaba.jstorm.client.spout.IFailValueSpout",
)


def _one_thread(role: Role) -> Discipline:
    if role.kind is Kind.SPOUT:
        return role.discipline
    off_thread = cost(
        "the collector belongs to the thread that calls execute: two threads that use it cause a NullPointerException inside "
        "Storm, which ends the worker",
        Price.KILL,
    )
    return role.discipline.derive(thread_safe=False, costs={Misuse.OFF_THREAD: off_thread})


def _jstorm(role: Role) -> Discipline:
    """JStorm calls ack and fail on another thread, unless `spout.single.thread` (jstorm-core Task.java @ 0e22855)."""
    if role.kind is Kind.SPOUT:
        return role.discipline.derive(costs={Misuse.NEVER_RETURNS: None})
    twice = cost(
        "the second ack sends the tuple's bare id: while its tree is open it can never become zero and "
        "times out; after that an orphan entry stays for one to one and a half timeouts",
        Price.ZOMBIE,
        Price.TIMEOUT,
    )
    mixed = cost(
        "the spout gets one of the two, perhaps an ack for work that failed; a fail for a tree that the "
        "acker does not know is dropped, an ack makes an orphan entry",
        Price.ZOMBIE,
        Price.LOSS,
    )
    return role.discipline.derive(costs={Misuse.TWICE: twice, Misuse.MIXED: mixed})


def _role(role: Role, discipline: Discipline) -> Role:
    classes = tuple(name.replace("org.apache.storm", _ROOT) for name in role.classes)
    return role.derive(
        classes=(*classes, *_CALLBACKS) if role.kind is Kind.SPOUT else classes, discipline=discipline
    )


def _inherited(lifetime: str) -> tuple[Role, ...]:
    return tuple(role for role in storm_java.roles(lifetime) if role.name in _ROLES)


_STORM = replace(
    storm_java.STORM,
    name="backtype_storm",
    since=(0, 8),
    until=(0, 10),
    words=(b"backtype.storm", b"com.alibaba.jstorm"),
    default=False,
    roles=tuple(_role(role, _one_thread(role)) for role in _inherited(storm_java.UNTIL_RESTART)),
    verbs=storm_java.verbs(_ROOT),
    objects=storm_java.objects(_ROOT, tasks="task", spouts="spout", topology="topology", windows=False),
)

DIALECTS = (
    _STORM,
    _STORM.derive(
        name="jstorm",
        title="JStorm",
        replaces=_STORM.name,
        since=(2, 0),
        until=(2,),
        roles=tuple(_role(role, _jstorm(role)) for role in _inherited("for one to one and a half timeouts")),
    ),
)
