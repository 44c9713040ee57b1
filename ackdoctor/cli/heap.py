"""`ackdoctor heap`: what a worker's heap holds, from a dump or from class histograms."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from ackdoctor.cli.given import path_called
from ackdoctor.cli.options import Isolated, seconds

if TYPE_CHECKING:
    from typer._click import Command, Context

__all__ = ["FORMS", "heap"]

FORMS = ("full", "json", "json-lines", "concise", "sarif")

_MOST = (1 << 31) - 1  # of entries


class _Kinds(TyperGroup):
    """Of a file in the place of a command it is said which two commands take one."""

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """The command that is called so; UsageError for what is a file, or looks like one."""
        found = super().get_command(ctx, cmd_name)
        file = Path(cmd_name)
        if found is None and not ctx.resilient_parsing and (file.suffix or file.exists()):
            ctx.fail(
                f"`ackdoctor heap dump {quote(cmd_name)}` reads a heap dump, "
                f"`ackdoctor heap hist {quote(cmd_name)}` class histograms"
            )
        return found


heap = typer.Typer(
    cls=_Kinds,
    help="Say what a heap keeps because tuples were acked wrongly.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Form = Annotated[str, typer.Option("--output-format", metavar="|".join(FORMS), help="How to show it.")]
Least = Annotated[
    str | None, typer.Option("--min-severity", metavar="info|warning|error", help="Hide what is less bad.")
]
Timeout = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=_MOST,
        metavar="SECONDS",
        help="topology.message.timeout.secs, where the dump does not hold the topology's configuration. Default: 30.",
    ),
]
Version = Annotated[
    str | None,
    typer.Option("--acker-version", metavar="VERSION", help="Whose acker: 1.1.0, 2.8.8. Default: unknown."),
]


@heap.command()
def dump(
    file: Annotated[
        Path,
        typer.Argument(
            parser=path_called("FILE"),
            metavar="FILE",
            help="An HPROF dump: worker.hprof, worker.hprof.gz; - is standard input.",
        ),
    ],
    *,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            parser=path_called("--trace"),
            metavar="TRACE|LOG",
            help="A trace of the same run, or its workers' logs with topology.debug, rotated and zipped ones too, or a folder of them: the acks name the culprits; may be repeated.",
        ),
    ] = None,
    message_timeout: Timeout = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_MOST,
            metavar="N",
            help="Entries of each kind to read in full. Default: 3, with --trace 1000.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, metavar="N", help="How many classes to list.")] = 20,
    acker_version: Version = None,
    output_format: Form = "full",
    min_severity: Least = None,
    isolated: Isolated = False,
) -> None:
    """Read a heap dump: who keeps which tuples, and why.

    Its classes, each acker's entries by bucket and kind, ShellBolt's inputs, spouts' pending.

    Make one with `jcmd PID GC.heap_dump worker.hprof`. Exit code: 0 nothing found; 1 findings; 2 the dump could
    not be read, or not to its end.
    """
    from ackdoctor.cli.autopsy import DumpRequest, show_dump

    request = DumpRequest(
        file=file,
        traces=tuple(trace or ()),
        message_timeout_s=message_timeout,
        samples=samples,
        top=top,
        acker_version=acker_version,
        output_format=output_format,
        min_severity=min_severity,
        isolated=isolated,
    )
    raise typer.Exit(show_dump(request))


@heap.command()
def hist(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=path_called("FILE"),
            metavar="FILE...",
            help="Outputs of jcmd GC.class_histogram or jmap -histo, in order; - is standard input.",
        ),
    ] = None,
    *,
    pid: Annotated[
        int | None, typer.Option(min=1, metavar="PID", help="Take them from this JVM with jcmd.")
    ] = None,
    count: Annotated[int, typer.Option(min=2, metavar="N", help="With --pid: how many.")] = 6,
    every: Annotated[
        float | None,
        seconds(0.1, "Time between histograms. Default: what the files say; with --pid 10."),
    ] = None,
    unreachable: Annotated[
        bool, typer.Option("--all", help="With --pid: no full collection first; garbage is counted, too.")
    ] = False,
    xmx: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The worker's -Xmx, for the time that is left: 768m, 4g."),
    ] = None,
    top: Annotated[int, typer.Option(min=0, metavar="N", help="How many classes to list.")] = 20,
    acker_version: Version = None,
    output_format: Form = "full",
    min_severity: Least = None,
    isolated: Isolated = False,
) -> None:
    """Read class histograms: what grows, and how fast.

    Over time, with what it means, and how long until the heap is full.

    Exit code: 0 nothing found; 1 findings; 2 a file could not be read.
    """
    from ackdoctor.cli.autopsy import HistRequest, show_histograms

    request = HistRequest(
        files=tuple(files or ()),
        pid=pid,
        count=count,
        every_s=every,
        live=not unreachable,
        xmx=xmx,
        top=top,
        acker_version=acker_version,
        output_format=output_format,
        min_severity=min_severity,
        isolated=isolated,
    )
    raise typer.Exit(show_histograms(request))
