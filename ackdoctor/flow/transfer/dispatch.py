"""Dispatch: the verb of the framework or the functions of the project that a call denotes, by declared types and overloads.

In `executor.submit(new Task(tuple, collector))` the `Task` is an `Instance` that carries the tuple.  A method of a class
of the project is entered if it gets a tuple, a collector or the component.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Path
from ackdoctor.flow.expressions import last_name, local_values, memoize, names_in, operands
from ackdoctor.flow.state import State
from ackdoctor.flow.transfer.declared import (
    class_named,
    class_of,
    declared_type,
    enclosing_class,
    field_class,
    field_values,
    framework_kind,
)
from ackdoctor.flow.transfer.effects import helper_may_raise
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.origins import project_class
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Const,
    Container,
    ExceptionValue,
    Field,
    FrameworkObject,
    FunctionRef,
    Instance,
    Partial,
    SelfRef,
    Token,
    TokenKind,
    TokenRef,
    TokenState,
    TupleAttribute,
    Value,
    tokens_in,
)
from ackdoctor.libraries.vocabulary import (
    CONSTRUCTORS,
    EXCEPTION_SUFFIXES,
    ITERATORS,
    RESULT_TYPE_WORDS,
    TASK_METHODS,
    TYPE_WORDS,
)
from ackdoctor.model.cfg import (
    ENTRY,
    Arg,
    Attr,
    Bind,
    Call,
    ClassInfo,
    Expr,
    Function,
    Global,
    Literal,
    Mix,
    Name,
)
from ackdoctor.model.dialect import Kind, Moment, Verb
from ackdoctor.model.protocol import Stage, Tick


def argument_type(context: Context, function: Function, state: State, expr: Expr) -> str:
    """Return the word of `Verb.types` that an argument fits, else ""."""
    match evaluate(context, function, state, expr):
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return _stored_type(context, function, expr)
        case TokenRef(part=""):
            return "tuple"
        case FrameworkObject(kind="tuple"):
            return "tuple"
        case Batch() | Container():
            return "list"
        case Const(value=str()):
            return "text"
        case Const(value=int()):
            return "number"
        case Field(name=name):
            found = context.component.declared(name)
            return TYPE_WORDS.get(found[1].rpartition(".")[2], "") if found else _constant_type(expr)
        case _:
            return _written(function, expr)


def _stored_type(context: Context, function: Function, expr: Expr) -> str:
    """Return the word of a value from a field: a tuple, unless it is declared otherwise or a spout, which has no input, stores it."""
    if context.component.role.kind is Kind.SPOUT:
        return _written(function, expr)
    return (
        TYPE_WORDS.get(declared_type(function, expr.id).rpartition(".")[2]) if isinstance(expr, Name) else ""
    ) or "tuple"


def _written(function: Function, expr: Expr) -> str:
    match expr:
        case Literal(value=str()):
            return "text"
        case Mix(op="+"):
            return "text"
        case Name(id=name) if name.startswith("%"):
            return _of_maker(function, name)
        case Name(id=name):
            return TYPE_WORDS.get(declared_type(function, name).rpartition(".")[2], "")
        case _:
            return _constant_type(expr)


def _of_maker(function: Function, name: str) -> str:
    match local_values(function).get(name, ()):
        case (Call(func=func), *_):
            word = last_name(func)
            return TYPE_WORDS.get(word, "") or RESULT_TYPE_WORDS.get(word, "") or _by_words(word)
        case (value, *_) if not isinstance(value, Call):
            return _written(function, value)
        case _:
            return ""


def _constant_type(expr: Expr) -> str:
    """Return the word of a constant in capitals, which usually names a stream."""
    match expr:
        case Attr(name=word) | Global(id=word) if word.isupper():
            return "text"
        case Attr(name=word) | Global(id=word):
            return _by_words(word)
        case _:
            return ""


def _by_words(word: str) -> str:
    lowered = word.lower()
    if "stream" in lowered:
        return "text"
    if lowered.endswith("values"):
        return "list"
    return (
        "list" if lowered.endswith(("anchors", "tuples")) else "tuple" if lowered.endswith("anchor") else ""
    )


def choose_verb(
    context: Context, function: Function, state: State, args: tuple[Arg, ...], verbs: Iterable[Verb]
) -> Verb | None:
    """Return the verb whose parameters fit these arguments; of several, one that can be anchored.

    If only some of them pass a message id, the result has no `message_id`: it is unknown.
    """
    candidates = [verb for verb in verbs if not verb.types or len(verb.params) == len(args)]
    if len(candidates) < 2:  # noqa: PLR2004
        return candidates[0] if candidates else None
    type_words = [argument_type(context, function, state, arg.value) for arg in args]
    fits = [_fit(verb.types, type_words) for verb in candidates]
    best = [verb for verb, fit in zip(candidates, fits, strict=True) if fit == max(fits)]
    chosen = max(best, key=lambda verb: verb.anchors == "anchors")
    if len({verb.message_id in verb.params for verb in best}) > 1:
        return replace(chosen, message_id=None)
    return chosen


def _fit(wanted: Sequence[str], actual: Sequence[str]) -> int:
    score = 0
    for want, have in zip(wanted, actual, strict=False):
        if want and have:
            score += 2 if want == have else -4
    return score


def choose_functions(
    functions: Sequence[Function],
    values: Sequence[Value | None],
    type_words: Sequence[str],
    texts: Sequence[str],
) -> tuple[Function, ...]:
    """Return the overloads that may take these arguments; several if no type decides between them."""
    fitting = [function for function in functions if _arity_fits(function, len(values))] or list(functions)
    if len(fitting) < 2:  # noqa: PLR2004
        return tuple(fitting)
    scores = [_fits(function, values, type_words, texts) for function in fitting]
    best = max(scores)
    return tuple(function for function, score in zip(fitting, scores, strict=True) if score == best)


def _formal(function: Function) -> list[str | None]:
    params = [param for param in function.params if param.kind in ("positional", "*")]
    return [param.type for param in (params if function.binding in ("static", "none") else params[1:])]


def _arity_fits(function: Function, count: int) -> bool:
    wanted = len(_formal(function))
    return wanted == count or (any(p.kind == "*" for p in function.params) and count >= wanted - 1)


def type_text(function: Function, expr: Expr) -> str:
    """Return the last part of the declared or constructed type of an argument, or ""."""
    if not isinstance(expr, Name):
        return ""
    text = declared_type(function, expr.id)
    if not text and expr.id.startswith("%"):
        match local_values(function).get(expr.id, ()):
            case (Call(func=Global(id=word)), *_) if word[:1].isupper():
                return word
            case _:
                return ""
    return text.rpartition(".")[2]


def _fits(
    function: Function, values: Sequence[Value | None], type_words: Sequence[str], texts: Sequence[str]
) -> int:
    score = 0
    for formal, value, type_word, text in zip(_formal(function), values, type_words, texts, strict=False):
        last = (formal or "").rpartition(".")[2]
        wanted = TYPE_WORDS.get(last, "")
        if text and text == last:
            score += 3
        elif isinstance(value, FrameworkObject) and value.kind != "tuple":
            score += 3 if value.kind in last or last in value.kind else -3
        elif wanted and type_word:
            score += 2 if wanted == type_word else -3
        elif type_word in ("text", "number", "tuple") and last and not wanted:
            score -= 1
    return score


class MethodTarget(NamedTuple):
    """The project's own functions of one name that a call may denote, and the object they are called on."""

    functions: tuple[Function, ...]
    receiver: Value


class GetterEffect(NamedTuple):
    """A call that only reads a tuple or window: the state after it, its value, and whether it may raise."""

    state: State
    value: Value | None
    may_raise: bool


def methods_named(order: Sequence[ClassInfo], name: str) -> tuple[Function, ...]:
    """Return the functions of a name that the first class of a resolution order defines, and the overloads of its bases."""
    found: list[Function] = []
    for cls in order:
        found += [
            function for function in cls.named(name) if not any(_overrides(each, function) for each in found)
        ]
        if found and cls.overloads is None:  # overridden by name
            break
    return tuple(found)


def _overrides(heirs: Function, base: Function) -> bool:
    """Whether a function overrides one of a base class, whose type parameters the subclass may have bound."""
    own, inherited = heirs.params[1:], base.params[1:]
    return len(own) == len(inherited) and all(
        mine.type == its.type or its.type is None for mine, its in zip(own, inherited, strict=True)
    )


def method_of(
    context: Context, path: Path, call: Call, values: tuple[Value | None, ...]
) -> MethodTarget | None:
    """Return the project's own method that a call on the component or on another object of the project denotes."""
    if not isinstance(call.func, Attr):
        return None
    function, state = path.function, path.state
    name = call.func.name
    receiver = evaluate(context, function, state, call.func.obj)
    if isinstance(receiver, SelfRef):
        functions = methods_named(context.component.lineage, name)
        return MethodTarget(functions, receiver) if functions else None
    if isinstance(receiver, (TokenRef, Batch)):
        return None
    kept = kept_method(context, receiver, name, values)
    if kept is not None:
        return kept
    instance = object_of(context, path, call.func.obj)
    if instance is None:
        return None
    found = methods_named(context.program.lineage(instance.cls).order, name)
    wanted = (
        instance.fields or framework_kind(context, instance.cls) is not None or any(map(_matters, values))
    )
    if found and wanted:
        return MethodTarget(found, instance)
    outer = _outer_method(context, instance, name) if not found else ()
    return MethodTarget(outer, SelfRef()) if outer else None


def kept_method(
    context: Context, receiver: Value | None, name: str, values: tuple[Value | None, ...]
) -> MethodTarget | None:
    """Return the method of an object of the project that a field keeps, if it may get, complete or return tuples."""
    cls = field_class(context, receiver.name) if isinstance(receiver, Field) else None
    if cls is None or not isinstance(receiver, Field) or framework_kind(context, cls) is not None:
        return None
    if context.program.lineage(cls).framework is not None:
        return None  # a component completes its tuples on its own
    found = methods_named(context.program.lineage(cls).order, name)
    carries = any(isinstance(value, SelfRef) or any(tokens_in(value)) for value in values)
    is_inner = enclosing_class(context, cls) in context.component.lineage
    if not found or is_inner or not (carries or context.keeps(receiver.name)):
        return None
    constructed(context, receiver.name)
    return MethodTarget(found, receiver)


def object_of(context: Context, path: Path, expr: Expr) -> Instance | None:
    """Return the object of a project class that an expression is, as it is constructed or as it is declared."""
    known = evaluate(context, path.function, path.state, expr)
    if isinstance(known, Instance):
        return known
    cls = None
    match expr:
        case Attr(obj=obj, name=field) if evaluate(context, path.function, path.state, obj) == SelfRef():
            made = constructed(context, field)
            if made is not None:
                return made
        case Global():
            cls = project_class(context, path.function, expr)
        case _:
            pass
    cls = cls or class_of(context, path.function, path.state, expr)
    return Instance(cls) if cls is not None else None


def constructed(context: Context, field: str) -> Instance | None:
    """Return the object of a project class that a field holds, if each assignment constructs that class."""
    if field not in context.objects:
        made = [_new_object(context, *each) for each in field_values(context, field)]
        classes = {None if each is None else each.cls for each in made}
        context.objects[field] = made[0] if len(classes) == 1 else None
    return context.objects[field]


def _new_object(context: Context, function: Function, value: Expr | Call) -> Instance | None:
    """Return the object that a method of the component constructs, before it has assigned anything."""
    if not isinstance(value, Call):
        return None
    state = State(env={param.name: SelfRef() for param in function.params[:1]})
    values = tuple(evaluate(context, function, state, arg.value) for arg in value.args)
    made = new_instance(context, Path(function, ENTRY, state), value, values)
    if not isinstance(made, Instance):
        return None
    return Instance(made.cls, tuple(pair for pair in made.fields if _matters(pair[1])))


def _outer_method(context: Context, instance: Instance, name: str) -> tuple[Function, ...]:
    """Return a method of the component that its inner class calls by the bare name."""
    around = instance.cls.qualname.rpartition(".")[0]
    inside = any(
        cls.path == instance.cls.path and cls.qualname == around for cls in context.component.lineage
    )
    return methods_named(context.component.lineage, name) if inside else ()


def _matters(value: Value | None) -> bool:
    if isinstance(value, FrameworkObject):
        return value.kind != "tuple"
    if isinstance(value, Instance) and value.fields:
        return True
    return isinstance(value, (SelfRef, FunctionRef, BoundMethod)) or any(tokens_in(value))


# ---- tuples and windows ----


def read_getter(context: Context, path: Path, call: Call) -> GetterEffect | None:
    """Apply a getter of a tuple or window; None for any other call."""
    if not isinstance(call.func, Attr):
        return None
    shape, name = context.component.dialect.shape, call.func.name
    if name in shape.keyed and not call.args:
        return None  # `getValue()` of a map entry
    state = path.state
    match evaluate(context, path.function, state, call.func.obj):
        case TokenRef(token=token, part="") if name in shape.getters:
            part = shape.getters[name]
            value = TupleAttribute(token, part) if part != "values" else None
            return GetterEffect(state, value, name in shape.fallible)
        case FrameworkObject(kind="tuple") if name in shape.getters:
            return GetterEffect(state, None, name in shape.fallible)
        case FrameworkObject(kind="tuple" | "window"):
            return GetterEffect(state, None, may_raise=True)
        case Batch(token=token) if name == "next" or (name == "get" and call.args):
            return GetterEffect(
                state.with_token(token, _next_of_window(context, token)), TokenRef(token), may_raise=False
            )
        case Batch(token=token) as batch if name in shape.views:
            return GetterEffect(state, batch, may_raise=False)
        case Batch(token=token) if name in shape.past:
            gone = Token(TokenKind.ELEMENT, f"{token.name}.{name}()")
            return GetterEffect(
                state.with_token(gone, TokenState(Stage.ACKED, Tick.NO)), Batch(gone), may_raise=False
            )
        case Batch() as batch if name in ITERATORS:
            return GetterEffect(state, batch, may_raise=False)
        case _:
            return None


def _next_of_window(context: Context, token: Token) -> TokenState:
    """Return the next tuple of a window; tuples that the framework acks itself are not owed."""
    gone = token != context.subject or context.component.role.discipline.completion is Moment.STORED
    return TokenState(Stage.ACKED if gone else Stage.OWED, Tick.NO)


# ---- objects of the project ----


def new_instance(context: Context, path: Path, call: Call, values: tuple[Value | None, ...]) -> Value | None:
    """Return the object that `new Class(...)` creates, if the project defines the class."""
    cls = class_named(context, context.unit(path.function), call.func) if _dotted(call.func) else None
    if cls is None:
        return None
    lineage = context.program.lineage(cls)
    if any(name.endswith(EXCEPTION_SUFFIXES) for name in (cls.name, *lineage.foreign)):
        return ExceptionValue(cls.name)
    pairs = [(arg.name, value) for arg, value in zip(call.args, values, strict=True)]
    plain = tuple(value for name, value in pairs if name is None)
    captured = ((name, value) for name, value in pairs if name is not None and value is not None)
    maker = _constructor(context, cls, len(plain))
    fields = (*(_constructor_fields(maker, plain) if maker else ()), *captured)
    only_read = (
        _read_only_params(maker, frozenset(context.component.dialect.shape.getters))
        if maker
        else frozenset[int]()
    )
    carried = {token for at, value in enumerate(values) if at not in only_read for token in tokens_in(value)}
    stored = {token for _, value in fields for token in tokens_in(value)}
    return Instance(cls, fields) if carried <= stored else None


def constructor_may_raise(context: Context, call: Call, instance: Value) -> bool:
    """Whether the constructor that makes an object may raise; one of an exception does not."""
    if not isinstance(instance, Instance):
        return False
    maker = _constructor(context, instance.cls, len(call.args))
    return maker is None or helper_may_raise(context, maker)


def _dotted(expr: Expr) -> bool:
    while isinstance(expr, Attr):
        expr = expr.obj
    return not isinstance(expr, Name)


def _constructor(context: Context, cls: ClassInfo, count: int) -> Function | None:
    """Return the first constructor with so many parameters, perhaps of a base class."""
    offered = (
        function
        for each in context.program.lineage(cls).order
        for name in CONSTRUCTORS
        for function in each.named(name)
    )
    return next((function for function in offered if len(function.params) == count + 1), None)


def _constructor_fields(function: Function, values: tuple[Value | None, ...]) -> Iterator[tuple[str, Value]]:
    """Return the fields that a constructor fills from its parameters."""
    own, *params = function.params
    by_name = {param.name: value for param, value in zip(params, values, strict=True) if value is not None}
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=Attr(obj=obj, name=field), value=Name(id=name)) if (
                obj == Name(own.name) and name in by_name
            ):
                yield field, by_name[name]
            case _:
                pass


@memoize
def _read_only_params(function: Function, getters: frozenset[str]) -> frozenset[int]:
    """Return the positions of the parameters from which a constructor only reads."""
    used: set[str] = set().union(*(inner.captures for inner in function.tree()))
    for step in function.cfg.steps:
        match step.op:
            case Call(func=Attr(obj=Name(), name=name), args=args) if name in getters:
                read_there = tuple(arg.value for arg in args)
            case op:
                read_there = operands(op)
        used.update(name for expr in read_there for name in names_in(expr))
    return frozenset(at for at, param in enumerate(function.params[1:]) if param.name not in used)


def thread_task(context: Context, instance: Value) -> Value | None:
    """Return the code that a thread runs if it gets an object of an inner class of the component."""
    if not isinstance(instance, Instance) or instance.fields:
        return None
    run = next((instance.cls.methods[name] for name in TASK_METHODS if name in instance.cls.methods), None)
    if run is None or enclosing_class(context, instance.cls) not in context.component.lineage:
        return None
    return Partial(FunctionRef(run, bare=True), (instance,))


def callbacks(value: Value | None) -> Iterator[Value]:
    """Return the methods of an object that was handed to other code, which may call them."""
    if not isinstance(value, Instance) or not value.fields:
        return
    for name, function in value.cls.methods.items():
        if name not in CONSTRUCTORS and function.binding == "instance" and not function.docstring_only:
            yield Partial(FunctionRef(function, captured_by_class(function, value), bare=True), (value,))


def captured_by_class(function: Function, receiver: Value) -> tuple[tuple[str, Value], ...]:
    """Return what a method of a local class captures of the locals around the class."""
    fields = receiver.fields if isinstance(receiver, Instance) else ()
    return tuple((name, value) for name, value in fields if name in function.captures)
