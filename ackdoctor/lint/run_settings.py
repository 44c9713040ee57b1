"""The settings of a run: the file that applies to its paths, and whether its rules, frameworks and versions exist."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ackdoctor.config import Settings, exactness, find_config, load_settings, nearest, place
from ackdoctor.model import ConfigError, UsageError

_CHECKED = frozenset(("path", "wiring"))  # the evidence that lint finds


def settings_file(
    paths: Sequence[str], config: Path | None, *, root: Path, isolated: bool = False
) -> Settings:
    """Return the settings of a run on these paths: from `config`, or from the nearest file."""
    if isolated:
        return Settings(directory=root)
    searched = config is None
    path = config or find_config(common_directory(paths))
    if path is None:
        return Settings(directory=root, searched=searched)
    here = Path.cwd()
    found = load_settings(path.relative_to(here) if path.is_relative_to(here) else path)
    return replace(found, searched=searched)


def with_selection(
    settings: Settings,
    *,
    select: Sequence[str] | None,
    extend_select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Settings:
    """Return settings with a selection of the user: `select` replaces what the file selects and ignores."""
    if select is not None:
        settings = replace(settings, select=tuple(select), extend_select=(), ignore=())
    return replace(
        settings,
        extend_select=(*settings.extend_select, *extend_select),
        ignore=(*settings.ignore, *ignore),
    )


def common_directory(names: Sequence[str]) -> Path:
    """Return the directory that all paths share: the search for settings begins there."""
    # paths stay as the user writes them: a link's own directory, not the one it points to
    paths = [Path(os.path.normpath(Path(name).absolute())) for name in names]
    directories = [path if os.path.isdir(path) else path.parent for path in paths]  # no error for a long name
    try:
        return Path(os.path.commonpath(directories))
    except ValueError:  # different drives
        return Path.cwd()


def check_settings(settings: Settings, typed: Mapping[str, str] | None = None) -> None:
    """Raise ConfigError for an unknown rule, framework, version or base class, and UsageError if no rule is left.

    `typed` maps a selector that is not from the settings file to its option, for a UsageError.
    """
    _check_selectors(settings, typed or {})
    _check_frameworks(settings)


def _check_selectors(settings: Settings, typed: Mapping[str, str]) -> None:
    if not settings.selectors():
        return
    from ackdoctor.rulebook import survey  # most runs need no page

    rules, broken = survey()
    names = {code: rule.name for code, rule in rules.items()}
    for selector in settings.selectors():
        if not any(exactness([selector], code, name) for code, name in names.items()):
            fault = f"no rule is called `{selector}`"
            if broken:  # perhaps the wanted page
                fault += f", or its page is broken: {'; '.join(map(str, broken))}"
            else:
                fault += nearest(selector, [*names, *names.values()])
            if selector in typed:
                raise UsageError(f"{typed[selector]}: {fault}")
            raise ConfigError(f"{place(settings.source, selector)}: {fault}")
    checkable = (rule for rule in rules.values() if not _CHECKED.isdisjoint(rule.evidence))
    if rules and not any(settings.selects(rule.code, rule.name, default=rule.default) for rule in checkable):
        raise UsageError("no selected rule can be checked by lint; `ackdoctor rules` lists those with a path")


def _check_frameworks(settings: Settings) -> None:
    """Raise ConfigError for an unknown framework, version or base class."""
    if not settings.dialect_version and not settings.extra_bases:
        return
    from ackdoctor.dialects import load  # a cached run may not need it

    version = ""
    try:
        for name, version in settings.dialect_version.items():
            load({name: version})
    except ConfigError as error:
        raise ConfigError(f"{place(settings.source, version)}: {error}") from None
    dialects = load(settings.dialect_version)
    classes = sorted({name for dialect in dialects for role in dialect.roles for name in role.classes})
    for base in settings.extra_bases.values():
        if base not in classes:
            fault = f"extra-bases: no framework has a class `{base}`{nearest(base, classes)}"
            raise ConfigError(f"{place(settings.source, base)}: {fault}")
