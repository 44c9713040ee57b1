"""Generate small random bolts that keep tuples in a field and complete them later, by size or on a tick.

`write_buffers(choose)` builds a source.  Each loop ends, each name is bound, and only the functions of the module
`elsewhere` and the order of tuples and ticks decide what happens.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.properties.generator import Choose

__all__ = ["write_buffers"]

_EMPTY = {"list": "[]", "deque": "deque()", "dict": "{}", "pairs": "[]", "groups": "{}"}
_MAPS = ("dict", "groups")
_APPENDS = {
    "list": (
        "self.batch.append(tup)",
        "self.batch.append(tup)",
        "self.batch += [tup]",
        "self.batch.insert(0, tup)",
    ),
    "deque": ("self.batch.append(tup)", "self.batch.append(tup)", "self.batch.appendleft(tup)"),
    "dict": ("self.batch[tup.id] = tup", "self.batch.update({tup.id: tup})"),
    "pairs": ('self.batch.append((tup, "row"))',),
    "groups": ("self.batch.setdefault(ready(), []).append(tup)",),
}
_POPS = {
    "list": ("each = self.batch.pop()", "each = self.batch.pop(0)"),
    "deque": ("each = self.batch.popleft()", "each = self.batch.pop()"),
    "dict": ("_, each = self.batch.popitem()", "each = self.batch.pop(next(iter(self.batch)))"),
    "pairs": ("each, _ = self.batch.pop()", "each, row = self.batch.pop(0)"),
    "groups": ("_, rows = self.batch.popitem()", "rows = self.batch.pop(next(iter(self.batch)))"),
}
_CATCHES = ("Exception", "Exception", "ValueError", "OSError", "(ValueError, OSError)", "Exception as error")
_EACH = "work(each.values)"


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the statements here may use: the collections, and whether a `break` or `raise` is possible."""

    taken: bool = False  # the local `batch` is bound
    depth: int = 0
    loop: bool = False
    handling: bool = False
    removable: bool = False  # the loop iterates over a copy, so that the body may change the field


class _Writer:
    def __init__(self, choose: Choose, size: int) -> None:
        self.choose = choose
        self.left = size
        self.kind = choose(("list", "list", "list", "deque", "dict", "pairs", "groups"))
        self.helpers: dict[str, list[str]] = {}

    # ---- the source ----

    def source(self) -> str:
        process = self.process()
        flush = self.flush(_Scope())
        tick = self.choose((["self.flush()"], ["self.flush()"], ["if self.batch:", "    self.flush()"], None))
        if tick is None:
            tick = self.flush(_Scope())
        lines = ["from collections import deque", "from streamparse import Bolt"]
        lines += ["from elsewhere import ready, work", "", "", "class Made(Bolt):", "    auto_ack = False"]
        lines += self.choose(([], ["    auto_fail = False"]))
        methods = {
            "initialize(self, conf, ctx)": [f"self.batch = {_EMPTY[self.kind]}"],
            "process(self, tup)": process,
            "process_tick(self, tick)": [*tick, "self.ack(tick)"],
            "flush(self)": flush,
            **self.helpers,
        }
        if all("self.flush()" not in line for line in (*process, *tick)):
            del methods["flush(self)"]
        text = "\n".join(line for body in methods.values() for line in body)
        for head, body in methods.items():
            if head.startswith("_") and f"self.{head.partition('(')[0]}(" not in text:
                continue
            lines += ["", f"    def {head}:", *_indented(_indented(body))]
        return "\n".join(lines) + "\n"

    def process(self) -> list[str]:
        lines: list[str] = []
        if self.choose((False, False, False, True)):
            first = self.choose(
                ("self.ack(tup)", "self.ack(tup)", "self.fail(tup)", self.helper("done", "tup"))
            )
            lines += [
                "if ready():",
                *_indented([first, *self.choose((["return"], ["return"], ["return"], []))]),
            ]
        append = [self.choose(_APPENDS[self.kind])]
        after = self.choose((*((),) * 8, ("work(tup.values)",), ("self.ack(tup)",)))
        lines += [*append, *after]
        if self.choose((True, True, False)):
            lines += ["if len(self.batch) >= 2:"]
            body = ["self.flush()"] if self.choose((True, True, False)) else self.flush(_Scope(depth=1))
            lines += _indented(body)
        return lines

    def flush(self, scope: _Scope) -> list[str]:
        """A flush: perhaps a guard and a swap, a few statements, and mostly a way to empty the field."""
        lines: list[str] = []
        if scope.depth == 0 and self.choose((False, False, True)):
            lines += [
                self.choose(("if not self.batch:", "if len(self.batch) == 0:", "if ready():")),
                "    return",
            ]
        self.left = max(self.left, 3)
        swapped = self.choose((False, False, True))
        if swapped:
            lines += self.swap()
            scope = replace(scope, taken=True)
        lines += self.block(scope)
        if not swapped and self.choose((True, True, True, False)):
            lines += self.empty()
        return lines

    # ---- statements of a flush ----

    def block(self, scope: _Scope) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choose((1, 1, 2)) if scope.depth else self.choose((1, 2, 2, 3))):
            self.left -= 1
            kinds = _FLUSH if self.left > 0 and scope.depth < 3 else _SIMPLE
            lines += self.choose(kinds)(self, scope)
        return lines

    def swap(self) -> list[str]:
        new = _EMPTY[self.kind]
        options = [
            [f"batch, self.batch = self.batch, {new}"],
            ["batch = self.batch", f"self.batch = {new}"],
            [f"batch = {self.copied()}", *self.empty()],
        ]
        return self.choose(options)

    def copied(self) -> str:
        return self.choose(
            {
                "list": ("list(self.batch)", "self.batch[:]", "self.batch.copy()"),
                "deque": ("list(self.batch)", "self.batch.copy()"),
                "dict": ("dict(self.batch)", "self.batch.copy()"),
                "pairs": ("list(self.batch)", "self.batch[:]"),
                "groups": ("dict(self.batch)", "self.batch.copy()"),
            }[self.kind]
        )

    def empty(self) -> list[str]:
        return [self.choose((f"self.batch = {_EMPTY[self.kind]}", "self.batch.clear()"))]

    def each(self, scope: _Scope) -> list[str]:
        """A loop over the tuples."""
        name = "batch" if scope.taken and self.choose((True, True, True, False)) else "self.batch"
        values = f"{name}.values()" if self.kind in _MAPS else name
        is_copy = name == "batch" or self.choose((False, False, True))
        element = {"pairs": "each, _", "groups": "rows"}.get(self.kind, "each")
        heads = [f"for {element} in {values}:"]
        if is_copy and name != "batch":
            heads = [f"for {element} in list({values}):", f"for {element} in sorted({values}, key=id):"]
        elif self.kind in _MAPS:
            heads += [f"for key, {element} in {name}.items():"]
        elif self.kind == "pairs":
            heads += [f"for each, row in reversed({name}):"]
        else:
            heads += [f"for each in reversed({name}):", f"for place, each in enumerate({name}):"]
        inner = replace(
            scope,
            depth=scope.depth + 1,
            loop=True,
            removable=is_copy and name != "batch" and self.kind in ("list", "dict"),
        )
        lines = [
            heads[0] if self.choose((True, True, False)) else self.choose(heads),
            *_indented(self.element(inner)),
        ]
        if self.choose((*(False,) * 7, True)):
            lines += ["else:", *_indented(self.empty())]
        return lines

    def element(self, scope: _Scope) -> list[str]:
        """What a loop does with each element: a tuple, or a list of tuples."""
        if self.kind != "groups":
            return self.body(scope)
        loop = ["for each in rows:", *_indented(self.body(scope))]
        if self.choose((True, True, False)):
            return loop
        caught = ["for each in rows:", *_indented(self.complete(scope)), *self.choose(([], ["raise"]))]
        return ["try:", *_indented(loop), f"except {self.choose(_CATCHES)}:", *_indented(caught)]

    def drain(self, scope: _Scope) -> list[str]:
        """A loop that removes the tuples one by one."""
        inner = replace(scope, depth=scope.depth + 1, loop=True, removable=False)
        head = self.choose(("while self.batch:", "while self.batch:", "while len(self.batch) > 0:"))
        return [head, *_indented([self.choose(_POPS[self.kind]), *self.element(inner)])]

    def whole(self, _scope: _Scope) -> list[str]:
        """Work on all tuples at once."""
        name = "batch" if _scope.taken else "self.batch"
        values = f"{name}.values()" if self.kind in _MAPS else name
        loops = {"pairs": f"each, _ in {values}", "groups": f"rows in {values} for each in rows"}
        return [
            self.choose((f"work([each.values for {loops.get(self.kind, f'each in {values}')}])", "work(1)"))
        ]

    def through_helper(self, scope: _Scope) -> list[str]:
        """A helper that completes the tuples of a collection."""
        name = "batch" if scope.taken else "self.batch"
        values = f"{name}.values()" if self.kind in _MAPS else name
        verb = self.choose(("ack", "ack", "fail"))
        body = {
            "pairs": ["for each, _ in tups:", f"    self.{verb}(each)"],
            "groups": ["for rows in tups:", "    for each in rows:", f"        self.{verb}(each)"],
        }.get(self.kind, ["for each in tups:", f"    self.{verb}(each)"])
        self.helpers.setdefault(f"_{verb}_all(self, tups)", body)
        return [f"self._{verb}_all({values})"]

    def attempt(self, scope: _Scope) -> list[str]:
        inner = replace(scope, depth=scope.depth + 1)
        kinds = (_Writer.each, _Writer.each, _Writer.drain, _Writer.whole, _Writer.whole)
        lines = ["try:", *_indented(self.choose(kinds)(self, inner))]
        if self.choose((False, True)):
            lines += _indented(self.block(inner))
        lines += [f"except {self.choose(_CATCHES)}:"]
        lines += _indented(self.recover(replace(inner, handling=True)))
        if self.choose((False, False, True)):
            lines += ["else:", *_indented(self.block(inner))]
        if self.choose((*(False,) * 4, True)):
            lines += ["finally:", *_indented(self.empty())]
        return lines

    def recover(self, scope: _Scope) -> list[str]:
        end = self.choose(([], [], ["return"], ["raise"]))
        kinds = [_Writer.each, _Writer.each, _Writer.through_helper, _Writer.no_action, _Writer.drain]
        if scope.taken:
            kinds += [_Writer.put_back, _Writer.put_back]
        return [*self.choose(kinds)(self, scope), *end]

    def put_back(self, scope: _Scope) -> list[str]:
        if not scope.taken:
            return ["pass"]
        match self.kind:
            case "list" | "pairs":
                return [
                    self.choose(
                        ("self.batch.extend(batch)", "self.batch = batch + self.batch", "self.batch += batch")
                    )
                ]
            case "deque":
                return [self.choose(("self.batch.extend(batch)", "self.batch.extendleft(batch)"))]
            case _:
                return ["self.batch.update(batch)"]

    def no_action(self, _scope: _Scope) -> list[str]:
        return ["pass"]

    def branch(self, scope: _Scope) -> list[str]:
        inner = replace(scope, depth=scope.depth + 1)
        lines = [f"if {self.choose(('ready()', 'ready()', 'self.batch', 'len(self.batch) > 0'))}:"]
        lines += _indented(self.block(inner))
        if self.choose((False, False, True)):
            lines += ["else:", *_indented(self.block(inner))]
        return lines

    def leave(self, _scope: _Scope) -> list[str]:
        return ["if ready():", f"    {self.choose(('return', 'return', 'raise ValueError'))}"]

    def emptied(self, _scope: _Scope) -> list[str]:
        return self.empty()

    # ---- statements about one tuple ----

    def body(self, scope: _Scope) -> list[str]:
        """What a loop does with each tuple."""
        complete = self.complete(scope)
        options: list[list[str]] = [
            complete,
            complete,
            [_EACH, *complete],
            [_EACH, *complete],
            [*complete, _EACH],
            ["if ready():", *_indented(complete)],
            ["if ready():", *_indented(complete), "else:", *_indented(self.complete(scope))],
            ["if ready():", *_indented(self.step(scope)), *complete],
            [*self.guarded(scope)],
            [*self.guarded(scope)],
            [*complete, *self.complete(scope)],
            ["self.emit([1], anchors=[each])", *complete],
        ]
        lines = self.choose(options)
        if scope.removable and self.choose((False, True)):
            lines = [*lines, "if ready():", f"    {self.removal()}"]
        return lines

    def removal(self) -> str:
        return "del self.batch[each.id]" if self.kind == "dict" else "self.batch.remove(each)"

    def complete(self, _scope: _Scope) -> list[str]:
        call = self.choose(("self.ack(each)", "self.ack(each)", "self.ack(each)", "self.fail(each)", ""))
        return [call or self.helper(self.choose(("done", "done", "tried", "either")), "each")]

    def helper(self, name: str, tup: str) -> str:
        bodies = {
            "done": ["self.ack(tup)"],
            "tried": [
                "try:",
                "    work(tup.values)",
                "    self.ack(tup)",
                "except ValueError:",
                "    self.fail(tup)",
            ],
            "either": ["if ready():", "    self.ack(tup)", "else:", "    self.fail(tup)"],
        }
        self.helpers.setdefault(f"_{name}(self, tup)", bodies[name])
        return f"self._{name}({tup})"

    def step(self, scope: _Scope) -> list[str]:
        """A way to end the iteration, with or without a completion."""
        way = self.choose(("continue", "continue", "break", "return", "raise" if scope.handling else "pass"))
        return [*self.choose(([], self.complete(scope))), way]

    def guarded(self, scope: _Scope) -> list[str]:
        """Work that is caught for each tuple."""
        complete = self.complete(scope)
        parts: tuple[tuple[list[str], list[str]], ...] = ((complete, []), (complete, []), ([], complete))
        within, otherwise = self.choose(parts)
        lines = ["try:", f"    {_EACH}", *_indented(within), f"except {self.choose(_CATCHES)}:"]
        handling = replace(scope, handling=True)
        lines += _indented(
            self.choose((self.complete(scope), self.step(handling), self.step(handling), ["pass"]))
        )
        if bool(otherwise) and self.choose((False, True)):
            return [*lines, "else:", *_indented(otherwise)]
        return [*lines, *otherwise]


_Kind = Callable[[_Writer, _Scope], list[str]]
_SIMPLE: tuple[_Kind, ...] = (
    _Writer.each,
    _Writer.each,
    _Writer.drain,
    _Writer.whole,
    _Writer.through_helper,
    _Writer.leave,
    _Writer.emptied,
)
_FLUSH: tuple[_Kind, ...] = (
    *(_Writer.each,) * 5,
    *(_Writer.attempt,) * 5,
    *(_Writer.drain,) * 2,
    *(_Writer.whole,) * 2,
    *(_Writer.branch,) * 2,
    _Writer.through_helper,
    _Writer.leave,
    _Writer.emptied,
    _Writer.put_back,
)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def write_buffers(choose: Choose, size: int = 5) -> str:
    """Write one source; `size` bounds the number of compound statements of its flushes."""
    return _Writer(choose, size).source()
