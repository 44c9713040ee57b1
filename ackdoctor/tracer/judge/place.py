"""Where a call site stands, as a reader of a finding knows it: a path from here, and the columns of the statement.

The interpreter knows a line; the columns are those of the line's text.  A file that cannot be read any
more (a notebook cell, `<string>`) keeps its name and its line.
"""

import ast
import linecache
import os
from dataclasses import dataclass, field

from ackdoctor.model.source import NOWHERE, Site, Span
from ackdoctor.model.violation import CallSite, TracedComponent
from ackdoctor.tracer.judge.rounds import may_loop

__all__ = ["Places", "parsed"]


@dataclass(slots=True)
class Places:
    """Call sites as sites of a finding; `folder` is where their paths start.

    What has no place in the code, as a trace of the pipe alone has none, stands at `nowhere`.
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
        """Whether the call can be made in several rounds while one tuple is handled."""
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
