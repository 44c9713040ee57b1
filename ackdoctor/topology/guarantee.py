"""The guarantee of a topology: the minimum over its spouts, their paths, and the facts of each path.

The failures are a dead bolt, acker or spout, a message lost between tasks, an exception in a bolt, and a call to another
system that fails once.  The rule is the published one: at least once needs ackers, message ids, a spout that replays,
anchored emits, and a bolt that acks each tuple once, after its effect.  What is unknown widens the word to an interval.

Source: Storm's Guaranteeing-message-processing.md and Heron's heron-delivery-semantics.md.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum

from ackdoctor.model.topology import (
    Anchors,
    ComponentFacts,
    Edge,
    Emit,
    Fault,
    Gap,
    Node,
    OnFail,
    Reason,
    SourceAck,
    Topology,
    Verdict,
    Word,
)
from ackdoctor.rulebook import (
    ACK_AND_FAIL,
    ACK_BEFORE_DONE,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    ASYNC_HANDLER,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    EVICTING_BUFFER,
    MISSING_ACK,
    OFF_THREAD_COMPLETION,
    PENDING_OVERWRITE,
    SWALLOWED_FAILURE,
    UNDRAINED_BUFFER,
    WRONG_ANCHOR,
)
from ackdoctor.topology.evidence import COSTS, Evidence, minimum, undecided, unique
from ackdoctor.topology.graph import Graph, is_name
from ackdoctor.topology.tracking import (
    CHECKPOINT_INTERVAL,
    Tracking,
    lacks_ticks,
    timeouts_off,
    tracking_of,
    undecided_timeouts,
)
from ackdoctor.topology.trident_guarantee import by_trident_spout, is_trident

__all__ = ["by_spout", "verdict"]

_NEVER_ACKS = "bolt-never-acks"
_EARLY = "bolt-acks-before-effect"
_SWALLOWS = "bolt-swallows-failure"
_UNANCHORED = "unanchored-emit"
# the fact behind a finding of lint, by its rule; the other rules do not change the guarantee
_FACT_OF_RULE: Mapping[str, str] = {
    MISSING_ACK: _NEVER_ACKS,
    SWALLOWED_FAILURE: _SWALLOWS,
    DOUBLE_ACK: "double-completion",
    ACK_IN_LOOP: "double-completion",
    ACK_WITH_AUTO_ACK: "double-completion",
    ACK_AND_FAIL: "double-completion",
    ACK_BEFORE_DONE: _EARLY,
    ASYNC_HANDLER: _NEVER_ACKS,
    EMIT_AFTER_ACK: _EARLY,
    WRONG_ANCHOR: _UNANCHORED,
    UNDRAINED_BUFFER: _NEVER_ACKS,
    PENDING_OVERWRITE: _NEVER_ACKS,
    EVICTING_BUFFER: _NEVER_ACKS,
}
_ABOUT_EMITS = frozenset(
    (EMIT_AFTER_ACK, WRONG_ANCHOR)
)  # these cost nothing if no component consumes the emit
_CHOICES = frozenset((_UNANCHORED, _EARLY, _SWALLOWS))  # an ignore comment shows that these are intended

_REPLAYED: Mapping[
    str, str
] = {  # what a failure of the work leads to: the tuple is emitted again, and not lost
    MISSING_ACK: "a tuple whose work fails stays un-acked, and the spout replays it after the timeout",
    ACK_AND_FAIL: "a tuple may be failed after its ack, and the spout may replay it although it is done",
}

_BROKEN_FILES = frozenset(("yaml-syntax", "file-does-not-parse"))

_FAILS: Mapping[OnFail, tuple[str, str]] = {
    OnFail.NOTHING: ("spout-no-replay", "`fail` does not emit the message again"),
    OnFail.DEAD_LETTER: ("spout-no-replay", "`fail` moves the message elsewhere and does not emit it again"),
    OnFail.BOUNDED: ("bounded-retry", "the spout gives a message up after some attempts"),
}
_REPLAYS = frozenset((OnFail.REPLAYS, OnFail.SOURCE, OnFail.BOUNDED, OnFail.BURIED))
_ANCHORED = frozenset((Anchors.ALL, Anchors.FRAMEWORK))
_NO_ANCHOR: Mapping[Anchors, str] = {
    Anchors.NONE: "the emit has no anchor: a message that is lost behind it is not replayed",
    Anchors.SOME: "the emit is anchored to some of its causes: a loss behind it does not replay the others",
}
_TRANSACTIONAL = "java-transactional"  # its batches commit once, if the code of its committers allows that
_LATE_DATA = "a window drops late tuples unless it has a late stream"


class _Reach(IntEnum):
    """How a tuple of a spout reaches a component, the weakest way first."""

    BOUNDARY = 0  # behind an emit that is unanchored on purpose
    UNTRACKED = 1
    UNKNOWN = 2
    TRACKED = 3


def verdict(
    topology: Topology, facts: Mapping[str, ComponentFacts], *, best_effort: Collection[str] = ()
) -> Verdict:
    """Return the guarantee of a topology; `best_effort` names streams, of all components or of one ("count:alerts"), whose loss is accepted."""
    broken = [defect for defect in topology.defects if defect.kind in _BROKEN_FILES]
    if broken:
        reasons = [Reason(fact="file-does-not-parse", place=d.place, why=d.why, sure=False) for d in broken]
        return undecided((Gap(each.why, each.place) for each in broken), reasons)
    verdicts = by_spout(topology, facts, best_effort=best_effort)
    if not verdicts:
        return undecided((*topology.gaps, Gap("the topology has no spout that is known", topology.place)))
    return minimum(verdicts)


def by_spout(
    topology: Topology, facts: Mapping[str, ComponentFacts], *, best_effort: Collection[str] = ()
) -> Mapping[str, Verdict]:
    """Return the guarantee of each spout by its id: the minimum over its paths."""
    graph = Graph(topology, facts)
    tracking = tracking_of(graph)
    if is_trident(topology):
        return by_trident_spout(graph, tracking)
    if topology.kind == _TRANSACTIONAL:
        gap = Gap("the guarantee of a transactional topology is not judged", topology.place)
        return {spout.id: undecided((gap,)) for spout in graph.spouts}
    if tracking.checkpoints is not None:
        return {spout.id: _effectively_once(graph, tracking, spout) for spout in graph.spouts}
    return {spout.id: _of_spout(graph, tracking, spout, best_effort) for spout in graph.spouts}


def _of_spout(graph: Graph, tracking: Tracking, spout: Node, best_effort: Collection[str]) -> Verdict:
    found = Evidence(gaps=[*graph.gaps, *tracking.gaps], notes=list(tracking.notes))
    if tracking.reason is not None:
        found.reasons.append(tracking.reason)
    ids = _add_spout(graph, spout, found)
    off = timeouts_off(graph)
    if off is not None and ids is not False:
        found.add("timeouts-off", off.place, "message timeouts are off: Storm never fails a lost tuple")
    if (gap := undecided_timeouts(graph)) is not None and ids is not False:
        found.gaps.append(gap)
    untracked = tracking.on is False or ids is False
    reached = _reached(graph, spout, best_effort, untracked=untracked)
    for node, reach in reached.items():
        if reach is not _Reach.BOUNDARY and node != spout.id:
            _add_bolt(graph, graph.nodes[node], reach, found, best_effort)
    if any(each.fact == "spout-no-replay" for each in found.reasons):  # then a missing ack repeats nothing
        found.reasons = [each for each in found.reasons if each.fact != _NEVER_ACKS]
    lower, upper = found.words(Word.AT_LEAST_ONCE)
    if upper is Word.AT_LEAST_ONCE:
        found.notes += _memory(graph, reached)
    return Verdict(
        lower=lower,
        upper=upper,
        may_lose=found.may_lose(),
        may_repeat=_may_repeat(graph, spout, tracking, ids=ids),
        reasons=found.decisive(lower, upper),
        gaps=unique(found.gaps) if lower is not upper else (),
        death="" if untracked else _death(graph.facts.get(spout.id)),
        broken_paths=unique(path for reason in found.reasons for path in _broken(graph, spout, reason)),
        boundary=_boundary(found, lower, upper),
        notes=unique(found.notes),
    )


# ---- the spout ----


def _add_spout(graph: Graph, spout: Node, found: Evidence) -> bool | None:
    """Add what weakens a spout; return whether it gives ids: False if no emit has one, None if that is unknown."""
    facts = graph.facts.get(spout.id)
    if facts is None:
        found.add_unread(spout)
        return None
    edges = graph.consumed(spout.id)
    emits = [emit for emit in facts.emits if not edges or graph.is_consumed(spout.id, emit)]
    if not emits:
        found.gaps.append(Gap(f"no emit of {spout.id} was found", facts.place))
    ids = {emit.has_id for emit in emits}
    if ids == {False}:
        _add_no_ids(spout, emits, found)
        return False
    for emit in emits:
        if emit.has_id is False:
            _add_no_ids(spout, [emit], found)
        elif emit.has_id is None:
            found.gaps.append(Gap(f"it is not known whether {spout.id} emits with a message id", emit.place))
    _add_replay(spout, facts, emits, found)
    return True if True in ids else None


def _add_no_ids(spout: Node, emits: Sequence[Emit], found: Evidence) -> None:
    """Add one reason for these emits, at the first of them."""
    first, *others = unique(emit.place for emit in emits)
    also = f" (also {', '.join(map(str, others))})" if others else ""
    why = f"the spout emits without a message id{also}: Storm never reports a failure to it"
    found.add("spout-no-ids", first, why, spout.id)


def _add_replay(spout: Node, facts: ComponentFacts, emits: list[Emit], found: Evidence) -> None:
    place = facts.on_fail_place or (emits[0].place if emits else facts.place)
    early = facts.source_ack_place if facts.source_ack is SourceAck.ON_DELIVERY else None
    if facts.on_fail in _FAILS:
        fact, why = _FAILS[facts.on_fail]
        if early is not None and fact == "spout-no-replay":
            why = f"{why}, and its source forgets the message before the ack ({early})"
        found.add(fact, place, why, spout.id)
    elif facts.on_fail is OnFail.BURIED:
        found.notes.append(f"{spout.id} moves a message that keeps failing to a dead letter ({place})")
    elif facts.on_fail is OnFail.UNKNOWN:
        found.gaps.append(Gap(f"it is not known what {spout.id} does with a failed message", place))
    if early is not None and facts.on_fail in (OnFail.SOURCE, OnFail.UNKNOWN):
        why = "the source forgets a message as soon as the spout receives it"
        sure = facts.on_fail is not OnFail.UNKNOWN  # `fail` may emit it from memory
        found.add("source-acked-on-delivery", early, why, spout.id, sure=sure)


def _may_repeat(graph: Graph, spout: Node, tracking: Tracking, *, ids: bool | None) -> bool | None:
    """Whether Storm may deliver a message of the spout twice, or its source may."""
    facts = graph.facts.get(spout.id)
    if str(graph.nodes[spout.id].arguments.get("processingGuarantee", "")).endswith("NO_GUARANTEE"):
        return True
    if tracking.on is False or ids is False:
        return False
    if facts is None or facts.on_fail is OnFail.UNKNOWN:
        return None
    replays = facts.on_fail in _REPLAYS
    return replays if tracking.on and ids else None if replays else False


def _death(facts: ComponentFacts | None) -> str:
    """Say what the death of a spout that replays does to its open messages."""
    if facts is None or facts.on_fail is OnFail.UNKNOWN:
        return "unknown"
    if facts.on_fail not in _REPLAYS:
        return ""
    if facts.source_ack is SourceAck.ON_ACK:
        return "also when the spout dies"
    return "unknown" if facts.source_ack is SourceAck.UNKNOWN else "only while the spout lives"


# ---- the bolts ----


def _reached(
    graph: Graph, spout: Node, best_effort: Collection[str], *, untracked: bool
) -> Mapping[str, _Reach]:
    """Return the strongest way in which the spout's tuples reach each component."""
    reached = {spout.id: _Reach.UNTRACKED if untracked else _Reach.TRACKED}
    queue = [spout.id]
    for source in queue:  # the list grows during the loop
        for edge in graph.consumed(source):
            link = _Reach.TRACKED if source == spout.id else _link(graph, edge, best_effort)
            reach = min(reached[source], link) if link is not None else None
            if reach is not None and reach > reached.get(edge.target, -1):
                reached[edge.target] = reach
                queue.append(edge.target)
    return reached


def _link(graph: Graph, edge: Edge, best_effort: Collection[str]) -> _Reach | None:
    """Return how the tuples of an edge are tracked; None if its source certainly never sends any."""
    facts = graph.facts.get(edge.source)
    emits = graph.emits_to(edge)
    if facts is None or not emits:
        return None if facts is not None and _is_silent(facts, edge) else _Reach.UNKNOWN
    anchors = {_anchors(edge.source, emit, best_effort) for emit in emits}
    if anchors & _ANCHORED or Anchors.SOME in anchors:
        return _Reach.TRACKED
    if Anchors.UNKNOWN in anchors:
        return _Reach.UNKNOWN
    return _Reach.UNTRACKED if Anchors.NONE in anchors else _Reach.BOUNDARY


def _is_silent(facts: ComponentFacts, edge: Edge) -> bool:
    """Whether a component declares its streams, and this one is not among them."""
    return facts.streams is not None and is_name(edge.stream) and edge.stream not in facts.streams


def _anchors(component: str, emit: Emit, best_effort: Collection[str]) -> Anchors:
    """Return the anchors of an emit; an unanchored one on a best-effort stream is a choice."""
    names = {emit.stream, f"{component}:{emit.stream}"}
    waived = emit.anchors is Anchors.NONE and not names.isdisjoint(best_effort)
    return Anchors.WAIVED if waived else emit.anchors


def _add_bolt(graph: Graph, node: Node, reach: _Reach, found: Evidence, best_effort: Collection[str]) -> None:
    """Add what weakens the paths through a bolt."""
    facts = graph.facts.get(node.id)
    if facts is None:
        found.add_unread(node)
        return
    _add_emits(graph, node, facts, found, best_effort)
    unconsumed = {emit.place for emit in facts.emits if not graph.is_consumed(node.id, emit)}
    for fault in facts.faults:
        if fault.code not in _ABOUT_EMITS or fault.place not in unconsumed:
            _add_fault(node, facts, fault, reach, found)
    if reach is not _Reach.UNTRACKED and facts.completes is False and not facts.auto_ack:
        known = any(each.fact == _NEVER_ACKS and each.component == node.id for each in found.reasons)
        if not known:
            found.add(_NEVER_ACKS, facts.place, "no path acks or fails an input", node.id)
    lacks = lacks_ticks(graph, node.id)
    if reach is not _Reach.UNTRACKED and lacks:
        why = "it completes tuples at ticks only, and no setting turns ticks on"
        found.add(_NEVER_ACKS, node.place, why, node.id)
    elif reach is not _Reach.UNTRACKED and lacks is None:
        why = (
            f"{node.id} completes tuples at ticks only, and it is not known whether a setting turns ticks on"
        )
        found.gaps.append(Gap(why, node.place))
    if facts.acks_early is not None:
        why = "the bolt acks a tuple before its effect: what waits in memory dies with the worker"
        found.add(_EARLY, facts.acks_early, why, node.id)
    if facts.windowed:
        found.notes.append(_LATE_DATA)


def _add_emits(
    graph: Graph, node: Node, facts: ComponentFacts, found: Evidence, best_effort: Collection[str]
) -> None:
    for edge in graph.consumed(node.id):
        emits = graph.emits_to(edge)
        if not emits and not _is_silent(facts, edge):
            found.gaps.append(Gap(f"no emit of {node.id} to stream {edge.stream} was found", edge.place))
        for emit in emits:
            anchors = _anchors(node.id, emit, best_effort)
            if anchors in _NO_ANCHOR:
                found.add(_UNANCHORED, emit.place, _NO_ANCHOR[anchors], node.id)
            elif anchors is Anchors.UNKNOWN:
                found.gaps.append(Gap(f"it is not known whether {node.id} anchors this emit", emit.place))
            elif anchors is Anchors.WAIVED:
                found.boundaries.append(f"tracking ends at {node.id} ({emit.place}), on purpose")


def _add_fault(node: Node, facts: ComponentFacts, fault: Fault, reach: _Reach, found: Evidence) -> None:
    if fault.code == OFF_THREAD_COMPLETION and not fault.ignored:
        found.gaps.append(Gap(f"{node.id} completes tuples on another thread", fault.place))
    fact = _FACT_OF_RULE.get(fault.code)
    if fact is None or (COSTS[fact].if_tracked and reach is _Reach.UNTRACKED):
        return
    if fault.after_catch and facts.completes and fault.code in _REPLAYED:
        found.notes.append(f"{_REPLAYED[fault.code]}: {node.id} ({fault.place})")
        return
    if fault.ignored and fact in _CHOICES:
        found.boundaries.append(f"{node.id} may lose messages ({fault.place}), on purpose")
    elif fault.ignored:
        found.gaps.append(Gap(f"{fault.code} is ignored at this line of {node.id}", fault.place))
    else:
        by_hand = fact == _SWALLOWS and facts.auto_ack is False and facts.completes is not False
        never = fact == _NEVER_ACKS and facts.completes is False and not facts.auto_ack
        hides = fact == _SWALLOWS and fault.after_catch  # the failures that are judged include this exception
        sure = fault.must or never or hides
        found.add("bolt-acks-on-failure" if by_hand else fact, fault.place, fault.message, node.id, sure=sure)


def _memory(graph: Graph, nodes: Iterable[str]) -> Iterator[str]:
    """Yield what the death of a worker costs although each tuple is processed at least once."""
    for node in nodes:
        facts = graph.facts.get(node)
        if facts is not None and facts.keeps is not None:
            yield (
                f"at least once holds for the tuples: what {node} counts or keeps in memory"
                f" ({facts.keeps}) is lost with its worker"
            )


# ---- the whole ----


def _broken(graph: Graph, spout: Node, reason: Reason) -> tuple[tuple[str, ...], ...]:
    """Return the paths from the spout that a reason breaks, up to the edge or component at fault."""
    if not reason.sure:
        return ()
    if reason.component in ("", spout.id):
        targets = unique(edge.target for edge in graph.consumed(spout.id))
        return tuple((spout.id, target) for target in targets) or ((spout.id,),)
    path = graph.paths_from(spout.id)[reason.component]
    if reason.fact != _UNANCHORED:
        return (path,)
    targets = unique(
        edge.target
        for edge in graph.consumed(reason.component)
        if any(emit.place == reason.place for emit in graph.emits_to(edge))
    )
    return tuple((*path, target) for target in targets) or (path,)


def _boundary(found: Evidence, lower: Word, upper: Word) -> str:
    if not found.boundaries:
        return ""
    word = lower.value if lower is upper else "unknown"
    return f"{'; '.join(unique(found.boundaries))}: {word} up to there, {Word.AT_MOST_ONCE.value} behind it"


def _add_rewind(spout: Node, facts: ComponentFacts, found: Evidence) -> None:
    """Heron restores the state of a spout, not its source: the spout must go back to what its state says."""
    place = facts.source_ack_place or facts.place
    if facts.source_ack is SourceAck.ON_DELIVERY:
        why = "the source forgets a message before a checkpoint covers it"
        found.add("source-acked-on-delivery", place, why, spout.id)
    elif facts.source and facts.source_ack is not SourceAck.GENERATED:
        found.gaps.append(
            Gap(f"it is not known whether {spout.id} rewinds its source to a checkpoint", place)
        )


def _effectively_once(graph: Graph, tracking: Tracking, spout: Node) -> Verdict:
    """Return the guarantee of Heron's effectively once: state is restored and the source rewinds; nothing is acked."""
    found = Evidence(gaps=list(graph.gaps))
    place = tracking.checkpoints or graph.topology.place
    stateless = []
    for node in graph.paths_from(spout.id):
        facts = graph.facts.get(node)
        if facts is None:
            found.add_unread(graph.nodes[node])
        elif not facts.stateful:
            stateless.append(node)
        if node == spout.id and facts is not None:
            _add_rewind(spout, facts, found)
    if stateless:
        found.add("not-stateful", place, f"Heron can restore no state of {', '.join(stateless)}")
    if graph.setting(CHECKPOINT_INTERVAL).value is None:
        found.add("not-stateful", place, f"{CHECKPOINT_INTERVAL} is not set: nothing is saved")
    if found.reasons:
        found.gaps.append(
            Gap("Heron restores no state here, so what a failure loses depends on the source", place)
        )
    found.notes.append("effectively once holds for the state inside the topology, not for its sinks")
    lower, upper = found.words(Word.EXACTLY_ONCE)
    return Verdict(
        lower=lower,
        upper=upper,
        may_lose=found.may_lose(),
        may_repeat=False if upper is lower is Word.EXACTLY_ONCE else None,
        reasons=found.decisive(lower, upper),
        gaps=unique(found.gaps) if lower is not upper else (),
        broken_paths=unique(path for reason in found.reasons for path in _broken(graph, spout, reason)),
        notes=unique(found.notes),
    )
