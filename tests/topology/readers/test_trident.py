"""Trident topologies: spouts, states and functions of fluent chains."""

from ackdoctor.model.topology import Topology
from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link

IMPORTS = """package demo;
import org.apache.storm.*;
import org.apache.storm.trident.*;
import org.apache.storm.trident.operation.builtin.*;
import org.apache.storm.trident.testing.*;
import org.apache.storm.redis.trident.state.*;
import org.apache.storm.tuple.Fields;
"""
SUBMIT = 'StormSubmitter.submitTopology("d", new Config(), t.build());'


def one(body: str, **files: str) -> Topology:
    """The topology of a `main` with this body, which starts in line 10."""
    main = f"{IMPORTS}public class Main {{\n public static void main(String[] args) {{\nTridentTopology t = new TridentTopology();\n{body}\n{SUBMIT} }} }}"
    program = link(
        {"demo/Main.java": main, **{f"demo/{name}.java": IMPORTS + text for name, text in files.items()}}
    )
    (topology,) = from_program(program, {"demo/Main.java"})
    return topology


def nodes(topology: Topology) -> list[tuple[str, str, str, int]]:
    return [
        (each.id, each.role, each.cls.rpartition("state.")[2], each.place.line) for each in topology.nodes
    ]


def edges(topology: Topology) -> list[str]:
    return [f"{e.source} -{e.grouping}-> {e.target}" for e in topology.edges]


def test_a_state_is_a_node_named_after_its_variable() -> None:
    found = one(
        'TridentState counts = t.newStream("in", new FixedBatchSpout(new Fields("a"), 3)).parallelismHint(4)\n'
        ' .each(new Fields("a"), new Split(), new Fields("w")).groupBy(new Fields("w"))\n'
        ' .persistentAggregate(RedisMapState.opaque(config()), new Count(), new Fields("n")).parallelismHint(6);'
    )
    assert found.kind == "trident"
    assert nodes(found) == [
        ("in", "spout", "org.apache.storm.trident.testing.FixedBatchSpout", 11),
        ("counts", "state", "RedisMapState.opaque", 13),
    ]
    assert [each.parallelism for each in found.nodes] == [4, 6]
    assert edges(found) == ["in -groupBy(w)-> counts"]
    assert [each.id for each in found.nodes[1].functions] == ["(each Split)"]
    arguments = found.nodes[1].arguments
    assert (arguments["kind"], arguments["operation"]) == ("opaque", "persistentAggregate")


def test_a_state_without_a_variable_is_named_after_its_operation() -> None:
    found = one(
        't.newStream("in", new Source()).partitionPersist(new StoreFactory(), new Fields("a"), new StoreUpdater());',
        StoreFactory="class StoreFactory implements org.apache.storm.trident.state.StateFactory { }",
        StoreUpdater="class StoreUpdater { }",
    )
    state = found.nodes[1]
    assert (state.id, state.cls, str(state.code)) == (
        "(partitionPersist StoreFactory)",
        "demo.StoreFactory",
        "demo/StoreFactory.java:8",
    )
    assert state.arguments["updater"] == "demo.StoreUpdater"
    assert edges(found) == ["in -shuffle-> (partitionPersist StoreFactory)"]


def test_the_last_function_of_a_stream_without_a_state_is_a_bolt() -> None:
    found = one(
        'Stream s = t.newStream("in", new Source());\ns.filter(new Keep()).each(s.getOutputFields(), new Debug(false));'
    )
    assert nodes(found)[1][:2] == ("(each Debug)", "bolt")
    assert edges(found) == ["in -shuffle-> (each Debug)"]


def test_a_peek_is_an_effect_beside_the_state() -> None:
    found = one(
        't.newStream("in", new Source()).peek(new Writer()).map(x -> x).partitionPersist(new StoreFactory(), new Fields("a"), new Up());'
    )
    assert edges(found) == ["in -shuffle-> (peek Writer)", "in -shuffle-> (partitionPersist StoreFactory)"]


def test_merged_streams_feed_a_state_from_both_spouts() -> None:
    found = one(
        'Stream a = t.newStream("a", new Source()); Stream b = t.newStream("b", new Source());\n'
        't.merge(a, b.shuffle()).partitionPersist(new StoreFactory(), new Fields("a"), new Up());'
    )
    assert edges(found) == [
        "a -shuffle-> (partitionPersist StoreFactory)",
        "b -shuffle-> (partitionPersist StoreFactory)",
    ]


def test_a_query_reads_states_and_is_no_path() -> None:
    found = one(
        'TridentState counts = t.newStream("in", new Source()).groupBy(new Fields("w")).persistentAggregate(new MemoryMapState.Factory(), new Count(), new Fields("n"));\n'
        't.newDRPCStream("q").stateQuery(counts, new Fields("w"), new MapGet(), new Fields("n")).each(new Fields("n"), new FilterNull());'
    )
    assert [each.id for each in found.nodes] == ["in", "counts"]
    assert found.nodes[1].cls == "org.apache.storm.trident.testing.MemoryMapState.Factory"


def test_values_of_a_state_flow_on_from_it() -> None:
    found = one(
        't.newStream("in", new Source()).groupBy(new Fields("w")).persistentAggregate(new MemoryMapState.Factory(), new Count(), new Fields("n"))\n'
        '.newValuesStream().partitionPersist(new StoreFactory(), new Fields("a"), new Up());'
    )
    assert edges(found)[1] == "(persistentAggregate Factory) -shuffle-> (partitionPersist StoreFactory)"


def test_requests_that_are_stored_come_from_a_spout() -> None:
    found = one(
        't.newDRPCStream("put").shuffle().partitionPersist(RedisMapState.opaque(config()), new Fields("args"), new Put());'
    )
    assert [(each.id, each.cls) for each in found.nodes if each.role == "spout"] == [
        ("put", "org.apache.storm.drpc.DRPCSpout")
    ]
    assert edges(found) == ["put -shuffle-> (partitionPersist opaque)"]


def test_requests_alone_are_a_topology() -> None:
    found = one('t.newDRPCStream("words").each(new Fields("args"), new Split(), new Fields("w"));')
    assert nodes(found) == [("words", "spout", "org.apache.storm.drpc.DRPCSpout", 11)]


def test_a_window_in_memory_is_a_state() -> None:
    window = 't.newStream("in", new Source()).WINDOW.each(new Fields("n"), new Debug());'
    parts = 'new Fields("a"), new Count(), new Fields("n")'
    in_memory = [
        f"tumblingWindow(100, new org.apache.storm.trident.windowing.InMemoryWindowsStoreFactory(), {parts})",
        f"window(TumblingCountWindow.of(100), {parts})",
    ]
    for text in in_memory:
        found = one(window.replace("WINDOW", text))
        assert [each.role for each in found.nodes] == ["spout", "state"]
        assert found.nodes[1].cls.endswith(".InMemoryWindowsStoreFactory")
    stored = f"tumblingWindow(100, new org.apache.storm.hbase.trident.windowing.HBaseWindowsStoreFactory(), {parts})"
    assert [each.role for each in one(window.replace("WINDOW", stored)).nodes] == ["spout", "bolt"]
