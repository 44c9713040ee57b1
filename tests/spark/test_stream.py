"""`ackdoctor watch`: what is told of a growing trace, when, and how often."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ackdoctor.model.event import Event, EventKind
from ackdoctor.tracer.disk import jsonlines
from ackdoctor.tracer.disk.segments import Stem, home

pytest.importorskip("pyspark")
from pyspark.sql import Row

from ackdoctor.spark.live import NEVER_ZERO, ORPHAN, OVER_ACKED, LiveTerms
from ackdoctor.spark.live_journal import Journal
from ackdoctor.spark.stream import Watch
from tests.spark.telling import events

pytestmark = pytest.mark.slow

INIT, ACK, ROTATED = EventKind.INIT, EventKind.ACK, EventKind.ROTATED
BEGIN = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def row(seq: int, second: float, kind: EventKind, root: int = 0, value: int = 0, by: str = "count") -> Event:
    return Event(
        kind,
        BEGIN + int(second * SECOND),
        seq=seq,
        component="lines" if kind is INIT else by,
        task=1 if kind is INIT else 4,
        delivery=f"{by}-{value}" if kind is ACK else "",
        root=root,
        value=value,
        run="r 1",
        worker="w",
        pid=7,
    )


def told(*steps: tuple[float, EventKind, int, int]) -> list[Event]:
    """(second, kind, root, value), in the order in which the acker took them."""
    return [row(seq, *step) for seq, step in enumerate(sorted(steps, key=lambda step: step[0]))]


def write(rows: Iterable[Event], folder: Path) -> Path:
    """One more part of the trace."""
    part = list(rows)
    place = home(folder, part[0].run, part[0].worker)
    place.mkdir(parents=True, exist_ok=True)
    path = Stem(part[0].pid, part[0].seq).part(place, ".jsonl")
    new = path.with_name(".new")
    jsonlines.write((row._replace(run="", worker="") for row in part), new)
    return new.rename(path)


class Watched:
    """A folder, and what a watch in this process tells of it."""

    def __init__(self, spark, tmp_path: Path, terms: LiveTerms) -> None:
        self.folder = tmp_path / "trace"
        self.folder.mkdir()
        self._spark, self._terms = spark, terms
        self._checkpoint = tmp_path / "checkpoint"
        self._checkpoint.mkdir()
        self.refused: list[tuple[str, int]] = []

    def told(self, rows: Iterable[Event] = ()) -> list[tuple[str, int]]:
        """What a watch tells that is started now and reads what is there."""
        if rows:
            write(rows, self.folder)
        lines: list[tuple[str, int]] = []

        def line(row: Row) -> str:
            lines.append((row["what"], row["root"]))
            return ""

        watch = Watch(
            folder=self.folder,
            checkpoint=self._checkpoint,
            terms=self._terms,
            journal=Journal(self._checkpoint / "told.json", self._checkpoint.parent / "out"),
            line=line,
            refused=lambda file, count: self.refused.append((Path(file).name, count)),
        )
        watch.run(self._spark, once=True)
        return lines


@pytest.fixture
def watched(spark, tmp_path: Path) -> Callable[..., Watched]:
    return lambda **terms: Watched(spark, tmp_path, LiveTerms(**terms))


def test_an_ack_after_completion_is_told_at_once_and_only_once(watched):
    watch = watched(message_timeout_s=30)
    rows = told((0, INIT, 7, 5), (1, ACK, 7, 5), (2, ACK, 7, 5), (3, ACK, 7, 5))
    assert watch.told(rows[:2]) == []
    assert watch.told(rows[2:3]) == [(OVER_ACKED, 7)]
    assert watch.told(rows[3:]) == []


def test_a_tree_that_lacks_an_ack_is_told_when_its_life_is_over(watched):
    watch = watched(message_timeout_s=30)  # 2.x: dropped by the third rotation, after 90 s
    rows = told((0, INIT, 7, 5), (99, INIT, 8, 1), (100, ACK, 8, 1))
    assert watch.told(rows[:2]) == []
    assert watch.told(rows[2:]) == [(NEVER_ZERO, 7)]


def test_rotations_that_the_trace_names_decide_where_no_timeout_is_given(watched):
    watch = watched()
    ticks = [(400.0 * n, ROTATED, 0, 0) for n in (1, 2, 3)]
    rows = told((0, INIT, 7, 5), *ticks, (1211, INIT, 8, 1))
    assert watch.told(rows[:4]) == []
    assert watch.told(rows[4:]) == [(NEVER_ZERO, 7)]


def test_a_late_ack_of_a_forgotten_tree_is_an_orphan(watched):
    watch = watched(message_timeout_s=10)
    rows = told((0, INIT, 7, 5), (1, ACK, 7, 5), (500, INIT, 8, 1), (501, ACK, 7, 5), (600, ACK, 8, 1))
    assert watch.told(rows[:3]) == []
    assert watch.told(rows[3:]) == [(ORPHAN, 7), (NEVER_ZERO, 8)]


def test_a_line_that_is_no_row_is_told_and_the_rest_is_read(watched):
    watch = watched(message_timeout_s=30)
    part = write(told((0, INIT, 7, 5), (1, ACK, 7, 5), (2, ACK, 7, 5)), watch.folder)
    part.write_text(part.read_text() + "{cut off\n")
    assert watch.told() == [(OVER_ACKED, 7)]
    assert watch.refused == [("part-7-000000000000.jsonl", 1)]
