"""The tables of an input -> an Analysis: components, roots, then the findings; only counts and samples reach the driver."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import NEWEST, AckerVersion, Engine
from ackdoctor.model.finding import Finding
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import EventKind, GrowthPoint, RunTally, TupleTree, Verdict, Violation
from ackdoctor.spark import collect, deliveries, roots, verdicts
from ackdoctor.spark.causes import Slow, explained, judge_timeouts, name_deliveries, unexplained
from ackdoctor.spark.deliveries import Ends, Life
from ackdoctor.spark.logs import Survey
from ackdoctor.spark.replay import MOST_MESSAGES
from ackdoctor.spark.session import Frames, collect_together
from ackdoctor.spark.tables import Analysis, Books, Forecast
from ackdoctor.spark.verdicts import Outages
from ackdoctor.tracer.acker_findings import (
    WORKER_HEAP,
    entry_bytes,
    filled_in,
    growth_finding,
    trend,
    under_way,
)
from ackdoctor.tracer.findings import findings, gathered
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.timeouts import slow_findings

__all__ = [
    "Terms",
    "all_findings",
    "examine",
    "forecast",
    "has",
    "judgeable",
    "note_missing_ackers",
    "notes_on_rotation",
]


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
        shapes=deliveries.shapes(tables.events, irregular),
        bare=deliveries.shapes_of_bare_emits(tables.events),
        completions=deliveries.completions(tables.deliveries),
        named=named,
        **optional,
    )
    result.notes += tuple(dict.fromkeys(map(collect.death, rows.get("deaths", ()))))
    result.completions = collect.completions(rows["completions"], int(result.end_ms * 1e6))
    _note_unjudged(result, terms, rows)
    shapes, more = deliveries.limited(rows["shapes"])
    bare, more_bare = deliveries.limited(rows["bare"])
    if more_bare:
        result.notes += (f"only the {len(bare):,} most frequent calls that emit without anchors are judged",)
    if more:
        by_component = irregular.groupBy("component").count().collect()
        result.notes += (collect.note_other_shapes(by_component, shapes),)
    found = deliveries.violations(session, tables.events, shapes, bare)
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
    bad = verdicts.bad(tables.verdicts, end_ns, terms.patience_s, lost)
    rows = collect_together(
        loads=roots.ackers(tables.entries),
        growth=roots.growth(tables.entries, result.window_ms),
        kinds=verdicts.kinds(tables.verdicts),
        spouts=roots.spouts(tables.messages),
        latencies=roots.latencies(tables.entries),
        bad=verdicts.sampled(bad),
        ways=verdicts.ways(bad),
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
    result.notes += tuple(verdicts.note_of_rest(rows["kinds"], len(trees)))
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
        late = verdicts.late(tables.verdicts, end_ns, terms.patience_s, lost)
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


_FEWEST_POINTS = 3
_STRAIGHT = 0.9  # R2 below which a line predicts nothing
_MOST_NAMED = 10  # tasks
_CLEARLY, _FEW = 1.25, 5  # estimates are off by a twentieth
_OF_ROOTS = (
    *(EventKind.LINKED, EventKind.SENT, EventKind.EMITTED),
    *(EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT),
)


def has(counted: Iterable[Row], *kinds: EventKind) -> bool:
    """Whether COUNTS has rows of one of these kinds."""
    return any(row["kind"] in kinds for row in counted)


# ---- findings ----


def all_findings(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree],
    points: Sequence[GrowthPoint],
    *,
    profile: AckerVersion,
    places: Places,
    nowhere: Site,
    heap: int,
    slow: Slow,
) -> tuple[Finding, ...]:
    """Return all findings, sorted by place."""
    found = findings(violations, trees, profile=profile, places=places, nowhere=nowhere)
    grown = growth_finding(points, profile=profile, nowhere=nowhere, heap=heap)
    more = [] if grown is None else [grown]
    more += slow_findings(
        slow.trees, timeout_s=slow.timeout_s, total=slow.roots, paces=slow.paces, nowhere=nowhere
    )
    return gathered([*found, *more]) if more else found


def forecast(points: Sequence[GrowthPoint], profile: AckerVersion, heap: int) -> Forecast | None:
    """Return the straight line through the sizes of the map, and when it fills a heap of that many bytes."""
    if len(points) < _FEWEST_POINTS:
        return None
    line = trend(points)
    size = entry_bytes(profile, orphan=points[-1].orphans * 2 > points[-1].pending)
    grows = size is not None and line.per_second > 0 and line.fit >= _STRAIGHT
    return Forecast(
        per_second=line.per_second,
        fit=line.fit,
        entry_bytes=size,
        heap=heap,
        full_in=filled_in(line.per_second * size, heap) if grows and size is not None else None,
    )


# ---- what the input cannot show ----


def notes_on_rotation(
    counted: Collection[Row], version: AckerVersion, message_timeout_s: int | None, *, ticks_disabled: bool
) -> Iterator[str]:
    """Yield notes if the rows of COUNTS leave open when this version's ackers rotate."""
    if not has(counted, EventKind.INIT, EventKind.ACK):
        return
    ticks = has(counted, EventKind.ROTATED)
    if version.forgets and ticks_disabled:
        yield (
            f"an acker says that it gets no ticks, so it never drops an entry, as {version.name} does: judge it with "
            "--acker-version 1.1.0, or 2.8-no-timeouts"
        )
    elif version.forgets and not ticks and message_timeout_s is None:
        yield (
            f"no row says when the acker rotated its map, as {version.name} does: without --message-timeout what it "
            "has forgotten counts as pending"
        )
    if version.engine is Engine.JSTORM and message_timeout_s is not None:
        yield "JStorm rotates after a message, not by the clock: an idle acker kept its entries for longer than this says"
    if version.engine is Engine.HERON and message_timeout_s is not None:
        yield "each stream manager counts its rotations from its own start: here they are counted from the first row"


# ---- what is missing in logs ----


def note_missing_ackers(result: Analysis, row: Row) -> Iterator[str]:
    """Yield a note if components handled clearly more roots than ackers received messages of; WITNESSED has estimates."""
    if row["handled"] > _CLEARLY * row["taken"] + _FEW:
        result.silent_ackers = True
        yield (
            f"components handled about {row['handled']:,} roots, and ackers received messages of about {row['taken']:,}: the "
            "log of an acker is missing; give the logs of all workers"
        )


def judgeable(
    result: Analysis, trees: Iterable[TupleTree], counted: Collection[Row], patience_s: int
) -> list[TupleTree]:
    """Return the trees that the logs are complete for; add notes on what they cannot show of the others."""
    if not result.logged:
        return list(trees)
    notes = list(_notes_on_missing_lines(result, counted))
    only_logs = all(row["logged"] for row in counted)  # a trace is judged as it is
    kept: list[TupleTree] = []
    unbegun: list[TupleTree] = []
    unknown = 0
    for tree in trees:
        lost = any(culprit.lost for culprit in tree.culprits)
        if only_logs and tree.verdict is Verdict.ORPHAN and not lost:
            unbegun.append(tree)
        elif (result.missing or result.silent_ackers) and unexplained(tree):
            unknown += tree.roots
        else:
            kept.append(tree)
    if unbegun:
        notes.append(_note_on_unbegun(result, unbegun, patience_s))
    if unknown:
        notes.append(f"{_roots(unknown)} did not end well, and missing logs may say why: not judged")
    result.notes = (*notes, *result.notes)
    return kept


def _notes_on_missing_lines(result: Analysis, counted: Collection[Row]) -> Iterator[str]:
    """Yield notes on the tasks, and the ackers, of which no log has a line."""
    if result.missing:
        named = result.missing[:_MOST_NAMED]
        more = len(result.missing) - len(named)
        tasks = ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
        yield f"no line is of {tasks}: give the logs of all workers"
    logged = [row for row in counted if row["logged"]]
    rooted = [row for row in logged if row["rooted"]]  # without ackers, tuples have no roots
    if has(rooted, *_OF_ROOTS) and not has(counted, EventKind.INIT, EventKind.ACK, EventKind.FAIL):
        result.silent_ackers = True
        yield (
            "no line is of an acker: the logs do not say what became of the roots, only what components did; give the logs of "
            "all workers"
        )
    if has(logged, EventKind.SENT) and not has(logged, EventKind.RECEIVED):
        yield (
            "Storm 0.9 does not log which task receives and acks a tuple: roots are judged by what ackers received and by the "
            "acks that were sent"
        )


def _note_on_unbegun(result: Analysis, trees: Collection[TupleTree], patience_s: int) -> str:
    """A log that begins in the middle has acks of roots that began before, but only for a message timeout."""
    roots = sum(tree.roots for tree in trees)
    until_ms = result.begin_ms + patience_s * 1000
    late = sum(
        tree.roots
        for tree in trees
        if tree.entry is not None and result.end_ms - tree.entry.age_ms > until_ms
    )
    orphans = sum(kind.roots for kind in result.trees if kind.verdict == Verdict.ORPHAN.value)
    result.unbegun = bool(late) or orphans >= result.roots
    note = f"{_roots(roots, 'has', 'have')} acks and no __ack_init: they began before the logs, or elsewhere"
    if not result.unbegun:
        return f"{note}: not judged"
    return (
        f"{note}; give the logs of all workers from their start. If the acker's log is complete, __ack_init never reaches it: "
        "look at the connections from the workers of the spouts"
    )


def _roots(count: int, one: str = "", many: str = "") -> str:
    return f"1 root {one}".rstrip() if count == 1 else f"{count:,} roots {many}".rstrip()
