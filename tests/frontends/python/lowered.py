"""Lower Python for tests: units, functions and dumps."""

import textwrap
from collections.abc import Iterator

from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import Function, Unit
from ackdoctor.model.finding import Unreadable
from tests.flow.cfg_dump import dump, show


def unit(source: str | bytes, *, module: str = "app.bolts", is_package: bool = False) -> Unit:
    lowered = lower(source, module=module, is_package=is_package)
    assert isinstance(lowered, Unit), lowered
    return lowered


def lower(source: str | bytes, *, module: str = "app.bolts", is_package: bool = False) -> Unit | Unreadable:
    data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    return lower_source(path="app/bolts.py", module=module, is_package=is_package, data=data)


def only_function(source: str) -> Function:
    """The one function of a source text."""
    (function,) = unit(source).functions.values()
    return function


def all_functions(unit: Unit) -> Iterator[Function]:
    """Every function of a unit; nested ones follow the enclosing one."""
    stack = [
        *(method for info in reversed(unit.classes.values()) for method in reversed(info.methods.values())),
        *reversed(unit.functions.values()),
        unit.body,
    ]
    while stack:
        function = stack.pop()
        yield function
        stack.extend(reversed(function.closures.values()))


def picture(unit: Unit) -> str:
    """All of a unit's graphs as text, without an empty module body."""
    parts = []
    for function in all_functions(unit):
        if function.qualname == "<module>" and len(function.cfg.steps) == 3:
            continue
        params = ", ".join(
            ("" if param.kind == "positional" else f"{param.kind} ")
            + param.name
            + (f": {param.type}" if param.type else "")
            + (f" = {show(param.default)}" if param.default is not None else "")
            for param in function.params
        )
        captures = f" captures {', '.join(sorted(function.captures))}" if function.captures else ""
        flags = " async" * function.is_async + " generator" * function.is_generator
        parts.append(f"{function.qualname}({params}){flags}{captures}\n{dump(function.cfg)}")
    return "\n".join(parts)
