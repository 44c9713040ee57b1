"""What the user asked of one lint run, and the settings it comes to."""

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackdoctor.cli.given import STDIN, known_word, named
from ackdoctor.config import FORMATS, Settings, find_config, load_settings, nearest, place
from ackdoctor.model.errors import ConfigError, UsageError
from ackdoctor.model.finding import Confidence, Severity

if TYPE_CHECKING:
    from ackdoctor.rulebook import Rule

__all__ = ["Request", "check_frameworks", "check_selectors", "settings_of"]


_EXCLUSIVE = (
    ("--config", "--isolated"),
    ("--quiet", "--verbose"),
    ("--statistics", "--show-files"),
    ("--write-baseline", "--output-file"),  # it makes no report
    ("--write-baseline", "--statistics"),
    ("--write-baseline", "--show-files"),
)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Request:
    """The arguments of `ackdoctor lint`, as given; None and () mean not given."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    min_severity: str | None = None
    min_confidence: str | None = None
    output_format: str | None = None
    output_file: Path | None = None
    statistics: bool = False
    show_files: bool = False
    exit_zero: bool = False
    strict_files: bool = False
    baseline: Path | None = None
    write_baseline: bool = False
    config: Path | None = None
    isolated: bool = False
    stdin_filename: str | None = None
    jobs: int = 0
    no_cache: bool = False
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        """UsageError for arguments that exclude each other."""
        for path in self.paths:
            named("PATHS", path)
        for options in _EXCLUSIVE:
            if all(getattr(self, option.strip("-").replace("-", "_")) for option in options):
                raise UsageError(f"{' and '.join(options)} exclude each other")
        if STDIN in self.paths and len(self.paths) > 1:
            raise UsageError("- (standard input) stands alone, without other paths")
        if self.stdin_filename is not None and self.paths != (STDIN,):
            raise UsageError("--stdin-filename needs - (standard input) as the path")


def settings_of(request: Request) -> Settings:
    """The settings file that governs the paths, with the command line on top.

    `--select` starts afresh: what the file selects or ignores counts no longer.
    """
    settings = _from_file(request)
    changes: dict[str, Any] = {}
    if request.select:
        changes |= {"select": request.select, "extend_select": (), "ignore": ()}
    if request.extend_select:
        changes["extend_select"] = (
            *changes.get("extend_select", settings.extend_select),
            *request.extend_select,
        )
    if request.ignore:
        changes["ignore"] = (*changes.get("ignore", settings.ignore), *request.ignore)
    if request.min_severity is not None:
        words = {severity.word: severity for severity in Severity}
        changes["min_severity"] = words[known_word("--min-severity", request.min_severity, words)]
    if request.min_confidence is not None:
        levels = {confidence.word: confidence for confidence in Confidence}
        changes["min_confidence"] = levels[known_word("--min-confidence", request.min_confidence, levels)]
    if request.output_format is not None:
        changes["output_format"] = known_word("--output-format", request.output_format, FORMATS)
    if request.baseline is not None:
        changes["baseline"] = request.baseline
    if request.strict_files:
        changes["fatal_unreadable"] = True
    settings = replace(settings, **changes)
    if request.write_baseline and settings.baseline is None:
        raise UsageError("--write-baseline needs --baseline FILE, or `baseline` in the settings")
    return settings


def _from_file(request: Request) -> Settings:
    here = Path.cwd()
    if request.isolated:
        return Settings(directory=here)
    searched = request.config is None
    path = request.config or find_config(_start(request))
    if path is None:
        return Settings(directory=here, searched=searched)
    found = load_settings(path.relative_to(here) if path.is_relative_to(here) else path)
    return replace(found, searched=searched)


def _start(request: Request) -> Path:
    """The folder that all named paths share; there the search for settings begins."""
    names = [request.stdin_filename or "."] if STDIN in request.paths else list(request.paths or ["."])
    # As they are called, like the files that will be found there: a link's own folder, not the one it leads to.
    paths = [Path(os.path.normpath(Path(name).absolute())) for name in names]
    folders = [path if os.path.isdir(path) else path.parent for path in paths]  # noqa: PTH112  # no error for a long name
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # different drives
        return Path.cwd()


def check_selectors(
    request: Request, settings: Settings, rules: Mapping[str, "Rule"], broken: Sequence[str]
) -> None:
    """A selector that fits no rule is a UsageError, or a ConfigError that names the file and line it stands in.

    So are selectors that together leave nothing to look for.  `rules` are all by code; `broken` says what is wrong with the pages that do not parse.
    """
    names = {code: rule.name for code, rule in rules.items()}
    typed = {*request.select, *request.ignore, *request.extend_select}
    for selector in settings.selectors():
        if not any(code.startswith(selector) or selector == name for code, name in names.items()):
            trouble = f"no rule is called `{selector}`"
            if broken:  # the rule that is meant may be one of these
                trouble += f", or its page is broken: {'; '.join(broken)}"
            else:
                trouble += nearest(selector, [*names, *names.values()])
            if selector in typed:
                raise UsageError(trouble)
            raise ConfigError(f"{place(settings.source, selector)}: {trouble}")
    shown = (rule for rule in rules.values() if "path" in rule.evidence)
    if rules and not any(settings.selects(rule.code, rule.name, default=rule.default) for rule in shown):
        raise UsageError("no rule is selected that lint can show; `ackdoctor rules` has those with a path")


def check_frameworks(settings: Settings) -> None:
    """A framework, version or base class that nobody knows is a ConfigError that names the file."""
    if not settings.dialect_version and not settings.extra_bases:
        return
    from ackdoctor.dialects import load  # most runs only need what a cache knows of them

    for name, version in settings.dialect_version.items():
        _check_version(name, version, settings.source)
    dialects = load(settings.dialect_version)
    classes = sorted({name for dialect in dialects for role in dialect.roles for name in role.classes})
    for base in settings.extra_bases.values():
        if base not in classes:
            trouble = f"extra-bases: no framework has a class `{base}`{nearest(base, classes)}"
            raise ConfigError(f"{place(settings.source, base)}: {trouble}")


def _check_version(name: str, version: str, source: Path | None) -> None:
    from ackdoctor.dialects import load

    try:
        load({name: version})
    except ConfigError as error:
        raise ConfigError(f"{place(source, version)}: {error}") from None
