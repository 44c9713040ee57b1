"""`ackdoctor trace`: record what components do, and say what it came to."""

from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.given import path_called
from ackdoctor.cli.options import AckerVersion, Isolated, MessageTimeout, MinSeverity
from ackdoctor.config import FORMATS

__all__ = ["trace"]

trace = typer.Typer(
    help="Record what components do at run time, and say what it came to.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_BEFORE_COMMAND = {"allow_interspersed_args": False, "ignore_unknown_options": True}

Command = Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run.")]
Folder = Annotated[
    Path,
    typer.Option(
        "--trace",
        parser=path_called("--trace"),
        metavar="DIR",
        help="Where the trace is written; made if need be.",
    ),
]


Traces = Annotated[
    list[Path],
    typer.Argument(
        parser=path_called("TRACE"), metavar="TRACE...", help="Folders of traces, parts of them, or patterns."
    ),
]
_HERE = Path("ackdoctor-trace")


@trace.command(context_settings=_BEFORE_COMMAND)
def run(
    command: Command,
    *,
    directory: Folder = _HERE,
    level: Annotated[
        str,
        typer.Option(
            metavar="sites|trace",
            help="trace: write a row for every event; sites: write no rows, only what --heap needs.",
        ),
    ] = "trace",
    heap: Annotated[
        bool, typer.Option("--heap", help="Look into the heaps of these processes as well; needs guppy3.")
    ] = False,
) -> None:
    """Run a command, and trace the components in it.

    Every Python process that it starts traces its bolts and spouts.

    The exit code is the command's own.
    """
    from ackdoctor.cli.recording import run_command, run_with_heaps

    raise typer.Exit((run_with_heaps if heap else run_command)(command, directory, level))


@trace.command(context_settings=_BEFORE_COMMAND)
def proxy(command: Command, *, directory: Folder = _HERE) -> None:
    """Trace what passes between ShellBolt and a component.

    It is run in place of the component, and stands between the two on the multilang pipe.

    No byte is changed, and a tracer that dies takes nothing with it. The exit code is the component's own.
    """
    from ackdoctor.cli.recording import stand_between

    raise typer.Exit(stand_between(command, directory))


@trace.command()
def report(
    traces: Traces,
    *,
    output_format: Annotated[str, typer.Option(metavar="|".join(FORMATS), help="How to show it.")] = "full",
    acker_version: AckerVersion = None,
    message_timeout: MessageTimeout = None,
    min_severity: MinSeverity = None,
    isolated: Isolated = False,
) -> None:
    """Say what a trace shows.

    Findings, entries that stay in the acker, growth, and counts per component.

    Exit code: 0 nothing found; 1 findings; 2 the work could not be done, a part of the trace could not be read
    to its end, or no row tells of acking.
    """
    from ackdoctor.cli.recording import Question, show_report

    question = Question(
        traces=tuple(traces),
        output_format=output_format,
        acker_version=acker_version,
        message_timeout_s=message_timeout,
        min_severity=min_severity,
        isolated=isolated,
    )
    raise typer.Exit(show_report(question))


@trace.command()
def cat(traces: Traces) -> None:
    """Print every row as a line of JSON, in order."""
    from ackdoctor.cli.recording import print_rows

    raise typer.Exit(print_rows(traces))
