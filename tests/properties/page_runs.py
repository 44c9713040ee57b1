"""Runs the bolts of the rule pages for real: a world in which every import exists and nothing is known beforehand.

What the framework offers is made from the dialect's own table.  Everything else is an `Unknown`: it can be called,
compared, indexed, iterated and asked for its truth, and each answer is one the script has chosen.
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
from ackdoctor.flow.library import LOGGING
from ackdoctor.model.dialect import Dialect, EntryKind, Role, VerbKind
from ackdoctor.model.protocol import Breach, Op, Stage, move
from tests.properties.concrete_runs import following

__all__ = ["Odd", "breaches"]

MOST_CHOICES = 14
DEPTH_FIRST = 250
BY_CHANCE = 150
MOST_ROUNDS = 1000  # of all `while` loops of a run: a mutant may be without what ends one
_REAL = ("collections", "contextlib", "functools", "itertools", "__future__")


class Odd(Exception):  # noqa: N818  # the domain's word
    """The world cannot play this source."""


class _Cut(BaseException):
    """The script is too short, or a loop does not end."""


class _Counted(ast.NodeTransformer):
    """Each round of a `while` loop asks whether there were too many."""

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body.insert(0, ast.parse("next_round()").body[0])
        return node


class _World:
    """One run: its script, and what was done to each tuple."""

    def __init__(self, given: list[int], chance: Random | None) -> None:
        self.fields, self.chance = given, chance
        self.asked: list[tuple[int, int]] = []
        self.states: dict[int, Stage] = {}
        self.breaches: list[Breach] = []
        self.tuples: list[_Tuple] = []
        self.handling = False  # before that, everything goes as well as it can
        self.rounds = 0

    def choose(self, options: int) -> int:
        place = len(self.asked)
        if not self.handling:
            return 0
        if place >= MOST_CHOICES:
            raise _Cut
        if place < len(self.fields):
            answer = self.fields[place]
        else:
            answer = self.chance.randrange(options) if self.chance else 0
        self.asked.append((answer, options))
        return answer

    def next_round(self) -> None:
        self.rounds += 1
        if self.rounds > MOST_ROUNDS:
            raise _Cut

    def do(self, op: Op, given: object) -> None:
        tup = given if isinstance(given, _Tuple) else next((t for t in self.tuples if t.id == given), None)
        if tup is not None:
            self.states[id(tup)], breach = move(self.states[id(tup)], op)
            if breach is not None:
                self.breaches.append(breach)

    def hand_over(self, given: object) -> None:
        """Whatever is reachable from a value is now held by code that nobody can see."""
        for tup in self.tuples:
            if _reaches(given, tup, 4):
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
    """Anything: every question is answered by the script, the same one always alike."""

    _world: _World
    _quiet: bool

    def __init__(self, world: _World, name: str = "") -> None:
        self.__dict__.update(_world=world, _known={}, _quiet=name in LOGGING)

    def _once(self, question: object, options: int) -> int:
        known = self.__dict__["_known"]
        if question not in known:
            known[question] = self._world.choose(options)
        return int(known[question])

    def _part(self, question: object) -> "_Unknown":
        known = self.__dict__["_known"]
        if question not in known:
            known[question] = _Unknown(self._world)
        part: _Unknown = known[question]
        return part

    def __getattr__(self, name: str) -> "_Unknown":
        if name.startswith("__"):
            raise AttributeError(name)
        known = self.__dict__["_known"]
        part: _Unknown = known.setdefault(name, _Unknown(self._world, name))
        return part

    def __setattr__(self, name: str, value: object) -> None:
        self._world.hand_over(value)

    def __call__(self, *args: object, **kwargs: object) -> "_Unknown":
        if not self._quiet and self._world.choose(4) == 3:
            raise ValueError
        for value in (*args, *kwargs.values()):
            if not self._quiet:
                self._world.hand_over(value)
        return _Unknown(self._world)

    def __getitem__(self, key: object) -> "_Unknown":
        return self._part(("item", repr(key)[:40]))

    def __setitem__(self, key: object, value: object) -> None:
        self._world.hand_over(value)

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
        wanted = _unpacked(sys._getframe(1))
        return iter([self._part(("each", n)) for n in range(len(self) if wanted is None else wanted)])

    def __enter__(self) -> "_Unknown":  # noqa: PYI034  # what is entered is not what comes out
        return self._part("with")

    def __exit__(self, *_given: object) -> None:
        """An exception goes on."""

    def _mixed(self, *_others: object) -> "_Unknown":
        return _Unknown(self._world)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __mod__ = (
        _mixed
    )
    __iadd__ = __isub__ = _mixed


def _unpacked(frame: FrameType) -> int | None:
    """How many values an unpacking under way wants."""
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
            return step.arg
    return None


class _Tuple:
    """One input tuple: a data tuple with values nobody knows."""

    def __init__(self, world: _World, number: int) -> None:
        self.id = f"id-{number}"
        self.values = _Unknown(world)
        self.stream, self.component, self.comp, self.task = "default", "source", "source", 1
        world.tuples.append(self)
        world.states[id(self)] = Stage.OWED


class _Framework:
    """A module of the framework, by its dotted path."""

    def __init__(self, world: _World, dialect: Dialect, path: str) -> None:
        self._world, self._dialect, self._path = world, dialect, path

    def __getattr__(self, name: str) -> object:
        full = f"{self._path}.{name}"
        for role in self._dialect.roles:
            if full in role.classes:
                return _base(self._world, self._dialect, role)
        for verb in (*self._dialect.verbs, *(verb for role in self._dialect.roles for verb in role.verbs)):
            if verb.on == self._path and verb.name == name:
                return _verb(self._world, verb.kind)
        known = [path for role in self._dialect.roles for path in role.classes]
        if any(path.startswith(full + ".") for path in known):
            return _Framework(self._world, self._dialect, full)
        return _Unknown(self._world)


def _verb(world: _World, kind: VerbKind) -> Callable[..., object]:
    def done(given: object = None, *_args: object, **named: object) -> object:
        if kind in (VerbKind.ACK, VerbKind.FAIL):
            world.do(Op.ACK if kind is VerbKind.ACK else Op.FAIL, given)
        elif kind is VerbKind.EMIT:
            for tup in named.get("anchors") or ():  # type: ignore[attr-defined]
                world.do(Op.ANCHOR, tup)
        elif kind is VerbKind.TICK_TEST:
            return False
        return None

    return done


def _base(world: _World, dialect: Dialect, role: Role) -> type:
    parts: dict[str, Any] = {"_role": role, "__getattr__": lambda self, name: _missing(world, name)}
    switches = (role.discipline.auto_ack, role.discipline.auto_fail)
    parts.update({switch.attribute: switch.default for switch in switches if switch.attribute})
    for verb in (*role.verbs, *dialect.verbs):
        if verb.on == "self":
            parts[verb.name] = staticmethod(_verb(world, verb.kind))
    parts["__init__"] = parts["run"] = lambda self, *args, **kwargs: None
    return type("Base", (), parts)


def _missing(world: _World, name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Unknown(world)


def _on(made: object, role: Role, word: str) -> bool:
    switch = getattr(role.discipline, word)
    return bool(getattr(made, switch.attribute)) if switch.attribute else bool(switch.default)


def _play(code: Any, world: _World, dialect: Dialect) -> None:
    roots = {path.partition(".")[0] for role in dialect.roles for path in role.classes}

    def importer(
        name: str, _g: object = None, _l: object = None, wanted: tuple[str, ...] = (), _level: int = 0
    ) -> object:
        root = name.partition(".")[0]
        if root in _REAL:
            return __import__(name, None, None, wanted)
        if root in roots:
            return _Framework(world, dialect, name if wanted else root)
        return _Unknown(world)

    known = {**vars(builtins), "__import__": importer, "next_round": world.next_round}
    space: dict[str, Any] = {"__name__": "bolt", "__builtins__": known}
    exec(code, space)  # our own rule pages
    made_from = [each for each in space.values() if isinstance(each, type) and hasattr(each, "_role")]
    if not made_from:
        raise Odd
    made = made_from[-1]()
    if callable(getattr(type(made), "initialize", None)):
        count = made.initialize.__code__.co_argcount - 1
        made.initialize(*(_Unknown(world) for _ in range(count)))
    world.handling = True
    _handle(world, made, made._role)


def _handle(world: _World, made: Any, role: Role) -> None:
    for entry in role.entries:
        method = type(made).__dict__.get(entry.method)
        if method is None or entry.kind not in (EntryKind.DATA, EntryKind.BATCH):
            continue
        batch = entry.kind is EntryKind.BATCH
        tuples = [_Tuple(world, number) for number in range(2 if batch else 1)]
        given = [tuples if batch else tuples[0]]
        raised = False
        try:
            method(made, *[_Unknown(world)] * (entry.subject or 0), *given)
        except ValueError:
            raised = True
        for tup in tuples:
            if _reaches(vars(made), tup, 5):
                world.do(Op.HOLD, tup)
            if raised and _on(made, role, "auto_fail"):
                world.do(Op.AUTO_FAIL, tup)
            elif not raised:
                world.do(Op.AUTO_ACK if _on(made, role, "auto_ack") else Op.END, tup)
        return
    raise Odd


def breaches(source: str, dialect_name: str) -> set[Breach]:
    """Every breach that some run of a source shows; raises `Odd` where the world cannot play it."""
    (dialect,) = (each for each in load({}) if each.name == dialect_name)
    counted = _Counted().visit(ast.parse(source))
    code = compile(ast.fix_missing_locations(counted), "page.py", "exec")
    found: set[Breach] = set()
    given: list[int] | None = []
    played = 0
    for number in range(DEPTH_FIRST + BY_CHANCE):
        if given is None:
            break
        by_chance = number >= DEPTH_FIRST
        world = _World([] if by_chance else given, Random(number) if by_chance else None)
        try:
            _play(code, world, dialect)
            played += 1
            found.update(world.breaches)
        except _Cut:
            pass
        except (TypeError, AttributeError, NameError, LookupError, RecursionError) as error:
            raise Odd from error
        if not by_chance:
            given = following(world.asked)
    if not played:
        raise Odd
    return found
