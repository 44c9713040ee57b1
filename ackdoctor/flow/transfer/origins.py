"""Origins: where an object comes from, and which opaque calls may raise because of it.

`cache.get(key)` on a dict does not raise; `requests.get(url)`, `redis.get(key)` and `self.session.get(url)` may.  The
origin of an object is the constructor, the import or the declared type that it comes from, if there is only one:

- a library outside the standard library, or a standard module that talks to another process: its calls may raise;
- anything else, or unknown: its calls may raise unless their name says that they do not.

Metrics are assumed not to raise, whatever library they come from.
"""

from collections.abc import Iterable, Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, name_words
from ackdoctor.flow.pure_calls import is_field
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.declared import (
    called_function,
    class_named,
    class_of,
    declared_type,
    field_class,
    field_class_of,
    field_values,
    local_values,
    own_field_type,
    own_field_values,
)
from ackdoctor.libraries import Library
from ackdoctor.libraries.vocabulary import (
    ACCESSES,
    AMBIGUOUS_EXECUTORS,
    CLIENT_CALLBACKS,
    COLLECTION_WRAPPERS,
    EXECUTOR_WORDS,
    LOGGING,
    MAP_CHANGES,
    METRICS,
    NEVER_RAISES,
    QUEUES,
)
from ackdoctor.model.cfg import (
    Attr,
    Build,
    Call,
    Catch,
    ClassInfo,
    EdgeKind,
    Expr,
    Function,
    Global,
    Item,
    Literal,
    Mix,
    Name,
    Return,
    Unit,
    Yield,
)


def may_raise(context: Context, function: Function, call: Call) -> bool:
    """Whether a call of code that cannot be analysed may raise."""
    name = last_name(call.func)
    if name in LOGGING:
        return False
    known = name in NEVER_RAISES or name in ACCESSES
    if not known and name not in MAP_CHANGES:
        return True
    in_memory = isinstance(call.func, Attr) and is_in_memory(context, function, call.func.obj)
    if not known:
        return not in_memory
    if call.result in _lone_calls(function) and not in_memory:
        return True
    if name not in ACCESSES or not isinstance(call.func, Attr):
        return name not in NEVER_RAISES
    if METRICS.intersection(word for part in _dotted(call.func) for word in name_words(part)):
        return False
    return name not in NEVER_RAISES or (not in_memory and is_remote(context, function, call.func.obj))


def runs_on_thread(context: Context, function: Function, call: Call) -> bool:
    """Whether a call runs code among its arguments on another thread; `execute` of a retry or a transaction does not."""
    name = last_name(call.func)
    if name in CLIENT_CALLBACKS and isinstance(call.func, Attr):
        return is_remote(context, function, call.func.obj)
    if name not in AMBIGUOUS_EXECUTORS or not isinstance(call.func, Attr):
        return name in context.library.threads
    names = declared_names(context, function, call.func.obj)
    if names:
        return any(each.startswith(context.library.executors) for each in names)
    receiver = calls_by_result(function).get(call.func.obj)
    parts = _dotted(receiver.func if receiver is not None else call.func.obj)
    return not EXECUTOR_WORDS.isdisjoint(word for part in parts for word in name_words(part))


def _dotted(expr: Expr) -> Iterator[str]:
    while isinstance(expr, (Attr, Item)):
        if isinstance(expr, Attr):
            yield expr.name
        expr = expr.obj
    if isinstance(expr, (Name, Global)):
        yield expr.id


@memoize
def _lone_calls(function: Function) -> frozenset[Expr]:
    """The results of the calls that are alone in a `try` with a handler: its author expects them to raise."""
    guarded: dict[int, list[Expr | None]] = {}
    for step in function.cfg.steps:
        for kind, target in step.edges:
            if kind is EdgeKind.RAISE and isinstance(function.cfg.steps[target].op, Catch):
                guarded.setdefault(target, []).append(step.op.result if isinstance(step.op, Call) else None)
    return frozenset(
        results[0] for results in guarded.values() if len(results) == 1 and results[0] is not None
    )


# ---- the origin of an object ----

_MAX_DEPTH = 9  # of assignments from the object to its constructor


def is_remote(context: Context, function: Function, expr: Expr, depth: int = 0) -> bool:
    """Whether an object certainly comes from a library whose calls may fail."""
    if depth > _MAX_DEPTH:
        return False
    if context.library.declared_types:
        return _is_remote_type(context, function, expr)
    match expr:
        case Global():
            return _is_remote_name(context, context.unit(function), expr, depth)
        case Attr(name=field) if is_field(function, expr):
            return _all_remote(context, own_field_values(context, function, field), depth)
        case Attr() if _is_remote_name(context, context.unit(function), expr, depth):  # `codecs.open`
            return True
        case Attr(obj=obj) | Item(obj=obj):
            return is_remote(context, function, obj, depth + 1)
        case Name():
            return _all_remote(context, _local_values(function, expr), depth)
        case _:
            return False


def _all_remote(context: Context, values: Iterable[tuple[Function, Expr | Call]], depth: int) -> bool:
    """Whether all values that a local or a field may have are remote, apart from None."""
    known = list(values)
    return bool(known) and all(
        _is_remote_result(context, where, value.func, depth + 1)
        if isinstance(value, Call)
        else is_remote(context, where, value, depth + 1)
        for where, value in known
    )


def _is_remote_result(context: Context, function: Function, func: Expr, depth: int) -> bool:
    """Whether a library makes the result of a call, also of a function of the project: `self.connect()`."""
    maker = called_function(context, function, func) if depth <= _MAX_DEPTH else None
    if maker is None:
        return is_remote(context, function, func, depth)
    return _all_remote(context, ((maker, value) for value in results(maker)), depth)


def results(maker: Function) -> Iterator[Expr]:
    """Yield what a function returns or yields, None left out; a generator is taken for a context manager."""
    for step in maker.cfg.steps:
        match step.op:
            case Yield(value=value) | Return(value=value) if value not in (None, Literal(None)):
                yield value
            case _:
                pass


def _local_values(function: Function, local: Name) -> Iterator[tuple[Function, Expr | Call]]:
    values = local_values(function).get(local.id, ())
    return ((function, value) for value in values if value != Literal(None))


def is_queue(context: Context, field: str) -> bool:
    """Whether every assignment makes a field a queue, whose `get` removes an element."""
    made = [last_name(value.func) for _, value in field_values(context, field) if isinstance(value, Call)]
    return bool(made) and all(name in QUEUES for name in made)


def _is_remote_name(context: Context, unit: Unit, expr: Expr, depth: int) -> bool:
    """Whether a dotted name leads to a module or an object of a library whose calls may fail."""
    symbols = context.program.resolve(unit, expr)
    return bool(symbols) and all(
        isinstance(symbol, str) and _is_remote_symbol(context, unit, symbol, depth) for symbol in symbols
    )


def _is_remote_symbol(context: Context, unit: Unit, name: str, depth: int) -> bool:
    assigned = context.program.module_value(unit, name) if depth <= _MAX_DEPTH else None
    if assigned is None:
        return is_remote_library(context.library, unit, name)
    home, value = assigned
    callee = value.parts[0] if isinstance(value, Mix) and value.op == "call" else value
    return isinstance(callee, (Attr, Global)) and _is_remote_name(context, home, callee, depth + 1)


def is_remote_library(library: Library, unit: Unit, name: str) -> bool:
    """Whether a qualified name that a file imports is of a library whose calls may fail."""
    dotted = f"{name}."
    if dotted.startswith(library.remote + library.local):
        return dotted.startswith(library.remote)
    imported = (*unit.stars, *(each for names in unit.imports.values() for each in names))
    return name.partition(".")[0] in {each.partition(".")[0] for each in imported}


def _is_remote_type(context: Context, function: Function, expr: Expr) -> bool:
    """Whether the declared type of an object is of a library whose calls may fail."""
    match expr:
        case Name() if isinstance(made := calls_by_result(function).get(expr), Call):
            return isinstance(made.func, Attr) and _is_remote_type(context, function, made.func.obj)
        case _:
            unit = context.unit(function)
            names = declared_names(context, function, expr)
            return any(is_remote_library(context.library, unit, name) for name in names)


def declared_names(context: Context, function: Function, expr: Expr) -> tuple[str, ...]:
    """Return the qualified names that the declared type of an object may refer to; none if it is a class of the project."""
    match expr:
        case Name(id=name):
            text, unit = declared_type(function, name), context.unit(function)
        case Attr(name=field) if is_field(function, expr):
            found = own_field_type(context, function, field)
            text, unit = (
                (found[1], context.program.units[found[0].path]) if found else ("", context.unit(function))
            )
        case Attr(obj=Global() as owner, name=field):
            cls = class_named(context, context.unit(function), owner)
            if cls is None:
                return ()
            text, unit = cls.types.get(field, ""), context.program.units[cls.path]
        case _:
            return ()
    names = context.program.type_of(unit, text) if text else ()
    return () if isinstance(names, ClassInfo) else names


def is_in_memory(context: Context, function: Function, expr: Expr) -> bool:
    """Whether an object certainly lives in the process: a collection, a date, a text."""
    names = declared_names(context, function, expr)
    if names:  # several after `import a.*`
        by_name = names[0].rpartition(".")[2] in context.library.memory_types
        return (any if by_name else all)(is_memory_name(context, name) for name in names)
    match expr:
        case Attr(name=field) if is_field(function, expr):
            values = list(own_field_values(context, function, field))
        case Name():
            values = list(_local_values(function, expr))
        case _:
            return False
    return bool(values) and all(_is_made_in_memory(context, where, value) for where, value in values)


def _is_made_in_memory(context: Context, function: Function, value: Expr | Call) -> bool:
    """Whether a value is a display, or comes from a standard module that only computes."""
    if not isinstance(value, Call):
        return isinstance(value, (Build, Literal))
    symbols = context.program.resolve(context.unit(function), value.func)
    return bool(symbols) and all(
        isinstance(symbol, str) and (symbol in COLLECTION_WRAPPERS or is_memory_name(context, symbol))
        for symbol in symbols
    )


def is_memory_name(context: Context, name: str) -> bool:
    """Whether a qualified name belongs to a standard module that only computes."""
    library = context.library
    return name.startswith(library.memory) and not name.startswith(library.shared)


def project_class(context: Context, function: Function, expr: Expr) -> ClassInfo | None:
    """Return the class of the project that an object certainly has: by its declared type, or by its constructor."""
    owner = context.program.owner(function)
    if owner is not None and owner not in context.component.lineage and is_field(function, expr):
        return field_class_of(context, owner, last_name(expr))
    if (declared := class_of(context, function, State(), expr)) is not None:
        return declared
    match expr:
        case Attr(name=field) if is_field(function, expr):
            return field_class(context, field)
        case Name():
            return _local_class(context, function, expr)
        case Global() | Attr():
            unit = context.unit(function)
            assigned = (
                context.program.module_value(unit, name) for name in context.program.qualify(unit, expr)
            )
            home, value = next((each for each in assigned if each is not None), (unit, None))
            if not isinstance(value, Mix) or value.op != "call":
                return None
            return class_named(context, home, value.parts[0])
        case _:
            return None


def _local_class(context: Context, function: Function, local: Name) -> ClassInfo | None:
    made: set[ClassInfo | None] = set()
    for where, value in _local_values(function, local):
        if isinstance(value, Call):
            found = class_named(context, context.unit(where), value.func)
            made.add(found or _result_class(context, where, value))
        else:
            is_temporary = isinstance(value, Name) and value.id.startswith("%")
            made.add(project_class(context, where, value) if is_temporary else None)
    return made.pop() if len(made) == 1 else None


def _result_class(context: Context, function: Function, call: Call) -> ClassInfo | None:
    """Return the class of what a function of the project returns: `Store.instance()`, `get_store()`."""
    maker = called_function(context, function, call.func)
    if maker is None:
        return None
    unit = context.unit(maker)
    if maker.returns:
        found = context.program.type_of(unit, maker.returns)
        return found if isinstance(found, ClassInfo) else None
    made = {project_class(context, maker, value) for value in results(maker)}
    return made.pop() if len(made) == 1 else None
