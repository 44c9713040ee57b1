"""What the files of a topology decide, for the simulator."""

from dataclasses import replace
from typing import Any

import pytest

from ackdoctor.lab.component import Bolt, Spout
from ackdoctor.lab.topology import InvalidTopologyError
from ackdoctor.lab.wired import Surroundings, ackers_of, build
from ackdoctor.model.topology import ComponentFacts, Gap, Judged, Place, Setting
from tests.reporters.topologies import graph


def wired(*gaps: Gap, **edge: Any) -> Judged:
    """A topology of a spout and a bolt, with its edge or its gaps changed."""
    judged = graph([("words", "count")])
    edges = [replace(each, **edge) for each in judged.topology.edges]
    facts = {
        node.id: ComponentFacts(
            cls=node.cls,
            role=node.role,
            dialect="pystorm",
            place=node.place,
            streams={"default": ("word", "url")},
        )
        for node in judged.topology.nodes
    }
    topology = replace(judged.topology, edges=tuple(edges), gaps=gaps)
    return replace(judged, topology=topology, facts=facts)


def built(judged: Judged) -> object:
    return build(judged, Surroundings(), lambda _node, _setup: Spout, lambda _node, _setup: Bolt)


@pytest.mark.parametrize(
    ("grouping", "name"),
    [
        ("shuffle", "shuffle"),
        ("local_or_shuffle", "local or shuffle"),
        ("local-or-shuffle", "local or shuffle"),
        ("none", "none"),
        ("all", "all"),
        ("global", "global"),
        ("direct", "direct"),
        ("fields(word, url)", "fields"),
        ("fields()", "global"),
    ],
)
def test_a_grouping_is_that_of_storm(grouping, name):
    topology = build(
        wired(grouping=grouping), Surroundings(), lambda _node, _setup: Spout, lambda _node, _setup: Bolt
    )
    (found,) = topology.bolts["count"].inputs.values()
    assert found.name == name


@pytest.mark.parametrize(
    ("grouping", "why"),
    [
        ("custom", "by the grouping custom, which the lab does not model"),
        ("custom NGrouping(2)", "by the grouping custom NGrouping(2), which the lab does not model"),
        ("partial-key", "by the grouping partial-key, which the lab does not model"),
        ("custom_object", "by the grouping custom_object, which the lab does not model"),
        ("fields", "by the grouping fields, which the lab does not model"),
        ("", "by a grouping that the files do not show, which the lab does not model"),
        ("?", "by a grouping that the files do not show, which the lab does not model"),
        ("fields(?)", "by fields that the files do not show"),
        ("fields(other)", "by field 'other', which the stream does not declare"),
    ],
)
def test_another_grouping_is_refused(grouping, why):
    with pytest.raises(InvalidTopologyError) as error:
        built(wired(grouping=grouping))
    assert str(error.value).endswith(why)


@pytest.mark.parametrize(
    ("judged", "why"),
    [
        (
            wired(stream="?"),
            "topologies/words.py:1: the files do not show to which stream `count` subscribes",
        ),
        (
            wired(source="?"),
            "topologies/words.py:1: the files do not show to which stream `count` subscribes",
        ),
        (
            wired(Gap("a grouping is unknown", Place("t.yaml", 4))),
            "t.yaml:4: a grouping is unknown; the lab needs",
        ),
    ],
)
def test_open_wiring_is_refused(judged, why):
    with pytest.raises(InvalidTopologyError) as error:
        built(judged)
    assert str(error.value).startswith(why)


def with_settings(**values: object) -> Judged:
    judged = wired()
    settings = tuple(
        Setting(key=f"topology.{key.replace('_', '.')}", value=value, place=Place("t.yaml", 2))  # type: ignore[arg-type]
        for key, value in values.items()
    )
    return replace(judged, topology=replace(judged.topology, settings=settings))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            Gap("args[2]", Place("t.py", 7)),
            "t.py:7: topology.message.timeout.secs is not decided: args[2]; --conf",
        ),
        ("30", "t.yaml:2: topology.message.timeout.secs is '30'; Storm wants a number from 1"),
        (0, "t.yaml:2: topology.message.timeout.secs is 0; Storm wants a number from 1"),
        (True, "t.yaml:2: topology.message.timeout.secs is True; Storm wants a number from 1"),
    ],
)
def test_a_setting_that_storm_refuses_or_nothing_decides_is_refused(value, why):
    with pytest.raises(InvalidTopologyError) as error:
        built(with_settings(message_timeout_secs=value))
    assert str(error.value).startswith(why)


def test_each_worker_has_an_acker_unless_the_files_set_their_number():
    assert ackers_of(wired()) == 1
    assert ackers_of(with_settings(workers=3)) == 3
    assert ackers_of(with_settings(workers=3, acker_executors=2)) == 2
