"""What is run: spouts and bolts, how many of each, who subscribes to what, and the settings.

    builder = TopologyBuilder()
    builder.set_spout("words", Words, outputs=("word",))
    builder.set_bolt("count", Count, parallelism=2, outputs=("word", "n")).fields_grouping("words", "word")
    topology = builder.build(Settings(ackers=1, message_timeout_secs=30))

`parallelism` counts executors (threads), `tasks` the component instances that they share; as in Storm
there is one task per executor unless more are asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from ackdoctor.lab.component import Bolt, Spout
from ackdoctor.lab.grouping import ALL, DIRECT, GLOBAL, LOCAL_OR_SHUFFLE, NONE, SHUFFLE, Grouping, fields_of

__all__ = [
    "ACKER",
    "DEFAULT_STREAM",
    "SYSTEM",
    "SYSTEM_STREAM",
    "SYSTEM_TASK",
    "TICK_STREAM",
    "BoltSpec",
    "InvalidTopologyError",
    "Outputs",
    "Settings",
    "SpoutSpec",
    "Topology",
    "TopologyBuilder",
]

ACKER = "__acker"
SYSTEM = "__system"
SYSTEM_TASK = -1
DEFAULT_STREAM = "default"
SYSTEM_STREAM = "__system"
TICK_STREAM = "__tick"

Outputs: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]


class InvalidTopologyError(ValueError):
    """A topology that Storm would not accept either; the text says which component is at fault."""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Settings:
    """The topology's configuration, by Storm's names without their prefix (`topology.message.timeout.secs`)."""

    ackers: int = 1  # topology.acker.executors; 0 disables acking
    message_timeout_secs: int = 30
    enable_message_timeouts: bool = True
    max_spout_pending: int | None = None  # per spout task
    tick_tuple_freq_secs: int | None = None  # for every bolt that does not set its own


@dataclass(slots=True, kw_only=True)
class _Spec:
    """What spouts and bolts share."""

    component: str
    parallelism: int
    tasks: int
    outputs: Mapping[str, tuple[str, ...]]  # stream -> field names


@dataclass(slots=True, kw_only=True)
class SpoutSpec(_Spec):
    """A spout, not yet running; `factory` is called once for each task, and again after each death."""

    factory: Callable[[], Spout]


@dataclass(slots=True, kw_only=True)
class BoltSpec(_Spec):
    """A bolt, not yet running; the `*_grouping` methods subscribe it and return it, as Storm's declarer does."""

    factory: Callable[[], Bolt]
    tick_secs: int | None = None
    inputs: dict[tuple[str, str], Grouping] = field(default_factory=dict)  # (source, stream) ->

    def grouping(self, source: str, grouping: Grouping, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Subscribe to `stream` of component `source` by any grouping, one of your own included."""
        self.inputs[source, stream] = grouping
        return self

    def shuffle_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to one task, all tasks get the same share."""
        return self.grouping(source, SHUFFLE, stream)

    def local_or_shuffle_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """As shuffle: in one process every task is local."""
        return self.grouping(source, LOCAL_OR_SHUFFLE, stream)

    def none_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to one task at random."""
        return self.grouping(source, NONE, stream)

    def fields_grouping(self, source: str, *names: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Tuples with equal values of the fields `names` go to the same task."""
        return self.grouping(source, fields_of(*names), stream)

    def all_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to every task."""
        return self.grouping(source, ALL, stream)

    def global_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """Each tuple goes to the task with the lowest id."""
        return self.grouping(source, GLOBAL, stream)

    def direct_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> "BoltSpec":
        """The emitting component names the task."""
        return self.grouping(source, DIRECT, stream)


@dataclass(slots=True, kw_only=True)
class Topology:
    """A checked topology."""

    spouts: Mapping[str, SpoutSpec]
    bolts: Mapping[str, BoltSpec]
    settings: Settings

    def outputs(self, component: str) -> Mapping[str, tuple[str, ...]]:
        """The streams that a component declares, with their field names."""
        spec = self.spouts.get(component) or self.bolts[component]
        return spec.outputs


class TopologyBuilder:
    """Collects components; `build` checks that they fit together."""

    def __init__(self) -> None:
        self._spouts: dict[str, SpoutSpec] = {}
        self._bolts: dict[str, BoltSpec] = {}

    def set_spout(
        self,
        component: str,
        factory: Callable[[], Spout],
        *,
        parallelism: int = 1,
        tasks: int | None = None,
        outputs: Outputs = (),
    ) -> SpoutSpec:
        """Add a spout; `outputs` are the fields of its default stream, or a mapping stream -> fields."""
        self._claim(component)
        spec = SpoutSpec(
            component=component,
            factory=factory,
            parallelism=parallelism,
            tasks=tasks or parallelism,
            outputs=_streams(outputs),
        )
        self._spouts[component] = spec
        return spec

    def set_bolt(
        self,
        component: str,
        factory: Callable[[], Bolt],
        *,
        parallelism: int = 1,
        tasks: int | None = None,
        outputs: Outputs = (),
        tick_secs: int | None = None,
    ) -> BoltSpec:
        """Add a bolt; `tick_secs` is its own `topology.tick.tuple.freq.secs`."""
        self._claim(component)
        spec = BoltSpec(
            component=component,
            factory=factory,
            parallelism=parallelism,
            tasks=tasks or parallelism,
            outputs=_streams(outputs),
            tick_secs=tick_secs,
        )
        self._bolts[component] = spec
        return spec

    def build(self, settings: Settings | None = None) -> Topology:
        """The topology; InvalidTopologyError if a bolt subscribes to what nobody emits."""
        topology = Topology(
            spouts=dict(self._spouts), bolts=dict(self._bolts), settings=settings or Settings()
        )
        for bolt in self._bolts.values():
            for (source, stream), grouping in bolt.inputs.items():
                place = f"{bolt.component!r} subscribes to stream {stream!r} of {source!r}"
                self._check(topology, place, source, stream, grouping)
        return topology

    def _claim(self, component: str) -> None:
        if component in self._spouts or component in self._bolts:
            raise InvalidTopologyError(f"there are two components with the id {component!r}")
        if component.startswith("__"):
            raise InvalidTopologyError(f"{component!r} is not a valid component id: it starts with '__'")

    def _check(self, topology: Topology, place: str, source: str, stream: str, grouping: Grouping) -> None:
        if source not in self._spouts and source not in self._bolts:
            raise InvalidTopologyError(f"{place}: there is no such component")
        streams = topology.outputs(source)
        if stream not in streams:
            raise InvalidTopologyError(f"{place}, which declares only {', '.join(map(repr, streams))}")
        missing = [name for name in grouping.fields if name not in streams[stream]]
        if missing:
            raise InvalidTopologyError(f"{place} by field {missing[0]!r}, which that stream has not")


def _streams(outputs: Outputs) -> Mapping[str, tuple[str, ...]]:
    """Every component also has a system stream, on which Storm 1.x says `startup`."""
    if isinstance(outputs, Mapping):
        streams = {stream: tuple(names) for stream, names in outputs.items()}
    else:
        streams = {DEFAULT_STREAM: tuple(outputs)} if outputs else {}
    return MappingProxyType({**streams, SYSTEM_STREAM: ("event",)})
