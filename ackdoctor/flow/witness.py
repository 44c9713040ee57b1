"""Witnesses: turn a path into the steps that a reader follows, and answer the checks' queries about a path.

A witness shows the turns of a path: received, branch taken, helper entered, acked, acked again.  Helpers that leave the
tuple's state unchanged are left out.
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice

from ackdoctor.flow.events import Deferral, Path, PathPoint, points_back, turns_back, turns_forward
from ackdoctor.flow.expressions import callee_text, condition_text, goes_on
from ackdoctor.flow.state import State
from ackdoctor.flow.values import OneOf, Token
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    RAISED,
    Attr,
    Call,
    Catch,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Item,
    Jump,
    Name,
    Next,
    Notation,
    Return,
    Test,
    Throw,
    Update,
    Way,
)
from ackdoctor.model.finding import PathStep, PathWitness
from ackdoctor.model.source import Site, Span

CAUGHT = "exception caught"  # the note on a step into an `except` or `catch`
_MAX_STEPS = 40  # of one witness; the middle of a longer path is left out
_MAX_DEPTH = 6  # of helper calls that the reader sees as indentation


# ---- the steps of a witness ----


def witness(
    end: Path,
    token: Token | None,
    last: str,
    at: tuple[Function, Span] | None,
    notation: Notation,
) -> PathWitness:
    """The witness of a path; `last` is the note of its last step, and `notation` that of the quoted code.

    Helpers that do not change the state of `token` are left out, except for one that contains the site `at`.
    """
    inside = at if at is not None and all(at[0] is not visit.function for visit in end.call_stack()) else None

    def skip(visit: Path) -> bool:
        return (
            visit.via is not EdgeKind.RAISE
            and visit.before is not None
            and _is_unchanged(visit.before, visit, token)
            and not (inside is not None and visit.inner is not None and _visits(visit.inner, *inside))
        )

    steps_of = partial(_steps, end=end, token=token, last=last, notation=notation)
    steps = list(islice(steps_of(turns_back(end, skip)), _MAX_STEPS + 1))
    steps.reverse()
    if len(steps) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        steps[:-half] = islice(steps_of(turns_forward(end, skip)), half)
    return PathWitness(steps=tuple(steps))


def _steps(
    points: Iterator[PathPoint], end: Path, token: Token | None, last: str, notation: Notation
) -> Iterator[PathStep]:
    """The steps of the points that have a note."""
    for point in points:
        is_last = point.visit is end
        note = last if is_last else _note(point, token, notation)
        if note:
            after = None if is_last or (point.after is not None and point.after.inner) else point.after
            state = _stage(after.state if after is not None else point.visit.state, token)
            if is_last and not last.startswith("returns"):
                state = ""  # the note names the operation on the tuple
            yield PathStep(
                site=_site(point.visit), note=note, state=state, depth=min(point.depth, _MAX_DEPTH)
            )


def _visits(inner: Path, function: Function, span: Span) -> bool:
    return any(
        point.visit.function is function and span in (point.visit.step.span, function.head)
        for point in turns_back(inner)
    )


def _is_unchanged(visit: Path, after: Path, token: Token | None) -> bool:
    return token is not None and visit.state.tokens.get(token) == after.state.tokens.get(token)


def _site(visit: Path) -> Site:
    step = visit.step
    span = visit.function.head if visit.index in (ENTRY, EXIT, RAISED) else step.span
    if visit.index in (EXIT, RAISED) and visit.before is not None and visit.via is not None:
        span = visit.before.step.span
    return Site(visit.function.path, span)


def _stage(state: State, token: Token | None) -> str:
    if token is None or token not in state.tokens:
        return ""
    return state.tokens[token].stage.value


def _note(point: PathPoint, token: Token | None, notation: Notation) -> str:
    visit, after = point.visit, point.after
    via = after.via if after is not None else None
    match visit.step.op:
        case _ if visit.index == ENTRY:
            return "received" if visit.before is None else f"in {visit.function.name}"
        case Throw():
            return "raises"
        case Catch():
            return CAUGHT if via is EdgeKind.TRUE else ""
        case Call() as call:
            return _call_note(point, call, token)
        case _ if via is EdgeKind.RAISE:
            return "if this raises"
        case Test(condition=condition):
            return _branch_note(visit, condition, via, notation)
        case Next():
            return {EdgeKind.TRUE: "next iteration", EdgeKind.FALSE: "loop ends"}.get(via, "") if via else ""
        case Return() if point.depth == 0:
            return "returns" + _batch_note(visit, after, token)
        case Jump(word=word) if word in ("continue", "break", "return"):
            return word + _batch_note(visit, after, token)
        case _:
            return _stage_note(visit, after, token)


def _batch_note(visit: Path, after: Path | None, token: Token | None) -> str:
    """For a step that leaves a loop over a batch: the state in which the path goes on with its other tuples."""
    if token is None or after is None or _is_unchanged(visit, after, token):
        return ""
    if _stage(after.state, token) == "owed":
        return ", the rest of the batch stays pending"
    return ", as for earlier tuples of the batch"


def _is_bookkeeping(condition: Expr) -> bool:
    """Whether a test only asks where the body of a `with` went: a temporary is compared with a number."""
    return (
        isinstance(condition, Compare)
        and isinstance(condition.left, Name)
        and condition.left.id.startswith("%way")
    )


def _branch_note(visit: Path, condition: Expr, via: EdgeKind | None, notation: Notation) -> str:
    if _is_bookkeeping(condition):
        return ""
    word = {EdgeKind.TRUE: "true", EdgeKind.FALSE: "false"}.get(via, "") if via else ""
    text = condition_text(visit.function, condition, notation) if word else ""
    return f"{text} is {word}" if text else word


def _call_note(point: PathPoint, call: Call, token: Token | None) -> str:
    visit, after = point.visit, point.after
    if after is None or after.inner is not None:
        return f"calls {callee_text(call.func)}"
    if after.via is EdgeKind.RAISE:
        return f"if {callee_text(call.func)} raises"
    return _stage_note(visit, after, token)


def _stage_note(visit: Path, after: Path | None, token: Token | None) -> str:
    """The new stage of the token, if the step changes it."""
    if token is None or after is None:
        return ""
    before, now = visit.state.tokens.get(token), after.state.tokens.get(token)
    if now is None or before == now or (before is not None and before.stage is now.stage):
        return ""
    if now.stage.value == "held":
        return f"held by {' and '.join(now.holders)}"
    return now.stage.value


# ---- queries of the checks ----


def line_text(at: Path | Deferral, seen_from: Function) -> str:
    """The line of a step in a message about a place in `seen_from`; with the file if that is another."""
    line = f"line {at.step.span.line}"
    if at.function.path == seen_from.path:
        return line
    return f"{line} of {at.function.path.rpartition('/')[2]}"


def completions(end: Path, token: Token) -> Iterator[Path]:
    """The visits on a path that ack or fail `token`, last first."""
    for visit, after, _ in turns_back(end):
        if after is None or after.inner is not None or not isinstance(visit.step.op, Call):
            continue
        if after.via is EdgeKind.RAISE:  # it leaves a loop, and its element is an earlier one again
            continue
        before, now = visit.state.tokens.get(token), after.state.tokens.get(token)
        changed = now is not None and (before is None or before.stage is not now.stage)
        if changed and now is not None and now.stage.value in ("acked", "failed"):
            yield visit


def was_widened(end: Path) -> bool:
    """Whether the cap on states dropped facts on this path; with them it might be infeasible."""
    return any(visit.widened for visit in end.call_stack())


def assumes_raise(end: Path) -> bool:
    """Whether the path assumes an exception that no `raise` statement throws."""
    return any(visit.assumes_raise for visit in end.call_stack())


def call_chain(end: Path, visit: Path) -> tuple[int, ...]:
    """The steps (by id) of the calls around a visit on the path, outermost first, and its own step last."""
    stack = list(end.call_stack())
    for number, outer in enumerate(stack):
        if outer.entry is visit.entry:
            return tuple(id(each.step) for each in (*reversed(stack[number + 1 :]), visit))
    chain: list[int] = []
    caller_depth = -1
    for point in points_back(end):
        if point.depth == caller_depth or (not chain and point.visit is visit):
            chain.append(id(point.visit.step))
            caller_depth = point.depth - 1
    return tuple(reversed(chain))


def raising_visit(end: Path) -> Path | None:
    """The visit that raises the exception that leaves the handler: the innermost last one."""
    for visit, after, _ in turns_back(end):
        if after is not None and after.via is EdgeKind.RAISE and after.inner is None:
            return visit
        if after is None and visit.via is EdgeKind.RAISE and visit.inner is None:
            return visit.before
    return None


def leaving_step(end: Path, completing: frozenset[int]) -> tuple[Function, Span]:
    """The best site to report for a path that never completes its tuple: where it leaves, or the last decisive branch.

    `completing` are the functions (by id) that complete the tuple somewhere; branches elsewhere are not decisive.
    """
    fallback: tuple[Function, Span] | None = None
    for visit, after, depth in turns_back(end):
        function, step = visit.function, visit.step
        if depth > 0 and id(function) not in completing:
            continue
        match step.op:
            case Return(value=value) if step.way in (
                None,
                Way.RAISE,
            ):  # in a finally it discards the exception
                if not _is_helper_result(visit, value, completing):
                    return function, step.span
                fallback = fallback or (function, step.span)
            case Jump(word="continue" | "break"):
                return function, step.span
            case Next(loop=loop) if (
                after is not None and after.via is EdgeKind.FALSE and loop in visit.state.loops
            ):
                continue
            case Next() if after is not None and after.via is EdgeKind.TRUE:
                continue
            case Test(condition=condition) if _is_bookkeeping(condition):
                continue
            case Test() | Next() | Catch():
                if isinstance(step.op, Catch) and after is not None and after.via is not EdgeKind.TRUE:
                    continue
                if after is not None and _is_decisive(function, visit, after):
                    return function, step.span
                fallback = fallback or (function, step.span)
            case Call(func=func) if after is not None and after.inner is not None:
                chosen = after.inner.function
                if _is_choice(visit, func) and id(chosen) not in completing:
                    return chosen, chosen.head
            case _:
                continue
    return fallback or (end.function, end.function.head)


def _is_choice(visit: Path, func: Expr) -> bool:
    """Whether a call takes its code from a table of handlers."""
    while isinstance(func, Attr):
        func = func.obj
    return isinstance(func, Item) or (
        isinstance(func, Name) and isinstance(visit.state.env.get(func.id), OneOf)
    )


def _is_helper_result(visit: Path, value: Expr | None, completing: frozenset[int]) -> bool:
    """Whether a completing helper decides, and the handler only returns: `return self.store(tup)`, `store(tuple); return`."""
    after, before = visit, visit.before
    while before is not None:
        is_last = value is None or (isinstance(before.step.op, Call) and before.step.op.result == value)
        if is_last:
            return after.inner is not None and id(after.inner.function) in completing
        after, before = before, before.before
    return False


def _is_decisive(function: Function, visit: Path, after: Path) -> bool:
    """Whether the branch not taken reaches a call that the branch taken does not."""
    taken = _calls_from(function, after.index)
    fork = _raising_step(visit) if isinstance(visit.step.op, Catch) else visit
    others = {edge.target for edge in fork.step.edges if edge.target != after.index}
    return any(_calls_from(function, other) - taken for other in others)


def _raising_step(handler: Path) -> Path:
    """The visit whose exception a handler caught; without the exception the path would have gone on from there."""
    visit = handler
    while visit.before is not None and visit.via is not EdgeKind.RAISE:
        visit = visit.before
    return visit.before or handler


def _calls_from(function: Function, start: int) -> frozenset[int]:
    """The calls and updates reachable from a step without back edges and exceptions."""
    reached = function.cfg.reached([start], goes_on)
    return frozenset(index for index in reached if isinstance(function.cfg.steps[index].op, (Call, Update)))


def breach_site(end: Path, token: Token) -> Path:
    """The best site to report for a second completion: the handler's call of a helper that is correct by itself."""
    visit = end
    while True:
        entry = visit.entry
        at_entry = entry.state.tokens.get(token)
        if entry.before is None or at_entry is None or at_entry.stage.value not in ("acked", "failed"):
            return visit
        visit = entry.before
