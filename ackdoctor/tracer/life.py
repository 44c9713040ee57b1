"""The history of one root or one delivery in a trace: every row in order, and the acker's map after it.

init 8      {66 {11 8}}        ack 11      {66 {11 3}}        ack 4       {66 {11 7}}
ack 7       {}                 ACK to task 11
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ackdoctor.acker.replay import RootLedger
from ackdoctor.acker.residue import find_culprits, residue, traced_tuples
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import AnswerKind
from ackdoctor.model.trace import AUTO, TICK, Event, EventKind, PendingEntry, TupleTree, Verdict
from ackdoctor.tracer.acker_findings import left_by, stays, times
from ackdoctor.tracer.components import unobserved
from ackdoctor.tracer.trace_files import Events

__all__ = ["Life", "Moment", "life_of_delivery", "life_of_root"]


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
_HEARD = {AnswerKind.ACK: Verdict.COMPLETE, AnswerKind.FAIL: Verdict.FAILED}
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
class Life:
    """`subject` names it; `verdict` and `law` say how it ended and which tuples are at fault, one sentence each."""

    subject: str
    moments: tuple[Moment, ...]
    verdict: str
    law: str = ""
    more: int = 0  # further moments


def life_of_root(events: Events, root: int, profile: Profile) -> Life | None:
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
    return Life(
        subject=f"root {root}",
        moments=moments,
        verdict=f"{left_by(tree)}{watch.later()}",
        law=_law(tree),
        more=more,
    )


def life_of_delivery(events: Events, delivery: str) -> Life | None:
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
    return Life(
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
    kept: list[Moment] = []
    more = 0
    for moment in moments:
        if moment is None:
            continue
        if len(kept) < _MOST:
            kept.append(moment)
        else:
            more += 1
    return tuple(kept), more


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
        self._ledger = RootLedger(profile)
        self._verdict: Verdict | None = None
        self._dropped: PendingEntry | None = None

    def moment(self, event: Event) -> Moment | None:
        """The row, with what the acker holds after it; None for a rotation that changes nothing."""
        if event.kind is EventKind.ROTATED:
            return self._rotated(event)
        before = self._ledger.get(self._root)
        answer = self._receive(event)
        moment = _moment(event)
        if event.kind not in range(EventKind.INIT, EventKind.ROTATED):
            return moment
        task = before.task if before is not None and before.task is not None else event.task
        return replace(
            moment, state=self._state(), answer=f"{_ANSWERS[answer]} to task {task}" if answer else ""
        )

    def later(self) -> str:
        """How long the entry stays, as the end of a sentence."""
        if self._ledger.get(self._root) is not None:
            return f"; it {stays(self._profile)}"
        return "; rotation has dropped it" if self._dropped is not None else ""

    def tree(self) -> TupleTree:
        """The tree of the root."""
        entry = self._ledger.get(self._root) or self._dropped
        open_ = Verdict.OPEN if entry is not None and entry.task is not None else Verdict.ORPHAN
        verdict = self._verdict or open_
        return TupleTree(root=self._root, verdict=verdict, entry=entry, residue=residue(entry, verdict))

    def _rotated(self, event: Event) -> Moment | None:
        if not any(entry.root == self._root for entry in self._rotate()):
            return None
        return Moment(time_ns=event.time_ns, what="rotated away", component=event.component, state="{}")

    def _rotate(self) -> Iterator[PendingEntry]:
        for entry in self._ledger.rotate():
            self._dropped = entry
            if entry.task is not None:
                self._verdict = self._verdict or Verdict.EXPIRED
            yield entry

    def _receive(self, event: Event) -> AnswerKind | None:
        answer = self._ledger.play(event.kind, self._root, event.value, event.task)
        if event.kind is EventKind.TIMED_OUT:
            self._verdict = self._verdict or Verdict.EXPIRED
        if answer in _HEARD:
            self._verdict, self._dropped = self._verdict or _HEARD[answer], None
        return answer

    def _state(self) -> str:
        """The map as `{root {spout task, value}}`; `-` if no spout is known."""
        entry = self._ledger.get(self._root)
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
