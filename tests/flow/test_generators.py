"""Generators of the project's own: what they and the loop over them do to the same tuple."""

import pytest

from tests.checks.sources import codes, in_bolt

WORDS = """
        def words(self, old):
            for word in old.values:
                yield word
            self.ack(old)
"""


def test_the_tuple_that_a_helper_completes_behind_its_last_yield_may_come_from_a_field():
    source = in_bolt(
        f"""
        def process(self, tup):
            old = self.pending.pop()
            self.pending.append(tup)
            for word in self.words(old):
                self.emit([word], anchors=[old])
        {WORDS}"""
    )

    assert codes(source) == []


def test_what_the_loop_looks_up_in_the_field_meanwhile_is_another_tuple():
    source = in_bolt(
        f"""
        def process(self, tup):
            self.pending[tup.id] = tup
            old = self.pending.pop(1)
            if self.is_tick(old):
                self.ack(old)
                return
            for word in self.words(old):
                old = self.pending.get(word)
        {WORDS}"""
    )

    assert codes(source) == []


@pytest.mark.parametrize(("verb", "expected"), [("ack", "ACK103"), ("fail", "ACK106")])
@pytest.mark.parametrize("over", ["self.words(tup)", "self.all(tup)"])
def test_what_the_loop_has_completed_the_helper_completes_once_more(verb, expected, over):
    source = in_bolt(
        f"""
        def process(self, tup):
            for word in {over}:
                if ready(word):
                    self.{verb}(tup)
                    continue

        def all(self, tup):
            yield from self.words(tup)
        {WORDS}"""
    )

    assert (9, expected) in codes(source)


def test_a_loop_that_is_left_with_the_tuple_completed_leaves_the_helper_where_it_is():
    source = in_bolt(
        f"""
        def process(self, tup):
            for word in self.words(tup):
                if ready(word):
                    self.ack(tup)
                    break
        {WORDS}"""
    )

    assert codes(source) == []
