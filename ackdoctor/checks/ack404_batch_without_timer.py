"""ACK404: a bolt waits for a full batch, or for the last part of a join, and nothing ends the wait.

A join buffer is a dict field that collects parts under a key from the data until an entry is complete.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.batches import full_batches
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, reachable, tuple_names
from ackdoctor.checks.facts.fields import (
    INITIALISERS,
    REMOVES_FROM_VIEW,
    Use,
    is_container,
    names_tick_frequency,
    reads_field,
    uses,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Flow
from ackdoctor.flow.expressions import subexpressions
from ackdoctor.model.cfg import ENTRY, Attr, Compare, EdgeKind, Expr, Function, Item, Literal, Name, Test
from ackdoctor.model.dialect import TickDuty
from ackdoctor.model.finding import Finding, Severity

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
    for batch in full_batches(context):
        words = context.words("full", field=f"self.{batch.field}", and_ack=and_ack)
        yield context.finding(words, None, batch.tests[0], flow=batch.flow)


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
