"""The settings that an editor sends, in `initializationOptions` or in the section `ackdoctor` of its configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ackdoctor.config import KEYS, Settings, nearest
from ackdoctor.lint.run_settings import check_settings, settings_file, with_selection

SECTION = "ackdoctor"
_KNOWN = {  # option -> its field, and the key of the settings file that takes such values
    "select": ("select", "select"),
    "extendSelect": ("extend_select", "extend-select"),
    "ignore": ("ignore", "ignore"),
    "config": ("config", "baseline"),
    "unsafeFixes": ("unsafe_fixes", "fatal-unreadable"),
}


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Options:
    """The options of an editor; `select` is None if it is not sent.

    `config` is the settings file to read instead of the nearest one, `unsafe_fixes` offers fixes that need a reader.
    """

    config: Path | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe_fixes: bool = True

    def settings(self, root: Path) -> Settings:
        """Return the settings of a directory: those of the settings file, overridden by the editor.

        ConfigError or UsageError for a file or an option that cannot be used.
        """
        config = root / self.config if self.config else None
        settings = with_selection(
            settings_file([str(root)], config, root=root),
            select=self.select,
            extend_select=self.extend_select,
            ignore=self.ignore,
        )
        typed = {
            selector: f"the editor's option `{option}`"
            for option, selectors in (
                ("select", self.select),
                ("extendSelect", self.extend_select),
                ("ignore", self.ignore),
            )
            for selector in selectors or ()
        }
        check_settings(settings, typed)
        return settings


def read_options(raw: object) -> tuple[Options, str]:
    """Return the options in what the editor sent, and what is wrong with the others; "" if nothing is."""
    if raw is None:
        return Options(), ""
    if not isinstance(raw, Mapping):
        return Options(), f"the editor's options must be an object, not {raw!r}"
    values: dict[str, object] = {}
    faults = []
    for option, value in raw.items():
        try:
            values |= _parsed(str(option), value)
        except ValueError as error:  # noqa: PERF203  # the other options count
            faults.append(str(error))
    fault = f"the editor's options: {'; '.join(faults)}" if faults else ""
    return Options(**values), fault  # type: ignore[arg-type]  # each parser returns the type of its field


def _parsed(option: str, value: object) -> Mapping[str, object]:
    """Return the field of an option with its value; nothing for null.  ValueError says what the value must be."""
    if option not in _KNOWN:
        raise ValueError(f"unknown option `{option}`{nearest(option, _KNOWN)}")
    if value is None:
        return {}
    name, key = _KNOWN[option]
    try:
        return {name: KEYS[key].parse(value)}
    except ValueError as error:
        raise ValueError(f"`{option}` {error}") from None
