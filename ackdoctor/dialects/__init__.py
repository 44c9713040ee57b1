"""What ackdoctor knows about each framework: data only, one module per framework.

A module here states `DIALECTS`; putting it into the folder is all it takes.  Modules whose names start
with an underscore hold facts that several frameworks share.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ackdoctor.model.dialect import Dialect
from ackdoctor.model.errors import ConfigError

__all__ = ["known", "load", "words"]

_DIGITS = 4  # of a version, at least


@cache
def known() -> tuple[Dialect, ...]:
    """Every dialect and every older version of one, sorted by name."""
    names = sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    found: list[Dialect] = []
    for name in names:
        found += import_module(f"{__name__}.{name}").DIALECTS
    return tuple(sorted(found, key=lambda dialect: dialect.name))


def load(versions: Mapping[str, str] | None = None) -> tuple[Dialect, ...]:
    """The dialects in force, sorted by name; `versions` ("streamparse" -> "2.1") puts older ones in their place.

    No class path belongs to two of them.
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
        wanted = tuple(int(part) for part in version.split("."))
    except ValueError:
        raise ConfigError(f"dialect-version: {name} = {version!r} is no version such as '2.1'") from None
    wanted += (0,) * (_DIGITS - len(wanted))  # "2" is 2.0
    fitting = [dialect for dialect in family if dialect.since <= wanted]
    if not fitting:
        oldest = _dotted(min(dialect.since for dialect in family))
        raise ConfigError(f"dialect-version: {name} {version} is older than {oldest}, the first described")
    found = max(fitting, key=lambda dialect: dialect.since)
    if found.until and wanted[: len(found.until)] > found.until:
        raise ConfigError(
            f"dialect-version: no {name} {version} is known; described are {', '.join(_stretches(family))}"
        )
    return found


def _stretches(family: Iterable[Dialect]) -> Iterator[str]:
    """The versions that a framework's dialects describe, older ones first: "0.8 to 0.10", "2.0 to 2"."""
    first: tuple[int, ...] | None = None
    for dialect in sorted(family, key=lambda dialect: dialect.since):
        first = dialect.since if first is None else first
        if dialect.until:
            yield (
                f"{_dotted(first)} to {_dotted(dialect.until)}"
                if first
                else f"all up to {_dotted(dialect.until)}"
            )
            first = None


def _dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def words() -> tuple[bytes, ...]:
    """Byte strings one of which occurs in every file that imports some framework, sorted."""
    return tuple(sorted({word for dialect in known() for word in dialect.words}))
