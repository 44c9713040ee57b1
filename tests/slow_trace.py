"""The rows of a run whose last bolt acks all that it has every few seconds."""

from ackdoctor.model.event import Event, EventKind

__all__ = ["T", "slow_trace"]

T = 10  # the message timeout, in seconds
_MS = 1_000_000


def slow_trace(flush_s: int, *, seconds: int = 150, ticks: bool = False) -> list[Event]:
    """A root a second through `parse` to `batch`; with `ticks` the acker says when it rotates."""
    rows: list[tuple[int, Event]] = []

    def add(at_ms: int, kind: EventKind, component: str, **more: object) -> None:
        row = Event(kind, at_ms * _MS, component=component, run="r", worker="w", pid=7, **more)  # type: ignore[arg-type]
        rows.append((at_ms, row))

    for second in range(seconds):
        root, edge, child = 100 + second, 10_001 + 2 * second, 50_000 + 4 * second
        at = second * 1000 + 500
        flushed = (second // flush_s + 1) * flush_s * 1000 + 250
        tuples = (("parse", 4, edge, at + 2, edge ^ child), ("batch", 2, child, flushed, child))
        add(at, EventKind.INIT, "events", task=3, root=root, value=edge)
        for name, task, value, done, sent in tuples:
            own = {"task": task, "delivery": f"{name}-{root}"}
            add(at + 1, EventKind.RECEIVED, name, stream="default", **own)
            add(at + 1, EventKind.LINKED, name, root=root, value=value, **own)
            add(done, EventKind.ACKED, name, **own)
            add(done, EventKind.ACK, name, root=root, value=sent, **own)
    if ticks:
        for tick in range(T, seconds + flush_s + 1, T):
            add(tick * 1000 + 100, EventKind.ROTATED, "__acker", task=1)
    rows.sort(key=lambda placed: placed[0])
    return [row._replace(seq=seq) for seq, (_, row) in enumerate(rows, start=1)]
