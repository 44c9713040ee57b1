"""One parsed module to one `Unit`."""

import libcst as cst

from ackdoctor.frontends.lowering import Table
from ackdoctor.frontends.python import statements
from ackdoctor.frontends.python.blocks import BLOCKS
from ackdoctor.frontends.python.comprehensions import COMPREHENSIONS, PURE_COMPREHENSIONS
from ackdoctor.frontends.python.conditions import FORKS, PURE_BRANCHES, VALUE_BRANCHES, plain_fork
from ackdoctor.frontends.python.definitions import (
    DEFINITIONS,
    LAMBDAS,
    assigned,
    declarations,
    define_class,
    define_function,
    scan,
)
from ackdoctor.frontends.python.expressions import CALLS, PURE_CALLS, VALUES
from ackdoctor.frontends.python.imports import Imports
from ackdoctor.frontends.python.lowering import Lowering, SourceFile, Tables
from ackdoctor.frontends.python.parse import Parsed
from ackdoctor.frontends.python.patterns import MATCH
from ackdoctor.frontends.python.positions import Positions
from ackdoctor.frontends.python.python2 import is_python2
from ackdoctor.frontends.python.scope import Scope
from ackdoctor.model.cfg import Expr
from ackdoctor.model.component import Function, Unit

__all__ = ["lower_module"]

_TABLES = Tables(
    values=Table({**VALUES, **CALLS, **VALUE_BRANCHES, **COMPREHENSIONS, **LAMBDAS}),
    pure=Table({**VALUES, **PURE_CALLS, **PURE_BRANCHES, **PURE_COMPREHENSIONS, **LAMBDAS}),
    forks=FORKS,
    plain_fork=plain_fork,
    statements=Table({**statements.SIMPLE, **BLOCKS, **MATCH, **DEFINITIONS}),
    bind=statements.bind,
)


def lower_module(
    parsed: Parsed, *, path: str, module: str, is_package: bool, only: frozenset[str] | None
) -> Unit:
    """Lowers everything in a file, or of its functions and classes only those with the names in `only`."""
    tree, positions = parsed.tree, Positions(parsed.tree, parsed.text, parsed.translation)
    imports = Imports(module, is_package=is_package)
    file = SourceFile(
        path=path, module=module, positions=positions, tables=_TABLES, imports=imports, text=parsed.text
    )
    names = scan(file, tree.body)
    file.module_names |= names.bound
    file.module_names.update(name for node in names.imports for name in imports.names(node))
    span = positions.whole()
    fn = Lowering(file, Scope({}, None), "<module>", span)
    functions, values = _declare(fn, tree, only)
    fn.run(tree.body)
    return Unit(
        path=path,
        module=module,
        imports=imports.candidates(),
        stars=imports.stars(),
        classes=file.classes,
        functions=functions,
        values=values,
        body=_module_body(fn),
        python2=parsed.translation is not None or is_python2(parsed.text),
    )


def _declare(
    fn: Lowering, tree: cst.Module, only: frozenset[str] | None
) -> tuple[dict[str, Function], dict[str, Expr]]:
    functions: dict[str, Function] = {}
    values: dict[str, Expr] = {}
    for node in declarations(tree.body):
        if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            values.update((target, value) for target, value, _ in assigned(fn, node))
        elif only is None or node.name.value in only:
            qualname = fn.file.qualname(node, node.name.value)
            if isinstance(node, cst.ClassDef):
                define_class(fn, node, qualname)
            else:
                functions[node.name.value] = define_function(fn, node, qualname, "none")
    return functions, values


def _module_body(fn: Lowering) -> Function:
    cfg = fn.builder.finish()
    span = cfg.steps[0].span
    return Function(
        name="<module>",
        qualname="<module>",
        path=fn.file.path,
        params=(),
        cfg=cfg,
        span=span,
        head=span,
        binding="none",
        closures=fn.closures,
    )
