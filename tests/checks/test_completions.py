"""Repeated completions: the reported line and rule."""

import pytest

from tests.checks.sources import codes, findings, in_bolt


def test_a_helper_called_twice_is_no_loop():
    source = in_bolt(
        """
        def finish(self, tup):
            self.ack(tup)

        def process(self, tup):
            self.finish(tup)
            if ready():
                self.finish(tup)
        """
    )

    assert codes(source) == [(14, "ACK103")]


def test_a_helper_called_in_a_loop_is_a_loop():
    source = in_bolt(
        """
        def finish(self, tup):
            self.ack(tup)

        def process(self, tup):
            for word in tup.values[0]:
                self.finish(tup)
            else:
                work(word)
        """
    )

    assert (13, "ACK104") in codes(source)
    assert "ACK103" not in [code for _, code in codes(source)]


def test_an_emit_that_may_raise_does_not_hide_another_call_that_may():
    source = in_bolt(
        """
        def process(self, tup):
            self.ack(tup)
            self.emit([1], anchors=[])
            work(1)
        """,
        switches="auto_ack = False",
    )

    assert codes(source) == [(11, "ACK106")]


def test_a_second_completion_is_reported_once():
    source = in_bolt(
        """
        def process(self, tup):
            self.ack(tup)
            if ready():
                work(1)
            else:
                work(2)
            self.ack(tup)
        """
    )

    reported = [finding for finding in findings(source) if finding.code == "ACK103"]

    assert [finding.site.span.line for finding in reported] == [14]


def test_a_raise_in_a_helper_is_as_certain_as_one_in_the_handler():
    source = in_bolt(
        """
        def give_up(self, tup):
            work(1)
            raise ValueError

        def process(self, tup):
            self.ack(tup)
            self.give_up(tup)
        """,
        switches="",
    )

    reported = [(f.site.span.line, f.code, f.confidence.word) for f in findings(source)]

    assert reported == [(10, "ACK106", "must")]


@pytest.mark.parametrize(("handler", "confidence"), [("", "must"), ("except KeyError: ...", "may")])
def test_an_exception_of_another_class_than_the_handlers_may_leave_through_an_ack_in_finally(
    handler, confidence
):
    source = in_bolt(
        f"""
        def process(self, tup):
            try:
                work(tup.values)
            {handler}
            finally:
                self.ack(tup)
        """,
        switches="auto_ack = auto_fail = False",
    )

    assert [(f.code, f.confidence.word) for f in findings(source)] == [("ACK107", confidence)]


@pytest.mark.parametrize(
    ("first", "second", "confidence"),
    [
        ("self.ready(tup)", "self.ready(tup)", "may"),
        ("self.known.has(tup.id)", "self.known.has(tup.id)", "may"),
        ("self.ready(tup)", "self.done(tup)", "must"),
        ("self.ready(1)", "self.ready(2)", "must"),
        ("self.queue.pop()", "self.queue.pop()", "must"),  # the second is another element
    ],
)
def test_a_path_that_gets_two_answers_to_one_question_may_be_impossible(first, second, confidence):
    source = in_bolt(
        f"""
        def process(self, tup):
            if not {first}:
                self.fail(tup)
            if {second}:
                self.ack(tup)
        """
    )

    assert {f.confidence.word for f in findings(source) if f.code == "ACK106"} == {confidence}
