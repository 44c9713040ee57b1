"""How much work a function does, to compare a small input with a large one: no limit in seconds fits all machines."""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(function: Callable[[], object]) -> int:
    """The lines of Python that run during a call: the same on every machine."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def cpu_seconds(function: Callable[[], object]) -> float:
    """The CPU time of a call: it also counts the work of regular expressions and of parsers in C."""
    before = time.process_time()
    function()
    return time.process_time() - before


def grows_linearly(function: Callable[[int], object], size: int) -> bool:
    """Whether eight times the size costs far less than sixty-four times the CPU time."""
    small = cpu_seconds(lambda: function(size))
    return cpu_seconds(lambda: function(8 * size)) < 30 * small + 0.5
