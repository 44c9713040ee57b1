"""The imports of a file, made absolute."""

from collections.abc import Mapping

import libcst as cst

__all__ = ["IMPORTS", "Imports", "dotted"]

_NAMES = ("Import", "ImportFrom", "LazyImport", "LazyImportFrom")
IMPORTS: tuple[type, ...] = tuple(getattr(cst, name) for name in _NAMES if hasattr(cst, name))
"""The import statements that this libcst knows."""


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` as a string, or '' for anything that is no dotted name."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


class Imports:
    """Collects import statements in any order; hands them out in file order."""

    def __init__(self, module: str, *, is_package: bool) -> None:
        parts = module.split(".") if module else []
        self._package = parts if is_package else parts[:-1]
        self._rows: list[tuple[int, str, str]] = []
        self._stars: list[tuple[int, str]] = []

    def add(self, node: cst.Import | cst.ImportFrom, place: int) -> None:
        """Takes note of one statement that stands at `place`."""
        if isinstance(node.names, cst.ImportStar):
            self._stars.append((place, self._source(node)))
        self._rows.extend((place, name, qualified) for name, qualified in self._pairs(node))

    def names(self, node: cst.Import | cst.ImportFrom) -> list[str]:
        """The names one statement binds."""
        return [name for name, _ in self._pairs(node)]

    def candidates(self) -> Mapping[str, tuple[str, ...]]:
        """What each bound name may stand for, first import first."""
        found: dict[str, tuple[str, ...]] = {}
        for _, name, qualified in sorted(self._rows, key=lambda row: row[0]):
            known = found.get(name, ())
            if qualified not in known:
                found[name] = (*known, qualified)
        return found

    def stars(self) -> tuple[str, ...]:
        """The modules whose public names are all imported, first one first."""
        return tuple(dict.fromkeys(module for _, module in sorted(self._stars)))

    def may_be(self, name: str, qualified: str) -> bool:
        """Whether a bound name stands for something, as far as the statements seen up to now tell."""
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
        kept = self._package[: max(0, len(self._package) - (level - 1))]
        return ".".join([*kept, module] if module else kept)
