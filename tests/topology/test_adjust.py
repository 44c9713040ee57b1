"""What the wiring changes about findings in components."""

from dataclasses import replace
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Finding, Severity
from tests.lint.project import write

SPOUT = """
package demo;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

public class Words extends BaseRichSpout {
    private SpoutOutputCollector collector;

    public void nextTuple() {
        String word = read();
        collector.emit(new Values(word), word);
    }

    public void fail(Object id) {
        collector.emit(new Values(id), id);
    }

    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word"));
    }
}
"""
UNTRACKED_SPOUT = SPOUT.replace("), word", ")").replace("), id", ")")
BOLT = """
package demo;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

public class Count extends BaseRichBolt {
    private OutputCollector collector;

    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    public void execute(Tuple input) {
        BODY
    }

    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word"));
    }
}
"""
MAIN = """
package demo;

import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.TopologyBuilder;

public class Main {
    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new Words());
        builder.setBolt("count", new Count()).shuffleGrouping("words");
        Config conf = new Config();
        conf.setMaxSpoutPending(100);
        CONF
        StormSubmitter.submitTopology("words", conf, builder.createTopology());
    }
}
"""
NO_ACK = "collector.emit(input, new Values(input.getString(0)));"
NO_ANCHOR = "collector.emit(new Values(input.getString(0)));\n        collector.ack(input);"
PRINTER = 'builder.setBolt("again", new Count()).shuffleGrouping("count");'


def found(
    tmp_path: Path, body: str, *, conf: str = "", main: str | None = MAIN, spout: str = SPOUT
) -> list[Finding]:
    """Return the findings about Count."""
    files = {"Words.java": spout, "Count.java": BOLT.replace("BODY", body)}
    if main is not None:
        files["Main.java"] = main.replace("CONF", conf)
    write(tmp_path, files)
    report = lint([tmp_path], Settings(), root=tmp_path)
    return [each for each in report.findings if each.component == "Count" and each.site.path == "Count.java"]


def test_a_missing_ack_is_an_error_where_tuples_are_tracked(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, NO_ACK)

    assert (finding.code, finding.severity) == ("ACK101", Severity.ERROR)
    assert "and is replayed by `words`" in finding.message


def test_without_a_topology_the_message_stays_conditional(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, NO_ACK, main=None)

    assert finding.severity is Severity.ERROR
    assert "if its spout emitted it with a message id" in finding.message


def test_a_missing_ack_costs_nothing_without_ackers(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, NO_ACK, conf="conf.setNumAckers(0);")

    assert (finding.code, finding.severity) == ("ACK101", Severity.INFO)
    assert "topology `words` tracks nothing (Main.java:15)" in finding.message


def test_a_missing_ack_costs_nothing_yet_without_ids(tmp_path: Path) -> None:
    """A warning: with the ids that ACK301 asks for, the bolt would let every tree time out."""
    (finding,) = found(tmp_path, NO_ACK, spout=UNTRACKED_SPOUT)

    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "no path through Count.execute acks or fails `input`; this costs nothing yet: "
        "no spout of topology `words` that feeds it emits with a message id"
    )


@pytest.mark.parametrize(
    ("stateful", "restored"),
    [
        (" implements org.apache.heron.api.topology.IStatefulComponent<String, Long> {", True),
        (" {", False),
    ],
)
def test_heron_restores_checkpoints_and_tracks_nothing(
    tmp_path: Path, *, stateful: str, restored: bool
) -> None:
    mode = "conf.setTopologyStatefulCheckpointIntervalSecs(20);"
    mode += "conf.setTopologyReliabilityMode(Config.TopologyReliabilityMode.EFFECTIVELY_ONCE);"
    texts = {"Words.java": UNTRACKED_SPOUT, "Count.java": BOLT.replace("BODY", NO_ACK), "Main.java": MAIN}
    heron = {
        name: text.replace("CONF", mode)
        .replace("org.apache.storm", "org.apache.heron.api")
        .replace("heron.api.StormSubmitter", "heron.api.HeronSubmitter")
        .replace("StormSubmitter.", "HeronSubmitter.")
        .replace("api.task", "api.bolt")
        .replace("api.bolt.TopologyContext", "api.topology.TopologyContext")
        .replace("Bolt {", f"Bolt{stateful}")
        .replace("Spout {", f"Spout{stateful}")
        .replace("topology.base.BaseRichBolt", "bolt.BaseRichBolt")
        .replace("topology.base.BaseRichSpout", "spout.BaseRichSpout")
        for name, text in texts.items()
    }
    write(tmp_path, heron)
    report = lint([tmp_path], Settings(), root=tmp_path)

    (finding,) = (each for each in report.findings if each.code == "ACK101")
    assert finding.severity is (Severity.INFO if restored else Severity.WARNING)
    assert ("restores checkpoints and tracks no tuple" in finding.message) is restored
    assert any(each.code == "ACK301" and each.severity is Severity.WARNING for each in report.findings)


@pytest.mark.parametrize(
    "conf", ["conf.setNumAckers(Integer.parseInt(args[0]));", "if (args.length > 0) conf.setNumAckers(0);"]
)
def test_what_the_files_leave_open_changes_nothing(tmp_path: Path, conf: str) -> None:
    (finding,) = found(tmp_path, NO_ACK, conf=conf)

    assert finding.severity is Severity.ERROR


def test_an_unanchored_emit_that_no_component_consumes_is_an_info(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, NO_ANCHOR)

    assert (finding.code, finding.severity) == ("ACK201", Severity.INFO)
    assert "no component subscribes to the stream" in finding.message


def test_an_unanchored_emit_that_a_component_consumes_is_a_warning(tmp_path: Path) -> None:
    (finding,) = found(
        tmp_path, NO_ANCHOR, main=MAIN.replace("Config conf", f"{PRINTER}\n        Config conf")
    )

    assert (finding.code, finding.severity) == ("ACK201", Severity.WARNING)


def test_one_topology_that_tracks_its_tuples_is_enough(tmp_path: Path) -> None:
    tracked = MAIN.replace("class Main", "class Other").replace("CONF", "")
    write(tmp_path, {"Other.java": tracked})

    (finding,) = found(tmp_path, NO_ACK, conf="conf.setNumAckers(0);")
    assert finding.severity is Severity.ERROR


def test_a_topology_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"broken.yaml": "name: x\ntopology:\n- spout: {name: a\n"})
    (finding,) = found(tmp_path, NO_ACK, conf="conf.setNumAckers(0);")

    assert "costs nothing" not in finding.message


def test_an_ignore_comment_makes_an_unanchored_emit_a_boundary(tmp_path: Path) -> None:
    emit = "collector.emit(new Values(input.getString(0)));"
    comment = "  // ackdoctor: ignore[ACK201] counts may be lost"
    main = MAIN.replace("Config conf", f"{PRINTER}\n        Config conf").replace("CONF", "")
    words = {}
    for mark in ("", comment):
        bolt = BOLT.replace("BODY", f"{emit}{mark}\n        collector.ack(input);")
        write(tmp_path, {"Words.java": SPOUT, "Count.java": bolt, "Main.java": main})
        (judged,) = lint([tmp_path], Settings(), root=tmp_path).topologies
        words[mark] = judged.verdict

    assert words[""].word == "at-most-once"
    assert words[comment].word == "at-least-once"
    assert words[comment].boundary.startswith("tracking ends at count (Count.java:")


def test_a_finding_keeps_its_identity(tmp_path: Path) -> None:
    before = found(tmp_path, NO_ACK)[0]
    after = found(tmp_path, NO_ACK, conf="conf.setNumAckers(0);")[0]

    assert replace(after, severity=before.severity, message=before.message) == before
