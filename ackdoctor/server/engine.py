"""The thread that lints: jobs run one after the other, and each can be stopped."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ackdoctor.lint.memory import Stopped

__all__ = ["Engine", "Stopped"]

T = TypeVar("T")


class Engine:
    """Runs jobs in one thread, beside the event loop.  A stopped job raises `Stopped` where it is awaited."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "ackdoctor")
        self._jobs: dict[
            threading.Event, tuple[bool, bool]
        ] = {}  # waiting or running: until_change, in_background

    async def run(
        self,
        job: Callable[[Callable[[], None]], T],
        *,
        until_change: bool = False,
        in_background: bool = False,
    ) -> T:
        """Run a job with a function that ends it once it is unwanted.

        It is unwanted if its task was cancelled, with `until_change` if a text changed, and `in_background` also if
        another job waits for it.
        """
        if not in_background:
            self._stop(1)
        stopped = threading.Event()

        def stop() -> None:
            if stopped.is_set():
                raise Stopped

        def work() -> T:
            stop()
            return job(stop)

        self._jobs[stopped] = (until_change, in_background)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except asyncio.CancelledError:
            stopped.set()
            raise
        finally:
            del self._jobs[stopped]

    def changed(self) -> None:
        """Stop the jobs whose results a change makes useless."""
        self._stop(0)

    def _stop(self, which: int) -> None:
        for stopped, kinds in self._jobs.items():
            if kinds[which]:
                stopped.set()

    def close(self) -> None:
        """Stop all jobs."""
        for stopped in self._jobs:
            stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
