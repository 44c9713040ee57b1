"""Prices and advice that depend on the framework, shared by lint, traces and heaps.

Advice leaves no tuple open, loses none, completes none twice and ends no worker; if it may end one, it says so.
`tests/advice` applies each of them.
"""

from ackdoctor.model.dialect import Discipline, Misuse, Price, Role, TickDuty
from ackdoctor.model.finding import Severity

_SEVERITIES = {
    Price.KILL: Severity.ERROR,
    Price.LEAK: Severity.ERROR,
    Price.TIMEOUT: Severity.ERROR,
    Price.ZOMBIE: Severity.ERROR,
    Price.ERROR: Severity.ERROR,
    Price.LOSS: Severity.WARNING,
    Price.EXIT: Severity.WARNING,
    Price.NOTHING: Severity.INFO,
}


_TREE_PRICES = frozenset({Price.TIMEOUT, Price.ZOMBIE, Price.LOSS, Price.NOTHING})


def severity(discipline: Discipline, misuse: Misuse) -> Severity:
    """Return how bad a misuse is: the worst of its prices; never an error if acking is opt-in."""
    worst = max(_SEVERITIES[price] for price in discipline.prices.get(misuse, (Price.NOTHING,)))
    return min(worst, Severity.WARNING) if discipline.advisory else worst


def reaches_system(discipline: Discipline, misuse: Misuse) -> bool:
    """Whether a misuse costs anything for a tick, which has no tree that could time out or be lost."""
    return not _TREE_PRICES.issuperset(discipline.prices.get(misuse, ()))


def clause(discipline: Discipline, misuse: Misuse) -> str:
    """Return the consequence of a misuse, as one clause."""
    return discipline.notes.get(misuse, Price.NOTHING.value)


def complete_by_hand(role: Role, *, call: bool = True) -> str:
    """How to avoid a completion that the framework repeats; with `call` the explicit call may also be removed."""
    if not role.by_hand:
        return "remove this call"
    return f"remove this call, or {role.by_hand}" if call else role.by_hand


def fail_instead(role: Role, *, raising: bool) -> str:
    """How to fail a tuple that the framework acks; `raising`: an exception fails it and the component lives on."""
    if role.to_fail or raising:
        return f"{role.to_fail or 'raise an exception'} instead: the framework fails the tuple and the worker goes on"
    return complete_by_hand(role, call=False)


def fail_as_well(role: Role, tup: str, *, auto_ack: bool, raising: bool) -> str:
    """How to fail a tuple whose work failed, if the code or the framework acks it."""
    if not auto_ack:
        return f"fail {tup} here, and ack it only where its work was done"
    if role.to_fail or raising:
        return (
            f"{role.to_fail or 'raise an exception'} here: the framework fails {tup} and the worker goes on"
        )
    by_hand = role.by_hand or "complete each tuple by hand"
    return f"{by_hand}: fail {tup} here, and ack it only where its work was done"


def leave_first(*, alone: bool) -> str:
    """How to leave after the first of two completions; `alone`: the handler has no other tuple."""
    return "return after" if alone else "continue with the next tuple after"


def ack_after_try(tup: str, catch: str) -> str:
    """Where to put an ack that a `finally` gives while an exception leaves."""
    return f"ack {tup} after the `try` and fail it in `{catch}`: an exception that leaves ends the worker"


def complete_on_framework_thread() -> str:
    """How to complete a tuple whose work was done on another thread."""
    return "put the result into a queue and complete the tuple at a later tick, on the framework's thread"


def emit_off_thread(role: Role, *, auto_ack: bool) -> str:
    """How to emit the result of another thread, if the framework would choose the anchors."""
    if auto_ack:
        return f"do the work in the handler; or {role.by_hand}, put the result into a queue, and emit and ack at a later tick"
    return "name the anchors and ack them after this emit; or put the result into a queue and emit it at a later tick"


def test_tick(role: Role, *, auto_ack: bool) -> str:
    """What a handler that reads every tuple as data must do with a tick."""
    duty = role.discipline.tick
    if duty is TickDuty.REQUIRED or (duty is TickDuty.AUTO and not auto_ack):
        return "test for the tick first, ack it and return"
    return "test for the tick first and return"
