"""`ackdoctor explain`: a rule's page of the manual, or what happened to one root or delivery of a trace."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.given import path_called
from ackdoctor.cli.options import rules_called
from ackdoctor.cli.streams import COLOURED, palette_for, tolerant, until_reader_leaves
from ackdoctor.model.errors import UsageError

__all__ = ["explain"]


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="CODE|NAME|ROOT",
            help="ACK101 or missing-ack; with --trace a root or delivery.",
            autocompletion=rules_called,
        ),
    ],
    *,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            parser=path_called("--trace"), metavar="TRACE", help="The trace in which the root or delivery is."
        ),
    ] = None,
    acker_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="With --trace: whose acker. Default: newest.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="All of a rule's examples, in every framework; not the first alone.")
    ] = False,
) -> None:
    """Show what a rule means and what breaking it costs.

    With --trace it tells the life of one root, or of the deliveries with that id.
    """
    if trace:
        from ackdoctor.cli.recording import show_life

        raise typer.Exit(show_life(subject, trace, acker_version))
    if acker_version is not None:
        raise UsageError("--acker-version needs --trace")
    if subject.lstrip("-").isdecimal():
        raise UsageError(f"`{subject}` is no rule; for a root or a delivery, name its trace with --trace")
    from ackdoctor.cli.manual import rule
    from ackdoctor.rulebook.brief import brief

    found = rule(subject)
    page = found.path.read_text(encoding="utf-8")
    more = f"\nAll examples, with their code: `ackdoctor explain {found.code} --all`\n"
    _show(page if whole else brief(page) + more)


def _show(text: str) -> None:
    tolerant(sys.stdout)
    with until_reader_leaves():
        if palette_for(sys.stdout) is COLOURED:
            from rich.console import Console
            from rich.markdown import Markdown

            Console().print(Markdown(text))
        else:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
