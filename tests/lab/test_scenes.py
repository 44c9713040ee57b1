"""The scenes: every law holds for every version and seed, and a wrong simulator breaks it."""

import pytest

from ackdoctor.acker.executors import SpoutExecutor
from ackdoctor.acker.versions import profile
from ackdoctor.lab import runtime, scenes
from ackdoctor.lab.rig import OffsetSpout, Relay
from ackdoctor.lab.scenes import SCENES
from ackdoctor.lab.stage import Measure, Setting
from tests.lab.components import STORMS

VERSIONS = (*STORMS, "storm-0.9.5", "jstorm-2.4.0")


def _wrong(name, setting=None):
    (scene,) = scenes.choose([name])
    return [
        (result.label, measure)
        for result in scene.play(setting or Setting())
        for measure in result.measures
        if not measure.holds
    ]


def _results(name):
    (scene,) = scenes.choose([name])
    return {result.label: result for result in scene.play(Setting())}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_law_holds(scene, version):
    assert [_wrong(scene.name, Setting(seed, profile(version))) for seed in range(2)] == [[]] * 2


def test_equal_seeds_give_equal_scenes():
    (scene,) = scenes.choose(["acker-death"])
    assert scene.play(Setting(3)) == scene.play(Setting(3)) != scene.play(Setting(4))


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_is_short_and_in_order(scene):
    for result in scene.play(Setting()):
        times = [moment.time_ms for moment in result.moments]
        assert 3 <= len(times) <= 7
        assert times == sorted(times)
        assert len({measure.name for measure in result.measures}) == len(result.measures) >= 3


# ---- a simulator that is wrong ----


def test_a_spout_that_does_not_replay_breaks_the_law(monkeypatch):
    monkeypatch.setattr(OffsetSpout, "fail", lambda _self, _msg_id: None)
    assert {measure.name for _, measure in _wrong("bolt-death")} == {"replayed", "lost"}
    assert {label for label, _ in _wrong("tracking-off")} == {"control: tracked"}
    assert "fewest new attempts per interval" in {measure.name for _, measure in _wrong("always-fails")}


def test_a_spout_that_ignores_its_window_breaks_the_law(monkeypatch):
    monkeypatch.setattr(SpoutExecutor, "may_emit", lambda _self: True)
    assert {label for label, _ in _wrong("max-spout-pending")} == {"1 spout task", "2 spout tasks"}


def test_a_lost_anchor_breaks_the_law(monkeypatch):
    init = Relay.__init__
    monkeypatch.setattr(
        Relay,
        "__init__",
        lambda self, *, work_s=0, anchored=True: init(self, work_s=work_s, anchored=not anchored),
    )
    assert {label for label, _ in _wrong("tracking-off")} == {"control: tracked", "unanchored"}
    assert {label for label, _ in _wrong("tracking-stops")} == {"second dies"}


def test_another_choice_of_the_acker_breaks_the_law(monkeypatch):
    monkeypatch.setattr(runtime, "acker_index", lambda root, ackers: root // 7 % ackers)
    assert "roots in an acker that the hash does not choose" in {
        measure.name for _, measure in _wrong("acker-death")
    }


# ---- what the scenes show ----


def test_the_pending_map_is_shown_over_time():
    moments = _results("bolt-death")["the bolt dies"].moments
    assert [list(moment.pending) for moment in moments] == [
        list(range(10)), list(range(3, 10)), list(range(3, 10)), [],
    ]  # fmt: skip
    assert [moment.time_ms for moment in moments] == [0, 3500, 60_000, 150_000]


def test_the_table_of_a_dead_acker_is_shown_as_down():
    results = _results("acker-death")
    assert [list(moment.tables) for moment in results["1 acker"].moments][1] == [None]
    assert results["2 ackers"].moments[1].tables[0] is None


def test_toy_ids_are_acked_before_anything_is_stored():
    results = _results("toy-ids")
    toy, control = (result.moments for result in results.values())
    assert (list(toy[0].pending), toy[0].stored, toy[-1].stored) == ([], 0, 0)
    assert (list(control[0].pending), control[-1].stored) == ([0], 3)


def test_a_failed_child_repeats_its_siblings():
    (result,) = _results("one-child-fails").values()
    assert [moment.stored for moment in result.moments] == [0, 2, 2, 4, 4, 7, 7]


@pytest.mark.parametrize(("value", "holds"), [(0, False), (1, True), (3, True), (4, False)])
def test_a_measure_holds_within_its_bounds(value, holds):
    assert Measure("lost", value, 1, 3).holds is holds


def test_scenes_are_chosen_by_name():
    names = scenes.scene_names()
    assert len(set(names)) == len(names) == len(scenes.choose(()))
    assert [scene.name for scene in scenes.choose(["toy-ids", "bolt-death"])] == ["bolt-death", "toy-ids"]
    with pytest.raises(KeyError, match="bolt"):
        scenes.choose(["bolt"])
