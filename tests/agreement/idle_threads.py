"""Wait until the threads of a component have ended or are idle."""

import sys
import time
from collections.abc import Iterable
from threading import Thread
from types import FrameType

__all__ = ["wait_until_idle"]

_POLL_S = 0.0005


def wait_until_idle(threads: Iterable[Thread], limit_s: float) -> None:
    """Return when all of these threads are idle, or after `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        frames = sys._current_frames()
        if all(_is_idle(frames.get(thread.ident or 0)) for thread in threads if thread.is_alive()):
            return
        time.sleep(_POLL_S)


def _is_idle(frame: FrameType | None) -> bool:
    """Whether the innermost function of a thread waits for work."""
    if frame is None:  # it has just ended, or has not started
        return False
    variables = frame.f_locals
    match frame.f_globals.get("__name__"), frame.f_code.co_name:
        case "threading", "wait":  # a Condition: of a queue, an event or a timer
            return "waiter" in variables and variables["waiter"] in variables["self"]._waiters
        case (
            "concurrent.futures.thread",
            "_worker",
        ):  # since 3.13, the current work item may be in no variable
            executor = variables["executor_reference"]()
            idle = executor is None or executor._idle_semaphore._value >= len(executor._threads)
            return idle and variables["work_queue"].empty() and variables.get("work_item") is None
        case ("selectors", "select") | ("multiprocessing.pool", _):
            return True
    return False
