"""Call sites as places in the source."""

import ast
import linecache
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from ackdoctor.model.source import NOWHERE, Site, Span
from ackdoctor.model.trace import CallSite, TracedComponent

__all__ = ["Places", "may_loop", "parsed"]


_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Use:
    """One use of a name: a call, or a mention."""

    name: str
    called: bool
    lines: tuple[int, int]
    inside: str  # the function
    loops: bool  # inside a loop


def may_loop(module: ast.Module, line: int, function: str, *handlers: str) -> bool:
    """Whether the call in this line is in a loop, or a call that leads to it from one of the handlers is.

    In doubt, True: the function may be passed on, or called from another file.
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


@dataclass(slots=True)
class Places:
    """Call sites as sites of a finding; `folder` is where their paths start.

    Sites without a place in the code, as in the trace of a pipe, become `nowhere`.
    """

    folder: str = field(default_factory=os.getcwd)
    nowhere: str = "<unknown>"
    _trees: dict[str, ast.Module | None] = field(default_factory=dict)

    def of(self, site: CallSite) -> Site:
        """The site of a call."""
        return self.line(site.path, site.line)

    def line(self, path: str, line: int) -> Site:
        """The text of one line; line 1 where it is not known."""
        if not path:
            return Site(self.nowhere, NOWHERE)
        number = max(1, line)
        text = linecache.getline(path, number).rstrip()
        code = text.partition("  #")[0].rstrip()
        start = len(code) - len(code.lstrip()) + 1
        return Site(self._shown(path), Span(number, start, number, max(start + 1, len(code) + 1)))

    def receipt(self, traced: TracedComponent, handler: str) -> Site:
        """The line of the handler that is handed the tuple; that of the class where the handler is inherited."""
        wanted = self._class(traced)
        for node in wanted.body if wanted is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == handler:
                return self.line(traced.path, node.lineno)
        return self.line(traced.path, traced.line)

    def may_loop(self, site: CallSite, *handlers: str) -> bool:
        """Whether the call may run in a loop while one tuple is handled."""
        tree = self._tree(site.path)
        return tree is None or may_loop(tree, site.line, site.function.rpartition(".")[2], *handlers)

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            self._trees[path] = _parse(path)
        return self._trees[path]

    def _class(self, traced: TracedComponent) -> ast.ClassDef | None:
        tree = self._tree(traced.path)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if first <= traced.line <= node.lineno:
                    return node
        return None

    def _shown(self, path: str) -> str:
        if path.startswith("<"):
            return path
        try:
            relative = os.path.relpath(path, self.folder)
        except ValueError:  # another drive
            return path
        inside = relative != os.pardir and not relative.startswith(os.pardir + os.sep)
        return (relative if inside else path).replace(os.sep, "/")


def parsed(site: str) -> CallSite | None:
    """The call site that `str` wrote as "path:line function"; None for anything else."""
    place, _, function = site.rpartition(" ")
    path, _, line = place.rpartition(":")
    return CallSite(path, int(line), function) if path and line.isdecimal() else None


def _parse(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
