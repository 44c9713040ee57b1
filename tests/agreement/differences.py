"""Where lint and run are known to differ: the tables of fixtures/topologies/DIFFERENCES.md."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["Difference", "differences"]


class Difference(NamedTuple):
    """One row; '' where a witness says nothing."""

    foretold: str
    shown: str
    because: str


def differences(page: Path) -> dict[str, list[Difference]]:
    """The rows of each topology."""
    tables: dict[str, list[Difference]] = {}
    topology = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            topology = line.removeprefix("## ")
            tables[topology] = []
        elif line.startswith("| ") and not line.startswith(("| foretold", "| ---")):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            tables[topology].append(Difference(*cells))
    return tables
