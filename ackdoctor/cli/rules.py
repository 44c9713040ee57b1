"""`ackdoctor rules`: list the rules."""

import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from ackdoctor.cli.streams import COLOURED, chatter, palette_for, tolerant, until_reader_leaves, width_for
from ackdoctor.model.errors import UsageError
from ackdoctor.rulebook import Rule

__all__ = ["rules"]

_NARROWEST = 60  # columns; a narrower table has no room for the summary


def rules(
    output_format: Annotated[str, typer.Option(metavar="table|json", help="The output format.")] = "table",
) -> None:
    """List the rules."""
    from ackdoctor.cli.manual import broken
    from ackdoctor.cli.manual import rules as known

    forms = {"table": _as_table, "json": _as_json}
    if output_format not in forms:
        raise UsageError(f"--output-format must be one of {', '.join(forms)}, not {output_format!r}")
    tolerant(sys.stdout)
    with until_reader_leaves():
        forms[output_format](known().values())
    for error in broken():
        chatter(error)
    if broken():
        raise typer.Exit(2)


def _as_table(found: Iterable[Rule]) -> None:
    rows = [
        (
            rule.code,
            rule.name,
            rule.severity.word + ("" if rule.default else ", off"),
            ", ".join(rule.evidence),
            rule.summary,
        )
        for rule in found
    ]
    if palette_for(sys.stdout) is COLOURED and width_for(sys.stdout) >= _NARROWEST:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(
            "code", "name", "severity", "evidence", "what it finds", box=box.SIMPLE_HEAD, pad_edge=False
        )
        for row in rows:
            table.add_row(*row)
        for column in table.columns[:2]:  # a cut code or name cannot be pasted into another command
            column.no_wrap = True
        Console(highlight=False).print(table)
        return
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for *cells, summary in rows:
        padded = "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))
        sys.stdout.write(f"{padded}  {summary}\n")


def _as_json(found: Iterable[Rule]) -> None:
    import json

    rows = [
        {
            "code": p.code,
            "name": p.name,
            "severity": p.severity.word,
            "default": p.default,
            "evidence": list(p.evidence),
            "summary": p.summary,
        }
        for p in found
    ]
    sys.stdout.write(json.dumps(rows, indent=2) + "\n")
