"""ACK402: `self.pending[key] = tup` drops the tuple that waits under the same key."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import Definition, canonical_form, definition, mentions_any
from ackdoctor.checks.facts.fields import pending_fields, reads_field, stored_inputs, unreleased_fields, uses
from ackdoctor.checks.facts.spouts import data_emits, stored_under_id
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted, Path, Stored, points_back
from ackdoctor.flow.expressions import last_name, name_words
from ackdoctor.model.cfg import Arg, Attr, Bind, Build, Call, Catch, Expr, Function, Item, Literal, Name, Test
from ackdoctor.model.dialect import Misuse
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


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each store under a key from the data that does not look up the key first."""
    if context.component.opaque:
        return
    yield from _under_values(context)
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


# ---- spouts whose message id is the value itself ----


def _under_values(context: RuleContext) -> Iterator[Finding]:
    """Yield the stores of a spout under a message id that is the whole emitted value: equal records share an entry."""
    stores = stored_under_id(context)
    for emit in data_emits(context) if stores else ():
        message_id = emit.args.get(emit.verb.message_id or "")
        if message_id is None or not _is_whole_value(emit, message_id):
            continue
        if not _key_can_repeat(context, emit.path, message_id):
            continue
        wanted = canonical_form(emit.function, message_id)
        for use in stores:
            key = next(iter(use.values), None) if use.how == "put" else use.key
            if use.function is not emit.function or key is None:
                continue
            looked = any(
                each.how in _LOOKS for each in uses(context, [use.function], use.field) if each is not use
            )
            if canonical_form(use.function, key) == wanted and not looked and context.is_first(use.step):
                words = context.words("value", field=f"self.{use.field}")
                at = (use.function, use.step.span)
                yield context.finding(words, None, at, severity=Severity.WARNING, confidence=Confidence.MAY)


def _is_whole_value(emit: Emitted, message_id: Expr) -> bool:
    """Whether a message id is the only value of the emit, and no id that the spout makes."""
    payload = emit.args.get(emit.verb.subject or "")
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
