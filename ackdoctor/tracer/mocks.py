"""What a test has put in the place of a verb, of the wire, or of anything else that may complete a tuple."""

import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from enum import Enum, auto
from functools import lru_cache
from inspect import unwrap
from operator import is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ackdoctor.model.dialect import Dialect, Role, Verb, VerbKind, WireForm
from ackdoctor.tracer.components import tuples_in

_MARK = "__ackdoctor__"


def ours(wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a wrapper as ours. The mark is the function itself, since `functools.wraps` copies marks."""
    setattr(wrapper, _MARK, wrapper)
    return wrapper


def unmark(wrapper: Any) -> None:
    """The wrapper is an ordinary function from now on."""
    vars(getattr(wrapper, "__func__", wrapper)).pop(_MARK, None)


def is_ours(raw: object) -> bool:
    """Whether this is a wrapper of ours."""
    function = getattr(raw, "__func__", raw)
    return function is not None and getattr(function, _MARK, None) is function


def is_mock(raw: object) -> bool:
    """Whether a test has put a mock here."""
    return hasattr(raw, "call_args_list")


def is_itself_a_mock(found: object) -> bool:
    """As `is_mock`, for any object: reads no attribute of a proxy, whose target may be missing."""
    return is_mock(found if type(found) is FunctionType else type(found))


class Effect(Enum):
    """The effect of a call of a mock."""

    NOTHING = auto()  # it returns another mock, or None: it replaces a function that acts
    RAISES = auto()
    ANSWERS = auto()
    PASSES_ON = auto()  # as a spy does
    ACTS = auto()  # a function of the test's own runs instead


def effect(mock: Any) -> Effect:
    """The effect of a mock as it is configured now; errors in a list of answers do not matter.

    unittest.mock asks `side_effect` first, then `return_value`.  A copy of the mock is asked for its `return_value`, since a
    mock that is asked makes one, and up to Python 3.11 wraps nothing from then on.  What a mock wraps cannot be known.
    """
    does = getattr(mock, "side_effect", None)
    if isinstance(does, BaseException) or (isinstance(does, type) and issubclass(does, BaseException)):
        return Effect.RAISES
    if callable(does) and not isinstance(does, type):
        return (
            Effect.PASSES_ON if hasattr(does, "__wrapped__") else Effect.ACTS
        )  # pytest-mock's spy, or a fake
    if does is not None:
        return Effect.ANSWERS
    answer = None
    with suppress(Exception):  # a mock of the author's own may not be copied
        answer = copy(mock).return_value
    return Effect.NOTHING if answer is None or is_mock(type(answer)) else Effect.ANSWERS


class Standing:
    """Replaces a method that is no plain function, such as a decorator's object: only calls go through `handle`."""

    def __init__(self, raw: Any, handle: Callable[..., Any]) -> None:
        self._raw = raw
        self._handle = handle
        setattr(self, _MARK, self)

    def __get__(self, owner: object, cls: type | None = None) -> Any:
        """The bound method of an object; the author's own attribute of the class."""
        return self._raw.__get__(None, cls) if owner is None else MethodType(self._handle, owner)


class WrittenMethods:
    """The code of every method of the component classes, as their author wrote it."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[type, dict[str, CodeType]] = WeakKeyDictionary()

    def note(self, cls: type) -> None:
        """Note a component's class and its bases; what was noted before stays."""
        for base in cls.__mro__[:-1]:
            if base not in self._known:
                self._known[base] = {
                    name: code for name, raw in vars(base).items() if (code := _code_of(raw)) is not None
                }

    def completes_unseen(self, component: object, dialect: Dialect, role: Role) -> str:
        """Why completions may be unobserved: a test has replaced a method of the component's by which it acks or fails."""
        own = own_classes(component, dialect)
        replaced = list(self._replaced(component, own))
        if not replaced:
            return ""
        verbs = dialect.verbs_of(role)
        completing = {verb.name for verb in verbs if verb.kind in (VerbKind.ACK, VerbKind.FAIL)}
        seen = {*(verb.name for verb in verbs), *(entry.method for entry in role.entries)}
        for name, found in replaced:
            if name in seen or self._goes_on(own, found, completing):
                continue
            if any(self.mentions(own, code, completing) for code in self._methods(own, name)):
                return f"{name} is {'a mock' if is_itself_a_mock(found) else 'replaced'}"
        return ""

    def mentions(self, own: Collection[type], code: CodeType, names: Collection[str]) -> bool:
        """Whether a function mentions one of these names, or a method of these classes does that it mentions."""
        waiting, asked = [code], set[str]()
        while waiting:
            mentioned = names_in(waiting.pop())
            if not mentioned.isdisjoint(names):
                return True
            waiting += (found for name in mentioned - asked for found in self._methods(own, name))
            asked |= mentioned
        return False

    def _goes_on(self, own: Collection[type], found: Any, completing: Collection[str]) -> bool:
        """Whether a replacement hides nothing: it raises, passes its calls on, or completes by itself."""
        if is_itself_a_mock(found):
            return effect(found) in (Effect.RAISES, Effect.PASSES_ON)
        code = _code_of(found)
        return code is not None and self.mentions(own, code, completing)

    def _replaced(self, component: object, own: Collection[type]) -> Iterator[tuple[str, Any]]:
        """The replaced methods by name: of the classes, and of the component itself."""
        for name, found in list(getattr(component, "__dict__", {}).items()):
            codes = [code for other in own for code in self._of(other, name)] if callable(found) else []
            if codes and (is_itself_a_mock(found) or _code_of(found) not in codes):
                yield name, found
        for base in own:
            known = self._known.get(base, {})
            for name, raw in list(vars(base).items()):
                if type(raw) is FunctionType and raw.__code__ is known.get(name):
                    continue  # most are, and each call of a handler by a test looks at all
                if is_itself_a_mock(raw) or (name in known and _code_of(raw) is not known[name]):
                    yield name, raw

    def _methods(self, own: Collection[type], name: str) -> Iterator[CodeType]:
        """The author's methods of a name: the nearest, and those that it may call by the same name or `super`."""
        for base in own:
            for code in self._of(base, name):
                yield code
                if names_in(code).isdisjoint({"super", name}):
                    return

    def _of(self, base: type, name: str) -> Iterator[CodeType]:
        code = self._known.get(base, {}).get(name) or _code_of(vars(base).get(name))
        if code is not None:
            yield code


def own_classes(component: object, dialect: Dialect) -> tuple[type, ...]:
    """The classes of a component that do not belong to the framework."""
    cls: type = type(component)
    return _without(cls, dialect.wire.modules if dialect.wire else ())


@lru_cache
def _without(cls: type, modules: tuple[str, ...]) -> tuple[type, ...]:
    return tuple(
        base
        for base in cls.__mro__[:-1]
        if not any(base.__module__ == name or base.__module__.startswith(f"{name}.") for name in modules)
    )


def names_in(code: CodeType) -> frozenset[str]:
    """The names that a function and its inner functions mention."""
    inner = (names_in(const) for const in code.co_consts if isinstance(const, CodeType))
    return frozenset(code.co_names).union(*inner)


def _code_of(raw: Any) -> CodeType | None:
    """The code of a method, or of the method that it wraps; None for a mock and for anything else."""
    function = raw.__func__ if type(raw) in (classmethod, staticmethod, MethodType) else raw
    if type(function) is not FunctionType or is_itself_a_mock(function):
        return None
    code = getattr(unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


_MAKERS = frozenset({"unittest.mock", "mock"})
_PLAIN = frozenset({bool, bytes, dict, float, int, list, set, str, tuple, type, type(None)})
# methods that take nothing over
_LOGS = frozenset({"critical", "debug", "error", "exception", "info", "log", "warn", "warning"})


class MockArguments:
    """The mocks around a component that replace no verb, with the number of calls before this handler call."""

    def __init__(self) -> None:
        self._around: list[tuple[str, Any, int]] = []

    def begin(self, component: object, dialect: Dialect, role: Role) -> None:
        """A handler begins."""
        verbs = {verb.name for verb in dialect.verbs_of(role)}
        self._around = [
            (name, mock, len(mock.mock_calls))
            for name, mock in _around(component, dialect)
            if name not in verbs
        ]

    def tuples(self, component: object, wanted: Collection[Hashable]) -> Iterator[tuple[Hashable, str]]:
        """The deliveries in `wanted` whose tuples a mock was called with since then, each with the mock's name."""
        around, self._around = self._around, []
        for name, mock, before in around:
            for called, *arguments in mock.mock_calls[before:]:
                if _takes_over(mock, called) or _completes(mock, name, component, arguments):
                    for delivery in tuples_in(arguments, wanted):
                        yield delivery, name

    def __bool__(self) -> bool:
        return bool(self._around)


def _takes_over(mock: Any, called: str) -> bool:
    """Whether the original of a mock, or of its attribute `called`, may complete the tuple: not if the mock raises, answers, passes on or logs."""
    *path, last = called.split(".")
    if last in _LOGS:
        return False
    for name in (*path, last) if called else ():
        mock = getattr(mock, name.removesuffix("()"), None)
        mock = mock.return_value if name.endswith("()") and mock is not None else mock
    return effect(mock) in (Effect.NOTHING, Effect.ACTS)


def _completes(mock: Any, name: str, component: object, arguments: Sequence[Any]) -> bool:
    """Whether the mock's original takes the component itself as an argument: it may ack before it answers."""
    args, kwargs = arguments
    passed = any(each is component for each in (*args, *kwargs.values()))
    # autospec tells a method its `self`, too: what that completes is read from the method
    return passed and effect(mock) is Effect.ANSWERS and not hasattr(type(component), name)


def _around(component: object, dialect: Dialect) -> Iterator[tuple[str, Any]]:
    """The mocks that a component's methods can name, except the framework's."""
    if sys.modules.keys().isdisjoint(_MAKERS):
        return
    own = own_classes(component, dialect)
    modules = [sys.modules.get(name) for name in dict.fromkeys(base.__module__ for base in own)]
    parts = (found for _, found in _named_in(component) if not is_itself_a_mock(found))
    for place in (component, *parts, *own, *modules):
        yield from ((name, found) for name, found in _named_in(place) if is_itself_a_mock(found))
    mentioned = _mentioned(own)
    imported = (found for module in modules for _, found in _named_in(module) if type(found) is ModuleType)
    for there in map(vars, imported):
        yield from (
            (name, there[name]) for name in mentioned if name in there and is_itself_a_mock(there[name])
        )


@lru_cache
def _mentioned(own: tuple[type, ...]) -> tuple[str, ...]:
    """The names in the methods of these classes."""
    written = (raw for base in own for raw in vars(base).values() if type(raw) is FunctionType)
    codes = (getattr(unwrap(raw), "__code__", None) for raw in written)
    return tuple(sorted(frozenset[str]().union(*(names_in(code) for code in codes if code is not None))))


def _named_in(place: object) -> list[tuple[str, Any]]:
    """The attributes of an object, without plain values."""
    try:
        return [(name, found) for name, found in list(vars(place).items()) if type(found) not in _PLAIN]
    except Exception:  # noqa: BLE001 - it has none, or is a proxy without a target
        return []


_READ = (VerbKind.EMIT, VerbKind.ACK, VerbKind.FAIL)  # emits first: what came first is not known


_COMMANDS = {"emit": VerbKind.EMIT, "ack": VerbKind.ACK, "fail": VerbKind.FAIL}


class Call(NamedTuple):
    """One call of a mocked verb; or of the mocked wire, as if it was one."""

    verb: Verb
    arguments: dict[str, Any]
    record: Any  # the mock's own
    wired: bool = False
    own: bool = False  # autospec, on the class, has written down that it is this component's


class _Log:
    """The calls of one mock from now on. A reset begins another list; the one before is read to its end first."""

    def __init__(self, mock: Any) -> None:
        self._mock = mock
        self._calls = mock.call_args_list
        self._read = len(self._calls)
        self.was_reset = False

    @property
    def raises(self) -> bool:
        """Whether the mock always raises: then a call has no effect."""
        return effect(self._mock) is Effect.RAISES

    def new(self) -> list[Any]:
        """The calls since the last look."""
        now, known = self._mock.call_args_list, self._calls
        calls = list((now if _goes_on(now, known) else known)[self._read :])
        self._read += len(calls)
        if not _goes_on(now, known):
            self.was_reset = True
            calls += now
            self._read = len(now)
        self._calls = now
        return calls


def _goes_on(now: list[Any], known: list[Any]) -> bool:
    """Whether a list of calls is the known one, or a longer copy."""
    return now is known or (0 < len(known) <= len(now) and all(map(is_, now, known)))


class _Wire(NamedTuple):
    """A mock of the wire: its calls, and how messages become verbs."""

    log: _Log
    form: WireForm
    verbs: Mapping[VerbKind, Verb]

    def verb_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Verb, dict[str, Any]] | None:
        """The verb of a message, with its arguments; None for a handshake, a log or anything else."""
        arguments = (*args, *kwargs.values(), None, None)
        command, body = arguments[:2] if self.form is WireForm.COMMAND else (None, arguments[0])
        body = body if isinstance(body, dict) else {}
        kind = _COMMANDS.get(str(command or body.get("command")))
        verb = self.verbs.get(kind) if kind is not None else None
        if verb is None:
            return None
        names = (verb.subject, verb.message_id, verb.anchors)
        values = (body.get("id"), body.get("id"), body.get("anchors"))
        return verb, {name: value for name, value in zip(names, values, strict=True) if name is not None}


class Mocked:
    """The mocked verbs of one component, and how far each was read."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Verb, _Log]] = {}
        self._wires: dict[int, _Wire] = {}
        self.raised: dict[
            VerbKind, str
        ] = {}  # what was made to raise, and so says nothing of what real ones would
        self.shared = False  # whether another component may call them, too
        # calls that were made while one of those components ran, by their id
        self.claims: dict[int, Any] = {}

    def share(self, other: "Mocked") -> None:
        """From now on another component may call the same mocks."""
        self.shared = other.shared = True
        self.claims = other.claims

    def claim(self, call: Call) -> None:
        """The call belongs to this component."""
        self.claims[id(call.record)] = call.record

    def add(self, verb: Verb, mock: Any) -> None:
        """Read a mock that replaces a verb."""
        mock = getattr(mock, "__func__", mock)
        if id(mock) not in self._read:
            self._read[id(mock)] = verb, _Log(mock)

    def add_wire(self, mock: Any, dialect: Dialect, role: Role) -> None:
        """Read a mock that replaces the wire."""
        mock = getattr(mock, "__func__", mock)
        if id(mock) in self._wires or dialect.wire is None:
            return
        verbs = {verb.kind: verb for verb in reversed(dialect.verbs_of(role)) if verb.kind in _READ}
        self._wires[id(mock)] = _Wire(_Log(mock), dialect.wire.form, verbs)

    @property
    def forgotten(self) -> bool:
        """Whether the wire's mock was reset: calls between two resets are lost."""
        return any(wire.log.was_reset for wire in self._wires.values())

    def calls(self, component: object) -> Iterator[Call]:
        """The calls since the last look, verb by verb."""
        for verb, log in sorted(self._read.values(), key=lambda row: _READ.index(row[0].kind)):
            calls = log.new()
            if calls and log.raises:
                self.raised[verb.kind] = f"{verb.name} is made to raise"
                continue
            for call in calls:
                if id(call) in self.claims:
                    continue
                own, args = _arguments_of(component, call)
                arguments = {**dict(zip(verb.params, args, strict=False)), **call.kwargs}
                yield Call(verb, arguments, call, own=own)
        for wire in self._wires.values():
            calls = wire.log.new()
            if calls and wire.log.raises:
                self.raised |= dict.fromkeys(_COMMANDS.values(), "its wire is made to raise")
                continue
            for call in calls:
                own, args = _arguments_of(component, call)
                if id(call) not in self.claims and (sent := wire.verb_of(args, call.kwargs)) is not None:
                    yield Call(*sent, call, wired=True, own=own)

    def __bool__(self) -> bool:
        return bool(self._read or self._wires)


def _arguments_of(component: object, call: Any) -> tuple[bool, tuple[Any, ...]]:
    """Whether the call has the component as its `self`, and the other arguments."""
    own = bool(call.args) and call.args[0] is component
    return own, tuple(call.args[1:] if own else call.args)


def look(
    component: object, dialect: Dialect, role: Role, mocked: Mocked, written: WrittenMethods
) -> Mapping[VerbKind, str]:
    """Find the mocked verbs of a component; returns the verbs that are hidden, and by what."""
    wire = _send(component, dialect, role, mocked)
    hidden: dict[VerbKind, str] = {}
    for verb in dialect.verbs_of(role):
        if verb.kind not in _READ or verb.on == "tuple":
            continue
        for found in _found(component, verb):
            if is_mock(found):
                mocked.add(verb, found)
            elif verb.kind is VerbKind.EMIT:
                continue
            elif wire:
                hidden[verb.kind] = wire
            elif _is_replaced(component, dialect, verb, found, written):
                hidden[verb.kind] = f"{verb.name} is replaced"
    return hidden


def _found(component: object, verb: Verb) -> Iterator[Any]:
    """The callables that the component may use: its method, or a function under a name in its module."""
    if verb.on == "self":
        found = getattr(component, verb.name, None)
        if found is not None:
            yield found
        return
    module = _module(component, verb.on)
    if module is not None and verb.name in vars(module):
        yield vars(module)[verb.name]
    for name in dict.fromkeys(base.__module__ for base in type(component).__mro__):
        names = vars(sys.modules[name]) if name in sys.modules else {}
        found = names.get(verb.name)
        if is_mock(found) or _is_made_by_a_test(found):
            yield found
        whole = names.get(verb.on.rpartition(".")[2])
        if is_mock(whole) and hasattr(whole, verb.name):  # all of the framework's module
            yield getattr(whole, verb.name)


def _is_made_by_a_test(found: object) -> bool:
    """Whether a test made it: a lambda, an inner function, `list.append`."""
    if isinstance(found, FunctionType):
        return "<" in found.__qualname__  # <lambda>, test_it.<locals>.ack
    return callable(found) and not isinstance(found, type)


def _module(component: object, name: str) -> Any:
    """The framework's module, or the project's own copy."""
    for base in type(component).__mro__:
        if base.__module__ == name or base.__module__.endswith(f".{name}"):
            return sys.modules.get(base.__module__)
    return sys.modules.get(name)


def _is_replaced(
    component: object, dialect: Dialect, verb: Verb, found: Any, written: WrittenMethods
) -> bool:
    """Whether no class of the component, and not the framework's module, defines it."""
    if verb.on != "self":
        return not (getattr(found, "__module__", None) or "").endswith(verb.on)  # None: a built-in's
    return _is_foreign_method(component, verb.name, found) or _ends_here(
        component, dialect, verb, found, written
    )


def _ends_here(component: object, dialect: Dialect, verb: Verb, found: Any, written: WrittenMethods) -> bool:
    """Whether a method cannot reach the wire, as in a test's subclass that only records its calls.

    A method reaches the wire if it, or a method of the component that it mentions, names the wire.
    """
    send = dialect.wire.send if dialect.wire else ()
    ways = {"super", verb.name, *(path.rpartition(".")[2] for path in send)}
    code = getattr(unwrap(found), "__code__", None)
    own = own_classes(component, dialect)
    return isinstance(code, CodeType) and not written.mentions(own, code, ways)


def _is_foreign_method(component: object, name: str, found: Any) -> bool:
    """Whether the method of that name is defined in none of the component's classes."""
    own = getattr(found, "__self__", None) is component
    inherited = own and getattr(found, "__func__", None) is getattr(type(component), name, None)
    if not inherited and name in getattr(
        component, "__dict__", {}
    ):  # a look into it makes every field slower
        return True
    owner = getattr(found, "__qualname__", "").rpartition(".")[0]
    return all(base.__qualname__ != owner for base in type(component).__mro__)


def _send(component: object, dialect: Dialect, role: Role, mocked: Mocked) -> str:
    """What hides the wire, or ''."""
    send = dialect.wire.send if dialect.wire else ()
    if len(send) != 1:
        return ""
    owner, _, name = send[0].rpartition(".")
    module = _module(component, owner)
    if module is not None:
        found = vars(module).get(name)
        is_known = is_ours(found)
    else:
        found = getattr(component, name, None)
        is_known = not _is_foreign_method(component, name, found)
        if is_known and not any(is_ours(vars(base).get(name)) for base in type(component).__mro__):
            return f"{name} is of an unknown version"
    if is_mock(found):
        mocked.add_wire(found, dialect, role)
        return ""
    return "" if is_known else f"{name} is replaced"
