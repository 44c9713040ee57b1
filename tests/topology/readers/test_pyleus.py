"""`pyleus_topology.yaml`."""

import pytest

from ackdoctor.model.topology import Edge, Node, Place, Topology
from ackdoctor.topology.readers.pyleus import read
from ackdoctor.topology.settings import effective, setting_defects
from ackdoctor.topology.texts import Texts

FILE = "p/pyleus_topology.yaml"
TEXT = """\
name: visits
ackers: 1

topology:
    - spout:
        name: pages
        module: visits.pages

    - bolt:
        name: count
        module: visits.count
        tick_freq_secs: 5
        parallelism_hint: 3
        tasks: 6
        groupings:
            - fields_grouping:
                component: pages
                fields: [url, host]
            - shuffle_grouping: pages
            - global_grouping:
                component: pages
                stream: errors
"""


def topologies(text: str, path=FILE) -> tuple[Topology, ...]:
    return read(path, text.encode(), Texts({path: text.encode()}))


def topology(text: str) -> Topology:
    (found,) = topologies(text)
    return found


def kinds(found: Topology) -> list[tuple[str, str, int]]:
    shown = [each for each in found.defects + setting_defects(found) if each.kind != "setting-on-submit-only"]
    return [(each.kind, each.sure, each.place.line) for each in shown]


def test_components_have_their_module_and_the_line_of_their_name():
    found = topology(TEXT)
    assert (found.name, found.kind, found.framework, found.place) == (
        "visits",
        "pyleus",
        "pyleus",
        Place(FILE, 1),
    )
    spout, bolt = found.nodes
    assert spout == Node(id="pages", role="spout", cls="visits.pages", place=Place(FILE, 6))
    assert (bolt.cls, bolt.parallelism, bolt.tasks, bolt.place.line) == ("visits.count", 3, 6, 10)
    assert kinds(found) == []


def test_groupings_name_a_component_or_a_component_with_a_stream():
    edges = topology(TEXT).edges
    assert edges[0] == Edge(
        source="pages", target="count", place=Place(FILE, 17), grouping="fields(url, host)"
    )
    assert (edges[1].grouping, edges[1].place.line) == ("shuffle", 19)
    assert (edges[2].grouping, edges[2].stream, edges[2].place.line) == ("global", "errors", 21)


def test_settings_hold_under_storms_keys():
    found = topology(TEXT.replace("ackers: 1", "ackers: 0"))
    assert effective(found, "topology.acker.executors").value == 0
    assert effective(found, "topology.tick.tuple.freq.secs", "count").place.line == 12
    assert effective(found, "topology.shellbolt.max.pending").value == 1
    assert effective(found, "topology.message.timeout.secs").value == 30


def test_ticks_may_have_a_fraction_of_a_second():
    assert kinds(topology(TEXT.replace("tick_freq_secs: 5", "tick_freq_secs: 2.5"))) == []


def test_pyleus_local_ignores_the_settings():
    (information,) = [each for each in topology(TEXT).defects if each.kind == "setting-on-submit-only"]
    assert (information.sure, information.place.line) == ("information", 2)
    assert topology(TEXT.replace("ackers: 1", "ackers: -1")).defects == ()


def test_the_kafka_spout_is_a_library_class():
    text = TEXT.replace(
        "        module: visits.pages\n",
        "        type: kafka\n        options:\n            topic: t\n            zk_hosts: zk\n"
        "            from_start: true\n            module: x\n            binary_data: true\n",
    )
    found = topology(text)
    spout = found.nodes[0]
    assert (spout.cls, spout.unread) == ("storm.kafka.KafkaSpout", "")
    assert spout.arguments == {"topic": "t", "hosts": "zk", "forceFromStart": True}
    assert spout.streams == {"default": ("message",)}
    assert kinds(found) == [("dead-key", "certain", 12), ("dead-key", "information", 13)]


def test_options_of_a_python_component_are_its_own():
    options = "        module: visits.pages\n        options: {anything: 1}\n"
    assert kinds(topology(TEXT.replace("        module: visits.pages\n", options))) == []


def test_pyleus_ignores_other_keys_at_the_top_and_refuses_them_in_a_component():
    assert kinds(topology(f"message_timeout: 5\n{TEXT}")) == [("dead-key", "certain", 1)]
    text = TEXT.replace("        tasks: 6\n", "        task: 6\n")
    assert kinds(topology(text)) == [("setting-refused", "certain", 14)]


def test_a_bolt_without_groupings_gets_nothing():
    text = TEXT[: TEXT.index("        groupings:")]
    assert kinds(topology(text)) == [("bolt-without-input", "certain", 10)]


def test_a_grouping_of_an_unknown_component_is_refused():
    found = topology(TEXT.replace("shuffle_grouping: pages", "shuffle_grouping: page"))
    assert kinds(found) == [("unknown-bolt-in-stream", "certain", 19)]
    assert len(found.edges) == 2


def test_two_components_of_one_name_are_refused():
    found = topology(TEXT.replace("name: count", "name: pages"))
    assert ("duplicate-key", "certain", 10) in kinds(found)


def test_a_dash_without_a_space_breaks_the_file_and_invents_no_component():
    found = topology(TEXT.replace("    - bolt:", "    -bolt:"))
    assert (found.name, found.nodes) == ("visits", ())
    assert found.gaps[0].place.line == 9
    assert kinds(found) == [("yaml-syntax", "certain", 9)]


@pytest.mark.parametrize("text", ["topology: x\n", "topology:\n  - spouts: 1\n", "a: 1\n"])
def test_another_file_is_none(text):
    assert topologies(text, "conf/other.yaml") == ()


def test_the_file_may_have_another_name():
    (found,) = topologies(TEXT, "conf/visits.yaml")
    assert len(found.nodes) == 2


def test_an_unknown_grouping_is_a_gap():
    found = topology(TEXT.replace("shuffle_grouping: pages", "${grouping}: pages"))
    assert [gap.place.line for gap in found.gaps] == [19]


def test_components_that_are_no_list_are_a_gap():
    found = topology(
        "name: visits\ntopology:\n    spout:\n        name: pages\n        module: visits.pages\n"
    )
    assert [(gap.why, gap.place.line) for gap in found.gaps] == [
        ("the components are not known: pyleus wants a list under `topology`", 2)
    ]
    assert topologies("topology: {}\n", path="p/other.yaml") == ()


def test_groupings_that_are_no_list_are_a_gap():
    lines = "\n    - bolt:\n        name: last\n        module: visits.last\n        groupings:\n            shuffle_grouping: count\n"
    found = topology(TEXT + lines)
    assert [gap.why for gap in found.gaps] == [
        "it is not known what last subscribes to: pyleus wants a list of groupings"
    ]
    assert not kinds(found)
