"""Rows that came back to the driver, as the model's nouns and the tables of an Analysis."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from math import ceil
from typing import Any

from pyspark.sql import DataFrame, Row

from ackdoctor.model.event import EventKind
from ackdoctor.model.verdict import ComponentTally, GrowthPoint, Residue, RunTally, TupleTree, Verdict
from ackdoctor.spark.tables import (
    AckerLoad,
    Analysis,
    Comb,
    Completions,
    Holder,
    Latency,
    Life,
    LifeRow,
    Replays,
    TreeCount,
)
from ackdoctor.tracer.judge.timeouts import asides
from ackdoctor.tracer.trace.components import unobserved

__all__ = [
    "by_component",
    "combs",
    "completions",
    "components",
    "ending",
    "exemplary",
    "hidden",
    "holders",
    "kinds",
    "latencies",
    "lives",
    "loads",
    "longest_s",
    "lost",
    "other_ways",
    "points",
    "replays",
    "standing",
    "timed_out",
    "together",
    "window",
    "with_tally",
]

_WINDOWS = 200  # make a good curve
_MOST_WINDOWS = 10_000  # a page of some megabytes
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_WELL = {Verdict.COMPLETE: 4, Verdict.OPEN: 1, Verdict.EXPIRED: 0, Verdict.FAILED: 3, Verdict.ORPHAN: 2}
_FEWEST_BURSTS = 3
_MOST_NAMED = 3  # components
_FEWEST_SECONDS = 2  # what comes every second is no comb
_WORDS: Mapping[int, str] = {
    EventKind.EMITTED: "emitted",
    EventKind.LINKED: "received",
    EventKind.SENT: "sent to the acker",
    EventKind.INIT: "init",
    EventKind.ACK: "ack",
    EventKind.FAIL: "fail",
    EventKind.RESET: "reset",
    EventKind.COMPLETED: "spout hears ack",
    EventKind.GAVE_UP: "spout hears fail",
    EventKind.EXTENDED: "spout hears reset",
    EventKind.TIMED_OUT: "spout times out",
}


def together(**tables: DataFrame) -> dict[str, list[Row]]:
    """The rows of several small tables, each in its order, fetched by one job: to plan one costs more than to run it."""
    marked = [frame.selectExpr(f"'{name}' as of", f"struct(*) as {name}") for name, frame in tables.items()]
    rows = reduce(lambda one, next_: one.unionByName(next_, allowMissingColumns=True), marked).collect()
    return {name: [row[name] for row in rows if row["of"] == name] for name in tables}


def window(span_ms: int, asked_ms: int = 0) -> int:
    """The window that was asked for, in milliseconds, or the shortest handy one, of which the span has not too many."""
    if asked_ms and span_ms <= asked_ms * _MOST_WINDOWS:
        return asked_ms
    wanted = span_ms / 1000 / _WINDOWS
    return 1000 * next((seconds for seconds in _SECONDS if seconds >= wanted), _SECONDS[-1])


def with_tally(tally: RunTally, **figures: Any) -> RunTally:
    """The tally with these figures as well."""
    return replace(tally, **figures)


# ---- components ----


def completions(rows: Iterable[Row], end_ns: int) -> tuple[Completions, ...]:
    """COMPLETIONS, those with the most to answer for first."""
    made = [Completions(**_completions(row.asDict(), end_ns)) for row in rows]
    return tuple(sorted(made, key=lambda one: (-one.more - one.never, one.component, one.stream)))


def by_component(young: Iterable[Row]) -> Mapping[str, int]:
    """How many tuples each component had in hand where its lives ended."""
    found: Counter[str] = Counter()
    for row in young:
        found[row["component"]] += row["in_hand"]
    return found


def longest_s(found: Iterable[Completions], least: int) -> int:
    """The longest time, in whole seconds, that one of these held a tuple which it completed, and that many at the least."""
    return max([least, *(ceil(row.max_ms / 1000) for row in found)])


def unjudged(found: Iterable[Completions], in_hand: Mapping[str, int]) -> tuple[str, ...]:
    """The components that had all in hand that they were ever given, in the order of their names."""
    delivered: Counter[str] = Counter()
    for row in found:
        delivered[row.component] += row.delivered
    return tuple(sorted(name for name, count in in_hand.items() if count >= delivered[name]))


def hidden(named: Iterable[Row]) -> Mapping[str, str]:
    """The components whose completions nobody could see, in the order of their names, and what hid them."""
    found = {row["component"]: why for row in named if (why := unobserved(row["note"]))}
    return dict(sorted(found.items()))


def under_way(tuples: int, patience_s: int, whose: Collection[str]) -> str:
    """What is said of tuples that were in hand; `whose` are the components that had nothing else."""
    many = "1 tuple was" if tuples == 1 else f"{tuples:,} tuples were"
    all_of = f", and so nothing of {', '.join(whose)}" if whose else ""
    return f"{many} in hand where a log ends or its worker was started anew, for less than {patience_s} s: not judged{all_of}"


def other_ways(odd: Iterable[Row], told: Collection[Row]) -> str:
    """What is said of deliveries that went ways which are not told; `odd` counts all by component, `told` are SHAPES."""
    left = Counter({row["component"]: row["count"] for row in odd})
    for row in told:
        left[row["component"]] -= row["deliveries"]
    most = [f"{count:,} of {name}" for name, count in left.most_common(_MOST_NAMED) if count]
    return (
        f"{left.total():,} more deliveries ({', '.join(most)}) went other ways than the {len(told):,} that are told, and may be "
        "wrong: --output-dir writes each (deliveries)"
    )


def lost(roots: int, patience_s: int) -> str:
    """What is said of roots that went down with a worker, or whose acks nobody has written down."""
    many = "1 root was" if roots == 1 else f"{roots:,} roots were"
    return f"{many} young where a log ends or a worker was started anew, less than {patience_s} s away: not judged"


def timed_out(result: Analysis) -> Iterator[str]:
    """What is said of roots that timed out for a reason that is no finding."""
    drops = result.messages_dropped
    dropped = f" (the workers' connections dropped {_many(drops, 'message')})" if drops else ""
    yield from asides(
        ((one.cause, one.roots) for one in result.expired),
        missing=dropped or " (it waits in a queue, or a worker's log is missing)",
        unheard=dropped,
    )


def _many(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _completions(row: dict[str, Any], end_ns: int) -> dict[str, Any]:
    oldest_ns = row.pop("oldest_ns")
    oldest_ms = 0.0 if oldest_ns is None else max(0, end_ns - oldest_ns) / 1e6
    return {name: 0.0 if value is None else value for name, value in row.items()} | {"oldest_ms": oldest_ms}


def together_open(tallies: Sequence[ComponentTally]) -> dict[str, Any]:
    """The figures of all components: what is open at the end, and at most in one task."""
    most = max((one.high_water for one in tallies), default=0)
    return {"components": tallies, "pending": sum(one.pending for one in tallies), "high_water": most}


def _most_open(peaks: Mapping[tuple[str, Any], int]) -> dict[str, int]:
    """By component the most deliveries that one task of it had open at a time."""
    found: dict[str, int] = {}
    for (_, book), most in peaks.items():
        found[book["component"]] = max(found.get(book["component"], 0), most)
    return found


def components(
    counted: Iterable[Row],
    done: Iterable[Completions],
    guilt: Mapping[str, int],
    dialects: Mapping[str, str],
    peaks: Mapping[tuple[str, Any], int],
) -> tuple[ComponentTally, ...]:
    """What every component did; `peaks` are the most open deliveries by run and book, of a trace without an acker."""
    most = _most_open(peaks)
    figures: dict[str, dict[str, int]] = {}
    names = {
        EventKind.RECEIVED: "delivered",
        EventKind.EMITTED: "emitted",
        EventKind.ACKED: "acked",
        EventKind.FAILED: "failed",
    }
    for row in counted:
        name = "ticks" if row["tick"] and row["kind"] == EventKind.RECEIVED else names.get(row["kind"])
        if name is not None:
            own = figures.setdefault(row["component"], {})
            own[name] = own.get(name, 0) + row["rows"]
    for one in done:
        own = figures.setdefault(one.component, {})
        own["pending"] = own.get("pending", 0) + one.never
        own["oldest_ms"] = max(own.get("oldest_ms", 0), int(one.oldest_ms))
    return tuple(
        ComponentTally(
            component=name,
            dialect=dialects.get(name, ""),
            violations=guilt.get(name, 0),
            high_water=most.get(name, 0),
            **own,
        )
        for name, own in sorted(figures.items())
    )


def ending(row: Row) -> str:
    """One of ENDED, in words."""
    return f"{row['component']}[{row['task']}] ended: {row['note']}"


def replays(rows: Iterable[Row]) -> tuple[Replays, ...]:
    """REPLAYS."""
    return tuple(
        Replays(
            spout=row["component"], ids=row["ids"], emits=row["emits"], most=row["most"], worst=row["worst"]
        )
        for row in rows
    )


# ---- ackers ----


def points(rows: Iterable[Row]) -> tuple[tuple[GrowthPoint, ...], dict[tuple[str, Any], int]]:
    """GROWTH of all ackers together, and the largest map of each; an acker keeps what it had where it has no row."""
    now: dict[tuple[str, Any], tuple[int, int]] = {}
    peaks: dict[tuple[str, Any], int] = {}
    found: list[GrowthPoint] = []
    for row in rows:  # in the order of time
        key = (row["run"], row["acker"])
        now[key] = (row["pending"], row["orphans"])
        peaks[key] = max(peaks.get(key, 0), row["high_water"])
        same = bool(found) and found[-1].time_ms == row["time_ms"]
        begun = row["started"] + (found.pop().started if same else 0)
        pending, orphans = (sum(figures) for figures in zip(*now.values(), strict=True))
        found.append(GrowthPoint(time_ms=row["time_ms"], pending=pending, orphans=orphans, started=begun))
    return tuple(found), peaks


def loads(rows: Iterable[Row], peaks: Mapping[tuple[str, Any], int]) -> tuple[AckerLoad, ...]:
    """ACKERS, the busiest first."""
    made = [
        AckerLoad(
            high_water=peaks.get((row["run"], row["acker"]), 0),
            **{name: row[name] for name in ("run", "acker", "roots", "messages", "pending")},
        )
        for row in rows
    ]
    return tuple(sorted(made, key=lambda one: (-one.messages, one.run, one.acker)))


def latencies(rows: Iterable[Row], spouts: Mapping[int, str]) -> tuple[Latency, ...]:
    """LATENCIES, with the spouts' names."""
    return tuple(
        Latency(
            spout=f"{spouts.get(row['task'], '')}[{row['task']}]",
            **{name: row[name] for name in ("roots", "p50_ms", "p90_ms", "p99_ms", "max_ms")},
        )
        for row in rows
    )


# ---- roots ----


def kinds(rows: Iterable[Row]) -> tuple[TreeCount, ...]:
    """How many roots ended how, the most frequent first."""
    made = [
        TreeCount(
            verdict=Verdict[row["verdict"]].value,
            residue=Residue[row["residue"]].value,
            roots=row["roots"],
            left=row["left"],
        )
        for row in rows
    ]
    return tuple(sorted(made, key=lambda one: (-one.roots, one.verdict, one.residue)))


def standing(
    trees: Iterable[TupleTree], ways: Sequence[int], counts: Mapping[int, int]
) -> tuple[TupleTree, ...]:
    """The trees, of which the last that went a way stands for all that went it and are not among them."""
    told = Counter(ways)
    last = {way: place for place, way in enumerate(ways)}
    return tuple(
        replace(tree, roots=max(1, counts.get(way, 0) - told[way] + 1)) if last[way] == place else tree
        for place, (tree, way) in enumerate(zip(trees, ways, strict=True))
    )


def holders(rows: Iterable[Row]) -> tuple[Holder, ...]:
    """HOLDERS."""
    return tuple(Holder(component=row["component"], stream=row["stream"], roots=row["roots"]) for row in rows)


def combs(rows: Sequence[Row]) -> tuple[Comb, ...]:
    """Timeouts that bunch: the same distance, or a multiple of it, between any burst and the next."""
    seconds = [row["second"] for row in rows]
    gaps = [after - before for before, after in pairwise(seconds)]
    if len(seconds) < _FEWEST_BURSTS or min(gaps) < _FEWEST_SECONDS:
        return ()
    period = min(gaps)
    if any(min(gap % period, -gap % period) > 1 for gap in gaps):
        return ()
    return (Comb(period_s=period, bursts=len(seconds), roots=sum(row["roots"] for row in rows)),)


def exemplary(trees: Collection[TupleTree], most: int) -> tuple[TupleTree, ...]:
    """Some trees to look at: of each kind in turn, the kinds that say most first."""
    groups: dict[tuple[object, ...], list[TupleTree]] = {}
    for tree in trees:
        who = tuple(sorted({(culprit.component, culprit.acks) for culprit in tree.culprits}))
        groups.setdefault((tree.verdict, tree.residue, who), []).append(tree)
    ordered = sorted(
        groups.items(), key=lambda group: (not group[0][2], _WELL[group[1][0].verdict], str(group[0]))
    )
    chosen: list[TupleTree] = []
    for round_ in range(most):
        chosen += [members[round_] for _, members in ordered if round_ < len(members)]
        if len(chosen) >= most:
            break
    return tuple(chosen[:most])


def lives(chosen: Iterable[TupleTree], rows: Iterable[Row]) -> tuple[Life, ...]:
    """The trees with what happened to them."""
    told = {(row["run"], row["root"]): row for row in rows}
    known = [(tree, told[tree.run, tree.root]) for tree in chosen if (tree.run, tree.root) in told]
    return tuple(
        Life(tree=tree, rows=tuple(map(_life_row, row["rows"])), more=row["count"] - len(row["rows"]))
        for tree, row in known
    )


def _life_row(row: Row) -> LifeRow:
    return LifeRow(
        time_ms=row["time_ns"] / 1e6,
        what=_WORDS.get(row["kind"], EventKind(row["kind"]).name.lower()),
        component=row["component"],
        task=row["task"],
        delivery=row["delivery"],
        value=row["value"],
        site=row["site"],
    )
