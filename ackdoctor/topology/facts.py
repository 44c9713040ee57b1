"""What the code of one component shows: `ComponentFacts` from the events that lint has solved, and from its findings.

Nothing is solved here.  What only a run can know is UNKNOWN or None, never a default.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ackdoctor.checks.blocking import sleeps
from ackdoctor.checks.facts.batches import batch_size
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any
from ackdoctor.checks.facts.fields import ACKING, ANCHORING, depends_on_setting, unreleased_fields
from ackdoctor.checks.facts.outputs import Stream, declared_streams, emitted_stream
from ackdoctor.checks.facts.spouts import has_id, values_of
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors as How
from ackdoctor.flow.events import Completed, Emitted, Flow
from ackdoctor.flow.expressions import last_name, operands, subexpressions
from ackdoctor.flow.values import Container, TokenKind, TokenRef
from ackdoctor.flow.witness import CAUGHT
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    Expr,
    Function,
    Instr,
    Item,
    Literal,
    Name,
    Star,
    Step,
)
from ackdoctor.model.dialect import EntryKind, Misuse, Moment
from ackdoctor.model.finding import Confidence, Finding
from ackdoctor.model.protocol import Op, Stage, Tick
from ackdoctor.model.topology import UNREAD, Anchors, ComponentFacts, Emit, Fault, Place
from ackdoctor.rulebook import SWALLOWED_FAILURE, WRONG_ANCHOR
from ackdoctor.topology.class_settings import class_settings, constant_of
from ackdoctor.topology.early_acks import stages_at_return, stored_data
from ackdoctor.topology.libraries import LINGER
from ackdoctor.topology.settings import number_of
from ackdoctor.topology.spout_facts import on_fail, source_of
from ackdoctor.topology.swallowed import callback_acks, likely_swallowed
from ackdoctor.topology.unawaited import unawaited

_HIDDEN = "collaborator"  # the case of ACK102 whose handler is in another class
_INPUTS = (EntryKind.DATA, EntryKind.BATCH)
_STATEFUL = re.compile(r"I?StatefulComponent|(?:I|Base)Stateful(?:Windowed)?(?:Bolt|Spout)")


def component_facts(context: RuleContext, findings: Iterable[Finding]) -> ComponentFacts:
    """Return the facts of the component that `context` has solved; `findings` are all about it, before selection."""
    # The component itself may be wired, not only the subclasses for which lint reports what they inherit.
    context = replace(context, flows=(*context.flows, *context.inherited), inherited=())
    component, cls = context.component, context.component.cls
    place = Place(cls.path, cls.head.line)
    faults = tuple(_faults(findings))
    facts = ComponentFacts(
        cls=f"{cls.module}.{cls.qualname}" if cls.module else cls.qualname,
        role=context.role.kind.value,
        dialect=context.dialect.name,
        place=place,
        emits=tuple(_emits(context, {fault.place for fault in faults if fault.code == WRONG_ANCHOR})),
        stateful=_is_stateful(context),
        windowed="Window" in context.role.name,
        streams=_streams(context),
        settings=tuple(class_settings(context)),
        faults=faults,
    )
    if context.is_bolt:
        facts.auto_ack = component.auto_ack
        facts.completes = _completes(context)
        facts.holds = _holds(context)
        facts.sleep = _longest_sleep(context)
        facts.batch_size = batch_size(context) if facts.holds else None
        facts.linger = _linger(context) if facts.holds else None
        facts.flushes_at_ticks = bool(context.role.batch_ticks) or (
            facts.holds and _completes_at_ticks(context)
        )
        if not facts.stateful:
            facts.acks_early, facts.keeps = stored_data(context)
        facts.faults = (*_with_hidden(faults, context), *unawaited(context), *callback_acks(context))
    else:
        facts.on_fail, facts.on_fail_place = on_fail(context)
        facts.source, facts.source_ack, facts.source_ack_place = source_of(context)
    return facts


def _faults(findings: Iterable[Finding]) -> Iterator[Fault]:
    for each in findings:
        if not each.repaired_by:
            place = Place(each.site.path, each.site.span.line)
            caught = each.case == _HIDDEN or any(step.note == CAUGHT for step in each.evidence.steps)
            must = each.confidence is Confidence.MUST
            yield Fault(each.code, must, place, each.message, after_catch=caught)


def _with_hidden(faults: Iterable[Fault], context: RuleContext) -> Iterator[Fault]:
    """Yield the faults of lint, and the hidden failures that it does not report or of which it is not sure."""
    hidden = {fault.place: fault for fault in likely_swallowed(context)}
    for fault in faults:
        also = hidden.pop(fault.place, None) if fault.code == SWALLOWED_FAILURE else None
        yield fault._replace(must=fault.must or (also is not None and also.must))
    yield from hidden.values()


# ---- emits ----


def _emits(context: RuleContext, wrong: set[Place]) -> Iterator[Emit]:
    """Yield each emit once; what differs between its paths is the worst of them.  `wrong` are those with a wrong anchor."""
    sites: dict[Step, list[tuple[Flow, Emitted]]] = {}
    for flow, emit in context.events(Emitted):
        sites.setdefault(emit.step, []).append((flow, emit))
    ordered = sorted(sites.values(), key=lambda found: (found[0][1].function.path, found[0][1].step.span))
    for found in ordered:
        emit = found[0][1]
        ids = {_has_id(context, each) for _, each in found}
        streams = {_stream_name(emitted_stream(context, each)) for _, each in found}
        place = Place(emit.function.path, emit.step.span.line)
        anchors = _anchors(context, found) if context.is_bolt else Anchors.ALL  # a spout's emit has no cause
        yield Emit(
            stream=streams.pop() if len(streams) == 1 else UNREAD,
            place=place,
            anchors=Anchors.SOME if place in wrong and anchors is Anchors.ALL else anchors,
            has_id=ids.pop() if len(ids) == 1 and not context.is_bolt else None,
        )


def _has_id(context: RuleContext, emit: Emitted) -> bool | None:
    """Whether an emit has a message id; None if the value may be null, or if a setting such as `ackEnabled` decides it."""
    found = has_id(emit)
    if context.is_bolt or found is None:
        return found
    given = emit.args.get(emit.verb.message_id or "")
    maybe = isinstance(given, Name) and _may_be_null(context, emit.function, given)
    return None if maybe or depends_on_setting(context, ACKING)(emit.path) else found


def _may_be_null(context: RuleContext, function: Function, name: Name) -> bool:
    """Whether the code assigns null to a local, directly or on one side of a conditional expression."""
    values = [value for _, value in values_of(context, function, name)]
    inner = (value for value in values if isinstance(value, Name) and value.id.startswith("%"))
    return Literal(None) in values or any(_may_be_null(context, function, value) for value in inner)


def _stream_name(stream: Stream | None) -> str:
    return stream if isinstance(stream, str) else UNREAD


_WORST_FIRST = (
    Anchors.NONE,
    Anchors.SOME,
    Anchors.UNKNOWN,
    Anchors.WAIVED,
    Anchors.ALL,
    Anchors.FRAMEWORK,
)


def _anchors(context: RuleContext, found: Sequence[tuple[Flow, Emitted]]) -> Anchors:
    seen = {_anchors_of(context, flow, emit) for flow, emit in found}
    return next(each for each in _WORST_FIRST if each in seen)


def _anchors_of(context: RuleContext, flow: Flow, emit: Emitted) -> Anchors:
    if _is_partial_join(context, emit):
        return Anchors.SOME
    match emit.anchors:
        case How.EXPLICIT:
            return Anchors.ALL if emit.anchored else _written_anchors(emit)
        case How.DEFAULT:
            return Anchors.FRAMEWORK
        case How.EMPTY:
            return Anchors.WAIVED
        case How.UNKNOWN:
            return _written_anchors(emit)
        case How.NONE:
            return _without_anchors(context, flow, emit)


def _is_partial_join(context: RuleContext, emit: Emitted) -> bool:
    """Whether an emit is anchored to single tuples, and has values of another one that is still held un-acked."""
    payload = emit.args.get(emit.verb.subject or "")
    anchors = emit.values.get(emit.verb.anchors or "")
    listed = anchors.items if isinstance(anchors, Container) else (anchors,)
    by_name = all(isinstance(each, TokenRef) and each.token in emit.anchored for each in listed)
    by_default = emit.anchors is How.DEFAULT and emit.subject is not None
    if payload is None or not (by_name or by_default):
        return False
    anchored = {*emit.anchored, emit.subject} if by_default else {*emit.anchored}
    state = emit.path.state
    others = frozenset(
        name
        for name, value in state.env.items()
        if isinstance(value, TokenRef)
        and value.token.kind is TokenKind.STORED
        and not any(each is not None and each.is_in(value.token) for each in anchored)
        and value.token in state.tokens
        and state.tokens[value.token].stage is Stage.OWED
    )
    return bool(others) and _holds(context) and mentions_any(payload, derived_names(emit.function, others))


def _written_anchors(emit: Emitted) -> Anchors:
    """Return what anchors of unknown origin are: a parameter for tuples, and a list that is not empty, are anchors."""
    name = emit.verb.anchors or ""
    kind = dict(zip(emit.verb.params, emit.verb.types, strict=False)).get(name, "")
    match emit.args.get(name):
        case Build(items=items):
            written = any(not isinstance(item, (Literal, Star)) for item in items)
        case Attr():
            written = bool(kind)
        case _:
            written = kind == "tuple"
    return Anchors.ALL if written else Anchors.UNKNOWN


def _without_anchors(context: RuleContext, flow: Flow, emit: Emitted) -> Anchors:
    """Return what an emit without anchors means: a choice of the class, of a setting, or a tree that ends here."""
    if Misuse.UNANCHORED not in context.discipline.prices:
        return Anchors.FRAMEWORK  # a persistent window, which is stored before it emits
    if context.discipline.auto_anchor.default and context.component.auto_anchor is False:
        return Anchors.WAIVED
    of_tick = flow.entry is not None and flow.entry.kind is EntryKind.TICK
    if (of_tick or emit.tick.is_system) and not _holds(context):
        return Anchors.ALL  # all inputs are complete before, see `acks_early`
    return Anchors.UNKNOWN if depends_on_setting(context, ANCHORING | ACKING)(emit.path) else Anchors.NONE


# ---- completions ----


def _completes(context: RuleContext) -> bool | None:
    """Return whether any path acks or fails an input, or the framework does; None if that is not known."""
    if context.component.auto_ack:
        return True
    if any(done.op in (Op.ACK, Op.FAIL) for _, done in context.events(Completed)):
        return True
    flows = list(context.flows_of(*_INPUTS))
    unclear = any(flow.limited or flow.wrapped or flow.function.docstring_only for flow in flows)
    if context.component.auto_ack is None or not flows or unclear:
        return None
    stages = stages_at_return(context)
    if Stage.HELD in stages and not unreleased_fields(context):
        return None
    return None if None in stages or not stages else False


def _holds(context: RuleContext) -> bool:
    """Whether inputs may stay un-acked after their handler has returned."""
    if context.component.auto_ack:
        return context.discipline.completion is Moment.EXPIRY
    return Stage.HELD in stages_at_return(context)


def _completes_at_ticks(context: RuleContext) -> bool:
    """Whether inputs are completed at ticks only."""
    acks = [
        (flow, done)
        for flow, done in context.events(Completed)
        if done.op is Op.ACK and not done.tick.is_system
    ]
    return bool(acks) and all(_is_at_tick(*each) for each in acks)


def _is_at_tick(flow: Flow, done: Completed) -> bool:
    if flow.entry is not None and flow.entry.kind is EntryKind.TICK:
        return True
    return any(held.tick is Tick.YES for held in done.path.state.tokens.values())


def _longest_sleep(context: RuleContext) -> tuple[float, Place] | None:
    found = (
        (sleep.seconds, Place(sleep.function.path, sleep.step.span.line))
        for sleep in sleeps(context, (*_INPUTS, EntryKind.TICK))
    )
    return max(found, default=None)


def _linger(context: RuleContext) -> tuple[float, Place] | None:
    """Return how long a Kafka producer of the bolt collects records before it sends them, in seconds, and where."""
    for function in context.functions:
        for step in function.cfg.steps:
            for value in _lingers(step.op):
                constant = constant_of(context, function, value)
                milliseconds = number_of(constant.value) if isinstance(constant, Literal) else None
                if milliseconds:
                    return milliseconds / 1000, Place(function.path, step.span.line)
    return None


def _lingers(op: Instr) -> Iterator[Expr]:
    """Yield what a step gives a producer as `linger.ms`: a keyword, a property, or an entry of a dict."""
    for part in (part for value in operands(op) for part in subexpressions(value)):
        if isinstance(part, Build) and part.kind == "dict":
            pairs = zip(part.items[::2], part.items[1::2], strict=False)
            yield from (value for key, value in pairs if _names_linger(key))
    match op:
        case Call(args=args):
            yield from (arg.value for arg in args if arg.name == "linger_ms")
            yield from (args[1].value for _ in args[1:2] if _names_linger(args[0].value))
        case Bind(target=Item(key=key), value=value) if _names_linger(key):
            yield value
        case _:
            pass


def _names_linger(key: Expr) -> bool:
    return key == Literal(LINGER) or last_name(key) == "LINGER_MS_CONFIG"


def _is_stateful(context: RuleContext) -> bool:
    if context.role.name.startswith("Stateful"):
        return True
    bases = (base for cls in context.component.lineage for base in cls.bases)
    return any(_STATEFUL.fullmatch(last_name(base)) for base in bases)


def _streams(context: RuleContext) -> dict[str, tuple[str, ...] | None] | None:
    found = declared_streams(context)
    return None if found is None else {_stream_name(name): fields for name, fields in found.items()}
