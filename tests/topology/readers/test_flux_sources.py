"""Flux files whose graph is made by a class."""

from pathlib import Path

from ackdoctor.config import Settings
from ackdoctor.lint.run import lint
from ackdoctor.model.topology import Judged

JAVA = """package demo;
import org.apache.storm.Config;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.TopologyBuilder;
public class Source {
  public StormTopology getTopology(Config config) {
    config.setNumAckers(5);
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("lines", new demo.LineSpout(), 2);
    builder.setBolt("count", new demo.CountBolt()).shuffleGrouping("lines");
    return builder.createTopology();
  }
}
"""
FLUX = """name: {name}
config:
  topology.acker.executors: {ackers}
topologySource:
  className: "demo.{cls}"
"""


def judged(tmp_path: Path, **files: str) -> list[Judged]:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_x_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(lint([tmp_path], Settings(), root=tmp_path).topologies)


def test_the_class_makes_the_graph_and_the_file_the_settings(tmp_path):
    flux = FLUX.format(name="first", ackers=0, cls="Source")
    (found,) = judged(tmp_path, src__demo__Source_x_java=JAVA, first_x_yaml=flux)
    topology = found.topology
    assert (topology.name, topology.place.path) == ("first", "first.yaml")
    assert [(node.id, node.place.path) for node in topology.nodes] == [
        ("lines", "src/demo/Source.java"),
        ("count", "src/demo/Source.java"),
    ]
    assert topology.gaps == ()
    ackers = [each.value for each in topology.settings if each.key == "topology.acker.executors"]
    assert ackers == [0]


def test_two_files_may_name_one_class(tmp_path):
    files = {f"{name}_x_yaml": FLUX.format(name=name, ackers=1, cls="Source") for name in ("one", "two")}
    found = judged(tmp_path, src__demo__Source_x_java=JAVA, **files)
    assert [(each.topology.name, len(each.topology.nodes)) for each in found] == [("one", 2), ("two", 2)]


def test_a_class_that_is_not_there_leaves_the_graph_open(tmp_path):
    flux = FLUX.format(name="first", ackers=0, cls="Other")
    found = judged(tmp_path, src__demo__Source_x_java=JAVA, first_x_yaml=flux)
    gaps = {each.topology.name: [gap.why for gap in each.topology.gaps] for each in found}
    assert gaps["first"] == ["graph in Java: class demo.Other, method getTopology"]
    assert len(found) == 2
