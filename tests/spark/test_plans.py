"""Plans stay lean: how often messages are shuffled, and that Python is nowhere on the path."""

import json
import re

import pytest

from ackdoctor.acker.versions import profile
from tests.spark.configured import COMPILED, configured
from tests.spark.lives import rows, stream

pytest.importorskip("pyspark")

from ackdoctor.spark.replay import plain
from ackdoctor.spark.replay.rotations import rotations
from ackdoctor.spark.replay.trees import Plan, entries, replayed
from ackdoctor.spark.replay.verdicts import verdicts
from ackdoctor.spark.replay.versions import version
from ackdoctor.spark.schema import MESSAGES

ROOT = "run, acker, incarnation, root, 1"
HUGE = 8000  # bytes of a method that the JVM never compiles


def plan_of(frame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def shuffles(plan: str) -> list[str]:
    """The keys of each shuffle, however many read what it wrote."""
    found = re.finditer(r"\bExchange hashpartitioning\((.*)\), .*\[plan_id=(\d+)\]", plan)
    keys = {match[2]: re.sub(r"#\d+L?", "", match[1]) for match in found}
    return list(keys.values())


@pytest.fixture
def messages(spark, tmp_path):
    """A table on disk, of which nobody knows how it is partitioned."""
    sent = [
        json.dumps(dict(zip(MESSAGES.names, row, strict=True)))
        for row in rows("run", stream(2, profile("2.8"), bits=64))
    ]
    (tmp_path / "messages.json").write_text("\n".join(sent) + "\n")
    return spark.read.schema(MESSAGES).json(str(tmp_path / "messages.json"))


@pytest.mark.parametrize(
    ("plan", "count"),
    [
        (Plan.REPLAY, 1),
        (Plan.WINDOWS, 1),
        (Plan.PROVE_FIRST, 2),  # the sums of all, and the few messages that are not plain
    ],
)
def test_messages_are_shuffled_once_by_root(messages, plan, count, keep):
    def with_plan(frame, /, *, few=False):
        return keep(frame)

    told = plan_of(entries(messages, version("2.8"), plan=plan, keep=with_plan))
    assert [keys for keys in shuffles(told) if keys == ROOT] == [ROOT] * count
    assert "Python" not in told


@pytest.mark.minutes
def test_what_is_the_same_in_every_row_is_in_no_key_of_the_sums(messages):
    same = messages.selectExpr(*(f"'r' as {name}" if name == "run" else name for name in MESSAGES.names))
    found = entries(same, version("2.8"), plan=Plan.PROVE_FIRST)
    assert shuffles(plan_of(found))[0] == "acker, incarnation, root, 1"
    assert {row.run for row in found.select("run").collect()} == {"r"}


def test_of_one_partition_nothing_is_shuffled(messages):
    frame = messages.coalesce(1)
    told = plan_of(verdicts(replayed(frame, version("2.8"), plan=Plan.REPLAY)))
    assert shuffles(told) == []
    assert "Python" not in told


@pytest.fixture
def compiled(spark):
    """As for a large input: Spark compiles what it runs."""
    with configured(spark, COMPILED):
        yield


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", ["2.8", "heron"])
def test_nothing_that_the_proof_does_with_a_row_is_too_long_for_the_jvm_to_compile(
    name, messages, keep, capsys
):
    known = plain.proved(plain.sums(messages), version(name))
    known.explain("codegen")
    plain.late(keep(known), rotations(messages, version(name), None)).explain("codegen")
    sizes = [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", capsys.readouterr().out)]
    assert len(sizes) > 2
    assert max(sizes) < HUGE
