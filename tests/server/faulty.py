"""The server with a check that crashes on bolts called Crash, and takes its time over those called Slow."""

import sys
import time
from collections.abc import Callable, Iterable

from ackdoctor import checks
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.finding import Finding
from ackdoctor.server.features import serve

_check = checks.check_component


def _faulty(context: RuleContext, fail: Callable[[str, Exception], None]) -> Iterable[Finding]:
    if context.component.name.startswith("Crash"):
        raise ZeroDivisionError("a fault of ours")
    if context.component.name.startswith("Slow"):
        time.sleep(0.2)
    return _check(context, fail)


checks.check_component = _faulty  # type: ignore[assignment]
serve(sys.stdout.buffer)
