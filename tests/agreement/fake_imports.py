"""Fake modules for components that are only examples: any import succeeds, and any call returns a value."""

import ast
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, unique
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any
from unittest import mock

from typing_extensions import Self

__all__ = ["Answers", "Outcome", "fake_imports", "input_values"]


@unique
class Outcome(Enum):
    """The results of calls of unknown code; FAILS takes effect once the component is running."""

    YES = "something"
    NO = ""
    FAILS = "a connection"


_MAX_FAILURES = 20
_LIBRARIES = frozenset({"requests"})  # of examples; Sphinx installs it


class Answers:
    """Answers every call.  `asked` is true once there was one, `escaped` once a call received an object that it may keep."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.asked = False
        self.called = ""  # name of the last function called
        self.begin()
        self.error: type[Exception] = FailedError

    def begin(self) -> None:
        """Start with a new component."""
        self.escaped = self.running = False
        self.failures_left = _MAX_FAILURES  # then calls succeed: some loops retry for ever

    def __call__(self, *args: object) -> "_Anything":
        self.asked = True
        self.escaped = self.escaped or not all(map(_is_plain, args))
        if self.outcome is Outcome.FAILS and self.running and self.failures_left:
            self.failures_left -= 1
            raise self.error
        return _Anything(self)


class FailedError(Exception):
    """A call of a fake function failed."""


class _Anything(str):
    """A result: a string, so that JSON can encode it, that can also be called and entered and has every attribute."""

    __slots__ = ("_answers", "_name")
    _answers: Answers
    _name: str

    def __new__(cls, answers: Answers, name: str = "") -> Self:
        new = super().__new__(cls, answers.outcome.value)
        new._answers = answers
        new._name = name
        return new

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in {"id", "stream"}:
            raise AttributeError(name)
        return _Anything(self._answers, name)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        self._answers.called = self._name
        return self._answers(*args, *kwargs.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        """Act as an empty base class."""
        return (object,)


def _is_plain(one: object) -> bool:
    if isinstance(one, list | dict | tuple) and not hasattr(one, "id"):  # a Storm tuple is a list, too
        return all(map(_is_plain, one))
    return isinstance(one, str | int | float | None)


class _Module(ModuleType):
    """A module with a function, or an exception class, for every name."""

    def __init__(self, name: str, answers: Answers, errors: set[str]) -> None:
        super().__init__(name)
        self._answers = answers
        self._errors = errors

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value: Any = _Anything(self._answers, name)
        if name in self._errors:
            value = self._answers.error = type(name, (FailedError,), {})
        setattr(self, name, value)
        return value


class _Finder:
    """Finds a fake for every module, or only for those in the packages `only`."""

    def __init__(self, answers: Answers, errors: set[str], only: frozenset[str] = frozenset()) -> None:
        self._answers = answers
        self._errors = errors
        self._only = only
        self.made: list[str] = []

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname in sys.stdlib_module_names:  # a platform probe, such as `_winapi`
            return None
        if self._only and fullname.partition(".")[0] not in self._only:
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
def fake_imports(answers: Answers, sources: Sequence[str]) -> Iterator[None]:
    """Provide a fake for every module that does not exist, and for the libraries of examples, while these sources run.

    What they write to a file stays in memory.
    """
    errors = {name for source in sources for name in _caught(ast.parse(source))}
    first, last = _Finder(answers, errors, _LIBRARIES), _Finder(answers, errors)
    real = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] in _LIBRARIES}
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    try:
        with mock.patch("builtins.open", _open):
            yield
    finally:
        sys.meta_path.remove(first)
        sys.meta_path.remove(last)
        for name in (*first.made, *last.made):
            sys.modules.pop(name, None)
        sys.modules.update(real)


_open_file = open


def _open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
    if not set("wax+").intersection(mode):
        return _open_file(file, mode, *args, **kwargs)
    return io.BytesIO() if "b" in mode else io.StringIO()


def _caught(tree: ast.AST) -> Iterator[str]:
    """The names of exceptions: all names in `except` clauses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            for part in ast.walk(node.type):
                if isinstance(part, ast.Name | ast.Attribute):
                    yield part.id if isinstance(part, ast.Name) else part.attr


def input_values(sources: Sequence[str]) -> tuple[list[list[Any]], dict[str, Any]]:
    """Tuple values that the code can unpack and index, and a dict with the keys that it reads."""
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
