"""Completions in a handler: repeated ones, and where a path leaves without one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, Stored, points_back
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import call_chain, completions, leaving_step, raising_visit
from ackdoctor.model.cfg import EdgeKind, Function, Return
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding
from ackdoctor.model.protocol import Op
from ackdoctor.model.source import Span
from ackdoctor.rulebook import Words

BY_HAND = {Op.ACK: "acked", Op.FAIL: "failed"}  # the completions that code makes, in a message


@dataclass(slots=True, unsafe_hash=True)
class Repeat:
    """`second` completes a tuple that `first` (None: unknown) completed before."""

    flow: Flow
    token: Token
    first: Path | None
    second: Completed

    @property
    def same_site(self) -> bool:
        """Whether one call in a loop completes twice; a helper that is called in two places counts as two."""
        if self.first is None or self.first.step is not self.second.step:
            return False
        end = self.second.path
        return call_chain(end, self.first) == call_chain(end, end)

    @property
    def in_other_loop(self) -> bool:
        """Whether another loop over the same tuples makes the first completion: no `continue` helps."""
        function, first = self.second.path.function, self.first
        if self.token.kind is TokenKind.INPUT or first is None or first.function is not function:
            return False
        bodies = function.cfg.bodies.values()
        return not any(first.index in body and self.second.path.index in body for body in bodies)

    @property
    def automatic(self) -> bool:
        """Whether the framework makes the second completion."""
        return self.second.op not in BY_HAND


def repeats(context: RuleContext) -> Iterator[Repeat]:
    """Yield each second completion of a data tuple by code that runs in its handler, once for each pair of places."""
    for flow, second in context.events(Completed):
        token = second.token
        if second.breach is None or token is None or second.tick.is_system:
            continue
        if token.kind is TokenKind.STORED and context.component.auto_ack:
            continue  # ack-with-auto-ack reports it
        end = second.path
        first = next(completions(end, token), None)
        repeat = Repeat(flow, token, first, second)
        # an automatic completion is at the exit that triggers it
        at = (raising_visit(end) or end.before or end) if repeat.automatic else end
        if context.is_first((call_chain(end, first) if first else (), call_chain(end, at), second.op)):
            yield repeat


def loop_repeats(context: RuleContext) -> Iterator[Repeat]:
    """Yield each completion by hand that its own loop repeats; ack-in-loop reports it."""
    if context.component.auto_ack:
        return
    yield from (repeat for repeat in repeats(context) if repeat.same_site and not repeat.automatic)


class RepeatingLoops:
    """The loops that complete one tuple in each iteration.

    The same mistake also shows as a path without an iteration and as an emit in the next iteration: neither is a finding.
    """

    def __init__(self, context: RuleContext) -> None:
        self._steps: set[int] = set()  # of the completions, by id
        self._loops: set[tuple[Function, int]] = set()
        for repeat in loop_repeats(context):
            self._steps.add(id(repeat.second.step))
            for visit in repeat.second.path.call_stack():
                bodies = visit.function.cfg.bodies
                heads = (head for head, body in bodies.items() if visit.index in body)
                self._loops.update((visit.function, head) for head in heads)

    def decide(self, place: tuple[Function, Span]) -> bool:
        """Whether a branch of such a loop, not a `return` in it, is the place at which a path misses its completion."""
        return any(
            steps[index].span == place[1] and not isinstance(steps[index].op, Return)
            for function, head in self._loops
            if function is place[0]
            for steps in (function.cfg.steps,)
            for index in (head, *function.cfg.bodies[head])
        )

    def reach_again(self, done: Path, end: Path) -> bool:
        """Whether a path goes from such a completion to its end through a next iteration."""
        if id(done.step) not in self._steps:
            return False
        since = takewhile(lambda point: point.visit is not done, points_back(end))
        return any(
            visit.via is EdgeKind.BACK and (visit.function, visit.index) in self._loops
            for visit, _, _ in since
        )


def leaving_place(
    flow: Flow, end: Path, token: Token | None = None, field: str = ""
) -> tuple[Function, Span]:
    """Return the best place to report for a path that misses a completion: where it leaves, or its last decisive branch.

    A branch decides in the handler, and in a function that completes or stores the tuple, or completes those of the field.
    """
    deciding = {id(flow.function)}
    for event in flow.events:
        match event:
            case Completed(op=op) if op not in BY_HAND:
                continue
            case Completed(token=Token() as done) | Stored(token=done):
                if done == token or (field and done.field == field):
                    deciding.add(id(event.function))
            case _:
                pass
    return leaving_step(end, frozenset(deciding))


def missed_completions(
    context: RuleContext, words: Words, misuse: Misuse, flow: Flow, missing: Iterable[Ended]
) -> Iterator[Finding]:
    """Yield the surest finding for each line at which a path leaves without a completion: the parts of a condition are one."""
    found: dict[tuple[str, int], Finding] = {}
    loops = RepeatingLoops(context)
    for ended in missing:
        at = leaving_place(flow, ended.path, ended.token)
        if loops.decide(at):
            continue
        finding = context.finding(words, misuse, at, flow=flow, path=ended.path, token=ended.token)
        line = (finding.site.path, finding.site.span.line)
        if line not in found or finding.confidence > found[line].confidence:
            found[line] = finding
    yield from found.values()
