"""Lint the first path to import everything, then print the CPU seconds of linting each other path."""

import contextlib
import io
import sys
import time

from ackdoctor.cli import main


def lint(path: str) -> None:
    """Run the whole command in this process."""
    sys.argv = ["ackdoctor", "lint", "--isolated", "--no-cache", "--exit-zero", "--jobs", "1", path]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()


warm, *rest = sys.argv[1:]
lint(warm)
for each in rest:
    start = time.process_time()
    lint(each)
    print(time.process_time() - start)
