"""A topology on which a scene runs: it notes what happens, with the pending maps, and compares measures with the law.

stage = Stage(setting, partition, records, {"bolt": Relay, "store": lambda: Sink(records)})
stage.run_to(3.5)
stage.kill("bolt")
stage.note("The bolt's worker dies.")
stage.expect("lost", stage.lost, 0)
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

from ackdoctor.acker.runtime import IdSource, JavaRandom
from ackdoctor.acker.versions import NEWEST, Profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, SpoutInfo, TaskHook, Tup
from ackdoctor.lab.rig import OffsetSpout, Partition, Records, Sink
from ackdoctor.lab.runtime import Death
from ackdoctor.lab.topology import Settings, TopologyBuilder
from ackdoctor.model.finding import counted

TIMEOUT_S = 30  # topology.message.timeout.secs: a root times out after T to 2T
END_S = 150  # after all timeouts and replays
_FIELDS = ("value", "attempt")


@dataclass(slots=True, frozen=True)
class Setting:
    """The seed, and the version of Storm."""

    seed: int = 0
    profile: Profile = NEWEST


@dataclass(slots=True, frozen=True)
class Moment:
    """What happens at a time, and the state after it.

    `pending` are the message ids in the spout's pending map, `tables` the sizes of the ackers' tables (None for an acker
    that is down), and `stored` counts the writes of the store.
    """

    time_ms: int
    text: str
    pending: Sequence[int]
    tables: Sequence[int | None]
    stored: int


@dataclass(slots=True, frozen=True)
class Measure:
    """A measured quantity, and the bounds that the law gives it."""

    name: str
    value: float
    least: float
    most: float

    @property
    def holds(self) -> bool:
        """Whether the value is within its bounds."""
        return self.least <= self.value <= self.most


@dataclass(slots=True, frozen=True)
class Result:
    """What one run of a scene noted and measured."""

    label: str
    moments: Sequence[Moment]
    measures: Sequence[Measure]

    @property
    def holds(self) -> bool:
        """Whether the law holds."""
        return all(measure.holds for measure in self.measures)


# ---- components ----


class Split(Bolt):
    """Emits three anchored children for each tuple: a, b and c."""

    def execute(self, tup: Tup) -> None:
        """Emit the children and ack."""
        for child in "abc":
            self.collector.emit((child, tup["attempt"]), anchors=(tup,))
        self.collector.ack(tup)


class RefusingSink(Sink):
    """A sink that fails a value as often as `refusals` has items; with `silent` it neither acks nor fails it."""

    def __init__(
        self, records: Records, value: Hashable, refusals: Iterator[int], *, silent: bool = False
    ) -> None:
        super().__init__(records, seconds=1)
        self._value = value
        self._refusals = refusals
        self._silent = silent

    def execute(self, tup: Tup) -> Iterator[float]:
        """Refuse the tuple after one second, or store it."""
        if tup.values[0] != self._value or next(self._refusals, None) is None:
            yield from super().execute(tup)
            return
        yield 1
        if not self._silent:
            self.collector.fail(tup)


class AutoCommitSpout(OffsetSpout):
    """Commits each offset when it is emitted, not when it is acked: the source is acked on delivery."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition, commit_s=inf)

    def next_tuple(self) -> float | None:
        """Emit, and commit the next offset."""
        seconds = super().next_tuple()
        self._partition.committed = self.position
        return seconds


class AskedSpout(OffsetSpout):
    """Calls `ask` with its task at each call of `nextTuple`."""

    def __init__(self, partition: Partition, ask: Callable[[int], None], *, tracked: bool) -> None:
        super().__init__(partition, tracked=tracked)
        self._ask = ask

    def next_tuple(self) -> float | None:
        """Report the call, and emit."""
        self._ask(self.context.task)
        return super().next_tuple()


class ToyIds:
    """Ids that a tutorial would choose: root 66, then the edges 1, 2, 3 and so on."""

    def __init__(self) -> None:
        self._edges = count(1)
        self._root: int | None = 66

    def next_long(self) -> int:
        """Return the next id."""
        root, self._root = self._root, None
        return next(self._edges) if root is None else root


class _Answers(TaskHook):
    """The message ids for which the executor called the spout's ack and fail, in order."""

    def __init__(self) -> None:
        self.acked: list[Hashable] = []
        self.failed: list[Hashable] = []

    def spout_ack(self, info: SpoutInfo) -> None:
        self.acked.append(info.msg_id)

    def spout_fail(self, info: SpoutInfo) -> None:
        self.failed.append(info.msg_id)


# ---- the stage ----


class Stage:
    """The numbers of a source go from `spout` through a chain of bolts; `note` keeps what happens.

    With `copies`, each bolt has as many tasks, and each task gets all tuples.
    """

    def __init__(
        self,
        setting: Setting,
        source: Partition,
        records: Records,
        bolts: Mapping[str, Callable[[], Bolt]],
        *,
        spout: Callable[[], OffsetSpout] | None = None,
        tasks: int = 1,
        copies: int = 1,
        ackers: int = 1,
        max_pending: int | None = None,
        ids: Callable[[int], IdSource] = JavaRandom,
    ) -> None:
        self.source = source
        self.records = records
        self.moments: list[Moment] = []
        self.measures: list[Measure] = []
        self.most_pending = 0
        self._answers = _Answers()
        self._ackers = ackers  # tasks 1 to `ackers`: task ids follow the names of components
        builder = TopologyBuilder()
        builder.set_spout("spout", spout or (lambda: OffsetSpout(source)), parallelism=tasks, outputs=_FIELDS)
        before = "spout"
        for name, factory in bolts.items():
            bolt = builder.set_bolt(name, factory, parallelism=copies, outputs=_FIELDS)
            (bolt.all_grouping if copies > 1 else bolt.shuffle_grouping)(before)
            before = name
        settings = Settings(ackers=ackers, message_timeout_secs=TIMEOUT_S, max_spout_pending=max_pending)
        self.cluster = Cluster(
            builder.build(settings),
            profile=setting.profile,
            seed=setting.seed,
            ids=ids,
            hooks=[self._answers],
            active=False,
        )
        # JStorm's spouts look for timeouts only some time after the start of the worker; the scene begins then
        timeouts = setting.profile.spout_schedule(TIMEOUT_S)
        self._start_s = (timeouts.first_ms - timeouts.every_ms) / 1000 if timeouts else 0
        self.cluster.advance(self._start_s)
        self.cluster.activate()

    # -- run

    def run_to(self, seconds: float) -> None:
        """Run to this time."""
        self.cluster.advance(seconds - self.time_s, until=self._watch)

    def replay(self) -> Sequence[Hashable]:
        """Run until roots time out, and to the end of that millisecond; note it, and return their message ids."""
        before = len(self.failed)
        self.cluster.advance(END_S - self.time_s, until=lambda: self._watch() or len(self.failed) > before)
        self.cluster.settle(self._watch)
        failed = self.failed[before:]
        verb = "times" if len(failed) == 1 else "time"
        self.note(f"{counted(len(failed), 'root')} {verb} out; the spout emits the failed tuples again.")
        return failed

    def kill(self, component: str, task: int | None = None) -> Death:
        """Kill the worker of a component for one second; return what the death cost."""
        self.cluster.kill(component, task, down=1)
        return self.cluster.deaths[-1]

    def note(self, text: str) -> None:
        """Keep what happens, and the state after it."""
        moment = Moment(
            time_ms=round(self.time_s * 1000),
            text=text,
            pending=self.pending,
            tables=self._tables(),
            stored=len(self.records.deliveries),
        )
        self.moments.append(moment)

    def end(self) -> None:
        """Run to the end, and note how many numbers are lost and repeated."""
        self.run_to(END_S)
        size, repeated = self.source.size, self.records.repeated()
        self.note(
            f"{size - self.lost} of {counted(size, 'number')} are stored, {repeated} of them more than once."
        )

    def expect(self, name: str, value: float, least: float, most: float | None = None) -> None:
        """Compare a measured quantity with the law; without `most`, only `least` is allowed."""
        self.measures.append(Measure(name, value, least, least if most is None else most))

    def _watch(self) -> bool:
        self.most_pending = max(self.most_pending, len(self.cluster.spout_pending("spout")))
        return False

    # -- inspect

    def _tables(self) -> list[int | None]:
        down = {task for death in self.cluster.deaths if death.until_ms is None for task in death.tasks}
        up = iter(self.cluster.ackers)
        return [None if task in down else len(next(up)) for task in range(1, self._ackers + 1)]

    @property
    def time_s(self) -> float:
        """Virtual time since the start of the scene."""
        return self.cluster.clock.now_ms() / 1000 - self._start_s

    @property
    def pending(self) -> list[int]:
        """The message ids in the spout's pending map, sorted; all are offsets."""
        ids = (info.message_id for info in self.cluster.spout_pending("spout").values())
        return sorted(offset for offset in ids if isinstance(offset, int))

    @property
    def acked(self) -> list[Hashable]:
        """The message ids for which the spout's `ack` was called."""
        return self._answers.acked

    @property
    def failed(self) -> list[Hashable]:
        """The message ids for which the spout's `fail` was called."""
        return self._answers.failed

    @property
    def replayed(self) -> int:
        """How many emits of the spout repeat a number."""
        attempts = self.source.attempts
        return sum(attempts.values()) - len(attempts)

    @property
    def lost(self) -> int:
        """How many numbers were never stored."""
        return len(self.records.missing(range(self.source.size)))
