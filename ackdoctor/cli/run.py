"""One lint run from request to exit code: settings, engine, triage, reporters."""

import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from ackdoctor.cache_folder import CacheFolder, NoCacheError
from ackdoctor.cli.given import STDIN
from ackdoctor.cli.progress import Progress
from ackdoctor.cli.request import Request, check_frameworks, check_selectors, settings_of
from ackdoctor.cli.streams import (
    chatter,
    destination,
    glyphs_for,
    need_unread,
    need_writable,
    palette_for,
    shielded,
    until_reader_leaves,
)
from ackdoctor.config import Settings
from ackdoctor.lint.run import lint
from ackdoctor.lint.select import compare_report, filter_report
from ackdoctor.model.errors import UsageError
from ackdoctor.model.finding import Finding, Report
from ackdoctor.reporters import Context, reporter
from ackdoctor.reporters.context import PLAIN, Sources, counted

if TYPE_CHECKING:
    from ackdoctor.lint.baseline import Entry
    from ackdoctor.reporters.context import Page
    from ackdoctor.rulebook import Rule

__all__ = ["exit_code", "run"]

_FOR_PEOPLE = {"full", "concise"}
# Text without a name is taken for Python, and what begins so is none: comments, then a package, an import or a class.
_JAVA = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:(?:package|import)\s[^;\n]+;\s*\n|public\s)"
)


def run(request: Request) -> int:
    """Everything a lint run does; the result is the exit code."""
    need_writable(request.output_file)
    settings = settings_of(request)
    root = Path.cwd()
    rules, broken = _rulebook(settings)
    check_selectors(request, settings, rules, broken)
    check_frameworks(settings)
    baseline = None
    if settings.baseline is not None and not (request.write_baseline and not settings.baseline.exists()):
        from ackdoctor.lint.baseline import read

        baseline = read(settings.baseline)
    given = _standard_input(request)
    cache, why_not = _cache(request, settings)
    report = _lint(request, settings, root, given, cache)
    if not report.files and not report.unreadable:
        nothing = f"no Python or Java file under {', '.join(request.paths or ('.',))}"
        raise UsageError("; ".join((nothing, *report.notes)))
    listed = (*report.files, *report.beside, *(unread.path for unread in report.unreadable))
    settled = (path for path in (settings.source, settings.baseline) if path is not None)
    need_unread(request.output_file, (*settled, *(root / path for path in listed)))
    compared = None if baseline is None else compare_report(report, settings, baseline, root=root)
    shown = filter_report(report, settings, compared)
    _complain(shown)
    if (
        request.quiet or request.show_files or settings.output_format not in _FOR_PEOPLE
    ):  # no summary to stand below
        for item in shown.unknown_bases:
            chatter(str(item), prefix="")
    if request.write_baseline and settings.baseline is not None:
        known, unseen = ((), ()) if compared is None else (compared.known, compared.unseen)
        _accept(settings.baseline, (*known, *shown.findings), unseen, change=shown, root=root)
        shown = replace(shown, findings=())
    else:
        if not request.quiet:
            _tell(shown, request, settings, why_not)
        sources = Sources(root=root, in_memory=dict([given]) if given else {})
        _show(shown, request, settings, sources)
    counted_in = replace(shown, findings=()) if request.exit_zero else shown
    return exit_code(counted_in, settings, named=request.paths, root=root)


def exit_code(report: Report, settings: Settings, *, named: Collection[str], root: Path) -> int:
    """Return the exit code of a run: a file that was not read to its end is never clean.

    2 after an internal error, and where a named file, or under strict settings any file, could not be read; else 1 where
    there are findings; else 2 where any file could not be read.  A broken symbolic link has nothing to read.
    """
    named_paths = {os.path.realpath(path) for path in named}
    fatal = settings.fatal_unreadable or STDIN in named
    if any(
        fatal or unread.internal or os.path.realpath(root / unread.path) in named_paths
        for unread in report.unreadable
    ):
        return 2
    if report.findings:
        return 1
    places = [root / unread.path for unread in report.unreadable]
    return 0 if all(place.is_symlink() and not place.exists() for place in places) else 2


def _rulebook(settings: Settings) -> tuple[Mapping[str, "Rule"], Sequence[str]]:
    """The rules by code and what is wrong with the other pages, where somebody needs it: it is not free."""
    if not settings.selectors():
        return {}, ()
    from ackdoctor.cli.manual import broken, rules

    return rules(), broken()


def _standard_input(request: Request) -> tuple[str, bytes] | None:
    if STDIN not in request.paths:
        return None
    text = sys.stdin.buffer.read()
    if request.stdin_filename is None and _JAVA.match(text):
        raise UsageError("standard input is Java: give its name by --stdin-filename")
    return request.stdin_filename or "<stdin>", text


def _cache(request: Request, settings: Settings) -> tuple[CacheFolder | None, str]:
    """The folder with the results of earlier runs, or None and why there is none that could be used."""
    if request.no_cache:
        return None, ""
    here = Path.cwd()
    paths = [Path(path).absolute() for path in request.paths if path != STDIN]
    named = [path if os.path.isdir(path) else path.parent for path in paths]  # noqa: PTH112 - no error for a name too long
    git = (folder for folder in (here, *here.parents) if os.path.exists(folder / ".git"))  # noqa: PTH110 - as above
    try:
        return CacheFolder("lint", outside=(here, settings.directory or here, next(git, here), *named)), ""
    except NoCacheError as error:
        return None, str(error)


def _lint(
    request: Request,
    settings: Settings,
    root: Path,
    given: tuple[str, bytes] | None,
    cache: CacheFolder | None,
) -> Report:
    paths = [] if given else [Path(path) for path in request.paths or (".",)]
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


def _accept(
    file: Path, findings: Sequence[Finding], unseen: "Sequence[Entry]", *, change: Report, root: Path
) -> None:
    """Write the findings into the baseline, beside the entries that nobody looked for, and say what that changes."""
    from ackdoctor.lint.baseline import entries_of, write

    write(file, [*entries_of(findings, file, root=root), *unseen])
    amount = len(findings) + len(unseen)
    counts = f"{amount} accepted, {len(change.findings)} of them new, {len(change.fixed)} fixed"
    chatter(f"{file.name}: {counts}")


def _tell(report: Report, request: Request, settings: Settings, why_not: str) -> None:
    """What the user should know beside the findings; `why_not` is why there is no cache."""
    lines: list[str] = []
    if request.verbose:
        files, components = counted(len(report.files), "file"), counted(report.components, "component")
        lines += (f"settings: {settings.source or 'none'}", f"{files}, {components}")
        lines += [f"no cache: {why_not}"] if why_not else []
    lines += report.notes
    lines += (f"baseline: no longer occurs: {entry}" for entry in report.fixed)
    if report.fixed:
        lines.append("baseline: drop these entries with --write-baseline")
    for line in lines:
        chatter(line)


def _complain(report: Report) -> None:
    """Files that could not be read, never silent, whatever the format."""
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
            workspace=os.environ.get("GITHUB_WORKSPACE", ""),
            palette=palette_for(stream) if people else PLAIN,
            glyphs=glyphs_for(stream),
            pages=_pages,
        )
        text = StringIO()
        reporter(form)(report, text, context)
        if people and not request.quiet and not request.show_files:
            reporter("summary")(report, text, context)
        stream.write(shielded(text.getvalue(), form))
