"""Which framework a class belongs to, and the child that runs it."""

from collections.abc import Callable
from typing import TypeAlias

from ackdoctor.dialects import load
from ackdoctor.lab.shell.child import Child
from ackdoctor.lab.shell.loops import PetrelChild, PyleusChild, StormPyChild
from ackdoctor.lab.shell.pystorm import PystormChild
from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.tracer.ledger.suspects import belongs

__all__ = ["NotAComponentError", "descent", "launcher"]

_Launcher: TypeAlias = Callable[[type, Callable[[], None]], Child]

_LAUNCHERS: dict[str, _Launcher] = {
    "pystorm": PystormChild,
    "streamparse": PystormChild,  # its classes are pystorm's
    "petrel": PetrelChild,
    "pyleus": PyleusChild,
    "storm_py": StormPyChild,
}


class NotAComponentError(TypeError):
    """A class that is no component of a framework that the lab can run."""


def descent(component_class: type) -> tuple[Dialect, Role]:
    """The framework of a class and which of its base classes it has; NotAComponentError if none."""
    found = belongs(component_class)
    if found is None:
        *titles, last = [dialect.title for dialect in load() if dialect.language == "python"]
        raise NotAComponentError(
            f"{component_class.__qualname__} is no bolt or spout of {', '.join(titles)} or {last}"
        )
    return found


def launcher(component_class: type) -> _Launcher:
    """What runs a component of a framework that speaks multilang."""
    dialect, _ = descent(component_class)
    if dialect.name not in _LAUNCHERS:
        raise NotAComponentError(
            f"{component_class.__qualname__}: no bench runs components of {dialect.title} behind a pipe"
        )
    launch = _LAUNCHERS[dialect.name]
    if launch is PystormChild and all(
        base.__module__ != "pystorm.component" for base in component_class.__mro__
    ):
        raise NotAComponentError(
            f"{component_class.__qualname__}: no bench runs this {dialect.title}: before 3.0 its classes are not pystorm's"
        )
    return launch
