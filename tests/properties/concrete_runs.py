"""Run a bolt's source under a minimal framework, for all answers of the functions that it calls.

Every call of an opaque function (`ready`, `find`, `work`, `rows`, `keep`) takes a number from the *script*, which selects
the result or an exception.  A *run* is the execution of one script.  `explore` runs all scripts depth first if they are
few, and random ones otherwise.  A run applies each operation on its tuple to the protocol table.
"""

import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

from ackdoctor.model.protocol import Breach, Op, Stage, move
from tests.properties.bolt_settings import Setting

__all__ = ["MAX_ROWS", "PATH", "Event", "Exploration", "Run", "explore", "next_script", "user_lines"]

PATH = "bolt.py"
MAX_CHOICES = 18
MAX_ROWS = 2
MAX_RUNS = 500
RANDOM_RUNS = 250


@dataclass(frozen=True, slots=True)
class Event:
    """One operation, its breach, and the lines of the active calls, innermost first."""

    op: Op
    breach: Breach | None
    lines: tuple[int, ...]


@dataclass(slots=True)
class Run:
    """The result of one script: executed lines in order, operations, and how it ended."""

    lines: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    state: Stage = Stage.OWED
    raised: bool = False
    by_emit: bool = False  # an emit raised the exception that left the handler
    in_helper: bool = False  # it was raised in a helper

    def do(self, op: Op, lines: tuple[int, ...] = ()) -> None:
        self.state, breach = move(self.state, op)
        self.events.append(Event(op, breach, lines))

    @property
    def breaches(self) -> list[Event]:
        return [event for event in self.events if event.breach is not None]


@dataclass(slots=True)
class Exploration:
    """The runs of one source; `complete` is true if there are no others."""

    runs: list[Run]
    complete: bool


def next_script(choices: list[tuple[int, int]]) -> list[int] | None:
    """The next script in depth-first order; `choices` are the answers of this one, each with the number of options."""
    for place in reversed(range(len(choices))):
        answer, options = choices[place]
        if answer + 1 < options:
            return [earlier for earlier, _ in choices[:place]] + [answer + 1]
    return None


class _Script:
    """The answers in order; after the last one, the first option or a random one."""

    def __init__(self, answers: list[int], random: Random | None) -> None:
        self.answers = answers
        self.random = random
        self.cut = False  # it was too short: the rest of the run proves nothing
        self.choices: list[tuple[int, int]] = []
        self.beyond = Random(1)  # ends every loop eventually

    def choose(self, options: int) -> int:
        place = len(self.choices)
        if place >= MAX_CHOICES:
            self.cut = True
            return self.beyond.randrange(options)
        if place < len(self.answers):
            answer = self.answers[place]
        else:
            answer = self.random.randrange(options) if self.random else 0
        self.choices.append((answer, options))
        return answer


class _Tuple:
    """The tuple: its id, and a value chosen at the first access."""

    def __init__(self, script: _Script, number: int) -> None:
        self.id = f"id{number}"
        self._script = script
        self._values: list[str] = []

    @property
    def values(self) -> list[str]:
        if not self._values:
            self._values.append("abc"[self._script.choose(3)])
        return self._values


class _Deliveries:
    """The tuples passed to the handler, each with its run; all runs share the executed lines."""

    def __init__(self, script: _Script, count: int) -> None:
        self.tuples = [_Tuple(script, number) for number in range(count)]
        self.lines: list[int] = []
        self.runs = [Run(lines=self.lines) for _ in self.tuples]

    def do(self, op: Op, target: object, lines: tuple[int, ...] = ()) -> None:
        for tup, run in zip(self.tuples, self.runs, strict=True):
            if target is tup or target == tup.id:
                run.do(op, lines)


def _opaque(script: _Script, deliveries: _Deliveries) -> dict[str, Any]:
    """The functions of the module `elsewhere`."""

    def raise_if(answer: int) -> None:
        if answer == 1:
            raise ValueError
        if answer == 2:
            raise KeyError

    def ready() -> bool:
        answer = script.choose(3)
        raise_if(answer - 1)
        return answer == 0

    def find() -> str | None:
        answer = script.choose(4)
        raise_if(1 if answer == 3 else 0)
        return ("x", None, "", None)[answer]

    def pick() -> str:
        return "abc"[script.choose(3)]

    def work(*_args: object) -> None:
        raise_if(script.choose(3))

    def rows() -> list[int]:
        answer = script.choose(4)
        raise_if(answer - 2)
        return [1] * (0, MAX_ROWS, 1)[answer]

    def keep(tup: object) -> None:
        raise_if(script.choose(2))
        deliveries.do(Op.HOLD, tup)

    @contextmanager
    def guard() -> Iterator[None]:
        raise_if(script.choose(2))
        yield

    return {
        "ready": ready,
        "find": find,
        "pick": pick,
        "work": work,
        "rows": rows,
        "keep": keep,
        "guard": guard,
    }


def user_lines(frame: FrameType | None) -> tuple[int, ...]:
    lines: list[int] = []
    while frame is not None:
        if frame.f_code.co_filename == PATH:
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return tuple(lines)


def _framework(script: _Script, deliveries: _Deliveries, setting: Setting) -> type:
    """The base class: its verbs record the operations on the tuples."""
    mode: list[bool] = []

    class Recording(list[object]):
        def append(self, tup: object) -> None:
            deliveries.do(Op.HOLD, tup)

    class Bolt:
        auto_ack = setting.auto_ack
        auto_fail = setting.auto_fail
        pending = Recording()

        def __init__(self) -> None:
            self.logger = SimpleNamespace(info=lambda *_args: None)

        @property
        def mode(self) -> bool:
            if not mode:
                mode.append(script.choose(2) == 0)
            return mode[0]

        def ack(self, tup: object) -> None:
            deliveries.do(Op.ACK, tup, user_lines(sys._getframe(1)))

        def fail(self, tup: object) -> None:
            deliveries.do(Op.FAIL, tup, user_lines(sys._getframe(1)))

        def emit(self, values: object, anchors: list[object] | None = None) -> None:
            if script.choose(2):
                raise ValueError
            default = list(deliveries.tuples) if setting.module == "streamparse" else []
            for tup in default if anchors is None else anchors:
                deliveries.do(Op.ANCHOR, tup, user_lines(sys._getframe(1)))

    return Bolt


def _run_script(code: Any, setting: Setting, script: _Script) -> list[Run]:
    deliveries = _Deliveries(script, 1 + script.choose(3) if setting.batch else 1)
    lines = deliveries.lines
    modules = {
        setting.module: SimpleNamespace(**{setting.base: _framework(script, deliveries, setting)}),
        "elsewhere": SimpleNamespace(**_opaque(script, deliveries)),
    }

    def importer(name: str, *args: Any) -> ModuleType | SimpleNamespace:
        return modules[name] if name in modules else __import__(name, *args)

    space: dict[str, Any] = {"__name__": "bolt", "__builtins__": {**vars(builtins), "__import__": importer}}
    exec(code, space)  # generated text
    handler = getattr(space["Made"](), setting.handler)

    def local(frame: FrameType, word: str, _arg: object) -> Any:
        if word == "line":
            lines.append(frame.f_lineno)
        elif word == "return" and frame.f_back is not None and frame.f_back.f_code.co_filename == PATH:
            lines.append(frame.f_back.f_lineno)
        return local

    def trace(frame: FrameType, word: str, _arg: object) -> Any:
        if frame.f_code.co_filename != PATH:
            return None
        lines.append(frame.f_code.co_firstlineno)
        return local

    raised: BaseException | None = None
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        handler(*(("key", deliveries.tuples) if setting.batch else deliveries.tuples))
    except (ValueError, KeyError) as error:
        raised = error
    finally:
        sys.settrace(before)
    for run in deliveries.runs:
        if raised is None:
            run.do(Op.AUTO_ACK if setting.auto_ack else Op.END)
        else:
            run.raised = True
            run.by_emit, run.in_helper = _origin(raised)
            if setting.auto_fail:
                run.do(Op.AUTO_FAIL)
    return deliveries.runs


def _origin(error: BaseException) -> tuple[bool, bool]:
    """Whether an emit raised the exception, and whether it was raised in a helper."""
    trace, depth, name = error.__traceback__, 0, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_name
        depth += trace.tb_frame.f_code.co_filename == PATH
        trace = trace.tb_next
    return name == "emit", depth > 1


def explore(source: str, setting: Setting) -> Exploration:
    """All runs of a source if they are few, otherwise a sample."""
    code = compile(source, PATH, "exec")
    found = Exploration([], complete=True)
    answers: list[int] | None = []
    while answers is not None and len(found.runs) < MAX_RUNS:
        script = _explore_one(code, setting, answers, None, found)
        answers = next_script(script.choices)
    if answers is not None:
        found.complete = False
        random = Random(7)
        for _ in range(RANDOM_RUNS):
            _explore_one(code, setting, [], random, found)
    return found


def _explore_one(
    code: Any, setting: Setting, answers: list[int], random: Random | None, found: Exploration
) -> _Script:
    script = _Script(answers, random)
    runs = _run_script(code, setting, script)
    if script.cut:
        found.complete = False
    else:
        found.runs += runs
    return script
