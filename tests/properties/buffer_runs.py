"""Run a bolt that keeps tuples in a field on random sequences of tuples and ticks.

The functions of the module `elsewhere` return or raise at random.  A tuple is lost when a handler returns and the tuple
is neither completed nor reachable from a field of the component.  An exception that leaves a handler ends the run, as
it ends the worker.
"""

import builtins
import sys
from collections import deque
from collections.abc import Iterator
from random import Random
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

from ackdoctor.model.protocol import Op, Stage
from tests.properties.concrete_runs import PATH, Run, user_lines

__all__ = ["run_buffers"]

MAX_CALLS = 8
MAX_LINES = 600  # of one run: some loops never end


class _Cut(BaseException):
    """The run is too long."""


class _Tuple:
    """An input tuple."""

    def __init__(self, number: int) -> None:
        self.id = f"id{number}"
        self.values = [number]


class _Execution:
    """One run: its random answers, its tuples, and the executed lines."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.luck = random.choice((0.0, 0.1, 0.3, 0.6))  # how often a call raises
        self.lines: list[int] = []
        self.runs: dict[_Tuple, Run] = {}

    def ready(self) -> bool:
        self._raise_at_random(self.luck / 4)
        return self.random.random() < 0.5

    def work(self, _values: object) -> None:
        self._raise_at_random(self.luck)

    def _raise_at_random(self, chance: float) -> None:
        if self.random.random() < chance:
            raise self.random.choice((ValueError, OSError))

    def do(self, op: Op, target: object) -> None:
        for tup, run in self.runs.items():
            if target is tup or target == tup.id:
                run.do(op, user_lines(sys._getframe(2)))

    def fill(self, batch: Any, names: frozenset[object]) -> None:
        for number in range(self.random.randrange(1, 4)):
            tup = _Tuple(-1 - number)
            self.runs[tup] = Run(lines=self.lines)
            if "setdefault" in names:
                batch.setdefault(number % 2, []).append(tup)
            elif "row" in names:
                batch.append((tup, "row"))
            elif isinstance(batch, dict):
                batch[tup.id] = tup
            else:
                batch.append(tup)

    def end(
        self,
        component: object,
        current: _Tuple | None,
        handler_lines: list[int],
        raised: BaseException | None,
    ) -> None:
        """Complete or lose tuples, as the framework does when a handler ends."""
        if raised is not None:
            if current is not None and getattr(component, "auto_fail", True):
                self.runs[current].do(Op.AUTO_FAIL, tuple(handler_lines))
            return
        held = _tuples_in(vars(component))
        for tup, run in self.runs.items():
            if run.state is Stage.OWED and tup not in held:
                run.do(Op.END, tuple(handler_lines))
                run.state = Stage.HELD  # reported once

    def trace(self, frame: FrameType, word: str, _arg: object) -> Any:
        if frame.f_code.co_filename != PATH:
            return None
        if word == "line":
            self.lines.append(frame.f_lineno)
            if len(self.lines) > MAX_LINES:
                raise _Cut
        elif word == "call":
            self.lines.append(frame.f_code.co_firstlineno)
        elif word == "return" and frame.f_back is not None and frame.f_back.f_code.co_filename == PATH:
            self.lines.append(frame.f_back.f_lineno)
        return self.trace


def _tuples_in(value: object) -> set[_Tuple]:
    if isinstance(value, _Tuple):
        return {value}
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, deque)):
        return {tup for each in value for tup in _tuples_in(each)}
    return set()


def _names_in(code: CodeType) -> Iterator[object]:
    """Yield the names and constants of a compiled source: they say what `process` stores."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
        else:
            yield constant


def _framework(execution: _Execution) -> type:
    class Bolt:
        auto_ack = auto_fail = True

        def ack(self, tup: object) -> None:
            execution.do(Op.ACK, tup)

        def fail(self, tup: object) -> None:
            execution.do(Op.FAIL, tup)

        def emit(self, _values: object, anchors: list[object]) -> None:
            execution._raise_at_random(execution.luck / 4)
            for tup in anchors:
                execution.do(Op.ANCHOR, tup)

    return Bolt


def run_buffers(code: Any, random: Random, *, filled: bool = False) -> list[Run]:
    """One run of a compiled source, as one `Run` for each tuple.

    If `filled`, the field holds tuples at the start, which the analysis always assumes to be possible.
    """
    execution = _Execution(random)
    modules = {
        "streamparse": SimpleNamespace(Bolt=_framework(execution)),
        "elsewhere": SimpleNamespace(ready=execution.ready, work=execution.work),
    }

    def importer(name: str, *args: Any) -> Any:
        return modules[name] if name in modules else __import__(name, *args)

    space: dict[str, Any] = {"__name__": "bolt", "__builtins__": {**vars(builtins), "__import__": importer}}
    exec(code, space)  # generated text
    component = space["Made"]()
    component.initialize({}, {})
    if filled:
        execution.fill(component.batch, frozenset(_names_in(code)))
    before = sys.gettrace()
    sys.settrace(execution.trace)
    try:
        for number in range(random.randrange(2, MAX_CALLS)):
            if not _handle(execution, component, number):
                break
    except _Cut:
        pass  # what happened before is a run, too
    finally:
        sys.settrace(before)
    return list(execution.runs.values())


def _handle(execution: _Execution, component: Any, number: int) -> bool:
    """Call one handler; return whether the worker goes on."""
    tup = _Tuple(number)
    start = len(execution.lines)
    raised: BaseException | None = None
    is_tick = execution.random.random() < 0.35
    try:
        if is_tick:
            component.process_tick(tup)
        else:
            execution.runs[tup] = Run(lines=execution.lines)
            component.process(tup)
    except (ValueError, OSError, RuntimeError, LookupError) as error:
        raised = error
    execution.end(component, None if is_tick else tup, execution.lines[start:], raised)
    return raised is None
