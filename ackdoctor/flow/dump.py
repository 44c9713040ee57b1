"""A graph as text, one step per line, for goldens and for a developer's eye.

    3 4:9-4:16 Call %1 = ok(tup) -> NEXT 4, RAISE 6
"""

from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    Catch,
    Cfg,
    Closure,
    Compare,
    Drop,
    Expr,
    Global,
    Instr,
    IsType,
    Item,
    Jump,
    Literal,
    Mark,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Star,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
    Yield,
)

__all__ = ["dump", "show", "show_instr"]

_BRACKETS = {"list": "[]", "tuple": "()", "set": "{}", "dict": "{}"}


def dump(cfg: Cfg) -> str:
    """The whole graph; ends in a newline."""
    return "".join(f"{index} {_step(step)}\n" for index, step in enumerate(cfg.steps))


def _step(step: Step) -> str:
    text = show_instr(step.op)
    if not isinstance(step.op, Mark):
        span = step.span
        text = f"{span.line}:{span.column}-{span.end_line}:{span.end_column} {text}"
    if step.way is not None:
        text += f" [{step.way.value}]"
    if step.edges:
        text += " -> " + ", ".join(f"{edge.kind.name} {edge.target}" for edge in step.edges)
    return text


def show_instr(op: Instr) -> str:
    """One instruction as it would be written."""
    match op:
        case Mark(word):
            return word
        case Jump(word):
            return f"Jump {word}"
        case Bind(target, value):
            return f"Bind {show(target)} = {show(value)}"
        case Unpack(targets, value):
            return f"Unpack {', '.join('_' if t is None else show(t) for t in targets)} = {show(value)}"
        case Update(target, sign, value):
            return f"Update {show(target)} {sign}= {show(value)}"
        case Call(result, func, args, awaited):
            wait = "await " if awaited else ""
            return f"Call {result.id} = {wait}{show(func)}({', '.join(map(_arg, args))})"
        case Next(target, iterable, loop):
            return f"Next #{loop} {'_' if target is None else show(target)} in {show(iterable)}"
        case Catch(types, name):
            return " ".join(["Catch", ", ".join(types) or "everything", *([f"as {name}"] if name else [])])
        case Yield(result, value, delegate):
            return f"Yield {result.id} = yield{' from' if delegate else ''}{_optional(value)}"
        case Test(condition):
            return f"Test {show(condition)}"
        case Drop(target):
            return f"Drop {show(target)}"
        case Return(value):
            return f"Return{_optional(value)}"
        case Throw(value):
            return f"Throw{_optional(value)}"


def _optional(value: Expr | None) -> str:
    return "" if value is None else f" {show(value)}"


def _arg(arg: Arg) -> str:
    name = f"{arg.name}=" if arg.name else arg.star
    return name + show(arg.value)


def show(expr: Expr) -> str:
    """One expression; a global name carries a `@`, a computation its operator in front."""
    match expr:
        case Name(word):
            return word
        case Global(word):
            return f"@{word}"
        case Attr(obj, name):
            return f"{show(obj)}.{name}"
        case Item(obj, key):
            return f"{show(obj)}[{show(key)}]"
        case Literal(value):
            return "..." if value is ... else repr(value)
        case Star(value):
            return f"*{show(value)}"
        case Closure(key):
            return f"<{key}>"
        case Not(value):
            return f"not {show(value)}"
        case Compare(left, sign, right):
            return f"({show(left)} {sign} {show(right)})"
        case IsType(value, types):
            return f"({show(value)} is a {' or '.join(map(show, types))})"
        case Mix(sign, parts):
            return f"{{{' '.join([sign, *map(show, parts)])}}}"
        case Build("dict", items) if len(items) % 2 == 0:
            pairs = zip(items[::2], items[1::2], strict=True)
            return "{" + ", ".join(f"{show(key)}: {show(value)}" for key, value in pairs) + "}"
        case Build(kind, items):
            left, right = _BRACKETS.get(kind, f"{kind}()")[0], _BRACKETS.get(kind, "()")[-1]
            inside = ", ".join(map(show, items))
            return f"{'' if kind in _BRACKETS else kind}{left if kind in _BRACKETS else '('}{inside}{right}"
