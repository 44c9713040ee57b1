"""Facts of the spouts, bolts and Trident states of libraries, whose source is not in the project.

`libraries.toml` has the facts, and where in the library's source each was read.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ackdoctor.model.topology import (
    UNREAD,
    Anchors,
    ComponentFacts,
    Emit,
    Fault,
    Gap,
    Node,
    OnFail,
    Place,
    Setting,
    SourceAck,
)
from ackdoctor.rulebook import SWALLOWED_FAILURE
from ackdoctor.topology.frameworks import parsed
from ackdoctor.topology.settings import TICKS, number_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["known", "knows"]

_Entry = Mapping[str, Any]
_UNDECIDED: _Entry = {"ids": None, "on_fail": "unknown", "source_ack": "unknown"}
LINGER = "linger.ms"
_SWALLOWED = SWALLOWED_FAILURE
_IN_MEMORY = "state-in-memory"


def known(node: Node, framework: str = "") -> ComponentFacts | None:
    """Return the facts of a component of a library; None if no library is known to have its class.

    `framework` is that of the topology ("storm 0.9.7").
    """
    entry = next((each for each in _named(_plain(node.cls)) if each["role"] == node.role), None)
    if entry is None:
        return None
    return _facts(node, {**entry, **_changes(node, entry, framework)})


def knows(cls: str) -> bool:
    """Whether a library is known to have a class."""
    return "." in cls and bool(_named(_plain(cls)))


def _plain(cls: str) -> str:
    """The name of a class, or of the class that a factory makes."""
    return cls.replace("$", ".").removesuffix(".Factory").removesuffix("Factory")


# ---- the table ----


@cache
def _table() -> Mapping[str, tuple[_Entry, ...]]:
    """Return the entries by each name under which a wiring may refer to them."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    found: dict[str, list[_Entry]] = {}
    for entry in data["component"]:
        for cls in entry["classes"]:
            names = [f"{root}{cls}" for root in data["roots"]] if cls.startswith(".") else [cls]
            if entry.get("simple"):
                names.append(cls.rpartition(".")[2])
            for name in names:
                found.setdefault(name, []).append(entry)
    return {name: tuple(entries) for name, entries in found.items()}


def _named(name: str) -> tuple[_Entry, ...]:
    return _table().get(name, ())


def _changes(node: Node, entry: _Entry, framework: str) -> dict[str, Any]:
    """Return what the arguments of the wiring and the framework's version change."""
    changed: dict[str, Any] = {}
    given = node.place
    for when in entry.get("when", ()):
        new = {key: value for key, value in when.items() if key not in _CONDITIONS}
        applies = _applies(node, when, framework)
        if applies is None:
            changed.update((key, _UNDECIDED[key]) for key in new if key in _UNDECIDED)
        elif applies:
            changed.update(new)
            given = node.given.get(when.get("argument", ""), given)
    return {**changed, "given": given}


_CONDITIONS = frozenset("argument equals ends below above unless framework".split())


def _applies(node: Node, when: _Entry, framework: str) -> bool | None:
    """Whether a condition holds; None if the files do not decide it."""
    if "framework" in when:
        return bool(parsed(framework).meets(when["framework"]))
    if when["argument"] not in node.arguments or when.get("unless") in node.arguments:
        return False
    if "unless" in when:
        return True
    value = node.arguments[when["argument"]]
    if isinstance(value, Gap):
        return None
    if "equals" in when:
        return bool(value == when["equals"])
    if "ends" in when:
        return str(value).endswith(when["ends"])
    return isinstance(value, int) and when.get("above", -1) < value < when["below"]


# ---- facts ----


def _facts(node: Node, entry: _Entry) -> ComponentFacts:
    basic = bool(entry.get("basic"))
    return ComponentFacts(
        cls=node.cls,
        role=node.role,
        dialect="",
        place=node.place,
        emits=tuple(_emits(node, entry)),
        auto_ack=(basic or entry.get("auto_ack", False)) if node.role == "bolt" else None,
        completes=basic or entry.get("completes"),
        acks_early=node.place if "early" in entry else None,
        stateful=entry.get("stateful", False),
        windowed=entry.get("windowed", False),
        holds=entry.get("holds", False),
        linger=_linger(node) if entry.get("holds") and "early" not in entry else None,
        on_fail=OnFail(entry.get("on_fail", "unknown")),
        on_fail_place=entry["given"] if node.role == "spout" else None,
        source=entry.get("source", ""),
        source_ack=SourceAck(entry.get("source_ack", "unknown")),
        source_ack_place=node.place if node.role == "spout" else None,
        flushes_at_ticks=entry.get("flushes_at_ticks", False),
        batch=entry.get("batch", ""),
        streams=node.streams,
        settings=tuple(_settings(node, entry)),
        faults=tuple(_faults(node, entry)),
    )


def _settings(node: Node, entry: _Entry) -> Iterator[Setting]:
    """Yield the tick frequency that the class derives from an argument."""
    argument = entry.get("ticks", "")
    if argument in node.arguments:
        place = node.given.get(argument, node.place)
        yield Setting(key=TICKS, value=node.arguments[argument], place=place)


def _linger(node: Node) -> tuple[float, Place] | None:
    """Return how long a Kafka producer collects records before it sends them, in seconds, and the line that says so."""
    value = node.arguments.get(LINGER)
    milliseconds = number_of(value)
    if milliseconds is None:
        return None
    return milliseconds / 1000, node.given.get(LINGER, node.place)


def _emits(node: Node, entry: _Entry) -> Iterator[Emit]:
    """Yield an emit for all of a component; its streams are those of the wiring, or any."""
    emit = Emit(stream=UNREAD, place=entry["given"], anchors=Anchors.ALL, has_id=entry.get("ids"))
    if node.role == "spout":
        yield emit
    elif "anchors" in entry:
        yield replace(emit, anchors=Anchors(entry["anchors"]), has_id=None)


def _faults(node: Node, entry: _Entry) -> Iterator[Fault]:
    if "swallows" in entry:
        yield Fault(_SWALLOWED, must=True, place=node.place, message=entry["swallows"])
    if "memory" in entry:
        yield Fault(_IN_MEMORY, must=True, place=node.place, message=entry["memory"])
