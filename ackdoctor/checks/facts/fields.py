"""Fields of a component: how they are used, how containers begin and shrink, which tuples they hold, and settings.

A `Use` is one use of a field in a step.  It is read off the code, without a path.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ackdoctor.checks.facts.dataflow import argument_of, canonical_form
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, Path, Stored, turns_back
from ackdoctor.flow.expressions import (
    calls_by_result,
    is_slice,
    last_name,
    local_values,
    memoize,
    mentions,
    name_words,
    subexpressions,
)
from ackdoctor.flow.pure_calls import size_calls, size_of
from ackdoctor.flow.transfer.effects import logged_calls
from ackdoctor.flow.transfer.escape import EVERYTHING
from ackdoctor.flow.values import TokenKind
from ackdoctor.libraries.vocabulary import (
    AGGREGATES,
    COLLECTION_WRAPPERS,
    CONTAINER_STORES,
    CONTAINER_VIEWS,
    LOGGING,
    METRICS,
    PURE_CALLS,
)
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Closure,
    Compare,
    Drop,
    Expr,
    Function,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Not,
    Step,
    Test,
    Unpack,
    Update,
)
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.protocol import Stage

# ---- uses ----


@dataclass(slots=True, eq=False)
class Use:
    """One use of a field of the component, or of a part of it: `self.pending[key].append(tup)`.

    `how` is the method that is called on it, or "=" (assigned), "+=", "del", "for" (iterated), "alias" (assigned to
    another place) or "pass" (an argument of a call).  `place` is the expression that is used; `whole` is true if that is
    the field itself.  `values` are the assigned value, the arguments, or the place that gets the value or element.
    """

    field: str
    function: Function
    step: Step
    how: str
    place: Expr
    whole: bool
    values: tuple[Expr, ...] = ()

    @property
    def key(self) -> Expr | None:
        """The key of the entry that is used, in `self.pending[key]`."""
        match self.place:
            case Item(obj=Attr(name=name), key=key) if name == self.field:
                return key
            case _:
                return None

    @property
    def result(self) -> str:
        """The local that holds the result of the call; "" if the step is no call."""
        return self.step.op.result.id if isinstance(self.step.op, Call) else ""


def uses(context: RuleContext, functions: Iterable[Function] | None = None, field: str = "") -> Iterator[Use]:
    """Yield the uses of a field, by default of all fields, in these functions, by default in all of the component.

    The uses of a field of an object that the component keeps, "batcher.rows", are those in its own class.
    """
    holder, _, name = field.rpartition(".")
    cls = context.field_class(holder) if holder else None
    if cls is not None:
        methods = (method for each in context.program.lineage(cls).order for method in each.all_methods())
        for method in methods:
            yield from (use for use in uses_of(method, Name(method.receiver)) if use.field == name)
        return
    for function in context.functions if functions is None else functions:
        own = context.own_names.get(function)
        if own is not None:
            yield from (use for use in uses_of(function, own) if field in ("", use.field))


@memoize
def uses_of(function: Function, own: Name) -> tuple[Use, ...]:
    """Return the uses of the fields of an object that a function knows as the local `own`."""
    found: list[Use] = []
    views: dict[Expr, str] = {}  # locals that show a part of a field: what leaves a `keySet()` leaves the map
    for step in function.cfg.steps:
        for how, place, values in _accesses(step):
            root = place
            while isinstance(root, Item) or (isinstance(root, Attr) and root.obj != own):
                root = root.obj
            field = root.name if isinstance(root, Attr) else views.get(place)
            if field is None:
                continue
            found.append(
                Use(field, function, step, how, place, isinstance(place, Attr) and place is root, values)
            )
            if how in CONTAINER_VIEWS and isinstance(step.op, Call):
                views[step.op.result] = field
            elif how == "alias" and place in views:
                views[values[0]] = field
    return tuple(found)


def _accesses(step: Step) -> Iterator[tuple[str, Expr, tuple[Expr, ...]]]:
    """Yield how a step uses places: the kind of use, the place, and the values."""
    match step.op:
        case Bind(target=target, value=value):
            yield "=", target, (value,)
            yield "alias", value, (target,)
        case Unpack(targets=targets, value=Build(items=items)):
            for place, item in zip(targets, items, strict=False):
                if place is not None:
                    yield "=", place, (item,)
                    yield "alias", item, (place,)
        case Update(target=target, op=op, value=value):
            yield f"{op.rstrip('=')}=", target, (value,)
        case Drop(target=target):
            yield "del", target, ()
        case Next(target=target, iterable=iterable):
            yield "for", iterable, (target,) if target is not None else ()
        case Call(func=func, args=args):
            if isinstance(func, Attr):
                yield func.name, func.obj, tuple(arg.value for arg in args)
            for arg in args:
                yield "pass", arg.value, (func,)
        case _:
            pass


def reads_field(context: RuleContext, function: Function, expr: Expr, field: str) -> bool:
    """Whether an expression reads `self.<field>`."""
    own = context.own_names.get(function)
    return own is not None and mentions(expr, Attr(own, field))


def is_size_of(context: RuleContext, function: Function, expr: Expr, field: str) -> bool:
    """Whether an expression is the size of a field: `len(self.field)`, or the result of `field.size()`."""
    whole = size_of(size_calls(function).get(expr, expr))
    return whole is not None and context.field(function, whole) == field


def uses_resource(context: RuleContext, function: Function, call: Call, caller: Path | None = None) -> bool:
    """Whether a call is a method of a field of the component or of a client: `self.table.insert(row)`, `requests.post()`.

    A client that a helper gets as an argument is judged where it is called.  Metrics are assumed not to matter.
    """
    if not isinstance(call.func, Attr) or context.is_in_memory(function, call.func.obj):
        return False
    obj = call.func.obj
    if not METRICS.isdisjoint(name_words(last_name(obj))):
        return False
    if context.field(function, obj) is not None or context.is_remote(function, obj):
        return True
    if caller is None or not isinstance(obj, Name) or not isinstance(caller.step.op, Call):
        return False
    passed = argument_of(caller.step.op, function, obj.id)
    return passed is not None and uses_resource(
        context, caller.function, Call(call.result, Attr(passed, call.func.name), ())
    )


# ---- how a container begins ----

# the framework runs them once, before all other methods
INITIALISERS = frozenset(("__init__", "initialize", "init_state", "<init>", "prepare", "open"))
_MOST_NAMES = 4  # locals between a listener and its code
LISTENERS = frozenset({"removalListener", "evictionListener"})  # eviction listeners of a cache

_QUEUES = frozenset(
    f"{module}.{name}"
    for module in ("queue", "Queue", "multiprocessing", "six.moves.queue", "gevent.queue")
    for name in ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue", "JoinableQueue")
) | frozenset(
    f"java.util.concurrent.{name}"
    for name in "LinkedBlockingQueue LinkedBlockingDeque PriorityBlockingQueue".split()
)
_CONTAINERS = (
    _QUEUES
    | frozenset(
        "dict list set OrderedDict defaultdict deque Counter collections.OrderedDict collections.defaultdict "
        "collections.deque collections.Counter".split()
    )
    | frozenset(
        f"java.util.{name}"
        for name in "HashMap LinkedHashMap TreeMap Hashtable IdentityHashMap ArrayList Vector HashSet LinkedHashSet "
        "TreeSet LinkedList ArrayDeque PriorityQueue Stack concurrent.ConcurrentHashMap concurrent.ConcurrentSkipListMap "
        "concurrent.CopyOnWriteArrayList concurrent.ConcurrentLinkedQueue concurrent.ConcurrentLinkedDeque".split()
    )
)
_LIMITS = frozenset(("maxlen", "maxsize"))
# the position of the argument that limits the container
_LIMIT_POSITION = {"collections.deque": 1, "deque": 1, **dict.fromkeys(_QUEUES, 0)}


def initial_values(context: RuleContext, field: str) -> Iterator[tuple[Function, Expr | Call]]:
    """Yield what the component assigns to a field, a call instead of the temporary that holds its result."""
    for use in uses(context, field=field):
        if use.whole and use.how == "=":
            value = use.values[0]
            yield use.function, calls_by_result(use.function).get(value, value)
    default = context.component.attribute(field)
    if default is not None:
        yield context.module_body, default


def builders(context: RuleContext, field: str) -> Iterator[frozenset[str]]:
    """Yield the methods in each chain of calls that makes a field: `newBuilder().maximumSize(9).build()`.

    A listener that only logs is left out.
    """
    for function, value in initial_values(context, field):
        methods: set[str] = set()
        call = value if isinstance(value, Call) else None
        while call is not None and isinstance(call.func, Attr):
            if not (
                call.func.name in LISTENERS and any(_only_logs(function, arg.value) for arg in call.args)
            ):
                methods.add(call.func.name)
            call = calls_by_result(function).get(call.func.obj)
        yield frozenset(methods)


def _only_logs(function: Function, listener: Expr | Call, depth: int = 0) -> bool:
    """Whether an object or a lambda is in sight, and only writes log lines."""
    if isinstance(listener, Name):
        values = local_values(function).get(listener.id, ()) if depth < _MOST_NAMES else ()
        return bool(values) and all(_only_logs(function, value, depth + 1) for value in values)
    items = listener.items if isinstance(listener, Build) and listener.kind == "object" else (listener,)
    codes = [function.closures.get(item.key) for item in items if isinstance(item, Closure)]
    return bool(codes) and all(
        code is not None
        and all(
            index in logged_calls(code) or last_name(step.op.func) in LOGGING
            for index, step in enumerate(code.cfg.steps)
            if isinstance(step.op, Call)
        )
        for code in codes
    )


def is_container(context: RuleContext, field: str) -> bool:
    """Whether every assignment makes a field a container of the standard library without a limit."""
    values = list(initial_values(context, field))
    return bool(values) and all(_is_unlimited(context, function, value) for function, value in values)


def _is_unlimited(context: RuleContext, function: Function, value: Expr | Call) -> bool:
    match value:
        case Build(kind="dict" | "list" | "set"):
            return True
        case Call(func=func, args=args):
            pass
        case Mix(op="call", parts=(func, *rest)):  # at the top level of the class
            args = tuple(map(Arg, rest))
        case _:
            return False
    names = context.qualified_names(function, func)
    limited = any(arg.name in _LIMITS and arg.value != Literal(None) for arg in args)
    plain = sum(arg.name is None for arg in args)
    limited |= any(plain > _LIMIT_POSITION.get(name, plain) for name in names)
    return not limited and not names.isdisjoint(_CONTAINERS)


def is_emptied(context: RuleContext, use: Use) -> bool:
    """Whether an assignment puts an empty container into a field: `self.rows = []`, `rows = new ArrayList<>()`."""
    if use.how != "=" or not use.whole:
        return False
    value = calls_by_result(use.function).get(use.values[0], use.values[0])
    items = value.items if isinstance(value, Build) else value.args if isinstance(value, Call) else ()
    filled = any(not isinstance(item.value, Literal) if isinstance(item, Arg) else True for item in items)
    return not filled and _is_unlimited(context, use.function, value)


# ---- how it shrinks ----

REMOVES_FROM_VIEW = frozenset("remove removeIf removeAll retainAll clear poll".split())
_KEEPS = CONTAINER_STORES | CONTAINER_VIEWS  # methods that remove nothing
_KEEPS |= frozenset("get count index copy size isEmpty containsKey contains peek getOrDefault += for".split())
_ONLY_READ = PURE_CALLS | LOGGING | COLLECTION_WRAPPERS | AGGREGATES


def drained_fields(context: RuleContext, functions: Sequence[Function]) -> frozenset[str]:
    """Return the fields from which these functions remove, or through which they iterate."""
    reads = CONTAINER_VIEWS | {"get", "for"}
    read = (use.field for use in uses(context, functions) if use.whole and use.how in reads)
    return frozenset(read) | shrunk_fields(context, functions)


def shrunk_fields(context: RuleContext, functions: Iterable[Function]) -> frozenset[str]:
    """Return the fields that these functions may shrink: they remove from them, replace them or pass them to opaque code."""
    return frozenset(use.field for use in uses(context, functions) if shrinks(context, use))


def may_shrink_inside(context: RuleContext, field: str) -> bool:
    """Whether a field of an object that the component keeps may shrink: "batcher.rows"; false for the component's own."""
    holder = field.rpartition(".")[0]
    if not holder or context.field_class(holder) is None:
        return bool(holder)
    outside = (use for use in uses(context, field=holder) if use.how in ("=", "alias", "del", "pass"))
    return any(shrinks(context, use) for use in uses(context, field=field)) or any(
        shrinks(context, use) for use in outside
    )


def shrinks(context: RuleContext, use: Use) -> bool:
    """Whether a use of a field may remove something from it, or gives it another value."""
    match use.how:
        case "del":
            return use.whole or use.key is not None
        case "=" if is_slice(use.key):
            return True
        case how if not use.whole:
            return isinstance(use.place, Name) and how in REMOVES_FROM_VIEW
        case "=":
            return use.function.name not in INITIALISERS
        case "pass":
            return last_name(use.values[0]) not in _ONLY_READ
        case "get":
            return context.is_queue(use.field)
        case how:
            return how not in _KEEPS


# ---- tuples in fields ----


def stored_inputs(context: RuleContext) -> Iterator[tuple[Flow, Stored]]:
    """Yield each store of an input tuple into a field, in the handlers of a bolt that acks by hand."""
    if context.component.auto_ack is not False or not context.is_bolt:
        return
    for flow, stored in context.events(Stored, EntryKind.DATA, EntryKind.BATCH):
        if stored.token.kind is not TokenKind.STORED and stored.deferral is None:
            yield flow, stored


def pending_fields(context: RuleContext) -> frozenset[str]:
    """Return the fields that still hold an un-acked tuple when its handler returns, released later or not."""
    return frozenset(_field(holder) for holders in _holders(context) for holder in holders)


def unreleased_fields(context: RuleContext) -> frozenset[str]:
    """Return the fields that still hold an un-acked tuple when its handler returns, and that no code releases.

    A release completes the tuples or passes them to opaque code.
    """
    released = {event.field.partition(".")[0] for _, event in context.releases()}
    if EVERYTHING in released:
        return frozenset()
    found: set[str] = set()
    for holders in _holders(context):
        fields = {_field(holder) for holder in holders}
        if all(holder.startswith("self.") for holder in holders) and not fields & released:
            found |= fields
    return frozenset(found)


def _holders(context: RuleContext) -> Iterator[tuple[str, ...]]:
    """Yield the holders of each un-acked tuple at its handler's return, except on paths that a setting of the user selects."""
    by_choice = depends_on_setting(context, ACKING)
    for _, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        token_state = ended.state.tokens.get(ended.token) if ended.token is not None else None
        if ended.raised is not None or ended.deferral is not None or token_state is None:
            continue
        if token_state.stage is Stage.HELD and not by_choice(ended.path):
            yield token_state.holders


def _field(holder: str) -> str:
    return holder.removeprefix("self.").partition(".")[0]


# ---- settings ----

ACKING = frozenset("ack acks acking acknowledge reliable reliability".split())
ANCHORING = frozenset("anchor anchors anchored anchoring unanchored reliable reliability".split())
_SETTERS = re.compile(r"<init>|__init__|prepare|initialize|set|with")


def depends_on_setting(context: RuleContext, words: frozenset[str]) -> Callable[[Path], bool]:
    """Return a test whether a path depends on a setting: a field named by one of these words that only setters assign."""

    @cache
    def tests() -> set[Step]:
        return {
            step
            for function in context.functions
            for step in function.cfg.steps
            if isinstance(step.op, Test)
            and any(
                words.intersection(name_words(name)) and not _is_reassigned(context, name)
                for name in _tested_fields(context, function, canonical_form(function, step.op.condition))
            )
        }

    return lambda end: bool(tests()) and any(turn.visit.step in tests() for turn in turns_back(end))


def _tested_fields(context: RuleContext, function: Function, condition: Expr) -> Iterator[str]:
    """Yield the fields and getters of the component whose value is a condition in canonical form, or a side of it."""
    match condition:
        case Not(value=value):
            yield from _tested_fields(context, function, value)
        case Compare(left=left, right=right):
            yield from _tested_fields(context, function, left)
            yield from _tested_fields(context, function, right)
        case Attr() if field := context.field(function, condition):
            yield field
        case Mix(op="call", parts=(Attr(name=name) as getter,)) if context.own_method(function, getter):
            yield name
        case _:
            pass


def _is_reassigned(context: RuleContext, field: str) -> bool:
    """Whether the component assigns a field while it runs: then it is a state, not a setting."""
    changes = (use for use in uses(context, field=field) if not _SETTERS.match(use.function.name))
    return any(isinstance(use.place, Attr) and use.how.endswith("=") for use in changes)


def names_tick_frequency(context: RuleContext, expr: Expr) -> bool:
    """Whether an expression names the setting of the tick frequency: as a string, or by the constant that holds it."""
    for part in subexpressions(expr):
        word = part.value if isinstance(part, Literal) else last_name(part)
        if word in context.dialect.tick_settings:
            return True
    return False
