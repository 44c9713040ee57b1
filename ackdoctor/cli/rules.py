"""`ackdoctor rules`: list the rules."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from ackdoctor.cli.inputs import known_word, rulebook
from ackdoctor.cli.output import (
    COLOURED,
    complain,
    context_for,
    ignore_closed_output,
    palette_for,
    tolerant,
    width_for,
)
from ackdoctor.rulebook import Rule

__all__ = ["Rules"]

_FORMATS = ("table", "json")
_NARROWEST = 60  # columns; a narrower table has no room for the summary


@dataclass(slots=True, kw_only=True)
class Rules:
    """List the rules."""

    output_format: Annotated[str, typer.Option(metavar="|".join(_FORMATS), help="The output format.")] = (
        "table"
    )

    def run(self) -> int:
        """Write the rules and return the exit code: 2 if a page does not parse."""
        form = known_word("--output-format", self.output_format, _FORMATS)
        rules, broken = rulebook()
        tolerant(sys.stdout)
        with ignore_closed_output():
            sys.stdout.write((_as_table if form == "table" else _as_json)(rules.values()))
        for error in broken:
            complain(error)
        return 2 if broken else 0


def _as_table(rules: Iterable[Rule]) -> str:
    from ackdoctor.reporters.tables import grid, render, table

    rows = [
        (
            rule.code,
            rule.name,
            rule.severity.word + ("" if rule.default else ", off"),
            ", ".join(rule.evidence),
            rule.summary,
        )
        for rule in rules
    ]
    context = context_for(sys.stdout)
    width = width_for(sys.stdout)
    if palette_for(sys.stdout) is not COLOURED or width < _NARROWEST:
        return grid(rows, context)
    # a cut code or name cannot be pasted into another command
    rows_table = table(context, "code", "name", "severity", "evidence", "what it finds", unfolded=[0, 1])
    for row in rows:
        rows_table.add_row(*row)
    return render(rows_table, width, context)


def _as_json(rules: Iterable[Rule]) -> str:
    rows = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity.word,
            "default": rule.default,
            "evidence": list(rule.evidence),
            "summary": rule.summary,
        }
        for rule in rules
    ]
    return json.dumps(rows, indent=2) + "\n"
