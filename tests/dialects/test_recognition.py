"""Every name by which a framework's classes can be imported."""

from collections import Counter

import pytest

from ackdoctor.dialects import known, load
from ackdoctor.model import ConfigError
from ackdoctor.model.dialect import Misuse

_STORM = "org.apache.storm"
_HERON = ("org.apache.heron.api", "com.twitter.heron.api")


def heron(*paths: str) -> list[str]:
    return [f"{root}.{path}" for root in _HERON for path in paths]


PATHS = {
    "storm_java": {
        "Bolt": [
            f"{_STORM}.topology.base.BaseRichBolt",
            f"{_STORM}.topology.IRichBolt",
            f"{_STORM}.task.IBolt",
        ],
        "TickAwareBolt": [f"{_STORM}.topology.base.BaseTickTupleAwareRichBolt"],
        "ClientBolt": [f"{_STORM}.redis.bolt.AbstractRedisBolt", f"{_STORM}.jdbc.bolt.AbstractJdbcBolt"],
        "WriterBolt": [
            f"{_STORM}.hbase.bolt.AbstractHBaseBolt",
            f"{_STORM}.mongodb.bolt.AbstractMongoBolt",
            "org.apache.stormcrawler.bolt.StatusEmitterBolt",
            "com.digitalpebble.stormcrawler.bolt.StatusEmitterBolt",
            "org.apache.stormcrawler.indexing.AbstractIndexerBolt",
            "com.digitalpebble.stormcrawler.indexing.AbstractIndexerBolt",
        ],
        "BasicBolt": [f"{_STORM}.topology.base.BaseBasicBolt", f"{_STORM}.topology.IBasicBolt"],
        "WindowedBolt": [f"{_STORM}.topology.base.BaseWindowedBolt", f"{_STORM}.topology.IWindowedBolt"],
        "StatefulBolt": [f"{_STORM}.topology.base.BaseStatefulBolt", f"{_STORM}.topology.IStatefulBolt"],
        "StatefulWindowedBolt": [
            f"{_STORM}.topology.base.BaseStatefulWindowedBolt",
            f"{_STORM}.topology.IStatefulWindowedBolt",
        ],
        "Spout": [
            f"{_STORM}.topology.base.BaseRichSpout",
            f"{_STORM}.topology.IRichSpout",
            f"{_STORM}.spout.ISpout",
        ],
    },
    "backtype_storm": {
        "Bolt": [
            "backtype.storm.topology.base.BaseRichBolt",
            "backtype.storm.topology.IRichBolt",
            "backtype.storm.task.IBolt",
        ],
        "BasicBolt": ["backtype.storm.topology.base.BaseBasicBolt", "backtype.storm.topology.IBasicBolt"],
        "Spout": [
            "backtype.storm.topology.base.BaseRichSpout",
            "backtype.storm.topology.IRichSpout",
            "com.alibaba.jstorm.client.spout.IFailValueSpout",
        ],
    },
    "heron_java": {
        "Bolt": heron("bolt.BaseRichBolt", "bolt.IRichBolt", "bolt.IBolt"),
        "BasicBolt": heron("bolt.BaseBasicBolt", "bolt.IBasicBolt"),
        "WindowedBolt": heron("bolt.BaseWindowedBolt", "bolt.IWindowedBolt"),
        "StatefulWindowedBolt": heron("bolt.BaseStatefulWindowedBolt", "bolt.IStatefulWindowedBolt"),
        "Spout": heron("spout.BaseRichSpout", "spout.IRichSpout", "spout.ISpout"),
    },
    "pystorm": {
        "Bolt": ["pystorm.Bolt", "pystorm.bolt.Bolt"],
        "BatchingBolt": ["pystorm.BatchingBolt", "pystorm.bolt.BatchingBolt"],
        "TicklessBatchingBolt": ["pystorm.TicklessBatchingBolt", "pystorm.bolt.TicklessBatchingBolt"],
        "Spout": ["pystorm.Spout", "pystorm.spout.Spout"],
        "ReliableSpout": ["pystorm.ReliableSpout", "pystorm.spout.ReliableSpout"],
    },
    "streamparse": {
        **{
            name: [f"streamparse{module}.{name}" for module in ("", ".bolt", ".storm", ".storm.bolt")]
            for name in ("Bolt", "BatchingBolt", "TicklessBatchingBolt")
        },
        "BasicBolt": ["streamparse.bolt.BasicBolt"],
        **{
            name: [f"streamparse{module}.{name}" for module in ("", ".spout", ".storm", ".storm.spout")]
            for name in ("Spout", "ReliableSpout")
        },
    },
    "storm_py": {"Bolt": ["storm.Bolt"], "BasicBolt": ["storm.BasicBolt"], "Spout": ["storm.Spout"]},
    "pyleus": {
        "Bolt": ["pyleus.storm.Bolt", "pyleus.storm.bolt.Bolt"],
        "SimpleBolt": ["pyleus.storm.SimpleBolt", "pyleus.storm.bolt.SimpleBolt"],
        "JSONFieldsBolt": ["pyleus.json_fields_bolt.JSONFieldsBolt"],
        "Spout": ["pyleus.storm.Spout", "pyleus.storm.spout.Spout"],
    },
    "petrel": {
        "Bolt": ["petrel.emitter.Bolt", "petrel.storm.Bolt"],
        "BasicBolt": ["petrel.emitter.BasicBolt", "petrel.storm.BasicBolt"],
        "Spout": ["petrel.emitter.Spout", "petrel.storm.Spout"],
    },
    "heronpy": {
        "Bolt": [
            "heronpy.api.bolt.bolt.Bolt",
            "heronpy.api.bolt.base_bolt.BaseBolt",
            "heron.api.src.python.Bolt",
            "heron.api.src.python.bolt.bolt.Bolt",
            "heron.pyheron.src.python.Bolt",
            "heron.pyheron.src.python.bolt.Bolt",
            "pyheron.Bolt",
        ],
        "SlidingWindowBolt": [
            "heronpy.api.bolt.window_bolt.SlidingWindowBolt",
            "heron.api.src.python.SlidingWindowBolt",
            "heron.api.src.python.bolt.window_bolt.SlidingWindowBolt",
        ],
        "TumblingWindowBolt": [
            "heronpy.api.bolt.window_bolt.TumblingWindowBolt",
            "heron.api.src.python.TumbingWindowBolt",
        ],
        "Spout": [
            "heronpy.api.spout.spout.Spout",
            "heronpy.api.spout.base_spout.BaseSpout",
            "heron.api.src.python.Spout",
            "heron.pyheron.src.python.Spout",
            "pyheron.Spout",
        ],
    },
}

ROWS = [
    (dialect, role, path)
    for dialect, roles in PATHS.items()
    for role, paths in roles.items()
    for path in paths
]


@pytest.mark.parametrize(("dialect", "role", "path"), ROWS)
def test_a_class_path_names_one_role_of_one_dialect(dialect: str, role: str, path: str) -> None:
    owners = [(d.name, r.name) for d in load() for r in d.roles if path in r.classes]
    assert owners == [(dialect, role)]


@pytest.mark.parametrize("version", ["5.0.1", "2.1", "1.1.0", "0.0.13"])
def test_no_class_path_belongs_to_two_roles_in_force(version: str) -> None:
    dialects = load({"streamparse": version})
    paths = Counter(path for d in dialects for role in d.roles for path in role.classes)
    assert [path for path, count in paths.items() if count > 1] == []


def test_the_dialects_have_exactly_the_roles_of_this_table() -> None:
    described = {d.name: [role.name for role in d.roles] for d in load()}
    assert described == {name: list(roles) for name, roles in PATHS.items()}


def test_only_storm_py_is_copied_into_projects() -> None:
    assert [dialect.name for dialect in known() if dialect.vendored] == ["storm_py"]


def test_a_file_that_imports_a_framework_contains_one_of_its_words() -> None:
    for dialect in known():
        for role in dialect.roles:
            for path in role.classes:
                assert any(word in path.encode() for word in dialect.words), path


def test_dialects_come_sorted_by_name_without_older_versions() -> None:
    assert [d.name for d in load()] == sorted(PATHS)


CURRENT = ", ".join(sorted(PATHS))

STORM_VERSIONS = [
    ("1", "storm_java_1_0", "until its worker restarts"),
    ("1.0.5", "storm_java_1_0", "until its worker restarts"),
    ("1.0.6", "storm_java_1_0_6", "for one to two timeouts"),
    ("1.1.1", "storm_java_1_1", "until its worker restarts"),
    ("1.1.2", "storm_java_1_2", "for one to two timeouts"),
    ("1.2.4", "storm_java_1_2", "for one to two timeouts"),
    ("2", "storm_java", "for two to three timeouts"),
    ("2.8.8", "storm_java", "for two to three timeouts"),
]


@pytest.mark.parametrize(("version", "name", "kept"), STORM_VERSIONS)
def test_the_cost_of_a_second_ack_depends_on_the_version_of_storm(version: str, name: str, kept: str) -> None:
    (dialect,) = [d for d in load({"storm_java": version}) if d.name.startswith("storm_java")]
    bolt = next(role for role in dialect.roles if role.name == "Bolt")
    assert dialect.name == name
    assert bolt.discipline.notes[Misuse.TWICE].endswith(f"an orphan entry, kept {kept}")


def test_jstorm_is_a_version_of_backtype_storm() -> None:
    assert {d.name for d in load({"backtype_storm": "2.4"})} == PATHS.keys() - {"backtype_storm"} | {"jstorm"}


VERSIONS = [
    ("5.0.1", "streamparse"),
    ("3", "streamparse"),
    ("2.1.4", "streamparse_2"),
    ("1.1.0", "streamparse_legacy"),
    ("0.0.13", "streamparse_0"),
]


def test_every_framework_states_its_last_version() -> None:
    assert [dialect.name for dialect in load() if not dialect.until] == []


@pytest.mark.parametrize(("version", "name"), VERSIONS)
def test_a_chosen_version_replaces_the_current_one(version: str, name: str) -> None:
    assert [d.name for d in load({"streamparse": version}) if "streamparse" in d.name] == [name]


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        (
            {"storm.py": "1.0"},
            f"dialect-version: unknown dialect 'storm.py'; known are {CURRENT}",
        ),
        (
            {"streamparse_2": "2.0"},
            f"dialect-version: unknown dialect 'streamparse_2'; known are {CURRENT}",
        ),
        ({"streamparse": "two"}, "dialect-version: streamparse = 'two' is not a version such as '2.1'"),
        ({"pystorm": "0.9"}, "dialect-version: pystorm 0.9 is older than 1, the first version described"),
        ({"streamparse": "99"}, "dialect-version: no streamparse 99 is known; described are 0 to 5"),
        ({"heronpy": "0.21.1"}, "dialect-version: no heronpy 0.21.1 is known; described are 0.14 to 0.20"),
        ({"storm_java": "3.0"}, "dialect-version: no storm_java 3.0 is known; described are 1.0 to 2"),
        (
            {"backtype_storm": "1.0"},
            "dialect-version: no backtype_storm 1.0 is known; described are 0.8 to 0.10, 2.0 to 2",
        ),
        ({"pyleus": "1"}, "dialect-version: no pyleus 1 is known; described are all up to 0.3"),
    ],
)
def test_an_unknown_version_is_an_error_with_the_reason(versions: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(versions)
    assert str(caught.value) == message
