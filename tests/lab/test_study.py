"""The published study in the simulator: every law holds, at every size, for every version and with every seed."""

import dataclasses

import pytest

from ackdoctor.acker.versions import profile
from ackdoctor.lab import study
from ackdoctor.lab.study import EXPERIMENTS, Experiment, Outcome, Result, Row, Setting
from tests.lab.components import STORMS

SMALL = Setting(0.01)
STORM = [experiment for experiment in EXPERIMENTS if experiment.quantity != "sum"]
TRIDENT = [experiment for experiment in EXPERIMENTS if experiment.quantity == "sum"]


def _broken(chosen, setting):
    return [
        (name, outcome)
        for result in study.run(chosen, setting)
        for name in result.broken
        for row, outcome in result.outcomes
        if name in {result.experiment.name, result.experiment.identify(row)}
    ]


@pytest.mark.parametrize("storm", STORMS)
@pytest.mark.parametrize("experiment", STORM, ids=lambda experiment: experiment.name)
def test_a_law_of_storm_holds(experiment, storm):
    setting = Setting(0.01, seed=len(experiment.name), profile=profile(storm))
    assert _broken([(experiment, experiment.rows)], setting) == []


@pytest.mark.parametrize("experiment", TRIDENT, ids=lambda experiment: experiment.name)
def test_a_law_of_trident_holds(experiment):
    assert _broken([(experiment, experiment.rows[-1:])], SMALL) == []


@pytest.mark.minutes
@pytest.mark.parametrize("seed", range(3))
def test_every_law_holds_at_full_size(seed):
    assert _broken(study.choose(()), Setting(seed=seed)) == []


@pytest.mark.minutes
@pytest.mark.parametrize("scale", [0.01, 0.013, 0.02, 0.05])
def test_every_law_holds_at_small_sizes(scale):
    assert [_broken(study.choose(()), Setting(scale, seed)) for seed in range(5)] == [[]] * 5


@pytest.mark.minutes
def test_the_full_size_has_the_published_numbers():
    values = {
        result.experiment.identify(row): outcome.simulated
        for result in study.run(study.choose(["acker", "after-emit", "exactly-once", "spout"]), Setting())
        for row, outcome in result.outcomes
    }
    assert [values[f"acker-{n}"] for n in (1, 2, 3, 4)] == [2000, 4000, 6000, 8000]
    assert [values[f"after-emit-{n}"] for n in (1, 2, 4, 8, 10)] == [1, 2, 4, 8, 10]
    assert {value for name, value in values.items() if name.startswith("exactly")} == {50_005_000}
    assert all(0.75 * 2000 * n <= values[f"spout-{n}"] <= 1.15 * 2000 * n for n in (1, 2, 4, 6))


def test_equal_seeds_give_equal_outcomes():
    chosen = study.choose(["spout-commit-2-s", "opaque-acker-1"])
    runs = [study.run(chosen, Setting(0.01, seed)) for seed in range(4)]
    assert study.run(chosen, SMALL) == runs[0]
    assert len({run[0].outcomes[0][1].simulated for run in runs}) > 1


def test_a_spout_that_dies_before_it_has_read_its_window_reads_it_again_and_again():
    ((_, twice), (_, six_times)) = study.run(study.choose(["spout-often"]), SMALL)[0].outcomes
    assert (twice.times_seen[3], six_times.times_seen[7]) == (20, 20)


def _outcome(simulated, **changes):
    outcome = Outcome(simulated=simulated, least=10, most=20, numbers=100, lost=0, times_seen={1: 100})
    return dataclasses.replace(outcome, **changes)


@pytest.mark.parametrize(
    ("outcome", "holds"),
    [
        (_outcome(9), False),
        (_outcome(10), True),
        (_outcome(20), True),
        (_outcome(21), False),
        (_outcome(21, most=None), True),
        (_outcome(15, violations=["3 numbers are lost"]), False),
    ],
)
def test_a_law_holds_within_its_bounds(outcome, holds):
    assert outcome.holds is holds


def test_a_quantity_that_does_not_grow_breaks_the_law():
    rows = [Row(str(n), None, lambda _setting: _outcome(12)) for n in (1, 2)]
    experiment = Experiment(name="flat", title="", quantity="lost", law="", rows=rows, grows=True)
    outcomes = [(row, row.simulate(SMALL)) for row in rows]
    assert Result(experiment=experiment, outcomes=outcomes).broken == ["flat"]
    assert Result(experiment=experiment, outcomes=outcomes[:1]).broken == []


def test_rows_have_different_names():
    names = list(study.row_names())
    assert len(set(names)) == len(names)
    assert [rows for _, rows in study.choose(["acker-2"])] == [[EXPERIMENTS[2].rows[1]]]
    with pytest.raises(KeyError, match="acker-9"):
        study.choose(["acker-9"])


def test_a_sum_names_what_the_control_counts_twice():
    ((_, rows),) = study.choose(["plain-state-acker-1"])
    outcome = rows[0].simulate(SMALL)
    assert (outcome.times_seen, outcome.simulated > outcome.least - 1) == ({1: 990, 2: 10}, True)
