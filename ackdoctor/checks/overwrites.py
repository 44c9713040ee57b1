"""ACK402: `self.pending[key] = tup` drops the tuple that waits under the same key.

A spout's entries: two pending tuples have one message id, or `fail` emits an id again after it removed the entry.
"""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import Definition, canonical_form, definition, mentions_any, reachable
from ackdoctor.checks.facts.fields import (
    Use,
    pending_fields,
    reads_field,
    stored_inputs,
    unreleased_fields,
    uses,
)
from ackdoctor.checks.facts.spouts import data_emits, entry_method, reach, stored_under_id
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted, Path, Stored, points_back
from ackdoctor.flow.expressions import assigned_locals, last_name, mentions, name_words
from ackdoctor.flow.values import Const
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Edge,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Mix,
    Name,
    Test,
)
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding, Severity

_LOOKS = frozenset(
    "get pop setdefault has_key __contains__ keys containsKey getIfPresent getOrDefault putIfAbsent computeIfAbsent "
    "compute merge remove".split()
)
_UNIQUE = frozenset(
    "uuid1 uuid4 next token_hex getrandbits random monotonic time count "
    "randomUUID incrementAndGet getAndIncrement nextLong nanoTime currentTimeMillis getMessageId".split()
)
_HANDLES = frozenset(  # of new work, one for each call
    "start begin submit send request publish enqueue schedule create open "
    "apply_async send_async execute_async create_task executeAsync sendAsync submitAsync".split()
)

_ID_WORDS = frozenset(
    "id ids uuid key offset seq sequence number num index counter cursor path file uri url".split()
)


def ack402_pending_overwrite(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each store under a key from the data that does not look up the key first."""
    if context.component.opaque:
        return
    yield from _under_repeated_ids(context)
    yield from _emitted_again(context)
    fields = pending_fields(context) - unreleased_fields(context)
    for flow, stored in stored_inputs(context) if fields else ():
        key = _stored_key(stored)
        if key is None or stored.field not in fields:
            continue
        if not _key_can_repeat(context, stored.path, key, stored.token.name) or _is_multimap(
            context, stored.field
        ):
            continue
        call = stored.step.op
        if stored.how == "[]" and isinstance(call, Call) and not call.dropped:
            continue  # the code uses the previous value: `before = waiting.put(key, tuple)`
        if not _looked_up(context, stored) and context.is_first(stored.step):
            words = context.words(field=f"self.{stored.field}")
            yield context.finding(words, Misuse.NEVER, stored, flow=flow, severity=Severity.WARNING)


def _stored_key(stored: Stored) -> Expr | None:
    """Return the key of `pending[key] = tup`, `pending.put(key, tup)` and `pending.update({key: tup})`."""
    match stored.how, stored.step.op:
        case "[]", _:
            return stored.key
        case "update", Call(args=(Arg(value=Build(kind="dict", items=(key, _))),)):
            return key
        case _:
            return None


def _is_multimap(context: RuleContext, field: str) -> bool:
    """Whether the field is declared as a multimap, such as Guava's."""
    found = context.component.declared(field)
    return found is not None and "multi" in found[1].lower()


def _key_can_repeat(context: RuleContext, path: Path, key: Expr, tup: str = "") -> bool:
    """Whether a key comes from the data and is no id, counter or random number; `tup` is the name of the tuple."""
    found = definition(path, key) or Definition(key, path)
    while (operand := _operand(found.value)) is not None:
        found = definition(found.visit, operand) or Definition(operand, found.visit)
    match found.value:
        case Call(func=func):
            return last_name(func) not in _UNIQUE | _HANDLES
        case Attr(name="id") | Literal():
            return False
        case Item(obj=Name(id=name), key=Literal(value=0)) if name == tup:
            return False
        case Attr() | Item() as place:
            return context.field(found.visit.function, place) is None
        case _:
            return True


def _operand(defined: Expr | Call | Catch) -> Expr | None:
    """Return the operand of a conversion or of a part of a result: `id` of `Long.toString(id)` and `id.toString()`."""
    match defined:
        case Attr(obj=Name(id=name) as obj) | Item(obj=Name(id=name) as obj) if name.startswith("%"):
            return obj
        case Call(func=Attr(name="toString" | "valueOf"), args=(Arg(value=value),)):
            return value
        case Call(func=Attr(name="toString", obj=obj), args=()):
            return obj
        case _:
            return None


def _looked_up(context: RuleContext, stored: Stored) -> bool:
    """Whether the path to the store reads the field, or the local through which the store reaches it."""
    match stored.step.op:
        case Bind(target=Item(obj=Name(id=local))) | Call(func=Attr(obj=Name(id=local))):
            pass
        case _:
            local = ""

    def reads(function: Function, value: Expr) -> bool:
        is_local = function is stored.function and mentions_any(value, frozenset({local}))
        return is_local or reads_field(context, function, value, stored.field)

    for visit, _, _ in points_back(stored.path):
        function, op = visit.function, visit.step.op
        if visit.step is stored.step:
            continue
        match op:
            case Test(condition=value) | Bind(value=value) if reads(function, value):
                return True
            case Call(func=func, args=args):
                looks = last_name(func) in _LOOKS and reads(function, func)
                if looks or any(reads(function, arg.value) for arg in args):
                    return True
            case _:
                pass
    return False


# ---- spouts whose message ids repeat ----


def _under_repeated_ids(context: RuleContext) -> Iterator[Finding]:
    """Yield the stores of a spout under a message id that several pending tuples have."""
    stores, kept = stored_under_id(context), context.role.discipline.replays
    for emit in data_emits(context) if stores or kept else ():
        message_id = emit.message_id
        case = _repeated(context, emit, message_id) if message_id is not None else None
        if message_id is None or case is None:
            continue
        confidence = Confidence.MUST if case == "constant" else Confidence.MAY
        if kept and case != "value" and context.is_first(emit.step):  # an equal value replaces itself
            words = context.words(case, field=kept)
            yield context.finding(words, None, emit, severity=Severity.WARNING, confidence=confidence)
        wanted = canonical_form(emit.function, message_id)
        for use in stores:
            key = next(iter(use.values), None) if use.how == "put" else use.key
            if use.function is not emit.function or key is None:
                continue
            looked = any(
                each.how in _LOOKS for each in uses(context, [use.function], use.field) if each is not use
            )
            if canonical_form(use.function, key) == wanted and not looked and context.is_first(use.step):
                words = context.words(case, field=f"self.{use.field}")
                at = (use.function, use.step.span)
                yield context.finding(words, None, at, severity=Severity.WARNING, confidence=confidence)


def _repeated(context: RuleContext, emit: Emitted, message_id: Expr) -> str | None:
    """Return why a message id repeats, as a case of the catalogue."""
    value = emit.values.get(emit.verb.message_id or "")
    if isinstance(value, Const) and value.value is not None:
        return None if _emits_once(context, emit) else "constant"
    if _is_weak(context, emit.path, message_id):
        return "weak"
    kept = bool(context.role.discipline.replays)
    if _is_shared_by_loop(emit, message_id) and (kept or _removes_strictly(context)):
        return "loop"
    if _is_whole_value(emit, message_id) and _key_can_repeat(context, emit.path, message_id):
        return "value"
    return None


def _emits_once(context: RuleContext, emit: Emitted) -> bool:
    """Whether a path to an emit tests a field that the component sets to a constant: `if not self.done`."""
    flags = {
        use.field
        for use in uses(context, reach(context, EntryKind.NEXT))
        if use.how == "=" and use.whole and use.values and isinstance(use.values[0], Literal)
    }
    return any(
        isinstance(visit.step.op, Test)
        and any(reads_field(context, visit.function, visit.step.op.condition, flag) for flag in flags)
        for visit, _, _ in points_back(emit.path)
    )


def _is_shared_by_loop(emit: Emitted, message_id: Expr) -> bool:
    """Whether a loop runs an emit again with the same id: `for word in words: self.emit([word], tup_id=line_id)`."""
    cfg, index = emit.function.cfg, emit.path.index
    loops = [(head, body) for head, body in cfg.bodies.items() if index in body]
    if not loops or not isinstance(message_id, Name):
        return False
    head, body = min(loops, key=lambda loop: len(loop[1]))
    inside = {head, *body}
    if any(message_id.id in assigned_locals(cfg.steps[each].op) for each in inside):
        return False

    def stays(_: int, edge: Edge) -> bool:
        return edge.kind is not EdgeKind.RAISE and edge.target in inside

    onwards = [edge.target for edge in cfg.steps[index].edges if stays(index, edge)]
    return index in cfg.reached(onwards, stays)


def _removes_strictly(context: RuleContext) -> bool:
    """Whether `ack` raises for an id whose entry is gone."""
    ack = entry_method(context, EntryKind.ACKED)
    found = list(uses(context, [ack])) if ack is not None else []
    removals = [use for use in found if _is_strict(use)]
    return any(not _is_guarded(context, use) for use in removals) and all(
        not use.how.endswith("=") for use in found
    )


def _is_strict(use: Use) -> bool:
    return use.how == "del" or (use.how == "pop" and len(use.values) == 1)


def _is_guarded(context: RuleContext, removal: Use) -> bool:
    """Whether the function of a removal looks at the field first, or catches exceptions."""
    return any(
        isinstance(step.op, Catch)
        or (
            isinstance(step.op, Test)
            and reads_field(context, removal.function, step.op.condition, removal.field)
        )
        for step in removal.function.cfg.steps
    )


_CONVERSIONS = frozenset("str int repr round hex toString valueOf".split())
_MANY = 1_000_000  # random numbers
_MILLISECONDS = frozenset("currentTimeMillis toEpochMilli".split())


def _is_weak(context: RuleContext, path: Path, message_id: Expr) -> bool:
    """Whether an id is a hash, a size, a time in seconds, in a loop also in milliseconds, or a small random number."""
    found = definition(path, message_id)
    whole = False
    while found is not None and isinstance(found.value, Call) and last_name(found.value.func) in _CONVERSIONS:
        args = found.value.args
        whole = whole or last_name(found.value.func) in ("int", "round")
        found = definition(found.visit, args[0].value) if len(args) == 1 else None
    match found.value if found is not None else None:
        case Mix(op="len" | "hash"):
            return True
        case Call(func=func, args=args) if found is not None:
            names = context.qualified_names(found.visit.function, func)
            if (
                names & {"random.randint", "random.randrange", "random.choice"}
                or last_name(func) == "nextInt"
            ):
                bound = args[-1].value if args else None
                return isinstance(bound, Literal) and isinstance(bound.value, int) and bound.value < _MANY
            if whole and "time.time" in names:
                return True
            if last_name(func) in _MILLISECONDS:
                return _share_a_loop(found.visit, path)
            return last_name(func) == "hashCode" or bool(names & {"hash", "builtins.hash", "len"})
        case _:
            return False


def _share_a_loop(made: Path, sent: Path) -> bool:
    """Whether one loop, which does not sleep, makes an id and emits."""
    steps = made.function.cfg.steps
    bodies = [body for body in made.function.cfg.bodies.values() if made.index in body]
    return made.function is sent.function and any(
        sent.index in body
        and all(last_name(op.func) != "sleep" for each in body if isinstance(op := steps[each].op, Call))
        for body in bodies
    )


def _is_whole_value(emit: Emitted, message_id: Expr) -> bool:
    """Whether a message id is the only value of the emit, and no id that the spout makes."""
    payload = emit.payload
    made = definition(emit.path, payload) if isinstance(payload, Name) else None
    match made.value if made is not None else payload:
        case Build(kind="list" | "tuple", items=(value,)) | Call(args=(Arg(value=value, star=""),)):
            pass
        case _:
            return False
    function = emit.function
    if isinstance(message_id, Name) and not _ID_WORDS.isdisjoint(name_words(message_id.id)):
        return False
    source = definition(emit.path, message_id)
    if source is not None and isinstance(source.value, Call) and last_name(source.value.func) in _UNIQUE:
        return False
    return canonical_form(function, value) == canonical_form(function, message_id)


# ---- failed tuples that are emitted again without their entry ----


def _emitted_again(context: RuleContext) -> Iterator[Finding]:
    """Yield the removals in `fail` of an entry whose id is emitted again, if the next callback needs the entry."""
    if context.role.discipline.replays:
        return
    for flow, emit in context.events(Emitted, EntryKind.FAILED):
        message_id = emit.message_id
        failed = [Name(param.name) for param in flow.function.params[1:2]]
        if message_id is None or emit.function is not flow.function:
            continue
        if [canonical_form(emit.function, message_id)] != failed:
            continue
        on_path = {visit.step for visit, _, _ in points_back(emit.path)}
        steps = emit.function.cfg.steps
        on_path |= {steps[index] for index in reachable(emit.function, [emit.path.index])}
        for use in uses(context, [flow.function]):
            key = use.key if use.how == "del" else next(iter(use.values), None)
            removes = use.how in ("pop", "del") or (use.how == "remove" and _is_map(context, use.field))
            if not removes or use.step not in on_path or [key] != failed:
                continue
            if _is_stored_again(context, use) or not _needs_entry(context, emit, use):
                continue
            if context.is_first(use.step):
                words = context.words("again", field=f"self.{use.field}")
                at = (flow.function, use.step.span)
                yield context.finding(words, None, at, flow=flow, severity=Severity.WARNING)


def _is_map(context: RuleContext, field: str) -> bool:
    found = context.component.declared(field)
    return found is not None and found[1].endswith("Map")


def _is_stored_again(context: RuleContext, removal: Use) -> bool:
    """Whether `fail` or a helper stores anything in the field."""
    return any(
        use.how in ("=", "put", "setdefault", "update", "putIfAbsent", "pass")
        for use in uses(context, reach(context, EntryKind.FAILED), removal.field)
        if use.step is not removal.step
    )


def _needs_entry(context: RuleContext, emit: Emitted, removal: Use) -> bool:
    """Whether a second callback for the id raises: a removal without a default, or an emit of what was removed, untested."""
    if _is_strict(removal):
        return not _is_guarded(context, removal)
    payload = emit.payload
    found = definition(emit.path, payload) if payload is not None else None
    if found is None or found.value is not removal.step.op:
        return False
    names = {payload, *(Name(name) for name in (removal.result,))}
    return not any(
        isinstance(visit.step.op, Test)
        and any(mentions(visit.step.op.condition, name) for name in names if name)
        for visit, _, _ in points_back(emit.path)
    )
