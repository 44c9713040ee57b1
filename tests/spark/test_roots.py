"""Windows of the growth curve, and timeouts in bursts."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row

from ackdoctor.spark.roots import combs, window
from ackdoctor.spark.tables import Comb

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("span_ms", "asked_ms", "wide_ms"),
    [(0, 0, 1000), (HOUR, 0, 30_000), (HOUR, 500, 500), (HOUR, 360, 360), (HOUR, 359, 30_000), (22 * HOUR, 1, 600_000)],
)  # fmt: skip
def test_a_window_is_widened_if_there_would_be_too_many(span_ms, asked_ms, wide_ms):
    assert window(span_ms, asked_ms) == wide_ms


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ([30, 60, 90], (Comb(period_s=30, bursts=3, roots=6),)),
        ([30, 60, 151], (Comb(period_s=30, bursts=3, roots=6),)),
        ([30, 60], ()),
        ([30, 47, 90], ()),
        ([30, 31, 32], ()),
    ],
)
def test_timeouts_in_bursts(seconds, found):
    assert combs([Row(second=second, roots=2) for second in seconds]) == found
