"""The life of a key in Storm's RotatingMap."""

import pytest

from ackdoctor.acker.rotating_map import RotatingMap


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
