"""ACK206: the component writes to stdout, the pipe that carries its messages to Storm."""

from collections.abc import Iterator

from ackdoctor.checks.facts.dataflow import reachable
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.cfg import ENTRY, Call, Compare, EdgeKind, Expr, Function, Global, Literal, Step, Test
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding, Severity

__all__ = ["check"]

_STDOUT = frozenset(("sys.stdout", "sys.__stdout__", "sys.stdout.buffer"))
_PRINTS = frozenset(("print", "builtins.print"))
_WRITES = frozenset(f"{stream}.{verb}" for stream in _STDOUT for verb in ("write", "writelines"))
_IS_MAIN = (Global("__name__"), Literal("__main__"))


def check(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each call that writes to stdout and that the component's process may run."""
    if not context.discipline.stdout_is_pipe:
        return
    for function, step in _reachable_steps(context):
        if not isinstance(step.op, Call) or _redirected(context, function):
            continue
        name = _writes(context, function, step.op)
        if name:
            yield context.finding(
                context.words(call=name, component=context.component.name),
                at=(function, step.span),
                misuse=Misuse.STDOUT,
                severity=Severity.WARNING,
            )


def _redirected(context: RuleContext, function: Function) -> bool:
    return context.dialect.python2_logs_stdout and context.program.units[function.path].python2


def _writes(context: RuleContext, function: Function, call: Call) -> str:
    """Return the name of a call that writes to stdout; "" for any other call."""
    names = {symbol for symbol in context.resolve(function, call.func) if isinstance(symbol, str)}
    if names & _WRITES:
        return min(names & _WRITES)
    if not names & _PRINTS:
        return ""
    for arg in call.args:
        if arg.star == "**" or (arg.name == "file" and not _is_stdout(context, function, arg.value)):
            return ""
    return "print"


def _is_stdout(context: RuleContext, function: Function, expr: Expr) -> bool:
    return expr == Literal(None) or any(symbol in _STDOUT for symbol in context.resolve(function, expr))


# ---- the code that the process runs ----


def _reachable_steps(context: RuleContext) -> Iterator[tuple[Function, Step]]:
    """Yield every step that the component's process may run in its own files: methods, their callees and the top level."""
    bodies = {cls.path: context.program.units[cls.path].body for cls in context.component.lineage}
    todo = [*context.functions()]
    seen = {id(function) for function in todo}
    steps: list[tuple[Function, Step]] = [
        (function, step) for function in todo for step in function.cfg.steps
    ]
    for body in bodies.values():
        steps += [(body, step) for step in _top_level(context, body)]
    while steps:
        function, step = steps.pop(0)
        yield function, step
        if isinstance(step.op, Call):
            for symbol in context.resolve(function, step.op.func):
                if isinstance(symbol, Function) and symbol.path == function.path and id(symbol) not in seen:
                    seen.add(id(symbol))
                    steps += [(symbol, inner) for inner in symbol.cfg.steps]


def _top_level(context: RuleContext, body: Function) -> list[Step]:
    """The steps of a file that run when it is imported, or when it runs as the component's script."""
    steps = body.cfg.steps
    main = {(index, EdgeKind.TRUE) for index, step in enumerate(steps) if _tests_for_main(step)}
    closed = frozenset() if _is_script(context, body) else frozenset(main)
    return [steps[index] for index in sorted(reachable(body, [ENTRY], closed))]


def _tests_for_main(step: Step) -> bool:
    match step.op:
        case Test(condition=Compare(left=left, op="==", right=right)):
            return _IS_MAIN in ((left, right), (right, left))
        case _:
            return False


def _is_script(context: RuleContext, body: Function) -> bool:
    """Whether the file creates the component when it runs as a script."""
    makes = (step.op for step in body.cfg.steps if isinstance(step.op, Call))
    return any(context.component.cls in context.resolve(body, call.func) for call in makes)
