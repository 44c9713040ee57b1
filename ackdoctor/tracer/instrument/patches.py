"""Attributes of other people's classes and modules that we replaced, and how to put them back."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["Patches", "Target", "is_ours", "ours", "resolve"]

_MARK = "__ackdoctor__"


class Target(NamedTuple):
    """An attribute that exists: `raw` is what `vars(owner)` holds, or what the owner inherits."""

    owner: Any
    name: str
    raw: Any


def resolve(path: str) -> Target | None:
    """The attribute that a qualified name stands for, if its module is imported already."""
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
    """Marks a wrapper as ours.  The mark is the function itself: `functools.wraps` copies marks."""
    setattr(wrapper, _MARK, wrapper)
    return wrapper


def is_ours(raw: object) -> bool:
    """Whether a wrapper of ours stands here already."""
    function = getattr(raw, "__func__", raw)
    return function is not None and getattr(function, _MARK, None) is function


class Patches:
    """What was replaced, in order.

    An attribute that somebody else has replaced meanwhile is left alone by `undo`: theirs is the last word.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any, bool]] = []

    def put(self, target: Target, wrapper: Any) -> None:
        """Puts `wrapper` where the target was."""
        own = target.name in vars(target.owner)
        setattr(target.owner, target.name, wrapper)
        self._done.append((target.owner, target.name, wrapper, target.raw, own))

    def has(self, wrapper: Any) -> bool:
        """Whether a wrapper is one of these."""
        return any(done[2] is wrapper for done in self._done)

    def undo(self) -> None:
        """Puts everything back, the last replacement first."""
        while self._done:
            owner, name, wrapper, raw, own = self._done.pop()
            if vars(owner).get(name) is not wrapper:
                continue
            if own:
                setattr(owner, name, raw)
            else:
                delattr(owner, name)
