"""What the wiring says about findings in the code of components.

A finding becomes an info, with the reason, if every topology of the run that uses the class agrees that it costs nothing.
It becomes a warning if it costs nothing only because no spout gives ids: with the ids that ACK301 asks for, it would.
A topology whose files leave something open changes no finding; if one cannot be read at all, none changes any.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ackdoctor.dialects import load
from ackdoctor.model.dialect import Misuse, Price
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.topology import UNREAD, ComponentFacts, Judged, Node, Setting
from ackdoctor.rulebook import (
    BATCH_WITHOUT_TIMER,
    EVICTING_BUFFER,
    MISSING_ACK,
    PENDING_OVERWRITE,
    UNANCHORED_EMIT,
    UNDRAINED_BUFFER,
    WRONG_ANCHOR,
)
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.readers.undecided import is_undecided
from ackdoctor.topology.settings import TICKS

__all__ = ["adjust"]

_NEVER_COMPLETE = frozenset(
    (MISSING_ACK, UNDRAINED_BUFFER, PENDING_OVERWRITE, EVICTING_BUFFER, BATCH_WITHOUT_TIMER)
)
_ANCHORS = frozenset((UNANCHORED_EMIT, WRONG_ANCHOR))
_NO_TICKS = "no ticks"  # the case of ACK404 that guesses
_CONDITION = " if its spout emitted it with a message id"


class _Use(NamedTuple):
    """A class as a component of a topology."""

    wiring: Wiring
    node: Node
    facts: ComponentFacts


def adjust(findings: Iterable[Finding], judged: Iterable[Judged]) -> tuple[Finding, ...]:
    """Return the findings with what the wiring says about them; the order stays."""
    known = tuple(judged)
    uses = _uses(known) if all(each.topology.nodes for each in known) else {}
    if not uses:
        return tuple(findings)
    return tuple(_adjusted(finding, uses.get(_key(finding), ())) for finding in findings)


def _uses(judged: Iterable[Judged]) -> Mapping[tuple[str, str], list[_Use]]:
    found: dict[tuple[str, str], list[_Use]] = {}
    for each in judged:
        wiring = Wiring.of(each)
        for node in each.topology.nodes:
            facts = each.facts.get(node.id)
            if facts is not None:
                key = facts.place.path, facts.cls.rpartition(".")[2]
                found.setdefault(key, []).append(_Use(wiring, node, facts))
    return found


def _key(finding: Finding) -> tuple[str, str]:
    """The file and the class of the component that a finding is about."""
    return finding.home or finding.site.path, finding.component.rpartition(".")[2]


def _adjusted(finding: Finding, uses: Iterable[_Use]) -> Finding:
    known = list(uses)
    if not known or any(use.wiring.graph.gaps for use in known):
        return finding
    what = finding.message.removesuffix(f": {finding.price}")
    why = _costs_nothing(finding, known)
    if why:
        return replace(finding, severity=Severity.INFO, message=f"{what}; this costs nothing: {why}")
    why = _costs_nothing_yet(finding, known)
    if why:
        severity = min(finding.severity, Severity.WARNING)
        return replace(finding, severity=severity, message=f"{what}; this costs nothing yet: {why}")
    if _CONDITION in finding.message and all(_is_replayed(use) for use in known):
        spouts = ", ".join(dict.fromkeys(f"`{spout}`" for use in known for spout in _feeding(use)))
        return replace(finding, message=finding.message.replace(_CONDITION, f" by {spouts}"))
    return finding


def _costs_nothing(finding: Finding, uses: list[_Use]) -> str:
    """Say why a finding costs nothing in each of these topologies; "" if it does."""
    if finding.code in _ANCHORS:
        consumed = any(_is_consumed(use, finding) for use in uses)
        if not consumed:
            return "no component subscribes to the stream"
    if finding.code == BATCH_WITHOUT_TIMER and f"|{_NO_TICKS}|" in f"{finding.cause}|":
        ticks = [_ticks(use) for use in uses]
        if all(ticks) and ticks[0] is not None:
            return f"the topology sets the tick frequency ({ticks[0].place})"
    if finding.code in _ANCHORS | _NEVER_COMPLETE:
        whys = [_checkpointed(use) for use in uses]
        if all(whys):
            return whys[0]
    whys = [_tracks_nothing(use) for use in uses] if _is_of_trees(finding) else [""]
    return whys[0] if all(whys) else ""


def _ticks(use: _Use) -> Setting | None:
    """Return the setting that turns on a component's ticks; None if no mapping that was read has one."""
    found = use.wiring.setting(TICKS, use.node.id)
    return None if found is None or is_undecided(use.wiring.judged.topology, found) else found


def _costs_nothing_yet(finding: Finding, uses: list[_Use]) -> str:
    """Say why no tree that the finding is about is tracked; "" if one may be."""
    if not _is_of_trees(finding):
        return ""
    whys = [_has_no_ids(use) or _tracks_nothing(use) for use in uses]
    return whys[0] if all(whys) else ""


def _is_of_trees(finding: Finding) -> bool:
    """Whether a finding costs something only where Storm tracks the tree."""
    never = finding.code in _NEVER_COMPLETE and not _leaks(finding.dialect)
    return never or finding.code == UNANCHORED_EMIT


def _is_consumed(use: _Use, finding: Finding) -> bool:
    """Whether a component may subscribe to the stream of the emit on the finding's line."""
    place = finding.site.path, finding.site.span.line
    emits = [emit for emit in use.facts.emits if (emit.place.path, emit.place.line) == place]
    edges = [edge for edge in use.wiring.judged.topology.edges if edge.source in (use.node.id, UNREAD)]
    streams = {edge.stream for edge in edges}
    return not emits or (
        bool(edges) and any(UNREAD in (*streams, emit.stream) or emit.stream in streams for emit in emits)
    )


def _tracks_nothing(use: _Use) -> str:
    """Say which setting turns tracking off; "" if none does."""
    reason = use.wiring.tracking.reason
    return f"topology `{use.wiring.judged.topology.name}` tracks nothing ({reason.place})" if reason else ""


def _has_no_ids(use: _Use) -> str:
    """Say that no spout gives ids to the trees of the component; "" if one may."""
    spouts = list(use.wiring.graph.feeding(use.node.id))
    if spouts and all(use.wiring.gives_ids(spout) is False for spout in spouts):
        return (
            f"no spout of topology `{use.wiring.judged.topology.name}` that feeds it emits with a message id"
        )
    return ""


def _checkpointed(use: _Use) -> str:
    """Say that Heron restores the state of all components; "" if it does not."""
    place = use.wiring.tracking.checkpoints
    judged = use.wiring.judged
    if place is None or any(reason.fact == "not-stateful" for reason in judged.verdict.reasons):
        return ""
    return f"topology `{judged.topology.name}` restores checkpoints and tracks no tuple ({place})"


def _is_replayed(use: _Use) -> bool:
    """Whether all spouts that feed a component give ids and replay, and tracking is on."""
    feeding = set(_feeding(use))
    replaying = {spout.id for spout in use.wiring.replaying()}
    return bool(use.wiring.tracking.on) and bool(feeding) and feeding <= replaying


def _feeding(use: _Use) -> Iterator[str]:
    return (spout.id for spout in use.wiring.graph.feeding(use.node.id))


@cache
def _leaks(dialect: str) -> bool:
    """Whether a tuple that is never completed costs memory, tracked or not; true for an unknown dialect."""
    known = [each for each in load({}) if each.name == dialect]
    costs = [role.discipline.prices.get(Misuse.NEVER, ()) for each in known for role in each.roles]
    return not known or any(Price.LEAK in prices for prices in costs)
