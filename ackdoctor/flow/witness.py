"""Turns a path into the path a reader follows: received, branch taken, helper entered, acked, acked again."""

from collections.abc import Iterator
from itertools import islice

from ackdoctor.flow.events import Path, PathPoint, points_back, turns_back, turns_forward
from ackdoctor.flow.expressions import callee_text, condition_text
from ackdoctor.flow.state import State, Token
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    RAISED,
    Call,
    Catch,
    EdgeKind,
    Expr,
    Jump,
    Next,
    Return,
    Step,
    Test,
    Throw,
    Update,
    Way,
)
from ackdoctor.model.component import Function
from ackdoctor.model.finding import PathStep, PathWitness
from ackdoctor.model.source import Site, Span

__all__ = [
    "assumes_raise",
    "breach_site",
    "call_chain",
    "completions",
    "leaving_step",
    "line_text",
    "raising_visit",
    "was_widened",
    "witness",
]


LONGEST = 40  # steps shown of one path; the first and the last ones are kept


def witness(
    end: Path, token: Token | None, last: str, at: tuple[Function, Span] | None = None
) -> PathWitness:
    """The path to `end`; `last` says what happens there.

    Helpers that left the tuple as it was are not told, unless the finding stands `at` a place in one of them.
    """
    inside = at if at is not None and all(at[0] is not visit.function for visit in end.call_stack()) else None

    def quiet(visit: Path) -> bool:
        return (
            visit.via is not EdgeKind.RAISE
            and visit.before is not None
            and _same(visit.before, visit, token)
            and not (inside is not None and visit.inner is not None and _passes(visit.inner, *inside))
        )

    closing = list(islice(_told(turns_back(end, quiet), end, token, last), LONGEST + 1))
    closing.reverse()
    if len(closing) > LONGEST:
        half = LONGEST // 2
        closing[:-half] = islice(_told(turns_forward(end, quiet), end, token, last), half)
    return PathWitness(steps=tuple(closing))


def _told(path: Iterator[PathPoint], end: Path, token: Token | None, last: str) -> Iterator[PathStep]:
    """The visits of a path that have something to say."""
    for station in path:
        final = station.visit is end
        note = last if final else _note(station, token)
        if note:
            after = None if final or (station.after is not None and station.after.inner) else station.after
            state = _stage(after.state if after is not None else station.visit.state, token)
            if final and not last.startswith("returns"):
                state = ""  # what happens to the tuple here is what the note says
            yield PathStep(site=_site(station.visit), note=note, state=state, depth=min(station.depth, 6))


def _passes(inner: Path, function: Function, span: Span) -> bool:
    return any(
        station.visit.function is function and station.visit.step.span == span
        for station in turns_back(inner)
    )


def _same(visit: Path, after: Path, token: Token | None) -> bool:
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


def _note(station: PathPoint, token: Token | None) -> str:
    visit, after = station.visit, station.after
    via = after.via if after is not None else None
    match visit.step.op:
        case _ if visit.index == ENTRY:
            return "received" if visit.before is None else f"in {visit.function.name}"
        case Throw():
            return "raises"
        case Catch():
            return "caught here" if via is EdgeKind.TRUE else ""
        case Call() as call:
            return _call_note(station, call, token)
        case _ if via is EdgeKind.RAISE:
            return "an exception here"
        case Test(condition=asked):
            return _outcome(visit, asked, via)
        case Next():
            return {EdgeKind.TRUE: "next round", EdgeKind.FALSE: "no more rounds"}.get(via, "") if via else ""
        case Return() if station.depth == 0:
            return "returns" + _rest(visit, after, token)
        case Jump(word=word) if word in ("continue", "break"):
            return word + _rest(visit, after, token)
        case _:
            return _change(visit, after, token)


def _rest(visit: Path, after: Path | None, token: Token | None) -> str:
    """Of a step that leaves a loop over a batch: which of the other tuples the path goes on with."""
    if token is None or after is None or _same(visit, after, token):
        return ""
    return (
        ", the rest of the batch is left"
        if _stage(after.state, token) == "owed"
        else ", as were others before"
    )


def _outcome(visit: Path, asked: Expr, via: EdgeKind | None) -> str:
    word = {EdgeKind.TRUE: "true", EdgeKind.FALSE: "false"}.get(via, "") if via else ""
    text = condition_text(visit.function, asked) if word else ""
    return f"{text} is {word}" if text else word


def _call_note(station: PathPoint, call: Call, token: Token | None) -> str:
    visit, after = station.visit, station.after
    if after is None:
        return f"calls {callee_text(call.func)}"
    if after.inner is not None:
        return f"calls {callee_text(call.func)}"
    if after.via is EdgeKind.RAISE:
        return f"if {callee_text(call.func)} raises"
    return _change(visit, after, token)


def _change(visit: Path, after: Path | None, token: Token | None) -> str:
    if token is None or after is None:
        return ""
    was, now = visit.state.tokens.get(token), after.state.tokens.get(token)
    if now is None or was == now or (was is not None and was.stage is now.stage):
        return ""
    return (
        f"held by {now.holder.replace(' self.', ' and self.')}"
        if now.stage.value == "held"
        else now.stage.value
    )


# ---- questions a check asks of a path ----


def line_text(visit: Path, seen_from: Function) -> str:
    """Where a visit stands, for a sentence about a place in `seen_from`: the file is named only if it is another."""
    line = f"line {visit.step.span.line}"
    return (
        line
        if visit.function.path == seen_from.path
        else f"{line} of {visit.function.path.rpartition('/')[2]}"
    )


def completions(end: Path, token: Token) -> Iterator[Path]:
    """The visits at which `token` was acked or failed on the way to `end`, the last one first."""
    for visit, after, _ in turns_back(end):
        if after is None or after.inner is not None or not isinstance(visit.step.op, Call):
            continue
        was, now = visit.state.tokens.get(token), after.state.tokens.get(token)
        if now is not None and now != was and now.stage.value in ("acked", "failed"):
            yield visit


def was_widened(end: Path) -> bool:
    """Whether a cap on the way took knowledge away that might have closed this path."""
    return any(visit.widened for visit in end.call_stack())


def assumes_raise(end: Path) -> bool:
    """Whether the path assumes that something raises which does not say so."""
    return any(visit.assumes_raise for visit in end.call_stack())


def call_chain(end: Path, visit: Path) -> tuple[int, ...]:
    """The steps (by id) of the calls that a visit on the path to `end` is inside of, outermost first, its own last."""
    around = list(end.call_stack())
    for number, outer in enumerate(around):
        if outer.entry is visit.entry:
            return tuple(id(each.step) for each in (*reversed(around[number + 1 :]), visit))
    chain: list[int] = []
    outside = -1  # the depth of the call around it
    for station in points_back(end):
        if station.depth == outside or (not chain and station.visit is visit):
            chain.append(id(station.visit.step))
            outside = station.depth - 1
    return tuple(reversed(chain))


def raising_visit(end: Path) -> Path | None:
    """The visit whose exception leaves the handler: the deepest last one."""
    for visit, after, _ in turns_back(end):
        if after is not None and after.via is EdgeKind.RAISE and after.inner is None:
            return visit
        if after is None and visit.via is EdgeKind.RAISE and visit.inner is None:
            return visit.before
    return None


def leaving_step(end: Path, completing: frozenset[int]) -> tuple[Function, Span]:
    """Where a path that never completes its tuple is best shown: the statement that leaves, or the last fork that mattered.

    `completing` are the functions (by id) in which the tuple is completed somewhere; a fork elsewhere is none.
    """
    fallback: tuple[Function, Span] | None = None
    for visit, after, depth in turns_back(end):
        function, step = visit.function, visit.step
        if depth > 0 and id(function) not in completing:
            continue
        match step.op:
            case Return(value=value) if step.way in (None, Way.RAISE):  # in a finally it swallows
                if not _helper_gave(visit, value, completing):
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
            case Test() | Next() | Catch():
                if isinstance(step.op, Catch) and after is not None and after.via is not EdgeKind.TRUE:
                    continue
                if after is not None and _mattered(function, visit, after):
                    return function, step.span
                fallback = fallback or (function, step.span)
            case _:
                continue
    return fallback or (end.function, end.function.head)


def _helper_gave(visit: Path, value: Expr | None, completing: frozenset[int]) -> bool:
    """Whether what is returned came out of one of these functions: `return self.store(tup)` leaves where that does."""
    after, before = visit, visit.before
    while before is not None:
        if isinstance(before.step.op, Call) and before.step.op.result == value:
            return after.inner is not None and id(after.inner.function) in completing
        after, before = before, before.before
    return False


def _mattered(function: Function, visit: Path, after: Path) -> bool:
    """Whether the other way out of a fork reaches a call that the way taken does not."""
    taken = _calls_from(function, after.index)
    fork = _raised_from(visit) if isinstance(visit.step.op, Catch) else visit
    others = {edge.target for edge in fork.step.edges if edge.target != after.index}
    return any(_calls_from(function, other) - taken for other in others)


def _raised_from(caught: Path) -> Path:
    """The visit whose exception came to a handler: what it would have gone on with is the other way."""
    visit = caught
    while visit.before is not None and visit.via is not EdgeKind.RAISE:
        visit = visit.before
    return visit.before or caught


def _calls_from(function: Function, start: int) -> frozenset[int]:
    """The verb-like calls reachable from a step without going round a loop again."""
    steps: list[Step] = function.cfg.steps
    seen = {start}
    stack = [start]
    found: set[int] = set()
    while stack:
        index = stack.pop()
        step = steps[index]
        if isinstance(step.op, (Call, Update)):
            found.add(index)
        for edge in step.edges:
            if edge.kind not in (EdgeKind.BACK, EdgeKind.RAISE) and edge.target not in seen:
                seen.add(edge.target)
                stack.append(edge.target)
    return frozenset(found)


def breach_site(end: Path, token: Token) -> Path:
    """Where a second completion is best shown: in the handler, the call of a helper that by itself is right."""
    visit = end
    while True:
        entry = visit.entry
        token_state = entry.state.tokens.get(token)
        if entry.before is None or token_state is None or token_state.stage.value not in ("acked", "failed"):
            return visit
        visit = entry.before
