"""Random traces: any messages in any order, from several processes whose clocks disagree.

Hypothesis draws them; a job of Spark's checks hundreds at once, each a `run` of its own.
"""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ackdoctor.acker.versions import Profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Message, ResetTimeout, Tick
from ackdoctor.model.trace import EventKind
from tests.spark.model_entries import COLUMNS, Entry, Model, Sent

MESSAGES: dict[EventKind, Callable[["Row"], Message]] = {
    EventKind.INIT: lambda row: AckInit(row.root, row.value, row.task),
    EventKind.ACK: lambda row: AckAck(row.root, row.value),
    EventKind.FAIL: lambda row: AckFail(row.root),
    EventKind.RESET: lambda row: ResetTimeout(row.root),
    EventKind.ROTATED: lambda _: Tick(),
}


_OFTEN = {"INIT": 5, "ACK": 11, "FAIL": 2, "RESET": 2, "ROTATED": 3}


class Row(NamedTuple):
    """One message in the rows of the process `source`; `pos` rises within a process."""

    kind: EventKind
    acker: int
    incarnation: int
    root: int
    value: int
    task: int
    source: int
    pos: int
    at_ms: int


_KINDS = [EventKind[name] for name in "INIT ACK FAIL RESET ROTATED".split() for _ in range(_OFTEN[name])]
_VALUES = (0, 1, 1, 2, 2, 3, 4, 7, 1 << 62, -(1 << 63))


@st.composite
def _trace(draw: st.DrawFn) -> list[Row]:
    """Few roots and small values, so that rare cases happen; one process writes all rows, or several write a part each."""
    sources = draw(st.sampled_from([1, 1, 1, 2, 3]))
    ackers, starts = draw(st.sampled_from([1, 1, 2])), draw(st.sampled_from([1, 1, 2]))
    ahead_ms = [0, *(draw(st.integers(-20_000, 20_000)) for _ in range(sources - 1))]
    dice = random.Random(draw(st.integers(0, 1 << 32)))
    rows: list[Row] = []
    now_ms = 100_000
    for pos in range(1, draw(st.integers(1, 40)) + 1):
        kind, source = dice.choice(_KINDS), dice.randrange(sources)
        now_ms += dice.choice([0, 1, 5, 1_000, 20_000] + [-3_000] * (sources == 1))  # one clock is set back
        rows.append(
            Row(
                kind=kind,
                acker=dice.randrange(ackers),
                incarnation=dice.randrange(starts),
                root=0 if kind is EventKind.ROTATED else dice.randrange(1, 4),
                value=dice.choice(_VALUES) if kind in {EventKind.INIT, EventKind.ACK} else 0,
                task=dice.choice([3, 4]),
                source=source,
                pos=pos,
                at_ms=now_ms + ahead_ms[source],
            )
        )
    return rows


def traces(count: int) -> list[list[Row]]:
    """Return `count` traces, always the same."""
    found: list[list[Row]] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_trace())
    def gather(rows: list[Row]) -> None:
        found.append(rows)

    gather()
    return found


def once(trace: list[Row]) -> list[Row]:
    """Return the trace with one INIT for each root: Heron's stream manager draws a new id for each tuple that it routes."""
    seen: set[tuple[int, ...]] = set()
    kept: list[Row] = []
    for row in trace:
        key = (row.acker, row.incarnation, row.root)
        if row.kind is not EventKind.INIT or key not in seen:
            kept.append(row)
        if row.kind is EventKind.INIT:
            seen.add(key)
    return kept


def rows(run: str, trace: list[Row]) -> list[tuple[Any, ...]]:
    """MESSAGES."""
    return [
        (
            run,
            *(row.acker, row.incarnation, row.root, int(row.kind), row.value),
            row.task if row.kind is EventKind.INIT else None,
            *("bolt", 7, "", row.source, row.pos, row.at_ms * 1_000_000, ""),
        )
        for row in trace
    ]


def entries(trace: list[Row], profile: Profile) -> list[tuple[Any, ...]]:
    """Return the model's entries: acker, incarnation and COLUMNS of each."""
    keys = {(row.acker, row.incarnation, row.root) for row in trace if row.kind is not EventKind.ROTATED}
    return [
        (acker, incarnation, *(getattr(entry, name) for name in COLUMNS))
        for acker, incarnation, root in keys
        for entry in _entries(
            [row for row in trace if (row.acker, row.incarnation) == (acker, incarnation)], root, profile
        )
    ]


def _entries(trace: list[Row], root: int, profile: Profile) -> list[Entry]:
    """Return the messages of one root, in order, with the ticks of its acker between them."""
    own = [row for row in trace if row.root == root and (profile.resets or row.kind is not EventKind.RESET)]
    ticks = [row for row in trace if row.kind is EventKind.ROTATED]
    mixed = len({row.source for row in own}) > 1
    own.sort(key=lambda row: (row.at_ms if mixed else row.pos, row.source, row.pos))
    clocks = {tick.source for tick in ticks}
    ticks.sort(key=lambda tick: (tick.at_ms if len(clocks) > 1 else tick.pos, tick.pos))
    stream: list[Sent] = []
    for row in own:
        while ticks and not _after(ticks[0], row, None if mixed else row.source):
            stream.append(_tick(ticks.pop(0)))
        place = row.at_ms * 1_000_000 if mixed else row.pos
        stream.append(Sent(place, row.at_ms, MESSAGES[row.kind](row)))
    return Model(profile).run([*stream, *map(_tick, ticks)])


def _after(tick: Row, row: Row, clock: int | None) -> bool:
    """Compare by the rows of the process that wrote the tick, if it wrote all messages of the root."""
    return tick.pos > row.pos if tick.source == clock else tick.at_ms > row.at_ms


def _tick(row: Row) -> Sent:
    return Sent(row.pos, row.at_ms, Tick())
