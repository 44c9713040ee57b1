import pytest

from ackdoctor.model.topology import UNREAD, Gap
from ackdoctor.topology.readers import clojure
from ackdoctor.topology.settings import effective, setting_defects
from ackdoctor.topology.texts import Texts

PIPELINE = """\
(ns letters
  (:use [streamparse.specs])
  (:gen-class))

(defn letters [options]
  [
    {"inbox" (python-spout-spec options "spouts.inbox.Inbox" ["letter"] :p 3)}
    {"sort" (python-bolt-spec
        options
        {"inbox" :shuffle}
        "bolts.sort.Sorter"
        {"local" ["letter", "street"]
         "abroad" ["letter" "country"]})
     ;; "old-sort" (python-bolt-spec options {"inbox" :all} "bolts.old.Sorter" ["letter"])
     "walk" (python-bolt-spec
        options
        {["sort" "local"] ["street"]
         ["sort" "abroad"] :local-or-shuffle,
         "inbox" nil}
        "bolts.walk.Walker"
        []
        :p 2
        :conf {"topology.tick.tuple.freq.secs" 5,
               TOPOLOGY-MAX-SPOUT-PENDING 10})}])
"""


DEFAULTS = {
    "topology.workers": 2,
    "topology.acker.executors": 2,
    "topology.max.spout.pending": 5000,
    "topology.message.timeout.secs": 60,
}


def read(text, **texts):
    files = {f"{name}.clj": data for name, data in texts.items()}
    (topology,) = clojure.read("topologies/a.clj", text.encode(), Texts(files))
    return topology


def edges(topology):
    return [(e.source, e.stream, e.target, e.grouping, e.place.line) for e in topology.edges]


def spec(body):
    return f'(defn t [options] [{{"s" (python-spout-spec options "s.S" ["x"])}} {{"b" {body}}}])'


def test_components_with_classes_streams_and_parallelism():
    topology = read(PIPELINE)
    assert (topology.name, topology.kind, topology.place.line) == ("letters", "streamparse-clj", 5)
    nodes = [(n.id, n.role, n.cls, n.place.line, n.parallelism) for n in topology.nodes]
    assert nodes == [
        ("inbox", "spout", "spouts.inbox.Inbox", 7, 3),
        ("sort", "bolt", "bolts.sort.Sorter", 8, None),
        ("walk", "bolt", "bolts.walk.Walker", 15, 2),
    ]
    assert topology.nodes[1].streams == {"local": ("letter", "street"), "abroad": ("letter", "country")}
    assert topology.nodes[2].streams == {"default": ()}
    assert not topology.gaps


def test_edges():
    assert edges(read(PIPELINE)) == [
        ("inbox", "default", "sort", "shuffle", 10),
        ("sort", "local", "walk", "fields(street)", 17),
        ("sort", "abroad", "walk", "local_or_shuffle", 18),
        ("inbox", "default", "walk", "none", 19),
    ]


def test_streamparse_submits_with_its_own_defaults():
    project = b'(defproject x "1" :dependencies [[org.apache.storm/storm-core "0.9.5"]])'
    topology = read(PIPELINE, project=project)
    assert topology.framework == "streamparse<3, storm 0.9.5"
    found = {key: effective(topology, key).value for key in DEFAULTS}
    assert found == DEFAULTS


def test_streamparse_passes_no_setting_of_config_json_to_storm():
    config = (
        b'{"envs": {"prod": {\n"acker_count": 0,\n"options": {"topology.acker.executors": 0}, "user": "x"}}}'
    )
    (topology,) = clojure.read(
        "topologies/a.clj", PIPELINE.encode(), Texts({"config.json": config, "project.clj": b""})
    )
    assert effective(topology, "topology.acker.executors").value == 2
    assert [(d.kind, d.sure, str(d.place)) for d in setting_defects(topology)] == [
        ("dead-key", "certain", "config.json:2"),
        ("dead-key", "certain", "config.json:3"),
    ]


def test_settings_of_a_component():
    settings = [(s.key, s.value, s.component, s.place.line) for s in read(PIPELINE).settings if s.component]
    assert settings == [
        ("topology.tick.tuple.freq.secs", 5, "walk", 23),
        ("topology.max.spout.pending", 10, "walk", 24),
    ]


def test_names_and_blocks_are_followed():
    topology = read(
        """\
(def per-second 4)
(def readers {"s" (python-spout-spec {} "s.S" ["x"] :p per-second)})
(defn t "The last definition is the topology." [options]
  (let [common {"s" :shuffle}
        slow {"c" (python-bolt-spec options (merge common {"b" :all}) "b.C" ["y"])}]
    [readers (merge {"b" (python-bolt-spec options common "b.B" ["x"])} slow)]))
"""
    )
    assert [(n.id, n.place.line, n.parallelism) for n in topology.nodes] == [
        ("s", 2, 4),
        ("b", 6, None),
        ("c", 5, None),
    ]
    assert edges(topology) == [
        ("s", "default", "b", "shuffle", 4),
        ("s", "default", "c", "shuffle", 4),
        ("b", "default", "c", "all", 5),
    ]


def test_only_the_last_definition_is_submitted():
    text = spec("1").replace("defn t", "defn draft") + "\n" + spec('(bolt-spec {"s" :all} x)')
    assert read(text).name == "t"


def test_a_third_map_is_ignored_by_storm():
    text = spec("(bolt-spec {} x)").replace(
        "}])", '} {"lost" (python-bolt-spec options {"b" :all} "l.L" [])}])'
    )
    topology = read(text)
    assert [n.id for n in topology.nodes] == ["s", "b"]
    (defect,) = topology.defects
    assert (defect.kind, defect.component, defect.sure) == ("ignored-component", "lost", "certain")


def test_java_components():
    topology = read(
        """\
(ns t (:import [storm.kafka KafkaSpout SpoutConfig] backtype.storm.testing.TestWordSpout))
(def hosts (ZkHosts. "zk"))
(defn kafka [topic] (let [config (SpoutConfig. hosts topic)] (set! (.retryLimit config) 2) (KafkaSpout. config)))
(def clicks (kafka "clicks"))
(defn t [options]
  [{"clicks" (spout-spec clicks :p 1) "words" (spout-spec (new TestWordSpout) :parallelism-hint 2)}
   {"b" (bolt-spec {"clicks" :shuffle} elsewhere)}])
"""
    )
    assert topology.nodes[0].arguments == {"retryLimit": 2}
    assert [(n.cls, n.unread, n.parallelism, n.streams) for n in topology.nodes] == [
        ("storm.kafka.KafkaSpout", "", 1, None),
        ("backtype.storm.testing.TestWordSpout", "", 2, None),
        ("elsewhere", "`elsewhere` is defined in Clojure, which is not read", None, None),
    ]


SPOUTS = b"""
(ns shop.spouts.clicks_spout (:import [storm.kafka SpoutConfig KafkaSpout]))
(def config (let [cfg (SpoutConfig. 1 "clicks" "/root" "id")]
              (set! (.retryLimit cfg) 3)
              (set! (. cfg scheme) (Scheme.))
              cfg))
(def ^{:doc "clicks"} spout (KafkaSpout. config))
"""


@pytest.mark.parametrize(
    ("clause", "name"),
    [
        ("(:use [shop.spouts.clicks-spout :only [spout] :rename {spout clicks}])", "clicks"),
        ("(:use shop.spouts.clicks-spout)", "spout"),
        ("(:require [shop.spouts.clicks-spout :as clicks])", "clicks/spout"),
        ("(:require [shop.spouts.clicks-spout :refer [spout]] [other.place :as o])", "spout"),
    ],
)
def test_java_components_of_other_namespaces(clause, name):
    text = (
        f'(ns t {clause})\n(defn t [o] [{{"s" (spout-spec {name} :p 1)}} {{"b" (bolt-spec {{"s" :all}} x)}}])'
    )
    texts = Texts({"src/clj/shop/spouts/clicks_spout.clj": SPOUTS})
    (topology,) = clojure.read("topologies/a.clj", text.encode(), texts)
    node = topology.nodes[0]
    assert (node.cls, node.unread, node.arguments["retryLimit"]) == ("storm.kafka.KafkaSpout", "", 3)
    assert isinstance(node.arguments["scheme"], Gap)


def test_a_computed_configuration_leaves_a_java_component_open():
    text = '(defn t [o] [{"s" (spout-spec (KafkaSpout. (load-config "a")))} {"b" (bolt-spec {"s" :all} x)}])'
    assert read(text).nodes[0].cls == "KafkaSpout"
    assert [gap.why for gap in read(text).gaps] == ["`(load-config ...)` configures s"]


def test_names_of_an_absent_namespace_stay_unread():
    text = '(ns t (:use [gone :only [spout]]))\n(defn t [o] [{"s" (spout-spec spout)} {"b" (bolt-spec {"s" :all} x)}])'
    assert read(text).nodes[0].unread == "`spout` is defined in Clojure, which is not read"


def test_scripts():
    topology = read(
        """\
(def t [{"s" (shell-spout-spec ["python" "words.py"] ["word"])}
        {"b" (shell-bolt-spec {"s" :shuffle} "python" "count.py" ["word" "count"] :p 2)}])
"""
    )
    assert [(n.cls, n.streams) for n in topology.nodes] == [
        ("words.py", {"default": ("word",)}),
        ("count.py", {"default": ("word", "count")}),
    ]


def test_a_computed_component_is_a_gap():
    topology = read(spec('(my-bolt options {"s" :shuffle})'))
    assert topology.nodes[1].unread == "`(my-bolt ...)` decides what it runs"
    assert [gap.why for gap in topology.gaps] == ["`(my-bolt ...)` decides what b subscribes to"]


def test_computed_inputs_streams_and_groupings_are_unread():
    topology = read(spec('(python-bolt-spec options (inputs) "b.B" (outputs))'))
    assert edges(topology) == [(UNREAD, UNREAD, "b", UNREAD, 1)]
    assert topology.nodes[1].streams == {UNREAD: None}
    topology = read(spec('(python-bolt-spec options {(id) (how)} "b.B" {"x" (direct-stream ["f"])})'))
    assert edges(topology) == [(UNREAD, "default", "b", UNREAD, 1)]
    assert topology.nodes[1].streams == {"x": ("f",)}


def test_computed_settings_are_gaps():
    topology = read(spec('(python-bolt-spec options {"s" :all} "b.B" [] :conf (load-conf))'))
    settings = {s.key: s.value for s in topology.settings if s.component == "b"}
    why = "`(load-conf ...)` decides the settings of b"
    assert {key: value.why for key, value in settings.items()} == {
        "topology.tick.tuple.freq.secs": why,
        "topology.max.spout.pending": why,
    }
    topology = read(spec('(python-bolt-spec options {"s" :all} "b.B" [] :conf {"topology.debug" (debug?)})'))
    (setting,) = [s for s in topology.settings if s.component]
    assert isinstance(setting.value, Gap)


def test_components_computed_in_a_loop_are_a_gap():
    text = '(defn t [o] [{"s" (python-spout-spec o "s.S" ["x"])} (into {} (for [i (range 3)] [i 1]))])'
    assert [gap.why for gap in read(text).gaps] == ["the bolts are computed by `(into ...)`"]


def test_storms_own_dsl():
    text = (
        '(defn make []\n  (topology {"1" (spout-spec words)}\n {"2" (bolt-spec {"1" ["word"]} count :p 6)}))'
    )
    topology = read(text)
    assert (topology.kind, topology.name, topology.place.line) == ("storm-clj", "make", 2)
    assert edges(topology) == [("1", "default", "2", "fields(word)", 3)]
    assert isinstance({s.key: s.value for s in topology.settings}["topology.acker.executors"], Gap)


def test_a_file_that_does_not_parse():
    topology = read('(ns x)\n(defn x [o] [{"s" (python-spout-spec o "s.S" ["x"])}')
    assert (topology.name, topology.nodes) == ("a", ())
    assert topology.gaps[0].why.startswith("the file does not parse:")
    assert topology.gaps[0].place.line == 2


def test_other_files_have_no_topology():
    project = b'(defproject x "1" :dependencies [[org.apache.storm/storm-core "0.9.5"]])'
    assert clojure.read("project.clj", project, Texts({})) == ()
    assert clojure.read("a.clj", b"; python-bolt-spec\n(def x 1)", Texts({})) == ()


def test_names_that_stand_for_each_other_end():
    text = "".join(f"(def n{i} (merge n{i + 1} n{i + 1}))" for i in range(40))
    text += "(def n40 n40) (def v [v v])"
    topology = read(text + spec('(python-bolt-spec options n0 "b.B" v :conf {"a" v})'))
    assert [n.id for n in topology.nodes] == ["s", "b"]
