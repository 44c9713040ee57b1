"""Random traces of an acker, and their entries in the model."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ackdoctor.acker.acker import Acker, JStormAcker, make_acker
from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import (
    AckAck,
    AckFail,
    AckInit,
    Answer,
    AnswerKind,
    Engine,
    Message,
    ResetTimeout,
    Tick,
)
from ackdoctor.model.trace import EventKind, PendingEntry

KINDS = {
    AckInit: EventKind.INIT,
    AckAck: EventKind.ACK,
    AckFail: EventKind.FAIL,
    ResetTimeout: EventKind.RESET,
}


class Sent(NamedTuple):
    """One message at an acker; `pos` and `at_ms` rise."""

    pos: int
    at_ms: int
    message: Message


@dataclass
class Entry:
    """One entry of the model, with the columns of ENTRIES that the model knows."""

    root: int
    nth: int
    first_pos: int
    first_ns: int
    outcome: str = "pending"
    value: int | None = None
    spout_task: int | None = None
    failed: bool = False
    n: int = 0
    n_init: int = 0
    n_ack: int = 0
    n_fail: int = 0
    n_reset: int = 0
    last_pos: int = 0
    end_pos: int | None = None
    init_ns: int | None = None
    last_ns: int = 0
    end_ns: int | None = None


COLUMNS = tuple(Entry.__dataclass_fields__)


@dataclass
class Model:
    """An acker that records its entries."""

    profile: Profile
    clock: VirtualClock = field(default_factory=VirtualClock)
    entries: list[Entry] = field(default_factory=list)
    alive: dict[int, Entry] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.acker: Acker = make_acker(self.profile, self.clock, message_timeout_s=10**9)

    def run(self, stream: list[Sent]) -> list[Entry]:
        """Return all entries; a tick is one of the messages."""
        for sent in stream:
            if isinstance(sent.message, Tick):
                self.rotate()
                self.drop(sent)
            else:
                self.take(sent)
        for entry in self.acker.pending():
            self.end(self.alive[entry.root], "pending", entry)
        return self.entries

    def rotate(self) -> None:
        """A ROTATED row: JStorm's acker rotates by its clock, which does not move here."""
        if isinstance(self.acker, JStormAcker):
            self.acker._pending.rotate()
        else:
            self.acker.receive(Tick())

    def take(self, sent: Sent) -> None:
        root = sent.message.root
        answer = self.acker.receive(sent.message)
        entry = self.entry(root)
        if root not in self.alive and entry is None and answer is None:
            return
        known = self.alive.get(root) or self.begin(root, sent)
        self.count(known, sent)
        match answer:
            case Answer(kind=AnswerKind.ACK | AnswerKind.FAIL):
                known.end_pos, known.end_ns = sent.pos, known.last_ns
                self.end(known, "acked" if answer.kind is AnswerKind.ACK else "failed", None)
            case _:
                known.value, known.failed = entry.value, entry.failed

    def count(self, known: Entry, sent: Sent) -> None:
        now_ns = sent.at_ms * 1_000_000
        known.n += 1
        known.first_ns, known.last_ns = min(known.first_ns, now_ns), max(known.last_ns, now_ns)
        known.last_pos = sent.pos
        match sent.message:
            case AckInit(_, value, task):
                known.n_init += 1
                known.spout_task = task
                known.init_ns = now_ns if known.init_ns is None else min(known.init_ns, now_ns)
                known.value = value if self.profile.engine is Engine.HERON else (known.value or 0) ^ value
            case AckAck(_, value):
                known.n_ack += 1
                known.value = (known.value or 0) ^ value
            case AckFail():
                known.n_fail += 1
                known.failed = True
            case ResetTimeout():
                known.n_reset += 1

    def begin(self, root: int, sent: Sent) -> Entry:
        self.counts[root] = self.counts.get(root, 0) + 1
        self.alive[root] = Entry(root, self.counts[root], sent.pos, sent.at_ms * 1_000_000)
        return self.alive[root]

    def end(self, known: Entry, outcome: str, entry: PendingEntry | None) -> None:
        del self.alive[known.root]
        known.outcome = outcome
        self.entries.append(known)

    def drop(self, sent: Sent) -> None:
        kept = {entry.root for entry in self.acker.pending()}
        for root in [root for root in self.alive if root not in kept]:
            known = self.alive[root]
            known.end_pos, known.end_ns = sent.pos, sent.at_ms * 1_000_000
            self.end(known, "expired", None)

    def entry(self, root: int) -> PendingEntry | None:
        return next((entry for entry in self.acker.pending() if entry.root == root), None)


def stream(seed: int, profile: Profile, *, bits: int) -> list[Sent]:
    """Trees with every defect, their messages shuffled by time; small `bits` provoke early zeros.

    Heron's stream manager makes an entry when it routes the spout's tuple, so there an id is not used twice.
    """
    dice = random.Random(seed)
    messages: list[tuple[int, Message]] = []

    def number() -> int:
        return dice.getrandbits(bits) if bits < 64 else dice.getrandbits(64) - (1 << 63)

    for root in range(1, 41):
        for _ in range(dice.choice([1] * 8 + [2]) if profile.engine is not Engine.HERON else 1):
            messages += _tree(
                dice, root if bits < 64 else root * 0x123456789ABCDEF % (1 << 63), number, profile
            )
    messages += [(at * 1000, Tick()) for at in sorted(dice.sample(range(1, 150), dice.choice([0, 4, 14])))]
    messages.sort(key=lambda pair: pair[0])
    return [Sent(pos, at_ms, message) for pos, (at_ms, message) in enumerate(messages, 1)]


def _tree(dice: random.Random, root: int, number: Any, profile: Profile) -> Iterator[tuple[int, Message]]:
    start = dice.randrange(120_000)
    spread = dice.choice([50, 50, 50, 40_000, 90_000])

    def at() -> int:
        return start + dice.randrange(spread)

    edges = [number() for _ in range(dice.randrange(0, 6))]
    total = 0
    for edge in edges:
        total ^= edge
    for _ in range(dice.choice([1] * 12 + [0, 2]) if profile.engine is not Engine.HERON else 1):
        yield at(), AckInit(root, total, dice.randrange(3, 6))
    for edge in edges:
        child = number() if dice.random() < 0.4 else 0
        if child:
            yield at(), AckAck(root, child)
        for _ in range(dice.choice([1] * 14 + [0, 2, 3])):
            yield at(), AckAck(root, edge ^ child)
    if dice.random() < 0.12:
        yield at(), AckFail(root)
    if dice.random() < 0.08 and profile.resets:
        yield at(), ResetTimeout(root)


def rows(run: str, sent: list[Sent]) -> Iterator[tuple[Any, ...]]:
    """MESSAGES of a stream."""
    for pos, at_ms, message in sent:
        root = 0 if isinstance(message, Tick) else message.root
        kind = KINDS.get(type(message), EventKind.ROTATED)
        value = message.value if isinstance(message, AckInit | AckAck) else 0
        task = message.task if isinstance(message, AckInit) else None
        yield (run, 0, 0, root, int(kind), value, task, "bolt", 7, "", 1, pos, at_ms * 1_000_000, "")
