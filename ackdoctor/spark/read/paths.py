"""How Spark is told which file is meant: it takes each path for a pattern."""

import re
from collections.abc import Iterable

__all__ = ["literal", "literally"]

_SPECIAL = re.compile(r"[][*?{}\\]")


def literal(path: str) -> str:
    """The path as a pattern that matches nothing else.

    Spark's `__globPaths__` would spare that, and reads each of n such files n times.
    """
    return _SPECIAL.sub(r"\\\g<0>", path)


def literally(paths: Iterable[str]) -> list[str]:
    """The same of many."""
    return list(map(literal, paths))
