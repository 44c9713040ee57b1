"""The bolt's collectors: emit, ack, fail and resetTimeout.

A collector draws edge ids and returns the messages for the acker.  The executor chooses the targets and sends
the messages.  A collector does not record which tuples are acked.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ackdoctor.acker.acker import AckEmit
from ackdoctor.acker.ids import IdSource
from ackdoctor.acker.rotating_map import Clock, RotatingMap
from ackdoctor.acker.versions import Engine, Profile
from ackdoctor.model.acker import AckAck, AckFail, Message, ResetTimeout

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
    """The acking state of Storm's TupleImpl: its MessageId, and the XOR of its children's edges.

    A tuple equals only itself, as in Java.  `ack_val` is never reset.  Subclasses add values and a source.
    """

    __slots__ = ("ack_val", "message_id")

    def __init__(self, message_id: MessageId) -> None:
        self.message_id = message_id
        self.ack_val = 0


class Emission(NamedTuple):
    """One MessageId for each target, in order, and messages for the acker (Heron only)."""

    message_ids: tuple[MessageId, ...]
    messages: tuple[Message, ...] = ()


class BoltCollector(Protocol):
    """A bolt's collector.  Without ackers no tuple has roots, so it sends no messages."""

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Emit one tuple to `targets` tasks.  A tuple listed twice as anchor gets two edges (except in Heron)."""

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return one ack for each root."""

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return one fail for each root."""

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return one reset for each root, if the version supports it."""


def make_collector(
    profile: Profile, *, ids: IdSource, clock: Clock, message_timeout_s: int = 30
) -> BoltCollector:
    """Return the collector of a version.  JStorm's needs the clock and the timeout, since it drops children after T."""
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
        """Draw an edge for each target and anchored tuple; XOR it into `ack_val` and into the roots."""
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
        """Return [root, edge ^ ack_val] for each root; a second ack returns the same."""
        return tuple(AckAck(root, edge ^ tup.ack_val) for root, edge in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root] for each root."""
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root] for each root, since 1.0.0."""
        return tuple(ResetTimeout(root) for root in tup.message_id) if self._resets else ()


class JStormBoltCollector:
    """BoltCollector.java of JStorm 2.4: a RotatingMap(3) holds the children's edges, keyed by tuple.

    Ack and fail remove them, so a second ack carries the bare edge.  A tuple held longer than T loses them.
    """

    def __init__(self, *, ids: IdSource, clock: Clock, message_timeout_s: int = 30) -> None:
        self._ids = ids
        self._clock = clock
        self._pending_acks: RotatingMap[TupleImpl, int] = RotatingMap(3)
        self._rotate_ms = 1000 * message_timeout_s // 2
        self._last_rotate_ms = clock.now_ms()

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Rotate if T/2 has passed, then emit as Storm does."""
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
        """Remove the children; return [root, edge ^ children] for each root."""
        children = self._pending_acks.remove(tup) or 0
        return tuple(AckAck(root, edge ^ children) for root, edge in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Remove the children; return [root] for each root."""
        self._pending_acks.remove(tup)
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:  # noqa: ARG002 - the protocol's
        """Return nothing: JStorm has no reset."""
        return ()


class HeronBoltCollector:
    """A Heron instance and its stream manager: an emit announces the child's key, an ack carries the tuple's own key."""

    def __init__(self, *, ids: IdSource) -> None:
        self._ids = ids

    def emit(self, anchors: Sequence[TupleImpl], targets: int) -> Emission:
        """Draw one key for each target, and announce it to every root of the anchors."""
        roots = dict.fromkeys(root for anchor in anchors for root in anchor.message_id)
        message_ids: list[MessageId] = []
        messages: list[Message] = []
        for _ in range(targets):
            key = self._ids.next_long()
            message_ids.append(dict.fromkeys(roots, key))
            messages.extend(AckEmit(root, key) for root in roots)
        return Emission(tuple(message_ids), tuple(messages))

    def ack(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root, key] for each root."""
        return tuple(AckAck(root, key) for root, key in tup.message_id.items())

    def fail(self, tup: TupleImpl) -> tuple[Message, ...]:
        """Return [root] for each root."""
        return tuple(AckFail(root) for root in tup.message_id)

    def reset_timeout(self, tup: TupleImpl) -> tuple[Message, ...]:  # noqa: ARG002 - the protocol's
        """Return nothing: Heron has no reset."""
        return ()
