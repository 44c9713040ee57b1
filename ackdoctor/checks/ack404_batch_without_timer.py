"""ACK404: a bolt waits for a full batch, or for the last part of a join, and nothing ends the wait.

A join buffer is a dict field that collects parts under a key from the data until an entry is complete.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, reachable, tuple_names
from ackdoctor.checks.facts.fields import (
    INITIALISERS,
    REMOVES_FROM_VIEW,
    Use,
    is_container,
    is_size_of,
    names_tick_frequency,
    reads_field,
    stored_inputs,
    uses,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Flow, Path, Released, turns_back
from ackdoctor.flow.expressions import calls_by_result, last_name, subexpressions
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.model.cfg import ENTRY, Attr, Compare, EdgeKind, Expr, Function, Item, Literal, Name, Test
from ackdoctor.model.dialect import EntryKind, TickDuty
from ackdoctor.model.finding import Finding, Severity
from ackdoctor.model.protocol import Tick

_ORDERS = (">=", ">", "==", "<", "<=", "!=")
_CLOCKS = frozenset(
    "time monotonic now utcnow perf_counter clock timestamp currentTimeMillis nanoTime elapsed".split()
)
_TRIMS = frozenset(("popitem", "clear", "expire"))
_PUTS = frozenset(
    "put setdefault putIfAbsent computeIfAbsent merge compute".split()
)  # the first argument is the key
_ENTRIES = _PUTS | {"get", "getOrDefault"}  # they return the entry


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield batches without a flush at a tick, joins without an expiry, and batching bolts without ticks."""
    if not context.is_bolt:
        return
    yield from _full_batches(context)
    for flow in context.tuple_handlers() if context.component.auto_ack else ():
        for created in _unfinished_joins(context, flow):
            words = context.words("join", field=f"self.{created.field}")
            yield context.finding(words, None, (created.function, created.step.span))
    if context.role.batch_ticks and not context.component.heirs and not _sets_tick_frequency(context):
        setting = context.dialect.tick_settings[-1]
        words = context.words(
            "no ticks", component=context.component.name, advice=context.phrase("set", setting=setting)
        )
        at = (context.module_body, context.component.cls.head)
        yield context.finding(words, None, at, severity=Severity.INFO, handler="process_batch")


def _sets_tick_frequency(context: RuleContext) -> bool:
    """Whether the component, or any other file of the project, sets a tick frequency."""
    for unit in context.program.units.values():
        attributes = (value for cls in unit.classes.values() for value in cls.attrs.values())
        if any(names_tick_frequency(context, value) for value in (*unit.values.values(), *attributes)):
            return True
    return False


# ---- a batch that waits until it is full ----


def _full_batches(context: RuleContext) -> Iterator[Finding]:
    """Yield the size test that guards each release of a field's tuples."""
    acks_ticks = context.discipline.tick in (TickDuty.REQUIRED, TickDuty.AUTO)
    and_ack = context.phrase("and ack") if acks_ticks else ""
    for field in sorted({stored.field for _, stored in stored_inputs(context)}):
        releases = [
            (flow, release)
            for flow, release in context.releases()
            if release.field.partition(".")[0] in (field, EVERYTHING)
        ]
        if not any(release.completed for _, release in releases):
            continue
        tests = [(flow, _size_test(context, flow, release, field)) for flow, release in releases]
        flow, first = tests[0]
        if first is not None and all(test for _, test in tests):
            words = context.words("full", field=f"self.{field}", and_ack=and_ack)
            yield context.finding(words, None, first, flow=flow)


def _size_test(context: RuleContext, flow: Flow, release: Released, field: str) -> Path | None:
    """Return the size test that guards the release of a field's tuples in a data handler; None if others release them too."""
    at_data = flow.entry is not None and flow.entry.kind is EntryKind.DATA
    at_tick = any(held.tick is Tick.YES for held in release.path.state.tokens.values())
    if not at_data or at_tick or release.deferral is not None:
        return None
    calls = calls_by_result(flow.function).values()
    if release.field == EVERYTHING or any(last_name(call.func) in _CLOCKS for call in calls):
        return None
    visits = (turn.visit for turn in turns_back(release.path))
    return next((visit for visit in visits if _is_size_test(context, visit, field)), None)


def _is_size_test(context: RuleContext, visit: Path, field: str) -> bool:
    """Whether a step compares the size of a field, or a field that the handler increments."""
    op, function = visit.step.op, visit.function
    if not isinstance(op, Test) or not isinstance(op.condition, Compare) or op.condition.op not in _ORDERS:
        return False
    counters = [use.place for use in uses(context, [function]) if use.how == "+=" and use.whole]
    parts = list(subexpressions(op.condition))
    return any(is_size_of(context, function, part, field) or part in counters for part in parts)


# ---- a join whose entry leaves only when it is complete ----


def _unfinished_joins(context: RuleContext, flow: Flow) -> Iterator[Use]:
    """Yield the creation of an entry of each join buffer in which nothing ends the wait for a missing part."""
    handler = flow.function
    derived = tuple_names(flow, handler)
    deletions: dict[str, list[int]] = {}
    for use in uses(context, [handler]):
        key = _deleted_key(use)
        if key is not None and mentions_any(key, derived):
            deletions.setdefault(use.field, []).append(handler.cfg.steps.index(use.step))
    for field, steps in sorted(deletions.items()):
        created = _creation(context, flow, field)
        if created is None or not is_container(context, field):
            continue
        others = (use for use in uses(context, field=field) if not _deletes(handler, use, steps))
        if not any(map(_removes, others)) and all(
            _guarded_by_completeness(context, handler, field, step) for step in steps
        ):
            yield created


def _deleted_key(use: Use) -> Expr | None:
    """Return the key of the entry that a use removes."""
    if use.how in ("pop", "remove") and use.whole:
        return next(iter(use.values), None)
    return use.key if use.how == "del" else None


def _deletes(handler: Function, use: Use, deletions: list[int]) -> bool:
    return use.function is handler and any(use.step is handler.cfg.steps[each] for each in deletions)


def _creation(context: RuleContext, flow: Flow, field: str) -> Use | None:
    """Return what creates an entry under a key from the data: an assignment, else setdefault, else an append."""
    derived = tuple_names(flow, flow.function)
    for methods in ({"="}, _PUTS, {"append", "add", "extend"}):
        for use in uses(context, [flow.function], field):
            key = next(iter(use.values), None) if use.how in _PUTS and use.whole else use.key
            if use.how in methods and key is not None and mentions_any(key, derived):
                return use
    return None


def _removes(use: Use) -> bool:
    """Whether a use may remove entries that wait: by a trim, through a view, or in a function that gets the field."""
    if use.how == "=":
        return isinstance(use.place, Attr) and use.function.name not in INITIALISERS
    if use.how == "pass":
        return use.whole and not isinstance(use.values[0], Attr)
    in_view = isinstance(use.place, Name) and use.how in REMOVES_FROM_VIEW
    return use.how in _TRIMS or in_view or _deleted_key(use) is not None


def _guarded_by_completeness(context: RuleContext, handler: Function, field: str, deletion: int) -> bool:
    """Whether a deletion is reached only after a test of the entry's own content."""
    entries: set[str] = set()  # the locals that hold one entry of the field, or a part of it
    for use in uses(context, [handler], field):
        if use.how == "alias" and isinstance(use.place, Item):
            entries.update(value.id for value in use.values if isinstance(value, Name))
        elif use.how in _ENTRIES:
            entries.add(use.result)
    names = derived_names(handler, frozenset(entries))

    def tests_entry(condition: Expr) -> bool:
        if not isinstance(condition, Compare) or condition.op in ("in", "not in"):
            return False
        if Literal(None) in (condition.left, condition.right):
            return False  # whether there is an entry, not whether it is complete
        items = (part for part in subexpressions(condition) if isinstance(part, Item))
        return mentions_any(condition, names) or any(
            reads_field(context, handler, item, field) for item in items
        )

    return any(
        deletion not in reachable(handler, [ENTRY], [(index, kind)])
        for index, step in enumerate(handler.cfg.steps)
        if isinstance(step.op, Test) and tests_entry(step.op.condition)
        for kind in (EdgeKind.TRUE, EdgeKind.FALSE)
    )
