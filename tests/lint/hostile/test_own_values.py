"""Assignments that refer to their own target, such as `flag = not flag`, are judged like any other code."""

import random

import pytest

from ackdoctor.lint.analysis import Analyzer
from ackdoctor.lint.project import Cluster, Inputs, Result, Source
from tests.lint.hostile.own_values import java_bolts, python_bolts
from tests.lint.project import lines, lint_project, unreadable_lines, write

SAMPLE = 60  # of each language, in the normal suite

TOGGLE = """\
from streamparse import Bolt


class Toggle(Bolt):
    auto_ack = False

    def process(self, tup):
        self.waiting.append(tup)
        self.store(tup, bool(tup.values[0]))

    def store(self, tup, descending):
        if tup.values[1] == "reverse":
            descending = not descending
        if not descending:
            self.waiting.sort()
{more}"""
DRAINED = """\
        for waiting in self.waiting:
            self.ack(waiting)
        self.waiting.clear()
"""
JAVA_TOGGLE = """\
import java.util.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

public class Toggle extends BaseRichBolt {
  private OutputCollector collector;
  private List<Tuple> waiting = new ArrayList<>();
  public void prepare(Map<String, Object> m, TopologyContext c, OutputCollector o) { collector = o; }
  public void execute(Tuple t) { waiting.add(t); store(t, t.getBoolean(0)); }
  void store(Tuple t, boolean descending) {
    if (t.getString(1).equals("reverse")) descending = !descending;
    if (!descending) { MORE }
  }
}
"""
JAVA_THROWN_AWAY = "waiting.clear();"
JAVA_DRAINED = "for (Tuple each : waiting) collector.ack(each); waiting.clear();"


def analyse(language: str, source: str) -> Result:
    file = Source("bolt", "bolt", "bolt", is_package=False)
    inputs = Inputs({}, {}, {"bolt": source.encode()}, {})
    return Analyzer(inputs, ()).analyze(Cluster(language=language, own=(file,), context=()))


@pytest.mark.parametrize(("more", "expected"), [("", ["toggle.py:8 ACK401"]), (DRAINED, [])])
def test_a_negated_flag_in_python(tmp_path, more, expected):
    write(tmp_path, {"toggle.py": TOGGLE.format(more=more)})
    report = lint_project(tmp_path)
    assert (lines(report), unreadable_lines(report)) == (expected, [])


@pytest.mark.parametrize(
    ("more", "expected"), [(JAVA_THROWN_AWAY, ["Toggle.java:10 ACK401"]), (JAVA_DRAINED, [])]
)
def test_a_negated_flag_in_java(tmp_path, more, expected):
    write(tmp_path, {"Toggle.java": JAVA_TOGGLE.replace("MORE", more)})
    report = lint_project(tmp_path)
    assert (lines(report), unreadable_lines(report)) == (expected, [])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("done = not done", ["bolt.py:10 ACK101"]),  # acked only if it was not done before
        ("done = done or True", []),
    ],
)
def test_a_negated_flag_has_a_new_value(tmp_path, change, expected):
    body = f"        done = True\n        {change}\n        if done:\n            self.ack(tup)\n"
    head = "from streamparse import Bolt\n\n\nclass B(Bolt):\n    auto_ack = False\n\n    def process(self, tup):\n"
    write(tmp_path, {"bolt.py": head + body})
    assert lines(lint_project(tmp_path)) == expected


@pytest.mark.parametrize(
    "body",
    [
        "x = tup\nwhile self.more():\n    x = [x, x, y]\n    y = [x, y]\nself.ack(x)",
        "x = tup\nfor z in tup.values:\n    for w in z:\n        x = {x: y, y: x}\n        y = (x, y)",
        "x = y = self.done\nfor z in tup.values:\n    x = lambda: (x, y)\n    y = lambda: (y, x)\nself.later(x, y)",
        "x = y = self.done\nfor z in tup.values:\n    x = partial(x, y)\n    y = partial(y, x)\nself.later(x, y)",
        "\n".join(f"x{n + 1} = [{', '.join([f'x{n}'] * 40)}]" for n in range(20)).replace("x0", "tup.values")
        + "\nself.pending[x20] = tup",
    ],
    ids=["lists", "pairs", "closures", "partials", "wide"],
)
def test_a_value_that_doubles_in_a_loop_does_not_double_the_work(body):
    text = "".join(f"        {line}\n" for line in body.split("\n"))
    source = (
        "from functools import partial\nfrom streamparse import Bolt\n\n\nclass B(Bolt):\n    auto_ack = False\n\n"
        f"    def process(self, tup, y=None):\n{text}"
    )
    outcome = analyse("python", source)
    assert (outcome.components, outcome.unreadable) == (1, ())


@pytest.mark.parametrize("change", ["self.x = x = not x", "x = x or not x"])
def test_the_old_value_in_a_definition_is_not_the_new_one(change):
    body = (
        f"        for z in tup.values:\n            {change}\n        if not x:\n            self.ack(tup)\n"
    )
    source = (
        "from streamparse import Bolt\n\n\nclass B(Bolt):\n    auto_ack = False\n\n"
        f"    def process(self, tup, x=None):\n{body}"
    )
    outcome = analyse("python", source)
    assert (outcome.components, outcome.unreadable) == (1, ())


@pytest.mark.parametrize("language", ["python", "java"])
def test_a_sample_of_self_referring_assignments(language):
    sources = list(python_bolts() if language == "python" else java_bolts())
    check(language, random.Random(27).sample(sources, SAMPLE))


@pytest.mark.minutes
@pytest.mark.parametrize("language", ["python", "java"])
def test_all_self_referring_assignments(language):
    check(language, list(python_bolts() if language == "python" else java_bolts()))


def check(language: str, sources: list[str]) -> None:
    found = 0
    for source in sources:
        outcome = analyse(language, source)
        assert (outcome.components, outcome.unreadable) == (1, ()), source
        found += len(outcome.findings)
    assert found > len(sources) // 4  # they were judged
