"""Names: the imports of a file, the names a function binds, and what a name refers to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

import libcst as cst

from ackdoctor.model.cfg import Expr, Global, Name

__all__ = [
    "IMPORTS",
    "Imports",
    "Names",
    "Scope",
    "block_parts",
    "dotted",
    "names_bound",
    "own_nodes",
    "target_names",
]


_NAMES = ("Import", "ImportFrom", "LazyImport", "LazyImportFrom")
IMPORTS: tuple[type, ...] = tuple(getattr(cst, name) for name in _NAMES if hasattr(cst, name))
"""The types of import statements in the installed libcst."""


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` as a string; '' for any other expression."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


class Imports:
    """The import statements of a file, added in any order and read in file order."""

    def __init__(self, module: str, *, is_package: bool) -> None:
        parts = module.split(".") if module else []
        self._package = parts if is_package else parts[:-1]
        self._rows: list[tuple[int, str, str]] = []
        self._stars: list[tuple[int, str]] = []

    def add(self, node: cst.Import | cst.ImportFrom, place: int) -> None:
        """Add the statement at offset `place`."""
        if isinstance(node.names, cst.ImportStar):
            self._stars.append((place, self._source(node)))
        self._rows.extend((place, name, qualified) for name, qualified in self._pairs(node))

    def names(self, node: cst.Import | cst.ImportFrom) -> list[str]:
        """The names that a statement binds."""
        return [name for name, _ in self._pairs(node)]

    def candidates(self) -> Mapping[str, tuple[str, ...]]:
        """What each bound name may refer to, in file order."""
        found: dict[str, tuple[str, ...]] = {}
        for _, name, qualified in sorted(self._rows, key=lambda row: row[0]):
            known = found.get(name, ())
            if qualified not in known:
                found[name] = (*known, qualified)
        return found

    def stars(self) -> tuple[str, ...]:
        """The modules of `from ... import *`, in file order."""
        return tuple(dict.fromkeys(module for _, module in sorted(self._stars)))

    def may_be(self, name: str, qualified: str) -> bool:
        """Whether a name refers to `qualified` by a statement added so far."""
        return any(row[1] == name and row[2] == qualified for row in self._rows)

    def _pairs(self, node: cst.Import | cst.ImportFrom) -> list[tuple[str, str]]:
        return self._members(node) if hasattr(node, "module") else self._plain(node)  # type: ignore[arg-type]

    @staticmethod
    def _plain(node: cst.Import) -> list[tuple[str, str]]:
        rows = []
        for alias in node.names:
            qualified = dotted(alias.name)
            if alias.asname is not None:
                rows.append((dotted(alias.asname.name), qualified))
            else:
                top = qualified.partition(".")[0]
                rows.append((top, top))
        return rows

    def _members(self, node: cst.ImportFrom) -> list[tuple[str, str]]:
        if isinstance(node.names, cst.ImportStar):
            return []
        source = self._source(node)
        rows = []
        for alias in node.names:
            member = dotted(alias.name)
            name = dotted(alias.asname.name) if alias.asname is not None else member
            rows.append((name, f"{source}.{member}" if source else member))
        return rows

    def _source(self, node: cst.ImportFrom) -> str:
        level, module = len(node.relative), dotted(node.module)
        if level == 0:
            return module
        base = self._package[: max(0, len(self._package) - (level - 1))]
        return ".".join([*base, module] if module else base)


_NO_CHILDREN = (
    "__",
    "whitespace",
    "lpar",
    "rpar",
    "leading_lines",
    "comma",
    "semicolon",
    "header",
    "footer",
    "lbracket",
)
_OWN_SCOPE = frozenset({cst.FunctionDef, cst.ClassDef, cst.Lambda})
_NO_NODE = frozenset({type(None), str, bool, cst.MaybeSentinel})  # isinstance(value, CSTNode) is slow


class Scope:
    """The names of a function, a module or a comprehension, and the enclosing scope."""

    __slots__ = ("captures", "names", "parent")

    def __init__(self, names: dict[str, Expr], parent: "Scope | None") -> None:
        self.names = names
        self.parent = parent
        self.captures: set[str] = set()

    def resolve(self, word: str) -> Expr:
        """The expression that a name refers to; a name of an enclosing function becomes a capture."""
        found = self.names.get(word)
        if found is not None:
            return found
        crossed = [self]
        scope = self.parent
        while scope is not None:
            found = scope.names.get(word)
            if found is not None:
                if isinstance(found, Name):
                    for inner in crossed:
                        inner.captures.add(found.id)
                return found
            crossed.append(scope)
            scope = scope.parent
        return Global(word)

    def local(self, word: str) -> str | None:
        """The local variable that a name refers to, without capturing it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(word)
            if found is not None:
                return found.id if isinstance(found, Name) else None
            scope = scope.parent
        return None


class Names:
    """The names that a body binds, and its imports."""

    __slots__ = ("bound", "declared", "imports", "outer")

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.outer: set[str] = set()  # nonlocal
        self.declared: set[str] = set()  # global
        self.imports: list[cst.Import | cst.ImportFrom] = []

    def meanings(self, params: Iterable[str]) -> dict[str, Expr]:
        """The meanings of a function's names, for a `Scope`."""
        local = (self.bound - self.outer - self.declared) | set(params)
        meanings: dict[str, Expr] = {word: Name(word) for word in local}
        meanings.update((word, Global(word)) for word in self.declared)
        return meanings


def names_bound(body: Sequence[cst.CSTNode], *, walrus: bool) -> Names:
    """Scan statements without nested functions and classes; `walrus`: the file contains `:=`."""
    names = Names()
    stack: list[cst.CSTNode] = list(reversed(body))
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is cst.SimpleStatementLine or kind is cst.IndentedBlock or kind is cst.SimpleStatementSuite:
            stack.extend(reversed(node.body))  # type: ignore[attr-defined]
            continue
        binder = _BINDERS.get(kind)
        if binder is not None:
            binder(names, node)
        if kind in _INNER:
            stack.extend(block_parts(node))
    if walrus:
        for node in own_nodes(body):
            if type(node) is cst.NamedExpr:
                names.bound.update(target_names(node.target))
    return names


def block_parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The blocks, handlers and cases of a compound statement, last one first; none for a function or class."""
    for field in _INNER.get(type(node), ()):
        value = getattr(node, field)
        if isinstance(value, cst.CSTNode):
            yield value
        elif value is not None:
            yield from reversed(value)


def target_names(target: cst.CSTNode) -> list[str]:
    """The plain names that an assignment target binds."""
    found: list[str] = []
    stack = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Name):
            found.append(node.value)
        elif isinstance(node, (cst.Tuple, cst.List)):
            stack.extend(reversed(node.elements))
        elif isinstance(node, (cst.Element, cst.StarredElement)):
            stack.append(node.value)
    return found


def own_nodes(body: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """All nodes below, in any order, without the bodies of nested functions, classes and lambdas."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if type(node) not in _OWN_SCOPE:
            stack.extend(_child_nodes(node))


def _child_nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The children without white space and punctuation."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        for child in value if isinstance(value, (tuple, list)) else (value,):
            if type(child) not in _NO_NODE:
                yield child


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(name for name in kind.__dataclass_fields__ if not name.startswith(_NO_CHILDREN))


# ---- the names that each statement binds ----


def _assign(names: Names, node: cst.Assign) -> None:
    for target in node.targets:
        names.bound.update(target_names(target.target))


def _target(names: Names, node: cst.AnnAssign | cst.AugAssign | cst.For | cst.Del) -> None:
    names.bound.update(target_names(node.target))


def _definition(names: Names, node: cst.FunctionDef | cst.ClassDef) -> None:
    names.bound.add(node.name.value)


def _with(names: Names, node: cst.With) -> None:
    for item in node.items:
        if item.asname is not None:
            names.bound.update(target_names(item.asname.name))


def _handler(names: Names, node: cst.ExceptHandler | cst.ExceptStarHandler) -> None:
    if node.name is not None:
        names.bound.update(target_names(node.name.name))


def _global(names: Names, node: cst.Global) -> None:
    names.declared.update(item.name.value for item in node.names)


def _nonlocal(names: Names, node: cst.Nonlocal) -> None:
    names.outer.update(item.name.value for item in node.names)


def _import(names: Names, node: cst.Import | cst.ImportFrom) -> None:
    names.imports.append(node)


def _case(names: Names, node: cst.MatchCase) -> None:
    for inner in own_nodes([node.pattern]):
        if isinstance(inner, (cst.MatchAs, cst.MatchStar)) and inner.name is not None:
            names.bound.add(inner.name.value)
        elif isinstance(inner, cst.MatchMapping) and inner.rest is not None:
            names.bound.add(inner.rest.value)


_BINDERS: dict[type, Callable[..., None]] = {
    cst.Assign: _assign,
    cst.AnnAssign: _target,
    cst.AugAssign: _target,
    cst.For: _target,
    cst.Del: _target,
    cst.FunctionDef: _definition,
    cst.ClassDef: _definition,
    cst.With: _with,
    cst.ExceptHandler: _handler,
    cst.ExceptStarHandler: _handler,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    **dict.fromkeys(IMPORTS, _import),
    cst.MatchCase: _case,
}

_INNER: dict[type, tuple[str, ...]] = {
    cst.If: ("orelse", "body"),
    cst.Else: ("body",),
    cst.For: ("orelse", "body"),
    cst.While: ("orelse", "body"),
    cst.Try: ("finalbody", "orelse", "handlers", "body"),
    cst.TryStar: ("finalbody", "orelse", "handlers", "body"),
    cst.ExceptHandler: ("body",),
    cst.ExceptStarHandler: ("body",),
    cst.Finally: ("body",),
    cst.With: ("body",),
    cst.Match: ("cases",),
    cst.MatchCase: ("body",),
}
