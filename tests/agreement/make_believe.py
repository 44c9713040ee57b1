"""A world for components that were written to be read: whatever they import exists and answers something."""

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, unique
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from typing_extensions import Self

__all__ = ["Answers", "World", "make_believe", "wants"]


@unique
class World(Enum):
    """What calls of unknown code come to; where they fail, they do so once a component is at work."""

    YES = "something"
    NO = ""
    FAILS = "a connection"


_PATIENCE = 20


class Answers:
    """What is answered; `asked` whether anything was, and `handed` whether it was given what it might keep."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked = False
        self.called = ""  # what the last call was to
        self.begin()
        self.error: type[Exception] = FailedError

    def begin(self) -> None:
        """A new component."""
        self.handed = self.at_work = False
        self.patience = _PATIENCE  # calls that fail before they work: some loops try again for ever

    def __call__(self, *given: object) -> "_Thing":
        self.asked = True
        self.handed = self.handed or not all(map(_is_plain, given))
        if self.world is World.FAILS and self.at_work and self.patience:
            self.patience -= 1
            raise self.error
        return _Thing(self)


class FailedError(Exception):
    """A call failed, as calls do."""


class _Thing(str):
    """An answer: a text that JSON can carry, and that can be called, entered and asked for anything."""

    __slots__ = ("_answers", "_name")
    _answers: Answers
    _name: str

    def __new__(cls, answers: Answers, name: str = "") -> Self:
        thing = super().__new__(cls, answers.world.value)
        thing._answers = answers
        thing._name = name
        return thing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in {"id", "stream"}:
            raise AttributeError(name)
        return _Thing(self._answers, name)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        self._answers.called = self._name
        return self._answers(*args, *kwargs.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        """As a base class it adds nothing."""
        return (object,)


def _is_plain(one: object) -> bool:
    if isinstance(one, list | dict | tuple) and not hasattr(one, "id"):  # a tuple of Storm's is one, too
        return all(map(_is_plain, one))
    return isinstance(one, str | int | float | None)


class _Module(ModuleType):
    """Has functions, and classes of errors, by any name."""

    def __init__(self, name: str, answers: Answers, errors: set[str]) -> None:
        super().__init__(name)
        self._answers = answers
        self._errors = errors

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value: Any = _Thing(self._answers, name)
        if name in self._errors:
            value = self._answers.error = type(name, (FailedError,), {})
        setattr(self, name, value)
        return value


class _Finder:
    """The last one to be asked."""

    def __init__(self, answers: Answers, errors: set[str]) -> None:
        self._answers = answers
        self._errors = errors
        self.made: list[str] = []

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname in sys.stdlib_module_names:  # it asks what system this is: `_winapi`
            return None
        spec = spec_from_loader(fullname, self)  # type: ignore[arg-type]  # a finder and loader in one
        assert spec is not None
        spec.submodule_search_locations = []
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.made.append(spec.name)
        return _Module(spec.name, self._answers, self._errors)

    def exec_module(self, module: ModuleType) -> None: ...


@contextmanager
def make_believe(answers: Answers, sources: Sequence[str]) -> Iterator[None]:
    """Whatever nobody finds is found, while these sources run."""
    finder = _Finder(answers, {name for source in sources for name in _caught(ast.parse(source))})
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)


def _caught(tree: ast.AST) -> Iterator[str]:
    """The names of errors: whatever stands in an `except`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            for part in ast.walk(node.type):
                if isinstance(part, ast.Name | ast.Attribute):
                    yield part.id if isinstance(part, ast.Name) else part.attr


def wants(sources: Sequence[str]) -> tuple[list[list[Any]], dict[str, Any]]:
    """Values that such code can unpack: as many as it names, and with the keys that it asks for; and those keys."""
    sizes: set[int] = set()
    keys: dict[str, Any] = {}
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Attribute(attr="values")):
                sizes.add(len(names))
            case ast.Subscript(value=ast.Attribute(attr="values"), slice=ast.Constant(value=int(index))):
                sizes.add(index + 1)
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                keys[key] = ["a"]
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
                keys[key] = ["a"]
    wanted = sorted(sizes) if sizes else [1, 2]
    plain = [[one] * size for one in ("a b", "", -1, 1_000_000) for size in wanted]
    odd = [[one] * wanted[-1] for one in (None, ["a", "b"], keys)]
    return [*plain, *odd], keys
