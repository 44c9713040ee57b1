"""Below `ackdoctor trace run` this process is traced already: each test's rows get its name, and are judged by themselves.

Without that, what one test leaves open is completed by the next one that uses the same ids, and its mocks hide that one's acks.
"""

import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from ackdoctor.pytest_plugin.watch import wait

if TYPE_CHECKING:
    from ackdoctor.tracer.instrument.install import Installation
    from ackdoctor.tracer.trace.write import Recorder

__all__ = ["Apart"]

_PATIENCE_S = 0.5  # that threads have after a test, as by default under `--ackdoctor`


class Apart:
    """Ends the books of all components where a test begins and where it ends."""

    def __init__(self, installation: "Installation", recorder: "Recorder") -> None:
        self._installation = installation
        self._recorder = recorder
        self._threads = set(threading.enumerate())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """What components receive meanwhile is this test's."""
        self._turn(item.nodeid)
        try:
            return (yield)
        finally:
            wait(self._installation.ledger, self._threads, _PATIENCE_S)
            self._turn("")

    def _turn(self, test: str) -> None:
        """The last rows of the books are still those of the test before."""
        self._installation.ledger.settle()
        self._installation.mend()
        self._recorder.test = test
