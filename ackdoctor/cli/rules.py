"""`ackdoctor rules` lists the rules; `ackdoctor explain` explains one of them, or the timeline of one root or tuple."""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.commands import complete_rules, find_rule, formats_option, path_parser, rulebook
from ackdoctor.cli.output import complain, context_for, destination, palette_for, width_for
from ackdoctor.model import UsageError
from ackdoctor.reporters import COLOURED, wrapped
from ackdoctor.rulebook import Rule

_NARROWEST = 100  # columns; a narrower table has no room for the summary
_WIDEST = 80  # columns of an explanation


@dataclass(slots=True, kw_only=True)
class Rules:
    """List the rules."""

    output_format: Annotated[str, formats_option("table", "json")] = "table"

    def run(self) -> int:
        """Write the rules and return the exit code: 2 if a page does not parse."""
        rules, broken = rulebook()
        with destination() as stream:
            stream.write((_as_table if self.output_format == "table" else _as_json)([*rules.values()]))
        for error in broken:
            complain(error)
        return 2 if broken else 0


def _fix_of(rule: Rule) -> str:
    """Return which fixes lint has for a rule; the other commands here need none of their modules."""
    from ackdoctor.fixes import kinds_of

    return kinds_of(rule.code)


def _as_table(rules: Sequence[Rule]) -> str:
    from ackdoctor.reporters.tables import grid, table

    rows = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity.word + ("" if rule.default else ", off"),
            "evidence": ", ".join(rule.evidence),
            "fix": _fix_of(rule),
            "what it finds": rule.summary,
        }
        for rule in rules
    ]
    context = context_for(sys.stdout)
    if not context.wraps:
        return grid([tuple(row.values()) for row in rows], context)
    if context.width >= _NARROWEST:
        # a cut code or name cannot be pasted into another command
        return table(rows, context, unfolded={"code", "name"})
    lines = []
    for row in rows:  # as one line, and its summary below it
        *words, summary = row.values()
        lines += ["  ".join(words), *wrapped(f"  {summary}", context.width, hang="  ")]
    return "".join(f"{line}\n" for line in lines)


def _as_json(rules: Sequence[Rule]) -> str:
    rows = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity.word,
            "default": rule.default,
            "evidence": list(rule.evidence),
            "fix": _fix_of(rule),
            "summary": rule.summary,
        }
        for rule in rules
    ]
    return json.dumps(rows, indent=2) + "\n"


@dataclass(slots=True, kw_only=True)
class Explain:
    """Show how to fix the findings of a rule.

    With --trace, show the timeline of one root, or of the tuples with that id.
    """

    subject: Annotated[
        str,
        typer.Argument(
            metavar="CODE|NAME|ROOT",
            help="ACK101 or missing-ack; with --trace a root or tuple id.",
            autocompletion=complete_rules,
        ),
    ]
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            parser=path_parser("--trace"), metavar="TRACE", help="The trace that has the root or tuple."
        ),
    ] = None
    acker_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="With --trace: the acker's Storm version. Default: newest."),
    ] = None
    whole: Annotated[
        bool,
        typer.Option("--all", help="Print the whole page as Markdown, in the order of the documentation."),
    ] = False

    def run(self) -> int:
        """Write the explanation and return the exit code."""
        if self.trace:
            from ackdoctor.cli.trace import explain_root

            return explain_root(self.subject, self.trace, self.acker_version)
        if self.acker_version is not None:
            raise UsageError("--acker-version needs --trace")
        if self.subject.lstrip("-").isdecimal():
            raise UsageError(
                f"`{self.subject}` is not a rule; to explain a root or a tuple, name its trace with --trace"
            )
        from ackdoctor.rulebook.pages import explanation, read_page

        page = read_page(find_rule(self.subject).path)
        with destination() as stream:
            stream.write(page.text if self.whole else _rendered(explanation(page)))
        return 0


def _rendered(markdown: str) -> str:
    """Lay the Markdown out for the terminal, at most 80 columns wide."""
    from rich.console import Console
    from rich.markdown import Markdown

    title, _, text = markdown.partition("\n\n")
    text, _, url = text.rstrip().rpartition("\n\n")
    coloured = palette_for(sys.stdout) is COLOURED
    paper = io.StringIO()
    console = Console(
        file=paper,
        width=min(width_for(sys.stdout), _WIDEST),
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        legacy_windows=False,
        highlight=False,
    )
    console.print(title.removeprefix("# "), style="bold", end="\n\n")
    console.print(Markdown(text, hyperlinks=True))
    console.print(f"\n{url.strip('<>')}", soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in paper.getvalue().splitlines())
