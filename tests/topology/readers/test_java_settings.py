"""The configuration of topologies in Java that is submitted."""

from ackdoctor.model.topology import Topology
from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link
from tests.topology.readers.java_topologies import GRAPH, IMPORTS, one, read, settings


def test_setters_constants_keys_and_maps_are_settings() -> None:
    found = one(
        GRAPH
        + "Config conf = new Config(); conf.setNumAckers(0); conf.put(Config.TOPOLOGY_WORKERS, 2 + 1);\n"
        'Map<String, Object> more = new HashMap<>(); more.put("topology.message.timeout.secs", 60); conf.putAll(more);\n'
        'Config.setMaxSpoutPending(conf, Integer.parseInt(args[2])); conf.put("mine", 3); fill(conf);\n'
        "StormSubmitter.submitTopologyWithProgressBar(args[0], conf, b.createTopology());",
        "static void fill(Map<String, Object> c) { c.put(Config.TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS, false); }",
    )
    assert settings(found) == {
        ":topology.acker.executors": 0,
        ":topology.workers": 3,
        ":topology.message.timeout.secs": 60,
        ":topology.max.spout.pending": "args[2]",
        ":topology.enable.message.timeouts": False,
    }
    assert (found.name, str(found.config)) == ("Main", "demo/Main.java:10")


def test_statically_imported_constants_and_loaded_properties_are_read() -> None:
    found = one(
        GRAPH
        + "Properties p = new Properties(); p.load(in); Config conf = new Config(); conf.put(TOPOLOGY_ACKER_EXECUTORS, 0);\n"
        'conf.setMaxSpoutPending(Integer.parseInt(p.getProperty("pending")));\n'
        'StormSubmitter.submitTopology("d", conf, b.createTopology());',
        imports="import static org.apache.storm.Config.*;\n",
    )
    assert settings(found) == {
        ":topology.acker.executors": 0,
        ":topology.max.spout.pending": 'Integer.parseInt(p.getProperty("pending"))',
    }


def test_a_key_that_only_a_run_knows_leaves_the_settings_open() -> None:
    found = one(
        GRAPH
        + "Config conf = new Config(); conf.setNumAckers(0); for (String k : args) { conf.put(k, 1); }\n"
        'StormSubmitter.submitTopology("d", conf, b.createTopology());'
    )
    assert settings(found)[":topology.acker.executors"] == "a key of the configuration comes from k"


def test_settings_after_the_submission_do_not_count() -> None:
    found = one(
        GRAPH
        + 'Config conf = new Config(); new LocalCluster().submitTopology("d", conf, b.createTopology()); conf.setNumAckers(0);'
    )
    assert settings(found) == {}


def test_component_settings_belong_to_their_component() -> None:
    found = one(
        GRAPH
        + 'b.setBolt("x", new X()).shuffleGrouping("words").addConfiguration(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 5).setMaxSpoutPending(3);\n'
        'StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert settings(found) == {"x:topology.tick.tuple.freq.secs": 5, "x:topology.max.spout.pending": 3}


def test_an_unread_constant_may_be_any_key_of_a_component() -> None:
    found = one(
        GRAPH
        + 'b.setBolt("x", new X()).shuffleGrouping("words").addConfiguration(Keys.TICKS, 5);\n'
        + 'StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert "a key of the configuration is" in str(settings(found)["x:topology.tick.tuple.freq.secs"])


def test_an_unknown_configuration_leaves_the_settings_open() -> None:
    for conf in ("Loader.load(args[1])", "Utils.readStormConfig()"):
        found = one(
            GRAPH
            + f'Map conf = {conf}; conf.put("topology.workers", 2); StormSubmitter.submitTopology("d", conf, b.createTopology());'
        )
        assert "comes from" in str(settings(found)[":topology.acker.executors"])
        assert settings(found)[":topology.workers"] == 2


def test_a_topology_that_no_code_submits_has_open_settings() -> None:
    found = one("build();", f"static StormTopology build() {{ {GRAPH} return b.createTopology(); }}")
    assert (
        settings(found)[":topology.acker.executors"]
        == "no code of the run submits this topology with its configuration"
    )


def test_a_configuration_that_is_not_submitted_is_a_defect_and_has_no_effect() -> None:
    found = one(
        GRAPH
        + 'Config conf = new Config();\nconf.setNumAckers(0);\nStormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert [(each.kind, each.sure, each.place.line) for each in found.defects] == [
        ("config-object-not-passed", "certain", 10)
    ]
    assert settings(found) == {}
    assert [each.effective for each in found.settings] == [False]


def test_an_unknown_object_submits_a_topology_as_well() -> None:
    found = one(
        GRAPH
        + 'Config conf = new Config(); conf.setNumAckers(0); args[0].cluster().submitTopology("d", conf, b.createTopology());'
    )
    assert (settings(found), found.defects) == ({":topology.acker.executors": 0}, ())


def test_a_configuration_that_another_branch_submits_is_no_defect() -> None:
    found = read(
        GRAPH
        + "Config conf = new Config(); Config local = new Config(); conf.setNumWorkers(2); local.setDebug(true);\n"
        'if (args.length > 0) { StormSubmitter.submitTopology("d", conf, b.createTopology()); }\n'
        'else { new LocalCluster().submitTopology("d", local, b.createTopology()); }'
    )
    assert [each.kind for topology in found for each in topology.defects] == []


CONFIGURABLE = """public class Topo extends ConfigurableTopology {{
 public static void main(String[] args) {{ ConfigurableTopology.start(new Topo(), args); }}
 protected int run(String[] args) {{ {body} }}
}}"""


def configurable(body: str) -> Topology:
    text = IMPORTS + CONFIGURABLE.format(body=GRAPH + body)
    (found,) = from_program(link({"demo/Topo.java": text}), {"demo/Topo.java"})
    return found


def test_the_field_of_a_configurable_topology_is_its_configuration() -> None:
    found = configurable('conf.setNumAckers(2); return submit("d", conf, b);')
    assert (found.kind, settings(found), found.defects) == (
        "java-configurable",
        {":topology.acker.executors": 2},
        (),
    )


def test_a_local_configuration_hides_that_of_a_configurable_topology() -> None:
    found = configurable('\nConfig conf = new Config(); conf.setDebug(true); return submit("d", conf, b);')
    assert [(each.kind, each.place.line) for each in found.defects] == [("config-object-shadowed", 11)]
    merged = configurable('Config mine = new Config(); mine.putAll(conf); return submit("d", mine, b);')
    assert merged.defects == ()
