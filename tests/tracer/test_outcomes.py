"""What became of the messages of a spout."""

from ackdoctor.model.trace import RELIABLE, Event, EventKind, Outcomes
from ackdoctor.tracer.replay import outcomes


def emit(message: str, root: int = 0, **more: object) -> Event:
    return Event(
        EventKind.EMITTED, 0, component="kafka", task=1, delivery=message, root=root, flags=RELIABLE
    )._replace(**more)  # type: ignore[arg-type]


def answer(kind: EventKind, message: str = "", root: int = 0) -> Event:
    return Event(kind, 0, component="kafka" if message else "__acker", task=1, delivery=message, root=root)


DONE, FAILED, TIMED_OUT = EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT


def only(events: list[Event]) -> Outcomes:
    (found,) = outcomes(events)
    return found


def test_a_message_that_fails_and_completes_later_is_replayed_and_not_lost():
    rows = [emit("a", 1), answer(FAILED, root=1), emit("a", 2), answer(DONE, root=2)]
    assert only(rows) == Outcomes(spout="kafka", ids=1, completed=1, failed=1, replayed=1)


def test_a_message_whose_every_emit_fails_is_lost():
    rows = [emit("a", 1), answer(FAILED, root=1), emit("a", 2), answer(TIMED_OUT, root=2)]
    assert only(rows) == Outcomes(spout="kafka", ids=1, failed=1, replayed=1, lost=1)


def test_a_message_without_an_answer_is_open_also_after_a_failure():
    rows = [emit("a", 1), answer(FAILED, root=1), emit("a", 2), emit("b", 3)]
    assert only(rows) == Outcomes(spout="kafka", ids=2, failed=1, replayed=1, open=2)


def test_a_log_names_the_messages_of_answers_only():
    rows = [answer(FAILED, "a"), answer(DONE, "a"), answer(DONE, "b"), answer(DONE, "b")]
    assert only(rows) == Outcomes(spout="kafka", ids=2, completed=2, failed=1, replayed=1, repeated=1)


def test_the_ids_of_two_tasks_are_not_mixed():
    rows = [emit("1", 1), emit("1", 2, task=2), answer(FAILED, root=1), answer(DONE, root=2)]
    assert only(rows) == Outcomes(spout="kafka", ids=2, completed=1, failed=1, lost=1)


def test_the_anchors_of_a_bolt_are_no_messages():
    received = Event(EventKind.RECEIVED, 0, component="bolt", delivery="7")
    assert outcomes([received, emit("7", component="bolt")]) == ()


def test_an_emit_without_an_id_is_no_message():
    assert outcomes([emit("", 1), answer(DONE, root=1)]) == ()
