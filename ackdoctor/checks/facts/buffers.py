"""Tuples that a bolt keeps in its fields: what is stored, and what becomes of it.  Shared by ACK401 to ACK404."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.chosen import ACKING, chosen
from ackdoctor.flow.graph.expressions import subexpressions
from ackdoctor.flow.graph.results import calls_by_result
from ackdoctor.flow.path.lattice import TokenKind
from ackdoctor.flow.path.sighting import Ended, Flow, Stored
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.flow.transfer.evaluate import maker
from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Mix, Name
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.protocol import State as Stage

__all__ = [
    "LISTENERS",
    "asks_about",
    "assigned",
    "chain",
    "kept_inputs",
    "left_behind",
    "released",
    "sized",
    "waiting",
]


LISTENERS = frozenset({"removalListener", "evictionListener"})  # of a cache: they hear what leaves it


def kept_inputs(diagnosis: Diagnosis) -> Iterator[tuple[Flow, Stored]]:
    """Every place where a handler of a bolt that acks by hand puts its own input tuple into a field."""
    if diagnosis.component.auto_ack is not False or not diagnosis.is_bolt:
        return
    for flow, stored in diagnosis.sightings(Stored, EntryKind.DATA, EntryKind.BATCH):
        if stored.token.kind is not TokenKind.STORED and stored.deferral is None:
            yield flow, stored


def released(diagnosis: Diagnosis) -> frozenset[str]:
    """The fields whose tuples some code of the component completes or hands to code that cannot be seen."""
    return frozenset(sighting.field.partition(".")[0] for _, sighting in diagnosis.releases())


def left_behind(diagnosis: Diagnosis) -> frozenset[str]:
    """The fields that still hold an un-acked tuple when its handler returns, and that nobody ever releases."""
    done = released(diagnosis)
    if EVERYTHING in done:
        return frozenset()
    found: set[str] = set()
    for holders in _waiting(diagnosis):
        fields = {_field(holder) for holder in holders}
        if all(holder.startswith("self.") for holder in holders) and not fields & done:
            found |= fields
    return frozenset(found)


def waiting(diagnosis: Diagnosis) -> frozenset[str]:
    """The fields that still hold an un-acked tuple when its handler returns, whatever becomes of it."""
    return frozenset(_field(holder) for holders in _waiting(diagnosis) for holder in holders)


def _waiting(diagnosis: Diagnosis) -> Iterator[list[str]]:
    """What holds a tuple when its handler has returned, where nobody who builds the bolt has chosen that it be so."""
    by_choice = chosen(diagnosis, ACKING)
    for _, ended in diagnosis.sightings(Ended, EntryKind.DATA, EntryKind.BATCH):
        if ended.raised is not None or ended.deferral is not None or ended.token is None:
            continue
        holding = ended.state.tokens.get(ended.token)
        if holding is not None and holding.stage is Stage.HELD and not by_choice(ended.trail):
            yield holding.holder.split()


def _field(holder: str) -> str:
    return holder.removeprefix("self.").partition(".")[0]


def assigned(diagnosis: Diagnosis, function: Function, field: str) -> Iterator[Call]:
    """The calls whose result becomes the field."""
    own = diagnosis.own_name(function)
    results = calls_by_result(function)
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Attr(obj=obj, name=name), value=Name() as value) if name == field and obj == own:
                if value in results:
                    yield results[value]
            case _:
                pass


def chain(function: Function, call: Call) -> frozenset[str]:
    """The methods called one on the other's result, up to this call: `newBuilder().maximumSize(9).build()`."""
    words: set[str] = set()
    made: Call | Bind | None = call
    while isinstance(made, Call) and isinstance(made.func, Attr):
        words.add(made.func.name)
        obj = made.func.obj
        made = maker(function, obj.id) if isinstance(obj, Name) else None
    return frozenset(words)


def sized(diagnosis: Diagnosis, function: Function, expr: Expr, field: str) -> bool:
    """Whether an expression is how much a field holds: `len(self.field)`, or the result of `field.size()`."""
    if isinstance(expr, Mix) and expr.op == "len":
        return asks_about(diagnosis, function, expr, field)
    made = maker(function, expr.id) if isinstance(expr, Name) and expr.id.startswith("%") else None
    match made:
        case Call(func=Attr(obj=obj, name="size" | "length")):
            return diagnosis.field(function, obj) == field
        case _:
            return False


def asks_about(diagnosis: Diagnosis, function: Function, expr: Expr, field: str) -> bool:
    """Whether an expression reads `self.<field>`."""
    own = diagnosis.own_name(function)
    return any(part == Attr(own, field) for part in subexpressions(expr)) if own is not None else False
