"""Classes of the project that hide a failure from the bolt which calls them: their methods and context managers."""

from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.blocking import origins
from ackdoctor.checks.early_ack import is_scoped
from ackdoctor.checks.facts.dataflow import (
    data_params,
    derived_names,
    handler_steps,
    mentions_any,
    raising_steps,
    reachable,
    tuple_names,
)
from ackdoctor.checks.facts.handlers import (
    advice,
    answers_with_refusal,
    does_work,
    is_acked,
    is_broad,
    is_no_remedy,
    is_of_client,
    is_of_library,
    keeps_nothing,
    leaves,
    only_acks,
    task_works,
    tuple_words,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, Path, points_back
from ackdoctor.flow.expressions import calls_by_result, last_name, operands
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.pure_calls import inline_calls
from ackdoctor.flow.transfer.dispatch import methods_named
from ackdoctor.libraries.vocabulary import CONTAINER_STORES
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Catch,
    ClassInfo,
    Compare,
    EdgeKind,
    Function,
    Instr,
    Literal,
    Name,
    Return,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
    Way,
    Yield,
)
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding, Severity

_MAX_CALLS = 4  # calls from the bolt to the method that hides a failure


class _Hidden(NamedTuple):
    """A method that hides a failure, the step where it does, and whether what failed certainly is the tuple's work."""

    method: Function
    handler: Step
    sure: bool


def hidden_failures(context: RuleContext) -> Iterator[Finding]:
    """Yield the calls of another class of the project that hides a failure of the work from the bolt."""
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        for visit, _, _ in points_back(ended.path) if is_acked(context, ended) else ():
            call, token = visit.step.op, ended.token
            if not isinstance(call, Call) or token is None or visit.function not in context.own_names:
                continue
            found, case = _hiding_method(context, flow, visit, call), "collaborator"
            if found is None:
                found, case = _hiding_manager(context, flow, visit, call), "manager"
            if found is None or not context.is_first(visit.step):
                continue
            method, handler, sure = found
            narrow = isinstance(handler.op, Catch) and not is_broad(handler.op)
            name = method.qualname.removesuffix(".__exit__")
            words = context.words(
                case,
                method=name,
                line=f"line {handler.span.line} of {method.path.rpartition('/')[2]}",
                tup=tuple_words(token),
                name=name.rpartition(".")[2],
                advice=advice(context, token),
            )
            yield context.finding(
                words,
                Misuse.SWALLOWED,
                visit,
                flow=flow,
                path=ended.path if call.dropped else visit,
                token=token,
                severity=Severity.WARNING,
                confidence=Confidence.MUST if sure and not (flow.limited or narrow) else Confidence.MAY,
            )


# ---- tasks whose result no code reads ----

_TASK_RUNS = frozenset({"submit", "map"})
_WAITS_ONLY = frozenset({"wait", "shutdown", "join"})  # for the end of a task, and raise nothing


def unread_tasks(context: RuleContext) -> Iterator[Finding]:
    """Yield the tasks of an executor that do the tuple's work and whose failure no code asks for, although it waits for them."""
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        ends = (event for event in flow.events if isinstance(event, Ended) and is_acked(context, event))
        token = next((ended.token for ended in ends), None)
        for function in context.functions_of(flow) if token is not None else ():
            waits = any(last_name(call.func) in _WAITS_ONLY for call in calls_by_result(function).values())
            for step in function.cfg.steps:
                if not isinstance(step.op, Call) or token is None:
                    continue
                awaited = waits or is_scoped(step.op.func)
                if awaited and _is_unread_task(context, flow, function, step.op) and context.is_first(step):
                    yield context.finding(
                        context.words("task", tup=tuple_words(token), advice=advice(context, token)),
                        Misuse.SWALLOWED,
                        (function, step.span),
                        flow=flow,
                        token=token,
                        severity=Severity.WARNING,
                        confidence=Confidence.MAY,
                    )


def _is_unread_task(context: RuleContext, flow: Flow, function: Function, call: Call) -> bool:
    """Whether a call gives work on the tuple to an executor, and its function does nothing with the result but wait."""
    if not (isinstance(call.func, Attr) and call.func.name in _TASK_RUNS and len(call.args) > 1):
        return False
    if not any(name.startswith("concurrent.futures.") for name in origins(context, function, call.func.obj)):
        return False
    work, data = call.args[0].value, tuple_names(flow, function)
    task = context.code_of(function, work)
    if task is not None and any(isinstance(step.op, Catch) for step in task.cfg.steps):
        return False  # it knows what became of the work
    if not any(mentions_any(arg.value, data) for arg in call.args) or not task_works(context, function, work):
        return False
    results = derived_names(function, frozenset({call.result.id}))
    uses = (
        step.op
        for step in function.cfg.steps
        if any(mentions_any(value, results) for value in operands(step.op))
    )
    return not any(results & inner.captures for inner in function.closures.values()) and all(
        (isinstance(op, Bind) and isinstance(op.target, Name)) or _only_waits(op) for op in uses
    )


def _only_waits(op: Instr) -> bool:
    """Whether an instruction waits for tasks, or adds them to a list."""
    return isinstance(op, Call) and last_name(op.func) in _WAITS_ONLY | CONTAINER_STORES


# ---- methods and context managers ----


def _hiding_method(context: RuleContext, flow: Flow, visit: Path, call: Call) -> _Hidden | None:
    """Return the method, run by a call with the tuple's data or called from there, that hides its failure in an exception handler.

    If the bolt asks for the result, the handler has to return a refusal that the bolt takes for nothing to do.
    """
    found = _hidden_behind(context, visit.function, call, tuple_names(flow, visit.function), _MAX_CALLS)
    is_asked = found is not None and _is_asked(context, visit.function, call, found.method)
    if found is None or not is_asked:
        return found
    refuses = isinstance(found.handler.op, Catch) and answers_with_refusal(
        found.method, handler_steps(found.method, found.method.cfg.steps.index(found.handler))
    )
    ignored = refuses and _acks_refusal(context, visit.function, call)
    return found._replace(sure=False) if ignored else None


def _acks_refusal(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a bolt tests the result of a call, and only logs and acks if it is false, null or empty."""
    names = derived_names(function, frozenset((call.result.id,)))
    for step in function.cfg.steps:
        if not isinstance(step.op, Test) or not mentions_any(step.op.condition, names):
            continue
        fact, positive = normalise(inline_calls(function, step.op.condition))
        is_null = isinstance(fact, Compare) and (fact.op, fact.right) == ("is", Literal(None))
        refused = EdgeKind.TRUE if is_null == positive else EdgeKind.FALSE
        starts = [edge.target for edge in step.edges if edge.kind is refused]
        if (is_null or not isinstance(fact, Compare)) and only_acks(context, function, starts):
            return True
    return False


def _is_asked(context: RuleContext, function: Function, call: Call, method: Function) -> bool:
    """Whether a call itself runs a method that answers something, and uses its result."""
    returned = {step.op.value for step in method.cfg.steps if isinstance(step.op, Return)}
    asks = not call.dropped and not returned <= {None, Literal(None)}
    return asks and called_method(context, function, call) is method


def _hidden_behind(
    context: RuleContext, function: Function, call: Call, derived: frozenset[str], calls: int
) -> _Hidden | None:
    """Return where a method that a call passes data to, or one that it calls itself, hides its failure.

    An object that was made from the data gets them too: `Order(tup.values).save()`.
    """
    method = called_method(context, function, call) if calls else None
    if method is None:
        return None
    by_argument = any(mentions_any(arg.value, derived) for arg in call.args)
    by_object = isinstance(call.func, Attr) and mentions_any(call.func.obj, derived)
    names = data_params(method) if by_argument else []
    names += [param.name for param in method.params[:1] if by_object]
    if not names:
        return None
    decides = calls < _MAX_CALLS and _is_asked(context, function, call, method)
    handler = _hiding_handler(context, method) if by_argument and not decides else None
    if handler is not None:
        return _Hidden(method, handler, sure=True)
    inner = derived_names(method, frozenset(names))
    for step in method.cfg.steps:
        found = (
            _hidden_behind(context, method, step.op, inner, calls - 1) if isinstance(step.op, Call) else None
        )
        if found is not None:
            return found._replace(sure=found.sure and by_argument)
    return None


def _hiding_manager(context: RuleContext, flow: Flow, visit: Path, call: Call) -> _Hidden | None:
    """Return the context manager of another module that a `with` around the work uses, and where it swallows exceptions."""
    body = visit.function.cfg.guards.get(call.result.id, ())
    steps = visit.function.cfg.steps
    if not any(does_work(context, flow, visit, steps[each]) for each in body):
        return None
    symbol = next(iter(context.resolve(visit.function, call.func)), None)
    if isinstance(symbol, ClassInfo):
        method = symbol.methods.get("__exit__")
        return _swallowing_return(context, method) if method is not None else None
    if not isinstance(symbol, Function) or not symbol.is_generator:
        return None
    for index, step in enumerate(symbol.cfg.steps):
        if isinstance(step.op, Catch) and is_broad(step.op):
            hides = all(hides_failure(context, symbol, each) for each in handler_steps(symbol, index))
            inside = (symbol.cfg.steps[each].op for each in raising_steps(symbol, index))
            if hides and any(isinstance(op, Yield) for op in inside):
                return _Hidden(symbol, step, sure=True)
    return None


def _swallowing_return(context: RuleContext, method: Function) -> _Hidden | None:
    """Return the `return True` of an `__exit__` that else only logs."""
    steps = method.cfg.steps
    returns = [step for step in steps if isinstance(step.op, Return)]
    always = {step.op.value for step in returns if isinstance(step.op, Return)} == {Literal(value=True)}
    hides = always and all(hides_failure(context, method, each) for each in range(len(steps)))
    return _Hidden(method, returns[0], sure=True) if hides else None


def called_method(context: RuleContext, function: Function, call: Call) -> Function | None:
    """Return the method of another class of the project that a call runs; in such a class, also its own."""
    if not isinstance(call.func, Attr):
        return None
    if call.func.obj == Name(function.receiver) and function not in context.own_names:
        cls = context.program.owner(function)
    else:
        cls = context.project_class(function, call.func.obj)
    if cls is None or cls in context.component.lineage:
        return None
    return next(iter(methods_named(context.program.lineage(cls).order, call.func.name)), None)


def _hiding_handler(context: RuleContext, method: Function) -> Step | None:
    """Return the exception handler, broad or for a client's errors, in which a method only logs that its work on its arguments failed."""
    steps = method.cfg.steps
    derived = derived_names(method, frozenset(data_params(method)))
    for index, step in enumerate(steps):
        if not isinstance(step.op, Catch):
            if step.way is Way.RAISE and leaves(step) and _discards(context, method, index, derived):
                return step
            continue
        broad = is_broad(step.op)
        if not broad and not is_of_client(context, method, step.op):
            continue
        hides = all(hides_failure(context, method, each) for each in handler_steps(method, index))
        work = {
            each
            for each in raising_steps(method, index)
            if _works_on(context, method, steps[each], derived)
            and (broad or is_of_library(context, method, steps[each].op))
        }
        caught = [edge.target for edge in step.edges if edge.kind is EdgeKind.TRUE]
        if hides and work and work.isdisjoint(reachable(method, caught)):  # and does not try again
            return step
    return None


def _discards(context: RuleContext, method: Function, index: int, derived: frozenset[str]) -> bool:
    """Whether a step of a `finally` discards the exception of work on the arguments."""
    return any(
        kind is EdgeKind.RAISE and index in reachable(method, [target])
        for step in method.cfg.steps
        if step.way is not Way.RAISE and _works_on(context, method, step, derived)
        for kind, target in step.edges
    )


def hides_failure(context: RuleContext, method: Function, index: int) -> bool:
    """Whether a step of the exception handler leaves no trace of the failure that the bolt could ask for."""
    match method.cfg.steps[index].op:
        case Update() | Throw() | Unpack():
            return False
        case Call() as call:
            return is_no_remedy(context, method, index, call)
        case Bind() as op:
            return keeps_nothing(context, method, op)
        case _:
            return True


def _works_on(context: RuleContext, method: Function, step: Step, derived: frozenset[str]) -> bool:
    """Whether a step is a call on a field of the object, or on a client, with data from the arguments."""
    match step.op:
        case Call(func=Attr(obj=obj), args=args) if any(mentions_any(arg.value, derived) for arg in args):
            own = isinstance(obj, Attr) and method.params and obj.obj == Name(method.params[0].name)
            return own or context.is_remote(method, obj)
        case _:
            return False
