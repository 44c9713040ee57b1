"""Roots that are lost with a worker, by the begin of the root and the end of its entry."""

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.verdicts import Outages

S = 1_000_000_000
OUTAGES = Outages.of(
    {("a", "6700", 0): 100 * S, ("a", "6700", -1): 900 * S, ("a", "6701", 0): 900 * S + 5},
    {("a", "6700", 0): 200 * S},
    [("a", 200 * S)],
    30,
)
COLUMNS = "run: string, verdict: string, residue: string, tracked: boolean, first_ns: bigint, end_ns: bigint, acks: int"


def test_logs_that_end_at_once_are_one_span():
    assert OUTAGES.workers == {"a": [(70 * S, 100 * S, 230 * S), (870 * S, 900 * S, 900 * S + 5)]}


def test_a_root_is_lost_if_it_was_young_when_a_worker_ended(spark):
    rows = {
        ("a", "OPEN", "EVEN", True, 80, None, 0): True,
        ("a", "EXPIRED", "EVEN", True, 80, 150, 0): True,
        ("a", "EXPIRED", "EVEN", True, 71, 99, 0): False,  # gone before
        (
            "a",
            "EXPIRED",
            "EVEN",
            True,
            72,
            99,
            0,
        ): True,  # its spout has dropped it, and the acker still has it
        ("a", "EXPIRED", "EVEN", True, 150, 250, 0): True,  # the worker was down
        ("a", "EXPIRED", "EVEN", True, 60, 150, 0): False,  # old
        ("a", "EXPIRED", "FAILED", True, 80, 150, 0): False,
        ("a", "EXPIRED", "EVEN", True, 80, 150, 2): False,  # acked twice
        ("a", "COMPLETE", "EVEN", True, 80, 90, 0): False,
        ("b", "OPEN", "EVEN", True, 80, None, 0): False,
        ("a", "ORPHAN", "EVEN", False, 205, None, 0): True,  # its acker had restarted
        ("a", "ORPHAN", "EVEN", False, 300, None, 0): False,
        ("a", "OPEN", "EVEN", True, 880, None, 0): True,
        ("a", "OPEN", "EVEN", True, 905, None, 0): False,
    }
    seconds = [(*row[:4], row[4] * S, row[5] and row[5] * S, row[6]) for row in rows]
    table = spark.createDataFrame(seconds, COLUMNS).selectExpr(
        "*", "array(struct(acks)) as culprits", "first_ns = 72 * 1000000000L as kept"
    )
    found = table.selectExpr(f"coalesce({OUTAGES.sql()}, false) as lost").collect()
    assert [row["lost"] for row in found] == list(rows.values())
