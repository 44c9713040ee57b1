"""Roots: how the pending map grew, what each acker did, who left roots uncompleted, timeouts, replays, timelines.

A function that returns a DataFrame queries Spark; one that takes rows makes small tables of a query's result.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.trace import RELIABLE, EventKind, GrowthPoint, Residue, TupleTree, Verdict
from ackdoctor.spark.deliveries import DELIVERY_KEY, QUANTILE_COLUMNS, quantiles
from ackdoctor.spark.session import expressions
from ackdoctor.spark.tables import AckerLoad, Comb, Timeline, TimelineRow, TreeCount

_MOST_ROWS = 200  # of one root
_EMITTED, _LINKED, _TIMED_OUT = int(EventKind.EMITTED), int(EventKind.LINKED), int(EventKind.TIMED_OUT)
_ANSWERS = (int(EventKind.COMPLETED), int(EventKind.GAVE_UP), _TIMED_OUT)
_SECOND = 1_000_000_000
_FINE = 1000  # fine windows in a window
_WINDOWS = 200  # of a curve
_MOST_WINDOWS = 10_000  # a page of a few megabytes
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_FEWEST_BURSTS = 3
_FEWEST_SECONDS = 2  # a burst every second is none
_BY_INTEREST = (Verdict.EXPIRED, Verdict.OPEN, Verdict.ORPHAN, Verdict.FAILED, Verdict.COMPLETE)
_WORDS: Mapping[int, str] = {
    EventKind.EMITTED: "emitted",
    EventKind.LINKED: "received",
    EventKind.SENT: "sent to the acker",
    EventKind.INIT: "init",
    EventKind.ACK: "ack",
    EventKind.FAIL: "fail",
    EventKind.RESET: "reset",
    EventKind.COMPLETED: "spout gets ack",
    EventKind.GAVE_UP: "spout gets fail",
    EventKind.EXTENDED: "spout gets reset",
    EventKind.TIMED_OUT: "spout times out",
}

_Peaks: TypeAlias = dict[tuple[str, Any], int]  # the largest map by run and acker


# ---- ackers ----


def growth(entries: DataFrame, window_ms: int) -> DataFrame:
    """Return GROWTH by acker and window: pending and orphans at its end, the high-water mark, and roots begun in it.

    An entry is one more at its begin and one less at its end.  Entries are first counted by fine windows, a
    thousandth of a window and at least a millisecond, so that the running sum covers few rows; the high-water mark misses
    what came and went within one.  Windows in which nothing changed have no row.
    """
    step = max(1_000_000, window_ms * 1_000_000 // _FINE)
    orphan = "cast(spout_task is null as int)"
    names = ("at_ns", "pending", "orphans", "started")
    changes = (
        ("first_ns", "1", orphan, "0"),
        ("if(end_ns < first_ns, first_ns, end_ns)", "-1", f"-{orphan}", "0"),  # the clock may go back
        ("init_ns", "0", "0", "1"),
    )
    structs = (
        ", ".join(f"{what} as {name}" for name, what in zip(names, change, strict=True)) for change in changes
    )
    changed = ", ".join(f"struct({struct})" for struct in structs)
    fine = (
        entries.selectExpr("run", "acker", f"inline(array({changed}))")
        .where("at_ns is not null")
        .groupBy("run", "acker", F.floor(F.col("at_ns") / step).alias("place"))
        .agg(*(F.sum(name).alias(name) for name in names[1:]))
    )
    so_far = Window.partitionBy("run", "acker").orderBy("place").rowsBetween(Window.unboundedPreceding, 0)
    running = fine.select(
        *("run", "acker", "place", "started"),
        *(F.sum(name).over(so_far).alias(name) for name in ("pending", "orphans")),
    )
    end_ms = (F.floor(F.col("place") * step / (window_ms * 1_000_000)) + 1) * window_ms
    figures = {
        "pending": "max_by(pending, place)",
        "orphans": "max_by(orphans, place)",
        "high_water": "max(pending)",
        "started": "sum(started)",
    }
    grouped = running.groupBy("run", "acker", end_ms.alias("time_ms")).agg(*expressions(figures))
    return grouped.orderBy("time_ms", "run", "acker")


def window(span_ms: int, asked_ms: int = 0) -> int:
    """Return the window that the user asked for, in milliseconds, or a round one that divides the span into about 200."""
    if asked_ms and span_ms <= asked_ms * _MOST_WINDOWS:
        return asked_ms
    wanted = span_ms / 1000 / _WINDOWS
    return 1000 * next((seconds for seconds in _SECONDS if seconds >= wanted), _SECONDS[-1])


def points(rows: Iterable[Row]) -> tuple[tuple[GrowthPoint, ...], _Peaks]:
    """Return GROWTH of all ackers together, and the largest map of each; without a row an acker keeps its size."""
    now: dict[tuple[str, Any], tuple[int, int]] = {}
    peaks: _Peaks = {}
    found: dict[int, GrowthPoint] = {}
    for row in rows:  # in the order of time
        key, time_ms = (row["run"], row["acker"]), row["time_ms"]
        now[key] = (row["pending"], row["orphans"])
        peaks[key] = max(peaks.get(key, 0), row["high_water"])
        begun = row["started"] + (found[time_ms].started if time_ms in found else 0)
        pending, orphans = (sum(figures) for figures in zip(*now.values(), strict=True))
        found[time_ms] = GrowthPoint(time_ms=time_ms, pending=pending, orphans=orphans, started=begun)
    return tuple(found.values()), peaks


def ackers(entries: DataFrame) -> DataFrame:
    """Return ACKERS: what each acker task received, and what is left in it."""
    figures = {
        "roots": "count_if(n_init > 0)",
        "messages": "sum(n)",
        "acked": "count_if(outcome = 'acked')",
        "pending": "count_if(outcome = 'pending')",
        "begin_ns": "min(first_ns)",
        "end_ns": "max(last_ns)",
    }
    return entries.groupBy("run", "acker").agg(*expressions(figures)).orderBy("run", "acker")


def load_tables(rows: Iterable[Row], peaks: _Peaks) -> tuple[AckerLoad, ...]:
    """Return ACKERS, the busiest first."""
    names = ("run", "acker", "roots", "messages", "pending")
    loads = [
        AckerLoad(high_water=peaks.get((row["run"], row["acker"]), 0), **{name: row[name] for name in names})
        for row in rows
    ]
    return tuple(sorted(loads, key=lambda one: (-one.messages, one.run, one.acker)))


def latencies(entries: DataFrame, messages: DataFrame) -> DataFrame:
    """Return LATENCIES: from a spout's init to the ack of its root, by the spout task that sent the INIT."""
    task = F.col("spout_task").alias("task")
    took = F.greatest(F.col("end_ns") - F.col("init_ns"), F.lit(0)) / 1e6
    acked = entries.where("outcome = 'acked' and spout_task is not null and init_ns is not null")
    inits = messages.where(F.col("kind") == int(EventKind.INIT))
    spouts = inits.groupBy(task).agg(F.any_value("component").alias("component"))
    return (
        acked.groupBy(task)
        .agg(F.count("*").alias("roots"), quantiles(took))
        .join(F.broadcast(spouts), "task", "left")
        .orderBy("task")
        .selectExpr("concat(coalesce(component, ''), '[', task, ']') as spout", "roots", *QUANTILE_COLUMNS)
    )


# ---- roots ----


def tree_counts(rows: Iterable[Row]) -> tuple[TreeCount, ...]:
    """Return how many roots ended how, the most frequent first."""
    counts = [
        TreeCount(
            verdict=Verdict[row["verdict"]].value,
            residue=Residue[row["residue"]].value,
            roots=row["roots"],
            left=row["left"],
        )
        for row in rows
    ]
    return tuple(sorted(counts, key=lambda one: (-one.roots, one.verdict, one.residue)))


def uncompleted(events: DataFrame, roots: DataFrame, never: DataFrame) -> DataFrame:
    """Return UNCOMPLETED: who received a tuple of those roots and never completed it; `never` are DELIVERIES."""
    linked = events.where(F.col("kind") == _LINKED).join(roots, ["run", "root"], "left_semi")
    return (
        linked.select(*DELIVERY_KEY, "root")
        .join(never.select(*DELIVERY_KEY, "stream"), [*DELIVERY_KEY])
        .groupBy("component", "stream")
        .agg(F.countDistinct("run", "root").alias("roots"))
        .orderBy(F.col("roots").desc(), "component", "stream")
    )


def timeouts(events: DataFrame) -> DataFrame:
    """Return TIMEOUTS: how many roots the spouts gave up in each second."""
    return (
        events.where(F.col("kind") == _TIMED_OUT)
        .groupBy(F.floor(F.col("time_ns") / _SECOND).alias("second"))
        .agg(F.count("*").alias("roots"))
        .orderBy("second")
    )


def combs(rows: Sequence[Row]) -> tuple[Comb, ...]:
    """Return timeouts in bursts: always the same distance, or a multiple of it, to the next."""
    gaps = [after["second"] - before["second"] for before, after in pairwise(rows)]
    if len(rows) < _FEWEST_BURSTS or min(gaps) < _FEWEST_SECONDS:
        return ()
    period = min(gaps)
    if any(min(gap % period, -gap % period) > 1 for gap in gaps):
        return ()
    return (Comb(period_s=period, bursts=len(rows), roots=sum(row["roots"] for row in rows)),)


def slowest_s(verdicts: DataFrame) -> int:
    """Return how long the slowest completed root took, in whole seconds; 0 if none completed."""
    took = F.max(F.col("end_ns") - F.col("init_ns")) / _SECOND
    complete = verdicts.where(f"verdict = '{Verdict.COMPLETE.name}'")
    seconds: int = complete.agg(F.coalesce(F.ceil(took), F.lit(0))).collect()[0][0]
    return seconds


def replays(events: DataFrame, spouts: Sequence[str]) -> DataFrame:
    """Return REPLAYS: message ids that one of these spouts emitted more than once.

    A log does not name the ids of emits, but those that the spout was answered for.
    """
    emitted = f"(kind = {_EMITTED} and (flags & {RELIABLE}) != 0)"
    answered = f"kind in ({', '.join(map(str, _ANSWERS))})"
    return (
        events.where(f"({emitted} or {answered}) and delivery != ''")
        .where(F.col("component").isin(*spouts))
        .groupBy("run", "component", "task", "test", "delivery")
        .agg(F.expr(f"greatest(count_if({emitted}), count_if({answered})) as emits"))
        .where("emits > 1")
        .groupBy(F.col("component").alias("spout"))
        .agg(
            F.expr("count(1) as ids"),
            F.expr("sum(emits) as emits"),
            F.expr("max(emits) as most"),
            F.expr("max_by(delivery, struct(emits, delivery)) as worst"),
        )
        .orderBy("spout")
    )


def outcomes(events: DataFrame, spouts: Sequence[str]) -> DataFrame:
    """Return OUTCOMES: what became of the message ids of each of these spouts.

    An answer names its message or its root.  A log does not name the ids of emits: an id has at least as many emits as
    answers.
    """
    key, completed = ("run", "component", "task", "test", "delivery"), int(EventKind.COMPLETED)
    emits = events.where(f"kind = {_EMITTED} and (flags & {RELIABLE}) != 0 and delivery != ''")
    answers = events.where(F.col("kind").isin(*_ANSWERS))
    by_root = answers.where("delivery = '' and root != 0").select("run", "root", "kind")
    rows = emits.select(*key, "kind").unionByName(answers.where("delivery != ''").select(*key, "kind"))
    rows = rows.unionByName(emits.select(*key, "root").join(by_root, ["run", "root"]).select(*key, "kind"))
    return (
        rows.where(F.col("component").isin(*spouts))
        .groupBy(*key)
        .agg(
            F.expr(f"greatest(count_if(kind = {_EMITTED}), count_if(kind != {_EMITTED})) as emits"),
            F.expr(f"count_if(kind = {completed}) as done"),
            F.expr(f"count_if(kind not in ({_EMITTED}, {completed})) as bad"),
        )
        .groupBy(F.col("component").alias("spout"))
        .agg(
            F.expr("count(1) as ids"),
            F.expr("count_if(done > 0) as completed"),
            F.expr("count_if(bad > 0) as failed"),
            F.expr("count_if(bad > 0 and emits > 1) as replayed"),
            F.expr("count_if(done = 0 and bad >= emits) as lost"),
            F.expr("count_if(done = 0 and bad < emits) as open"),
            F.expr("count_if(done > 1) as repeated"),
        )
        .orderBy("spout")
    )


def witnessed(events: DataFrame) -> DataFrame:
    """Return WITNESSED, one row: about how many roots components received tuples of, and ackers took messages of."""
    kinds = (EventKind.INIT, EventKind.ACK, EventKind.FAIL, EventKind.RESET)
    root = F.xxhash64("run", "root")
    return events.agg(
        F.approx_count_distinct(F.when(F.col("kind") == _LINKED, root)).alias("handled"),
        F.approx_count_distinct(F.when(F.col("kind").isin(*map(int, kinds)), root)).alias("taken"),
    )


# ---- single roots ----


def rows_of_roots(events: DataFrame, roots: Collection[int]) -> DataFrame:
    """Return ROWS_OF_ROOTS: the rows of some roots of all runs, in order, at most so many of each."""
    row = "struct(time_ns, worker, pid, seq, kind, component, task, delivery, value, site, stream)"
    return (
        events.where(f"root in ({', '.join(f'{root}L' for root in roots)})")
        .groupBy("run", "root")
        .agg(F.expr(f"array_sort(collect_list({row})) as rows"))
        .selectExpr("run", "root", "size(rows) as count", f"slice(rows, 1, {_MOST_ROWS}) as rows")
    )


def handled(events: DataFrame, deliveries: DataFrame, roots: Collection[int]) -> DataFrame:
    """Return HANDLED: the tuples of some roots, with their edge as `value` and how often each was acked and failed."""
    linked = events.where(f"kind = {_LINKED} and root in ({', '.join(f'{root}L' for root in roots)})")
    return (
        linked.select(*DELIVERY_KEY, "root", "value")
        .distinct()
        .join(deliveries.select(*DELIVERY_KEY, "acked", "failed"), [*DELIVERY_KEY])
        .select("run", "root", "component", "task", "delivery", "value", "acked", "failed")
    )


def examples(trees: Collection[TupleTree], most: int) -> tuple[TupleTree, ...]:
    """Return some trees to show: one of each kind in turn, kinds with culprits first."""
    groups: dict[tuple[object, ...], list[TupleTree]] = {}
    for tree in trees:
        who = tuple(sorted({(culprit.component, culprit.acks) for culprit in tree.culprits}))
        order = (not who, _BY_INTEREST.index(tree.verdict), str((tree.verdict, tree.residue, who)))
        groups.setdefault(order, []).append(tree)
    turns = [(turn, order) for order, members in groups.items() for turn in range(len(members))]
    return tuple(groups[order][turn] for turn, order in sorted(turns)[:most])


def timelines(chosen: Iterable[TupleTree], rows: Iterable[Row]) -> tuple[Timeline, ...]:
    """Return the trees with their rows."""
    by_root = {(row["run"], row["root"]): row for row in rows}
    known = [(tree, by_root[tree.run, tree.root]) for tree in chosen if (tree.run, tree.root) in by_root]
    names = ("component", "task", "delivery", "value", "site")
    return tuple(
        Timeline(
            tree=tree,
            rows=tuple(
                TimelineRow(
                    time_ms=row["time_ns"] / 1e6,
                    what=_WORDS.get(row["kind"], EventKind(row["kind"]).name.lower()),
                    **{name: row[name] for name in names},
                )
                for row in found["rows"]
            ),
            more=found["count"] - len(found["rows"]),
        )
        for tree, found in known
    )
