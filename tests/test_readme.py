"""The README shows what the command really does, and leaves out no rule, option, setting or field."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from ackdoctor import dialects
from ackdoctor.cli.app import app
from ackdoctor.config import _KEYS, FORMATS, load_settings
from ackdoctor.rulebook import load_rules
from tests.cli.running import Shell

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```\n)", re.DOTALL)
RULES = re.compile(r"(?<=<!-- rules -->\n).*?(?=<!-- /rules -->)", re.DOTALL)
PROMPT = "$ "


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path) -> Shell:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "COLUMNS"):  # a worker of xdist has the width of a terminal
        monkeypatch.delenv(name, raising=False)
    return Shell(monkeypatch, capsys)


def replayed(block: str, shell: Shell) -> Iterator[str]:
    """The block with what its commands print now."""
    code = 0
    for line in block.splitlines():
        if not line.startswith(PROMPT):
            continue
        yield f"{line}\n"
        command, *arguments = line.removeprefix(PROMPT).split()
        if (command, arguments) == ("echo", ["$?"]):
            yield f"{code}\n"
        elif command == "pytest":
            yield screen_of_pytest(*arguments)
        elif arguments[0] == "analyze":
            yield screen_of_spark(*arguments)
        else:
            assert command == "ackdoctor"
            code, out, err = shell(*arguments)
            yield err + out


def screen_of_pytest(*arguments: str) -> str:
    """What pytest prints in this folder, on a terminal of 80 columns, without the time it took."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        *arguments,
    ]
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "BUILD_NUMBER"}}
    environment |= {"COLUMNS": "80", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    return re.sub(r"in \d+\.\d+s =", "in 0.05s =", done.stdout) + done.stderr


def screen_of_spark(*arguments: str) -> str:
    """What a process of its own prints: the JVM goes when it does."""
    command = [sys.executable, "-m", "ackdoctor", *arguments]
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    return done.stderr + done.stdout


def rule_table() -> str:
    rows = ["| code | name | severity | what it finds |", "| --- | --- | --- | --- |"]
    for rule in load_rules().values():
        off = "" if rule.default else ", off"
        link = f"[{rule.code}](rules/{rule.path.name})"
        rows.append(f"| {link} | {rule.name} | {rule.severity.word}{off} | {rule.summary} |")
    return "".join(f"{row}\n" for row in rows)


def section(title: str) -> str:
    return re.split(r"^##+ ", TEXT.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def written(text: str, first_cell: str) -> list[str]:
    """What stands in back quotes in the first cells of the table with that heading."""
    table = text.partition(f"| {first_cell} |")[2].partition("\n\n")[0]
    cells = [re.split(r"(?<!\\)\|", row)[1] for row in table.splitlines()[2:]]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


def test_every_screen_is_what_the_command_shows(shell, request):
    spark = find_spec("pyspark") is not None and shutil.which("java") is not None

    def shown(block: re.Match[str]) -> str:
        known = spark or "$ ackdoctor analyze" not in block[0]
        return "".join(replayed(block[0], shell)) if known else block[0]

    compare(CONSOLE.sub(shown, TEXT), request)


def test_the_rules_are_those_of_the_rulebook(request):
    text = README.read_text(encoding="utf-8")  # with --golden the screens have been written by now
    compare(RULES.sub(lambda _: rule_table(), text), request)


def compare(fresh: str, request: pytest.FixtureRequest) -> None:
    """The README as it should be with the README as it is, or with --golden in its place."""
    if request.config.getoption("--golden"):
        README.write_text(fresh, encoding="utf-8", newline="\n")
    assert fresh == README.read_text(encoding="utf-8")


def test_every_option_of_lint_is_there():
    group = typer.main.get_group(app)
    command = group.get_command(typer.Context(group), "lint")
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
    named = {word.split()[0] for word in written(section("Command line"), "option")}
    assert named == options


WHERE = {
    "trace": "Trace a run",
    "analyze": "Analyse a cluster's traces and logs",
    "watch": "Watch a running cluster",
    "heap": "Investigate a heap",
    "diagnose": "What an error means",
}


@pytest.mark.parametrize("name", WHERE)
def test_every_option_of_the_other_commands_is_in_their_section(name):
    group = typer.main.get_group(app)
    command = group.get_command(typer.Context(group), name)
    leaves = [*command.commands.values()] if isinstance(command, TyperGroup) else [command]
    options = {word for leaf in leaves for parameter in leaf.params for word in parameter.opts}
    text = section(WHERE[name])
    missing = [word for word in sorted(options) if word.startswith("--") and f"`{word}" not in text]
    assert missing == []


def test_every_format_is_there():
    assert written(section("Formats"), "format") == list(FORMATS)


def test_every_field_of_a_finding_is_there(shell):
    document = json.loads(shell("lint", "--output-format", "json").out)
    finding = document["findings"][0]
    fields = section("Formats")
    assert sorted(written(fields, "field")) == sorted(finding)
    beyond = {*finding["steps"][0], *document, *document["summary"]} - set(finding)
    assert [name for name in sorted(beyond) if f"`{name}`" not in fields] == []


def test_every_setting_is_there():
    assert sorted(written(section("Configuration"), "key")) == sorted(_KEYS)


def test_the_example_settings_are_valid(tmp_path):
    example = section("Configuration").partition("```toml\n")[2].partition("```")[0]
    file = tmp_path / "pyproject.toml"
    file.write_text(example, encoding="utf-8")
    settings = load_settings(file)
    dialects.load(settings.dialect_version)
    names = {rule.code: rule.name for rule in load_rules().values()}
    assert settings.selectors() == ("ACK206", "ACK301", "ACK1", "unanchored-emit")
    assert set(names) >= {"ACK206", "ACK301"}
    assert "unanchored-emit" in names.values()


def test_every_dialect_is_there():
    rows = section("Frameworks").partition("| framework |")[2].partition("\n\n")[0].splitlines()[2:]
    names = [re.split(r" \| ", row)[1].strip("`") for row in rows]
    assert sorted(names) == [dialect.name for dialect in dialects.load()]


def test_the_example_suppressions_are_understood(shell):
    bolt = """from streamparse import Bolt


class CountBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        if not tup.values:
{silent}
        self.ack(tup)
{loud}
"""
    example = section("Suppressions").partition("```python\n")[2].partition("```")[0]
    loud, silent = example.split("\n\n")
    text = bolt.format(loud=_indented(loud, 8), silent=_indented(silent, 12))
    Path("bolt.py").write_text(text, encoding="utf-8")
    assert shell("lint", "bolt.py") == (
        0,
        "no findings in 1 file, 1 component · 2 suppressed by comments\n",
        "",
    )


def _indented(text: str, columns: int) -> str:
    return "\n".join(" " * columns + line for line in text.strip().splitlines())


@pytest.mark.parametrize("page", ["README.md", "DESIGN.md", "CHANGELOG.md", "fixtures/README.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    headings = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_where_to_begin_names_every_command():
    commands = typer.main.get_group(app).list_commands(typer.Context(typer.main.get_group(app)))
    named = set(re.findall(r"`ackdoctor ([a-z]+)", section("Where to begin")))
    assert named == {*commands} - {"rules", "watch"}  # one lists, one is for what runs already


def test_the_decisions_are_numbered_without_gaps():
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^\*\*D(\d+)\.", text, re.MULTILINE)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))  # each stands where it belongs


def test_the_hook_is_the_command():
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "entry: ackdoctor lint" in hook
    assert "types_or: [python, java]" in hook
    assert '[project.scripts]\nackdoctor = "ackdoctor.cli:command"\n' in project


def test_the_changelog_names_every_rule():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [f"{code} {rule.name}" for code, rule in load_rules().items()] == re.findall(
        r"ACK\d+ [a-z-]+", text
    )


def test_the_folders_of_the_design_are_the_folders():
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    named = re.findall(r"`(ackdoctor/[a-z_.]+)/?` \|", text)
    package = ROOT / "ackdoctor"
    there = [path for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert sorted(named) == sorted(["ackdoctor/config.py", *(f"ackdoctor/{path.name}" for path in there)])
