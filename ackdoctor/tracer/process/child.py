"""A command run in our place: the signals that reach us reach it, and its exit code is ours."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from subprocess import Popen

__all__ = ["KILLED", "exit_code", "forwarding", "start"]

_CANNOT_RUN, _NOT_FOUND, KILLED = 126, 127, 128  # as a shell says it

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")  # a terminal sends these to the whole group by itself
_ALL = {signal.Signals[name] for name in (*_FORWARDED, *_FROM_TERMINAL)}


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ALL)


def exit_code(status: int) -> int:
    """What a shell and the JVM make of a status: 128 and the signal for a process that was killed."""
    return KILLED - status if status < 0 else status


@contextmanager
def forwarding(process: "Popen[bytes]") -> Iterator[None]:
    """Hand our signals on; those that we were started to ignore stay ignored."""
    names = _FORWARDED if _terminal() else (*_FORWARDED, *_FROM_TERMINAL)
    before = {}
    for name in (*_FORWARDED, *_FROM_TERMINAL):
        number = signal.Signals[name]
        old = signal.getsignal(number)
        if old != signal.SIG_IGN:
            hand_on: Callable[[int, object], None] = lambda number, _: process.send_signal(number)  # noqa: E731
            before[number] = old
            signal.signal(number, hand_on if name in names else lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ALL)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def start(argv: Sequence[str], **how: object) -> "Popen[bytes] | tuple[int, str]":
    """The running command, or the exit code and the reason why it does not run.

    Our signals wait until `forwarding`, so that none is lost while there is nobody to hand it to.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
    how["preexec_fn"] = _unblock
    try:
        return Popen(argv, close_fds=False, **how)  # type: ignore[call-overload, no-any-return] # noqa: S603
    except FileNotFoundError as error:
        _unblock()
        return _NOT_FOUND, f"{error.filename}: {error.strerror}"
    except OSError as error:
        _unblock()
        return _CANNOT_RUN, f"{argv[0]}: {error.strerror or error}"
