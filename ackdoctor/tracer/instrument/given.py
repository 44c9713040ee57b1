"""What a component gives to the mocks around it: who is given a tuple may complete it.

    def process(self, tup):
        self.pool.submit(self.work, tup)  # in a test `pool` is a mock, and nobody works

Mocks are looked for in the component's fields and what is in them, in its classes, in the modules of these, and in the modules that they
import under the names that the component's own methods mention.
"""

import sys
from collections.abc import Collection, Hashable, Iterator
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ackdoctor.model.dialect import Dialect, Role
from ackdoctor.tracer.instrument.mocks import own_classes
from ackdoctor.tracer.instrument.patches import is_mock
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

    def tuples(self, wanted: Collection[Hashable]) -> Iterator[tuple[Hashable, str]]:
        """The deliveries in `wanted` whose tuples a mock was given since then, each with the mock's name."""
        around, self._around = self._around, []
        for name, mock, before in around:
            for called, *arguments in mock.mock_calls[before:]:
                if _takes_over(mock, called):
                    for delivery in tuples_in(arguments, wanted):
                        yield delivery, name

    def __bool__(self) -> bool:
        return bool(self._around)


def _takes_over(mock: Any, called: str) -> bool:
    """Whether a mock, or what was `called` of it, stands for somebody who goes on with what it is given: not if it raises, answers or logs."""
    *path, last = called.split(".")
    if last in _LOGS:
        return False
    for name in (*path, last) if called else ():
        mock = getattr(mock, name.removesuffix("()"), None)
        mock = mock.return_value if name.endswith("()") and mock is not None else mock
    does = getattr(mock, "side_effect", None)
    if does is not None:
        return callable(does) and not isinstance(does, type)  # no error, and no list of answers
    return is_mock(type(getattr(mock, "return_value", mock)))  # nobody has set it


def _around(component: object, dialect: Dialect) -> Iterator[tuple[str, Any]]:
    """The mocks that a component's methods can name, but for the framework's."""
    if sys.modules.keys().isdisjoint(_MAKERS):
        return
    own = tuple(own_classes(component, dialect))
    modules = [sys.modules.get(name) for name in dict.fromkeys(base.__module__ for base in own)]
    parts = (found for _, found in _named_in(component) if not _is_mock(found))
    for place in (component, *parts, *own, *modules):
        yield from ((name, found) for name, found in _named_in(place) if _is_mock(found))
    mentioned = _mentioned(own)
    imported = (found for module in modules for _, found in _named_in(module) if type(found) is ModuleType)
    for there in map(vars, imported):
        yield from ((name, there[name]) for name in mentioned if name in there and _is_mock(there[name]))


def _is_mock(found: object) -> bool:
    """Whether it is one itself: a proxy of something else is not asked."""
    return is_mock(found if type(found) is FunctionType else type(found))


@cache
def _mentioned(own: tuple[type, ...]) -> tuple[str, ...]:
    """The names in the methods of these classes."""
    written = (raw for base in own for raw in vars(base).values() if type(raw) is FunctionType)
    codes = (getattr(unwrap(raw), "__code__", None) for raw in written)
    waiting = [code for code in codes if code is not None]
    names: dict[str, None] = {}
    while waiting:
        code = waiting.pop()
        names |= dict.fromkeys(code.co_names)
        waiting += (const for const in code.co_consts if isinstance(const, CodeType))
    return tuple(names)


def _named_in(place: object) -> list[tuple[str, Any]]:
    """Its attributes, but for plain values."""
    try:
        return [(name, found) for name, found in list(vars(place).items()) if type(found) not in _PLAIN]
    except Exception:  # noqa: BLE001 - it has none, or stands for something that is not there
        return []
