"""The traces of tests on disk: of those that fail, or of all."""

import errno
import os
from pathlib import Path
from uuid import uuid4

import pytest

from ackdoctor.pytest_plugin.options import Options
from ackdoctor.tracer.disk.recorder import Recorder
from ackdoctor.tracer.disk.recover import recover
from ackdoctor.tracer.disk.segments import Stem, parts, wals
from ackdoctor.tracer.disk.wal import possess

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
        self.recorder.test = self.recorder.code(test)
        self._dropped = self.recorder.dropped

    def end(self, *, failed: bool) -> tuple[str, ...]:
        """Rows from here on are no test's; those of a test that passed go unless all are kept.  Says what is missing."""
        self._part(keep=failed)
        self.recorder.test = 0
        missing = self.recorder.dropped - self._dropped
        if not missing or not (failed or self._all):
            return ()
        return (f"its trace lacks {missing} {'row' if missing == 1 else 'rows'}, which could not be written",)

    def close(self) -> None:
        """Nothing is left in memory."""
        self._part(keep=False)
        self.recorder.close()
        if self.recorder.folder.is_dir():
            recover(self.recorder.folder)

    def _part(self, *, keep: bool) -> None:
        """Ends a stretch of rows, which stay or go."""
        if self._all:
            return  # parts may span tests
        self.recorder.roll()
        folder = self.recorder.folder
        mine = {path for stem, path in parts(folder) if stem.pid == os.getpid()} if folder.is_dir() else set()
        live = list(wals(folder))
        if keep:
            self._kept |= mine | {path for _, path in live}
        for path in mine - self._kept:
            path.unlink(missing_ok=True)
        for stem, path in live:
            if path not in self._kept:
                _forget(folder, stem, path)


def _forget(folder: Path, stem: Stem, wal: Path) -> None:
    """Removes what a child of ours has written that is dead: multiprocessing's leave by `os._exit`."""
    with possess(wal) as dead:
        if dead:
            wal.unlink(missing_ok=True)
            stem.codes(folder).unlink(missing_ok=True)


def _need_writable(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"{directory}: no traces can be written there: {error.strerror}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise pytest.UsageError(f"{directory}: no traces can be written there: {os.strerror(errno.EACCES)}")
