"""Generators of the project: what they and a loop over them do to the same tuple."""

import pytest

from tests.checks.sources import codes, in_bolt

WORDS = """
        def words(self, old):
            for word in old.values:
                yield word
            self.ack(old)
"""


def test_a_generator_completes_a_tuple_from_a_field_after_its_last_yield():
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


def test_a_lookup_in_the_loop_reads_another_tuple():
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
def test_the_generator_completes_a_tuple_that_the_loop_has_completed(verb, expected, over):
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


def test_a_break_leaves_the_generator_suspended():
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
