"""From shapes to violations: the first delivery of each shape goes through the ledger that judges a test.

So the same mistake has the same code, words, price and fingerprint, whether a test, a trace or a cluster showed it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.violation import TracedComponent, Violation
from ackdoctor.spark.deliveries import BOOK, NO_PROCESS
from ackdoctor.spark.frames import literal_table
from ackdoctor.spark.judge.shapes import neighbours
from ackdoctor.tracer.judge.playback import Playback
from ackdoctor.tracer.trace.components import STORM, described

__all__ = ["violations"]

_SAMPLES = "number: int, run: string, worker: string, pid: int, component: string, task: int, test: string, seqs: array<bigint>, back: boolean"
_OF_LOG = described(
    TracedComponent(name="", dialect="storm", role=STORM.name, path="", line=0)
)  # no process of ours


class _Sample(NamedTuple):
    """A shape's first delivery, how many went the same way, and whether it is an emit of no delivery."""

    shape: Row
    bare: bool


def violations(
    session: SparkSession, events: DataFrame, shapes: Iterable[Row], bare: Iterable[Row]
) -> tuple[Violation, ...]:
    """What went wrong with the deliveries whose SHAPES these are, each mistake once, counted."""
    samples = [_Sample(row, bare=False) for row in shapes]
    samples += [_Sample(row, bare=True) for row in bare]
    if not samples:
        return ()
    seqs = [
        {name: sample.shape[name] for name in BOOK}
        | {
            "number": number,
            "seqs": [row["seq"] for row in sample.shape["rows"]],
            "back": sample.bare,
        }
        for number, sample in enumerate(samples)
    ]
    near: dict[int, list[Row]] = {}
    for row in neighbours(events, literal_table(session, _SAMPLES, seqs)).collect():
        near.setdefault(row["number"], []).append(row)
    return tuple(
        violation
        for number, sample in enumerate(samples)
        for violation in _judged(sample, near.get(number, ()))
    )


def _judged(sample: _Sample, near: Sequence[Row]) -> Iterator[Violation]:
    """The violations of the sample alone: those who stand in between are there for the order."""
    shape = sample.shape
    playback = Playback()
    if shape["pid"] <= NO_PROCESS and not any(row["kind"] == EventKind.NAMED for row in near):
        playback.feed(
            _event({name: shape[name] for name in BOOK}, shape["rows"][0], note=_OF_LOG)._replace(
                kind=EventKind.NAMED
            )
        )
    for event in sorted(
        _events(shape, near), key=lambda event: (event.kind is not EventKind.NAMED, event.seq)
    ):
        playback.feed(event)
    for violation in playback.settle().violations:
        own = (
            violation.misuse is Misuse.UNANCHORED if sample.bare else violation.delivery == shape["delivery"]
        )
        if own:
            yield replace(violation, count=shape["deliveries"])


def _events(shape: Row, near: Iterable[Row]) -> Iterator[Event]:
    book = {name: shape[name] for name in BOOK}
    for row in shape["rows"]:
        yield _event(book, row, delivery=shape["delivery"])
    for row in near:
        yield _event(book, row, delivery=row["delivery"], note=row["note"])


def _event(book: Mapping[str, Any], row: Row, *, delivery: str = "", note: str = "") -> Event:
    return Event(
        kind=EventKind(row["kind"]),
        time_ns=row["time_ns"],
        seq=row["seq"],
        stream=row["stream"],
        delivery=delivery,
        site=row["site"],
        thread=row["thread"],
        flags=row["flags"],
        note=note,
        **book,
    )
