"""Context managers that the file defines: their own code becomes steps around the body of the `with`.

    @contextmanager                          try:
    def acking(self, tup):                       <body>
        try:                                 except Exception:
            yield                      ->        self.fail(tup)
        except Exception:
            self.fail(tup)

A function decorated with `contextmanager` is lowered in place of the `with`, and the body in place of its `yield`.  A
`return` in the body first runs what follows the `yield`.  A class is only asked whether its `__exit__` swallows exceptions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import libcst as cst

from ackdoctor.flow.build import Detour
from ackdoctor.frontends.python.expressions import Around, Lowering, Managers, Scope, bind, dotted
from ackdoctor.libraries.vocabulary import LOGGING
from ackdoctor.model.cfg import Bind, Expr, Global, Literal, Name

_COMPOUND = (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.For, cst.While)


def managers_of(body: Iterable[Any]) -> Managers:
    """The context managers among the definitions of a module."""
    functions: dict[str, cst.FunctionDef] = {}
    classes: dict[str, cst.ClassDef] = {}
    for node in body:
        if isinstance(node, cst.FunctionDef) and _is_generator_manager(node):
            functions[node.name.value] = node
        elif isinstance(node, cst.ClassDef):
            classes[node.name.value] = node
            for each in node.body.body:
                if isinstance(each, cst.FunctionDef) and _is_generator_manager(each):
                    functions[f"{node.name.value}.{each.name.value}"] = each
    return Managers(functions, classes)


def _is_generator_manager(node: cst.FunctionDef) -> bool:
    """Whether a function is decorated with `contextmanager` and has one `yield`, outside of loops and inner functions."""
    names = [dotted(each.decorator).rpartition(".")[2] for each in node.decorators]
    if names != ["contextmanager"]:
        return False
    nodes = list(_nodes(node.body))
    yields = [each for each in nodes if isinstance(each, cst.Yield)]
    plain = [each for each in nodes if isinstance(each, cst.Expr) and isinstance(each.value, cst.Yield)]
    return len(yields) == len(plain) == 1 and not any(isinstance(each, _COMPOUND) for each in nodes)


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    stack: list[cst.CSTNode] = [node]
    while stack:
        each = stack.pop()
        yield each
        stack.extend(each.children)


# ---- a generator in place of the `with` ----


def generator_of(fn: Lowering, call: cst.Call) -> cst.FunctionDef | None:
    """The generator of the file that a context manager `acking(tup)` or `self.acking(tup)` runs."""
    found: cst.FunctionDef | None = None
    if isinstance(call.func, cst.Name) and isinstance(fn.scope.resolve(call.func.value), Global):
        found = fn.file.managers.functions.get(call.func.value)
    elif isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
        owner = fn.qualname.partition(".<locals>")[0].rpartition(".")[0]
        found = fn.file.managers.method(owner, call.func.attr.value)
    if found is None or (fn.around is not None and fn.around.includes(found)):
        return None
    return found if _arguments(found, call) is not None else None


def _arguments(definition: cst.FunctionDef, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """The argument or the default of each parameter; None if a call is not that simple."""
    params = definition.params
    if (
        params.kwonly_params
        or params.posonly_params
        or params.star_kwarg
        or isinstance(params.star_arg, cst.Param)
    ):
        return None
    free = list(params.params)
    passed: dict[str, cst.BaseExpression] = {}
    if isinstance(call.func, cst.Attribute) and free:
        passed[free.pop(0).name.value] = call.func.value
    for arg in call.args:
        if arg.star or (arg.keyword is None and not free):
            return None
        name = arg.keyword.value if arg.keyword is not None else free[0].name.value
        passed[name] = arg.value
        free = [param for param in free if param.name.value != name]
    passed |= {param.name.value: param.default for param in free if param.default is not None}
    return passed if passed.keys() == {param.name.value for param in params.params} else None


def run_generator(
    fn: Lowering,
    definition: cst.FunctionDef,
    item: cst.WithItem,
    bound: set[str],
    body: Callable[[], None],
) -> None:
    """Lower a generator with the body of the `with` in place of its `yield`; `bound` are the names that it binds."""
    span = fn.span(item.item)
    given = _arguments(definition, cst.ensure_type(item.item, cst.Call)) or {}
    names: dict[str, Expr] = {word: Name(f"%{word}") for word in bound}
    for word, node in given.items():
        value = fn.value(node)
        if word in names:
            fn.builder.add(Bind(names[word], value), span)
        else:
            names[word] = value if isinstance(value, (Name, Literal)) else fn.stored(value, node)
    detour = Detour(Name(f"%way{fn.builder.temp().id}"))
    outer_scope, outer = fn.scope, fn.around

    def resume(value: Expr | None) -> None:
        own_scope, own = fn.scope, fn.around
        fn.scope, fn.around = outer_scope, outer
        if item.asname is not None:
            bind(fn, item.asname.name, value or Literal(None), span)
        fn.builder.suspend(detour, body, span)
        fn.scope, fn.around = own_scope, own

    def run() -> None:
        fn.scope, fn.around = Scope(names, None), Around(definition, detour.way.id, resume, outer)
        fn.run(definition.body)
        fn.scope, fn.around = outer_scope, outer

    fn.builder.generator(detour, run, span)


# ---- classes ----


def swallows(fn: Lowering, call: cst.Call) -> bool:
    """Whether a context manager is of a class of the file whose `__exit__` only logs and swallows every exception."""
    name = dotted(call.func)
    cls = fn.file.managers.classes.get(name) if fn.scope.resolve(name) == Global(name) else None
    methods = cls.body.body if cls is not None else ()
    ends = [each for each in methods if isinstance(each, cst.FunctionDef) and each.name.value == "__exit__"]
    return len(ends) == 1 and _only_logs(ends[0].body) and _ends_true(ends[0].body.body)


def _only_logs(body: cst.CSTNode) -> bool:
    calls = [each for each in _nodes(body) if isinstance(each, cst.Call)]
    names = {dotted(each.func).rpartition(".")[2] for each in calls}
    changes = (cst.Assign, cst.AugAssign, cst.Raise, cst.Try, cst.With, cst.For, cst.While)
    return names <= LOGGING | {"print", "str", "repr"} and not any(
        isinstance(each, changes) for each in _nodes(body)
    )


def _ends_true(body: Sequence[cst.CSTNode]) -> bool:
    """Whether a body returns a true value after an exception: at its end, or in a last `if` without an `else`."""
    last = body[-1]
    if isinstance(last, cst.If):
        return last.orelse is None and not isinstance(last.test, cst.Call) and _ends_true(last.body.body)
    others = [each for node in body[:-1] for each in _nodes(node)]
    if any(isinstance(each, cst.Return) for each in others) or not isinstance(last, cst.SimpleStatementLine):
        return False
    value = last.body[-1].value if isinstance(last.body[-1], cst.Return) else None
    return isinstance(value, cst.Name) and value.value == "True"
