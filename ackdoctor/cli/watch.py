"""`ackdoctor watch`: a folder that traces are written to, for as long as they are."""

from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.given import named, path_called
from ackdoctor.cli.options import AckerVersion, MessageTimeout, SparkConf, SparkMaster, seconds

__all__ = ["FORMS", "watch"]

FORMS = ("full", "json-lines")


def watch(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where traces are written to.")],
    *,
    acker_version: AckerVersion = None,
    message_timeout: MessageTimeout = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            parser=path_called("--checkpoint"),
            metavar="DIR",
            help="What was read and told stands there. Default: DIR.watch, beside DIR.",
        ),
    ] = None,
    every: Annotated[
        float,
        seconds(0.1, "How often to look for new parts."),
    ] = 5,
    once: Annotated[bool, typer.Option("--once", help="Read what is there, and end.")] = False,
    until_idle: Annotated[
        float | None,
        seconds(0, "End when nothing new has come for so long."),
    ] = None,
    remember: Annotated[
        int,
        seconds(1, "How long to remember what is over, by the trace's clock."),
    ] = 300,
    parts_at_once: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many parts are taken together at most.")
    ] = 64,
    output_format: Annotated[str, typer.Option(metavar="|".join(FORMS), help="How to show it.")] = "full",
    master: SparkMaster = "local[*]",
    conf: SparkConf = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No words on standard error.")] = False,
) -> None:
    """Follow a trace that grows, and tell at once what went wrong.

    Which roots never become zero, and what was acked too often: each once, as soon as it is certain.

    Started again it goes on where it was, whatever ended it. Needs Spark (the extra ackdoctor[spark]) and Java 17 or 21,
    or with pyspark 4.2 or newer 25. Exit code: 0 nothing told; 1 something told; 2 the work could not be done, a part could not be read, or there was none.
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
