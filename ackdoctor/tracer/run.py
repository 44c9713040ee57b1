"""`ackdoctor trace run -- COMMAND...`: every Python process that the command starts traces itself.

`run` puts a folder with our `sitecustomize.py` in front of PYTHONPATH. The interpreter imports it first; it calls
`begin` and then imports the sitecustomize that it hides. Processes started with -S, -I or -E, or with an environment of
their own, are not traced. The command gets our signals, and its exit code is ours.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from subprocess import Popen

from ackdoctor.tracer.install import Installation, install
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.recorder import Recorder, at_exit, finish_killed

_CANNOT_RUN, _NOT_FOUND, KILLED = 126, 127, 128  # as a shell says it

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")  # a terminal sends these to the whole group by itself
_ALL = {signal.Signals[name] for name in (*_FORWARDED, *_FROM_TERMINAL)}


VARIABLE = "ACKDOCTOR_TRACE"  # what a process below needs to know, as JSON

begun: list[tuple[Installation, Recorder]] = []
"""The tracer of this process, if it is traced; an import of `sitecustomize` cannot return it."""


def begin() -> str:
    """Trace this process; returns why that failed, or ''."""
    try:
        settings = json.loads(os.environ[VARIABLE])
        recorder = Recorder(
            Path(settings["directory"]),
            run=settings["run"],
            worker=os.uname().nodename,
            level=settings["level"],
        )
        ledger = Ledger(Level.named(settings["level"]))
        begun.append((install(ledger, recorder), recorder))
        at_exit(partial(_close, ledger))  # before the recorder is, which was made first
        for name in settings.get("observers", ()):
            import_module(name).attach(ledger, recorder.folder)
    except Exception as error:  # noqa: BLE001 - the command must run after any error of ours
        return f"{type(error).__name__}: {error}"
    return ""


def _close(ledger: Ledger) -> None:
    """The records' last rows: what was hidden from us."""
    for record in tuple(ledger.records.values()):
        record.close()


_FOLDER = Path(__file__).parent / "launched"


def run(
    argv: Sequence[str], directory: Path, level: Level, *, name: str = "", observers: Sequence[str] = ()
) -> int:
    """Run the command and every Python process below it under the tracer; its exit code, 128 + n for signal n.

    The files of killed processes are finished at the end; `name` is the run's.  `observers` are modules
    that each process imports, and whose `attach` gets its ledger and the folder of its trace.
    """
    name = name or name_of_run()
    process = start(argv, env=environment(os.environ, directory, level, name, observers))
    if isinstance(process, tuple):
        code, reason = process
        print(f"ackdoctor trace run: {reason}", file=sys.stderr)  # noqa: T201
        return code
    with forwarding(process):
        code = exit_code(process.wait())
    if directory.is_dir():
        finish_killed(directory)
    return code


def name_of_run() -> str:
    """A unique name: the time and our pid."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"


def environment(
    inherited: Mapping[str, str], directory: Path, level: Level, run: str, observers: Sequence[str] = ()
) -> dict[str, str]:
    """The environment in which Python processes trace themselves."""
    settings: dict[str, object] = {"directory": str(directory.resolve()), "run": run, "level": str(level)}
    if observers:
        settings["observers"] = list(observers)
    before = inherited.get("PYTHONPATH")
    return {
        **inherited,
        VARIABLE: json.dumps(settings),
        "PYTHONPATH": os.pathsep.join([str(_FOLDER), *([before] if before else [])]),
    }


# ---- the command and its signals ----


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ALL)


def exit_code(status: int) -> int:
    """The exit code of a status, as a shell reports it: 128 + n for signal n."""
    return KILLED - status if status < 0 else status


@contextmanager
def forwarding(process: "Popen[bytes]") -> Iterator[None]:
    """Pass our signals on to the command; signals that we were started to ignore stay ignored."""
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

    Signals are blocked until `forwarding`, so that none is lost before the command runs.
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
