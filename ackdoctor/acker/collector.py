"""What a bolt executor does with emit, ack, fail and resetTimeout.

A collector draws edge ids and says which messages go to the acker; who the targets are and how the
messages get there is the executor's affair.  Nothing here remembers that a tuple was already acked.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ackdoctor.acker.acker import AckEmit
from ackdoctor.acker.ids import IdSource
from ackdoctor.acker.rotating_map import Clock, RotatingMap
from ackdoctor.acker.versions import Engine, Profile
from ackdoctor.model.message import AckAck, AckFail, Message, ResetTimeout

__all__ = [
    "BoltCollector",
    "Emission",
    "HeronBoltCollector",
    "JStormBoltCollector",
    "MessageId",
    "StormBoltCollector",
    "TupleImpl",
    "make_collector",
]

MessageId: TypeAlias = Mapping[int, int]  # {root: edge}; empty for an unanchored tuple


class TupleImpl:
    """The part of Storm's TupleImpl that acking needs: its MessageId, and the XOR of its children's edges.

    Equal only to itself, as in Java.  `ack_val` is never reset.  Subclass it to carry values and a source.
    """

    __slots__ = ("ack_val", "message_id")

    def __init__(self, message_id: MessageId) -> None:
        self.message_id = message_id
        self.ack_val = 0


class Emission(NamedTuple):
    """One MessageId for each target, in order, and what goes to the acker at once (Heron only)."""

    message_ids: tuple[MessageId, ...]
    messages: tuple[Message, ...] = ()


class BoltCollector(Protocol):
    """The verbs of a bolt executor.  With ackers off, no tuple has roots, so nothing is sent."""

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """One tuple to so many tasks; a tuple listed twice as anchor gives two edges (but in Heron)."""

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """One message for each root."""

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """One message for each root."""

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:
        """One message for each root, where the version knows it."""


def make_collector(
    profile: Profile, *, ids: IdSource, clock: Clock, message_timeout_s: int = 30
) -> BoltCollector:
    """The collector of a version; the clock and the timeout are for JStorm's, which forgets children."""
    match profile.engine:
        case Engine.CLOJURE | Engine.JAVA:
            return StormBoltCollector(profile, ids=ids)
        case Engine.JSTORM:
            return JStormBoltCollector(ids=ids, clock=clock, message_timeout_s=message_timeout_s)
        case Engine.HERON:
            return HeronBoltCollector(ids=ids)


class StormBoltCollector:
    """executor.clj `bolt-emit`, `ack`, `fail`; BoltOutputCollectorImpl.java."""

    def __init__(self, profile: Profile, *, ids: IdSource) -> None:
        self._resets = profile.resets
        self._ids = ids

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """For each target and each anchor that has roots, a new edge, known to the anchor and its roots."""
        return Emission(tuple(self._message_id(anchors) for _ in range(targets)))

    def _message_id(self, anchors: Sequence[TupleImpl]) -> MessageId:
        anchors_to_ids: dict[int, int] = {}
        for anchor in anchors:
            if anchor.message_id:
                edge = self._ids.next_long()
                anchor.ack_val ^= edge
                for root in anchor.message_id:
                    anchors_to_ids[root] = anchors_to_ids.get(root, 0) ^ edge
        return anchors_to_ids

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root, edge ^ ack_val] for each root; a second ack says the same again."""
        return tuple(AckAck(root, edge ^ tup.ack_val) for root, edge in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root] for each root."""
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root] for each root, since 1.0.0."""
        return tuple(ResetTimeout(root) for root in tup.message_id) if self._resets else ()


class JStormBoltCollector:
    """BoltCollector.java of JStorm 2.4: the children's edges are in a RotatingMap(3), keyed by the tuple.

    Ack and fail take them out, so a second ack says the bare edge; a tuple held for longer than T loses them.
    """

    def __init__(self, *, ids: IdSource, clock: Clock, message_timeout_s: int = 30) -> None:
        self._ids = ids
        self._clock = clock
        self._pending_acks: RotatingMap[TupleImpl, int] = RotatingMap(3)
        self._rotate_ms = 1000 * message_timeout_s // 2
        self._last_rotate_ms = clock.now_ms()

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Rotates if T/2 has passed, then as Storm does."""
        now_ms = self._clock.now_ms()
        if now_ms - self._last_rotate_ms > self._rotate_ms:
            self._pending_acks.rotate()
            self._last_rotate_ms = now_ms
        return Emission(tuple(self._message_id(anchors) for _ in range(targets)))

    def _message_id(self, anchors: Sequence[TupleImpl]) -> MessageId:
        anchors_to_ids: dict[int, int] = {}
        for anchor in anchors:
            edge = self._ids.next_long()
            self._pending_acks.put(anchor, (self._pending_acks.get(anchor) or 0) ^ edge)
            for root in anchor.message_id:
                anchors_to_ids[root] = anchors_to_ids.get(root, 0) ^ edge
        return anchors_to_ids

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root, edge ^ children] for each root; forgets the children."""
        children = self._pending_acks.remove(tup) or 0
        return tuple(AckAck(root, edge ^ children) for root, edge in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root] for each root; forgets the children."""
        self._pending_acks.remove(tup)
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:  # noqa: ARG002 - the protocol's
        """JStorm has none."""
        return ()


class HeronBoltCollector:
    """A Heron instance and its stream manager: children are announced when they are emitted, acks carry the own key."""

    def __init__(self, *, ids: IdSource) -> None:
        self._ids = ids

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """One key for each target, sent to every root of the anchors."""
        roots = dict.fromkeys(root for anchor in anchors for root in anchor.message_id)
        message_ids: list[MessageId] = []
        messages: list[Message] = []
        for _ in range(targets):
            key = self._ids.next_long()
            message_ids.append(dict.fromkeys(roots, key))
            messages.extend(AckEmit(root, key) for root in roots)
        return Emission(tuple(message_ids), tuple(messages))

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root, key] for each root."""
        return tuple(AckAck(root, key) for root, key in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """[root] for each root."""
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:  # noqa: ARG002 - the protocol's
        """Heron has none."""
        return ()
