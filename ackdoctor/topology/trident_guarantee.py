"""The guarantee of a Trident topology: the kind of its spout times the kind of each state behind it.

Exactly once means that a state recognises a replayed batch by its transaction id.  A spout is transactional if a replayed
batch holds the same messages, opaque if each message belongs to one batch that succeeds.

Source: Storm's Trident-state.md and Trident-spouts.md.
"""

from collections.abc import Mapping

from ackdoctor.model.topology import ComponentFacts, Gap, Node, OnFail, SourceAck, Topology, Verdict, Word
from ackdoctor.rulebook import SWALLOWED_FAILURE
from ackdoctor.topology.evidence import COSTS, Evidence, unique
from ackdoctor.topology.graph import Graph
from ackdoctor.topology.tracking import Tracking

__all__ = [
    "AGAIN",
    "NON_TRANSACTIONAL",
    "NO_STATE",
    "OPAQUE",
    "TRANSACTIONAL",
    "by_trident_spout",
    "function_key",
    "is_trident",
]

NON_TRANSACTIONAL = "non-transactional"
TRANSACTIONAL = "transactional"
OPAQUE = "opaque"
NO_STATE = "no-state"  # the fact that an effect is outside of a state
AGAIN = "the effect is in a function, not in a state: a replayed batch runs it again"

_EXACT = frozenset(((TRANSACTIONAL, TRANSACTIONAL), (TRANSACTIONAL, OPAQUE), (OPAQUE, OPAQUE)))
_TOO_WEAK: Mapping[str, str] = {
    NON_TRANSACTIONAL: "the state does not use the transaction id: a replayed batch counts twice",
    TRANSACTIONAL: "an opaque spout may change a batch when it replays it, and a transactional state cannot tell",
}
_UNREAD = "the code of this function is not read: if it has an effect, a replayed batch runs it again"
_SWALLOWED = SWALLOWED_FAILURE
_LIBRARIES = (
    "org.apache.storm.",
    "storm.trident.",
    "backtype.storm.",
)  # whose classes are not the place of a fault
_IN_MEMORY = "state-in-memory"
_STATE_NOTE = "exactly once holds for the state; functions and filters run again when a batch is replayed"
_MEMORY_NOTE = "exactly once until the worker dies; then its state is lost"
_INTERFACE_NOTE = (
    "if a replayed batch holds the same messages, as the interface of a transactional spout demands"
)


def is_trident(topology: Topology) -> bool:
    """Whether a topology is a Trident topology."""
    return topology.kind == "trident"


def function_key(function: Node) -> str:
    """Return the key of a function's facts: several lambdas of a topology have the same id."""
    return f"{function.id} {function.place}"


def by_trident_spout(graph: Graph, tracking: Tracking) -> Mapping[str, Verdict]:
    """Return the guarantee of each spout: the minimum over the sinks behind it."""
    return {spout.id: _of_spout(graph, tracking, spout) for spout in graph.spouts}


def _of_spout(graph: Graph, tracking: Tracking, spout: Node) -> Verdict:
    found = Evidence(gaps=[*graph.topology.gaps, *tracking.gaps], notes=list(tracking.notes))
    if tracking.reason is not None:
        found.reasons.append(tracking.reason)
    facts = graph.facts.get(spout.id)
    replays = _replays(spout, facts, found)
    best = _best(graph, spout, facts, found)
    lower, upper = found.words(best)
    exact = lower is upper is Word.EXACTLY_ONCE
    tracked = tracking.on is not False
    return Verdict(
        lower=lower,
        upper=upper,
        may_lose=found.may_lose(),
        may_repeat=False if exact or not tracked else replays,
        reasons=found.decisive(lower, upper),
        gaps=unique(found.gaps) if lower is not upper else (),
        death=_death(facts) if tracked and replays else "",
        broken_paths=tuple(_broken(graph, spout, found)),
        notes=unique(found.notes),
    )


def _best(graph: Graph, spout: Node, facts: ComponentFacts | None, found: Evidence) -> Word:
    """Add what weakens each sink; return the best word that the spout and its states allow together."""
    batch = facts.batch or NON_TRANSACTIONAL if facts is not None else OPAQUE
    best = Word.EXACTLY_ONCE
    for node in (graph.nodes[each] for each in graph.paths_from(spout.id)):
        for function in node.functions:
            _add_function(graph, function, found, is_sink=False)
        if node.role == "state":
            best = min(best, _state(batch, node, graph.facts.get(node.id), found), key=lambda word: word.rank)
        elif node.role != "spout":
            _add_function(graph, node, found, is_sink=not graph.consumed(node.id))
    if best is Word.EXACTLY_ONCE:
        found.notes.append(_STATE_NOTE)
        if batch == TRANSACTIONAL:
            found.notes.append(_INTERFACE_NOTE)
    return best


def _add_function(graph: Graph, node: Node, found: Evidence, *, is_sink: bool) -> None:
    """Add what a function loses by itself, and its effect, which no state guards; each sink has one."""
    facts = graph.facts.get(node.id if is_sink else function_key(node))
    library = node.cls.startswith(_LIBRARIES)
    if is_sink:
        found.add(NO_STATE, node.place if library else node.code or node.place, AGAIN, node.id)
    if facts is None:
        if not is_sink and not library:
            found.add(
                NO_STATE,
                node.place,
                f"{_UNREAD}{f': {node.unread}' if node.unread else ''}",
                node.id,
                sure=False,
            )
        return
    if facts.acks_early is not None:
        why = "the effect comes after the batch is complete: what waits in memory dies with the worker"
        found.add("bolt-acks-before-effect", facts.acks_early, why, node.id)
    for fault in facts.faults:
        if fault.code == _SWALLOWED:
            found.add("bolt-swallows-failure", fault.place, fault.message, node.id, sure=fault.must)
        elif not is_sink:
            found.add(NO_STATE, fault.place, fault.message, node.id, sure=fault.must)


def _state(batch: str, node: Node, facts: ComponentFacts | None, found: Evidence) -> Word:
    """Add what weakens a state; return the best word that it allows with a spout of this kind."""
    best = Word.AT_LEAST_ONCE if batch == NON_TRANSACTIONAL else Word.EXACTLY_ONCE
    if facts is None or (not facts.batch and batch != NON_TRANSACTIONAL):
        found.gaps.append(Gap(f"the state of {node.id} is not known: {node.unread or node.cls}", node.place))
        return best
    for fault in facts.faults:
        if fault.code in COSTS:
            found.add(fault.code, fault.place, fault.message, node.id, sure=fault.must)
    weak = any(fault.code.startswith("state-") and fault.code != _IN_MEMORY for fault in facts.faults)
    if batch != NON_TRANSACTIONAL and (batch, facts.batch) not in _EXACT and not weak:
        found.add("state-ignores-txid", node.place, _TOO_WEAK[facts.batch], node.id)
    if any(fault.code == _IN_MEMORY for fault in facts.faults):
        found.notes.append(_MEMORY_NOTE)
        return Word.AT_LEAST_ONCE
    return best


def _replays(spout: Node, facts: ComponentFacts | None, found: Evidence) -> bool | None:
    """Whether a failed batch is emitted again; add what weakens or hides it."""
    if facts is None:
        found.add_unread(spout)
        return None
    if facts.batch in (TRANSACTIONAL, OPAQUE):
        return True
    if facts.emits and all(emit.has_id is False for emit in facts.emits) and not facts.batch:
        why = "the spout emits without a message id: Storm never reports a failure to it"
        for emit in facts.emits:
            found.add("spout-no-ids", emit.place, why, spout.id)
        return False
    place = facts.on_fail_place or facts.place
    if facts.on_fail is OnFail.UNKNOWN:
        found.gaps.append(Gap(f"it is not known whether {spout.id} emits a failed batch again", place))
        return None
    if facts.on_fail in (OnFail.NOTHING, OnFail.DEAD_LETTER):
        found.add("spout-no-replay", place, "the spout does not emit a failed batch again", spout.id)
        return False
    if facts.on_fail is OnFail.BOUNDED:
        found.add("bounded-retry", place, "the spout gives a message up after some attempts", spout.id)
    return True


def _death(facts: ComponentFacts | None) -> str:
    if facts is None:
        return "unknown"
    kept = facts.batch in (TRANSACTIONAL, OPAQUE) or facts.source_ack is SourceAck.ON_ACK
    if kept:
        return "also when the spout dies"
    return "unknown" if facts.source_ack is SourceAck.UNKNOWN else "only while the spout lives"


def _broken(graph: Graph, spout: Node, found: Evidence) -> tuple[tuple[str, ...], ...]:
    paths = graph.paths_from(spout.id)
    sure = [reason for reason in found.reasons if reason.sure]
    if any(reason.component in ("", spout.id) for reason in sure):
        return tuple((spout.id, edge.target) for edge in graph.consumed(spout.id)) or ((spout.id,),)
    return unique(paths[reason.component] for reason in sure if reason.component in paths)
