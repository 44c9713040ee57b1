"""What becomes of the messages of a run."""

from ackdoctor.acker.runtime import VirtualClock
from ackdoctor.lab.fates import DIED, FAILED, Messages

TIMEOUT_S = 30


class Run:
    """A spout `s` with the task 1 and messages with the given ids."""

    def __init__(self, *ids):
        self.clock = VirtualClock()
        self.messages = Messages(self.clock)
        self.emit(*ids)

    def emit(self, *ids, task=1, **values):
        for msg_id in ids:
            self.messages.emitted("s", task, "default", values.get("values", [msg_id]), msg_id)

    def fate(self, *, early=False):
        self.clock.advance(TIMEOUT_S + 1)
        found = self.messages.fate("s", TIMEOUT_S, early=early)
        counts = ("messages", "completed", "repeated", "lost", "lost_at_death", "stuck", "open", "untracked")
        return {name: getattr(found, name) for name in counts if getattr(found, name)}


def test_an_acked_message_is_complete():
    run = Run(1)
    run.messages.acked("s", 1, 1)
    assert run.fate() == {"messages": 1, "completed": 1}


def test_a_failed_message_that_does_not_come_again_is_lost():
    run = Run(1, 2)
    run.messages.failed("s", 1, 1)
    run.messages.acked("s", 1, 2)
    assert run.fate() == {"messages": 2, "completed": 1, "lost": 1}


def test_a_message_that_died_with_its_spout_is_lost_unless_it_comes_again():
    run = Run(1, 2)
    run.messages.died("s", 1)
    run.emit(2)
    run.messages.acked("s", 1, 2)
    assert run.fate() == {"messages": 2, "completed": 1, "repeated": 1, "lost": 1, "lost_at_death": 1}


def test_values_show_that_a_message_came_again_with_another_id_from_another_task():
    run = Run("a")
    run.messages.failed("s", 1, "a")
    run.emit("b", task=2, values=["a"])
    run.messages.acked("s", 2, "b")
    assert run.fate() == {"messages": 1, "completed": 1, "repeated": 1}


def test_equal_values_of_an_open_message_are_another_message():
    run = Run("a")
    run.emit("b", values=["a"])
    run.messages.acked("s", 1, "b")
    assert run.fate() == {"messages": 2, "completed": 1, "stuck": 1}


def test_a_message_that_fails_after_the_faults_is_stuck():
    run = Run(1)
    run.messages.failed("s", 1, 1)
    run.messages.close()
    run.emit(1)
    run.messages.failed("s", 1, 1)
    assert run.fate() == {"messages": 1, "repeated": 1, "stuck": 1}


def test_a_message_that_first_comes_after_the_faults_does_not_count():
    run = Run()
    run.messages.close()
    run.emit(1, None)
    assert run.fate() == {}


def test_in_a_run_that_stopped_early_messages_are_open():
    run = Run(1, 2, None)
    run.messages.failed("s", 1, 1)
    assert run.fate(early=True) == {"messages": 2, "open": 2, "untracked": 1}


def test_values_distinguish_messages_with_the_same_id():
    run = Run()
    for word in ("a", "b", "c"):
        run.emit(0, values=[word])
        if word == "b":
            run.messages.acked("s", 1, 0)
    run.messages.acked("s", 1, 0)
    run.messages.acked("s", 1, 0)
    assert run.fate() == {"messages": 3, "completed": 3}


def test_an_acked_message_that_a_new_spout_reads_again_is_repeated():
    run = Run(1)
    run.messages.acked("s", 1, 1)
    run.messages.died("s", 1)
    run.emit(1)
    assert run.fate() == {"messages": 1, "completed": 1, "repeated": 1}


def test_the_last_failure_of_each_message_tells_why_it_is_lost_or_stuck():
    run = Run(1, 2, 3, 4)
    for msg_id, why in ((1, FAILED), (2, FAILED), (3, DIED)):
        run.messages.broken("s", 1, msg_id, "count", why)
        run.messages.failed("s", 1, msg_id)
    run.messages.died("s", 1)  # with 4 open: that is no failure
    run.messages.close()
    run.emit(3)
    run.messages.failed("s", 1, 3)  # this time it timed out
    run.clock.advance(TIMEOUT_S + 1)
    causes = run.messages.fate("s", TIMEOUT_S, early=False).causes
    assert [(each.end, str(each), each.messages, each.example) for each in causes] == [
        ("lost", "count failed it", 2, "[1]"),
        ("stuck", "timed out", 1, "[3]"),
    ]


def test_a_message_that_the_acker_never_answers_has_not_timed_out():
    run = Run(1)
    run.messages.close()
    run.clock.advance(TIMEOUT_S + 1)
    (cause,) = run.messages.fate("s", TIMEOUT_S, early=False).causes
    assert (cause.end, str(cause)) == ("stuck", "no answer yet")


def test_the_values_in_the_report_are_short():
    run = Run("x" * 100)
    run.messages.failed("s", 1, "x" * 100)
    run.clock.advance(TIMEOUT_S + 1)
    (cause,) = run.messages.fate("s", TIMEOUT_S, early=False).causes
    assert (len(cause.example), cause.example[-3:]) == (60, "...")
