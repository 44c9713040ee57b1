"""What config.json and the requirements of a streamparse project say."""

import pytest

from ackdoctor.model.topology import Gap, Place, Setting, Topology
from ackdoctor.topology.readers.streamparse_config import configured
from ackdoctor.topology.settings import effective, setting_defects
from ackdoctor.topology.texts import Texts

ACKERS = "topology.acker.executors"
PATH = "shop/topologies/orders.py"


def project(config, *settings, **files):
    topology = Topology(
        name="Orders",
        kind="streamparse-py",
        framework="",
        place=Place(PATH, 3),
        nodes=(),
        edges=(),
        settings=settings,
    )
    texts = {"shop/config.json": config.encode()} if config else {}
    return configured(topology, Texts(texts | {path: text.encode() for path, text in files.items()}))


def options(text, name="prod"):
    return f'{{"envs": {{"{name}": {{"options": {{\n{text}}}}}}}}}'


def test_options_of_the_only_environment():
    (topology,) = project(options(f'\t"{ACKERS}": 0,\n\t"topology.message.timeout.secs": 45\n'))
    assert topology.settings == (
        Setting(key=ACKERS, value=0, place=Place("shop/config.json", 2)),
        Setting(key="topology.message.timeout.secs", value=45, place=Place("shop/config.json", 3)),
    )
    assert topology.branch == ""


def test_the_class_overrides_the_environment():
    own = Setting(key=ACKERS, value=3, place=Place(PATH, 5))
    (topology,) = project(options(f'"{ACKERS}": 0'), own)
    assert effective(topology, ACKERS) == own


def test_environments_with_different_options_are_branches():
    text = f"""{{"envs": {{
      "beta": {{"options": {{"{ACKERS}": 0}}}},
      "prod": {{"options": {{"{ACKERS}": 2}}}},
      "spare": {{"user": "storm", "options": {{"{ACKERS}": 2}}}}
    }}}}"""
    found = [(each.branch, effective(each, ACKERS).value) for each in project(text)]
    assert found == [("environment beta", 0), ("environment prod or spare", 2)]


def test_environments_with_equal_options_are_one():
    (topology,) = project('{"envs": {"beta": {"user": "a"}, "prod": {"user": "b"}}}')
    assert (topology.branch, topology.settings) == ("", ())


def test_settings_outside_the_options_have_no_effect():
    text = f"""{{
      "topology.workers": 4,
      "envs": {{"prod": {{
        "user": "storm",
        "{ACKERS}": 0,
        "acker_count": 1,
        "supervisor.worker.timeout.secs": "60",
        "log": {{"level": "info"}}
      }}}}
    }}"""
    (topology,) = project(text)
    assert effective(topology, ACKERS).value is None
    found = {(each.kind, each.place.line, each.sure) for each in setting_defects(topology)}
    assert found == {("dead-key", line, "certain") for line in (2, 5, 6, 7)}


def test_the_nearest_config_counts_and_others_are_not_streamparses():
    text = options(f'"{ACKERS}": 7')
    (topology,) = project("", **{"shop/topologies/config.json": '{"name": "x"}', "config.json": text})
    assert effective(topology, ACKERS).value == 7
    (topology,) = project("", **{"other/config.json": text})
    assert topology.settings == ()


def test_a_config_that_does_not_parse_leaves_the_settings_open():
    (topology,) = project('{"envs": {"prod": {"options": {')
    assert isinstance(effective(topology, ACKERS).value, Gap)


@pytest.mark.parametrize(
    "text", ["[]", '{"envs": []}', '{"envs": {"prod": 1}}', '{"envs": {"prod": {"options": []}}}']
)
def test_a_config_of_another_shape_adds_nothing(text):
    (topology,) = project(text)
    assert topology.settings == ()


@pytest.mark.parametrize(
    ("requirements", "framework"),
    [
        ("", "streamparse>=3"),
        ("streamparse\n", "streamparse>=3"),
        ("streamparse==3.16.0\n", "streamparse 3.16.0"),
        ("streamparse==2.1.4\n", "streamparse>=3"),
        ("streamparse>=3.4\n", "streamparse>=3.4"),
    ],
)
def test_a_topology_in_python_needs_streamparse_3(requirements, framework):
    (topology,) = project("", **{"shop/virtualenvs/orders.txt": requirements})
    assert topology.framework == framework
