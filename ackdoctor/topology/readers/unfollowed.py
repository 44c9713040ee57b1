"""What a run does not execute although it may wire a topology: it is said as a gap, so that no guarantee rests on it."""

from collections.abc import Collection, Iterator

from ackdoctor.flow.expressions import last_name
from ackdoctor.model.cfg import Call
from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology.interpreter import Run
from ackdoctor.topology.objects import FOREVER, Data, Invocation, Obj, root

_FINISHED = ("create", "build")  # what these return is not wired any further
_ONLY_READS = (
    "print",
    "log",
    "info",
    "debug",
    "warn",
    "error",
    "trace",
    "assert",
    "verify",
    "equals",
    "when",
)


def unfollowed(run: Run, builder: Obj, names: Collection[str], before: int = FOREVER) -> tuple[Gap, ...]:
    """Return what may add components to a builder before a call, and was not executed.

    `names` are the methods that wire.
    """
    found = [*_cut(run, names), *_given_away(run, builder, before), *_closures(run, names)]
    return tuple(dict.fromkeys(found))


def _cut(run: Run, names: Collection[str]) -> Iterator[Gap]:
    for part in run.cut:
        if any(call.name in names and part.first <= call.order < part.last for call in run.calls):
            yield Gap(f"{part.why} may wire more components: they are not followed", part.place)


def _given_away(run: Run, builder: Obj, before: int) -> Iterator[Gap]:
    """Calls of code outside the run that get the builder, or what it returned before it was finished."""
    for call in run.calls:
        if (
            call.order < before
            and any(_is_open(arg, builder) for arg in (*call.args, *call.keywords.values()))
            and not _is_followed(call, builder)
        ):
            yield Gap(f"`{call.name}` may wire more components: its code is not in the run", call.place)


def _is_open(data: Data, builder: Obj) -> bool:
    """Whether calls on an argument may wire: it is the builder, or a part of it such as a stream."""
    if not isinstance(data, Obj) or root(data) is not builder:
        return False
    return data is builder or (data.made is not None and not data.made.name.startswith(_FINISHED))


def _is_followed(call: Invocation, builder: Obj) -> bool:
    result, receiver = call.result, call.receiver
    return (
        call.inlined
        or call.kind != "call"
        or call.name.startswith(_ONLY_READS)
        or (isinstance(result, Obj) and result.cls is not None)  # a class of the project
        or (receiver is not None and (receiver.content is not None or root(receiver) is builder))
    )


def _closures(run: Run, names: Collection[str]) -> Iterator[Gap]:
    """Closures that wire, and that only code outside the run may call."""
    for function in run.executed:
        for closure in function.closures.values():
            if closure not in run.executed:
                yield from (
                    Gap(
                        f"`{last_name(step.op.func)}` is in a function that other code calls",
                        Place(closure.path, step.span.line),
                    )
                    for step in closure.cfg.steps
                    if isinstance(step.op, Call) and last_name(step.op.func) in names
                )
