"""Short runs of the simulator that show one fact each: what Storm does when a part fails or tracking is off.

A scene has one law and one or more runs.  A run is a function that builds a topology, injects the faults, and notes
what happens; each note keeps a copy of the pending maps.  Then it compares what it measured with the law.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from math import inf

from ackdoctor.acker.runtime import IdSource, JavaRandom, acker_index
from ackdoctor.acker.versions import NEWEST, Profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Bolt, SpoutInfo, TaskHook, Tup
from ackdoctor.lab.runtime import Death
from ackdoctor.lab.sink import Records, Sink
from ackdoctor.lab.source import OffsetSpout, Partition
from ackdoctor.lab.topology import ACKER, Settings, TopologyBuilder

TIMEOUT_S = 30  # topology.message.timeout.secs: a root times out after T to 2T
_END_S = 150  # after all timeouts and replays
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


class Step(Bolt):
    """Emits each tuple, anchored by default, and acks it; this takes `work_s` seconds."""

    def __init__(self, *, work_s: float = 0, anchored: bool = True) -> None:
        self._work_s = work_s
        self._anchored = anchored

    def execute(self, tup: Tup) -> Iterator[float]:
        """Emit and ack."""
        if self._work_s:
            yield self._work_s
        self.collector.emit(tup.values, anchors=(tup,) if self._anchored else ())
        self.collector.ack(tup)


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

    def run_to_fail(self) -> Sequence[Hashable]:
        """Run until the spout's `fail` is called, and to the end of that millisecond; return the failed message ids."""
        before = len(self.failed)
        self.cluster.advance(_END_S - self.time_s, until=lambda: self._watch() or len(self.failed) > before)
        self.cluster.settle(self._watch)
        return self.failed[before:]

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
        self.run_to(_END_S)
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


def counted(amount: int, noun: str) -> str:
    """`1 root`, `2 roots`."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


# ---- deaths ----


def _relayed(
    setting: Setting,
    *,
    numbers: int = 10,
    work_s: float = 1,
    ackers: int = 1,
    spout: Callable[[Partition], OffsetSpout] = OffsetSpout,
) -> Stage:
    """Send the numbers through a bolt that takes its time, to the store."""
    source, records = Partition(numbers), Records()
    bolts: dict[str, Callable[[], Bolt]] = {
        "bolt": lambda: Step(work_s=work_s),
        "store": lambda: Sink(records),
    }
    stage = Stage(setting, source, records, bolts, ackers=ackers, spout=lambda: spout(source))
    stage.run_to(0)
    stage.note(f"The spout emits {counted(numbers, 'tuple')}; the bolt takes {work_s:g} s for each.")
    return stage


def _cost(death: Death) -> str:
    return f"{counted(death.lost, 'tuple')} in its queue and {death.in_hand} in hand are lost"


def _times_out(stage: Stage, tracked: Collection[Hashable], what: str) -> None:
    """Run until roots time out; the law says that these are the tracked ones, T to 2T after their emit at 0 s."""
    failed = stage.run_to_fail()
    at_s = stage.time_s
    stage.note(f"{counted(len(failed), 'root')} time out; the spout emits their tuples again.")
    stage.end()
    stage.expect(f"{what} that time out", len(set(failed) & set(tracked)), len(tracked))
    stage.expect("other roots that fail", len(set(stage.failed) - set(tracked)), 0)
    stage.expect("seconds until the timeout", at_s, TIMEOUT_S, 2 * TIMEOUT_S)
    stage.expect("replayed", stage.replayed, len(tracked))
    stage.expect("lost", stage.lost, 0)


def _bolt_dies(setting: Setting) -> Stage:
    stage = _relayed(setting)
    stage.run_to(3.5)
    pending = stage.pending
    death = stage.kill("bolt")
    stage.note(f"The bolt's worker dies: {_cost(death)}.")
    _times_out(stage, pending, "roots of lost tuples")
    stage.expect("tuples lost with the worker", death.lost + death.in_hand, len(pending))
    stage.expect("repeated", stage.records.repeated(), 0)
    return stage


def _only_acker_dies(setting: Setting) -> Stage:
    stage = _relayed(setting)
    stage.run_to(3.5)
    pending = stage.pending
    death = stage.kill(ACKER)
    stage.note(f"The acker's worker dies: {counted(death.pending, 'root')} in its table are lost.")
    stage.run_to(12)
    stage.note("The bolt has acked every tuple, but the new acker does not know their roots.")
    _times_out(stage, pending, "roots of the dead acker")
    stage.expect("roots in its table", death.pending, len(pending))
    stage.expect("repeated", stage.records.repeated(), len(pending))
    return stage


def _one_of_two_ackers_dies(setting: Setting) -> Stage:
    stage = _relayed(setting, numbers=40, work_s=0.25, ackers=2)
    stage.run_to(2.1)
    pending = stage.cluster.spout_pending("spout")
    tables = [{entry.root for entry in acker.pending()} for acker in stage.cluster.ackers]
    misplaced = sum(acker_index(root, 2) != place for place, table in enumerate(tables) for root in table)
    death = stage.kill(ACKER, task=1)
    stage.note(
        f"The first acker's worker dies: {counted(death.pending, 'root')} in its table are lost;"
        f" the other acker tracks {len(tables[1])}."
    )
    stage.run_to(12)
    stage.note("The bolt has acked every tuple; the roots of the other acker are complete.")
    stage.expect("pending roots at 12 s", len(stage.pending), len(tables[0]))
    _times_out(stage, [pending[root].message_id for root in tables[0]], "roots of the dead acker")
    stage.expect("roots in an acker that the hash does not choose", misplaced, 0)
    stage.expect("roots in its table", len(tables[0]), 1, len(pending) - 1)
    stage.expect("repeated", stage.records.repeated(), len(tables[0]))
    return stage


def _spout_dies(setting: Setting) -> Stage:
    stage = _relayed(setting)
    stage.run_to(3.5)
    pending = stage.pending
    death = stage.kill("spout")
    stage.note(f"The spout's worker dies: {counted(death.pending, 'pending root')} are forgotten.")
    stage.run_to(5)
    stage.note("The new spout reads from the committed offset; the old tuples are still under way.")
    stage.end()
    stage.expect("redelivered", stage.replayed, len(pending))
    stage.expect("repeated", stage.records.repeated(), len(pending))
    stage.expect("failed", len(stage.failed), 0)
    stage.expect("lost", stage.lost, 0)
    return stage


def _spout_dies_before_the_replay(
    spout: Callable[[Partition], OffsetSpout], setting: Setting, *, redelivers: bool
) -> Stage:
    """Kill the bolt, and then the spout that would have replayed what the bolt lost."""
    stage = _relayed(setting, spout=spout)
    stage.run_to(3.5)
    stage.note(f"The bolt's worker dies: {_cost(stage.kill('bolt'))}.")
    stage.run_to(10)
    pending = stage.pending
    death = stage.kill("spout")
    stage.note(
        f"The spout's worker dies before the timeout: {counted(death.pending, 'pending root')} are forgotten."
    )
    stage.run_to(11.5)
    stage.note(f"The new spout has emitted {counted(stage.replayed, 'tuple')} again.")
    stage.end()
    stage.expect("redelivered", stage.replayed, len(pending) if redelivers else 0)
    stage.expect("lost", stage.lost, 0 if redelivers else len(pending))
    stage.expect("failed", len(stage.failed), 0)
    return stage


# ---- max spout pending ----


def _window(setting: Setting, *, tasks: int = 1, ackers: int = 1, tracked: bool = True) -> Stage:
    """Give each spout task more tuples than its window of 4 takes."""
    limit, numbers = 4, 12
    records = Records()
    sources = [Partition(numbers) for _ in range(tasks)]
    unused = iter(sources)
    asked: list[int] = []

    def ask(task: int) -> None:
        infos = stage.cluster.spout_pending("spout").values()
        asked.append(sum(info.task == task for info in infos))

    stage = Stage(
        setting,
        sources[0],
        records,
        {"bolt": lambda: Step(work_s=1), "store": lambda: Sink(records)},
        spout=lambda: AskedSpout(next(unused), ask, tracked=tracked),
        tasks=tasks,
        ackers=ackers,
        max_pending=limit,
    )
    stage.run_to(0)
    emitted = sum(len(source.attempts) for source in sources)
    stage.note(
        f"{'Each of 2 spout tasks' if tasks > 1 else 'The spout'} has {numbers} tuples to emit;"
        f" {emitted} are emitted{' in all' if tasks > 1 else ''}. The bolt takes 1 s for each."
    )
    stage.run_to(3.5)
    later = sum(len(source.attempts) for source in sources) - emitted
    stage.note(f"The bolt has finished 3 tuples; {later} more are emitted.")
    stage.run_to(_END_S)
    stage.note(f"At most {counted(stage.most_pending, 'root')} were pending at a time.")
    limited = ackers > 0 and tracked
    stage.expect("most pending roots", stage.most_pending, limit * tasks if limited else 0)
    stage.expect("emitted at 0 s", emitted, (limit if limited else numbers) * tasks)
    stage.expect("emitted for 3 finished tuples", later, 3 if limited else 0)
    stage.expect(
        "most pending roots of a task at a call of nextTuple", max(asked), limit - 1 if limited else 0
    )
    return stage


# ---- tracking is off ----


def _store_dies(setting: Setting, *, ackers: int = 1, tracked: bool = True, anchored: bool = True) -> Stage:
    """Kill the store while most tuples wait in its queue."""
    source, records = Partition(10), Records()
    stage = Stage(
        setting,
        source,
        records,
        {"bolt": lambda: Step(anchored=anchored), "store": lambda: Sink(records, seconds=1)},
        spout=lambda: OffsetSpout(source, tracked=tracked),
        ackers=ackers,
    )
    stage.run_to(0)
    early = len(stage.acked)
    stage.note(f"The spout emits 10 tuples, and gets {counted(early, 'ack')}; the store takes 1 s for each.")
    stage.run_to(3.5)
    death = stage.kill("store")
    stage.note(f"The store's worker dies: {_cost(death)}.")
    gone = death.lost + death.in_hand
    safe = ackers > 0 and tracked and anchored
    if safe:
        failed = stage.run_to_fail()
        stage.note(f"{counted(len(failed), 'root')} time out; the spout emits their tuples again.")
    stage.end()
    stage.expect("acked before anything is stored", early, 10 if tracked and not safe else 0)
    stage.expect("failed", len(stage.failed), gone if safe else 0)
    stage.expect("replayed", stage.replayed, gone if safe else 0)
    stage.expect("lost", stage.lost, 0 if safe else gone)
    stage.expect("acked", len(stage.acked), 10 if tracked else 0)
    return stage


def _tracking_stops(setting: Setting, *, victim: str) -> Stage:
    """Kill a bolt before or behind `second`, which emits without anchors."""
    source, records = Partition(10), Records()
    slow = {victim: 1}
    stage = Stage(
        setting,
        source,
        records,
        {
            "first": lambda: Step(work_s=slow.get("first", 0)),
            "second": lambda: Step(work_s=slow.get("second", 0), anchored=False),
            "store": lambda: Sink(records, seconds=slow.get("store", 0)),
        },
    )
    stage.run_to(0)
    stage.note(f"The spout emits 10 tuples; {victim} takes 1 s for each.")
    stage.run_to(3.5)
    death = stage.kill(victim)
    stage.note(f"The worker of {victim} dies: {_cost(death)}.")
    gone = death.lost + death.in_hand
    before = victim != "store"
    if before:
        failed = stage.run_to_fail()
        stage.note(f"{counted(len(failed), 'root')} time out; the spout emits their tuples again.")
    stage.end()
    stage.expect("lost with the worker", gone, 1, 10)
    stage.expect("replayed", stage.replayed, gone if before else 0)
    stage.expect("lost", stage.lost, 0 if before else gone)
    return stage


# ---- failures ----


def _always_fails(setting: Setting, *, silent: bool) -> Stage:
    """Refuse the number 1 of 3 for ever."""
    source, records = Partition(3), Records()
    stage = Stage(
        setting, source, records, {"store": lambda: RefusingSink(records, 1, count(), silent=silent)}
    )
    verb = "neither acks nor fails" if silent else "fails"
    stage.run_to(0)
    stage.note(f"The spout emits 3 tuples; the store {verb} the one with message id 1, after 1 s.")
    period = 2 * TIMEOUT_S if silent else 10
    attempts, pending = [], []
    for step in range(1, 5):
        stage.run_to(step * period + 5)
        attempts.append(source.attempts[1])
        stage.note(f"Message 1 has been emitted {counted(attempts[-1], 'time')}.")
        pending.append(len(stage.pending))
    steps = [later - earlier for earlier, later in pairwise(attempts)]
    least, most = (1, 2) if silent else (period - 1, period + 1)
    stage.expect("fewest pending roots", min(pending), 1)
    stage.expect("fewest new attempts per interval", min(steps), least, most)
    stage.expect("most new attempts per interval", max(steps), least, most)
    stage.expect("stored of the other 2", len(records.counts()), 2)
    stage.expect("committed offset", source.committed, 1)
    return stage


def _one_child_fails(setting: Setting) -> Stage:
    """Fail child c twice, after its siblings a and b are stored."""
    source, records, refusals = Partition(1), Records(), iter(range(2))
    stage = Stage(
        setting, source, records, {"split": Split, "store": lambda: RefusingSink(records, "c", refusals)}
    )
    stage.run_to(0)
    stage.note("The spout emits a tuple; the bolt emits children a, b and c; the store takes 1 s for each.")
    for attempt in (1, 2):
        stage.run_to(3 * attempt - 0.5)
        stage.note("Children a and b are stored.")
        stage.run_to(3 * attempt)
        stage.note("Child c fails, so its root fails; the spout emits the tuple again.")
    stage.run_to(9)
    stage.note("Child c is stored, and the root is complete.")
    counts = records.counts()
    written = ", ".join(f"{child} {counted(counts[child], 'time')}" for child in "abc")
    stage.run_to(_END_S)
    stage.note(f"The store has written {written}.")
    stage.expect("replayed", stage.replayed, 2)
    for sibling in "ab":
        stage.expect(f"writes of {sibling}", counts[sibling], stage.replayed + 1)
    stage.expect("writes of c", counts["c"], 1)
    return stage


def _edges_xor(setting: Setting, *, toy: bool) -> Stage:
    """Send one tuple to three tasks, and lose all three copies."""
    source, records = Partition(1), Records()
    shared = ToyIds()
    stage = Stage(
        setting,
        source,
        records,
        {"store": lambda: Sink(records, seconds=1)},
        copies=3,
        ids=(lambda _seed: shared) if toy else JavaRandom,
    )
    stage.run_to(0)
    early = len(stage.acked)
    edges = "1, 2 and 3: 1 ^ 2 ^ 3 = 0" if toy else "of 64 random bits"
    stage.note(
        f"The spout emits a tuple to 3 tasks, with edges {edges}."
        f" {'The acker acks it at once' if early else 'The acker waits for 3 acks'}."
    )
    stage.run_to(0.5)
    stage.kill("store")
    stage.note("The 3 workers of the store die, with the tuple in hand.")
    if not early:
        failed = stage.run_to_fail()
        stage.note(f"{counted(len(failed), 'root')} times out; the spout emits its tuple again.")
    stage.run_to(_END_S)
    stage.note(f"{len(records.deliveries)} of 3 tasks have stored the tuple.")
    stage.expect("acked before anything is stored", early, 1 if toy else 0)
    stage.expect("in hand at the deaths", sum(death.in_hand for death in stage.cluster.deaths), 3)
    stage.expect("replayed", stage.replayed, 0 if toy else 1)
    stage.expect("lost", stage.lost, 1 if toy else 0)
    return stage


# ---- the scenes ----


@dataclass(slots=True, frozen=True, kw_only=True)
class Scene:
    """Runs that show one law.  `topology` says what they run; `note` corrects what is often said of it."""

    name: str
    title: str
    topology: str
    law: str
    runs: Mapping[str, Callable[[Setting], Stage]]
    note: str = ""

    def play(self, setting: Setting) -> list[Result]:
        """Simulate all runs."""
        stages = {label: run(setting) for label, run in self.runs.items()}
        return [Result(label, stage.moments, stage.measures) for label, stage in stages.items()]


_CHAIN = "spout > bolt > store, 1 acker"

SCENES = (
    Scene(
        name="bolt-death",
        title="A bolt dies with tuples in its queue",
        topology=_CHAIN,
        law="the roots whose tuples died with the bolt time out within T to 2T and are replayed; no other root fails, and"
        " nothing is lost",
        runs={"the bolt dies": _bolt_dies},
    ),
    Scene(
        name="acker-death",
        title="An acker dies with roots in its table",
        topology="spout > bolt > store, 1 or 2 ackers",
        law="exactly the roots that the acker tracks time out and are replayed, although their tuples were stored; roots"
        " of another acker are not affected; nothing is lost",
        runs={"1 acker": _only_acker_dies, "2 ackers": _one_of_two_ackers_dies},
        note="the fields grouping sends a root to the acker at the hash of its id modulo the number of ackers; this is not"
        " consistent hashing.",
    ),
    Scene(
        name="spout-death",
        title="A spout dies with roots in its pending map",
        topology=_CHAIN,
        law="the pending map is forgotten, and nothing in it fails; the source redelivers what was not acked; if the source"
        " was acked on delivery, what the spout would have replayed is lost",
        runs={
            "source acked by ack()": _spout_dies,
            "source acked by ack(), and the bolt dies first": partial(
                _spout_dies_before_the_replay, OffsetSpout, redelivers=True
            ),
            "source acked on delivery, and the bolt dies first": partial(
                _spout_dies_before_the_replay, AutoCommitSpout, redelivers=False
            ),
        },
    ),
    Scene(
        name="max-spout-pending",
        title="topology.max.spout.pending = 4",
        topology=_CHAIN,
        law="at most 4 roots per spout task are pending, and Storm does not call nextTuple while there are 4; without ackers"
        " or message ids no root is pending, and nothing limits the spout",
        runs={
            "1 spout task": _window,
            "2 spout tasks": partial(_window, tasks=2),
            "control: 0 ackers": partial(_window, ackers=0),
            "control: no message ids": partial(_window, tracked=False),
        },
        note="a nextTuple that emits several tuples can exceed the limit: Storm checks it only before the call.",
    ),
    Scene(
        name="tracking-off",
        title="Three ways to switch tracking off",
        topology="spout > bolt > store, which takes 1 s for each tuple",
        law="with 0 ackers, emit calls ack at once; without a message id, neither ack nor fail is called; with an unanchored"
        " child, ack is called although the child is lost; in all three a lost child is not replayed",
        runs={
            "control: tracked": _store_dies,
            "0 ackers": partial(_store_dies, ackers=0),
            "no message id": partial(_store_dies, tracked=False),
            "unanchored": partial(_store_dies, anchored=False),
        },
    ),
    Scene(
        name="always-fails",
        title="A tuple that always fails",
        topology="spout > store, 1 acker; the spout retries without bound",
        law="attempts grow linearly, one with each fail or timeout; the pending map is never empty, and the committed offset"
        " stays at the tuple",
        runs={
            "the store fails it": partial(_always_fails, silent=False),
            "the store does not complete it": partial(_always_fails, silent=True),
        },
    ),
    Scene(
        name="one-child-fails",
        title="One child fails after its siblings are stored",
        topology="spout > split > store, 1 acker",
        law="the whole tree is replayed: each replay stores the siblings again",
        runs={"child c fails twice": _one_child_fails},
    ),
    Scene(
        name="tracking-stops",
        title="Tracking stops at a bolt: second emits without anchors",
        topology="spout > first > second > store, 1 acker",
        law="what is lost before the emit of second is replayed; what is lost behind it is not",
        runs={
            "second dies": partial(_tracking_stops, victim="second"),
            "store dies": partial(_tracking_stops, victim="store"),
        },
    ),
    Scene(
        name="toy-ids",
        title="Small edge ids XOR to zero too early",
        topology="spout > 3 tasks of store, each of which gets all tuples, 1 acker",
        law="with edges 1, 2 and 3 the acker's value is zero before any tuple is acked, so a lost tuple is not replayed; with"
        " 64-bit random edges it is",
        runs={
            "edges 1, 2, 3": partial(_edges_xor, toy=True),
            "control: random edges": partial(_edges_xor, toy=False),
        },
        note="Storm draws random 64-bit ids; small ids are for explanations only.",
    ),
)


def choose(names: Sequence[str]) -> Sequence[Scene]:
    """Return the scenes of these names, in the order of SCENES, or all; KeyError for an unknown name."""
    known = scene_names()
    for name in names:
        if name not in known:
            raise KeyError(name)
    return [scene for scene in SCENES if not names or scene.name in names]


def scene_names() -> list[str]:
    """Return the names of all scenes."""
    return [scene.name for scene in SCENES]
