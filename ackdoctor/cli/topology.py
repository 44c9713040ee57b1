"""`ackdoctor topology`: how components are wired, and the guarantee that the whole gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from ackdoctor.cli.commands import (
    ConfigFile,
    Isolated,
    Jobs,
    NoCache,
    OutputFile,
    complete_words,
    formats_option,
    known_word,
    nonempty,
)
from ackdoctor.cli.lint import exit_code
from ackdoctor.cli.output import (
    complain,
    complain_unread,
    context_for,
    destination,
    escaping,
    progress,
    require_not_an_input,
    require_writable,
)
from ackdoctor.config import GUARANTEES, Settings, nearest
from ackdoctor.lint.result_cache import cache_folder
from ackdoctor.lint.run import lint
from ackdoctor.lint.run_settings import settings_file
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Report
from ackdoctor.model.topology import Judged, Word
from ackdoctor.model.trace import Outcomes
from ackdoctor.reporters import Context
from ackdoctor.reporters.promise import Promise, matching
from ackdoctor.reporters.topology import document, screen, shortfalls, summary, weaker

_FORMATS = ("full", "json", "mermaid", "dot", "html")
_BROKEN = "file-does-not-parse"
_SOUGHT = "Java or Python code, Clojure or YAML that wires a spout to a bolt"


@dataclass(slots=True, kw_only=True)
class Topology:
    """Show how a topology is wired, and what it guarantees.

    The guarantee is at most once, at least once or exactly once; it is unknown if the files do not decide it. Exit
    code: 0; 1 with --require, if a topology may guarantee less; 2 the work could not be done: a wrong argument or
    setting, no such path, no topology under it, a file that cannot be read.
    """

    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATHS", help="Files and directories. Default: .")
    ] = None
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"
    output_file: OutputFile = None
    require: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(GUARANTEES),
            help="Exit with 1 if a topology may guarantee less. Unknown counts as less.",
            autocompletion=complete_words(*GUARANTEES),
        ),
    ] = None
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="As text, print only the sentences about each topology.")
    ] = False
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Show only the topology of this name; repeat it for more."),
    ] = None
    config: ConfigFile = None
    isolated: Isolated = False
    jobs: Jobs = 0
    no_cache: NoCache = False

    def __post_init__(self) -> None:
        """Raise UsageError for arguments that exclude each other, or are not known."""
        for path in self.paths or ():
            nonempty("PATHS", path)
        if self.require is not None:
            known_word("--require", self.require, GUARANTEES)
        if self.config is not None and self.isolated:
            raise UsageError("--config and --isolated exclude each other")

    def run(self) -> int:
        """Judge the topologies, write them and return the exit code."""
        require_writable(self.output_file)
        paths = self.paths or ["."]
        settings = settings_file(paths, self.config, root=Path.cwd(), isolated=self.isolated)
        report = judge(paths, settings, jobs=self.jobs, cached=not self.no_cache, quiet=self.quiet)
        require_not_an_input(
            self.output_file, (*report.files, *report.beside, *(unread.path for unread in report.unreadable))
        )
        for unread in report.unreadable:
            complain_unread(unread)
        topologies = _selected(report.topologies, self.select or ())
        if not topologies:
            raise UsageError(f"no topology under {', '.join(paths)}; looked for: {_SOUGHT}")
        for note in report.notes:
            complain(note)
        with destination(self.output_file) as stream, escaping(stream, self.output_format) as text:
            look = self.output_format
            shown = replace(report, topologies=topologies)
            form = "summary" if self.quiet and look == "full" else look
            _write(form, shown, text, context_for(stream, look), paths)
        short = _shortfalls(topologies, self.require or settings.topology.require)
        for line in short:
            complain(line, prefix="")
        broken = [
            reason for judged in topologies for reason in judged.verdict.reasons if reason.fact == _BROKEN
        ]
        for reason in broken:
            complain(f"{reason.place}: {reason.why}")
        code = exit_code(replace(report, findings=()), settings, named=paths, root=Path.cwd())
        return 1 if short else 2 if broken else code


def judge(
    paths: Sequence[str], settings: Settings, *, jobs: int = 0, cached: bool = True, quiet: bool = False
) -> Report:
    """Return the report of a lint run; its topologies are in the order of files, the weakest branch of each first."""
    cache = cache_folder(paths, settings, Path.cwd())[0] if cached else None
    with progress("judging topologies", quiet=quiet) as show:
        report = lint(
            [Path(path) for path in paths], settings, root=Path.cwd(), jobs=jobs, cache=cache, progress=show
        )
    return replace(report, topologies=tuple(sorted(report.topologies, key=_order)))


def promise_of(
    paths: Sequence[str],
    outcomes: Sequence[Outcomes],
    *,
    components: Sequence[str],
    complete: bool,
    isolated: bool,
) -> Promise:
    """Return what the topologies in these files promise beside what became of the messages of a run."""
    for path in paths:
        nonempty("--topology", path)
    report = judge(paths, settings_file(paths, None, root=Path.cwd(), isolated=isolated))
    for unread in report.unreadable:
        complain(f"--topology: {unread.path}: {unread.reason}")
    if not report.topologies:
        raise UsageError(f"--topology: no topology under {', '.join(paths)}; looked for: {_SOUGHT}")
    return Promise(
        topologies=matching(report.topologies, components),
        outcomes=tuple(outcomes),
        complete=complete and not report.unreadable,
        paths=tuple(paths),
    )


def _order(judged: Judged) -> tuple[object, ...]:
    topology, verdict = judged.topology, judged.verdict
    return (
        topology.place.path,
        topology.kind,
        topology.name,
        verdict.lower.rank,
        verdict.upper.rank,
        topology.place.line,
        topology.branch,
    )


def _selected(topologies: Sequence[Judged], names: Sequence[str]) -> tuple[Judged, ...]:
    known = {judged.topology.name for judged in topologies}
    for name in names:
        if topologies and name not in known:
            raise UsageError(f"--select: no topology is called `{name}`{nearest(name, known)}")
    return tuple(judged for judged in topologies if not names or judged.topology.name in names)


def _write(form: str, report: Report, stream: StringIO, context: Context, paths: Sequence[str]) -> None:
    if form == "summary":
        summary(report.topologies, stream, context)
    elif form == "full":
        screen(report, stream, context)
    elif form == "json":
        document(report, stream)
    elif form == "html":
        from ackdoctor.reporters.topology_html import page  # imports Jinja2

        page(report, stream, inputs=paths, made=datetime.now(timezone.utc))
    else:
        from ackdoctor.reporters.graph_formats import dot, mermaid

        {"dot": dot, "mermaid": mermaid}[form](report.topologies, stream)


def _shortfalls(topologies: Sequence[Judged], required: str) -> list[str]:
    if not required:
        return []
    word = Word(required)
    short = (judged for judged in topologies if weaker(judged, word))
    return list(
        dict.fromkeys(line for judged in short for line in shortfalls(judged, word))
    )  # branches share reasons
