"""The cheap proof: a plain root completes in the acker's model and leaves no entry."""

from functools import reduce
from operator import xor

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ackdoctor.acker.acker import make_acker
from ackdoctor.acker.runtime import JavaRandom, VirtualClock
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckInit, AnswerKind, Message
from tests.spark.configured import configured

pytest.importorskip("pyspark")


from ackdoctor.spark.replay import acker_version, rank, replay, sums
from ackdoctor.spark.schema import MESSAGES


def xor_of_parts(value: int, width: int) -> int:
    """Return the XOR of all pieces of `width` bits."""
    bits = value & (1 << 64) - 1
    return reduce(xor, (bits >> at for at in range(0, 64, width))) & (1 << width) - 1


def gram_rank(values: list[int], width: int = 15) -> int:
    """Return the rank over GF(2) of the sum of the outer products of the folded values."""
    kept = [xor_of_parts(value, width) for value in values]
    matrix = [reduce(xor, (bits for bits in kept if bits >> row & 1), 0) for row in range(width)]
    basis: dict[int, int] = {}
    for rest in matrix:
        vector = rest
        while vector and (known := basis.setdefault(vector.bit_length(), vector)) is not vector:
            vector ^= known
    return len(basis)


SMALL = st.integers(0, 15)
LONG = st.integers(-(1 << 63), (1 << 63) - 1)


@settings(max_examples=400)
@given(
    st.lists(st.one_of(SMALL, LONG), max_size=8),
    st.data(),
    st.sampled_from(["0.8.0", "1.1.0", "1.2", "2.8", "jstorm"]),
)
@pytest.mark.minutes
def test_independent_values_complete_with_the_last_message(values, data, name):
    repeated = values + data.draw(st.lists(st.sampled_from(values), max_size=3) if values else st.just([]))
    assume(gram_rank(repeated) == len(repeated))
    messages: list[Message] = [
        AckInit(1, reduce(xor, repeated, 0), 3),
        *(AckAck(1, value) for value in repeated),
    ]
    acker = make_acker(profile(name), VirtualClock())
    answers = [acker.receive(message) for message in data.draw(st.permutations(messages))]
    assert [answer and answer.kind for answer in answers] == [None] * len(repeated) + [AnswerKind.ACK]
    assert len(acker) == 0


@given(st.lists(LONG, min_size=1, max_size=8), st.data())
def test_a_value_that_comes_twice_is_never_independent(values, data):
    repeated = [*values, data.draw(st.sampled_from(values))]
    assert gram_rank(repeated) < len(repeated)


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_spark_computes_the_same_rank(ansi, spark):
    ids = JavaRandom(5)
    trees = [[ids.next_long() for _ in range(size)] for size in range(20)]
    trees += [[*tree, *tree[:2]] for tree in trees]
    trees += [[ids.next_long() & 7 for _ in range(5)], [-1, 1 << 63 - 1, -(1 << 63)]]
    rows = [
        ("run", 0, 0, root, 11, value, None, "bolt", 7, "", 1, at, at, "")
        for root, tree in enumerate(trees)
        for at, value in enumerate([0, *tree])
    ]
    with configured(spark, {"spark.sql.ansi.enabled": ansi}):
        found = rank(sums(spark.createDataFrame(rows, MESSAGES))).select("root", "rank").collect()
    assert {row.root: row["rank"] for row in found} == {
        root: gram_rank(tree) for root, tree in enumerate(trees)
    }


FAR = 1 << 62


def plain_roots(spark, keep, roots, ticks) -> dict[int, bool]:
    """Return which roots of one INIT and one ACK are plain, each with its two positions; ticks have positions too."""
    rows = [
        ("run", 0, 0, root, kind, 5, task, "bolt", 7, "", 1, at, at, "")
        for root, places in enumerate(roots)
        for at, (kind, task) in zip(places, [(10, 3), (11, None)], strict=True)
    ]
    rows += [("run", 0, 0, 0, 14, 0, None, "", 0, "", 1, at, at, "") for at in ticks]
    replayed = replay(spark.createDataFrame(rows, MESSAGES), acker_version("2.8"), persist=keep)
    return {row.root: row.sole for row in replayed.entries.select("root", "sole").collect()}


@pytest.mark.minutes
def test_a_root_whose_duration_overflows_a_long_may_have_seen_any_tick(spark, keep):
    roots = [(-FAR, -FAR + 5), (-FAR, FAR + 8), (FAR, FAR + 8)]
    assert plain_roots(spark, keep, roots, []) == {0: True, 1: True, 2: True}
    assert plain_roots(spark, keep, roots, [0, 10, 20]) == {0: True, 1: False, 2: True}
    assert plain_roots(spark, keep, roots, [-FAR + 1, 10, FAR + 1]) == {0: True, 1: False, 2: True}


def test_ticks_of_an_idle_acker_leave_later_roots_plain(spark, keep):
    quiet, busy = [1, 2, 3], range(100_000, 1_000_000, 100_000)
    roots = [(0, 5), (2, 5), (5_000, 55_000), (95_000, 205_000), (95_000, 305_000)]
    assert plain_roots(spark, keep, roots, [*quiet, *busy]) == {0: False, 1: True, 2: True, 3: True, 4: False}


S = 10**9


@pytest.mark.parametrize(
    ("timeout_s", "places", "ticks", "outcomes"),
    [
        (None, (0, 4), [1, 2, 3], ["expired", "pending"]),
        (None, (0, 3), [1, 2], ["acked"]),
        pytest.param(None, (0, 4), [], ["acked"], marks=pytest.mark.minutes),
        (1, (S - 1, 3 * S), [], ["expired", "pending"]),
        pytest.param(1, (S, 3 * S), [], ["acked"], marks=pytest.mark.minutes),
        pytest.param(1, (S - 1, 3 * S - 1), [], ["acked"], marks=pytest.mark.minutes),
    ],
)
def test_the_shortest_entry_that_ticks_can_drop_is_replayed(timeout_s, places, ticks, outcomes, spark, keep):
    """Count ticks by position in the acker's rows, or by time from the first message."""
    by_time = int(timeout_s is not None)
    rows = [
        ("run", 0, 0, root, kind, 5, task, "bolt", 7, "", 1, at, at * by_time, "")
        for root, at, kind, task in [
            (1, places[0], 10, 3),
            (1, places[1], 11, None),
            (9, 0, 10, 3),  # the run begins
            (9, 1, 11, None),
            *((0, at, 14, None) for at in ticks),
        ]
    ]
    sent = spark.createDataFrame(rows, MESSAGES)
    of = acker_version("2.8")
    entries = replay(sent, of, message_timeout_s=timeout_s, persist=keep).entries
    found = entries.where("root = 1").orderBy("nth").select("outcome").collect()
    assert [row.outcome for row in found] == outcomes
