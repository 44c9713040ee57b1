"""What a path remembers about conditions, so that it does not go where no run goes."""

import pytest

from tests.checks.sources import codes, in_bolt


def asked(first, then):
    """The findings where the second condition is asked once the first was true."""
    return codes(
        in_bolt(
            f"""
            def process(self, tup):
                kind, seen = tup.values
                if {first}:
                    work(kind)
                else:
                    self.ack(tup)
                    return
                if {then}:
                    self.ack(tup)
            """
        )
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ('kind == "a"', 'kind in ("a", "b")'),
        ('kind in ("a", "b")', 'kind != "c"'),
        ('kind not in ("a", "b")', 'kind != "a"'),
        ("seen is None", "not seen"),
        ("not seen", "not seen"),
        ("seen", "seen is not None"),
        ("len(seen) > 0", "seen"),
        ("not seen", "len(seen) == 0"),
        ("len(seen) >= 1", "len(seen) != 0"),
        ("len(seen) < 1", "not seen"),
    ],
)
def test_one_condition_decides_another(first, then):
    assert asked(first, then) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ('kind == "a"', 'kind in ("b", "c")'),
        ('kind in ("a", "b")', 'kind == "a"'),
        ('kind not in ("a", "b")', 'kind == "c"'),
        ("seen is not None", "seen"),
        ("not seen", "seen is None"),
        ("len(seen) > 1", "len(seen) > 2"),
        ("len(seen) != 1", "seen"),
    ],
)
def test_one_condition_leaves_another_open(first, then):
    assert asked(first, then) == [(15, "ACK101")]


def test_a_helper_that_falls_off_its_end_has_returned_none():
    source = in_bolt(
        """
        def rejected(self, tup):
            if not tup.values[0]:
                self.fail(tup)
                return True

        def process(self, tup):
            if self.rejected(tup):
                return
            self.ack(tup)
        """
    )

    assert codes(source) == []


def test_a_generator_has_not_returned_none():
    source = in_bolt(
        """
        def parts(self, tup):
            yield 1

        def process(self, tup):
            if self.parts(tup):
                return
            self.ack(tup)
        """
    )

    assert (13, "ACK101") in codes(source)


def test_a_flag_keeps_its_value_under_another_name():
    source = in_bolt(
        """
        def finish(self, tup, ok=False):
            good = ok
            if good:
                self.ack(tup)

        def process(self, tup):
            self.finish(tup, True)
        """
    )

    assert codes(source) == []


def test_a_default_is_for_an_argument_that_is_not_given():
    source = in_bolt(
        """
        def finish(self, tup, ok=False):
            if ok:
                return
            self.ack(tup)

        def process(self, tup):
            self.finish(tup, ready())
        """
    )

    assert codes(source) == [(10, "ACK101")]


def test_a_default_may_be_overridden_by_a_dictionary():
    source = in_bolt(
        """
        def finish(self, tup, ok=True):
            if ok:
                self.ack(tup)

        def process(self, tup):
            self.finish(tup, **work())
        """
    )

    assert codes(source) == [(9, "ACK101")]


def test_what_does_not_change_in_a_loop_is_the_same_in_every_round():
    source = in_bolt(
        """
        def process(self, tup):
            strict = ready()
            for word in tup.values[0]:
                if strict:
                    self.fail(tup)
                    return
                work(word)
            else:
                self.ack(tup)
        """
    )
    either = in_bolt(
        """
        def process(self, tup):
            strict = ready()
            for word in tup.values[0]:
                if strict:
                    self.fail(tup)
                else:
                    self.ack(tup)
                break
            else:
                self.ack(tup)
        """
    )

    assert codes(source) == []
    assert codes(either) == []


@pytest.mark.parametrize(
    ("asked", "other", "inside"),
    [('kind == "new"', 'kind == "old"', 'sort == "new"'), ("kind", "kind is None", "sort")],
)
def test_what_was_decided_about_an_argument_holds_for_the_parameter(asked, other, inside):
    source = in_bolt(
        f"""
        def process(self, tup):
            kind = tup.values[0]
            if {asked}:
                self.finish(tup, kind)
            elif {other}:
                self.fail(tup)
            else:
                self.ack(tup)

        def finish(self, tup, sort):
            if {inside}:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_what_was_asked_once_holds_for_the_parameter_too():
    source = in_bolt(
        """
        def process(self, tup):
            error = work(tup.values)
            if error:
                self.finish(tup, error)
            else:
                self.ack(tup)

        def finish(self, tup, reason):
            if reason:
                self.fail(tup)
        """
    )

    assert codes(source) == []


def test_a_parameter_is_not_the_local_of_its_name():
    source = in_bolt(
        """
        def process(self, tup):
            kind, sort = tup.values
            if kind:
                self.finish(tup, sort)
            elif not kind:
                self.fail(tup)

        def finish(self, tup, kind):
            if kind:
                self.ack(tup)
        """
    )

    assert codes(source) == [(16, "ACK101")]


def test_a_loop_takes_one_side_of_a_flag_in_every_round():
    source = in_bolt(
        """
        def process(self, tup):
            strict = ready()
            for word in tup.values[0]:
                if strict:
                    self.fail(tup)
                else:
                    self.ack(tup)
        """
    )

    assert codes(source) == [(10, "ACK101"), (12, "ACK104"), (14, "ACK104")]


def test_a_condition_keeps_its_answer_under_another_name():
    source = in_bolt(
        """
        def process(self, tup):
            seen = tup.values[0]
            if seen:
                self.ack(tup)
            also = seen
            if not also:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_what_ack_returns_is_none():
    source = in_bolt(
        """
        def reject(self, tup):
            return self.fail(tup)

        def process(self, tup):
            if not self.reject(tup):
                return
            self.ack(tup)
        """
    )

    assert codes(source) == []


def test_a_stored_comparison_is_decided_where_its_parts_are():
    source = in_bolt(
        """
        def process(self, tup):
            seen = tup.values[0]
            if seen is None:
                self.fail(tup)
            known = seen is not None
            if known:
                self.ack(tup)
        """
    )

    assert codes(source) == []
