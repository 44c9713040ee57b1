"""Consequences of a misuse and advice against it, by framework, for every kind of evidence.

The severity and the consequence follow from the prices in the dialect.  Advice must leave no tuple pending, lose none,
complete none twice and end no worker; if it may end one, it says so.  tests/advice runs each piece of advice.
"""

from ackdoctor.model.dialect import Discipline, Misuse, Price, Role, TickDuty
from ackdoctor.model.finding import Severity

__all__ = [
    "ack_after_try",
    "applies_to_system_tuples",
    "check_tick",
    "complete_by_hand",
    "consequence",
    "emit_off_thread",
    "fail_as_well",
    "fail_instead",
    "leave_after",
    "severity",
]

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


# ---- consequences ----


def severity(discipline: Discipline, misuse: Misuse) -> Severity:
    """The severity of the highest price of a misuse; at most WARNING in a framework with opt-in acking."""
    worst = max(_SEVERITIES[price] for price in discipline.prices.get(misuse, (Price.NOTHING,)))
    return min(worst, Severity.WARNING) if discipline.advisory else worst


def applies_to_system_tuples(discipline: Discipline, misuse: Misuse) -> bool:
    """Whether a misuse of a system tuple has a consequence: such a tuple has no tree that times out or is lost."""
    return not _TREE_PRICES.issuperset(discipline.prices.get(misuse, ()))


def consequence(discipline: Discipline, misuse: Misuse) -> str:
    """The consequence of a misuse as one clause of a message."""
    note = discipline.notes.get(misuse)
    if note is not None:
        return note
    return "; ".join(price.value for price in discipline.prices.get(misuse, (Price.NOTHING,)))


# ---- advice ----


def complete_by_hand(role: Role, *, call: bool = True) -> str:
    """Advice against a completion that the framework repeats; with `call`, removing the call also helps."""
    if not role.by_hand:
        return "remove this call"
    return f"remove this call, or {role.by_hand}" if call else role.by_hand


def fail_instead(role: Role, *, raising: bool) -> str:
    """Advice to fail a tuple that the framework acks; `raising`: an exception fails it and the component survives."""
    if role.to_fail or raising:
        return f"{role.to_fail or 'raise an exception'} instead: the framework fails the tuple and the worker goes on"
    return complete_by_hand(role, call=False)


def fail_as_well(role: Role, tup: str, *, auto_ack: bool, raising: bool) -> str:
    """Advice to fail a tuple whose processing failed, if the code or the framework acks it."""
    if not auto_ack:
        return f"fail {tup} here, and ack it only where its work was done"
    if role.to_fail or raising:
        return (
            f"{role.to_fail or 'raise an exception'} here: the framework fails {tup} and the worker goes on"
        )
    by_hand = role.by_hand or "complete each tuple by hand"
    return f"{by_hand}: fail {tup} here, and ack it only where its work was done"


def leave_after(*, alone: bool) -> str:
    """How to continue after the first of two completions; `alone`: the handler has no other tuple."""
    return "return after" if alone else "continue with the next tuple after"


def ack_after_try(tup: str, catch: str) -> str:
    """Advice against an ack in a `finally` that an exception also runs."""
    return f"ack {tup} after the `try` and fail it in `{catch}`: an exception that leaves ends the worker"


def emit_off_thread(role: Role, *, auto_ack: bool) -> str:
    """Advice for the result of another thread, if the framework would choose the anchors of the emit."""
    if auto_ack:
        return f"do the work in the handler; or {role.by_hand}, put the result into a queue, and emit and ack at a later tick"
    return "name the anchors and ack them after this emit; or put the result into a queue and emit it at a later tick"


def check_tick(role: Role, *, auto_ack: bool) -> str:
    """Advice for a handler that reads a tick as data."""
    duty = role.discipline.tick
    if duty is TickDuty.REQUIRED or (duty is TickDuty.AUTO and not auto_ack):
        return "test for the tick first, ack it and return"
    return "test for the tick first and return"
