"""The causes of ACK504: bursts, holds and queues, and the causes that other rules report."""

import pytest

from ackdoctor.model.finding import Confidence
from ackdoctor.tracer.timeouts import Cause, Pace, burst_period, cause_of, slow_findings
from tests.acker_cases import timed_out


@pytest.mark.parametrize(
    ("seconds", "period"),
    [
        ([(0, 9), (25, 9), (26, 3), (50, 9), (75, 9)], 25),
        ([(0, 9), (24, 9), (50, 9)], 25),
        ([(second, 2) for second in range(60)], 0),  # one after the other
        ([(0, 1), (25, 1), (50, 1)], 0),  # few tuples come
        ([(0, 9), (10, 9), (50, 9)], 0),  # no rhythm
        ([(0, 9), (25, 9)], 0),
        ([], 0),
    ],
)
def test_bursts_have_a_period(seconds, period):
    assert burst_period(seconds) == period


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("1 timed out after 19, complete after 25: batch held 25", Cause.LATE),
        ("1 timed out after 19, complete after 18: batch held 18", Cause.LATE),
        ("1 timed out after 19, complete after 9: batch held 9", Cause.LATE_ACKS),
        ("1 timed out after 19, complete after 25, a tuple is missing: batch held 25", Cause.MISSING),
        ("1 timed out after 19, complete after 25: a held 25, b held to the end", Cause.NEVER),
        ("1 timed out after 19, complete after 25, a tuple is acked twice: batch held 25", Cause.TWICE),
    ],
)
def test_each_root_has_one_cause(line, cause):
    assert cause_of(timed_out(line), 10) is cause


def test_the_message_names_the_delay_and_its_period():
    trees = [timed_out("46 timed out after 19.9, complete after 24.9: parse held 0, batch held 24.9")]
    paces = {"batch": Pace(median_ms=10_000, longest_ms=24_900, burst_s=25)}
    (found,) = slow_findings(trees, timeout_s=10, total=107, paces=paces)
    assert found.message == (
        "it holds tuples for up to 24.9 s (10.0 s in the median, in bursts 25 s apart), longer than the message timeout of 10 s: "
        "46 of 107 roots timed out, and their tuples were completed too late"
    )
    assert (found.component, found.confidence) == ("batch", Confidence.MUST)


def test_a_spout_that_drops_roots_too_early_is_not_blamed_on_a_bolt():
    trees = [timed_out("8 timed out after 5, complete after 8: store held 8")]
    (found,) = slow_findings(trees, timeout_s=10, total=9, paces={})
    assert found.message.startswith(
        "the spout drops roots 5.0 s after their emit, before the message timeout of 10 s: "
    )
    assert (found.component, found.confidence) == ("", Confidence.MAY)
    assert "STORM-3693" in found.help
