"""Linear DRPC topologies: the bolts of the chain, and the components that Storm adds."""

from ackdoctor.model.topology import Topology
from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link

HEAD = """package demo;
import org.apache.storm.*;
import org.apache.storm.drpc.*;
import org.apache.storm.tuple.Fields;
public class Main {
 public static void main(String[] args) throws Exception {
  LinearDRPCTopologyBuilder b = new LinearDRPCTopologyBuilder("reach");
"""


def one(body: str) -> Topology:
    """The topology of a `main` with this body, which starts in line 8."""
    (topology,) = from_program(link({"demo/Main.java": f"{HEAD}{body} }} }}"}), {"demo/Main.java"})
    return topology


CHAIN = """b.addBolt(new Tweeters(), 4);
b.addBolt(new Followers(), 12).shuffleGrouping().addConfiguration("topology.tick.tuple.freq.secs", 5);
b.addBolt(new Unique()).fieldsGrouping(new Fields("id", "follower"));
"""


def test_the_chain_lies_between_the_components_of_storm() -> None:
    found = one(CHAIN + 'StormSubmitter.submitTopology("reach", new Config(), b.createRemoteTopology());')
    assert [(each.id, each.cls.rpartition(".")[2], each.parallelism) for each in found.nodes] == [
        ("spout", "DRPCSpout", None),
        ("prepare-request", "PrepareRequest", None),
        ("bolt0", "Tweeters", 4),
        ("bolt1", "Followers", 12),
        ("bolt2", "Unique", None),
        ("bolt3", "JoinResult", None),
        ("bolt4", "ReturnResults", None),
    ]
    assert [f"{e.source} -{e.grouping}-> {e.target}" for e in found.edges][:4] == [
        "spout -none-> prepare-request",
        "prepare-request -none-> bolt0",
        "bolt0 -shuffle-> bolt1",
        "bolt1 -fields(id,follower)-> bolt2",
    ]
    assert [(each.component, each.value) for each in found.settings if each.component] == [("bolt1", 5)]


def test_a_local_topology_is_submitted_with_its_requests() -> None:
    found = one(
        CHAIN
        + 'new LocalCluster().submitTopology("local", new Config(), b.createLocalTopology(new LocalDRPC()));'
    )
    assert (found.name, len(found.nodes), found.gaps) == ("local", 7, ())


def test_a_builder_without_bolts_is_no_topology() -> None:
    program = link({"demo/Main.java": f"{HEAD} }} }}"})
    assert from_program(program, {"demo/Main.java"}) == ()
