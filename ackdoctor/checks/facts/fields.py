"""The fields of a component as containers: how they begin, what fills them, what empties them."""

from collections.abc import Iterable, Iterator, Mapping

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.flow.expressions import calls_by_result
from ackdoctor.flow.library import CONTAINER_STORES, CONTAINER_VIEWS, HARMLESS, LOGGING
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Drop,
    Expr,
    Item,
    Literal,
    Mix,
    Name,
    Next,
    Update,
)
from ackdoctor.model.component import Function

__all__ = ["BEGINNINGS", "emptied_by", "is_container", "own_field", "taken_from"]

# run once, before all else
BEGINNINGS = frozenset(("__init__", "initialize", "init_state", "<init>", "prepare", "open"))

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
_LOOKS = (
    frozenset("get count index copy size isEmpty containsKey contains peek getOrDefault".split())
    | CONTAINER_VIEWS
)


def own_field(diagnosis: Diagnosis, function: Function, expr: Expr) -> str | None:
    """The field that an expression is: `self.name` and nothing more."""
    match expr:
        case Attr(obj=obj, name=name) if obj == diagnosis.own_name(function):
            return name
        case _:
            return None


# ---- how a field begins ----


def is_container(diagnosis: Diagnosis, name: str) -> bool:
    """Whether a field is a plain container without a limit, wherever it is given a value."""
    values = list(_given(diagnosis, name))
    return bool(values) and all(_kind(diagnosis, function, value) for function, value in values)


def _is_queue(diagnosis: Diagnosis, name: str) -> bool:
    """Whether `get` of a field takes something out."""
    return any(_kind(diagnosis, function, value) == "queue" for function, value in _given(diagnosis, name))


def _given(diagnosis: Diagnosis, name: str) -> Iterator[tuple[Function, Expr | Call]]:
    for function in diagnosis.functions():
        made = calls_by_result(function)
        for step in function.cfg.steps:
            match step.op:
                case Bind(target=target, value=value) if own_field(diagnosis, function, target) == name:
                    yield function, made.get(value, value)
                case _:
                    pass
    given = diagnosis.component.attribute(name)
    method = next(iter(diagnosis.component.cls.methods.values()), None)
    if given is not None and method is not None:
        yield method, given


def _kind(diagnosis: Diagnosis, function: Function, value: Expr | Call) -> str:
    """Whether a value is an unlimited container of the standard library: "plain", "queue" or ""."""
    match value:
        case Build(kind="dict" | "list" | "set"):
            return "plain"
        case Name(id=name) if name.startswith("%"):  # a comprehension
            return "plain"
        case Call(func=func, args=args):
            return _made(diagnosis, function, func, args)
        case Mix(op="call", parts=(func, *rest)):
            return _made(diagnosis, function, func, [Arg(part) for part in rest])
        case _:
            return ""


def _made(diagnosis: Diagnosis, function: Function, func: Expr, args: Iterable[Arg]) -> str:
    names = {symbol for symbol in diagnosis.resolve(function, func) if isinstance(symbol, str)}
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


def taken_from(diagnosis: Diagnosis, functions: Iterable[Function]) -> frozenset[str]:
    """The fields that these functions take something out of, or look through."""
    found: set[str | None] = set()
    for function in functions:
        for step in function.cfg.steps:
            match step.op:
                case Next(iterable=place):
                    found.add(own_field(diagnosis, function, place))
                case Call(func=Attr(obj=place, name=name)) if (
                    name in _TAKES | CONTAINER_VIEWS or name == "get"
                ):
                    found.add(own_field(diagnosis, function, place))
                case _:
                    pass
    return frozenset(name for name in found if name is not None) | emptied_by(diagnosis, functions)


def emptied_by(diagnosis: Diagnosis, functions: Iterable[Function]) -> frozenset[str]:
    """The fields that these functions may shrink: taken from, replaced, or handed to code that cannot be seen."""
    found: set[str | None] = set()
    for function in functions:
        views = _views(diagnosis, function)
        for step in function.cfg.steps:
            match step.op:
                case Call(func=Attr(obj=Name(id=view), name=name)) if view in views and name in _TAKES:
                    found.add(views[view])
                case Drop(target=Item(obj=place)) | Drop(target=Attr() as place):
                    found.add(own_field(diagnosis, function, place))
                case Bind(target=target, value=value):
                    if function.name not in BEGINNINGS:
                        found.add(own_field(diagnosis, function, target))
                    found.add(own_field(diagnosis, function, value))  # another name for it
                case Update(target=target, op=op) if op != "+":
                    found.add(own_field(diagnosis, function, target))
                case Call(func=func, args=args):
                    found |= set(_by_call(diagnosis, function, func, args))
                case _:
                    pass
    return frozenset(name for name in found if name is not None)


def _views(diagnosis: Diagnosis, function: Function) -> Mapping[str, str]:
    """The locals that are a view of a field, and the field: what is taken out of a `keySet()` leaves the map."""
    found: dict[str, str] = {}
    for step in function.cfg.steps:
        match step.op:
            case Call(result=result, func=Attr(obj=place, name=name)) if name in CONTAINER_VIEWS:
                field = own_field(diagnosis, function, place)
                seen = found.get(place.id) if isinstance(place, Name) else None
                if field or seen:
                    found[result.id] = field or seen or ""
            case Bind(target=Name(id=name), value=Name(id=value)) if value in found:
                found[name] = found[value]
            case _:
                pass
    return found


def _by_call(
    diagnosis: Diagnosis, function: Function, func: Expr, args: tuple[Arg, ...]
) -> Iterator[str | None]:
    match func:
        case Attr(obj=place, name=name):
            field = own_field(diagnosis, function, place)
            taken = name == "get" and field is not None and _is_queue(diagnosis, field)
            if taken or name not in CONTAINER_STORES | _LOOKS:
                yield field
        case _:
            pass
    word = getattr(func, "name", None) or getattr(func, "id", "")
    if word not in HARMLESS | LOGGING | {
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
            yield own_field(diagnosis, function, arg.value)
