"""ACK404: a bolt waits for a full batch, or for the last part of a join, and nothing ends the wait."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import is_size_of, stored_inputs, unfinished_joins
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Flow, PathPoint, Released, turns_back
from ackdoctor.flow.expressions import subexpressions
from ackdoctor.flow.state import Tick
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.model.cfg import Attr, Call, Compare, Expr, Function, Global, Literal, Name, Test, Update
from ackdoctor.model.dialect import EntryKind, TickDuty
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_CLOCKS = frozenset({"time", "monotonic", "now", "utcnow", "perf_counter", "clock", "timestamp"}) | frozenset(
    {"currentTimeMillis", "nanoTime", "elapsed"}
)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield batches without a flush at a tick, joins without an expiry, and batching bolts without ticks."""
    if not context.is_bolt:
        return
    yield from _full_batches(context)
    for join in unfinished_joins(context):
        yield context.finding(
            context.words("join", field=f"self.{join.field}"),
            at=(join.function, join.created.span),
            misuse=None,
            severity=Severity.WARNING,
        )
    if context.role.batch_ticks and not context.component.heirs and not _sets_tick_frequency(context):
        yield _no_ticks(context)


# ---- a batch that waits until it is full ----


def _full_batches(context: RuleContext) -> Iterator[Finding]:
    fields = {stored.field for _, stored in stored_inputs(context)}
    for field in sorted(fields):
        test = _only_when_full(context, field)
        if test is None:
            continue
        flow, station = test
        visit = station.visit
        yield context.finding(
            context.words("full", field=f"self.{field}", and_ack=_and_ack(context)),
            at=(visit.function, visit.step.span),
            misuse=None,
            severity=Severity.WARNING,
            path=visit,
            token=None,
            flow=flow,
        )


def _and_ack(context: RuleContext) -> str:
    """Return the clause on the tick itself in a bolt that must ack it; else ""."""
    duty = context.discipline.tick
    return context.phrase("and ack") if duty in (TickDuty.REQUIRED, TickDuty.AUTO) else ""


def _only_when_full(context: RuleContext, field: str) -> tuple[Flow, PathPoint] | None:
    """Return the size test that guards every release of the field's tuples; None if some release is not guarded."""
    found: tuple[Flow, PathPoint] | None = None
    for flow, release in context.releases():
        if release.field == EVERYTHING:
            return None
        if release.field.partition(".")[0] != field:
            continue
        at_data = flow.entry is not None and flow.entry.kind is EntryKind.DATA
        if not at_data or release.deferral is not None or not release.completed or _at_tick(release):
            return None
        test = next((s for s in turns_back(release.path) if _is_size_test(context, s, field)), None)
        if test is None or _reads_clock(flow.function):
            return None
        found = found or (flow, test)
    return found


def _at_tick(release: Released) -> bool:
    return any(held.tick is Tick.YES for held in release.path.state.tokens.values())


def _is_size_test(context: RuleContext, station: PathPoint, field: str) -> bool:
    function, op = station.visit.function, station.visit.step.op
    if not isinstance(op, Test) or not isinstance(op.condition, Compare):
        return False
    if op.condition.op not in (">=", ">", "==", "<", "<=", "!="):
        return False
    for part in subexpressions(op.condition):
        if is_size_of(context, function, part, field):
            return True
        if _is_counter(context, function, part):
            return True
    return False


def _is_counter(context: RuleContext, function: Function, expr: Expr) -> bool:
    """Whether an expression is a field that the handler increments."""
    own = context.own_name(function)
    if not isinstance(expr, Attr) or expr.obj != own:
        return False
    return any(
        isinstance(step.op, Update) and step.op.target == expr and step.op.op.startswith("+")
        for step in function.cfg.steps
    )


def _reads_clock(function: Function) -> bool:
    for step in function.cfg.steps:
        match step.op:
            case Call(func=Attr(name=name) | Global(id=name) | Name(id=name)) if name in _CLOCKS:
                return True
            case _:
                pass
    return False


# ---- a batching bolt without ticks ----


def _sets_tick_frequency(context: RuleContext) -> bool:
    """Whether the component, or any other file of the project, sets a tick frequency."""
    words = tuple(Literal(word) for word in context.dialect.tick_settings)
    for unit in context.program.units.values():
        values = [*unit.values.values(), *(v for cls in unit.classes.values() for v in cls.attrs.values())]
        if any(part in words for value in values for part in subexpressions(value)):
            return True
    return False


def _no_ticks(context: RuleContext) -> Finding:
    component = context.component
    return context.finding(
        context.words(
            "no ticks",
            component=component.name,
            advice=context.phrase("set", setting=context.dialect.tick_settings[-1]),
        ),
        at=(context.program.units[component.cls.path].body, component.cls.head),
        misuse=None,
        severity=Severity.INFO,
        handler="process_batch",
    )
