"""Lower Java for tests: units, functions and dumps."""

import textwrap
from collections.abc import Iterator

from ackdoctor.frontends.java import Lowered, lower_source
from ackdoctor.model.cfg import ClassInfo, Function, Unit
from ackdoctor.model.finding import Unreadable
from tests.flow.cfg_dump import dump, show

PATH = "src/app/Bolts.java"


def lower(source: str | bytes) -> Lowered | Unreadable:
    data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    return lower_source(path=PATH, data=data)


def unit(source: str | bytes) -> Unit:
    """The unit of a text without errors."""
    lowered = lower(source)
    assert isinstance(lowered, Lowered), lowered
    assert lowered.broken == ()
    return lowered.unit


def all_methods(info: ClassInfo) -> Iterator[Function]:
    """Every method of a class, overloads included."""
    for name, method in info.methods.items():
        yield from info.overloads.get(name, (method,))


def all_functions(unit: Unit) -> Iterator[Function]:
    """Every function of a unit; nested ones follow the enclosing one."""
    stack = [
        *(method for info in reversed(unit.classes.values()) for method in reversed(list(all_methods(info)))),
        *reversed(unit.functions.values()),
    ]
    while stack:
        function = stack.pop()
        yield function
        stack.extend(reversed(function.closures.values()))


def picture(unit: Unit) -> str:
    """All of a unit's graphs as text."""
    parts = []
    for function in all_functions(unit):
        params = ", ".join(
            ("" if param.kind == "positional" else param.kind)
            + param.name
            + (f": {param.type}" if param.type else "")
            for param in function.params
        )
        captures = f" captures {', '.join(sorted(function.captures))}" if function.captures else ""
        flags = " static" * (function.binding == "static") + " abstract" * function.docstring_only
        locals_ = ", ".join(
            f"{name}: {written}"
            for name, written in function.types.items()
            if name not in {param.name for param in function.params}
        )
        typed = f" with {locals_}" if locals_ else ""
        parts.append(f"{function.qualname}({params}){flags}{captures}{typed}\n{dump(function.cfg)}")
    return "\n".join(parts)


def outline(unit: Unit) -> str:
    """The classes of a unit with their bases, fields and annotations."""
    lines = []
    for info in unit.classes.values():
        bases = "".join(f" < {show(base)}" for base in info.bases)
        lines.append("".join(f"{show(each)} " for each in info.decorators) + info.qualname + bases)
        for name, written in info.types.items():
            value = f" = {show(info.attrs[name])}" if name in info.attrs else ""
            lines.append(f"    {name}: {written}{value}")
        methods = [
            (method.name, [str(param.type) for param in method.params]) for method in all_methods(info)
        ]
        lines += [f"    {name}({', '.join(types)})" for name, types in methods]
    return "".join(f"{line}\n" for line in lines)


def body(source: str) -> Function:
    """The method `m` of a class with some statements, which start on line 2."""
    lowered = unit("class A { void m(Tuple tuple) {\n" + textwrap.dedent(source) + "\n} }")
    return lowered.classes["A"].methods["m"]
