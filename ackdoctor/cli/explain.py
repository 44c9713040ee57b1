"""`ackdoctor explain`: how to fix a finding of a rule, or the timeline of one root or tuple of a trace."""

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.inputs import complete_rules, find_rule, path_parser
from ackdoctor.cli.output import COLOURED, ignore_closed_output, palette_for, tolerant, width_for
from ackdoctor.model import UsageError

__all__ = ["Explain"]

_WIDEST = 80  # columns


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
        tolerant(sys.stdout)
        with ignore_closed_output():
            sys.stdout.write(page.text if self.whole else _rendered(explanation(page)))
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
