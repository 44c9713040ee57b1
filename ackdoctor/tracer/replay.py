"""What a stored trace shows: the findings of a run, and the history of one root or one delivery.

Components are replayed through the ledger, acker messages through the acker's model. If the acker keeps entries, the trace
is read a second time: the acks of their roots name the tuples at fault (law L1), and the answers to their spouts separate
orphans that prove a misuse from others (L4). A history has every row in order, and the acker's map after it:

init 8      {66 {11 8}}        ack 11      {66 {11 3}}        ack 4       {66 {11 7}}
ack 7       {}                 ACK to task 11
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from ackdoctor.acker.replay import RootLedger, replay, rows
from ackdoctor.acker.residue import find_culprits, residue, traced_tuples
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import AnswerKind
from ackdoctor.model.finding import Finding
from ackdoctor.model.source import Site
from ackdoctor.model.trace import (
    AUTO,
    RELIABLE,
    TICK,
    Event,
    EventKind,
    GrowthPoint,
    Outcomes,
    PendingEntry,
    RunTally,
    TupleTree,
    Verdict,
)
from ackdoctor.tracer.acker_findings import growth_finding, left_by, stays, times, under_way
from ackdoctor.tracer.components import unobserved
from ackdoctor.tracer.findings import findings, gathered
from ackdoctor.tracer.ledger import Playback
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.timeouts import asides, causes_of, slow_findings, timed_out
from ackdoctor.tracer.trace_files import Events

_INIT, _NAMED, _ROTATED = EventKind.INIT, EventKind.NAMED, EventKind.ROTATED
_TIMED_OUT = EventKind.TIMED_OUT
_VERDICTS: dict[AnswerKind | None, Verdict] = {
    AnswerKind.ACK: Verdict.COMPLETE,
    AnswerKind.FAIL: Verdict.FAILED,
}
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
    at_fault = [tree for tree in trees if not under_way(tree, patience_s)]
    found = list(findings(settled.violations, at_fault, profile=profile, places=places, nowhere=nowhere))
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
    answers, rotated = _SpoutAnswers(profile), False

    def listen() -> Iterator[Event]:
        nonlocal rotated
        for event in events():
            if event.kind is _ROTATED:
                rotated = True
                answers.rotate()
            elif event.root in wanted:
                answers.receive(event, event.root)
                yield event

    def judged(tree: TupleTree) -> TupleTree:
        by_schedule = tree.dropped_ms is not None and not rotated  # no row says when the map rotated
        known = Verdict.EXPIRED if by_schedule else answers.verdicts.get(tree.root)
        return replace(tree, verdict=known) if tree.verdict is Verdict.ORPHAN and known is not None else tree

    seen = traced_tuples(listen(), wanted)
    return tuple(judged(find_culprits(tree, seen[tree.root])) for tree in wanted.values())


class _SpoutAnswers:
    """A model of the acker, and the first answer that each spout got for its root."""

    def __init__(self, profile: Profile) -> None:
        self.ledger = RootLedger(profile)
        self.verdicts: dict[int, Verdict] = {}

    def receive(self, event: Event, root: int) -> AnswerKind | None:
        """A row that names the root; returns the acker's answer."""
        answer = self.ledger.play(event.kind, root, event.value, event.task)
        verdict = Verdict.EXPIRED if event.kind is EventKind.TIMED_OUT else _VERDICTS.get(answer)
        if verdict is not None:
            self.verdicts.setdefault(root, verdict)
        return answer

    def rotate(self) -> tuple[PendingEntry, ...]:
        """The acker rotates its map; returns the entries that it drops."""
        dropped = self.ledger.rotate()
        for entry in dropped:
            if entry.task is not None:
                self.verdicts.setdefault(entry.root, Verdict.EXPIRED)
        return dropped


# ---- one history ----

_WORDS = {
    EventKind.RECEIVED: "received",
    EventKind.EMITTED: "emitted",
    EventKind.ANCHORED: "anchored",
    EventKind.ACKED: "acked",
    EventKind.FAILED: "failed",
    EventKind.LINKED: "linked",
    EventKind.WAITS: "waits for a batch",
    EventKind.INIT: "init",
    EventKind.ACK: "ack",
    EventKind.FAIL: "fail",
    EventKind.RESET: "reset",
    EventKind.COMPLETED: "answer: ack",
    EventKind.GAVE_UP: "answer: fail",
    EventKind.EXTENDED: "answer: reset",
    EventKind.TIMED_OUT: "timeout",
}
_ANSWERS = {AnswerKind.ACK: "ACK", AnswerKind.FAIL: "FAIL", AnswerKind.RESET: "RESET"}
_OWED = (EventKind.RECEIVED, EventKind.ACKED, EventKind.FAILED, EventKind.WAITS)
_ACKED_IT = {0: "never acked it", 1: "acked it once", 2: "acked it twice"}
_VALUED = (EventKind.INIT, EventKind.ACK, EventKind.LINKED)
_MOST = 1_000  # moments that are shown


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Moment:
    """One row: `what` happened, in which component, and what the acker's map holds for the root afterwards.

    `state` is '' for rows that do not reach an acker; `answer` is what the acker says to the spout.
    """

    time_ns: int
    what: str
    component: str
    delivery: str = ""
    state: str = ""
    answer: str = ""
    site: str = ""
    note: str = ""
    test: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Timeline:
    """The events of a root or a delivery.  `subject` names it; `verdict` and `law` say how it ended and which tuples are at fault, one sentence each."""

    subject: str
    moments: tuple[Moment, ...]
    verdict: str
    law: str = ""
    more: int = 0  # further moments


def timeline_of_root(events: Events, root: int, profile: Profile) -> Timeline | None:
    """The history of a root with the rows of its known deliveries; None if the trace does not have it."""
    linked = {
        (event.component, event.task, event.delivery)
        for event in events()
        if event.root == root and event.delivery
    }
    watch = _Watch(root, profile)
    moments, more = _limited(watch.moment(event) for event in _of_root(events(), root, linked))
    if not moments:
        return None
    seen = traced_tuples((event for event in events() if event.root == root), {root: None})[root]
    tree = find_culprits(watch.tree(), seen)
    return Timeline(
        subject=f"root {root}",
        moments=moments,
        verdict=f"{left_by(tree)}{watch.later()}",
        law=_law(tree),
        more=more,
    )


def timeline_of_delivery(events: Events, delivery: str) -> Timeline | None:
    """The history of a delivery in its components; None if the trace does not have the id.

    An id means nothing outside of its component and its process, so each component has its own sentence.
    """
    moments, more = _limited(_moment(event) for event in events() if event.delivery == delivery)
    if not moments:
        return None
    done: dict[tuple[object, ...], Counter[EventKind]] = {}
    hidden: dict[tuple[object, ...], str] = {}
    for event in events():
        owner = (event.component, event.task, event.run, event.worker, event.pid, event.test)
        if event.delivery == delivery and event.kind in _OWED:
            done.setdefault(owner, Counter())[event.kind] += 1
        elif event.kind is EventKind.NAMED and (why := unobserved(event.note)):
            hidden[owner] = why
    sentences = [
        f"{f'in {owner[-1]} ' if owner[-1] else ''}{owner[0]}[{owner[1]}] {_completed(counts, hidden.get(owner, ''))}"
        for owner, counts in done.items()
    ]
    return Timeline(
        subject=f"delivery {delivery}",
        moments=moments,
        verdict="; ".join(sentences) or "no component received a tuple of this id",
        more=more,
    )


def _completed(counts: Counter[EventKind], hidden: str) -> str:
    acks, fails = counts[EventKind.ACKED], counts[EventKind.FAILED]
    if hidden and not (acks or fails):
        return f"was not observed: {hidden}"
    if counts[EventKind.WAITS] and not (acks or fails):
        return "kept it for a batch that had not come when the run ended"
    how = [_ACKED_IT.get(acks, f"acked it {acks} times")] if acks or not fails else []
    if fails:
        how.append("failed it" if fails == 1 else f"failed it {fails} times")
    owed = "" if acks + fails == counts[EventKind.RECEIVED] == 1 else ", and owed exactly one ack or one fail"
    return f"{' and '.join(how)}{owed}"


def _of_root(events: Iterable[Event], root: int, linked: set[tuple[str, int, str]]) -> Iterator[Event]:
    """The rows that name the root, those of its deliveries, and the acker's rotations while it is known."""
    known = False
    for event in events:
        if event.root == root:
            known = True
            yield event
        elif (known and event.kind is EventKind.ROTATED) or (
            not event.root and (event.component, event.task, event.delivery) in linked
        ):
            yield event


def _limited(moments: Iterable[Moment | None]) -> tuple[tuple[Moment, ...], int]:
    """The first moments, and how many more there are."""
    found = (moment for moment in moments if moment is not None)
    return tuple(islice(found, _MOST)), sum(1 for _ in found)


def _moment(event: Event) -> Moment:
    what = _WORDS.get(event.kind, event.kind.name.lower())
    if event.kind is EventKind.RECEIVED and event.flags & TICK:
        what = "tick received"
    if event.flags & AUTO:
        what = f"{what} by the framework"
    value = f" {event.value}" if event.kind in _VALUED else ""
    return Moment(
        time_ns=event.time_ns,
        what=f"{what}{value}",
        component=f"{event.component}[{event.task}]" if event.component else "",
        delivery=event.delivery,
        site=event.site,
        note=", ".join(filter(None, (event.thread and f"on thread {event.thread}", event.note))),
        test=event.test,
    )


class _Watch:
    """One root in a model of the acker."""

    def __init__(self, root: int, profile: Profile) -> None:
        self._root = root
        self._profile = profile
        self._answers = _SpoutAnswers(profile)
        self._dropped: PendingEntry | None = None

    def moment(self, event: Event) -> Moment | None:
        """The row, with what the acker holds after it; None for a rotation that changes nothing."""
        if event.kind is _ROTATED:
            if not (dropped := self._answers.rotate()):
                return None
            self._dropped = dropped[0]
            return Moment(time_ns=event.time_ns, what="rotated away", component=event.component, state="{}")
        before = self._entry()
        answer = self._answers.receive(event, self._root)
        if answer in _VERDICTS:
            self._dropped = None
        moment = _moment(event)
        if event.kind not in range(EventKind.INIT, EventKind.ROTATED):
            return moment
        task = before.task if before is not None and before.task is not None else event.task
        return replace(
            moment, state=self._state(), answer=f"{_ANSWERS[answer]} to task {task}" if answer else ""
        )

    def later(self) -> str:
        """How long the entry stays, as the end of a sentence."""
        if self._entry() is not None:
            return f"; it {stays(self._profile)}"
        return "; rotation has dropped it" if self._dropped is not None else ""

    def tree(self) -> TupleTree:
        """The tree of the root."""
        entry = self._entry() or self._dropped
        open_ = Verdict.OPEN if entry is not None and entry.task is not None else Verdict.ORPHAN
        verdict = self._answers.verdicts.get(self._root, open_)
        return TupleTree(root=self._root, verdict=verdict, entry=entry, residue=residue(entry, verdict))

    def _entry(self) -> PendingEntry | None:
        return self._answers.ledger.get(self._root)

    def _state(self) -> str:
        """The map as `{root {spout task, value}}`; `-` if no spout is known."""
        entry = self._entry()
        if entry is None:
            return "{}"
        task = "-" if entry.task is None else entry.task
        value = "nil" if entry.value is None else entry.value
        return f"{{{self._root} {{{task} {value}{' failed' if entry.failed else ''}}}}}"


def _law(tree: TupleTree) -> str:
    if tree.entry is None:
        return "law L1: every tuple was acked an odd number of times, so the value came to zero" * (
            tree.verdict is Verdict.COMPLETE
        )
    if not tree.culprits:
        return "law L1: no tuple of the trace sends what is left; it was never acked, or its acks are not in the trace"
    named = " and ".join(
        f"{c.value} = {c.component}[{c.task}]{f' delivery {c.delivery}' if c.delivery else ''}, {times(c.acks)}"
        for c in tree.culprits
    )
    maybe = "; other tuples would explain it as well" if tree.ambiguous else ""
    return f"law L1: what is left is what the tuples acked an even number of times send: {named}{maybe}"


# ---- what became of the message ids ----

_ANSWER_KINDS = frozenset({EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT})
_Key: TypeAlias = tuple[str, str, int, str, str]


@dataclass(slots=True)
class _Message:
    emits: int = 0
    done: int = 0
    bad: int = 0


def outcomes(events: Iterable[Event]) -> tuple[Outcomes, ...]:
    """Count the message ids of each spout by what became of them; `spark.roots.outcomes` agrees.

    An answer names its message, or its root.
    """
    messages: dict[_Key, _Message] = defaultdict(_Message)
    roots: dict[tuple[str, int], _Key] = {}
    takers: set[str] = set()  # components that receive tuples: their emits name anchors, not message ids
    for event in events:
        if event.kind is EventKind.RECEIVED:
            takers.add(event.component)
        key = event.component, event.run, event.task, event.test, event.delivery
        if event.kind is EventKind.EMITTED and event.flags & RELIABLE and event.delivery:
            messages[key].emits += 1
            roots[event.run, event.root] = key
        elif event.kind in _ANSWER_KINDS:
            known = key if event.delivery else roots.get((event.run, event.root)) if event.root else None
            if known is not None:
                message = messages[known]
                message.done += event.kind is EventKind.COMPLETED
                message.bad += event.kind is not EventKind.COMPLETED
    by_spout: dict[str, list[_Message]] = defaultdict(list)
    for (component, *_), message in messages.items():
        if component not in takers:
            message.emits = max(message.emits, message.done + message.bad)
            by_spout[component].append(message)
    return tuple(_counted(spout, those) for spout, those in sorted(by_spout.items()))


def _counted(spout: str, messages: list[_Message]) -> Outcomes:
    unfinished = [each for each in messages if not each.done]
    return Outcomes(
        spout=spout,
        ids=len(messages),
        completed=len(messages) - len(unfinished),
        failed=sum(each.bad > 0 for each in messages),
        replayed=sum(each.bad > 0 and each.emits > 1 for each in messages),
        lost=sum(each.bad >= each.emits for each in unfinished),
        open=sum(each.bad < each.emits for each in unfinished),
        repeated=sum(each.done > 1 for each in messages),
    )
