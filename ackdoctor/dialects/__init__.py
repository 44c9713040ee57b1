"""Descriptions of the supported frameworks: data, one module per framework.

Each module here has a tuple `DIALECTS`, and is loaded without being registered elsewhere.  A framework derives from
the one that it is built like (`derive`) and states only the differences; an older version derives from the newest.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ackdoctor.model import ConfigError
from ackdoctor.model.dialect import Dialect

_DIGITS = 4  # the least digits of a version to compare


@cache
def known() -> tuple[Dialect, ...]:
    """All dialects, including older versions, sorted by name."""
    found: list[Dialect] = []
    for module in iter_modules(__path__):
        found += import_module(f"{__name__}.{module.name}").DIALECTS
    return tuple(sorted(found, key=lambda dialect: dialect.name))


def load(versions: Mapping[str, str] | None = None) -> tuple[Dialect, ...]:
    """The dialects in use, sorted by name; `versions` ("streamparse" -> "2.1") selects older versions.

    No class name belongs to two of them.
    """
    chosen = {name: _of_version(name, version) for name, version in (versions or {}).items()}
    current = [dialect for dialect in known() if not dialect.replaces]
    return tuple(sorted((chosen.get(d.name, d) for d in current), key=lambda dialect: dialect.name))


def _of_version(name: str, version: str) -> Dialect:
    family = [dialect for dialect in known() if name in (dialect.name, dialect.replaces)]
    if not any(dialect.name == name and not dialect.replaces for dialect in family):
        names = ", ".join(dialect.name for dialect in known() if not dialect.replaces)
        raise ConfigError(f"dialect-version: unknown dialect {name!r}; known are {names}")
    try:
        numbers = tuple(int(part) for part in version.split("."))
    except ValueError:
        raise ConfigError(f"dialect-version: {name} = {version!r} is not a version such as '2.1'") from None
    numbers += (0,) * (_DIGITS - len(numbers))  # "2" is 2.0
    fitting = [dialect for dialect in family if dialect.since <= numbers]
    if not fitting:
        oldest = _dotted(min(dialect.since for dialect in family))
        raise ConfigError(
            f"dialect-version: {name} {version} is older than {oldest}, the first version described"
        )
    found = max(fitting, key=lambda dialect: dialect.since)
    if found.until and numbers[: len(found.until)] > found.until:
        raise ConfigError(
            f"dialect-version: no {name} {version} is known; described are {', '.join(_ranges(family))}"
        )
    return found


def _ranges(family: Iterable[Dialect]) -> Iterator[str]:
    """The version ranges of a framework's dialects, oldest first: "0.8 to 0.10", "2.0 to 2"."""
    first: tuple[int, ...] | None = None
    for dialect in sorted(family, key=lambda dialect: dialect.since):
        first = dialect.since if first is None else first
        if dialect.until:
            last = _dotted(dialect.until)
            yield f"{_dotted(first)} to {last}" if first else f"all up to {last}"
            first = None


def _dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))
