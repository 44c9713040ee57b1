"""The levels `sites` and `trace` find the same violations of the same tuples, and so do the rows."""

import queue
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pystorm import Bolt

from ackdoctor.model.dialect import Misuse
from ackdoctor.tracer.ledger import Level
from ackdoctor.tracer.recorder import Recorder
from tests.tracer.driven import build, drive, frame, summaries, tick, traced

PLANS = st.lists(
    st.tuples(
        st.sampled_from("data data data again tick".split()),
        st.lists(st.tuples(st.sampled_from("ack copy fail emit".split()), st.integers(0, 3)), max_size=4),
    ),
    max_size=12,
)


class Planned(Bolt):
    """Complete the latest tuples as planned, each from one line."""

    auto_ack = False
    plan = ()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.steps, self.seen = list(self.plan), []

    def process(self, tup):
        self.seen.append(tup.id)
        for verb, back in self.steps.pop(0)[1]:
            delivery = self.seen[max(0, len(self.seen) - 1 - back)]
            if verb == "emit":
                self.emit([1], anchors=[])
            elif verb == "fail":
                self.fail(delivery)
            else:
                self.ack(delivery if verb == "ack" else "".join(list(delivery)))

    process_tick = process


def frames(plan):
    """Return a new id for each tuple, or repeat the one before."""
    number = 0
    for kind, _ in plan:
        number += kind != "again"
        yield tick(f"{number}!") if kind == "tick" else frame(f"{number}!")


def outcome(level, plan, cap, recorder=None):
    """Return the violations at a level, without threads and times, and the counts."""
    cls = type("Planned", (Planned,), {"plan": plan})
    with traced(level, recorder, cap=cap, now=lambda: 0) as run:
        drive(cls, *frames(plan))
    return run.settlement.violations, run.settlement.tallies, run.settlement.dropped, run.settlement.notes


@pytest.mark.minutes
@given(PLANS, st.sampled_from((3, 65_536)))
def test_all_levels_give_each_tuple_the_same_verdict(plan, cap):
    with TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder), run="r")
        assert outcome(Level.TRACE, plan, cap, recorder) == outcome(Level.SITES, plan, cap)
        recorder.close()


class Guesses(Bolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        self.ack("other")


def test_a_tuple_is_pending_until_the_end():
    class Forgets(Bolt):
        auto_ack = False

        def process(self, tup):
            self.emit([1])

    with traced(now=lambda: 7_000_000) as run:
        drive(Forgets, frame("1"))
        (record,) = run.ledger.records.values()
        assert dict(record.open) == {"1": (7_000_000, 1, "")}
    assert summaries(run.settlement.violations) == ["never completed: 1: received; end of the run"]


def test_an_ack_of_a_tuple_that_never_arrived_is_a_stray():
    with traced() as run:
        drive(Guesses, frame("1"))
    assert run.settlement.notes == ("Guesses: 1 completion of tuples that no input was seen to bring",)
    assert (run.settlement.violations, run.settlement.tallies[0].high_water) == ((), 1)


def test_two_threads_ack_the_same_tuple_once_and_once_too_often():
    number = 400
    lanes: tuple[queue.Queue[Any], queue.Queue[Any]] = queue.Queue(), queue.Queue()

    class Shared(Bolt):
        auto_ack = False

        def process(self, tup):
            for lane in lanes:
                lane.put(tup)

    def acks(bolt, lane):
        while (tup := lane.get()) is not None:
            bolt.ack(tup)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with traced() as run:
            bolt = build(Shared, [frame(str(one)) for one in range(number)])
            threads = [threading.Thread(target=acks, args=(bolt, lane)) for lane in lanes]
            for thread in threads:
                thread.start()
            for _ in range(number):
                bolt._run()
                run.ledger.grow(run.ledger.now())
            for lane in lanes:
                lane.put(None)
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    twice = run.settlement.violations  # distinguished by whether `process` was still running
    assert ({one.misuse for one in twice}, sum(one.count for one in twice)) == ({Misuse.TWICE}, number)
    (row,) = run.settlement.tallies
    assert (row.delivered, row.acked, row.pending) == (number, 2 * number, 0)


class FailsToo(Bolt):
    """Ack tuples without a value and fail others: directly, or on a thread of that name."""

    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        for name in tup.values:
            if name:
                in_thread(name, self.fail, tup)
            else:
                self.fail(tup)


def in_thread(name, work, *args):
    worker = threading.Thread(target=work, args=args, name=name)
    worker.start()
    worker.join()


@pytest.mark.parametrize("level", [Level.SITES, Level.TRACE])
@pytest.mark.parametrize(("value", "thread"), [("", ""), ("worker", "worker")])
def test_a_component_belongs_to_the_thread_that_runs_it(level, value, thread):
    with traced(level) as run:
        bolt = build(FailsToo, [*(frame(str(one)) for one in range(99)), frame("99", value)])
        for _ in range(99):
            bolt._run()
        in_thread("moved", bolt._run)
    (mixed,) = run.settlement.violations
    assert (mixed.misuse, mixed.delivery, mixed.history[-1].thread) == (Misuse.MIXED, "99", thread)


def test_a_handler_may_be_called_without_arguments():
    class Ignores(Bolt):
        def process(self, tup):
            return tup

    with traced() as run:
        assert build(Ignores).process(None) is None
    assert (run.settlement.violations, run.settlement.notes) == ((), ())
