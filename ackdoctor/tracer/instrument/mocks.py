"""What a test has put in the place of a verb, or of the wire: a mock is read, anything else is said to hide the wire.

A mock remembers its calls in `call_args_list`; its growth since the last look is what the component did.
Where a verb is a function, a test replaces the name that the component's own module has for it.  The wire's
mock has the messages: what a verb's mock was called with, and passed on, stands in both.
What stands in the place of anything else is `given`'s.
"""

import sys
from collections.abc import Iterator, Mapping
from inspect import unwrap
from operator import is_
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ackdoctor.model.dialect import Dialect, Role, Verb, VerbKind, WireForm
from ackdoctor.tracer.instrument.patches import Effect, effect, is_mock, is_ours
from ackdoctor.tracer.instrument.written import Written, own_classes

__all__ = ["Call", "Mocked", "look"]

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
    """The calls of one mock from now on.  A reset begins another list: the one before is read to its end first."""

    def __init__(self, mock: Any) -> None:
        self._mock = mock
        self._calls = mock.call_args_list
        self._read = len(self._calls)
        self.was_reset = False

    @property
    def raises(self) -> bool:
        """Whether the mock is made to raise, whoever calls it: then a call comes to nothing."""
        return effect(self._mock) is Effect.RAISES

    def new(self) -> list[Any]:
        """Those since the last look."""
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
    """Whether a list of calls is the known one, or a copy that has more."""
    return now is known or (0 < len(known) <= len(now) and all(map(is_, now, known)))


class _Wire(NamedTuple):
    """A mock in the place of the wire: its calls, and how messages become verbs."""

    log: _Log
    form: WireForm
    verbs: Mapping[VerbKind, Verb]

    def said(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Verb, dict[str, Any]] | None:
        """The verb whose message this is, with its arguments; None for a handshake, a log or what is no message."""
        given = (*args, *kwargs.values(), None, None)
        command, body = given[:2] if self.form is WireForm.COMMAND else (None, given[0])
        body = body if isinstance(body, dict) else {}
        kind = _COMMANDS.get(str(command or body.get("command")))
        verb = self.verbs.get(kind) if kind is not None else None
        if verb is None:
            return None
        names = (verb.subject, verb.message_id, verb.anchors)
        values = (body.get("id"), body.get("id"), body.get("anchors"))
        return verb, {name: value for name, value in zip(names, values, strict=True) if name is not None}


class Mocked:
    """The mocks of one component, and how far each was read."""

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
        """The call is of the component whose mocks these are."""
        self.claims[id(call.record)] = call.record

    def add(self, verb: Verb, mock: Any) -> None:
        """A mock that stands for a verb from now on."""
        mock = getattr(mock, "__func__", mock)
        if id(mock) not in self._read:
            self._read[id(mock)] = verb, _Log(mock)

    def add_wire(self, mock: Any, dialect: Dialect, role: Role) -> None:
        """A mock that stands in the place of the wire from now on."""
        mock = getattr(mock, "__func__", mock)
        if id(mock) in self._wires or dialect.wire is None:
            return
        verbs = {verb.kind: verb for verb in reversed((*role.verbs, *dialect.verbs)) if verb.kind in _READ}
        self._wires[id(mock)] = _Wire(_Log(mock), dialect.wire.form, verbs)

    @property
    def forgotten(self) -> bool:
        """Whether the wire's mock was reset: more than once since a look, and nobody knows of what came in between."""
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
                own, args = _told_to(component, call)
                arguments = {**dict(zip(verb.params, args, strict=False)), **call.kwargs}
                yield Call(verb, arguments, call, own=own)
        for wire in self._wires.values():
            calls = wire.log.new()
            if calls and wire.log.raises:
                self.raised |= dict.fromkeys(_COMMANDS.values(), "its wire is made to raise")
                continue
            for call in calls:
                own, args = _told_to(component, call)
                if id(call) not in self.claims and (told := wire.said(args, call.kwargs)) is not None:
                    yield Call(*told, call, wired=True, own=own)

    def __bool__(self) -> bool:
        return bool(self._read or self._wires)


def _told_to(component: object, call: Any) -> tuple[bool, tuple[Any, ...]]:
    """Whether the call names the component as its `self`, and the arguments without that."""
    own = bool(call.args) and call.args[0] is component
    return own, tuple(call.args[1:] if own else call.args)


def look(
    component: object, dialect: Dialect, role: Role, mocked: Mocked, written: Written
) -> Mapping[VerbKind, str]:
    """Notes the mocked verbs of a component; returns the ways to complete a tuple that are hidden from us, and by what."""
    wire = _send(component, dialect, role, mocked)
    hidden: dict[VerbKind, str] = {}
    for verb in (*role.verbs, *dialect.verbs):
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
    """What the component would call: its method, or a function under the names that its code may use."""
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
    """Whether it is no function that some module defines: a lambda, `list.append`."""
    if isinstance(found, FunctionType):
        return "<" in found.__qualname__  # <lambda>, test_it.<locals>.ack
    return callable(found) and not isinstance(found, type)


def _module(component: object, name: str) -> Any:
    """The framework's module, or the project's own copy of it."""
    for base in type(component).__mro__:
        if base.__module__ == name or base.__module__.endswith(f".{name}"):
            return sys.modules.get(base.__module__)
    return sys.modules.get(name)


def _is_replaced(component: object, dialect: Dialect, verb: Verb, found: Any, written: Written) -> bool:
    """A method that no class of the component defines, a function that the framework's module does not."""
    if verb.on != "self":
        return not (getattr(found, "__module__", None) or "").endswith(verb.on)  # None: a built-in's
    return _is_foreign_method(component, verb.name, found) or _ends_here(
        component, dialect, verb, found, written
    )


def _ends_here(component: object, dialect: Dialect, verb: Verb, found: Any, written: Written) -> bool:
    """Whether a method mentions nothing by which it could reach the wire, as that of a test's own heir: it writes down its calls.

    What it mentions are also the names in the component's own methods that it mentions.
    """
    send = dialect.wire.send if dialect.wire else ()
    ways = {"super", verb.name, *(path.rpartition(".")[2] for path in send)}
    code = getattr(unwrap(found), "__code__", None)
    own = own_classes(component, dialect)
    return isinstance(code, CodeType) and not written.mentions(own, code, ways)


def _is_foreign_method(component: object, name: str, found: Any) -> bool:
    """Whether what a component calls under a name was written in none of its classes."""
    own = getattr(found, "__self__", None) is component
    inherited = own and getattr(found, "__func__", None) is getattr(type(component), name, None)
    if not inherited and name in getattr(
        component, "__dict__", {}
    ):  # a look into it makes every field slower
        return True
    owner = getattr(found, "__qualname__", "").rpartition(".")[0]
    return all(base.__qualname__ != owner for base in type(component).__mro__)


def _send(component: object, dialect: Dialect, role: Role, mocked: Mocked) -> str:
    """What hides the wire, '' if it can be read."""
    send = dialect.wire.send if dialect.wire else ()
    if len(send) != 1:
        return ""
    owner, _, name = send[0].rpartition(".")
    module = _module(component, owner)
    if module is not None:
        found = vars(module).get(name)
        stands = is_ours(found)
    else:
        found = getattr(component, name, None)
        stands = not _is_foreign_method(component, name, found)
        if stands and not any(is_ours(vars(base).get(name)) for base in type(component).__mro__):
            return f"{name} is not of a version that is watched"
    if is_mock(found):
        mocked.add_wire(found, dialect, role)
        return ""
    return "" if stands else f"{name} is replaced"
