"""README, docs/ and the fixtures' pages agree with the commands: screens, tables, links and options."""

import json
import os
import re
import shlex
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
from ackdoctor.cli.commands import app
from ackdoctor.config import FORMATS, load_settings
from ackdoctor.pytest_plugin.options import OPTIONS as PYTEST
from docs import generate
from tests.cli.running import Shell
from tests.rule_pages import load_rules

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
SCREENS = [README, *DOCS, ROOT / "fixtures" / "heaps" / "README.md"]
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS, ROOT / "rules" / "README.md", ROOT / "benchmarks" / "README.md"]
PAGES += sorted((ROOT / "fixtures").rglob("README.md"))
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```\n)", re.DOTALL)
PROMPT = "$ "
OF_OTHER_TOOLS = set(
    "--golden --no-header --junit-xml --basetemp --timestamps --since --histo --rm --tag --volume".split()
)


@pytest.fixture
def shell(shell: Shell, monkeypatch, tmp_path) -> Shell:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    monkeypatch.chdir(tmp_path)
    return shell


def replay(block: str, shell: Shell) -> Iterator[str]:
    """Yield the block with the current output of its commands."""
    code = 0
    for line in block.splitlines():
        if not line.startswith(PROMPT):
            continue
        yield f"{line}\n"
        command, *arguments = shlex.split(line.removeprefix(PROMPT))
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
    """Return the output of pytest in this folder, 80 columns wide and with a fixed duration."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "-p",
        "no:asyncio",
        "-p",
        "no:pytest-lsp",
        *arguments,
    ]
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "BUILD_NUMBER"}}
    environment |= {"COLUMNS": "80", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    # a longer duration leaves less room for the signs around it
    closing = re.compile(r"=+( .* in )\d+\.\d+s(?: \([\d:]+\))? =+")
    return closing.sub(lambda line: f"{line[1]}0.05s ".center(80, "="), done.stdout) + done.stderr


def screen_of_spark(*arguments: str) -> str:
    """Return the output of a process of its own, so that its JVM ends with it."""
    command = [sys.executable, "-m", "ackdoctor", *arguments]
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    return done.stderr + done.stdout


def section(page: str, title: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.split(r"^##+ ", text.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def quoted_names(text: str, first_cell: str) -> list[str]:
    """Return the words in back quotes in the first column of the table with that heading."""
    table = text.partition(f"| {first_cell} |")[2].partition("\n\n")[0]
    cells = [re.split(r"(?<!\\)\|", row)[1] for row in table.splitlines()[2:]]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=page.relative_to(ROOT).as_posix(),
            marks=(pytest.mark.java, pytest.mark.minutes)
            if "$ ackdoctor analyze" in page.read_text("utf-8")
            else (),
        )
        for page in SCREENS
    ],
)
def test_every_screen_is_up_to_date(page, shell, request):
    spark = find_spec("pyspark") is not None and shutil.which("java") is not None

    def fresh_screen(block: re.Match[str]) -> str:
        known = spark or "$ ackdoctor analyze" not in block[0]
        return "".join(replay(block[0], shell)) if known else block[0]

    compare(page, CONSOLE.sub(fresh_screen, page.read_text(encoding="utf-8")), request)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_generated_tables_are_up_to_date(page, request):
    compare(page, generate.with_tables(page.read_text(encoding="utf-8")), request)


def compare(page: Path, fresh: str, request: pytest.FixtureRequest) -> None:
    """Compare a page with its fresh text; with --golden, write the fresh text."""
    if request.config.getoption("--golden"):
        page.write_text(fresh, encoding="utf-8", newline="\n")
    assert fresh == page.read_text(encoding="utf-8")


def options() -> Iterator[tuple[str, typer.core.TyperOption]]:
    """Yield every option of every command, with its full name: ("heap dump --top", ...)."""
    group = typer.main.get_group(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        leaves = [*command.commands.values()] if isinstance(command, TyperGroup) else [command]
        for leaf in leaves:
            for parameter in leaf.params:
                if isinstance(parameter, typer.core.TyperOption):
                    yield from (
                        (f"{name} {leaf.name} {word}", parameter)
                        for word in (*parameter.opts, *parameter.secondary_opts)
                    )


def test_every_option_has_a_help_text():
    assert [words for words, option in options() if not option.help] == []


def test_pages_name_no_unknown_option():
    ours = {words.split()[-1] for words, _ in options()}
    ours |= {spec.flag for spec in PYTEST.values() if spec.flag} | {
        "--ackdoctor",
        "--ackdoctor-write-baseline",
    }
    known = ours | {"--version", "--help", "--install-completion"} | OF_OTHER_TOOLS
    pages = [
        page for page in PAGES if page.parent.name != "benchmarks"
    ]  # its scripts have options of their own
    words = {
        word for page in pages for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", page.read_text("utf-8"))
    }
    assert words - known == set()


def test_the_docs_name_every_format():
    assert quoted_names(section("docs/guide/lint.md", "Formats"), "format") == list(FORMATS)


def test_the_docs_name_every_field_of_a_finding(shell):
    document = json.loads(shell("lint", "--output-format", "json", "fixtures/topologies/streamparse").out)
    finding = document["findings"][0]
    fields = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert sorted(quoted_names(fields, "field")) == sorted(finding)
    beyond = {*finding["steps"][0], *document, *document["summary"]} - set(finding)
    assert [name for name in sorted(beyond) if f"`{name}`" not in fields] == []


def test_the_example_settings_are_valid(tmp_path):
    example = section("docs/configuration.md", "Configuration").partition("```toml\n")[2].partition("```")[0]
    file = tmp_path / "pyproject.toml"
    file.write_text(example, encoding="utf-8")
    settings = load_settings(file)
    dialects.load(settings.dialect_version)
    names = {rule.code: rule.name for rule in load_rules().values()}
    assert settings.selectors() == ("ACK1", "ACK2", "ACK401", "ACK301", "unanchored-emit")
    assert set(names) >= {"ACK301", "ACK401"}
    assert "unanchored-emit" in names.values()


def test_the_docs_name_every_dialect():
    rows = (
        section("docs/frameworks.md", "Frameworks")
        .partition("| framework |")[2]
        .partition("\n\n")[0]
        .splitlines()[2:]
    )
    names = [re.split(r" \| ", row)[1].strip("`") for row in rows]
    assert sorted(names) == [dialect.name for dialect in dialects.load()]


def test_the_example_suppressions_work(shell):
    bolt = """from streamparse import Bolt


class CountBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        if not tup.values:
{silent}
        self.ack(tup)
{loud}
"""
    example = (
        section("docs/guide/lint.md", "Suppress a finding").partition("```python\n")[2].partition("```")[0]
    )
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_have_targets(page):
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / path if path else page, heading) for path, heading in links]
    assert [path for path, _ in targets if not path.exists()] == []
    assert [heading for path, heading in targets if heading and heading not in headings(path)] == []


def headings(page: Path) -> set[str]:
    """Return the headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_readme_names_every_command():
    commands = typer.main.get_group(app).list_commands(typer.Context(typer.main.get_group(app)))
    named = set(re.findall(r"`ackdoctor ([a-z]+)", section("README.md", "Which command")))
    assert named == {*commands} - {"rules"}


def test_the_command_has_a_script():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.scripts]\nackdoctor = "ackdoctor.cli:main"\n' in project


def test_the_changelog_names_every_rule():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [f"{code} {rule.name}" for code, rule in load_rules().items()] == re.findall(
        r"ACK\d+ [a-z-]+", text
    )


def test_the_architecture_names_every_package():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "ackdoctor").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `([a-z_]+)/` \|", text, re.MULTILINE)) == packages


@pytest.mark.parametrize(("page", "lines"), [("README.md", 180), ("docs/architecture.md", 150)])
def test_a_page_is_short(page, lines):
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= lines


def test_the_site_has_a_page_for_each_rule_and_each_command(tmp_path):
    generate.write(tmp_path / "site")

    site = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.md")}
    assert site >= {f"rules/{rule.path.name}" for rule in load_rules().values()}
    group = typer.main.get_group(app)
    helps = (tmp_path / "site" / "commands.md").read_text(encoding="utf-8")
    assert [
        name for name in group.list_commands(typer.Context(group)) if f"## ackdoctor {name}" not in helps
    ] == []
