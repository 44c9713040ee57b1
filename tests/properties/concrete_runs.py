"""Runs a bolt's source for real, under a framework of a few lines, over the choices that are not in the text.

Terms.  Every call of an opaque function (`ready`, `find`, `work`, `rows`, `keep`) asks the *script* for a number: which
answer it gives, or whether it raises.  A *run* is one script played to the end; `explore` plays them all, depth
first, as long as that are few, and random ones beyond.  What a run did to its tuple is walked through the
protocol table as it happens.
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

__all__ = ["MOST_ROWS", "PATH", "Event", "Exploration", "Run", "explore", "following"]

PATH = "bolt.py"
MOST_CHOICES = 18
MOST_ROWS = 2
MOST_RUNS = 500
RANDOM_RUNS = 250


@dataclass(frozen=True, slots=True)
class Event:
    """One operation: its breach, if any, and the lines of the calls under way, innermost first."""

    op: Op
    breach: Breach | None
    lines: tuple[int, ...]


@dataclass(slots=True)
class Run:
    """What one script did: the lines in the order they were executed, the operations, and how it ended."""

    lines: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    state: Stage = Stage.OWED
    raised: bool = False
    by_emit: bool = False  # what left the handler was raised by an emit
    in_helper: bool = False  # or in a helper

    def do(self, op: Op, lines: tuple[int, ...] = ()) -> None:
        self.state, breach = move(self.state, op)
        self.events.append(Event(op, breach, lines))

    @property
    def breaches(self) -> list[Event]:
        return [event for event in self.events if event.breach is not None]


@dataclass(slots=True)
class Exploration:
    """The runs of one source; `complete` says that there are no others."""

    runs: list[Run]
    complete: bool


def following(asked: list[tuple[int, int]]) -> list[int] | None:
    """The next script in depth-first order: `asked` are the answers of this one, each with how many there were."""
    for place in reversed(range(len(asked))):
        answer, options = asked[place]
        if answer + 1 < options:
            return [given for given, _ in asked[:place]] + [answer + 1]
    return None


class _Script:
    """Answers, in order; beyond those given the first one each time, or by chance."""

    def __init__(self, given: list[int], chance: Random | None) -> None:
        self.fields = given
        self.chance = chance
        self.cut = False  # it was too short: what followed is no evidence
        self.asked: list[tuple[int, int]] = []
        self.beyond = Random(1)  # ends every loop, sooner or later

    def choose(self, options: int) -> int:
        place = len(self.asked)
        if place >= MOST_CHOICES:
            self.cut = True
            return self.beyond.randrange(options)
        if place < len(self.fields):
            answer = self.fields[place]
        else:
            answer = self.chance.randrange(options) if self.chance else 0
        self.asked.append((answer, options))
        return answer


class _Tuple:
    """The tuple: its id, and a value decided when it is first looked at."""

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
    """The tuples handed to the handler, and what is done to each; they share the lines executed."""

    def __init__(self, script: _Script, count: int) -> None:
        self.tuples = [_Tuple(script, number) for number in range(count)]
        self.lines: list[int] = []
        self.runs = [Run(lines=self.lines) for _ in self.tuples]

    def do(self, op: Op, given: object, lines: tuple[int, ...] = ()) -> None:
        for tup, run in zip(self.tuples, self.runs, strict=True):
            if given is tup or given == tup.id:
                run.do(op, lines)


def _opaque(script: _Script, deliveries: _Deliveries) -> dict[str, Any]:
    """The functions of the module `elsewhere`."""

    def perhaps_raise(answer: int) -> None:
        if answer == 1:
            raise ValueError
        if answer == 2:
            raise KeyError

    def ready() -> bool:
        answer = script.choose(3)
        perhaps_raise(answer - 1)
        return answer == 0

    def find() -> str | None:
        answer = script.choose(4)
        perhaps_raise(1 if answer == 3 else 0)
        return ("x", None, "", None)[answer]

    def pick() -> str:
        return "abc"[script.choose(3)]

    def work(*_given: object) -> None:
        perhaps_raise(script.choose(3))

    def rows() -> list[int]:
        answer = script.choose(4)
        perhaps_raise(answer - 2)
        return [1] * (0, MOST_ROWS, 1)[answer]

    def keep(given: object) -> None:
        perhaps_raise(script.choose(2))
        deliveries.do(Op.HOLD, given)

    @contextmanager
    def guard() -> Iterator[None]:
        perhaps_raise(script.choose(2))
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


def _user_lines(frame: FrameType | None) -> tuple[int, ...]:
    lines: list[int] = []
    while frame is not None:
        if frame.f_code.co_filename == PATH:
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return tuple(lines)


def _framework(script: _Script, deliveries: _Deliveries, setting: Setting) -> type:
    """The base class: its verbs write down what happens to the tuples."""
    mode: list[bool] = []

    class Kept(list[object]):
        def append(self, given: object) -> None:
            deliveries.do(Op.HOLD, given)

    class Bolt:
        auto_ack = setting.auto_ack
        auto_fail = setting.auto_fail
        pending = Kept()

        def __init__(self) -> None:
            self.logger = SimpleNamespace(info=lambda *_given: None)

        @property
        def mode(self) -> bool:
            if not mode:
                mode.append(script.choose(2) == 0)
            return mode[0]

        def ack(self, given: object) -> None:
            deliveries.do(Op.ACK, given, _user_lines(sys._getframe(1)))

        def fail(self, given: object) -> None:
            deliveries.do(Op.FAIL, given, _user_lines(sys._getframe(1)))

        def emit(self, values: object, anchors: list[object] | None = None) -> None:
            if script.choose(2):
                raise ValueError
            default = list(deliveries.tuples) if setting.module == "streamparse" else []
            for tup in default if anchors is None else anchors:
                deliveries.do(Op.ANCHOR, tup, _user_lines(sys._getframe(1)))

    return Bolt


def _play(code: Any, setting: Setting, script: _Script) -> list[Run]:
    deliveries = _Deliveries(script, 1 + script.choose(3) if setting.batch else 1)
    lines = deliveries.lines
    modules = {
        setting.module: SimpleNamespace(**{setting.base: _framework(script, deliveries, setting)}),
        "elsewhere": SimpleNamespace(**_opaque(script, deliveries)),
    }

    def importer(name: str, *given: Any) -> ModuleType | SimpleNamespace:
        return modules[name] if name in modules else __import__(name, *given)

    space: dict[str, Any] = {"__name__": "bolt", "__builtins__": {**vars(builtins), "__import__": importer}}
    exec(code, space)  # text that the generator wrote
    handler = getattr(space["Made"](), setting.handler)

    def local(frame: FrameType, word: str, _given: object) -> Any:
        if word == "line":
            lines.append(frame.f_lineno)
        elif word == "return" and frame.f_back is not None and frame.f_back.f_code.co_filename == PATH:
            lines.append(frame.f_back.f_lineno)
        return local

    def trace(frame: FrameType, word: str, _given: object) -> Any:
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
            run.by_emit, run.in_helper = _thrown(raised)
            if setting.auto_fail:
                run.do(Op.AUTO_FAIL)
    return deliveries.runs


def _thrown(error: BaseException) -> tuple[bool, bool]:
    """Whether an emit raised it, and whether that was in a helper."""
    trace, depth, name = error.__traceback__, 0, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_name
        depth += trace.tb_frame.f_code.co_filename == PATH
        trace = trace.tb_next
    return name == "emit", depth > 1


def explore(source: str, setting: Setting) -> Exploration:
    """Every run of a source, if they are few; otherwise many of them."""
    code = compile(source, PATH, "exec")
    found = Exploration([], complete=True)
    given: list[int] | None = []
    while given is not None and len(found.runs) < MOST_RUNS:
        script = _one(code, setting, given, None, found)
        given = following(script.asked)
    if given is not None:
        found.complete = False
        chance = Random(7)
        for _ in range(RANDOM_RUNS):
            _one(code, setting, [], chance, found)
    return found


def _one(code: Any, setting: Setting, given: list[int], chance: Random | None, found: Exploration) -> _Script:
    script = _Script(given, chance)
    runs = _play(code, setting, script)
    if script.cut:
        found.complete = False
    else:
        found.runs += runs
    return script
