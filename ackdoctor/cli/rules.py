"""`ackdoctor rules`: what can be found."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ackdoctor.cli.streams import COLOURED, chatter, palette_for, tolerant, until_reader_leaves, width_for
from ackdoctor.model.errors import UsageError

if TYPE_CHECKING:
    from ackdoctor.reporters.context import Page

__all__ = ["rules"]

_NARROWEST = 60  # columns: on fewer a table has no room for what its last column says


def rules(
    output_format: Annotated[str, typer.Option(metavar="table|json", help="How to show them.")] = "table",
) -> None:
    """List the rules."""
    from ackdoctor.cli.manual import broken, pages

    forms = {"table": _as_table, "json": _as_json}
    if output_format not in forms:
        raise UsageError(f"--output-format must be one of {', '.join(forms)}, not {output_format!r}")
    tolerant(sys.stdout)
    with until_reader_leaves():
        forms[output_format](pages())
    for trouble in broken():
        chatter(trouble)
    if broken():
        raise typer.Exit(2)


def _as_table(found: Sequence["Page"]) -> None:
    rows = [
        (
            page.code,
            page.name,
            page.severity.word + ("" if page.default else ", off"),
            ", ".join(page.evidence),
            page.summary,
        )
        for page in found
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
        for column in table.columns[:2]:  # half a code or a name can be given to no other command
            column.no_wrap = True
        Console(highlight=False).print(table)
        return
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for *cells, summary in rows:
        padded = "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))
        sys.stdout.write(f"{padded}  {summary}\n")


def _as_json(found: Sequence["Page"]) -> None:
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
