"""The number of modules that name a dialect or a rule: an upper bound for the changes that a new one needs."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ackdoctor.dialects import load

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ackdoctor"
DIALECTS = sorted(dialect.name for dialect in load())
RULES = sorted(page.name[:6] for page in (ROOT / "rules").glob("ACK*.md"))
WORD = re.compile(r"[A-Za-z0-9_]+")

OF_FRAMEWORKS = ("dialects/", "topology/readers/")  # a reader belongs to one way to write a topology
MODULES_OF_DIALECT = 2  # its description, and a driver in the lab or the tracer
MORE_MODULES_OF_DIALECT = {
    "pystorm": 3,  # the lab's driver is a module, which its table of drivers names
    "streamparse": 5,  # the example in a message of config.py, its `spec(config=...)`, and its runner in commands
}
MODULES_OF_RULE = 2  # the check, and the catalogue of messages
MORE_MODULES_OF_RULE = {  # the rules of the examples in help texts and messages
    "ACK101": 7,
    "ACK201": 3,
    "ACK501": 3,
}


def words_of(path: Path) -> frozenset[str]:
    """The words in a module's name, identifiers and strings, without docstrings and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set(WORD.findall(path.stem))
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()) as docstring):
                docstring.value = ""  # the walk comes to the constant later
            case ast.Constant(value=str() as text):
                found.update(WORD.findall(text))
            case ast.Constant(value=bytes() as data):
                found.update(WORD.findall(data.decode("latin-1")))
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.ImportFrom(module=module, names=names):
                found.update(WORD.findall(module or ""), *(WORD.findall(alias.name) for alias in names))
    return frozenset(found)


@cache
def package() -> dict[str, frozenset[str]]:
    return {path.relative_to(PACKAGE).as_posix(): words_of(path) for path in sorted(PACKAGE.rglob("*.py"))}


def modules_with(word: str) -> Iterator[str]:
    return (name for name, words in package().items() if word in words)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_few_modules_name_a_dialect(dialect: str) -> None:
    # a dialect that derives from this one names it, but adding this one does not touch it
    modules = [
        name
        for name in modules_with(dialect)
        if not name.startswith(OF_FRAMEWORKS) or name == f"dialects/{dialect}.py"
    ]
    assert len(modules) <= MORE_MODULES_OF_DIALECT.get(dialect, MODULES_OF_DIALECT), modules


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_has_one_fixtures_folder_and_one_row_in_the_docs(dialect: str) -> None:
    folders = [path.name for path in (ROOT / "fixtures" / "topologies").iterdir() if path.name == dialect]
    rows = [
        page.name
        for page in (ROOT / "docs").glob("*.md")
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and f"| `{dialect}` |" in line
    ]
    assert (folders, rows) == ([dialect], ["frameworks.md"])


@pytest.mark.parametrize("rule", RULES)
def test_few_modules_name_a_rule(rule: str) -> None:
    modules = [
        name
        for name, words in package().items()
        if rule in words or Path(name).name.startswith(f"{rule.lower()}_")
    ]
    assert len(modules) <= MORE_MODULES_OF_RULE.get(rule, MODULES_OF_RULE), modules


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_one_page_and_at_most_one_folder_of_cases(rule: str) -> None:
    pages = list((ROOT / "rules").glob(f"{rule}-*.md"))
    cases = list((ROOT / "tests" / "rules").glob(f"{rule}*"))
    assert (len(pages), len(cases)) <= (1, 1)
