"""Small decisions about what comes back to the driver."""

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.judge.collecting import window

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("span_ms", "asked_ms", "wide_ms"),
    [(0, 0, 1000), (HOUR, 0, 30_000), (HOUR, 500, 500), (HOUR, 360, 360), (HOUR, 359, 30_000), (22 * HOUR, 1, 600_000)],
)  # fmt: skip
def test_windows_are_as_wide_as_was_asked_unless_they_would_be_too_many(span_ms, asked_ms, wide_ms):
    assert window(span_ms, asked_ms) == wide_ms
