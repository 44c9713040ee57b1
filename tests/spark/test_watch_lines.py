"""The lines of `ackdoctor watch`: deliveries completed twice and unreadable files; and the choice of new parts."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row

from ackdoctor.model.trace import AUTO, EventKind
from ackdoctor.spark.tables import Quarantined
from ackdoctor.spark.watch import Parts, arrived, delivery_lines, part_lines


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
def test_two_completions_break_the_same_rule_as_in_a_run(first, second, rule):
    assert rule_of(first, second) == rule


def rule_of(*completions):
    """Return the rule of a delivery with these completions."""
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
def test_one_line_acks_in_a_loop_only_if_its_file_has_one(tmp_path, process, rule):
    bolt = tmp_path / "bolts.py"
    bolt.write_text(
        f"class B(Bolt):\n    def process(self, tup):\n        {process}\n\n"
        "    def _finish(self, tup):\n        self.ack(tup)\n"
    )
    assert rule_of(*2 * [(EventKind.ACKED, f"{bolt}:6 B._finish", 0)]) == rule


def test_an_unreadable_file_and_a_bad_row_name_the_file_alike():
    parts = Parts(faults={"/a b/part-1.jsonl": "cut off"})
    bad = [Quarantined(file="file:///a%20b/part-2.jsonl", reason="no JSON", rows=1, sample="{")]
    assert [line["file"] for line in part_lines(parts, bad)] == ["/a b/part-1.jsonl", "/a b/part-2.jsonl"]


def test_the_checkpoint_of_another_watch_holds_no_part(tmp_path):
    state = tmp_path / "v1.watch" / "state" / "0-1" / "roots"
    state.mkdir(parents=True)
    for name in ("lock", "request.json"):
        (tmp_path / "v1.watch" / name).touch()
    part = state / "part-00000-a.snappy.parquet"
    part.touch()
    parts = arrived([str(part)], {})
    assert (parts.count, parts.faults, parts.gone, parts.seen) == (0, {}, 0, {})
