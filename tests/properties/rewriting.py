"""Rewritings of a bolt's source that keep its behaviour."""

import ast
from collections.abc import Callable
from copy import copy

from tests.properties.bolt_settings import Setting

__all__ = ["REWRITINGS", "Rewriting", "extract_the_body"]

Rewriting = Callable[[ast.Module, Setting], None]


def _methods(tree: ast.Module) -> list[ast.FunctionDef]:
    (bolt,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return [node for node in bolt.body if isinstance(node, ast.FunctionDef)]


def _handler(tree: ast.Module, setting: Setting) -> ast.FunctionDef:
    (handler,) = (method for method in _methods(tree) if method.name == setting.handler)
    return handler


_NAMES = {"done": "finished", "seen": "known", "kind": "sort", "tup": "message", "it": "given"}


class _Renamed(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(_NAMES.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(_NAMES.get(node.arg, node.arg), node.annotation)


def rename_locals(tree: ast.Module, _setting: Setting) -> None:
    """Rename every local."""
    _Renamed().visit(tree)


class _Swapped(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        if not node.orelse:
            return node
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


def swap_branches(tree: ast.Module, _setting: Setting) -> None:
    """`if c: A else: B` becomes `if not c: B else: A`."""
    _Swapped().visit(tree)


def wrap_in_finally(tree: ast.Module, setting: Setting) -> None:
    """Wrap the handler's body in a try with an empty finally."""
    handler = _handler(tree, setting)
    handler.body = [ast.Try(handler.body, [], [], [ast.Pass()])]


class _Other(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("other", node.ctx) if node.id == "tup" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


def alias_the_tuple(tree: ast.Module, setting: Setting) -> None:
    """Bind the tuple to another name first, and use that."""
    handler = _handler(tree, setting)
    other = _Other()
    body = [other.visit(node) for node in handler.body]
    handler.body = [ast.parse("other = tup").body[0], *body]


def extract_the_body(tree: ast.Module, setting: Setting) -> None:
    """Move the handler's body to a helper; joined paths are then reported once."""
    (bolt,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    handler = _handler(tree, setting)
    inner = copy(handler)
    inner.name = "_handle"
    handler.body = ast.parse("return self._handle(tup)").body
    bolt.body.insert(bolt.body.index(handler), inner)


def alias_the_verbs(tree: ast.Module, setting: Setting) -> None:
    """Bind `self.ack` to a local first, and call that."""

    class Bare(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.Call:
            self.generic_visit(node)
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) in ("self.ack", "self.fail"):
                node.func = ast.Name(f"do_{node.func.attr}", ast.Load())
            return node

    handler = _handler(tree, setting)
    body = [Bare().visit(node) for node in handler.body]
    handler.body = [*ast.parse("do_ack = self.ack\ndo_fail = self.fail").body, *body]


REWRITINGS: tuple[Rewriting, ...] = (
    rename_locals,
    swap_branches,
    wrap_in_finally,
    alias_the_tuple,
    alias_the_verbs,
)
