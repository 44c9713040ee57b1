"""The tables of an input -> an Analysis: components, roots, then the findings; only counts and samples reach the driver."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TypeAlias

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import NEWEST, AckerVersion, Engine
from ackdoctor.model.finding import counted
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import EventKind, GrowthPoint, Outcomes, RunTally, TupleTree, Verdict, Violation
from ackdoctor.spark import deliveries, roots, verdicts
from ackdoctor.spark.causes import Slow, explained, judge_timeouts, name_deliveries, unexplained
from ackdoctor.spark.deliveries import Ends
from ackdoctor.spark.replay import MOST_MESSAGES
from ackdoctor.spark.session import collect_together
from ackdoctor.spark.tables import Analysis, Completions, Forecast, Latency, Replays, RowCounts, Uncompleted
from ackdoctor.spark.verdicts import Outages
from ackdoctor.tracer.acker_findings import (
    WORKER_HEAP,
    entry_bytes,
    filled_in,
    growth_finding,
    trend,
    under_way,
)
from ackdoctor.tracer.components import unobserved
from ackdoctor.tracer.findings import findings, gathered
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.timeouts import slow_findings

_MOST_TIMELINES = 20
_MOST_NAMED = 3  # components
_MOST_TASKS = 10
_FEWEST_POINTS = 3
_STRAIGHT = 0.9  # R2 below which a line predicts nothing
_CLEARLY, _FEW = 1.25, 5  # estimates are off by a twentieth
_WITHOUT_TUPLE = (EventKind.NAMED, EventKind.ROTATED, EventKind.DIED, EventKind.DROPPED)
_TO_ACKER = tuple(kind for kind in EventKind if EventKind.INIT <= kind <= EventKind.ROTATED)
_OF_ROOTS = (
    *(EventKind.LINKED, EventKind.SENT, EventKind.EMITTED),
    *(EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT),
)
_Root: TypeAlias = tuple[str, int]  # its run and its id


@dataclass(slots=True, kw_only=True)
class Request:
    """How to judge, and what the logs say.  Times in seconds, `heap` in bytes; `window_ms` 0 chooses a good window."""

    version: AckerVersion = NEWEST
    message_timeout_s: int | None = None  # by which ackers rotate, if no row says when
    timeout_s: int | None = None  # the message timeout, if it is known
    patience_s: int = 30  # Storm's default message timeout: a younger root may still complete
    window_ms: int = 0
    heap: int = WORKER_HEAP
    ackers: int = 1
    ticks_disabled: bool = False  # an acker said that it gets no ticks
    log_ends: Ends = field(default_factory=dict)  # `Opened.ends`
    next_starts: Ends = field(default_factory=dict)  # `Restarts.next_starts`
    acker_restarts: Sequence[tuple[str, int, int, int]] = ()  # `Restarts.of_ackers`
    missing: tuple[str, ...] = ()  # `Opened.missing`
    gaps: bool = False  # `Survey.gaps`
    constants: Mapping[str, str] = field(default_factory=dict)  # `constant_columns`
    outcomes: bool = False  # count what became of each message id
    folder: str = "."  # paths of call sites are relative to it
    nowhere: str = "<input>"  # the site of a finding without a place in the code


@dataclass(slots=True, kw_only=True)
class Frames:
    """The tables that more than one result needs."""

    events: DataFrame
    deliveries: DataFrame
    messages: DataFrame
    entries: DataFrame
    verdicts: DataFrame
    too_large: int = 0  # roots that have too many messages to be replayed


def examine(
    session: SparkSession, tables: Frames, request: Request, row_counts: RowCounts | None = None
) -> Analysis:
    """Return the analysis of the tables."""
    counted = deliveries.count_events(tables.events).collect()
    return _Examination(session, tables, request, counted, _empty(counted, request, row_counts)).run()


def _empty(counted: Sequence[Row], request: Request, row_counts: RowCounts | None) -> Analysis:
    """Return an analysis with the counts, times and windows of the rows, and no verdict."""
    begin_ns = min((row["begin_ns"] for row in counted if row["kind"] != EventKind.NAMED), default=0)
    last_ns = max((row["end_ns"] for row in counted), default=0)
    rows = sum(row["rows"] for row in counted)
    silent = sum(row["rows"] for row in counted if row["kind"] in _WITHOUT_TUPLE)
    result = Analysis(
        acker=request.version.name,
        row_counts=replace(row_counts or RowCounts(files=0, rows=rows, used=rows), silent=silent),
        tally=RunTally(dropped=sum(row["missing"] for row in counted)),
        begin_ms=begin_ns / 1e6,
        end_ms=max((last_ns, *request.log_ends.values())) / 1e6,
        logged=any(row["logged"] for row in counted),
        missing=request.missing,
        gaps=request.gaps,
        window_ms=roots.window((last_ns - begin_ns) // 1_000_000, request.window_ms),
    )
    if request.window_ms not in (0, result.window_ms):
        seconds = result.window_ms // 1000
        result.notes += (
            f"windows of {request.window_ms:,} ms would be too many: they are {seconds:,} s wide",
        )
    return result


def _has(counted: Iterable[Row], *kinds: EventKind) -> bool:
    """Whether COUNTS has rows of one of these kinds."""
    return any(row["kind"] in kinds for row in counted)


@dataclass(slots=True)
class _Examination:
    """One examination; `patience_s` is the age to which a root may still complete."""

    session: SparkSession
    tables: Frames
    request: Request
    counted: Sequence[Row]  # COUNTS
    result: Analysis
    patience_s: int = field(init=False)

    def __post_init__(self) -> None:
        self.patience_s = self.request.patience_s

    def run(self) -> Analysis:
        """Judge components, roots and growth."""
        result, request, tables = self.result, self.request, self.tables
        violations = self._components() if self._has(EventKind.RECEIVED, EventKind.ACKED) else ()
        if result.logged:
            # a root is young while the slowest bolt may hold its tuples, or the slowest root took
            slowest_s = roots.slowest_s(tables.verdicts)
            self.patience_s = max(_longest_s(result.completions, request.patience_s), slowest_s)
        self._note(*self._notes_on_rotation())
        if tables.too_large:
            result.left_out += tables.too_large
            self._note(
                f"{tables.too_large:,} roots have more than {MOST_MESSAGES:,} messages each: not judged"
            )
        outages = Outages.of(
            request.log_ends,
            request.next_starts,
            ((run, start_ns) for run, _, _, start_ns in request.acker_restarts),
            self.patience_s,
            slow=self.patience_s > request.patience_s,
        )
        trees, lost = self._roots(outages.sql()) if self._has(*_TO_ACKER) else ((), dict[_Root, int]())
        judged = self._judgeable(self._without_lost(name_deliveries(trees, violations), lost))
        slow = judge_timeouts(
            tables.events if self._has(EventKind.LINKED) else None,
            tables.deliveries,
            tables.verdicts,
            result=result,
            timeout_s=request.timeout_s,
            lost=outages.sql(),
        )
        result.forecast = _forecast(result.tally.growth if result.ackers else (), request)
        self._find(violations, judged, slow)
        return result

    def _has(self, *kinds: EventKind) -> bool:
        return _has(self.counted, *kinds)

    def _note(self, *notes: str) -> None:
        self.result.notes += notes

    def _find(self, violations: Sequence[Violation], trees: Sequence[TupleTree], slow: Slow) -> None:
        """Add the findings, sorted by place."""
        request, nowhere = self.request, Site(self.request.nowhere, NOWHERE)
        places = Places(folder=request.folder, nowhere=request.nowhere)
        found = findings(violations, trees, profile=request.version, places=places, nowhere=nowhere)
        points = self.result.tally.growth if self._has(EventKind.INIT) else ()
        grown = growth_finding(points, profile=request.version, nowhere=nowhere, heap=request.heap)
        more = [] if grown is None else [grown]
        more += slow_findings(
            slow.trees,
            timeout_s=request.timeout_s,
            total=self.result.roots,
            paces=slow.paces,
            nowhere=nowhere,
        )
        self.result.findings = gathered([*found, *more]) if more else found

    # ---- components ----

    def _components(self) -> tuple[Violation, ...]:
        """Add the completions of components to the result, and return the violations in their deliveries."""
        tables, result = self.tables, self.result
        named = tables.events.where(F.col("kind") == int(EventKind.NAMED)).select("component", "note")
        judged, optional = tables.deliveries, dict[str, DataFrame]()
        if any(row["hides"] for row in self.counted):
            judged = deliveries.without_unobserved(judged, tables.events)
        if self._has(EventKind.WAITS):
            judged = deliveries.without_waiting(judged, tables.events)
        if self._has(EventKind.DIED):
            optional["deaths"] = deliveries.deaths(tables.events)
            judged = deliveries.without_dead(judged, optional["deaths"])
        if self.request.log_ends:
            marked = deliveries.mark_in_hand(judged, self.request.log_ends, self.request.patience_s)
            in_hand = marked.where("in_hand").groupBy("component", "run", "worker", "pid")
            optional["in_hand"] = in_hand.agg(F.count("*").alias("in_hand"))
            judged = marked.where("not in_hand").drop("in_hand")
        if not self._has(*_TO_ACKER):
            optional["open"] = deliveries.open_over_time(tables.deliveries, result.window_ms)
        irregular = deliveries.irregular(judged)
        rows = collect_together(
            shapes=deliveries.shapes(tables.events, irregular),
            bare=deliveries.shapes_of_bare_emits(tables.events),
            completions=deliveries.completions(tables.deliveries),
            named=named.distinct(),
            **optional,
        )
        deaths = (f"{row['component']}[{row['task']}] ended: {row['note']}" for row in rows.get("deaths", ()))
        self._note(*dict.fromkeys(deaths))
        result.completions = deliveries.completion_tables(rows["completions"], int(result.end_ms * 1e6))
        self._note_unjudged(rows)
        shapes, more = deliveries.limited(rows["shapes"])
        bare, more_bare = deliveries.limited(rows["bare"])
        if more_bare:
            self._note(f"only the {len(bare):,} most frequent calls that emit without anchors are judged")
        if more:
            self._note(_note_on_other_shapes(irregular, shapes))
        violations = deliveries.violations(self.session, tables.events, shapes, bare)
        self._tally(violations, rows)
        return violations

    def _note_unjudged(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Note the tuples in hand where a log ends, and the components that cannot be judged."""
        result = self.result
        in_hand: Counter[str] = Counter()
        for row in rows.get("in_hand", ()):
            in_hand[row["component"]] += row["in_hand"]
            result.taken |= deliveries.worker_process(row) in self.request.next_starts
        if in_hand:
            delivered: Counter[str] = Counter()
            for one in result.completions:
                delivered[one.component] += one.delivered
            result.unjudged = tuple(sorted(name for name in in_hand if in_hand[name] >= delivered[name]))
            own = [one for one in result.completions if one.component in in_hand]
            nothing = f", and so nothing of {', '.join(result.unjudged)}" if result.unjudged else ""
            self._note(
                f"{counted(in_hand.total(), 'tuple was', 'tuples were')} in hand where a log ends or its worker restarted, "
                f"for less than {_longest_s(own, self.request.patience_s)} s: not judged{nothing}"
            )
        notes = {row["component"]: unobserved(row["note"]) for row in rows["named"]}
        hidden = {name: why for name, why in sorted(notes.items()) if why}
        result.unjudged += tuple(hidden)
        self._note(*(f"not observed: {name}: {why}" for name, why in hidden.items()))

    def _tally(self, violations: Sequence[Violation], rows: Mapping[str, Sequence[Row]]) -> None:
        """Add each component's counts, the open deliveries over time, and replays to the result."""
        result = self.result
        dialects = {row["component"]: row["note"].partition(" ")[0] for row in rows["named"]}
        points, peaks = roots.points(rows.get("open", ()))
        tallies = deliveries.component_tallies(self.counted, result.completions, violations, dialects, peaks)
        result.tally = replace(
            result.tally,
            growth=points,
            components=tallies,
            pending=sum(one.pending for one in tallies),
            high_water=max((one.high_water for one in tallies), default=0),
        )
        if spouts := [one.component for one in tallies if one.emitted and not one.delivered]:
            replayed = roots.replays(self.tables.events, spouts).collect()
            result.replays = tuple(Replays(**row.asDict()) for row in replayed)
            if self.request.outcomes:
                answered = roots.outcomes(self.tables.events, spouts).collect()
                result.outcomes = tuple(Outcomes(**row.asDict()) for row in answered)

    # ---- roots ----

    def _roots(self, lost: str) -> tuple[tuple[TupleTree, ...], dict[_Root, int]]:
        """Add what became of the roots to the result; return samples of those that did not end well, and when lost ones began."""
        tables, result = self.tables, self.result
        end_ns = int(result.end_ms * 1e6)
        bad = verdicts.bad(tables.verdicts, end_ns, self.patience_s, lost)
        rows = collect_together(
            loads=roots.ackers(tables.entries),
            growth=roots.growth(tables.entries, result.window_ms),
            kinds=verdicts.kinds(tables.verdicts),
            latencies=roots.latencies(tables.entries, tables.messages),
            bad=verdicts.sampled(bad),
            ways=verdicts.ways(bad),
            **({"witnessed": roots.witnessed(tables.events)} if result.logged else {}),
        )
        loads = rows["loads"]
        points, peaks = roots.points(rows["growth"])
        result.roots = sum(row["roots"] for row in loads)
        result.ackers = roots.load_tables(loads, peaks)
        result.trees = roots.tree_counts(rows["kinds"])
        result.latencies = tuple(Latency(**row.asDict()) for row in rows["latencies"])
        for row in rows.get("witnessed", ()):
            self._note_missing_ackers(row)
        complete = not (result.missing or result.silent_ackers or result.gaps)
        handled = tables.deliveries if result.logged else None
        trees = explained(tables.events, handled, rows["bad"], rows["ways"], end_ns, complete=complete)
        if (more := sum(row["bad"] for row in rows["kinds"]) - len(trees)) > 0:
            self._note(
                f"{more:,} more roots that did not end well are only counted: --output-dir writes each (verdicts)"
            )
        largest = max((point.pending for point in points), default=0)
        result.tally = replace(
            result.tally,
            growth=points,
            trees=trees,
            completed=sum(row["acked"] for row in loads),
            pending=sum(row["pending"] for row in loads),
            high_water=largest if len(peaks) > 1 else max(peaks.values(), default=0),
        )
        self._single_roots(trees, verdicts.late(tables.verdicts, end_ns, self.patience_s, lost))
        return trees, {(row["run"], row["root"]): row["first_ns"] for row in rows["bad"] if row["lost"]}

    def _single_roots(self, trees: Sequence[TupleTree], late: DataFrame) -> None:
        """Add who holds `late` roots, timeouts in bursts, and the rows of some roots to the result."""
        tables, result = self.tables, self.result
        if self._has(EventKind.LINKED):
            never = tables.deliveries.where("acked + failed = 0 and not tick")
            rows = roots.uncompleted(tables.events, late, never).collect()
            result.uncompleted = tuple(Uncompleted(**row.asDict()) for row in rows)
        if self._has(EventKind.TIMED_OUT):
            result.combs = roots.combs(roots.timeouts(tables.events).collect())
        if chosen := roots.examples(trees, _MOST_TIMELINES):
            rows = roots.rows_of_roots(tables.events, [one.root for one in chosen]).collect()
            result.timelines = roots.timelines(chosen, rows)

    def _without_lost(self, trees: Sequence[TupleTree], lost: Mapping[_Root, int]) -> list[TupleTree]:
        """Return the trees that may be judged: neither young at the end of the input nor lost with a worker."""
        ends, next_starts = self.request.log_ends, self.request.next_starts
        restarted = {process: end for process, end in ends.items() if process in next_starts}
        outages = Outages.of(restarted, next_starts, (), self.patience_s)
        self.result.taken |= any(outages.contains(run, first_ns) for (run, _), first_ns in lost.items())
        old = [one for one in trees if not under_way(one, self.patience_s)]
        judged = [one for one in old if (one.run, one.root) not in lost]
        if excused := sum(one.roots for one in old) - sum(one.roots for one in judged):
            self._note(
                f"{counted(excused, 'root was', 'roots were')} young where a log ends or a worker restarted, "
                f"less than {self.patience_s} s away: not judged"
            )
        return judged

    # ---- what the input cannot show ----

    def _notes_on_rotation(self) -> Iterator[str]:
        """Yield notes if the rows leave open when this version's ackers rotate."""
        version, timeout_s = self.request.version, self.request.message_timeout_s
        if not self._has(EventKind.INIT, EventKind.ACK):
            return
        if version.forgets and self.request.ticks_disabled:
            yield (
                f"an acker says that it gets no ticks, so it never drops an entry, as {version.name} does: judge it with "
                "--acker-version 1.1.0, or 2.8-no-timeouts"
            )
        elif version.forgets and not self._has(EventKind.ROTATED) and timeout_s is None:
            yield (
                f"no row says when the acker rotated its map, as {version.name} does: without --message-timeout what it "
                "has forgotten counts as pending"
            )
        if version.engine is Engine.JSTORM and timeout_s is not None:
            yield "JStorm rotates after a message, not by the clock: an idle acker kept its entries for longer than this says"
        if version.engine is Engine.HERON and timeout_s is not None:
            yield "each stream manager counts its rotations from its own start: here they are counted from the first row"

    def _note_missing_ackers(self, row: Row) -> None:
        """Note if components handled clearly more roots than ackers received messages of; WITNESSED has estimates."""
        if row["handled"] > _CLEARLY * row["taken"] + _FEW:
            self.result.silent_ackers = True
            self._note(
                f"components handled about {row['handled']:,} roots, and ackers received messages of about {row['taken']:,}: the "
                "log of an acker is missing; give the logs of all workers"
            )

    def _judgeable(self, trees: Sequence[TupleTree]) -> Sequence[TupleTree]:
        """Return the trees that the logs are complete for; add notes on what they cannot show of the others."""
        result = self.result
        if not result.logged:
            return trees
        notes = list(self._notes_on_missing_lines())
        only_logs = all(row["logged"] for row in self.counted)  # a trace is judged as it is
        kept: list[TupleTree] = []
        unbegun: list[TupleTree] = []
        unknown = 0
        for tree in trees:
            lost = any(culprit.lost for culprit in tree.culprits)
            if only_logs and tree.verdict is Verdict.ORPHAN and not lost:
                unbegun.append(tree)
            elif (result.missing or result.silent_ackers or result.gaps) and unexplained(tree):
                unknown += tree.roots
            else:
                kept.append(tree)
        if unbegun:
            notes.append(self._note_on_unbegun(unbegun))
        if unknown:
            notes.append(
                f"{counted(unknown, 'root')} did not end well, and missing logs may say why: not judged"
            )
        result.notes = (*notes, *result.notes)
        return kept

    def _notes_on_missing_lines(self) -> Iterator[str]:
        """Yield notes on the tasks, and the ackers, of which no log has a line."""
        if missing := self.result.missing:
            more = len(missing) - _MOST_TASKS
            tasks = ", ".join(missing[:_MOST_TASKS]) + (f" and {more:,} more" if more > 0 else "")
            yield f"no line is of {tasks}: give the logs of all workers"
        logged = [row for row in self.counted if row["logged"]]
        rooted = [row for row in logged if row["rooted"]]  # without ackers, tuples have no roots
        if _has(rooted, *_OF_ROOTS) and not self._has(EventKind.INIT, EventKind.ACK, EventKind.FAIL):
            self.result.silent_ackers = True
            yield (
                "no line is of an acker: the logs do not say what became of the roots, only what components did; give the logs of "
                "all workers"
            )
        if not rooted and any(row["kind"] == EventKind.RECEIVED and not row["tick"] for row in logged):
            yield (
                "no tuple has a root id: the topology has no ackers, or its spouts emit without message ids, so Storm tracks no "
                "tuple, and a lost one leaves no trace here"
            )
        if _has(logged, EventKind.SENT) and not _has(logged, EventKind.RECEIVED):
            yield (
                "Storm 0.9 does not log which task receives and acks a tuple: roots are judged by what ackers received and by the "
                "acks that were sent"
            )

    def _note_on_unbegun(self, trees: Collection[TupleTree]) -> str:
        """A log that begins in the middle has acks of roots that began before, but only for a message timeout."""
        result = self.result
        until_ms = result.begin_ms + self.patience_s * 1000
        late = any(tree.entry is not None and result.end_ms - tree.entry.age_ms > until_ms for tree in trees)
        orphans = sum(kind.roots for kind in result.trees if kind.verdict == Verdict.ORPHAN.value)
        result.unbegun = late or orphans >= result.roots
        count = counted(sum(tree.roots for tree in trees), "root has", "roots have")
        note = f"{count} acks and no __ack_init: they began before the logs, or elsewhere"
        if not result.unbegun:
            return f"{note}: not judged"
        return (
            f"{note}; give the logs of all workers from their start. If the acker's log is complete, __ack_init never reaches it: "
            "look at the connections from the workers of the spouts"
        )


def _longest_s(found: Iterable[Completions], least: int) -> int:
    """Return the longest time, in whole seconds, that one of these held a completed tuple, or `least` if that is longer."""
    return max([least, *(ceil(row.max_ms / 1000) for row in found)])


def _note_on_other_shapes(irregular: DataFrame, judged: Collection[Row]) -> str:
    """Return the note on the deliveries that have other shapes than those that are `judged`."""
    left = Counter(
        {row["component"]: row["count"] for row in irregular.groupBy("component").count().collect()}
    )
    for row in judged:
        left[row["component"]] -= row["deliveries"]
    most = [f"{count:,} of {name}" for name, count in left.most_common(_MOST_NAMED) if count]
    return (
        f"{left.total():,} more deliveries ({', '.join(most)}) have other shapes than the {len(judged):,} that are judged, and may be "
        "wrong: --output-dir writes each (deliveries)"
    )


def _forecast(points: Sequence[GrowthPoint], request: Request) -> Forecast | None:
    """Return the straight line through the sizes of the map, and when it fills the heap."""
    if len(points) < _FEWEST_POINTS:
        return None
    line = trend(points)
    size = entry_bytes(request.version, orphan=points[-1].orphans * 2 > points[-1].pending)
    grows = size is not None and line.per_second > 0 and line.fit >= _STRAIGHT
    return Forecast(
        per_second=line.per_second,
        fit=line.fit,
        entry_bytes=size,
        heap=request.heap,
        full_in=filled_in(line.per_second * size, request.heap) if grows and size is not None else None,
    )
