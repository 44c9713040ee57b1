"""What is done at the end of a process that is traced: it ends as it would without us."""

import atexit
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["at_exit", "deaf"]


def at_exit(work: Callable[[], None]) -> Callable[[], None]:
    """Registers work that nothing interrupts; what is returned can be taken back with `atexit.unregister`.

    A second Ctrl-C is not heard meanwhile: the process is ending, and would only show where we were.
    """

    def ending() -> None:
        with deaf():
            work()
        if getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1"):
            _interrupted()

    return atexit.register(ending)


@contextmanager
def deaf() -> Iterator[None]:
    """Nobody hears a Ctrl-C that would raise in here."""
    before = signal.getsignal(signal.SIGINT)
    with suppress(ValueError):  # not in the thread that hears signals
        if callable(before):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        with suppress(ValueError):
            if callable(before):
                signal.signal(signal.SIGINT, before)


def _interrupted() -> None:
    """Has the interpreter die of the signal, as it does where nobody catches a KeyboardInterrupt.

    It keeps that in mind until the end, but forgets it with any text that is evaluated, such as a module's namedtuple
    (pythonrun.c, run_eval_code_obj@v3.11.7).
    """
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102
