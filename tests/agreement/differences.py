"""Known differences between lint and a run: the tables of fixtures/topologies/DIFFERENCES.md."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["Difference", "differences"]


class Difference(NamedTuple):
    """One row; '' if lint or the run reports nothing."""

    by_lint: str
    by_run: str
    reason: str


def differences(page: Path) -> dict[str, list[Difference]]:
    """The rows of each topology."""
    tables: dict[str, list[Difference]] = {}
    topology = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            topology = line.removeprefix("## ")
            tables[topology] = []
        elif line.startswith("| ") and not line.startswith(("| lint", "| ---")):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            tables[topology].append(Difference(*cells))
    return tables
