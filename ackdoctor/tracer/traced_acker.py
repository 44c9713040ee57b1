"""A wrapper around any object with the acker's protocol, which gives the same answers.

Beside it a root ledger counts and windows measure growth. The component of each ack (`noted`) is
kept until its root completes, so that the residue law can name
the tuples at fault for each entry that stays.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ackdoctor.acker.acker import Acker
from ackdoctor.acker.replay import RootLedger
from ackdoctor.acker.residue import TracedTuple, find_culprits, residue
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Answer, AnswerKind, Message, ResetTimeout, Tick
from ackdoctor.model.trace import EventKind, GrowthPoint, PendingEntry, RunTally, TupleTree, Verdict
from ackdoctor.tracer.ledger import POINTS, halved
from ackdoctor.tracer.trace_files import Writer

__all__ = ["MOST_TREES", "TracedAcker"]

_MOST_NOTES = 200_000  # acks of open roots whose sender is remembered
MOST_TREES = 10_000  # roots that ended badly, or have not ended
_RECENT = 10_000
_ACKER = "__acker"
_ANSWERS = {
    AnswerKind.ACK: EventKind.COMPLETED,
    AnswerKind.FAIL: EventKind.GAVE_UP,
    AnswerKind.RESET: EventKind.EXTENDED,
}

_Key = tuple[str, int, str]  # component, task, delivery


class TracedAcker:
    """Wraps an acker. `now_ms` is its clock; the tally's `dropped` counts roots, notes and trees over the limits."""

    def __init__(
        self,
        acker: Acker,
        profile: Profile,
        *,
        now_ms: Callable[[], int] = lambda: 0,
        window_ms: int = 1000,
        recorder: Writer | None = None,
        most_notes: int = _MOST_NOTES,
    ) -> None:
        self._acker = acker
        self._now_ms = now_ms
        self._window_ms = window_ms
        self._due_ms = now_ms() + window_ms
        self._recorder = recorder
        self._ledger = RootLedger(profile, now_ms=now_ms())
        self._notes: dict[int, dict[_Key, TracedTuple]] = {}
        self._recent: dict[int, dict[_Key, TracedTuple]] = {}  # of completed roots: a late ack asks for them
        self._noted = 0
        self._most_notes = most_notes
        self._ended: dict[int, TupleTree] = {}
        self._unended: list[TupleTree] = []
        self._growth: list[GrowthPoint] = []
        self._dropped = 0

    # ---- the acker's protocol ----

    def receive(self, message: Message) -> Answer | None:
        """Pass on one message; returns the wrapped acker's answer."""
        now = self._now_ms()
        if now >= self._due_ms:
            self._window(now)
        answer = self._acker.receive(message)
        self._record(message)
        if isinstance(message, Tick):
            for entry in self._ledger.rotate():
                self._keep(self._tree(entry, Verdict.EXPIRED))
            return answer
        self._ledger.receive(message)
        if answer is not None:
            self._answered(answer)
        return answer

    def pending(self) -> Iterator[PendingEntry]:
        """Every entry of the wrapped acker."""
        return self._acker.pending()

    def __len__(self) -> int:
        return len(self._acker)

    # ---- what the messages were for ----

    def linked(self, root: int, edge: int, *, delivery: str, component: str, task: int = 0) -> None:
        """A component received edge `edge` of a root."""
        self._note(root, delivery, component, task, edge=edge)

    def noted(
        self, root: int, value: int, *, delivery: str, component: str, task: int = 0, site: str = ""
    ) -> None:
        """A component acked a tuple; `value` goes to the acker."""
        self._note(root, delivery, component, task, value=value, site=site)

    def _note(
        self,
        root: int,
        delivery: str,
        component: str,
        task: int,
        *,
        edge: int | None = None,
        value: int | None = None,
        site: str = "",
    ) -> None:
        if self._noted >= self._most_notes:
            self._dropped += 1
            return
        notes = self._notes.get(root)
        if notes is None:
            notes = self._notes[root] = self._recent.pop(root, {})
            self._noted += len(notes)
        key = (component, task, delivery)
        seen = notes.get(key)
        if seen is None:
            seen = TracedTuple(delivery=delivery, component=component, task=task)
            self._noted += 1
        if edge is not None:
            seen = replace(seen, edge=edge)
        if value is not None:
            seen = replace(
                seen, values=(*seen.values, value), sites=(*seen.sites, site) if site else seen.sites
            )
        notes[key] = seen

    # ---- what became of it ----

    def trees(self) -> tuple[TupleTree, ...]:
        """The roots that ended badly and those that have not ended, with the tuples at fault."""
        open_ = (self._tree(entry, Verdict.OPEN) for entry in self._ledger.entries())
        trees = [*self._unended, *open_]
        roots = {tree.root for tree in trees}
        return (*trees, *(tree for root, tree in self._ended.items() if root not in roots))[:MOST_TREES]

    def tally(self) -> RunTally:
        """The counts and the trees."""
        trees = self.trees()
        return RunTally(
            growth=(*self._growth, self._point(self._now_ms())),
            trees=trees,
            completed=self._ledger.completed,
            pending=len(self._acker),
            high_water=self._ledger.high_water,
            dropped=self._ledger.dropped + self._dropped,
        )

    def _answered(self, answer: Answer) -> None:
        match answer.kind:
            case AnswerKind.ACK:
                self._remember(answer.root)
            case AnswerKind.FAIL:
                if len(self._ended) < MOST_TREES:
                    self._ended[answer.root] = TupleTree(root=answer.root, verdict=Verdict.FAILED)
                else:
                    self._dropped += 1
            case AnswerKind.RESET:
                pass
        if self._recorder is not None:
            self._recorder.write(_ANSWERS[answer.kind], _ACKER, answer.task, root=answer.root)

    def _remember(self, root: int) -> None:
        """A root has completed; keep its notes for a late ack."""
        notes = self._notes.pop(root, None)
        if notes is None:
            return
        self._noted -= len(notes)
        self._recent[root] = notes
        if len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]

    def _tree(self, entry: PendingEntry, tracked: Verdict) -> TupleTree:
        verdict = tracked if entry.task is not None else Verdict.ORPHAN
        outcome = Verdict.FAILED if entry.root in self._ended else verdict
        tree = TupleTree(root=entry.root, verdict=verdict, entry=entry, residue=residue(entry, outcome))
        return find_culprits(tree, tuple(self._notes.get(entry.root, {}).values()))

    def _keep(self, tree: TupleTree) -> None:
        self._noted -= len(self._notes.pop(tree.root, ()))
        if len(self._unended) < MOST_TREES:
            self._unended.append(tree)
        else:
            self._dropped += 1

    def _window(self, now_ms: int) -> None:
        self._growth.append(self._point(now_ms))
        if len(self._growth) == POINTS:
            self._window_ms *= 2
            self._growth = halved(self._growth)
        self._due_ms = now_ms + self._window_ms

    def _point(self, now_ms: int) -> GrowthPoint:
        return self._ledger.window(now_ms)

    def _record(self, message: Message) -> None:
        if self._recorder is None:
            return
        match message:
            case AckInit(root, value, task):
                self._recorder.write(EventKind.INIT, _ACKER, task, root=root, value=value)
            case AckAck(root, value):
                self._recorder.write(EventKind.ACK, _ACKER, root=root, value=value)
            case AckFail(root):
                self._recorder.write(EventKind.FAIL, _ACKER, root=root)
            case ResetTimeout(root):
                self._recorder.write(EventKind.RESET, _ACKER, root=root)
            case Tick():
                self._recorder.write(EventKind.ROTATED, _ACKER)
