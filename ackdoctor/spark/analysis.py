"""The one door of `ackdoctor analyze`: from events to an Analysis, and to the full tables on disk.

    EVENTS ──> DELIVERIES ──> shapes ──> violations ──────────┐
       └─────> MESSAGES ──> ENTRIES ──> VERDICTS ──> trees ─┴─> findings, with the words of lint and trace
                               └──────> growth, latency, load of the ackers

What comes back to the driver is small: counts, and the first few of everything that went wrong.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.verdict import RunTally, TupleTree
from ackdoctor.model.violation import Violation
from ackdoctor.spark import deliveries, growth, roots
from ackdoctor.spark.frames import Cache
from ackdoctor.spark.judge import collecting, expiry, partial, samples
from ackdoctor.spark.judge import shapes as ways
from ackdoctor.spark.judge.blame import explained, traced
from ackdoctor.spark.judge.doubts import doubts, has
from ackdoctor.spark.judge.findings import forecast, judged
from ackdoctor.spark.judge.lost import Ends
from ackdoctor.spark.judge.offences import violations
from ackdoctor.spark.judge.shapes import bare, shapes
from ackdoctor.spark.opening import opened
from ackdoctor.spark.output import TABLES, need_place, place
from ackdoctor.spark.read import notes
from ackdoctor.spark.read.inputs import Inputs, resolved
from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.paths import near, unescaped
from ackdoctor.spark.read.sound import sifted
from ackdoctor.spark.read.traces import constant_columns
from ackdoctor.spark.replay.exact import MOST_MESSAGES, expired_by_restarts, replay
from ackdoctor.spark.replay.messages import messages
from ackdoctor.spark.replay.verdicts import verdicts
from ackdoctor.spark.tables import Analysis, Books
from ackdoctor.spark.terms import Terms
from ackdoctor.tracer.judge.acker import under_way
from ackdoctor.tracer.judge.places import Places

__all__ = ["Frames", "Terms", "analyze", "examine", "frames", "written"]

_MOST_LIVES = 20
_SILENT = (EventKind.NAMED, EventKind.ROTATED, EventKind.DIED, EventKind.DROPPED)  # tell of no tuple
_Root: TypeAlias = tuple[str, int]  # its run, and its id
_MESSAGES = range(int(EventKind.INIT), int(EventKind.ROTATED) + 1)


@dataclass(slots=True, kw_only=True)
class Frames:
    """The tables that more than one figure is made of."""

    events: DataFrame
    deliveries: DataFrame
    messages: DataFrame
    entries: DataFrame
    verdicts: DataFrame
    too_large: int = 0  # roots that have too many messages to be replayed


def analyze(
    inputs: Inputs, *, session: SparkSession, terms: Terms, output_dir: str | None = None
) -> Analysis:
    """Everything that the inputs have to say; UsageError where nothing can be read.

    With `output_dir` the full tables are written below it as Parquet.  Where Spark fails at a file it is put aside,
    and all is done again with the others.
    """
    inputs = resolved(session, inputs)
    inputs.need_some(terms.folder)
    if output_dir is not None:
        need_place(session, inputs, output_dir)
    try:
        return _analyzed(inputs, session, terms, output_dir)
    except (Py4JJavaError, PySparkException):
        flawed = sifted(session, inputs.files)
        if not flawed:
            raise
        for file, reason in flawed.items():
            inputs.fault(file, reason)
    inputs.need_some(terms.folder)
    return _analyzed(inputs, session, terms, output_dir)


def _analyzed(inputs: Inputs, session: SparkSession, terms: Terms, output_dir: str | None) -> Analysis:
    def shown(said: str) -> str:
        return near(said, terms.folder)

    def shown_log(uri: str) -> str:
        return shown(unescaped(uri))

    with opened(session, inputs) as source:
        surveyed, lives = source.surveyed, Lives(source.surveyed)
        terms, contradictions = terms.timed(surveyed, only_logs=not source.trace_files)
        terms = replace(
            terms,
            ackers=max(1, surveyed.ackers),
            timeless=surveyed.ticks_disabled,
            log_ends=tuple(source.ends(lives, inputs.ended).items()),
            followed=tuple(lives.followed().items()),
            forgotten=tuple(lives.forgotten()),
            missing=source.missing,
            constants=tuple(constant_columns(inputs.files).items()),
        )
        with frames(source.events, terms) as tables:
            result = examine(session, tables, terms, source.books())
            if output_dir is not None:
                result.written = written(tables, result, output_dir)
        result.quarantine = tuple(replace(row, file=shown_log(row.file)) for row in source.refused)
    result.unreadable = tuple(replace(each, path=shown(each.path)) for each in inputs.unreadable)
    result.files = tuple(shown(name) for names in inputs.files.values() for name in names)
    result.passed_over = (
        *((shown(each.path), shown(each.reason)) for each in inputs.passed_over),
        *notes.copies(surveyed, shown_log),
    )
    result.left_out = surveyed.left_out
    result.messages_dropped = surveyed.passed.dropped
    result.notes += (
        *contradictions,
        *collecting.timed_out(result),
        *notes.started_anew(lives, shown_log),
        *notes.put_together(surveyed, shown_log),
        *notes.passed_over(result.passed_over),
        *notes.told_twice(surveyed, shown_log),
    )
    return result


@contextmanager
def frames(events: DataFrame, terms: Terms) -> Iterator[Frames]:
    """Every table, kept for as long as the analysis takes; none is computed yet but the proof of a large one."""
    with Cache() as keep:
        taken = messages(events, ackers=terms.ackers)
        told = replay(
            taken,
            terms.version,
            message_timeout_s=terms.message_timeout_s,
            constants=dict(terms.constants),
            persist=keep,
        )
        told.entries = expired_by_restarts(told.entries, terms.forgotten)
        yield Frames(
            events=events,
            deliveries=keep(deliveries.deliveries(events)),
            messages=taken,
            entries=told.entries,
            verdicts=verdicts(told, keep),
            too_large=told.too_large,
        )


def examine(session: SparkSession, tables: Frames, terms: Terms, books: Books | None = None) -> Analysis:
    """Everything there is to say; `tables` as `frames` has them."""
    counted = deliveries.counts(tables.events).collect()
    result = _empty(counted, terms, books)
    ends, followed = dict(terms.log_ends), dict(terms.followed)
    found = (
        _of_components(session, tables, terms, result, counted, ends)
        if has(counted, EventKind.RECEIVED, EventKind.ACKED)
        else ()
    )
    known_s = terms.patience_s
    if (
        result.logged
    ):  # a root is young for as long as the slowest bolt may hold its tuples, and the slowest root took
        held_s = collecting.longest_s(result.completions, terms.patience_s)
        terms = replace(terms, patience_s=max(held_s, roots.slowest_s(tables.verdicts)))
    result.notes += tuple(doubts(counted, terms.version, terms.message_timeout_s, timeless=terms.timeless))
    started = ((run, start_ns) for run, _, _, start_ns in terms.forgotten)
    lost = Ends.of(ends, followed, started, terms.patience_s, slow=terms.patience_s > known_s)
    if tables.too_large:
        result.left_out += tables.too_large
        result.notes += (
            f"{tables.too_large:,} roots have more than {MOST_MESSAGES:,} messages each: not judged",
        )
    trees, excused = (
        _of_roots(tables, terms, result, counted, lost.sql())
        if any(row["kind"] in _MESSAGES for row in counted)
        else ((), dict[_Root, int]())
    )
    died = Ends.of({life: ends[life] for life in ends if life in followed}, followed, (), terms.patience_s)
    result.taken |= any(died.hold(run, first_ns) for (run, _), first_ns in excused.items())
    asked = [one for one in traced(trees, found) if not under_way(one, terms.patience_s)]
    charged = [one for one in asked if (one.run, one.root) not in excused]
    if gone := sum(one.roots for one in asked) - sum(one.roots for one in charged):
        result.notes += (collecting.lost(gone, terms.patience_s),)
    charged = partial.judged(result, charged, counted, terms.patience_s)
    events = tables.events if has(counted, EventKind.LINKED) else None
    slow = expiry.judged(
        events, tables.deliveries, tables.verdicts, result=result, timeout_s=terms.timeout_s, lost=lost.sql()
    )
    keeper = terms.version
    result.forecast = forecast(result.tally.growth if result.ackers else (), keeper, terms.heap)
    result.findings = judged(
        found,
        charged,
        result.tally.growth if has(counted, EventKind.INIT) else (),
        keeper=keeper,
        places=Places(folder=terms.folder, nowhere=terms.nowhere),
        nowhere=Site(terms.nowhere, NOWHERE),
        heap=terms.heap,
        slow=slow,
    )
    return result


def _empty(counted: Sequence[Row], terms: Terms, books: Books | None) -> Analysis:
    """Return an analysis with the books, times and windows of the rows, and no verdict."""
    begin_ns = min((row["begin_ns"] for row in counted if row["kind"] != EventKind.NAMED), default=0)
    last_ns = max((row["end_ns"] for row in counted), default=0)
    end_ns = max((last_ns, *(end for _, end in terms.log_ends)))
    rows = sum(row["rows"] for row in counted)
    silent = sum(row["rows"] for row in counted if row["kind"] in _SILENT)
    result = Analysis(
        acker=terms.version.name,
        books=replace(books or Books(files=0, rows=rows, used=rows), silent=silent),
        tally=RunTally(dropped=sum(row["missing"] for row in counted)),
        begin_ms=begin_ns / 1e6,
        end_ms=end_ns / 1e6,
        logged=any(row["logged"] for row in counted),
        missing=terms.missing,
        window_ms=collecting.window((last_ns - begin_ns) // 1_000_000, terms.window_ms),
    )
    if terms.window_ms not in (0, result.window_ms):
        result.notes += (
            f"windows of {terms.window_ms:,} ms would be too many: they are {result.window_ms // 1000:,} s wide",
        )
    return result


def written(tables: Frames, analysis: Analysis, directory: str) -> tuple[str, ...]:
    """The full tables as Parquet below a folder, or any URI that Spark can write; returns their places."""
    full = (
        tables.verdicts,
        tables.entries,
        tables.deliveries,
        deliveries.completions(tables.deliveries),
        growth.growth(tables.entries, analysis.window_ms),
        growth.ackers(tables.entries),
    )
    places = tuple(place(directory, name) for name in TABLES)
    for there, table in zip(places, full, strict=True):
        table.write.mode("overwrite").parquet(there)
    return places


# ---- components ----


def _charged(tables: Frames, counted: Sequence[Row]) -> DataFrame:
    """DELIVERIES without those that nobody could see completed, and those that a batch was still to complete."""
    charged = tables.deliveries
    if any(row["hides"] for row in counted):
        charged = deliveries.observed(charged, tables.events)
    if has(counted, EventKind.WAITS):
        charged = deliveries.due(charged, tables.events)
    return charged


def _of_components(
    session: SparkSession,
    tables: Frames,
    terms: Terms,
    result: Analysis,
    counted: Sequence[Row],
    log_ends: deliveries.Ends,
) -> tuple[Violation, ...]:
    """Completions by component, and what went wrong with deliveries."""
    end_ns = int(result.end_ms * 1e6)
    named = tables.events.where(F.col("kind") == int(EventKind.NAMED)).select("component", "note").distinct()
    asked, ends = _charged(tables, counted), {}
    if has(counted, EventKind.DIED):
        ends["ends"] = deliveries.ended(tables.events)
        asked = deliveries.settled(asked, ends["ends"])
    if log_ends:
        marked = deliveries.under_way(asked, log_ends, terms.patience_s)
        ends["young"] = deliveries.in_hand(marked)
        asked = marked.where("not in_hand").drop("in_hand")
    if not any(row["kind"] in _MESSAGES for row in counted):
        ends["open"] = deliveries.open_at(tables.deliveries, result.window_ms)
    rows = collecting.together(
        shapes=shapes(tables.events, deliveries.odd(asked)),
        bare=bare(tables.events),
        completions=deliveries.completions(tables.deliveries),
        named=named,
        **ends,
    )
    result.notes += tuple(dict.fromkeys(collecting.ending(row) for row in rows.get("ends", ())))
    result.completions = collecting.completions(rows["completions"], end_ns)
    if young := collecting.by_component(rows.get("young", ())):
        result.taken = not dict(terms.followed).keys().isdisjoint(map(deliveries.life, rows["young"]))
        result.unjudged = collecting.unjudged(result.completions, young)
        own = (row for row in result.completions if row.component in young)
        patience_s = collecting.longest_s(own, terms.patience_s)
        result.notes += (collecting.under_way(sum(young.values()), patience_s, result.unjudged),)
    hidden = collecting.hidden(rows["named"])
    result.unjudged += tuple(hidden)
    result.notes += tuple(f"not observed: {name}: {why}" for name, why in hidden.items())
    wrong, more = ways.told(rows["shapes"])
    emits, unseen = ways.told(rows["bare"])
    if unseen:
        result.notes += (
            f"of calls that emit without anchors only the {len(emits):,} most frequent are looked at",
        )
    if more:
        result.notes += (
            collecting.other_ways(deliveries.odd(asked).groupBy("component").count().collect(), wrong),
        )
    found = violations(session, tables.events, wrong, emits)
    _tally_components(tables, result, counted, found, rows)
    return found


def _tally_components(
    tables: Frames,
    result: Analysis,
    counted: Sequence[Row],
    found: Sequence[Violation],
    rows: Mapping[str, Sequence[Row]],
) -> None:
    """Add each component's counts, the open deliveries over time, and replays to the result."""
    dialects = {row["component"]: row["note"].partition(" ")[0] for row in rows["named"]}
    guilt: Counter[str] = Counter()
    for violation in found:
        guilt[violation.traced.name] += violation.count
    points, peaks = collecting.points(rows.get("open", ()))
    tallies = collecting.components(counted, result.completions, guilt, dialects, peaks)
    result.tally = collecting.with_tally(result.tally, growth=points, **collecting.together_open(tallies))
    spouts = [one.component for one in tallies if one.emitted and not one.delivered]
    if spouts:
        result.replays = collecting.replays(roots.replays(tables.events, spouts).collect())


# ---- roots ----


def _of_roots(
    tables: Frames, terms: Terms, result: Analysis, counted: Sequence[Row], lost: str
) -> tuple[tuple[TupleTree, ...], dict[_Root, int]]:
    """What became of every root; returns trees that did not end well, the first of each kind and way, for all that did not; and when which began that are `lost`."""
    end_ns = int(result.end_ms * 1e6)
    bad = samples.bad(tables.verdicts, end_ns, terms.patience_s, lost)
    rows = collecting.together(
        loads=growth.ackers(tables.entries),
        growth=growth.growth(tables.entries, result.window_ms),
        kinds=samples.kinds(tables.verdicts),
        spouts=roots.spouts(tables.messages),
        latencies=growth.latencies(tables.entries),
        bad=samples.sampled(bad),
        ways=samples.ways(bad),
        **({"witnessed": roots.witnessed(tables.events)} if result.logged else {}),
    )
    loads = rows["loads"]
    points, peaks = collecting.points(rows["growth"])
    result.roots = sum(row["roots"] for row in loads)
    result.ackers = collecting.loads(loads, peaks)
    result.trees = collecting.kinds(rows["kinds"])
    spouts = {row["task"]: row["component"] for row in rows["spouts"]}
    result.latencies = collecting.latencies(rows["latencies"], spouts)
    if result.logged:
        result.notes += tuple(partial.unwitnessed(result, rows["witnessed"][0]))
    whole = not (result.missing or result.silent_ackers)
    handled = tables.deliveries if result.logged else None
    trees = explained(tables.events, handled, rows["bad"], rows["ways"], end_ns, whole=whole)
    result.notes += tuple(samples.untold(rows["kinds"], len(trees)))
    result.tally = collecting.with_tally(
        result.tally,
        growth=points,
        trees=trees,
        completed=sum(row["acked"] for row in loads),
        pending=sum(row["pending"] for row in loads),
        high_water=max((point.pending for point in points), default=0)
        if len(peaks) > 1
        else max(peaks.values(), default=0),
    )
    if has(counted, EventKind.LINKED):
        late = samples.late(tables.verdicts, end_ns, terms.patience_s, lost)
        never = tables.deliveries.where("acked + failed = 0 and not tick")
        result.holders = collecting.holders(roots.holders(tables.events, late, never).collect())
    if has(counted, EventKind.TIMED_OUT):
        result.combs = collecting.combs(roots.timeouts(tables.events).collect())
    chosen = collecting.exemplary(trees, _MOST_LIVES)
    if chosen:
        lived = roots.lives(tables.events, [one.root for one in chosen]).collect()
        result.lives = collecting.lives(chosen, lived)
    return trees, {(row["run"], row["root"]): row["first_ns"] for row in rows["bad"] if row["lost"]}
