"""The traces of tests on disk: of those that fail, or of all."""

import errno
import os
from pathlib import Path
from uuid import uuid4

import pytest

from ackdoctor.pytest_plugin.options import Options
from ackdoctor.tracer.trace.files import live_files, lock, parts
from ackdoctor.tracer.trace.write import Recorder, finish_killed

__all__ = ["Files"]


class Files:
    """One recorder for this process; a test's rows carry its node id, and a part ends where a test does.

    UsageError for a folder that takes no file: the recorder would only count what it cannot write.
    """

    def __init__(self, config: pytest.Config, options: Options) -> None:
        worker = getattr(config, "workerinput", {})  # under xdist
        directory = options.trace_dir or config.rootpath
        _need_writable(directory)
        self.recorder = Recorder(
            directory,
            run=worker.get("testrunuid") or uuid4().hex,
            worker=worker.get("workerid", "main"),
        )
        self._all = options.trace_keep == "all"
        self._kept: set[Path] = set()
        self._dropped = 0

    def begin(self, test: str) -> None:
        """Rows from here on are this test's."""
        self._part(keep=False)
        self.recorder.test = test
        self._dropped = self.recorder.dropped

    def end(self, *, failed: bool) -> tuple[str, ...]:
        """Rows from here on are no test's; those of a test that passed go unless all are kept.  Says what is missing."""
        self._part(keep=failed)
        self.recorder.test = ""
        missing = self.recorder.dropped - self._dropped
        if not missing or not (failed or self._all):
            return ()
        return (f"its trace lacks {missing} {'row' if missing == 1 else 'rows'}, which could not be written",)

    def close(self) -> None:
        """Nothing is left in memory."""
        self._part(keep=False)
        self.recorder.close()
        if self.recorder.folder.is_dir():
            finish_killed(self.recorder.folder)

    def _part(self, *, keep: bool) -> None:
        """Ends a stretch of rows, which stay or go."""
        if self._all:
            return  # parts may span tests
        if keep:
            self.recorder.roll()
        else:
            self.recorder.discard()
        folder = self.recorder.folder
        mine = {path for stem, path in parts(folder) if stem.pid == os.getpid()}
        live = {path for _, path in live_files(folder)}
        if keep:
            self._kept |= mine | live
        for path in mine - self._kept:
            path.unlink(missing_ok=True)
        for path in live - self._kept:
            with lock(path) as was_killed:  # a child of the test; multiprocessing's end by `os._exit`
                if was_killed:
                    path.unlink(missing_ok=True)


def _need_writable(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"{directory}: no traces can be written there: {error.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise pytest.UsageError(f"{directory}: no traces can be written there: {os.strerror(errno.EACCES)}")
