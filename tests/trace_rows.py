"""Rows of synthetic traces: from lines of text (`init 66 1`, `ack 66 1 by sql`, `timeout 66`), and of a bolt that acks late."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ackdoctor.acker.residue import find_culprits, traced_tuples
from ackdoctor.model.trace import Event, EventKind, RunTally
from ackdoctor.tracer import trace_files

__all__ = ["T", "events_of", "slow_trace", "with_culprits", "write_lines"]


_KINDS = {
    "init": EventKind.INIT,
    "ack": EventKind.ACK,
    "fail": EventKind.FAIL,
    "reset": EventKind.RESET,
    "tick": EventKind.ROTATED,
    "timeout": EventKind.TIMED_OUT,
}
_LINE = re.compile(r"(?P<kind>[a-z]+)(?: (?P<root>\d+))?(?: (?P<value>\d+))?(?: by (?P<component>\w+))?")
_SECOND = 1_000_000_000


def events_of(lines: Sequence[str]) -> list[Event]:
    """Return the trace rows of these lines, one per second."""
    events = []
    for seq, line in enumerate(lines, start=1):
        words = _LINE.fullmatch(line)
        assert words is not None, f"line {seq} is not a message to an acker: {line}"
        component, value = words["component"] or "", int(words["value"] or 0)
        events.append(
            Event(
                kind=_KINDS[words["kind"]],
                time_ns=seq * _SECOND,
                seq=seq,
                component=component,
                task=11 if words["kind"] == "init" else 0,
                delivery=f"{component}-{value}" if component else "",
                root=int(words["root"] or 0),
                value=value,
            )
        )
    return events


def with_culprits(tally: RunTally, events: Iterable[Event]) -> RunTally:
    """Return the tally with the culprits of its trees, from a second pass over the trace."""
    wanted = {tree.root: tree for tree in tally.trees}
    seen = traced_tuples(events, wanted)
    return replace(tally, trees=tuple(find_culprits(tree, seen[tree.root]) for tree in tally.trees))


T = 10  # the message timeout, in seconds
_MS = 1_000_000


def slow_trace(flush_s: int, *, seconds: int = 150, ticks: bool = False) -> list[Event]:
    """Return the rows of a run whose last bolt acks only every `flush_s` seconds.

    A root per second goes through `parse` to `batch`.  With `ticks`, the acker records its rotations.
    """
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


def write_lines(rows: Iterable[Event], path: Path) -> None:
    """Write rows to a file of a trace."""
    path.write_text("".join(f"{trace_files.line(row)}\n" for row in rows), encoding="ascii", newline="\n")
