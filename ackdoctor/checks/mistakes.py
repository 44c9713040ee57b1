"""One mistake, one finding: a finding that the advice of another one repairs as well is left out beside that one.

An ack in a loop acks twice, leaves the tuple open if the loop has no iteration, and makes the next emit late: the ack
belongs after the loop, and that repairs all three.
"""

from collections.abc import Collection, Mapping
from itertools import takewhile
from typing import NamedTuple

from ackdoctor.flow.events import Path, points_back
from ackdoctor.flow.values import Token
from ackdoctor.flow.witness import completions
from ackdoctor.model.cfg import Call, EdgeKind, Return
from ackdoctor.model.finding import Finding
from ackdoctor.rulebook import (
    ACK_AND_FAIL,
    ACK_BEFORE_DONE,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    MISSING_ACK,
)

# the findings that the advice of a rule repairs as well, if they are about the same completion of the same tuple
_REPAIRS: Mapping[str, frozenset[str]] = {
    DOUBLE_ACK: frozenset({ACK_AND_FAIL, ACK_BEFORE_DONE}),
    ACK_IN_LOOP: frozenset({MISSING_ACK, ACK_AND_FAIL, ACK_BEFORE_DONE, EMIT_AFTER_ACK}),
    ACK_WITH_AUTO_ACK: frozenset({ACK_AND_FAIL, EMIT_AFTER_ACK}),
    ACK_AND_FAIL: frozenset({ACK_BEFORE_DONE}),
    EMIT_AFTER_ACK: frozenset({ACK_BEFORE_DONE}),
}


class Claim(NamedTuple):
    """A finding, the case of its words, and the path to its `site` that shows it."""

    finding: Finding
    case: str
    token: Token
    path: Path
    site: Path | None  # None for a place that is not on the path

    @property
    def first(self) -> Path | None:
        """The completion that came too early: the reported one, or the last one before."""
        done = list(completions(self.path, self.token))
        reported = self.site is not None and any(visit.step is self.site.step for visit in done)
        return self.site if reported or not done else done[0]


def repaired(claims: Collection[Claim]) -> Mapping[int, str]:
    """Return the findings, by id, that the advice of another one repairs, and the rule of the other one."""
    winners = [claim for claim in claims if claim.finding.code in _REPAIRS]
    return {
        id(other.finding): winner.finding.code
        for other in claims
        for winner in winners
        if _repairs(winner, other)
    }


def _repairs(winner: Claim, other: Claim) -> bool:
    one, two = winner.finding, other.finding
    late_work = other.case == "work"  # not the other cases of ACK107
    if late_work != (two.code == ACK_BEFORE_DONE) or (winner.case != "message" and not late_work):
        return False
    if two.code not in _REPAIRS[one.code] or winner.token != other.token or one.handler != two.handler:
        return False
    if one.confidence < two.confidence or one.severity < two.severity:
        return False
    if one.code == ACK_IN_LOOP and not _in_same_loop(winner, other):
        return False
    if two.code == MISSING_ACK:
        return True
    if winner.path.step is other.path.step and isinstance(other.path.step.op, Call):
        return True
    if two.code == ACK_AND_FAIL and one.code == DOUBLE_ACK:
        return False  # on two lines
    first, other_first = winner.first, other.first
    return first is not None and other_first is not None and first.step is other_first.step


def _in_same_loop(winner: Claim, other: Claim) -> bool:
    """Whether a loop around a completion leaves the tuple open at a branch, or goes on to the other mistake."""
    loops = [
        (visit.function, head, body)
        for visit in winner.path.call_stack()
        for head, body in visit.function.cfg.bodies.items()
        if visit.index in body
    ]
    if other.finding.code == MISSING_ACK:
        site = other.finding.site
        return any(
            (function.path, function.cfg.steps[index].span) == (site.path, site.span)
            and not isinstance(function.cfg.steps[index].op, Return)
            for function, head, body in loops
            for index in (head, *body)
        )
    stack = [(visit.function, visit.index) for visit in other.path.call_stack()]
    if not any(
        f is function and index in body and index != head
        for f, index in stack
        for function, head, body in loops
    ):
        return False  # at the end of the loop or after it
    heads = [(function, head) for function, head, _ in loops]
    since = (
        visit for visit, _, _ in takewhile(lambda p: p.visit is not other.first, points_back(other.path))
    )
    return any(visit.via is EdgeKind.BACK and (visit.function, visit.index) in heads for visit in since)
