"""ACK102: a broad exception handler swallows a failure of the work, and the tuple is acked nevertheless."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import (
    argument_of,
    data_params,
    derived_names,
    handler_steps,
    mentions_any,
    raising_steps,
    reachable,
    tuple_names,
)
from ackdoctor.checks.facts.fields import reads_field, uses_resource
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, points_back, raised_at, turns_back
from ackdoctor.flow.expressions import assigned_locals, calls_by_result, last_name, operands
from ackdoctor.flow.transfer.dispatch import methods_named
from ackdoctor.flow.transfer.effects import cleanup_calls
from ackdoctor.flow.transfer.origins import is_remote_library
from ackdoctor.flow.values import Field, Token, TokenKind
from ackdoctor.libraries import LIBRARIES
from ackdoctor.libraries.vocabulary import COUNTS, EXCEPTIONS, LOGGING, PURE_CALLS, STOPS, TASK_METHODS
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Call,
    Catch,
    ClassInfo,
    Closure,
    EdgeKind,
    Expr,
    Function,
    Global,
    Instr,
    Jump,
    Literal,
    Mix,
    Name,
    Next,
    Return,
    Step,
    Throw,
    Unpack,
    Update,
    Way,
    Yield,
)
from ackdoctor.model.dialect import EntryKind, Misuse, VerbKind
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op, Stage
from ackdoctor.rulebook.advice import fail_as_well

_BROAD = frozenset({"Exception", "BaseException", "StandardError", "Throwable"})
_NO_REMEDY = (VerbKind.ACK, VerbKind.LOG, VerbKind.REPORT)
_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)
_UNDOES = frozenset({"rollback"})  # calls that leave the work undone
# of the JDK and of Python: clients of remote stores raise them as well
_CLIENT_ERRORS = frozenset(
    "IOException SQLException RuntimeException ExecutionException TimeoutException OSError IOError EnvironmentError "
    "ConnectionError TimeoutError".split()
)
_TELLS_AN_ERROR = re.compile(  # calls whose failure costs a report, and none of the tuple's work
    r"(?i)(report|log|trace|track)\w*(error|failure|exception)s?"
)
_ACCESSOR = re.compile("(get|set|is|has)(_|[A-Z])")
_ASKS = re.compile(  # such a function raises because of the record, and has no other effect
    "_*(?:valid|check|verif|assert|ensure|require|pars|decod|match|compare|loads$|(?:is|has|not|test|must)(?:_|[A-Z]))"
)
_ABOUT_THE_RECORD = re.compile(  # such an error says what is wrong with the record: another try does not help
    "Duplicate|Exist|NotFound|Conflict|Integrity|Invalid|Validat|Pars|Decod|Format|Syntax|Schema|Missing|Malformed|BadRequest"
)


def ack102_swallowed_failure(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each exception handler, here or in a class that the bolt uses, after which the tuple is acked."""
    yield from _in_handlers(context)
    yield from _in_flushes(context)
    yield from _in_collaborators(context)


def _in_handlers(context: RuleContext) -> Iterator[Finding]:
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        caught = _swallowing_visit(ended) if _is_acked(context, ended) else None
        work = _hidden_work(context, flow, caught) if caught is not None else []
        if ended.token is None or caught is None or not work:
            continue
        stage = caught.state.tokens[ended.token].stage if ended.token in caught.state.tokens else Stage.OWED
        if stage is not Stage.OWED or _is_retried(context, flow, caught, ended.path):
            continue  # it was completed before the exception, or its work was done after it
        if context.is_first(caught.step):
            yield _finding(context, flow, caught, ended.path, ended.token, work)


def _in_flushes(context: RuleContext) -> Iterator[Finding]:
    """Yield the exception handlers after which the tuples of a buffer are acked, outside of their own handler."""
    for flow, acked in context.events(Completed, EntryKind.TICK, EntryKind.DATA, EntryKind.BATCH):
        token = acked.token
        if acked.op is not Op.ACK or acked.breach is not None or token is None or acked.deferral is not None:
            continue
        caught = _swallowing_visit(acked) if token.kind is TokenKind.STORED else None
        if caught is None or _is_another_tuple(acked, caught):
            continue
        work = _hidden_work(context, flow, caught, token.field)
        if not work:
            continue
        if not _is_retried(context, flow, caught, acked.path, token.field) and context.is_first(caught.step):
            yield _finding(context, flow, caught, acked.path, token, work)


def _is_another_tuple(acked: Completed, caught: Path) -> bool:
    """Whether the exception was about one tuple of a buffer, and the path acks another one."""
    field = acked.token.field if acked.token is not None else ""
    in_hand = any(token.field == field for token in caught.state.tokens)
    loops = (memory.field for memory in caught.state.loops.values() if memory.field is not None)
    if not in_hand and Field(field) not in loops:
        return False
    for visit, after, _ in points_back(acked.path):
        if visit is caught:
            return False
        if after is not None and after.via is EdgeKind.BACK:
            return True
    return False


def _finding(
    context: RuleContext, flow: Flow, caught: Path, path: Path, token: Token, work: list[int]
) -> Finding:
    op, function = caught.step.op, caught.function
    at, case = caught.step, "message"
    if not isinstance(op, Catch):
        steps = (function.cfg.steps[each] for each in sorted(_handling_steps(caught)))
        at, case = next((step for step in steps if _leaves(step)), at), "finally"
    narrow = isinstance(op, Catch) and not is_broad(op)
    likely = any(_often_fails(context, function, function.cfg.steps[each].op) for each in work)
    raiser = caught.before
    if raiser is not None and caught.via is EdgeKind.RAISE and raiser.index not in work:
        path = raised_at(path, caught, next((each for each in work if each > raiser.index), work[0]))
    return context.finding(
        context.words(case, tup=_words(token), advice=_advice(context, token)),
        Misuse.SWALLOWED,
        (function, at.span),
        flow=flow,
        path=path,
        token=token,
        severity=Severity.WARNING,
        confidence=Confidence.MAY if flow.limited or narrow or not likely else Confidence.MUST,
    )


def _often_fails(context: RuleContext, function: Function, op: Instr) -> bool:
    """Whether a call is one that fails in practice: no getter or setter of an object of unknown origin, no unknown function."""
    match op:
        case Call() if _is_for_effect(context, function, op):
            return False
        case Call(func=Attr(obj=obj, name=name)) if _ACCESSOR.match(name):
            own = f"{context.program.units[function.path].module}."
            is_own = any(each.startswith(own) for each in context.declared_names(function, obj))
            return context.is_remote(function, obj) and not is_own
        case _:
            return True


def _leaves(step: Step) -> bool:
    """Whether a step in `finally` discards the exception: `return`, `break` or `continue`."""
    return isinstance(step.op, Return) or (
        isinstance(step.op, Jump) and step.op.word in ("break", "continue")
    )


def _words(token: Token) -> str:
    return token.words if token.kind is TokenKind.STORED else f"`{token.name}`"


def _advice(context: RuleContext, token: Token) -> str:
    by_hand = bool(context.component.auto_ack) and token.kind is not TokenKind.STORED
    return fail_as_well(context.role, _words(token), auto_ack=by_hand, raising=context.raising)


def _is_acked(context: RuleContext, ended: Ended) -> bool:
    """Whether the handler returns and its data tuple is acked, by the code or by the framework."""
    token_state = ended.state.tokens.get(ended.token) if ended.token is not None else None
    if ended.raised is not None or ended.deferral is not None or ended.is_system or token_state is None:
        return False
    owed = token_state.stage is Stage.OWED and bool(context.component.auto_ack)
    return owed or token_state.stage is Stage.ACKED


def _swallowing_visit(event: Ended | Completed) -> Path | None:
    """Return the last exception handler that the path entered, or the last `finally` that discards an exception."""
    state = event.state if isinstance(event, Ended) else event.path.state
    for visit, after, _ in turns_back(event.path):
        if isinstance(visit.step.op, Catch) and after is not None and after.via is EdgeKind.TRUE:
            return visit if state.caught is not None else None
        if after is not None and after.via is EdgeKind.RAISE and _enters_finally(visit, after):
            return after
    return None


def _enters_finally(visit: Path, after: Path) -> bool:
    return visit.step.way is not Way.RAISE and after.step.way is Way.RAISE


def _is_retried(context: RuleContext, flow: Flow, caught: Path, end: Path, field: str = "") -> bool:
    """Whether the path repeats the same work after the handler, successfully."""
    tried = raising_steps(caught.function, caught.index)
    for visit, after, _ in points_back(end):
        if visit is caught:
            return False
        done = after is not None and after.via is not EdgeKind.RAISE and visit.function is caught.function
        if done and visit.index in tried and _does_work(context, flow, caught, visit.step, field):
            return True
    return False


def _hidden_work(context: RuleContext, flow: Flow, caught: Path, field: str = "") -> list[int]:
    """Return the steps that do the tuple's work and whose failure only this handler sees, without dealing with it."""
    function, index, op = caught.function, caught.index, caught.step.op
    if isinstance(op, Catch) and not (is_broad(op) or is_of_client(context, function, op)):
        return []
    steps = function.cfg.steps
    if not all(_ignores_failure(context, caught, each) for each in _handling_steps(caught)):
        return []
    tried = sorted(raising_steps(function, index))
    work = [each for each in tried if _does_work(context, flow, caught, steps[each], field)]
    if not isinstance(op, Catch) or is_broad(op):
        return work
    returned = [step.op.value for step in steps if isinstance(step.op, Return)]
    if function is not flow.function and _is_asked(caught) and returned.count(None) < len(returned):
        return []  # the caller of a helper decides by its result
    return [each for each in work if _is_of_library(context, function, steps[each].op)]


def _is_of_library(context: RuleContext, function: Function, op: Instr) -> bool:
    match op:
        case Call(func=Attr(obj=obj)):
            return context.is_remote(function, obj)
        case _:
            return False


def _handling_steps(caught: Path) -> set[int]:
    """Return the steps of an exception handler, or of a `finally` that runs because of an exception."""
    function, index = caught.function, caught.index
    if isinstance(caught.step.op, Catch):
        return handler_steps(function, index)
    return {each for each in reachable(function, [index]) if function.cfg.steps[each].way is Way.RAISE}


def is_broad(op: Catch) -> bool:
    """Whether an exception handler catches every exception."""
    return not op.types or not _BROAD.isdisjoint(name.rpartition(".")[2] for name in op.types)


def is_of_client(context: RuleContext, function: Function, op: Catch) -> bool:
    """Whether an exception handler catches only the errors of a client library: `requests.RequestException`."""
    errors = [name for name in op.types if name.rpartition(".")[2] not in STOPS]
    return bool(errors) and all(_is_client_error(context, function, name) for name in errors)


def _is_client_error(context: RuleContext, function: Function, name: str) -> bool:
    """Whether an exception class, dotted as written, says that a call of a client library failed."""
    unit = context.program.units[function.path]
    found = context.program.type_of(unit, name)
    if isinstance(found, ClassInfo) or _ABOUT_THE_RECORD.search(name) is not None:
        return False
    library = LIBRARIES[context.dialect.language]
    if any(each.rpartition(".")[2] in _CLIENT_ERRORS for each in found):
        return True
    standard = EXCEPTIONS if context.dialect.objects else {}
    packages = {each: each.rpartition(".")[0] for each in found if each.rpartition(".")[2] not in standard}
    outside = (each for each, package in packages.items() if package and package != unit.module)
    return any(not each.startswith("java.") and is_remote_library(library, unit, each) for each in outside)


def _ignores_failure(context: RuleContext, caught: Path, index: int) -> bool:
    """Whether a step that handles the exception does nothing about the failure."""
    function = caught.function
    match function.cfg.steps[index].op:
        case Throw() | Unpack():
            return False
        case Return(value=value):  # the caller of a helper decides by its result, if it asks
            return value is None or not _is_asked(caught)
        case Call() as call:
            return is_no_remedy(context, function, index, call)
        case Bind() as op:
            return _keeps_nothing(op)
        case _:
            return True


def _is_asked(caught: Path) -> bool:
    """Whether the caller of a helper uses its result."""
    caller = caught.entry.before
    return caller is not None and not (isinstance(caller.step.op, Call) and caller.step.op.dropped)


def _keeps_nothing(op: Bind) -> bool:
    """Whether an assignment keeps nothing of the failed work: a temporary, a counter, or a connection that is given up."""
    match op:
        case Bind(target=Name(id=name)):
            return name.startswith("%")
        case Bind(target=Attr() as field, value=value):
            return value == Literal(None) or value == Mix("+", (field, Literal(1)))
        case _:
            return False


def is_no_remedy(context: RuleContext, function: Function, index: int, call: Call) -> bool:
    """Whether a call in an exception handler does nothing about the failure: it logs, counts, asks, tidies up or undoes."""
    tidies = not call.args and index in cleanup_calls(function)  # or only asks for what is logged
    known = context.verb_kind(function, call) in _NO_REMEDY or (
        not call.dropped and context.is_computation(function, call.func)
    )
    return tidies or known or last_name(call.func) in LOGGING | PURE_CALLS | _UNDOES | COUNTS


def _does_work(context: RuleContext, flow: Flow, caught: Path, step: Step, field: str = "") -> bool:
    """Whether a step of the `try` does the tuple's real work: it emits, or uses a resource with the tuple's data.

    With a field, the data are those of the tuples in it.
    """
    call, function = step.op, caught.function
    if not isinstance(call, Call) or _TELLS_AN_ERROR.fullmatch(last_name(call.func)):
        return False
    if context.verb_kind(function, call) in _EMITS:
        return True
    passed = _passed_code(caught, call)
    if passed is not None:
        return _runs_work(context, flow, caught.entry.before, passed)
    derived = _names_from(context, function, field) if field else tuple_names(flow, function)
    own = [arg.value for arg in call.args if field and reads_field(context, function, arg.value, field)]
    if not own and not any(mentions_any(arg.value, derived) for arg in call.args):
        return False
    helper = _called_helper(context, flow, caught, call)
    if helper is None:
        return uses_resource(context, function, call, caught.entry.before) or _is_for_effect(
            context, function, call
        )
    inner = calls_by_result(helper).values()
    return any(context.verb_kind(helper, c) in _EMITS or uses_resource(context, helper, c) for c in inner)


def _is_for_effect(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call runs a function of a library and drops its result, so it is made for its effect: `load(rows)`."""
    if not call.dropped or not isinstance(call.func, Global) or _ASKS.match(last_name(call.func)):
        return False
    unit, library = context.program.units[function.path], LIBRARIES[context.dialect.language]
    symbols = context.resolve(function, call.func)
    return bool(symbols) and all(
        isinstance(symbol, str) and is_remote_library(library, unit, symbol) for symbol in symbols
    )


def _passed_code(caught: Path, call: Call) -> Expr | None:
    """Return the argument with code that a helper runs: `store` of `quietly(store, row)`."""
    caller = caught.entry.before
    match call.func:
        case Name() as code:
            pass
        case Attr(obj=Name() as code, name=name) if name in TASK_METHODS:
            pass
        case _:
            return None
    if caller is None or not isinstance(caller.step.op, Call):
        return None
    return argument_of(caller.step.op, caught.function, code.id)


def _runs_work(context: RuleContext, flow: Flow, caller: Path | None, code: Expr) -> bool:
    """Whether code that a call passes to a helper does the tuple's work."""
    if caller is None or not isinstance(caller.step.op, Call):
        return False
    function, derived = caller.function, tuple_names(flow, caller.function)
    helper = context.own_method(function, code)
    if isinstance(code, Closure):
        helper = function.closures.get(code.key)
        with_data = helper is not None and not derived.isdisjoint(helper.captures)
    else:
        with_data = any(mentions_any(arg.value, derived) for arg in caller.step.op.args)
    if helper is None:
        return with_data and uses_resource(context, function, Call(Name("%"), code, ()))
    inner = calls_by_result(helper).values()
    return with_data and any(
        context.verb_kind(helper, c) in _EMITS or uses_resource(context, helper, c) for c in inner
    )


def _called_helper(context: RuleContext, flow: Flow, caught: Path, call: Call) -> Function | None:
    """Return the method of the component or the function of the project that a call runs; in a decorator, the decorated one."""
    function, caller = caught.function, caught.entry.before
    if (
        isinstance(call.func, Name)
        and call.func.id in function.captures
        and function not in context.own_names
    ):
        if caller is None:
            return flow.function if flow.function.decorators else None
        return _called_function(context, caller.function, caller.step.op)
    return _called_function(context, function, call)


def _called_function(context: RuleContext, function: Function, op: Instr) -> Function | None:
    """Return the component's own method, or the function of a module, that a call runs."""
    if not isinstance(op, Call):
        return None
    symbols = context.resolve(function, op.func) if isinstance(op.func, (Attr, Global)) else ()
    functions = (symbol for symbol in symbols if isinstance(symbol, Function))
    return context.own_method(function, op.func) or next(functions, None)


def _names_from(context: RuleContext, function: Function, field: str) -> frozenset[str]:
    """Return the locals that derive from a field, in a helper also from its parameters."""
    names = {
        name
        for step in function.cfg.steps
        if isinstance(step.op, (Bind, Next, Unpack, Call))
        if any(reads_field(context, function, value, field) for value in operands(step.op))
        for name in assigned_locals(step.op)
    }
    entries = {entry.method for entry in context.role.entries}
    if function in context.own_names and function.name not in entries:
        names.update(param.name for param in function.params[1:])
    return derived_names(function, frozenset(names))


# ---- classes of the project that the bolt uses ----

_MAX_CALLS = 4  # calls from the bolt to the method that hides a failure


class _Hidden(NamedTuple):
    """A method that hides a failure, the step where it does, and whether what failed certainly is the tuple's work."""

    method: Function
    handler: Step
    sure: bool


def _in_collaborators(context: RuleContext) -> Iterator[Finding]:
    """Yield the calls of another class of the project that hides a failure of the work from the bolt."""
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH):
        for visit, _, _ in points_back(ended.path) if _is_acked(context, ended) else ():
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
                tup=_words(token),
                name=name.rpartition(".")[2],
                advice=_advice(context, token),
            )
            yield context.finding(
                words,
                Misuse.SWALLOWED,
                visit,
                flow=flow,
                path=ended.path,
                token=token,
                severity=Severity.WARNING,
                confidence=Confidence.MUST if sure and not (flow.limited or narrow) else Confidence.MAY,
            )


def _hiding_method(context: RuleContext, flow: Flow, visit: Path, call: Call) -> _Hidden | None:
    """Return the method, run by a call with the tuple's data or called from there, that hides its failure in an exception handler."""
    return _hidden_behind(context, visit.function, call, tuple_names(flow, visit.function), _MAX_CALLS)


def _hidden_behind(
    context: RuleContext, function: Function, call: Call, derived: frozenset[str], calls: int
) -> _Hidden | None:
    """Return where a method that a call passes data to, or one that it calls itself, hides its failure.

    An object that was made from the data gets them too: `Order(tup.values).save()`.
    """
    method = _called_method(context, function, call) if calls else None
    if method is None:
        return None
    by_argument = any(mentions_any(arg.value, derived) for arg in call.args)
    by_object = isinstance(call.func, Attr) and mentions_any(call.func.obj, derived)
    names = data_params(method) if by_argument else []
    names += [param.name for param in method.params[:1] if by_object]
    if not names:
        return None
    handler = _hiding_handler(context, method, call) if by_argument else None
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
    if not any(_does_work(context, flow, visit, steps[each]) for each in body):
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


def _called_method(context: RuleContext, function: Function, call: Call) -> Function | None:
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


def _hiding_handler(context: RuleContext, method: Function, call: Call) -> Step | None:
    """Return the exception handler, broad or for a client's errors, in which a method only logs that its work on its arguments failed."""
    steps = method.cfg.steps
    derived = derived_names(method, frozenset(data_params(method)))
    returned = {step.op.value for step in steps if isinstance(step.op, Return)}
    if not call.dropped and not returned <= {None, Literal(None)}:
        return None  # the bolt may ask for the result
    for index, step in enumerate(steps):
        if not isinstance(step.op, Catch):
            if step.way is Way.RAISE and _leaves(step) and _discards(context, method, index, derived):
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
            and (broad or _is_of_library(context, method, steps[each].op))
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
            return _keeps_nothing(op)
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
