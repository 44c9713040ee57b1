"""Call sites: the lines of the author that call the framework.

The key of a site is `id(code) << 20 | f_lasti`, an integer that a frame yields cheaply. The code object is
kept, so that its id stays unique; lines are decoded on demand. (A code object as key is
hashed bytecode by bytecode, and `f_lineno` walks the line table: both cost microseconds.)

A site has a number: 0 is "unknown", and a frame of the framework has 0 as well
while the stack is walked, so that the walk goes on to the author. Only functions that complete tuples
by themselves (`Wire.completes`) are sites: "auto ack by Bolt._run".
"""

import sys
from collections.abc import Iterable
from threading import Lock
from types import CodeType, FrameType
from typing import Any, cast

from ackdoctor.model.trace import CallSite

__all__ = ["NOWHERE", "CallPath", "Sites", "is_mock_frame"]

NOWHERE = 0
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
        return NOWHERE

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
        return NOWHERE

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
                self._numbers[key] = NOWHERE
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
