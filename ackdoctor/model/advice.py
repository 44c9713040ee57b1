"""What to do instead of a mistake, for every kind of evidence alike: the words that depend on the framework.

An advice must leave no tuple open, lose none, complete none twice and end no worker; where it may end one, it says so.
tests/advice runs each of them.
"""

from ackdoctor.model.dialect import Role, TickDuty

__all__ = [
    "behind_try",
    "complete_by_hand",
    "emit_off_thread",
    "fail_as_well",
    "fail_instead",
    "go_on",
    "test_tick",
]


def complete_by_hand(role: Role, *, call: bool = True) -> str:
    """How to end a completion that the framework repeats; `call`: the call by hand may also simply go."""
    if not role.by_hand:
        return "remove this call"
    return f"remove this call, or {role.by_hand}" if call else role.by_hand


def fail_instead(role: Role, *, raising: bool) -> str:
    """How to fail a tuple that the framework acks; `raising`: an exception does it and the component lives on."""
    if role.to_fail or raising:
        return f"{role.to_fail or 'raise an exception'} instead: the framework fails the tuple and the worker goes on"
    return complete_by_hand(role, call=False)


def fail_as_well(role: Role, tup: str, *, auto_ack: bool, raising: bool) -> str:
    """How to fail a tuple whose work has failed, where the code acks it or lets the framework ack it."""
    if not auto_ack:
        return f"fail {tup} here, and ack it only where its work was done"
    if role.to_fail or raising:
        return (
            f"{role.to_fail or 'raise an exception'} here: the framework fails {tup} and the worker goes on"
        )
    by_hand = role.by_hand or "complete each tuple by hand"
    return f"{by_hand}: fail {tup} here, and ack it only where its work was done"


def go_on(*, alone: bool) -> str:
    """Where to go from the first of two completions; `alone`: the handler has no other tuple."""
    return "return after" if alone else "go on with the next tuple after"


def behind_try(tup: str, catch: str) -> str:
    """Where to put an ack that a `finally` gives while an exception leaves."""
    return f"ack {tup} behind the `try` and fail it in `{catch}`: an exception that leaves ends the worker"


def emit_off_thread(role: Role, *, auto_ack: bool) -> str:
    """How to emit what another thread has worked out, where the framework would guess the anchors."""
    if auto_ack:
        return f"do the work in the handler; or {role.by_hand}, put the result into a queue, and emit and ack at a later tick"
    return "name the anchors and ack them after this emit; or put the result into a queue and emit it at a later tick"


def test_tick(role: Role, *, auto_ack: bool) -> str:
    """What a handler that reads every tuple as data must do with a tick."""
    duty = role.discipline.tick
    if duty is TickDuty.REQUIRED or (duty is TickDuty.AUTO and not auto_ack):
        return "test for the tick first, ack it and return"
    return "test for the tick first and return"
