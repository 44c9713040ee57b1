"""Write the source of the documentation site: `python docs/generate.py DIRECTORY`.

The pages of docs/ and rules/ are copied with their links adapted to the site. The page of commands is generated from the commands
themselves. Tables between markers in docs/*.md are generated too; `pytest tests/test_docs.py --golden` writes them.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import typer
from typer.core import TyperGroup

from ackdoctor.cli.commands import app
from ackdoctor.config import KEYS
from ackdoctor.fixes import NO_FIX, described
from ackdoctor.pytest_plugin.options import OPTIONS
from ackdoctor.rulebook import survey

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/ackdoctor/ackdoctor/blob/main"
_MARKED = "<!-- {0} -->\n", "<!-- /{0} -->"
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")
_FENCE = re.compile(r"^```(\w+)[^\n]*$", re.MULTILINE)
_LEXERS = {"acker": "text"}  # all other fences begin with a language that Pygments knows


def rule_table(folder: str = "../rules/") -> str:
    """Return a row for each rule; `folder` is where the links find the pages."""
    rows = ["| code | name | severity | what it finds |", "| --- | --- | --- | --- |"]
    for rule in survey()[0].values():
        off = "" if rule.default else ", off"
        link = f"[{rule.code}]({folder}{rule.path.name})"
        rows.append(f"| {link} | {rule.name} | {rule.severity.word}{off} | {rule.summary} |")
    return "\n".join(rows) + "\n"


def fix_table() -> str:
    """Return what the fixes of each rule do, or why it has none."""
    rows = ["| rule | safe | unsafe |", "| --- | --- | --- |"]
    for code in survey()[0]:
        safe, unsafe = ("<br>".join(described(code, safe=kind)) for kind in (True, False))
        rows.append(f"| {code} | {safe} | {unsafe or (f'none: {NO_FIX[code]}' if code in NO_FIX else '')} |")
    return "\n".join(rows) + "\n"


def settings_table() -> str:
    """Return a row for each key of `[tool.ackdoctor]`."""
    rows = ["| key | value | default |", "| --- | --- | --- |"]
    rows += (f"| `{name}` | {key.meaning} | {key.default} |" for name, key in KEYS.items())
    return "\n".join(rows) + "\n"


def pytest_table() -> str:
    """Return a row for each option of the pytest plugin."""
    rows = ["| option | on the command line | meaning |", "| --- | --- | --- |"]
    for name, option in OPTIONS.items():
        flag = f"`{option.flag} {option.metavar or ''}".rstrip() + "`" if option.flag else ""
        flag = "`--ackdoctor`, `--ackdoctor=LEVEL`" if name == "level" else flag
        rows.append(f"| `{name}` | {flag} | {option.help} |")
    rows.append("|  | `--ackdoctor-write-baseline` | accept all findings: write them to the baseline |")
    return "\n".join(rows) + "\n"


TABLES: Mapping[str, Callable[[], str]] = {
    "rules": rule_table,
    "fixes": fix_table,
    "settings": settings_table,
    "pytest options": pytest_table,
}


def with_tables(text: str) -> str:
    """Return the page with the tables between its markers generated afresh."""
    for name, table in TABLES.items():
        begin, end = (mark.format(name) for mark in _MARKED)
        before, found, rest = text.partition(begin)
        if found:
            text = before + begin + table() + end + rest.partition(end)[2]
    return text


def commands() -> str:
    """Return the page of all commands with their help texts."""
    group = typer.main.get_group(app)
    return "# Commands\n\n" + "".join(_helps(group, "ackdoctor"))


def _helps(group: TyperGroup, words: str) -> Iterator[str]:
    context = typer.Context(group, info_name=words)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from _helps(command, f"{words} {name}")
        elif command is not None:
            inner = typer.Context(
                command, info_name=f"{words} {name}", terminal_width=80, max_content_width=80
            )
            yield f"## {words} {name}\n\n```text\n{command.get_help(inner).strip()}\n```\n\n"


def write(folder: Path) -> None:
    """Write the site's source into an empty or new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("__pycache__", "generate.py"))
    for page in (ROOT / "rules").glob("ACK*.md"):
        (folder / "rules").mkdir(exist_ok=True)
        text = _FENCE.sub(lambda fence: f"```{_LEXERS.get(fence[1], fence[1])}", page.read_text("utf-8"))
        (folder / "rules" / page.name).write_text(text, "utf-8")
    (folder / "commands.md").write_text(commands(), "utf-8")
    for page in folder.rglob("*.md"):
        page.write_text(_LINK.sub(_to_site(page, folder), page.read_text("utf-8")), "utf-8")
    listed = "".join(f"rules/{page.stem}\n" for page in sorted((ROOT / "rules").glob("ACK*.md")))
    with (folder / "rules.md").open("a", encoding="utf-8") as file:
        file.write(f"\n```{{toctree}}\n:hidden:\n\n{listed}```\n")


def _to_site(page: Path, folder: Path) -> Callable[[re.Match[str]], str]:
    """Return what replaces a link of a page: a page of the site, or a file of the repository."""

    def replaced(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if (page.parent / target).is_file():
            return link[0]
        name = Path(target).name
        if (folder / "rules" / name).is_file():
            up = "../" * (len(page.relative_to(folder).parts) - 1)
            return f"]({up}rules/{name}{anchor})"
        return f"]({REPOSITORY}/{target.replace('../', '')})"

    return replaced


if __name__ == "__main__":
    write(Path(sys.argv[1]))
