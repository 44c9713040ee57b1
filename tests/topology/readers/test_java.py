"""Topologies in Java: builders, branches, and the arguments of library classes."""

from ackdoctor.model.cfg import Attr, Global, Literal
from ackdoctor.model.topology import Gap, Topology, Word
from ackdoctor.topology.guarantee import verdict
from ackdoctor.topology.readers.java import from_program
from tests.topology.programs import link
from tests.topology.readers.java_topologies import GRAPH, IMPORTS, edges, one, read, settings


def test_the_builder_is_read_with_lines_parallelism_and_tasks() -> None:
    found = one(
        GRAPH
        + 'b.setBolt("count", new Count(), 4)\n  .setNumTasks(8)\n  .fieldsGrouping("words",\n    new Fields("a", "b"));\n'
        'StormSubmitter.submitTopology("demo", new Config(), b.createTopology());'
    )
    assert (found.name, found.kind, str(found.place)) == ("demo", "java-builder", "demo/Main.java:9")
    count = found.nodes[1]
    assert (count.id, count.cls, count.place.line, count.parallelism, count.tasks) == (
        "count",
        "Count",
        10,
        4,
        8,
    )
    assert edges(found) == ["words -default/fields(a,b)-> count"]
    assert found.edges[0].place.line == 12


def test_every_grouping_is_read() -> None:
    calls = {
        'shuffleGrouping("words", "late")': "words -late/shuffle-> x",
        'allGrouping("words")': "words -default/all-> x",
        'fieldsGrouping("words", "late", new Fields("a"))': "words -late/fields(a)-> x",
        'partialKeyGrouping("words", new Fields("a"))': "words -default/partial-key(a)-> x",
        'localOrShuffleGrouping("words")': "words -default/local-or-shuffle-> x",
        'customGrouping("words", "late", new Mine())': "words -late/custom Mine-> x",
        'grouping(new GlobalStreamId("words", "late"), Grouping.shuffle(new NullStruct()))': "words -late/custom-> x",
        'directGrouping("words", Utils.DEFAULT_STREAM_ID)': "words -Utils.DEFAULT_STREAM_ID/direct-> x",
    }
    for call, expected in calls.items():
        found = one(
            f'{GRAPH} b.setBolt("x", new X()).{call}; StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
        )
        assert edges(found)[0].split("/")[0] == expected.split("/")[0], call
        assert edges(found)[0].startswith(expected.split("->")[0].rstrip("-")), call


def test_ids_streams_and_components_come_from_other_classes_and_loops() -> None:
    found = one(
        "TopologyBuilder b = new TopologyBuilder(); BoltDeclarer d = null;\n for (int i = 0; i < 2; i++) { b.setSpout(Ids.SPOUT + i, Parts.spout()); }\n"
        "d = b.setBolt(Ids.BOLT, new Count());\n for (int i = 0; i < 2; i++) { d.shuffleGrouping(Ids.SPOUT + i, Ids.LATE); }\n"
        'StormSubmitter.submitTopology("d", new Config(), b.createTopology());',
        Ids='class Ids { static final String SPOUT = "s-"; static final String BOLT = "b"; static final String LATE = "late"; }',
        Parts="class Parts { static Words spout() { return new Words(); } }",
        Words="class Words extends org.apache.storm.topology.base.BaseRichSpout { }",
    )
    assert [node.id for node in found.nodes] == ["s-0", "s-1", "b"]
    assert found.nodes[0].cls == "demo.Words"
    assert str(found.nodes[0].code) == "demo/Words.java:7"
    assert edges(found) == ["s-0 -late/shuffle-> b", "s-1 -late/shuffle-> b"]


def test_the_entries_of_a_map_are_wired_by_its_callback() -> None:
    found = one(
        GRAPH
        + 'Map<String, IRichBolt> bolts = new LinkedHashMap<>(); bolts.put("one", new One()); bolts.put("two", new Two());\n'
        'bolts.forEach((name, bolt) -> b.setBolt(name, bolt).shuffleGrouping("words"));\n'
        'StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert edges(found) == ["words -default/shuffle-> one", "words -default/shuffle-> two"]


def test_components_of_an_unknown_loop_are_one_with_the_expression_as_id() -> None:
    found = one(
        'TopologyBuilder b = new TopologyBuilder(); for (String topic : args) { b.setSpout(topic + "-in", new Words()); }\n'
        'b.setBolt("x", new X()).shuffleGrouping("other"); StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert (found.nodes[0].id, found.nodes[0].repeated) == ('topic + "-in"', True)
    assert found.gaps == ()


def test_a_component_that_only_a_run_knows_is_unread() -> None:
    found = one(
        'TopologyBuilder b = new TopologyBuilder(); b.setSpout("a", (IRichSpout) Class.forName(args[0]).newInstance());\n'
        'b.setBolt(args[1], Factory.make("x")).shuffleGrouping("a"); StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert [node.unread.partition(":")[0] for node in found.nodes] == ["its class is computed"] * 2
    assert [node.short_class for node in found.nodes] == ["Class.forName(..)", "Factory.make(..)"]
    assert found.nodes[1].id == "args[1]"
    assert found.gaps == ()  # no component subscribes to it


def _with_computed_ids(*subscriptions: str) -> Topology:
    bolts = "".join(
        f'b.setBolt("{name}", new {name}()).shuffleGrouping({source});\n'
        for name, source in zip("XYZ", subscriptions, strict=False)
    )
    return one(
        "TopologyBuilder b = new TopologyBuilder(); String in = args[0]; b.setSpout(in, new Words());\n"
        f'{bolts}StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )


def test_a_computed_id_is_known_by_its_value() -> None:
    found = _with_computed_ids("in", '"X"', "in")
    assert edges(found) == [
        "args[0] -default/shuffle-> X",
        "X -default/shuffle-> Y",
        "args[0] -default/shuffle-> Z",
    ]
    assert found.gaps == ()


def test_the_only_component_that_is_left_is_the_source() -> None:
    found = _with_computed_ids("args[1]")
    assert edges(found) == ["args[0] -default/shuffle-> X"]
    assert found.gaps == ()
    assert edges(_with_computed_ids('"words"')) == ["args[0] -default/shuffle-> X"]


def test_a_computed_id_that_may_mean_several_components_is_a_gap() -> None:
    found = _with_computed_ids("in", "args[1]")
    assert edges(found) == ["args[0] -default/shuffle-> X", "args[1] -default/shuffle-> Y"]
    assert [gap.why for gap in found.gaps] == ["the id of this spout is computed: args[0]"]


def test_lambdas_and_anonymous_classes_are_components() -> None:
    found = one(
        'TopologyBuilder b = new TopologyBuilder(); b.setSpout("a", () -> 1);\nb.setBolt("b", (tuple, out) -> out.emit(null), 2, "f").shuffleGrouping("a");\n'
        'b.setBolt("c", tuple -> { }).shuffleGrouping("b");\n'
        'b.setBolt("d", new org.apache.storm.topology.base.BaseBasicBolt() { public void execute(Tuple t, BasicOutputCollector c) { } }).shuffleGrouping("c");\n'
        'StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert [node.cls.rpartition(".")[2] for node in found.nodes] == [
        "LambdaSpout",
        "LambdaBiConsumerBolt",
        "LambdaConsumerBolt",
        "$1",
    ]
    assert found.nodes[1].parallelism == 2


def test_a_second_component_with_an_id_is_a_defect() -> None:
    found = one(
        GRAPH
        + 'b.setBolt("words", new Count()); StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    )
    assert [(each.kind, each.sure) for each in found.defects] == [("duplicate-component", "certain")]


def test_overloads_of_a_builder_of_the_project_add_one_component() -> None:
    more = """static class Own extends TopologyBuilder {
        SpoutDeclarer setSpout(String id, Words spout) { return setSpout(id, spout, 1); }
        SpoutDeclarer setSpout(String id, Words spout, int tasks) { return super.setSpout(id, spout, tasks); }
    }"""
    once = 'Own b = new Own(); b.setSpout("words", new Words());'
    submit = 'StormSubmitter.submitTopology("d", new Config(), b.createTopology());'
    assert one(once + submit, more).defects == ()
    again = one(once + 'b.setSpout("words", new Words());' + submit, more)
    assert [each.kind for each in again.defects] == ["duplicate-component"]


def test_other_classes_with_the_name_of_the_builder_are_not_read() -> None:
    assert (
        read(GRAPH, TopologyBuilder="class TopologyBuilder { void setSpout(String id, Object o, int n) { } }")
        == ()
    )


def test_ids_and_streams_are_constants_of_other_classes() -> None:
    program = link(
        {
            "demo/Main.java": """
                package demo;
                import static demo.Names.*;
                import org.apache.storm.*;
                import org.apache.storm.topology.*;
                public class Main {
                    public static void main(String[] args) {
                        TopologyBuilder builder = new TopologyBuilder();
                        builder.setSpout(SPOUT, new Words());
                        builder.setBolt("log", new Log()).shuffleGrouping(SPOUT, Names.Streams.ERRORS);
                        StormSubmitter.submitTopology("t", new Config(), builder.createTopology());
                    }
                }
            """,
            "demo/Names.java": """
                package demo;
                public interface Names {
                    String SPOUT = "words";
                    final class Streams { static final String ERRORS = "errors"; }
                }
            """,
        }
    )
    (found,) = from_program(program, {"demo/Main.java"})

    assert [each.id for each in found.nodes] == ["words", "log"]
    assert [(each.source, each.stream) for each in found.edges] == [("words", "errors")]
    main = program.units["demo/Main.java"]
    errors = Attr(Attr(Global("Names"), "Streams"), "ERRORS")
    assert program.constant(main, errors) == Literal("errors")
    assert program.constant(main, Global("SPOUT")) == Literal("words")


_RUNNER = """public class Runner {
  final String topic; final int ackers;
  Runner(String topic, int ackers) { this.topic = topic; this.ackers = ackers; }
  void run() throws Exception {
    TopologyBuilder b = new TopologyBuilder(); b.setSpout("words", new Words(), 2);
    Config conf = new Config(); conf.setNumAckers(ackers);
    StormSubmitter.submitTopology(topic, conf, b.createTopology());
  }
}
"""


def test_each_program_gives_its_arguments_to_a_shared_factory() -> None:
    programs = {
        f"demo/{name}.java": f"package demo; public class {name} {{ public static void main(String[] args) {{ {call} }} }}"
        for name, call in {
            "Orders": 'new Runner("orders", 2).run();',
            "Logs": 'new Runner("logs", 0).run();',
            "Same": 'new Runner("same", 2).run();',
        }.items()
    }
    program = link({"demo/Runner.java": IMPORTS + _RUNNER, **programs})
    found = from_program(program, {"demo/Runner.java", *programs})

    assert {each.name: settings(each)[":topology.acker.executors"] for each in found} == {
        "orders": 2,
        "logs": 0,
        "same": 2,
    }
    assert {each.main.path for each in found if each.main} == set(programs)


# ---- branches ----


def test_branches_with_other_settings_are_topologies_of_their_own() -> None:
    cluster, local = read(
        GRAPH
        + "Config conf = new Config();\nif (args.length > 0) {\n conf.setNumAckers(2); StormSubmitter.submitTopology(args[0], conf, b.createTopology()); }\n"
        'else { new LocalCluster().submitTopology("test", conf, b.createTopology()); }'
    )
    assert (cluster.name, local.name) == ("test", "test")
    assert cluster.branch == "args.length > 0 (demo/Main.java:11)"
    assert local.branch == "args.length <= 0 (demo/Main.java:11)"
    assert [(each.kind, each.sure, each.place.line) for each in cluster.defects] == [
        ("setting-in-one-branch", "information", 12)
    ]
    assert local.defects == ()


def test_branches_that_wire_the_same_are_one_topology() -> None:
    found = one(
        GRAPH + "Config conf = new Config(); if (args.length == 1) { System.exit(1); }\n"
        "if (args.length > 0) { StormSubmitter.submitTopology(args[0], conf, b.createTopology()); }\n"
        'else { new LocalCluster().submitTopology("test", conf, b.createTopology()); while (true) { Thread.sleep(10); } }'
    )
    assert (found.branch, found.gaps) == ("", ())


def test_early_returns_before_the_wiring_are_passed() -> None:
    found = one(
        "Options o = Options.of(args); if (o == null) { return; }\n"
        + GRAPH
        + "StormSubmitter.submitTopology(o.name, new Config(), b.createTopology());",
        Options="class Options { String name; static Options of(String[] a) { if (a == null || a.length != 3) { Log.say(); return null; }"
        " Options o = new Options(); o.name = a[0]; return o; } }",
    )
    assert [node.id for node in found.nodes] == ["words"]


def test_two_topologies_of_one_file_are_both_read() -> None:
    found = read(
        'StormSubmitter.submitTopology("one", new Config(), make("a")); StormSubmitter.submitTopology("two", new Config(), other());',
        f"static StormTopology make(String id) {{ TopologyBuilder b = new TopologyBuilder(); b.setSpout(id, new Words()); return b.createTopology(); }}\n"
        f"static StormTopology other() {{ {GRAPH} return b.createTopology(); }}",
    )
    assert [(each.name, each.nodes[0].id) for each in found] == [("one", "a"), ("two", "words")]


def test_a_base_class_that_builds_runs_for_each_of_its_classes() -> None:
    base = (
        "abstract class Main0 { abstract String id(); void go() { TopologyBuilder b = new TopologyBuilder(); b.setSpout(id(), new Words());"
        ' StormSubmitter.submitTopology("d", new Config(), b.createTopology()); } }\n'
    )
    text = (
        IMPORTS
        + base
        + 'class One extends Main0 { String id() { return "1"; } }\nclass Two extends Main0 { String id() { return "2"; } }'
    )
    found = from_program(link({"demo/Main0.java": text}), {"demo/Main0.java"})
    assert [each.nodes[0].id for each in found] == ["1", "2"]


# ---- arguments of library classes ----


def test_the_builder_of_a_kafka_spout_gives_its_arguments() -> None:
    found = one(
        "TopologyBuilder b = new TopologyBuilder(); KafkaSpoutConfig<String, String> c = config(args[0]);\n"
        'b.setSpout("k", new KafkaSpout<>(c)); StormSubmitter.submitTopology("d", new Config(), b.createTopology());',
        'static KafkaSpoutConfig<String, String> config(String servers) { KafkaSpoutConfig.Builder<String, String> x = KafkaSpoutConfig.builder(servers, "t");\n'
        'x.setProcessingGuarantee(KafkaSpoutConfig.ProcessingGuarantee.AT_MOST_ONCE); return x.setProp(ConsumerConfig.GROUP_ID_CONFIG, "g")\n'
        ".setRetry(new KafkaSpoutRetryExponentialBackoff(a(), a(), 5, a())).setFirstPollOffsetStrategy(FirstPollOffsetStrategy.LATEST).build(); }",
        "import org.apache.storm.kafka.spout.*; import org.apache.kafka.clients.consumer.ConsumerConfig;\n",
    )
    spout = found.nodes[0]
    assert spout.cls == "org.apache.storm.kafka.spout.KafkaSpout"
    assert (spout.given["processingGuarantee"].line, spout.given["maxRetries"].line) == (14, 15)
    arguments = spout.arguments
    assert str(arguments["processingGuarantee"]).endswith("AT_MOST_ONCE")
    assert str(arguments["firstPollOffsetStrategy"]).endswith("LATEST")
    assert (arguments["maxRetries"], arguments["group.id"]) == (5, "g")


def test_the_fields_of_an_old_kafka_configuration_are_arguments() -> None:
    found = one(
        'SpoutConfig c = new SpoutConfig(new ZkHosts(args[0]), "t", "/r", "id"); c.retryLimit = 3; c.ignoreZkOffsets = true;\n'
        'TopologyBuilder b = new TopologyBuilder(); b.setSpout("k", new KafkaSpout(c)); StormSubmitter.submitTopology("d", new Config(), b.createTopology());',
        imports="import org.apache.storm.kafka.*;\n",
    )
    arguments = found.nodes[0].arguments
    assert (arguments["retryLimit"], arguments["ignoreZkOffsets"], arguments["zkRoot"]) == (3, True, "/r")


def test_windows_are_arguments() -> None:
    found = one(
        GRAPH
        + 'b.setBolt("w", new Win().withWindow(BaseWindowedBolt.Duration.seconds(10), new BaseWindowedBolt.Duration(2, TimeUnit.MINUTES))).shuffleGrouping("words");\n'
        'b.setBolt("t", new Win().withTumblingWindow(BaseWindowedBolt.Count.of(30))).shuffleGrouping("words");\n'
        'b.setBolt("h", new Win().withTumblingWindow(java.time.Duration.ofHours(1))).shuffleGrouping("words");\n'  # Heron's
        'StormSubmitter.submitTopology("d", new Config(), b.createTopology());',
        Win="class Win extends org.apache.storm.topology.base.BaseWindowedBolt { public void execute(TupleWindow w) { } }",
    )
    assert found.nodes[1].cls == "demo.Win"
    assert found.nodes[1].arguments == {"windowLengthMs": 10_000, "slidingIntervalMs": 120_000}
    assert found.nodes[2].arguments == {"windowLengthCount": 30, "slidingIntervalCount": 30}
    assert settings(found) == {
        "w:topology.bolts.window.length.duration.ms": 10_000,
        "w:topology.bolts.window.sliding.interval.duration.ms": 120_000,
        "t:topology.bolts.window.length.count": 30,
        "t:topology.bolts.window.sliding.interval.count": 30,
        "h:topology.bolts.window.length.duration.ms": 3_600_000,
        "h:topology.bolts.window.sliding.interval.duration.ms": 3_600_000,
    }


# ---- Heron and JStorm ----


def test_heron_has_its_own_kind_and_mode() -> None:
    text = (
        "package demo; import org.apache.heron.api.*; import org.apache.heron.api.topology.TopologyBuilder;\n"
        f"class Main {{ public static void main(String[] args) {{ {GRAPH} Config conf = new Config();"
        " conf.setTopologyReliabilityMode(Config.TopologyReliabilityMode.ATLEAST_ONCE);"
        " HeronSubmitter.submitTopology(args[0], conf, b.createTopology()); } }"
    )
    (found,) = from_program(link({"demo/Main.java": text}), {"demo/Main.java"})
    assert (found.kind, settings(found)) == ("heron-java", {":topology.reliability.mode": "ATLEAST_ONCE"})


def test_a_constant_of_a_class_that_is_not_read_decides_nothing() -> None:
    text = (
        "package demo; import org.apache.storm.*; import org.apache.storm.topology.TopologyBuilder; import shop.Limits;\n"
        f"class Main {{ public static void main(String[] args) {{ {GRAPH} Config conf = new Config();"
        " conf.setNumAckers(Limits.ACKERS); conf.put(Config.TOPOLOGY_WORKERS, Limits.workers);"
        " StormSubmitter.submitTopology(args[0], conf, b.createTopology()); } }"
    )
    (found,) = from_program(link({"demo/Main.java": text}), {"demo/Main.java"})
    values = [each.value.why for each in found.settings if isinstance(each.value, Gap)]
    assert values == ["Limits.ACKERS is not in these files", "Limits.workers is not in these files"]


def test_jstorm_is_known_by_its_imports() -> None:
    text = (
        "package demo; import backtype.storm.*; import backtype.storm.topology.TopologyBuilder; import com.alibaba.jstorm.utils.JStormUtils;\n"
        f"class Main {{ public static void main(String[] args) {{ {GRAPH}"
        " StormSubmitter.submitTopology(args[0], new Config(), b.createTopology()); } }"
    )
    (found,) = from_program(link({"demo/Main.java": text}), {"demo/Main.java"})
    assert found.kind == "jstorm"


def test_a_transactional_builder_has_its_spout_from_the_constructor() -> None:
    found = one(
        'TransactionalTopologyBuilder b = new TransactionalTopologyBuilder("sums", "words", new Words(), 3);\n'
        'b.setBolt("sum", new Sum(), 2).globalGrouping("words");\n'
        'StormSubmitter.submitTopology("demo", new Config(), b.buildTopology());',
        imports="import org.apache.storm.transactional.TransactionalTopologyBuilder; ",
    )
    assert [(each.id, each.role, each.cls, each.parallelism) for each in found.nodes] == [
        ("words", "spout", "Words", 3),
        ("sum", "bolt", "Sum", 2),
    ]
    assert (found.kind, edges(found)) == ("java-transactional", ["words -default/global-> sum"])
    judged = verdict(found, {})
    assert (judged.lower, judged.upper) == (Word.AT_MOST_ONCE, Word.EXACTLY_ONCE)
    assert [each.why for each in judged.gaps] == ["the guarantee of a transactional topology is not judged"]


_SPOUTS = """class Words extends org.apache.storm.topology.base.BaseRichSpout { public void nextTuple() { } }
class Base extends org.apache.storm.topology.base.BaseRichSpout { public void nextTuple() { } }
class Heir extends Base { }
class Parts {
  @Autowired private Words words;
  private Base base;
  private Other other;
  org.apache.storm.generated.StormTopology topology(Words given, Base open) {
    TopologyBuilder b = new TopologyBuilder();
    b.setSpout("a", given); b.setSpout("b", words); b.setSpout("c", open); b.setSpout("d", base); b.setSpout("e", other);
    return b.createTopology();
  }
}
"""


def test_a_component_that_a_container_gives_has_its_declared_class() -> None:
    program = link({"demo/Parts.java": IMPORTS + _SPOUTS})
    (found,) = from_program(program, {"demo/Parts.java"})
    assert [node.cls for node in found.nodes[:2]] == ["demo.Words"] * 2
    assert [node.unread.partition(":")[0] for node in found.nodes[2:]] == ["its class is computed"] * 3
