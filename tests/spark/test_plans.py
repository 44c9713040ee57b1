"""Plans: how often messages are shuffled, no Python worker, and no method too long for the JVM to compile."""

import json
import re

import pytest

from ackdoctor.acker.versions import profile
from tests.spark.configured import COMPILED, configured
from tests.spark.model_entries import rows, stream

pytest.importorskip("pyspark")


from ackdoctor.spark.replay import acker_version, proved, replay, replay_all, sums
from ackdoctor.spark.schema import MESSAGES

ROOT = "run, acker, incarnation, root, 1"
HUGE = 8000  # bytes of a method that the JVM never compiles


def plan_of(frame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def shuffles(plan: str) -> list[str]:
    """Return the keys of each shuffle; a shuffle with several readers counts once."""
    found = re.finditer(r"\bExchange hashpartitioning\((.*)\), .*\[plan_id=(\d+)\]", plan)
    keys = {match[2]: re.sub(r"#\d+L?", "", match[1]) for match in found}
    return list(keys.values())


@pytest.fixture
def messages(spark, tmp_path):
    """Return a table on disk, with an unknown partitioning."""
    sent = [
        json.dumps(dict(zip(MESSAGES.names, row, strict=True)))
        for row in rows("run", stream(2, profile("2.8"), bits=64))
    ]
    (tmp_path / "messages.json").write_text("\n".join(sent) + "\n")
    return spark.read.schema(MESSAGES).json(str(tmp_path / "messages.json"))


def test_the_proof_and_the_replay_shuffle_messages_once_each(messages, keep):
    plan = plan_of(replay(messages, acker_version("2.8"), persist=keep).entries)
    assert [keys for keys in shuffles(plan) if keys == ROOT] == [ROOT] * 2
    assert "Python" not in plan


@pytest.mark.minutes
def test_constant_columns_are_in_no_key_of_the_proof(messages):
    same = messages.selectExpr(*(f"'r' as {name}" if name == "run" else name for name in MESSAGES.names))
    found = replay(same, acker_version("2.8"), constants={"run": "'r'"}).entries
    assert shuffles(plan_of(found))[0] == "acker, incarnation, root, 1"
    assert {row.run for row in found.select("run").collect()} == {"r"}


def test_one_partition_is_not_shuffled(messages):
    plan = plan_of(replay_all(messages.coalesce(1), acker_version("2.8")))
    assert shuffles(plan) == []
    assert "Python" not in plan


@pytest.fixture
def compiled(spark):
    """Compile plans, as for a large input."""
    with configured(spark, COMPILED):
        yield


@pytest.mark.usefixtures("compiled")
@pytest.mark.minutes
@pytest.mark.parametrize("name", ["2.8", "heron"])
def test_the_jvm_compiles_every_method_of_the_proof(name, messages, keep, capsys):
    of = acker_version(name)
    proved(sums(messages), of).explain("codegen")
    replay(messages, of, persist=keep).entries.explain("codegen")
    sizes = [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", capsys.readouterr().out)]
    assert len(sizes) > 2
    assert max(sizes) < HUGE
