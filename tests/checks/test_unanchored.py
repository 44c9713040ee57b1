"""The help text of unanchored emits."""

from tests.checks.sources import findings, in_bolt

SWITCHES = "auto_ack = auto_anchor = auto_fail = False"


def help_of(*lines: str) -> list[str]:
    source = in_bolt("\n    ".join(("def process(self, tup):", *lines)), switches=SWITCHES)
    return [finding.help for finding in findings(source) if finding.code == "ACK201"]


def test_the_help_names_the_owed_tuple_as_anchor():
    assert help_of("self.emit([1])", "self.ack(tup)") == [
        "pass `anchors=[tup]`, or `anchors=[]` if the new tuple needs no replay"
    ]


def test_the_help_moves_an_emit_before_the_ack():
    assert help_of("self.ack(tup)", "self.emit([1])") == [
        "emit before `tup` is completed, and pass `anchors=[tup]`, or `anchors=[]` if the new tuple needs no replay"
    ]
