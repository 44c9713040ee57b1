"""The messages of a lab run: each emit of a spout with its replays, and how it ended.

A message is tracked by its id.  If a failed message comes again with another id, its values show that it is the same one.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import NamedTuple

from ackdoctor import rulebook
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.model.finding import counted
from ackdoctor.model.topology import Judged


@unique
class State(Enum):
    """Where a message is."""

    OPEN = "the acker has not answered yet"
    ACKED = "the spout received an ack"
    FAILED = "the spout received a fail, and has not emitted it again"
    DEAD = "it was open when its spout died, and was not emitted again"


_ENDED = (State.FAILED, State.DEAD)
_MOST_CAUSES = 5  # of one spout's fate
_EXAMPLE = 60  # characters
_TIMED_OUT = "timed out"
_UNANSWERED = "no answer yet"
FAILED = "failed it"
DIED = "died on it"


@dataclass(slots=True, eq=False)
class _Message:
    spout: str
    task: int
    stream: str
    values: str
    emits: int = 1
    emits_after: int = 0  # after the faults
    state: State = State.OPEN
    since_ms: int = 0  # of the state
    is_done: bool = False  # an ack came, at some time
    component: str = ""  # the bolt that failed it last, or died on it, since its last emit
    cause: str = _TIMED_OUT

    def is_of(self, stream: str, values: str) -> bool:
        """Whether it was emitted with these values."""
        return (self.stream, self.values) == (stream, values)

    @property
    def why(self) -> str:
        """What happened to it since its last emit."""
        return _UNANSWERED if self.state is State.OPEN and not self.component else self.cause


class Cause(NamedTuple):
    """Why messages are lost or stuck: what happened to them last, and in which bolt; `example` are the values of one."""

    end: str  # "lost" or "stuck"
    why: str  # "failed it", "died on it", "timed out" or "no answer yet"
    component: str  # '' if no bolt did it
    messages: int
    example: str

    def __str__(self) -> str:
        return f"{self.component} {self.why}".strip()


@dataclass(slots=True, kw_only=True)
class Fate:
    """The ends of the messages of one spout that were emitted before the faults were over.

    `repeated` were emitted more than once.  `lost` failed or died with their spout, and were not emitted again.  `stuck`
    never completed, although they were emitted after the faults.  `open` were under way at the end.  `untracked` have no
    message id: Storm reports nothing about them.
    """

    spout: str
    messages: int = 0
    completed: int = 0
    repeated: int = 0
    lost: int = 0
    lost_at_death: int = 0  # of the lost ones
    stuck: int = 0
    open: int = 0
    untracked: int = 0
    causes: list[Cause] = field(default_factory=list)

    def wrong(self, *, early: bool) -> Iterator[str]:
        """`3 messages of words lost`, for each thing that is wrong; open ones are not in a run that stopped `early`."""
        still_open = 0 if early else self.open
        for amount, what in ((self.lost, "lost"), (self.stuck, "stuck"), (still_open, "open at the end")):
            if amount:
                yield f"{counted(amount, 'message')} of {self.spout} {what}"


class Messages:
    """All messages of a run.  After `close`, new ones are not counted."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._by_id: dict[Hashable, list[_Message]] = {}
        self._by_values: dict[Hashable, _Message] = {}
        self._counted: list[_Message] = []
        self._untracked: dict[str, int] = {}
        self._closed_ms: int | None = None

    def close(self) -> None:
        """The faults are over."""
        if self._closed_ms is None:
            self._closed_ms = self._clock.now_ms()

    def emitted(self, spout: str, task: int, stream: str, values: object, msg_id: object) -> None:
        """A spout emitted a tuple."""
        if msg_id is None:
            if self._closed_ms is None:
                self._untracked[spout] = self._untracked.get(spout, 0) + 1
            return
        key, text = (spout, task, repr(msg_id)), repr(values)
        known = self._by_id.setdefault(key, [])
        message = next((each for each in known if each.is_of(stream, text) or each.state in _ENDED), None)
        if message is None:
            same = self._by_values.get((spout, stream, text))
            message = same if same is not None and same.state in _ENDED else None
        if message is None:
            message = _Message(spout, task, stream, text, since_ms=self._clock.now_ms())
            if self._closed_ms is None:
                self._counted.append(message)
        else:
            message.emits += 1
            message.emits_after += self._closed_ms is not None
            message.component, message.cause = "", _TIMED_OUT
            self._move(message, State.OPEN)
        message.task = task
        known[:] = [each for each in known if each.state is State.OPEN and each is not message] + [message]
        self._by_values[spout, stream, text] = message

    def broken(self, spout: str, task: int, msg_id: object, component: str, why: str) -> None:
        """A bolt failed a tuple of this message, or died on it."""
        message = self._open(spout, task, msg_id)
        if message is not None:
            message.component, message.cause = component, why

    def acked(self, spout: str, task: int, msg_id: object) -> None:
        """The spout received an ack."""
        message = self._open(spout, task, msg_id)
        if message is not None:
            message.is_done = True
            self._move(message, State.ACKED)

    def failed(self, spout: str, task: int, msg_id: object) -> int:
        """The spout received a fail; called before the spout, which may emit at once.

        Return how often the message was emitted again after the faults.
        """
        message = self._open(spout, task, msg_id)
        if message is None:
            return 0
        self._move(message, State.FAILED)
        return message.emits_after

    def _open(self, spout: str, task: int, msg_id: object) -> _Message | None:
        """The oldest open message of an id: a spout may give several messages the same one."""
        known = self._by_id.get((spout, task, repr(msg_id)), ())
        return next((message for message in known if message.state is State.OPEN), None)

    def died(self, spout: str, task: int) -> None:
        """A task of a spout died."""
        for message in {each for known in self._by_id.values() for each in known}:
            if (message.spout, message.task, message.state) == (spout, task, State.OPEN):
                self._move(message, State.DEAD)

    def waiting(self) -> bool:
        """Whether a counted message has not completed yet."""
        return any(not message.is_done for message in self._counted)

    def fate(self, spout: str, timeout_s: int, *, early: bool) -> Fate:
        """Count the ends of a spout's messages; in a run that stopped `early`, all that are not acked are open."""
        fate = Fate(spout=spout, untracked=self._untracked.get(spout, 0))
        ends: list[tuple[str, _Message]] = []
        for message in self._of(spout):
            fate.messages += 1
            fate.repeated += message.emits > 1
            if message.is_done:
                fate.completed += 1
            elif not early and self._is_stuck(message, timeout_s):
                fate.stuck += 1
                ends.append(("stuck", message))
            elif early or self._is_young(message, timeout_s):
                fate.open += 1
            elif message.state is State.DEAD:
                fate.lost += 1
                fate.lost_at_death += 1
            else:
                fate.lost += 1
                ends.append(("lost", message))
        kinds = Counter((end, message.why, message.component) for end, message in ends)
        first = {(end, message.why, message.component): message for end, message in reversed(ends)}
        fate.causes = [
            Cause(*kind, messages, _shortened(first[kind].values))
            for kind, messages in kinds.most_common(_MOST_CAUSES)
        ]
        return fate

    def _of(self, spout: str) -> Iterator[_Message]:
        return (message for message in self._counted if message.spout == spout)

    def _is_young(self, message: _Message, timeout_s: int) -> bool:
        """Whether the acker's answer, or the spout's next emit, may still come."""
        return self._clock.now_ms() - message.since_ms < timeout_s * 1000

    def _is_stuck(self, message: _Message, timeout_s: int) -> bool:
        """Whether it did not complete although it was emitted after the faults, or the acker never answered."""
        if message.state is State.OPEN:
            return message.emits_after > 1 or not self._is_young(message, timeout_s)
        return message.state is State.FAILED and message.emits_after > 0

    def _move(self, message: _Message, state: State) -> None:
        message.state, message.since_ms = state, self._clock.now_ms()


def _shortened(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[: _EXAMPLE - 3]}..."


# ---- who is to blame for what a run lost ----


_MOST = 10  # faults of one component

_REPLAYS_NOT = frozenset({rulebook.SPOUT_WITHOUT_REPLAY})
_TOO_EARLY = frozenset({rulebook.ACK_BEFORE_DONE})
_UNTRACKED = frozenset({rulebook.SPOUT_EMIT_WITHOUT_ID, rulebook.UNANCHORED_EMIT})
_NEVER_COMPLETES = frozenset(
    {
        rulebook.MISSING_ACK,
        rulebook.DOUBLE_ACK,
        rulebook.ACK_IN_LOOP,
        rulebook.ACK_WITH_AUTO_ACK,
        rulebook.ACK_AND_FAIL,
        rulebook.OFF_THREAD_COMPLETION,
        rulebook.ASYNC_HANDLER,
        rulebook.EMIT_AFTER_ACK,
        rulebook.TICK_ANCHORED_EMIT,
        rulebook.WRONG_ANCHOR,
        rulebook.UNSERIALISABLE_EMIT,
        rulebook.STDOUT_IN_MULTILANG,
        rulebook.UNDECLARED_EMIT,
        rulebook.ENDLESS_REPLAY,
        rulebook.BLOCKING_NEXT_TUPLE,
        rulebook.UNDRAINED_BUFFER,
        rulebook.PENDING_OVERWRITE,
        rulebook.EVICTING_BUFFER,
        rulebook.BATCH_WITHOUT_TIMER,
    }
)
"""The rules whose breach keeps a tuple from completing, or kills the worker each time."""
_DEFECTS: Mapping[str, str] = {
    "batch-larger-than-max-pending": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
    "batch-without-ticks": rulebook.BATCH_WITHOUT_TICKS,
    "path-exceeds-timeout": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
    "timeouts-off": rulebook.TIMEOUTS_DISABLED,
    "window-exceeds-max-pending": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
    "window-exceeds-timeout": rulebook.FLUSH_SLOWER_THAN_TIMEOUT,
}
"""The defects of the wiring that do the same, with their rules."""


class Blame(NamedTuple):
    """A fault that lint finds in a component, '' for the topology as a whole."""

    component: str
    place: str
    code: str
    message: str


class Unjudged(NamedTuple):
    """What a run cannot see of a bolt that died; `place` is the line that acks before the work is done, '' if unknown."""

    component: str
    place: str
    why: str


def blamed(judged: Judged, fates: Sequence[Fate], vanishing: Collection[str]) -> Iterator[Blame]:
    """Yield the faults that can explain a loss: by a spout's fate, or of the `vanishing` sources of untracked tuples."""
    codes: dict[str, frozenset[str]] = {}
    for fate in fates:
        if fate.lost:
            _add(codes, fate.spout, _REPLAYS_NOT)
    are_stuck = any(fate.stuck or fate.open for fate in fates)
    if are_stuck:
        for node in judged.topology.nodes:
            _add(codes, node.id, _NEVER_COMPLETES)
    for source in vanishing:
        _add(codes, source, _UNTRACKED)
    for node in judged.topology.nodes:
        facts = judged.facts[node.id]
        wanted = codes.get(node.id, frozenset())
        faults = [each for each in facts.faults if each.code in wanted and not each.ignored]
        for fault in faults[:_MOST]:
            yield Blame(node.id, str(fault.place), fault.code, fault.message)
    for defect in judged.defects if are_stuck else ():
        if code := _DEFECTS.get(defect.kind, ""):
            yield Blame(defect.component, str(defect.place), code, defect.why)


def _add(codes: dict[str, frozenset[str]], component: str, more: frozenset[str]) -> None:
    codes[component] = codes.get(component, frozenset()) | more


def unjudged(judged: Judged, dead: Collection[str]) -> Iterator[Unjudged]:
    """Yield what no run can see of the bolts that died: effects of tuples that they had acked already."""
    rest = False
    bolts: Mapping[str, str] = {node.id: node.role for node in judged.topology.nodes}
    for component in (each for each in bolts if each in dead and bolts[each] == "bolt"):
        facts = judged.facts[component]
        by_rule = (each.place for each in facts.faults if each.code in _TOO_EARLY and not each.ignored)
        early = facts.acks_early or next(by_rule, None)
        if early is not None:
            yield Unjudged(component, str(early), "acks tuples before their effect; what waits dies with it")
        elif facts.keeps is not None:
            yield Unjudged(
                component, str(facts.keeps), "keeps data of acked tuples in memory, which dies with it"
            )
        else:
            rest = True
    if rest:
        yield Unjudged("", "", "what a bolt had acked but not done yet died with it, if there was any")
