"""Settings from `[tool.ackdoctor]` in the nearest pyproject.toml, or from an ackdoctor.toml.

A selector is a code ("ACK101"), the start of one ("ACK1") or a rule's name ("missing-ack").  The more exact selector
wins, and `ignore` wins a draw: select ACK1, ignore ACK101 leaves the rest of ACK1.
"""

import errno
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from ackdoctor.model import ConfigError
from ackdoctor.model.finding import Confidence, Severity
from ackdoctor.model.source import read_file

FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit")

GUARANTEES = ("at-most-once", "at-least-once", "exactly-once")

FILES = ("ackdoctor.toml", "pyproject.toml")
_EXCLUDE = (
    ".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".ackdoctor_cache", "__pycache__", "__pypackages__", "node_modules", "site-packages",
    "build", "dist",
)  # fmt: skip
_LARGEST = 1_000_000  # bytes of a settings file
_DOTS = 500  # in one of its lines
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
_TABLE = r"^[ \t]*\[tool\.ackdoctor"
_PREFIX = re.compile(r"[A-Z]+[0-9]*")
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")
_SETS = re.compile(r"\\.|\[(?:[!^][^/]|[^/!^])[^]/]*\]")  # in a pattern: a quoted character, `[a-z]`
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")

Parsed: TypeAlias = object  # the type of the field


class Promise(NamedTuple):
    """What the topologies must guarantee: a word or "", and the streams on which loss is accepted."""

    require: str = ""
    best_effort_streams: tuple[str, ...] = ()


class RuleOptions(NamedTuple):
    """The options of rules.

    `on_missing_path` is what the fix of ACK101 does on a path that leaves a tuple open: "ack", "fail", or "" to decide by
    the code.
    """

    on_missing_path: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Settings:
    """The settings of one run; relative patterns and paths start at `directory`."""

    select: tuple[str, ...] = ()  # () means every rule that is on by default
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = _EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # glob -> selectors
    extra_bases: Mapping[str, str] = field(default_factory=dict)  # "mylib.base.MyBolt" -> "streamparse.Bolt"
    dialect_version: Mapping[str, str] = field(default_factory=dict)  # "streamparse" -> "2.1"
    min_severity: Severity = Severity.WARNING
    min_confidence: Confidence = Confidence.MAY
    baseline: Path | None = None
    output_format: str = "full"
    fatal_unreadable: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    pytest: Mapping[str, object] = field(default_factory=dict)  # the plugin reads its options itself
    topology: Promise = field(default_factory=Promise)
    rules: RuleOptions = field(default_factory=RuleOptions)
    directory: Path | None = None
    source: Path | None = None  # the file these settings were read from
    searched: bool = False  # found by a search upward from the paths of a run, not named by the user

    def selects(self, code: str, name: str, *, default: bool = True) -> bool:
        """Whether a rule runs; `default` says whether it runs without a selection."""
        wanted = exactness((*self.select, *self.extend_select), code, name)
        if not self.select and default:
            wanted = max(wanted, 1)
        return wanted > exactness(self.ignore, code, name)

    def selectors(self) -> tuple[str, ...]:
        """Return every selector that the user wrote, in order, to check them against the rulebook."""
        per_file = (selector for selectors in self.per_file_ignores.values() for selector in selectors)
        return tuple(dict.fromkeys((*self.select, *self.extend_select, *self.ignore, *per_file)))


def exactness(selectors: Iterable[str], code: str, name: str) -> int:
    """Return how exactly the best selector, in any case, names the rule: 0 not at all, most by name or whole code."""
    return max(
        (
            len(code) + 1 if s in (name.upper(), code) else len(s) + 1
            for s in map(str.upper, selectors)
            if s == name.upper() or code.startswith(s)
        ),
        default=0,
    )


def find_config(start: Path) -> Path | None:
    """Return the nearest ackdoctor.toml, or pyproject.toml with our table, in `start` or above it.

    ConfigError for a file that cannot be read, or is not TOML: the settings may be in it.
    """
    start = start.absolute()
    for directory in (start, *start.parents):
        for name in FILES:
            path = directory / name
            try:
                content = read_file(str(path), _LARGEST)
            except OSError as error:
                if error.errno in _NOT_THERE:
                    continue
                raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
            if name == "ackdoctor.toml":
                return path
            # a foreign file may have long lines of versions
            read = b"ackdoctor" in content or not _deep_line(content.decode("utf-8-sig", "replace"))
            if read and _ours(path, content) is not None:
                return path
    return None


def holds_settings(path: Path) -> bool:
    """Whether the bytes of one of FILES hold settings, valid or not."""
    try:
        return path.name == "ackdoctor.toml" or bool(
            re.search(_TABLE.encode(), read_file(str(path), _LARGEST), re.MULTILINE)
        )
    except OSError:
        return False


def load_settings(path: Path) -> Settings:
    """Read the settings from one file.  ConfigError names the file, the key, and the line if it is known."""
    try:
        content = read_file(str(path), _LARGEST)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError:
        raise ConfigError(f"{str(path)!r}: not a path") from None
    return settings_in(path, content)


def settings_in(path: Path, content: bytes) -> Settings:
    """Read the settings from the content of a file, which may be there or not."""
    in_project = path.name == "pyproject.toml"
    table = _ours(path, content) if in_project else _parse(path, content)
    table = {} if table is None else table
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.ackdoctor` must be a table")
    if not in_project and "tool" in table:
        raise ConfigError(f"{path}: put the keys at the top of this file, without [tool.ackdoctor]")
    text = content.decode("utf-8-sig")
    directory = path.absolute().parent
    values: dict[str, Any] = {}  # each parser returns the type of its field
    for key, value in table.items():
        where = str(path) + _line_of(text, rf"^[ \t]*\[?(?:tool\.ackdoctor\.)?[\"']?{re.escape(key)}\b")
        if key not in KEYS:
            raise ConfigError(f"{where}: unknown key `{key}`{nearest(key, KEYS)}")
        try:
            parsed = KEYS[key].parse(value)
        except ValueError as error:
            raise ConfigError(f"{where}: `{key}` {error}") from None
        values[key.replace("-", "_")] = directory / parsed if isinstance(parsed, Path) else parsed
    return Settings(**values, directory=directory, source=path)


def _ours(path: Path, content: bytes) -> object:
    """Return the table of a pyproject.toml, as it is written there; None without one."""
    tool = _parse(path, content).get("tool")
    return tool.get("ackdoctor") if isinstance(tool, dict) else None


def _parse(path: Path, content: bytes) -> dict[str, object]:
    import sys  # most runs parse no settings

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = content.decode("utf-8-sig")
        if deep := _deep_line(text):  # tomllib takes quadratic time for a key of many parts
            raise ConfigError(f"{path}:{deep}: more than {_DOTS} dots in one line")
        table: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: not TOML: nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    return table


def _deep_line(text: str) -> int:
    """Return the number of the first line with too many dots; 0 without one."""
    return next((number for number, line in enumerate(text.split("\n"), 1) if line.count(".") > _DOTS), 0)


def _line_of(text: str, pattern: str) -> str:
    """Return `:12`, the first line from our first table on that fits, or "" if none does."""
    ours = re.search(_TABLE, text, re.MULTILINE)  # tables of other tools may precede it
    found = re.compile(pattern, re.MULTILINE).search(text, ours.start() if ours else 0)
    return f":{text.count(chr(10), 0, found.start()) + 1}" if found else ""


def place(source: Path | None, value: str) -> str:
    """Return the settings file with the first line that has a string as a value: `pyproject.toml:12`."""
    if source is None:
        return "settings"
    try:
        text = read_file(str(source), _LARGEST).decode("utf-8-sig", "replace")
    except OSError:
        return str(source)
    return str(source) + _line_of(text, rf"[\"']{re.escape(value)}[\"']")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint for a misspelt word, in any case, or "" if no known word is close."""
    from difflib import get_close_matches  # only an error needs it

    folded = {each.casefold(): each for each in known}
    close = get_close_matches(word.casefold(), folded, n=1)
    return f"; did you mean `{folded[close[0]]}`?" if close else ""


# ---- one parser per kind of value; its ValueError says what the value must be ----


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _patterns(value: object) -> tuple[str, ...]:
    """Patterns that fit a file: `.gitignore` ignores a blank one, a comment, and a bracket that is not closed."""
    patterns = _strings(value)
    for text in patterns:
        if not text.strip(" !/") or text.startswith("#") or "\0" in text or "[" in _SETS.sub("", text):
            raise ValueError(f"must list patterns as in .gitignore, not {text!r}")
    return patterns


def _selectors(value: object) -> tuple[str, ...]:
    selectors = _strings(value)
    for selector in selectors:
        if not (_PREFIX.fullmatch(selector.upper()) or _NAME.fullmatch(selector.lower())):
            raise ValueError(f"must list codes, prefixes of codes or rule names, not {selector!r}")
    return selectors


def _chosen(value: object) -> tuple[str, ...]:
    selectors = _selectors(value)
    if not selectors:
        raise ValueError("names no rule; without it all rules that are on by default run")
    return selectors


def _ignores(value: object) -> Mapping[str, tuple[str, ...]]:
    shape = 'must be a table of glob = ["ACK101", ...]'
    if not isinstance(value, dict):
        raise ValueError(shape)
    for glob, selectors in value.items():
        if not isinstance(selectors, list):
            raise ValueError(f"{shape}; {glob!r} has {selectors!r}")
    return {glob: _selectors(selectors) for glob, selectors in value.items()}


def _table_of(pattern: re.Pattern[str], example: str) -> Callable[[object], Parsed]:
    def parse(value: object) -> Parsed:
        if not isinstance(value, dict):
            raise ValueError(f"must be a table such as {example}")
        for key, item in value.items():
            if not isinstance(item, str) or not pattern.fullmatch(item):
                raise ValueError(f"must be a table such as {example}; {key!r} has {item!r}")
        return value

    return parse


def _open_table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("must be a table")
    return value


def _promise(value: object) -> Promise:
    shape = f"must be a table of `require` ({', '.join(GUARANTEES)}) and `best-effort-streams`, not"
    if not isinstance(value, dict):
        raise ValueError(f"{shape} {value!r}")
    if unknown := [key for key in value if key not in {"require", "best-effort-streams"}]:
        raise ValueError(f"{shape} {unknown[0]!r}")
    if "require" in value:
        _word_of({word: word for word in GUARANTEES})(value["require"])
    return Promise(value.get("require", ""), _strings(value.get("best-effort-streams", [])))


def _rule_options(value: object) -> RuleOptions:
    shape = 'must be a table such as {ACK101 = {on-missing-path = "ack"}}, not'
    tables = value if isinstance(value, dict) else {"": value}
    found: dict[str, Any] = {}
    for rule, options in tables.items():
        known = next((_OPTIONS[names] for names in _OPTIONS if rule.casefold() in names), None)
        if known is None or not isinstance(options, dict):
            raise ValueError(f"{shape} {rule or repr(value)}")
        for name, option in options.items():
            if name not in known:
                raise ValueError(f"{shape} {name!r}{nearest(name, known)}")
            try:
                found[name.replace("-", "_")] = known[name](option)
            except ValueError as error:
                raise ValueError(f"of {rule}: `{name}` {error}") from None
    return RuleOptions(**found)


def _word_of(words: Mapping[str, Parsed]) -> Callable[[object], Parsed]:
    def parse(value: object) -> Parsed:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"must be one of {', '.join(words)}, not {value!r}")
        return words[value]

    return parse


def _path(value: object) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be the path of a file")
    return Path(value)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


_OPTIONS: Mapping[
    tuple[str, str], Mapping[str, Callable[[object], Parsed]]
] = {  # by code and name of the rule
    ("ack101", "missing-ack"): {"on-missing-path": _word_of({word: word for word in ("ack", "fail")})},
}


class Key(NamedTuple):
    """A key of the settings: its parser, and its meaning and default for the documentation."""

    parse: Callable[[object], Parsed]
    meaning: str
    default: str


KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "select": Key(
            _chosen,
            "rules that run: codes, prefixes of codes, names",
            "all that are on by default",
        ),
        "extend-select": Key(_selectors, "rules that run besides them", "`[]`"),
        "ignore": Key(
            _selectors,
            "rules that do not run; the more exact selector wins, and `ignore` wins a draw",
            "`[]`",
        ),
        "per-file-ignores": Key(
            _ignores,
            "glob → rules that are silent there; a glob with a slash starts in the settings' directory",
            "none",
        ),
        "exclude": Key(
            _patterns,
            "files and directories to skip, as in `.gitignore`; base classes in them are still read",
            "`.git`, `.venv`, `build`, `dist`, `site-packages` and similar",
        ),
        "extend-exclude": Key(_patterns, "files and directories to skip besides them", "`[]`"),
        "extra-bases": Key(
            _table_of(_DOTTED, '{"mylib.base.MyBolt" = "streamparse.Bolt"}'),
            "your base class → the framework's class behind it, if its source is not in the tree",
            "none",
        ),
        "dialect-version": Key(
            _table_of(_VERSION, '{streamparse = "2.1"}'),
            "framework → version, for an older one of [Frameworks](frameworks.md); missing digits are zeros",
            "the newest",
        ),
        "min-severity": Key(
            _word_of({severity.word: severity for severity in Severity}),
            "`info`, `warning` or `error`: lint hides findings below it",
            "`warning`",
        ),
        "min-confidence": Key(
            _word_of({confidence.word: confidence for confidence in Confidence}),
            "`may` or `must`: lint hides findings below it",
            "`may`",
        ),
        "baseline": Key(_path, "the baseline file, relative to the settings' directory", "none"),
        "output-format": Key(
            _word_of({word: word for word in FORMATS}),
            "one of the [formats](guide/lint.md#formats)",
            "`full`",
        ),
        "fix": Key(_switch, "`true` is the option `--fix`; `--no-fix` turns it off", "`false`"),
        "unsafe-fixes": Key(
            _switch, "`true` is the option `--unsafe-fixes`; `--no-unsafe-fixes` turns it off", "`false`"
        ),
        "fatal-unreadable": Key(_switch, "`true` is the option `--strict-files`", "`false`"),
        "pytest": Key(
            _open_table, "a table for the [pytest plugin](guide/tests.md#marks-and-options)", "none"
        ),
        "topology": Key(
            _promise,
            "a table: `require` is the guarantee that [`ackdoctor topology`](guide/topology.md#gate-a-build) demands, "
            "`best-effort-streams` lists streams on which loss is accepted",
            "none",
        ),
        "rules": Key(
            _rule_options,
            "a table for each rule with options. `ACK101`: with `on-missing-path`, `ack` or `fail`, the [fix](guide/lint.md#fix-findings) "
            "of a path that leaves a tuple open does this; without it, lint decides by the code and fixes only what is certain",
            "none",
        ),
    }
)
