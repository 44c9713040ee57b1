"""Topologies that Python classes define, in streamparse and heronpy."""

import pytest

from ackdoctor.model.topology import UNREAD, Gap, Place
from ackdoctor.topology.readers import streamparse
from tests.flow.programs import link

SPOUTS = """
    from streamparse import Spout
    class Orders(Spout):
        outputs = ["order"]
    """
BOLTS = """
    from streamparse import Bolt, Stream
    class Check(Bolt):
        outputs = [Stream(fields=["order"]), Stream(["reason"], name="refused")]
    class Store(Bolt):
        config = {"topology.tick.tuple.freq.secs": 5}
    """
HEAD = """
from streamparse import Grouping, JavaBolt, JavaSpout, ShellBolt, Stream, Topology
from streamparse.dsl.component import GlobalStreamId
from bolts.check import Check, Store
from spouts import Orders
"""


def read(text, **files):
    program = link(
        {"topologies/shop.py": HEAD + text, "src/spouts.py": SPOUTS, "src/bolts/check.py": BOLTS, **files}
    )
    return streamparse.from_program(program, {"topologies/shop.py"})


def only(text, **files):
    (topology,) = read(text, **files)
    return topology


def edges(topology):
    return [(e.source, e.stream, e.target, e.grouping, e.place.line) for e in topology.edges]


def test_components_subscriptions_and_settings():
    topology = only("""
class Shop(Topology):
    config = {
        "topology.acker.executors": 0,
        "topology.max.spout.pending":
            100,
    }
    orders = Orders.spec(par=2)
    check = Check.spec(
        name="checker",
        inputs=[orders],
        par={"prod": 4, "beta": 1},
    )
    store = Store.spec(inputs={
        check: Grouping.fields("order", "day"),
        check["refused"]: Grouping.ALL,
    }, config={"topology.tick.tuple.freq.secs": 60})
""")
    assert (topology.name, topology.kind, topology.place) == (
        "Shop",
        "streamparse-py",
        Place("topologies/shop.py", 7),
    )
    nodes = [(n.id, n.role, n.cls, n.place.line, n.parallelism, n.code) for n in topology.nodes]
    assert nodes == [
        ("orders", "spout", "src.spouts.Orders", 13, 2, Place("src/spouts.py", 3)),
        ("checker", "bolt", "src.bolts.check.Check", 14, None, Place("src/bolts/check.py", 3)),
        ("store", "bolt", "src.bolts.check.Store", 19, None, Place("src/bolts/check.py", 5)),
    ]
    assert edges(topology) == [
        ("orders", "default", "checker", "shuffle", 16),
        ("checker", "default", "store", "fields(order, day)", 20),
        ("checker", "refused", "store", "all", 21),
    ]
    assert [(s.key, s.value, s.component, s.place.line) for s in topology.settings] == [
        ("topology.acker.executors", 0, "", 9),
        ("topology.max.spout.pending", 100, "", 11),
        ("topology.tick.tuple.freq.secs", 60, "store", 22),
    ]
    assert not topology.gaps


def test_a_subclass_of_a_topology_inherits_nothing():
    (base, own) = read("""
class Base(Topology):
    config = {"topology.acker.executors": 0}
    orders = Orders.spec()
class Empty(Base):
    pass
class Own(Base):
    more = Orders.spec()
""")
    assert (base.name, own.name) == ("Base", "Own")
    assert [n.id for n in own.nodes] == ["more"]
    assert own.settings == ()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ('Shop = type("Shop", (Topology,), {"orders": Orders.spec()})', "Shop"),
        ('def make(name):\n    return type(name, (Topology,), {"orders": Orders.spec()})', "shop"),
        ('import streamparse\nT = type("T", (streamparse.Topology,), parts)', "T"),
    ],
)
def test_a_topology_that_a_call_makes_is_not_read(call, name):
    topology = only(call)
    assert (topology.name, topology.nodes) == (name, ())
    assert [gap.why for gap in topology.gaps] == [
        "a call makes this topology at run time: its components are not read"
    ]


def test_another_class_that_a_call_makes_is_no_topology():
    assert read('Shop = type("Shop", (Orders,), {})\nKind = type(Orders)') == ()


def test_several_topologies_and_other_classes_in_a_file():
    found = read("""
class One(Topology):
    orders = Orders.spec()
class Two(Topology):
    orders = Orders.spec()
class Helper:
    orders = Orders.spec()
""")
    assert [topology.name for topology in found] == ["One", "Two"]


@pytest.mark.parametrize(
    ("inputs", "edge"),
    [
        ("orders", ("orders", "default", "shuffle")),
        ("(orders,)", ("orders", "default", "shuffle")),
        ('[orders["late"]]', ("orders", "late", "shuffle")),
        ("{orders: Grouping.GLOBAL}", ("orders", "default", "global")),
        ("{orders: Grouping.LOCAL_OR_SHUFFLE}", ("orders", "default", "local_or_shuffle")),
        ('{orders: Grouping.fields(["a", "b"])}', ("orders", "default", "fields(a, b)")),
        ('{orders: Grouping.custom_object("a.B", [])}', ("orders", "default", "custom a.B")),
        ('[GlobalStreamId("orders", "late")]', ("orders", "late", "shuffle")),
        (
            '{GlobalStreamId(componentId="orders", streamId="default"): GROUPING}',
            ("orders", "default", UNREAD),
        ),
    ],
)
def test_the_forms_of_inputs(inputs, edge):
    topology = only(f"""
class Shop(Topology):
    orders = Orders.spec()
    check = Check.spec(inputs={inputs})
""")
    assert [(e.source, e.stream, e.grouping) for e in topology.edges] == [edge]


def test_outputs_in_a_specification():
    topology = only("""
class Shop(Topology):
    words = JavaSpout.spec(name="words", full_class_name="shop.Words", args_list=["a", 1],
                           outputs=["word", Stream(fields=["line"], name="rest")])
    split = ShellBolt.spec(command="node", script="split.js", inputs=[words], outputs=["part"], par=3)
    save = JavaBolt.spec(full_class_name="shop.Save", args_list=[], inputs=[split])
""")
    nodes = [(n.id, n.role, n.cls, n.streams) for n in topology.nodes]
    assert nodes == [
        ("words", "spout", "shop.Words", {"default": ("word",), "rest": ("line",)}),
        ("split", "bolt", "split.js", {"default": ("part",)}),
        ("save", "bolt", "shop.Save", None),
    ]


def test_components_that_are_not_in_the_project():
    topology = only("""
from birding.spout import DispatchSpout
from birding import Elsewhere
class Shop(Topology):
    tracks = DispatchSpout.spec()
    store = Elsewhere.spec(inputs=[tracks])
""")
    assert [(n.role, n.cls, n.code) for n in topology.nodes] == [
        ("spout", "birding.spout.DispatchSpout", None),
        ("bolt", "birding.Elsewhere", None),
    ]


def test_settings_from_constants_and_other_modules():
    topology = only(
        """
from settings import COMMON
LIMIT = 5 * 10
class Shop(Topology):
    config = dict(COMMON, **{"topology.max.spout.pending": LIMIT})
    orders = Orders.spec()
""",
        **{"src/settings.py": 'COMMON = {\n  "topology.acker.executors": 0}'},
    )
    assert [(s.key, s.value, str(s.place)) for s in topology.settings] == [
        ("topology.acker.executors", 0, "src/settings.py:2"),
        ("topology.max.spout.pending", 50, "topologies/shop.py:10"),
    ]


def test_settings_that_are_read_at_run_time_are_gaps():
    topology = only("""
import json, os
class Shop(Topology):
    config = json.load(open("shop.json"))
    orders = Orders.spec(config={"topology.max.spout.pending": int(os.environ["PENDING"])})
""")
    values = {s.key: s.value for s in topology.settings}
    assert values["topology.acker.executors"] == Gap(
        '`json.load(open("shop.json"))` decides the settings', Place("topologies/shop.py", 9)
    )
    assert isinstance(values["topology.max.spout.pending"], Gap)


def test_inputs_that_are_computed_are_a_gap():
    topology = only("""
from wiring import sources
class Shop(Topology):
    orders = Orders.spec()
    check = Check.spec(inputs=sources(orders))
""")
    assert [gap.why for gap in topology.gaps] == ["`sources(orders)` decides what check subscribes to"]


def test_a_choice_in_the_class_body_gives_a_topology_for_each():
    one, two = read("""
import os
FAST = os.environ.get("FAST")
class Shop(Topology):
    orders = Orders.spec()
    config = {"topology.acker.executors": 0 if FAST else 2}
""")
    assert {(t.branch, t.settings[0].value) for t in (one, two)} == {("FAST", 0), ("not FAST", 2)}


def test_statements_in_the_class_body_are_a_gap():
    topology = only("""
class Shop(Topology):
    config = {"topology.debug": True}
    config["topology.acker.executors"] = 0
    orders = Orders.spec()
""")
    assert [gap.why for gap in topology.gaps] == ["statements in the body of Shop are not followed"]


def test_copies_of_the_framework_are_not_the_projects():
    template = """
        from streamparse import Topology
        from spouts import Orders
        class Words(Topology):
            words = Orders.spec()
        """
    files = {
        "env/lib/python3.9/site-packages/streamparse/bootstrap/words.py": template,
        "src/spouts.py": SPOUTS,
    }
    assert streamparse.from_program(link(files), set(files)) == ()


def test_a_vendored_framework_is_not_executed():
    topology = only(
        "class Shop(Topology):\n    orders = Orders.spec()\n    store = Store.spec(inputs=[orders])\n",
        **{
            "streamparse/__init__.py": """
                class Topology: pass
                class Grouping:
                    SHUFFLE = make()
                class Spout:
                    @classmethod
                    def spec(cls, par=1): return object()
                """
        },
    )
    assert edges(topology) == [("orders", "default", "store", "shuffle", 8)]


def test_heronpys_classes():
    topology = only("""
import heronpy.api.api_constants as constants
from heronpy.api.topology import Topology as HeronTopology
from heronpy.api.bolt.bolt import Bolt
from heronpy.api.spout.spout import Spout
class Words(Spout):
    outputs = ["word"]
class Count(Bolt):
    pass
class WordCount(HeronTopology):
    config = {constants.TOPOLOGY_RELIABILITY_MODE: constants.TopologyReliabilityMode.ATLEAST_ONCE}
    words = Words.spec(par=1, optional_outputs=["extra"])
    count = Count.spec(par=2, inputs={words: Grouping.LOWEST},
                       config={constants.TOPOLOGY_TICK_TUPLE_FREQ_SECS: 10})
""")
    assert (topology.kind, topology.framework) == ("heronpy", "heron")
    assert [(n.id, n.role, n.parallelism, n.streams) for n in topology.nodes] == [
        ("words", "spout", 1, {UNREAD: None}),
        ("count", "bolt", 2, None),
    ]
    assert [(s.key, s.value, s.component) for s in topology.settings] == [
        ("topology.reliability.mode", "ATLEAST_ONCE", ""),
        ("topology.tick.tuple.freq.secs", 10, "count"),
    ]
    assert edges(topology) == [("words", "default", "count", "global", 18)]


def test_hostile_code_ends():
    found = read("""
import shop
A = [[Orders.spec() for _ in range(10 ** 9)] for _ in range(10 ** 9)]
def loop():
    while True:
        loop()
class Shop(Topology):
    config = loop()
    orders = Orders.spec(par=2 ** 10 ** 9, name="x" * 10 ** 9)
    check = Check.spec(inputs={orders: loop(), check: Grouping.ALL, **loop()})
    again = orders
""")
    assert all(topology.name == "Shop" for topology in found)
