"""Origins: where an object comes from, and which opaque calls may raise because of it.

`cache.get(key)` on a dict does not raise; `requests.get(url)`, `redis.get(key)` and `self.session.get(url)` may.  The
origin of an object is the constructor, the import or the declared type that it comes from, if there is only one:

- a library outside the standard library, or a standard module that talks to another process: its calls may raise;
- anything else, or unknown: its calls may raise unless their name says that they do not.

Metrics are assumed not to raise, whatever library they come from.
"""

import sys
from collections.abc import Iterable, Iterator

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import calls_by_result, last_name, memoize, name_words
from ackdoctor.flow.library import LOGGING, NEVER_RAISES, QUEUES
from ackdoctor.flow.pure_calls import is_field
from ackdoctor.flow.state import State
from ackdoctor.flow.symbols import attribute_assignments
from ackdoctor.flow.transfer.evaluate import class_of, declared_type
from ackdoctor.model.cfg import (
    Attr,
    Bind,
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
    Unit,
)

_REMOTE_MODULES = frozenset(  # of Python's standard library
    "asyncore ftplib http httplib imaplib multiprocessing poplib shelve smtplib socket sqlite3 ssl subprocess "
    "telnetlib urllib urllib2 xmlrpc xmlrpclib dbm".split()
)
_LOCAL_LIBRARIES = frozenset(  # whose objects live in the process: numbers, dates, collections, text
    "arrow attr attrs cachetools cachetools2 dateutil numpy pandas pytz simplejson six sortedcontainers toolz ujson "
    "msgpack orjson jmespath blist bidict boltons more_itertools lxml bs4 yaml pydantic jsonschema marshmallow avro "
    "fastavro bson dateparser phonenumbers voluptuous cerberus".split()
)
_JAVA_LOCAL = (  # packages of collections, text, dates and serialisers
    "java.",
    "javax.",
    "com.google.common.",
    "com.google.gson.",
    "com.google.protobuf.",
    "com.fasterxml.",
    "com.alibaba.fastjson.",
    "net.minidev.",
    "org.codehaus.jackson.",
    "org.json.",
    "org.jsoup.",
    "org.apache.avro.",
    "org.apache.commons.",
    "org.apache.storm.",
    "backtype.storm.",
    "it.unimi.dsi.",
)
_JAVA_REMOTE = ("java.sql.", "java.net.", "java.rmi.", "javax.sql.", "javax.jms.", "javax.net.")
_QUIET_WORDS = frozenset(
    "metric metrics stats statsd counter counters count meter timer gauge monitor histogram log logger logging".split()
)
_ACCESSES = frozenset(  # names that a client of a remote store shares with collections
    "get set add update items keys values list setdefault append appendleft extend discard count incr increment "
    "incrBy clear contains containsKey getOrDefault putIfAbsent addAll size length iterator equals copy".split()
)


def may_raise(context: Context, function: Function, call: Call) -> bool:
    """Whether a call of code that cannot be analysed may raise."""
    name = last_name(call.func)
    if name in LOGGING:
        return False
    if name not in NEVER_RAISES and name not in _ACCESSES:
        return True
    if call.result in _lone_calls(function):
        return True
    if name not in _ACCESSES or not isinstance(call.func, Attr):
        return name not in NEVER_RAISES
    if _QUIET_WORDS.intersection(word for part in _dotted(call.func) for word in name_words(part)):
        return False
    return name not in NEVER_RAISES or is_remote(context, function, call.func.obj)


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

_MAX_DEPTH = 6  # of assignments from the object to its constructor


def is_remote(context: Context, function: Function, expr: Expr, depth: int = 0) -> bool:
    """Whether an object certainly comes from a library whose calls may fail."""
    if depth > _MAX_DEPTH:
        return False
    if context.typed:
        return _is_remote_type(context, function, expr)
    match expr:
        case Global():
            return _is_remote_name(context, context.unit(function), expr, depth)
        case Attr(name=field) if is_field(function, expr):
            return _all_remote(context, field_values(context, field), depth)
        case Attr(obj=obj) | Item(obj=obj):
            return is_remote(context, function, obj, depth + 1)
        case Name():
            return _all_remote(context, _local_values(function, expr), depth)
        case _:
            return False


def _all_remote(context: Context, values: Iterable[tuple[Function, Expr | Call]], depth: int) -> bool:
    """Whether all values that a local or a field may have are remote, apart from None."""
    known = [(where, value) for where, value in values if value != Literal(None)]
    return bool(known) and all(
        is_remote(context, where, value.func if isinstance(value, Call) else value, depth + 1)
        for where, value in known
    )


def _local_values(function: Function, local: Name) -> Iterator[tuple[Function, Expr | Call]]:
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=target, value=value) if target == local:
                yield function, value
            case Call(result=result) as call if result == local:
                yield function, call
            case _:
                pass


def field_values(context: Context, field: str) -> Iterator[tuple[Function, Expr | Call]]:
    """The values that the component's methods assign to a field, or the calls that make them; each with its method."""
    for cls in context.component.lineage:
        for method in cls.methods.values():
            for each in attribute_assignments(method):
                if each.name == field:
                    yield method, calls_by_result(method).get(each.value, each.value)


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
        return is_remote_module(unit, name)
    home, value = assigned
    callee = value.parts[0] if isinstance(value, Mix) and value.op == "call" else value
    return isinstance(callee, (Attr, Global)) and _is_remote_name(context, home, callee, depth + 1)


def is_remote_module(unit: Unit, name: str) -> bool:
    """Whether a qualified name that a Python file imports is of a library whose calls may fail."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in _REMOTE_MODULES:
        return top in _REMOTE_MODULES
    imported = {each.partition(".")[0] for names in unit.imports.values() for each in names}
    return top in imported - _LOCAL_LIBRARIES and not name.startswith("google.protobuf.")


def is_remote_class(name: str) -> bool:
    """Whether a qualified Java class is of a package whose calls may fail."""
    if "." not in name or not name[0].islower():
        return False
    return name.startswith(_JAVA_REMOTE) or not name.startswith(_JAVA_LOCAL)


def _is_remote_type(context: Context, function: Function, expr: Expr) -> bool:
    """Whether the declared type of an object is of a library whose calls may fail."""
    match expr:
        case Name() if isinstance(made := calls_by_result(function).get(expr), Call):
            return isinstance(made.func, Attr) and _is_remote_type(context, function, made.func.obj)
        case Name(id=name):
            text, unit = declared_type(function, name), context.unit(function)
        case Attr(name=field) if is_field(function, expr):
            found = context.component.declared(field)
            text, unit = (
                (found[1], context.program.units[found[0].path]) if found else ("", context.unit(function))
            )
        case _:
            return False
    names = context.program.type_of(unit, text) if text else ()
    if isinstance(names, ClassInfo):
        return False
    return any(map(is_remote_class, names))


def project_class(context: Context, function: Function, expr: Expr) -> ClassInfo | None:
    """Return the class of the project that an object certainly has: by its declared type, or by its constructor."""
    if context.typed:
        return class_of(context, function, State(), expr)
    match expr:
        case Attr(name=field) if is_field(function, expr):
            values = list(field_values(context, field))
        case Name():
            values = list(_local_values(function, expr))
        case Global():
            assigned = context.program.module_value(context.unit(function), expr.id)
            if assigned is None or not isinstance(assigned[1], Mix) or assigned[1].op != "call":
                return None
            return _class_named(context, assigned[0], assigned[1].parts[0])
        case _:
            return None
    made = {
        _class_named(context, context.unit(where), value.func) if isinstance(value, Call) else None
        for where, value in values
        if value != Literal(None)
    }
    return made.pop() if len(made) == 1 else None


def _class_named(context: Context, unit: Unit, expr: Expr) -> ClassInfo | None:
    symbols = context.program.resolve(unit, expr)
    return next((symbol for symbol in symbols if isinstance(symbol, ClassInfo)), None)
