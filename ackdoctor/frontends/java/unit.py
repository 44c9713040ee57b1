"""A parsed file as a `Unit`, with classes recovered from what does not parse."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ackdoctor.flow.build import CfgBuilder
from ackdoctor.frontends.java.calls import CALLS, PURE_CALLS
from ackdoctor.frontends.java.classes import (
    CLASSES,
    CLOSURES,
    PURE_CLOSURES,
    Shape,
    bases,
    declare,
    define_class,
    enum_body,
    members,
    top_level_function,
)
from ackdoctor.frontends.java.expressions import FORKS, PURE_VALUES, VALUES, plain_fork
from ackdoctor.frontends.java.grammar import Node, Positions, parts
from ackdoctor.frontends.java.lowering import (
    TOO_DEEP,
    UNREADABLE,
    SourceFile,
    Tables,
    has_error,
    report,
    report_error,
    report_other_errors,
)
from ackdoctor.frontends.java.scope import dotted
from ackdoctor.frontends.java.statements import PURE_SWITCHES, STATEMENTS, SWITCH_VALUES
from ackdoctor.frontends.lowering import Table, UnknownSyntax, module_body
from ackdoctor.model.cfg import Function, Unit
from ackdoctor.model.finding import Unreadable

__all__ = ["TABLES", "Lowered", "lower_tree"]


_MOST = 200  # headers in one error; text with more is not Java
_MEMBERS = CLASSES | frozenset("method_declaration constructor_declaration field_declaration".split())


def _classes_in_error(file: SourceFile, error: Node) -> Iterator[Shape]:
    """The classes whose headers are in a syntax error; each one is taken for a member of the one before.

    If a brace is missing, tree-sitter may drop the enclosing class and put its header and members into one error.
    """
    children = error.children
    heads = [
        place
        for place, (word, name) in enumerate(pairwise(children))
        if word.type == "class" and name.type == "identifier"
    ]
    if len(heads) > _MOST:
        return
    qualname = ""
    for head, end in pairwise([*heads, len(children)]):
        name, own = children[head + 1], children[head + 2 : end]
        word = file.positions.text(name)
        qualname = f"{qualname}.{word}" if qualname else word
        yield Shape(
            word,
            file.qualname(name, qualname),
            error,
            file.positions.span(name),
            [each for each in members(own) if each.type in _MEMBERS],
            tuple(bases(file, own)),
            any(each.type == "superclass" for each in own),
            whole=False,
        )


TABLES = Tables(
    values=Table({**VALUES, **CALLS, **SWITCH_VALUES, **CLOSURES}),
    pure=Table({**PURE_VALUES, **PURE_CALLS, **PURE_SWITCHES, **PURE_CLOSURES}),
    forks=FORKS,
    plain_fork=plain_fork,
    statements=STATEMENTS,
    declare=declare,
    enum_body=enum_body,
)


class Lowered(NamedTuple):
    """The unit of a file, and the places that could not be read."""

    unit: Unit
    broken: tuple[Unreadable, ...]


def lower_tree(root: Node, *, path: str, data: bytes) -> Lowered:
    """Lower a file."""
    positions = Positions(data)
    tops = parts(root)
    package = next((each for each in tops if each.type == "package_declaration"), None)
    module = "" if package is None or package.has_error else dotted(positions, parts(package)[-1])
    file = SourceFile(path=path, module=module, positions=positions, tables=TABLES)
    imports, stars = _imports(file, tops)
    functions: dict[str, Function] = {}
    for each in [root] if root.type == "ERROR" else tops:
        _declare(file, each, functions)
    if root.has_error:
        _add_unknown_bases(file, root, functions)
    unit = Unit(
        path=path,
        module=module,
        imports=imports,
        stars=tuple(dict.fromkeys([module, *stars])),
        classes=file.classes,
        functions=functions,
        values={},
        body=module_body(path, CfgBuilder(positions.whole())),
    )
    return Lowered(unit, tuple(sorted(file.broken, key=lambda place: (place.line, place.column))))


def _declare(file: SourceFile, node: Node, functions: dict[str, Function]) -> None:
    kind = node.type
    try:
        if kind == "ERROR":
            _declare_in_error(file, node, functions)
        elif kind in CLASSES:
            declare(file, node, None)
        elif kind == "method_declaration":
            found = top_level_function(file, node)
            functions.setdefault(found.name, found)
    except RecursionError:
        report(file, node, TOO_DEEP, "this class is not read")
    except UnknownSyntax as unknown:
        report(file, node, f"syntax that is not yet supported: {unknown}", "this class is not read")


def _declare_in_error(file: SourceFile, error: Node, functions: dict[str, Function]) -> None:
    """Declare the classes and functions inside an error outside all classes."""
    found = list(_classes_in_error(file, error))
    for shape in found:
        define_class(file, shape, None)
    if not found:
        report_error(file, error, "skipped")
        for inner in parts(error):
            _declare(file, inner, functions)


def _add_unknown_bases(file: SourceFile, root: Node, functions: dict[str, Function]) -> None:
    """Add an unknown base to each class after an error outside all classes: members may be missing."""
    if functions or root.is_error or has_error(root.children):
        for info in file.classes.values():
            if UNREADABLE not in info.bases:
                info.bases = (*info.bases, UNREADABLE)
    report_other_errors(file, root)


def _imports(file: SourceFile, tops: list[Node]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    imports: dict[str, tuple[str, ...]] = {}
    stars: list[str] = []
    for node in tops:
        if node.type != "import_declaration" or node.has_error:
            continue
        inner = parts(node)
        name = dotted(file.positions, inner[0])
        if inner[-1].type == "asterisk":
            stars.append(name)
            continue
        word = name.rpartition(".")[2]
        known = imports.get(word, ())
        imports[word] = known if name in known else (*known, name)
        static = any(each.type == "static" for each in node.children)
        (file.imported.statics if static else file.imported.types).add(word)
    return imports, stars
