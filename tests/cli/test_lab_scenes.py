"""`ackdoctor lab scenes`: stories, list, JSON, exit codes."""

import dataclasses
import json

import pytest

from ackdoctor.lab import scenes
from ackdoctor.reporters import columns


def test_a_story_shows_the_pending_map_and_the_law(shell, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    code, out, err = shell("lab", "scenes", "bolt-death")
    assert (code, err) == (0, "")
    assert "bolt-death: A bolt dies with tuples in its queue\n" in out
    assert (
        "    3.5 s   The bolt's worker dies: 6 tuples in its queue and 1 in hand are lost.   7 (3-9)    7            3\n"
        in out
    )
    assert "  holds: yes; roots of lost tuples that time out: 7, other roots that fail: 0," in out
    assert out.endswith("\nOK: the law holds in 1 run of 1 scene\n")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_story_fits(shell, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = shell("lab", "scenes")
    assert code == 0
    assert max(map(columns, out.splitlines())) <= width
    assert out.endswith("\nOK: the law holds in 21 runs of 9 scenes\n")


def test_list_names_the_scenes_and_runs_none(shell, monkeypatch):
    monkeypatch.delattr(scenes.Scene, "play")
    code, out, _ = shell("lab", "scenes", "--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == scenes.scene_names()


def test_json_has_every_field(shell, tmp_path):
    file = tmp_path / "scenes.json"
    arguments = ("--output-format", "json", "--output-file", str(file), "--seed", "2")
    assert shell("lab", "scenes", "toy-ids", *arguments) == (0, "", "")
    document = json.loads(file.read_text())
    (scene,) = document["scenes"]
    assert (document["seed"], document["message_timeout_s"], document["broken"]) == (2, 30, [])
    assert (scene["name"], [run["label"] for run in scene["runs"]]) == (
        "toy-ids",
        ["edges 1, 2, 3", "control: random edges"],
    )
    run = scene["runs"][1]
    assert run["holds"] is True
    assert run["measures"][-1] == {"name": "lost", "value": 0, "least": 0, "most": 0, "holds": True}
    assert run["moments"][1] == {
        "time_ms": 500,
        "text": "The 3 workers of the store die, with the tuple in hand.",
        "pending": [0],
        "tables": [1],
        "stored": 0,
    }


def test_a_law_that_does_not_hold_exits_with_1(shell, monkeypatch):
    (scene,) = scenes.choose(["bolt-death"])

    def dies(setting):
        stage = scene.runs["the bolt dies"](setting)
        stage.expect("planets", 9, 7, 8)
        return stage

    monkeypatch.setattr(scenes, "SCENES", [dataclasses.replace(scene, runs={"it dies": dies})])
    code, out, _ = shell("lab", "scenes")
    assert code == 1
    assert "  holds: no; planets: 9, law 7..8\n" in out
    assert out.endswith("\nthe law does not hold: bolt-death, it dies\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("acker-daeth",), "no scene is called `acker-daeth`; did you mean `acker-death`?\n"),
        (("--acker-version", "heron"), "--acker-version: Heron has no ackers, which the scenes show\n"),
        (("--acker-version", "2.8.8-no-timeouts"), "--acker-version: the scenes need message timeouts\n"),
    ],
)
def test_a_wrong_argument_is_one_line(shell, arguments, error):
    assert shell("lab", "scenes", *arguments) == (2, "", f"ackdoctor: {error}")


def test_an_unknown_scene_without_a_close_name_lists_the_scenes(shell):
    code, _, err = shell("lab", "scenes", "xyzzy")
    assert code == 2
    assert "; scenes are bolt-death, acker-death, spout-death, " in err
