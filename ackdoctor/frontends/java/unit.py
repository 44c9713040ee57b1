"""A parsed file as a `Unit`, with classes recovered from what does not parse."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ackdoctor.flow.build import CfgBuilder
from ackdoctor.frontends.java import expressions, statements
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
from ackdoctor.frontends.java.expressions import ANNOTATIONS, NAMES, PURE_ASSIGNMENTS, VALUES
from ackdoctor.frontends.java.grammar import Node, parts
from ackdoctor.frontends.java.lowering import (
    TOO_DEEP,
    UNREAD,
    SourceFile,
    Tables,
    complain,
    has_gap,
    note,
    sweep,
)
from ackdoctor.frontends.java.scope import dotted
from ackdoctor.frontends.java.source import Positions
from ackdoctor.frontends.lowering import Table, UnknownSyntax
from ackdoctor.model.component import Function, Unit
from ackdoctor.model.finding import Unreadable

__all__ = ["Lowered", "fragments", "lower_tree"]


_MOST = 200  # headers in one error; text with more is no Java
_MEMBERS = CLASSES | frozenset("method_declaration constructor_declaration field_declaration".split())


def fragments(file: SourceFile, error: Node) -> Iterator[Shape]:
    """The classes whose headers stand in an error, if it is one of a program; one behind another is taken to stand in it."""
    children = error.children
    heads = [
        place
        for place, (word, name) in enumerate(pairwise(children))
        if word.type == "class" and name.type == "identifier"
    ]
    if len(heads) > _MOST:
        return
    around = ""
    for head, end in pairwise([*heads, len(children)]):
        name, own = children[head + 1], children[head + 2 : end]
        word = file.positions.text(name)
        around = f"{around}.{word}" if around else word
        yield Shape(
            word,
            file.qualname(name, around),
            error,
            file.positions.span(name),
            [each for each in members(own) if each.type in _MEMBERS],
            tuple(bases(file, own)),
            any(each.type == "superclass" for each in own),
            whole=False,
        )


_PLAIN = {**NAMES, **VALUES}
_TABLES = Tables(
    values=Table({**_PLAIN, **CALLS, **expressions.VALUE_BRANCHES, **statements.SWITCH_VALUES, **CLOSURES}),
    pure=Table(
        {
            **_PLAIN,
            **PURE_ASSIGNMENTS,
            **PURE_CALLS,
            **expressions.PURE_BRANCHES,
            **statements.PURE_SWITCHES,
            **PURE_CLOSURES,
            **ANNOTATIONS,
        }
    ),
    forks=expressions.FORKS,
    plain_fork=expressions.plain_fork,
    statements=Table(
        {**statements.STATEMENTS, **statements.LOOPS, **statements.TRIES, **statements.SWITCHES}
    ),
    declare=declare,
    enum_body=enum_body,
)


class Lowered(NamedTuple):
    """A file's unit, and what had to be read around."""

    unit: Unit
    broken: tuple[Unreadable, ...]


def lower_tree(root: Node, *, path: str, data: bytes) -> Lowered:
    """Lowers everything in a file."""
    positions = Positions(data)
    tops = parts(root)
    package = next((each for each in tops if each.type == "package_declaration"), None)
    module = "" if package is None or package.has_error else dotted(positions, parts(package)[-1])
    file = SourceFile(path=path, module=module, positions=positions, tables=_TABLES)
    imports, stars = _imports(file, tops)
    functions: dict[str, Function] = {}
    for each in [root] if root.type == "ERROR" else tops:
        _declare(file, each, functions)
    if root.has_error:
        _doubt(file, root, functions)
    builder = CfgBuilder(positions.whole())
    unit = Unit(
        path=path,
        module=module,
        imports=imports,
        stars=tuple(dict.fromkeys([module, *stars])),
        classes=file.classes,
        functions=functions,
        values={},
        body=_no_code(path, builder),
    )
    return Lowered(unit, tuple(sorted(file.broken, key=lambda told: (told.line, told.column))))


def _declare(file: SourceFile, node: Node, functions: dict[str, Function]) -> None:
    kind = node.type
    try:
        if kind == "ERROR":
            _pick_up(file, node, functions)
        elif kind in CLASSES:
            declare(file, node, None)
        elif kind == "method_declaration":
            found = top_level_function(file, node)
            functions.setdefault(found.name, found)
    except RecursionError:
        note(file, node, TOO_DEEP, "this class is not read")
    except UnknownSyntax as unknown:
        note(file, node, f"syntax that is not supported yet: {unknown}", "this class is not read")


def _pick_up(file: SourceFile, error: Node, functions: dict[str, Function]) -> None:
    """What can be read of an error outside all classes."""
    found = list(fragments(file, error))
    for shape in found:
        define_class(file, shape, None)
    if not found:
        complain(file, error, "this is left out")
        for inner in parts(error):
            _declare(file, inner, functions)


def _doubt(file: SourceFile, root: Node, functions: dict[str, Function]) -> None:
    """After an error outside all classes nobody knows what belongs to them."""
    if functions or root.is_error or has_gap(root.children):
        for info in file.classes.values():
            if UNREAD not in info.bases:
                info.bases = (*info.bases, UNREAD)
    sweep(file, root)


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
        (file.outside.statics if static else file.outside.types).add(word)
    return imports, stars


def _no_code(path: str, builder: CfgBuilder) -> Function:
    cfg = builder.finish()
    span = cfg.steps[0].span
    return Function(
        name="<module>",
        qualname="<module>",
        path=path,
        params=(),
        cfg=cfg,
        span=span,
        head=span,
        binding="none",
    )
