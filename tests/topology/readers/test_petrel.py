"""Topologies of Petrel: the function that builds one, and the YAML file beside it."""

from dataclasses import replace

from ackdoctor.model.topology import UNREAD, Gap, Place, Topology
from ackdoctor.topology.readers import petrel
from ackdoctor.topology.settings import effective, setting_defects
from ackdoctor.topology.texts import Texts
from tests.flow.programs import link

COMPONENTS = {
    "shop/words.py": """
        from petrel.emitter import Spout
        class Words(Spout):
            def __init__(self, path="x"):
                super().__init__(script=__file__)
        """,
    "shop/count.py": """
        from petrel.emitter import BasicBolt
        class Count(BasicBolt):
            def __init__(self):
                super().__init__(script=__file__)
        """,
}
ACKERS = "topology.acker.executors"


def read(text, **files):
    program = link({"shop/create.py": text, **COMPONENTS, **files})
    return petrel.from_program(program, set(program.units))


def only(text, **files):
    (topology,) = read(text, **files)
    return topology


def edges(topology):
    return [(e.source, e.stream, e.target, e.grouping, e.place.line) for e in topology.edges]


def test_components_and_subscriptions():
    topology = only("""
        import words
        from count import Count

        def create(builder):
            spout = "words"
            builder.setSpout(spout, words.Words("a.txt"), 1)
            builder.setBolt("count", Count(), 2) \\
                .shuffleGrouping(spout) \\
                .fieldsGrouping("words", ["word", "line"], "rest")
            last = builder.setBolt("last", Count(), parallelism_hint=3)
            last.globalGrouping("count")
            last.localOrShuffleGrouping(componentId="count", streamId="late")
            builder.addOutputStream("count", "late", ["word"])
        """)
    assert (topology.name, topology.kind, topology.place) == ("shop", "petrel", Place("shop/create.py", 5))
    nodes = [(n.id, n.role, n.cls, n.parallelism, n.place.line, n.code) for n in topology.nodes]
    assert nodes == [
        ("words", "spout", "shop.words.Words", 1, 7, Place("shop/words.py", 3)),
        ("count", "bolt", "shop.count.Count", 2, 8, Place("shop/count.py", 3)),
        ("last", "bolt", "shop.count.Count", 3, 11, Place("shop/count.py", 3)),
    ]
    assert edges(topology) == [
        ("words", "default", "count", "shuffle", 9),
        ("words", "rest", "count", "fields(word, line)", 10),
        ("count", "default", "last", "global", 12),
        ("count", "late", "last", "local_or_shuffle", 13),
    ]
    assert topology.nodes[1].streams == {"default": None, "late": ("word",)}


def test_other_functions_and_helpers():
    found = read("""
        import words, count, parts
        def bolts(builder, source):
            builder.setBolt("count", count.Count(), 1).shuffleGrouping(source)
        def create(builder):
            builder.setSpout("words", words.Words(), 1)
            bolts(builder, "words")
        def create_small(b):
            b.setSpout("few", words.Words(), 1)
        """)
    assert [(t.name, [n.id for n in t.nodes]) for t in found] == [
        ("shop", ["words", "count"]),
        ("create_small", ["few"]),
    ]


def test_a_module_of_helpers_is_followed():
    topology = only(
        """
        import helpers
        def create(builder):
            helpers.add(builder, "words")
            builder.setSpout("more", helpers.make(), 1)
        """,
        **{
            "shop/helpers.py": """
                import words
                def add(b, name):
                    b.setSpout(name, make(), 1)
                def make():
                    return words.Words()
                """
        },
    )
    assert [(n.id, n.cls) for n in topology.nodes] == [
        ("words", "shop.words.Words"),
        ("more", "shop.words.Words"),
    ]


def test_components_that_are_not_known():
    topology = only("""
        from petrel.emitter import JavaSpout
        from elsewhere import Bolt, choose
        def create(builder):
            builder.setJavaSpout("java", JavaSpout("shop.Words", ["a"]), 1)
            builder.setBolt("bolt", Bolt(), 1).shuffleGrouping("java")
            builder.setBolt("chosen", [1, 2], 1).grouping("bolt", "all", None, "default")
        """)
    assert [(n.id, n.role, n.cls, bool(n.unread)) for n in topology.nodes] == [
        ("java", "spout", "shop.Words", False),
        ("bolt", "bolt", "elsewhere.Bolt", False),
        ("chosen", "bolt", UNREAD, True),
    ]
    assert edges(topology)[-1] == ("bolt", "default", "chosen", "all", 7)


def test_branches():
    found = read("""
        import os, words, count
        def create(builder):
            builder.setSpout("words", words.Words(), 1)
            if os.environ["WIDE"] == "1":
                builder.setBolt("count", count.Count(), 1).shuffleGrouping("words")
        """)
    assert sorted((t.branch, len(t.nodes)) for t in found) == [
        ('os.environ["WIDE"] != "1"', 1),
        ('os.environ["WIDE"] == "1"', 2),
    ]


def test_other_functions_named_create_are_no_topologies():
    assert read("def create(builder):\n    return builder.create()\n") == ()


# ---- the configuration ----


def configured(**files):
    topology = only("""
        import words
        def create(builder):
            builder.setSpout("words", words.Words(), 1)
        """)
    assert isinstance(topology, Topology)
    return petrel.configured(replace(topology), Texts({path: text.encode() for path, text in files.items()}))


def test_the_yaml_beside_configures_the_topology():
    text = f"nimbus.host: localhost\n{ACKERS}: 0\ntopology.ackers: 1\npetrel.parallelism.words: 4\n"
    (topology,) = configured(**{"shop/topology.yaml": text, "other/topology.yaml": f"{ACKERS}: 9\n"})
    assert effective(topology, ACKERS).value == 0
    assert effective(topology, ACKERS).place == Place("shop/topology.yaml", 2)
    assert topology.nodes[0].parallelism == 4
    assert topology.branch == ""
    assert ("dead-key", 3) in [(each.kind, each.place.line) for each in setting_defects(topology)]


def test_the_nearest_folder_above_configures_the_topology():
    files = {
        "topology.yaml": f"{ACKERS}: 3\n",
        "storm.yaml": f"{ACKERS}: 0\n",
        "broken.yaml": "{",
        "shop/other.yaml": "name: x\n",
    }
    (topology,) = configured(**files)
    assert effective(topology, ACKERS).place == Place("topology.yaml", 1)
    (topology,) = configured(**files, **{"shop/own.yaml": "topology.workers: 2\n"})
    assert effective(topology, ACKERS).place == Place("the defaults of Storm")


def test_several_files_are_branches():
    found = configured(
        **{
            "shop/beta.yaml": f"{ACKERS}: 0\n",
            "shop/prod.yaml": f"{ACKERS}: 2\n",
            "shop/other.yaml": "name: x\n",
            "shop/list.yaml": "- topology.x\n",
        }
    )
    assert [(t.branch, effective(t, ACKERS).value) for t in found] == [
        ("--config beta.yaml", 0),
        ("--config prod.yaml", 2),
    ]


def test_a_file_that_does_not_parse_leaves_the_settings_open():
    (topology,) = configured(**{"shop/topology.yaml": f"{ACKERS}: [\n"})
    assert isinstance(effective(topology, ACKERS).value, Gap)


def test_without_a_file_the_defaults_hold():
    (topology,) = configured()
    assert effective(topology, ACKERS).place == Place("the defaults of Storm")


def test_code_that_may_add_more_is_a_gap():
    topology = only("""
        import other
        from count import Count

        def create(builder):
            for number in range(200):
                builder.setBolt("count%d" % number, Count())
            other.more(builder)
        """)
    assert [(gap.why.partition(" may ")[0], gap.place.line) for gap in topology.gaps] == [
        ("the iterations of this loop after the first 128", 6),
        ("`more`", 8),
    ]


def test_code_that_is_too_long_is_said():
    topology = only("""
        from count import Count

        def create(builder):
            total = 0
            for one in range(100):
                for other in range(100):
                    total += one * other
            builder.setBolt("count", Count())
        """)
    assert (topology.nodes, topology.place) == ((), Place("shop/create.py", 4))
    assert "is longer" in topology.gaps[0].why
