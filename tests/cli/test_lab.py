"""`ackdoctor lab study`: tables, JSON, exit codes."""

import dataclasses
import json

import pytest

from ackdoctor.lab import study


def test_the_tables_show_the_study_beside_the_simulator(shell):
    code, out, err = shell("lab", "study", "--scale", "0.01", "--only", "acker", "--only", "after-emit-2")
    assert (code, err) == (0, "")
    assert "acker-2       4,001    40          40      0   1x: 50, 2x: 40   yes" in out
    assert "note: 4,001 is one above the bound P x n, and outside the model" in out
    assert out.endswith("\nOK: the law holds in 5 rows\n")


def test_a_narrow_terminal_shows_every_cell(shell, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = shell("lab", "study", "--scale", "0.01", "--only", "acker-2")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 40
    assert "published: 4,001" in out


def test_json_has_every_field(shell, tmp_path):
    file = tmp_path / "study.json"
    arguments = ("--output-format", "json", "--output-file", str(file), "--seed", "2")
    assert shell("lab", "study", "--scale", "0.01", "--only", "acker-2", *arguments) == (0, "", "")
    document = json.loads(file.read_text())
    (experiment,) = document.pop("experiments")
    (row,) = experiment.pop("rows")
    assert (document["seed"], document["scale"], document["max_spout_pending"], document["broken"]) == (
        2,
        0.01,
        20,
        [],
    )
    assert (experiment["name"], experiment["quantity"]) == ("acker", "repeated")
    assert row == {
        "name": "acker-2",
        "published": 4001,
        "least": 40,
        "most": 40,
        "simulated": 40,
        "numbers": 90,
        "lost": 0,
        "times_seen": {"1": 50, "2": 40},
        "pending": [20, 20],
        "violations": [],
        "holds": True,
    }


def test_a_version_can_be_chosen(shell):
    code, out, _ = shell("lab", "study", "--scale", "0.01", "--only", "acker-2", "--acker-version", "1.1.0")
    assert (code, out.partition(",")[0]) == (0, "storm-1.1.0")


def test_a_law_that_does_not_hold_exits_with_1(shell, monkeypatch):
    experiment = study.EXPERIMENTS[2]

    def simulate(setting):
        outcome = experiment.rows[0].simulate(setting)
        return dataclasses.replace(outcome, most=19, violations=["1 number is lost"])

    rows = [dataclasses.replace(experiment.rows[0], simulate=simulate)]
    monkeypatch.setattr(study, "EXPERIMENTS", [dataclasses.replace(experiment, rows=rows)])
    code, out, _ = shell("lab", "study", "--scale", "0.01")
    assert code == 1
    assert "no; 1 number is lost" in out
    assert out.endswith("\nthe law does not hold: acker-1\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--only", "akcer"), "ackdoctor: --only: no row is called `akcer`; did you mean `acker`?\n"),
        (
            ("--acker-version", "heron"),
            "ackdoctor: --acker-version: Heron has neither ackers nor Trident, which the study kills\n",
        ),
        (("--scale", "nan"), "ackdoctor: --scale: nan is not a factor\n"),
        (
            ("--output-format", "html"),
            "ackdoctor: --output-format: 'html' is not one of full, json\n",
        ),
        (
            ("--output-file", "no/such.json"),
            "ackdoctor: --output-file: no/such.json cannot be written: No such file or directory\n",
        ),
    ],
)
def test_a_wrong_argument_is_one_line(shell, arguments, error):
    assert shell("lab", "study", "--scale", "0.01", *arguments) == (2, "", error)


@pytest.mark.parametrize("scale", ["0", "2", "-1", "many"])
def test_a_scale_out_of_range_is_an_error(shell, scale):
    code, out, err = shell("lab", "study", "--scale", scale)
    assert (code, out) == (2, "")
    assert err.startswith("ackdoctor: --scale: ")


def test_an_unknown_row_without_a_close_name_lists_the_experiments(shell):
    code, _, err = shell("lab", "study", "--only", "xyzzy")
    assert code == 2
    assert "; experiments are no-fault, at-most-once, acker, " in err
