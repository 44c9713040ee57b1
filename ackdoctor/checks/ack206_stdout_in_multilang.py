"""ACK206: the component writes to stdout, the pipe that carries its messages to Storm."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import reachable
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.expressions import calls_by_result
from ackdoctor.model.cfg import ENTRY, Call, Compare, EdgeKind, Expr, Function, Global, Literal, Step, Test
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding, Severity

_STDOUT = frozenset(("sys.stdout", "sys.__stdout__", "sys.stdout.buffer"))
_PRINTS = frozenset(("print", "builtins.print"))
_WRITES = frozenset(f"{stream}.{verb}" for stream in _STDOUT for verb in ("write", "writelines"))
_IS_MAIN = (
    Compare(Global("__name__"), "==", Literal("__main__")),
    Compare(Literal("__main__"), "==", Global("__name__")),
)


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each call that writes to stdout and that the component's process may run."""
    if not context.discipline.stdout_is_pipe:
        return
    for function, step in _steps_that_run(context):
        python2 = context.program.units[function.path].python2
        if not isinstance(step.op, Call) or (context.dialect.python2_logs_stdout and python2):
            continue
        name = _writes(context, function, step.op)
        if name:
            words = context.words(call=name, component=context.component.name)
            at = (function, step.span)
            yield context.finding(words, Misuse.STDOUT, at, severity=Severity.WARNING)


def _writes(context: RuleContext, function: Function, call: Call) -> str:
    """Return the name of a call that writes to stdout; "" for any other call."""
    names = context.qualified_names(function, call.func)
    if names & _WRITES:
        return min(names & _WRITES)
    for arg in call.args:
        if arg.star == "**" or (arg.name == "file" and not _is_stdout(context, function, arg.value)):
            return ""
    return "print" if names & _PRINTS else ""


def _is_stdout(context: RuleContext, function: Function, expr: Expr) -> bool:
    return expr == Literal(None) or not _STDOUT.isdisjoint(context.qualified_names(function, expr))


# ---- the code that the process runs ----


def _steps_that_run(context: RuleContext) -> Iterator[tuple[Function, Step]]:
    """Yield every step that the component's process may run in its own files: methods, their callees and the top level."""
    seen = {*context.functions}
    steps = [(function, step) for function in context.functions for step in function.cfg.steps]
    for body in {
        cls.path: context.program.units[cls.path].body for cls in context.component.lineage
    }.values():
        steps += [(body, step) for step in _top_level(context, body)]
    for function, step in steps:  # the list grows during the loop
        yield function, step
        for symbol in context.resolve(function, step.op.func) if isinstance(step.op, Call) else ():
            if isinstance(symbol, Function) and symbol.path == function.path and symbol not in seen:
                seen.add(symbol)
                steps += [(symbol, inner) for inner in symbol.cfg.steps]


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
