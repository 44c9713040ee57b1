"""The life of one traced test: begin, judge it after its fixtures are gone, turn its report.

The reports of a traced test are held back until its teardown is over, since a fixture may well be what
flushes a bolt.  Where another plugin runs the protocol (pytest-rerunfailures, flaky) it is left to that one.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from _pytest import runner

from ackdoctor.model.finding import Finding
from ackdoctor.model.verdict import TupleTree
from ackdoctor.model.violation import Violation
from ackdoctor.pytest_plugin import outcome
from ackdoctor.pytest_plugin.judgement import Judge, Sentence
from ackdoctor.pytest_plugin.options import Options
from ackdoctor.pytest_plugin.rows import PROPERTY, Row, counted, totals
from ackdoctor.pytest_plugin.watch import Watch

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.files import Files
    from ackdoctor.pytest_plugin.fixture import Fixture
    from ackdoctor.pytest_plugin.heap import Counts, TestHeap

__all__ = ["ASKED", "Hooks", "Refusal"]

ASKED = pytest.StashKey[Options | str]()  # what a test is traced with, or why that cannot be meant
_FIXTURE = pytest.StashKey["Fixture"]()
_HEAP = pytest.StashKey["TestHeap"]()
_HOW_TO_EXPECT = "assert `bench.died` in a test that means it"
_REPORTS = pytest.StashKey[list[pytest.TestReport]]()  # of its phases so far


class Hooks:
    """Registered once there is a test to trace."""

    def __init__(self, config: pytest.Config, session: Options) -> None:
        self.config = config
        self.session = session
        self.judge = Judge.of(config, session)
        self.watch = Watch(_files(config, session))
        self._counts: Counts | None = None
        self._shown: set[int] = set()
        self._phases: list[pytest.TestReport] = []  # of the test that runs
        self._subfailed = False  # whether a subtest of it has failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Runs a traced test with its reports held back, unless another plugin does."""
        if ASKED not in item.stash:
            return None
        hook = item.ihook
        given = {"item": item, "nextitem": nextitem}
        for impl in reversed(hook.pytest_runtest_protocol.get_hookimpls()):
            if impl.plugin is self or impl.wrapper or impl.hookwrapper or impl.plugin is runner:
                continue
            done = impl.function(*(given[name] for name in impl.argnames))
            if done is not None:
                return done
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in runner.runtestprotocol(item, log=False, nextitem=nextitem):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What components receive from here on is this test's."""
        asked = item.stash.get(ASKED, None)
        if isinstance(asked, str):
            pytest.fail(asked, pytrace=False)
        if asked is not None:
            item.stash[_REPORTS] = self._phases = []
            self._subfailed = False
            self._shown.clear()
            try:
                self.watch.begin(item.nodeid, asked.level)
            except RuntimeError as error:  # by `ackdoctor trace run`, say
                pytest.fail(f"ackdoctor: something else traces this process: {error}", pytrace=False)
            if asked.heap:
                item.stash[_HEAP] = heap = self._heap(asked)
                heap.begin(exact=not self.session.heap)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keeps the report of each phase; with the last one comes the verdict."""
        report = yield
        reports = item.stash.get(_REPORTS, None)
        asked = item.stash.get(ASKED, None)
        if reports is not None and isinstance(asked, Options):
            reports.append(report)
            if report.when == "teardown":
                del item.stash[_REPORTS]
                self._close(item, reports, asked)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Reports that somebody has seen cannot be turned any more; that of a subtest is no phase of its test."""
        if not hasattr(report, "context"):
            self._shown.add(id(report))
            return
        if self._phases:
            self._phases.pop()  # what the SubtestReport was made of
        self._subfailed = self._subfailed or report.failed

    def pytest_unconfigure(self) -> None:
        """Leaves nothing behind but traces."""
        self.watch.close()

    def fixture(self, item: pytest.Item) -> "Fixture | None":
        """The fixture of a traced test; None for any other."""
        asked = item.stash.get(ASKED, None)
        if not isinstance(asked, Options):
            return None
        from ackdoctor.pytest_plugin.fixture import Fixture  # and with it the lab

        fixture = Fixture(
            self.watch.ledger,
            partial(self._so_far, item, asked),
            asked.profile,
            partial(self._heap, asked),
            item.stash.get(_HEAP, None),
        )
        item.stash[_FIXTURE] = fixture
        return fixture

    def _heap(self, options: Options) -> "TestHeap":
        """The heap of a test; one that cannot be looked into fails it."""
        from ackdoctor.heap.python.guppy import missing

        if why := missing():
            pytest.fail(f"ackdoctor: {why}", pytrace=False)
        from ackdoctor.pytest_plugin.heap import Counts, TestHeap

        self._counts = self._counts or Counts()
        return TestHeap(self.watch.ledger, options.profile, str(self.judge.folder), self._counts)

    def _so_far(self, item: pytest.Item, options: Options) -> tuple[Finding, ...]:
        strict = replace(options, max_pending=0)
        evidence = self._linked(item, self.watch.look())
        pending = self.watch.pending
        return self.judge.sentence(*evidence, pending=pending, options=strict, ended=False).counted

    def _close(self, item: pytest.Item, reports: list[pytest.TestReport], options: Options) -> None:
        """The last word on a test, as a property of its reports; an error of ours ends no session."""
        try:
            row = self._judge(item, reports, options)
        except Exception as error:  # noqa: BLE001
            trouble = f"ackdoctor met an error of its own: {type(error).__name__}: {error}"
            outcome.attach(reports[-1], trouble)
            row = Row(level=options.level, doubts=(trouble,))
        if _FIXTURE in item.stash:
            del item.stash[_FIXTURE]
        if _HEAP in item.stash:
            del item.stash[_HEAP]
        if row is None:
            return
        for properties in (item.user_properties, *(report.user_properties for report in reports)):
            properties[:] = [pair for pair in properties if pair[0] != PROPERTY]
            properties.append((PROPERTY, row.dump()))

    def _judge(self, item: pytest.Item, reports: list[pytest.TestReport], options: Options) -> Row | None:
        """The verdict on a test; None for one that was skipped."""
        failed = self._subfailed or any(report.failed for report in reports)
        if not failed:
            self.watch.wait(options.complete_within)
        heap = item.stash.get(_HEAP, None)
        held = heap.end() if heap is not None else ()
        settlement = self.watch.end()
        if any(report.skipped and not hasattr(report, "wasxfail") for report in reports):
            self.watch.judged(failed=failed)
            return None
        pending = sum(tally.pending for tally in settlement.tallies)
        evidence = self._linked(item, settlement.violations)
        sentence = self.judge.sentence(*evidence, pending=pending, options=options)
        fixture = item.stash.get(_FIXTURE, None)
        deaths, doubts = fixture.outcome() if fixture is not None else ((), ())
        doubts = (*doubts, *sentence.waiting.notes, *settlement.notes)
        remarks: tuple[str, ...] = ()
        if heap is not None:
            sentence = self.judge.weighed(sentence, held, trees=evidence[1], pending=pending, options=options)
            remarks = (*remarks, *filter(None, [heap.remark()]))
        broken = bool(sentence.counted or deaths)
        remarks = (*remarks, *self.watch.judged(failed=failed or broken))
        verdict = self._turn(reports, sentence, deaths, options) if broken else ""
        if heap is not None:
            outcome.attach(self._main(reports), heap.text(), "ackdoctor heap")
        return Row(
            level=options.level,
            verdict=verdict,
            asked=options is not self.session,
            ticks=sum(tally.ticks for tally in settlement.tallies),
            high_water=max((tally.high_water for tally in settlement.tallies), default=0),
            dropped=settlement.dropped,
            findings=counted(sentence.counted),
            accepted=counted(sentence.accepted),
            components=totals(settlement.tallies),
            unobserved=settlement.unobserved,
            notes=remarks,
            doubts=doubts,
            baseline=self._entries(sentence, options),
        )

    def _linked(
        self, item: pytest.Item, violations: Sequence[Violation]
    ) -> tuple[Sequence[Violation], Sequence[TupleTree]]:
        """The violations with their roots, and those roots, where the test had a bench with an acker."""
        fixture = item.stash.get(_FIXTURE, None)
        return fixture.linked(violations) if fixture is not None else (violations, ())

    def _turn(
        self,
        reports: list[pytest.TestReport],
        sentence: Sentence,
        deaths: Sequence[str],
        options: Options,
    ) -> str:
        """Shows the findings where the reader looks; what the row says of it."""
        text = outcome.described(
            sentence.counted,
            root=self.judge.folder,
            verbosity=self.config.get_verbosity(),
        )
        main = self._main(reports)
        outcome.attach(main, "\n".join((*deaths, *filter(None, [text]))))
        if options.warn or options.write_baseline:
            return "warned"
        why = outcome.reason(sentence.counted) if sentence.counted else f"{deaths[0]}: {_HOW_TO_EXPECT}"
        return "failed" if outcome.fail(main, why) else "also"

    def _main(self, reports: list[pytest.TestReport]) -> pytest.TestReport:
        """Where the reader looks: the phase that failed, or the call, unless somebody has seen it already."""
        teardown = reports[-1]
        main = next(
            (r for r in reports if r.failed), next((r for r in reports if r.when == "call"), teardown)
        )
        return teardown if id(main) in self._shown else main

    def _entries(self, sentence: Sentence, options: Options) -> Sequence[Sequence[str]]:
        if options.baseline is None or not options.write_baseline:
            return ()
        from ackdoctor.lint.baseline import entries_of

        return entries_of(sentence.counted, options.baseline, root=self.judge.folder)


class Refusal:
    """Registered in place of the hooks where these cannot work: each test that should be traced says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Fails the test before anything of it is made."""
        if ASKED in item.stash:
            pytest.fail(f"ackdoctor: {self._why}", pytrace=False)


def _files(config: pytest.Config, session: Options) -> "Files | None":
    if session.trace_dir is None:
        return None
    from ackdoctor.pytest_plugin.files import Files

    return Files(config, session)
