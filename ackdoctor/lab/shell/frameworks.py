"""Frameworks that the lab runs: the child of each, and the loops of storm.py, Petrel and pyleus.

Read: apache/storm storm-multilang/python/src/main/resources/resources/storm.py @ v2.8.8; AirSage/Petrel
petrel/petrel/storm.py @ c4be9b7; Yelp/pyleus pyleus/storm/component.py @ v0.3.0.  storm.py and Petrel keep
their state in the module: mode, anchor and two queues.  Each component gets that state when its turn comes,
so that several can live in one process.
"""

import inspect
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from ackdoctor.dialects import load
from ackdoctor.lab.shell.child import Child, Looped
from ackdoctor.lab.shell.pystorm import PystormChild
from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.tracer.ledger.suspects import belongs

__all__ = ["NotAComponentError", "PetrelChild", "PyleusChild", "StormPyChild", "descent", "launcher"]

_PYLEUS = ("component", "--pyleus-config", '{"serializer": "json"}', "--options", "{}")


class _ClassChild(Looped):
    """A component that is made and then run: `B().run()`."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(answer)
        self._class = component_class
        self._made: Any = None

    @property
    def component(self) -> object:
        """Once its constructor has returned."""
        return self._made

    def _make(self) -> Any:
        return self._class()

    def _run(self) -> None:
        self._made = self._make()
        self._made.run()


class _ModuleChild(_ClassChild):
    """A component whose framework keeps its state in the globals of module `_module`."""

    def __init__(self, component_class: type, answer: Callable[[], None], module: ModuleType) -> None:
        super().__init__(component_class, answer)
        self._module = module
        self._globals: dict[str, object] = {**self._first_globals()}

    def _first_globals(self) -> Mapping[str, object]:
        return {
            "MODE": None,
            "ANCHOR_TUPLE": None,
            "pending_commands": deque(),
            "pending_taskids": deque(),
        }

    @contextmanager
    def _turn(self) -> Iterator[None]:
        before = {name: getattr(self._module, name) for name in self._globals}
        self._put(self._globals)
        try:
            yield
        finally:
            self._globals = {name: getattr(self._module, name) for name in before}
            self._put(before)

    def _put(self, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            setattr(self._module, name, value)

    def go(self) -> None:
        """Its turn, with its own globals in the framework's module."""
        with self._turn():
            super().go()


class StormPyChild(_ModuleChild):
    """A Bolt, BasicBolt or Spout of Storm's storm.py, in any package that it was copied to."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer, _module_of(component_class, "sendMsgToParent"))


class PetrelChild(_ModuleChild):
    """A Petrel component: its constructor gets the script, standard output goes to a log.

    Petrel sleeps five seconds after an exception, so that Storm can read; the bench skips the sleep.
    """

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer, sys.modules["petrel.storm"])
        logging.getLogger("storm").addHandler(logging.NullHandler())  # else it logs to itself, for ever

    def _first_globals(self) -> Mapping[str, object]:
        clock = SimpleNamespace(sleep=lambda _seconds: None, time=time.time)
        return {**super()._first_globals(), "old_stdout": self.pipe.stdout, "time": clock}

    def _make(self) -> Any:
        """EmitterBase wants the script in the current directory, as it is in a worker."""
        here = Path.cwd()
        os.chdir(Path(inspect.getfile(self._class)).parent)
        try:
            return super()._make()
        finally:
            os.chdir(here)


class PyleusChild(_ClassChild):
    """A pyleus component over the JSON serializer; `sys.argv` says so, as the topology builder does."""

    def __init__(self, component_class: type, answer: Callable[[], None]) -> None:
        super().__init__(component_class, answer)
        self.process_state.own["argv"] = list(_PYLEUS)


def _module_of(component_class: type, name: str) -> ModuleType:
    """The module of the base class that has a global of this name."""
    modules = (sys.modules[base.__module__] for base in component_class.__mro__)
    return next(module for module in modules if hasattr(module, name))


_Launcher: TypeAlias = Callable[[type, Callable[[], None]], Child]

_LAUNCHERS: dict[str, _Launcher] = {
    "pystorm": PystormChild,
    "petrel": PetrelChild,
    "pyleus": PyleusChild,
    "storm": StormPyChild,
}
"""How to run a component, by the module of the framework that reads and writes its messages."""


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
    module = dialect.wire.modules[0] if dialect.wire is not None else ""
    if module not in _LAUNCHERS:
        raise NotAComponentError(
            f"{component_class.__qualname__}: no bench runs components of {dialect.title} behind a pipe"
        )
    launch = _LAUNCHERS[module]
    if launch is PystormChild and all(
        base.__module__ != "pystorm.component" for base in component_class.__mro__
    ):
        raise NotAComponentError(
            f"{component_class.__qualname__}: no bench runs this {dialect.title}: before 3.0 its classes are not pystorm's"
        )
    return launch
