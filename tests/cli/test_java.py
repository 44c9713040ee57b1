"""`ackdoctor lint` on Java and on mixed projects."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.running import BOLT

JAVA = """\
package bolts;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

public class CountBolt extends BaseRichBolt {
    private OutputCollector collector;

    @Override
    public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void execute(Tuple tuple) {
        collector.ack(tuple);
        collector.ack(tuple);
    }
}
"""
SCALA = "import org.apache.storm.topology.base.BaseRichBolt\nclass S extends BaseRichBolt\n"
NOTE = "not read: 1 Scala file that uses a Storm framework: S.scala"


@pytest.fixture(autouse=True)
def project(shell):
    Path("CountBolt.java").write_text(JAVA)
    Path("bolt.py").write_text(BOLT)
    Path("S.scala").write_text(SCALA)


def test_a_mixed_tree_is_one_report(shell):
    outcome = shell("lint", "--output-format", "concise")
    assert [line.split()[0] for line in outcome.out.splitlines()[:2]] == [
        "CountBolt.java:20:9:",
        "bolt.py:9:13:",
    ]
    assert outcome.out.splitlines()[2] == "2 findings (2 errors) in 2 files, 2 components"
    assert (outcome.code, outcome.err) == (1, f"ackdoctor: {NOTE}\n")


def test_a_path_through_java_is_shown_with_its_lines(shell):
    printed = shell("lint", "CountBolt.java").out.splitlines()
    assert printed[1:5] == [
        "      |                                                    tuple",
        "   18 | public void execute(Tuple tuple) {  ╭ received     owed",
        "   19 |     collector.ack(tuple);           ├ acked        acked",
        "   20 |     collector.ack(tuple);           ╰ acked again",
    ]


def test_an_anonymous_bolt_has_the_name_of_its_base(shell):
    Path("Tests.java").write_text(
        "import org.apache.storm.topology.base.BaseRichBolt;\nimport org.apache.storm.tuple.Tuple;\n"
        "class Tests { Object made = new BaseRichBolt() { public void execute(Tuple tuple) { run(); } }; }\n"
    )

    outcome = shell("lint", "Tests.java", "--output-format", "json-lines")
    finding = json.loads(outcome.out)

    assert finding["component"] == "an anonymous BaseRichBolt"
    assert finding["message"].startswith("no path through an anonymous BaseRichBolt.execute acks or fails")


def test_an_anonymous_class_has_the_name_of_the_class_with_its_handlers(shell):
    Path("CountBoltTest.java").write_text(
        "package bolts;\nimport org.apache.storm.task.*;\nclass CountBoltTest { Object made = new CountBolt() {\n"
        "  public void prepare(java.util.Map conf, TopologyContext context, OutputCollector collector) { }\n}; }\n"
    )

    outcome = shell("lint", "CountBolt.java", "CountBoltTest.java", "--output-format", "json-lines")
    findings = [json.loads(line) for line in outcome.out.splitlines()]

    assert findings
    assert {finding["component"] for finding in findings} == {"CountBolt"}


def test_unread_files_are_in_json_and_sarif(shell):
    assert json.loads(shell("lint", "--output-format", "json").out)["notes"] == [NOTE]
    (run,) = json.loads(shell("lint", "--output-format", "sarif").out)["runs"]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (notification["level"], notification["message"]["text"]) == ("note", NOTE)


def test_a_scala_project_is_not_called_clean(shell):
    Path("scala").mkdir()
    Path("S.scala").rename("scala/S.scala")
    outcome = shell("lint", "scala")
    note = NOTE.replace("S.scala", "scala/S.scala")
    assert (outcome.code, outcome.err) == (
        2,
        f"ackdoctor: no Python or Java file and no topology under scala; {note}\n",
    )


def test_files_and_statistics_cover_both_languages(shell):
    assert shell("lint", "--show-files").out == "CountBolt.java\nbolt.py\n"
    assert shell("lint", "--statistics", "-q").out == "1  ACK101  missing-ack\n1  ACK103  double-ack\n"


def test_java_is_read_from_standard_input_under_its_name(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JAVA.encode())))
    outcome = shell("lint", "-", "--stdin-filename", "src/CountBolt.java", "--output-format", "concise", "-q")
    assert (outcome.code, outcome.out.split()[0]) == (1, "src/CountBolt.java:20:9:")


def test_a_baseline_accepts_both_languages(shell):
    shell("lint", "--baseline", "b.json", "--write-baseline")
    outcome = shell("lint", "--baseline", "b.json")
    assert (outcome.code, outcome.out) == (0, "no findings in 2 files, 2 components · 2 in the baseline\n")


def test_a_partly_read_file_sets_the_exit_code_only_if_it_is_named(shell):
    Path("bolt.py").unlink()
    Path("CountBolt.java").write_text(JAVA.replace("this.collector = collector;", "int x = (;"))
    outcome = shell("lint")
    assert outcome.err.startswith("ackdoctor: CountBolt.java:14:")
    assert outcome.out.splitlines()[-1] == "1 finding (1 error) in 1 file, 1 component · 1 file read in part"
    assert outcome.code == 1
    assert shell("lint", "CountBolt.java").code == 2
    assert shell("lint", "--strict-files").code == 2


def test_a_named_kotlin_file_is_refused(shell):
    Path("K.kt").write_text(SCALA)
    outcome = shell("lint", "K.kt")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: K.kt: Kotlin; only Python and Java source is read\n",
    )
