"""The failures of `analyze --fail-on` besides findings."""

import pytest

pytest.importorskip("pyspark")

from ackdoctor.cli import analyze
from ackdoctor.model.trace import RunTally
from ackdoctor.spark.tables import Analysis, RowCounts


@pytest.mark.parametrize(
    ("found", "codes"),
    [
        (Analysis(acker="storm-2.8", row_counts=RowCounts(files=1, rows=9, used=8, quarantined=1), tally=RunTally()), (0, 1)),
        (Analysis(acker="storm-2.8", row_counts=RowCounts(files=1, rows=9, used=9), tally=RunTally(), left_out=1), (0, 1)),
        (Analysis(acker="storm-2.8", row_counts=RowCounts(files=1, rows=9, used=9), tally=RunTally()), (0, 0)),
    ],
    ids=["quarantine", "left out", "all used"],
)  # fmt: skip
def test_an_unjudged_trace_fails_if_an_option_asks_for_it(shell, monkeypatch, found, codes):
    monkeypatch.setattr(analyze, "_analysis", lambda *_: found)
    outcomes = [shell("analyze", "trace", "--fail-on", what) for what in ("error", "error,incomplete")]
    assert tuple(outcome.code for outcome in outcomes) == codes
    assert outcomes[1].out.startswith(
        "INCOMPLETE: nothing is wrong in what could be used" if codes[1] else "OK"
    )
