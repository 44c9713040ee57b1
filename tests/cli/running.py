"""Runs the command in this process, as a shell would see it."""

import sys
from typing import NamedTuple

import pytest

from ackdoctor.cli import main

BOLT = """from streamparse import Bolt


class EnrichBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        if not tup.values[0]:
            return
        self.ack(tup)
"""
CLEAN = BOLT.replace("            return\n", "            self.fail(tup)\n            return\n")


class Outcome(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


class Shell:
    """Commands typed in the current directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["ackdoctor", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = self._capsys.readouterr()
        code = end.value.code
        return Outcome(
            code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err
        )
