"""Topologies of Storm's Streams API."""

from ackdoctor.model.topology import Topology
from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link

IMPORTS = """package demo;
import org.apache.storm.*;
import org.apache.storm.streams.*;
import org.apache.storm.streams.windowing.*;
import org.apache.storm.topology.base.BaseWindowedBolt.*;
"""


def one(body: str) -> Topology:
    """The topology of a `main` with this body, which starts in line 9."""
    main = f"{IMPORTS}public class Main {{\n public static void main(String[] args) {{\nStreamBuilder b = new StreamBuilder();\n{body}\n"
    text = main + 'StormSubmitter.submitTopology("d", new Config(), b.build()); } }'
    (topology,) = from_program(link({"demo/Main.java": text}), {"demo/Main.java"})
    return topology


def edges(topology: Topology) -> list[str]:
    return [f"{e.source} -> {e.target}" for e in topology.edges]


def test_a_run_of_operations_is_a_bolt_until_an_operation_keeps_state() -> None:
    found = one(
        "b.newStream(new Words(), new ValueMapper<String>(0), 2)\n .window(TumblingWindows.of(Duration.seconds(2)))\n"
        " .mapToPair(w -> Pair.of(w, 1)).countByKey()\n .updateStateByKey(0L, (s, c) -> s + c).toPairStream().print();"
    )
    assert found.kind == "storm-streams"
    assert [(each.id, each.role, each.place.line) for each in found.nodes] == [
        ("(spout)", "spout", 9),
        ("(window, mapToPair, countByKey)", "bolt", 10),
        ("(updateStateByKey)", "bolt", 12),
    ]
    assert found.nodes[0].parallelism == 2
    assert [each.cls.rpartition(".")[2] for each in found.nodes[1:]] == [
        "WindowedProcessorBolt",
        "StatefulProcessorBolt",
    ]
    assert found.nodes[1].arguments == {"windowLengthMs": 2000, "slidingIntervalMs": 2000}
    assert edges(found) == [
        "(spout) -> (window, mapToPair, countByKey)",
        "(window, mapToPair, countByKey) -> (updateStateByKey)",
    ]


def test_joined_streams_meet_in_one_bolt() -> None:
    found = one(
        "PairStream<String, Integer> x = b.newStream(new Words()).mapToPair(w -> w);\n"
        "PairStream<String, Integer> y = b.newStream(new Others()).mapToPair(w -> w);\nx.join(y).print();"
    )
    assert edges(found) == [
        "(spout) -> (mapToPair)",
        "(spout)#2 -> (mapToPair)#2",
        "(mapToPair) -> (join)",
        "(mapToPair)#2 -> (join)",
    ]


def test_a_bolt_at_the_end_is_a_node_of_its_class() -> None:
    found = one("b.newStream(new Words()).filter(w -> true).to(new Sink(), 3);")
    assert edges(found) == ["(spout) -> (filter)", "(filter) -> (to Sink)"]
