"""Print a graph as text, one step per line, for golden tests and debugging.

3 4:9-4:16 Call %1 = ok(tup) -> NEXT 4, RAISE 6
"""

from collections.abc import Callable, Iterable
from typing import Any

from ackdoctor.model.cfg import (
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


def dump(cfg: Cfg) -> str:
    """The text of a graph; it ends in a newline."""
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
    """The text of an instruction."""
    return _INSTRS[type(op)](op)


def show(expr: Expr) -> str:
    """The text of an expression; `@` marks a global name, a computation has its operator in front."""
    return _EXPRS[type(expr)](expr)


def _optional(value: Expr | None) -> str:
    return "" if value is None else f" {show(value)}"


def _list(items: Iterable[Expr | None]) -> str:
    return ", ".join("_" if item is None else show(item) for item in items)


def _call(op: Call) -> str:
    args = (f"{arg.name}=" * bool(arg.name) + arg.star + show(arg.value) for arg in op.args)
    return f"Call {op.result.id} = {'await ' * op.awaited}{show(op.func)}({', '.join(args)})"


def _catch(op: Catch) -> str:
    return f"Catch {', '.join(op.types) or 'everything'}{f' as {op.name}' if op.name else ''}"


def _yield(op: Yield) -> str:
    return f"Yield {op.result.id} = yield{' from' * op.delegate}{_optional(op.value)}"


def _build(expr: Build) -> str:
    if expr.kind == "dict":
        pairs = zip(expr.items[::2], expr.items[1::2], strict=True)
        return "{" + ", ".join(f"{show(key)}: {show(value)}" for key, value in pairs) + "}"
    left, right = _BRACKETS.get(expr.kind, (f"{expr.kind}(", ")"))
    return left + _list(expr.items) + right


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}")}

_INSTRS: dict[type, Callable[[Any], str]] = {
    Mark: lambda op: str(op.word),
    Jump: lambda op: f"Jump {op.word}",
    Bind: lambda op: f"Bind {show(op.target)} = {show(op.value)}",
    Unpack: lambda op: f"Unpack {_list(op.targets)} = {show(op.value)}",
    Update: lambda op: f"Update {show(op.target)} {op.op}= {show(op.value)}",
    Call: _call,
    Next: lambda op: f"Next #{op.loop} {_list([op.target])} in {show(op.iterable)}",
    Catch: _catch,
    Yield: _yield,
    Test: lambda op: f"Test {show(op.condition)}",
    Drop: lambda op: f"Drop {show(op.target)}",
    Return: lambda op: f"Return{_optional(op.value)}",
    Throw: lambda op: f"Throw{_optional(op.value)}",
}

_EXPRS: dict[type, Callable[[Any], str]] = {
    Name: lambda expr: str(expr.id),
    Global: lambda expr: f"@{expr.id}",
    Attr: lambda expr: f"{show(expr.obj)}.{expr.name}",
    Item: lambda expr: f"{show(expr.obj)}[{show(expr.key)}]",
    Literal: lambda expr: "..." if expr.value is ... else repr(expr.value),
    Star: lambda expr: f"*{show(expr.value)}",
    Closure: lambda expr: f"<{expr.key}>",
    Not: lambda expr: f"not {show(expr.value)}",
    Compare: lambda expr: f"({show(expr.left)} {expr.op} {show(expr.right)})",
    IsType: lambda expr: f"({show(expr.value)} is a {' or '.join(map(show, expr.types))})",
    Mix: lambda expr: f"{{{' '.join([expr.op, *map(show, expr.parts)])}}}",
    Build: _build,
}
