"""Attributes of other modules that the tracer replaces, now or when the module is imported, and how to restore them."""

import sys
from collections.abc import Callable, Sequence
from enum import Enum, auto
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

__all__ = [
    "Arrivals",
    "Effect",
    "Patches",
    "Standing",
    "Target",
    "effect",
    "is_itself_a_mock",
    "is_mock",
    "is_ours",
    "ours",
    "resolve",
]


_MARK = "__ackdoctor__"


class Target(NamedTuple):
    """An attribute that exists: `raw` is what `vars(owner)` holds, or what the owner inherits."""

    owner: Any
    name: str
    raw: Any


def resolve(path: str) -> Target | None:
    """The attribute of a qualified name, if its module is imported already."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if isinstance(module, ModuleType):
            return _walk(module, parts[cut:])
    return None


def _walk(owner: Any, names: list[str]) -> Target | None:
    for name in names[:-1]:
        owner = vars(owner).get(name)
        if owner is None:
            return None
    raw = vars(owner).get(names[-1], getattr(owner, names[-1], None))
    return None if raw is None else Target(owner, names[-1], raw)


def ours(wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a wrapper as ours. The mark is the function itself, since `functools.wraps` copies marks."""
    setattr(wrapper, _MARK, wrapper)
    return wrapper


def is_ours(raw: object) -> bool:
    """Whether this is a wrapper of ours."""
    function = getattr(raw, "__func__", raw)
    return function is not None and getattr(function, _MARK, None) is function


def is_mock(raw: object) -> bool:
    """Whether a test has put a mock here."""
    return hasattr(raw, "call_args_list")


def is_itself_a_mock(found: object) -> bool:
    """As `is_mock`, for any object: reads no attribute of a proxy, whose target may be missing."""
    return is_mock(found if type(found) is FunctionType else type(found))


class Effect(Enum):
    """The effect of a call of a mock."""

    NOTHING = auto()  # it returns another mock, or None: it replaces a function that acts
    RAISES = auto()
    ANSWERS = auto()
    PASSES_ON = auto()  # as a spy does
    ACTS = auto()  # a function of the test's own runs instead


def effect(mock: Any) -> Effect:
    """The effect of a mock as it is configured now; errors in a list of answers do not matter.

    unittest.mock asks `side_effect` first, then `return_value`, then what it wraps.  Its `return_value` is never asked for
    here: that would make one, and up to Python 3.11 the mock would wrap nothing from then on.
    """
    does = getattr(mock, "side_effect", None)
    if isinstance(does, BaseException) or (isinstance(does, type) and issubclass(does, BaseException)):
        return Effect.RAISES
    if callable(does) and not isinstance(does, type):
        return (
            Effect.PASSES_ON if hasattr(does, "__wrapped__") else Effect.ACTS
        )  # pytest-mock's spy, or a fake
    if does is not None:
        return Effect.ANSWERS
    fields = getattr(mock, "__dict__", {})
    answer = fields.get("return_value", fields.get("_mock_return_value", mock))  # autospec's function, a Mock
    if type(answer).__name__ == "_SentinelObject":  # nothing was set: DEFAULT
        return Effect.PASSES_ON if fields.get("_mock_wraps") is not None else Effect.NOTHING
    return Effect.NOTHING if answer is None or is_mock(type(answer)) else Effect.ANSWERS


class Standing:
    """Replaces a method that is no plain function, such as a decorator's object: only calls go through `handle`."""

    def __init__(self, raw: Any, handle: Callable[..., Any]) -> None:
        self._raw = raw
        self._handle = handle
        setattr(self, _MARK, self)

    def __get__(self, owner: object, cls: type | None = None) -> Any:
        """The bound method of an object; the author's own attribute of the class."""
        return self._raw.__get__(None, cls) if owner is None else MethodType(self._handle, owner)


class Patches:
    """The replaced attributes, in order.

    `undo` leaves an attribute alone that other code has replaced meanwhile.
    If that code restores our wrapper later, the wrapper is an ordinary function that passes everything on.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any, bool]] = []
        self._mocks: dict[tuple[int, str], Target] = {}

    def put(self, target: Target, wrapper: Any) -> None:
        """Replace the target by `wrapper`."""
        own = target.name in vars(target.owner)
        setattr(target.owner, target.name, wrapper)
        self._done.append((target.owner, target.name, wrapper, target.raw, own))

    def leave(self, target: Target) -> None:
        """Remember a mock: a test may restore the attribute under it."""
        self._mocks[id(target.owner), target.name] = target

    def is_whole(self) -> bool:
        """Whether every wrapper, or a mock over it, is still in place, and no remembered mock has gone."""
        for owner, name, wrapper, _, _ in self._done:
            if vars(owner).get(name) is not wrapper and self._is_free(owner, name):
                return False
        return not any(self._is_free(owner, name) for owner, name, _ in self._mocks.values())

    def _is_free(self, owner: Any, name: str) -> bool:
        now = vars(owner).get(name)
        return not is_mock(now) and not self.has(now)

    def has(self, wrapper: Any) -> bool:
        """Whether a wrapper is one of these patches."""
        return any(done[2] is wrapper for done in self._done)

    def undo(self) -> None:
        """Restore everything, the last replacement first."""
        while self._done:
            owner, name, wrapper, raw, own = self._done.pop()
            if vars(owner).get(name) is not wrapper:
                vars(getattr(wrapper, "__func__", wrapper)).pop(_MARK, None)
                continue
            if own:
                setattr(owner, name, raw)
            else:
                delattr(owner, name)


class Arrivals:
    """An import finder that asks the others, and calls `arrived` once the module is executed."""

    def __init__(self, wanted: Callable[[str], bool], arrived: Callable[[ModuleType], None]) -> None:
        self._wanted = wanted
        self._arrived = arrived
        self._asking: set[tuple[int, str]] = set()

    def begin(self) -> None:
        """Insert the finder before all others."""
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Remove the finder."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by the import system; None lets it ask the next finder."""
        question = (get_ident(), fullname)
        if question in self._asking or not self._wanted(fullname):
            return None
        self._asking.add(question)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = (
                    find(fullname, path, target) if find and finder is not self else None
                )
                if spec is not None:
                    self._listen(fullname, spec.loader)
                    return spec
        finally:
            self._asking.discard(question)
        return None

    def _listen(self, name: str, loader: Any) -> None:
        """Wrap the loader's `exec_module`, once; built-in loaders are classes and are left alone."""
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type) or not hasattr(loader, "__dict__"):
            return

        def exec_module(module: ModuleType) -> None:
            if module.__name__ == name:
                vars(loader).pop("exec_module", None)
            execute(module)
            if module.__name__ == name:
                self._arrived(module)

        loader.exec_module = exec_module
