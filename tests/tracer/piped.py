"""Components behind the proxy, and the rows of their trace."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer.trace_reader import read

__all__ = ["ECHO", "command", "frame", "python", "ran", "row_summaries", "rows"]

ECHO = """
import os, sys
while data := os.read(0, 65536):
    while data:
        data = data[os.write(1, data):]
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""
PROXY = """
import sys
from pathlib import Path
from ackdoctor.tracer import proxy
def crash(*_): raise RuntimeError("a bug of ours")
def stall(passing, *_):
    import time
    time.sleep(30)
def killed(passing, *_):
    import os, signal
    for chunk in passing:
        os.kill(os.getpid(), signal.SIGKILL)
def die(*_):
    import os
    os._exit(3)
watch = {"observe": proxy.observe, "crash": crash, "stall": stall, "killed": killed, "die": die}[sys.argv[1]]
proxy._PATIENCE = 0.2 if watch is stall else 10
sys.exit(proxy.proxy(sys.argv[3:], Path(sys.argv[2]), run="r", watch=watch))
"""


def command(directory: Path, *argv: str, watch: str = "observe") -> list[str]:
    return [sys.executable, "-c", PROXY, watch, str(directory), *argv]


def python(script: str, *argv: str) -> list[str]:
    return [sys.executable, "-c", script, *argv]


def ran(argv: list[str], **how: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(argv, check=False, capture_output=True, timeout=60, **how)


def rows(directory: Path) -> list[Event]:
    reading = read([directory])
    found = list(reading.events())
    assert reading.unreadable == []
    return found


def row_summaries(directory: Path) -> list[tuple[EventKind, str, str]]:
    return [(row.kind, row.delivery, row.note) for row in rows(directory)]


def frame(*messages: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\nend\n" for each in messages)
