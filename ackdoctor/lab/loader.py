"""Import the components of a wired topology, and build it for the simulator.

The code runs in this process.  `imported` finds the modules below the topology's directories before any other, translates
Python 2 as the linter does, and forgets the modules at the end; a module that was imported before, as by another test, is
set aside until then.  A script that starts its component when it is imported
does not start it here: the lab does.
"""

import io
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ackdoctor.dialects import load
from ackdoctor.lab.child import ReportedError, ShellError
from ackdoctor.lab.watched import OverdueError, alarm
from ackdoctor.model import UsageError
from ackdoctor.model.topology import Judged, Node
from ackdoctor.tracer.components import belongs

_PRINTS_TO = re.compile(
    rb"^[ \t]*print[ \t]*>>", re.MULTILINE
)  # Python 3 compiles it, and raises a TypeError


_HERON_OPTIONS = "HERON_OPTIONS"  # without it, heronpy's Topology cannot be derived from
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+)', re.MULTILINE)
_DELIVERY = re.compile(r"(?<=already acked/failed id: ).*|(?<=Anchored onto ).*(?= after ack/fail)")


class CannotLoadError(UsageError):
    """The code of a topology cannot be imported; the message names the file and the line."""


class SourceLoader(SourceFileLoader):
    """Translates Python 2, and writes no bytecode."""

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Do not write."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]  # typeshed's has no path-like
        """Compile the source, after the translation that Python 2 needs."""
        try:
            if _PRINTS_TO.search(data) is None:
                return super().source_to_code(data, path)
        except SyntaxError:
            pass
        from ackdoctor.frontends.python.source import translate

        translation = translate(bytes(data).decode(errors="replace"))
        return super().source_to_code(translation.text.encode() if translation else data, path)


class SourceFinder:
    """Finds the modules below some directories before any other finder; `found` are the names of those it found."""

    def __init__(self, roots: Sequence[Path]) -> None:
        import_module(
            "ackdoctor.frontends.python.source"
        )  # and libcst, before a root can shadow their imports
        self.roots = roots
        self.found: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a file or a package with an `__init__.py`."""
        del path, target
        file = self.file_of(fullname)
        if file is None:
            return None
        self.found.append(fullname)
        return spec_from_file_location(fullname, file, loader=SourceLoader(fullname, str(file)))

    def file_of(self, fullname: str) -> Path | None:
        """Return the file of a module below the directories."""
        if fullname.partition(".")[0] == __name__.partition(".")[0]:
            return None  # this package, which runs
        for root in self.roots:
            place = root.joinpath(*fullname.split("."))
            package = place / "__init__.py"
            file = package if package.is_file() else place.with_suffix(".py")
            if file.is_file():
                return file
        return None


@dataclass(frozen=True, slots=True)
class Stub:
    """A replacement for an attribute of a module: `name` of `module` becomes `new_name` of `new_module`."""

    module: str
    name: str
    new_module: str
    new_name: str

    @classmethod
    def parse(cls, value: str) -> "Stub":
        """Parse `shop.queue:OrderQueue=stubs:FakeQueue`; UsageError if it is none."""
        old, _, new = value.partition("=")
        parts = (*old.partition(":")[::2], *new.partition(":")[::2])
        if not all(part.replace(".", "_").isidentifier() for part in parts):
            raise UsageError(f"--stub: {value!r} is not MODULE:NAME=MODULE:CLASS")
        return cls(*parts)


@contextmanager
def imported(
    judged: Judged, project: Path, stubs: Sequence[Stub] = (), limit: float = 60
) -> Iterator[Mapping[str, type]]:
    """Import the components; yield their classes by component id, and remove their modules afterwards.

    `project` is the directory that the paths of the topology start from.  CannotLoadError if a class cannot be imported
    within `limit` seconds.
    """
    finder = SourceFinder(_roots(judged, project))
    replaced: list[tuple[ModuleType, str, Any]] = []
    with _found_by(finder, {name for stub in stubs for name in _and_parents(stub.module)}):
        try:
            with ExitStack() as scripts, redirect_stdout(io.StringIO()), alarm(limit):
                _hold_scripts(judged, scripts)
                if _HERON_OPTIONS not in os.environ:
                    os.environ[_HERON_OPTIONS] = "cmdline.topologydefn.tmpdirectory=unused"
                    scripts.callback(os.environ.pop, _HERON_OPTIONS, None)
                for stub in stubs:
                    replaced += _install(stub)
                classes = {node.id: _class_of(node, judged, project) for node in judged.topology.nodes}
        except OverdueError as error:
            place = blamed_line(error, project) or judged.topology.place
            raise CannotLoadError(f"{place}: the import does not end within {limit:g} s") from None
        else:
            yield classes
        finally:
            for module, name, old in reversed(replaced):
                setattr(module, name, old) if old is not None else delattr(module, name)


@contextmanager
def _found_by(finder: SourceFinder, made: Collection[str]) -> Iterator[None]:
    """Let the finder find modules before any other, also those imported before; `made` are those of stubs."""
    roots = [str(root) for root in finder.roots]
    aside = {
        name: module
        for name, module in list(sys.modules.items())
        if (file := getattr(module, "__file__", None) or "").startswith(tuple(roots))
        and Path(file) == finder.file_of(name)
    }
    for name in aside:
        del sys.modules[name]
    before = set(sys.modules)
    sys.meta_path.insert(0, finder)
    sys.path[:0] = roots
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for root in roots:
            if root in sys.path:  # otherwise a component removed it
                sys.path.remove(root)
        for name in {*finder.found, *made} - before:
            sys.modules.pop(name, None)
        sys.modules.update(aside)


def _roots(judged: Judged, project: Path) -> list[Path]:
    """The directories that the imports of the components start from, the project's last."""
    found: dict[Path, None] = {}
    for node in judged.topology.nodes:
        if node.code is not None:
            found[_module_of(project / node.code.path)[0]] = None
    found[project / Path(judged.topology.place.path).parent] = None
    found[project / "src"] = None
    found[project] = None
    return [root.resolve() for root in found if root.is_dir()]


def _module_of(file: Path) -> tuple[Path, str]:
    """The directory that an import of a file starts from, and the name of its module."""
    folder, parts = file.parent, [file.stem]
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _class_of(node: Node, judged: Judged, project: Path) -> type:
    if node.code is None:
        why = f"; {node.unread}" if node.unread else ""
        raise CannotLoadError(
            f"{node.place}: the class of `{node.id}`, {node.cls}, is in no Python file under {project}{why};"
            " --project names the directory of its code"
        )
    file = project / node.code.path
    if file.suffix != ".py":
        raise CannotLoadError(f"{node.place}: the lab runs Python components; `{node.id}` is in {file.name}")
    module = _import(_module_of(file)[1], node.code.path, project)
    name = judged.facts[node.id].cls.rpartition(".")[2]
    found = vars(module).get(name)
    if not isinstance(found, type) or belongs(found) is None:
        raise CannotLoadError(f"{node.code}: {name} is not a bolt or spout of a framework that the lab runs")
    return found


def _import(name: str, shown: str, project: Path) -> ModuleType:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else ""
        hint = ""
        if missing and missing.partition(".")[0] in _frameworks():
            hint = "; it is the framework of the component: install it, or put its directory on PYTHONPATH"
        elif missing:
            hint = f"; install it, or replace it: --stub {missing}:NAME=MODULE:CLASS"
        raise CannotLoadError(f"{blamed_line(error, project) or shown}: {in_words(error)}{hint}") from error


def _frameworks() -> set[str]:
    """Return the top packages of the frameworks that the lab runs."""
    roles = (role for dialect in load() if dialect.language == "python" for role in dialect.roles)
    return {path.partition(".")[0] for role in roles for path in role.classes}


def blamed_line(error: BaseException, project: Path) -> str:
    """The innermost line of the project in a traceback, `bolts/count.py:12`; '' if there is none."""
    top = project.resolve()
    if isinstance(error, SyntaxError) and error.filename:
        frames = [(error.filename, error.lineno or 0)]
    elif isinstance(error, ReportedError):
        frames = [(path, int(line)) for path, line in _FRAME.findall(str(error))]
    else:
        frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    for path, line in reversed(frames):
        place = Path(path)
        if place.is_absolute() and place.is_relative_to(top):
            return f"{place.relative_to(top)}:{line}"
    return ""


def in_words(error: BaseException) -> str:
    """`ModuleNotFoundError: No module named 'redis'`, on one line; without the ids in Storm's own messages."""
    if isinstance(error, ReportedError):
        *_, after = _FRAME.split(str(error))
        return next((line for line in after.splitlines()[1:] if line[:1].strip()), "an exception")
    if isinstance(error, ShellError):
        return " ".join(_DELIVERY.sub("...", error.message or error.kind).split())
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")


def _hold_scripts(judged: Judged, stack: ExitStack) -> None:
    """Keep scripts from starting their component while they are imported."""
    used = {facts.dialect for facts in judged.facts.values()}
    roles = (role for dialect in load() if dialect.name in used for role in dialect.roles)
    for path in {path for role in roles for path in role.classes}:
        module, _, name = path.rpartition(".")
        try:
            cls = vars(import_module(module)).get(name)
        except ImportError:
            continue  # a module of another version
        if isinstance(cls, type) and "run" in vars(cls):
            stack.callback(setattr, cls, "run", vars(cls)["run"])
            cls.run = lambda *_args, **_kwargs: None  # type: ignore[attr-defined]  # it has one


def _install(stub: Stub) -> Iterable[tuple[ModuleType, str, Any]]:
    """Put a stub into its module, which is created if it does not exist; return what undoes it."""
    place = f"--stub {stub.module}:{stub.name}"
    try:
        new = getattr(import_module(stub.new_module), stub.new_name)
    except (Exception, SystemExit) as error:
        raise CannotLoadError(f"{place}: {stub.new_module}:{stub.new_name}: {in_words(error)}") from error
    try:
        module = import_module(stub.module)
    except (Exception, SystemExit):  # noqa: BLE001 - the service is not installed here: that is what the stub is for
        module = _empty(stub.module)
    old = vars(module).get(stub.name)
    setattr(module, stub.name, new)
    return [(module, stub.name, old)]


def _empty(name: str) -> ModuleType:
    """Create a module and the packages that it is in."""
    parent, _, last = name.rpartition(".")
    module = sys.modules.get(name)
    if module is None:
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = []
    if parent:
        setattr(_empty(parent), last, module)
    return module


def _and_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
