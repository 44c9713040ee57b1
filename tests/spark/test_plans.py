"""Plans stay lean: how often messages are shuffled, and that Python is nowhere on the path."""

import re
from typing import Any

import pytest

from ackdoctor.acker.versions import profile
from tests.spark.lives import rows, stream

pytest.importorskip("pyspark")

from ackdoctor.spark.schema import MESSAGES
from ackdoctor.spark.trees import Plan, entries
from ackdoctor.spark.verdicts import verdicts
from ackdoctor.spark.versions import version

pytestmark = pytest.mark.minutes


def final(frame) -> str:
    """The plan that was run, adaptive changes included."""
    frame.collect()
    return str(frame._jdf.queryExecution().executedPlan().toString()).partition("== Initial Plan ==")[0]


def shuffles(plan: str) -> list[str]:
    """The keys of each shuffle that was not the second use of another."""
    lines = [line for line in plan.splitlines() if re.search(r"\bExchange hashpartitioning", line)]
    lines = [line for line in lines if "Reused" not in line]
    return [
        re.sub(r"#\d+L?", "", line.partition("hashpartitioning(")[2].partition("),")[0]) for line in lines
    ]


@pytest.fixture
def messages(spark, tmp_path):
    sent: list[tuple[Any, ...]] = list(rows("run", stream(2, profile("2.8"), bits=64)))
    spark.createDataFrame(sent, MESSAGES).coalesce(1).write.parquet(str(tmp_path / "messages"))
    return spark.read.schema(MESSAGES).parquet(str(tmp_path / "messages"))


ROOT = "run, acker, incarnation, root, 1"


def test_windows_shuffle_the_messages_once(messages):
    plan = final(entries(messages, version("2.8"), plan=Plan.WINDOWS))
    assert [keys for keys in shuffles(plan) if keys == ROOT] == [ROOT]
    assert "Python" not in plan


def test_the_verdicts_run_no_python(messages):
    plan = final(verdicts(entries(messages, version("2.8")), messages))
    assert "Python" not in plan
