"""What `ackdoctor watch` tells of a batch: the rule of a delivery that was completed twice, and files left out."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row

from ackdoctor.model.event import AUTO, EventKind
from ackdoctor.spark.live.lines import delivery_lines, part_lines
from ackdoctor.spark.live.parts import Parts
from ackdoctor.spark.tables import Quarantined


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ((EventKind.ACKED, "b.py:3 f", 0), (EventKind.ACKED, "b.py:5 f", 0), ("ACK103", "double-ack")),
        ((EventKind.ACKED, "b.py:3 f", 0), (EventKind.ACKED, "b.py:3 f", 0), ("ACK104", "ack-in-loop")),
        ((EventKind.ACKED, "b.py:3 f", 0), (EventKind.ACKED, "", AUTO), ("ACK105", "ack-with-auto-ack")),
        ((EventKind.ACKED, "b.py:3 f", 0), (EventKind.FAILED, "b.py:5 f", 0), ("ACK106", "ack-and-fail")),
        ((EventKind.ACKED, "b.py:3 f", 0), (EventKind.FAILED, "", AUTO), ("ACK106", "ack-and-fail")),
        ((EventKind.ACKED, "", 0), (EventKind.ACKED, "", None), ("ACK103", "double-ack")),
    ],
)
def test_two_completions_break_the_rule_that_a_run_would_be_charged_with(first, second, rule):
    assert told_of(first, second) == rule


def told_of(*completions):
    """The rule of a delivery that was completed so."""
    done = [
        Row(seq=seq, kind=int(kind), time_ns=seq, site=site, flags=flags)
        for seq, (kind, site, flags) in enumerate(completions)
    ]
    book = dict.fromkeys(("run", "worker", "component", "stream", "delivery", "test"), "x")
    (line,) = delivery_lines([Row(**book, pid=1, task=4, roots=[], completions=done)])
    return line["code"], line["name"]


@pytest.mark.parametrize(
    ("process", "rule"),
    [
        ("self._finish(tup); self._finish(tup)", ("ACK103", "double-ack")),
        ("[self._finish(tup) for word in tup.values]", ("ACK104", "ack-in-loop")),
    ],
    ids=["called twice", "called in a loop"],
)
def test_a_line_that_acks_twice_is_a_loop_only_where_its_file_may_have_one(tmp_path, process, rule):
    bolt = tmp_path / "bolts.py"
    bolt.write_text(
        f"class B(Bolt):\n    def process(self, tup):\n        {process}\n\n"
        "    def _finish(self, tup):\n        self.ack(tup)\n"
    )
    assert told_of(*2 * [(EventKind.ACKED, f"{bolt}:6 B._finish", 0)]) == rule


def test_a_file_is_called_alike_whether_all_of_it_is_left_out_or_a_row():
    parts = Parts(faults={"/a b/part-1.jsonl": "cut off"})
    bad = [Quarantined(file="file:///a%20b/part-2.jsonl", reason="no JSON", rows=1, sample="{")]
    assert [line["file"] for line in part_lines(parts, bad)] == ["/a b/part-1.jsonl", "/a b/part-2.jsonl"]
