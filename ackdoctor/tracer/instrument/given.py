"""What a component gives to the mocks around it: who is given a tuple may complete it.

    def process(self, tup):
        self.pool.submit(self.work, tup)  # in a test `pool` is a mock, and nobody works

Mocks are looked for in the component's fields and what is in them, in its classes, in the modules of these, and in the modules that they
import under the names that the component's own methods mention.
"""

import sys
from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import lru_cache
from inspect import unwrap
from types import FunctionType, ModuleType
from typing import Any

from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.tracer.instrument.patches import Effect, effect, is_itself_a_mock
from ackdoctor.tracer.instrument.written import names_in, own_classes
from ackdoctor.tracer.ledger.holding import tuples_in

__all__ = ["Given"]

_MAKERS = frozenset({"unittest.mock", "mock"})
_PLAIN = frozenset({bool, bytes, dict, float, int, list, set, str, tuple, type, type(None)})
# methods that take nothing over
_LOGS = frozenset({"critical", "debug", "error", "exception", "info", "log", "warn", "warning"})


class Given:
    """The mocks around a component that stand for anything but its verbs, and how often each was called before this handler call."""

    def __init__(self) -> None:
        self._around: list[tuple[str, Any, int]] = []

    def begin(self, component: object, dialect: Dialect, role: Role) -> None:
        """A handler begins."""
        verbs = {verb.name for verb in (*role.verbs, *dialect.verbs)}
        self._around = [
            (name, mock, len(mock.mock_calls))
            for name, mock in _around(component, dialect)
            if name not in verbs
        ]

    def tuples(self, component: object, wanted: Collection[Hashable]) -> Iterator[tuple[Hashable, str]]:
        """The deliveries in `wanted` whose tuples a mock was given since then, each with the mock's name."""
        around, self._around = self._around, []
        for name, mock, before in around:
            for called, *arguments in mock.mock_calls[before:]:
                if _takes_over(mock, called) or _completes(mock, name, component, arguments):
                    for delivery in tuples_in(arguments, wanted):
                        yield delivery, name

    def __bool__(self) -> bool:
        return bool(self._around)


def _takes_over(mock: Any, called: str) -> bool:
    """Whether a mock, or what was `called` of it, stands for somebody who goes on with what it is given: not if it raises, answers, passes it on or logs."""
    *path, last = called.split(".")
    if last in _LOGS:
        return False
    for name in (*path, last) if called else ():
        mock = getattr(mock, name.removesuffix("()"), None)
        mock = mock.return_value if name.endswith("()") and mock is not None else mock
    return effect(mock) in (Effect.NOTHING, Effect.ACTS)


def _completes(mock: Any, name: str, component: object, arguments: Sequence[Any]) -> bool:
    """Whether a mock stands for a function that is given the component itself: whatever it answers, it may have acked before."""
    args, kwargs = arguments
    passed = any(each is component for each in (*args, *kwargs.values()))
    # autospec tells a method its `self`, too: what that completes is read from the method
    return passed and effect(mock) is Effect.ANSWERS and not hasattr(type(component), name)


def _around(component: object, dialect: Dialect) -> Iterator[tuple[str, Any]]:
    """The mocks that a component's methods can name, but for the framework's."""
    if sys.modules.keys().isdisjoint(_MAKERS):
        return
    own = own_classes(component, dialect)
    modules = [sys.modules.get(name) for name in dict.fromkeys(base.__module__ for base in own)]
    parts = (found for _, found in _named_in(component) if not is_itself_a_mock(found))
    for place in (component, *parts, *own, *modules):
        yield from ((name, found) for name, found in _named_in(place) if is_itself_a_mock(found))
    mentioned = _mentioned(own)
    imported = (found for module in modules for _, found in _named_in(module) if type(found) is ModuleType)
    for there in map(vars, imported):
        yield from (
            (name, there[name]) for name in mentioned if name in there and is_itself_a_mock(there[name])
        )


@lru_cache
def _mentioned(own: tuple[type, ...]) -> tuple[str, ...]:
    """The names in the methods of these classes."""
    written = (raw for base in own for raw in vars(base).values() if type(raw) is FunctionType)
    codes = (getattr(unwrap(raw), "__code__", None) for raw in written)
    return tuple(sorted(frozenset[str]().union(*(names_in(code) for code in codes if code is not None))))


def _named_in(place: object) -> list[tuple[str, Any]]:
    """Its attributes, but for plain values."""
    try:
        return [(name, found) for name, found in list(vars(place).items()) if type(found) not in _PLAIN]
    except Exception:  # noqa: BLE001 - it has none, or stands for something that is not there
        return []
