"""Functions, classes and modules: a parsed file as a `Unit`."""

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from ackdoctor.frontends.lowering import Table, module_body
from ackdoctor.frontends.python.comprehensions import COMPREHENSIONS, PURE_COMPREHENSIONS
from ackdoctor.frontends.python.expressions import FORKS, PURE_VALUES, VALUES, plain_fork
from ackdoctor.frontends.python.lowering import Lowering, SourceFile, Tables
from ackdoctor.frontends.python.parse import Parsed
from ackdoctor.frontends.python.positions import Positions
from ackdoctor.frontends.python.python2 import is_python2
from ackdoctor.frontends.python.scope import (
    Imports,
    Names,
    Scope,
    block_parts,
    dotted,
    names_bound,
    own_nodes,
)
from ackdoctor.frontends.python.statements import STATEMENTS, bind
from ackdoctor.model.cfg import Arg, Bind, Call, ClassInfo, Closure, Expr, Function, Literal, Mix, Param, Unit
from ackdoctor.model.source import Span

__all__ = ["lower_module"]


def _scan(file: SourceFile, body: Sequence[cst.CSTNode]) -> Names:
    """The names that a body binds; adds its imports to the file."""
    names = names_bound(body, walrus=file.has_walrus)
    for node in names.imports:
        file.imports.add(node, file.positions.start(node))
    return names


# ---- functions ----


def _define_function(fn: Lowering, node: cst.FunctionDef, qualname: str, binding: str) -> Function:
    """Lower a `def`; `fn` lowers the enclosing code."""
    file = fn.file
    params = tuple(_params(fn, node.params))
    names = _scan(file, node.body.body)
    scope = Scope(names.meanings(param.name for param in params), fn.scope)
    span = fn.span(node)
    inner = Lowering(file, scope, qualname, span)
    inner.suite(node.body)
    return Function(
        name=node.name.value,
        qualname=qualname,
        path=file.path,
        params=params,
        cfg=inner.builder.finish(),
        span=span,
        head=fn.span(node.name),
        is_async=node.asynchronous is not None,
        is_generator=file.has_yield and any(type(each) is cst.Yield for each in own_nodes(node.body.body)),
        binding=binding,
        decorators=tuple(fn.pure(decorator.decorator) for decorator in node.decorators),
        closures=inner.closures,
        captures=frozenset(scope.captures),
        docstring_only=_is_stub(node.body.body),
    )


def _params(fn: Lowering, node: cst.Parameters) -> Iterator[Param]:
    for param in (*node.posonly_params, *node.params):
        yield _param(fn, param, "positional")
    if isinstance(node.star_arg, cst.Param):
        yield _param(fn, node.star_arg, "*")
    for param in node.kwonly_params:
        yield _param(fn, param, "keyword")
    if node.star_kwarg is not None:
        yield _param(fn, node.star_kwarg, "**")


def _param(fn: Lowering, node: cst.Param, kind: str) -> Param:
    default = None if node.default is None else fn.pure(node.default)
    written = None if node.annotation is None else fn.file.positions.text(node.annotation.annotation)
    return Param(node.name.value, kind, default, written)


def _is_stub(body: Sequence[cst.CSTNode]) -> bool:
    """Whether a body is only pass, ..., a docstring or `raise NotImplementedError`."""
    for node in body:
        smalls = node.body if isinstance(node, cst.SimpleStatementLine) else [node]
        for small in smalls:
            if isinstance(small, cst.Expr):
                no_op = isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis))
            elif isinstance(small, cst.Raise):
                raised = small.exc.func if isinstance(small.exc, cst.Call) else small.exc
                no_op = dotted(raised) == "NotImplementedError"
            else:
                no_op = isinstance(small, cst.Pass)
            if not no_op:
                return False
    return True


def _lambda(fn: Lowering, node: cst.Lambda) -> Expr:
    file = fn.file
    qualname = file.qualname(node, f"{_prefix(fn)}<lambda>")
    params = tuple(_params(fn, node.params))
    names = names_bound([], walrus=False)
    if file.has_walrus:
        names.bound.update(_walrus_names(node))
    scope = Scope(names.meanings(param.name for param in params), fn.scope)
    span = fn.span(node)
    inner = Lowering(file, scope, qualname, span)
    inner.builder.leave(inner.value(node.body), fn.span(node.body))
    fn.closures[qualname] = Function(
        name="<lambda>",
        qualname=qualname,
        path=file.path,
        params=params,
        cfg=inner.builder.finish(),
        span=span,
        head=span,
        is_generator=file.has_yield and any(type(each) is cst.Yield for each in own_nodes([node.body])),
        binding="none",
        closures=inner.closures,
        captures=frozenset(scope.captures),
    )
    return Closure(qualname)


def _walrus_names(node: cst.Lambda) -> list[str]:
    return [each.target.value for each in own_nodes([node.body]) if isinstance(each, cst.NamedExpr)]  # type: ignore[attr-defined]


def _prefix(fn: Lowering) -> str:
    return "" if fn.qualname == "<module>" else f"{fn.qualname}.<locals>."


def _nested_function(fn: Lowering, node: cst.FunctionDef) -> None:
    if fn.qualname == "<module>":
        return  # `_declare` adds it to the unit
    wrappers = [fn.value(decorator.decorator) for decorator in node.decorators]
    qualname = fn.file.qualname(node, f"{_prefix(fn)}{node.name.value}")
    fn.closures[qualname] = _define_function(fn, node, qualname, "none")
    value: Expr = Closure(qualname)
    span = fn.file.positions.through(node, node.name)
    for decorator, wrapper in zip(reversed(node.decorators), reversed(wrappers), strict=True):
        result = fn.builder.temp()
        fn.builder.add(Call(result, wrapper, (Arg(value),)), fn.span(decorator.decorator))
        value = result
    fn.builder.add(Bind(fn.scope.resolve(node.name.value), value), span)


# ---- classes ----


def _define_class(fn: Lowering, node: cst.ClassDef, qualname: str) -> ClassInfo:
    """Lower a class with its members, and add it to the file's classes."""
    file = fn.file
    info = ClassInfo(
        name=node.name.value,
        qualname=qualname,
        path=file.path,
        module=file.module,
        span=fn.span(node),
        head=fn.span(node.name),
        bases=tuple(fn.pure(arg.value) for arg in node.bases if not arg.star),
        methods={},
        attrs={},
        attr_spans={},
        decorators=tuple(fn.pure(decorator.decorator) for decorator in node.decorators),
    )
    file.classes[qualname] = info
    _scan(file, node.body.body)
    for each in _declarations(node.body.body):
        if isinstance(each, cst.FunctionDef):
            name = f"{qualname}.{each.name.value}"
            method = _define_function(fn, each, file.qualname(each, name), _binding(each))
            info.methods[each.name.value] = method
        elif isinstance(each, cst.ClassDef):
            _define_class(fn, each, file.qualname(each, f"{qualname}.{each.name.value}"))
        else:
            for target, value, span in _assigned(fn, each):
                info.attrs[target] = value
                info.attr_spans[target] = span
    return info


def _binding(node: cst.FunctionDef) -> str:
    for decorator in node.decorators:
        word = dotted(decorator.decorator)
        if word in ("staticmethod", "classmethod"):
            return word.removesuffix("method")
    return "instance"


def _declarations(body: Sequence[cst.CSTNode]) -> Iterator[Any]:
    """The functions, classes and assignments of a body, including those in `if`, `try` and other blocks."""
    stack = list(reversed(body))
    while stack:
        node: Any = stack.pop()
        kind = type(node)
        if kind is cst.SimpleStatementLine or kind is cst.SimpleStatementSuite or kind is cst.IndentedBlock:
            stack.extend(reversed(node.body))
        elif kind in _DECLARES:
            yield node
        else:
            stack.extend(block_parts(node))


def _assigned(fn: Lowering, node: cst.Assign | cst.AnnAssign) -> Iterator[tuple[str, Expr, Span]]:
    """The plain names that a module or class assignment binds, with their values."""
    if node.value is None:
        return
    targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
    for target in targets:
        if isinstance(target, cst.Name):
            yield target.value, fn.pure(node.value), fn.span(node)
        else:
            for part, value in _pairs(target, node.value):
                if isinstance(part.value, cst.Name):
                    yield part.value.value, fn.pure(value.value), fn.span(node)


def _pairs(target: cst.CSTNode, value: cst.CSTNode) -> Iterator[tuple[cst.BaseElement, cst.BaseElement]]:
    """The pairs of `a, b = 1, 2`; with equal counts on both sides, a starred target takes one value."""
    if not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple):
        return
    if len(target.elements) == len(value.elements):
        yield from zip(target.elements, value.elements, strict=True)


def _nested_class(fn: Lowering, node: cst.ClassDef) -> None:
    if fn.qualname == "<module>":
        return
    info = _define_class(fn, node, fn.file.qualname(node, f"{_prefix(fn)}{node.name.value}"))
    value = Mix("class", (Literal(info.qualname), *info.bases))
    fn.builder.add(Bind(fn.scope.resolve(info.name), value), fn.file.positions.through(node, node.name))


_DECLARES = frozenset({cst.FunctionDef, cst.ClassDef, cst.Assign, cst.AnnAssign})

_TABLES = Tables(
    values=Table({**VALUES, **COMPREHENSIONS, cst.Lambda: _lambda}),
    pure=Table({**PURE_VALUES, **PURE_COMPREHENSIONS, cst.Lambda: _lambda}),
    forks=FORKS,
    plain_fork=plain_fork,
    statements=Table({**STATEMENTS, cst.FunctionDef: _nested_function, cst.ClassDef: _nested_class}),
    bind=bind,
)


def lower_module(parsed: Parsed, *, path: str, module: str, is_package: bool) -> Unit:
    """Lower a parsed file."""
    tree, positions = parsed.tree, Positions(parsed.tree, parsed.text, parsed.translation)
    imports = Imports(module, is_package=is_package)
    file = SourceFile(
        path=path, module=module, positions=positions, tables=_TABLES, imports=imports, text=parsed.text
    )
    names = _scan(file, tree.body)
    file.module_names |= names.bound
    file.module_names.update(name for node in names.imports for name in imports.names(node))
    span = positions.whole()
    fn = Lowering(file, Scope({}, None), "<module>", span)
    functions, values = _declare(fn, tree)
    fn.run(tree.body)
    return Unit(
        path=path,
        module=module,
        imports=imports.candidates(),
        stars=imports.stars(),
        classes=file.classes,
        functions=functions,
        values=values,
        body=module_body(path, fn.builder, fn.closures),
        python2=parsed.translation is not None or is_python2(parsed.text),
    )


def _declare(fn: Lowering, tree: cst.Module) -> tuple[dict[str, Function], dict[str, Expr]]:
    functions: dict[str, Function] = {}
    values: dict[str, Expr] = {}
    for node in _declarations(tree.body):
        if isinstance(node, cst.ClassDef):
            _define_class(fn, node, fn.file.qualname(node, node.name.value))
        elif isinstance(node, cst.FunctionDef):
            name = node.name.value
            functions[name] = _define_function(fn, node, fn.file.qualname(node, name), "none")
        else:
            values.update((target, value) for target, value, _ in _assigned(fn, node))
    return functions, values
