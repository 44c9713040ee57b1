"""Whether a call can be made in several rounds of a loop, as far as its file says.

That one line completed a tuple twice within one call of the handler has two causes: a loop, or a method that
was called twice.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["may_loop"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Use:
    """Where a name stands: called there, or only mentioned."""

    name: str
    called: bool
    lines: tuple[int, int]
    inside: str  # the function
    loops: bool  # a loop stands around it


def may_loop(module: ast.Module, line: int, function: str, *handlers: str) -> bool:
    """Whether a loop stands around the call in this line, or around one that leads to it from one of the handlers.

    True where the file does not say: a function that is handed over, or called from another file.
    """
    uses = tuple(_uses(module))
    here = [use for use in uses if use.called and use.inside == function and line in use.lines]
    if not here or any(use.loops for use in here):
        return True
    waiting, visited = [function], set(handlers)
    while waiting:
        name = waiting.pop()
        if name in visited:
            continue
        visited.add(name)
        callers = [use for use in uses if use.name == name]
        if not callers or any(use.loops or not use.called for use in callers):
            return True
        waiting += [use.inside for use in callers]
    return False


def _uses(module: ast.Module) -> Iterator[_Use]:
    waiting: list[tuple[ast.AST, str, bool]] = [(module, "", False)]  # a long sum nests deeper than calls may
    while waiting:
        node, inside, loops = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = node.name
        loops = loops or isinstance(node, _LOOPS)
        called = node.func if isinstance(node, ast.Call) else None
        named = called or node
        if isinstance(named, ast.Name | ast.Attribute):
            name = named.id if isinstance(named, ast.Name) else named.attr
            lines = (named.lineno, named.end_lineno or named.lineno)
            yield _Use(name=name, called=called is not None, lines=lines, inside=inside, loops=loops)
        for child in ast.iter_child_nodes(node):
            below = ast.iter_child_nodes(child) if child is called else (child,)
            waiting += ((part, inside, loops) for part in below)
