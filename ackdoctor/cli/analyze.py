"""`ackdoctor analyze`: traces and a cluster's logs, on Spark."""

from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.options import AckerVersion, Isolated, MessageTimeout, MinSeverity, SparkConf, SparkMaster

__all__ = ["FORMS", "analyze"]

FORMS = ("full", "json", "json-lines", "sarif", "parquet", "html")


def analyze(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...", help="Traces or logs: files, folders, patterns, addresses that Spark reads."
        ),
    ],
    *,
    acker_version: AckerVersion = None,
    message_timeout: MessageTimeout = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Of the growth curve: 500ms, 10s, 5m. Default: as fits."),
    ] = None,
    heap: Annotated[str, typer.Option(metavar="SIZE", help="Heap of an acker's worker: 768m, 4g.")] = "768m",
    output_format: Annotated[str, typer.Option(metavar="|".join(FORMS), help="How to show it.")] = "full",
    output_file: Annotated[
        Path | None,
        typer.Option("--output-file", "-o", metavar="FILE", help="To a file instead of standard output."),
    ] = None,
    output_dir: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write the full tables there, as Parquet: verdicts, entries, deliveries, completions, growth, ackers. Earlier ones are overwritten, nothing else is.",
        ),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Exit 1 for these only: error, warning, incomplete, never, or rules, with commas.",
        ),
    ] = None,
    min_severity: MinSeverity = None,
    master: SparkMaster = "local[*]",
    conf: SparkConf = None,
    isolated: Isolated = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
) -> None:
    """Say what traces and logs of any size show, with Spark.

    Which trees never completed and why, who acked twice or never, how the acker's map grew.

    Needs Spark (the extra ackdoctor[spark]) and Java 17 or 21, or with pyspark 4.2 or newer 25. Exit code: 0 nothing
    found; 1 findings; 2 the work could not be done, an input could not be read, or no row tells of acking.
    """
    from ackdoctor.cli.examining import Request, run

    request = Request(
        inputs=tuple(inputs),
        acker_version=acker_version,
        message_timeout_s=message_timeout,
        window=window,
        heap=heap,
        output_format=output_format,
        output_file=output_file,
        output_dir=output_dir,
        fail_on=fail_on,
        min_severity=min_severity,
        master=master,
        conf=tuple(conf or ()),
        isolated=isolated,
        quiet=quiet,
    )
    raise typer.Exit(run(request))
