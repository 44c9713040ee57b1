"""What ackdoctor knows about each framework: data only, one module per framework.

A module here states `DIALECTS`; putting it into the folder is all it takes.  Modules whose names start
with an underscore hold facts that several frameworks share.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ackdoctor.model.dialect import Dialect
from ackdoctor.model.errors import ConfigError

__all__ = ["known", "load", "words"]


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
    fitting = [dialect for dialect in family if dialect.since <= wanted]
    if not fitting:
        oldest = ".".join(str(part) for part in min(dialect.since for dialect in family))
        raise ConfigError(f"dialect-version: {name} {version} is older than {oldest}, the first described")
    return max(fitting, key=lambda dialect: dialect.since)


def words() -> tuple[bytes, ...]:
    """Byte strings one of which occurs in every file that imports some framework, sorted."""
    return tuple(sorted({word for dialect in known() for word in dialect.words}))
