"""Which framework and which of its roles a live component belongs to, and what its switches say now."""

import inspect
import linecache
import re
from contextlib import suppress
from functools import cache, lru_cache

from ackdoctor import dialects
from ackdoctor.model.dialect import Dialect, Role, Switch
from ackdoctor.model.violation import CallSite, TracedComponent

__all__ = ["belongs", "describe", "switched_on"]


@lru_cache  # of the last classes: tests make some each, and one that is kept alive is wrapped by every installation to come
def belongs(cls: type) -> tuple[Dialect, Role] | None:
    """The dialect and role of a component class: those of the nearest base that a dialect names."""
    for base in cls.__mro__:
        found = _roles().get(f"{base.__module__}.{base.__qualname__}")
        if found is None:
            found = _vendored(base)
        if found is not None:
            return found
    return None


@cache
def _roles() -> dict[str, tuple[Dialect, Role]]:
    return {
        path: (dialect, role)
        for dialect in dialects.load()
        for role in dialect.roles
        for path in role.classes
    }


def _vendored(base: type) -> tuple[Dialect, Role] | None:
    """A project's own copy: `resources.storm.Bolt` is storm.py's Bolt."""
    tail = f"{base.__module__.rpartition('.')[2]}.{base.__qualname__}"
    found = _roles().get(tail)
    return found if found is not None and found[0].vendored else None


def switched_on(component: object, switch: Switch) -> bool:
    """What a switch of the framework says for this instance, at this moment."""
    if switch.attribute is None:
        return switch.default
    return bool(getattr(component, switch.attribute, switch.default))


def describe(component: object, dialect: Dialect, role: Role) -> TracedComponent:
    """The component as a finding names it."""
    cls: type = type(component)
    path, line = _defined(cls)
    discipline = role.discipline
    task = getattr(component, "task_id", 0)
    return TracedComponent(
        name=cls.__qualname__,
        dialect=dialect.name,
        role=role.name,
        path=path,
        line=line,
        task=task if isinstance(task, int) else 0,
        auto_ack=switched_on(component, discipline.auto_ack),
        auto_fail=switched_on(component, discipline.auto_fail),
        auto_anchor=switched_on(component, discipline.auto_anchor),
    )


@lru_cache
def _defined(cls: type) -> tuple[str, int]:
    path = ""
    with suppress(OSError, TypeError):  # no file; a built-in
        path = inspect.getsourcefile(cls) or ""
        with suppress(SyntaxError):
            return path, inspect.getsourcelines(cls)[1]
        return path, _begun(path, cls.__name__)
    return path, 0


def _begun(path: str, name: str) -> int:
    """Where the class begins in a file that does not parse: it is Python 2, or has changed since."""
    begins = re.compile(rf"\s*class\s+{re.escape(name)}\b")
    return next((at for at, line in enumerate(linecache.getlines(path), 1) if begins.match(line)), 0)


@lru_cache
def played_by(cls: type, names: tuple[str, ...]) -> CallSite | None:
    """The first of these functions of the framework that a component of this class runs through."""
    for base in cls.__mro__:
        for module in (base.__module__, base.__module__.rpartition(".")[2]):
            for name in names:
                owner, _, method = name.rpartition(".")
                code = getattr(vars(base).get(method), "__code__", None)
                if owner == f"{module}.{base.__qualname__}" and code is not None:
                    return CallSite(
                        code.co_filename, code.co_firstlineno, f"{base.__qualname__}.{method}", framework=True
                    )
    return None


def overrides(cls: type, role: Role, method: str) -> bool:
    """Whether the author, and not the framework, defines a method."""
    for base in cls.__mro__:
        if method in vars(base):
            return belongs(base) is not None and f"{base.__module__}.{base.__qualname__}" not in role.classes
    return False
