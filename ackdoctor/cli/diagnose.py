"""`ackdoctor diagnose`: what a log, a thread dump or a pasted error means."""

from typing import Annotated

import typer

__all__ = ["diagnose"]


def diagnose(
    subject: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...|TEXT|-",
            help="Files (also .gz) and folders of logs, thread dumps; the words of an error, or - for standard input.",
        ),
    ],
    *,
    output_format: Annotated[str, typer.Option(metavar="full|json", help="How to show it.")] = "full",
) -> None:
    """Say what the errors in logs, or the threads of a dump, mean.

    Shows the innermost cause with its frames, the likely causes in order, the rules, what to do next.

    Exit code: 0 nothing that is known here; 1 something is; 2 a file could not be read wholly.
    """
    from ackdoctor.cli.consulting import show_diagnosis

    raise typer.Exit(show_diagnosis(subject, output_format))
