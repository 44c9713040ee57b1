"""What the verdicts cannot know, since the input does not say it."""

from collections.abc import Collection, Iterable, Iterator

from pyspark.sql import Row

from ackdoctor.model.acker_versions import AckerVersion
from ackdoctor.model.event import EventKind
from ackdoctor.model.message import Engine

__all__ = ["doubts", "has"]


def has(counted: Iterable[Row], *kinds: EventKind) -> bool:
    """Whether COUNTS has rows of one of these kinds."""
    return any(row["kind"] in kinds for row in counted)


def doubts(
    counted: Collection[Row], version: AckerVersion, message_timeout_s: int | None, *, timeless: bool
) -> Iterator[str]:
    """Of COUNTS, judged as this version acks; `timeless` if an acker has said that it gets no ticks."""
    if not has(counted, EventKind.INIT, EventKind.ACK):
        return
    ticks = has(counted, EventKind.ROTATED)
    if version.forgets and timeless:
        yield (
            f"an acker says that it gets no ticks, and so it never drops an entry, as {version.name} does: judge it with "
            "--acker-version 1.1.0, or 2.8-no-timeouts"
        )
    elif version.forgets and not ticks and message_timeout_s is None:
        yield (
            f"no row says when the acker rotated its map, as {version.name} does: without --message-timeout what it "
            "has forgotten counts as pending"
        )
    if version.engine is Engine.JSTORM and message_timeout_s is not None:
        yield "JStorm rotates after a message, not by the clock: an acker that was idle kept its entries for longer than is said here"
    if version.engine is Engine.HERON and message_timeout_s is not None:
        yield "each stream manager counts its rotations from its own start: they are counted from the first row here"
