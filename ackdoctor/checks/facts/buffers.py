"""Fields of a component as containers: how they are created, filled and emptied, which tuples they hold, and joins.

A join buffer is a dict field that collects parts under a key from the data until an entry is complete.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ackdoctor.checks.facts.completions import ACKING, depends_on_setting
from ackdoctor.checks.facts.dataflow import derived_names, mentions_any, reachable, tuple_params
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, Stored
from ackdoctor.flow.expressions import calls_by_result, subexpressions
from ackdoctor.flow.library import CONTAINER_STORES, CONTAINER_VIEWS, LOGGING, PURE_CALLS
from ackdoctor.flow.state import TokenKind
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.flow.transfer.evaluate import defining_step
from ackdoctor.model.cfg import (
    ENTRY,
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Compare,
    Drop,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Step,
    Test,
    Update,
)
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.protocol import Stage

__all__ = [
    "INITIALISERS",
    "LISTENERS",
    "Join",
    "assigned_calls",
    "chained_methods",
    "drained_fields",
    "is_container",
    "is_size_of",
    "own_field",
    "pending_fields",
    "reads_field",
    "released_fields",
    "shrunk_fields",
    "stored_inputs",
    "unfinished_joins",
    "unreleased_fields",
]


# the framework runs them once, before all other methods
INITIALISERS = frozenset(("__init__", "initialize", "init_state", "<init>", "prepare", "open"))

_PLAIN = frozenset(
    "dict list set collections.OrderedDict collections.defaultdict collections.deque collections.Counter "
    "OrderedDict defaultdict deque Counter".split()
) | frozenset(
    f"java.util.{name}"
    for name in "HashMap LinkedHashMap TreeMap Hashtable IdentityHashMap ArrayList Vector HashSet LinkedHashSet TreeSet "
    "concurrent.ConcurrentHashMap concurrent.ConcurrentSkipListMap concurrent.CopyOnWriteArrayList".split()
)
_QUEUES = frozenset(
    f"{module}.{name}"
    for module in ("queue", "Queue", "multiprocessing", "six.moves.queue", "gevent.queue")
    for name in ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue", "JoinableQueue")
) | frozenset(
    f"java.util.{name}"
    for name in "LinkedList ArrayDeque PriorityQueue Stack concurrent.LinkedBlockingQueue concurrent.LinkedBlockingDeque "
    "concurrent.ConcurrentLinkedQueue concurrent.ConcurrentLinkedDeque concurrent.PriorityBlockingQueue".split()
)
_LIMITS = frozenset(("maxlen", "maxsize"))
_SIZED_BY_POSITION = {
    "collections.deque": 1,
    "deque": 1,
    **{name: 0 for name in _QUEUES if not name.startswith("java.") or "Blocking" in name},
}
_TAKES = frozenset(
    "pop popleft popitem remove discard clear get_nowait intersection_update difference_update poll take "
    "pollFirst pollLast removeFirst removeLast removeAll removeIf retainAll drainTo".split()
)
_READS_ONLY = (
    frozenset("get count index copy size isEmpty containsKey contains peek getOrDefault".split())
    | CONTAINER_VIEWS
)


def own_field(context: RuleContext, function: Function, expr: Expr) -> str | None:
    """Return the field that an expression is: `self.name` and nothing more."""
    match expr:
        case Attr(obj=obj, name=name) if obj == context.own_name(function):
            return name
        case _:
            return None


# ---- how a field begins ----


def is_container(context: RuleContext, name: str) -> bool:
    """Whether every assignment makes a field a plain container without a limit."""
    values = list(_assigned_values(context, name))
    return bool(values) and all(_kind(context, function, value) for function, value in values)


def _is_queue(context: RuleContext, name: str) -> bool:
    """Whether `get` removes an element of a field."""
    return any(
        _kind(context, function, value) == "queue" for function, value in _assigned_values(context, name)
    )


def _assigned_values(context: RuleContext, name: str) -> Iterator[tuple[Function, Expr | Call]]:
    for function in context.functions():
        calls = calls_by_result(function)
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=target, value=value) if own_field(context, function, target) == name:
                    yield function, calls.get(value, value)
                case _:
                    pass
    default = context.component.attribute(name)
    method = next(iter(context.component.cls.methods.values()), None)
    if default is not None and method is not None:
        yield method, default


def _kind(context: RuleContext, function: Function, value: Expr | Call) -> str:
    """Return the kind of an unlimited container of the standard library: "plain", "queue", or "" for any other value."""
    match value:
        case Build(kind="dict" | "list" | "set"):
            return "plain"
        case Name(id=name) if name.startswith("%"):  # a comprehension
            return "plain"
        case Call(func=func, args=args):
            return _constructor_kind(context, function, func, args)
        case Mix(op="call", parts=(func, *rest)):
            return _constructor_kind(context, function, func, [Arg(part) for part in rest])
        case _:
            return ""


def _constructor_kind(context: RuleContext, function: Function, func: Expr, args: Iterable[Arg]) -> str:
    names = {symbol for symbol in context.resolve(function, func) if isinstance(symbol, str)}
    arguments = list(args)
    plain = [arg for arg in arguments if arg.name is None]
    for name in names:
        limited = any(arg.name in _LIMITS and arg.value != Literal(None) for arg in arguments)
        if limited or len(plain) > _SIZED_BY_POSITION.get(name, len(plain)):
            return ""
    if names & _QUEUES:
        return "queue"
    return "plain" if names & _PLAIN else ""


# ---- what happens to it ----


def drained_fields(context: RuleContext, functions: Iterable[Function]) -> frozenset[str]:
    """Return the fields from which these functions remove, or through which they iterate."""
    found: set[str | None] = set()
    for function in functions:
        for step in function.cfg.steps:
            match step.op:
                case Next(iterable=place):
                    found.add(own_field(context, function, place))
                case Call(func=Attr(obj=place, name=name)) if (
                    name in _TAKES | CONTAINER_VIEWS or name == "get"
                ):
                    found.add(own_field(context, function, place))
                case _:
                    pass
    return frozenset(name for name in found if name is not None) | shrunk_fields(context, functions)


def shrunk_fields(context: RuleContext, functions: Iterable[Function]) -> frozenset[str]:
    """Return the fields that these functions may shrink: they remove from them, replace them or pass them to opaque code."""
    found: set[str | None] = set()
    for function in functions:
        views = _views(context, function)
        for step in function.cfg.steps:
            match step.op:
                case Call(func=Attr(obj=Name(id=view), name=name)) if view in views and name in _TAKES:
                    found.add(views[view])
                case Drop(target=Item(obj=place)) | Drop(target=Attr() as place):
                    found.add(own_field(context, function, place))
                case Bind(target=target, value=value):
                    if function.name not in INITIALISERS:
                        found.add(own_field(context, function, target))
                    found.add(own_field(context, function, value))  # an alias
                case Update(target=target, op=op) if op != "+":
                    found.add(own_field(context, function, target))
                case Call(func=func, args=args):
                    found |= set(_shrunk_by_call(context, function, func, args))
                case _:
                    pass
    return frozenset(name for name in found if name is not None)


def _views(context: RuleContext, function: Function) -> Mapping[str, str]:
    """Map the locals that are a view of a field to the field: what is removed from a `keySet()` leaves the map."""
    found: dict[str, str] = {}
    for step in function.cfg.steps:
        match step.op:
            case Call(result=result, func=Attr(obj=place, name=name)) if name in CONTAINER_VIEWS:
                field = own_field(context, function, place)
                seen = found.get(place.id) if isinstance(place, Name) else None
                if field or seen:
                    found[result.id] = field or seen or ""
            case Bind(target=Name(id=name), value=Name(id=value)) if value in found:
                found[name] = found[value]
            case _:
                pass
    return found


def _shrunk_by_call(
    context: RuleContext, function: Function, func: Expr, args: tuple[Arg, ...]
) -> Iterator[str | None]:
    match func:
        case Attr(obj=place, name=name):
            field = own_field(context, function, place)
            taken = name == "get" and field is not None and _is_queue(context, field)
            if taken or name not in CONTAINER_STORES | _READS_ONLY:
                yield field
        case _:
            pass
    word = getattr(func, "name", None) or getattr(func, "id", "")
    if word not in PURE_CALLS | LOGGING | {
        "iter",
        "sorted",
        "list",
        "dict",
        "set",
        "tuple",
        "enumerate",
        "len",
        "sum",
        "max",
        "min",
    }:
        for arg in args:
            yield own_field(context, function, arg.value)


LISTENERS = frozenset({"removalListener", "evictionListener"})  # eviction listeners of a cache


def stored_inputs(context: RuleContext) -> Iterator[tuple[Flow, Stored]]:
    """Yield each store of an input tuple into a field, in the handlers of a bolt that acks by hand."""
    if context.component.auto_ack is not False or not context.is_bolt:
        return
    for flow, stored in context.events(Stored, EntryKind.DATA, EntryKind.BATCH):
        if stored.token.kind is not TokenKind.STORED and stored.deferral is None:
            yield flow, stored


def released_fields(context: RuleContext) -> frozenset[str]:
    """Return the fields whose tuples some code of the component completes or passes to opaque code."""
    return frozenset(event.field.partition(".")[0] for _, event in context.releases())


def unreleased_fields(context: RuleContext) -> frozenset[str]:
    """Return the fields that still hold an un-acked tuple when its handler returns, and that no code releases."""
    done = released_fields(context)
    if EVERYTHING in done:
        return frozenset()
    found: set[str] = set()
    for holders in _waiting_holders(context):
        fields = {_field(holder) for holder in holders}
        if all(holder.startswith("self.") for holder in holders) and not fields & done:
            found |= fields
    return frozenset(found)


def pending_fields(context: RuleContext) -> frozenset[str]:
    """Return the fields that still hold an un-acked tuple when its handler returns, released later or not."""
    return frozenset(_field(holder) for holders in _waiting_holders(context) for holder in holders)


def _waiting_holders(context: RuleContext) -> Iterator[list[str]]:
    """Yield the holders of each un-acked tuple at its handler's return, except on paths that a setting of the user selects."""
    by_choice = depends_on_setting(context, ACKING)
    for _, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        if ended.raised is not None or ended.deferral is not None or ended.token is None:
            continue
        token_state = ended.state.tokens.get(ended.token)
        if token_state is not None and token_state.stage is Stage.HELD and not by_choice(ended.path):
            yield token_state.holder.split()


def _field(holder: str) -> str:
    return holder.removeprefix("self.").partition(".")[0]


def assigned_calls(context: RuleContext, function: Function, field: str) -> Iterator[Call]:
    """Yield the calls whose result is assigned to the field."""
    own = context.own_name(function)
    results = calls_by_result(function)
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Attr(obj=obj, name=name), value=Name() as value) if name == field and obj == own:
                if value in results:
                    yield results[value]
            case _:
                pass


def chained_methods(function: Function, call: Call) -> frozenset[str]:
    """Return the methods of a call chain up to this call: `newBuilder().maximumSize(9).build()`."""
    words: set[str] = set()
    step: Call | Bind | None = call
    while isinstance(step, Call) and isinstance(step.func, Attr):
        words.add(step.func.name)
        obj = step.func.obj
        step = defining_step(function, obj.id) if isinstance(obj, Name) else None
    return frozenset(words)


def is_size_of(context: RuleContext, function: Function, expr: Expr, field: str) -> bool:
    """Whether an expression is the size of a field: `len(self.field)`, or the result of `field.size()`."""
    if isinstance(expr, Mix) and expr.op == "len":
        return reads_field(context, function, expr, field)
    definition = (
        defining_step(function, expr.id) if isinstance(expr, Name) and expr.id.startswith("%") else None
    )
    match definition:
        case Call(func=Attr(obj=obj, name="size" | "length")):
            return context.field(function, obj) == field
        case _:
            return False


def reads_field(context: RuleContext, function: Function, expr: Expr, field: str) -> bool:
    """Whether an expression reads `self.<field>`."""
    own = context.own_name(function)
    return any(part == Attr(own, field) for part in subexpressions(expr)) if own is not None else False


_TRIMS = frozenset({"popitem", "clear", "expire"})


@dataclass(slots=True, unsafe_hash=True)
class Join:
    """A field whose entries leave only when complete, and the step that creates an entry."""

    field: str
    function: Function
    created: Step


def unfinished_joins(context: RuleContext) -> Iterator[Join]:
    """Yield the join buffers of an auto-acking bolt in which nothing ends the wait for a missing part."""
    if not context.component.auto_ack:
        return
    for flow in context.flows:
        if flow.entry is None or flow.entry.kind is not EntryKind.DATA or flow.entry.subject is None:
            continue
        handler = flow.function
        derived = derived_names(handler, tuple_params(flow, handler))
        for field, deletions in sorted(_deletions(context, handler).items()):
            created = _creation(context, handler, field, derived)
            if created is None or _removed_elsewhere(context, handler, field):
                continue
            if all(_guarded_by_completeness(context, handler, field, index) for index in deletions):
                yield Join(field, handler, created)


def _deletions(context: RuleContext, handler: Function) -> dict[str, list[int]]:
    """Return the steps of the handler that remove one entry of a dict field, by field."""
    found: dict[str, list[int]] = {}
    for index, step in enumerate(handler.cfg.steps):
        match step.op:
            case Drop(target=Item(obj=Attr() as obj)) | Call(func=Attr(obj=Attr() as obj, name="pop")):
                if isinstance(step.op, Call) and not step.op.args:
                    continue
                field = context.field(handler, obj)
                if field is not None and obj.name == field:
                    found.setdefault(field, []).append(index)
            case _:
                pass
    return found


def _creation(context: RuleContext, handler: Function, field: str, derived: frozenset[str]) -> Step | None:
    """Return the step that creates an entry under a key from the data: an assignment, else setdefault, else an append."""
    own = context.own_name(handler)
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


def _removed_elsewhere(context: RuleContext, handler: Function, field: str) -> bool:
    """Whether other code may remove entries: another method, a trim, or code to which the field was passed."""
    for function in context.functions():
        for step in function.cfg.steps:
            match step.op:
                case Drop(target=target) if (
                    function is not handler and context.field(function, target) == field
                ):
                    return True
                case Bind(target=Attr() as target) if function.name not in INITIALISERS:
                    if context.field(function, target) == field:
                        return True
                case Call(func=Attr(obj=obj, name=name)) if context.field(function, obj) == field:
                    if name in _TRIMS or (name == "pop" and function is not handler):
                        return True
                case _:
                    pass
            if isinstance(step.op, Call) and _passes_field(context, function, step.op, field):
                return True
    return False


def _passes_field(context: RuleContext, function: Function, call: Call, field: str) -> bool:
    """Whether a call passes the whole field to a plain function."""
    own = context.own_name(function)
    if own is None or isinstance(call.func, Attr):
        return False
    return any(arg.value == Attr(own, field) for arg in call.args)


def _guarded_by_completeness(context: RuleContext, handler: Function, field: str, deletion: int) -> bool:
    """Whether a deletion is reached only after a test of the entry's own content."""
    steps = handler.cfg.steps
    entries = _entry_names(context, handler, field)
    for index, step in enumerate(steps):
        if not isinstance(step.op, Test) or not _tests_entry(
            context, handler, step.op.condition, field, entries
        ):
            continue
        for kind in (EdgeKind.TRUE, EdgeKind.FALSE):
            if deletion not in reachable(handler, [ENTRY], frozenset({(index, kind)})):
                return True
    return False


def _entry_names(context: RuleContext, handler: Function, field: str) -> frozenset[str]:
    """Return the locals that hold one entry of the field, or a part of it."""
    names: set[str] = set()
    for step in handler.cfg.steps:
        match step.op:
            case Bind(target=Name(id=name), value=Item() as value) if context.field(handler, value) == field:
                names.add(name)
            case Call(result=result, func=Attr(obj=obj, name="setdefault" | "get")):
                if context.field(handler, obj) == field:
                    names.add(result.id)
            case _:
                pass
    return derived_names(handler, frozenset(names)) if names else frozenset()


def _tests_entry(
    context: RuleContext, handler: Function, condition: Expr, field: str, entries: frozenset[str]
) -> bool:
    if not isinstance(condition, Compare) or condition.op in ("in", "not in"):
        return False
    if entries and mentions_any(condition, entries):
        return True
    return any(
        isinstance(part, Item) and reads_field(context, handler, part, field)
        for part in subexpressions(condition)
    )
