"""Which call a local, mostly a temporary, is the result of."""

from collections.abc import Mapping

from ackdoctor.flow.graph.once import once
from ackdoctor.model.cfg import Call, Expr
from ackdoctor.model.component import Function

__all__ = ["calls_by_result"]


@once
def calls_by_result(function: Function) -> Mapping[Expr, Call]:
    """Every call of a function, by its result."""
    return {step.op.result: step.op for step in function.cfg.steps if isinstance(step.op, Call)}
