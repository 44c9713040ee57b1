"""`ackdoctor trace run -- COMMAND...`: every Python process that the command starts traces itself.

A folder with a `sitecustomize.py` of ours goes in front of PYTHONPATH, and the interpreter imports it
before anything else; it hands on to the one that it hides.  Processes started with -S, -I or -E, or
with an environment of their own, do not see it and are not traced.
"""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ackdoctor.tracer.levels import Level
from ackdoctor.tracer.process.begin import VARIABLE
from ackdoctor.tracer.process.child import exit_code, forwarding, start
from ackdoctor.tracer.trace.write import finish_killed

__all__ = ["environment", "name_of_run", "run"]

_FOLDER = Path(__file__).parent / "launched"


def run(
    argv: Sequence[str], directory: Path, level: Level, *, name: str = "", observers: Sequence[str] = ()
) -> int:
    """Run the command and every Python process below it under the tracer; its exit code, 128 + n for signal n.

    The files of killed processes are finished at the end; `name` is the run's.  `observers` are modules
    that each process imports, and whose `attach` is given its ledger and the folder of its trace.
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
    """A name that no other run has: the time, and who we are."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"


def environment(
    given: Mapping[str, str], directory: Path, level: Level, run: str, observers: Sequence[str] = ()
) -> dict[str, str]:
    """The environment in which Python processes trace themselves."""
    said: dict[str, object] = {"directory": str(directory.resolve()), "run": run, "level": str(level)}
    if observers:
        said["observers"] = list(observers)
    before = given.get("PYTHONPATH")
    return {
        **given,
        VARIABLE: json.dumps(said),
        "PYTHONPATH": os.pathsep.join([str(_FOLDER), *([before] if before else [])]),
    }
