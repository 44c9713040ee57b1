"""ACK404: work waits for a full batch, or for the last part of a set, and nothing ends the wait."""

from collections.abc import Iterator

from ackdoctor.checks.facts.buffers import kept_inputs, sized, unfinished_joins
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Flow, PathPoint, Released, turns_back
from ackdoctor.flow.expressions import subexpressions
from ackdoctor.flow.state import Tick
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.model.cfg import Attr, Call, Compare, Expr, Global, Literal, Name, Test, Update
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, TickDuty
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_CLOCKS = frozenset({"time", "monotonic", "now", "utcnow", "perf_counter", "clock", "timestamp"}) | frozenset(
    {"currentTimeMillis", "nanoTime", "elapsed"}
)


def check(context: RuleContext) -> Iterator[Finding]:
    """The three forms of waiting without an end."""
    if not context.is_bolt:
        return
    yield from _full_batches(context)
    for join in unfinished_joins(context):
        yield context.finding(
            at=(join.function, join.created.span),
            message=f"an entry of `self.{join.field}` leaves only when it is complete: one whose last part never "
            "comes stays for ever, and its other parts are acked",
            misuse=None,
            severity=Severity.WARNING,
            last=f"entry of self.{join.field} made here",
            help="at a tick, emit an incomplete entry as it is or report it as lost, some time after its first part",
        )
    if context.role.batch_ticks and not context.component.heirs and not _ticks_somewhere(context):
        yield _no_ticks(context)


# ---- a batch that must be full ----


def _full_batches(context: RuleContext) -> Iterator[Finding]:
    fields = {stored.field for _, stored in kept_inputs(context)}
    for field in sorted(fields):
        test = _only_when_full(context, field)
        if test is None:
            continue
        flow, station = test
        visit = station.visit
        yield context.finding(
            at=(visit.function, visit.step.span),
            message=f"the tuples of `self.{field}` are completed only when this limit is reached",
            misuse=None,
            severity=Severity.WARNING,
            path=visit,
            token=None,
            last="below the limit they wait, until they time out",
            flow=flow,
            help=f"flush what there is at a tick too{_and_ack(context)}, well within topology.message.timeout.secs",
        )


def _and_ack(context: RuleContext) -> str:
    """What else a tick wants in a bolt that completes by hand."""
    duty = context.discipline.tick
    return ", and ack the tick" if duty in (TickDuty.REQUIRED, TickDuty.AUTO) else ""


def _only_when_full(context: RuleContext, field: str) -> tuple[Flow, PathPoint] | None:
    """The size test that every release of the field's tuples is behind, if there is no other way."""
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
        if test is None or _asks_the_time(flow.function):
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
        if sized(context, function, part, field):
            return True
        if _is_counter(context, function, part):
            return True
    return False


def _is_counter(context: RuleContext, function: Function, expr: Expr) -> bool:
    """Whether an expression is a field that the handler counts up."""
    own = context.own_name(function)
    if not isinstance(expr, Attr) or expr.obj != own:
        return False
    return any(
        isinstance(step.op, Update) and step.op.target == expr and step.op.op.startswith("+")
        for step in function.cfg.steps
    )


def _asks_the_time(function: Function) -> bool:
    for step in function.cfg.steps:
        match step.op:
            case Call(func=Attr(name=name) | Global(id=name) | Name(id=name)) if name in _CLOCKS:
                return True
            case _:
                pass
    return False


# ---- a batching bolt without ticks ----


def _ticks_somewhere(context: RuleContext) -> bool:
    """Whether the component, or any file of the project that was read, sets a tick frequency."""
    words = tuple(Literal(word) for word in context.dialect.tick_settings)
    for unit in context.program.units.values():
        values = [*unit.values.values(), *(v for cls in unit.classes.values() for v in cls.attrs.values())]
        if any(part in words for value in values for part in subexpressions(value)):
            return True
    return False


def _no_ticks(context: RuleContext) -> Finding:
    component = context.component
    return context.finding(
        at=(context.program.units[component.cls.path].body, component.cls.head),
        message=f"{component.name} processes its batches at ticks, and no tick frequency is to be seen",
        misuse=None,
        severity=Severity.INFO,
        last="batches wait for ticks",
        handler="process_batch",
        help=f"set {context.dialect.tick_settings[-1]} in the class's config or in the topology",
    )
