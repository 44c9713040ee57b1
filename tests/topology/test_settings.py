"""Which value of a setting holds, and which assignments have no effect."""

import pytest

from ackdoctor.model.topology import Defect, Gap, Node, Place, Setting, Topology
from ackdoctor.topology.settings import ACKERS, MAX_PENDING, MODE, TICKS, TIMEOUT, effective, setting_defects

AT = Place("t.yaml", 3)


def topology(*settings: Setting, kind="flux", framework="storm 2.4.0", **more) -> Topology:
    node = Node(id="a", role="spout", cls="A", place=AT)
    return Topology(
        name="t", kind=kind, framework=framework, place=AT, nodes=(node,), edges=(), settings=settings, **more
    )


def setting(key: str, value, component: str = "", line: int = 3, **more) -> Setting:
    return Setting(key=key, value=value, place=Place("t.yaml", line), component=component, **more)


def value(found: Topology, key: str, component: str = ""):
    return effective(found, key, component).value


def kinds(*settings: Setting, **more) -> list[tuple[str, str]]:
    return [(each.kind, each.sure) for each in setting_defects(topology(*settings, **more))]


# ---- the value that holds ----


def test_the_last_assignment_wins():
    found = topology(setting(TIMEOUT, 10), setting(TIMEOUT, 20, line=4))
    assert effective(found, TIMEOUT) == setting(TIMEOUT, 20, line=4)


def test_an_explicit_null_overrides():
    assert value(topology(setting(ACKERS, 2), setting(ACKERS, None)), ACKERS) is None


def test_a_default_names_its_origin():
    found = effective(topology(), TIMEOUT)
    assert (found.value, str(found.place)) == (30, "the defaults of Storm")
    assert effective(topology(), ACKERS).why == "one acker for each worker"


def test_what_the_files_do_not_decide_stays_a_gap():
    gap = Gap("args[2]", AT)
    assert value(topology(setting(ACKERS, gap)), ACKERS) == gap


def test_a_component_may_set_only_what_the_whitelist_has():
    found = topology(setting(TICKS, 5, "a"), setting(TIMEOUT, 5, "a"), setting(MAX_PENDING, 7, "a"))
    assert (value(found, TICKS, "a"), value(found, MAX_PENDING, "a"), value(found, TIMEOUT, "a")) == (
        5,
        7,
        30,
    )
    assert value(found, TICKS) is None


def test_a_topology_wide_value_holds_for_every_component():
    assert value(topology(setting(TICKS, 60)), TICKS, "a") == 60


def test_an_assignment_without_effect_does_not_hold():
    assert value(topology(setting(ACKERS, 0, effective=False, why="never submitted")), ACKERS) is None


@pytest.mark.parametrize(
    ("framework", "key", "expected"),
    [
        ("storm 0.9.5", ACKERS, None),
        ("jstorm 2.4", ACKERS, 1),
        ("streamparse 1-2", ACKERS, 2),
        ("streamparse 2.1.4, storm 0.9.5", MAX_PENDING, 5000),
        ("streamparse<3", TIMEOUT, 60),
        ("streamparse>=3", TIMEOUT, 30),
        ("streamparse", TIMEOUT, 30),
        ("heron 0.20", MODE, "ATMOST_ONCE"),
        ("heron", MAX_PENDING, 100),
        ("storm 2.4.0", MODE, None),
    ],
)
def test_defaults_differ_by_framework(framework, key, expected):
    assert value(topology(kind="x", framework=framework), key) == expected


@pytest.mark.parametrize(
    ("ackers", "mode"),
    [((), "ATMOST_ONCE"), ((0,), "ATMOST_ONCE"), ((2,), "ATLEAST_ONCE"), ((None,), "ATMOST_ONCE")],
)
def test_heron_derives_the_mode_of_a_storm_topology_from_its_ackers(ackers, mode):
    found = topology(*(setting(ACKERS, each) for each in ackers), kind="java-builder", framework="heron 0.20")
    assert value(found, MODE) == mode


def test_an_undecided_number_of_ackers_leaves_herons_mode_open():
    gap = Gap("args[0]", AT)
    found = topology(setting(ACKERS, gap), kind="java-builder", framework="heron 0.20")
    assert value(found, MODE) == gap


def test_herons_own_topologies_take_their_mode_from_the_setting():
    found = topology(setting(ACKERS, 2), kind="heronpy", framework="heron 0.20")
    assert value(found, MODE) == "ATMOST_ONCE"
    found = topology(setting(MODE, "ATLEAST_ONCE"), kind="heronpy", framework="heron 0.20")
    assert value(found, MODE) == "ATLEAST_ONCE"


def test_pyleus_spells_settings_its_own_way_and_minus_one_is_unset():
    found = topology(
        setting("ackers", 0),
        setting("message_timeout_secs", -1),
        setting("tick_freq_secs", 9, "a"),
        kind="pyleus",
    )
    assert (value(found, ACKERS), value(found, TIMEOUT), value(found, TICKS, "a")) == (0, 30, 9)
    assert setting_defects(found) == ()


# ---- defects ----


@pytest.mark.parametrize("framework", ["storm 2.4.0", "storm 0.9.5", "streamparse>=3", ""])
def test_topology_ackers_is_dead_and_is_no_number_of_ackers(framework):
    assert kinds(setting("topology.ackers", 0), framework=framework) == [("dead-key", "certain")]
    assert value(topology(setting("topology.ackers", 0), framework=framework), ACKERS) in {None, 2}


def test_keys_are_dead_in_one_framework_only():
    assert kinds(setting("acker_count", 2), framework="streamparse 3.4.0") == [("dead-key", "certain")]
    assert kinds(setting("acker_count", 2), framework="streamparse 1-2") == []
    assert kinds(setting("topology.acking", value=True), framework="heron 0.20") == [("dead-key", "certain")]
    assert kinds(setting("topology.acking", value=True), framework="heron 0.14.9") == []
    assert kinds(setting("topology.acking", value=True), framework="heron") == [("dead-key", "likely")]


@pytest.mark.parametrize("key", [TIMEOUT, ACKERS, "topology.enable.message.timeouts", "topology.workers"])
def test_storm_drops_other_keys_of_a_component(key):
    correct = False if key.endswith("timeouts") else 5
    assert kinds(setting(key, correct, "a")) == [("component-setting-without-effect", "certain")]
    assert kinds(setting(key, correct)) == []


def test_a_key_that_storm_does_not_know_passes_through():
    assert kinds(setting("kafka.topic", "x", "a"), setting(TICKS, 5, "a")) == []


def test_heron_and_jstorm_drop_nothing():
    assert kinds(setting(TIMEOUT, 5, "a"), framework="heron 0.20") == []
    assert kinds(setting(TIMEOUT, 5, "a"), framework="jstorm 2.4") == []


def test_the_late_stream_of_a_component_needs_storm_1_1():
    late = setting("topology.bolts.late.tuple.stream", "late", "a")
    assert kinds(late, framework="storm 1.0.2") == [("component-setting-without-effect", "certain")]
    assert kinds(late, framework="storm 1.2.4") == []
    assert kinds(late, framework="storm") == []


@pytest.mark.parametrize("framework", ["storm 2.4.0", "storm 0.9.5", "storm"])
def test_a_max_pending_of_zero_is_not_unlimited(framework):
    assert kinds(setting(MAX_PENDING, 0), framework=framework) == [("max-pending-zero", "certain")]


@pytest.mark.parametrize(
    ("key", "refused", "framework", "sure"),
    [
        (TIMEOUT, "30", "storm 2.4.0", "certain"),
        (TIMEOUT, "30", "storm 0.9.5", "certain"),
        (TIMEOUT, 0, "storm 1.0.2", "certain"),
        (TIMEOUT, 0, "storm", "likely"),
        (TIMEOUT, None, "storm 2.4.0", "certain"),
        (TIMEOUT, 1.5, "storm 2.4.0", "certain"),
        (ACKERS, -1, "storm 2.4.0", "certain"),
        (ACKERS, True, "storm 2.4.0", "certain"),
        ("topology.enable.message.timeouts", "false", "storm 2.4.0", "certain"),
    ],
)
def test_storm_refuses_wrong_types_and_values(key, refused, framework, sure):
    assert kinds(setting(key, refused), framework=framework) == [("setting-refused", sure)]


@pytest.mark.parametrize(
    ("key", "accepted"),
    [(TIMEOUT, 30), (TIMEOUT, 30.0), (ACKERS, 0), (ACKERS, None), (MAX_PENDING, None), (TICKS, None)],
)
def test_storm_accepts_the_rest(key, accepted):
    assert kinds(setting(key, accepted)) == []


def test_a_gap_is_not_judged():
    assert kinds(setting(TIMEOUT, Gap("${timeout}", AT))) == []


def test_heron_takes_strings():
    assert kinds(setting(TIMEOUT, "30"), framework="heron 0.20") == []


def test_a_setting_of_trident_needs_trident():
    batch = setting("topology.trident.batch.emit.interval.millis", 2000)
    assert kinds(batch) == [("setting-without-effect", "likely")]
    assert kinds(batch, kind="trident") == []
    assert kinds(batch, gaps=(Gap("the graph is in Java", AT),)) == []


def test_a_daemons_setting_is_information_but_the_workers_heartbeat_is_read():
    assert kinds(setting("supervisor.slots.ports", (6700,))) == [("dead-key", "information")]
    assert kinds(setting("supervisor.worker.timeout.secs", 60)) == []


def test_what_a_reader_found_dead_is_reported_once():
    dead = setting("module", "x", effective=False, why="the Kafka spout does not read it")
    assert kinds(dead) == [("dead-key", "certain")]
    assert kinds(dead, defects=(Defect(kind="dead-key", sure="certain", place=AT, why=""),)) == []
    shadowed = Defect(kind="config-object-shadowed", sure="certain", place=Place("t.yaml", 9), why="")
    assert kinds(dead, defects=(shadowed,)) == []
