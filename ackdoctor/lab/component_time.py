"""The time that the components of a run see: simulated, and the same in every run.

    clock = ComponentClock()
    with clock.replacing():
        ...  # here `time.sleep(5)` of a component returns at once, and its `time.time()` is 5 seconds later
    clock.take()    5.0, the seconds that the run has to let pass

`datetime.now()` and `date.today()` are written in C and show the real time; `real_time` finds their calls.
"""

import inspect
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import current_thread
from typing import SupportsFloat, SupportsIndex

from ackdoctor.lab.child import THREAD_PREFIX

_START_NS = 1_600_000_000 * 10**9  # what the clocks show at the start of a run
_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_QUICK = 1000  # readings in one call of a component
_READING_NS = 1_000_000  # what each further one takes: the component waits for a time
_OTHERS = sys.stdlib_module_names | {__name__.partition(".")[0]}  # modules that see the real time
_REAL = re.compile(rb"\b(?:datetime|date)\.(?:now|utcnow|today)\(")


class ComponentClock:
    """`now_ms` is the simulated time; `take` returns what the components have slept since its last call."""

    def __init__(self) -> None:
        self.now_ms: Callable[[], int] = lambda: 0
        self._slept_ns = 0
        self._readings = 0

    def take(self) -> float:
        """Return the seconds that passed in the last call of a component."""
        seconds, self._slept_ns, self._readings = self._slept_ns / 1e9, 0, 0
        return seconds

    @contextmanager
    def replacing(self) -> Iterator[None]:
        """Replace `time.sleep` and the clocks for the calling thread and the components' threads.

        Other threads, the standard library and this package see the real time.
        """
        real = {name: getattr(time, name) for name in ("sleep", *_CLOCKS)}
        ours, active = current_thread(), True

        def is_simulated() -> bool:
            """Whether a component called the function that calls this one."""
            frame = inspect.currentframe()
            caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
            module = str(caller.f_globals.get("__name__")) if caller is not None else ""
            thread = current_thread()
            is_ours = thread is ours or thread.name.startswith(THREAD_PREFIX)
            return active and is_ours and module.partition(".")[0] not in _OTHERS

        def sleep(seconds: SupportsFloat | SupportsIndex) -> None:
            if is_simulated():
                self._slept_ns += max(0, round(float(seconds) * 1e9))
            else:
                real["sleep"](seconds)

        def read(name: str) -> object:
            if not is_simulated():
                return real[name]()
            now_ns = self._read_ns()
            return now_ns if name.endswith("_ns") else now_ns / 1e9

        time.sleep = sleep
        for name in _CLOCKS:
            setattr(time, name, partial(read, name))
        try:
            yield
        finally:
            active = False  # a module may keep one of the functions
            for name, function in real.items():
                setattr(time, name, function)

    def _read_ns(self) -> int:
        self._readings += 1
        if self._readings > _QUICK:
            self._slept_ns += _READING_NS
        return _START_NS + self.now_ms() * 1_000_000 + self._slept_ns


def real_time(file: Path) -> int:
    """Return the line of a Python file that first reads a clock of the module `datetime`, 0 if none does."""
    lines = file.read_bytes().splitlines()
    return next((number for number, line in enumerate(lines, 1) if _REAL.search(line)), 0)
