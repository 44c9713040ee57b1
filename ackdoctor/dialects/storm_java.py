"""Apache Storm's Java interface, from 1.0 on: org.apache.storm.

What an acker keeps of a mistake depends on the version (`ackdoctor/acker/versions.py`): its map is never rotated in
1.0.0 to 1.0.5, 1.1.0 and 1.1.1; it is rotated every topology.message.timeout.secs later, and entries live for two
rotations in 1.x and for three in 2.x.  Read besides what `_java` names: topology/base/*.java,
daemon/Acker.java @ v2.8.8, acker.clj @ v1.1.0, docs/Concepts.md (thread-safe collector) @ v1.0.0 and v2.8.8.
"""

from dataclasses import replace

from ackdoctor.dialects import _java
from ackdoctor.dialects._java_prices import (
    basic,
    bolt,
    persistent,
    spout,
    stateful,
    stateful_window,
    windowed,
)
from ackdoctor.model.dialect import Dialect, Discipline, Entry, Kind, Role, Variant

__all__ = ["DIALECTS"]

_ROOT = "org.apache.storm"
_FOREVER = "until its worker restarts"
_LONG = "for two to three timeouts"
_COLLECTOR = {"collector": _java.COLLECTOR}


def _role(
    name: str,
    classes: str,
    entries: tuple[Entry, ...],
    discipline: Discipline,
    fields: dict[str, str] | None = None,
) -> Role:
    return Role(
        name=name,
        kind=Kind.SPOUT if name == "Spout" else Kind.BOLT,
        classes=tuple(f"{_ROOT}.{path}" for path in classes.split()),
        entries=entries,
        verbs=(),
        discipline=discipline,
        fields=fields or {},
        by_hand=_java.BY_HAND.get(name, ""),
        to_fail=_java.TO_FAIL.get(name, ""),
    )


def _stateful_window(discipline: Discipline) -> Role:
    paths = "topology.base.BaseStatefulWindowedBolt topology.IStatefulWindowedBolt"
    return _role("StatefulWindowedBolt", paths, _java.STATEFUL_WINDOWED_BOLT, discipline)


def _storing_window(kept: str) -> Role:
    """From 2.0 on a stateful window may keep its tuples in the state as well."""
    role = replace(_stateful_window(persistent(kept)), name="PersistentWindowedBolt")
    variant = Variant(role=role, call="withPersistence", predicate="isPersistent")
    return replace(_stateful_window(stateful_window(kept)), variant=variant)


def _roles(kept: str, window: Role) -> tuple[Role, ...]:
    return (
        _role("Bolt", "topology.base.BaseRichBolt topology.IRichBolt task.IBolt", _java.BOLT, bolt(kept)),
        _role(
            "TickAwareBolt",
            "topology.base.BaseTickTupleAwareRichBolt",
            _java.TICK_AWARE_BOLT,
            replace(bolt(kept), ticks_in_data=False),
        ),
        _role(
            "ClientBolt",
            "redis.bolt.AbstractRedisBolt jdbc.bolt.AbstractJdbcBolt",
            _java.TICK_AWARE_BOLT,
            replace(bolt(kept), ticks_in_data=False),
            _COLLECTOR,
        ),
        _role(
            "WriterBolt",
            "hbase.bolt.AbstractHBaseBolt mongodb.bolt.AbstractMongoBolt",
            _java.BOLT,
            bolt(kept),
            _COLLECTOR,
        ),
        _role("BasicBolt", "topology.base.BaseBasicBolt topology.IBasicBolt", _java.BASIC_BOLT, basic(kept)),
        _role(
            "WindowedBolt",
            "topology.base.BaseWindowedBolt topology.IWindowedBolt",
            _java.WINDOWED_BOLT,
            windowed(kept),
        ),
        _role(
            "StatefulBolt",
            "topology.base.BaseStatefulBolt topology.IStatefulBolt",
            _java.STATEFUL_BOLT,
            stateful(kept),
        ),
        window,
        _role("Spout", "topology.base.BaseRichSpout topology.IRichSpout spout.ISpout", _java.SPOUT, spout()),
    )


_NEWEST = Dialect(
    name="storm_java",
    language="java",
    title="Storm",
    since=(2, 0),
    until=(2,),
    words=(b"org.apache.storm",),
    roles=_roles(_LONG, _storing_window(_LONG)),
    verbs=(*_java.VERBS, *_java.tick_tests(f"{_ROOT}.utils")),
    shape=_java.SHAPE,
    own="this",
    objects={
        **_java.objects(_ROOT, tasks="task", spouts="spout", topology="topology", tuples="tuple"),
        f"{_ROOT}.windowing.TupleWindow": "window",
    },
    advice=_java.ADVICE,
    tick_settings=("topology.tick.tuple.freq.secs", "TOPOLOGY_TICK_TUPLE_FREQ_SECS"),
)

_OLDER = (
    ("storm_java_1_2", (1, 1, 2), "for one to two timeouts"),
    ("storm_java_1_1", (1, 1), _FOREVER),
    ("storm_java_1_0_6", (1, 0, 6), "for one to two timeouts"),
    ("storm_java_1_0", (1, 0), _FOREVER),
)

DIALECTS = (
    _NEWEST,
    *(
        replace(
            _NEWEST,
            name=name,
            replaces=_NEWEST.name,
            since=since,
            until=(),
            roles=_roles(kept, _stateful_window(windowed(kept))),
        )
        for name, since, kept in _OLDER
    ),
)
