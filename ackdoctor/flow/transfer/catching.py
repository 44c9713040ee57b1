"""Which exceptions a handler takes, as far as their names tell."""

import builtins

from ackdoctor.flow.library import EXCEPTIONS
from ackdoctor.model.cfg import Catch

__all__ = ["catches"]

_ALL = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})


def catches(op: Catch, raising: str) -> tuple[bool, bool]:
    """Whether a handler certainly, and whether it possibly, takes what is raised."""
    names = {name.rpartition(".")[2] for name in op.types}
    raised = raising.rpartition(".")[2]
    if not op.types or names & _ALL:
        return True, True
    if not raised:
        return False, True
    if raised in names:
        return True, True
    cls = getattr(builtins, raised, None)
    if not isinstance(cls, type):
        return _by_table(names, raised)
    parents = {parent.__name__ for parent in cls.__mro__}
    handled = {name for name in names if isinstance(getattr(builtins, name, None), type)}
    if parents & handled:
        return True, True
    return False, len(handled) < len(names)


def _by_table(names: set[str], raised: str) -> tuple[bool, bool]:
    if raised not in EXCEPTIONS:
        return False, True
    parent = EXCEPTIONS.get(raised)
    while parent is not None:
        if parent in names:
            return True, True
        parent = EXCEPTIONS.get(parent)
    return False, False
