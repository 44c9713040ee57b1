"""Random plans of faults, and the smallest one that fails."""

from functools import partial
from random import Random

from ackdoctor.lab.faults import Plan, plan, random_plan, search, shrink

draw = partial(random_plan, bolts=["split", "count"], timeout_s=30, has_acker=True)


def never():
    return False


def test_a_plan_shrinks_to_the_faults_that_matter():
    large = plan(["split@80", "acker=3", "count@40"], ["count@9"], ["1%"], ["split=45s"])

    def fails(smaller):
        return any(kill.component == "count" and kill.number >= 10 for kill in smaller.kills)

    assert str(shrink(large, fails)) == "--kill count@10"


def test_the_search_stops_at_the_first_plan_that_fails():
    found = search(lambda faults, _seed: bool(faults.drops), 100, 7, draw, is_late=never)
    assert found.plan is not None
    assert (str(found.plan).split()[0], found.seed, found.plan.kills) == ("--drop", 0, ())
    assert found == search(lambda faults, _seed: bool(faults.drops), 100, 7, draw, is_late=never)


def test_the_least_number_and_the_least_seed_are_found():
    def fails(faults, seed):
        return seed >= 4 and any(kill.number >= 13 for kill in faults.kills)

    found = search(fails, 100, 7, draw, is_late=never)
    assert found.plan is not None
    assert ([kill.number for kill in found.plan.kills], found.seed) == ([13], 4)


def test_a_topology_that_fails_without_faults_needs_no_plan():
    found = search(lambda _faults, _seed: True, 100, 7, draw, is_late=never)
    assert (found.tried, found.plan, found.seed) == (0, Plan(), 0)


def test_the_search_ends_with_its_number_or_its_time():
    assert search(lambda _faults, _seed: False, 5, 7, draw, is_late=never).tried == 5
    assert search(lambda _faults, _seed: False, 5, 7, draw, is_late=lambda: True).tried == 0


def test_random_plans_differ_and_suit_the_topology():
    random = Random(3)
    plans = [draw(random) for _ in range(50)]
    assert len(set(plans)) > 40
    for each in plans:
        each.check(["words"], ["split", "count"])
