"""Questions about a spout: what it emits, what its callbacks really do, which fields it fills and empties.

The *reach* of a method is the method and every method of the component, closure and function of its
file that it leads to.  A method is *idle* when nothing in its reach outlives the call except counters and log lines.
"""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import HARMLESS, LOGGING
from ackdoctor.model.cfg import Attr, Bind, Call, Drop, Expr, Global, Item, Name, Step, Throw, Unpack
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import EntryKind, VerbKind

__all__ = [
    "REMOVALS",
    "acts",
    "calls_of",
    "calls_super",
    "data_emits",
    "emits",
    "entry_method",
    "first",
    "has_id",
    "reach",
    "steps_of",
]

REMOVALS = frozenset(
    "pop popleft popitem remove discard clear delete delete_one delete_many hdel srem zrem lrem expire unlink "
    "invalidate poll removeIf".split()
)
_IDLE_CALLS = (
    HARMLESS
    | LOGGING
    | frozenset(
        "get keys values items startswith endswith strip split join lower upper encode decode loads time now utcnow isoformat "
        "strftime round min max abs sorted list tuple dict set getattr currentframe getpid uuid4 super "
        "containsKey contains isEmpty size length equals trim substring".split()
    )
)


def entry_method(diagnosis: Diagnosis, kind: EntryKind) -> Function | None:
    """The method that the framework calls for this, if the project defines it."""
    for entry in diagnosis.role.entries:
        if entry.kind is kind:
            return diagnosis.component.method(entry.method)
    return None


def reach(diagnosis: Diagnosis, method: Function | None) -> tuple[Function, ...]:
    """A method and everything of the project that it leads to, nearest first."""
    found: list[Function] = []
    todo = [method] if method is not None else []
    while todo:
        function = todo.pop(0)
        if function in found:
            continue
        found.append(function)
        todo += function.closures.values()
        for step in function.cfg.steps:
            if isinstance(step.op, Call):
                todo += _callees(diagnosis, function, step.op)
    return tuple(found)


def _callees(diagnosis: Diagnosis, function: Function, call: Call) -> Iterator[Function]:
    for arg in call.args:
        callback = diagnosis.own_method(function, arg.value)
        if callback is not None:
            yield callback
    own = diagnosis.own_method(function, call.func)
    if own is not None:
        yield own
    elif _is_super(function, call.func):
        yield from _inherited(diagnosis, function)
    else:
        yield from (s for s in diagnosis.resolve(function, call.func) if isinstance(s, Function))


def _inherited(diagnosis: Diagnosis, function: Function) -> Iterator[Function]:
    """The next method of the same name in the resolution order."""
    found = False
    for cls in diagnosis.component.lineage:
        method = cls.methods.get(function.name)
        if found and method is not None:
            yield method
            return
        found = found or method is function


def _is_super(function: Function, func: Expr) -> bool:
    """Whether a callee is `super().name` or `Base.name` of the method's own name."""
    match func:
        case Attr(obj=Name(id=temp), name=name) if name == function.name and temp.startswith("%"):
            made = (
                step.op
                for step in function.cfg.steps
                if isinstance(step.op, Call) and step.op.result.id == temp
            )
            return any(call.func == Global("super") for call in made)
        case Attr(obj=Global() | Attr(), name=name):
            return name == function.name
        case _:
            return False


def calls_super(function: Function) -> bool:
    """Whether a method calls the one it overrides."""
    return any(isinstance(step.op, Call) and _is_super(function, step.op.func) for step in function.cfg.steps)


def steps_of(functions: tuple[Function, ...]) -> Iterator[tuple[Function, Step]]:
    """Every step of these functions."""
    for function in functions:
        for step in function.cfg.steps:
            yield function, step


# ---- emits ----


def emits(diagnosis: Diagnosis, *kinds: EntryKind) -> list[Emitted]:
    """The emits reached from these entries, each call once, in the order of the text of the first file."""
    found: dict[int, Emitted] = {}
    for _, emit in diagnosis.sightings(Emitted, *kinds):
        found.setdefault(id(emit.step), emit)
    return list(found.values())


def data_emits(diagnosis: Diagnosis) -> list[Emitted]:
    """The emits of `next_tuple` and its callbacks; where it has none, those of callbacks that `initialize` registers."""
    found = emits(diagnosis, EntryKind.NEXT)
    return found or [emit for emit in emits(diagnosis, EntryKind.INIT) if emit.deferral is not None]


def has_id(emit: Emitted) -> bool | None:
    """Whether an emit passes a message id; None where only the caller knows."""
    if emit.verb.message_id is None:
        return None
    if emit.verb.message_id in emit.args:
        value = emit.args[emit.verb.message_id]
        return getattr(value, "value", value) is not None
    return None if emit.unclear else False


def first(found: list[Emitted]) -> Emitted:
    """The emit that a reader comes to first."""
    return min(found, key=lambda emit: (emit.function.path, emit.step.span))


# ---- what a method does ----


def acts(diagnosis: Diagnosis, method: Function | None) -> list[str]:
    """What a callback does that outlives it: the names of the calls and "=" for assignments; [] for an idle one."""
    if method is None:
        return []
    return [
        word
        for function, step in steps_of(reach(diagnosis, method))
        if (word := _deed(diagnosis, function, step))
    ]


def calls_of(diagnosis: Diagnosis, method: Function | None) -> Iterator[tuple[Function, Call]]:
    """The calls in the reach of a callback that do something which outlives it."""
    for function, step in steps_of(reach(diagnosis, method)):
        if isinstance(step.op, Call) and _deed(diagnosis, function, step):
            yield function, step.op


def _deed(diagnosis: Diagnosis, function: Function, step: Step) -> str:
    """What one step does that outlives the call, or ""."""
    match step.op:
        case Throw():
            return "raise"
        case Drop(target=Item() | Attr()):
            return "del"
        case Bind(target=Item() | Attr()):
            return "="
        case Unpack(targets=targets) if any(isinstance(target, (Item, Attr)) for target in targets):
            return "="
        case Call() as call:
            return _call_deed(diagnosis, function, call)
        case _:
            return ""


def _call_deed(diagnosis: Diagnosis, function: Function, call: Call) -> str:
    if diagnosis.verb_kind(function, call) in (VerbKind.LOG, VerbKind.REPORT):
        return ""
    if any(True for _ in _callees(diagnosis, function, call)):
        return ""  # its own steps tell
    match call.func:
        case Attr(name=name) | Global(id=name) | Name(id=name):
            return "" if name in _IDLE_CALLS else name
        case _:
            return "call"
