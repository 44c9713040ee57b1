"""The settings that the class of a component makes itself: its class attribute, or `getComponentConfiguration`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ackdoctor.checks.facts.dataflow import canonical_form
from ackdoctor.checks.facts.fields import initial_values
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import last_name
from ackdoctor.model.cfg import Arg, Attr, Build, Call, Expr, Function, Global, Literal, Mix, Name, Return
from ackdoctor.model.source import Span
from ackdoctor.model.topology import UNREAD, Gap, Place, Setting, Value
from ackdoctor.topology.readers.java_config import SETTERS, key_of_constant
from ackdoctor.topology.readers.undecided import undecided_settings

__all__ = ["class_settings", "constant_of"]

_METHOD = "getComponentConfiguration"
_TICK_SETTERS = frozenset({"putTickFrequencyIntoComponentConfig"})
_TICK_KEY = "topology.tick.tuple.freq.secs"
_MAPS_OF_ENTRIES = frozenset({"singletonMap", "of"})
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def class_settings(context: RuleContext) -> Iterator[Setting]:
    """Yield the settings of the class attribute, then those of `getComponentConfiguration`."""
    name = context.role.config_attribute
    owner = next((cls for cls in context.component.lineage if name in cls.attrs), None) if name else None
    if owner is not None and name is not None:
        place = Place(owner.path, owner.attr_spans[name].line)
        yield from _entries(context, context.module_body, owner.attrs[name], place)
    for method in reversed([*_methods(context)]):
        for step in method.cfg.steps:
            match step.op:
                case Return(value=value) if value is not None:
                    place = Place(method.path, step.span.line)
                    yield from _returned(context, method, value, place)
                case Call(func=Attr(name=word), args=args):
                    yield from _put(context, method, step.span, word, args)
                case _:
                    pass


def _methods(context: RuleContext) -> Iterator[Function]:
    """Yield the method that gives the configuration, and those of base classes that it asks."""
    for cls in context.component.lineage:
        method = cls.methods.get(_METHOD)
        if method is not None:
            yield method
            calls = (step.op for step in method.cfg.steps if isinstance(step.op, Call))
            if not any(last_name(call.func) == _METHOD for call in calls):
                return


def _returned(context: RuleContext, method: Function, value: Expr, place: Place) -> Iterator[Setting]:
    """Yield the settings of a map that the method returns, or all that it may hold if other code has filled it."""
    form = canonical_form(method, value)
    is_anonymous = isinstance(value, Name) and value.id.startswith("$")  # new HashMap() {{ put(...); }}
    if is_anonymous or (isinstance(value, Name) and _is_filled_elsewhere(method, value)):
        yield from _undecided(method, place)
        return
    match form:
        case Name() | Literal(value=None):
            pass  # what is put into a local, or nothing
        case Mix(op="call", parts=(func, *args)) if last_name(func) in _MAPS_OF_ENTRIES:
            for key, entry in zip(args[::2], args[1::2], strict=False):
                yield _setting(context, method, place, key, entry)
        case Mix(op="call", parts=(func, *_)) if _is_known(func):
            pass
        case _:
            yield from _entries(context, method, form, place)


def _is_known(func: Expr) -> bool:
    """Whether a call makes an empty map, or asks the base class, or puts what the steps of the method show."""
    word = last_name(func)
    return word in _TICK_SETTERS or word == _METHOD or word.endswith(("Map", "Config"))


def _is_filled_elsewhere(method: Function, local: Name) -> bool:
    """Whether a local is an argument of a call that may put entries into it."""
    known = (*_TICK_SETTERS, "HashMap", "LinkedHashMap")
    return any(
        isinstance(step.op, Call)
        and last_name(step.op.func) not in known
        and any(arg.value == local for arg in step.op.args)
        for step in method.cfg.steps
    )


def _entries(context: RuleContext, function: Function, value: Expr, place: Place) -> Iterator[Setting]:
    """Yield the entries of a dict display; of another value, all that it may hold."""
    if not isinstance(value, Build) or value.kind != "dict":
        yield from _undecided(function, place)
        return
    for key, entry in zip(value.items[::2], value.items[1::2], strict=False):
        found = _setting(context, function, place, key, entry)
        yield from (found,) if found.key != UNREAD else _undecided(function, place)


def _undecided(function: Function, place: Place) -> Iterator[Setting]:
    """Yield the settings that a map may hold which other code makes; the component is added later."""
    gap = Gap(f"the configuration that `{function.qualname}` gives is computed", place)
    yield from (replace(each, component="") for each in undecided_settings(gap, "?"))


def _put(
    context: RuleContext, function: Function, span: Span, word: str, args: Sequence[Arg]
) -> Iterator[Setting]:
    """Yield the setting of `conf.put(key, value)`, or of a setter with a name of its own."""
    place, values = Place(function.path, span.line), [arg.value for arg in args]
    if word == "put" and len(values) == 2:  # noqa: PLR2004 - a key and a value
        yield _setting(context, function, place, *values)
    elif word in SETTERS and len(values) == 1:
        yield _setting(context, function, place, Literal(SETTERS[word]), values[0])
    elif word in _TICK_SETTERS and values:
        yield _setting(context, function, place, Literal(_TICK_KEY), values[-1])


def _setting(context: RuleContext, function: Function, place: Place, key: Expr, value: Expr) -> Setting:
    name = _key(context, function, key)
    return Setting(key=name, value=_value(context, function, value, name, place), place=place)


def _key(context: RuleContext, function: Function, key: Expr) -> str:
    """Return the key of a setting; the constant of a framework spells it with underscores."""
    value = constant_of(context, function, key)
    if isinstance(value, Literal):
        return str(value.value)
    word = last_name(value)
    return key_of_constant(word) if _CONSTANT.fullmatch(word) else UNREAD


def _value(context: RuleContext, function: Function, expr: Expr, key: str, place: Place) -> Value:
    match constant_of(context, function, expr):
        case Literal(value=bool() | int() | float() | str() | None as value):
            return value
        case Build(kind="list" | "tuple", items=items):
            return tuple(_value(context, function, item, key, place) for item in items)
        case _:
            return Gap(f"{key} is computed", place)


def constant_of(context: RuleContext, function: Function, expr: Expr) -> Expr:
    """Return the value of a constant, or of a field that is assigned once."""
    expr = canonical_form(function, expr)
    match expr:
        case Mix(op="call", parts=(_, value)) if isinstance(value, Literal):
            return value  # Integer.valueOf(10)
        case Name() | Literal() | Build():
            return expr
        case _:
            pass
    field = context.own_field(function, expr)
    if field is not None:
        values = [value for _, value in initial_values(context, field)]
        only = values[0] if len(values) == 1 else None
        return only if isinstance(only, Literal) else expr
    if isinstance(expr, (Attr, Global)):
        return context.program.constant(context.program.units[function.path], expr) or expr
    return expr
