"""Exception handlers: what fails inside their `try`, which exceptions they catch, and whether they do anything about it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import argument_of, derived_names, mentions_any, reachable, tuple_names
from ackdoctor.checks.facts.fields import reads_field, uses_resource
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow, Path
from ackdoctor.flow.expressions import assigned_locals, calls_by_result, last_name, names_in, operands
from ackdoctor.flow.facts import normalise
from ackdoctor.flow.transfer.effects import cleanup_calls
from ackdoctor.flow.transfer.origins import is_remote_library
from ackdoctor.flow.values import Token, TokenKind
from ackdoctor.libraries import LIBRARIES
from ackdoctor.libraries.vocabulary import (
    ATTRIBUTE_READS,
    COUNTS,
    ERROR_NAMES,
    ERROR_STAGES,
    ERROR_TYPES,
    EXCEPTIONS,
    FUTURE_READS,
    LOGGING,
    OPTIONALS,
    PURE_CALLS,
    STOPS,
    TASK_METHODS,
    TASKS,
)
from ackdoctor.model.cfg import (
    ENTRY,
    Attr,
    Bind,
    Call,
    Catch,
    ClassInfo,
    Closure,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Global,
    Instr,
    Item,
    Jump,
    Literal,
    Mix,
    Name,
    Next,
    Return,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
)
from ackdoctor.model.dialect import VerbKind
from ackdoctor.model.protocol import Stage
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
_ASKS = re.compile(  # such a function raises because of the record, and has no other effect
    "_*(?:valid|check|verif|assert|ensure|require|pars|decod|match|compare|loads$|(?:is|has|not|test|must)(?:_|[A-Z]))"
)
_ABOUT_THE_RECORD = re.compile(  # such an error says what is wrong with the record: another try does not help
    "Duplicate|Exist|NotFound|Conflict|Integrity|Invalid|Validat|Pars|Decod|Format|Syntax|Schema|Missing|Malformed|BadRequest"
)


_SAYS_FAILED = re.compile(
    r"(?i)(?:has|is|any)_?(?:any_?)?(?:failures?|failed|errors?|exceptions?)"
)  # an answer
_SAYS_DONE = re.compile(r"(?i)(?:(?:is|was)_?)?(?:success(?:ful)?|succeeded|ok)")


def leaves(step: Step) -> bool:
    """Whether a step in `finally` discards the exception: `return`, `break` or `continue`."""
    return isinstance(step.op, Return) or (
        isinstance(step.op, Jump) and step.op.word in ("break", "continue")
    )


def tuple_words(token: Token) -> str:
    """Return how a message names a tuple."""
    return token.words if token.kind is TokenKind.STORED else f"`{token.name}`"


def advice(context: RuleContext, token: Token) -> str:
    """Return how to fail a tuple of this component."""
    by_hand = bool(context.component.auto_ack) and token.kind is not TokenKind.STORED
    return fail_as_well(context.role, tuple_words(token), auto_ack=by_hand, raising=context.raising)


def is_acked(context: RuleContext, ended: Ended) -> bool:
    """Whether the handler returns and its data tuple is acked, by the code or by the framework."""
    token_state = ended.state.tokens.get(ended.token) if ended.token is not None else None
    if ended.raised is not None or ended.deferral is not None or ended.is_system or token_state is None:
        return False
    owed = token_state.stage is Stage.OWED and bool(context.component.auto_ack)
    return owed or token_state.stage is Stage.ACKED


def is_of_library(context: RuleContext, function: Function, op: Instr) -> bool:
    """Whether a step calls a method of a client: of an object that reaches outside of the process."""
    match op:
        case Call(func=Attr(obj=obj)):
            return context.is_remote(function, obj)
        case _:
            return False


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


def keeps_nothing(context: RuleContext, function: Function, op: Bind) -> bool:
    """Whether an assignment keeps nothing of the failed work: a temporary, a counter, or a connection given up or replaced."""
    match op:
        case Bind(target=Name(id=name)):
            return name.startswith("%")
        case Bind(target=Attr() as field, value=value):
            counts = value == Mix("+", (field, Literal(1)))
            return value == Literal(None) or counts or context.is_remote(function, value)
        case _:
            return False


def is_no_remedy(context: RuleContext, function: Function, index: int, call: Call) -> bool:
    """Whether a call in an exception handler does nothing about the failure: it logs, counts, asks, tidies up or undoes."""
    # it tidies up, or only asks for what is logged: `tuple.getString(0)`
    named = all(isinstance(arg.value, (Literal, Global)) for arg in call.args)
    tidies = named and index in cleanup_calls(function)
    tidies = tidies or _opens_connection(context, function, call)
    known = context.verb_kind(function, call) in _NO_REMEDY or (
        not call.dropped and context.is_computation(function, call.func)
    )
    return (
        tidies or known or last_name(call.func) in LOGGING | PURE_CALLS | _UNDOES | COUNTS | ATTRIBUTE_READS
    )


def answers_with_refusal(function: Function, handling: Iterable[int]) -> bool:
    """Whether the steps that handle an exception return only values that say it failed.

    0 or an empty list may be a default that the caller uses.
    """
    returned = (op.value for each in handling if isinstance(op := function.cfg.steps[each].op, Return))
    return all(_is_refusal(function, value) for value in returned)


def _is_refusal(function: Function, value: Expr | None) -> bool:
    match calls_by_result(function).get(value, value) if value is not None else None:
        case None | Literal(value=None | False):
            return True
        case Call(func=Attr(obj=Global(id=cls), name=name)):
            return cls.endswith("Optional") and OPTIONALS.get(name) is False
        case _:
            return False


def only_acks(context: RuleContext, function: Function, starts: Iterable[int]) -> bool:
    """Whether all that a function does from these steps on is to log, and to ack or let the framework ack."""
    acks = bool(context.component.auto_ack)
    for index in reachable(function, starts):
        match function.cfg.steps[index].op:
            case Call() as call:
                is_ack = context.verb_kind(function, call) is VerbKind.ACK
                acks = acks or is_ack
                if not is_ack and not is_no_remedy(context, function, index, call):
                    return False
            case Bind(target=Attr() | Item()) | Update() | Next() | Throw():
                return False
            case _:
                pass
    return acks


def has_no_remedy(context: RuleContext, function: Function, steps: Iterable[int]) -> bool:
    """Whether no call in these steps of a function does anything about the failure."""
    ops = ((index, function.cfg.steps[index].op) for index in steps)
    return all(is_no_remedy(context, function, index, op) for index, op in ops if isinstance(op, Call))


def _opens_connection(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call makes a new client, by itself or in a method of the component that does nothing else."""
    if not call.dropped:
        on_field = isinstance(call.func, Attr) and context.own_field(function, call.func.obj) is not None
        with_data = any(
            set(names_in(arg.value)) - {function.receiver} and not context.is_remote(function, arg.value)
            for arg in call.args
        )
        return context.is_remote(function, call.result) and not with_data and not (on_field and call.args)
    helper = context.own_method(function, call.func)
    if helper is None or call.args or function is helper:
        return False
    steps = helper.cfg.steps
    kept = [step.op for step in steps if isinstance(step.op, Bind) and isinstance(step.op.target, Attr)]
    return (
        bool(kept)
        and all(keeps_nothing(context, helper, op) for op in kept)
        and has_no_remedy(context, helper, range(len(steps)))
    )


class FailureBranch(NamedTuple):
    """The steps of a callback that run if the work failed, and the test that learns it (None: it is called for errors only).

    `sure` is false if only the name of a parameter says that it is an error.
    """

    test: int | None
    via: EdgeKind
    steps: set[int]
    sure: bool


def failure_branch(context: RuleContext, ended: Ended, *, beside: bool = False) -> FailureBranch | None:
    """Return the branch of a callback that runs if the work failed, if it does nothing about the failure.

    The callback gets an error as an argument: by its type, by a test, by its name if it never reads it or is `beside` another
    callback that completes the tuple, or by who calls it.
    """
    function = ended.path.function
    params = [param for param in function.params if param.name != function.receiver]
    typed = {Name(param.name) for param in params if (param.type or "").endswith(ERROR_TYPES)}
    errors = typed | {Name(param.name) for param in params if not param.type and param.name in ERROR_NAMES}
    steps, branches = function.cfg.steps, list[FailureBranch]()
    for index, step in enumerate(steps):
        if not isinstance(step.op, Test):
            continue
        match normalise(step.op.condition):
            case Compare(left=Name() as tested, op="is", right=Literal(value=None)), is_absent:
                has_failed = not is_absent
            case Name() as tested, has_failed:
                pass
            case _:
                continue
        if tested in errors:
            failed = EdgeKind.TRUE if has_failed else EdgeKind.FALSE
            starts = [edge.target for edge in step.edges if edge.kind is failed]
            branches.append(FailureBranch(index, failed, reachable(function, starts), tested in typed))
    names = frozenset(each.id for each in errors)
    is_read = any(mentions_any(value, names) for step in steps for value in operands(step.op))
    by_caller = ended.deferral is not None and ended.deferral.runner in ERROR_STAGES
    if not branches and (typed or by_caller or (errors and (beside or (len(params) > 1 and not is_read)))):
        branches = [
            FailureBranch(None, EdgeKind.NEXT, reachable(function, [ENTRY]), bool(typed) or by_caller)
        ]
    if len(branches) != 1:
        return None
    [branch] = branches
    decides = any(isinstance(steps[index].op, (Test, Throw)) for index in branch.steps)
    return branch if not decides and has_no_remedy(context, function, branch.steps) else None


def failed_answers(context: RuleContext, function: Function) -> Iterator[FailureBranch]:
    """Yield the branches on which a library's answer says that the work failed, if they and what follows do nothing about it."""
    steps = function.cfg.steps
    for index, step in enumerate(steps):
        if not isinstance(step.op, Test):
            continue
        fact, positive = normalise(step.op.condition)
        call = calls_by_result(function).get(fact)
        answer = call.func if call is not None and not call.args else fact
        if not isinstance(answer, Attr) or not context.is_remote(function, answer.obj):
            continue
        says_failed = _SAYS_FAILED.fullmatch(answer.name) is not None
        if not says_failed and _SAYS_DONE.fullmatch(answer.name) is None:
            continue
        failed = EdgeKind.TRUE if says_failed == positive else EdgeKind.FALSE
        after = reachable(function, [edge.target for edge in step.edges if edge.kind is failed])
        alone = after - reachable(function, [ENTRY], [(index, failed)])
        ignores = has_no_remedy(context, function, alone) and not any(
            isinstance(op := steps[each].op, Update)
            or (isinstance(op, Bind) and not keeps_nothing(context, function, op))
            for each in alone
        )
        if ignores and not any(_may_fail_tuples(context, function, steps[each].op) for each in after):
            yield FailureBranch(index, failed, after, sure=False)


def _may_fail_tuples(
    context: RuleContext, function: Function, op: Instr, around: Function | None = None
) -> bool:
    """Whether a step throws, fails a tuple, or calls or passes on code of the project that may."""
    if not isinstance(op, Call):
        return isinstance(op, Throw)
    run = (op.func, *(arg.value for arg in op.args))
    if any(context.verb_kind(function, replace(op, func=func), around) is VerbKind.FAIL for func in run):
        return True
    called = [code for func in run if (code := context.code_of(function, func)) is not None]
    if around is not None:
        return bool(called)  # it is not followed any further
    return any(
        _may_fail_tuples(context, code, step.op, function) for code in called for step in code.cfg.steps
    )


def does_work(context: RuleContext, flow: Flow, caught: Path, step: Step, field: str = "") -> bool:
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
    if _awaits_work(context, function, call, derived):
        return True
    own = [arg.value for arg in call.args if field and reads_field(context, function, arg.value, field)]
    if not own and not any(mentions_any(arg.value, derived) for arg in call.args):
        return False
    helper = called_helper(context, flow, caught, call)
    if helper is None:
        return uses_resource(context, function, call, caught.entry.before) or is_for_effect(
            context, function, call
        )
    return _works(context, helper)


def _awaits_work(context: RuleContext, function: Function, call: Call, derived: frozenset[str]) -> bool:
    """Whether a call waits for a task with the tuple's data; without declared types, some task of the component has to do work."""
    if not isinstance(call.func, Attr) or not mentions_any(call.func.obj, derived):
        return False
    if call.func.name != "result":
        return call.func.name in FUTURE_READS and is_of_library(context, function, call)
    return any(
        last_name(each.func) in TASKS and each.args and task_works(context, owner, each.args[0].value)
        for owner, each in context.calls()
    )


def task_works(context: RuleContext, function: Function, code: Expr) -> bool:
    """Whether code that another thread runs emits, or uses a resource."""
    task = context.code_of(function, code)
    return (
        uses_resource(context, function, Call(Name("%"), code, ())) if task is None else _works(context, task)
    )


def _works(context: RuleContext, helper: Function) -> bool:
    """Whether a helper emits, or uses a resource."""
    calls = calls_by_result(helper).values()
    return any(context.verb_kind(helper, c) in _EMITS or uses_resource(context, helper, c) for c in calls)


def is_for_effect(context: RuleContext, function: Function, call: Call) -> bool:
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
    return with_data and _works(context, helper)


def called_helper(context: RuleContext, flow: Flow, caught: Path, call: Call) -> Function | None:
    """Return the method of the component or the function of the project that a call runs; in a decorator, the decorated one."""
    function, caller = caught.function, caught.entry.before
    is_captured = isinstance(call.func, Name) and call.func.id in function.captures
    if not is_captured or function in context.own_names:
        return context.called_function(function, call.func)
    if caller is None:
        return flow.function if flow.function.decorators else None
    op = caller.step.op
    return context.called_function(caller.function, op.func) if isinstance(op, Call) else None


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
