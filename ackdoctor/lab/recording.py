"""A cluster's rows on disk: what `ackdoctor trace report` and Spark read.

clock = VirtualClock()
recorder = Recorder(directory, run="lab", clock=nanoseconds(clock), seconds=3600)
cluster = Cluster(topology, clock=clock, record=recorded(recorder))
cluster.advance(600)
recorder.close()
"""

from collections.abc import Callable

from ackdoctor.acker.clock import Clock
from ackdoctor.lab.worker import Record
from ackdoctor.model.event import Event
from ackdoctor.tracer.trace.files import Writer

__all__ = ["nanoseconds", "recorded"]


def nanoseconds(clock: Clock) -> Callable[[], int]:
    """The clock as a recorder reads it."""
    return lambda: clock.now_ms() * 1_000_000


def recorded(recorder: Writer) -> Record:
    """A `Cluster`'s `record` that writes each row."""

    def record(row: Event) -> None:
        recorder.write(
            row.kind,
            row.component,
            row.task,
            row.stream,
            row.delivery,
            row.root,
            row.value,
            row.site,
            row.flags,
            note=row.note,
        )

    return record
