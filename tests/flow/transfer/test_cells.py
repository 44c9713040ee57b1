"""Locals that several functions share: a closure sees what they are when it runs, and what it assigns is seen behind it."""

import pytest

from tests.checks.sources import codes, in_bolt


def test_a_flag_that_a_closure_sets_is_set_the_next_time():
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


def test_a_flag_that_a_closure_sets_is_set_in_the_function_around_it():
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


def test_closures_beside_each_other_share_a_flag():
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


def test_a_closure_sees_what_a_local_is_when_it_runs():
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


def test_what_is_asked_about_a_shared_local_is_open_behind_a_call():
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


def test_each_call_of_a_method_has_cells_of_its_own():
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
def test_what_is_counted_is_another_number_for_all(counter):
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
