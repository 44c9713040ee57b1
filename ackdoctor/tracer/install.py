"""Wraps the send and the receive function of every framework, as its dialect names them.

Imported frameworks are wrapped at once, others when they are imported. Handlers are wrapped in every
class that derives from a framework's. Components need no change, and `undo` restores everything.
"""

import sys
from collections.abc import Iterator
from threading import RLock
from types import ModuleType
from typing import Any, cast

from ackdoctor import dialects
from ackdoctor.model.dialect import Dialect, Entry, EntryKind, Verb, WireForm
from ackdoctor.tracer.components import belongs
from ackdoctor.tracer.handlers import HandlerCalls
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.listener import Listener
from ackdoctor.tracer.live import LiveRecord, Rows
from ackdoctor.tracer.mocks import WrittenMethods
from ackdoctor.tracer.patches import Arrivals, Patches, Target, is_mock, is_ours, ours, resolve
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.wrappers import Attribution, Wrappers

__all__ = ["Installation", "install"]


_HANDLERS = {EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK, EntryKind.NEXT}
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


def install(ledger: Ledger, recorder: Recorder | None = None) -> "Installation":
    """Wrap the frameworks that are imported, and those that will be; RuntimeError if they are wrapped already.

    `recorder` gets the rows at level `trace`. Level `off` wraps nothing.
    """
    installation = Installation(ledger, recorder)
    if ledger.level is not Level.OFF:
        installation.begin()
    return installation


class Installation:
    """The wrapped attributes; `undo` restores them."""

    def __init__(self, ledger: Ledger, recorder: Recorder | None) -> None:
        self.ledger = ledger
        level = ledger.level
        self._rows = Rows(recorder, ledger.sites) if recorder is not None and level >= Level.TRACE else None
        self._listener = Listener(ledger, self._rows)
        self._dialects = tuple(dialect for dialect in dialects.load() if dialect.wire is not None)
        self._patches = Patches()
        self._attribution = Attribution()
        self._lock = RLock()
        self._live = False
        self._arrivals = Arrivals(self._is_wanted, self._arrived)
        records = cast("dict[int, LiveRecord]", ledger.records)  # under the id of a component is a live one
        self._written = WrittenMethods()
        calls = HandlerCalls(self._listener, self._written)
        self._wrappers = Wrappers(self._listener, calls, records, self._attach, self._attribution)

    def begin(self) -> None:
        """Wrap the imported frameworks, and wait for the others."""
        self._live = True
        try:
            self._wrap_all()
        except RuntimeError:
            self.undo()
            raise
        self._arrivals.begin()

    def _wrap_all(self) -> None:
        for dialect in self._dialects:
            for module in self._modules(dialect):
                self._wrap(dialect, module)

    def mend(self) -> None:
        """Wrap the attributes that a test's patch has restored meanwhile."""
        if self._live and not self._patches.is_whole():
            self._wrap_all()

    def undo(self) -> None:
        """Remove all wrappers, the last one first. A second call does nothing."""
        self._arrivals.end()
        self._live = False
        self._patches.undo()
        self._attribution.clear()

    # ---- which modules ----

    def _is_wanted(self, name: str) -> bool:
        return any(self._has_module(dialect, name) for dialect in self._dialects)

    def _has_module(self, dialect: Dialect, name: str) -> bool:
        """Whether a module belongs to the framework: in its packages, or a project's own copy."""
        modules = dialect.wire.modules if dialect.wire else ()
        if any(name == module or name.startswith(f"{module}.") for module in modules):
            return True
        copied = dialect.vendored and name.rpartition(".")[2] in modules
        return copied and not any(self._has_module(d, name) for d in self._dialects if not d.vendored)

    def _modules(self, dialect: Dialect) -> Iterator[ModuleType]:
        for name, module in list(sys.modules.items()):
            if self._has_module(dialect, name):
                yield module

    def _arrived(self, module: ModuleType) -> None:
        try:
            for dialect in self._dialects:
                if self._live and self._has_module(dialect, module.__name__):
                    self._wrap(dialect, module)
        except RuntimeError as error:
            self._listener.trouble(error)

    # ---- wrapping ----

    def _wrap(self, dialect: Dialect, module: ModuleType) -> None:
        """Wrap the functions and classes of one module of a framework."""
        wire = dialect.wire
        assert wire is not None
        with self._lock:
            base = wire.modules[0] if dialect.vendored else ""
            self.ledger.sites.foreign(
                (module.__name__, *wire.modules),
                (_copied(path, base, module.__name__) for path in (*wire.completes, *wire.fails)),
            )
            for path in wire.send:
                self._put(self._target(path, base, module), lambda t: self._sender(dialect, wire.form, t))
            for path in wire.receive:
                self._put(self._target(path, base, module), self._receiver)
            for path in wire.drops:
                self._put(self._target(path, base, module), self._dropper)
            for role in dialect.roles:
                for path in role.classes:
                    found = self._target(path, base, module)
                    if found is not None and isinstance(found.raw, type):
                        self._derive(found.raw)

    def _target(self, path: str, base: str, module: ModuleType) -> Target | None:
        """The attribute of a name in the dialect, if this module defines it."""
        path = _copied(path, base, module.__name__)
        return resolve(path) if path.startswith(f"{module.__name__}.") else None

    def _put(self, target: Target | None, make: Any) -> None:
        if target is None:
            return
        if is_mock(target.raw):  # the component that meets it is then not observed
            self._patches.leave(target)
            return
        if is_ours(target.raw):
            if not self._patches.has(target.raw):
                raise RuntimeError(f"{target.name} is wrapped already: undo the other installation first")
            return
        self._patches.put(target, make(target))

    def _sender(self, dialect: Dialect, form: WireForm, target: Target) -> Any:
        if isinstance(target.owner, ModuleType):
            return self._wrappers.send_of_module(target.raw)
        if form is WireForm.DELEGATE:
            return self._wrappers.verb(_verb(dialect, target), target.raw)
        return self._wrappers.send(form, target.raw)

    def _receiver(self, target: Target) -> Any:
        if isinstance(target.owner, ModuleType):
            return self._wrappers.receive_of_module(target.raw, _reader)
        return self._wrappers.receive(target.raw)

    def _dropper(self, target: Target) -> Any:
        return self._wrappers.drop(target.raw, _sending)

    def _derive(self, base: type) -> None:
        """Wrap the handlers of a framework's class and of every class that derives from it, now or later."""
        if not any(is_ours(vars(cls).get("__init_subclass__")) for cls in base.__mro__):
            inherited = vars(base).get("__init_subclass__")

            def init_subclass(cls: type, **kwargs: Any) -> None:
                if inherited is None:
                    cast("Any", super(base, cls)).__init_subclass__(**kwargs)
                else:
                    inherited.__get__(None, cls)(**kwargs)
                self._adopt(cls)

            hook = classmethod(ours(init_subclass))
            self._patches.put(Target(base, "__init_subclass__", inherited), hook)
        for cls in _family(base):
            self._adopt(cls)

    def _adopt(self, cls: type) -> None:
        """Wrap a component class's handlers in the class that defines each: a mixin does not derive from the framework's class."""
        if not self._live:
            return
        self._written.note(cls)
        for method, entry in _entries(cls).items():
            for base in cls.__mro__:
                raw = vars(base).get(method)
                if is_mock(raw):
                    self._patches.leave(Target(base, method, raw))
                elif hasattr(raw, "__get__") and not is_ours(raw):
                    self._patches.put(Target(base, method, raw), self._wrappers.method(entry, raw))

    def _attach(self, component: object) -> LiveRecord | None:
        """The record of a new component; None if the object is no component, or everything is undone."""
        try:
            cls: type = type(component)
            found = belongs(cls) if self._live else None
            if found is None:
                return None
            record = LiveRecord(component, *found, cap=self.ledger.cap)
            if self._rows is not None:
                record.on_mocked, record.on_hidden = self._rows.mocked, self._rows.unobserved
                record.on_waiting = self._rows.waiting
            self._share_mocks(record)
            self.ledger.keep(id(component), record)
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            self._listener.trouble(error)
            return None
        return record

    def _share_mocks(self, record: LiveRecord) -> None:
        """From now on several components may call a mocked verb."""
        for other in list(self.ledger.records.values()):
            if isinstance(other, LiveRecord):
                if not other.mocked.shared:
                    other.read_mocks()
                record.mocked.share(other.mocked)


def _copied(path: str, base: str, module: str) -> str:
    """A name of storm.py in the project's own copy of the module."""
    return module + path.removeprefix(base) if base and path.startswith(f"{base}.") else path


def _verb(dialect: Dialect, target: Target) -> Verb:
    """The verb that a function of a bolt's or spout's class implements."""
    for role in dialect.roles:
        if any(
            getattr(sys.modules.get(path.rpartition(".")[0]), path.rpartition(".")[2], None) is target.owner
            for path in role.classes
        ):
            for verb in role.verbs:
                if verb.name == target.name:
                    return verb
    raise LookupError(target.name)


def _family(base: type) -> Iterator[type]:
    yield base
    heirs: list[type] = type.__subclasses__(base)
    for heir in heirs:
        yield from _family(heir)


def _entries(cls: type) -> dict[str, Entry]:
    """The handlers of a class by name; the nearest role wins."""
    entries: dict[str, Entry] = {}
    for base in cls.__mro__:
        found = belongs(base)
        for entry in found[1].entries if found else ():
            if entry.kind in _HANDLERS:
                entries.setdefault(entry.method, entry)
    return entries


def _reader() -> object:
    """The component whose `run` has called a module's receive function, two frames up."""
    return _getframe(2).f_locals.get("self")


def _sending() -> tuple[object, object]:
    """The component and the message that a serializer is dropping, from the sender's frame."""
    frame: Any = _getframe(2)
    while frame is not None:
        if frame.f_code.co_name in ("send_message", "send_command") and "record" in frame.f_locals:
            return frame.f_locals["self"], frame.f_locals.get("message")
        frame = frame.f_back
    return None, None
