"""Parity classes of entries, and culprits by the residue law."""

import random
from functools import reduce
from itertools import combinations
from operator import xor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.acker.residue import Solution, TracedTuple, find_culprits, residue, solve, traced_tuples
from ackdoctor.acker.runtime import JavaRandom
from ackdoctor.model.trace import Culprit, Event, EventKind, PendingEntry, Residue, TupleTree, Verdict


def entry(value: int | None, *, task: int | None = None, failed: bool = False) -> PendingEntry:
    return PendingEntry(root=1, value=value, task=task, failed=failed)


@pytest.mark.parametrize(
    ("left", "verdict", "parity"),
    [
        (entry(5, task=1), Verdict.OPEN, Residue.EVEN),
        (entry(5), Verdict.ORPHAN, Residue.EVEN),
        (entry(0), Verdict.ORPHAN, Residue.ODD),
        (entry(None, failed=True), Verdict.ORPHAN, Residue.FAILED),
        (entry(0, failed=True), Verdict.ORPHAN, Residue.FAILED),
        (entry(5), Verdict.FAILED, Residue.FAILED),
        (entry(None), Verdict.ORPHAN, Residue.NONE),
        (None, Verdict.COMPLETE, Residue.NONE),
    ],
)
def test_the_parity_class_of_an_entry(left, verdict, parity):
    assert residue(left, verdict) is parity


def brute(target: int, columns: list[int]) -> list[tuple[int, ...]]:
    for size in range(len(columns) + 1):
        found = [
            places
            for places in combinations(range(len(columns)), size)
            if reduce(xor, (columns[place] for place in places), 0) == target
        ]
        if found:
            return found
    return []


@given(columns=st.lists(st.integers(0, 31), max_size=9), target=st.integers(0, 31))
def test_the_smallest_set_is_found_and_ties_are_ambiguous(columns, target):
    solution, expected = solve(target, columns), brute(target, columns)
    if solution is None:
        assert expected == []
        return
    assert solution.least
    assert solution.columns in expected
    assert solution.ambiguous == (len(expected) > 1)


@pytest.mark.parametrize("wrong", range(1, 12))
def test_all_culprits_among_fifty_random_ids_are_found(wrong):
    ids, dice = JavaRandom(wrong), random.Random(wrong)
    columns = [ids.next_long() for _ in range(50)]
    places = tuple(sorted(dice.sample(range(50), wrong)))
    target = reduce(xor, (columns[place] for place in places))
    assert solve(target, columns) == Solution(columns=places, ambiguous=False)


@pytest.mark.parametrize(("tuples", "wrong"), [(100_000, 1), (100_000, 2), (1_000, 3), (150, 4)])
def test_few_culprits_among_very_many_ids_are_found(tuples, wrong):
    ids, dice = JavaRandom(wrong), random.Random(wrong)
    columns = [ids.next_long() for _ in range(tuples)]
    places = tuple(sorted(dice.sample(range(tuples), wrong)))
    target = reduce(xor, (columns[place] for place in places))
    assert solve(target, columns) == Solution(columns=places, ambiguous=False)


def test_too_many_culprits_give_an_ambiguous_solution():
    ids = JavaRandom(7)
    columns = [ids.next_long() for _ in range(5000)]
    target = reduce(xor, columns[:9])
    solution = solve(target, columns)
    assert solution is not None
    assert (solution.ambiguous, solution.least) == (True, False)
    assert reduce(xor, (columns[place] for place in solution.columns)) == target


def test_a_value_without_explanation_has_no_solution():
    assert solve(8, [1, 2, 4]) is None


def test_equal_values_are_ambiguous():
    assert solve(4, [4, 2, 4]) == Solution(columns=(0,), ambiguous=True)


# ---- trees ----


def tree(value: int) -> TupleTree:
    return TupleTree(root=1, verdict=Verdict.OPEN, entry=entry(value, task=7), residue=Residue.EVEN)


def traced(name: str, *values: int, edge: int | None = None) -> TracedTuple:
    return TracedTuple(delivery=name, component="bolt", task=3, values=values, edge=edge)


def wrong(name: str, value: int, acks: int) -> Culprit:
    return Culprit(delivery=name, component="bolt", task=3, value=value, acks=acks)


def culprits_of(left: int, *seen: TracedTuple) -> tuple[Culprit, ...]:
    judged = find_culprits(tree(left), seen)
    assert not judged.ambiguous
    return judged.culprits


def test_a_tuple_acked_twice_is_named():
    assert culprits_of(8, traced("t", 8, 8), traced("u", 16)) == (wrong("t", 8, 2),)


def test_a_never_acked_leaf_is_named_by_its_edge():
    assert culprits_of(8, traced("t", edge=8), traced("u", 16, edge=16)) == (wrong("t", 8, 0),)


def test_a_never_acked_inner_tuple_is_named_although_its_child_is_acked():
    assert culprits_of(8 ^ 16, traced("t", edge=8), traced("child", 16, edge=16)) == (wrong("t", 8 ^ 16, 0),)


def test_three_culprits_are_named_together():
    seen = [traced("t", 8, 8), traced("u", 16, 16, 16), traced("v", 32, 32, 32, 32), traced("w", edge=64)]
    assert culprits_of(8 ^ 32 ^ 64, *seen) == (wrong("t", 8, 2), wrong("v", 32, 4), wrong("w", 64, 0))


def test_all_wrong_tuples_together_explain_dependent_ids():
    assert culprits_of(3, traced("t", 1, 1), traced("u", 2, 2)) == (wrong("t", 1, 2), wrong("u", 2, 2))


def test_an_emit_between_two_acks_leaves_the_first_value():
    assert culprits_of(8 ^ 16, traced("t", 8 ^ 16, 8 ^ 16 ^ 32)) == (wrong("t", 8 ^ 16, 2),)


def test_in_jstorm_a_second_ack_leaves_the_edge():
    assert culprits_of(8, traced("t", 8 ^ 16, 8), traced("u", 16)) == (wrong("t", 8, 2),)


def test_two_equally_good_culprits_are_ambiguous():
    judged = find_culprits(tree(8), [traced("t", 8, 8), traced("u", 8, 8), traced("v", 16, 16)])
    assert judged.ambiguous
    assert judged.culprits == (wrong("t", 8, 2),)


def test_an_unexplained_value_names_no_culprit():
    assert find_culprits(tree(8), [traced("t", 16, 16)]) == tree(8)


def test_a_failed_tree_has_no_culprit():
    failed = TupleTree(root=1, verdict=Verdict.ORPHAN, entry=entry(8), residue=Residue.FAILED)
    assert find_culprits(failed, [traced("t", 8, 8)]) == failed


def event(kind: EventKind, value: int, delivery: str = "", site: str = "", root: int = 1) -> Event:
    return Event(kind, 0, component="bolt", task=3, delivery=delivery, root=root, value=value, site=site)


def test_a_trace_gives_the_acks_and_sites_of_each_tuple():
    seen = traced_tuples(
        [
            event(EventKind.LINKED, 8, "t"),
            event(EventKind.ACK, 8 ^ 16, "t", "bolt.py:4 process"),
            event(EventKind.ACK, 8 ^ 16, "t", "bolt.py:9 process"),
            event(EventKind.ACK, 16, "u", root=2),
        ],
        {1: None},
    )
    assert seen == {
        1: (
            TracedTuple(
                delivery="t",
                component="bolt",
                task=3,
                values=(8 ^ 16, 8 ^ 16),
                edge=8,
                sites=("bolt.py:4 process", "bolt.py:9 process"),
            ),
        )
    }


def test_equal_values_in_an_ackers_log_are_one_tuple():
    seen = traced_tuples(
        [event(EventKind.ACK, 8), event(EventKind.ACK, 16), event(EventKind.ACK, 8)], {1: None}
    )
    assert seen == {1: (traced("", 8, 8), traced("", 16))}
