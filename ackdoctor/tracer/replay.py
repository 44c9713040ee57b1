"""What a stored trace shows: components are replayed through the ledger, acker messages through the acker's model.

If the acker keeps entries, the trace is read a second time. The acks of their roots name the tuples at fault (law L1),
and the answers to their spouts separate orphans that prove a misuse from others (L4).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ackdoctor.acker.replay import RootLedger, replay, rows
from ackdoctor.acker.residue import find_culprits, traced_tuples
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import AnswerKind
from ackdoctor.model.finding import Finding
from ackdoctor.model.source import Site
from ackdoctor.model.trace import Event, EventKind, GrowthPoint, RunTally, TupleTree, Verdict
from ackdoctor.tracer.acker_findings import growth_finding, under_way
from ackdoctor.tracer.findings import findings, gathered
from ackdoctor.tracer.playback import Playback
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.timeouts import asides, causes_of, slow_findings, timed_out
from ackdoctor.tracer.trace_files import Events

__all__ = ["TraceReport", "judge_trace"]


_INIT, _NAMED, _ROTATED = EventKind.INIT, EventKind.NAMED, EventKind.ROTATED
_TIMED_OUT = EventKind.TIMED_OUT
_FIRST, _LAST = int(EventKind.INIT), int(EventKind.DIED)  # between them: messages to an acker and its answers


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TraceReport:
    """What the rows came to; `roots` is how many a spout began, 0 where no acker was traced; `telling`, whether a row tells of a tuple."""

    tally: RunTally
    findings: tuple[Finding, ...]
    rows: int = 0
    roots: int = 0
    seconds: float = 0.0
    telling: bool = True
    notes: tuple[str, ...] = ()
    expired: tuple[tuple[str, int], ...] = ()  # how many roots timed out, by cause


def judge_trace(
    events: Events,
    profile: Profile,
    *,
    message_timeout_s: int | None = None,
    patience_s: int = 0,
    places: Places | None = None,
    nowhere: Site | None = None,
) -> TraceReport:
    """Replay the rows of `events`, twice if need be.

    With `message_timeout_s` the acker's map rotates as the version's would have, else where the trace
    says so.  A root that is open at the end and younger than `patience_s` is work under way.
    """
    first = _FirstReading()
    acker = replay(rows(first.listen(events())), profile, message_timeout_s=message_timeout_s)
    settled = first.playback.settle()
    trees = _explained(acker.trees, events, profile) if any(tree.entry for tree in acker.trees) else ()
    charged = [tree for tree in trees if not under_way(tree, patience_s)]
    found = list(findings(settled.violations, charged, profile=profile, places=places, nowhere=nowhere))
    growth = tuple(first.loaded(acker.growth)) if first.of_acker else settled.growth
    grown = growth_finding(growth, profile=profile, nowhere=nowhere) if first.of_acker else None
    gone = [tree for tree in trees or acker.trees if tree.verdict is Verdict.EXPIRED]
    late = timed_out(gone, events)
    expired = causes_of(late.trees, message_timeout_s, len(late.trees) + first.timed_out)
    slow = slow_findings(
        late.trees, timeout_s=message_timeout_s, total=first.roots, paces=late.paces, nowhere=nowhere
    )
    more = [*slow, *([grown] if grown is not None else [])]
    tally = RunTally(
        components=settled.tallies,
        growth=growth,
        trees=trees,
        completed=acker.completed,
        pending=acker.pending if first.of_acker else sum(t.pending for t in settled.tallies),
        high_water=acker.high_water
        if first.of_acker
        else max((t.high_water for t in settled.tallies), default=0),
        dropped=acker.dropped + settled.dropped,
        unobserved=settled.unobserved,
    )
    return TraceReport(
        tally=tally,
        findings=gathered([*found, *more]) if more else tuple(found),
        rows=first.count,
        roots=first.roots,
        seconds=first.seconds,
        telling=first.of_acker
        or first.of_spout
        or any(t.delivered or t.emitted or t.acked or t.failed or t.ticks for t in tally.components),
        notes=(*settled.notes, *asides(expired)),
        expired=expired,
    )


class _FirstReading:
    """Counts rows, and feeds the components' rows to the ledger."""

    def __init__(self) -> None:
        self.playback = Playback()
        self.count = self.roots = 0
        self.of_acker = self.of_spout = False
        self.timed_out = 0  # by spouts that name no root
        self._begin_ns = self._end_ns = 0
        self._begun: Counter[int] = Counter()  # second -> roots

    @property
    def seconds(self) -> float:
        """From the first row of a tuple to the last row."""
        return (self._end_ns - self._begin_ns) / 1e9

    def listen(self, events: Iterable[Event]) -> Iterator[Event]:
        """The rows of an acker, for its model."""
        feed, begun = self.playback.feed, self._begun
        count, event, begin = 0, None, None
        for event in events:
            count += 1
            kind = event.kind
            if begin is None and kind is not _NAMED:
                begin = event.time_ns
            if not _FIRST <= kind < _LAST:
                feed(event)
                continue
            if not event.root and kind is not _ROTATED:  # a spout's own side: only the acker knows roots
                self.of_spout = True
                self.timed_out += kind is _TIMED_OUT
                continue
            if kind is _INIT:
                begun[event.time_ns // 1_000_000_000] += 1
            self.of_acker = True
            yield event
        self.count = count
        self.roots = sum(begun.values())
        if event is not None and begin is not None:
            self._begin_ns, self._end_ns = begin, event.time_ns

    def loaded(self, growth: Iterable[GrowthPoint]) -> Iterator[GrowthPoint]:
        """The acker's points with the number of roots begun in each window."""
        begun = sorted(self._begun.items())
        at = 0
        for point in growth:
            started = 0
            while at < len(begun) and begun[at][0] * 1000 < point.time_ms:
                started += begun[at][1]
                at += 1
            yield replace(point, started=started)


# ---- the second reading ----


def _explained(trees: Iterable[TupleTree], events: Events, profile: Profile) -> tuple[TupleTree, ...]:
    """The trees with the tuples at fault, and for orphans the answer that their spouts got."""
    wanted = {tree.root: tree for tree in trees}
    answers = _Answers(profile)
    seen = traced_tuples(answers.listen(events(), wanted), wanted)
    return tuple(answers.judged(find_culprits(tree, seen[tree.root])) for tree in wanted.values())


class _Answers:
    """The answers that the spouts got for some roots."""

    def __init__(self, profile: Profile) -> None:
        self._ledger = RootLedger(profile)
        self._verdicts: dict[int, Verdict] = {}
        self._rotated = False

    def listen(self, events: Iterable[Event], wanted: dict[int, TupleTree]) -> Iterator[Event]:
        """The rows of these roots."""
        for event in events:
            if event.kind is EventKind.ROTATED:
                self._rotated = True
                for entry in self._ledger.rotate():
                    if entry.task is not None:
                        self._verdicts.setdefault(entry.root, Verdict.EXPIRED)
            elif event.root in wanted:
                self._hear(event)
                yield event

    def _hear(self, event: Event) -> None:
        root = event.root
        if event.kind is EventKind.TIMED_OUT:
            self._verdicts.setdefault(root, Verdict.EXPIRED)
        answer = self._ledger.play(event.kind, root, event.value, event.task)
        if answer is AnswerKind.ACK:
            self._verdicts.setdefault(root, Verdict.COMPLETE)
        elif answer is AnswerKind.FAIL:
            self._verdicts.setdefault(root, Verdict.FAILED)

    def judged(self, tree: TupleTree) -> TupleTree:
        """The tree; for an orphan, with the first answer that its spout got."""
        by_schedule = tree.dropped_ms is not None and not self._rotated  # no row says when the map rotated
        known = Verdict.EXPIRED if by_schedule else self._verdicts.get(tree.root)
        return replace(tree, verdict=known) if tree.verdict is Verdict.ORPHAN and known is not None else tree
