"""Rules about the package that no other tool checks."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ackdoctor"
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py"))
LONGEST_FUNCTION = 60  # lines; aim at 40
LONGEST_MODULE = 600  # lines; of the tests too
BANNED = {"utils", "helpers", "common", "misc", "manager"}


@pytest.mark.parametrize("module", MODULES)
def test_a_function_is_short(module):
    long = [
        f"{module}:{name}" for name, lines in _syntax(ROOT / module).functions if lines > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_module_is_too_long():
    paths = [*PACKAGE.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in paths}
    assert [f"{name}: {count}" for name, count in lines.items() if count > LONGEST_MODULE] == []


class _Syntax(NamedTuple):
    functions: list[tuple[str, int]]  # with the number of lines
    imports: list[str]


@cache
def _syntax(path: Path) -> _Syntax:
    found = _Syntax([], [])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.append((node.name, (node.end_lineno or 0) - node.lineno + 1))
        elif isinstance(node, ast.Import):
            found.imports.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.imports.append(node.module)
    return found


def test_no_module_has_a_vague_name():
    words = {word for module in MODULES for word in re.split(r"[/_.]", module)}
    assert not words & BANNED


@pytest.mark.parametrize("module", [m for m in MODULES if not m.endswith("__main__.py")])
def test_every_exported_name_exists_once(module):
    if module.startswith("ackdoctor/server/"):
        pytest.importorskip("pygls")
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    loaded = import_module(name)
    exported = getattr(loaded, "__all__", [])
    assert [name for name in exported if not hasattr(loaded, name)] == []
    assert len(set(exported)) == len(exported)


@pytest.fixture(scope="module")
def importable() -> set[str]:
    """The packages that are installed with ackdoctor, by the names of their modules."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (group for name, group in project["optional-dependencies"].items() if name != "dev")
    dependencies = [*project["dependencies"], *(line for group in extras for line in group)]
    names = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in dependencies}
    names |= {"ackdoctor", "tomli", "tomllib", "guppy"}  # one of the toml parsers; the package guppy3
    names |= {"markdown_it", "yaml"}  # the packages markdown-it-py and pyyaml
    names |= {"py4j", "pytest", "_pytest"}  # pyspark installs py4j; pytest loads our plugin
    return names | sys.stdlib_module_names


@pytest.mark.parametrize("module", MODULES)
def test_every_imported_package_is_a_dependency(module, importable):
    assert {name.partition(".")[0] for name in _syntax(ROOT / module).imports} <= importable


def test_no_modules_import_each_other():
    """Imports inside functions count too; imports for type checking alone do not."""
    names = {_dotted(module): module for module in MODULES}
    graph = {name: sorted(_imported_modules(name, path, names)) for name, path in names.items()}
    assert list(_circles(graph)) == []


def _dotted(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported_modules(name: str, module: str, names: Mapping[str, str]) -> set[str]:
    """Return the modules of the package that a module imports; `from package import module` names the module."""
    found = set()
    pending: list[ast.AST] = [ast.parse((ROOT / module).read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & names.keys()) or {str(node.module)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        pending.extend(ast.iter_child_nodes(node))
    return (found & names.keys()) - {name}


def _circles(graph: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the modules of each circle."""
    reach: dict[str, set[str]] = {}
    for name in graph:
        seen: set[str] = set()
        pending = list(graph[name])
        while pending:
            if (other := pending.pop()) not in seen:
                seen.add(other)
                pending += graph[other]
        reach[name] = seen
    circular = {name for name in graph if name in reach[name]}
    while circular:
        name = min(circular)
        circle = sorted(other for other in reach[name] if name in reach[other])
        yield circle
        circular -= set(circle)
