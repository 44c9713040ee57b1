"""Collected rows as the model's nouns, the tables of an Analysis, and notes."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

from pyspark.sql import Row

from ackdoctor.model.trace import ComponentTally, EventKind, GrowthPoint, Residue, TupleTree, Verdict
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
from ackdoctor.tracer.components import unobserved
from ackdoctor.tracer.timeouts import asides

__all__ = [
    "combs",
    "completions",
    "components",
    "death",
    "examples",
    "hidden",
    "holders",
    "in_hand_by_component",
    "kinds",
    "latencies",
    "lives",
    "loads",
    "longest_s",
    "note_lost",
    "note_other_shapes",
    "notes_on_passed_over",
    "notes_on_timeouts",
    "points",
    "replays",
    "window",
]


_WINDOWS = 200  # of a curve
_MOST_WINDOWS = 10_000  # a page of a few megabytes
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_BY_INTEREST = {
    Verdict.COMPLETE: 4,
    Verdict.OPEN: 1,
    Verdict.EXPIRED: 0,
    Verdict.FAILED: 3,
    Verdict.ORPHAN: 2,
}
_FEWEST_BURSTS = 3
_MOST_NAMED = 3  # components
_FEWEST_SECONDS = 2  # a burst every second is none
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


def window(span_ms: int, asked_ms: int = 0) -> int:
    """Return the window that the user asked for, in milliseconds, or a round one that divides the span into about 200."""
    if asked_ms and span_ms <= asked_ms * _MOST_WINDOWS:
        return asked_ms
    wanted = span_ms / 1000 / _WINDOWS
    return 1000 * next((seconds for seconds in _SECONDS if seconds >= wanted), _SECONDS[-1])


# ---- components ----


def completions(rows: Iterable[Row], end_ns: int) -> tuple[Completions, ...]:
    """Return COMPLETIONS, those with most violations first."""
    made = [Completions(**_completions(row.asDict(), end_ns)) for row in rows]
    return tuple(sorted(made, key=lambda one: (-one.more - one.never, one.component, one.stream)))


def in_hand_by_component(young: Iterable[Row]) -> Mapping[str, int]:
    """Return how many tuples each component had in hand where its lives ended."""
    found: Counter[str] = Counter()
    for row in young:
        found[row["component"]] += row["in_hand"]
    return found


def longest_s(found: Iterable[Completions], least: int) -> int:
    """Return the longest time, in whole seconds, that one of these held a completed tuple, or `least` if that is longer."""
    return max([least, *(ceil(row.max_ms / 1000) for row in found)])


def unjudged(found: Iterable[Completions], in_hand: Mapping[str, int]) -> tuple[str, ...]:
    """Return the components that had in hand all tuples that they ever received, sorted."""
    delivered: Counter[str] = Counter()
    for row in found:
        delivered[row.component] += row.delivered
    return tuple(sorted(name for name, count in in_hand.items() if count >= delivered[name]))


def hidden(named: Iterable[Row]) -> Mapping[str, str]:
    """Return the components whose completions a mock hid, sorted, and what hid them."""
    found = {row["component"]: why for row in named if (why := unobserved(row["note"]))}
    return dict(sorted(found.items()))


def note_in_hand(tuples: int, patience_s: int, whose: Collection[str]) -> str:
    """Return the note on tuples in hand; `whose` are the components that had nothing else."""
    many = "1 tuple was" if tuples == 1 else f"{tuples:,} tuples were"
    nothing = f", and so nothing of {', '.join(whose)}" if whose else ""
    return f"{many} in hand where a log ends or its worker restarted, for less than {patience_s} s: not judged{nothing}"


def note_other_shapes(irregular: Iterable[Row], judged: Collection[Row]) -> str:
    """Return the note on deliveries of other shapes; `irregular` counts all by component, `judged` are SHAPES."""
    left = Counter({row["component"]: row["count"] for row in irregular})
    for row in judged:
        left[row["component"]] -= row["deliveries"]
    most = [f"{count:,} of {name}" for name, count in left.most_common(_MOST_NAMED) if count]
    return (
        f"{left.total():,} more deliveries ({', '.join(most)}) have other shapes than the {len(judged):,} that are judged, and may be "
        "wrong: --output-dir writes each (deliveries)"
    )


def note_lost(roots: int, patience_s: int) -> str:
    """Return the note on roots that a worker took down, or whose acks no log has."""
    many = "1 root was" if roots == 1 else f"{roots:,} roots were"
    return f"{many} young where a log ends or a worker restarted, less than {patience_s} s away: not judged"


def notes_on_timeouts(result: Analysis) -> Iterator[str]:
    """Yield notes on roots that timed out for a reason that is no finding."""
    drops = result.messages_dropped
    dropped = f" (the workers' connections dropped {_many(drops, 'message')})" if drops else ""
    yield from asides(
        ((one.cause, one.roots) for one in result.expired),
        missing=dropped or " (it waits in a queue, or a worker's log is missing)",
        unheard=dropped,
    )


def notes_on_passed_over(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a note for each reason for which files were passed over."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in files:
        by_reason.setdefault(reason, []).append(path)
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        yield f"passed over {paths[0]}{more}: {reason}"


def _many(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _completions(row: dict[str, Any], end_ns: int) -> dict[str, Any]:
    oldest_ns = row.pop("oldest_ns")
    oldest_ms = 0.0 if oldest_ns is None else max(0, end_ns - oldest_ns) / 1e6
    return {name: 0.0 if value is None else value for name, value in row.items()} | {"oldest_ms": oldest_ms}


def open_figures(tallies: Sequence[ComponentTally]) -> dict[str, Any]:
    """Return the figures of all components: open at the end, and at most in one task."""
    most = max((one.high_water for one in tallies), default=0)
    return {"components": tallies, "pending": sum(one.pending for one in tallies), "high_water": most}


def _most_open(peaks: Mapping[tuple[str, Any], int]) -> dict[str, int]:
    """Return by component the most deliveries that one of its tasks had open at a time."""
    found: dict[str, int] = {}
    for (_, ledger), most in peaks.items():
        found[ledger["component"]] = max(found.get(ledger["component"], 0), most)
    return found


def components(
    counted: Iterable[Row],
    done: Iterable[Completions],
    violations: Mapping[str, int],
    dialects: Mapping[str, str],
    peaks: Mapping[tuple[str, Any], int],
) -> tuple[ComponentTally, ...]:
    """Return what every component did; `peaks` are the most open deliveries by run and ledger, of a trace without an acker."""
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
            violations=violations.get(name, 0),
            high_water=most.get(name, 0),
            **own,
        )
        for name, own in sorted(figures.items())
    )


def death(row: Row) -> str:
    """Return one of DEATHS, in words."""
    return f"{row['component']}[{row['task']}] ended: {row['note']}"


def replays(rows: Iterable[Row]) -> tuple[Replays, ...]:
    """Return REPLAYS."""
    return tuple(
        Replays(
            spout=row["component"], ids=row["ids"], emits=row["emits"], most=row["most"], worst=row["worst"]
        )
        for row in rows
    )


# ---- ackers ----


def points(rows: Iterable[Row]) -> tuple[tuple[GrowthPoint, ...], dict[tuple[str, Any], int]]:
    """Return GROWTH of all ackers together, and the largest map of each; without a row an acker keeps its size."""
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
    """Return ACKERS, the busiest first."""
    made = [
        AckerLoad(
            high_water=peaks.get((row["run"], row["acker"]), 0),
            **{name: row[name] for name in ("run", "acker", "roots", "messages", "pending")},
        )
        for row in rows
    ]
    return tuple(sorted(made, key=lambda one: (-one.messages, one.run, one.acker)))


def latencies(rows: Iterable[Row], spouts: Mapping[int, str]) -> tuple[Latency, ...]:
    """Return LATENCIES with the names of the spouts."""
    return tuple(
        Latency(
            spout=f"{spouts.get(row['task'], '')}[{row['task']}]",
            **{name: row[name] for name in ("roots", "p50_ms", "p90_ms", "p99_ms", "max_ms")},
        )
        for row in rows
    )


# ---- roots ----


def kinds(rows: Iterable[Row]) -> tuple[TreeCount, ...]:
    """Return how many roots ended how, the most frequent first."""
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


def holders(rows: Iterable[Row]) -> tuple[Holder, ...]:
    """Return HOLDERS."""
    return tuple(Holder(component=row["component"], stream=row["stream"], roots=row["roots"]) for row in rows)


def combs(rows: Sequence[Row]) -> tuple[Comb, ...]:
    """Return timeouts in bursts: always the same distance, or a multiple of it, to the next."""
    seconds = [row["second"] for row in rows]
    gaps = [after - before for before, after in pairwise(seconds)]
    if len(seconds) < _FEWEST_BURSTS or min(gaps) < _FEWEST_SECONDS:
        return ()
    period = min(gaps)
    if any(min(gap % period, -gap % period) > 1 for gap in gaps):
        return ()
    return (Comb(period_s=period, bursts=len(seconds), roots=sum(row["roots"] for row in rows)),)


def examples(trees: Collection[TupleTree], most: int) -> tuple[TupleTree, ...]:
    """Return some trees to show: one of each kind in turn, kinds with culprits first."""
    groups: dict[tuple[object, ...], list[TupleTree]] = {}
    for tree in trees:
        who = tuple(sorted({(culprit.component, culprit.acks) for culprit in tree.culprits}))
        groups.setdefault((tree.verdict, tree.residue, who), []).append(tree)
    ordered = sorted(
        groups.items(), key=lambda group: (not group[0][2], _BY_INTEREST[group[1][0].verdict], str(group[0]))
    )
    chosen: list[TupleTree] = []
    for round_ in range(most):
        chosen += [members[round_] for _, members in ordered if round_ < len(members)]
        if len(chosen) >= most:
            break
    return tuple(chosen[:most])


def lives(chosen: Iterable[TupleTree], rows: Iterable[Row]) -> tuple[Life, ...]:
    """Return the trees with their rows."""
    by_root = {(row["run"], row["root"]): row for row in rows}
    known = [(tree, by_root[tree.run, tree.root]) for tree in chosen if (tree.run, tree.root) in by_root]
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
