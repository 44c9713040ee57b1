"""Captured locals and local objects: a closure reads and writes the values of the enclosing function."""

import pytest

from tests.checks.sources import codes, in_bolt


def test_a_closure_reads_the_flag_that_it_set_before():
    source = in_bolt(
        """
        def process(self, tup):
            done = False

            def finish():
                nonlocal done
                if done:
                    return
                done = True
                self.ack(tup)

            if ready(tup.values[0]):
                finish()
            finish()
        """
    )

    assert codes(source) == []


def test_the_enclosing_function_reads_the_flag_that_a_closure_set():
    source = in_bolt(
        """
        def process(self, tup):
            done = False

            def finish():
                nonlocal done
                done = True
                self.ack(tup)

            if ready(tup.values[0]):
                finish()
            if not done:
                self.fail(tup)
            if done:
                self.ack(tup)
        """
    )

    assert codes(source) == [(21, "ACK103")]


def test_sibling_closures_share_a_flag():
    source = in_bolt(
        """
        def process(self, tup):
            done = False

            def once(complete):
                nonlocal done
                if not done:
                    done = True
                    complete(tup)

            def good():
                once(self.ack)

            def bad():
                once(self.fail)

            try:
                good()
            finally:
                bad()
        """
    )

    assert codes(source) == []


def test_a_closure_reads_a_local_when_it_runs():
    source = in_bolt(
        """
        def process(self, tup):
            good = False

            def finish():
                if good:
                    self.ack(tup)

            good = True
            finish()
        """
    )

    assert codes(source) == []


def test_a_call_invalidates_the_facts_about_a_shared_local():
    source = in_bolt(
        """
        def process(self, tup):
            done = ready(tup)

            def finish():
                nonlocal done
                done = True

            if not done:
                finish()
            if done:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_each_call_of_a_method_has_its_own_cells():
    source = in_bolt(
        """
        def finish(self, tup):
            done = False

            def once():
                nonlocal done
                if not done:
                    done = True
                    self.ack(tup)

            once()

        def process(self, tup):
            self.finish(tup)
            self.finish(tup)
        """
    )

    assert codes(source) == [(21, "ACK103")]


@pytest.mark.parametrize("counter", ["bump()", "n += 1"])
def test_an_increment_in_a_closure_changes_the_shared_counter(counter):
    source = in_bolt(
        f"""
        def process(self, tup):
            n = 0

            def bump():
                nonlocal n
                n += 1

            for word in tup.values:
                {counter}
            if n > 0:
                self.ack(tup)
            self.ack(tup)
        """
    )

    assert codes(source) == [(19, "ACK103")]


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
def test_an_unaliased_object_holds_the_assigned_value(begin, put, ask):
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
def test_an_escaped_object_has_no_known_value(begin, put, ask, between):
    found = [code for _, code in codes(asked(begin, put, ask, between=between))]

    assert found == ["ACK101", "ACK106"]


@pytest.mark.parametrize("between", ["self.flag = failed", "other = failed", "flags = [failed]"])
def test_an_object_with_an_alias_has_no_known_value(between):
    source = asked("failed = [False]", "failed[0] = True", "failed[0]", between=between)

    assert [code for _, code in codes(source)] == ["ACK101", "ACK106"]


def test_a_store_under_an_unknown_key_invalidates_every_place():
    source = asked(
        "failed = [False, False]", "failed[0] = True", "failed[0]", between="failed[ready(1)] = False"
    )

    assert [code for _, code in codes(source)] == ["ACK101", "ACK106"]


def test_places_are_independent():
    source = asked("failed = [False, False]", "failed[1] = True", "failed[0]")

    assert [code for _, code in codes(source)] == ["ACK106"]


def test_a_nested_function_reads_a_captured_object():
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


def test_an_object_of_the_next_iteration_is_another_one():
    source = in_bolt(
        """
        def process(self, tup):
            for row in tup.values:
                failed = [False]
                work(row)
                if failed[0]:
                    self.ack(tup)
                keep(failed)
            self.ack(tup)
        """
    )

    assert codes(source) == []
