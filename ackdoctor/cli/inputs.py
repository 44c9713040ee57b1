"""Arguments and options that several commands share, and the values and files that users name."""

import math
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from inspect import signature
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import typer

from ackdoctor.config import nearest
from ackdoctor.model import ConfigError, UsageError
from ackdoctor.model.finding import Severity

if TYPE_CHECKING:
    from ackdoctor.reporters.context import Page
    from ackdoctor.rulebook import Rule

__all__ = [
    "MAX_HISTOGRAM_CHARACTERS",
    "STDIN",
    "AckerVersion",
    "Isolated",
    "MessageTimeout",
    "MinSeverity",
    "SparkConf",
    "SparkMaster",
    "acker_option",
    "bytes_of",
    "callback_of",
    "complete_rules",
    "complete_words",
    "find_rule",
    "known_word",
    "lines_of",
    "milliseconds_of",
    "nonempty",
    "path_parser",
    "rule_names",
    "rule_pages",
    "rulebook",
    "seconds_option",
    "severity_of",
    "spark_settings",
]

V = TypeVar("V")
STDIN = "-"  # as a path
MAX_HISTOGRAM_CHARACTERS = 256 << 20
_MAX_SECONDS = (1 << 31) - 1  # Storm's longest timeout
_MIN_LINE = 32  # characters that a short line counts as


# ---- commands ----


class Command(Protocol):
    """A command: a dataclass whose fields are its arguments and options, and whose docstring is its help."""

    def run(self) -> int:
        """Do the work and return the exit code."""


def callback_of(command: Callable[..., Command]) -> Callable[..., None]:
    """Return the function that Typer calls: it has the command's signature, runs it and exits with its code."""

    def callback(**values: object) -> None:
        raise typer.Exit(command(**values).run())

    callback.__doc__ = command.__doc__
    callback.__signature__ = signature(command)  # type: ignore[attr-defined]
    return callback


# ---- options ----


def complete_rules(incomplete: str) -> list[str]:
    """Complete the last rule of a comma-separated list."""
    before, comma, last = incomplete.rpartition(",")
    known = (*rule_names(), *rule_names().values())
    return [f"{before}{comma}{word}" for word in known if word.startswith(last)]


def complete_words(*words: str) -> Callable[[str], list[str]]:
    """Return a completion that offers these words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def seconds_option(least: float, text: str) -> Any:
    """Return an option for a number of seconds, with its help text."""
    return typer.Option(min=least, max=_MAX_SECONDS, callback=_not_nan, metavar="SECONDS", help=text)


def _not_nan(value: float | None) -> float | None:
    """Reject `nan`, which every range accepts."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number of seconds.")
    return value


AckerVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="The version whose acker to assume: 1.1.0, 2.8.8, jstorm-2.4.0, heron. Default: newest.",
    ),
]
MessageTimeout: TypeAlias = Annotated[
    int | None,
    seconds_option(1, "The message timeout after which the acker drops entries."),
]
MinSeverity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="info|warning|error",
        help="Hide findings below this severity. Default: warning.",
        autocompletion=complete_words("info", "warning", "error"),
    ),
]
Isolated: TypeAlias = Annotated[bool, typer.Option("--isolated", help="Ignore all settings files.")]
SparkMaster: TypeAlias = Annotated[
    str, typer.Option("--master", metavar="URL", help="The Spark master to run on.")
]
SparkConf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A Spark setting; repeat it for more settings."),
]


# ---- rules ----


def rulebook() -> tuple[Mapping[str, "Rule"], Sequence[str]]:
    """Return the rules by code, and the errors of the pages that do not parse."""
    from ackdoctor.rulebook import survey  # most lint runs need no page

    rules, errors = survey()
    return rules, [str(error) for error in errors]


def rule_names() -> Mapping[str, str]:
    """Return every rule's name by its code."""
    return {code: rule.name for code, rule in rulebook()[0].items()}


def acker_option(name: str, find: Callable[[str], V]) -> V:
    """Return what `find` returns for the value of --acker-version; raise UsageError for an unknown or ambiguous name."""
    try:
        return find(name)
    except ConfigError as error:
        raise UsageError(f"--acker-version: {error}") from None


def find_rule(wanted: str) -> "Rule":
    """Return a rule by code or name; raise UsageError for anything else."""
    from ackdoctor.rulebook import find

    rules, broken = rulebook()
    found = find(rules, wanted)
    if found is None and broken:  # perhaps the wanted page
        raise UsageError(f"no rule is called `{wanted}`, or its page is broken: {'; '.join(broken)}")
    if found is None:
        known = [*rules, *(rule.name for rule in rules.values())]
        raise UsageError(
            f"no rule is called `{wanted}`{nearest(wanted, known) or '; `ackdoctor rules` lists them'}"
        )
    return found


def rule_pages() -> Sequence["Page"]:
    """Return what reports show of every rule's page, by code."""
    from ackdoctor.reporters.context import Page
    from ackdoctor.rulebook.pages import explanation, read_page  # imports a Markdown parser

    return [
        Page(
            code=rule.code,
            name=rule.name,
            summary=rule.summary,
            severity=rule.severity,
            markdown=explanation(read_page(rule.path)),
            url=rule.url,
            default=rule.default,
            evidence=rule.evidence,
        )
        for rule in rulebook()[0].values()
    ]


# ---- values ----


class _Measure(NamedTuple):
    """How an amount is written, in which units, and the largest amount that Spark can compute with."""

    noun: str
    form: str
    units: Mapping[str, int]
    example: str
    maximum: str

    def amount(self, value: str) -> int:
        """Return the amount in the smallest unit; 0 for a value of another form."""
        parts = re.fullmatch(self.form, value)
        return 0 if parts is None else int(parts[1]) * self.units[parts[2]]


_SIZE = _Measure(
    noun="size",
    form=r"(\d{1,99})([kmgt]?)b?",
    units={"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40},
    example="768m or 4g",
    maximum="1024t",
)
_TIME = _Measure(
    noun="time",
    form=r"(\d{1,99})(ms|s|m|h|)",
    units={"ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000},
    example="500ms, 10s or 5m",
    maximum="876000h",
)


def known_word(option: str, value: str, words: Iterable[str]) -> str:
    """Return the value if it is one of the words."""
    known = tuple(words)
    if value not in known:
        raise UsageError(f"{option}: {value!r} is not one of {', '.join(known)}{nearest(value, known)}")
    return value


def severity_of(value: str | None) -> Severity | None:
    """Return the severity that --min-severity names; None without a value."""
    if value is None:
        return None
    severities = {severity.word: severity for severity in Severity}
    return severities[known_word("--min-severity", value, severities)]


def nonempty(option: str, value: str) -> str:
    """Return the value, unless it is empty: an empty path would mean the current directory."""
    if not value:
        raise UsageError(f"{option}: the path is empty; write `.` for the current directory")
    return value


def path_parser(name: str) -> Callable[[str], Path]:
    """Return a parser for paths; `name` is the argument or option in error messages."""
    return lambda value: Path(nonempty(name, value))


def bytes_of(option: str, value: str) -> int:
    """Return `768m` or `4g` in bytes."""
    return _amount(option, value, _SIZE)


def milliseconds_of(option: str, value: str) -> int:
    """Return `500ms`, `10s` or `5m` in milliseconds."""
    return _amount(option, value, _TIME)


def _amount(option: str, value: str, measure: _Measure) -> int:
    amount = measure.amount(value.strip().lower())
    if not amount:
        raise UsageError(f"{option}: {value!r} is not a {measure.noun}; write {measure.example}")
    if amount > measure.amount(measure.maximum):
        raise UsageError(f"{option}: {value!r} is more than the maximum, {measure.maximum}")
    return amount


def spark_settings(conf: Sequence[str] | None) -> Mapping[str, str]:
    """Return the Spark settings of --conf."""
    pairs = [setting.partition("=") for setting in conf or ()]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise UsageError(f"--conf: {name!r} is not KEY=VALUE")
        if not name.startswith("spark."):  # Spark would ignore it silently
            raise UsageError(
                f"--conf: {name!r} does not begin with `spark.`; Hadoop's settings begin with `spark.hadoop.`"
            )
    return {name: value for name, _, value in pairs}


# ---- texts: logs and histograms, plain or compressed, from files or pipes ----


def lines_of(path: Path, faults: list[str], *, limit: int | None = None) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`; a reading error is added to `faults`.

    Reading ends after `limit` characters.
    """
    from ackdoctor.diagnose.log_lines import lines_in
    from ackdoctor.heap.hprof import open_file

    read = 0
    try:
        # a log need not be in the locale's encoding
        with nullcontext(sys.stdin.buffer) if str(path) == STDIN else open_file(path) as raw:
            buffered = raw if isinstance(raw, BufferedReader) else BufferedReader(BytesIO(raw.read()))
            for number, line in enumerate(lines_in(buffered), start=1):
                yield line
                read += max(_MIN_LINE, len(line))
                if limit is not None and read > limit:
                    faults.append(
                        f"cannot be read: it has more than {limit >> 20} MB of text; "
                        f"line {number:,} is the last that was read; extract the part that matters"
                    )
                    return
    except (OSError, EOFError, zlib.error) as error:
        faults.append(f"cannot be read: {getattr(error, 'strerror', None) or error}")
