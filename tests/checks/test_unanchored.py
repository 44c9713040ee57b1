"""What to do about an emit without anchors."""

from tests.checks.sources import findings, in_bolt

SWITCHES = "auto_ack = auto_anchor = auto_fail = False"


def help_of(*lines: str) -> list[str]:
    source = in_bolt("\n    ".join(("def process(self, tup):", *lines)), switches=SWITCHES)
    return [finding.help for finding in findings(source) if finding.code == "ACK201"]


def test_what_is_emitted_while_the_tuple_is_owed_takes_it_for_its_anchor():
    assert help_of("self.emit([1])", "self.ack(tup)") == [
        "pass `anchors=[tup]`, or `anchors=[]` if the new tuple needs no replay"
    ]


def test_a_tuple_that_is_acked_by_then_is_not_to_be_the_anchor_there():
    assert help_of("self.ack(tup)", "self.emit([1])") == [
        "emit before `tup` is completed, and pass `anchors=[tup]`, or `anchors=[]` if the new tuple needs no replay"
    ]
