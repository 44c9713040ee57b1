"""What code writes to a resource outside of its process: a database, a broker, a service.

The code of the project is followed by its calls: a client behind a class or a function of the project writes as the client does.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import canonical_form, data_params, derived_names, mentions_any
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import calls_by_result, last_name, subexpressions
from ackdoctor.flow.transfer.dispatch import methods_named
from ackdoctor.libraries import LIBRARIES
from ackdoctor.libraries.vocabulary import LOGGING, PURE_CALLS
from ackdoctor.model.cfg import Attr, Call, ClassInfo, Expr, Function, Name, Step
from ackdoctor.topology.spout_facts import source_kind

__all__ = ["RemoteCall", "is_remote_stream", "project_methods", "remote_calls", "writes_arguments"]

_DEPTH = 3  # calls followed from a function
_WRITES = re.compile(
    "(?:add|append|decr|delete|del|h?incr|h?m?set|index|insert|l?push|publish|put|remove|replace|rpush|sadd|save|send|store|"
    "update|upsert|write|xadd|zadd|zincr)(?:$|[A-Z_]|all|by|ex|nx|many|one)|executeUpdate|executeBatch|post|bulk",
)
_READS = re.compile(
    "(?:aggregate|check|contains|count|exists|fetch|find|h?m?get|has|is|list|load|lookup|lrange|open|prepare|query|read|resolve|"
    "scan|search|select|sismember|smembers|zrange|zscore)(?:$|[A-Z_]|all)|executeQuery|set[A-Z]"
)
_BOUND_BEFORE = frozenset("executeUpdate executeBatch".split())  # the arguments were set before


class RemoteCall(NamedTuple):
    """A call that passes data to a resource; `writes` is None if its name does not tell."""

    function: Function
    step: Step
    writes: bool | None


def remote_calls(context: RuleContext, methods: Iterable[Function], depth: int = 0) -> Iterator[RemoteCall]:
    """Yield the calls that pass the arguments of these methods to a resource outside of the process."""
    for method in methods:
        data = derived_names(method, frozenset(data_params(method)))
        for step in method.cfg.steps:
            op = step.op
            if not isinstance(op, Call) or last_name(op.func) in LOGGING | PURE_CALLS:
                continue
            word = last_name(op.func)
            given = any(mentions_any(arg.value, data) for arg in op.args)
            if not given and word not in _BOUND_BEFORE:
                continue
            if _is_client(context, method, op.func.obj if isinstance(op.func, Attr) else op.func):
                yield RemoteCall(
                    method, step, True if _WRITES.match(word) else False if _READS.match(word) else None
                )
            elif depth < _DEPTH:
                yield from remote_calls(context, project_methods(context, method, op) or (), depth + 1)


def writes_arguments(context: RuleContext, methods: Iterable[Function]) -> bool:
    """Whether code of the project may write its arguments to a resource."""
    return any(call.writes is not False for call in remote_calls(context, methods))


def project_methods(context: RuleContext, function: Function, call: Call) -> list[Function] | None:
    """Return the methods or functions of the project that a call runs; None if it runs other code."""
    program, unit = context.program, context.program.units[function.path]
    if isinstance(call.func, Attr):
        obj = call.func.obj
        own = program.owner(function) if obj == Name(function.receiver) else None
        cls = own or context.project_class(function, obj)
        classes = [cls] if cls is not None else program.resolve(unit, obj)
        found = [tuple(program.lineage(each).order) for each in classes if isinstance(each, ClassInfo)]
        if found:
            return [method for order in found for method in methods_named(order, call.func.name)]
    return [each for each in program.resolve(unit, call.func) if isinstance(each, Function)] or None


def _is_client(context: RuleContext, function: Function, obj: Expr) -> bool:
    """Whether an object certainly belongs to a client of a database, a broker or a service: no parser, no metric."""
    if is_remote_stream(context, function, obj):
        return True
    library = LIBRARIES[context.dialect.language]
    if not context.is_remote(function, obj) or not library.declared_types:
        return context.is_remote(function, obj)
    names = {name for each in _chain(function, obj) for name in context.declared_names(function, each)}
    return bool(source_kind(frozenset(names))) or any(f"{name}.".startswith(library.remote) for name in names)


def _chain(function: Function, obj: Expr) -> Iterator[Expr]:
    """Yield an object, and the objects whose calls returned it: `c.getOutputStream()` of `c`."""
    calls = calls_by_result(function)
    seen: list[Expr] = []
    while obj not in seen:
        seen.append(obj)
        made = calls.get(obj)
        if made is not None and isinstance(made.func, Attr):
            obj = made.func.obj
    yield from seen


def is_remote_stream(context: RuleContext, function: Function, obj: Expr) -> bool:
    """Whether a stream is opened on a connection: `OutputStream out = connection.getOutputStream()`."""
    names = context.declared_names(function, obj)
    if names and not any(name.startswith("java.io.") for name in names):
        return False
    return any(context.is_remote(function, part) for part in subexpressions(canonical_form(function, obj)))
