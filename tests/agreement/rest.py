"""Waits for the threads that a component has started, until each has ended or waits for work that nobody has given."""

import sys
import time
from collections.abc import Iterable
from threading import Thread
from types import FrameType

__all__ = ["wait_for_rest"]

_LOOK_S = 0.0005


def wait_for_rest(threads: Iterable[Thread], limit_s: float) -> None:
    """Returns when none of them is at work, or after `limit_s`."""
    late = time.monotonic() + limit_s
    while time.monotonic() < late:
        frames = sys._current_frames()
        if all(_rests(frames.get(thread.ident or 0)) for thread in threads if thread.is_alive()):
            return
        time.sleep(_LOOK_S)


def _rests(frame: FrameType | None) -> bool:
    """By what a thread's innermost function waits for."""
    if frame is None:  # it has just ended, or has not begun
        return False
    mine = frame.f_locals
    match frame.f_globals.get("__name__"), frame.f_code.co_name:
        case "threading", "wait":  # a Condition's: of a queue, an event, a timer
            return "waiter" in mine and mine["waiter"] in mine["self"]._waiters
        case (
            "concurrent.futures.thread",
            "_worker",
        ):  # since 3.13 work in hand may be in no queue and no variable
            executor = mine["executor_reference"]()
            idle = executor is None or executor._idle_semaphore._value >= len(executor._threads)
            return idle and mine["work_queue"].empty() and mine.get("work_item") is None
        case ("selectors", "select") | ("multiprocessing.pool", _):
            return True
    return False
