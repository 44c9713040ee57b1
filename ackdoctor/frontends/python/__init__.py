"""Python source to a `Unit`: parsing by libcst, modules, classes and functions."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from ackdoctor.flow.expressions import last_name
from ackdoctor.frontends import TOO_DEEP, UnknownSyntax, module_body, reason_of
from ackdoctor.frontends.python.expressions import TABLES, Lowering, Scope, SourceFile, dotted
from ackdoctor.frontends.python.managers import managers_of
from ackdoctor.frontends.python.positions import Positions
from ackdoctor.frontends.python.source import (
    Translation,
    decode,
    has_old_handlers,
    is_python2,
    too_deep,
    translate,
)
from ackdoctor.frontends.python.statements import names_bound
from ackdoctor.model.cfg import Arg, Bind, Call, ClassInfo, Closure, Expr, Function, Literal, Mix, Param, Unit
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.source import Span

__all__ = ["lower_source"]


def lower_source(*, path: str, module: str, is_package: bool, data: bytes) -> Unit | Unreadable:
    """Lower one file; never raises for bad input.

    `module` is the dotted name that relative imports start from.
    """
    text = decode(path, data)
    if isinstance(text, Unreadable):
        return text
    try:
        parsed = _parse(path, text)
        if isinstance(parsed, Unreadable):
            return parsed
        tree, translation = parsed
        text = text if translation is None else translation.text
        positions = Positions(tree, text, translation)
        file = SourceFile(path=path, module=module, is_package=is_package, positions=positions, text=text)
        return _lower_module(file, tree, python2=translation is not None or is_python2(text))
    except (RecursionError, UnknownSyntax) as error:
        return Unreadable(path=path, line=0, column=0, reason=reason_of(error))


# ---- parsing ----

_WHERE = re.compile(r"error at (\d+):(\d+)")


def _parse(path: str, text: str) -> tuple[cst.Module, Translation | None] | Unreadable:
    """Parse as Python 3, or else as Python 2."""
    deep = too_deep(path, text)
    if deep is not None:
        return deep
    tree = _tree(text)
    if isinstance(tree, cst.Module) and not has_old_handlers(text):
        return tree, None
    translation = translate(text)
    if translation is not None:
        translated = _tree(translation.text)
        if isinstance(translated, cst.Module):
            return translated, translation
    return (tree, None) if isinstance(tree, cst.Module) else _unreadable(path, text, tree)


def _tree(text: str) -> cst.Module | BaseException:
    """The tree, or the exception: libcst also raises other errors than its own, and panics."""
    try:
        return cst.parse_module(text)
    except (KeyboardInterrupt, SystemExit, MemoryError, RecursionError):
        raise
    except BaseException as error:  # noqa: BLE001
        return error


def _unreadable(path: str, text: str, error: BaseException) -> Unreadable:
    """Locate the syntax error by the interpreter, which is more exact than libcst."""
    where = _WHERE.search(str(error))
    line, column = (int(where[1]), int(where[2]) + 1) if where else (0, 0)
    reason = "syntax error"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as better:
        line, column, reason = better.lineno or 0, max(better.offset or 0, 1), f"syntax error: {better.msg}"
    except (RecursionError, MemoryError):
        line, column, reason = 0, 0, TOO_DEEP
    except ValueError:
        pass
    else:
        line, column, reason = 0, 0, "Python accepts this file, but ackdoctor's parser does not"
    return Unreadable(path=path, line=line, column=column, reason=reason)


# ---- modules ----


def _lower_module(file: SourceFile, tree: cst.Module, *, python2: bool) -> Unit:
    names = names_bound(file, tree.body)
    imported = {name for node in names.imports for name, _ in file.imported(node)}
    file.module_names = names.bound | imported
    file.managers = managers_of(_declarations(tree.body))
    fn = Lowering(file, Scope({}, None), "<module>", file.positions.whole())
    functions: dict[str, Function] = {}
    values: dict[str, Expr] = {}
    for node in _declarations(tree.body):
        if isinstance(node, cst.ClassDef):
            _define_class(fn, node, file.qualname(node, node.name.value))
        elif isinstance(node, cst.FunctionDef):
            name = node.name.value
            functions[name] = _define_function(fn, node, file.qualname(node, name))
        else:
            values.update((target, value) for target, value, _ in _assigned(fn, node))
    fn.run(tree)
    candidates = file.candidates()
    return Unit(
        path=file.path,
        module=file.module,
        stars=candidates.pop("*", ()),
        imports=candidates,
        classes=file.classes,
        functions=functions,
        values=values,
        body=module_body(file.path, fn.builder, fn.closures),
        python2=python2,
        eager=_LAZY if python2 or not _COMPATIBILITY_NAMES.isdisjoint(candidates) else frozenset(),
    )


_LAZY = frozenset({"map", "filter"})  # Python 2 builds their lists at once
_COMPATIBILITY_NAMES = frozenset(
    "absolute_import division print_function unicode_literals with_statement six".split()
)
_PARTS = ("finalbody", "orelse", "handlers", "cases", "body")


_ASSIGNMENTS = (cst.Assign, cst.AnnAssign, cst.AugAssign)


def _declarations(body: Sequence[cst.CSTNode]) -> Iterator[Any]:
    """The functions, classes and assignments of a body, including those in `if`, `try` and other blocks."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, (cst.FunctionDef, cst.ClassDef, *_ASSIGNMENTS)):
            yield node
            continue
        for field in _PARTS:
            value = getattr(node, field, ()) or ()
            stack.extend([value] if isinstance(value, cst.CSTNode) else reversed(value))


def _assigned(
    fn: Lowering, node: cst.Assign | cst.AnnAssign | cst.AugAssign
) -> Iterator[tuple[str, Expr, Span]]:
    """The plain names that a module or class assignment binds, with their values.

    If `a, *b = 1, 2` has as many targets as values, the starred target takes one value.
    """
    value = node.value
    if value is None:
        return
    for target in [each.target for each in node.targets] if isinstance(node, cst.Assign) else [node.target]:
        pairs: list[tuple[cst.CSTNode, cst.BaseExpression]] = [(target, value)]
        if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
            elements = target.elements if len(target.elements) == len(value.elements) else ()
            pairs = [(part.value, given.value) for part, given in zip(elements, value.elements, strict=False)]
        for name, part in pairs:
            if isinstance(name, cst.Name):
                found = fn.pure(part)
                yield (
                    name.value,
                    Mix("+=", (found,)) if isinstance(node, cst.AugAssign) else found,
                    fn.span(node),
                )


# ---- functions ----


def _define_function(
    fn: Lowering, node: cst.FunctionDef | cst.Lambda, qualname: str, binding: str = "none"
) -> Function:
    """Lower a `def` or a lambda; `fn` lowers the enclosing code."""
    file, span = fn.file, fn.span(node)
    params = tuple(_params(fn, node.params))
    definition = node if isinstance(node, cst.FunctionDef) else None
    body: Sequence[cst.CSTNode] = [node.body] if isinstance(node, cst.Lambda) else node.body.body
    names = names_bound(file, body)
    named = [param.name for param in params]
    own = named[0] if named and binding == "instance" else "self" if "self" in named else ""
    scope = Scope(names.meanings(set(named)), fn.scope, own)
    inner = Lowering(file, scope, qualname, span)
    if isinstance(node, cst.Lambda):
        inner.builder.leave(inner.value(node.body), fn.span(node.body))
    else:
        inner.run(node.body)
    return Function(
        name=definition.name.value if definition else "<lambda>",
        qualname=qualname,
        path=file.path,
        params=params,
        cfg=inner.builder.finish(),
        span=span,
        head=fn.span(definition.name) if definition else span,
        is_async=definition is not None and definition.asynchronous is not None,
        is_generator=names.yields,
        binding=binding,
        decorators=tuple(fn.pure(each.decorator) for each in (definition.decorators if definition else ())),
        closures=inner.closures,
        captures=frozenset(scope.captures),
        receiver=scope.receiver(),
        docstring_only=all(map(_is_stub, body)),
    )


def _lambda(fn: Lowering, node: cst.Lambda) -> Expr:
    qualname = fn.file.qualname(node, f"{_prefix(fn)}<lambda>")
    fn.closures[qualname] = _define_function(fn, node, qualname)
    return Closure(qualname)


def _params(fn: Lowering, node: cst.Parameters) -> Iterator[Param]:
    kinds = [(param, "positional") for param in (*node.posonly_params, *node.params)]
    if isinstance(node.star_arg, cst.Param):
        kinds.append((node.star_arg, "*"))
    kinds += [(param, "keyword") for param in node.kwonly_params]
    if node.star_kwarg is not None:
        kinds.append((node.star_kwarg, "**"))
    for param, kind in kinds:
        default = None if param.default is None else fn.pure(param.default)
        written = None
        if param.annotation is not None:
            written = fn.file.positions.text(param.annotation.annotation)
        yield Param(param.name.value, kind, default, written)


def _is_stub(node: cst.CSTNode) -> bool:
    """Whether a statement is only pass, ..., a docstring or `raise NotImplementedError`."""
    if isinstance(node, cst.SimpleStatementLine):
        return all(map(_is_stub, node.body))
    if isinstance(node, cst.Expr):
        return isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis))
    if isinstance(node, cst.Raise):
        raised = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
        return dotted(raised) == "NotImplementedError"
    return isinstance(node, cst.Pass)


def _prefix(fn: Lowering) -> str:
    return "" if fn.qualname == "<module>" else f"{fn.qualname}.<locals>."


def _nested_function(fn: Lowering, node: cst.FunctionDef) -> None:
    if fn.qualname == "<module>":
        return  # `_lower_module` adds it to the unit
    wrappers = [fn.value(decorator.decorator) for decorator in node.decorators]
    qualname = fn.file.qualname(node, f"{_prefix(fn)}{node.name.value}")
    fn.closures[qualname] = _define_function(fn, node, qualname)
    value: Expr = Closure(qualname)
    span = fn.file.positions.through(node, node.name)
    for decorator, wrapper in zip(reversed(node.decorators), reversed(wrappers), strict=True):
        result = fn.builder.temp()
        fn.builder.add(Call(result, wrapper, (Arg(value),)), fn.span(decorator.decorator))
        value = result
    fn.builder.add(Bind(fn.scope.resolve(node.name.value), value), span)


# ---- classes ----

_DEFINING = (
    cst.FunctionDef,
    cst.ClassDef,
    cst.AnnAssign,
    cst.AugAssign,
    cst.Import,
    cst.ImportFrom,
    cst.Pass,
)
_BINDINGS = {"staticmethod": "static", "classmethod": "class"}


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
    names_bound(file, node.body.body)
    for each in _declarations(node.body.body):
        if isinstance(each, cst.FunctionDef):
            name = file.qualname(each, f"{qualname}.{each.name.value}")
            written = (dotted(decorator.decorator) for decorator in each.decorators)
            bindings = (_BINDINGS[word] for word in written if word in _BINDINGS)
            info.methods[each.name.value] = _define_function(fn, each, name, next(bindings, "instance"))
        elif isinstance(each, cst.ClassDef):
            _define_class(fn, each, file.qualname(each, f"{qualname}.{each.name.value}"))
        else:
            for target, value, span in _assigned(fn, each):
                info.attrs[target] = value
                info.attr_spans[target] = span
    info.straight = all(map(_only_defines, node.body.body))
    if any(last_name(base).endswith("Enum") for base in info.bases):
        info.constants = frozenset(name for name in info.attrs if not name.startswith("_"))
    return info


def _only_defines(node: cst.CSTNode) -> bool:
    """Whether a statement of a class body only defines a member: no branch, no `x[1] = y`, no call for its effect."""
    if isinstance(node, cst.SimpleStatementLine):
        return all(map(_only_defines, node.body))
    if isinstance(node, cst.Assign):
        return all(isinstance(each.target, (cst.Name, cst.Tuple)) for each in node.targets)
    if isinstance(node, cst.Expr):
        return not isinstance(node.value, cst.Call)
    return isinstance(node, _DEFINING)


def _nested_class(fn: Lowering, node: cst.ClassDef) -> None:
    if fn.qualname == "<module>":
        return
    info = _define_class(fn, node, fn.file.qualname(node, f"{_prefix(fn)}{node.name.value}"))
    value = Mix("class", (Literal(info.qualname), *info.bases))
    fn.builder.add(Bind(fn.scope.resolve(info.name), value), fn.file.positions.through(node, node.name))


TABLES.values[cst.Lambda] = TABLES.pure[cst.Lambda] = _lambda
TABLES.statements.update({cst.FunctionDef: _nested_function, cst.ClassDef: _nested_class})
