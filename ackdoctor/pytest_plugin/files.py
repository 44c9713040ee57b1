"""The traces of tests on disk: of those that fail, or of all."""

from pathlib import Path
from uuid import uuid4

import pytest

from ackdoctor.pytest_plugin.options import Options
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.segments import parts

__all__ = ["Files"]


class Files:
    """One recorder for this process; a test's rows carry its node id, and a part ends where a test does."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        worker = getattr(config, "workerinput", {})  # under xdist
        self.recorder = Recorder(
            options.trace_dir or config.rootpath,
            run=worker.get("testrunuid") or uuid4().hex,
            worker=worker.get("workerid", "main"),
        )
        self._all = options.trace_keep == "all"
        self._before: set[Path] = set()

    def begin(self, test: str) -> None:
        """Rows from here on are this test's."""
        if not self._all:
            self.recorder.roll()
            self._before = self._parts()
        self.recorder.test = self.recorder.code(test)

    def end(self, *, failed: bool) -> None:
        """Rows from here on are no test's; those of a test that passed are removed unless all are kept."""
        self.recorder.test = 0
        if not self._all:
            self.recorder.roll()
            for part in self._parts() - self._before if not failed else ():
                part.unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing is left in memory."""
        self.recorder.close()

    def _parts(self) -> set[Path]:
        folder = self.recorder.folder
        return {path for _, path in parts(folder)} if folder.is_dir() else set()
