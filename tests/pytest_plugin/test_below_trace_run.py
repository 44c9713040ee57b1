"""Each test in a process under `ackdoctor trace run` is judged separately."""

import threading
import time

import pytest

from ackdoctor.acker.versions import NEWEST
from ackdoctor.pytest_plugin import hooks
from ackdoctor.tracer import run as begin
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger, Level
from ackdoctor.tracer.recorder import Recorder
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.trace_reader import read
from tests.pytest_plugin.inner import write

pytest_plugins = ["pytester"]

TESTS = """
from threading import Thread
from time import sleep

class Manual(Keeps):
    loses = False

    def process(self, tup):
        if not self.loses:
            self.ack(tup)

class Finishes(Keeps):
    def process(self, tup):
        self.current = tup
        self.finish()

    def finish(self):
        self.ack(self.current)

def test_leaves(monkeypatch):
    monkeypatch.setattr(Manual, "loses", True)
    drive(Manual)
def test_acks_the_same_ids(): drive(Manual)
def test_mocks(monkeypatch):
    monkeypatch.setattr(Finishes, "finish", lambda self: None)
    drive(Finishes)
def test_mocks_nothing(): drive(Finishes)
def test_completes_in_a_thread():
    bolt = drive(Keeps)
    Thread(target=lambda: (sleep(0.05), bolt.flush())).start()
"""


class Slow(Recorder):
    """A thread of a test may have to wait before it can write."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        put = self.put

        def slowly(template, delivery):
            if threading.current_thread() is not threading.main_thread():
                time.sleep(0.1)
            put(template, delivery)

        self.put = slowly


@pytest.fixture
def trace(tmp_path, monkeypatch):
    """The recorder of this process, as under `trace run`."""
    recorder = Slow(tmp_path / "trace", run="r", worker="w")
    installation = install(Ledger(Level.TRACE), recorder)
    monkeypatch.setattr(hooks, "_WAIT_S", 20)  # for a busy machine
    monkeypatch.setattr(begin, "begun", [(installation, recorder)])
    yield recorder
    installation.undo()
    recorder.close()


def test_open_tuples_and_mocks_of_one_test_do_not_affect_the_next(pytester, trace):
    write(pytester, TESTS)
    pytester.runpytest_inprocess().assert_outcomes(passed=5)
    trace.flush()
    found = judge_trace(read([trace.folder]).events, NEWEST)
    [finding] = found.findings
    assert (finding.code, finding.component, finding.evidence.test) == (
        "ACK101",
        "Manual",
        "test_bolts.py::test_leaves",
    )
    assert found.tally.unobserved == ("Finishes: finish is replaced",)


def test_under_trace_run_a_mark_starts_no_second_tracer_and_flags_are_refused(pytester, trace):
    write(
        pytester,
        """
        @pytest.mark.ackdoctor(max_pending=1)
        def test_marked(): drive(Healthy)
        def test_bench(ackdoctor): pass
        """,
    )
    for flags, outcomes in (((), {"passed": 1, "errors": 1}), (("--ackdoctor",), {"errors": 2})):
        result = pytester.runpytest_inprocess(*flags)
        result.assert_outcomes(**outcomes)
        messages = {line for line in result.outlines if line.startswith("ackdoctor: ")}
        assert messages == {
            "ackdoctor: `ackdoctor trace run` traces this process already: run pytest without it"
        }
