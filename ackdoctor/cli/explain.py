"""`ackdoctor explain`: a rule's page of the manual."""

import sys
from typing import Annotated

import typer

from ackdoctor.cli.streams import COLOURED, palette_for, tolerant, until_reader_leaves

__all__ = ["explain"]


def explain(
    rule: Annotated[str, typer.Argument(metavar="CODE|NAME", help="ACK101 or missing-ack.")],
) -> None:
    """Show what a rule means, what breaking it costs, and what stays silent."""
    from ackdoctor.cli.manual import page

    text = page(rule).markdown
    tolerant(sys.stdout)
    with until_reader_leaves():
        if palette_for(sys.stdout) is COLOURED:
            from rich.console import Console
            from rich.markdown import Markdown

            Console().print(Markdown(text))
        else:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
