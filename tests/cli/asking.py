"""A command asked in a process of its own, which tells whether it got its last answer again."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ackdoctor.cli.again import VARIABLES

LINT = ("lint", "bolts", "--output-format", "concise")


class Ran(NamedTuple):
    """What a command left behind, and whether it was answered before typer was imported."""

    code: int
    out: str
    err: str
    repeated: bool


def run(where: Path, *arguments: str, stdin: bytes = b"", **variables: str) -> Ran:
    """The command in a process of its own, which tells what it imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ackdoctor", *arguments],
        cwd=where,
        input=stdin,
        env=environment(variables),
        capture_output=True,
        check=False,
    )
    lines = done.stderr.decode().splitlines(keepends=True)
    err = "".join(line for line in lines if not line.startswith("import time:"))
    imported = any(line.endswith(" typer\n") for line in lines)
    return Ran(done.returncode, done.stdout.decode(), err, not imported)


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**plain, **variables}


def settle() -> None:
    """Waits until what was written is old enough to be trusted."""
    time.sleep(0.15)
