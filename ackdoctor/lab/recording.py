"""The trace of a cluster: component names and rows."""

from collections.abc import Callable

from ackdoctor.acker.runtime import Clock
from ackdoctor.lab.worker import Record
from ackdoctor.model.dialect import Dialect, Discipline, Kind, Role
from ackdoctor.model.trace import Event
from ackdoctor.tracer.components import belongs, describe, described
from ackdoctor.tracer.trace_files import Writer

__all__ = ["named_row", "nanoseconds", "record_to"]


_BOLT = Role(
    name="IRichBolt", kind=Kind.BOLT, classes=(), entries=(), verbs=(), discipline=Discipline()
)  # a Python object with the methods of Storm's Java API
_STORM = Dialect(name="storm", language="java", title="Storm", words=(), roles=(_BOLT,))


def named_row(component: object) -> tuple[str, str]:
    """Return site and note of a component's NAMED row: the class statement; dialect and role."""
    cls: type = type(component)
    traced = describe(component, *(belongs(cls) or (_STORM, _BOLT)))
    site = f"{traced.path}:{traced.line} {cls.__qualname__}" if traced.path else ""
    return site, described(traced)


def nanoseconds(clock: Clock) -> Callable[[], int]:
    """Return a function that reads the clock in nanoseconds, for a recorder."""
    return lambda: clock.now_ms() * 1_000_000


def record_to(recorder: Writer) -> Record:
    """Return a `record` callback for `Cluster` that writes each row."""

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
