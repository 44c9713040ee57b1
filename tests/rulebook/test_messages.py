"""The rule pages hold every message of every rule, and no module repeats one."""

import ast
import re
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import ackdoctor
from ackdoctor.rulebook import Words, catalogue
from tests.rule_pages import load_metadata

PACKAGE = Path(ackdoctor.__file__).parent
RULEBOOK = PACKAGE / "rulebook" / "__init__.py"
MODULES = sorted(PACKAGE.rglob("*.py"))
FEWEST_WORDS = 5  # of a sentence
CATALOGUES = {code: catalogue(code) for code in load_metadata()}
CASES = [(code, case, words) for code, found in CATALOGUES.items() for case, words in found.cases.items()]


def test_every_rule_has_messages():
    assert [code for code, found in CATALOGUES.items() if not found.cases] == []


@pytest.mark.parametrize(("code", "case", "words"), CASES, ids=[f"{code}-{case}" for code, case, _ in CASES])
def test_the_placeholders_of_a_case_are_names(code: str, case: str, words: Words):
    names = [
        name for template in words[1:] for _, name, _, _ in Formatter().parse(template) if name is not None
    ]
    assert all(name.isidentifier() for name in names)
    assert words.message


def test_no_module_repeats_a_sentence_of_a_page():
    templates = [template for _, _, words in CASES for template in words[1:]]
    templates += [template for found in CATALOGUES.values() for template in found.phrases.values()]
    sentences = {
        text.strip(" ,;:`")
        for template in templates
        for text, _, _, _ in Formatter().parse(template)
        if len(text.split()) >= FEWEST_WORDS
    }
    repeated = [
        (module.relative_to(PACKAGE).as_posix(), sentence)
        for module in MODULES
        for text in _strings(module)
        if len(text.split()) >= FEWEST_WORDS
        for sentence in sentences
        if sentence == text.strip(" ,;:`") or (len(sentence.split()) > FEWEST_WORDS + 1 and sentence in text)
    ]
    assert repeated == []


def test_only_the_rulebook_spells_out_rule_codes():
    spelt = {
        module.relative_to(PACKAGE).as_posix()
        for module in MODULES
        if module != RULEBOOK and any(re.fullmatch(r"ACK\d{3}", text) for text in _strings(module))
    }
    assert spelt == set()


@cache
def _strings(module: Path) -> list[str]:
    """Return the string literals of a module without its docstrings, and the literal parts of its f-strings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    constants = (
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings
    )
    return [node.value.strip() for node in constants if isinstance(node.value, str)]


ROOT = PACKAGE.parent
# A message is on the line of its rule, or on the lines below, which are indented by two spaces.
SHOWN = re.compile(
    r"^\S+:\d+:\d+:? +(?:\w+ )?(ACK\d{3}) [a-z-]+(?: +\(may\))?(?: +(\S.*)|((?:\n  \S.*)+))$", re.MULTILINE
)
SCREENS = [
    path
    for pattern in ("fixtures/**/*.txt", "fixtures/**/*.md", "docs/**/*.md", "README.md")
    for path in sorted(ROOT.glob(pattern))
    if SHOWN.search(path.read_text(encoding="utf-8", errors="replace"))
]


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_message_on_a_screen_is_one_of_its_rule(path: Path):
    shown = SHOWN.findall(path.read_text(encoding="utf-8", errors="replace"))
    messages = [(code, line or " ".join(below.split())) for code, line, below in shown]
    assert [(code, message) for code, message in messages if not _is_of_rule(code, message)] == []


def _is_of_rule(code: str, message: str) -> bool:
    """Whether a message, or one with a price after it, fits a case of the rule."""
    return any(
        re.fullmatch(_pattern(words.message) + r"(: .*)?", message)
        for words in CATALOGUES[code].cases.values()
    )


def _pattern(template: str) -> str:
    parts = Formatter().parse(template)
    return "".join(re.escape(text) + (".*" if name is not None else "") for text, name, _, _ in parts)
