"""Topologies that heronpy's builders make."""

from textwrap import dedent

import pytest

from ackdoctor.model.topology import Gap
from ackdoctor.topology.readers import heronpy
from tests.flow.programs import link

COMPONENTS = """
    from heronpy.api.bolt.bolt import Bolt
    from heronpy.api.spout.spout import Spout
    class Words(Spout):
        outputs = ["word"]
    class Count(Bolt):
        pass
    """
HEAD = """
import os, sys
import heronpy.api.api_constants as constants
from heronpy.api.stream import Grouping
from heronpy.api.topology import TopologyBuilder
from parts import Count, Words
"""


def read(text, head=HEAD):
    program = link({"main.py": head + dedent(text), "parts.py": COMPONENTS})
    return heronpy.from_program(program, {"main.py"})


def only(text, head=HEAD):
    (topology,) = read(text, head)
    return topology


def edges(topology):
    return [(e.source, e.stream, e.target, e.grouping, e.place.line) for e in topology.edges]


def test_a_builder_in_the_main_block():
    topology = only("""
        if __name__ == "__main__":
            if len(sys.argv) != 2:
                sys.exit(1)
            builder = TopologyBuilder(name=sys.argv[1])
            words = builder.add_spout("words", Words, par=2)
            inputs = {
                words: Grouping.fields("word"),
            }
            builder.add_bolt("count", Count, 3, inputs,
                             config={constants.TOPOLOGY_TICK_TUPLE_FREQ_SECS: 10})
            config = {constants.TOPOLOGY_RELIABILITY_MODE:
                          constants.TopologyReliabilityMode.EFFECTIVELY_ONCE,
                      "topology.stateful.checkpoint.interval.seconds": 30}
            builder.set_config(config)
            builder.build_and_submit()
        """)
    assert (topology.name, topology.kind, topology.branch, topology.place.line) == (
        "sys.argv[1]",
        "heronpy",
        "",
        11,
    )
    assert [(n.id, n.role, n.cls, n.parallelism, n.place.line) for n in topology.nodes] == [
        ("words", "spout", "parts.Words", 2, 12),
        ("count", "bolt", "parts.Count", 3, 16),
    ]
    assert edges(topology) == [("words", "default", "count", "fields(word)", 14)]
    assert [(s.key, s.value, s.component, s.place.line) for s in topology.settings] == [
        ("topology.reliability.mode", "EFFECTIVELY_ONCE", "", 19),
        ("topology.stateful.checkpoint.interval.seconds", 30, "", 20),
        ("topology.tick.tuple.freq.secs", 10, "count", 17),
    ]


def test_the_last_config_before_the_submission_counts():
    topology = only("""
        builder = TopologyBuilder("shop")
        builder.add_spout("words", Words, par=1)
        builder.set_config({"topology.max.spout.pending": 1})
        builder.set_config({"topology.max.spout.pending": 2})
        builder.build_and_submit()
        builder.set_config({"topology.max.spout.pending": 3})
        """)
    assert [s.value for s in topology.settings] == [2]


def test_specifications_that_are_added():
    topology = only("""
        builder = TopologyBuilder("shop")
        words = Words.spec(name="words", par=1)
        count = Count.spec(name="count", par=1, inputs=[words["late"]])
        builder.add_spec(words, count)
        builder.build_and_submit()
        """)
    assert [(n.id, n.role) for n in topology.nodes] == [("words", "spout"), ("count", "bolt")]
    assert edges(topology) == [("words", "late", "count", "shuffle", 10)]


def test_a_function_that_only_other_code_calls():
    topology = only("""
        def build(name):
            builder = TopologyBuilder(name=name)
            builder.add_spout("words", Words, par=1)
            return builder
        """)
    assert topology.name == "name"
    assert [gap.why for gap in topology.gaps] == ["this code does not call `build_and_submit`"]


def test_a_function_that_main_calls_is_read_once():
    topology = only("""
        def build(name):
            builder = TopologyBuilder(name)
            builder.add_spout("words", Words, par=1)
            return builder
        if __name__ == "__main__":
            build("shop").build_and_submit()
        """)
    assert (topology.name, topology.gaps) == ("shop", ())


def test_branches_are_topologies():
    found = read("""
        builder = TopologyBuilder("shop")
        builder.add_spout("words", Words, par=1)
        mode = constants.TopologyReliabilityMode.ATLEAST_ONCE
        if os.environ.get("FAST"):
            mode = constants.TopologyReliabilityMode.ATMOST_ONCE
        builder.set_config({constants.TOPOLOGY_RELIABILITY_MODE: mode})
        builder.build_and_submit()
        """)
    assert sorted(topology.settings[0].value for topology in found) == ["ATLEAST_ONCE", "ATMOST_ONCE"]
    assert all("FAST" in topology.branch for topology in found)


def test_a_constant_of_a_module_that_is_not_read_decides_nothing():
    topology = only("""
        import limits
        builder = TopologyBuilder("shop")
        builder.add_spout("words", Words, par=1)
        builder.set_config({constants.TOPOLOGY_RELIABILITY_MODE: limits.MODE})
        builder.build_and_submit()
        """)
    assert topology.settings[0].value.why == "limits.MODE is not in these files"


def test_components_in_a_loop_over_a_known_list():
    topology = only("""
        builder = TopologyBuilder("shop")
        words = builder.add_spout("words", Words, par=1)
        for name in ("a", "b"):
            builder.add_bolt("count-" + name, Count, par=1, inputs=[words])
        builder.build_and_submit()
        """)
    assert [n.id for n in topology.nodes] == ["words", "count-a", "count-b"]


@pytest.mark.parametrize(
    ("acking", "mode"),
    [("True", "ATLEAST_ONCE"), ('"true"', "ATLEAST_ONCE"), ("False", "ATMOST_ONCE")],
)
def test_pyheron_has_a_switch_instead_of_a_mode(acking, mode):
    topology = only(
        f"""
        from pyheron import TopologyBuilder, constants
        builder = TopologyBuilder("shop")
        builder.add_spout("words", Words, par=1)
        builder.set_config({{constants.TOPOLOGY_ENABLE_ACKING: {acking}}})
        builder.build_and_submit()
        """,
        "from parts import Words\n",
    )
    assert [(s.key, s.value) for s in topology.settings] == [("topology.reliability.mode", mode)]


def test_a_config_that_is_computed_is_a_gap():
    topology = only("""
        builder = TopologyBuilder("shop")
        builder.add_spout("words", Words, par=1)
        builder.set_config(load())
        builder.build_and_submit()
        """)
    assert all(isinstance(s.value, Gap) for s in topology.settings)


STREAMLETS = """
import sys
from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.runner import Runner
from sources import Lines
"""


def test_streamlets():
    topology = only(
        """
        builder = Builder()
        left = builder.new_source(Lines()).set_name("lines").set_num_partitions(2)
        right = builder.new_source(lambda: 1)
        joined = left.flat_map(split).map(pair).join(right, window, add)
        joined.log()
        config = Config()
        config.set_delivery_semantics(Config.ATLEAST_ONCE)
        Runner().run("shop", config, builder)
        """,
        STREAMLETS,
    )
    assert (topology.name, topology.kind) == ("shop", "heronpy")
    assert [(n.id, n.role, n.cls.rpartition(".")[2], n.parallelism) for n in topology.nodes] == [
        ("lines", "spout", "GeneratorSpout", 2),
        ("supplier-1", "spout", "SupplierSpout", None),
        ("flatmap-1", "bolt", "FlatMapBolt", None),
        ("map-1", "bolt", "MapBolt", None),
        ("join-1", "bolt", "JoinBolt", None),
        ("log-1", "bolt", "LogBolt", None),
    ]
    assert {(e.source, e.target) for e in topology.edges} == {
        ("lines", "flatmap-1"),
        ("flatmap-1", "map-1"),
        ("map-1", "join-1"),
        ("supplier-1", "join-1"),
        ("join-1", "log-1"),
    }
    assert [(s.key, s.value, s.place.line) for s in topology.settings] == [
        ("topology.reliability.mode", "ATLEAST_ONCE", 14)
    ]


def test_a_streamlet_operation_that_is_not_known_is_a_gap():
    topology = only(
        """
        builder = Builder()
        builder.new_source(Lines()).clone(3)
        Runner().run(sys.argv[1], Config(), builder)
        """,
        STREAMLETS,
    )
    assert [gap.why for gap in topology.gaps] == ["`clone` of a streamlet is not followed"]


def test_other_builders_are_not_herons():
    assert read('from petrel import x\nbuilder = TopologyBuilder("a")\n', "") == ()
