"""Ids: java.util.Random, independent ids, modulo routing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.acker.ids import JavaRandom, PowersOfTwo, acker_index, signed, unsigned

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


def test_next_int_returns_the_high_bits_of_the_state():
    assert JavaRandom(42).next_int() == -1170105035


def test_powers_of_two_are_64_independent_ids():
    ids = PowersOfTwo()
    drawn = [ids.next_long() for _ in range(64)]
    assert drawn[:3] == [1, 2, 4]
    assert drawn[-2:] == [2**62, -(2**63)]
    with pytest.raises(OverflowError, match=r"^a long has 64 bits: all powers of two are drawn$"):
        ids.next_long()


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
def test_signed_and_unsigned_convert_a_long(value):
    assert signed(unsigned(value)) == value


def test_a_clock_rejects_a_negative_step():
    from ackdoctor.acker.rotating_map import VirtualClock

    clock = VirtualClock()
    clock.advance(1.5)
    assert clock.now_ms() == 1500
    with pytest.raises(ValueError, match=r"^a clock cannot go back: -1 s$"):
        clock.advance(-1)
