"""`ackdoctor watch`: a folder that traces are written to, for as long as they are."""

from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.given import named, path_called
from ackdoctor.cli.options import AckerVersion, MessageTimeout, SparkConf, SparkMaster, seconds

__all__ = ["FORMS", "watch"]

FORMS = ("full", "json-lines")


def watch(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of the traces.")],
    *,
    acker_version: AckerVersion = None,
    message_timeout: MessageTimeout = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            parser=path_called("--checkpoint"),
            metavar="DIR",
            help="Folder for what was read and reported. Default: DIR.watch, beside DIR.",
        ),
    ] = None,
    every: Annotated[
        float,
        seconds(0.1, "The interval between looks for new parts."),
    ] = 5,
    once: Annotated[bool, typer.Option("--once", help="Read what is there, then end.")] = False,
    until_idle: Annotated[
        float | None,
        seconds(0, "End when no new part has come for this time."),
    ] = None,
    remember: Annotated[
        int,
        seconds(1, "How long to remember settled roots and deliveries, by the trace's clock."),
    ] = 300,
    parts_at_once: Annotated[int, typer.Option(min=1, metavar="N", help="The most parts of one batch.")] = 64,
    output_format: Annotated[str, typer.Option(metavar="|".join(FORMS), help="How to show it.")] = "full",
    master: SparkMaster = "local[*]",
    conf: SparkConf = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No words on standard error.")] = False,
) -> None:
    """Follow a trace that grows, and report at once what went wrong.

    Which roots never become zero, and what was acked too often: each once, as soon as it is certain.

    Started again it goes on where it was, whatever ended it. Needs Spark (the extra ackdoctor[spark]) and Java 17 or 21,
    or with pyspark 4.2 or newer 25. Exit code: 0 nothing reported; 1 something reported; 2 the work could not be done, a part could not be read, or there was none.
    """
    from ackdoctor.cli.watching import Request, run

    request = Request(
        folder=Path(named("DIR", folder)),
        acker_version=acker_version,
        message_timeout_s=message_timeout,
        checkpoint=checkpoint,
        every_s=every,
        once=once,
        idle_s=until_idle,
        remember_s=remember,
        parts_at_once=parts_at_once,
        output_format=output_format,
        master=master,
        conf=tuple(conf or ()),
        quiet=quiet,
    )
    raise typer.Exit(run(request))
