"""ACK101: a path leaves the handler with a tuple that is neither acked, failed nor stored, or empties a buffer of tuples.

If no path completes the tuple, there is one finding at the handler; else one finding for each way out that misses it.
"""

from collections.abc import Iterator

from ackdoctor.checks.completions import BY_HAND, leaving_place, missed_completions
from ackdoctor.checks.facts.dataflow import handler_steps, raises_to_handler, reachable
from ackdoctor.checks.facts.fields import ACKING, depends_on_setting
from ackdoctor.checks.facts.handlers import failure_branch, has_no_remedy
from ackdoctor.checks.hidden_failures import called_method
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.domains.tuples import is_listed, is_whole_slice
from ackdoctor.flow.events import (
    Completed,
    Dropped,
    Ended,
    Flow,
    Path,
    Released,
    Stored,
    points_back,
    turns_back,
)
from ackdoctor.flow.expressions import assigned_targets, last_name, name_words, operands, subexpressions
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.values import Token, TokenKind, TokenRef
from ackdoctor.flow.witness import assumes_raise
from ackdoctor.libraries.vocabulary import (
    CLEARS,
    CONTAINER_FILTERS,
    CONTAINER_REMOVALS,
    CONTAINER_STORES,
    STOPS,
    TASKS,
)
from ackdoctor.model.acker import ACK_INIT
from ackdoctor.model.cfg import (
    ENTRY,
    RAISED,
    Attr,
    Bind,
    Call,
    Catch,
    Closure,
    Drop,
    EdgeKind,
    Expr,
    Function,
    Instr,
    Literal,
    Name,
    Next,
    Test,
    Unpack,
)
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Stage
from ackdoctor.model.source import Span
from ackdoctor.rulebook import Words

_COMPLETING = (VerbKind.ACK, VerbKind.FAIL)
_SETTLED = frozenset(  # in the name of what says that other code has completed an entry
    "done acked ack failed fail completed complete finished finish settled processed handled closed state status".split()
)


def ack101_missing_ack(context: RuleContext) -> Iterator[Finding]:
    """Yield the findings of each data or batch handler, and of each place that empties a buffer."""
    yield from _at_ends(context)
    yield from _in_later_code(context)
    yield from _dropped(context)
    yield from _in_endless_loops(context)


def _at_ends(context: RuleContext) -> Iterator[Finding]:
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        if flow.wrapped:
            continue
        missing = [
            event
            for event in flow.events
            if isinstance(event, Ended) and event.breach is not None and not event.is_system
        ]
        if not missing or flow.function.docstring_only:
            continue
        is_opt_out = depends_on_setting(context, ACKING)
        missing = [ended for ended in missing if not is_opt_out(ended.path)]
        token = missing[0].token if missing else None
        if token is None or _is_acker(context):
            continue
        if _never_completed(flow, token):
            first = next((ended for ended in missing if not assumes_raise(ended.path)), missing[0])
            yield context.finding(
                _words(context, "no path", flow, token, first.path),
                Misuse.NEVER,
                flow.function,
                flow=flow,
                path=first.path,
                token=token,
                confidence=Confidence.MAY if flow.limited else Confidence.MUST,  # every path shows it
            )
        else:
            words = _words(context, "one path", flow, token, missing[0].path)
            yield from missed_completions(context, words, Misuse.NEVER, flow, missing)


def _is_acker(context: RuleContext) -> bool:
    """Whether the component is an acker of a framework: its tuples belong to no tree."""
    return Literal(ACK_INIT) in context.component.cls.attrs.values()


def _in_later_code(context: RuleContext) -> Iterator[Finding]:
    """Yield where a task or a callback only logs a failure: it completes the tuple if its work succeeds."""
    for flow in context.flows if context.component.auto_ack is False and context.is_bolt else ():
        ends = [event for event in flow.events if isinstance(event, Ended) and event.deferral is not None]
        done = [end for end in ends if _stage(end) in (Stage.ACKED, Stage.FAILED)]
        tasks = {(id(end.deferral), end.path.function) for end in done}
        passed = {id(end.deferral.step) for end in done if end.deferral is not None}
        for end in ends:
            if _stage(end) is not Stage.HELD or end.raised is not None or end.is_system:
                continue
            if end.token is None or end.deferral is None:
                continue
            at: Path | tuple[Function, Span] | None = None
            if end.deferral.runner in TASKS and (id(end.deferral), end.path.function) in tasks:
                at = _silent_handler(context, end)
            elif id(end.deferral.step) in passed and _ignores_error(
                context, end, beside=all(other.path.function is not end.path.function for other in done)
            ):
                at = leaving_place(flow, end.path, end.token)
            if at is not None and context.is_first(at.step if isinstance(at, Path) else at):
                words = _words(context, "one path", flow, end.token, end.path)
                yield context.finding(
                    words,
                    Misuse.NEVER,
                    at,
                    flow=flow,
                    path=end.path,
                    token=end.token,
                    confidence=Confidence.MAY,
                )


def _ignores_error(context: RuleContext, end: Ended, *, beside: bool) -> bool:
    """Whether a path through a callback, perhaps `beside` one for success, learns that the work failed, and only logs and reports it."""
    branch = failure_branch(context, end, beside=beside)
    return branch is not None and (
        branch.test is None
        or any(
            visit.index == branch.test and after is not None and after.via is branch.via
            for visit, after, _ in points_back(end.path)
            if visit.function is end.path.function
        )
    )


def _stage(end: Ended) -> Stage | None:
    held = end.state.tokens.get(end.token) if end.token is not None else None
    runner = end.deferral.runner if end.deferral is not None else ""
    return (
        held.stage
        if held is not None and (held.stage is not Stage.HELD or held.holders == (runner,))
        else None
    )


def _silent_handler(context: RuleContext, end: Ended) -> Path | None:
    """Return the exception handler that a path ends in, if it only logs and reports."""
    if _is_stopped(end.path):
        return None
    for visit, after, _ in turns_back(end.path):
        op = visit.step.op
        if isinstance(op, Test):
            return None
        if isinstance(op, Catch) and after is not None and after.via is EdgeKind.TRUE:
            inside = handler_steps(visit.function, visit.index)
            return visit if has_no_remedy(context, visit.function, inside) else None
    return None


def _dropped(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each place that drops tuples of a field which other paths complete."""
    if context.component.auto_ack is not False or not context.is_bolt:
        return
    completed = {event.field for _, event in context.releases() if event.completed}
    moved = {event for _, event in context.releases() if _target(context, event) in completed}
    completed |= {event.field for event in moved}
    entries = (EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK)
    inputs = (
        stored for _, stored in context.events(Stored, *entries) if stored.token.kind is not TokenKind.STORED
    )
    held = completed & {stored.field for stored in inputs}  # also by a callback
    for flow, dropped in context.events(Dropped):
        is_handler = flow.entry is not None and flow.entry.kind in entries
        is_code = flow.entry is None or dropped.deferral is not None  # of a thread or a callback
        if dropped.field not in held or not (is_handler or is_code):
            continue
        moves = any(event in moved and event.field == dropped.field for event in flow.events)
        if (dropped.removed or not is_handler) and not (moves or _completes_removed(flow, dropped.field)):
            continue
        removal = _iterator_removal(dropped)
        if _is_stopped(dropped.path) or _is_settled(dropped, removal):
            continue
        function, span = _place(flow, dropped, removal)
        if context.is_first((function.path, span.line)):
            words, at = context.words("dropped", field=f"self.{dropped.field}"), (function, span)
            yield context.finding(
                words, Misuse.NEVER, at, flow=flow, path=dropped.path, confidence=Confidence.MAY
            )


def _target(context: RuleContext, released: Released) -> str | None:
    """Return the field to which code moves what it takes out of another one: `self.done.put(tup)`."""
    match released.step.op:
        case Call(func=Attr(obj=place, name=name)) if name in CONTAINER_STORES and not released.completed:
            return context.own_field(released.function, place)
        case _:
            return None


def _completes_removed(flow: Flow, field: str) -> bool:
    """Whether the handler completes what it removes from a field, or a tuple in it."""
    tokens = [event.token for event in flow.events if isinstance(event, Completed) and event.token]
    paths = {token.path for token in tokens if token.field == field}
    return bool(paths) and all("[]" not in path for path in paths)  # looked up one by one, perhaps in none


def _iterator_removal(dropped: Dropped) -> Path | None:
    """Return the call with which a loop's iterator has removed a tuple that an iteration without an exception leaves owed."""
    is_iteration = isinstance(dropped.step.op, Next) and dropped.path.state.caught is None
    for visit, _, _ in points_back(dropped.path) if is_iteration else ():
        match visit.step.op:
            case Call(func=Attr(name=name), args=(), dropped=True) if name in CONTAINER_REMOVALS:
                return visit
            case Next() if visit.step is dropped.step and visit is not dropped.path:
                return None
            case _:
                pass
    return None


def _is_settled(dropped: Dropped, removal: Path | None) -> bool:
    """Whether what removes an entry asks it whether other code has completed it: `if (entry.done)`."""
    asked: list[Expr] = []
    match dropped.step.op:
        case Call(func=Attr(name=name), args=args) if name in CONTAINER_FILTERS:
            codes = [
                dropped.function.closures[arg.value.key] for arg in args if isinstance(arg.value, Closure)
            ]
            asked = [value for code in codes for step in code.cfg.steps for value in operands(step.op)]
        case _:
            for visit, _, _ in points_back(removal) if removal is not None else ():
                if isinstance(visit.step.op, Next):
                    break
                asked += operands(visit.step.op)
    parts = (part for value in asked for part in subexpressions(value))
    return any(not _SETTLED.isdisjoint(name_words(last_name(part))) for part in parts)


def _is_stopped(end: Path) -> bool:
    """Whether a path goes through a handler of the exception that stops a thread."""
    caught = (
        visit.step.op
        for visit, after, _ in turns_back(end)
        if after is not None and after.via is EdgeKind.TRUE
    )
    return any(
        isinstance(op, Catch) and op.types and {name.rpartition(".")[2] for name in op.types} <= STOPS
        for op in caught
    )


def _place(flow: Flow, dropped: Dropped, removal: Path | None) -> tuple[Function, Span]:
    """Return the step that empties the field, or the one that leaves with tuples that were taken out of it."""
    if removal is not None:
        return removal.function, removal.step.span
    match dropped.step.op:
        case Bind() | Unpack():
            return dropped.function, dropped.step.span
        case Drop(target=place) if not is_whole_slice(place):
            return dropped.function, dropped.step.span
        case Call(func=Attr(name=name), dropped=True) if (
            name in CLEARS | CONTAINER_FILTERS | CONTAINER_REMOVALS
        ):
            return dropped.function, dropped.step.span
        case _:
            leaves = leaving_place(flow, _end_of_iteration(dropped), field=dropped.field)
            lost = _loss(dropped)
            is_before = lost is not None and lost[0] is leaves[0] and leaves[1].line < lost[1].line
            return lost if lost is not None and is_before else leaves


def _loss(dropped: Dropped) -> tuple[Function, Span] | None:
    """Return the step that took a tuple out of the field and left it in a local list, if the path still has it there."""
    lost = None
    for visit, _, _ in points_back(dropped.path):
        if not is_listed(visit.state, dropped.field):
            return lost
        lost = None if visit.before is None else (visit.before.function, visit.before.step.span)
    return None


def _end_of_iteration(dropped: Dropped) -> Path:
    """Return the end of the loop's iteration that lost a removed tuple, or the end of the path."""
    for visit, _, _ in points_back(dropped.path):
        if all(token.field != dropped.field for token in visit.state.tokens):
            break
        if visit.via is EdgeKind.BACK and visit.before is not None:
            return (
                visit.before if visit.inner is None else visit
            )  # a helper's path is in the visit after the call
    return dropped.path


def _words(context: RuleContext, case: str, flow: Flow, token: Token, path: Path) -> Words:
    handler = f"{context.component.name}.{flow.function.name}"
    words = context.words(case, tup=token.words, handler=handler)
    override = _override(context, path)
    if override is not None:
        line, name = override.head.line, override.name
        return words._replace(
            help=context.phrase("replaced verb", verb=name, method=override.qualname, line=line)
        )
    for event in flow.events:
        match event:
            case Completed(token=None, value=TokenRef(part="id"), verb=verb) if verb is not None:
                line, price = event.step.span.line, context.price(Misuse.SUBJECT_ID)
                advice = context.phrase("completed by id", verb=verb.name, line=line, price=price)
                return words._replace(help=advice)
            case _:
                pass
    return words


def _override(context: RuleContext, path: Path) -> Function | None:
    """Return the component's own `ack` or `fail` that a path enters; it does not call the framework's."""
    verbs = {verb.name for verb in context.role.verbs if verb.on == "self" and verb.kind in _COMPLETING}
    entered = (visit.function for visit, _, _ in points_back(path) if visit.function.name in verbs)
    return next((each for each in entered if each is context.component.method(each.name)), None)


def _never_completed(flow: Flow, token: Token) -> bool:
    """Whether no path completes, stores or hands over the tuple."""
    for event in flow.events:
        match event:
            case Completed(token=None, op=op, value=TokenRef()) if op in BY_HAND:
                continue  # the framework rejects it
            case Completed(token=done, op=op) if op in BY_HAND and (done == token or done is None):
                return False
            case Stored(token=stored) if stored == token:
                return False
            case Ended(breach=None, raised=None, state=state) if token in state.tokens:
                if not state.tokens[token].tick.is_system:
                    return False
            case _:
                pass
    return True


# ---- handlers that never return ----


def _in_endless_loops(context: RuleContext) -> Iterator[Finding]:
    """Yield the first loop of each data handler, or of a helper that it calls, that a path enters and never leaves."""
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        if flow.wrapped:
            continue
        loops = (
            (function, head, body)
            for function in _entered_functions(context, flow)
            for head, body in sorted(function.cfg.bodies.items())
        )
        for function, head, body in loops:
            certain = _never_ends(function, head, body) and head in reachable(function, [ENTRY])
            if not (certain or _is_kept_going(function, body)):
                continue
            done = _completed_in(flow, function, body)
            if any(token is None or not token.field for token in done):
                continue  # ack-in-loop reports a completion that the loop repeats
            handler = f"{context.component.name}.{flow.function.name}"
            yield context.finding(
                context.words("never reads" if done else "never returns", handler=handler),
                None,
                (function, function.cfg.steps[head].span),
                flow=flow,
                severity=Severity.ERROR,
                confidence=Confidence.MUST if certain else Confidence.MAY,
            )
            break


def _entered_functions(context: RuleContext, flow: Flow) -> list[Function]:
    """Return a handler, the methods that it calls, and the methods of the project's objects that these call.

    A call in a `try` is left out: an exception that the code expects may end the loop.
    """
    found = [flow.function]
    for function in found:  # the list grows during the loop
        for step in function.cfg.steps:
            call = step.op
            if not isinstance(call, Call) or raises_to_handler(step):
                continue
            method = context.own_method(function, call.func) or called_method(context, function, call)
            if method is not None and not method.is_generator and method not in found:
                found.append(method)
    return found


def _completed_in(flow: Flow, function: Function, body: range) -> list[Token | None]:
    """Return the tuples that a step of a loop, or a helper that it calls, completes."""
    steps = function.cfg.steps[body.start : body.stop]
    return [
        event.token
        for event in flow.events
        if isinstance(event, Completed)
        and any(visit.function is function and visit.step in steps for visit in event.path.call_stack())
    ]


def _never_ends(function: Function, head: int, body: range) -> bool:
    """Whether only an exception that no handler catches leaves a loop."""
    inside = reachable(function, [head]) & {*body}
    ways_out = {
        target for index in inside for _, target in function.cfg.steps[index].edges if target not in inside
    }
    return ways_out <= {RAISED}


def _is_kept_going(function: Function, body: range) -> bool:
    """Whether only a local flag ends a loop, and the loop never sets it to end."""
    steps = function.cfg.steps
    inside = {*body}
    ways_out = [
        (steps[index].op, kind)
        for index in body
        for kind, target in steps[index].edges
        if target not in inside and target != RAISED
    ]
    flags = {_tested_flag(op, kind) for op, kind in ways_out}
    if len(flags) != 1:
        return False
    flag, ending = flags.pop() or (None, None)
    if flag is None or any(flag.id in inner.captures for inner in function.closures.values()):
        return False
    inside_loop = [steps[index].op for index in body if flag in assigned_targets(steps[index].op)]
    anywhere = [step.op for step in steps if flag in assigned_targets(step.op)]
    values = [
        op.value.value if isinstance(op, Bind) and isinstance(op.value, Literal) else ending
        for op in inside_loop or anywhere
    ]
    return bool(values) and all(isinstance(value, bool) and value is not ending for value in values)


def _tested_flag(op: Instr, kind: EdgeKind) -> tuple[Name, bool] | None:
    """Return the local that a branch tests alone, and the value with which the branch is taken."""
    fact, same = normalise(op.condition) if isinstance(op, Test) else (None, False)
    if not isinstance(fact, Name) or kind not in (EdgeKind.TRUE, EdgeKind.FALSE):
        return None
    return fact, (kind is EdgeKind.TRUE) == same
