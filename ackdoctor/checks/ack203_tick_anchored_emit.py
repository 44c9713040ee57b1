"""ACK203: a bolt emits rows of earlier input tuples at a tick, and does not anchor them to those tuples.

The rows are in a list field that a data handler fills and another method empties.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import INITIALISERS
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, tuple_params
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted, Flow
from ackdoctor.flow.library import COLLECTION_WRAPPERS, CONTAINER_STORES
from ackdoctor.flow.state import Tick
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Drop,
    Expr,
    Function,
    Global,
    Item,
    Name,
    Next,
    Unpack,
)
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_APPENDS = CONTAINER_STORES - {"update", "setdefault"}
_EMPTIES = frozenset(
    "clear pop popleft get_nowait get poll pollFirst pollLast take removeFirst removeLast".split()
)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit at a tick of rows that `process` stored one by one."""
    if not context.is_bolt:
        return
    filled = _filled(context)
    emptied = _emptied(context) if filled else frozenset()
    in_flight = filled & emptied
    if not in_flight:
        return
    reported: set[int] = set()
    for flow, emit in context.events(Emitted, EntryKind.DATA, EntryKind.TICK):
        at_tick = flow.entry is not None and (flow.entry.kind is EntryKind.TICK or emit.tick is Tick.YES)
        if not at_tick or id(emit.step) in reported or not _lacks_input_anchors(emit):
            continue
        field = _emitted_field(context, flow, emit, in_flight)
        if field is None:
            continue
        reported.add(id(emit.step))
        by_hand = f"{context.role.by_hand}: " if context.component.auto_ack and context.role.by_hand else ""
        yield context.finding(
            context.words(field=f"self.{field}", by_hand=by_hand),
            at=(emit.function, emit.step.span),
            misuse=None,
            path=emit.path,
            token=emit.subject,
            flow=flow,
            severity=min(Severity.WARNING, context.severity(Misuse.UNANCHORED)),
        )


def _lacks_input_anchors(emit: Emitted) -> bool:
    if emit.anchors in (Anchors.NONE, Anchors.DEFAULT):
        return True
    return emit.anchors is Anchors.EXPLICIT and set(emit.anchored) == {emit.subject}


def _filled(context: RuleContext) -> frozenset[str]:
    """The list fields to which a data handler appends values of its tuples."""
    found: set[str] = set()
    for flow in context.flows:
        if flow.entry is None or flow.entry.kind is not EntryKind.DATA or flow.entry.subject is None:
            continue
        derived = derived_names(flow.function, tuple_params(flow, flow.function))
        for step in flow.function.cfg.steps:
            match step.op:
                case Call(func=Attr(obj=Attr() as obj, name=name), args=args) if name in _APPENDS:
                    field = context.field(flow.function, obj)
                    if field and any(mentions_any(arg.value, derived) for arg in args):
                        found.add(field)
                case _:
                    pass
    return frozenset(found - _sorted(context))


def _sorted(context: RuleContext) -> set[str]:
    """The fields that a method sorts: they are summaries."""
    found: set[str] = set()
    for function, _, call in context.calls():
        if isinstance(call.func, Attr) and call.func.name in ("sort", "most_common"):
            field = context.field(function, call.func.obj)
            if field:
                found.add(field)
    return found


def _emptied(context: RuleContext) -> frozenset[str]:
    """The fields that some method other than an initialiser empties."""
    found: set[str] = set()
    for function in context.functions():
        if function.name in INITIALISERS:
            continue
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=Attr() as target, value=Build(items=())):
                    found.add(context.field(function, target) or "")
                case Unpack(targets=targets, value=Build(items=items)):
                    for place, item in zip(targets, items, strict=False):
                        if isinstance(place, Attr) and isinstance(item, Build) and not item.items:
                            found.add(context.field(function, place) or "")
                case Drop(target=Item(obj=obj)):
                    found.add(context.field(function, obj) or "")
                case Call(func=Attr(obj=obj, name=name)) if name in _EMPTIES:
                    found.add(context.field(function, obj) or "")
                case _:
                    pass
    return frozenset(found - {""})


def _emitted_field(context: RuleContext, flow: Flow, emit: Emitted, fields: frozenset[str]) -> str | None:
    """The field whose rows an emit sends, one by one or all at once."""
    payload = emit.args.get(emit.verb.subject or "")
    if payload is None:
        return None
    for field in sorted(fields):
        if _carries(context, emit.function, payload, field):
            return field
        if emit.function is not flow.function and _passes_rows(context, flow.function, field):
            names = frozenset(param.name for param in emit.function.params[1:])
            if mentions_any(payload, derived_names(emit.function, names)):
                return field
        names = _run_for_each(context, emit.function, field)
        if mentions_any(payload, derived_names(emit.function, names)):
            return field
    return None


def _run_for_each(context: RuleContext, closure: Function, field: str) -> frozenset[str]:
    """The parameters of a closure that a loop or a method of the field runs with its rows."""
    for function, _, call in context.calls():
        match call.func:
            case Attr(obj=obj) if context.field(function, obj) == field:
                run = [arg.value for arg in call.args]
            case Closure() as called if any(
                mentions_any(arg.value, _rows(context, function, field)) for arg in call.args
            ):
                run = [called]
            case _:
                continue
        for value in run:
            if isinstance(value, Closure) and function.closures.get(value.key) is closure:
                return frozenset(param.name for param in closure.params)
    return frozenset()


def _passes_rows(context: RuleContext, function: Function, field: str) -> bool:
    """Whether a handler passes the field's rows to a method of the component."""
    rows = _rows(context, function, field)
    return any(
        isinstance(step.op, Call)
        and context.own_method(function, step.op.func) is not None
        and any(
            mentions_any(arg.value, rows) or context.field(function, arg.value) == field
            for arg in step.op.args
        )
        for step in function.cfg.steps
    )


def _carries(context: RuleContext, function: Function, payload: Expr, field: str) -> bool:
    if mentions_any(payload, _rows(context, function, field)):
        return True
    parts = payload.items if isinstance(payload, Build) else (payload,)
    return any(context.field(function, part) == field for part in parts)


def _rows(context: RuleContext, function: Function, field: str) -> frozenset[str]:
    """The locals that hold rows of a field: assigned, iterated or popped from it."""
    names: set[str] = set()
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Name(id=name), value=value) if context.field(function, value) == field:
                names.add(name)
            case Unpack(targets=targets, value=Build(items=items)):
                for target, item in zip(targets, items, strict=False):
                    if isinstance(target, Name) and context.field(function, item) == field:
                        names.add(target.id)
            case Next(target=Name(id=name), iterable=iterable) if context.field(function, iterable) == field:
                names.add(name)
            case Call(result=result, func=Attr(obj=obj, name=verb)) if verb in _EMPTIES:
                if context.field(function, obj) == field:
                    names.add(result.id)
            case Call(result=result, func=Global(id=view), args=args) if view in COLLECTION_WRAPPERS and args:
                if context.field(function, args[0].value) == field:
                    names.add(result.id)
            case _:
                pass
    return derived_names(function, frozenset(names)) - _summaries(function)


def _summaries(function: Function) -> frozenset[str]:
    """The results of calls that reduce many rows to one value."""
    return frozenset(
        step.op.result.id
        for step in function.cfg.steps
        if isinstance(step.op, Call) and getattr(step.op.func, "id", "") in ("sum", "max", "min", "Counter")
    )
