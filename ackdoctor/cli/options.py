"""Options that several commands have, declared once."""

import math
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "LONGEST_S",
    "AckerVersion",
    "Isolated",
    "MessageTimeout",
    "MinSeverity",
    "SparkConf",
    "SparkMaster",
    "a_time",
]

LONGEST_S = (1 << 31) - 1  # Storm has no longer timeout


def a_time(seconds: float | None) -> float | None:
    """Seconds that can be waited for; a range alone lets `nan` pass."""
    if seconds is not None and math.isnan(seconds):
        raise typer.BadParameter("nan is no time.")
    return seconds


AckerVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="Whose acker: 1.1.0, 2.8.8, jstorm-2.4.0, heron. Default: newest."),
]
MessageTimeout: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=LONGEST_S,
        metavar="SECONDS",
        help="Rotate the acker's map as with this message timeout.",
    ),
]
MinSeverity: TypeAlias = Annotated[
    str | None, typer.Option(metavar="info|warning|error", help="Hide what is less bad. Default: warning.")
]
Isolated: TypeAlias = Annotated[bool, typer.Option("--isolated", help="No settings file at all.")]
SparkMaster: TypeAlias = Annotated[str, typer.Option("--master", metavar="URL", help="Where Spark runs.")]
SparkConf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's; may be repeated."),
]
