"""Flux and ECO files."""

import pytest

from ackdoctor.model.topology import Edge, Gap, Node, Place, Topology
from ackdoctor.topology.readers.flux import read
from ackdoctor.topology.settings import effective, setting_defects
from ackdoctor.topology.texts import Texts

GRAPH = """\
spouts:
  - id: "words"
    className: "demo.WordSpout"
bolts:
  - id: "count"
    className: "demo.CountBolt"
    parallelism: 3
    numTasks: 6
streams:
  - from: "words"
    to: "count"
    grouping:
      type: FIELDS
      args: ["word"]
"""


def topologies(text: str, path="conf/t.yaml", **files: str) -> tuple[Topology, ...]:
    named = {name.replace("__", "/").replace("_x_", "."): each for name, each in files.items()}
    texts = Texts({name: each.encode() for name, each in ({path: text} | named).items()})
    return read(path, text.encode(), texts)


def topology(text: str, path="conf/t.yaml", **files: str) -> Topology:
    (found,) = topologies(text, path, **files)
    return found


def nodes(found: Topology) -> dict[str, Node]:
    return {node.id: node for node in found.nodes}


def settings(found: Topology, component="") -> dict[str, object]:
    return {each.key: each.value for each in found.settings if each.component == component}


def kinds(found: Topology) -> list[tuple[str, str, int]]:
    return [(each.kind, each.sure, each.place.line) for each in found.defects + setting_defects(found)]


POM = "<dependency><artifactId>storm-core</artifactId><version>{}</version></dependency>"


# ---- the graph ----


def test_components_streams_and_settings_have_their_lines():
    found = topology(f"name: wordcount\nconfig:\n  topology.workers: 2\n{GRAPH}")
    assert (found.name, found.kind, found.place, found.config) == (
        "wordcount",
        "flux",
        Place("conf/t.yaml", 1),
        Place("conf/t.yaml", 2),
    )
    count = nodes(found)["count"]
    assert (count.cls, count.role, count.parallelism, count.tasks) == ("demo.CountBolt", "bolt", 3, 6)
    assert count.place.line == 8
    assert nodes(found)["words"].parallelism == 1
    edge = Edge(source="words", target="count", place=Place("conf/t.yaml", 13), grouping="fields(word)")
    assert found.edges == (edge,)
    assert settings(found) == {"topology.workers": 2}
    assert kinds(found) == []


@pytest.mark.parametrize(
    ("grouping", "stream", "words"),
    [
        ("{type: SHUFFLE}", "default", "shuffle"),
        ("{type: LOCAL_OR_SHUFFLE, streamId: odd}", "odd", "local_or_shuffle"),
        ("{type: CUSTOM, customClass: {className: demo.NGrouping}}", "default", "custom NGrouping"),
        (
            "{type: CUSTOM, customClass: {className: demo.UrlGrouping, constructorArgs: [byHost, 3]}}",
            "default",
            "custom UrlGrouping(byHost, 3)",
        ),
        ("{type: ALL, streamId: '${s}'}", "?", "all"),
    ],
)
def test_groupings_and_streams(grouping, stream, words):
    text = GRAPH[: GRAPH.index("    grouping:")] + f"    grouping: {grouping}\n"
    (edge,) = topology(text).edges
    assert (edge.stream, edge.grouping) == (stream, words)


def test_a_file_may_be_written_as_json():
    text = '{"spouts": [{"id": "a", "className": "A"}], "bolts": [{"id": "b", "className": "B"}],'
    found = topology(f'{text}\n "streams": [{{"from": "a", "to": "b", "grouping": {{"type": "NONE"}}}}]}}')
    assert [edge.grouping for edge in found.edges] == ["none"]


def test_other_yaml_is_no_topology():
    assert topologies("config:\n  topology.workers: 2\n") == ()
    assert topologies("spouts:\n  a: {}\n") == ()
    assert topologies("streams: [1, 2]\n") == ()
    assert topologies("- a\n") == ()
    assert topologies("services:\n  web:\n    image: x\n") == ()


def test_a_bolt_that_no_stream_names_is_dropped():
    text = GRAPH.replace("bolts:\n", 'bolts:\n  - id: "lost"\n    className: "demo.Lost"\n')
    found = topology(text)
    assert "lost" not in nodes(found)
    assert kinds(found) == [("bolt-without-input", "certain", 5)]


def test_a_stream_to_an_unknown_bolt_stops_flux():
    found = topology(f"{GRAPH}  - from: words\n    to: coutn\n    grouping: {{type: SHUFFLE}}\n")
    assert kinds(found) == [("unknown-bolt-in-stream", "certain", 16)]
    assert len(found.edges) == 1


def test_a_stream_from_an_unknown_component_is_refused():
    found = topology(f"{GRAPH}  - from: wrods\n    to: count\n    grouping: {{type: SHUFFLE}}\n")
    assert kinds(found) == [("unknown-bolt-in-stream", "certain", 15)]


def test_a_stream_of_the_system_is_legal_and_creates_its_bolt():
    text = GRAPH.replace("bolts:\n", 'bolts:\n  - id: "ticked"\n    className: "demo.Ticked"\n')
    found = topology(
        f"{text}  - from: __system\n    to: ticked\n    grouping: {{type: ALL, streamId: __tick}}\n"
    )
    assert "ticked" in nodes(found)
    assert len(found.edges) == 1
    assert kinds(found) == []


def test_the_second_of_two_equal_ids_replaces_the_first():
    found = topology(GRAPH.replace("bolts:", '  - id: "words"\n    className: "demo.Other"\nbolts:'))
    assert nodes(found)["words"].cls == "demo.Other"
    assert kinds(found) == [("duplicate-key", "certain", 4)]


def test_the_second_of_two_equal_settings_wins():
    found = topology(f"config:\n  topology.acker.executors: 2\n  topology.acker.executors: 0\n{GRAPH}")
    assert settings(found)["topology.acker.executors"] == 0
    assert kinds(found) == [("duplicate-key", "certain", 3)]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.4.0", [("yaml-syntax", "certain", 9)]), ("3.0.0", []), ("", [("yaml-syntax", "likely", 9)])],
)
def test_a_component_has_a_config_only_since_storm_3(version, expected):
    text = GRAPH.replace(
        "    numTasks: 6\n", "    numTasks: 6\n    config:\n      topology.tick.tuple.freq.secs: 5\n"
    )
    found = topology(text, **({"pom_x_xml": POM.format(version)} if version else {}))
    assert kinds(found) == expected
    assert settings(found, "count") == ({} if version == "2.4.0" else {"topology.tick.tuple.freq.secs": 5})


def test_a_dead_key_at_the_top_is_a_defect():
    found = topology(f"config:\n  topology.ackers: 0\n{GRAPH}")
    assert kinds(found) == [("dead-key", "certain", 2)]
    assert effective(found, "topology.acker.executors").value is None


def test_a_graph_in_java_is_a_gap_with_its_class():
    found = topology(
        "name: x\nconfig:\n  topology.acker.executors: 0\ntopologySource:\n  className: demo.Source\n"
    )
    assert found.nodes == ()
    assert found.gaps == (
        Gap("graph in Java: class demo.Source, method getTopology", Place("conf/t.yaml", 5)),
    )
    assert settings(found) == {"topology.acker.executors": 0}


def test_a_graph_in_java_beside_one_in_yaml_is_refused():
    found = topology(f"topologySource: {{className: demo.Source, methodName: make}}\n{GRAPH}")
    assert [kind for kind, _, _ in kinds(found)] == ["yaml-syntax"]
    assert found.gaps[0].why.endswith("method make")


# ---- what does not parse ----


def test_broken_yaml_is_a_topology_of_which_nothing_is_known():
    found = topology(f"name: broken\n{GRAPH}  from: [\n")
    assert (found.name, found.nodes) == ("broken", ())
    assert found.gaps[0].why.startswith("the file does not parse")
    assert kinds(found) == [("yaml-syntax", "certain", 16)]


def test_a_broken_template_is_no_certain_defect():
    found = topology(f"name: broken\n{GRAPH}  from: [\n  # {{% if x %}}\n")
    assert found.gaps
    assert kinds(found) == []


def test_a_broken_file_that_looks_like_nothing_is_silent():
    assert topologies("config:\n  a: [\n") == ()


def test_lines_that_steer_a_template_are_gaps():
    text = GRAPH.replace("bolts:\n", "bolts:\n{% if big %}\n")
    assert [gap.place.line for gap in topology(text, "t.yaml.j2").gaps] == [5]


# ---- includes ----


MAIN = f"""\
name: main
includes:
  - resource: false
    file: "more.yaml"
    override: {{}}
config:
  topology.message.timeout.secs: 10
{GRAPH}"""
MORE = """\
name: more
config:
  topology.message.timeout.secs: 99
  topology.max.spout.pending: 5
spouts:
  - id: words
    className: demo.OtherSpout
streams:
  - {from: words, to: count, grouping: {type: ALL, streamId: more}}
includes:
  - {file: "deeper.yaml", override: true}
"""


@pytest.mark.parametrize(
    ("override", "name", "timeout", "cls"),
    [("false", "main", 10, "demo.WordSpout"), ("true", "more", 99, "demo.OtherSpout")],
)
def test_an_include_adds_and_replaces_only_if_it_overrides(override, name, timeout, cls):
    found = topology(MAIN.replace("{}", override), conf__more_x_yaml=MORE)
    assert found.name == name
    assert settings(found) == {"topology.message.timeout.secs": timeout, "topology.max.spout.pending": 5}
    assert nodes(found)["words"].cls == cls
    assert [edge.stream for edge in found.edges] == ["default", "more"]
    assert found.edges[1].place.path == "conf/more.yaml"


def test_includes_of_an_include_are_not_followed():
    deeper = "config:\n  topology.acker.executors: 0\n"
    found = topology(MAIN.replace("{}", "true"), conf__more_x_yaml=MORE, conf__deeper_x_yaml=deeper)
    assert "topology.acker.executors" not in settings(found)
    assert found.gaps == ()


def test_a_file_that_includes_itself_is_read_once_more_and_no_further():
    found = topology(MAIN.replace("more.yaml", "t.yaml").replace("{}", "true"))
    assert len(found.edges) == 2


def test_a_resource_is_found_on_the_class_path():
    text = MAIN.replace("resource: false", "resource: true").replace('"more.yaml"', '"/more.yaml"')
    found = topology(text.replace("{}", "true"), lib__src__main__resources__more_x_yaml=MORE)
    assert found.gaps == ()
    assert settings(found)["topology.max.spout.pending"] == 5


def test_a_missing_include_leaves_graph_and_settings_open():
    found = topology(MAIN.replace("{}", "false"))
    assert found.gaps == (Gap("the include more.yaml is not among the files", Place("conf/t.yaml", 4)),)
    assert effective(found, "topology.acker.executors").value == found.gaps[0]
    assert effective(found, "topology.message.timeout.secs").value == 10
    found = topology(MAIN.replace("{}", "true"))
    assert effective(found, "topology.message.timeout.secs").value == found.gaps[0]


def test_a_missing_include_makes_no_stream_a_defect():
    found = topology(MAIN.replace("{}", "false") + "  - {from: words, to: more, grouping: {type: ALL}}\n")
    assert kinds(found) == []


def test_stormcrawlers_own_defaults_set_no_key_of_storm():
    text = MAIN.replace("resource: false", "resource: true").replace("more.yaml", "/crawler-default.yaml")
    assert topology(text.replace("{}", "false")).gaps == ()


def test_a_broken_include_is_a_gap_and_a_defect_in_its_own_file():
    found = topology(MAIN.replace("{}", "true"), conf__more_x_yaml="config: [\n")
    assert found.gaps[0].place.path == "conf/more.yaml"
    assert [(each.kind, each.place.path) for each in found.defects] == [("yaml-syntax", "conf/more.yaml")]


def test_an_include_never_leaves_the_files_of_the_run():
    found = topology(MAIN.replace("more.yaml", "../../../etc/passwd").replace("{}", "true"))
    assert "is not among the files" in found.gaps[0].why


def test_a_part_that_another_file_includes_is_no_topology_of_its_own():
    assert topologies("spouts:\n  - {id: a, className: A}\ncomponents: []\n") == ()


# ---- placeholders ----

FILTERED = f"config:\n  topology.acker.executors: ${{ackers}}\n{GRAPH}"


def test_a_placeholder_leaves_the_setting_open():
    found = topology(FILTERED)
    assert isinstance(effective(found, "topology.acker.executors").value, Gap)
    assert kinds(found) == []


def test_a_filter_that_a_script_names_fills_placeholders_as_text():
    run = "#!/bin/sh\nstorm jar a.jar org.apache.storm.flux.Flux \\\n  --filter dev.properties conf/t.yaml\n"
    found = topology(FILTERED, run_x_sh=run, dev_x_properties="# dev\nlist = [ a, \\\n  b ]\nackers = 0\n")
    assert settings(found) == {"topology.acker.executors": 0}


def test_the_home_directory_of_a_script_is_not_part_of_a_name():
    run = "storm jar $HOME_X/lib/x.jar Flux $HOME_X/conf/t.yaml --filter ${HOME_X}/etc/dev.properties\n"
    assert settings(topology(FILTERED, run_x_sh=run, etc__dev_x_properties="ackers=0")) == {
        "topology.acker.executors": 0
    }


def test_a_bare_name_that_several_files_have_means_none_of_them():
    run = "flux --filter dev.properties t.yaml\n"
    found = topology(FILTERED, run_x_sh=run, dev_x_properties="ackers=0", other__t_x_yaml=FILTERED)
    assert isinstance(effective(found, "topology.acker.executors").value, Gap)


def test_two_filters_leave_the_setting_open():
    run = "flux --filter dev.properties t.yaml\nflux --filter prod.properties t.yaml\n"
    found = topology(FILTERED, run_x_sh=run, dev_x_properties="ackers=0", prod_x_properties="ackers=2")
    assert isinstance(effective(found, "topology.acker.executors").value, Gap)


def test_a_filter_of_another_topology_fills_nothing():
    run = "flux --filter dev.properties other.yaml\n"
    found = topology(FILTERED, run_x_sh=run, dev_x_properties="ackers=0")
    assert isinstance(effective(found, "topology.acker.executors").value, Gap)


def test_a_component_whose_class_is_a_placeholder_is_not_read():
    found = topology(GRAPH.replace("demo.CountBolt", "${count.class}"))
    assert nodes(found)["count"].cls == "?"
    assert "${count.class}" in nodes(found)["count"].unread


# ---- beans ----


def test_the_arguments_of_a_kafka_spout_are_two_references_away():
    beans = """\
components:
  - id: retry
    className: org.apache.storm.kafka.spout.KafkaSpoutRetryExponentialBackoff
    constructorArgs: [{ref: a}, {ref: a}, 3, {ref: a}]
  - id: builder
    className: org.apache.storm.kafka.spout.KafkaSpoutConfig$Builder
    constructorArgs: ["localhost:9092", ["topic"]]
    properties:
      - {name: firstPollOffsetStrategy, value: LATEST}
    configMethods:
      - {name: setProcessingGuarantee, args: [AT_MOST_ONCE]}
      - {name: setProp, args: ["enable.auto.commit", "true"]}
      - {name: setProp, args: [{"auto.offset.reset": latest}]}
      - {name: setRetry, args: [{ref: retry}]}
  - id: config
    className: org.apache.storm.kafka.spout.KafkaSpoutConfig
    constructorArgs: [{ref: builder}]
"""
    text = beans + GRAPH.replace('"demo.WordSpout"', "KafkaSpout\n    constructorArgs: [{ref: config}]")
    assert nodes(topology(text))["words"].arguments == {
        "bootstrapServers": "localhost:9092",
        "topics": ("topic",),
        "firstPollOffsetStrategy": "LATEST",
        "processingGuarantee": "AT_MOST_ONCE",
        "enable.auto.commit": "true",
        "auto.offset.reset": "latest",
        "retry": "org.apache.storm.kafka.spout.KafkaSpoutRetryExponentialBackoff",
        "maxRetries": 3,
        "initialDelay": {"ref": "a"},
        "delayPeriod": {"ref": "a"},
        "maxDelay": {"ref": "a"},
    }


def test_a_map_of_properties_is_read_key_by_key():
    beans = "components:\n  - id: b\n    className: KafkaSpoutConfig$Builder\n"
    beans += "    constructorArgs: [{enable.auto.commit: true}, topic]\n"
    text = beans + GRAPH.replace('"demo.WordSpout"', "KafkaSpout\n    constructorArgs: [{ref: b}]")
    assert nodes(topology(text))["words"].arguments["enable.auto.commit"] is True


def test_beans_that_refer_to_each_other_end():
    beans = "components:\n  - {id: a, className: A, constructorArgs: [{ref: b}]}\n"
    beans += "  - {id: b, className: B, constructorArgs: [{ref: a}, {reflist: [a, b]}]}\n"
    text = beans + GRAPH.replace('"demo.WordSpout"', "S\n    constructorArgs: [{ref: a}]")
    assert nodes(topology(text))["words"].cls == "S"


def test_ref_is_a_reference_only_as_the_sole_key():
    text = "components:\n  - {id: a, className: B, properties: [{name: maxRetries, value: 3}]}\n" + GRAPH
    text = text.replace('"demo.WordSpout"', "S\n    constructorArgs: [{ref: a, other: 1}]")
    assert nodes(topology(text))["words"].arguments == {}


WINDOWS = """\
components:
  - id: five
    className: "org.apache.storm.topology.base.BaseWindowedBolt$Count"
    constructorArgs: [5]
  - id: minute
    className: "org.apache.storm.topology.base.BaseWindowedBolt$Duration"
    constructorArgs: [1, MINUTES]
  - id: seconds
    className: "org.apache.storm.topology.base.BaseWindowedBolt$Duration"
    factory: seconds
    factoryArgs: [20]
  - id: open
    className: "org.apache.storm.topology.base.BaseWindowedBolt$Duration"
    constructorArgs: ["${window}", SECONDS]
"""
LENGTH, SLIDE = "topology.bolts.window.length", "topology.bolts.window.sliding.interval"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("withWindow, args: [{ref: five}]", {f"{LENGTH}.count": 5, f"{SLIDE}.count": 1}),
        (
            "withWindow, args: [{ref: minute}, {ref: seconds}]",
            {f"{LENGTH}.duration.ms": 60_000, f"{SLIDE}.duration.ms": 20_000},
        ),
        (
            "withWindow, args: [{ref: minute}, {ref: five}]",
            {f"{LENGTH}.duration.ms": 60_000, f"{SLIDE}.count": 5},
        ),
        (
            "withTumblingWindow, args: [{ref: minute}]",
            {f"{LENGTH}.duration.ms": 60_000, f"{SLIDE}.duration.ms": 60_000},
        ),
        ("withTickTupleIntervalSeconds, args: [60]", {"topology.tick.tuple.freq.secs": 60}),
        ("withLateTupleStream, args: [late]", {"topology.bolts.late.tuple.stream": "late"}),
        ("withOther, args: [60]", {}),
    ],
)
def test_windows_and_ticks_are_settings_of_their_component(call, expected):
    text = WINDOWS + GRAPH.replace("    parallelism: 3\n", f"    configMethods:\n      - {{name: {call}}}\n")
    found = topology(text)
    assert settings(found, "count") == expected
    assert all(each.place.line == 22 for each in found.settings)


def test_a_window_that_the_file_does_not_decide_is_a_gap():
    call = "    configMethods:\n      - {name: withWindow, args: [{ref: open}]}\n"
    found = settings(topology(WINDOWS + GRAPH.replace("    parallelism: 3\n", call)), "count")
    assert isinstance(found[f"{LENGTH}.duration.ms"], Gap)


# ---- components in other processes ----


def shell(more: str, cls="org.apache.storm.flux.wrappers.bolts.FluxShellBolt") -> Node:
    return nodes(topology(GRAPH.replace('"demo.CountBolt"', f"{cls}\n{more}")))["count"]


def test_a_shell_component_is_its_script():
    node = shell('    constructorArgs: [["python3", "count.py"], ["word", "count"]]')
    assert (node.cls, node.short_class, node.unread) == ("count.py", "count.py", "")
    assert node.streams == {"default": ("word", "count")}


def test_a_script_in_another_language_is_not_read():
    node = shell('    constructorArgs: [["node", "count.js"], ["word"]]')
    assert (node.cls, node.unread) == (
        "count.js",
        "count.js is written in JavaScript, which ackdoctor does not read",
    )


def test_a_shell_component_names_its_streams_by_methods():
    more = """\
    constructorArgs: [["python", "count.py"]]
    configMethods:
      - {name: setDefaultStream, args: [["a"]]}
      - {name: setNamedStream, args: ["errors", ["b", "c"]]}
      - {name: addComponentConfig, args: ["topology.tick.tuple.freq.secs", 5]}
      - {name: addComponentConfig, args: ["topology.message.timeout.secs", 5]}"""
    found = topology(GRAPH.replace('"demo.CountBolt"', f"FluxShellBolt\n{more}"))
    assert nodes(found)["count"].streams == {"default": ("a",), "errors": ("b", "c")}
    assert effective(found, "topology.tick.tuple.freq.secs", "count").value == 5
    assert kinds(found) == [("component-setting-without-effect", "certain", 12)]


def test_a_command_without_a_script_is_not_read():
    assert "names no script" in shell('    constructorArgs: [["${python}", "${script}"], ["a"]]').unread


def test_what_a_factory_makes_is_not_known():
    assert "makes it" in shell("    factory: create", cls="demo.Bolts").unread


# ---- Heron ----


def test_an_eco_file_for_heron_is_at_most_once_by_default():
    found = topology(f"type: heron\n{GRAPH}")
    assert (found.kind, found.framework) == ("heron-eco", "heron")
    assert effective(found, "topology.reliability.mode").value == "ATMOST_ONCE"
    found = topology(f"type: heron\nconfig:\n  topology.reliability.mode: ATLEAST_ONCE\n{GRAPH}")
    assert effective(found, "topology.reliability.mode").value == "ATLEAST_ONCE"


def test_an_eco_file_of_type_storm_takes_its_mode_from_the_ackers():
    pom = "<dependency><artifactId>heron-api</artifactId><version>0.20.0</version></dependency>"
    found = topology(GRAPH, pom_x_xml=pom)
    assert (found.kind, found.framework) == ("flux", "heron 0.20.0")
    assert effective(found, "topology.reliability.mode").value == "ATMOST_ONCE"
    found = topology(f"config:\n  topology.acker.executors: 1\n{GRAPH}", pom_x_xml=pom)
    assert effective(found, "topology.reliability.mode").value == "ATLEAST_ONCE"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            'streams:\n  - from: "words"',
            'streams: ${wires}\nrest:\n  - from: "words"',
            "`${wires}` is filled in",
        ),
        ('streams:\n  - from: "words"\n    to', 'streams:\n    from: "words"\n    to', "Flux wants a list"),
        ('bolts:\n  - id: "count"\n    class', 'bolts:\n    id: "count"\n    class', "Flux wants a list"),
    ],
)
def test_a_section_that_is_no_list_is_a_gap(old, new, why):
    found = topology(GRAPH.replace(old, new))
    assert [gap.why for gap in found.gaps if "are not known" in gap.why and why in gap.why]
    assert not kinds(found)
