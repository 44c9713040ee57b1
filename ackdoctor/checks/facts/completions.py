"""Completions in a handler: repeated ones, and where a path leaves without one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, Stored
from ackdoctor.flow.values import Token, TokenKind
from ackdoctor.flow.witness import call_chain, completions, leaving_step, raising_visit
from ackdoctor.model.cfg import Function
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
    for ended in missing:
        at = leaving_place(flow, ended.path, ended.token)
        finding = context.finding(words, misuse, at, flow=flow, path=ended.path, token=ended.token)
        line = (finding.site.path, finding.site.span.line)
        if line not in found or finding.confidence > found[line].confidence:
            found[line] = finding
    yield from found.values()
