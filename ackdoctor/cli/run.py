"""One lint run from request to exit code: settings, engine, triage, reporters."""

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ackdoctor.cli.progress import Progress
from ackdoctor.cli.request import STDIN, Request, check_frameworks, check_selectors, settings_of
from ackdoctor.cli.streams import chatter, destination, glyphs_for, palette_for, until_reader_leaves
from ackdoctor.config import Settings
from ackdoctor.engine.analyze import lint
from ackdoctor.engine.triage import triage
from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Report
from ackdoctor.reporters import Context, reporter
from ackdoctor.reporters.context import PLAIN, Sources
from ackdoctor.reporters.footer import counted

if TYPE_CHECKING:
    from ackdoctor.reporters.context import Page

__all__ = ["exit_code", "run"]

_CACHE = ".ackdoctor_cache"
_FOR_PEOPLE = {"full", "concise"}


def run(request: Request) -> int:
    """Everything a lint run does; the result is the exit code."""
    settings = settings_of(request)
    root = Path.cwd()
    names, broken = _rulebook(settings)
    check_selectors(request, settings, names, broken)
    check_frameworks(settings)
    baseline = None
    if settings.baseline is not None and not (request.write_baseline and not settings.baseline.exists()):
        from ackdoctor.engine.baseline import read

        baseline = read(settings.baseline)
    given = _standard_input(request)
    report = _lint(request, settings, root, given)
    if not report.files and not report.unreadable:
        nothing = f"no Python or Java file under {', '.join(request.paths or ('.',))}"
        raise UsageError("; ".join((nothing, *report.notes)))
    shown = triage(report, settings, baseline, root=root, names=names)
    _complain(shown)
    if request.write_baseline and settings.baseline is not None:
        present = triage(report, settings, None, root=root, names=names)
        _accept(settings.baseline, present=present, change=shown, root=root)
        shown = replace(shown, findings=())
    else:
        if not request.quiet:
            _tell(shown, request, settings)
        _show(shown, request, settings, Sources(root=root, given=dict([given]) if given else {}))
    code = exit_code(shown, settings, named=request.paths, root=root)
    return 0 if request.exit_zero and code == 1 else code


def exit_code(report: Report, settings: Settings, *, named: Collection[str], root: Path) -> int:
    """2 where a named file, or under strict settings any file, could not be read; else 1 where there are findings."""
    named_paths = {os.path.realpath(path) for path in named}
    fatal = settings.fatal_unreadable or STDIN in named
    if any(fatal or os.path.realpath(root / unread.path) in named_paths for unread in report.unreadable):
        return 2
    return 1 if report.findings else 0


def _rulebook(settings: Settings) -> tuple[Mapping[str, str], Sequence[str]]:
    """The rules' names by code and what is wrong with the other pages, where somebody needs it: it is not free."""
    if not settings.selectors() and settings.baseline is None:
        return {}, ()
    from ackdoctor.cli.manual import broken, names

    return names(), broken()


def _standard_input(request: Request) -> tuple[str, bytes] | None:
    if STDIN not in request.paths:
        return None
    return request.stdin_filename or "<stdin>", sys.stdin.buffer.read()


def _lint(request: Request, settings: Settings, root: Path, given: tuple[str, bytes] | None) -> Report:
    paths = [] if given else [Path(path) for path in request.paths or (".",)]
    cache = None if request.no_cache else (settings.directory or root) / _CACHE
    progress = Progress(sys.stderr) if sys.stderr.isatty() and not request.quiet else None
    try:
        return lint(
            paths,
            settings,
            root=root,
            stdin=given,
            jobs=request.jobs,
            cache=cache,
            progress=progress.show if progress else None,
        )
    finally:
        if progress:
            progress.clear()


def _accept(file: Path, *, present: Report, change: Report, root: Path) -> None:
    """Write all present findings into the baseline, and say what that changes."""
    from ackdoctor.engine.baseline import write

    write(file, present.findings, root=root)
    counts = (
        f"{len(present.findings)} accepted, {len(change.findings)} of them new, {len(change.fixed)} fixed"
    )
    chatter(f"{file.name}: {counts}")


def _tell(report: Report, request: Request, settings: Settings) -> None:
    """What the user should know beside the findings."""
    if request.verbose:
        chatter(f"settings: {settings.source or 'none'}")
        files, components = counted(len(report.files), "file"), counted(report.components, "component")
        chatter(f"{files}, {components}")
    for note in report.notes:
        chatter(note)
    for entry in report.fixed:
        chatter(f"baseline: no longer occurs: {entry}")
    if report.fixed:
        chatter("baseline: drop these entries with --write-baseline")


def _complain(report: Report) -> None:
    """Files that could not be read: never silent, whatever the format."""
    for unread in report.unreadable:
        where = f"{unread.path}:{unread.line}:{unread.column}" if unread.line else unread.path
        chatter(f"{where}: {unread.reason}", prefix="")


def _pages() -> "Sequence[Page]":
    from ackdoctor.cli.manual import pages  # the rulebook, which a clean run does not open

    return pages()


def _show(report: Report, request: Request, settings: Settings, sources: Sources) -> None:
    form = settings.output_format
    people = form in _FOR_PEOPLE
    if request.show_files:
        form = "files"
    elif request.statistics:
        if not people and form != "json":
            raise UsageError(f"--statistics comes as full, concise or json, not as {form}")
        form = "statistics" if people else "statistics-json"
    with until_reader_leaves(), destination(request.output_file) as stream:
        context = Context(
            sources=sources,
            palette=palette_for(stream) if people else PLAIN,
            glyphs=glyphs_for(stream),
            pages=_pages,
        )
        reporter(form)(report, stream, context)
        if people and not request.quiet and not request.show_files:
            reporter("footer")(report, stream, context)
