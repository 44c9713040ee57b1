"""ENTRIES -> VERDICTS: what became of each root, and whose ack left a value in its entry; and samples of those that went wrong.

The entry that counts is the last one that did not complete: it is left, or a tick dropped it.  The verdict of an
orphan is the first answer to its spout.  Without such an entry a root expired if its spout says so, since a spout
says that only of a root that it still has; else a fail outweighs an ack, as in `ackdoctor explain`.

Roots go the same way if the same components acked as often, at the same lines, with the same end.

When a worker ends, the tuples that it had in hand are lost, and those that are sent to it until it runs again; the spout times
their roots out.  When only its log ends, the messages that the acker received later are unknown.  This excuses a root that was
young then: an older one had been dropped before.  A restarted acker knows none of the roots that others still ack: they
become orphans.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.trace import Culprit, EventKind, PendingEntry, Residue, TupleTree, Verdict
from ackdoctor.spark.deliveries import Ends
from ackdoctor.spark.replay import Replay
from ackdoctor.spark.schema import CULPRIT, ESTIMATED, EXACT, ROOT_KEY, VERDICTS
from ackdoctor.spark.session import Persist, expressions, quoted, uncached

_KEY = list(ROOT_KEY)
_MOST_SITES = 16
_NO_CULPRITS = f"cast(array() as {VERDICTS['culprits'].dataType.simpleString()})"
_LEFT = "outcome in ('expired', 'pending')"
_LEFT_NTH = f"if({_LEFT}, nth, null)"
_ENTRIES = {  # of a root that is not plain
    "left_nth": f"max({_LEFT_NTH})",
    **{
        name: f"max_by(if({_LEFT}, {value}, null), {_LEFT_NTH})"
        for name, value in {
            "value": "value",
            "tracked": "n_init > 0",
            "left_failed": "failed",
            "expired": "outcome = 'expired'",
            "left_ns": "end_ns",
        }.items()
    },
    "failed_nth": "min(if(outcome = 'failed', nth, null))",
    "acked_nth": "min(if(outcome = 'acked', nth, null))",
    "dropped_nth": "min(if(outcome = 'expired' and n_init > 0, nth, null))",
    "answer_ns": "min(if(outcome in ('acked', 'failed') or outcome = 'expired' and n_init > 0, end_ns, null))",
    "spout_task": "min_by(if(n_init > 0, spout_task, null), if(n_init > 0, nth, null))",
    "n_entries": "max(nth)",
    "stray": "sum(if(n_init > 0, 0L, n_ack))",
    "n": "sum(n)",
    "first_ns": "min(first_ns)",
    "init_ns": "min(init_ns)",
    "last_ns": "max(last_ns)",
    "estimated": f"max(order = '{ESTIMATED}')",
}
_ANSWER_NTH = "least(acked_nth, failed_nth, dropped_nth)"
_VERDICT = f"""case
    when left_nth is not null and tracked then if(expired or timed_ns is not null, 'EXPIRED', 'OPEN')
    when left_nth is not null then case
        when timed_ns is not null and (answer_ns is null or timed_ns < answer_ns) then 'EXPIRED'
        when acked_nth = {_ANSWER_NTH} then 'COMPLETE'
        when failed_nth = {_ANSWER_NTH} then 'FAILED'
        when dropped_nth = {_ANSWER_NTH} then 'EXPIRED'
        else 'ORPHAN' end
    when timed_ns is not null then 'EXPIRED'
    when failed_nth is not null then 'FAILED'
    else 'COMPLETE' end as verdict"""
_RESIDUE = """case
    when left_nth is null or value is null and not left_failed then 'NONE'
    when coalesce(left_failed or failed_nth < left_nth, false) then 'FAILED'
    when value != 0 then 'EVEN'
    else 'ODD' end as residue"""


def verdicts(replay: Replay, persist: Persist = uncached) -> DataFrame:
    """Return one row for each root, with the culprits that the messages name (law L1)."""
    with_timeout = _timeouts(replay, persist)
    others = [name for name in VERDICTS.names if name not in ("verdict", "culprits")]
    grouped = replay.entries.where("not sole").groupBy(*ROOT_KEY)
    roots = with_timeout(grouped.agg(*expressions(_ENTRIES)))
    judged = persist(_judged(roots))
    bad = judged.where("residue = 'EVEN'").select(*ROOT_KEY, "value")
    culprits = replay.broadcast(_culprits(replay.broadcast(bad), replay.messages))
    replayed = judged.join(culprits, _KEY, "left").selectExpr(
        *others, "verdict", f"coalesce(culprits, {_NO_CULPRITS}) as culprits"
    )
    plain = with_timeout(_plain(replay.entries)).selectExpr(
        *others, "if(timed_ns is null, 'COMPLETE', 'EXPIRED') as verdict", f"{_NO_CULPRITS} as culprits"
    )
    return plain.union(persist(replayed)).select(*VERDICTS.names)


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
        "'NONE' as residue",
        "cast(null as bigint) as value",
        *("cast(null as boolean) as tracked", "false as kept"),
        "spout_task",
        *("1 as n_entries", "0L as surplus"),
        *("n", "first_ns", "init_ns", "last_ns", "end_ns", "order"),
    )


def _judged(roots: DataFrame) -> DataFrame:
    return roots.selectExpr(
        *ROOT_KEY,
        *(_VERDICT, _RESIDUE),
        *("value", "tracked"),
        "left_nth is not null and not expired as kept",
        *("spout_task", "n_entries"),
        "if(acked_nth is null, 0L, stray) as surplus",
        *("n", "first_ns", "init_ns", "last_ns"),
        "coalesce(least(answer_ns, timed_ns), left_ns) as end_ns",
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


# ---- samples ----

_MOST_TREES = 2_000  # of one verdict and residue, brought to the driver
_MOST_WAYS = 10_000  # that are counted
_BAD = "(verdict != 'COMPLETE' or tracked is not null)"


def kinds(verdicts: DataFrame) -> DataFrame:
    """Return how many roots ended how; `left` of them are in the map to the end."""
    return verdicts.groupBy("verdict", "residue").agg(
        F.count("*").alias("roots"),
        F.count_if("kept").alias("left"),
        F.count_if(F.expr(_BAD)).alias("bad"),
    )


def bad(verdicts: DataFrame, end_ns: int, patience_s: int, lost: str) -> DataFrame:
    """Return the VERDICTS that did not end well, each with its `way` and whether it was `lost`.

    `end_ns` is the end of the input, `patience_s` the age to which an open root is young; `lost` is SQL (`Outages.sql`).
    """
    culprits = (
        "array_sort(array_distinct(transform(culprits, one -> struct(one.component, one.acks, one.sites))))"
    )
    young = _young(end_ns, patience_s, lost)
    return verdicts.where(_BAD).selectExpr(
        "*",
        f"xxhash64(verdict, residue, tracked, {young}, {culprits}) as way",
        f"coalesce({lost}, false) as lost",
    )


def late(verdicts: DataFrame, end_ns: int, patience_s: int, lost: str) -> DataFrame:
    """Return the VERDICTS that expired, or are open and not young."""
    young = _young(end_ns, patience_s, lost)
    return verdicts.where(f"verdict in ('EXPIRED', 'OPEN') and not coalesce({young}, false)")


def _young(end_ns: int, patience_s: int, lost: str) -> str:
    at_end = f"verdict = 'OPEN' and ({end_ns}L - first_ns) div 1000000 < {patience_s * 1000}"
    return f"({at_end} or {lost})"


def sampled(bad: DataFrame) -> DataFrame:
    """Return a number of each verdict and residue: the first that went each way, then the second, and so on."""
    kind = Window.partitionBy("verdict", "residue")
    way = Window.partitionBy("verdict", "residue", "way")
    turn = F.row_number().over(way.orderBy("first_ns", *ROOT_KEY))
    place = F.row_number().over(kind.orderBy("turn", "first_ns", *ROOT_KEY))
    return (
        bad.select("*", turn.alias("turn"))
        .where(F.col("turn") <= _MOST_TREES)
        .select("*", place.alias("place"))
        .where(F.col("place") <= _MOST_TREES)
        .orderBy("first_ns", *ROOT_KEY)
    )


def ways(bad: DataFrame) -> DataFrame:
    """Return how many roots went which way; of very many ways the most frequent."""
    counted = bad.groupBy("way").agg(F.count("*").alias("roots"))
    return counted.orderBy(F.desc("roots"), "way").limit(_MOST_WAYS)


def tree(row: Row, end_ns: int) -> TupleTree:
    """Return a row of VERDICTS as the model's tree; `end_ns` is the end of the input."""
    residue = Residue[row["residue"]]
    entry = None
    if row["tracked"] is not None:
        entry = PendingEntry(
            root=row["root"],
            value=row["value"],
            task=row["spout_task"] if row["tracked"] else None,
            failed=residue is Residue.FAILED,
            age_ms=max(0, end_ns - row["first_ns"]) // 1_000_000,
        )
    culprits = (each.asDict() for each in row["culprits"] or ())
    return TupleTree(
        root=row["root"],
        verdict=Verdict[row["verdict"]],
        entry=entry,
        residue=residue,
        culprits=tuple(Culprit(**{**each, "sites": tuple(each["sites"])}) for each in culprits),
        run=row["run"],
    )


# ---- roots that a worker took down ----

_SECOND = 1_000_000_000
_Span: TypeAlias = tuple[int, int, int]  # begun from, the end, begun until


@dataclass(slots=True, kw_only=True)
class Outages:
    """By run, when roots began that were lost with a worker, and when those that a restarted acker does not know, in ns.

    `slow` if a bolt may hold a tuple for longer than the acker keeps its root.
    """

    workers: Mapping[str, Sequence[_Span]] = field(default_factory=dict)
    ackers: Mapping[str, Sequence[_Span]] = field(default_factory=dict)
    slow: bool = False

    @classmethod
    def of(
        cls,
        ends: Ends,
        next_starts: Ends,
        acker_restarts: Iterable[tuple[str, int]],
        patience_s: int,
        *,
        slow: bool = False,
    ) -> "Outages":
        """Return the outages of workers, from the ends of their processes and the starts of the next, and of ackers by run."""
        patience_ns = patience_s * _SECOND
        until = {process: start + patience_ns for process, start in next_starts.items()}
        workers = (
            (process[0], (end - patience_ns, end, max(end, until.get(process, end))))
            for process, end in ends.items()
        )
        ackers = ((run, (start, start, start + patience_ns)) for run, start in acker_restarts)
        return cls(workers=_by_run(workers), ackers=_by_run(ackers), slow=slow)

    def sql(self) -> str:
        """SQL: whether a row of VERDICTS was lost.

        An entry that was gone before the end was not, unless a bolt is `slow`.  One that is still kept may be acked yet,
        though its spout has timed it out.
        """
        begun = "first_ns between span.low and span.high"
        gone = begun if self.slow else f"{begun} and (kept or coalesce(end_ns >= span.end, true))"
        lost = f"tracked and verdict in ('OPEN', 'EXPIRED') and residue != 'FAILED' and {_in_spans(self.workers, gone)}"
        stray = f"not tracked and verdict in ('ORPHAN', 'EXPIRED') and {_in_spans(self.ackers, begun)}"
        return f"(({lost} or {stray}) and not exists(culprits, one -> one.acks > 1))"

    def contains(self, run: str, first_ns: int) -> bool:
        """Whether a root that began then, in ns, was young when a worker ended."""
        return any(low <= first_ns <= high for low, _, high in self.workers.get(run, ()))


def _by_run(spans: Iterable[tuple[str, _Span]]) -> dict[str, list[_Span]]:
    """Merge the spans that end within a second: each row is compared with all, and most logs of a topology end at once."""
    found: defaultdict[str, dict[int, _Span]] = defaultdict(dict)
    for run, span in spans:
        low, end, high = span
        a_low, an_end, a_high = found[run].get(end // _SECOND, span)
        found[run][end // _SECOND] = (min(low, a_low), min(end, an_end), max(high, a_high))
    return {run: list(its.values()) for run, its in found.items()}


def _in_spans(spans: Mapping[str, Sequence[_Span]], condition: str) -> str:
    cases = []
    for run, its in spans.items():
        structs = ", ".join(
            f"struct({low}L as low, {end}L as end, {high}L as high)" for low, end, high in its
        )
        cases.append(f"when {quoted(run)} then exists(array({structs}), span -> {condition})")
    return f"case run {' '.join(cases)} else false end" if cases else "false"
