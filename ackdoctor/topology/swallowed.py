"""Exception handlers and callbacks after which a failure is forgotten, and that lint leaves alone.

Lint reports a handler only if the hidden work certainly is the tuple's.  For the guarantee it is enough that the handler
is broad, or catches errors of a client, that it only logs, and that the tuple is acked: a record is dropped.

A client reports the failure of asynchronous work to a callback.  If the callback acks the tuple then, the failure is lost.
"""

import re
from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import (
    canonical_form,
    derived_names,
    handler_steps,
    mentions_any,
    raising_steps,
    reachable,
    tuple_names,
)
from ackdoctor.checks.facts.fields import uses_resource
from ackdoctor.checks.facts.handlers import is_broad, is_of_client
from ackdoctor.checks.hidden_failures import hides_failure
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Flow
from ackdoctor.flow.expressions import last_name
from ackdoctor.libraries.vocabulary import LOGGING, PURE_CALLS, STOPS
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    Call,
    Catch,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Instr,
    Literal,
    Next,
    Not,
    Param,
    Return,
    Test,
)
from ackdoctor.model.dialect import EntryKind, VerbKind
from ackdoctor.model.protocol import Op
from ackdoctor.model.topology import Fault, Place
from ackdoctor.rulebook import SWALLOWED_FAILURE

_CODE = SWALLOWED_FAILURE
_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)
_MESSAGE = "this handler hides a failure, and the tuple is acked: its record is dropped"
_CALLBACK = "this callback hears of a failure and acks the tuple: its record is dropped"
_FAILED = frozenset("failed failure error errback onfailure onthrowable onerror onexception".split())
_FAILED_RUNNERS = frozenset("exceptionally addErrback add_errback onFailure doOnError".split())
_FAILURE_AT = {"whenComplete": 1, "handle": 1, "send": 1, "add_done_callback": 0, "addBoth": 0}
_THROWABLE = re.compile(r"(?:.*\.)?\w*(?:Throwable|Exception|Error)")


def likely_swallowed(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each exception handler that drops a tuple."""
    acks = [
        done for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH) if done.op is Op.ACK
    ]
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        for function in context.functions_of(flow):
            for index, step in enumerate(function.cfg.steps):
                if isinstance(step.op, Catch) and _swallows(context, flow, function, index, acks):
                    yield Fault(
                        _CODE, must=False, place=Place(function.path, step.span.line), message=_MESSAGE
                    )


def _swallows(
    context: RuleContext, flow: Flow, function: Function, index: int, acks: list[Completed]
) -> bool:
    op = function.cfg.steps[index].op
    if not isinstance(op, Catch) or {name.rpartition(".")[2] for name in op.types} & STOPS:
        return False
    if not (is_broad(op) or is_of_client(context, function, op)):
        return False
    handling = handler_steps(function, index)
    if not all(_ignores(context, flow, function, each) for each in handling):
        return False
    steps, data = function.cfg.steps, tuple_names(flow, function)
    tried = raising_steps(function, index)
    entered = [edge.target for edge in steps[index].edges if edge.kind is EdgeKind.TRUE]
    after = reachable(function, entered) - tried
    if any(_is_work(context, function, steps[each].op, data) for each in after):
        return False  # it goes on with the record
    worked = any(_is_work(context, function, steps[each].op, data) for each in tried)
    return worked and _is_acked_after(context, function, after, acks)


def _ignores(context: RuleContext, flow: Flow, function: Function, index: int) -> bool:
    """Whether a step of the handler does nothing about the failure."""
    match function.cfg.steps[index].op:
        case Next():
            return False
        case Return(value=value):
            return value is None or function is flow.function
        case _:
            return hides_failure(context, function, index)


def _is_work(context: RuleContext, function: Function, op: Instr, data: frozenset[str]) -> bool:
    """Whether a step emits, uses a resource or passes data of the tuple on."""
    if not isinstance(op, Call) or last_name(op.func) in LOGGING | PURE_CALLS:
        return False
    kind = context.verb_kind(function, op)
    if kind is not None:
        return kind in _EMITS
    given = any(mentions_any(arg.value, data) for arg in op.args)
    return given or uses_resource(context, function, op)


def _is_acked_after(context: RuleContext, function: Function, after: set[int], acks: list[Completed]) -> bool:
    """Whether the tuple is acked behind the handler, or the bolt acks nothing anyway and only drops it."""
    if context.component.auto_ack:
        return True
    own = {function.cfg.steps.index(done.step) for done in acks if done.function is function}
    if own:
        return bool(own & after)
    return EXIT in after and (bool(acks) or context.component.auto_ack is False)


# ---- callbacks ----


def acked_failures(context: RuleContext) -> Iterator[Fault]:
    """Yield a fault for each ack in a callback that runs although the work has failed."""
    for _, done in context.events(Completed, EntryKind.DATA, EntryKind.BATCH):
        if done.op is Op.ACK and done.deferral is not None:
            function, runner = done.function, done.deferral.runner
            at = function.cfg.steps.index(done.step)
            if any(at in steps for steps in _after_failure(context, function, runner)):
                place = Place(function.path, done.step.span.line)
                yield Fault(_CODE, must=True, place=place, message=_CALLBACK)


def _after_failure(context: RuleContext, function: Function, runner: str) -> Iterator[set[int]]:
    """Yield the steps of a callback that run after a failure, if none of them reacts to it."""
    every = reachable(function, [ENTRY])
    if runner in _FAILED_RUNNERS or function.name.replace("_", "").lower() in _FAILED:
        starts = [(every, every)]
    else:
        starts = list(_sides_of_failure(function, _failure(function, runner), every))
    for steps, only in starts:
        if all(_forgets(context, function, index) for index in only):
            yield steps


def _failure(function: Function, runner: str) -> Param | None:
    """Return the parameter of a callback that holds the failure, if there was one."""
    params = [param for param in function.params if param.kind == "positional"]
    typed = [param for param in params if param.type and _THROWABLE.fullmatch(param.type)]
    at = _FAILURE_AT.get(runner, len(params))
    return next(iter([*typed, *params[at : at + 1]]), None)


def _sides_of_failure(
    function: Function, failure: Param | None, every: set[int]
) -> Iterator[tuple[set[int], set[int]]]:
    """Yield the steps that run after a failure, and those that run then only: all steps, if no test asks for it."""
    if failure is None:
        return
    names = derived_names(function, frozenset({failure.name}))
    steps = function.cfg.steps
    asked = False
    for step in steps:
        condition = canonical_form(function, step.op.condition) if isinstance(step.op, Test) else None
        if condition is not None and mentions_any(condition, names):
            asked = True
            failed, well = _edges(condition)
            after, other = (
                reachable(function, [edge.target for edge in step.edges if edge.kind is kind])
                for kind in (failed, well)
            )
            yield after, after - other
    if not asked and not any(
        isinstance(step.op, Call) and not step.op.dropped and mentions_any(step.op.func, names)
        for step in steps
    ):
        yield every, every  # `future.result()` raises the failure


def _edges(condition: Expr) -> tuple[EdgeKind, EdgeKind]:
    """Return the edges of a test for a failure: where there is one, and where there is none."""
    match condition:
        case Not(value=value):
            well, failed = _edges(value)
            return failed, well
        case Compare(op="==" | "is", right=Literal(value=None)):
            return EdgeKind.FALSE, EdgeKind.TRUE
        case _:
            return EdgeKind.TRUE, EdgeKind.FALSE


def _forgets(context: RuleContext, function: Function, index: int) -> bool:
    """Whether a step of a callback acks, or leaves no trace of the failure."""
    op = function.cfg.steps[index].op
    if isinstance(op, Call) and context.verb_kind(function, op) is VerbKind.ACK:
        return True
    return hides_failure(context, function, index)
