"""The tree of a Python file.

The positions are those of Python's own parser, in Python 2 those of its translation, mapped back to the file.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ackdoctor.fixes.document import Node, line_starts
from ackdoctor.frontends.python import source
from ackdoctor.model.source import codec_of, cookie_of

_KINDS: dict[type, str] = {
    ast.ClassDef: "class",
    ast.FunctionDef: "function",
    ast.AsyncFunctionDef: "function",
    ast.Lambda: "lambda",
    ast.ListComp: "lambda",
    ast.SetComp: "lambda",
    ast.DictComp: "lambda",
    ast.GeneratorExp: "lambda",
    ast.arg: "parameter",
    ast.Expr: "expression",
    ast.Return: "return",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.Raise: "raise",
    ast.If: "if",
    ast.For: "loop",
    ast.AsyncFor: "loop",
    ast.While: "loop",
    ast.Try: "try",
    ast.ExceptHandler: "handler",
    ast.Call: "call",
    ast.Attribute: "attribute",
    ast.List: "list",
}
_BLOCKS = ("body", "orelse", "finalbody")


def encoding_of(data: bytes) -> str:
    """Return the encoding that Python reads the file in."""
    cookie = cookie_of(data)
    return (cookie and codec_of(cookie.name)) or "utf-8"


def is_python2(text: str) -> bool:
    """Whether a text has syntax or names that only Python 2 knows."""
    return source.is_python2(text) or _parse(text) is None


def tree(text: str) -> Node | None:
    """Return the tree of a module, of Python 3 or 2; None if this Python does not parse it."""
    module = _parse(text)
    if module is not None:
        return _Tree(text, lambda offset: offset).of(module)
    translation = source.translate(text)
    module = _parse(translation.text) if translation is not None else None
    return _Tree(translation.text, translation.origin).of(module) if translation and module else None


def _parse(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Tree:
    """Converts `ast` nodes, whose columns count bytes of UTF-8."""

    def __init__(self, text: str, origin: Callable[[int], int]) -> None:
        self._origin = origin
        self._starts = line_starts(text)
        self._lines = re.split(r"\r\n|\r|\n", text)
        self._length = len(text)

    def of(self, module: ast.Module) -> Node:
        root = Node("block", 0, self._origin(self._length))
        waiting: list[tuple[ast.AST, Node]] = [(each, root) for each in reversed(module.body)]
        while waiting:
            source, parent = waiting.pop()
            start, end = self._range(source) if hasattr(source, "lineno") else (parent.start, parent.end)
            node = self._node(source, parent, start, end)
            waiting += reversed(list(self._parts(source, node)))
        return root

    def _range(self, node: Any) -> tuple[int, int]:
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        before = column if text.isascii() else len(text.encode()[:column].decode("utf-8", "replace"))
        return self._origin(self._starts[line - 1] + before)

    def _node(self, source: ast.AST, parent: Node, start: int, end: int) -> Node:
        match source:
            case ast.Name(id=name, ctx=ast.Load()):
                return parent.add("name", start, end, name)
            case ast.Name(id=name):
                return parent.add("bound", start, end, name)
            case (
                ast.Attribute(attr=name)
                | ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                pass
            case (
                ast.AsyncFunctionDef(name=name) | ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
            ):
                pass
            case _:
                name = ""
        return parent.add(_KINDS.get(type(source), "other"), start, end, name)

    def _parts(self, source: ast.AST, node: Node) -> Iterator[tuple[ast.AST, Node]]:
        """Yield the children with the nodes that hold them."""
        if isinstance(source, ast.Call):
            yield from self._call(source, node)
            return
        for name, value in ast.iter_fields(source):
            if name in _BLOCKS and isinstance(value, list):
                if value:
                    kind = "finally" if name == "finalbody" else "block"
                    block = node.add(kind, self._range(value[0])[0], self._range(value[-1])[1])
                    yield from ((each, block) for each in value)
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and not isinstance(each, ast.expr_context):
                    yield each, node

    def _call(self, source: ast.Call, node: Node) -> Iterator[tuple[ast.AST, Node]]:
        if isinstance(source.func, ast.Attribute):
            yield source.func.value, node.add("receiver", *self._range(source.func.value))
        else:
            yield source.func, node.add("receiver", *self._range(source.func))
        arguments: list[ast.expr | ast.keyword] = [*source.args, *source.keywords]
        for each in sorted(arguments, key=lambda each: (each.lineno, each.col_offset)):
            value: ast.AST = each.value if isinstance(each, ast.keyword | ast.Starred) else each
            name = (
                (each.arg or "*")
                if isinstance(each, ast.keyword)
                else "*"
                if isinstance(each, ast.Starred)
                else ""
            )
            yield value, node.add("argument", *self._range(each), name)
