"""Join buffers: a dict field that collects parts under a key from the data until an entry is complete."""

from collections.abc import Iterator
from dataclasses import dataclass

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.buffers import asks_about
from ackdoctor.checks.facts.fields import BEGINNINGS
from ackdoctor.checks.facts.shape import derived_names, given_names, mentions_any, reachable
from ackdoctor.flow.expressions import subexpressions
from ackdoctor.model.cfg import ENTRY, Attr, Bind, Call, Compare, Drop, EdgeKind, Expr, Item, Name, Step, Test
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind

__all__ = ["Join", "unfinished_joins"]

_TRIMS = frozenset({"popitem", "clear", "expire"})


@dataclass(slots=True, unsafe_hash=True)
class Join:
    """A field whose entries leave only when complete, and the step that makes an entry."""

    field: str
    function: Function
    created: Step


def unfinished_joins(diagnosis: Diagnosis) -> Iterator[Join]:
    """The join buffers of a bolt that acks automatically, where nothing ends the wait for a missing part."""
    if not diagnosis.component.auto_ack:
        return
    for flow in diagnosis.flows:
        if flow.entry is None or flow.entry.kind is not EntryKind.DATA or flow.entry.subject is None:
            continue
        handler = flow.function
        derived = derived_names(handler, given_names(flow, handler))
        for field, deletions in sorted(_deletions(diagnosis, handler).items()):
            created = _creation(diagnosis, handler, field, derived)
            if created is None or _leaves_otherwise(diagnosis, handler, field):
                continue
            if all(_when_complete(diagnosis, handler, field, index) for index in deletions):
                yield Join(field, handler, created)


def _deletions(diagnosis: Diagnosis, handler: Function) -> dict[str, list[int]]:
    """The steps of the handler that remove one entry of a dict field."""
    found: dict[str, list[int]] = {}
    for index, step in enumerate(handler.cfg.steps):
        match step.op:
            case Drop(target=Item(obj=Attr() as obj)) | Call(func=Attr(obj=Attr() as obj, name="pop")):
                if isinstance(step.op, Call) and not step.op.args:
                    continue
                field = diagnosis.field(handler, obj)
                if field is not None and obj.name == field:
                    found.setdefault(field, []).append(index)
            case _:
                pass
    return found


def _creation(diagnosis: Diagnosis, handler: Function, field: str, derived: frozenset[str]) -> Step | None:
    """The step that makes an entry under a key from the data: an assignment, else setdefault, else an append."""
    own = diagnosis.own_name(handler)
    if own is None:
        return None
    holder = Attr(own, field)
    by_rank: dict[int, Step] = {}
    for step in handler.cfg.steps:
        match step.op:
            case Bind(target=Item(obj=obj, key=key)) if obj == holder and mentions_any(key, derived):
                by_rank.setdefault(0, step)
            case Call(func=Attr(obj=obj, name="setdefault"), args=(key, *_)) if obj == holder:
                if mentions_any(key.value, derived):
                    by_rank.setdefault(1, step)
            case Call(func=Attr(obj=Item(obj=obj, key=key), name="append" | "add" | "extend")) if (
                obj == holder
            ):
                if mentions_any(key, derived):
                    by_rank.setdefault(2, step)
            case _:
                pass
    return by_rank[min(by_rank)] if by_rank else None


def _leaves_otherwise(diagnosis: Diagnosis, handler: Function, field: str) -> bool:
    """Whether some other code may remove entries: another method, a trim, or somebody the field was given to."""
    for function in diagnosis.functions():
        for step in function.cfg.steps:
            match step.op:
                case Drop(target=target) if (
                    function is not handler and diagnosis.field(function, target) == field
                ):
                    return True
                case Bind(target=Attr() as target) if function.name not in BEGINNINGS:
                    if diagnosis.field(function, target) == field:
                        return True
                case Call(func=Attr(obj=obj, name=name)) if diagnosis.field(function, obj) == field:
                    if name in _TRIMS or (name == "pop" and function is not handler):
                        return True
                case _:
                    pass
            if isinstance(step.op, Call) and _gives_away(diagnosis, function, step.op, field):
                return True
    return False


def _gives_away(diagnosis: Diagnosis, function: Function, call: Call, field: str) -> bool:
    """Whether a plain function gets the whole field."""
    own = diagnosis.own_name(function)
    if own is None or isinstance(call.func, Attr):
        return False
    return any(arg.value == Attr(own, field) for arg in call.args)


def _when_complete(diagnosis: Diagnosis, handler: Function, field: str, deletion: int) -> bool:
    """Whether a deletion is reached only behind a test of the entry's own content."""
    steps = handler.cfg.steps
    entries = _entry_names(diagnosis, handler, field)
    for index, step in enumerate(steps):
        if not isinstance(step.op, Test) or not _about_entry(
            diagnosis, handler, step.op.condition, field, entries
        ):
            continue
        for kind in (EdgeKind.TRUE, EdgeKind.FALSE):
            if deletion not in reachable(handler, [ENTRY], frozenset({(index, kind)})):
                return True
    return False


def _entry_names(diagnosis: Diagnosis, handler: Function, field: str) -> frozenset[str]:
    """The locals that hold one entry of the field, or something of it."""
    names: set[str] = set()
    for step in handler.cfg.steps:
        match step.op:
            case Bind(target=Name(id=name), value=Item() as value) if (
                diagnosis.field(handler, value) == field
            ):
                names.add(name)
            case Call(result=result, func=Attr(obj=obj, name="setdefault" | "get")):
                if diagnosis.field(handler, obj) == field:
                    names.add(result.id)
            case _:
                pass
    return derived_names(handler, frozenset(names)) if names else frozenset()


def _about_entry(
    diagnosis: Diagnosis, handler: Function, condition: Expr, field: str, entries: frozenset[str]
) -> bool:
    if not isinstance(condition, Compare) or condition.op in ("in", "not in"):
        return False
    if entries and mentions_any(condition, entries):
        return True
    return any(
        isinstance(part, Item) and asks_about(diagnosis, handler, part, field)
        for part in subexpressions(condition)
    )
