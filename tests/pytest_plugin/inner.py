"""Test files as our users write them, run by pytester inside our own tests."""

import textwrap

import pystorm  # noqa: F401
import pytest

# Imported once here, not again in every inner run:
import ackdoctor.lint.analysis
import ackdoctor.lint.run
import ackdoctor.lint.select
import ackdoctor.pytest_plugin.fixture
import ackdoctor.pytest_plugin.hooks
import ackdoctor.reporters.terminal
import ackdoctor.tracer.findings  # noqa: F401
from ackdoctor import checks
from ackdoctor.lint import analysis
from ackdoctor.lint.project import Source

checks.load()
analysis.lower("python", Source("", "", "", is_package=False), b"")

__all__ = ["BOLTS", "finding", "letters", "section", "shorts", "write"]

BOLTS = '''\
"""Faulty and healthy bolts, and the harness of pystorm's tests."""

import json
from io import BytesIO

from pystorm.bolt import BatchingBolt, Bolt


class Healthy(Bolt):
    def process(self, tup):
        self.emit(tup.values)


class Forgets(Bolt):
    auto_ack = False

    def process(self, tup):
        self.emit(tup.values)


class Twice(Bolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        self.ack(tup)


class ByHandToo(Bolt):
    def process(self, tup):
        self.ack(tup)


class Keeps(Bolt):
    auto_ack = False

    def initialize(self, conf, context):
        self.kept = []

    def process(self, tup):
        self.kept.append(tup)

    def flush(self):
        while self.kept:
            self.ack(self.kept.pop())


def make(bolt_class, count=1):
    frames = [
        {"id": str(n), "comp": "words", "stream": "default", "task": 1, "tuple": ["the"]}
        for n in range(1, count + 1)
    ]
    lines = "".join(json.dumps(frame) + "\\nend\\n" for frame in frames)
    bolt = bolt_class(input_stream=BytesIO(lines.encode()), output_stream=BytesIO(), rdb_signal=None)
    bolt.initialize({}, {})
    return bolt


def drive(bolt_class, count=1):
    bolt = make(bolt_class, count)
    for _ in range(count):
        bolt._run()
    return bolt


class Hoards(Bolt):
    auto_ack = False

    def initialize(self, conf, context):
        self.kept = []

    def process(self, tup):
        self.kept.append(tup)
'''


def write(pytester, source, name="test_bolts.py"):
    """A test file beside `bolts.py`."""
    (pytester.path / "bolts.py").write_text(BOLTS)
    text = "import pytest\nfrom bolts import *\n" + textwrap.dedent(source)
    (pytester.path / name).write_text(text)


def letters(result: pytest.RunResult) -> str:
    """Return the progress line: ".A"."""
    line: str = next(line for line in result.outlines if line.startswith("test_bolts.py "))
    return line.split()[1]


def section(result: pytest.RunResult, title: str = "ackdoctor") -> list[str]:
    """The lines under the last `==== title ====` of an inner run."""
    lines = result.outlines
    start = max(n for n, line in enumerate(lines) if line.strip("= ") == title)
    end = next(n for n in range(start + 1, len(lines)) if lines[n].startswith("==="))
    return lines[start + 1 : end]


def finding(result: pytest.RunResult, test: str) -> list[str]:
    """The lines of the `---- ackdoctor ----` section of a failed test."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if line.strip("_ ") == test)
    start = next(n for n in range(start, len(lines)) if lines[n].strip("- ") == "ackdoctor")
    end = next(n for n in range(start + 1, len(lines)) if lines[n][:3] in {"===", "___", "---"})
    return lines[start + 1 : end]


def shorts(result) -> list[str]:
    """Return the lines of the short test summary, as far as the terminal shows them."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if line.strip("= ") == "short test summary info")
    return [line.partition(" - ")[0] for line in lines[start + 1 : -1]]
