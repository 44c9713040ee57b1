"""Wraps the send and the receive function of every framework, as its dialect names them.

Imported frameworks are wrapped at once, others when they are imported. Handlers are wrapped in every
class that derives from a framework's. Components need no change, and `undo` restores everything.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from threading import RLock, get_ident
from types import ModuleType
from typing import Any, NamedTuple, cast

from ackdoctor import dialects
from ackdoctor.model.dialect import Dialect, Entry, EntryKind, Verb, WireForm
from ackdoctor.tracer.components import belongs
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.live import LiveRecord
from ackdoctor.tracer.mocks import WrittenMethods, is_mock, is_ours, ours, unmark
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.wrappers import Wrappers

_HANDLERS = {EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK, EntryKind.NEXT}


class Target(NamedTuple):
    """An attribute that exists: `raw` is what `vars(owner)` holds, or what the owner inherits."""

    owner: Any
    name: str
    raw: Any


def resolve(path: str) -> Target | None:
    """The attribute of a qualified name, if its module is imported already."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if isinstance(module, ModuleType):
            return _walk(module, parts[cut:])
    return None


def _walk(owner: Any, names: list[str]) -> Target | None:
    for name in names[:-1]:
        owner = vars(owner).get(name)
        if owner is None:
            return None
    raw = vars(owner).get(names[-1], getattr(owner, names[-1], None))
    return None if raw is None else Target(owner, names[-1], raw)


class Patches:
    """The replaced attributes, in order.

    `undo` leaves an attribute alone that other code has replaced meanwhile.
    If that code restores our wrapper later, the wrapper is an ordinary function that passes everything on.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any, bool]] = []
        self._mocks: dict[tuple[int, str], Target] = {}

    def put(self, target: Target, wrapper: Any) -> None:
        """Replace the target by `wrapper`."""
        own = target.name in vars(target.owner)
        setattr(target.owner, target.name, wrapper)
        self._done.append((target.owner, target.name, wrapper, target.raw, own))

    def leave(self, target: Target) -> None:
        """Remember a mock: a test may restore the attribute under it."""
        self._mocks[id(target.owner), target.name] = target

    def is_whole(self) -> bool:
        """Whether every wrapper, or a mock over it, is still in place, and no remembered mock has gone."""
        for owner, name, wrapper, _, _ in self._done:
            if vars(owner).get(name) is not wrapper and self._is_free(owner, name):
                return False
        return not any(self._is_free(owner, name) for owner, name, _ in self._mocks.values())

    def _is_free(self, owner: Any, name: str) -> bool:
        now = vars(owner).get(name)
        return not is_mock(now) and not self.has(now)

    def has(self, wrapper: Any) -> bool:
        """Whether a wrapper is one of these patches."""
        return any(done[2] is wrapper for done in self._done)

    def undo(self) -> None:
        """Restore everything, the last replacement first."""
        while self._done:
            owner, name, wrapper, raw, own = self._done.pop()
            if vars(owner).get(name) is not wrapper:
                unmark(wrapper)
                continue
            if own:
                setattr(owner, name, raw)
            else:
                delattr(owner, name)


class Arrivals:
    """An import finder that asks the others, and calls `arrived` once the module is executed."""

    def __init__(self, wanted: Callable[[str], bool], arrived: Callable[[ModuleType], None]) -> None:
        self._wanted = wanted
        self._arrived = arrived
        self._asking: set[tuple[int, str]] = set()

    def begin(self) -> None:
        """Insert the finder before all others."""
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Remove the finder."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by the import system; None lets it ask the next finder."""
        question = (get_ident(), fullname)
        if question in self._asking or not self._wanted(fullname):
            return None
        self._asking.add(question)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = (
                    find(fullname, path, target) if find and finder is not self else None
                )
                if spec is not None:
                    self._listen(fullname, spec.loader)
                    return spec
        finally:
            self._asking.discard(question)
        return None

    def _listen(self, name: str, loader: Any) -> None:
        """Wrap the loader's `exec_module`, once; built-in loaders are classes and are left alone."""
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type) or not hasattr(loader, "__dict__"):
            return

        def exec_module(module: ModuleType) -> None:
            if module.__name__ == name:
                vars(loader).pop("exec_module", None)
            execute(module)
            if module.__name__ == name:
                self._arrived(module)

        loader.exec_module = exec_module


def install(ledger: Ledger, recorder: Recorder | None = None) -> "Installation":
    """Wrap the frameworks that are imported, and those that will be; RuntimeError if they are wrapped already.

    `recorder` gets the rows at level `trace`. Level `off` wraps nothing.
    """
    installation = Installation(ledger, recorder)
    if ledger.level is not Level.OFF:
        installation.begin()
    return installation


@contextmanager
def installed_alone(ledger: Ledger) -> Iterator["Installation"]:
    """Wrap the frameworks for this ledger only; the installation that wraps them now pauses meanwhile."""
    paused = list(_WRAPPING)
    for other in paused:
        other.undo()
    installation = install(ledger)
    try:
        yield installation
    finally:
        installation.undo()
        for other in paused:
            other.begin()


_WRAPPING: list["Installation"] = []  # at most one, unless they wrap different frameworks


class Installation:
    """The wrapped attributes; `undo` restores them."""

    def __init__(self, ledger: Ledger, recorder: Recorder | None) -> None:
        self.ledger = ledger
        self._recorder = recorder if ledger.level >= Level.TRACE else None
        self._dialects = tuple(dialect for dialect in dialects.load() if dialect.wire is not None)
        self._patches = Patches()
        self._lock = RLock()
        self._live = False
        self._arrivals = Arrivals(
            lambda name: any(self._has_module(d, name) for d in self._dialects), self._arrived
        )
        records = cast("dict[int, LiveRecord]", ledger.records)  # under the id of a component is a live one
        self._written = WrittenMethods()
        self._wrappers = Wrappers(ledger, records, self._attach, self._recorder)

    def begin(self) -> None:
        """Wrap the imported frameworks, and wait for the others."""
        self._live = True
        try:
            self._wrap_all()
        except RuntimeError:
            self.undo()
            raise
        self._arrivals.begin()
        _WRAPPING.append(self)

    def _wrap_all(self) -> None:
        for dialect in self._dialects:
            for name, module in list(sys.modules.items()):
                if self._has_module(dialect, name):
                    self._wrap(dialect, module)

    def mend(self) -> None:
        """Wrap the attributes that a test's patch has restored meanwhile."""
        if self._live and not self._patches.is_whole():
            self._wrap_all()

    def undo(self) -> None:
        """Remove all wrappers, the last one first. A second call does nothing."""
        self._arrivals.end()
        if self in _WRAPPING:
            _WRAPPING.remove(self)
        self._live = False
        self._patches.undo()
        self._wrappers.forget_running()

    # ---- which modules ----

    def _has_module(self, dialect: Dialect, name: str) -> bool:
        """Whether a module belongs to the framework: in its packages, or a project's own copy."""
        modules = dialect.wire.modules if dialect.wire else ()
        if any(name == module or name.startswith(f"{module}.") for module in modules):
            return True
        copied = dialect.vendored and name.rpartition(".")[2] in modules
        return copied and not any(self._has_module(d, name) for d in self._dialects if not d.vendored)

    def _arrived(self, module: ModuleType) -> None:
        try:
            for dialect in self._dialects:
                if self._live and self._has_module(dialect, module.__name__):
                    self._wrap(dialect, module)
        except RuntimeError as error:
            self.ledger.note_internal_error(error)

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
                self._put(self._target(path, base, module), lambda t: self._wrappers.drop(t.raw))
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
            return self._wrappers.receive_of_module(target.raw)
        return self._wrappers.receive(target.raw)

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
            record = LiveRecord(component, *found, self.ledger, self._recorder, self._written)
            self._share_mocks(record)
            self.ledger.keep(id(component), record)
        except Exception as error:  # noqa: BLE001 - ours, and never the author's
            self.ledger.note_internal_error(error)
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
