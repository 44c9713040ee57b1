"""Batches: fields that hold un-acked tuples until a size test lets them go, and nothing else does."""

from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import canonical_form, reachable
from ackdoctor.checks.facts.fields import initial_values, is_size_of, stored_inputs, uses
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Flow, Path, Released, turns_back
from ackdoctor.flow.expressions import calls_by_result, last_name, subexpressions
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.model.cfg import ENTRY, Attr, Compare, EdgeKind, Expr, Function, Global, Literal, Test
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.protocol import Tick

_ORDERS = (">=", ">", "==", "<", "<=", "!=")
_CLOCKS = frozenset(
    "time monotonic now utcnow perf_counter clock timestamp currentTimeMillis nanoTime elapsed".split()
)
# the branch on which the size has reached N, and how many more tuples than N that takes
_REACHED = {
    ">=": (EdgeKind.TRUE, 0),
    "==": (EdgeKind.TRUE, 0),
    ">": (EdgeKind.TRUE, 1),
    "<": (EdgeKind.FALSE, 0),
    "!=": (EdgeKind.FALSE, 0),
    "<=": (EdgeKind.FALSE, 1),
}
_ONE_EACH = frozenset("append add put offer addLast push appendleft [] =".split())


class Batch(NamedTuple):
    """A field whose tuples leave in `releases` only, each after the size test of `tests`."""

    field: str
    flow: Flow
    releases: tuple[Released, ...]
    tests: tuple[Path, ...]


def full_batches(context: RuleContext) -> Iterator[Batch]:
    """Yield the fields whose tuples wait until a size test lets them go."""
    for field in sorted({stored.field for _, stored in stored_inputs(context)}):
        releases = [
            (flow, release)
            for flow, release in context.releases()
            if release.field.partition(".")[0] in (field, EVERYTHING)
        ]
        if not any(release.completed for _, release in releases):
            continue
        tests = [_size_test(context, flow, release, field) for flow, release in releases]
        found = tuple(test for test in tests if test is not None)
        if len(found) == len(tests):
            yield Batch(field, releases[0][0], tuple(release for _, release in releases), found)


def batch_size(context: RuleContext) -> int | None:
    """Return the number of tuples that a bolt collects before it completes any; None if no constant says so."""
    sizes = [_size(context, batch) for batch in full_batches(context)]
    return sizes[0] if len(sizes) == 1 else None


def _size(context: RuleContext, batch: Batch) -> int | None:
    """Return the smallest size that releases a batch: each input adds at most one element, so it is a number of tuples."""
    stores = [stored for _, stored in stored_inputs(context) if stored.field == batch.field]
    if not all(each.how in _ONE_EACH and not _repeats(each.function, each.step) for each in stores):
        return None
    pairs = zip(batch.releases, batch.tests, strict=True)
    sizes = [_needed(context, batch.field, release.path, test) for release, test in pairs]
    known = [size for size in sizes if size is not None]
    return min(known) if len(known) == len(sizes) else None


def _repeats(function: Function, step: object) -> bool:
    index = next(i for i, each in enumerate(function.cfg.steps) if each is step)
    return index in reachable(function, [target for _, target in function.cfg.steps[index].edges])


def _needed(context: RuleContext, field: str, path: Path, test: Path) -> int | None:
    """Return the size of a field that a test needs on this path; None if it is no constant."""
    op = test.step.op
    taken = _branch(path, test)
    if not isinstance(op, Test) or not isinstance(op.condition, Compare) or taken is None:
        return None
    compare = op.condition
    if not is_size_of(context, test.function, compare.left, field):
        return None
    branch, more = _REACHED[compare.op]
    size = _constant(context, test.function, compare.right)
    completed = [
        done.path
        for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH)
        if not done.tick.is_system
    ]
    guarded = taken is branch and all(_needs(context, each, test, branch) for each in (path, *completed))
    return size + more if size is not None and guarded else None


def _needs(context: RuleContext, path: Path, test: Path, branch: EdgeKind) -> bool:
    """Whether a step runs only on one branch of a test: in the same function, or in a helper that is called once there."""
    visit: Path | None = path
    while visit is not None and visit.function is not test.function:
        helper = visit.function
        calls = (context.own_method(function, call.func) for function, call in context.calls())
        if sum(1 for each in calls if each is helper) != 1:
            return False
        visit = visit.entry.before
    if visit is None:
        return False
    return visit.index not in reachable(test.function, [ENTRY], [(test.index, branch)])


def _branch(path: Path, test: Path) -> EdgeKind | None:
    """Return the edge on which a path leaves a test."""
    visit: Path | None = path
    while visit is not None and visit.before is not test:
        visit = visit.before
    return visit.via if visit is not None else None


def _constant(context: RuleContext, function: Function, expr: Expr) -> int | None:
    """Return the value of a literal, a constant, or a field that only one literal is assigned to."""
    value: object = canonical_form(function, expr)
    field = context.own_field(function, expr)
    if field is not None:
        values = [each for _, each in initial_values(context, field)]
        changed = any(
            use.whole and use.how.endswith("=") and use.how != "=" for use in uses(context, field=field)
        )
        value = values[0] if len(values) == 1 and not changed else None
    elif isinstance(value, (Attr, Global)):
        value = context.program.constant(context.program.units[function.path], value)
    number = value.value if isinstance(value, Literal) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


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
