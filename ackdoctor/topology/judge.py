"""Judge topologies: link each component to the facts of its class, and ask the guarantee and the checks.

A component is linked by the place of its class, by its qualified name, by its module, or by the script that a shell
component runs.  A class of a known library has the facts of `libraries.toml`; any other class that is absent or
ambiguous stays unknown.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ackdoctor.model.topology import Anchors, ComponentFacts, Judged, Node, OnFail, Place, Setting, Topology
from ackdoctor.rulebook import UNANCHORED_EMIT
from ackdoctor.topology.checks import defects, without_needed
from ackdoctor.topology.guarantee import verdict
from ackdoctor.topology.libraries import known
from ackdoctor.topology.trident_guarantee import function_key

__all__ = ["judge"]

_REPLACES_CLASS_CONFIG = "streamparse-py"  # `spec(config=...)` takes the place of the class's `config`


def judge(
    topologies: Iterable[Topology],
    facts: Iterable[ComponentFacts],
    *,
    best_effort: Collection[str] = (),
    ignored: Collection[tuple[str, int, str]] = (),
) -> tuple[Judged, ...]:
    """Return each topology with its verdict.

    `best_effort` names streams ("count:alerts") whose loss is accepted.  `ignored` are the findings that comments silence:
    file, line and rule.
    """
    index = _Index(_with_ignored(each, ignored) if ignored else each for each in facts)
    return without_needed(_judged(topology, index, best_effort) for topology in topologies)


def _with_ignored(facts: ComponentFacts, ignored: Collection[tuple[str, int, str]]) -> ComponentFacts:
    """Mark the faults and the unanchored emits that a comment calls intended."""
    faults = tuple(fault._replace(ignored=(*fault.place, fault.code) in ignored) for fault in facts.faults)
    emits = tuple(
        replace(emit, anchors=Anchors.WAIVED)
        if emit.anchors is Anchors.NONE and (*emit.place, UNANCHORED_EMIT) in ignored
        else emit
        for emit in facts.emits
    )
    return replace(facts, faults=faults, emits=emits)


def _judged(topology: Topology, index: "_Index", best_effort: Collection[str]) -> Judged:
    nodes, facts = [], {}
    for node in topology.nodes:
        found = index.facts_of(node, topology)
        library = known(node, topology.framework)
        if library is not None and (isinstance(found, str) or ("." in node.cls and _is_open(found))):
            facts[node.id] = library
            nodes.append(replace(node, unread=""))
            continue
        if isinstance(found, str):
            nodes.append(replace(node, unread=node.unread or found))
            continue
        facts[node.id] = found
        code = node.code or (found.place if found.place.line else None)
        nodes.append(replace(node, code=code, unread=""))
    settings = (*_class_settings(topology, facts), *topology.settings)
    for function in (each for node in topology.nodes for each in node.functions):
        found = index.facts_of(function, topology)
        if not isinstance(found, str):
            facts[function_key(function)] = found
    linked = replace(topology, nodes=tuple(nodes), settings=settings)
    judged = Judged(topology=linked, verdict=verdict(linked, facts, best_effort=best_effort), facts=facts)
    return replace(judged, defects=defects(judged))


def _is_open(facts: ComponentFacts) -> bool:
    """Whether the code leaves open what the guarantee needs; the table of libraries may know it."""
    if facts.role == "spout":
        ids = {emit.has_id for emit in facts.emits}
        return facts.on_fail is OnFail.UNKNOWN or not ids or None in ids
    return facts.completes is None or any(emit.anchors is Anchors.UNKNOWN for emit in facts.emits)


def _class_settings(topology: Topology, facts: Mapping[str, ComponentFacts]) -> Iterator[Setting]:
    """Yield the settings that each component's class makes; those of the wiring come later and win."""
    wired = {setting.component for setting in topology.settings}
    for name, found in facts.items():
        if topology.kind != _REPLACES_CLASS_CONFIG or name not in wired:
            yield from (replace(setting, component=name) for setting in found.settings)


@dataclass(frozen=True)
class _Known:
    """The facts of a class, and the names under which a wiring may refer to it."""

    facts: ComponentFacts
    names: tuple[str, ...]  # the class
    modules: tuple[str, ...]  # its file


class _Index:
    """The facts of a run, by class, module and file."""

    def __init__(self, facts: Iterable[ComponentFacts]) -> None:
        self._known: dict[str, list[_Known]] = {}  # by the last word of each name
        self._places: dict[Place, ComponentFacts] = {}
        for each in facts:
            if self._places.setdefault(each.place, each) is not each:
                continue  # two clusters with the same file
            known = _known(each)
            for name in dict.fromkeys(_last(name) for name in (*known.names, *known.modules)):
                self._known.setdefault(name, []).append(known)

    def facts_of(self, node: Node, topology: Topology) -> ComponentFacts | str:
        """Return the facts of a node's class, or why they are not known ("" if no class has its name)."""
        if node.code is not None and node.code in self._places:
            return self._places[node.code]
        candidates = [each for each in self._candidates(node) if each.role == node.role]
        nearest = _nearest(candidates, topology.place.path)
        if len(nearest) == 1:
            return nearest[0]
        return f"several classes are called {node.cls}" if nearest else ""

    def _candidates(self, node: Node) -> Sequence[ComponentFacts]:
        cls = node.cls.replace("$", ".").replace("/", ".").removesuffix(".py")
        known = self._known.get(_last(cls), ())
        for names in ("names", "modules"):
            found = [
                each.facts for each in known if any(_ends_with(name, cls) for name in getattr(each, names))
            ]
            if found:
                return found
        return ()


def _known(facts: ComponentFacts) -> _Known:
    """A class has its qualified name, and the name that its path gives: a wiring may count from another root."""
    file = facts.place.path.rpartition(".")[0].replace("/", ".")
    module = file.removesuffix(".__init__")
    qualname = facts.cls
    stem = _last(module)
    head, found, tail = facts.cls.partition(f"{stem}.")
    if found and (not head or head.endswith(".")):
        qualname = tail  # of a Python class: the words behind its module
    names = (facts.cls, f"{module}.{qualname}")
    return _Known(facts, names, (module,))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _ends_with(name: str, tail: str) -> bool:
    return name == tail or name.endswith(f".{tail}")


def _nearest(candidates: Sequence[ComponentFacts], path: str) -> Sequence[ComponentFacts]:
    """Return those that share most directories with the topology's file."""
    shared = [_shared_directories(each.place.path, path) for each in candidates]
    most = max(shared, default=0)
    return [each for each, count in zip(candidates, shared, strict=True) if count == most]


def _shared_directories(one: str, other: str) -> int:
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
