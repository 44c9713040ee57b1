"""Java's Random and hash codes, RotatingMap, and the clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.acker.runtime import JavaRandom, RotatingMap, acker_index, signed

LONGS = st.integers(-(2**63), 2**63 - 1)


def test_java_util_random_bit_for_bit():
    # new Random(42): nextLong() three times; new Random(0) likewise
    first, second = JavaRandom(42), JavaRandom(0)
    assert [first.next_long() for _ in range(3)] == [
        -5025562857975149833,
        -5843495416241995736,
        5694868678511409995,
    ]
    assert [second.next_long() for _ in range(2)] == [-4962768465676381896, 4437113781045784766]


@pytest.mark.parametrize(
    ("root", "of_3", "of_4", "of_7"),
    [
        (66, 1, 1, 6),
        (-5, 2, 3, 0),
        (-6722594615019711369, 0, 2, 4),
        (2**62, 2, 3, 4),
        (-(2**63), 2, 3, 1),
    ],
)
def test_a_root_goes_to_its_hash_modulo_the_ackers(root, of_3, of_4, of_7):
    assert (acker_index(root, 3), acker_index(root, 4), acker_index(root, 7)) == (of_3, of_4, of_7)


@given(root=LONGS, ackers=st.integers(1, 100))
def test_an_index_is_one_of_the_ackers(root, ackers):
    assert 0 <= acker_index(root, ackers) < ackers


@given(value=LONGS)
def test_signed_returns_the_low_64_bits_as_a_long(value):
    assert signed(value & (1 << 64) - 1) == value


def test_a_clock_rejects_a_negative_step():
    from ackdoctor.acker.runtime import VirtualClock

    clock = VirtualClock()
    clock.advance(1.5)
    assert clock.now_ms() == 1500
    with pytest.raises(ValueError, match=r"^a clock cannot go back: -1 s$"):
        clock.advance(-1)


def test_put_moves_a_key_into_the_newest_bucket():
    pending: RotatingMap[int, str] = RotatingMap(3)
    pending.put(1, "a")
    pending.rotate()
    pending.put(1, "b")
    assert list(pending.buckets()) == [{1: "b"}, {}, {}]


@pytest.mark.parametrize("buckets", [2, 3])
def test_a_key_lives_for_as_many_rotations_as_there_are_buckets(buckets):
    pending: RotatingMap[int, str] = RotatingMap(buckets)
    pending.put(1, "a")
    dead = [pending.rotate() for _ in range(buckets)]
    assert dead == [{}] * (buckets - 1) + [{1: "a"}]
    assert 1 not in pending


def test_get_and_remove_use_the_first_bucket_with_the_key():
    pending: RotatingMap[int, str] = RotatingMap(2)
    pending.put(1, "old")
    pending.rotate()
    pending.put_head(1, "new")
    assert (pending.get(1), len(pending)) == ("new", 2)
    assert [pending.remove(1), pending.remove(1), pending.remove(1)] == ["new", "old", None]


def test_a_value_of_none_is_present():
    pending: RotatingMap[int, None] = RotatingMap(2)
    pending.put(1, None)
    assert 1 in pending
    assert pending.get(1) is None
    assert len(pending) == 1


def test_one_bucket_is_rejected_as_in_java():
    with pytest.raises(ValueError, match=r"^numBuckets must be >= 2$"):
        RotatingMap(1)
