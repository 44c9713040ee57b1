"""`ackdoctor lint`: options, settings, the run, the report."""

import os.path
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ackdoctor.cli.commands import (
    STDIN,
    ConfigFile,
    Isolated,
    Jobs,
    MinSeverity,
    NoCache,
    OutputFile,
    complete_rules,
    complete_words,
    known_word,
    nonempty,
)
from ackdoctor.cli.output import (
    FOR_PEOPLE,
    complain,
    context_for,
    destination,
    escaped_report,
    escaping,
    progress,
    require_not_an_input,
    require_writable,
    write_step_summary,
)
from ackdoctor.config import FILES, FORMATS, Settings
from ackdoctor.lint.discover import discover
from ackdoctor.lint.run import lint
from ackdoctor.lint.run_settings import check_settings, common_directory, settings_file, with_selection
from ackdoctor.lint.select import filter_report
from ackdoctor.model import AckdoctorError, UsageError
from ackdoctor.model.finding import Confidence, Report, counted
from ackdoctor.reporters import Sources, reporter

if TYPE_CHECKING:
    from ackdoctor.cli.rerun import State
    from ackdoctor.lint.baseline import Baseline, Comparison
    from ackdoctor.lint.repair import Repairs

_EXCLUSIVE = (
    ("--config", "--isolated"),
    ("--quiet", "--verbose"),
    ("--statistics", "--show-files"),
    ("--write-baseline", "--output-file"),  # it writes no report
    ("--write-baseline", "--statistics"),
    ("--write-baseline", "--show-files"),
    ("--fix", "--fix-only"),
    *(("--watch", other) for other in ("--fix", "--fix-only", "--diff", "--write-baseline", "--output-file")),
    *(
        (one, other)
        for one in ("--fix", "--fix-only", "--diff")
        for other in ("--write-baseline", "--show-files")
    ),
)
# Unnamed text is read as Python.  Python never begins like this: comments, then a package, an import or a class.
_JAVA = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:(?:package|import)\s[^;\n]+;\s*\n|public\s)"
)


def _rules_option(text: str) -> Any:
    return typer.Option(metavar="RULES", help=text, autocompletion=complete_rules, callback=_split)


def _confidence(value: str) -> Confidence:
    levels = {confidence.word: confidence for confidence in Confidence}
    return levels[known_word("--min-confidence", value, levels)]


def _split(param: typer.CallbackParam, value: list[str] | None) -> list[str]:
    """Split comma-separated rules; raise UsageError for an option without a rule, such as an empty variable."""
    rules = [part.strip() for text in value or () for part in text.split(",") if part.strip()]
    if value and not rules:
        raise UsageError(f"{param.opts[0]}: no rule is named; `ackdoctor rules` lists them")
    return rules


@dataclass(slots=True, kw_only=True)
class Lint:
    """Find broken acking in bolts and spouts, in Python and in Java.

    Exit code: 0 nothing found; 1 findings; 2 the work could not be done: a wrong argument or setting, no such
    path, no Python or Java file and no topology under it, a file named here that cannot be read to its end, or an
    internal error. If another file cannot be read to its end, the exit code is 1 with findings and 2
    without; with --strict-files it is always 2.
    """

    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files and directories; - is standard input. Default: ."),
    ] = None
    select: Annotated[
        list[str] | None,
        _rules_option("Check only these rules: codes, names or beginnings of codes, separated by commas."),
    ] = None
    ignore: Annotated[list[str] | None, _rules_option("Do not check these rules.")] = None
    extend_select: Annotated[list[str] | None, _rules_option("Check these rules too.")] = None
    min_severity: MinSeverity = None
    min_confidence: Annotated[
        Confidence | None,
        typer.Option(
            parser=_confidence,
            metavar="may|must",
            help="must: hide findings that depend on an assumption. Default: may.",
            autocompletion=complete_words("may", "must"),
        ),
    ] = None
    output_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help=f"The output format: {', '.join(FORMATS)}. Default: full.",
            autocompletion=complete_words(*FORMATS),
        ),
    ] = None
    output_file: OutputFile = None
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Show the number of findings per rule instead of findings.")
    ] = False
    show_files: Annotated[
        bool, typer.Option("--show-files", help="List the analysed files instead of findings.")
    ] = False
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 instead of 1 if there are findings.")
    ] = False
    strict_files: Annotated[
        bool,
        typer.Option("--strict-files", help="Exit with 2 if any file cannot be read, even with findings."),
    ] = False
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hide the findings that this file accepts.")
    ] = None
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Accept all present findings into the baseline.")
    ] = False
    fix: Annotated[
        bool | None,
        typer.Option("--fix/--no-fix", help="Apply safe fixes, then report the other findings."),
    ] = None
    unsafe_fixes: Annotated[
        bool | None,
        typer.Option(
            "--unsafe-fixes/--no-unsafe-fixes",
            help="Apply or show fixes as well that need a reader's judgement.",
        ),
    ] = None
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="Print the fixes as a diff and write no file; exit with 1 if there are any."
        ),
    ] = False
    fix_only: Annotated[
        bool, typer.Option("--fix-only", help="Apply safe fixes and report nothing; exit with 0.")
    ] = False
    watch: Annotated[
        bool, typer.Option("--watch", help="Lint again after each change of a file, until Ctrl-C.")
    ] = False
    config: ConfigFile = None
    isolated: Isolated = False
    stdin_filename: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The file name of standard input. Default: standard input is Python."
        ),
    ] = None
    jobs: Jobs = 0
    no_cache: NoCache = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only findings and errors.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print which settings and files are used.")
    ] = False

    def __post_init__(self) -> None:
        """Raise UsageError for arguments that exclude each other."""
        for path in self.paths or ():
            nonempty("PATHS", path)
        for options in _EXCLUSIVE:
            if all(getattr(self, option.strip("-").replace("-", "_")) for option in options):
                raise UsageError(f"{' and '.join(options)} exclude each other")
        if self.reads_stdin and len(self.paths or ()) > 1:
            raise UsageError("PATHS: - (standard input) cannot be combined with other paths")
        if self.reads_stdin and self.watch:
            raise UsageError("--watch cannot watch - (standard input)")
        if self.stdin_filename is not None and not self.reads_stdin:
            raise UsageError("--stdin-filename needs - (standard input) as the path")

    @property
    def reads_stdin(self) -> bool:
        """Whether a path is `-`."""
        return STDIN in (self.paths or ())

    def _fixing(self, settings: Settings, text: tuple[str, bytes] | None) -> "Fixing":
        """Return what to do with fixes; the setting `fix` counts only where `--fix` may be given."""
        otherwise = self.diff or self.fix_only or self.watch or self.write_baseline or self.show_files
        return Fixing(
            apply=(settings.fix and not otherwise) or self.fix_only or self.diff,
            unsafe=settings.unsafe_fixes,
            diff=self.diff,
            quiet=self.quiet,
            stdin=text and text[0],
        )

    def _text(self) -> tuple[str, bytes] | None:
        """Return the name and the text of standard input, if that is what the run reads."""
        if not self.reads_stdin:
            return None
        text = sys.stdin.buffer.read()
        if self.stdin_filename is None and _JAVA.match(text):
            raise UsageError("standard input is Java; name it with --stdin-filename NAME.java")
        return self.stdin_filename or "<stdin>", text

    def run(self) -> int:
        """Lint the paths, with --watch again and again, and return the exit code."""
        if not self.watch:
            return self._lint(set())
        from ackdoctor.cli.rerun import rerun  # most runs do not watch

        return rerun(self._lint, self._state, quiet=self.quiet)

    def _state(self) -> "State":
        """Return the state of the files of a run, and of every file that may hold its settings."""
        from ackdoctor.cli.rerun import state_of

        root, names = Path.cwd(), self.paths or ["."]
        folder = common_directory(names)
        places = [each / name for each in (folder, *folder.parents) for name in FILES]
        settings = state_of(map(str, places if self.config is None else [*places, self.config]))
        try:
            found = discover([Path(name) for name in names], _settings(self), root)
        except AckdoctorError as error:
            return {**settings, str(error): (0, 0, 0)}
        return {
            **settings,
            **state_of(file.path for file in (*found.files, *found.foreign, *found.texts)),
        }

    def _lint(self, read: set[str]) -> int:
        """Lint the paths, write the report and return the exit code; `read` gets the other files that count."""
        require_writable(self.output_file)
        settings = _settings(self)
        root = Path.cwd()
        typed = {
            **dict.fromkeys(self.select or (), "--select"),
            **dict.fromkeys(self.ignore or (), "--ignore"),
            **dict.fromkeys(self.extend_select or (), "--extend-select"),
        }
        check_settings(settings, typed)
        baseline = _baseline(settings, or_none=self.write_baseline)
        text = self._text()
        paths = [path for path in self.paths or () if path != STDIN]
        cache, no_cache_reason = None, ""
        if not self.no_cache:
            from ackdoctor.lint.result_cache import cache_folder  # also imports what turns JSON into results

            cache, no_cache_reason = cache_folder(paths, settings, root)
        with progress("linting", quiet=self.quiet) as show:
            run = partial(
                lint,
                [] if text else [Path(path) for path in self.paths or (".",)],
                root=root,
                stdin=text,
                jobs=self.jobs,
                cache=cache,
            )
            report = run(settings, progress=show)
        if not report.files and not report.unreadable:
            raise UsageError("; ".join(_nothing(self.paths or ["."], report.notes)))
        configs = (path for path in (settings.source, settings.baseline) if path is not None)
        sources = (*report.files, *report.beside, *(unread.path for unread in report.unreadable))
        require_not_an_input(self.output_file, (*configs, *(root / path for path in sources)))
        read.update(str(root / path) for path in (*report.beside, settings.baseline) if path is not None)
        compared = _compared(report, settings, baseline, root)
        report = filter_report(report, settings, compared)
        in_memory = dict([text]) if text else {}
        edited: Mapping[str, bytes] = {}
        fixing = self._fixing(settings, text)
        if fixing.apply or settings.output_format in WITH_FIXES:
            repairs = _repairs(run, settings, baseline, root, in_memory)
            report = repair(repairs, report, fixing)
            edited = repairs.after
        _complain(self, settings, report)
        if self.diff and edited:
            return 1
        if fixing.apply and (text or self.fix_only or self.diff):
            pass  # standard output has the text or the diff, or nothing
        elif self.write_baseline and settings.baseline is not None:
            _write_baseline(settings.baseline, report, compared, root)
            report = replace(report, findings=())
        else:
            if not self.quiet:
                _print_notes(self, settings, report, no_cache_reason)
            _write_report(self, settings, report, Sources(root=root, in_memory={**in_memory, **edited}))
        if self.exit_zero or self.fix_only or self.diff:
            report = replace(report, findings=())
        return exit_code(report, settings, named=self.paths or (), root=root)


def _nothing(paths: Sequence[str], notes: Sequence[str]) -> Iterator[str]:
    """Yield why a run has no file; a note names each file that the user named in vain."""
    folders = [path for path in paths if not os.path.isfile(path)]  # noqa: PTH113  # no error for a long name
    if folders or not notes:
        yield f"no Python or Java file and no topology under {', '.join(folders or paths)}"
    yield from notes


def _baseline(settings: Settings, *, or_none: bool) -> "Baseline | None":
    """Return the baseline of the settings, if there is one; with `or_none` its file may be missing."""
    if settings.baseline is None or (or_none and not settings.baseline.exists()):
        return None
    from ackdoctor.lint.baseline import read

    return read(settings.baseline)


def _write_baseline(file: Path, report: Report, compared: "Comparison | None", root: Path) -> None:
    """Accept all findings into the baseline."""
    from ackdoctor.lint.baseline import entries_of, write

    known, unchecked = ((), ()) if compared is None else (compared.known, compared.unseen)
    accepted = entries_of((*known, *report.findings), file, root=root)
    write(file, [*accepted, *unchecked])
    amount, new = len(known) + len(report.findings) + len(unchecked), len(report.findings)
    complain(f"{file.name}: {amount} accepted, {new} of them new, {len(report.fixed)} fixed")


def _repairs(
    run: Callable[..., Report],
    settings: Settings,
    baseline: "Baseline | None",
    root: Path,
    in_memory: Mapping[str, bytes],
) -> "Repairs":
    """Return the fixes of a run; `run` lints again, with the contents of edited files."""
    from ackdoctor.lint.repair import Repairs, all_rules  # imports every fix

    return Repairs(
        lambda edited: _filtered(run(settings, edited=edited), settings, baseline, root),
        lambda edited: run(all_rules(settings), edited=edited),
        root,
        in_memory,
        settings.rules,
    )


def _filtered(report: Report, settings: Settings, baseline: "Baseline | None", root: Path) -> Report:
    return filter_report(report, settings, _compared(report, settings, baseline, root))


def _compared(
    report: Report, settings: Settings, baseline: "Baseline | None", root: Path
) -> "Comparison | None":
    """Return which findings the baseline knows, if there is one."""
    if baseline is None:
        return None
    from ackdoctor.lint.baseline import compare_report

    return compare_report(report, settings, baseline, root=root)


def exit_code(report: Report, settings: Settings, *, named: Collection[str], root: Path) -> int:
    """Return the exit code of a run; a file that could not be read to its end is never clean.

    2: an internal error, or an unreadable file that is named on the command line or subject to strict settings; else
    1: findings; else 2: any unreadable file.  A symbolic link that is broken, or leads back up, has nothing to read.
    """
    named_paths = {_entry(path) for path in named}
    fatal = settings.fatal_unreadable or STDIN in named
    if any(
        fatal or unread.internal or _entry(root / unread.path) in named_paths for unread in report.unreadable
    ):
        return 2
    if report.findings:
        return 1
    return 0 if all(_has_nothing(root / unread.path) for unread in report.unreadable) else 2


def _entry(path: str | Path) -> Path:
    """Return the entry of its directory that a path names: a link itself, not its target."""
    place = Path(path).absolute()
    return Path(os.path.realpath(place.parent)) / place.name


def _has_nothing(path: Path) -> bool:
    """Return whether a path is a symbolic link to nothing, or to a directory above it."""
    target = os.path.realpath(path)
    return path.is_symlink() and (not path.exists() or _entry(path).is_relative_to(target))


# ---- settings ----


def _settings(options: Lint) -> Settings:
    """Return the settings file that applies to the paths, overridden by the command line."""
    names = [options.stdin_filename or "."] if options.reads_stdin else options.paths or ["."]
    settings = settings_file(names, options.config, root=Path.cwd(), isolated=options.isolated)
    settings = with_selection(
        settings,
        select=options.select or None,
        extend_select=options.extend_select or (),
        ignore=options.ignore or (),
    )
    changes: dict[str, Any] = {}
    if options.output_format is not None:
        known_word("--output-format", options.output_format, FORMATS)
    for name in ("min_severity", "min_confidence", "output_format", "baseline", "fix", "unsafe_fixes"):
        if (value := getattr(options, name)) is not None:
            changes[name] = value
    if options.strict_files:
        changes["fatal_unreadable"] = True
    settings = replace(settings, **changes)
    if options.write_baseline and settings.baseline is None:
        raise UsageError("--write-baseline needs --baseline FILE, or `baseline` in the settings")
    return settings


# ---- what is printed ----


def _complain(options: Lint, settings: Settings, report: Report) -> None:
    """Print files that could not be read; and unknown bases, if no summary shows them."""
    for unread in report.unreadable:
        where = f"{unread.path}:{unread.line}:{unread.column}" if unread.line else unread.path
        complain(f"{where}: {unread.reason}")
    if options.quiet or options.show_files or settings.output_format not in FOR_PEOPLE:
        for item in report.unknown_bases:
            complain(str(item))


def _print_notes(options: Lint, settings: Settings, report: Report, no_cache_reason: str) -> None:
    lines: list[str] = []
    if options.verbose:
        files, components = counted(len(report.files), "file"), counted(report.components, "component")
        lines += (f"settings: {settings.source or 'none'}", f"{files}, {components}")
        lines += [f"no cache: {no_cache_reason}"] if no_cache_reason else []
    lines += report.notes
    lines += (f"baseline: no longer occurs: {entry}" for entry in report.fixed)
    if report.fixed:
        lines.append("baseline: drop these entries with --write-baseline")
    for line in lines:
        complain(line)


def _write_report(options: Lint, settings: Settings, report: Report, sources: Sources) -> None:
    form = settings.output_format
    people = form in FOR_PEOPLE
    shape = form
    if options.show_files:
        shape = "files"
    elif options.statistics:
        if not people and form != "json":
            raise UsageError(f"--statistics: the format {form} is not available; use full, concise or json")
        shape = "statistics" if people else "statistics-json"
    with destination(options.output_file) as stream, escaping(stream, shape) as text:
        context = context_for(stream, form, sources)
        reporter(shape)(report, text, context)
        if people and not options.quiet and not options.show_files:
            reporter("summary")(report, text, context)
    if shape == "github":
        write_step_summary(report, context)


# ---- fixes ----


WITH_FIXES = frozenset(("json", "json-lines", "sarif"))  # formats that hold fixes


class Fixing(NamedTuple):
    """The options of a run; `stdin` is the name of the only file, if that is standard input."""

    apply: bool
    unsafe: bool
    diff: bool
    quiet: bool
    stdin: str | None


def repair(repairs: "Repairs", report: Report, options: Fixing) -> Report:
    """Fix files, or show the edits, or add the fixes to the findings; return the report on what is left."""
    if not options.apply:
        return repairs.offer_all(report, unsafe=options.unsafe)
    left = repairs.fix(report, unsafe=options.unsafe)
    more = 0
    if not options.unsafe:
        more = sum(each.fix is not None for each in repairs.offer(left, safe=False).findings)
    if options.diff:
        sys.stdout.write(escaped_report(repairs.diff(), "full"))
    else:
        left = left if repairs.write() else repairs.on_disk()
        if options.stdin is not None:
            sys.stdout.flush()
            sys.stdout.buffer.write(repairs.after.get(options.stdin, repairs.before[options.stdin]))
    for path, why in sorted(repairs.refused.items()):
        complain(f"{path}: not fixed: {why}")
    if not options.quiet:
        complain(_summary(repairs, more, would=options.diff))
    return left


def _summary(repairs: "Repairs", more: int, *, would: bool) -> str:
    amounts: Counter[str] = Counter()
    for (_, code), amount in repairs.fixed.items():
        amounts[code] += amount
    total = amounts.total()
    codes = ", ".join(f"{amount} {code}" for code, amount in sorted(amounts.items()))
    parts = [
        f"{'would fix' if would else 'fixed'} {counted(total, 'finding')}" + (f" ({codes})" if codes else "")
    ]
    if more:
        parts.append(f"{counted(more, 'fix is', 'fixes are')} available with --unsafe-fixes")
    return "; ".join(parts)
