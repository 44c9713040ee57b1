"""Call sites: the lines of the author that call the framework.

The key of a site is `id(code) << 20 | f_lasti`, an integer that a frame yields cheaply. The code object is
kept, so that its id stays unique; lines are decoded on demand. (A code object as key is
hashed bytecode by bytecode, and `f_lineno` walks the line table: both cost microseconds.)

A site has a number: 0 is "unknown", and a frame of the framework has 0 as well
while the stack is walked, so that the walk goes on to the author. Only functions that complete tuples
by themselves (`Wire.completes`) are sites: "auto ack by Bolt._run".
"""

import ast
import dis
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from types import CodeType, FrameType
from typing import Any, cast

from ackdoctor.model.source import NOWHERE, Site, Span
from ackdoctor.model.trace import CallSite, TracedComponent

UNKNOWN = 0
_OWN = __name__.partition(".")[0]  # the frames of our wrappers are no sites
_MOCKS = ("unittest.mock", "mock", "pytest_mock")  # a spy calls the function that it replaces through these
_getframe = sys._getframe  # noqa: SLF001 - the only way to a caller


class CallPath:
    """How the author's last call reached a wrapper: a cache of one stack.

    `last` is the depth of the outermost frame of the framework above the wrapper, its code, the author's code that
    called it, and the site of each instruction in that code.
    """

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: tuple[int, CodeType | None, CodeType | None, dict[int, int]] = (0, None, None, {})


class Sites:
    """Every call site seen so far. Thread-safe."""

    __slots__ = ("_completes", "_kept", "_known", "_lock", "_modules", "_named", "_numbers", "_spots")

    def __init__(self, modules: Iterable[str] = (), completes: Iterable[str] = ()) -> None:
        self._numbers: dict[int, int] = {}
        self._spots: list[tuple[CodeType, int, str, bool] | None] = [None]
        self._kept: list[
            CodeType
        ] = []  # the framework's code objects, kept alive so that their ids stay unique
        self._known: dict[int, CallSite] = {}
        self._named: dict[CallSite, int] = {}
        self._modules = {_OWN, *_MOCKS, *modules}
        self._completes = set(completes)
        self._lock = Lock()

    def foreign(self, modules: Iterable[str], completes: Iterable[str] = ()) -> None:
        """Add modules (and packages) of a framework, and its functions that complete tuples themselves."""
        self._modules.update(modules)
        self._completes.update(completes)

    def here(self, depth: int = 1) -> int:
        """The site of the author's call that led here; skips `depth` frames."""
        frame: FrameType | None = _getframe(depth + 1)
        get = self._numbers.get
        while frame is not None:
            number = get(id(frame.f_code) << 20 | frame.f_lasti)
            if number is None:
                number = self._number(frame)
            if number:
                return number
            frame = frame.f_back
        return UNKNOWN

    def along(self, path: CallPath) -> int:
        """The site of the author's call, asked by a listener that a wrapper has called.

        `here` looks at every frame; this looks at two, if the outermost frame of the framework runs the same code at
        the same depth as the last time. At level `trace` that saves a fifth of the framework's own time.
        """
        depth, code, home, numbers = path.last
        try:
            frame = _getframe(depth + 1)
            if frame.f_code is code:
                author: Any = frame.f_back
                if author.f_code is home:
                    return numbers[author.f_lasti]
        except (ValueError, AttributeError, KeyError):  # the stack is not that deep, or it is another call
            pass
        return self._find(path)

    def _find(self, path: CallPath) -> int:
        """Walk the stack, and remember what `along` may skip the next time."""
        depth, inner, frame = 0, None, cast("FrameType | None", _getframe(3))
        while frame is not None:
            number = self._numbers.get(id(frame.f_code) << 20 | frame.f_lasti)
            if number is None:
                number = self._number(frame)
            if number:
                numbers = path.last[3] if path.last[:3] == (depth, inner, frame.f_code) else {}
                numbers[frame.f_lasti] = number
                path.last = (depth, inner, frame.f_code, numbers)
                return number
            depth, inner, frame = depth + 1, frame.f_code, frame.f_back
        return UNKNOWN

    def named(self, site: CallSite) -> int:
        """The number of a site from a stored trace."""
        with self._lock:
            number = self._named.get(site)
            if number is None:
                number = self._named[site] = len(self._spots)
                self._spots.append(None)
                self._known[number] = site
        return number

    def __getitem__(self, number: int) -> CallSite | None:
        """The site of a number; None for 0."""
        site = self._known.get(number)
        spot = self._spots[number]
        if site is None and spot is not None:
            code, lasti, function, framework = spot
            site = CallSite(code.co_filename, _line(code, lasti), function, framework)
            self._known[number] = site
        return site

    def spot(self, number: int) -> tuple[CodeType, int] | None:
        """The code object and the offset of the call, if the site was seen in this process."""
        spot = self._spots[number]
        return None if spot is None else spot[:2]

    def __len__(self) -> int:
        return len(self._spots) - 1

    def _number(self, frame: FrameType) -> int:
        """Number a frame that is met for the first time: a new site, or 0 for the framework's own."""
        code, lasti = frame.f_code, frame.f_lasti
        module = _module(frame)
        function = _qualname(frame)
        completes = f"{module}.{function}" in self._completes
        with self._lock:
            key = id(code) << 20 | lasti
            if not completes and self._is_foreign(module):
                self._kept.append(code)
                self._numbers[key] = UNKNOWN
            elif key not in self._numbers:
                self._spots.append((code, lasti, function, completes))
                self._numbers[key] = len(self._spots) - 1
            return self._numbers[key]

    def is_foreign(self, frame: FrameType) -> bool:
        """Whether a frame belongs to the framework, to a mock, or to the tracer."""
        return self._is_foreign(_module(frame))

    def _is_foreign(self, module: str) -> bool:
        while module:
            if module in self._modules:
                return True
            module = module.rpartition(".")[0]
        return False


def is_mock_frame(frame: FrameType) -> bool:
    """Whether the frame is a mock's, which calls the function that it replaces."""
    module = _module(frame)
    return any(module == mock or module.startswith(f"{mock}.") for mock in _MOCKS)


def _module(frame: FrameType) -> str:
    """The module whose code runs; '' if unknown. The functions that `autospec` makes count as unittest.mock's."""
    names = frame.f_globals
    name: str = names.get("__name__") or ("unittest.mock" if "_checksig_" in names else "")
    return name


def _line(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return 0


def _qualname(frame: FrameType) -> str:
    code = frame.f_code
    if sys.version_info >= (3, 11):
        return code.co_qualname
    for cls in type(frame.f_locals.get("self")).__mro__:  # 3.10 knows the bare name only
        if getattr(vars(cls).get(code.co_name), "__code__", None) is code:
            return f"{cls.__qualname__}.{code.co_name}"
    return code.co_name


def called_function(code: CodeType) -> str:
    """The name of the function that the innermost frame of `code` has called."""
    frame: FrameType | None = _getframe(0)
    name = ""
    while frame is not None and frame.f_code is not code:
        name = frame.f_code.co_name
        frame = frame.f_back
    return name


# ---- which arguments a call passes ----
#
# On the wire, `emit(values)` and `emit(values, anchors=[])` are the same message; only the first is an oversight.


def passes(code: CodeType, lasti: int, name: str, position: int) -> bool:
    """Whether the call at `lasti` passes the parameter `name`, the `position`th after self. In doubt: yes."""
    before = [step for step in dis.get_instructions(code) if step.offset <= lasti]
    for index in range(len(before) - 1, -1, -1):
        step = before[index]
        if step.opname.startswith("CALL") and step.opname != "CALL_INTRINSIC_1":
            if step.opname == "CALL_FUNCTION_EX" or not isinstance(step.arg, int):
                return True
            named = _keywords(code, before, index)
            return name in named or step.arg - len(named) > position
        if step.opname not in {"CACHE", "PRECALL"}:
            return True
    return True


def _keywords(code: CodeType, before: list[dis.Instruction], index: int) -> tuple[str, ...]:
    """The keywords of a call: the constant right before it."""
    for step in reversed(before[max(0, index - 3) : index]):
        if step.opname == "KW_NAMES" or (
            step.opname == "LOAD_CONST" and before[index].opname in {"CALL_KW", "CALL_FUNCTION_KW"}
        ):
            names = step.argval
            if not isinstance(names, tuple) and step.arg is not None:  # 3.11 and 3.12 give KW_NAMES no value
                names = code.co_consts[step.arg]
            return names if isinstance(names, tuple) else ()
        if step.opname not in {"CACHE", "PRECALL"}:
            break
    return ()


# ---- places in the source ----

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Use:
    """One use of a name: a call, or a mention."""

    name: str
    called: bool
    lines: tuple[int, int]
    inside: str  # the function
    loops: bool  # inside a loop


def may_loop(module: ast.Module, line: int, function: str, *handlers: str) -> bool:
    """Whether the call in this line is in a loop, or a call that leads to it from one of the handlers is.

    In doubt, True: the function may be passed on, or called from another file.
    """
    uses = tuple(_uses(module))
    here = [use for use in uses if use.called and use.inside == function and line in use.lines]
    if not here or any(use.loops for use in here):
        return True
    waiting, visited = [function], set(handlers)
    while waiting:
        name = waiting.pop()
        if name in visited:
            continue
        visited.add(name)
        callers = [use for use in uses if use.name == name]
        if not callers or any(use.loops or not use.called for use in callers):
            return True
        waiting += [use.inside for use in callers]
    return False


def _uses(module: ast.Module) -> Iterator[_Use]:
    waiting: list[tuple[ast.AST, str, bool]] = [(module, "", False)]  # a long sum nests deeper than calls may
    while waiting:
        node, inside, loops = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = node.name
        loops = loops or isinstance(node, _LOOPS)
        called = node.func if isinstance(node, ast.Call) else None
        named = called or node
        if isinstance(named, ast.Name | ast.Attribute):
            name = named.id if isinstance(named, ast.Name) else named.attr
            lines = (named.lineno, named.end_lineno or named.lineno)
            yield _Use(name=name, called=called is not None, lines=lines, inside=inside, loops=loops)
        for child in ast.iter_child_nodes(node):
            below = ast.iter_child_nodes(child) if child is called else (child,)
            waiting += ((part, inside, loops) for part in below)


@dataclass(slots=True)
class Places:
    """Call sites as sites of a finding; `folder` is where their paths start.

    Sites without a place in the code, as in the trace of a pipe, become `nowhere`.
    """

    folder: str = field(default_factory=os.getcwd)
    nowhere: str = "<unknown>"
    _trees: dict[str, ast.Module | None] = field(default_factory=dict)

    def of(self, site: CallSite) -> Site:
        """The site of a call."""
        return self.line(site.path, site.line)

    def line(self, path: str, line: int) -> Site:
        """The text of one line; line 1 where it is not known."""
        if not path:
            return Site(self.nowhere, NOWHERE)
        number = max(1, line)
        text = linecache.getline(path, number).rstrip()
        code = text.partition("  #")[0].rstrip()
        start = len(code) - len(code.lstrip()) + 1
        return Site(self._shown(path), Span(number, start, number, max(start + 1, len(code) + 1)))

    def receipt(self, traced: TracedComponent, handler: str) -> Site:
        """The line of the handler that is handed the tuple; that of the class where the handler is inherited."""
        wanted = self._class(traced)
        for node in wanted.body if wanted is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == handler:
                return self.line(traced.path, node.lineno)
        return self.line(traced.path, traced.line)

    def may_loop(self, site: CallSite, *handlers: str) -> bool:
        """Whether the call may run in a loop while one tuple is handled."""
        tree = self._tree(site.path)
        return tree is None or may_loop(tree, site.line, site.function.rpartition(".")[2], *handlers)

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            self._trees[path] = _parse(path)
        return self._trees[path]

    def _class(self, traced: TracedComponent) -> ast.ClassDef | None:
        tree = self._tree(traced.path)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if first <= traced.line <= node.lineno:
                    return node
        return None

    def _shown(self, path: str) -> str:
        if path.startswith("<"):
            return path
        try:
            relative = os.path.relpath(path, self.folder)
        except ValueError:  # another drive
            return path
        inside = relative != os.pardir and not relative.startswith(os.pardir + os.sep)
        return (relative if inside else path).replace(os.sep, "/")


def parsed(site: str) -> CallSite | None:
    """The call site that `str` wrote as "path:line function"; None for anything else."""
    place, _, function = site.rpartition(" ")
    path, _, line = place.rpartition(":")
    return CallSite(path, int(line), function) if path and line.isdecimal() else None


def _parse(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
