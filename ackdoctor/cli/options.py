"""Options that several commands have, declared once."""

import math
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

__all__ = [
    "AckerVersion",
    "Isolated",
    "MessageTimeout",
    "MinSeverity",
    "SparkConf",
    "SparkMaster",
    "one_of",
    "rules_called",
    "seconds",
]


def rules_called(incomplete: str) -> list[str]:
    """For the shell: the codes and names of rules that the last of a list with commas may become."""
    from ackdoctor.cli.manual import names

    before, comma, last = incomplete.rpartition(",")
    known = (*names(), *names().values())
    return [f"{before}{comma}{word}" for word in known if word.startswith(last)]


def one_of(*words: str) -> Callable[[str], list[str]]:
    """For the shell: the words that may stand there."""

    def called(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return called


_LONGEST_S = (1 << 31) - 1  # Storm has no longer timeout


def seconds(least: float, told: str) -> Any:
    """An option for a time that can be waited for; `told` is its help."""
    return typer.Option(min=least, max=_LONGEST_S, callback=_a_number, metavar="SECONDS", help=told)


def _a_number(value: float | None) -> float | None:
    """A range alone lets `nan` pass."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is no time.")
    return value


AckerVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="Whose acker: 1.1.0, 2.8.8, jstorm-2.4.0, heron. Default: newest."),
]
MessageTimeout: TypeAlias = Annotated[
    int | None,
    seconds(1, "Rotate the acker's map as with this message timeout."),
]
MinSeverity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="info|warning|error",
        help="Hide what is less bad. Default: warning.",
        autocompletion=one_of("info", "warning", "error"),
    ),
]
Isolated: TypeAlias = Annotated[bool, typer.Option("--isolated", help="No settings file at all.")]
SparkMaster: TypeAlias = Annotated[str, typer.Option("--master", metavar="URL", help="Where Spark runs.")]
SparkConf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's; may be repeated."),
]
