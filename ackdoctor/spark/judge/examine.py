"""The tables of an input -> an Analysis: components, roots, then the findings; only counts and samples reach the driver."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import NEWEST, AckerVersion
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import EventKind, RunTally, TupleTree, Violation
from ackdoctor.spark import deliveries, roots
from ackdoctor.spark.deliveries import Ends, Life
from ackdoctor.spark.frames import Frames, collect_together
from ackdoctor.spark.judge import collect, components, samples
from ackdoctor.spark.judge.culprits import explained, name_deliveries
from ackdoctor.spark.judge.findings import (
    all_findings,
    forecast,
    has,
    judgeable,
    note_missing_ackers,
    notes_on_rotation,
)
from ackdoctor.spark.judge.samples import Outages
from ackdoctor.spark.judge.timeouts import judge_timeouts
from ackdoctor.spark.read.logs import Survey
from ackdoctor.spark.replay.exact import MOST_MESSAGES
from ackdoctor.spark.tables import Analysis, Books
from ackdoctor.tracer.acker_findings import WORKER_HEAP, under_way
from ackdoctor.tracer.sites import Places

__all__ = ["Terms", "examine"]

_MOST_LIVES = 20
_WITHOUT_TUPLE = (EventKind.NAMED, EventKind.ROTATED, EventKind.DIED, EventKind.DROPPED)
_MESSAGES = range(int(EventKind.INIT), int(EventKind.ROTATED) + 1)
_Root: TypeAlias = tuple[str, int]  # its run and its id


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Terms:
    """How to judge.  Times in seconds, `heap` in bytes; `window_ms` 0 chooses a window that makes a good curve."""

    version: AckerVersion = NEWEST
    message_timeout_s: int | None = None  # by which ackers rotate, if no row says when
    timeout_s: int | None = None  # the message timeout, if it is known
    patience_s: int = 30  # Storm's default message timeout: a younger root may still complete
    window_ms: int = 0
    heap: int = WORKER_HEAP
    ackers: int = 1
    ticks_disabled: bool = False  # an acker said that it gets no ticks
    log_ends: tuple[tuple[Life, int], ...] = ()  # `Opened.ends`
    next_starts: tuple[tuple[Life, int], ...] = ()  # `Restarts.next_starts`
    acker_restarts: tuple[tuple[str, int, int, int], ...] = ()  # `Restarts.of_ackers`
    missing: tuple[str, ...] = ()  # `Opened.missing`
    constants: tuple[
        tuple[str, str], ...
    ] = ()  # columns of the roots' key that are the same in every row, as SQL
    folder: str = "."  # paths of call sites are relative to it
    nowhere: str = "<input>"  # the site of a finding without a place in the code

    def with_timeout_of(self, survey: Survey, *, only_logs: bool) -> tuple["Terms", tuple[str, ...]]:
        """Return the terms with the message timeout that the logs name, and notes where it is in doubt.

        The logs override the option, unless they name several timeouts.  Ticks in a log override a schedule.
        """
        known, option = survey.timeouts_s, self.message_timeout_s
        notes = []
        setting = "the logs say topology.message.timeout.secs is"
        if len(known) == 1:
            timeout_s: int | None = known[0]
            if option not in (None, timeout_s):
                notes.append(f"{setting} {timeout_s}: --message-timeout {option} is not used")
        elif known:
            timeout_s = option or max(known)
            *others, last = map(str, known)
            chosen = "the longest" if option is None else f"--message-timeout {option}"
            notes.append(f"{setting} {', '.join(others)} or {last}: {chosen} is used")
        else:
            timeout_s = option
        return replace(
            self,
            message_timeout_s=None if option is None or (survey.ticks_s and only_logs) else timeout_s,
            timeout_s=timeout_s,
            patience_s=timeout_s or self.patience_s,
        ), tuple(notes)


def examine(session: SparkSession, tables: Frames, terms: Terms, books: Books | None = None) -> Analysis:
    """Return the analysis of the tables."""
    counted = deliveries.count_events(tables.events).collect()
    result = _empty(counted, terms, books)
    ends = dict(terms.log_ends)
    violations = (
        _judge_components(session, tables, terms, result, counted, ends)
        if has(counted, EventKind.RECEIVED, EventKind.ACKED)
        else ()
    )
    known_s = terms.patience_s
    if result.logged:  # a root is young while the slowest bolt may hold its tuples, or the slowest root took
        held_s = collect.longest_s(result.completions, terms.patience_s)
        terms = replace(terms, patience_s=max(held_s, roots.slowest_s(tables.verdicts)))
    result.notes += tuple(
        notes_on_rotation(
            counted, terms.version, terms.message_timeout_s, ticks_disabled=terms.ticks_disabled
        )
    )
    if tables.too_large:
        result.left_out += tables.too_large
        result.notes += (
            f"{tables.too_large:,} roots have more than {MOST_MESSAGES:,} messages each: not judged",
        )
    restarts = ((run, start_ns) for run, _, _, start_ns in terms.acker_restarts)
    outages = Outages.of(
        ends, dict(terms.next_starts), restarts, terms.patience_s, slow=terms.patience_s > known_s
    )
    trees, lost = (
        _judge_roots(tables, terms, result, counted, outages.sql())
        if any(row["kind"] in _MESSAGES for row in counted)
        else ((), dict[_Root, int]())
    )
    judged = _without_lost(result, terms, trees, violations, lost)
    judged = judgeable(result, judged, counted, terms.patience_s)
    slow = judge_timeouts(
        tables.events if has(counted, EventKind.LINKED) else None,
        tables.deliveries,
        tables.verdicts,
        result=result,
        timeout_s=terms.timeout_s,
        lost=outages.sql(),
    )
    result.forecast = forecast(result.tally.growth if result.ackers else (), terms.version, terms.heap)
    result.findings = all_findings(
        violations,
        judged,
        result.tally.growth if has(counted, EventKind.INIT) else (),
        profile=terms.version,
        places=Places(folder=terms.folder, nowhere=terms.nowhere),
        nowhere=Site(terms.nowhere, NOWHERE),
        heap=terms.heap,
        slow=slow,
    )
    return result


def _empty(counted: Sequence[Row], terms: Terms, books: Books | None) -> Analysis:
    """Return an analysis with the counts, times and windows of the rows, and no verdict."""
    begin_ns = min((row["begin_ns"] for row in counted if row["kind"] != EventKind.NAMED), default=0)
    last_ns = max((row["end_ns"] for row in counted), default=0)
    end_ns = max((last_ns, *(end for _, end in terms.log_ends)))
    rows = sum(row["rows"] for row in counted)
    silent = sum(row["rows"] for row in counted if row["kind"] in _WITHOUT_TUPLE)
    result = Analysis(
        acker=terms.version.name,
        books=replace(books or Books(files=0, rows=rows, used=rows), silent=silent),
        tally=RunTally(dropped=sum(row["missing"] for row in counted)),
        begin_ms=begin_ns / 1e6,
        end_ms=end_ns / 1e6,
        logged=any(row["logged"] for row in counted),
        missing=terms.missing,
        window_ms=collect.window((last_ns - begin_ns) // 1_000_000, terms.window_ms),
    )
    if terms.window_ms not in (0, result.window_ms):
        result.notes += (
            f"windows of {terms.window_ms:,} ms would be too many: they are {result.window_ms // 1000:,} s wide",
        )
    return result


# ---- components ----


def _judge_components(
    session: SparkSession,
    tables: Frames,
    terms: Terms,
    result: Analysis,
    counted: Sequence[Row],
    log_ends: Ends,
) -> tuple[Violation, ...]:
    """Add the completions of components to the result, and return the violations in their deliveries."""
    named = tables.events.where(F.col("kind") == int(EventKind.NAMED)).select("component", "note").distinct()
    judged, optional = _completable(tables, counted), dict[str, DataFrame]()
    if has(counted, EventKind.DIED):
        optional["deaths"] = deliveries.deaths(tables.events)
        judged = deliveries.without_dead(judged, optional["deaths"])
    if log_ends:
        marked = deliveries.mark_in_hand(judged, log_ends, terms.patience_s)
        optional["in_hand"] = deliveries.count_in_hand(marked)
        judged = marked.where("not in_hand").drop("in_hand")
    if not any(row["kind"] in _MESSAGES for row in counted):
        optional["open"] = deliveries.open_over_time(tables.deliveries, result.window_ms)
    irregular = deliveries.irregular(judged)
    rows = collect_together(
        shapes=components.shapes(tables.events, irregular),
        bare=components.shapes_of_bare_emits(tables.events),
        completions=deliveries.completions(tables.deliveries),
        named=named,
        **optional,
    )
    result.notes += tuple(dict.fromkeys(map(collect.death, rows.get("deaths", ()))))
    result.completions = collect.completions(rows["completions"], int(result.end_ms * 1e6))
    _note_unjudged(result, terms, rows)
    shapes, more = components.limited(rows["shapes"])
    bare, more_bare = components.limited(rows["bare"])
    if more_bare:
        result.notes += (f"only the {len(bare):,} most frequent calls that emit without anchors are judged",)
    if more:
        by_component = irregular.groupBy("component").count().collect()
        result.notes += (collect.note_other_shapes(by_component, shapes),)
    found = components.violations(session, tables.events, shapes, bare)
    _tally_components(tables, result, counted, found, rows)
    return found


def _completable(tables: Frames, counted: Sequence[Row]) -> DataFrame:
    """Return DELIVERIES without those whose completion a mock hides, and those that a batch was still to complete."""
    found = tables.deliveries
    if any(row["hides"] for row in counted):
        found = deliveries.without_unobserved(found, tables.events)
    if has(counted, EventKind.WAITS):
        found = deliveries.without_waiting(found, tables.events)
    return found


def _note_unjudged(result: Analysis, terms: Terms, rows: Mapping[str, Sequence[Row]]) -> None:
    """Note the tuples in hand where a log ends, and the components that cannot be judged."""
    if in_hand := collect.in_hand_by_component(rows.get("in_hand", ())):
        restarted = dict(terms.next_starts).keys()
        result.taken = not restarted.isdisjoint(map(deliveries.life, rows["in_hand"]))
        result.unjudged = collect.unjudged(result.completions, in_hand)
        own = (row for row in result.completions if row.component in in_hand)
        patience_s = collect.longest_s(own, terms.patience_s)
        result.notes += (collect.note_in_hand(sum(in_hand.values()), patience_s, result.unjudged),)
    hidden = collect.hidden(rows["named"])
    result.unjudged += tuple(hidden)
    result.notes += tuple(f"not observed: {name}: {why}" for name, why in hidden.items())


def _tally_components(
    tables: Frames,
    result: Analysis,
    counted: Sequence[Row],
    found: Sequence[Violation],
    rows: Mapping[str, Sequence[Row]],
) -> None:
    """Add each component's counts, the open deliveries over time, and replays to the result."""
    dialects = {row["component"]: row["note"].partition(" ")[0] for row in rows["named"]}
    violations: Counter[str] = Counter()
    for violation in found:
        violations[violation.traced.name] += violation.count
    points, peaks = collect.points(rows.get("open", ()))
    tallies = collect.components(counted, result.completions, violations, dialects, peaks)
    result.tally = replace(result.tally, growth=points, **collect.open_figures(tallies))
    spouts = [one.component for one in tallies if one.emitted and not one.delivered]
    if spouts:
        result.replays = collect.replays(roots.replays(tables.events, spouts).collect())


# ---- roots ----


def _judge_roots(
    tables: Frames, terms: Terms, result: Analysis, counted: Sequence[Row], lost: str
) -> tuple[tuple[TupleTree, ...], dict[_Root, int]]:
    """Add what became of the roots to the result; return samples of those that did not end well, and when lost ones began."""
    end_ns = int(result.end_ms * 1e6)
    bad = samples.bad(tables.verdicts, end_ns, terms.patience_s, lost)
    rows = collect_together(
        loads=roots.ackers(tables.entries),
        growth=roots.growth(tables.entries, result.window_ms),
        kinds=samples.kinds(tables.verdicts),
        spouts=roots.spouts(tables.messages),
        latencies=roots.latencies(tables.entries),
        bad=samples.sampled(bad),
        ways=samples.ways(bad),
        **({"witnessed": roots.witnessed(tables.events)} if result.logged else {}),
    )
    loads = rows["loads"]
    points, peaks = collect.points(rows["growth"])
    result.roots = sum(row["roots"] for row in loads)
    result.ackers = collect.loads(loads, peaks)
    result.trees = collect.kinds(rows["kinds"])
    spouts = {row["task"]: row["component"] for row in rows["spouts"]}
    result.latencies = collect.latencies(rows["latencies"], spouts)
    if result.logged:
        result.notes += tuple(note_missing_ackers(result, rows["witnessed"][0]))
    complete = not (result.missing or result.silent_ackers)
    handled = tables.deliveries if result.logged else None
    trees = explained(tables.events, handled, rows["bad"], rows["ways"], end_ns, complete=complete)
    result.notes += tuple(samples.note_of_rest(rows["kinds"], len(trees)))
    largest = max((point.pending for point in points), default=0)
    result.tally = replace(
        result.tally,
        growth=points,
        trees=trees,
        completed=sum(row["acked"] for row in loads),
        pending=sum(row["pending"] for row in loads),
        high_water=largest if len(peaks) > 1 else max(peaks.values(), default=0),
    )
    if has(counted, EventKind.LINKED):
        late = samples.late(tables.verdicts, end_ns, terms.patience_s, lost)
        never = tables.deliveries.where("acked + failed = 0 and not tick")
        result.holders = collect.holders(roots.holders(tables.events, late, never).collect())
    if has(counted, EventKind.TIMED_OUT):
        result.combs = collect.combs(roots.timeouts(tables.events).collect())
    if chosen := collect.examples(trees, _MOST_LIVES):
        lives = roots.lives(tables.events, [one.root for one in chosen]).collect()
        result.lives = collect.lives(chosen, lives)
    return trees, {(row["run"], row["root"]): row["first_ns"] for row in rows["bad"] if row["lost"]}


def _without_lost(
    result: Analysis,
    terms: Terms,
    trees: Sequence[TupleTree],
    violations: Sequence[Violation],
    lost: Mapping[_Root, int],
) -> list[TupleTree]:
    """Return the trees that may be judged: neither young at the end of the input nor lost with a worker."""
    ends, next_starts = dict(terms.log_ends), dict(terms.next_starts)
    restarted = {life: ends[life] for life in ends if life in next_starts}
    outages = Outages.of(restarted, next_starts, (), terms.patience_s)
    result.taken |= any(outages.contains(run, first_ns) for (run, _), first_ns in lost.items())
    old = [one for one in name_deliveries(trees, violations) if not under_way(one, terms.patience_s)]
    judged = [one for one in old if (one.run, one.root) not in lost]
    if excused := sum(one.roots for one in old) - sum(one.roots for one in judged):
        result.notes += (collect.note_lost(excused, terms.patience_s),)
    return judged
