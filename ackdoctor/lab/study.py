"""The published study of Storm's delivery guarantees, beside the same experiments in the simulator.

The study (Meituan) sent numbers from Kafka through one bolt to MySQL, and threw exceptions in spout, acker and bolt.
It does not publish rate, restart time, commit interval or Storm's version, so no run can be the same; laws can hold.
Each row compares what the simulator measures with its law.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

from ackdoctor.acker.versions import NEWEST, Profile
from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import WorkerDiedError
from ackdoctor.lab.rig import Rig
from ackdoctor.lab.topology import ACKER
from ackdoctor.lab.trident import (
    COORDINATOR,
    EMITTER,
    STATE,
    Attempt,
    Emitter,
    OpaqueEmitter,
    OpaqueState,
    PlainState,
    Point,
    State,
    Totals,
    TransactionalEmitter,
    TransactionalState,
    Trident,
    totals_of,
)

_PENDING, _RATE, _NUMBERS = 2000, 1000, 10_000
_COMMIT_S = 0.25  # between two commits of the source
_MIN_PENDING, _MIN_NUMBERS = 20, 1000


@dataclass(slots=True, frozen=True)
class Setting:
    """The size of the experiments, the seed, and the version of Storm; at scale 1 the window is as in the study."""

    scale: float = 1.0
    seed: int = 0
    profile: Profile = NEWEST

    @property
    def pending(self) -> int:
        """topology.max.spout.pending."""
        return max(_MIN_PENDING, round(_PENDING * self.scale))

    @property
    def rate(self) -> float:
        """Tuples per second of the slowest component."""
        return self.pending * _RATE / _PENDING

    @property
    def numbers(self) -> int:
        """The numbers of the exactly-once rows."""
        return max(_MIN_NUMBERS, round(_NUMBERS * self.scale))


@dataclass(slots=True, frozen=True, kw_only=True)
class Outcome:
    """What one row measured, and what its law allows: `least` to `most`, or more without `most`.

    `pending` is the size of the spout's window at each fault.  `violations` are facts that contradict the law
    although the number is right.
    """

    simulated: int
    least: int
    most: int | None
    numbers: int
    lost: int
    times_seen: Mapping[int, int]
    pending: Sequence[int] = ()
    violations: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        """Whether the law holds."""
        within = self.least <= self.simulated and (self.most is None or self.simulated <= self.most)
        return within and not self.violations


@dataclass(slots=True, frozen=True)
class Row:
    """One run: a label, the value that the study published, if any, and the simulation."""

    label: str
    published: int | None
    simulate: Callable[[Setting], Outcome]


@dataclass(slots=True, frozen=True, kw_only=True)
class Experiment:
    """Rows with one law.  `quantity` is what they count; with `grows`, it grows from row to row.

    `note` says which published values the model does not explain, and why.
    """

    name: str
    title: str
    quantity: str
    law: str
    rows: Sequence[Row]
    note: str = ""
    grows: bool = False

    def identify(self, row: Row) -> str:
        """Return the row's name for --only."""
        return f"{self.name}-{row.label}".replace(" ", "-")


@dataclass(slots=True, frozen=True, kw_only=True)
class Result:
    """The outcomes of some rows of an experiment."""

    experiment: Experiment
    outcomes: Sequence[tuple[Row, Outcome]] = field(default_factory=tuple)

    @property
    def broken(self) -> list[str]:
        """The names of the rows whose law does not hold, and of the experiment if its rows do not grow."""
        found = [self.experiment.identify(row) for row, outcome in self.outcomes if not outcome.holds]
        values = [outcome.simulated for _, outcome in self.outcomes]
        if self.experiment.grows and not all(one < other for one, other in pairwise(values)):
            found.append(self.experiment.name)
        return found


# ---- at most once, at least once ----


def _rig(setting: Setting, numbers: int, **options: Any) -> Rig:
    return Rig(numbers, pending=setting.pending, seed=setting.seed, profile=setting.profile, **options)


def _outcome(rig: Rig, simulated: int, least: int, most: int | None, **further: Any) -> Outcome:
    return Outcome(
        simulated=simulated,
        least=least,
        most=most,
        numbers=rig.partition.size,
        lost=rig.missing,
        times_seen=rig.records.times_seen(),
        **further,
    )


def _at_least_once(
    rig: Rig, least: int, most: int, violations: Sequence[str] = (), **further: Any
) -> Outcome:
    """Compare the numbers that arrived more than once; a lost number violates the law."""
    lost = [f"{rig.missing} numbers are lost"] if rig.missing else []
    return _outcome(rig, rig.records.repeated(), least, most, violations=(*lost, *violations), **further)


def _no_fault(ackers: int, setting: Setting) -> Outcome:
    rig = _rig(setting, 4 * setting.pending, work_s=1 / setting.rate, ackers=ackers)
    rig.finish()
    return _outcome(rig, rig.missing + rig.records.repeated(), 0, 0)


def _at_most_once(crashes: int, setting: Setting) -> Outcome:
    """Run a spout that is twice as fast as the bolt; nothing stops it without ackers, and the bolt's queue grows."""
    rate, down_s = setting.rate, 0.5
    times = [round(seconds * rate) for seconds in (1.5, 2.5, 4.5, 7.5)[:crashes]]
    rig = _rig(
        setting,
        round(20 * rate),
        rate=2 * rate,
        work_s=1 / rate,
        ackers=0,
        before=times,
        restart_s=down_s,
    )
    rig.finish()
    deaths = rig.cluster.deaths
    ledger = sum(death.lost + death.dropped + death.in_hand for death in deaths)
    odd = [f"{death.dropped} dropped while down" for death in deaths if abs(death.dropped - rate) > 1]
    odd += [f"{repeated} numbers are repeated"] if (repeated := rig.records.repeated()) else []
    odd += [f"{len(deaths)} deaths"] if len(deaths) != crashes else []
    return _outcome(rig, rig.missing, ledger, ledger, violations=odd)


def _acker_dies(kills: int, setting: Setting) -> Outcome:
    """Kill the acker for 10 s each time, with a full window."""
    window = setting.pending
    rig = _rig(setting, round((1.25 * kills + 2) * window), work_s=1 / setting.rate)
    pending: list[int] = []
    for _ in range(kills):
        rig.run_to(len(rig.records.deliveries) + (9 * window // 4 if pending else window // 2))
        pending.append(rig.pending)
        rig.cluster.kill(ACKER, down=10)
    rig.finish()
    return _at_least_once(rig, kills * window, kills * window, _not_full(pending, window), pending=pending)


def _acker_dies_unsaturated(down_s: float, setting: Setting) -> Outcome:
    """Kill the acker while a tenth of the window is open."""
    window, rate = setting.pending, setting.rate
    numbers = round(1.5 * rate + window + 2 * min(window, down_s * rate))
    rig = _rig(setting, numbers, rate=rate)
    cluster = rig.cluster
    cluster.advance(1)
    cluster.hold("bolt", "sink")
    cluster.advance(0.1 * window / rate)
    pending = rig.pending
    tracked = sum(map(len, cluster.ackers))
    cluster.kill(ACKER, down=down_s)
    cluster.release("bolt", "sink")
    rig.finish()
    law = min(window, round(tracked + rate * down_s))
    return _at_least_once(rig, law - 1, min(window, law + 1), pending=[pending])


def _spout_dies(kills: int, setting: Setting, *, commit_s: float = _COMMIT_S, rate: float = 1.0) -> Outcome:
    """Kill the spout for 2 s each time, with a full window, and all earlier offsets read again."""
    window, rate, random = setting.pending, setting.rate * rate, Random(setting.seed)  # noqa: S311 - it decides times
    rig = _rig(
        setting,
        round((1.25 * kills + 2) * window),
        work_s=1 / rate,
        commit_s=commit_s,
    )
    pending: list[int] = []
    for _ in range(kills):
        # at a random time: a fixed number of deliveries would always be as far from the last commit
        later = (9 * window // 4 if pending else window // 2) + random.randrange(window // 4)
        rig.run_to(len(rig.records.deliveries) + later)
        pending.append(rig.pending)
        rig.cluster.kill("spout", down=2)
    rig.finish()
    slack = 2 * kills  # the spout commits when it is called next
    most = sum(pending) + round(kills * rate * commit_s) + slack
    odd = [*_unlike_reads(rig), *_not_full(pending, window)]
    return _at_least_once(rig, sum(pending), most, odd, pending=pending)


def _spout_dies_often(kills: int, every_s: float, setting: Setting) -> Outcome:
    """Kill the spout before it has read its window again."""
    window, rate = setting.pending, setting.rate
    numbers = 6 * window
    rig = _rig(setting, numbers, work_s=1 / rate, commit_s=_COMMIT_S)
    rig.run_to(window // 2)
    pending: list[int] = []
    for _ in range(kills):
        pending.append(rig.pending)
        rig.cluster.kill("spout")
        rig.cluster.advance(every_s)
    rig.finish()
    read = sum(offsets for times, offsets in rig.partition.times_read().items() if times > 1)
    return _at_least_once(rig, read, read, _unlike_reads(rig), pending=pending)


def _unlike_reads(rig: Rig) -> list[str]:
    """Compare the sink with the source's ledger: each number arrives as often as it was read."""
    read, seen = rig.partition.times_read(), rig.records.times_seen()
    return [] if read == seen else [f"read {read}, seen {seen}"]


def _not_full(pending: Sequence[int], window: int) -> list[str]:
    """Check that each fault hit a full window, as the experiment wants."""
    return [f"only {size} pending at a fault" for size in pending if size != window]


def _bolt_throws(crashes: int, setting: Setting, *, after: bool) -> Outcome:
    step, down_s = max(2, round(0.2 * setting.rate)), 0.2
    executions = range(step, step * crashes + 1, step)
    rig = _rig(
        setting,
        step * (crashes + 2),
        rate=setting.rate,
        before=() if after else executions,
        after=executions if after else (),
        restart_s=down_s,
    )
    rig.finish()
    deaths = len(rig.cluster.deaths)
    odd = [] if deaths == crashes else [f"{deaths} deaths"]
    odd += [f"{rig.missing} numbers are lost"] if rig.missing else []
    law = crashes if after else 0
    return _outcome(rig, rig.records.extra(), law, law, violations=odd)


# ---- exactly once ----


_POINTS = (Point.AFTER, Point.BEFORE, Point.HALFWAY)
_VICTIMS = {
    "spout": (COORDINATOR, EMITTER, COORDINATOR),
    "acker": (ACKER, ACKER, ACKER),
    "bolt": (STATE, STATE, STATE),
}


def _exactly_once(
    component: str, faults: int, emitter: type[Emitter], state: type[State], setting: Setting
) -> Outcome:
    """Let faults hit a component in commits: after the state write, before it, and halfway through it."""
    numbers = setting.numbers
    plan = {20 * number + 7: place for place, number in enumerate(range(1, faults + 1))}

    def on_commit(point: Point, commit: int) -> None:
        place = plan.get(commit)
        if place is None or point is not _POINTS[place]:
            return
        if _VICTIMS[component][place] == STATE:
            raise WorkerDiedError(point.value)
        cluster.kill(_VICTIMS[component][place])

    batch = numbers // 100
    shrinking = partial(_shrinking, batch) if emitter is OpaqueEmitter else batch
    trident = Trident(numbers=numbers, emitter=emitter, state=state, batch=shrinking, on_commit=on_commit)
    cluster = Cluster(trident.topology(), profile=setting.profile, seed=setting.seed, restart_s=1)
    cluster.advance(7200)
    totals, exact = trident.totals(), totals_of(range(1, numbers + 1))
    odd = [] if len(cluster.deaths) == faults else [f"{len(cluster.deaths)} deaths"]
    odd += [] if totals.distinct == numbers else [f"{totals.distinct} distinct numbers"]
    is_exact = state is not PlainState and (emitter, state) != (OpaqueEmitter, TransactionalState)
    return Outcome(
        simulated=totals.sum,
        least=exact.sum if is_exact else exact.sum + 1,
        most=exact.sum if is_exact else None,
        numbers=numbers,
        lost=numbers - totals.distinct,
        times_seen=_times_added(totals),
        violations=odd,
    )


def _times_added(totals: Totals) -> dict[int, int]:
    """Return how many numbers count once, and how many twice: no batch is hit by two faults."""
    twice = totals.added - totals.distinct
    return {1: totals.distinct - twice, 2: twice} if twice else {1: totals.distinct}


def _shrinking(batch: int, attempt: Attempt) -> int:
    """Return the size of an opaque batch: every second attempt finds a fifth fewer numbers."""
    return batch - batch // 5 * (attempt.attempt % 2)


def _trident_rows(emitter: type[Emitter], state: type[State], published: int | None) -> tuple[Row, ...]:
    return tuple(
        Row(f"{component} {faults}", published, partial(_exactly_once, component, faults, emitter, state))
        for component in _VICTIMS
        for faults in (1, 2, 3)
    )


# ---- the study ----


def _rows(simulate: Callable[..., Outcome], published: Mapping[int, int], **fixed: object) -> tuple[Row, ...]:
    return tuple(Row(str(n), value, partial(simulate, n, **fixed)) for n, value in published.items())


EXPERIMENTS = (
    Experiment(
        name="no-fault",
        title="No fault, 0 or 1 ackers",
        quantity="lost or repeated",
        law="nothing is lost, nothing is repeated",
        rows=_rows(_no_fault, {0: 0, 1: 0}),
    ),
    Experiment(
        name="at-most-once",
        title="At most once (0 ackers): the bolt dies n times",
        quantity="lost",
        law="lost = the sum over all deaths of queue + rate x downtime + the tuple in hand; it grows with n, in no fixed"
        " ratio; nothing is repeated",
        rows=_rows(_at_most_once, {1: 225_060, 2: 692_913, 3: 917_177, 4: 1_579_275}),
        note="the study sent 3,000,000 numbers at an unknown rate, so only the order of its losses can be compared.",
        grows=True,
    ),
    Experiment(
        name="acker",
        title="At least once: the acker dies n times, for 10 s, with a full window",
        quantity="repeated",
        law="repeated = P x n: the acker is away, the spout fills its window of P, and all of it times out; nothing is lost",
        rows=_rows(_acker_dies, {1: 2000, 2: 4001, 3: 6000, 4: 8000}),
        note="4,001 is one above the bound P x n, and outside the model: acking cannot repeat that number; a producer at the"
        " sink that sends again, or the test itself, can.",
    ),
    Experiment(
        name="acker-unsaturated",
        title="At least once: the acker dies while a tenth of the window is open",
        quantity="repeated",
        law="repeated = min(P, roots in the acker's table + rate x downtime), +-1; nothing is lost",
        rows=tuple(
            Row(f"{down:g} s", None, partial(_acker_dies_unsaturated, down)) for down in (0, 0.2, 1, 10)
        ),
    ),
    Experiment(
        name="spout",
        title="At least once: the spout dies n times, with a full window; the source commits every 0.25 s",
        quantity="repeated",
        law="repeated = pending + acked since the last commit, summed over the deaths, as the source's ledger says; nothing"
        " is lost",
        rows=_rows(_spout_dies, {1: 2052, 2: 4414, 4: 9008, 6: 9690}),
        note="9,690 is less than P x 6: the study's spout died before its window was full again; compare spout-often.",
    ),
    Experiment(
        name="spout-commit",
        title="At least once: the spout dies once, by the interval between two commits of the source",
        quantity="repeated",
        law="repeated = pending to pending + rate x interval; nothing is lost",
        rows=tuple(
            Row(f"{commit:g} s", None, partial(_spout_dies, 1, commit_s=commit, rate=0.5))
            for commit in (0, 0.5, 2)
        ),
    ),
    Experiment(
        name="spout-often",
        title="At least once: the spout dies before it has read its window again",
        quantity="repeated",
        law="each number arrives as often as the source's ledger says, some three times and more; nothing is lost",
        rows=(
            Row("2 in 3 s", None, partial(_spout_dies_often, 2, 1.5)),
            Row("6 in 11 s", None, partial(_spout_dies_often, 6, 1.8)),
        ),
    ),
    Experiment(
        name="before-emit",
        title="At least once: the bolt throws n times before it emits",
        quantity="extra deliveries",
        law="extra = 0: the sink saw nothing, and the tuple is replayed; nothing is lost",
        rows=_rows(_bolt_throws, dict.fromkeys((1, 2, 4, 8, 10), 0), after=False),
    ),
    Experiment(
        name="after-emit",
        title="At least once: the bolt throws n times after it has emitted",
        quantity="extra deliveries",
        law="extra = n: the sink saw the tuple, and the replay sends it again; nothing is lost",
        rows=_rows(_bolt_throws, {1: 2, 2: 3, 4: 5, 8: 9, 10: 11}, after=True),
        note="the published n + 1 is outside the model, and one above the study's own conclusion, n; a test that throws"
        " once more than it says would explain it.",
    ),
    Experiment(
        name="exactly-once",
        title="Exactly once: Trident, transactional emitter and state, n faults in commits",
        quantity="sum",
        law="sum = the exact sum, and every number counts once: the state recognises a replayed batch by its txid",
        rows=_trident_rows(TransactionalEmitter, TransactionalState, 50_005_000),
    ),
    Experiment(
        name="opaque",
        title="Exactly once: Trident, opaque emitter and state; a replayed batch has other numbers",
        quantity="sum",
        law="sum = the exact sum, and every number counts once: the state returns to its value before the batch",
        rows=_trident_rows(OpaqueEmitter, OpaqueState, None),
    ),
    Experiment(
        name="plain-state",
        title="Control: Trident with a state that is not transactional",
        quantity="sum",
        law="sum > the exact sum: a batch that was written before the fault counts twice",
        rows=_trident_rows(TransactionalEmitter, PlainState, None),
    ),
    Experiment(
        name="unequal-batches",
        title="Control: Trident, opaque emitter with a transactional state",
        quantity="sum",
        law="sum > the exact sum: the txid does not show that the batch has changed",
        rows=(
            Row("bolt 1", None, partial(_exactly_once, "bolt", 1, OpaqueEmitter, TransactionalState)),
            Row("acker 1", None, partial(_exactly_once, "acker", 1, OpaqueEmitter, TransactionalState)),
        ),
    ),
)


def choose(names: Sequence[str]) -> Sequence[tuple[Experiment, Sequence[Row]]]:
    """Return the experiments or rows of these names, or all; KeyError for an unknown name."""
    known = set(row_names())
    for name in names:
        if name not in known:
            raise KeyError(name)
    chosen = []
    for experiment in EXPERIMENTS:
        whole = not names or experiment.name in names
        rows = [row for row in experiment.rows if whole or experiment.identify(row) in names]
        if rows:
            chosen.append((experiment, rows))
    return chosen


def row_names() -> Iterator[str]:
    """Yield the names of all experiments and of all their rows."""
    for experiment in EXPERIMENTS:
        yield experiment.name
        yield from (experiment.identify(row) for row in experiment.rows)


def experiment_names() -> Iterator[str]:
    """Yield the names of all experiments."""
    return (experiment.name for experiment in EXPERIMENTS)


def run(
    chosen: Sequence[tuple[Experiment, Sequence[Row]]],
    setting: Setting,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Simulate the chosen rows; `progress` takes how many are done and how many there are."""
    done, total = 0, sum(len(rows) for _, rows in chosen)
    results = []
    for experiment, rows in chosen:
        outcomes = []
        for row in rows:
            outcomes.append((row, row.simulate(setting)))
            done += 1
            if progress is not None:
                progress(done, total)
        results.append(Result(experiment=experiment, outcomes=tuple(outcomes)))
    return results
