"""Flags in a box: who sets one sets it for all who look, and what others get hold of may be anything."""

import pytest

from tests.checks.sources import codes, in_bolt


def asked(begin: str, put: str, ask: str, *, between: str = "pass") -> str:
    """A handler that fails, sets a flag, and acks only where the flag is not set."""
    return in_bolt(
        f"""
        def process(self, tup):
            {begin}
            if not ready(tup.values):
                self.fail(tup)
                {put}
            {between}
            if not {ask}:
                self.ack(tup)
        """
    )


BOXES = [
    ("failed = [False]", "failed[0] = True", "failed[0]"),
    ("failed = {'it': False}", "failed['it'] = True", "failed['it']"),
    ("failed = {}; failed['it'] = False", "failed['it'] = True", "failed['it']"),
    ("failed = Result(); failed.it = False", "failed.it = True", "failed.it"),
    ("failed = Event()", "failed.set()", "failed.is_set()"),
    ("failed = [0]", "failed[0] = 1", "failed[0] == 1"),
    ("failed = [None]", "failed[0] = 'no key'", "failed[0] is not None"),
]


@pytest.mark.parametrize(("begin", "put", "ask"), BOXES)
def test_what_was_put_into_a_box_is_in_it(begin, put, ask):
    assert codes(asked(begin, put, ask)) == []


@pytest.mark.parametrize(("begin", "put", "ask"), BOXES)
@pytest.mark.parametrize(
    "between",
    [
        "work(failed)",
        "work([failed])",
        "other.set(failed)",
        "work(lambda: failed.clear())",
        "failed = ready(1)",
    ],
)
def test_what_others_get_hold_of_may_be_anything(begin, put, ask, between):
    found = [code for _, code in codes(asked(begin, put, ask, between=between))]

    assert found == ["ACK101", "ACK106"]


@pytest.mark.parametrize("between", ["self.flag = failed", "other = failed", "flags = [failed]"])
def test_a_local_with_a_second_name_is_no_box(between):
    source = asked("failed = [False]", "failed[0] = True", "failed[0]", between=between)

    assert [code for _, code in codes(source)] == ["ACK101", "ACK106"]


def test_a_place_that_only_a_run_knows_is_any_place():
    source = asked(
        "failed = [False, False]", "failed[0] = True", "failed[0]", between="failed[ready(1)] = False"
    )

    assert [code for _, code in codes(source)] == ["ACK101", "ACK106"]


def test_another_place_is_another_flag():
    source = asked("failed = [False, False]", "failed[1] = True", "failed[0]")

    assert [code for _, code in codes(source)] == ["ACK106"]


def test_a_nested_function_knows_the_box_around_it():
    source = in_bolt(
        """
        def process(self, tup):
            done = [False]

            def finish():
                if not done[0]:
                    self.ack(tup)
                done[0] = True

            if ready(tup.values):
                finish()
            finish()
            if not done[0]:
                self.fail(tup)
        """
    )

    assert codes(source) == []
