"""Transfer function of the framework's verbs: ack, fail, emit and tests for ticks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ackdoctor.flow.context import Context
from ackdoctor.flow.domains.tuples import forget_other_key
from ackdoctor.flow.events import Anchors, Completed, Emitted, Path
from ackdoctor.flow.expressions import mentions
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.escape import escape, release
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.values import (
    Batch,
    Const,
    Container,
    Field,
    Index,
    Picked,
    TickTest,
    Token,
    TokenKind,
    TokenRef,
    TokenState,
    Value,
    tokens_in,
)
from ackdoctor.model.cfg import Arg, Attr, Build, Call, Expr, Item, Literal, Name
from ackdoctor.model.dialect import OF_TUPLE, OWN, Anchoring, Misuse, Verb, VerbKind
from ackdoctor.model.protocol import Breach, Op, Stage, Tick, move

_OPS = {VerbKind.ACK: Op.ACK, VerbKind.FAIL: Op.FAIL}


def own_verb(context: Context, name: str) -> Verb | None:
    """Return the framework's method of that name on the component."""
    return next((verb for verb in context.verbs() if verb.on == OWN and verb.name == name), None)


def external_verb(verbs: Iterable[Verb], names: tuple[str, ...]) -> Verb | None:
    """Return the framework's module-level function that qualified names denote; a vendored module counts by its last part."""
    last = {name.rpartition(".")[2] for name in names}
    for verb in verbs:
        if verb.on in (OWN, OF_TUPLE) or verb.name not in last:
            continue
        full = f"{verb.on}.{verb.name}"
        tail = "." + ".".join(full.split(".")[-2:])
        if any(name == full or name.endswith(tail) for name in names):
            return verb
    return None


def unbound_verb(context: Context, names: tuple[str, ...]) -> Verb | None:
    """Return the framework's method that qualified names denote as a function of its class: `Bolt.ack(self, tup)`."""
    for name in names:
        cls, _, last = name.rpartition(".")
        if context.program.framework_class(cls) is not None:
            return own_verb(context, last)
    return None


def never_raises(verb: Verb) -> bool:
    """Whether a verb is assumed never to raise after it took effect."""
    return verb.kind not in (VerbKind.EMIT, VerbKind.EMIT_MANY)


@dataclass(slots=True, unsafe_hash=True)
class _Bound:
    """A call's arguments by the verb's parameters; `extra` are those that fit none."""

    args: Mapping[str, Expr]
    extra: tuple[Arg, ...]
    unclear: bool  # *args or **kwargs hide some


def _bind(verb: Verb, args: tuple[Arg, ...]) -> _Bound:
    bound: dict[str, Expr] = {}
    extra: list[Arg] = []
    unclear = False
    params = (verb.subject, *verb.params) if verb.on == OF_TUPLE and verb.subject else verb.params
    positional = [name for name in params if name not in verb.keyword_only]
    for arg in args:
        if arg.star:
            unclear = True
        elif arg.name is not None:
            if arg.name in verb.params:
                bound[arg.name] = arg.value
            else:
                extra.append(arg)
        elif positional:
            bound[positional.pop(0)] = arg.value
        else:
            extra.append(arg)
    return _Bound(bound, tuple(extra), unclear)


def apply_verb(context: Context, path: Path, call: Call, verb: Verb) -> tuple[State, Value | None]:
    """Return the state after a framework call, and its value."""
    bound = _bind(verb, call.args)
    function, state = path.function, path.state
    subject = bound.args.get(verb.subject or "")
    value = evaluate(context, function, state, subject) if subject is not None else None
    match verb.kind:
        case VerbKind.ACK | VerbKind.FAIL:
            if isinstance(subject, Attr):
                value = _single_tuple(value)
            if isinstance(subject, Item) and isinstance(value, TokenRef) and value.token.field:
                state = forget_other_key(function, state, subject, value.token)
            return _complete_value(context, path, state, _OPS[verb.kind], value, verb), Const(None)
        case VerbKind.EMIT | VerbKind.EMIT_MANY:
            return _emit(context, path, bound, verb), None
        case VerbKind.HOLD:
            return escape(context, path, state, (value,), verb.on), None
        case VerbKind.TICK_TEST | VerbKind.HEARTBEAT_TEST:
            kind = Tick.YES if verb.kind is VerbKind.TICK_TEST else Tick.HEARTBEAT
            return state, TickTest(value.token, kind) if isinstance(value, TokenRef) else None
        case _:
            return state, None


# ---- completion ----


def _single_tuple(value: Value | None) -> Value | None:
    """Return the single tuple that a local object is known to hold: `job.tup`."""
    return next(iter(value.items)) if isinstance(value, Container) and len(value.items) == 1 else value


def _complete_value(
    context: Context, path: Path, state: State, op: Op, value: Value | None, verb: Verb
) -> State:
    match value:
        case TokenRef(token=token) if _is_accepted(context, verb, value):
            return complete(context, path, state, op, token, verb=verb, value=value)
        case Field(name=field, element=element) if field in context.stored_stages:
            return complete(context, path, state, op, element, verb=verb, value=value)
        case _:
            _see_completion(context, path, op, None, TokenState(Stage.OWED), None, verb, value)
            # the framework rejects an id or a constant, and the element of this iteration is no fixed one
            other = isinstance(value, (TokenRef, Const)) or (
                isinstance(value, Picked) and _in_every_iteration(state)
            )
            return state if other else _complete_unknown(state, value)


def _in_every_iteration(state: State) -> bool:
    """Whether a path is in a loop over a batch and has not tested which iteration it is."""
    if all(memory.base is None for memory in state.loops.values()):
        return False
    places = [Name(name) for name, value in state.env.items() if isinstance(value, Index)]
    return not any(mentions(fact, place) for fact in state.facts for place in places)


def _is_accepted(context: Context, verb: Verb, value: TokenRef) -> bool:
    """Whether the verb accepts its argument: the tuple, or its id."""
    if context.component.role.discipline.accepts_id:
        return True
    return (value.part == "id") == verb.by_id


def _complete_unknown(state: State, value: Value | None) -> State:
    """Return the state after the completion of an unknown tuple: any owed tuple may be completed now, so none is missing."""
    tokens = {
        token: token_state._replace(stage=Stage.HELD, holders=("an ack of something unknown",))
        if token_state.stage is Stage.OWED
        else token_state
        for token, token_state in state.tokens.items()
    }
    for token in tokens_in(value):
        if token.kind is TokenKind.STORED:
            tokens.pop(token, None)
    return state.replace(tokens=tokens)


def complete(
    context: Context,
    path: Path,
    state: State,
    op: Op,
    token: Token,
    *,
    verb: Verb | None = None,
    value: Value | None = None,
) -> State:
    """Return the state after `op` completes `token`, and record the event."""
    before = context.token_state(state, token)
    after, breach = move(before.stage, op)
    if token.kind is TokenKind.STORED:
        if token.field not in context.stored_stages:
            breach = None
        site = _site(context, path, verb)
        at_tick = any(held.tick is Tick.YES for held in state.tokens.values())
        release(context, site, token.field, completed=True, at_tick=at_tick)
    _see_completion(context, path, op, token, before, breach, verb, value)
    return state.with_token(token, TokenState(after, before.tick, before.holders))


def _site(context: Context, path: Path, verb: Verb | None) -> Path:
    """Return the visit that makes a framework call: outside the project's overrides of it that only pass it on."""
    while verb is not None and path.function.name == verb.name and context.program.owner(path.function):
        call, op = path.entry.before, path.step.op
        passed_on = never_raises(verb) or (isinstance(op, Call) and any(arg.star for arg in op.args))
        if call is None or not passed_on or call.state.tokens != path.state.tokens:
            break
        path = call
    return path


def _see_completion(
    context: Context,
    path: Path,
    op: Op,
    token: Token | None,
    before: TokenState,
    breach: Breach | None,
    verb: Verb | None,
    value: Value | None,
) -> None:
    site = _site(context, path, verb)
    context.record(
        Completed(
            path=site,
            deferral=context.deferral,
            op=op,
            token=token,
            tick=before.tick,
            breach=breach,
            verb=verb,
            value=value,
        ),
        op,
        token,
        breach,
        before.tick,
        site.step.way,
        id(path) if op in (Op.AUTO_ACK, Op.AUTO_FAIL) else path.state.caught is None,
    )


# ---- emits ----


def _emit(context: Context, path: Path, bound: _Bound, verb: Verb) -> State:
    function, state = path.function, path.state
    how, anchored = _anchors(context, path, bound, verb)
    late: list[tuple[Token, Breach]] = []
    for token in anchored:
        breach = move(_worst_stage(context, state, token, how), Op.ANCHOR).breach
        if breach is not None and not (
            token.kind is TokenKind.STORED and token.field not in context.stored_stages
        ):
            late.append((token, breach))
    subject = context.subject if context.deferral is None else None
    tick = context.token_state(state, subject).tick if subject is not None else Tick.NO
    evaluated = {name: evaluate(context, function, state, expr) for name, expr in bound.args.items()}
    values = {name: value for name, value in evaluated.items() if value is not None}
    site = _site(context, path, verb)
    context.record(
        Emitted(
            path=site,
            deferral=context.deferral,
            verb=verb,
            args=bound.args,
            extra=bound.extra,
            anchors=how,
            anchored=anchored,
            late=tuple(late),
            subject=subject,
            tick=tick,
            values=values,
            unclear=bound.unclear,
        ),
        how,
        tuple(late),
        tick,
        subject,
    )
    return state


def _worst_stage(context: Context, state: State, token: Token, how: Anchors) -> Stage:
    """Return an anchor's stage; a whole batch as anchor includes the elements that earlier iterations completed."""
    stage = context.token_state(state, token).stage
    if token.kind is TokenKind.ELEMENT and how is Anchors.DEFAULT and stage in (Stage.OWED, Stage.HELD):
        earlier = [memory.rest.stage for memory in state.loops.values() if memory.rest is not None]
        return next((done for done in earlier if done in (Stage.ACKED, Stage.FAILED)), stage)
    return stage


def _anchors(context: Context, path: Path, bound: _Bound, verb: Verb) -> tuple[Anchors, tuple[Token, ...]]:
    discipline = context.component.role.discipline
    if discipline.anchoring is Anchoring.FORCED:
        return Anchors.DEFAULT, _current_tuple(context)
    if verb.anchors is None:
        return _default_anchors(context)
    expr = bound.args.get(verb.anchors)
    if expr is None:
        return (Anchors.UNKNOWN, ()) if bound.unclear else _default_anchors(context)
    if expr == Literal(None):
        return _none_anchors(context)
    if isinstance(expr, Build) and not expr.items:
        return Anchors.EMPTY, ()
    match evaluate(context, path.function, path.state, expr):
        case Const(value=None):
            return _none_anchors(context)
        case Container() | Batch() | TokenRef() as value:
            tokens = tuple(dict.fromkeys(tokens_in(value)))
            if not tokens and isinstance(expr, Name):
                return Anchors.UNKNOWN, ()
            return (Anchors.EXPLICIT, tokens) if tokens else (Anchors.UNKNOWN, ())
        case Field(name=field, element=element):
            held = (element,) if field in context.stored_stages else ()
            return Anchors.EXPLICIT, held
        case _:
            return Anchors.UNKNOWN, ()


def _none_anchors(context: Context) -> tuple[Anchors, tuple[Token, ...]]:
    """Return the anchors of `anchors=None`: the default, unless the framework raises on it and emits nothing."""
    if Misuse.ANCHOR_NONE in context.component.role.discipline.prices:
        return Anchors.UNKNOWN, ()
    return _default_anchors(context)


def _default_anchors(context: Context) -> tuple[Anchors, tuple[Token, ...]]:
    discipline = context.component.role.discipline
    match discipline.anchoring, context.component.auto_anchor:
        case Anchoring.CURRENT, True:
            return Anchors.DEFAULT, _current_tuple(context)
        case Anchoring.CURRENT, None:
            return Anchors.UNKNOWN, ()
        case _:
            return Anchors.NONE, ()


def _current_tuple(context: Context) -> tuple[Token, ...]:
    """Return the framework's current tuple: none in code that runs later."""
    return (context.subject,) if context.subject is not None and context.deferral is None else ()
