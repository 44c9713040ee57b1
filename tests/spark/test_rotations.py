"""Roots that ticks may have dropped: none is missed, and few others are included."""

import random

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.replay import ACKER, acker_version, may_be_dropped, rotations
from ackdoctor.spark.schema import MESSAGES
from tests.sampled import sampled

LEAST, MOST = -(1 << 63), (1 << 63) - 1
CHANCE = random.Random(7)
TICKS = {  # places of ticks, by acker; each comes from one source but those of the last
    1: [],
    2: [5],
    3: [1, 2],
    4: [1, 2, 3],
    5: [-3, -2, -1, *range(600_000, 12_000_000, 600_000)],
    6: sorted(CHANCE.randrange(-(10**6), 10**6) for _ in range(60)),
    7: sorted(CHANCE.randrange(10) for _ in range(60)),
    8: [LEAST, LEAST + 3, 0, 7, MOST - 1, MOST],
    9: [LEAST, 0, 1],
    10: list(range(0, 40_000, 1000)),
}
SEVERAL = 10


def places(ticks: list[int]) -> list[tuple[int, int]]:
    """Return spans of roots: near the ticks, and anywhere."""
    known = [*ticks, LEAST, MOST, 0]
    near = [at + way for at in CHANCE.choices(known, k=120) for way in (-1000, -1, 0, 1, 500)]
    near += [CHANCE.randrange(-(10**6), 13 * 10**6) for _ in range(200)]
    kept = [at for at in near if LEAST <= at <= MOST]
    short = [(at, at + CHANCE.randrange(2000)) for at in near[-200:]]
    pairs = [CHANCE.choices(kept, k=2) for _ in range(400)]
    return [(min(pair), max(pair)) for pair in pairs] + short


@pytest.fixture(scope="module", params=sampled(["2.8", "0.8.0"], ["2.8"]))
def judged(request, spark):
    """Return for each acker its ticks with their sources, and (first, last, may expire by pos, by time) of some roots."""
    sources = {
        acker: [at % 2000 if acker == SEVERAL else 1 for at in ticks] for acker, ticks in TICKS.items()
    }
    rows = [
        ("run", acker, 0, 0, 14, 0, None, "", 0, "", source, at, at, "")
        for acker, ticks in TICKS.items()
        for at, source in zip(ticks, sources[acker], strict=True)
    ]
    of = acker_version(request.param)
    ticked = rotations(spark.createDataFrame(rows, MESSAGES), of, None)
    ways = [("run", acker, 0, *way) for acker, ticks in TICKS.items() for way in places(ticks)]
    roots = spark.createDataFrame(ways, "run string, acker int, incarnation int, first bigint, last bigint")
    seen = roots.join(ticked, [*ACKER], "left").selectExpr(
        "*", *(f"{end} as {end}_{axis}" for end in ("first", "last") for axis in ("pos", "ns"))
    )
    found = seen.selectExpr(
        "acker", "first", "last", *(f"{may_be_dropped(axis)} as by_{axis}" for axis in ("pos", "ns"))
    )
    answers: dict[int, list[tuple[int, int, bool, bool]]] = {acker: [] for acker in TICKS}
    for row in found.collect():
        answers[row.acker].append((row["first"], row["last"], row.by_pos, row.by_ns))
    return of.acker_buckets, sources, answers


def test_a_root_that_sees_enough_ticks_may_be_dropped(judged):
    buckets, _, answers = judged
    dropped = 0
    for acker, ticks in TICKS.items():
        for first, last, by_pos, by_ns in answers[acker]:
            if sum(first < tick < last for tick in ticks) >= buckets:
                assert by_pos, (acker, first, last)
                dropped += 1
            if sum(first < tick <= last for tick in ticks) >= buckets:
                assert by_ns, (acker, first, last)
    assert dropped > 500


def test_a_root_may_see_some_ticks_by_position_and_others_by_time(judged):
    buckets, sources, answers = judged
    ticks = list(zip(TICKS[SEVERAL], sources[SEVERAL], strict=True))
    for first, last, by_pos, _ in answers[SEVERAL]:
        for other, until, _, by_ns in answers[SEVERAL]:  # by time it lies elsewhere
            seen = sum((first < at < last) if source == 0 else (other < at <= until) for at, source in ticks)
            assert by_pos or by_ns or seen < buckets


def test_a_root_that_sees_no_tick_is_not_dropped(judged):
    buckets, _, answers = judged
    for acker in (1, 2, 5):
        calm = [
            by_pos or by_ns
            for first, last, by_pos, by_ns in answers[acker]
            if last < MOST and not any(first - 10_000 <= tick <= last for tick in TICKS[acker])
        ]
        assert len(calm) > 150
        assert not any(calm), (acker, buckets)
