"""One line completes a tuple twice in one handler call: in a loop, or in a method that is called twice."""

import ast
from textwrap import indent

import pytest

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import AccessKind
from ackdoctor.tracer.findings import findings
from ackdoctor.tracer.sites import may_loop
from tests.tracer.violations import call, touch, traced, violation

HELPER = "def _finish(self, tup):\n    self.ack(tup)\n"


def loops(process: str, *others: str) -> bool:
    """Whether the first `.ack(` may be in a loop, in a bolt whose `process` has this body."""
    body = "\n".join((*others, f"def process(self, tup):\n{indent(process, '    ')}"))
    source = f"class B(Bolt):\n{indent(body, '    ')}\n"
    line = source[: source.index(".ack(")].count("\n") + 1
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    (function,) = [f.name for f in functions if f.lineno <= line <= (f.end_lineno or 0)]
    return may_loop(module, line, function, "process")


@pytest.mark.parametrize(
    ("process", "others"),
    [
        ("for x in tup.values:\n    self.ack(tup)", ()),
        ("while self.more():\n    self.ack(tup)", ()),
        ("[self.ack(tup) for x in tup.values]", ()),
        ("for x in tup.values:\n    self._finish(tup)", (HELPER,)),
        ("for x in tup.values:\n    self._end(tup)", (HELPER, "def _end(self, t):\n    self._finish(t)\n")),
        ("list(map(self._finish, [tup, tup]))", (HELPER,)),
        ("self.helper.calls(tup)", (HELPER,)),
    ],
    ids=["for", "while", "comprehension", "helper in a loop", "two deep", "handed over", "called elsewhere"],
)
def test_a_possible_loop_is_a_loop(process, others):
    assert loops(process, *others)


@pytest.mark.parametrize(
    ("process", "others"),
    [
        ("self.ack(tup); self.ack(tup)", ()),
        ("self._finish(tup)\nself._finish(tup)", (HELPER,)),
        ("self._end(tup)\nself._finish(tup)", (HELPER, "def _end(self, t):\n    self._finish(t)\n")),
        ("for x in tup.values:\n    self.emit([x])\nself._finish(tup)\nself._finish(tup)", (HELPER,)),
        ("self._finish(tup)\nself._finish(tup)", (HELPER, "def _finish_all(self):\n    for x in y: x()\n")),
    ],
    ids=[
        "twice in a line",
        "helper twice",
        "by two ways",
        "a loop around something else",
        "a loop elsewhere",
    ],
)
def test_no_loop(process, others):
    assert not loops(process, *others)


def test_a_missing_line_may_be_in_a_loop():
    assert may_loop(ast.parse("x = 1\n"), 7, "process", "process")


def test_a_long_sum_beside_the_loop_is_read():
    source = f"def process(tup):\n    total = {' + '.join(['x'] * 1500)}\n    bolt.ack(tup); bolt.ack(tup)\n"
    assert not may_loop(ast.parse(source), 3, "process", "process")


def test_a_helper_that_is_called_twice_is_a_double_ack(tmp_path, places):
    source = (
        "from pystorm import Bolt\n\n\nclass SqlBolt(Bolt):\n    def process(self, tup):\n"
        "        self._finish(tup)\n        self._finish(tup)\n\n"
        "    def _finish(self, tup):\n        self.ack(tup)\n"
    )
    path = tmp_path / "twice.py"
    path.write_text(source)
    again = touch(AccessKind.ACKED, call(str(path), 10, "SqlBolt._finish"))
    (found,) = findings([violation(Misuse.TWICE, traced(str(path)), again, again)], places=places)
    assert (found.code, str(found.site), found.help) == (
        "ACK103",
        "twice.py:10:9",
        "ack the tuple in one place only",
    )
    assert [step.note for step in found.evidence.steps] == ["received", "acked", "acked again"]
