"""Short runs of the simulator that show one fact each: what Storm does when a part fails or tracking is off.

A scene has one law and one or more runs.  A run is a function that builds a topology on a stage, injects the faults,
notes what happens, and compares what it measured with the law.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise

from ackdoctor.acker.runtime import JavaRandom, acker_index
from ackdoctor.lab.component import Bolt
from ackdoctor.lab.rig import OffsetSpout, Partition, Records, Relay, Sink
from ackdoctor.lab.runtime import Death
from ackdoctor.lab.stage import (
    END_S,
    TIMEOUT_S,
    AskedSpout,
    AutoCommitSpout,
    RefusingSink,
    Result,
    Setting,
    Split,
    Stage,
    ToyIds,
)
from ackdoctor.lab.topology import ACKER
from ackdoctor.model.finding import counted

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
        "bolt": lambda: Relay(work_s=work_s),
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
    failed = stage.replay()
    at_s = stage.time_s
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
        {"bolt": lambda: Relay(work_s=1), "store": lambda: Sink(records)},
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
    stage.note(f"The store has {counted(len(records.deliveries), 'tuple')}; {later} more are emitted.")
    stage.run_to(END_S)
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
        {"bolt": lambda: Relay(anchored=anchored), "store": lambda: Sink(records, seconds=1)},
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
        stage.replay()
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
            "first": lambda: Relay(work_s=slow.get("first", 0)),
            "second": lambda: Relay(work_s=slow.get("second", 0), anchored=False),
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
        stage.replay()
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
    stage.run_to(END_S)
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
        stage.replay()
    stage.run_to(END_S)
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
        note="the acker drops the entries of lost tuples at its own rotations; the ackers of Storm 0.9.1 to 1.1.1, except"
        " 1.0.6 and 1.0.7, never rotate.",
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
