"""Run a topology of the user's own components under faults, and follow each message to its end.

    outcome = run(judged, classes, Options(plan=plan(kills=["count@100"]), seconds=60))

After `seconds` of virtual time the faults are over.  The run goes on until each message that was emitted before has
completed, at most `PATIENCE` message timeouts long, with ever fewer calls of the spouts.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import TypeAlias

from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.acker.versions import NEWEST, Profile
from ackdoctor.acker.versions import profile as profile_of
from ackdoctor.lab.child import ComponentClock, real_time
from ackdoctor.lab.cluster import Cluster, RestlessError
from ackdoctor.lab.component import Tup
from ackdoctor.lab.fates import Blame, Fate, Messages, Unjudged, blamed, unjudged
from ackdoctor.lab.faults import ACKERS, InvalidFaultError, Plan, task_component
from ackdoctor.lab.frameworks import command_line, descent
from ackdoctor.lab.loader import blamed_line, in_words
from ackdoctor.lab.messages import Setup
from ackdoctor.lab.runtime import LossModel, Parcel
from ackdoctor.lab.topology import ACKER, assign
from ackdoctor.lab.watched import (
    GRACE_S,
    CannotStartError,
    InjectedError,
    OverdueError,
    Watch,
    WatchedBolt,
    WatchedSpout,
    alarm,
    arm,
)
from ackdoctor.lab.wired import Surroundings, build
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Finding, counted
from ackdoctor.model.topology import Judged, Node
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.tracer.findings import findings
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.sites import Places

PATIENCE = 4  # message timeouts after the faults
RESTART_S = 1.0
_SAMPLES = 48  # of the pending map
_Progress: TypeAlias = Callable[[int, int], None] | None


class CannotRunError(UsageError):
    """The lab cannot start a component; the message names it and its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The faults and the size of a run.

    `rate` is how often each spout task is called in a second.  `limit` is wall time in seconds.  `project` is the directory
    of the code, `folder` the one that paths in findings start from.
    """

    project: Path
    plan: Plan = field(default_factory=Plan)
    seed: int = 0
    seconds: float = 60.0
    rate: float = 100.0
    limit: float = 60.0
    profile: Profile | None = None  # by default that of the framework
    conf: Mapping[str, object] = field(default_factory=dict)
    component_options: Mapping[str, object] = field(default_factory=dict)  # by component, from its file
    folder: str = ""
    time: ComponentClock = field(default_factory=ComponentClock)  # while its `replacing` is active


@dataclass(slots=True, kw_only=True)
class Vanished:
    """Copies of tuples without a root that `source` sent and `target` never handled: no spout learns of them."""

    source: str
    target: str
    stream: str
    copies: int


@dataclass(slots=True, kw_only=True)
class Ended:
    """The deaths of a component for one reason; `lost` are the messages that were lost with its queue or came too early.

    `reason` is that of the first one.
    """

    component: str
    reason: str
    planned: bool
    times: int = 0
    lost: int = 0


@dataclass(slots=True, kw_only=True, repr=False)
class Outcome:
    """What became of a run; `stopped` says why it ended early, `dropped` is what the network lost.

    `missed` are faults of the plan that did not happen.  `real_times` are lines of components that read a clock which the
    lab cannot replace.  `blamed` are faults that the files show in the components behind a loss, `unjudged` what no run
    can see of the bolts that died.
    """

    profile: Profile
    virtual_s: float
    fates: tuple[Fate, ...]
    vanished: tuple[Vanished, ...]
    deaths: tuple[Ended, ...]
    growth: tuple[GrowthPoint, ...]
    high_water: int
    findings: tuple[Finding, ...]
    blamed: tuple[Blame, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    unobserved: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    real_times: tuple[str, ...] = ()
    dropped: int = 0
    stopped: str = ""
    interrupted: bool = False

    def __repr__(self) -> str:
        """Return the verdict: pytest shows it."""
        return f"<Outcome: {self.verdict}>"

    @property
    def losses(self) -> bool:
        """Whether something is lost, stuck or late."""
        if self.vanished or any(fate.lost or fate.stuck for fate in self.fates):
            return True
        return not self.stopped and any(fate.open for fate in self.fates)

    @property
    def survived(self) -> bool:
        """Whether the run came to its end, nothing is lost or stuck, and no component broke a rule."""
        return bool(self._total) and not (self.losses or self.findings or self.stopped)

    @property
    def _total(self) -> int:
        return sum(fate.messages + fate.untracked for fate in self.fates)

    @property
    def verdict(self) -> str:
        """`BROKEN: ...`, `INCOMPLETE: ...` or `OK: ...`, in one line."""
        wrong = list(self._wrong())
        if wrong:
            return f"BROKEN: {'; '.join(wrong)}"
        if self.stopped:
            return f"INCOMPLETE: {self.stopped}; nothing wrong until then"
        if not self._total:
            own = next(
                (f": {each.component} died of {each.reason}" for each in self.deaths if not each.planned), ""
            )
            return f"INCOMPLETE: no spout emitted a message{own}"
        named = dict.fromkeys(f"`{each.component}`" for each in self.unjudged if each.place)
        open_end = f"; not judged: what {' and '.join(named)} had acked and still held" if named else ""
        missed = f"; {', '.join(self.missed)} did not happen" if self.missed else ""
        return f"OK: {counted(self._total, 'message')}, none lost or stuck{missed}{open_end}"

    def _wrong(self) -> Iterator[str]:
        for fate in self.fates:
            yield from fate.wrong(early=bool(self.stopped))
        for each in self.vanished:
            yield f"{counted(each.copies, 'untracked tuple')} from {each.source} to {each.target} lost"
        if self.findings:
            yield counted(len(self.findings), "finding")

    @property
    def summary(self) -> str:
        """The verdict, and a line for each finding and each fault in the files: the message of a test that fails."""
        lines = [
            self.verdict,
            *(
                f"{each.site.path}:{each.site.span.line}: {each.code} {each.message}"
                for each in self.findings
            ),
            *(f"{each.place}: {each.code} {each.message}" for each in self.blamed),
        ]
        return "\n".join(dict.fromkeys(lines))


def run(
    judged: Judged,
    classes: Mapping[str, type],
    options: Options,
    observing: Callable[[Ledger], AbstractContextManager[object]],
    progress: _Progress = None,
) -> Outcome:
    """Run the topology; CannotRunError if a component cannot start.

    `observing` installs the tracer for the time of the run.
    """
    clock = VirtualClock()
    ledger = Ledger(now=lambda: clock.now_ms() * 1_000_000)
    lab = _Lab(judged, classes, options, clock, ledger)
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the report has the exceptions of the components
    try:
        with observing(ledger):
            _live(lab, options.limit, progress)
            return lab.outcome()
    finally:
        logging.disable(disabled)


def _live(lab: "_Lab", limit: float, progress: _Progress) -> None:
    try:
        with alarm(limit + GRACE_S):
            lab.live(progress)
    except OverdueError:
        lab.stopped = f"{lab.busy} did not return within {limit:g} s of real time"
    except KeyboardInterrupt:
        lab.stopped, lab.interrupted = "interrupted", True
    except CannotStartError as error:
        if not lab.started:
            raise CannotRunError(lab.cannot_start(error)) from error
        lab.stopped = lab.cannot_start(error)
    except RestlessError as error:
        lab.stopped = str(error)


class _Lab:
    """One run."""

    def __init__(
        self,
        judged: Judged,
        classes: Mapping[str, type],
        options: Options,
        clock: VirtualClock,
        ledger: Ledger,
    ) -> None:
        self.stopped, self.interrupted, self.started = "", False, False
        self._judged, self._classes, self._options = judged, classes, options
        self._clock, self._ledger = clock, ledger
        options.time.now_ms = clock.now_ms
        options.time.take()
        self._growth: list[GrowthPoint] = []
        self._high_water = 0
        if not classes:
            raise CannotRunError(f"{judged.topology.place}: no component of the topology is known")
        dialect = descent(next(iter(classes.values())))[0]
        self._profile = options.profile or (profile_of(dialect.acker) if dialect.acker else NEWEST)

        def spout(node: Node, setup: Setup) -> Callable[[], WatchedSpout]:
            return lambda: WatchedSpout(self._watch, node.id, classes[node.id], setup)

        def bolt(node: Node, setup: Setup) -> Callable[[], WatchedBolt]:
            return lambda: WatchedBolt(self._watch, node.id, classes[node.id], setup)

        surroundings = Surroundings(
            conf=options.conf,
            arguments={
                name: command_line(cls, options.component_options.get(name, {}))
                for name, cls in classes.items()
            },
            profile=self._profile.name,
        )
        self._topology = topology = build(judged, surroundings, spout, bolt)
        names = {*topology.spouts, *topology.bolts}
        self._kills = [(task_component(kill.component, names), kill) for kill in options.plan.kills]
        if not topology.settings.ackers and any(name == ACKER for name, _ in self._kills):
            raise InvalidFaultError("--kill acker: the topology has no acker")
        self._timeout_s = topology.settings.message_timeout_secs
        self._cluster = Cluster(
            topology,
            profile=self._profile,
            seed=options.seed,
            active=False,
            restart_s=RESTART_S,
            clock=clock,
            loss=self._loss(),
        )
        self._watch = self._new_watch()
        raising = {each.component for each in options.plan.raises}
        arm(self._watch, {classes[name] for name in classes if name in raising})

    def _new_watch(self) -> Watch:
        options, cluster, clock = self._options, self._cluster, self._clock
        return Watch(
            plan=options.plan,
            rate=options.rate,
            clock=clock,
            ledger=self._ledger,
            messages=Messages(clock),
            tracks=self._topology.settings.ackers > 0,
            component_of=assign(self._topology).components.__getitem__,
            spout_of=cluster.spout_of,
            later=lambda seconds, action: cluster.at(clock.now_ms() / 1000 + seconds, action),
            kill=cluster.kill,
            time=options.time,
        )

    @property
    def busy(self) -> str:
        """Which component was called last."""
        return f"`{self._watch.busy}`" if self._watch.busy else "a component"

    def _loss(self) -> LossModel | None:
        share = self._options.plan.share

        def lose(_parcel: Parcel, random: Random) -> bool:
            return self._watch.ended_ms is None and random.random() < share

        return lose if share else None

    def live(self, progress: _Progress) -> None:
        """Run with the faults, then without until each message has its end."""
        options, cluster, watch, began = self._options, self._cluster, self._watch, monotonic()
        for name, kill in self._kills:
            for moment in kill.moments(options.seconds):
                cluster.at(moment, partial(cluster.kill, name))
        last = options.seconds + PATIENCE * self._timeout_s

        def is_late() -> bool:
            return monotonic() - began > options.limit

        cluster.activate()
        self.started = True
        step = min(1.0, options.seconds / _SAMPLES)
        while (now := self._clock.now_ms() / 1000) < last:
            if watch.ended_ms is None and now >= options.seconds:
                watch.ended_ms = self._clock.now_ms()
                watch.messages.close()
            if watch.ended_ms is not None and self._is_over():
                return
            end = options.seconds if watch.ended_ms is None else last
            step = max(step, (now - options.seconds) / _SAMPLES)
            if cluster.advance(max(0.001, min(step, end - now)), is_late):
                own = self._clock.now_ms() / 1000
                self.stopped = (
                    f"the topology did not settle within {options.limit:g} s, which were {own:,.1f} s of"
                    " simulated time; --limit and --seconds set both"
                )
                return
            self._sample()
            if progress is not None:
                progress(round(now), round(last))

    def _is_over(self) -> bool:
        """Whether every counted message has completed, and nothing from before the end of the faults is on its way."""
        watch = self._watch
        if watch.messages.waiting() or watch.holds_old():
            return False
        return not any(
            count > 0 and self._queued(source, target) for (source, target, _), count in watch.sent.items()
        )

    def _queued(self, source: str, target: str) -> int:
        parcels = self._cluster.under_way(source, target)
        return sum(isinstance(each.content, Tup) and not each.content.message_id for each in parcels)

    def _sample(self) -> None:
        entries = list(self._cluster.pending())
        orphans = sum(entry.task is None for entry in entries)
        self._high_water = max(self._high_water, len(entries))
        self._growth.append(GrowthPoint(time_ms=self._clock.now_ms(), pending=len(entries), orphans=orphans))

    # -- the end

    def cannot_start(self, error: CannotStartError) -> str:
        """Say which component does not start, and at which line."""
        cause = error.__cause__ or error
        where = blamed_line(cause, self._options.project)
        place = f"{where}: " if where else ""
        again = "restart" if self.started else "start"
        has_options = command_line(self._classes[str(error)], {})
        source = "`options` in its YAML file give" if has_options else "--conf gives"
        return (
            f"{place}`{error}` cannot {again}: {in_words(cause)}; {source} it a setting,"
            " --stub replaces a service that it needs"
        )

    def outcome(self) -> Outcome:
        """Judge what was seen."""
        self._watch.messages.close()
        self._excuse_late()
        settled = self._ledger.settle()
        places = Places(folder=self._options.folder)
        fates = tuple(
            self._watch.messages.fate(name, self._timeout_s, early=bool(self.stopped))
            for name in self._topology.spouts
        )
        vanished = () if self.stopped else tuple(self._vanished())
        deaths = tuple(self._deaths())
        outcome = Outcome(
            profile=self._profile,
            virtual_s=self._clock.now_ms() / 1000,
            fates=fates,
            vanished=vanished,
            deaths=deaths,
            growth=tuple(self._growth),
            high_water=self._high_water,
            findings=findings(settled.violations, profile=self._profile, places=places),
            blamed=tuple(blamed(self._judged, fates, {each.source for each in vanished})),
            unjudged=tuple(unjudged(self._judged, {each.component for each in deaths})),
            unobserved=settled.unobserved,
            missed=tuple(self._watch.missed()),
            real_times=tuple(self._real_times()),
            dropped=self._cluster.dropped,
            stopped=self.stopped,
            interrupted=self.interrupted,
        )
        with suppress(Exception):  # a component may raise while it is closed
            self._cluster.shutdown()
        return outcome

    def _excuse_late(self) -> None:
        """Excuse open tuples that are younger than the message timeout: their batch may be under way."""
        young_ns = (self._clock.now_ms() - self._timeout_s * 1000) * 1_000_000
        for record in self._ledger.records.values():
            for delivery, (received_ns, *_) in list(record.open.items()):
                if self.stopped or received_ns > young_ns:
                    record.excuse(delivery)

    def _real_times(self) -> Iterator[str]:
        codes = (node.code for node in self._judged.topology.nodes if node.code is not None)
        for path in sorted({code.path for code in codes}):
            if line := real_time(self._options.project / path):
                yield f"{path}:{line}"

    def _vanished(self) -> Iterator[Vanished]:
        """The copies that were sent without a root, and neither handled nor queued."""
        for (source, target, stream), copies in sorted(self._watch.sent.items()):
            gone = copies - self._queued(source, target)
            if gone > 0:
                yield Vanished(source=source, target=target, stream=stream, copies=gone)

    def _deaths(self) -> Iterator[Ended]:
        rows: dict[tuple[str, str, str], Ended] = {}
        for death in self._cluster.deaths:
            cause = self._watch.causes.get((death.component, death.reason))
            where = "" if cause is None else blamed_line(cause, self._options.project)
            reason = death.reason if cause is None else in_words(cause)
            kind = type(cause).__name__ if where else reason  # at one line, exceptions differ in their values
            row = rows.setdefault(
                (death.component, kind, where),
                Ended(
                    component=ACKERS if death.component == ACKER else death.component,
                    reason=f"{reason} ({where})" if where else reason,
                    planned=death.reason == "killed" or isinstance(cause, InjectedError),
                ),
            )
            row.times += 1
            row.lost += death.lost + death.dropped
        yield from rows.values()
