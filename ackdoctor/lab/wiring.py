"""Which task is whose, and where an emitted tuple goes (Storm's task assignment and Task.getOutgoingTasks)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ackdoctor.lab.grouping import Chooser
from ackdoctor.lab.topology import ACKER, BoltSpec, Topology

__all__ = ["Assignment", "InvalidEmitError", "Outlet", "assign"]


class InvalidEmitError(ValueError):
    """An emit that Storm refuses with an IllegalArgumentException; the text is Storm's."""


@dataclass(slots=True, kw_only=True)
class Assignment:
    """Task ids count from 1 over the components in order of their ids, so the ackers come first."""

    tasks: Mapping[str, tuple[int, ...]]  # component -> its tasks, ascending
    executors: Mapping[str, tuple[tuple[int, ...], ...]]  # component -> the tasks of each of its executors
    components: Mapping[int, str]


def assign(topology: Topology) -> Assignment:
    """Task ids, and the executors that share them as evenly as they can; one task for each acker executor."""
    specs = (*topology.spouts.values(), *topology.bolts.values())
    shape = {spec.component: (spec.tasks, spec.parallelism) for spec in specs}
    ackers = topology.settings.ackers
    if ackers:
        shape[ACKER] = (ackers, ackers)
    tasks: dict[str, tuple[int, ...]] = {}
    executors: dict[str, tuple[tuple[int, ...], ...]] = {}
    components: dict[int, str] = {}
    first = 1
    for name in sorted(shape):
        count, parallelism = shape[name]
        tasks[name] = tuple(range(first, first + count))
        executors[name] = tuple(_split(tasks[name], min(parallelism, count)))
        components.update(dict.fromkeys(tasks[name], name))
        first += count
    return Assignment(tasks=tasks, executors=executors, components=components)


def _split(tasks: Sequence[int], parts: int) -> Iterator[tuple[int, ...]]:
    size, larger = divmod(len(tasks), parts)
    start = 0
    for part in range(parts):
        end = start + size + (part < larger)
        yield tuple(tasks[start:end])
        start = end


class Outlet:
    """One emitting task's groupers."""

    def __init__(self, topology: Topology, assignment: Assignment, component: str, random: Random) -> None:
        self._components = assignment.components
        self.fields = topology.outputs(component)
        self._choosers: dict[str, dict[str, Chooser | None]] = {stream: {} for stream in self.fields}
        for bolt in topology.bolts.values():
            self._subscribe(bolt, assignment.tasks[bolt.component], component, random)

    def _subscribe(self, bolt: BoltSpec, tasks: tuple[int, ...], component: str, random: Random) -> None:
        for (source, stream), grouping in bolt.inputs.items():
            if source != component:
                continue
            chooser = grouping.prepare and grouping.prepare(tasks, self.fields[stream], random)
            self._choosers[stream][bolt.component] = chooser

    def targets(self, stream: str, values: Sequence[object]) -> list[int]:
        """The tasks that a regular emit goes to."""
        chosen: list[int] = []
        for chooser in self._stream(stream, values).values():
            if chooser is None:
                raise InvalidEmitError("Cannot do regular emit to direct stream")
            chosen.extend(chooser(values))
        return chosen

    def direct(self, stream: str, values: Sequence[object], task: int) -> list[int]:
        """The named task, if it subscribes directly; nothing if it does not subscribe at all."""
        subscribers = self._stream(stream, values)
        component = self._components.get(task, "")
        if component not in subscribers:
            return []
        if subscribers[component] is not None:
            raise InvalidEmitError("Cannot emitDirect to a task expecting a regular grouping")
        return [task]

    def _stream(self, stream: str, values: Sequence[object]) -> Mapping[str, Chooser | None]:
        if stream not in self._choosers:
            raise InvalidEmitError(f"Unknown stream ID: {stream}")
        if len(values) != len(self.fields[stream]):
            raise InvalidEmitError(
                f"Tuple created with wrong number of fields. Expected {len(self.fields[stream])} fields "
                f"but got {len(values)} fields"
            )
        return self._choosers[stream]
