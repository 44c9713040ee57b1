"""One mistake has one finding, and two mistakes have two."""

import pytest

from tests.checks.sources import codes, in_bolt

IN_LOOP = "for word in tup.values:\n        work(word)\n        self.ack(tup)\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"    {IN_LOOP}", [(11, "ACK104")]),
        (
            "    for word in tup.values:\n        self.emit([word], anchors=[tup])\n        self.ack(tup)\n",
            [(11, "ACK104")],
        ),
        (f"    {IN_LOOP}    self.emit([1], anchors=[tup])\n", [(11, "ACK104"), (12, "ACK202")]),
        (f"    if not tup.values:\n        return\n    {IN_LOOP}", [(10, "ACK101"), (13, "ACK104")]),
        (
            "    if ready():\n        self.ack(tup)\n    self.emit([1], anchors=[tup])\n    self.ack(tup)\n",
            [(11, "ACK202"), (12, "ACK103")],
        ),
        (
            "    if ready():\n        self.fail(tup)\n    self.emit([1], anchors=[tup])\n    self.ack(tup)\n",
            [(11, "ACK202"), (12, "ACK106")],
        ),
        (
            "    self.ack(tup)\n    self.emit([1], anchors=[tup])\n    if ready():\n        self.fail(tup)\n",
            [(10, "ACK202"), (12, "ACK106")],
        ),
        (
            "    if ready():\n        self.ack(tup)\n    self.ack(tup)\n    self.emit([1], anchors=[tup])\n",
            [(11, "ACK103"), (12, "ACK202")],
        ),
    ],
)
def test_a_finding_that_the_advice_of_another_one_repairs_is_left_out(body, found):
    assert codes(in_bolt(f"def process(self, tup):\n{body}")) == found


def test_an_explicit_ack_before_an_emit_of_an_auto_acking_bolt_is_one_mistake():
    body = "def process(self, tup):\n    self.ack(tup)\n    self.emit([1])\n"
    assert codes(in_bolt(body, switches="auto_ack = True")) == [(9, "ACK105")]
