"""Apache Storm's Java interface up to 0.10, and JStorm's: backtype.storm.

Storm's acker of 0.9 and 0.10 never rotates its map, so that an entry which nothing completes stays until the
worker restarts; its collector belongs to the thread that calls execute (docs/Concepts.md and Troubleshooting.md
@ v0.9.7, v0.10.2).  JStorm 2 rotates three buckets every half timeout while messages come, drops a fail for an
unknown root, and forgets child edges that are older than about a timeout (alibaba/jstorm BoltCollector.java,
Acker.java @ 0e22855).
"""

from dataclasses import replace

from ackdoctor.dialects import _java
from ackdoctor.dialects._java_prices import basic, bolt, spout
from ackdoctor.model.dialect import Dialect, Discipline, Kind, Misuse, Price, Role

__all__ = ["DIALECTS"]

_ROOT = "backtype.storm"
_FOREVER = "until its worker restarts"
_OFF_THREAD = (
    "the collector belongs to the thread that calls execute: two threads in it end in a NullPointerException deep inside "
    "Storm, which ends the worker"
)


def _one_thread(discipline: Discipline) -> Discipline:
    return replace(
        discipline,
        thread_safe=False,
        prices={**discipline.prices, Misuse.OFF_THREAD: (Price.KILL,)},
        notes={**discipline.notes, Misuse.OFF_THREAD: _OFF_THREAD},
    )


def _jstorm(discipline: Discipline) -> Discipline:
    """JStorm's own words where its acker differs."""
    return replace(
        discipline,
        notes={
            **discipline.notes,
            Misuse.TWICE: "the second ack sends the tuple's bare id: while its tree is open it can never become zero and is "
            "times out; after that an orphan entry stays for one to one and a half timeouts",
            Misuse.MIXED: "the spout hears one of the two, perhaps an ack for work that failed; a fail for a tree that the "
            "acker does not know is dropped, an ack makes an orphan entry",
        },
    )


def _jstorm_spout() -> Discipline:
    """JStorm calls ack and fail on a thread of their own, unless `spout.single.thread` (jstorm-core Task.java @ 0e22855)."""
    alike = spout()
    prices = dict(alike.prices)
    del prices[Misuse.NEVER_RETURNS]
    return replace(alike, prices=prices)


def _roles(by_hand: Discipline, by_framework: Discipline, spouts: Discipline) -> tuple[Role, ...]:
    return (
        Role(
            name="Bolt",
            kind=Kind.BOLT,
            classes=tuple(
                f"{_ROOT}.{path}"
                for path in ("topology.base.BaseRichBolt", "topology.IRichBolt", "task.IBolt")
            ),
            entries=_java.BOLT,
            verbs=(),
            discipline=by_hand,
        ),
        Role(
            name="BasicBolt",
            kind=Kind.BOLT,
            classes=tuple(
                f"{_ROOT}.{path}" for path in ("topology.base.BaseBasicBolt", "topology.IBasicBolt")
            ),
            entries=_java.BASIC_BOLT,
            verbs=(),
            discipline=by_framework,
            by_hand=_java.BY_HAND["BasicBolt"],
            to_fail=_java.TO_FAIL["BasicBolt"],
        ),
        Role(
            name="Spout",
            kind=Kind.SPOUT,
            classes=(
                *(
                    f"{_ROOT}.{path}"
                    for path in ("topology.base.BaseRichSpout", "topology.IRichSpout", "spout.ISpout")
                ),
                "com.alibaba.jstorm.client.spout.IAckValueSpout",
                "com.alibaba.jstorm.client.spout.IFailValueSpout",
            ),
            entries=_java.SPOUT,
            verbs=(),
            discipline=spouts,
        ),
    )


_STORM = Dialect(
    name="backtype_storm",
    language="java",
    title="Storm",
    since=(0, 8),
    until=(0, 10),
    words=(b"backtype.storm", b"com.alibaba.jstorm"),
    roles=_roles(_one_thread(bolt(_FOREVER)), _one_thread(basic(_FOREVER)), spout()),
    verbs=(*_java.VERBS, *_java.tick_tests(f"{_ROOT}.utils")),
    shape=_java.SHAPE,
    own="this",
    objects=_java.objects(_ROOT, tasks="task", spouts="spout", topology="topology", tuples="tuple"),
    advice=_java.ADVICE,
    tick_settings=("topology.tick.tuple.freq.secs", "TOPOLOGY_TICK_TUPLE_FREQ_SECS"),
)

DIALECTS = (
    _STORM,
    replace(
        _STORM,
        name="jstorm",
        title="JStorm",
        replaces=_STORM.name,
        since=(2, 0),
        until=(2,),
        roles=_roles(
            _jstorm(bolt("for one to one and a half timeouts")),
            _jstorm(basic("for one to one and a half timeouts")),
            _jstorm_spout(),
        ),
    ),
)
