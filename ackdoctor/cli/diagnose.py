"""`ackdoctor diagnose`: what a worker's log or a pasted error means."""

from typing import Annotated

import typer

__all__ = ["diagnose"]


def diagnose(
    subject: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...|TEXT|-",
            help="Files (also .gz) and folders of logs, read in the order of time; the words of an error, or - for standard input.",
        ),
    ],
    *,
    output_format: Annotated[str, typer.Option(metavar="full|json", help="How to show it.")] = "full",
) -> None:
    """Say what an error in a worker's log means.

    The innermost cause, the likely causes in order, the rules, what to run next.

    Exit code: 0 nothing that is known here; 1 something is; 2 the file could not be read.
    """
    from ackdoctor.cli.consulting import show_diagnosis

    raise typer.Exit(show_diagnosis(subject, output_format))
