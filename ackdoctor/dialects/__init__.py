"""What ackdoctor knows about each framework: data only, one module per framework.

A module here states `DIALECTS`; putting it into the folder is all it takes.  Modules whose names start
with an underscore hold facts that several frameworks share.
"""

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


def load(*chosen: str) -> tuple[Dialect, ...]:
    """The dialects in force, sorted by name; an older version named in `chosen` stands in for the current one.

    No class path belongs to two of them.
    """
    by_name = {dialect.name: dialect for dialect in known()}
    for name in chosen:
        if name not in by_name:
            raise ConfigError(f"unknown dialect {name!r}: known are {', '.join(by_name)}")
    older = [by_name[name] for name in dict.fromkeys(chosen) if by_name[name].replaces]
    replaced = {dialect.replaces for dialect in older}
    if len(replaced) < len(older):
        names = ", ".join(dialect.name for dialect in older)
        raise ConfigError(f"only one version of a dialect can be chosen, not {names}")
    current = [dialect for dialect in known() if not dialect.replaces and dialect.name not in replaced]
    return tuple(sorted([*current, *older], key=lambda dialect: dialect.name))


def words() -> tuple[bytes, ...]:
    """Byte strings one of which occurs in every file that imports some framework, sorted."""
    return tuple(sorted({word for dialect in known() for word in dialect.words}))
