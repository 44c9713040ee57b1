"""Options: of the command line, pytest's ini file, `[tool.ackdoctor.pytest]`, in this order of precedence; and of marks."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

NAME = "ackdoctor"  # of the mark and of the fixture


LEVELS: Mapping[str, str] = MappingProxyType(
    {
        "off": "trace only tests that have the mark or the fixture",
        "sites": "find tuples that are not completed exactly once, with code lines (default of --ackdoctor)",
        "trace": "also record every event; --ackdoctor-trace-dir writes them to disk",
    }
)
_BARE = "sites"
# attribute of a report that failed only because of ackdoctor; xdist transfers it
FAILED_BY_ACKDOCTOR = "ackdoctor_turned"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Options:
    """The options of a session, or of one of its tests."""

    level: str = "off"
    warn: bool = False
    allow: tuple[str, ...] = ()
    max_pending: int = 0
    complete_within: float = 0.5
    profile: str = ""
    trace_dir: Path | None = None
    trace_keep: str = "failing"
    baseline: Path | None = None
    write_baseline: bool = False
    heap: bool = False


class Spec(NamedTuple):
    """One option: its parser (ValueError names valid values), its help, and where it may be set."""

    parse: Callable[[object], object]
    help: str
    flag: str = ""  # on the command line
    metavar: str | None = None  # None for a switch, or if not on the command line
    ini: str = "string"  # type of the ini option
    marker: bool = False  # whether a mark may set it


def _word_of(words: Collection[str], phrase: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"must be {phrase}, not {value!r}")
        return value

    return parse


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


def _heap(value: object) -> bool:
    if not _switch(value):
        return False
    from ackdoctor.heap.python_heap import missing  # imported only if the option is set

    if why := missing():
        raise ValueError(why)
    return True


def _rules(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(w, str) for w in value):
        raise ValueError(f"must list codes or names of rules, not {value!r}")
    from ackdoctor.config import nearest  # imported only if the option is set
    from ackdoctor.rulebook import survey

    names = {code: rule.name for code, rule in survey()[0].items()}
    for word in value:
        if not any(code.startswith(word) or word == name for code, name in names.items()):
            raise ValueError(f"no rule is called `{word}`{nearest(word, [*names, *names.values()])}")
    return tuple(value)


def _count(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError(f"must be a whole number, not {value!r}")
    return int(number)


def _number(value: object) -> float:
    with suppress(ValueError):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            if number >= 0 and isfinite(number):
                return number
    raise ValueError(f"must be a number from 0, not {value!r}")


def _path(value: object) -> Path:
    if not isinstance(value, str):
        raise ValueError(f"must be a path, not {value!r}")
    return Path(value)


def _profile(value: object) -> str:
    from ackdoctor.acker.versions import profile  # imported only if the option is set
    from ackdoctor.model import ConfigError

    if not isinstance(value, str):
        raise ValueError(f"must be the name of a version, such as storm-1.1.0, not {value!r}")
    try:
        return profile(value).name
    except ConfigError as error:
        raise ValueError(str(error)) from None


OPTIONS: Mapping[str, Spec] = MappingProxyType(
    {
        "level": Spec(_word_of(LEVELS, f"one of {', '.join(LEVELS)}"), "level of tracing: " + ", ".join(LEVELS), marker=True),
        "warn": Spec(_switch, "report without failing a test", "--ackdoctor-warn", ini="bool"),
        "allow": Spec(_rules, "rules that fail no test: codes, prefixes of codes, names", ini="args", marker=True),
        "max_pending": Spec(_count, "tuples that a test may leave open (default 0)", marker=True),
        "complete_within": Spec(
            _number, "seconds that threads have after a test to complete its tuples (default 0.5)", marker=True
        ),
        "profile": Spec(_profile, "version of the acker that the fixture runs (default: the newest)", marker=True),
        "trace_dir": Spec(_path, "write traces below this directory; on the command line, level trace", "--ackdoctor-trace-dir", "DIR"),
        "trace_keep": Spec(
            _word_of(("failing", "all"), "failing or all"), "whose traces to keep: failing (default) or all", "--ackdoctor-trace-keep", "WHICH"
        ),
        "heap": Spec(
            _heap, "look into the heap of each traced test; on the command line, level sites if none is given",
            "--ackdoctor-heap", ini="bool", marker=True,
        ),
        "baseline": Spec(
            _path, "accepted findings, which fail no test", "--ackdoctor-baseline", "FILE"
        ),
    }
)  # fmt: skip
_KEYWORDS = tuple(name for name, spec in OPTIONS.items() if spec.marker)
MARK = f"{NAME}({', '.join(f'{keyword}=' for keyword in _KEYWORDS)}): trace this test's components"


def add_options(parser: pytest.Parser) -> None:
    """Add `--ackdoctor` and the other flags, and an ini option `ackdoctor_...` for each of `OPTIONS`.

    Each `--ackdoctor=LEVEL` is its own option: one with an optional value would parse `tests` as the level in
    `pytest --ackdoctor tests`.
    """
    group = parser.getgroup("ackdoctor", "acking of Storm-style components")
    choose: dict[str, Any] = {"dest": "ackdoctor_level", "action": "store_const", "default": None}
    group.addoption(
        "--ackdoctor",
        f"--ackdoctor={{{','.join(LEVELS)}}}",  # argparse prints this name if the level is invalid
        **choose,
        const=_BARE,
        help="fail tests whose tuples are not completed exactly once",
    )
    for level, says in LEVELS.items():
        group.addoption(f"--ackdoctor={level}", **choose, const=level, help=says)
    for name, spec in OPTIONS.items():
        parser.addini(f"ackdoctor_{name}", spec.help, type=spec.ini, default=None)  # type: ignore[arg-type]
        how: dict[str, Any] = {"metavar": spec.metavar} if spec.metavar else {"action": "store_true"}
        if spec.flag:
            group.addoption(spec.flag, **how, dest=f"ackdoctor_{name}", default=None, help=spec.help)
    group.addoption(
        "--ackdoctor-write-baseline",
        action="store_true",
        dest="ackdoctor_write_baseline",
        help="accept all findings: write them to the baseline",
    )


def read_options(config: pytest.Config) -> Options:
    """Return the options of this session; UsageError names the place of an invalid value."""
    table = _table(config.rootpath)
    for key in table:
        if key.replace("-", "_") not in OPTIONS:
            raise pytest.UsageError(f"[tool.ackdoctor.pytest]: unknown key `{key}`")
    values: dict[str, Any] = {}
    for name, spec in OPTIONS.items():
        key = name.replace("_", "-")
        own = f"ackdoctor_{name}"
        sources = (
            (spec.flag or "--ackdoctor", config.getoption(own, None), config.invocation_params.dir),
            (own, config.getini(own), config.rootpath),
            (f"[tool.ackdoctor.pytest] {key}", table.get(key), config.rootpath),
        )
        for where, value, folder in sources:
            if value is not None:
                parsed = _parse(name, value, where)
                values[name] = folder / parsed if isinstance(parsed, Path) else parsed
                break
    if config.getoption("ackdoctor_trace_dir", default=None) is not None:
        values["level"] = "trace"
    elif config.getoption("ackdoctor_heap", default=None):
        values.setdefault("level", _BARE)
    write = bool(config.getoption("ackdoctor_write_baseline", default=False))
    if write and "baseline" not in values:
        raise pytest.UsageError("--ackdoctor-write-baseline needs --ackdoctor-baseline FILE")
    return Options(**values, write_baseline=write)


def tracing_flags(config: pytest.Config) -> tuple[str, ...]:
    """Return the tracing flags on the command line; empty with `--ackdoctor=off`."""
    if config.getoption("ackdoctor_level", None) == "off":
        return ()
    flags = [(spec.flag, f"ackdoctor_{name}") for name, spec in OPTIONS.items() if spec.flag]
    flags.append(("--ackdoctor-write-baseline", "ackdoctor_write_baseline"))
    return tuple(flag for flag, dest in flags if config.getoption(dest, None))


def _parse(name: str, value: object, where: str) -> object:
    """Parse the value of an option; UsageError begins with `where`."""
    try:
        return OPTIONS[name].parse(value)
    except ValueError as error:
        raise pytest.UsageError(f"{where}: {error}") from None


def _table(root: Path) -> Mapping[str, object]:
    """Read `[tool.ackdoctor.pytest]` in the tests' root; imports nothing if no file there mentions ackdoctor."""
    if not (root / "ackdoctor.toml").is_file():
        try:
            mentioned = b"ackdoctor" in (root / "pyproject.toml").read_bytes()
        except OSError:
            return {}
        if not mentioned:
            return {}
    from ackdoctor.config import find_config, load_settings
    from ackdoctor.model import ConfigError

    try:
        file = find_config(root)
        return load_settings(file).pytest if file is not None else {}
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from None


def options_of_test(item: pytest.Item, session: Options) -> Options | None:
    """Return the options of a traced test; None if neither session, mark nor fixture traces it.

    UsageError for an invalid mark.
    """
    marks = list(item.iter_markers(NAME))
    if not marks and NAME not in getattr(item, "fixturenames", ()):
        return session if session.level != "off" else None
    wanted: dict[str, Any] = {"level": session.level if session.level != "off" else "sites"}
    where, valid = f"{item.nodeid}: @pytest.mark.{NAME}", ", ".join(_KEYWORDS)
    for mark in reversed(marks):  # the nearest mark last
        if mark.args:
            raise pytest.UsageError(f"{where}: takes keywords only: {valid}")
        for keyword, value in mark.kwargs.items():
            if keyword not in _KEYWORDS:
                raise pytest.UsageError(f"{where}: unknown keyword `{keyword}`; it takes {valid}")
            wanted[keyword] = _parse(keyword, value, f"{where}: {keyword}")
    return replace(session, **wanted) if wanted["level"] != "off" else None
