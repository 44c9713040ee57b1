"""Lints the first path to have everything imported, then each other path; prints CPU seconds for each of those."""

import contextlib
import io
import runpy
import sys
import time


def lint(path: str) -> None:
    """The whole command, in this process."""
    sys.argv = ["ackdoctor", "lint", "--isolated", "--no-cache", "--exit-zero", "--jobs", "1", path]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        runpy.run_module("ackdoctor", run_name="__main__", alter_sys=True)


warm, *rest = sys.argv[1:]
lint(warm)
for each in rest:
    start = time.process_time()
    lint(each)
    print(time.process_time() - start)
