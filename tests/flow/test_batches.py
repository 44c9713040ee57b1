"""Loops over a batch: what happens to the elements that the path does not process."""

import pytest

from tests.checks.sources import findings

HEAD = """\
from streamparse import TicklessBatchingBolt
from elsewhere import ready, work


class Made(TicklessBatchingBolt):
    auto_ack = auto_fail = False

    def process_batch(self, key, tups):
"""


def lines_and_codes(body):
    """Line and code of the findings in this body of a batch handler, which starts on line 9."""
    source = HEAD + "".join(f"        {line}\n" for line in body.strip("\n").splitlines())
    return [(finding.site.span.line, finding.code) for finding in findings(source)]


def test_acking_each_element_in_its_iteration_is_correct():
    body = """
for tup in tups:
    self.emit([1], anchors=[tup])
    self.ack(tup)
"""

    assert lines_and_codes(body) == []


@pytest.mark.parametrize("leaves", ["break", "return"])
def test_leaving_the_loop_early_leaves_the_rest_of_the_batch_pending(leaves):
    body = f"""
for tup in tups:
    if ready():
        self.fail(tup)
        {leaves}
    self.ack(tup)
"""

    assert lines_and_codes(body) == [(12, "ACK101")]


def test_the_witness_says_that_the_rest_stays_pending():
    source = HEAD + (
        "        for tup in tups:\n"
        "            self.ack(tup)\n"
        "            if ready():\n"
        "                return\n"
    )

    (finding,) = findings(source)

    assert [step.note for step in finding.evidence.steps] == [
        "received",
        "next iteration",
        "acked",
        "`ready()` is true",
        "returns, the rest of the batch stays pending",
        "returns to the framework",
    ]


def test_a_break_of_an_inner_loop_leaves_nothing_pending():
    body = """
for tup in tups:
    for part in tup.values:
        if ready():
            break
    self.ack(tup)
"""

    assert lines_and_codes(body) == []


def test_a_loop_after_a_break_completes_the_rest():
    body = """
for tup in tups:
    if ready():
        break
for tup in tups:
    self.ack(tup)
"""

    assert lines_and_codes(body) == []


def test_an_element_acked_before_a_break_and_again_after_it():
    body = """
for tup in tups:
    self.ack(tup)
    if ready():
        break
for tup in tups:
    self.ack(tup)
"""

    assert lines_and_codes(body) == [(14, "ACK103")]


def test_a_failure_in_the_middle_fails_elements_acked_before():
    body = """
try:
    for tup in tups:
        work(tup.values)
        self.ack(tup)
except Exception:
    for tup in tups:
        self.fail(tup)
"""

    assert lines_and_codes(body) == [(15, "ACK106")]


def test_an_except_block_that_returns_leaves_the_rest_pending():
    body = """
for tup in tups:
    try:
        work(tup.values)
    except ValueError:
        self.fail(tup)
        return
    self.ack(tup)
"""

    assert lines_and_codes(body) == [(14, "ACK101")]


def test_a_failure_caught_in_the_loop_leaves_nothing_pending():
    body = """
for tup in tups:
    try:
        work(tup.values)
    except ValueError:
        self.fail(tup)
        continue
    self.ack(tup)
"""

    assert lines_and_codes(body) == []


def test_a_helpers_emit_is_anchored_to_elements_acked_in_earlier_iterations():
    source = HEAD.replace(
        "    def process_batch",
        "    def send(self, tup):\n        self.pending = tup\n        self.emit([1])\n\n    def process_batch",
    ) + ("        for tup in tups:\n            self.send(tup)\n            self.ack(tup)\n")

    assert (10, "ACK202") in [(finding.site.span.line, finding.code) for finding in findings(source)]
