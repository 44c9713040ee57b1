"""The differences between acker versions, and their names."""

import pytest

from ackdoctor.acker.versions import NEWEST, Schedule, profile
from ackdoctor.model import ConfigError
from ackdoctor.model.acker import RELEASES, Age, Engine, NoTargets

EVERY_RELEASE = """0.8.0 0.8.1 0.8.2 0.9.0-rc1 0.9.0-rc2 0.9.0-rc3 0.9.0 0.9.1 0.9.2 0.9.3 0.9.4 0.9.5 0.9.6 0.9.7
    0.10.0 0.10.1 0.10.2 1.0.0 1.0.1 1.0.2 1.0.3 1.0.4 1.0.5 1.0.6 1.0.7 1.1.0 1.1.1 1.1.2 1.1.3 1.1.4
    1.2.0 1.2.1 1.2.2 1.2.3 1.2.4 2.0.0 2.1.0 2.1.1 2.2.0 2.2.1 2.3.0 2.4.0 2.5.0 2.6.0 2.6.4 2.7.0 2.7.1
    2.8.0 2.8.1 2.8.2 2.8.3 2.8.4 2.8.5 2.8.6 2.8.7 2.8.8""".split()


def test_which_storm_versions_send_no_ticks_to_the_acker():
    silent = [version for version in EVERY_RELEASE if not profile(version).acker_ticks]
    bold = "0.9.0-rc3 0.9.0 0.9.1 0.9.2 0.9.3 0.9.4 0.9.5 0.9.6 0.9.7 0.10.0 0.10.1 0.10.2"
    assert silent == [*bold.split(), "1.0.0", "1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.0.5", "1.1.0", "1.1.1"]


def test_storm_2_0_has_three_buckets_and_java():
    shapes = {version: (profile(version).engine, profile(version).acker_buckets) for version in EVERY_RELEASE}
    assert {version for version, shape in shapes.items() if shape == (Engine.JAVA, 3)} == {
        version for version in EVERY_RELEASE if version.startswith("2.")
    }
    assert set(shapes.values()) == {(Engine.JAVA, 3), (Engine.CLOJURE, 2)}


def test_the_spout_rotates_once_for_each_task_before_2_8_0():
    assert [profile(version).spout_rotations(5) for version in ("0.9.7", "1.1.0", "2.7.1", "2.8.0")] == [
        5,
        5,
        5,
        1,
    ]


def test_resets_exist_since_1_0_0_and_ages_since_1_0_3():
    assert [profile(version).resets for version in ("0.10.2", "1.0.0", "jstorm", "heron")] == [
        False,
        True,
        False,
        False,
    ]
    assert [profile(version).age for version in ("0.10.2", "1.0.2", "1.0.3", "2.0.0")] == [
        Age.NONE,
        Age.NONE,
        Age.INIT,
        Age.CREATION,
    ]


def test_without_timeouts_only_1_2_sends_ticks_to_its_acker():
    assert (profile("1.2.4-no-timeouts").acker_ticks, profile("1.2.4-no-timeouts").spout_ticks) == (
        True,
        False,
    )
    assert (profile("2.8.8-no-timeouts").acker_ticks, profile("2.8.8-no-timeouts").spout_ticks) == (
        False,
        False,
    )


def test_schedules():
    assert profile("1.2").acker_schedule(30) == Schedule(30_000, 30_000)
    assert profile("1.1.0").acker_schedule(30) is None
    assert profile("1.1.0").spout_schedule(30) == Schedule(30_000, 30_000)
    assert profile("1.1.0-no-timeouts").spout_schedule(30) is None
    assert profile("jstorm").acker_schedule(30) is None
    assert profile("jstorm").spout_schedule(30) == Schedule(135_000, 15_000)
    assert profile("heron").acker_schedule(30) == Schedule(30_000, 10_000)
    assert profile("heron").acker_schedule(31) == Schedule(31_000, 11_000)
    assert profile("heron").spout_schedule(30) == Schedule(3_000, 3_000)


def test_which_versions_drop_old_entries():
    forgetful = [
        version
        for version in ("0.8.2", "0.9.7", "1.1.0", "1.2.4", "2.8.8", "jstorm", "heron")
        if profile(version).forgets
    ]
    assert forgetful == ["0.8.2", "1.2.4", "2.8.8", "jstorm", "heron"]


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("1.1.0", "storm-1.1.0"),
        ("storm-2.8.3", "storm-2.8.3"),
        ("v1.2.4", "storm-1.2.4"),
        ("Storm-1.2", "storm-1.2"),
        ("storm", "storm-2.8"),
        ("jstorm-2.4.0", "jstorm-2.4.0"),
        ("jstorm", "jstorm-2.4"),
        ("heron", "heron"),
        ("heron-0.20.5", "heron-0.20.5"),
        ("2.8-no-timeouts", "storm-2.8-no-timeouts"),
    ],
)
def test_a_profile_has_the_requested_name(version, name):
    assert profile(version).name == name


KNOWN = (
    "storm-0.8.0 to 0.9.0-rc2, storm-0.9.0-rc3 to 0.9.7, storm-0.10.0 to 0.10.2, storm-1.0.0 to 1.0.2, "
    "storm-1.0.3 to 1.0.5, storm-1.0.6 to 1.0.7, storm-1.1.0 to 1.1.1, storm-1.1.2 to 1.1.4, storm-1.2.0 to 1.2.4, "
    "storm-2.0.0 to 2.7.1, storm-2.8.0 to 2.8.8, jstorm-2.4.0, heron-0.20.0 to 0.20.5"
)


@pytest.mark.parametrize(
    "version", ["2.9.0", "1.0.8", "flink-1.0", "", "1.1.0.foo", "jstorm-2.2.1", "storm1.2", "latest"]
)
def test_an_unknown_version_is_rejected_with_a_list(version):
    with pytest.raises(ConfigError) as error:
        profile(version)
    assert str(error.value) == f"unknown acker version {version!r}; known are {KNOWN}"


def test_an_ambiguous_series_is_rejected():
    with pytest.raises(ConfigError) as error:
        profile("1.1")
    assert str(error.value) == (
        "acker version '1.1' is ambiguous, its releases differ: 1.1.0 to 1.1.1 (2 buckets, never a tick: entries live "
        "for ever), 1.1.2 to 1.1.4 (2 buckets, ticks even without timeouts; every message refreshes; life T..2T); "
        "name one release"
    )


def test_versions_before_0_8_are_rejected():
    with pytest.raises(ConfigError) as error:
        profile("storm-0.7.4")
    assert str(error.value) == (
        "acker version 'storm-0.7.4' is not modelled: before 0.8 Storm's acker had a TimeCacheMap and threads"
    )


@pytest.mark.parametrize("version", ["jstorm-no-timeouts", "heron-no-timeouts"])
def test_only_storm_can_disable_timeouts(version):
    with pytest.raises(ConfigError, match=r"has no setting that disables message timeouts$"):
        profile(version)


def test_the_newest_version_is_the_last_storm_release():
    newest = [release for release in RELEASES if release.family == "storm"][-1]
    assert profile(newest.version.name) == NEWEST


def test_a_message_without_targets():
    assert [profile(version).no_targets for version in ("1.2.4", "2.0.0", "jstorm")] == [
        NoTargets.ACK,
        NoTargets.INIT,
        NoTargets.NOTHING,
    ]
