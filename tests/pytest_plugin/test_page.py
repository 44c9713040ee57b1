"""The guide's page on tests names every option and every attribute of the fixture, and its tests pass."""

import re
import subprocess
import sys
from pathlib import Path

from ackdoctor.pytest_plugin.fixture import Fixture
from ackdoctor.pytest_plugin.options import LEVELS, MARK, OPTIONS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "guide" / "tests.md").read_text(encoding="utf-8")


def written(first_cell: str) -> list[str]:
    """The code in back quotes in the first cells of a table."""
    table = PAGE.partition(f"| {first_cell} |")[2].partition("\n\n")[0]
    return [word for row in table.splitlines()[2:] for word in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def test_the_page_has_every_option():
    assert written("option") == list(OPTIONS)
    assert [spec.flag for spec in OPTIONS.values() if spec.flag and f"`{spec.flag}" not in PAGE] == []
    assert f"level of tracing: {', '.join(LEVELS)}" in PAGE


def test_the_page_has_every_keyword_of_the_mark():
    keywords = re.findall(r"(\w+)=", MARK)
    assert "A mark takes `" + "`, `".join(keywords[:-1]) + f"` and `{keywords[-1]}`." in PAGE.replace(
        "\n", " "
    )


def test_the_page_has_every_attribute_of_the_fixture():
    offered = [
        name
        for name in vars(Fixture)
        if not name.startswith("_") and name not in {"linked", "outcome", "close"}
    ]
    assert [name for name in offered if f"`ackdoctor.{name}" not in PAGE and name != "ledger"] == []


def test_the_tests_of_the_page_are_those_of_the_project():
    files = (ROOT / "fixtures" / "tests" / "statements").glob("test_*.py")
    run = "".join(file.read_text(encoding="utf-8") for file in sorted(files))
    blocks = [
        block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if block.startswith("def ")
    ]
    assert blocks
    assert [block for block in blocks if block not in run] == []


def test_the_tests_of_the_page_run_in_a_checkout_as_well():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--ackdoctor"]
    file = "fixtures/tests/statements/test_bolts.py"
    ended = subprocess.run([*command, file], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert f"{file}::test_every_statement_goes_on" in ended.stdout
    assert "1 of 1 test broke the protocol: ACK104" in ended.stdout
