"""Hooks of a traced test: begin tracing, judge the test after its teardown, change its report."""

import errno
import os
import threading
import time
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from _pytest import runner

from ackdoctor.model.finding import Finding, counted
from ackdoctor.model.trace import TupleTree, Violation
from ackdoctor.pytest_plugin.options import Options
from ackdoctor.pytest_plugin.outcome import (
    PROPERTY,
    SECTION,
    Judge,
    Row,
    count_by_rule,
    fail,
    format_findings,
    one_line,
    totals,
    waiting_note,
)
from ackdoctor.tracer.install import Installation, install
from ackdoctor.tracer.ledger import Ledger, Level, Settlement
from ackdoctor.tracer.recorder import Recorder, finish_killed
from ackdoctor.tracer.trace_files import live_files, lock, parts

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.fixture import Counts, Fixture, TestHeap


_POLL_S = 0.005
TEST_OPTIONS = pytest.StashKey[Options | str]()  # the options of a traced test, or the error in its marks
_WAIT_S = 0.5  # for threads to finish after a test; the default of `--ackdoctor`
_HOW_TO_EXPECT = "assert `bench.died` if the test expects it"


class SessionTracer:
    """Wraps the frameworks from the first traced test to the end of the session.

    They stay wrapped between traced tests, since a component of a wider scope may outlive its test.
    Events of untraced tests are discarded.
    """

    def __init__(self, traces: "TraceFiles | None") -> None:
        self._traces = traces
        self.ledger = Ledger(Level.OFF)
        self._installation: Installation | None = None
        self._threads = set(threading.enumerate())  # the runner's own threads, for which `wait` does not wait

    def begin(self, test: str, level: str) -> None:
        """Attribute what components receive from now on to this test."""
        wanted = Level.named(level)
        if self._installation is None or self.ledger.level is not wanted:
            self._unwrap()
            self.ledger = Ledger(wanted)
            self._installation = install(self.ledger, self._traces.recorder if self._traces else None)
        else:
            self.ledger.settle()
            self._installation.mend()
        self.ledger.test = test
        if self._traces is not None:
            self._traces.turn(test, keep=False)

    def wait(self, seconds: float) -> None:
        """Give threads of the tests time to complete open tuples."""
        wait(self.ledger, self._threads, seconds)

    def look(self) -> tuple[tuple[Violation, ...], int]:
        """Return the violations so far, and how many deliveries are open; no record is closed."""
        ledger = self.ledger
        records = tuple(ledger.records.values())
        found = (record.violations(ledger.now(), ledger.test) for record in records)
        return tuple(chain.from_iterable(found)), _pending(ledger)

    def end(self) -> Settlement:
        """Return the result of the test.  Later completions of its tuples belong to no test."""
        settlement = self.ledger.settle()
        self.ledger.test = ""
        return settlement

    def end_trace(self, *, failed: bool) -> tuple[str, ...]:
        """Keep the rows of a failed test, delete those of a passed one unless all are kept; return a note on missing rows."""
        traces = self._traces
        missing = traces.turn("", keep=failed) if traces is not None else 0
        if traces is None or not missing or not (failed or traces.keeps_all):
            return ()
        return (f"its trace lacks {counted(missing, 'row')}, which could not be written",)

    def close(self) -> None:
        """Restore the frameworks, and finish the traces."""
        self._unwrap()
        if self._traces is not None:
            self._traces.close()

    def _unwrap(self) -> None:
        if self._installation is not None:
            self._installation.undo()
            self._installation = None


def wait(ledger: Ledger, threads: Collection[threading.Thread], seconds: float) -> None:
    """Wait until other threads complete the open tuples, at most `seconds`.

    The loop counts polls, since a fixture may freeze the clock.
    """
    for _ in range(ceil(seconds / _POLL_S)):
        if not (_pending(ledger) and any(thread not in threads for thread in threading.enumerate())):
            return
        time.sleep(_POLL_S)


def _pending(ledger: Ledger) -> int:
    """Return how many deliveries are open."""
    return sum(len(record.overdue()) for record in tuple(ledger.records.values()))


class TraceFiles:
    """The trace files of this process.  Rows have the node id of their test, and a part ends with a test.

    UsageError if the directory is not writable; the recorder would only count the missing rows.
    """

    def __init__(self, config: pytest.Config, directory: Path, *, keeps_all: bool) -> None:
        worker = getattr(config, "workerinput", {})  # under xdist
        why = ""
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = str(error.strerror)
        else:
            if not os.access(directory, os.W_OK | os.X_OK):
                why = os.strerror(errno.EACCES)
        if why:
            raise pytest.UsageError(f"{directory}: no traces can be written there: {why}")
        self.recorder = Recorder(
            directory,
            run=worker.get("testrunuid") or uuid4().hex,
            worker=worker.get("workerid", "main"),
        )
        self.keeps_all = keeps_all
        self._kept: set[Path] = set()
        self._dropped = 0

    def turn(self, test: str, *, keep: bool) -> int:
        """Keep or delete the rows since the last call, and attribute later rows to `test`; return the number of lost rows."""
        if not self.keeps_all:  # else parts may span tests
            self._end_part(keep=keep)
        self.recorder.test = test
        lost, self._dropped = self.recorder.dropped - self._dropped, self.recorder.dropped
        return lost

    def close(self) -> None:
        """Finish the trace."""
        self.turn("", keep=False)
        self.recorder.close()
        if self.recorder.folder.is_dir():
            finish_killed(self.recorder.folder)

    def _end_part(self, *, keep: bool) -> None:
        if keep:
            self.recorder.roll()
        else:
            self.recorder.discard()
        folder = self.recorder.folder
        mine = {path for stem, path in parts(folder) if stem.pid == os.getpid()}
        live = {path for _, path in live_files(folder)}
        if keep:
            self._kept |= mine | live
        for path in mine - self._kept:
            path.unlink(missing_ok=True)
        # of a child process of the test: multiprocessing ends it with `os._exit`
        for path in live - self._kept:
            with lock(path) as was_killed:
                if was_killed:
                    path.unlink(missing_ok=True)


class TestSeparation:
    """Under `ackdoctor trace run`, closes the records of all components at the start and end of each test."""

    def __init__(self, installation: "Installation", recorder: "Recorder") -> None:
        self._installation = installation
        self._recorder = recorder
        self._threads = set(threading.enumerate())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Attribute what components receive meanwhile to this test."""
        self._turn(item.nodeid)
        try:
            return (yield)
        finally:
            wait(self._installation.ledger, self._threads, _WAIT_S)
            self._turn("")

    def _turn(self, test: str) -> None:
        """Close the records; their last rows belong to the previous test."""
        self._installation.ledger.settle()
        self._installation.mend()
        self._recorder.test = test


@dataclass(slots=True, kw_only=True)
class _RunningTest:
    """A traced test, from its setup to its teardown."""

    item: pytest.Item
    options: Options
    reports: list[pytest.TestReport] = field(default_factory=list)  # of its phases so far
    published: set[int] = field(default_factory=set)  # ids of reports that cannot change any more
    subfailed: bool = False  # whether one of its subtests failed
    fixture: "Fixture | None" = None
    heap: "TestHeap | None" = None

    @property
    def main_report(self) -> pytest.TestReport:
        """The report of the failed phase, or of the call; the teardown's if that one is published already."""
        reports, teardown = self.reports, self.reports[-1]
        called = next((report for report in reports if report.when == "call"), teardown)
        main = next((report for report in reports if report.failed), called)
        return teardown if id(main) in self.published else main

    def linked(self, found: Sequence[Violation]) -> tuple[Sequence[Violation], Sequence[TupleTree]]:
        """Return the violations with their roots, and the pending roots, if the test has a bench."""
        return self.fixture.linked(found) if self.fixture is not None else (found, ())


class Hooks:
    """The hooks of traced tests; registered if there is one."""

    def __init__(self, config: pytest.Config, session: Options) -> None:
        self.config = config
        self.session = session
        self.judge = Judge(config, session)
        folder, keeps_all = session.trace_dir, session.trace_keep == "all"
        traces = None if folder is None else TraceFiles(config, folder, keeps_all=keeps_all)
        self.tracer = SessionTracer(traces)
        self._counts: Counts | None = None
        self._test: _RunningTest | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Run a traced test and delay its reports until it is judged, unless another plugin runs it."""
        if TEST_OPTIONS not in item.stash:
            return None
        hook = item.ihook
        arguments = {"item": item, "nextitem": nextitem}
        for impl in reversed(hook.pytest_runtest_protocol.get_hookimpls()):
            if impl.plugin is self or impl.wrapper or impl.hookwrapper or impl.plugin is runner:
                continue
            done = impl.function(*(arguments[name] for name in impl.argnames))
            if done is not None:
                return done
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in runner.runtestprotocol(item, log=False, nextitem=nextitem):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Attribute what components receive from now on to this test."""
        options = item.stash.get(TEST_OPTIONS, None)
        if isinstance(options, str):
            pytest.fail(options, pytrace=False)
        if options is None:
            return
        self._test = test = _RunningTest(item=item, options=options)
        try:
            self.tracer.begin(item.nodeid, options.level)
        except RuntimeError as error:  # such as `ackdoctor trace run`
            pytest.fail(f"ackdoctor: another tracer runs in this process: {error}", pytrace=False)
        if options.heap:
            test.heap = self._open_heap(options)
            test.heap.begin(exact=not self.session.heap)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the report of each phase, and judge the test with the last one."""
        report = yield
        test = self._test
        if test is not None and test.item is item:
            test.reports.append(report)
            if report.when == "teardown":
                self._test = None
                self._close(test)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record published reports.  A subtest's report is no phase of its test."""
        if self._test is None:
            return
        if not hasattr(report, "context"):
            self._test.published.add(id(report))
            return
        if self._test.reports:
            self._test.reports.pop()  # the report that the SubtestReport copies
        self._test.subfailed |= report.failed

    def pytest_unconfigure(self) -> None:
        """Restore the frameworks."""
        self.tracer.close()

    def fixture(self, item: pytest.Item) -> "Fixture | None":
        """Return the fixture of a traced test; None for any other."""
        test = self._test
        if test is None or test.item is not item:
            return None
        from ackdoctor.pytest_plugin.fixture import Fixture  # which imports the lab

        test.fixture = Fixture(
            self.tracer.ledger,
            partial(self._findings_so_far, test),
            test.options.profile,
            partial(self._open_heap, test.options),
            test.heap,
        )
        return test.fixture

    def _open_heap(self, options: Options) -> "TestHeap":
        """Return the heap of a test; fail the test if the heap cannot be read."""
        from ackdoctor.heap.python_heap import missing

        if why := missing():
            pytest.fail(f"ackdoctor: {why}", pytrace=False)
        from ackdoctor.pytest_plugin.fixture import Counts, TestHeap

        self._counts = self._counts or Counts()
        return TestHeap(self.tracer.ledger, options.profile, str(self.judge.folder), self._counts)

    def _findings_so_far(self, test: _RunningTest) -> tuple[Finding, ...]:
        found, pending = self.tracer.look()
        strict = replace(test.options, max_pending=0)
        judged = self.judge.judge(*test.linked(found), pending=pending, options=strict, ended=False)
        return judged.counted

    def _close(self, test: _RunningTest) -> None:
        """Judge a test and store its row in the reports.  An internal error does not end the session."""
        try:
            row = self._judge(test)
        except Exception as error:  # noqa: BLE001
            internal_error = f"ackdoctor failed with an internal error: {type(error).__name__}: {error}"
            test.reports[-1].sections.append((SECTION, internal_error))
            row = Row(level=test.options.level, doubts=(internal_error,))
        if row is None:
            return
        for properties in (test.item.user_properties, *(report.user_properties for report in test.reports)):
            properties[:] = [pair for pair in properties if pair[0] != PROPERTY]
            properties.append((PROPERTY, row.dump()))

    def _judge(self, test: _RunningTest) -> Row | None:
        """Return the row of a test; None if it was skipped."""
        options, heap, fixture = test.options, test.heap, test.fixture
        failed = test.subfailed or any(report.failed for report in test.reports)
        if not failed:
            self.tracer.wait(options.complete_within)
        held = heap.end() if heap is not None else ()
        settlement = self.tracer.end()
        if any(report.skipped and not hasattr(report, "wasxfail") for report in test.reports):
            self.tracer.end_trace(failed=failed)
            return None
        pending = sum(tally.pending for tally in settlement.tallies)
        violations, trees = test.linked(settlement.violations)
        judgement = self.judge.judge(violations, trees, pending=pending, options=options)
        deaths, doubts = fixture.outcome() if fixture is not None else ((), ())
        notes: list[str] = []
        if heap is not None:
            judgement = self.judge.with_heap_findings(
                judgement, held, trees=trees, pending=pending, options=options
            )
            notes += filter(None, [heap.remark()])
        broken = bool(judgement.counted or deaths)
        notes += self.tracer.end_trace(failed=failed or broken)
        verdict = self._turn(test, judgement.counted, deaths) if broken else ""
        if heap is not None and (text := heap.text()):
            test.main_report.sections.append(("ackdoctor heap", text))
        return Row(
            level=options.level,
            verdict=verdict,
            asked=options is not self.session,
            ticks=sum(tally.ticks for tally in settlement.tallies),
            high_water=max((tally.high_water for tally in settlement.tallies), default=0),
            dropped=settlement.dropped,
            findings=count_by_rule(judgement.counted),
            accepted=count_by_rule(judgement.accepted),
            components=totals(settlement.tallies),
            unobserved=settlement.unobserved,
            notes=notes,
            doubts=(*doubts, *map(waiting_note, judgement.waiting), *settlement.notes),
            baseline=self._baseline_entries(judgement.counted, options),
        )

    def _turn(self, test: _RunningTest, findings: Sequence[Finding], deaths: Sequence[str]) -> str:
        """Attach the findings to a report; return the verdict of the row."""
        text = format_findings(findings, root=self.judge.folder, verbosity=self.config.get_verbosity())
        if text or deaths:
            test.main_report.sections.append((SECTION, "\n".join((*deaths, *filter(None, [text])))))
        if test.options.warn or test.options.write_baseline:
            return "warned"
        if findings:
            why = one_line(findings[0]) + (f" (and {len(findings) - 1} more)" if findings[1:] else "")
        else:
            why = f"{deaths[0]}: {_HOW_TO_EXPECT}"
        return "failed" if fail(test.main_report, why) else "also"

    def _baseline_entries(self, findings: Sequence[Finding], options: Options) -> Sequence[Sequence[str]]:
        if options.baseline is None or not options.write_baseline:
            return ()
        from ackdoctor.lint.baseline import entries_of

        return entries_of(findings, options.baseline, root=self.judge.folder)


class Refusal:
    """Fails each test that should be traced, with the reason; registered if the hooks cannot work."""

    def __init__(self, why: str) -> None:
        self._why = why

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Fail the test before its fixtures are set up."""
        if TEST_OPTIONS in item.stash:
            pytest.fail(f"ackdoctor: {self._why}", pytrace=False)
