"""Facts: conditions that a path remembers, so that it takes no infeasible branch."""

import pytest

from tests.checks.sources import codes, in_bolt


def findings_after(first, then):
    """The findings if the second condition is tested after the first was true."""
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
    assert findings_after(first, then) == []


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
    assert findings_after(first, then) == [(15, "ACK101")]


def test_a_helper_without_return_returns_none():
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


def test_a_generator_call_is_not_none():
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


def test_a_copied_flag_keeps_its_value():
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


def test_a_default_applies_only_to_a_missing_argument():
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


def test_a_condition_that_no_iteration_changes_is_the_same_in_all():
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
    ("condition", "other", "inside"),
    [('kind == "new"', 'kind == "old"', 'sort == "new"'), ("kind", "kind is None", "sort")],
)
def test_a_fact_about_an_argument_holds_for_the_parameter(condition, other, inside):
    source = in_bolt(
        f"""
        def process(self, tup):
            kind = tup.values[0]
            if {condition}:
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


def test_a_condition_tested_once_holds_for_the_parameter():
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


def test_a_parameter_differs_from_the_callers_local_of_the_same_name():
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


def test_a_loop_takes_the_same_branch_of_a_flag_in_every_iteration():
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

    assert codes(source) == [(12, "ACK104"), (14, "ACK104")]


def test_a_copied_condition_keeps_its_truth():
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


def test_ack_returns_none():
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


def test_a_stored_comparison_is_decided_by_facts_about_its_parts():
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
