"""`ackdoctor lint`: the arguments, as the user may write them."""

from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.options import Isolated, MinSeverity, one_of, rules_called
from ackdoctor.config import FORMATS
from ackdoctor.model.errors import UsageError

__all__ = ["lint"]

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATHS", help="Files and folders; - is standard input. Default: ."),
]
Rules = list[str] | None
File = Path | None


def lint(
    *,
    paths: Paths = None,
    select: Annotated[
        Rules,
        typer.Option(
            metavar="RULES",
            help="Only these: codes, names or starts of codes, with commas.",
            autocompletion=rules_called,
        ),
    ] = None,
    ignore: Annotated[
        Rules, typer.Option(metavar="RULES", help="All but these.", autocompletion=rules_called)
    ] = None,
    extend_select: Annotated[
        Rules, typer.Option(metavar="RULES", help="These too.", autocompletion=rules_called)
    ] = None,
    min_severity: MinSeverity = None,
    min_confidence: Annotated[
        str | None,
        typer.Option(
            metavar="may|must",
            help="must: hide what rests on an assumption. Default: may.",
            autocompletion=one_of("may", "must"),
        ),
    ] = None,
    output_format: Annotated[
        str | None,
        typer.Option(metavar="|".join(FORMATS), help="Default: full.", autocompletion=one_of(*FORMATS)),
    ] = None,
    output_file: Annotated[
        File, typer.Option(metavar="FILE", help="Write there instead of standard output.")
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Count findings by rule instead of showing them.")
    ] = False,
    show_files: Annotated[
        bool, typer.Option("--show-files", help="List the files looked at instead of findings.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit 0 where findings alone would make it 1.")
    ] = False,
    strict_files: Annotated[
        bool,
        typer.Option(
            "--strict-files", help="Exit 2, not 1, if there are findings and any file cannot be read."
        ),
    ] = False,
    baseline: Annotated[
        File, typer.Option(metavar="FILE", help="Leave out the findings this file accepts.")
    ] = None,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Accept all present findings into the baseline.")
    ] = False,
    config: Annotated[
        File, typer.Option(metavar="FILE", help="Settings from here, not from the nearest file upward.")
    ] = None,
    isolated: Isolated = False,
    stdin_filename: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to call standard input. Without a name it is Python."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Processes. Default: 0, one for each core.", show_default=False
        ),
    ] = 0,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the cache of results.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Findings and errors only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say which settings and files are used.")
    ] = False,
) -> None:
    """Find broken acking in bolts and spouts, in Python and in Java.

    Exit code: 0 nothing found; 1 findings; 2 the work could not be done: a wrong argument or setting, no such
    path, no Python or Java file under it, a file named here that cannot be read to its end, or an
    internal error. If another file cannot be read to its end, the exit code is 1 with findings and 2
    without; with --strict-files it is always 2.
    """
    from ackdoctor.cli.request import Request
    from ackdoctor.cli.run import run

    request = Request(
        paths=tuple(paths or ()),
        select=_split("--select", select),
        ignore=_split("--ignore", ignore),
        extend_select=_split("--extend-select", extend_select),
        min_severity=min_severity,
        min_confidence=min_confidence,
        output_format=output_format,
        output_file=output_file,
        statistics=statistics,
        show_files=show_files,
        exit_zero=exit_zero,
        strict_files=strict_files,
        baseline=baseline,
        write_baseline=write_baseline,
        config=config,
        isolated=isolated,
        stdin_filename=stdin_filename,
        jobs=jobs,
        no_cache=no_cache,
        quiet=quiet,
        verbose=verbose,
    )
    raise typer.Exit(run(request))


def _split(option: str, values: list[str] | None) -> tuple[str, ...]:
    """The rules of an option; UsageError where it is given and names none, as an empty variable makes it."""
    parts = tuple(part.strip() for value in values or () for part in value.split(",") if part.strip())
    if values and not parts:
        raise UsageError(f"{option} names no rule")
    return parts
