"""A component's methods as their author wrote them, whatever a test has put in their place since.

    with mock.patch.object(Store, "finish"):  # def finish(self): self.ack(self.current)
        bolt.process(tup)  # nobody acks, and nobody is to blame

The code of each method is noted when its class is first met; of what comes later, such as a class decorator's, what stands there is read.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache
from inspect import unwrap
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from ackdoctor.model.dialect import Dialect, Role, VerbKind
from ackdoctor.tracer.instrument.patches import Effect, effect, is_itself_a_mock

__all__ = ["Written", "names_in", "own_classes"]


class Written:
    """The code of every method of the classes that were met."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[type, dict[str, CodeType]] = WeakKeyDictionary()

    def note(self, cls: type) -> None:
        """A component's class, and its bases: what is known of one already stays."""
        for base in cls.__mro__[:-1]:
            if base not in self._known:
                self._known[base] = {
                    name: code for name, raw in vars(base).items() if (code := _code_of(raw)) is not None
                }

    def completes_unseen(self, component: object, dialect: Dialect, role: Role) -> str:
        """Why nobody may see it complete: a test has put something before a method of its own by which it acks or fails."""
        own = own_classes(component, dialect)
        replaced = list(self._replaced(component, own))
        if not replaced:
            return ""
        verbs = (*role.verbs, *dialect.verbs)
        completing = {verb.name for verb in verbs if verb.kind in (VerbKind.ACK, VerbKind.FAIL)}
        seen = {*(verb.name for verb in verbs), *(entry.method for entry in role.entries)}
        for name, found in replaced:
            if name in seen or self._goes_on(own, found, completing):
                continue
            if any(self.mentions(own, code, completing) for code in self._methods(own, name)):
                return f"{name} is {'a mock' if is_itself_a_mock(found) else 'replaced'}"
        return ""

    def mentions(self, own: Collection[type], code: CodeType, names: Collection[str]) -> bool:
        """Whether a function mentions one of these names, or a method of these classes that does."""
        waiting, asked = [code], set[str]()
        while waiting:
            mentioned = names_in(waiting.pop())
            if not mentioned.isdisjoint(names):
                return True
            waiting += (found for name in mentioned - asked for found in self._methods(own, name))
            asked |= mentioned
        return False

    def _goes_on(self, own: Collection[type], found: Any, completing: Collection[str]) -> bool:
        """Whether what stands in a method's place hides nothing: it raises, passes its calls on, or completes by itself."""
        if is_itself_a_mock(found):
            return effect(found) in (Effect.RAISES, Effect.PASSES_ON)
        code = _code_of(found)
        return code is not None and self.mentions(own, code, completing)

    def _replaced(self, component: object, own: Collection[type]) -> Iterator[tuple[str, Any]]:
        """What does not stand in the classes as it was written, by name, and what the component itself has under a method's name."""
        for name, found in list(getattr(component, "__dict__", {}).items()):
            codes = [code for other in own for code in self._of(other, name)] if callable(found) else []
            if codes and (is_itself_a_mock(found) or _code_of(found) not in codes):
                yield name, found
        for base in own:
            known = self._known.get(base, {})
            for name, raw in list(vars(base).items()):
                if type(raw) is FunctionType and raw.__code__ is known.get(name):
                    continue  # most are, and each call of a handler by a test looks at all
                if is_itself_a_mock(raw) or (name in known and _code_of(raw) is not known[name]):
                    yield name, raw

    def _methods(self, own: Collection[type], name: str) -> Iterator[CodeType]:
        """What the author has written under a name: the nearest, and what that may call by the same name or `super`."""
        for base in own:
            for code in self._of(base, name):
                yield code
                if names_in(code).isdisjoint({"super", name}):
                    return

    def _of(self, base: type, name: str) -> Iterator[CodeType]:
        code = self._known.get(base, {}).get(name) or _code_of(vars(base).get(name))
        if code is not None:
            yield code


def own_classes(component: object, dialect: Dialect) -> tuple[type, ...]:
    """Those of a component that the framework has not written."""
    cls: type = type(component)
    return _without(cls, dialect.wire.modules if dialect.wire else ())


@lru_cache
def _without(cls: type, modules: tuple[str, ...]) -> tuple[type, ...]:
    return tuple(
        base
        for base in cls.__mro__[:-1]
        if not any(base.__module__ == name or base.__module__.startswith(f"{name}.") for name in modules)
    )


def names_in(code: CodeType) -> frozenset[str]:
    """The names that a function, and those within it, mention."""
    inner = (names_in(const) for const in code.co_consts if isinstance(const, CodeType))
    return frozenset(code.co_names).union(*inner)


def _code_of(raw: Any) -> CodeType | None:
    """The code of a method, static or not, and of the one that it wraps; None for a mock, and for what is none."""
    function = raw.__func__ if type(raw) in (classmethod, staticmethod, MethodType) else raw
    if type(function) is not FunctionType or is_itself_a_mock(function):
        return None
    code = getattr(unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None
