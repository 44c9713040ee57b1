"""How the code of a component runs: on another thread, never, or in the way of the multilang protocol."""

from collections.abc import Iterator
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import reachable
from ackdoctor.checks.facts.spouts import with_callees
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Anchors, Completed, Emitted, Flow
from ackdoctor.flow.expressions import assigned_targets, calls_by_result
from ackdoctor.flow.witness import line_text
from ackdoctor.model.cfg import (
    ENTRY,
    Attr,
    Call,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Global,
    Literal,
    Next,
    Step,
    Test,
)
from ackdoctor.model.dialect import Anchoring, EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Op
from ackdoctor.rulebook.advice import complete_on_framework_thread, emit_off_thread

# ---- ACK108 off-thread-completion ----


_VERBS = {Op.ACK: "acks", Op.FAIL: "fails"}


def ack108_off_thread_completion(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each framework call in code that the component starts on another thread."""
    locked = context.discipline.thread_safe
    if Misuse.OFF_THREAD not in context.discipline.prices:
        return
    events: list[tuple[Flow, Completed | Emitted]] = [*context.events(Completed), *context.events(Emitted)]
    for flow, event in events:
        if event.deferral is None or not event.deferral.thread:
            continue
        verb = _VERBS.get(event.op) if isinstance(event, Completed) else "emits"
        if verb is None or (locked and not _uses_default_anchors(context, event)):
            continue
        if context.is_first(event.step):
            line = line_text(event.deferral, event.function)
            words = context.words(
                does=verb,
                thread=context.phrase("thread", runner=event.deferral.runner, line=line),
                advice=_advice(context),
            )
            yield context.finding(
                words,
                Misuse.OFF_THREAD,
                (event.function, event.step.span),
                flow=flow,
                path=event.path,
                token=event.token if isinstance(event, Completed) else None,
            )


def _advice(context: RuleContext) -> str:
    if not context.is_bolt:
        method = next(entry.method for entry in context.role.entries if entry.kind is EntryKind.NEXT)
        return context.phrase("spout", method=method)
    if context.discipline.thread_safe:
        return emit_off_thread(context.role, auto_ack=bool(context.component.auto_ack))
    return complete_on_framework_thread()


def _uses_default_anchors(context: RuleContext, event: Completed | Emitted) -> bool:
    """Whether the framework anchors an emit to the tuple that its own thread handles at that moment."""
    default = isinstance(event, Emitted) and event.anchors is Anchors.DEFAULT
    return default and context.discipline.anchoring is not Anchoring.NONE


# ---- ACK110 async-handler ----


def ack110_async_handler(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each such handler; the framework neither iterates nor awaits its result."""
    for flow in context.flows:
        handler = flow.function
        if flow.entry is not None and not flow.wrapped and (handler.is_async or handler.is_generator):
            kind = "a coroutine" if handler.is_async else "a generator"
            words = context.words(handler=f"{context.component.name}.{handler.name}", kind=kind)
            yield context.finding(words, Misuse.NEVER_RUNS, handler, flow=flow)


# ---- ACK206 stdout-in-multilang ----


_STDOUT = frozenset(("sys.stdout", "sys.__stdout__", "sys.stdout.buffer"))
_STDIN = frozenset(("sys.stdin", "sys.__stdin__", "sys.stdin.buffer"))
_PRINTS = frozenset(("print", "builtins.print", "pprint.pprint", "pprint.pp"))
_WRITES = frozenset(f"{stream}.{verb}" for stream in _STDOUT for verb in ("write", "writelines"))
_TO_A_STREAM = frozenset(
    "json.dump csv.writer csv.DictWriter traceback.print_exc traceback.print_exception traceback.print_stack".split()
)
_HANDLERS = frozenset(("logging.StreamHandler", "logging.basicConfig"))
_CHILDREN = frozenset(("os.system", *(f"subprocess.{name}" for name in "call check_call run Popen".split())))
_READS = frozenset(
    (
        "input",
        "raw_input",
        "builtins.input",
        *(f"{each}.{verb}" for each in _STDIN for verb in ("read", "readline", "readlines")),
    )
)
_IS_MAIN = (
    Compare(Global("__name__"), "==", Literal("__main__")),
    Compare(Literal("__main__"), "==", Global("__name__")),
)
_OFTEN = (
    EntryKind.DATA,
    EntryKind.BATCH,
    EntryKind.TICK,
    EntryKind.NEXT,
    EntryKind.ACKED,
    EntryKind.FAILED,
)


class _Use(NamedTuple):
    """A use of a pipe: the case of the catalogue, and the name of the call."""

    case: str
    call: str
    flushes: bool = False


def ack206_stdout_in_multilang(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each use of the pipes in code that the component's process may run."""
    if Misuse.STDIN not in context.discipline.costs:
        return
    often = {*with_callees(context, _methods(context, *_OFTEN), objects=True)}
    at_ends = _methods(context, EntryKind.INIT, EntryKind.LIFECYCLE)
    once = {*with_callees(context, at_ends, objects=True)} - often
    functions = [*dict.fromkeys((*context.functions, *sorted(often | once, key=lambda each: each.qualname)))]
    steps = [(function, step) for function in functions for step in function.cfg.steps]
    bodies = [
        context.program.units[path].body for path in sorted({cls.path for cls in context.component.lineage})
    ]
    steps += [(body, step) for body in bodies for step in _top_level(context, body)]
    found = [(*each, use) for each in steps if (use := _use(context, *each)) is not None]
    redirected = bool(found) and any(_redirects(context, *each) for each in steps)
    for function, step, use in found:
        if use.case != "reads" and (redirected or not _reaches_pipe(context, function)):
            continue
        misuse = Misuse.STDIN if use.case == "reads" else Misuse.STDOUT
        waits = context.discipline.stdout_waits and use.case == "message" and not use.flushes
        may = use.case in ("child", "handler") or (waits and (function in once or function in bodies))
        words = context.words(use.case, call=use.call, component=context.component.name)
        yield context.finding(
            words,
            misuse,
            (function, step.span),
            severity=Severity.WARNING if may else context.severity(misuse),
            confidence=Confidence.MAY if may else Confidence.MUST,
        )


def _reaches_pipe(context: RuleContext, function: Function) -> bool:
    redirects = any(
        "contextlib.redirect_stdout" in context.qualified_names(function, call.func)
        for call in calls_by_result(function).values()
    )
    return (
        context.discipline.stdout_is_pipe
        and not redirects
        and not (context.dialect.python2_logs_stdout and not context.is_python3(function))
    )


def _redirects(context: RuleContext, function: Function, step: Step) -> bool:
    """Whether a step assigns `sys.stdout`."""
    return any(
        isinstance(target, Attr) and not _STDOUT.isdisjoint(context.qualified_names(function, target))
        for target in assigned_targets(step.op)
    )


def _use(context: RuleContext, function: Function, step: Step) -> _Use | None:
    if isinstance(step.op, Next):
        reads = _is_one_of(context, function, step.op.iterable, _STDIN)
        return _Use("reads", "sys.stdin") if reads else None
    if not isinstance(step.op, Call):
        return None
    call = step.op
    names = context.qualified_names(function, call.func)
    name = min(names, default="").removeprefix("builtins.")
    streams = [arg for arg in call.args if _is_one_of(context, function, arg.value, _STDOUT)]
    if names & _READS:
        return _Use("reads", name)
    if names & _WRITES or (names & _TO_A_STREAM and streams):
        return _Use("message", name)
    if names & _PRINTS and (streams or not _has_stream(call)):
        flushes = any(arg.name == "flush" and arg.value != Literal(False) for arg in call.args)
        return _Use("message", name, flushes)
    if names & _HANDLERS and streams:
        return _Use("handler", name)
    if names & _CHILDREN and _inherits_stdout(call):
        return _Use("child", name)
    return None


def _is_one_of(context: RuleContext, function: Function, expr: Expr, streams: frozenset[str]) -> bool:
    return not streams.isdisjoint(context.qualified_names(function, expr))


def _has_stream(call: Call) -> bool:
    """Whether a print goes elsewhere, or may."""
    return any(
        arg.star == "**" or (arg.name in ("file", "stream") and arg.value != Literal(None))
        for arg in call.args
    )


def _inherits_stdout(call: Call) -> bool:
    """Whether a child process writes to the component's stdout, unless it writes nothing."""
    redirects = any(
        arg.star or arg.name == "capture_output" or (arg.name == "stdout" and arg.value != Literal(None))
        for arg in call.args
    )
    command = call.args[0].value if call.args else None
    return not redirects and not (
        isinstance(command, Literal) and isinstance(command.value, str) and ">" in command.value
    )


# ---- the code that the process runs ----


def _methods(context: RuleContext, *kinds: EntryKind) -> list[Function]:
    names = [entry.method for entry in context.role.entries if entry.kind in kinds]
    if EntryKind.INIT in kinds:
        names.append("__init__")
    methods = (context.component.method(name) for name in names)
    return [method for method in methods if method is not None]


def _top_level(context: RuleContext, body: Function) -> list[Step]:
    """The steps of a file that run when it is imported, or when it runs as the component's script."""
    steps = body.cfg.steps
    calls = calls_by_result(body).values()
    is_script = any(context.component.cls in context.resolve(body, call.func) for call in calls)
    tests = (
        index
        for index, step in enumerate(steps)
        if isinstance(step.op, Test) and step.op.condition in _IS_MAIN
    )
    closed = [] if is_script else [(index, EdgeKind.TRUE) for index in tests]
    return [steps[index] for index in sorted(reachable(body, [ENTRY], closed))]
