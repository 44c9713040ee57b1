"""Run the bolts of the rule pages with every import available and every unknown value chosen by a script.

The framework's classes are built from the dialect's data.  Everything else is an `_Unknown`: it can be called, compared,
indexed, iterated and tested, and the script chooses each answer.
"""

import ast
import builtins
import dis
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any

from ackdoctor.dialects import load
from ackdoctor.libraries.vocabulary import LOGGING
from ackdoctor.model.dialect import Dialect, EntryKind, Role, VerbKind
from ackdoctor.model.protocol import Breach, Op, Stage, move
from tests.properties.concrete_runs import next_script

__all__ = ["UnsupportedSource", "breaches"]

MAX_CHOICES = 14
DEPTH_FIRST = 250
RANDOM_RUNS = 150
MAX_ITERATIONS = 1000  # of all `while` loops of a run: a mutant may never end
_REAL = ("collections", "contextlib", "functools", "itertools", "__future__")


class UnsupportedSource(Exception):  # noqa: N818  # not an error of the source
    """The source cannot be run here."""


class _Cut(BaseException):
    """The script is too short, or a loop does not end."""


class _Counted(ast.NodeTransformer):
    """Makes each iteration of a `while` loop check the limit."""

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body.insert(0, ast.parse("next_iteration()").body[0])
        return node


class _Execution:
    """One run: its script, and the stage of each tuple."""

    def __init__(self, answers: list[int], random: Random | None) -> None:
        self.answers, self.random = answers, random
        self.choices: list[tuple[int, int]] = []
        self.states: dict[int, Stage] = {}
        self.breaches: list[Breach] = []
        self.tuples: list[_Tuple] = []
        self.handling = False  # before that, every call succeeds
        self.iterations = 0

    def choose(self, options: int) -> int:
        place = len(self.choices)
        if not self.handling:
            return 0
        if place >= MAX_CHOICES:
            raise _Cut
        if place < len(self.answers):
            answer = self.answers[place]
        else:
            answer = self.random.randrange(options) if self.random else 0
        self.choices.append((answer, options))
        return answer

    def next_iteration(self) -> None:
        self.iterations += 1
        if self.iterations > MAX_ITERATIONS:
            raise _Cut

    def do(self, op: Op, target: object) -> None:
        tup = target if isinstance(target, _Tuple) else next((t for t in self.tuples if t.id == target), None)
        if tup is not None:
            self.states[id(tup)], breach = move(self.states[id(tup)], op)
            if breach is not None:
                self.breaches.append(breach)

    def escape(self, value: object) -> None:
        """Mark every tuple reachable from a value as held by unknown code."""
        for tup in self.tuples:
            if _reaches(value, tup, 4):
                self.do(Op.HOLD, tup)


def _reaches(value: Any, tup: object, depth: int) -> bool:
    if value is tup:
        return True
    if depth == 0 or isinstance(value, (_Unknown, str, bytes, int, float, type(None))):
        return False
    inner: list[object] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ in ("deque", "partial"):
        inner = [*value, *getattr(value, "args", ())] if hasattr(value, "__iter__") else [*value.args]
    elif callable(value):
        inner = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    elif hasattr(value, "__dict__"):
        inner = list(vars(value).values())
    return any(_reaches(each, tup, depth - 1) for each in inner)


class _Unknown:
    """An unknown value: the script answers each operation, equal operations alike."""

    _execution: _Execution
    _is_pure: bool

    def __init__(self, execution: _Execution, name: str = "") -> None:
        self.__dict__.update(_execution=execution, _known={}, _is_pure=name in LOGGING)

    def _once(self, operation: object, options: int) -> int:
        known = self.__dict__["_known"]
        if operation not in known:
            known[operation] = self._execution.choose(options)
        return int(known[operation])

    def _part(self, operation: object) -> "_Unknown":
        known = self.__dict__["_known"]
        if operation not in known:
            known[operation] = _Unknown(self._execution)
        part: _Unknown = known[operation]
        return part

    def __getattr__(self, name: str) -> "_Unknown":
        if name.startswith("__"):
            raise AttributeError(name)
        known = self.__dict__["_known"]
        part: _Unknown = known.setdefault(name, _Unknown(self._execution, name))
        return part

    def __setattr__(self, name: str, value: object) -> None:
        self._execution.escape(value)

    def __call__(self, *args: object, **kwargs: object) -> "_Unknown":
        if not self._is_pure and self._execution.choose(4) == 3:
            raise ValueError
        for value in (*args, *kwargs.values()):
            if not self._is_pure:
                self._execution.escape(value)
        return _Unknown(self._execution)

    def __getitem__(self, key: object) -> "_Unknown":
        return self._part(("item", repr(key)[:40]))

    def __setitem__(self, key: object, value: object) -> None:
        self._execution.escape(value)

    def __bool__(self) -> bool:
        return self._once("truth", 2) == 0

    def __eq__(self, other: object) -> bool:
        return self._once(("==", repr(other)[:40]), 2) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._once(("<", repr(other)[:40]), 2) == 0

    def __ge__(self, other: object) -> bool:
        return not self < other

    def __gt__(self, other: object) -> bool:
        return self._once((">", repr(other)[:40]), 2) == 0

    def __le__(self, other: object) -> bool:
        return not self > other

    def __contains__(self, item: object) -> bool:
        return self._once(("in", repr(item)[:40]), 2) == 0

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        return self._once("length", 3)

    def __iter__(self) -> Iterator["_Unknown"]:
        expected = _unpacked(sys._getframe(1))
        return iter([self._part(("each", n)) for n in range(len(self) if expected is None else expected)])

    def __enter__(self) -> "_Unknown":  # noqa: PYI034  # returns another object
        return self._part("with")

    def __exit__(self, *_error: object) -> None:
        """Do not suppress the exception."""

    def _mixed(self, *_others: object) -> "_Unknown":
        return _Unknown(self._execution)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __mod__ = (
        _mixed
    )
    __iadd__ = __isub__ = _mixed


def _unpacked(frame: FrameType) -> int | None:
    """The number of values that the current unpacking expects."""
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
            return step.arg
    return None


class _Tuple:
    """One input tuple: a data tuple with unknown values."""

    def __init__(self, execution: _Execution, number: int) -> None:
        self.id = f"id-{number}"
        self.values = _Unknown(execution)
        self.stream, self.component, self.comp, self.task = "default", "source", "source", 1
        execution.tuples.append(self)
        execution.states[id(self)] = Stage.OWED


class _Framework:
    """A module of the framework, by its dotted path."""

    def __init__(self, execution: _Execution, dialect: Dialect, path: str) -> None:
        self._execution, self._dialect, self._path = execution, dialect, path

    def __getattr__(self, name: str) -> object:
        full = f"{self._path}.{name}"
        for role in self._dialect.roles:
            if full in role.classes:
                return _base(self._execution, self._dialect, role)
        for verb in (*self._dialect.verbs, *(verb for role in self._dialect.roles for verb in role.verbs)):
            if verb.on == self._path and verb.name == name:
                return _verb(self._execution, verb.kind)
        known = [path for role in self._dialect.roles for path in role.classes]
        if any(path.startswith(full + ".") for path in known):
            return _Framework(self._execution, self._dialect, full)
        return _Unknown(self._execution)


def _verb(execution: _Execution, kind: VerbKind) -> Callable[..., object]:
    def call(target: object = None, *_args: object, **named: object) -> object:
        if kind in (VerbKind.ACK, VerbKind.FAIL):
            execution.do(Op.ACK if kind is VerbKind.ACK else Op.FAIL, target)
        elif kind is VerbKind.EMIT:
            for tup in named.get("anchors") or ():  # type: ignore[attr-defined]
                execution.do(Op.ANCHOR, tup)
        elif kind is VerbKind.TICK_TEST:
            return False
        return None

    return call


def _base(execution: _Execution, dialect: Dialect, role: Role) -> type:
    parts: dict[str, Any] = {"_role": role, "__getattr__": lambda self, name: _missing(execution, name)}
    switches = (role.discipline.auto_ack, role.discipline.auto_fail)
    parts.update({switch.attribute: switch.default for switch in switches if switch.attribute})
    for verb in (*role.verbs, *dialect.verbs):
        if verb.on == "self":
            parts[verb.name] = staticmethod(_verb(execution, verb.kind))
    parts["__init__"] = parts["run"] = lambda self, *args, **kwargs: None
    return type("Base", (), parts)


def _missing(execution: _Execution, name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Unknown(execution)


def _on(component: object, role: Role, word: str) -> bool:
    switch = getattr(role.discipline, word)
    return bool(getattr(component, switch.attribute)) if switch.attribute else bool(switch.default)


def _run(code: Any, execution: _Execution, dialect: Dialect) -> None:
    roots = {path.partition(".")[0] for role in dialect.roles for path in role.classes}

    def importer(
        name: str, _g: object = None, _l: object = None, wanted: tuple[str, ...] = (), _level: int = 0
    ) -> object:
        root = name.partition(".")[0]
        if root in _REAL:
            return __import__(name, None, None, wanted)
        if root in roots:
            return _Framework(execution, dialect, name if wanted else root)
        return _Unknown(execution)

    known = {**vars(builtins), "__import__": importer, "next_iteration": execution.next_iteration}
    space: dict[str, Any] = {"__name__": "bolt", "__builtins__": known}
    exec(code, space)  # of the rule pages
    classes = [each for each in space.values() if isinstance(each, type) and hasattr(each, "_role")]
    if not classes:
        raise UnsupportedSource
    component = classes[-1]()
    if callable(getattr(type(component), "initialize", None)):
        count = component.initialize.__code__.co_argcount - 1
        component.initialize(*(_Unknown(execution) for _ in range(count)))
    execution.handling = True
    _handle(execution, component, component._role)


def _handle(execution: _Execution, component: Any, role: Role) -> None:
    for entry in role.entries:
        method = type(component).__dict__.get(entry.method)
        if method is None or entry.kind not in (EntryKind.DATA, EntryKind.BATCH):
            continue
        batch = entry.kind is EntryKind.BATCH
        tuples = [_Tuple(execution, number) for number in range(2 if batch else 1)]
        argument = tuples if batch else tuples[0]
        raised = False
        try:
            method(component, *[_Unknown(execution)] * (entry.subject or 0), argument)
        except ValueError:
            raised = True
        for tup in tuples:
            if _reaches(vars(component), tup, 5):
                execution.do(Op.HOLD, tup)
            if raised and _on(component, role, "auto_fail"):
                execution.do(Op.AUTO_FAIL, tup)
            elif not raised:
                execution.do(Op.AUTO_ACK if _on(component, role, "auto_ack") else Op.END, tup)
        return
    raise UnsupportedSource


def breaches(source: str, dialect_name: str) -> set[Breach]:
    """Every breach that some run of a source shows; raises `UnsupportedSource` if it cannot be run."""
    (dialect,) = (each for each in load({}) if each.name == dialect_name)
    counted = _Counted().visit(ast.parse(source))
    code = compile(ast.fix_missing_locations(counted), "page.py", "exec")
    found: set[Breach] = set()
    answers: list[int] | None = []
    finished = 0
    for number in range(DEPTH_FIRST + RANDOM_RUNS):
        if answers is None:
            break
        is_random = number >= DEPTH_FIRST
        execution = _Execution([] if is_random else answers, Random(number) if is_random else None)
        try:
            _run(code, execution, dialect)
            finished += 1
            found.update(execution.breaches)
        except _Cut:
            pass
        except (TypeError, AttributeError, NameError, LookupError, RecursionError) as error:
            raise UnsupportedSource from error
        if not is_random:
            answers = next_script(execution.choices)
    if not finished:
        raise UnsupportedSource
    return found
