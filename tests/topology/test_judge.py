"""How the components of a wiring are linked to the facts of their classes."""

from typing import Any

import pytest

from ackdoctor.model.topology import ComponentFacts, Judged, Place
from ackdoctor.topology.judge import judge
from tests.topology.wiring import bolt, emit, node, setting, spout, topology


def facts(cls: str, path: str, line: int = 3, **more: Any) -> ComponentFacts:
    return bolt(cls=cls, place=Place(path, line), **more)


def linked(cls: str, *known: ComponentFacts, **more: Any) -> Judged:
    """Judge `words -> count`, where `count` is wired as this class."""
    nodes = (node("words", "spout", cls="spouts.Words"), node("count", cls=cls, **more))
    words = spout(cls="spouts.Words", place=Place("spouts.py", 1))
    return judge(
        [topology("words -> count", nodes=nodes, place=Place("topologies/t.py", 9))], [words, *known]
    )[0]


@pytest.mark.parametrize(
    ("cls", "found"),
    [
        ("CountBolt", facts("bolts.count.CountBolt", "bolts/count.py")),
        ("bolts.count.CountBolt", facts("bolts.count.CountBolt", "bolts/count.py")),
        ("bolts.count.CountBolt", facts("count.CountBolt", "src/bolts/count.py")),
        ("count.CountBolt", facts("src.bolts.count.CountBolt", "src/bolts/count.py")),
        ("bolts.count", facts("bolts.count.CountBolt", "bolts/count.py")),
        ("count.py", facts("count.CountBolt", "multilang/resources/count.py")),
        ("demo.CountBolt", facts("demo.CountBolt", "src/main/java/demo/CountBolt.java")),
        ("demo.WordCount$CountBolt", facts("demo.WordCount.CountBolt", "src/demo/WordCount.java")),
        ("WordCount.CountBolt", facts("demo.WordCount.CountBolt", "src/demo/WordCount.java")),
    ],
)
def test_a_component_is_linked_by_class_module_or_script(cls: str, found: ComponentFacts) -> None:
    judged = linked(cls, found)

    assert judged.facts["count"] is found
    assert judged.verdict.word == "at-least-once"
    assert judged.topology.nodes[1].code == found.place


@pytest.mark.parametrize("cls", ["org.apache.storm.kafka.CountBolt", "OtherBolt", "bolts.count.Count"])
def test_a_class_of_another_package_is_not_the_class(cls: str) -> None:
    judged = linked(cls, facts("bolts.count.CountBolt", "bolts/count.py"))

    assert "count" not in judged.facts
    assert judged.verdict.word == "unknown"


def test_a_spout_is_no_bolt() -> None:
    judged = linked("CountBolt", spout(cls="bolts.count.CountBolt", place=Place("bolts/count.py", 1)))

    assert "count" not in judged.facts


def test_the_nearest_of_two_classes_of_one_name_is_linked() -> None:
    near, far = facts("count.CountBolt", "topologies/count.py"), facts("count.CountBolt", "old/count.py")

    assert linked("CountBolt", far, near).facts["count"] is near


def test_a_name_that_two_classes_have_is_unknown() -> None:
    judged = linked("CountBolt", facts("a.CountBolt", "x/a.py"), facts("b.CountBolt", "x/b.py"))

    assert "count" not in judged.facts
    assert judged.topology.nodes[1].unread == "several classes are called CountBolt"
    assert judged.verdict.gaps[0].why == "count is not read: several classes are called CountBolt"


def test_the_place_of_the_class_decides_if_the_reader_knows_it() -> None:
    one, other = facts("a.CountBolt", "x/a.py"), facts("b.CountBolt", "x/b.py")

    assert linked("CountBolt", one, other, code=other.place).facts["count"] is other


def test_two_components_of_one_class_share_its_facts() -> None:
    nodes = (node("words", "spout", cls="Words"), node("one", cls="Count"), node("two", cls="Count"))
    judged = judge([topology("words -> one", "one -> two", nodes=nodes)], [spout(), bolt()])[0]

    assert judged.facts["one"] is judged.facts["two"]
    assert judged.verdict.word == "at-least-once"


def test_the_settings_of_a_class_are_its_components_and_the_wiring_wins() -> None:
    ticks = "topology.tick.tuple.freq.secs"
    counting = facts("CountBolt", "count.py", settings=(setting(ticks, 10),))

    judged = linked("CountBolt", counting)
    assert [(each.key, each.value, each.component) for each in judged.topology.settings] == [
        (ticks, 10, "count")
    ]


def test_a_setting_that_another_branch_needs_has_an_effect() -> None:
    bound = setting("topology.max.spout.pending", 10)
    kept = spout(cls="spouts.Kept", place=Place("spouts.py", 1))
    lost = spout(cls="spouts.Lost", place=Place("spouts.py", 9), emits=(emit(12, has_id=False),))
    branches = [
        topology("words -> count", nodes=(node("words", "spout", cls=cls), node("count")), settings=(bound,))
        for cls in ("spouts.Kept", "spouts.Lost")
    ]

    idle = ["max-pending-without-effect"]
    assert [defect.kind for defect in judge(branches[1:], [kept, lost])[0].defects] == idle
    assert not any(defect.kind in idle for each in judge(branches, [kept, lost]) for defect in each.defects)
