"""ENTRIES -> VERDICTS: what became of each root, and whose ack left a value in its entry.

The entry that counts is the last one that did not complete: it is left, or a tick dropped it.  The verdict of an
orphan is what its spout heard first.  Without such an entry a root expired if its spout says so, since a spout
says that only of a root that it still has; else a fail outweighs an ack, as in `ackdoctor explain`.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.trace import EventKind, Residue, Verdict
from ackdoctor.spark.frames import Persist, uncached
from ackdoctor.spark.replay.exact import Replay
from ackdoctor.spark.schema import CULPRIT, ESTIMATED, EXACT, ROOT_KEY, VERDICTS

__all__ = ["verdicts"]

_KEY = list(ROOT_KEY)
_MOST_SITES = 16
_NO_CULPRITS = f"cast(array() as {VERDICTS['culprits'].dataType.simpleString()})"
_LEFT = "outcome in ('expired', 'pending')"
_HEARD = "(outcome in ('acked', 'failed') or outcome = 'expired' and n_init > 0)"


def verdicts(replay: Replay, persist: Persist = uncached) -> DataFrame:
    """Return one row for each root, with the culprits that the messages name (law L1)."""
    with_timeout = _timeouts(replay, persist)
    judged = persist(_judged(with_timeout(_lives_of_root(replay.entries))))
    bad = judged.where(f"residue = '{Residue.EVEN.name}'").select(*ROOT_KEY, "value")
    culprits = replay.broadcast(_culprits(replay.broadcast(bad), replay.messages))
    others = [name for name in VERDICTS.names if name not in ("verdict", "culprits")]
    replayed = persist(
        judged.join(culprits, _KEY, "left").selectExpr(
            *others, "verdict", f"coalesce(culprits, {_NO_CULPRITS}) as culprits"
        )
    )
    plain = with_timeout(_plain(replay.entries)).selectExpr(
        *others,
        f"if(timed_ns is null, '{Verdict.COMPLETE.name}', '{Verdict.EXPIRED.name}') as verdict",
        f"{_NO_CULPRITS} as culprits",
    )
    return plain.union(replayed).select(*VERDICTS.names)


def _timeouts(replay: Replay, persist: Persist) -> Callable[[DataFrame], DataFrame]:
    """Return a function that adds `timed_ns`, when the spout first dropped a root; null if it did not."""
    if not replay.timed_out:
        return lambda roots: roots.selectExpr("*", "cast(null as bigint) as timed_ns")
    dropped = replay.messages.where(f"kind = {int(EventKind.TIMED_OUT)}")
    first = replay.broadcast(persist(dropped.groupBy("run", "root").agg(F.expr("min(time_ns) as timed_ns"))))
    return lambda roots: roots.join(first, ["run", "root"], "left")


def _plain(entries: DataFrame) -> DataFrame:
    """Return the roots whose only entry is proved to have completed."""
    return entries.where("sole").selectExpr(
        *ROOT_KEY,
        f"'{Residue.NONE.name}' as residue",
        "cast(null as bigint) as value",
        *("cast(null as boolean) as tracked", "false as kept"),
        "spout_task",
        "1 as lives",
        "0L as surplus",
        *("n", "first_ns", "init_ns", "last_ns", "end_ns", "order"),
    )


def _lives_of_root(entries: DataFrame) -> DataFrame:
    """Return the lives of each other root as one row."""
    last = f"if({_LEFT}, life, null)"

    def of_last(value: str) -> str:
        return f"max_by(if({_LEFT}, {value}, null), {last})"

    figures = {
        "left_life": f"max({last})",
        "value": of_last("value"),
        "tracked": of_last("n_init > 0"),
        "left_failed": of_last("failed"),
        "expired": of_last("outcome = 'expired'"),
        "left_ns": of_last("end_ns"),
        "failed_life": "min(if(outcome = 'failed', life, null))",
        "acked_life": "min(if(outcome = 'acked', life, null))",
        "dropped_life": "min(if(outcome = 'expired' and n_init > 0, life, null))",
        "heard_ns": f"min(if({_HEARD}, end_ns, null))",
        "spout_task": "min_by(if(n_init > 0, spout_task, null), if(n_init > 0, life, null))",
        "lives": "max(life)",
        "stray": "sum(if(n_init > 0, 0L, n_ack))",
        "n": "sum(n)",
        "first_ns": "min(first_ns)",
        "init_ns": "min(init_ns)",
        "last_ns": "max(last_ns)",
        "estimated": f"max(order = '{ESTIMATED}')",
    }
    grouped = entries.where("not sole").groupBy(*ROOT_KEY)
    return grouped.agg(*(F.expr(f"{what} as {name}") for name, what in figures.items()))


def _judged(roots: DataFrame) -> DataFrame:
    heard = "least(acked_life, failed_life, dropped_life)"
    gave_up = "coalesce(left_failed or failed_life < left_life, false)"
    verdict = f"""case
        when left_life is not null and tracked then
            if(expired or timed_ns is not null, '{Verdict.EXPIRED.name}', '{Verdict.OPEN.name}')
        when left_life is not null then case
            when timed_ns is not null and (heard_ns is null or timed_ns < heard_ns) then '{Verdict.EXPIRED.name}'
            when acked_life = {heard} then '{Verdict.COMPLETE.name}'
            when failed_life = {heard} then '{Verdict.FAILED.name}'
            when dropped_life = {heard} then '{Verdict.EXPIRED.name}'
            else '{Verdict.ORPHAN.name}' end
        when timed_ns is not null then '{Verdict.EXPIRED.name}'
        when failed_life is not null then '{Verdict.FAILED.name}'
        else '{Verdict.COMPLETE.name}' end as verdict"""
    residue = f"""case
        when left_life is null or value is null and not left_failed then '{Residue.NONE.name}'
        when {gave_up} then '{Residue.FAILED.name}'
        when value != 0 then '{Residue.EVEN.name}'
        else '{Residue.ODD.name}' end as residue"""
    return roots.selectExpr(
        *ROOT_KEY,
        verdict,
        residue,
        *("value", "tracked"),
        "left_life is not null and not expired as kept",
        *("spout_task", "lives"),
        "if(acked_life is null, 0L, stray) as surplus",
        *("n", "first_ns", "init_ns", "last_ns"),
        "coalesce(least(heard_ns, timed_ns), left_ns) as end_ns",
        f"if(estimated, '{ESTIMATED}', '{EXACT}') as order",
    )


def _culprits(bad: DataFrame, messages: DataFrame) -> DataFrame:
    """Return the tuples whose ack carries the `value` that is left of a bad root."""
    acks = messages.where(f"kind = {int(EventKind.ACK)}")
    matching = acks.join(bad, [*ROOT_KEY, "value"])
    sites = "array_sort(collect_list(if(site = '', null, struct(time_ns, pos, site)))).site"
    tuples = matching.groupBy(*ROOT_KEY, "delivery", "component", "task", "value").agg(
        F.expr("count(1) as acks"), F.expr(f"slice({sites}, 1, {_MOST_SITES}) as sites")
    )
    culprits = f"array_sort(collect_list(struct({', '.join(CULPRIT.names)}))) as culprits"
    return tuples.groupBy(*ROOT_KEY).agg(F.expr(culprits))
