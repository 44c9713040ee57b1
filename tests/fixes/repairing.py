"""Projects on disk, and what the fixes make of them."""

from collections.abc import Mapping
from difflib import unified_diff
from functools import partial
from pathlib import Path

from ackdoctor.config import RuleOptions, Settings
from ackdoctor.lint.repair import Repairs, all_rules
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Report, Severity
from tests.advice.component_runs import run_components

__all__ = ["diff_of", "prepare", "repaired", "run_fixed"]


def prepare(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    select: tuple[str, ...] = (),
    on_missing_path: str = "",
) -> tuple[Repairs, Report]:
    """Write the files; return the repairs of a run over them, and its report, perhaps of some rules only."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    settings = Settings(directory=folder, select=select, rules=RuleOptions(on_missing_path))
    run = partial(lint, [folder], root=folder)
    repairs = Repairs(
        lambda edited: run(settings, edited=edited),
        lambda edited: run(all_rules(settings), edited=edited),
        folder,
        {},
        settings.rules,
    )
    return repairs, run(settings)


def repaired(
    folder: Path, files: Mapping[str, str | bytes], *, unsafe: bool = False, on_missing_path: str = ""
) -> tuple[dict[str, bytes], Report]:
    """Fix the files on disk; return the changed ones and the report on what is left."""
    repairs, report = prepare(folder, files, on_missing_path=on_missing_path)
    left = repairs.fix(report, unsafe=unsafe)
    repairs.write()
    return dict(repairs.after), left


def diff_of(before: str, after: str) -> list[str]:
    """Return the lines that a fix removes and adds, with their signs."""
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def run_fixed(folder: Path, dialect: str, before: str) -> list[str]:
    """Fix a Python component with all fixes, run it with good and bad records, and return the changed lines.

    The fixed component has no warning or error, costs nothing on the bench, and is not fixed again.
    """
    project = folder / "project"
    edited, left = repaired(project, {"case.py": before}, unsafe=True)
    after = edited["case.py"].decode() if edited else before
    reported = [each for each in left.findings if each.severity > Severity.INFO]
    assert [f"{each.site.span.line} {each.code}" for each in reported] == []
    assert repaired(project, {}, unsafe=True)[0] == {}
    result = run_components(dialect, {"case.py": after}, folder / "run")
    assert (result.costs, result.reason) == ({}, "")
    return diff_of(before, after)
