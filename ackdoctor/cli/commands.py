"""The commands, the options that several of them share, and the values and files that users name.

A command's module is imported only when the command is used.  A command is a dataclass there: its fields are the
arguments and options, its docstring is the help, `run` does the work and returns the exit code.
"""

import math
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer
from typer.core import TyperGroup
from typer.main import get_group

from ackdoctor import __version__
from ackdoctor.config import nearest
from ackdoctor.model import ConfigError, UsageError
from ackdoctor.model.finding import Severity

if TYPE_CHECKING:
    from typer._click import Command, Context

    from ackdoctor.rulebook import Rule


V = TypeVar("V")
STDIN = "-"  # as a path
_COMMANDS = {  # module and class, or module and group of commands
    "lint": ("lint", "Lint"),
    "init": ("init", "Init"),
    "topology": ("topology", "Topology"),
    "rules": ("rules", "Rules"),
    "explain": ("rules", "Explain"),
    "trace": ("trace", "trace"),
    "analyze": ("analyze", "Analyze"),
    "watch": ("watch", "Watch"),
    "heap": ("heap", "heap"),
    "diagnose": ("diagnose", "Diagnose"),
    "server": ("server", "Server"),
    "lab": ("lab", "lab"),
}
_MINUS = {"ignore_unknown_options": True}  # a root may begin with a minus
_MAX_SECONDS = (1 << 31) - 1  # Storm's longest timeout
_SIZES = {  # bytes
    f"{unit}{suffix}": 1 << 10 * power
    for power, unit in enumerate(("", "k", "m", "g", "t"))
    for suffix in ("", "b")
}
_TIMES = {"ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000}  # milliseconds
_MIN_LINE = 32  # characters that a short line counts as
_LINES_PER_STEP = 1_000  # of progress


# ---- commands ----


def callback_of(command: Callable[..., Any]) -> Callable[..., None]:
    """Return the function that Typer calls: it has the command's signature, runs it and exits with its code."""

    def callback(**values: object) -> None:
        raise typer.Exit(command(**values).run())

    callback.__doc__ = command.__doc__
    callback.__signature__ = signature(command)  # type: ignore[attr-defined]
    return callback


class _Commands(TyperGroup):
    """Builds a command on demand: building all of them takes as long as linting a file."""

    def list_commands(self, ctx: "Context") -> list[str]:  # noqa: ARG002  # typer's signature
        """Return the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """Return a command; for an unknown name build all, so that typer can suggest one."""
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            if name not in self.commands:
                self.commands[name] = _built(name)
        return super().get_command(ctx, cmd_name)


def _built(name: str) -> "Command":
    module, attribute = _COMMANDS[name]
    found = getattr(import_module(f"ackdoctor.cli.{module}"), attribute)
    parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        settings = _MINUS if name == "explain" else None
        parent.command(name, context_settings=settings)(callback_of(found))
    return get_group(parent).commands[name]


# Help and errors without rich: importing it takes a third of a run on one file.
app = typer.Typer(
    cls=_Commands,
    help="Find where and why Storm-style topologies break the acking protocol.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:  # noqa: FBT001 -- the shape of an option's callback
    if requested:
        typer.echo(f"ackdoctor {__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find where and why Storm-style topologies break the acking protocol."""
    del version  # its callback prints it


# ---- values ----


def known_word(option: str, value: str, words: Iterable[str]) -> str:
    """Return the value if it is one of the words."""
    known = tuple(words)
    if value not in known:
        raise UsageError(f"{option}: {value!r} is not one of {', '.join(known)}{nearest(value, known)}")
    return value


def severity_of(value: str) -> Severity:
    """Return the severity that --min-severity names."""
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
    return _amount(option, value, _SIZES, "size; write 768m or 4g", (1024, "t"))


def milliseconds_of(option: str, value: str) -> int:
    """Return `500ms`, `10s` or `5m` in milliseconds."""
    return _amount(option, value, _TIMES, "time; write 500ms, 10s or 5m", (876_000, "h"))


def _amount(option: str, value: str, units: Mapping[str, int], noun: str, maximum: tuple[int, str]) -> int:
    """Return a number with a unit in the smallest unit; `maximum` is the largest that Spark can compute with."""
    found = re.fullmatch(r"(\d{1,99})([a-z]*)", value.strip().lower())
    amount = int(found[1]) * units.get(found[2], 0) if found else 0
    if not amount:
        raise UsageError(f"{option}: {value!r} is not a {noun}")
    if amount > maximum[0] * units[maximum[1]]:
        raise UsageError(f"{option}: {value!r} is more than the maximum, {maximum[0]}{maximum[1]}")
    return amount


def spark_settings(conf: Sequence[str] | None) -> Mapping[str, str]:
    """Return the Spark settings of --conf."""
    settings = {}
    for setting in conf or ():
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise UsageError(f"--conf: {name!r} is not KEY=VALUE")
        if not name.startswith("spark."):  # Spark would ignore it silently
            raise UsageError(
                f"--conf: {name!r} does not begin with `spark.`; Hadoop's settings begin with `spark.hadoop.`"
            )
        settings[name] = value
    return settings


def require_spark(command: str) -> None:
    """Raise UsageError if Spark is not installed."""
    if find_spec("pyspark") is None:
        raise UsageError(f"{command} needs Spark, which is not installed: pip install 'ackdoctor[spark]'")


def acker_option(name: str | None, find: Callable[[str], V], default: V) -> V:
    """Return what `find` returns for the value of --acker-version; raise UsageError for an unknown or ambiguous name."""
    try:
        return default if name is None else find(name)
    except ConfigError as error:
        raise UsageError(f"--acker-version: {error}") from None


# ---- options ----


def complete_rules(incomplete: str) -> list[str]:
    """Complete the last rule of a comma-separated list."""
    before, comma, last = incomplete.rpartition(",")
    known = (*rule_names(), *rule_names().values())
    return [f"{before}{comma}{word}" for word in known if word.startswith(last)]


def complete_words(*words: str) -> Callable[[str], list[str]]:
    """Return a completion that offers these words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def formats_option(*formats: str) -> Any:
    """Return the option --output-format, which has one of these values."""
    return typer.Option(
        metavar="FORMAT",  # the words would be wider than a narrow terminal
        help=f"The output format: {', '.join(formats)}.",
        callback=lambda value: known_word("--output-format", value, formats),
    )


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
    Severity | None,
    typer.Option(
        parser=severity_of,
        metavar="info|warning|error",
        help="Hide findings below this severity. Default: warning.",
        autocompletion=complete_words("info", "warning", "error"),
    ),
]
HeldTopology: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--topology",
        metavar="PATH",
        help="Print the guarantee of the topology in these files beside the run; repeat it for more paths.",
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Read settings from this file instead of the nearest one."),
]
Jobs: TypeAlias = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="The number of processes. Default: 0, one per core.", show_default=False
    ),
]
NoCache: TypeAlias = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the cache of results.")
]
OutputFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output-file", "-o", metavar="FILE", help="Write to a file instead of standard output."),
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


def find_rule(wanted: str) -> "Rule":
    """Return a rule by code or name; raise UsageError for anything else."""
    from ackdoctor.rulebook import find

    rules, broken = rulebook()
    found = find(rules, wanted)
    if found is not None:
        return found
    if broken:  # perhaps the wanted page
        raise UsageError(f"no rule is called `{wanted}`, or its page is broken: {'; '.join(broken)}")
    known = [*rules, *(rule.name for rule in rules.values())]
    hint = nearest(wanted, known) or "; `ackdoctor rules` lists them"
    raise UsageError(f"no rule is called `{wanted}`{hint}")


def rule_pages() -> Sequence[tuple["Rule", str]]:
    """Return each rule, by code, with the explanation that its page gives in Markdown."""
    from ackdoctor.rulebook.pages import explanation, read_page  # imports a Markdown parser

    return [(rule, explanation(read_page(rule.path))) for rule in rulebook()[0].values()]


# ---- texts: logs and histograms, plain or compressed, from files or pipes ----


def lines_of(
    path: Path,
    faults: list[str],
    *,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`; a reading error is added to `faults`.

    Reading ends after `limit` characters.  `progress` gets the position in the file now and then.
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
                if progress is not None and number % _LINES_PER_STEP == 0:
                    progress(raw.tell() if raw.seekable() else read)
                if limit is not None and read > limit:
                    faults.append(
                        f"cannot be read: it has more than {limit >> 20} MB of text; "
                        f"line {number:,} is the last that was read; extract the part that matters"
                    )
                    return
    except (OSError, EOFError, zlib.error) as error:
        faults.append(f"cannot be read: {getattr(error, 'strerror', None) or error}")
