"""Generate small random bolts that handle one tuple.

`write(choose, setting)` builds a source.  `choose` picks one of several options: hypothesis, which shrinks, or a seeded
`Random`, which is fast.  Every loop ends, every name is bound, and only the opaque functions of `elsewhere` decide what
happens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from tests.properties.bolt_settings import Setting

__all__ = ["Choose", "write"]

T = TypeVar("T")


class Choose(Protocol):
    """Pick one of several options."""

    def __call__(self, options: Sequence[T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class _Scope:
    """The names available here: of the tuple, of ack functions, of helpers and flags."""

    tup: tuple[str, ...]
    done: tuple[str, ...]  # callables that ack their argument
    helpers: tuple[str, ...]
    flags: tuple[str, ...]
    depth: int = 0
    loop: bool = False
    handling: bool = False
    inner: bool = False  # in a nested function


_CATCHES = (
    "ValueError",
    "KeyError",
    "Exception",
    "(KeyError, ValueError)",
    "",
    "Exception as error",
    "OSError",
)
_SEEN = ("find()", "find()", "None", "'x'")
_RAISES = ("raise ValueError", "raise KeyError('k')", "raise ValueError('v')")


class _Writer:
    def __init__(self, choose: Choose, setting: Setting, size: int) -> None:
        self.choose = choose
        self.setting = setting
        self.left = size
        self.names = 0

    # ---- the source ----

    def source(self) -> str:
        helpers: list[list[str]] = []
        names: tuple[str, ...] = ()
        for number in range(self.choose((0, 0, 1, 1, 2))):
            name = f"_help{number}"
            helpers.append(self.helper(name, names))
            names = (*names, name)
        left, self.left = self.left, max(self.left, 5)
        scope = _Scope(tup=("tup",), done=("self.ack",), helpers=names, flags=("done", "seen"))
        body = self.batch(scope) if self.setting.batch else self.opening() + self.block(scope)
        self.left = left
        lines = [
            f"from {self.setting.module} import {self.setting.base}",
            "from elsewhere import find, guard, keep, pick, ready, rows, work",
        ]
        lines += ["from contextlib import suppress", "", "", f"class Made({self.setting.base}):"]
        lines += [f"    {attr}" for attr in self.setting.attrs]
        for helper in helpers:
            lines += ["", *_indented(helper)]
        params = "key, tups" if self.setting.batch else "tup"
        lines += ["", f"    def {self.setting.handler}(self, {params}):", *_indented(_indented(body))]
        return "\n".join(lines) + "\n"

    def batch(self, scope: _Scope) -> list[str]:
        """One or two loops over a batch."""
        seen = self.choose(_SEEN)
        lines = [self.choose(("done = False", "done = ready()")), f"seen = {seen}", "kind = pick()"]
        if self.choose((False, False, True)):
            lines += [f"if {self.condition(replace(scope, helpers=()))}:", "    return"]
        for _ in range(self.choose((1, 1, 2))):
            opening = self.choose(([], [], ["kind = tup.values[0]"], ["done = False"]))
            body = [*opening, *self.block(replace(scope, depth=1, loop=True))]
            loop = ["for tup in tups:", *_indented(body)]
            if self.choose((False, False, False, True)):
                loop = [f"if {self.condition(replace(scope, helpers=()))}:", *_indented(loop)]
            lines += loop
        return lines

    def opening(self) -> list[str]:
        lines = [self.choose(("done = False", "done = ready()")), f"seen = {self.choose(_SEEN)}"]
        lines.append("kind = tup.values[0]")
        return lines

    def helper(self, name: str, others: tuple[str, ...]) -> list[str]:
        before, self.left = self.left, min(self.left, 4)
        scope = _Scope(tup=("tup",), done=("self.ack",), helpers=others, flags=("done", "seen"), depth=1)
        body = [
            f"done = {self.choose(('ok', 'False'))}",
            f"seen = {self.choose(_SEEN)}",
            "kind = pick()",
            *self.block(scope),
        ]
        self.left = before
        return [f"def {name}(self, tup, ok=False):", *_indented(body)]

    # ---- statements ----

    def block(self, scope: _Scope) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choose((1, 1, 2, 2, 3)) if scope.depth else self.choose((2, 3, 4))):
            written, scope, ends = self.statement(scope)
            lines += written
            if ends:
                break
        return lines or ["pass"]

    def statement(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        self.left -= 1
        kind = self.choose(_ANY if self.left > 0 and scope.depth < 4 else _SIMPLE)
        return kind(self, scope)

    def complete(self, scope: _Scope) -> str:
        tup = (
            self.choose((*scope.tup, *scope.tup, f"{scope.tup[0]}.id"))
            if self.setting.by_id
            else self.choose(scope.tup)
        )
        return f"{self.choose((*scope.done, *scope.done, 'self.fail'))}({tup})"

    def emit(self, scope: _Scope) -> str:
        form = self.choose((*self.setting.anchored, *self.setting.anchored, *self.setting.unanchored))
        return f"self.{form.format(tup=self.choose(scope.tup))}"

    def action(self, scope: _Scope) -> str:
        """A call as an expression."""
        kinds = ["complete"] * 5 + ["emit", "work"]
        if scope.helpers:
            kinds += ["help", "help"]
        match self.choose(kinds):
            case "complete":
                return self.complete(scope)
            case "emit":
                return self.emit(scope)
            case "help":
                return self.help(scope)
            case _:
                return f"work({scope.tup[0]}.values)"

    def help(self, scope: _Scope) -> str:
        extra = self.choose(("", "", ", True", ", ok=True", f", {scope.flags[0]}"))
        return f"self.{self.choose(scope.helpers)}({self.choose(scope.tup)}{extra})"

    def condition(self, scope: _Scope) -> str:
        flag = self.choose(scope.flags)
        options: list[str] = [
            "ready()",
            "ready()",
            flag,
            flag,
            f"not {flag}",
            'kind == "a"',
            'kind != "a"',
            'kind == "b"',
        ]
        options += [
            "self.mode",
            f"{flag} and ready()",
            f"{flag} or ready()",
            "seen is None",
            "seen is not None",
            f"not ({flag} or ready())",
        ]
        options += [
            "(done := ready())" if flag == "done" else "(seen := find())",
            'kind in ("a", "b")',
            f"seen is not None and {flag}",
        ]
        if scope.helpers:
            options.append(self.help(scope))
        return self.choose(options)

    def deeper(self, scope: _Scope, *, loop: bool | None = None, handling: bool = False) -> list[str]:
        inner = replace(
            scope,
            depth=scope.depth + 1,
            loop=scope.loop if loop is None else loop,
            handling=scope.handling or handling,
        )
        return _indented(self.block(inner))

    # each statement: its lines, the scope after it, whether control ends there

    def plain(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        return [self.action(scope)], scope, False

    def finish(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        return [self.complete(scope)], scope, False

    def hold(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        call = self.choose(("keep({})", "self.pending.append({})", "self.logger.info({})"))
        return [call.format(self.choose(scope.tup))], scope, False

    def flag(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        flag = self.choose(scope.flags)
        values = _SEEN if flag == "seen" else ("True", "True", "False", "ready()", "self.mode")
        return [f"{flag} = {self.choose(values)}"], scope, False

    def alias(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        self.names += 1
        what = self.choose(("tup", "ack", "lambda", "closure"))
        if what == "tup":
            name = f"t{self.names}"
            return [f"{name} = {scope.tup[0]}"], replace(scope, tup=(*scope.tup, name)), False
        name = f"a{self.names}"
        after = replace(scope, done=(*scope.done, name))
        if what == "ack":
            return [f"{name} = self.{self.choose(('ack', 'fail'))}"], after, False
        if what == "lambda":
            return [f"{name} = lambda it: self.ack(it)"], after, False
        inner = replace(
            scope,
            tup=("it",),
            depth=scope.depth + 1,
            loop=False,
            handling=False,
            inner=True,
            flags=("done", "seen"),
        )
        body = ["done = True", "kind = pick()", f"seen = {self.choose(_SEEN)}", *self.block(inner)]
        return (
            [f"def {name}(it):", *_indented(body)],
            replace(after, done=scope.done, helpers=scope.helpers),
            False,
        )

    def short(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        form = self.choose(
            (
                "{c} and {x}",
                "{c} or {x}",
                "{x} if {c} else {y}",
                "[{x} for _ in rows()]",
                "any({x} for _ in rows())",
            )
        )
        if "rows" in form:
            return [form.format(x=self.complete(scope))], scope, False
        return (
            [form.format(c=self.condition(scope), x=self.action(scope), y=self.action(scope))],
            scope,
            False,
        )

    def branch(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        lines = [f"if {self.condition(scope)}:", *self.deeper(scope)]
        for _ in range(self.choose((0, 0, 0, 1))):
            lines += [f"elif {self.condition(scope)}:", *self.deeper(scope)]
        if self.choose((False, True)):
            lines += ["else:", *self.deeper(scope)]
        return lines, scope, False

    def loop(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        head = self.choose(
            (
                "for _ in rows():",
                "for _ in rows():",
                "while ready():",
                "while True:",
                "while not done and ready():",
            )
        )
        if "done" in head:
            head = head.replace("done", scope.flags[0])
        body = self.deeper(scope, loop=True)
        if head == "while True:":
            stop = self.choose(("break", "break", "return"))
            body = ["    if ready():", f"        {stop}", *body]
        lines = [head, *body]
        if head != "while True:" and self.choose((False, False, True)):
            lines += ["else:", *self.deeper(scope)]
        return lines, scope, False

    def attempt(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        lines = ["try:", *self.deeper(replace(scope, handling=False))]
        handlers = self.choose((0, 1, 1, 1, 2))
        for number in range(handlers):
            types = self.choose(_CATCHES if number == handlers - 1 else ("ValueError", "KeyError", "OSError"))
            lines += [f"except {types}:".replace(" :", ":"), *self.deeper(scope, handling=True)]
        if handlers and self.choose((False, False, True)):
            lines += ["else:", *self.deeper(scope)]
        if not handlers or self.choose((False, False, True)):
            lines += ["finally:", *self.deeper(scope, loop=False)]
        return lines, scope, False

    def within(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        head = self.choose(
            ("with guard():", "with suppress(ValueError):", "with suppress(Exception):", "with guard() as g:")
        )
        return [head, *self.deeper(scope)], scope, False

    def cases(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        lines = ["match kind:", '    case "a":', *_indented(self.deeper(scope))]
        if self.choose((False, True)):
            lines += ['    case "b" if ready():', *_indented(self.deeper(scope))]
        if self.choose((False, True)):
            lines += ["    case _:", *_indented(self.deeper(scope))]
        return lines, scope, False

    def leave(self, scope: _Scope) -> tuple[list[str], _Scope, bool]:
        options = [
            "return",
            "return",
            f"return {self.complete(scope)}",
            f"return {self.help(scope)}" if scope.helpers else "return ready()",
            "return True",
            "return done" if "done" in scope.flags else "return",
        ]
        options.append(self.choose(_RAISES))
        if scope.loop:
            options += ["break", "continue", "break", "continue"]
        if scope.handling:
            options.append("raise")
        return [self.choose(options)], scope, True


def _guarded(writer: _Writer, scope: _Scope) -> tuple[list[str], _Scope, bool]:
    lines, _, _ = writer.leave(scope)
    return [f"if {writer.condition(scope)}:", *_indented(lines)], scope, False


Kind = Callable[[_Writer, _Scope], tuple[list[str], _Scope, bool]]
_SIMPLE: tuple[Kind, ...] = (
    _Writer.finish,
    _Writer.finish,
    _Writer.plain,
    _Writer.plain,
    _Writer.leave,
    _Writer.flag,
    _Writer.hold,
    _Writer.short,
)
_ANY: tuple[Kind, ...] = (
    *(_Writer.finish,) * 3,
    *(_Writer.plain,) * 3,
    *(_Writer.branch,) * 4,
    *(_Writer.attempt,) * 3,
    *(_Writer.loop,) * 2,
    _guarded,
    _guarded,
    _Writer.flag,
    _Writer.alias,
    _Writer.short,
    _Writer.within,
    _Writer.cases,
    _Writer.hold,
    _Writer.leave,
)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]


def write(choose: Choose, setting: Setting, size: int = 9) -> str:
    """Write one source; `size` bounds the number of compound statements."""
    return _Writer(choose, setting, size).source()
