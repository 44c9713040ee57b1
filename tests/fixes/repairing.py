"""Projects on disk, and what the fixes make of them."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ackdoctor.config import Settings
from ackdoctor.lint.repair import Repairs, all_rules
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Report

__all__ = ["prepare", "repaired"]


def prepare(
    folder: Path, files: Mapping[str, str | bytes], *, select: tuple[str, ...] = ()
) -> tuple[Repairs, Report]:
    """Write the files; return the repairs of a run over them, and its report, perhaps of some rules only."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    settings = Settings(directory=folder, select=select)
    run = partial(lint, [folder], root=folder)
    repairs = Repairs(
        lambda edited: run(settings, edited=edited),
        lambda edited: run(all_rules(settings), edited=edited),
        folder,
        {},
    )
    return repairs, run(settings)


def repaired(
    folder: Path, files: Mapping[str, str | bytes], *, unsafe: bool = False
) -> tuple[dict[str, bytes], Report]:
    """Fix the files on disk; return the changed ones and the report on what is left."""
    repairs, report = prepare(folder, files)
    left = repairs.fix(report, unsafe=unsafe)
    repairs.write()
    return dict(repairs.after), left
