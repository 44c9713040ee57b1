"""streamparse 3 and later, which puts `outputs`, `config` and `par` on pystorm's classes; 2.x by the same names.

Read: Parsely/streamparse streamparse/storm/bolt.py, storm/spout.py, storm/component.py, bolt.py,
spout.py, __init__.py @ aabd9d0 (5.0.1); storm/bolt.py @ v2.1.4 for `emit_many`; bolt.py @ v0.0.13 for
`BasicBolt`.
"""

from collections.abc import Iterable
from dataclasses import replace

from ackdoctor.dialects import pystorm
from ackdoctor.model.dialect import OFF, Dialect, Role, Verb, VerbKind

__all__ = ["BASIC_CLASSES", "BOLT_EMIT_MANY", "DIALECTS", "SPOUT_EMIT_MANY", "bolt_paths", "spout_paths"]

_PACKAGES = ("streamparse", "streamparse.storm")

BASIC_CLASSES = ("streamparse.bolt.BasicBolt",)

BOLT_EMIT_MANY = Verb(
    name="emit_many",
    kind=VerbKind.EMIT_MANY,
    params=("tuples", "stream", "anchors", "direct_task", "need_task_ids"),
    subject="tuples",
    anchors="anchors",
    direct="direct_task",
    task_ids="need_task_ids",
)
SPOUT_EMIT_MANY = Verb(
    name="emit_many",
    kind=VerbKind.EMIT_MANY,
    params=("tuples", "stream", "tup_ids", "direct_task", "need_task_ids"),
    subject="tuples",
    message_id="tup_ids",
    direct="direct_task",
    task_ids="need_task_ids",
)


def bolt_paths(name: str) -> tuple[str, ...]:
    """Every name by which a bolt class can be imported."""
    return tuple(f"{package}{module}.{name}" for package in _PACKAGES for module in ("", ".bolt"))


def spout_paths(name: str) -> tuple[str, ...]:
    """Every name by which a spout class can be imported."""
    return tuple(f"{package}{module}.{name}" for package in _PACKAGES for module in ("", ".spout"))


def _role(role: Role, classes: tuple[str, ...], verbs: Iterable[Verb] = ()) -> Role:
    return replace(role, classes=classes, verbs=(*role.verbs, *verbs), config_attribute="config")


_WIRE = replace(pystorm.WIRE, modules=(*pystorm.WIRE.modules, "streamparse"))

_BOLT = _role(pystorm.BOLT, bolt_paths("Bolt"), [BOLT_EMIT_MANY])
_BATCH_EMIT_MANY = replace(
    BOLT_EMIT_MANY, keyword_only=("stream", "anchors", "direct_task", "need_task_ids"), task_ids=None
)

# Only 0.0.x and 1.x have it.  Where they differ the older one counts: 1.x calls it deprecated.
_BASIC = replace(
    _BOLT,
    name="BasicBolt",
    classes=BASIC_CLASSES,
    discipline=replace(_BOLT.discipline, auto_fail=OFF, payload_types=("list",)),
    by_hand="derive from `Bolt`, set `auto_ack = False` and complete each tuple by hand, once on every path, ticks too",
)

DIALECTS = (
    Dialect(
        name="streamparse",
        language="python",
        title="streamparse",
        since=(3,),
        until=(5,),
        words=(b"streamparse",),
        python2_logs_stdout=True,
        roles=(
            _BOLT,
            _role(pystorm.BATCHING, bolt_paths("BatchingBolt"), [_BATCH_EMIT_MANY]),
            _role(pystorm.TICKLESS, bolt_paths("TicklessBatchingBolt"), [_BATCH_EMIT_MANY]),
            _BASIC,
            _role(pystorm.SPOUT, spout_paths("Spout"), [SPOUT_EMIT_MANY]),
            _role(pystorm.RELIABLE, spout_paths("ReliableSpout")),
        ),
        wire=_WIRE,
    ),
)
