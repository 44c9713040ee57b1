"""Settings: which value holds, where it comes from, and which assignments have no effect.

The keys with their types, defaults and exceptions are in `settings.toml`.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ackdoctor.model.topology import Defect, Gap, Place, Setting, Topology, Value
from ackdoctor.topology.frameworks import Framework, framework_of, parsed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "ACKERS",
    "CLUSTER_FILE",
    "ENABLE_TIMEOUTS",
    "LATE_STREAM",
    "MAX_PENDING",
    "MODE",
    "REQUEST_TIMEOUT",
    "STORM_DEFAULTS",
    "TICKS",
    "TIMEOUT",
    "effective",
    "framework_of",
    "is_of_cluster",
    "key_of",
    "number_of",
    "setting_defects",
]

ACKERS = "topology.acker.executors"
TIMEOUT = "topology.message.timeout.secs"
ENABLE_TIMEOUTS = "topology.enable.message.timeouts"
MAX_PENDING = "topology.max.spout.pending"
TICKS = "topology.tick.tuple.freq.secs"
LATE_STREAM = "topology.bolts.late.tuple.stream"
MODE = "topology.reliability.mode"  # Heron's

REQUEST_TIMEOUT = (
    "drpc.request.timeout.secs"  # of the DRPC server, which reads it from the cluster's storm.yaml
)
_DEFAULTS = "the defaults of"
STORM_DEFAULTS = f"{_DEFAULTS} Storm"  # the place of a value that no file sets

CLUSTER_FILE = "storm.yaml"
_TRIDENT = "topology.trident."


class Rule(NamedTuple):
    """One key of `settings.toml`, whose head explains the fields."""

    type: str
    null: str = ""
    required: bool = False
    default: Value = None
    component: str = ""


class Default(NamedTuple):
    """What a framework puts in place of Storm's defaults."""

    framework: str
    place: str
    values: Mapping[str, Value]


class Dead(NamedTuple):
    """Keys that nothing reads."""

    keys: tuple[str, ...]
    framework: str
    why: str


@dataclass(frozen=True, slots=True)
class _Tables:
    rules: Mapping[str, Rule]
    defaults: tuple[Default, ...]
    dead: tuple[Dead, ...]
    daemons: tuple[str, ...]
    not_daemons: frozenset[str]
    spelling: Mapping[str, Mapping[str, str]]
    readers: Mapping[str, Any]


@cache
def _tables() -> _Tables:
    read: Mapping[str, Any] = tomllib.loads(
        Path(__file__).with_name("settings.toml").read_text(encoding="utf-8")
    )
    return _Tables(
        {key: Rule(**row) for key, row in read["setting"].items()},
        tuple(Default(**row) for row in read["default"]),
        tuple(Dead(tuple(row["keys"]), row["framework"], row["why"]) for row in read["dead"]),
        tuple(read["daemons"]["prefixes"]),
        frozenset(read["daemons"]["except"]),
        read["spelling"],
        read["readers"],
    )


def is_of_cluster(setting: Setting) -> bool:
    """Whether a setting is from a `storm.yaml`, which is for the daemons and all topologies of a cluster."""
    return setting.place.path.rpartition("/")[2] == CLUSTER_FILE


# ---- the value that holds ----


def key_of(topology: Topology, setting: Setting) -> str:
    """Storm's key for a setting in the framework's own spelling."""
    spelling = _tables().spelling.get(_reader_of(topology), {})
    return spelling.get(setting.key, setting.key)


def effective(topology: Topology, key: str, component: str = "") -> Setting:
    """The assignment of a key that holds for a component, or for the topology as a whole.

    The value is a `Gap` if the files do not decide it.  Without an assignment the place names the default: "the defaults
    of Storm"; `why` says what a null means.
    """
    own = _assigned(topology, key, component) if component and _component_may_set(topology, key) else None
    found = own or _assigned(topology, key, "")
    if found is not None:
        return found
    if (
        key == MODE
        and "heron" in parsed(topology.framework).parts
        and _reader_of(topology) in _tables().readers["storm_api"]
    ):
        return _mode_of_compatibility(topology)
    return _default(parsed(topology.framework), key)


def _reader_of(topology: Topology) -> str:
    return topology.kind.partition("-")[0]


def _is_unset(topology: Topology, setting: Setting) -> bool:
    unset = _tables().readers["unset"].get(topology.kind)
    return unset is not None and setting.value == unset


def _assigned(topology: Topology, key: str, component: str) -> Setting | None:
    """The last assignment of a key that has an effect, with the key in Storm's spelling."""
    for setting in reversed(topology.settings):
        if setting.component == component and setting.effective and key_of(topology, setting) == key:
            if _is_unset(topology, setting):
                continue
            return setting if setting.key == key else replace(setting, key=key)
    return None


def _component_may_set(topology: Topology, key: str) -> bool:
    framework = parsed(topology.framework)
    rule = _tables().rules.get(key)
    return (
        rule is None
        or not framework.is_storm
        or bool(rule.component and framework.meets(rule.component) is not False)
    )


def _default(framework: Framework, key: str) -> Setting:
    tables = _tables()
    for row in tables.defaults:
        if key in row.values and framework.meets(row.framework):
            return Setting(key=key, value=row.values[key], place=Place(row.place))
    rule = tables.rules.get(key, Rule("any"))
    name = next((name for name in ("Heron", "JStorm") if name.lower() in framework.parts), "Storm")
    return Setting(key=key, value=rule.default, place=Place(f"{_DEFAULTS} {name}"), why=rule.null)


def _mode_of_compatibility(topology: Topology) -> Setting:
    """Heron's mode for code that is written against Storm: it tracks tuples if ackers are set, and only then.

    ConfigUtils.java:176-190 of storm-compatibility.
    """
    ackers = _assigned(topology, ACKERS, "")
    if ackers is None:
        place = Place("the defaults of Heron for Storm topologies")
        return Setting(key=MODE, value="ATMOST_ONCE", place=place, why=f"no `{ACKERS}` is set")
    count = ackers.value
    if isinstance(count, Gap):
        return Setting(key=MODE, value=count, place=ackers.place)
    tracked = _number(count) is not None and (_number(count) or 0) > 0
    mode = "ATLEAST_ONCE" if tracked else "ATMOST_ONCE"
    return Setting(key=MODE, value=mode, place=ackers.place, why=f"Heron derives it from `{ackers.key}`")


# ---- assignments without effect, and refused ones ----


def setting_defects(topology: Topology) -> tuple[Defect, ...]:
    """The faults of the settings alone: what nothing reads, and what Storm refuses."""
    framework = parsed(topology.framework)
    known = {(each.place, each.kind) for each in topology.defects}
    reported = any(each.kind.startswith("config-object") for each in topology.defects)
    found: dict[tuple[Place, str], Defect] = {}
    for setting in topology.settings:
        if not setting.effective:
            if reported:
                continue
            kind = "component-setting-without-effect" if setting.component else "dead-key"
            why = setting.why or f"nothing reads `{setting.key}` here"
            defects = [
                Defect(kind=kind, sure="certain", place=setting.place, why=why, component=setting.component)
            ]
        else:
            defects = list(_defects(topology, framework, setting))
        found |= {(each.place, each.kind): each for each in defects if (each.place, each.kind) not in known}
    return tuple(found.values())


_Fault: TypeAlias = tuple[str, str, str]  # kind, sure, why


def _defects(topology: Topology, framework: Framework, setting: Setting) -> Iterator[Defect]:
    key = key_of(topology, setting)
    for fault in (
        _dead(framework, key),
        _dropped(framework, key, setting),
        _foreign(topology, key),
        _daemon(key, setting),
        _refused(topology, framework, key, setting),
    ):
        if fault is not None:
            kind, sure, why = fault
            yield Defect(kind=kind, sure=sure, place=setting.place, why=why, component=setting.component)
            return


def _dead(framework: Framework, key: str) -> _Fault | None:
    for row in _tables().dead:
        if key in row.keys and (meets := framework.meets(row.framework)) is not False:
            return "dead-key", "certain" if meets else "likely", f"nothing reads `{key}`: {row.why}"
    return None


def _dropped(framework: Framework, key: str, setting: Setting) -> _Fault | None:
    rule = _tables().rules.get(key)
    if not setting.component or rule is None or not framework.is_storm:
        return None
    why = f"Storm drops `{key}` from the configuration of a component; set it for the topology"
    if not rule.component:
        return "component-setting-without-effect", "certain", why
    if framework.meets(rule.component) is False:
        return "component-setting-without-effect", "certain", f"{why}: only {rule.component} reads it there"
    return None


def _foreign(topology: Topology, key: str) -> _Fault | None:
    if (
        not key.startswith(_TRIDENT)
        or topology.kind.startswith("trident")
        or topology.gaps
        or not topology.nodes
    ):
        return None
    return (
        "setting-without-effect",
        "likely",
        f"`{key}` is a setting of Trident, and this topology does not use Trident",
    )


def _daemon(key: str, setting: Setting) -> _Fault | None:
    tables = _tables()
    if not key.startswith(tables.daemons) or key in tables.not_daemons or is_of_cluster(setting):
        return None
    return "dead-key", "information", f"`{key}` is a setting of a daemon: a topology cannot change it"


def _refused(topology: Topology, framework: Framework, key: str, setting: Setting) -> _Fault | None:
    rule = _tables().rules.get(key)
    value = setting.value
    if rule is None or not framework.is_storm or isinstance(value, Gap):
        return None
    if _is_unset(topology, setting) or key in _tables().readers["fractions"].get(topology.kind, ()):
        return None
    number = _number(value)
    if key == MAX_PENDING and number is not None and number <= 0:
        why = f"`{key}` is {value}: Storm 1.0 and later refuse it, before that the spout never emits"
        return "max-pending-zero", "certain", f"{why}; leave it out for no bound"
    faulty = rule.required if value is None else not _accepts(rule.type, value)
    if not faulty:
        return None
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    since = framework.meets("storm>=1.0")
    wrong_type = isinstance(value, str | bool | tuple | dict) and rule.type != "text"
    sure = "certain" if since or wrong_type else "likely"
    return "setting-refused", sure, f"Storm refuses `{key}: {shown}`: it takes {_TYPES[rule.type]}"


_TYPES = {
    "count": "an integer from 0",
    "positive": "an integer from 1",
    "integer": "an integer",
    "flag": "true or false",
    "rate": "a number above 0",
    "text": "a text",
}


def number_of(value: object) -> float | None:
    """Return a value as a number, which a file may hold as text; None if it is not one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _number(value: Value) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _accepts(kind: str, value: Value) -> bool:
    number = _number(value)
    match kind:
        case "flag":
            return isinstance(value, bool)
        case "rate":
            return number is not None and number > 0
        case "text":
            return True
        case _:
            least = {"count": 0, "positive": 1}.get(kind)
            return number is not None and number == int(number) and (least is None or number >= least)
