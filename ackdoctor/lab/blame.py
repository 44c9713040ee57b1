"""Who is to blame for what a run lost: the faults that the files show in the components behind it, and what no run can see."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor import rulebook
from ackdoctor.lab.fates import Fate
from ackdoctor.model.topology import Judged

_MOST = 10  # faults of one component

_REPLAYS_NOT = frozenset({rulebook.SPOUT_WITHOUT_REPLAY})
_TOO_EARLY = frozenset({rulebook.ACK_BEFORE_DONE})
_UNTRACKED = frozenset({rulebook.SPOUT_EMIT_WITHOUT_ID, rulebook.UNANCHORED_EMIT})
_NEVER_COMPLETES = frozenset(
    {
        rulebook.MISSING_ACK,
        rulebook.DOUBLE_ACK,
        rulebook.ACK_IN_LOOP,
        rulebook.ACK_WITH_AUTO_ACK,
        rulebook.ACK_AND_FAIL,
        rulebook.OFF_THREAD_COMPLETION,
        rulebook.ASYNC_HANDLER,
        rulebook.EMIT_AFTER_ACK,
        rulebook.TICK_ANCHORED_EMIT,
        rulebook.WRONG_ANCHOR,
        rulebook.UNSERIALISABLE_EMIT,
        rulebook.STDOUT_IN_MULTILANG,
        rulebook.UNDECLARED_EMIT,
        rulebook.ENDLESS_REPLAY,
        rulebook.BLOCKING_NEXT_TUPLE,
        rulebook.UNDRAINED_BUFFER,
        rulebook.PENDING_OVERWRITE,
        rulebook.EVICTING_BUFFER,
        rulebook.BATCH_WITHOUT_TIMER,
    }
)
"""The rules whose breach keeps a tuple from completing, or kills the worker each time."""
_DEFECTS: Mapping[str, str] = {
    "batch-larger-than-max-pending": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
    "batch-without-ticks": rulebook.BATCH_WITHOUT_TICKS,
    "path-exceeds-timeout": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
    "timeouts-off": rulebook.TIMEOUTS_DISABLED,
    "window-exceeds-max-pending": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
    "window-exceeds-timeout": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
}
"""The defects of the wiring that do the same, with their rules."""


class Blame(NamedTuple):
    """A fault that lint finds in a component, '' for the topology as a whole."""

    component: str
    place: str
    code: str
    message: str


class Unjudged(NamedTuple):
    """What a run cannot see of a bolt that died; `place` is the line that acks before the work is done, '' if unknown."""

    component: str
    place: str
    why: str


def blamed(judged: Judged, fates: Sequence[Fate], vanishing: Collection[str]) -> Iterator[Blame]:
    """Yield the faults that can explain a loss: by a spout's fate, or of the `vanishing` sources of untracked tuples."""
    codes: dict[str, frozenset[str]] = {}
    for fate in fates:
        if fate.lost:
            _add(codes, fate.spout, _REPLAYS_NOT)
    are_stuck = any(fate.stuck or fate.open for fate in fates)
    if are_stuck:
        for node in judged.topology.nodes:
            _add(codes, node.id, _NEVER_COMPLETES)
    for source in vanishing:
        _add(codes, source, _UNTRACKED)
    for node in judged.topology.nodes:
        facts = judged.facts[node.id]
        wanted = codes.get(node.id, frozenset())
        faults = [each for each in facts.faults if each.code in wanted and not each.ignored]
        for fault in faults[:_MOST]:
            yield Blame(node.id, str(fault.place), fault.code, fault.message)
    for defect in judged.defects if are_stuck else ():
        if code := _DEFECTS.get(defect.kind, ""):
            yield Blame(defect.component, str(defect.place), code, defect.why)


def _add(codes: dict[str, frozenset[str]], component: str, more: frozenset[str]) -> None:
    codes[component] = codes.get(component, frozenset()) | more


def unjudged(judged: Judged, dead: Collection[str]) -> Iterator[Unjudged]:
    """Yield what no run can see of the bolts that died: effects of tuples that they had acked already."""
    rest = False
    bolts: Mapping[str, str] = {node.id: node.role for node in judged.topology.nodes}
    for component in (each for each in bolts if each in dead and bolts[each] == "bolt"):
        facts = judged.facts[component]
        by_rule = (each.place for each in facts.faults if each.code in _TOO_EARLY and not each.ignored)
        early = facts.acks_early or next(by_rule, None)
        if early is not None:
            yield Unjudged(component, str(early), "acks tuples before their effect; what waits dies with it")
        elif facts.keeps is not None:
            yield Unjudged(
                component, str(facts.keeps), "keeps data of acked tuples in memory, which dies with it"
            )
        else:
            rest = True
    if rest:
        yield Unjudged("", "", "what a bolt had acked but not done yet died with it, if there was any")
