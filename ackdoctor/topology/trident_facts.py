"""What the code of Trident's spouts, states and functions shows; none of them is a component for lint.

A spout has the kind of its interface.  A state has the kind of the map that its factory builds or extends, if the map underneath
keeps the transaction id; a state that ignores the id in `beginCommit` and `commit` is non-transactional.  A function is a bolt
that the framework acks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ackdoctor import dialects
from ackdoctor.checks.facts.dataflow import canonical_form, mentions_any
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import last_name, operands, subexpressions
from ackdoctor.flow.program import Program
from ackdoctor.libraries.vocabulary import LOGGING, PURE_CALLS
from ackdoctor.model.cfg import (
    Attr,
    Call,
    ClassInfo,
    Component,
    Expr,
    Function,
    Literal,
    Mix,
    Name,
    Return,
    Step,
)
from ackdoctor.model.dialect import ON, Dialect, Discipline, Entry, EntryKind, Kind, Role
from ackdoctor.model.topology import ComponentFacts, Fault, OnFail, Place
from ackdoctor.topology.early_acks import stored_data
from ackdoctor.topology.remote_writes import remote_calls
from ackdoctor.topology.swallowed import likely_swallowed
from ackdoctor.topology.trident_guarantee import AGAIN, NO_STATE, NON_TRANSACTIONAL, OPAQUE, TRANSACTIONAL

_SPOUTS = {
    "IBatchSpout": NON_TRANSACTIONAL,
    "ITridentSpout": TRANSACTIONAL,
    "ICommitterTridentSpout": TRANSACTIONAL,
    "IPartitionedTridentSpout": TRANSACTIONAL,
    "IOpaquePartitionedTridentSpout": OPAQUE,
}
_FUNCTIONS = frozenset(
    "BaseFunction Function BaseFilter Filter MapFunction FlatMapFunction Consumer BaseOperation BaseAggregator Aggregator "
    "CombinerAggregator ReducerAggregator BaseQueryFunction QueryFunction".split()
)
_MAPS = {"TransactionalMap": TRANSACTIONAL, "OpaqueMap": OPAQUE, "NonTransactionalMap": NON_TRANSACTIONAL}
_VALUES = frozenset({"TransactionalValue", "OpaqueValue"})  # the first argument is the transaction id
_LISTS = frozenset({"ArrayList", "LinkedList"})
_FORGETS = "state-forgets-txid"
_IGNORES = "state-ignores-txid"
_IN_MEMORY = "state-in-memory"
_DIES = "the state is in the memory of its worker, and dies with it"
_FUNCTION = Role(
    name="TridentFunction",
    kind=Kind.BOLT,
    classes=(),
    entries=tuple(
        Entry(name, EntryKind.DATA)
        for name in "execute isKeep accept aggregate complete combine reduce batchRetrieve".split()
    ),
    verbs=(),
    discipline=Discipline(auto_ack=ON),
)


def trident_facts(program: Program) -> Iterator[ComponentFacts]:
    """Yield the facts of the Trident classes of a program."""
    for _, unit in sorted(program.units.items()):
        names = (*unit.stars, *(name for names in unit.imports.values() for name in names))
        if any(".trident" in name for name in names):
            for cls in unit.classes.values():
                yield from _facts(program, cls)
                yield from _of_lambdas(program, cls)


def _facts(program: Program, cls: ClassInfo) -> Iterator[ComponentFacts]:
    lineage = tuple(program.lineage(cls).order)
    bases = {last_name(base) for each in lineage for base in each.bases}
    spout = next((kind for name, kind in _SPOUTS.items() if name in bases), "")
    if spout:
        yield _of_spout(cls, lineage, spout)
    elif "StateFactory" in bases or "State" in bases:
        yield _of_state(program, cls, lineage)
    elif bases & _FUNCTIONS:
        yield _of_function(program, cls, lineage)


def _empty(cls: ClassInfo, role: str) -> ComponentFacts:
    name = f"{cls.module}.{cls.qualname}" if cls.module else cls.qualname
    return ComponentFacts(cls=name, role=role, dialect="", place=Place(cls.path, cls.head.line))


def _method(lineage: tuple[ClassInfo, ...], name: str) -> Function | None:
    return next((cls.methods[name] for cls in lineage if name in cls.methods), None)


# ---- spouts ----


def _of_spout(cls: ClassInfo, lineage: tuple[ClassInfo, ...], kind: str) -> ComponentFacts:
    facts = _empty(cls, "spout")
    facts.batch = kind
    facts.on_fail, facts.on_fail_place = OnFail.SOURCE, facts.place
    emit = _method(lineage, "emitBatch")
    if kind == NON_TRANSACTIONAL:
        facts.on_fail = OnFail.UNKNOWN
        if emit is not None:
            facts.on_fail = OnFail.REPLAYS if _keeps_batches(emit) else OnFail.NOTHING
            facts.on_fail_place = Place(emit.path, emit.head.line)
    return facts


def _keeps_batches(emit: Function) -> bool:
    """Whether an `emitBatch` uses the id of the batch: it can find the batch again."""
    ids = frozenset(param.name for param in emit.params[1:2])
    return any(
        mentions_any(value, ids) for step in emit.cfg.steps if not _logs(step) for value in operands(step.op)
    )


def _logs(step: Step) -> bool:
    return isinstance(step.op, Call) and last_name(step.op.func) in LOGGING


# ---- states ----


def _of_state(program: Program, cls: ClassInfo, lineage: tuple[ClassInfo, ...]) -> ComponentFacts:
    facts = _empty(cls, "state")
    make = _method(lineage, "makeState")
    if make is None:
        facts.batch = NON_TRANSACTIONAL if _ignores_ids(lineage) else ""
        return facts
    made = [
        canonical_form(make, step.op.value)
        for step in make.cfg.steps
        if isinstance(step.op, Return) and step.op.value is not None
    ]
    kinds = {_kind_of(program, make, value) for value in made}
    facts.batch = kinds.pop() if len(kinds) == 1 else ""
    stores = list(dict.fromkeys(each for value in made for each in _classes(program, make, value)))
    facts.faults = tuple(_kept_in_memory(program, stores))
    if facts.batch in (TRANSACTIONAL, OPAQUE):
        facts.faults += tuple(_forgotten(program, stores))
    elif facts.batch == NON_TRANSACTIONAL:
        facts.faults += tuple(_ignored(program, stores))
    return facts


def _kind_of(program: Program, make: Function, value: Expr) -> str:
    """Return the kind of the state that a factory returns; "" if it is not known."""
    for func in _called(value):
        if isinstance(func, Attr) and func.name == "build" and last_name(func.obj) in _MAPS:
            return _MAPS[last_name(func.obj)]
    for cls in _classes(program, make, value):
        lineage = tuple(program.lineage(cls).order)
        bases = {last_name(base) for each in lineage for base in each.bases}
        if bases & _MAPS.keys():
            return _MAPS[(bases & _MAPS.keys()).pop()]
        if "State" in bases:
            return NON_TRANSACTIONAL if _ignores_ids(lineage) else ""
    return ""


def _called(value: Expr) -> Iterator[Expr]:
    """Yield what an expression in canonical form calls, the outermost first."""
    for part in subexpressions(value):
        if isinstance(part, Mix) and part.op == "call":
            yield part.parts[0]


def _classes(program: Program, make: Function, value: Expr) -> Iterator[ClassInfo]:
    """Yield the classes of the project that an expression creates objects of."""
    unit = program.units[make.path]
    for func in _called(value):
        yield from (found for found in program.resolve(unit, func) if isinstance(found, ClassInfo))


def _ignores_ids(lineage: tuple[ClassInfo, ...]) -> bool:
    """Whether `beginCommit` and `commit` of a state exist and do not use the transaction id."""
    methods = [_method(lineage, name) for name in ("beginCommit", "commit")]
    return all(method is not None and not _uses_id(method) for method in methods)


def _ignored(program: Program, stores: list[ClassInfo]) -> Iterator[Fault]:
    """Yield where a state of the project gets the transaction id and does not use it."""
    for cls in stores:
        lineage = tuple(program.lineage(cls).order)
        begin = _method(lineage, "beginCommit")
        if begin is not None and _ignores_ids(lineage):
            why = f"`{cls.name}` does not use the transaction id: a replayed batch counts twice"
            yield Fault(_IGNORES, must=True, place=Place(begin.path, begin.head.line), message=why)


def _uses_id(method: Function) -> bool:
    ids = frozenset(param.name for param in method.params[1:2])
    steps = (step for step in method.cfg.steps if not _logs(step))
    return any(mentions_any(value, ids) for step in steps for value in operands(step.op))


def _forgotten(program: Program, stores: list[ClassInfo]) -> Iterator[Fault]:
    """Yield where the map under a state answers a constant transaction id: no replay is recognised."""
    for cls in stores:
        get = _method(tuple(program.lineage(cls).order), "multiGet")
        for step in get.cfg.steps if get is not None else ():
            op = step.op
            if get is None or not isinstance(op, Call) or last_name(op.func) not in _VALUES or not op.args:
                continue
            if isinstance(canonical_form(get, op.args[0].value), Literal):
                why = (
                    f"`{cls.name}` answers the same transaction id for every key, so no replay is recognised"
                )
                yield Fault(_FORGETS, must=True, place=Place(get.path, step.span.line), message=why)


def _kept_in_memory(program: Program, stores: list[ClassInfo]) -> Iterator[Fault]:
    """Yield where the map under a state only puts the values in a collection of its own."""
    for cls in stores:
        put = _method(tuple(program.lineage(cls).order), "multiPut")
        if put is None:
            continue
        collections = [Attr(Name(put.receiver), name) for name in cls.types if _is_collection(cls, name)]
        uses = [
            (step, _object(step.op))
            for step in put.cfg.steps
            if isinstance(step.op, Call) and not _logs(step)
        ]
        stored = [step for step, obj in uses if obj in collections]
        if stored and all(obj is None or isinstance(obj, Name) or obj in collections for _, obj in uses):
            yield Fault(_IN_MEMORY, must=True, place=Place(put.path, stored[0].span.line), message=_DIES)


def _object(call: Call) -> Expr | None:
    """Return the object that a call uses; None for one that only makes a value."""
    if last_name(call.func) in PURE_CALLS | _VALUES | _LISTS:
        return None
    return call.func.obj if isinstance(call.func, Attr) else call.func


def _is_collection(cls: ClassInfo, name: str) -> bool:
    made = cls.attrs.get(name)
    called = made.parts[0] if isinstance(made, Mix) and made.op == "call" else None
    return called is not None and last_name(called).endswith(("Map", "Table"))


# ---- functions ----


def _of_function(program: Program, cls: ClassInfo, lineage: tuple[ClassInfo, ...]) -> ComponentFacts:
    facts = _empty(cls, "bolt")
    facts.auto_ack = facts.completes = True
    context = _context(program, cls, lineage)
    facts.acks_early = stored_data(context).early
    methods = [
        method for entry in _FUNCTION.entries if (method := _method(lineage, entry.method)) is not None
    ]
    facts.faults = (*likely_swallowed(context), *_effects(context, methods))
    return facts


def _of_lambdas(program: Program, cls: ClassInfo) -> Iterator[ComponentFacts]:
    """Yield the facts of what a class may pass as a function: its lambdas and its methods, those of a line together."""
    context = _context(program, cls, tuple(program.lineage(cls).order), solve=False)
    by_place: dict[Place, list[Function]] = {}
    for function in (each for method in cls.all_methods() for each in method.tree()):
        by_place.setdefault(Place(function.path, function.head.line), []).append(function)
    for place, functions in by_place.items():
        facts = replace(_empty(cls, "bolt"), cls=functions[0].qualname, place=place)
        facts.auto_ack = facts.completes = True
        facts.faults = tuple(_effects(context, functions))
        yield facts


def _context(
    program: Program, cls: ClassInfo, lineage: tuple[ClassInfo, ...], *, solve: bool = True
) -> RuleContext:
    component = Component(
        name=cls.name,
        cls=cls,
        lineage=lineage,
        ahead=lineage,
        dialect=_storm(),
        role=_FUNCTION,
        auto_ack=True,
        auto_fail=False,
        auto_anchor=True,
    )
    return RuleContext.of(program, component, solve=solve)


def _effects(context: RuleContext, methods: Sequence[Function]) -> Iterator[Fault]:
    """Yield the first call of a function that writes to a resource, or that may."""
    calls = [each for each in remote_calls(context, methods) if each.writes is not False]
    for each in sorted(calls, key=lambda call: not call.writes)[:1]:
        yield Fault(NO_STATE, bool(each.writes), Place(each.function.path, each.step.span.line), AGAIN)


def _storm() -> Dialect:
    """Return Storm's Java interface."""
    return next(each for each in dialects.load() if each.language == "java" and each.default)
