"""Repeated completions of a tuple, and paths on which a setting of the user turns acking off."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ackdoctor.checks.facts.dataflow import canonical_forms
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Flow, Path, turns_back
from ackdoctor.flow.expressions import name_words
from ackdoctor.flow.state import Token, TokenKind
from ackdoctor.flow.witness import call_chain, completions, raising_visit
from ackdoctor.model.cfg import Attr, Bind, Compare, Expr, Function, Mix, Not, Test, Update
from ackdoctor.model.protocol import Op

__all__ = ["ACKING", "ANCHORING", "Repeat", "depends_on_setting", "repeats"]


AUTO = (Op.AUTO_ACK, Op.AUTO_FAIL)


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
    def automatic(self) -> bool:
        """Whether the framework makes the second completion."""
        return self.second.op in AUTO


def repeats(context: RuleContext) -> Iterator[Repeat]:
    """Yield each second completion of a data tuple by code that runs in its handler, once for each pair of places."""
    seen: set[tuple[tuple[int, ...], tuple[int, ...], Op]] = set()
    for flow, second in context.events(Completed):
        token = second.token
        if second.breach is None or token is None or second.tick.is_system:
            continue
        if token.kind is TokenKind.STORED and context.component.auto_ack:
            continue  # ack-with-auto-ack reports it
        first = next(completions(second.path, token), None)
        end = second.path
        at = (
            (raising_visit(end) or end.before or end) if second.op in AUTO else end
        )  # of an automatic completion, the exit that triggers it
        key = (call_chain(end, first) if first else (), call_chain(end, at), second.op)
        if key not in seen:
            seen.add(key)
            yield Repeat(flow, token, first, second)


ACKING = frozenset("ack acks acking acknowledge reliable reliability".split())
ANCHORING = frozenset("anchor anchors anchored anchoring unanchored reliable reliability".split())
_SETTERS = re.compile(r"<init>|__init__|prepare|initialize|set|with")


def depends_on_setting(context: RuleContext, words: frozenset[str]) -> Callable[[Path], bool]:
    """Return a test whether a path depends on a setting: a field named by one of these words that only setters assign."""
    tests = {
        id(step)
        for function in context.functions()
        for step in function.cfg.steps
        if isinstance(step.op, Test) and _tests_setting(context, function, step.op.condition, words)
    }
    return lambda end: bool(tests) and any(id(turn.visit.step) in tests for turn in turns_back(end))


def _tests_setting(context: RuleContext, function: Function, condition: Expr, words: frozenset[str]) -> bool:
    return any(
        words.intersection(name_words(name)) and not _is_reassigned(context, name)
        for name in _fields(context, function, canonical_forms(function).of(condition))
    )


def _fields(context: RuleContext, function: Function, condition: Expr) -> set[str]:
    """Return the component's own fields that a condition, in canonical form, reads."""
    match condition:
        case Attr() as place:
            name = context.field(function, place)
            return {name} if name else set()
        case Not(value=value):
            return _fields(context, function, value)
        case Compare(left=left, right=right):
            return _fields(context, function, left) | _fields(context, function, right)
        case Mix(op="call", parts=(Attr() as getter,)):
            own = context.own_method(function, getter)
            return {getter.name} if own is not None else set()
        case _:
            return set()


def _is_reassigned(context: RuleContext, field: str) -> bool:
    """Whether the component assigns a field while it runs: then it is a state, not a setting."""
    return any(
        isinstance(step.op, (Bind, Update))
        and isinstance(step.op.target, Attr)
        and context.field(function, step.op.target) == field
        for function in context.functions()
        if not _SETTERS.match(function.name)
        for step in function.cfg.steps
    )
