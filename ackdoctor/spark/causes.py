"""Why roots did not end well: which tuples explain the value that is left in an entry, and why roots timed out.

The value X is the XOR, over all tuples acked an even number of times (never counts), of what their ack carries (law L1).  If
no single ack carries X, those tuples are taken together, and either they come to X or the root stays unexplained.

A log is less precise: an acker's log names the sender's task of an ack, not the tuple.  So each task has a balance, the XOR
of the edges that it received, the edges that it emitted and the acks that the acker took from it.  It is 0 if every tuple
was acked once and every ack arrived; else it is what this task left in the entry.  A log of Storm 0.9 names no
receiver and no ack of a bolt, but each message that is sent to the acker.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import xor

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import Culprit, EventKind, Residue, TupleTree, Verdict, Violation
from ackdoctor.spark import roots
from ackdoctor.spark.deliveries import DELIVERY_KEY, NO_PROCESS
from ackdoctor.spark.tables import Analysis, Completions, Expired
from ackdoctor.spark.verdicts import tree
from ackdoctor.tracer.timeouts import EARLY, Cause, Pace, Step, TimedOut, burst_period, cause_of, causes_of

_MOST_SITES = 16
_MOST_EXPLAINED = 500  # trees whose value is looked into, because no single tuple explains it
_LONG = (1 << 64) - 1
_BALANCED = {EventKind.LINKED, EventKind.EMITTED, EventKind.ACK, EventKind.INIT}
_STREAMS = {EventKind.INIT: "__ack_init", EventKind.ACK: "__ack_ack", EventKind.FAIL: "__ack_fail"}


# ---- trees with their culprits ----


def unexplained(tree: TupleTree) -> bool:
    """Whether no culprit explains the value of an entry; a single ack without an INIT explains none."""
    left = tree.entry is not None and tree.entry.value
    known = any(culprit.lost or culprit.acks % 2 == 0 for culprit in tree.culprits)
    return bool(left) and tree.residue is Residue.EVEN and not known


def explained(
    events: DataFrame,
    deliveries: DataFrame | None,
    sampled: Sequence[Row],
    ways: Sequence[Row],
    end_ns: int,
    *,
    complete: bool,
) -> tuple[TupleTree, ...]:
    """Return the trees of the report with their culprits; `complete` if no log is missing.

    `deliveries` are those of logs; in a trace acks name them.  The last tree of each way counts for all roots that went it and
    are not among the trees.  A tree that was not looked into is left out if others that went the same way are explained.
    """
    way_of = [row["way"] for row in sampled]
    trees = [tree(row, end_ns) for row in sampled]
    counts, shown = {row["way"]: row["roots"] for row in ways}, Counter(way_of)
    for way, place in {way: place for place, way in enumerate(way_of)}.items():
        trees[place] = replace(trees[place], roots=max(1, counts.get(way, 0) - shown[way] + 1))
    open_ = [place for place, one in enumerate(trees) if unexplained(one)]
    by_turn = sorted(open_, key=lambda place: sampled[place]["turn"])  # some of each way
    chosen = set(by_turn[:_MOST_EXPLAINED])
    if not chosen:
        return tuple(trees)
    asked = [trees[place].root for place in sorted(chosen)]
    handled = roots.handled(events, deliveries, asked).collect() if deliveries is not None else ()
    found = explain(trees, roots.rows_of_roots(events, asked).collect(), handled, complete=complete)
    solved = {way_of[place] for place in chosen if not unexplained(found[place])}
    alike = {place for place in open_ if place not in chosen and way_of[place] in solved}
    return tuple(one for place, one in enumerate(found) if place not in alike)


def explain(
    trees: Iterable[TupleTree],
    rows_of_roots: Iterable[Row],
    handled: Iterable[Row] = (),
    *,
    complete: bool = True,
) -> tuple[TupleTree, ...]:
    """Return the trees; those in ROWS_OF_ROOTS with the tuples and lost messages that together explain what is left.

    HANDLED has what components of a log did with their tuples.  A message counts as lost only if the logs are `complete`.
    """
    known = {(row["run"], row["root"]): row for row in rows_of_roots}
    done: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in handled:
        done[row["run"], row["root"]].append(row)
    found = []
    for one in trees:
        key = one.run, one.root
        culprits: tuple[Culprit, ...] = ()
        if key in known and unexplained(one) and one.entry is not None and one.entry.value is not None:
            culprits = _explanation(one.entry.value, known[key], done.get(key), complete=complete)
        found.append(replace(one, culprits=culprits, roots=1) if culprits else one)  # known of this root only
    return tuple(found)


def _explanation(
    left: int, found: Row, handled: Sequence[Row] | None, *, complete: bool
) -> tuple[Culprit, ...]:
    rows = found["rows"]
    if any(row["pid"] > NO_PROCESS for row in rows):
        return _by_deliveries(left, rows)
    if found["count"] > len(rows):
        return ()  # some of its rows are missing
    if handled is None and any(row["kind"] == EventKind.SENT for row in rows):
        return by_messages(left, rows)
    return by_tasks(left, rows, handled or (), complete=complete)


def _by_deliveries(left: int, rows: Iterable[Row]) -> tuple[Culprit, ...]:
    """Return the culprits of a trace, whose acks name their deliveries: the tuples that were acked an even number of times."""
    tuples: defaultdict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] in {EventKind.LINKED, EventKind.ACK}:
            name = row["delivery"] or f"value {row['value']}"
            tuples[row["component"], row["task"], name].append(row)
    culprits: list[Culprit] = []
    for its in tuples.values():
        acks = [row for row in its if row["kind"] == EventKind.ACK]
        edges = [row["value"] for row in its if row["kind"] == EventKind.LINKED]
        values = [row["value"] for row in acks] or edges[-1:]
        if values and len(acks) % 2 == 0:
            sites = tuple(row["site"] for row in acks if row["site"])[:_MOST_SITES]
            culprits.append(_culprit(its[0], value=values[0], acks=len(acks), sites=sites))
    return tuple(culprits) if _sum(culprit.value for culprit in culprits) == left else ()


def _culprit(row: Row, *, value: int, acks: int, sites: tuple[str, ...] = ()) -> Culprit:
    return Culprit(
        delivery=row["delivery"],
        component=row["component"],
        task=row["task"],
        value=value,
        acks=acks,
        sites=sites,
    )


def name_deliveries(trees: Iterable[TupleTree], violations: Iterable[Violation]) -> tuple[TupleTree, ...]:
    """Return the trees; a culprit of a log without a delivery gets that of its component's double ack.

    So both are one finding: a log has no call sites, and all tuples that a component completed twice went the same way.
    """
    twice: dict[str, str] = {}
    for violation in violations:
        if violation.misuse is Misuse.TWICE and violation.delivery:
            twice.setdefault(violation.traced.name, violation.delivery)

    def named(culprit: Culprit) -> Culprit:
        anonymous = culprit.acks > 1 and not culprit.delivery and not culprit.sites
        return replace(culprit, delivery=twice.get(culprit.component, "")) if anonymous else culprit

    return tuple(replace(one, culprits=tuple(map(named, one.culprits))) for one in trees)


# ---- logs ----


def by_tasks(
    left: int, rows: Sequence[Row], handled: Iterable[Row], *, complete: bool
) -> tuple[Culprit, ...]:
    """Return who left the value `left`; nothing if the rows of the root and its HANDLED tuples do not explain it.

    A message counts as lost only if the logs are `complete`: otherwise the log of its receiver may be missing.
    """
    balances: defaultdict[int, int] = defaultdict(int)  # by task
    for row in rows:
        if row["kind"] in _BALANCED:
            balances[row["task"]] ^= row["value"]
    uneven = {task: value for task, value in balances.items() if value}
    tuples: defaultdict[int, list[Row]] = defaultdict(list)
    for row in handled:
        tuples[row["task"]].append(row)
    culprits: list[Culprit] = []
    for task, value in uneven.items():
        even = [row for row in tuples[task] if (row["acked"] + row["failed"]) % 2 == 0]
        culprits += (
            _culprit(row, value=value if len(even) == 1 else row["value"], acks=row["acked"] + row["failed"])
            for row in even
        )
    tasks = {culprit.task for culprit in culprits}
    rest = left ^ _sum(uneven[task] for task in tasks)
    if tasks and not rest:
        return tuple(culprits)
    if not complete:
        return ()
    messages = list(_lost_messages(rows, tuples, uneven, tasks))
    return (*culprits, *messages) if _sum(message.value for message in messages) == rest else ()


def _lost_messages(
    rows: Sequence[Row], tuples: Mapping[int, Sequence[Row]], uneven: Mapping[int, int], tasks: set[int]
) -> Iterator[Culprit]:
    """Yield the messages to the acker that it did not receive, of tasks whose balance no tuple explains; then the tuples.

    If the acker received all that a task sent, the task used a tuple as an anchor after its ack.
    """
    names = {row["task"]: row["component"] for row in rows if row["component"]}  # not every line has one
    begun = any(row["kind"] == EventKind.INIT for row in rows)
    receivers = {row["task"] for row in rows if row["kind"] == EventKind.LINKED}
    emitters = {row["task"] for row in rows if row["kind"] == EventKind.EMITTED}
    for task in sorted(uneven):
        taken = Counter(row["kind"] for row in rows if row["task"] == task)
        if not begun and task in emitters - receivers:
            lost = "init"
        elif task not in tasks and sum(row["acked"] for row in tuples.get(task, ())) > taken[EventKind.ACK]:
            lost = "ack"
        elif task not in tasks and sum(row["failed"] for row in tuples.get(task, ())) > taken[EventKind.FAIL]:
            lost = "fail"
        else:
            continue
        yield _lost(lost, names.get(task, ""), task, uneven[task])
    received = {row["value"] for row in rows if row["kind"] == EventKind.LINKED}
    for row in rows:
        if row["kind"] == EventKind.EMITTED and row["value"] not in received:
            yield _lost("tuple", names.get(row["task"], ""), row["task"], row["value"])


def by_messages(left: int, rows: Sequence[Row]) -> tuple[Culprit, ...]:
    """Return who left the value in a log of Storm 0.9, which names each message that was sent to the acker."""
    taken = Counter((_STREAMS[kind], row["value"]) for row in rows if (kind := row["kind"]) in _STREAMS)
    sent = [row for row in rows if row["kind"] == EventKind.SENT]
    lost: list[Culprit] = []
    for row in sent:
        message = row["stream"], row["value"]
        if taken[message]:
            taken[message] -= 1
        else:
            stream = row["stream"].removeprefix("__ack_")
            lost.append(_lost(stream, row["component"], row["task"], row["value"]))
    rest = left ^ _sum(culprit.value for culprit in lost)
    if not rest or any(culprit.lost == "fail" for culprit in lost):
        return tuple(lost)
    edges = {row["value"] for row in rows if row["kind"] == EventKind.LINKED}
    acks = sum(row["stream"] == _STREAMS[EventKind.ACK] for row in sent)
    if acks >= len(edges) or not _is_sum(rest, edges):
        return ()
    return (*lost, Culprit(delivery="", component="", task=0, value=rest, acks=0))


def _lost(what: str, component: str, task: int, value: int) -> Culprit:
    return Culprit(delivery="", component=component, task=task, value=value, acks=1, lost=what)


def _sum(values: Iterable[int]) -> int:
    return reduce(xor, values, 0)


def _is_sum(target: int, values: Iterable[int]) -> bool:
    """Whether the XOR of some of the values is the target, by Gaussian elimination."""
    basis: dict[int, int] = {}  # by its highest bit

    def reduced(value: int) -> int:
        while value and (step := basis.get(value.bit_length())):
            value ^= step
        return value

    for value in values:
        if rest := reduced(value & _LONG):
            basis[rest.bit_length()] = rest
    return not reduced(target & _LONG)


# ---- timeouts: how long each root's tuples waited and were held; roots that went alike are one row ----

_KEY = ["run", "root"]
_SECOND, _MS = 1_000_000_000, 1e6
_MOST_WAYS = 200
_MOST_SECONDS = 100_000
_FLAGS = ("missing", "open", "twice", "uneven", "answered", "ended")


@dataclass(slots=True, kw_only=True)
class Slow:
    """The input of ACK504 (`tracer.timeouts`): roots that completed too late, and the pace of their components."""

    trees: Sequence[TimedOut]
    paces: Mapping[str, Pace]


def judge_timeouts(
    events: DataFrame | None,
    deliveries: DataFrame,
    verdicts: DataFrame,
    *,
    result: Analysis,
    timeout_s: int | None,
    lost: str,
) -> Slow:
    """Judge the roots that timed out, and count their causes in the result; without `events` no cause is known.

    `lost` says as SQL on VERDICTS which roots a worker took down (`Outages.sql`).
    """
    total = sum(kind.roots for kind in result.trees if kind.verdict == Verdict.EXPIRED.value)
    trees: list[TimedOut] = []
    if total and events is not None:
        expired = _expired_roots(events, verdicts, lost)
        rows = _alike(expired.join(_trees(events, deliveries, expired), _KEY, "left"), timeout_s).collect()
        trees = list(map(_tree, rows))
    result.expired = tuple(Expired(cause=cause, roots=n) for cause, n in causes_of(trees, timeout_s, total))
    late = [tree for tree in trees if cause_of(tree, timeout_s) is Cause.LATE]
    names = {step.component for tree in late for step in tree.steps}
    paces = _paces(result.completions, _rhythms(deliveries, names)) if names else {}
    return Slow(trees=late, paces=paces)


def _expired_roots(events: DataFrame, verdicts: DataFrame, lost: str) -> DataFrame:
    """Return the roots that timed out, with their end: when the spout dropped the root, or else the acker its entry."""
    dropped = events.where(F.col("kind") == int(EventKind.TIMED_OUT))
    found = (
        verdicts.where("verdict = 'EXPIRED'")
        .groupBy(*_KEY)
        .agg(
            F.expr("min(coalesce(init_ns, first_ns)) as init_ns"),
            F.expr("min(end_ns) as end_ns"),
            F.expr(f"coalesce(bool_or({lost}), false) as ended"),
            F.expr("bool_or(residue = 'EVEN') as uneven"),
            F.expr("bool_and(residue = 'NONE') as completed"),
        )
    )
    first = dropped.groupBy(*_KEY).agg(F.min("time_ns").alias("dropped_ns"))
    return found.join(first, _KEY, "left").selectExpr(
        *(*_KEY, "init_ns", "ended", "uneven"),
        "coalesce(dropped_ns, end_ns) as end_ns",
        "completed and coalesce(end_ns < dropped_ns, false) as answered",
    )


def _trees(events: DataFrame, deliveries: DataFrame, expired: DataFrame) -> DataFrame:
    """Return for each root its `steps`, the longest of each component, and whether tuples are `missing` or `open`."""
    asked = F.broadcast(expired.select(*_KEY))
    linked = events.where(f"kind = {int(EventKind.LINKED)}").join(asked, _KEY, "left_semi")
    # a trace does not record the edge of an emit
    emitted = events.where(f"kind = {int(EventKind.EMITTED)} and root != 0 and pid <= {NO_PROCESS}")
    sent = (
        emitted.join(asked, _KEY, "left_semi").groupBy(*_KEY, "value").agg(F.min("time_ns").alias("sent_ns"))
    )
    times = deliveries.where("received > 0").select(
        *DELIVERY_KEY, "acked", "failed", "received_ns", "completed_ns"
    )
    received = linked.select(*DELIVERY_KEY, "root", "value").join(times, [*DELIVERY_KEY])
    steps = (
        received.join(sent, [*_KEY, "value"], "full_outer")
        .groupBy(*_KEY, "component")
        .agg(
            F.expr("bool_or(component is null) as missing"),
            F.expr("coalesce(bool_or(acked + failed = 0), false) as open"),
            F.expr("coalesce(bool_or(acked + failed > 1), false) as twice"),
            F.expr("coalesce(max(completed_ns - received_ns), 0L) as held_ns"),
            F.expr("greatest(coalesce(max(received_ns - sent_ns), 0L), 0L) as waited_ns"),
            F.expr("min(received_ns) as first_ns"),
            F.expr("max(completed_ns) as done_ns"),
        )
    )
    step = "struct(first_ns, component, held_ns, waited_ns)"
    return steps.groupBy(*_KEY).agg(
        *(F.expr(f"bool_or({name}) as {name}") for name in ("missing", "open", "twice")),
        F.expr("max(done_ns) as done_ns"),
        F.expr(f"array_sort(collect_list({step}) filter (where component is not null)) as steps"),
    )


def _alike(trees: DataFrame, timeout_s: int | None) -> DataFrame:
    """Group roots with the same cause and culprits, and keep the slowest of each group."""
    limit = "(end_ns - init_ns) div 2" if timeout_s is None else f"{timeout_s * _SECOND}L"
    over = f"transform(steps, step -> struct(step.component, step.held_ns > {limit} as held, step.waited_ns > {limit} as waited))"
    way = {
        **{name: f"coalesce({name}, false)" for name in ("missing", "open", "twice")},
        **{name: name for name in ("ended", "uneven", "answered")},
        "early": f"end_ns - init_ns < {EARLY} * {limit}",
        "late": "done_ns > end_ns",
        "long": f"done_ns - init_ns > {limit}",
        "over": over,
    }
    row = "struct(done_ns - init_ns as took_ns, end_ns - init_ns as age_ns, root, steps)"
    return (
        trees.selectExpr(*(f"{what} as {name}" for name, what in way.items()), f"{row} as tree")
        .groupBy(*way)
        .agg(F.count("*").alias("roots"), F.expr("max_by(tree, struct(tree.took_ns, tree.root)) as tree"))
        .select(*_FLAGS, "roots", "tree.*")
        .orderBy(F.desc("roots"), "root")
        .limit(_MOST_WAYS)
    )


def _tree(row: Row) -> TimedOut:
    return TimedOut(
        root=row["root"],
        roots=row["roots"],
        age_ms=(row["age_ns"] or 0) / _MS,
        took_ms=None if row["took_ns"] is None else row["took_ns"] / _MS,
        steps=tuple(
            Step(
                component=step["component"], held_ms=step["held_ns"] / _MS, waited_ms=step["waited_ns"] / _MS
            )
            for step in row["steps"] or ()
        ),
        **{name: row[name] for name in _FLAGS},
    )


def _rhythms(deliveries: DataFrame, names: Iterable[str]) -> Mapping[str, int]:
    """Return how far apart the bursts of these components are, in seconds; 0 without bursts."""
    seconds = (
        deliveries.where("received > 0 and completed_ns is not null and not tick")
        .where(F.col("component").isin(sorted(names)))
        .groupBy("component", F.floor(F.col("completed_ns") / _SECOND).alias("second"))
        .agg(F.count("*").alias("tuples"))
        .orderBy("component", "second")
        .limit(_MOST_SECONDS)
    )
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in seconds.collect():
        found[row["component"]].append((row["second"], row["tuples"]))
    return {name: burst_period(its) for name, its in found.items()}


def _paces(completions: Iterable[Completions], rhythms: Mapping[str, int]) -> Mapping[str, Pace]:
    """Return the pace of each component, on its slowest stream."""
    found: dict[str, Pace] = {}
    for row in completions:
        if row.component in rhythms:
            known = found.get(row.component, Pace(median_ms=0.0, longest_ms=0.0))
            found[row.component] = Pace(
                median_ms=max(known.median_ms, row.p50_ms),
                longest_ms=max(known.longest_ms, row.max_ms),
                burst_s=rhythms[row.component],
            )
    return found
