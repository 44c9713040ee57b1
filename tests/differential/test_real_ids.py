"""Ids and routing against Java and Storm."""

import random

import pytest

from ackdoctor.acker.ids import JavaRandom, acker_index

pytestmark = [pytest.mark.java, pytest.mark.slow]
SEED = 20_251_121


def _longs(count: int) -> list[int]:
    rng = random.Random(SEED)
    edges = [0, 1, -1, 66, -5, 1 << 62, -(1 << 63), (1 << 63) - 1, 0xFFFFFFFF, -(1 << 32)]
    return edges + [rng.randrange(-(1 << 63), 1 << 63) for _ in range(count)]


def test_a_root_goes_to_the_acker_of_storm(ask):
    routes = [(root, ackers) for root in _longs(2000) for ackers in (1, 2, 3, 7, 64)]
    theirs = ask("storm-client", "2.8.3", "IdDriver", [f"route {root} {ackers}" for root, ackers in routes])
    assert [acker_index(root, ackers) for root, ackers in routes] == list(map(int, theirs))


def test_seeded_ids_equal_those_of_java_util_random(ask):
    theirs = ask("storm-client", "2.8.3", "IdDriver", [f"random {seed} 50" for seed in _longs(100)])
    for seed, line in zip(_longs(100), theirs, strict=True):
        source = JavaRandom(seed)
        assert [source.next_long() for _ in range(50)] == list(map(int, line.split()))
