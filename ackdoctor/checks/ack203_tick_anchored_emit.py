"""ACK203: a bolt emits rows of earlier input tuples at a tick, and does not anchor them to those tuples.

The rows are in a list field that a data handler fills and another method empties.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, tuple_names
from ackdoctor.checks.facts.fields import INITIALISERS, is_emptied, uses
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Emitted, Flow
from ackdoctor.flow.expressions import calls_by_result, last_name
from ackdoctor.libraries.vocabulary import COLLECTION_WRAPPERS, CONTAINER_STORES
from ackdoctor.model.cfg import Attr, Build, Closure, Expr, Function, Global, Name
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Tick

_APPENDS = CONTAINER_STORES - {"update", "setdefault"}
_EMPTIES = frozenset(
    "clear pop popleft get_nowait get poll pollFirst pollLast take removeFirst removeLast del".split()
)
_SORTS = frozenset(("sort", "most_common"))
_PACKS = COLLECTION_WRAPPERS | {"dumps", "join"}  # keep all rows in one value
_SUMMARIES = frozenset(("sum", "max", "min", "Counter"))  # reduce many rows to one value


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each emit at a tick of rows that `process` stored one by one."""
    fields = _row_fields(context) if context.is_bolt else []
    for flow, emit in context.events(Emitted, EntryKind.DATA, EntryKind.TICK) if fields else ():
        at_tick = flow.entry is not None and (flow.entry.kind is EntryKind.TICK or emit.tick is Tick.YES)
        if not at_tick or not _lacks_input_anchors(emit):
            continue
        field = next((field for field in fields if _sends_rows(context, flow, emit, field)), None)
        if field is not None and context.is_first(emit.step):
            severity = min(Severity.WARNING, context.severity(Misuse.UNANCHORED))
            by_hand = ""
            if context.component.auto_ack and context.role.by_hand:
                by_hand = f"{context.role.by_hand}: "
            words = context.words(field=f"self.{field}", by_hand=by_hand)
            yield context.finding(words, None, emit, flow=flow, severity=severity)


def _lacks_input_anchors(emit: Emitted) -> bool:
    if emit.anchors in (Anchors.NONE, Anchors.DEFAULT):
        return True
    return emit.anchors is Anchors.EXPLICIT and set(emit.anchored) == {emit.subject}


def _row_fields(context: RuleContext) -> list[str]:
    """Return the list fields to which a data handler appends values of its tuples, and that another method empties.

    A field that a method sorts is a summary.
    """
    filled, emptied, summaries = set[str](), set[str](), set[str]()
    for flow in context.tuple_handlers():
        derived = tuple_names(flow, flow.function)
        for use in uses(context, [flow.function]):
            if use.how in _APPENDS and isinstance(use.place, Attr):
                filled.update(use.field for value in use.values if mentions_any(value, derived))
    for use in uses(context):
        if use.how in _SORTS:
            summaries.add(use.field)
        elif (is_emptied(context, use) or use.how in _EMPTIES) and use.function.name not in INITIALISERS:
            emptied.add(use.field)
    return sorted(filled & emptied - summaries)


def _sends_rows(context: RuleContext, flow: Flow, emit: Emitted, field: str) -> bool:
    """Whether an emit sends rows of a field, one by one or all at once."""
    payload = emit.args.get(emit.verb.subject or "")
    if payload is None:
        return False
    parts = payload.items if isinstance(payload, Build) else (payload,)
    if any(context.field(emit.function, part) == field for part in parts):
        return True
    rows = _rows(context, emit.function, field) | _rows_of_closure(context, emit.function, field)
    if emit.function is not flow.function and _passes_rows(context, flow.function, field):
        rows |= derived_names(emit.function, frozenset(param.name for param in emit.function.params[1:]))
    return mentions_any(payload, rows)


def _rows(context: RuleContext, function: Function, field: str) -> frozenset[str]:
    """Return the locals that hold rows of a field: assigned, iterated or popped from it."""
    names: set[str] = set()
    for use in uses(context, [function], field):
        if use.how in ("alias", "for"):
            names.update(value.id for value in use.values if isinstance(value, Name))
        elif use.how in _EMPTIES or (use.how == "pass" and last_name(use.values[0]) in _PACKS):
            names.add(use.result)
    return derived_names(function, frozenset(names)) - {
        call.result.id
        for call in calls_by_result(function).values()
        if isinstance(call.func, Global) and call.func.id in _SUMMARIES
    }


def _rows_of_closure(context: RuleContext, closure: Function, field: str) -> frozenset[str]:
    """Return the locals with rows in a closure that a loop or a method of the field runs with them."""
    for function, call in context.calls():
        if not function.closures:
            continue
        run: list[Expr] = []
        if context.field(function, call.func) == field:
            run = [arg.value for arg in call.args]
        elif isinstance(call.func, Closure):
            rows = _rows(context, function, field)
            run = [call.func] if any(mentions_any(arg.value, rows) for arg in call.args) else []
        if any(isinstance(each, Closure) and function.closures.get(each.key) is closure for each in run):
            return derived_names(closure, frozenset(param.name for param in closure.params))
    return frozenset()


def _passes_rows(context: RuleContext, function: Function, field: str) -> bool:
    """Whether a handler passes the field's rows to a method of the component."""
    rows = _rows(context, function, field)
    return any(
        mentions_any(arg.value, rows) or context.field(function, arg.value) == field
        for call in calls_by_result(function).values()
        if context.own_method(function, call.func) is not None
        for arg in call.args
    )
