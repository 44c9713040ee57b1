"""What a lint run knows of the topologies in its files."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from ackdoctor.cache_folder import CacheFolder
from ackdoctor.config import Settings
from ackdoctor.lint import wiring
from ackdoctor.lint.result_cache import from_json
from ackdoctor.lint.run import lint
from ackdoctor.model.topology import ComponentFacts, Gap, Place, Setting, Topology
from ackdoctor.topology.readers import flux, text

FLUX = """name: words
config:
  topology.acker.executors: 1
spouts:
  - id: lines
    className: app.LineSpout
bolts:
  - id: count
    className: app.CountBolt
streams:
  - {from: lines, to: count, grouping: {type: SHUFFLE}}
"""
SPOUT = """package app;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.topology.base.BaseRichSpout;
public class LineSpout extends BaseRichSpout {
  private SpoutOutputCollector collector;
  public void nextTuple() { collector.emit(new Values(read())); }
}
"""
BOLT = """package app;
import org.apache.storm.topology.base.BaseBasicBolt;
public class CountBolt extends BaseBasicBolt {
  public void execute(Tuple tuple, BasicOutputCollector collector) { count(tuple); }
}
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def run(root: Path, **options):
    return lint([root], Settings(), root=root, **options)


def test_the_components_of_a_text_are_linked_to_their_classes(tmp_path):
    write(
        tmp_path,
        {
            "flux/words.yaml": FLUX,
            "src/main/java/app/LineSpout.java": SPOUT,
            "src/main/java/app/CountBolt.java": BOLT,
        },
    )
    (judged,) = run(tmp_path).topologies
    assert judged.topology.name == "words"
    assert judged.verdict.word == "at-most-once"
    assert [(reason.fact, str(reason.place)) for reason in judged.verdict.reasons] == [
        ("spout-no-ids", "src/main/java/app/LineSpout.java:6")
    ]


def test_a_class_that_the_run_does_not_read_keeps_the_verdict_open(tmp_path):
    write(tmp_path, {"words.yaml": FLUX, "app/CountBolt.java": BOLT})
    (judged,) = run(tmp_path).topologies
    assert judged.verdict.word == "unknown"
    assert any("LineSpout" in gap.why for gap in judged.verdict.gaps)


def test_a_run_without_topologies_leaves_no_cached_result_without_facts(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "project"
    write(root, {"app/LineSpout.java": SPOUT, "app/CountBolt.java": BOLT})
    assert run(root, cache=CacheFolder("lint")).topologies == ()
    write(root, {"words.yaml": FLUX})
    (judged,) = run(root, cache=CacheFolder("lint")).topologies
    assert set(judged.facts) == {"lines", "count"}


def test_an_internal_error_in_one_text_costs_that_text(tmp_path, monkeypatch):
    def read(path, data, texts):
        if path == "bad.yaml":
            raise KeyError("streams")
        return flux.read(path, data, texts)

    monkeypatch.setitem(text._READERS, ".yaml", (read,))
    write(tmp_path, {"words.yaml": FLUX, "bad.yaml": FLUX.replace("words", "bad")})
    report = run(tmp_path)
    assert [judged.topology.name for judged in report.topologies] == ["words"]
    (fault,) = report.unreadable
    assert (fault.path, fault.reason) == ("bad.yaml", "internal error in a topology: KeyError: 'streams'")


def test_texts_are_read_up_to_a_limit_only(tmp_path, monkeypatch):
    monkeypatch.setattr(wiring, "LIMIT", 20)
    write(tmp_path, {"words.yaml": FLUX})
    report = run(tmp_path)
    assert not report.topologies
    assert [fault.path for fault in report.unreadable] == ["words.yaml"]


def test_a_text_without_a_topology_is_no_topology(tmp_path):
    write(tmp_path, {"deploy.yaml": "spec: {replicas: 2}\n", "storm.yaml": "storm.zookeeper.servers: [zk]\n"})
    report = run(tmp_path)
    assert (report.topologies, report.unreadable) == ((), ())


VALUES = [
    None, True, 3, 0.5, "x", (1, "a", (2,)), {"a": 1, "b": (Gap("args[0]", Place("M.java", 4)),)},
    Gap("it is computed", Place("M.java", 3)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_a_value_survives_the_cache(value):
    setting = Setting(key="k", value=value, place=Place("a.yaml", 2))
    assert from_json(Setting, json.loads(json.dumps(asdict(setting)))) == setting


def test_a_cached_run_gives_the_same_topologies(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    write(tree, {"words.yaml": FLUX, "app/LineSpout.java": SPOUT, "app/CountBolt.java": BOLT})
    folder = CacheFolder("lint", outside=[tree])
    new = run(tree, cache=folder)
    assert run(tree, cache=folder) == new
    assert all(isinstance(facts, ComponentFacts) for facts in new.topologies[0].facts.values())
    assert isinstance(new.topologies[0].topology, Topology)


EMITTING_BOLT = """package app;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.base.BaseRichBolt;
public class CountBolt extends BaseRichBolt {
  private OutputCollector collector;
  public void execute(Tuple tuple) {
    collector.emit(new Values(1));COMMENT
    collector.ack(tuple);
  }
}
"""
RELIABLE = SPOUT.replace("read()));", "read()), id);").replace(
    "public void next",
    "public void fail(Object id) { collector.emit(new Values(get(id)), id); }\n  public void next",
)
CHAIN = FLUX.replace("streams:", "  - {id: store, className: app.StoreBolt}\nstreams:") + (
    "  - {from: count, to: store, grouping: {type: SHUFFLE}}\n"
)


@pytest.mark.parametrize(
    ("comment", "word"),
    [("", "at-most-once"), ("  // ackdoctor: ignore[ACK201] metrics only", "at-least-once")],
)
def test_an_emit_that_a_comment_leaves_unanchored_is_a_boundary(tmp_path, comment, word):
    write(
        tmp_path,
        {
            "words.yaml": CHAIN,
            "app/LineSpout.java": RELIABLE,
            "app/CountBolt.java": EMITTING_BOLT.replace("COMMENT", comment),
            "app/StoreBolt.java": BOLT.replace("CountBolt", "StoreBolt"),
        },
    )
    (judged,) = run(tmp_path).topologies
    assert judged.verdict.word == word
    assert bool(judged.verdict.boundary) == bool(comment)
