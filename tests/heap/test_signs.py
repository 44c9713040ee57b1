"""The classes of a histogram: acker entries, other maps, receive queues, stored tuples; a single histogram."""

import re
from pathlib import Path

import pytest

from ackdoctor.heap.growth import Histogram, growth, parse
from ackdoctor.heap.judge import growth_findings
from ackdoctor.heap.signs import SIGNS
from tests.heap.test_growth import growing_components

HEAPS = Path(__file__).parents[2] / "fixtures" / "heaps" / "histograms"
MAP, NODE, LONG = "clojure.lang.PersistentArrayMap", "java.util.HashMap$Node", "java.lang.Long"
ACK, WAITING = "org.apache.storm.daemon.Acker$AckObject", "org.apache.storm.executor.TupleInfo"
TUPLE, MESSAGE = "backtype.storm.tuple.TupleImpl", "backtype.storm.multilang.BoltMsg"
INPUTS = "java.util.concurrent.ConcurrentHashMap$Node"
EXAMPLES = {  # a class of each row that needs no companion
    "org.apache.storm.daemon.Acker$AckObject": "entries of the acker's pending map (2.x)",
    "com.alibaba.jstorm.task.acker.AckObject": "entries of the acker's pending map (JStorm)",
    "org.apache.storm.executor.TupleInfo": "messages that a spout waits for",
    "org.apache.storm.multilang.BoltMsg": "tuples in ShellBolt's queue to its child",
    "org.apache.storm.tuple.AddressedTuple": "tuples in the queues between executors",
    "backtype.storm.messaging.TaskMessage": "tuples on their way between workers",
    "org.apache.storm.shade.io.netty.channel.ChannelOutboundBuffer$Entry": "writes that wait in Netty's buffers",
    "io.netty.channel.ChannelOutboundBuffer$Entry": "writes that wait in Netty's buffers",
    "java.util.concurrent.FutureTask": "tasks of a thread pool",
    "org.apache.storm.kafka.spout.KafkaSpoutMessageId": "messages that KafkaSpout has emitted",
    "org.apache.kafka.clients.consumer.ConsumerRecord": "Kafka's records",
    "storm.trident.tuple.TridentTupleView": "tuples of Trident's batches",
    "org.apache.storm.windowing.EventImpl": "tuples in windows",
    "org.apache.storm.metric.api.IMetricsConsumer$DataPoint": "metrics on their way to a metrics consumer",
    "java.util.concurrent.LinkedBlockingQueue$Node": "entries of queues",
}


def course(*rows, each=40):
    """Histograms ten seconds apart, from the amounts of each class."""
    return [
        Histogram(
            classes={name: (amount, amount * each) for name, amount in row.items()},
            time_ms=at * 10_000,
            whole=True,
        )
        for at, row in enumerate(rows)
    ]


def line(name, first, step, rows=5):
    return [{name: first + step * at} for at in range(rows)]


def together(*lines):
    return course(
        *({name: amount for each in row for name, amount in each.items()} for row in zip(*lines, strict=True))
    )


def row(found, name):
    return next(each for each in growth(found, dated=True).rows if each.name == name)


def test_other_maps_of_clojure_are_not_the_acker_s():
    found = together(line(MAP, 10_000, 5_000), line(NODE, 9_000, 5_000), line(LONG, 700, 9_000))
    grown = growth(found, dated=True)
    assert row(found, MAP).bounds == (20_000, 20_700)  # each that was there before had a Long of its own
    [finding] = growth_findings(grown, "h.txt")
    assert (finding.code, finding.evidence.entries, finding.evidence.size) == ("ACK603", 20_000, 20_000 * 144)
    assert finding.evidence.left[:2] == (
        "20,000 since the first histogram: 500.0 a second; at most 700 before it",
        "the other 9,300 to 10,000 are other Clojure maps; a dump counts the acker's exactly",
    )


def test_maps_without_longs_are_no_entries():
    assert (
        growing_components(together(line(MAP, 10_000, 5_000), line(NODE, 9_000, 5_000), line(LONG, 700, 90)))
        == []
    )


def test_one_histogram_gives_only_a_bound():
    [only] = course({MAP: 30_000, NODE: 9_000, LONG: 700})
    assert row([only], MAP).means == (
        "at most 700 of them are entries of the acker's pending map (1.x), among other uses of Clojure; "
        "a histogram cannot count them"
    )


def test_a_queue_to_a_slow_child_is_not_a_missing_ack():
    found = together(line(TUPLE, 20_000, 30_000), line(MESSAGE, 20_000, 30_000), line(INPUTS, 25_000, 30_000))
    assert growing_components(found) == []
    kept = growth(found, dated=True).cause
    assert kept.name == MESSAGE
    assert kept.means == (
        "tuples in ShellBolt's queue to its child (_pendingWrites): the child process is slower than its input, and "
        "the spout is not throttled"
    )
    assert "topology.shellbolt.max.pending" in kept.sign.help
    assert "topology.max.spout.pending with ackers and message ids" in kept.sign.help


def test_the_inputs_grow_without_a_queue():
    found = together(line(TUPLE, 20_000, 30_000), line(MESSAGE, 90, 1), line(INPUTS, 25_000, 30_000))
    assert growing_components(found) == [("ACK401", "ShellBolt")]


def test_tuples_in_a_receive_queue_are_not_held_by_a_bolt():
    queued = "org.apache.storm.tuple.AddressedTuple"
    found = together(line(TUPLE, 20_000, 30_000), line(queued, 20_000, 30_000))
    assert growing_components(found) == []
    assert (
        row(found, TUPLE).means
        == "tuples that wait in the queue of an executor: a bolt is slower than its input"
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_row_of_the_table_is_recognised(name):
    assert row(course({name: 10}), name).means.startswith(EXAMPLES[name])
    [grown, *_] = growth(course(*line(name, 0, 30_000)), dated=True).rows
    assert grown.growing
    assert grown.sign.next_step


def test_every_row_of_the_table_is_reachable():
    alone = {sign.pattern for sign in SIGNS if not sign.with_}
    reached = {
        pattern for pattern in alone for name in [*EXAMPLES, MAP, TUPLE] if re.fullmatch(pattern, name)
    }
    assert reached == alone


def test_entries_that_the_spouts_do_not_explain_are_not_ok():
    found = course(*({ACK: amount, WAITING: 700} for amount in (1_800, 14_300, 13_700, 14_700)))
    grown = growth(found, dated=True)
    assert grown.unexplained == (14_700, 700)
    assert growth(course({ACK: 14_700, WAITING: 9_000}), dated=True).unexplained is None
    assert growth(course({ACK: 14_700}), dated=True).unexplained is None  # the spouts are elsewhere


ONE = """ num     #instances         #bytes  class name
   1:  1000  90000000  [B
{}Total  900000  120000000
"""


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "acking takes no large part of the 20 largest classes: it does not fill this heap"),
        (f"   2:  9  360  {TUPLE}\n", "acking takes no large part of the 20 largest classes: it does not fill this heap, unless the content of its 9 tuples does"),
        (f"   2:  200000  8000000  {ACK}\n", f"acking has among the 20 largest classes: {ACK}, 8.0 MB, 6.7 %"),
        (f"   2:  90000  4320000  {MESSAGE}\n", f"acking has among the 20 largest classes: {MESSAGE}, 4.3 MB, 3.6 %"),
        (f"   2:  200000  6400000  {MAP}\n   3:  190000  6080000  {NODE}\n   4:  180000  4320000  {LONG}\n", f"acking has among the 20 largest classes: {MAP}, at most 180,000 of its 200,000"),
        (f"   2:  20000  640000  {MAP}\n   3:  19000  608000  {NODE}\n   4:  1800  43200  {LONG}\n", "acking takes no large part of the 20 largest classes: it does not fill this heap"),
    ],
)  # fmt: skip
def test_one_histogram_shows_whether_acking_fills_the_heap(rows, said, shell, tmp_path):
    (tmp_path / "a.txt").write_text(ONE.format(rows))
    lines = shell("heap", "hist", str(tmp_path / "a.txt")).out.splitlines()
    assert lines[2] == f"  {said}"


def test_one_histogram_is_sorted_by_bytes(shell, tmp_path):
    text = "".join(f"   {at}:  {10 * at}  {1000 * at}  Class{at}\n" for at in range(1, 6))
    (tmp_path / "a.txt").write_text(
        f" num     #instances         #bytes  class name\n{text}Total  150  15000\n"
    )
    lines = shell("heap", "hist", str(tmp_path / "a.txt"), "--top", "3").out.splitlines()
    assert [cells.split() for cells in lines[7:10]] == [
        ["Class5", "50", "5,000", "33.3"],
        ["Class4", "40", "4,000", "26.7"],
        ["Class3", "30", "3,000", "20.0"],
    ]


# ---- damaged rows ----

TEXT = (HEAPS / "growing-2.8.3.txt").read_text()
ROW = "   3:         23679         757728  java.util.HashMap$Node (java.base@17)"


@pytest.mark.parametrize(
    "damaged",
    [
        ROW.replace("23679", "9" * 4_345),
        ROW.replace("757728", "-757728"),
        ROW.replace("757728", "٧٥٧٧٢٨"),
        ROW.replace("3:", "1e999:"),
        ROW.replace("3:", "{}:"),
        ROW[:12],
    ],
)
def test_a_damaged_row_is_reported_and_its_class_skipped(damaged, shell, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT.replace(ROW, damaged))
    outcome = shell("heap", "hist", str(tmp_path / "a.txt"))
    assert outcome.code == 2
    assert "a.txt, line 6: not a row of a histogram: " in outcome.err
    assert outcome.out.startswith("BROKEN: the acker's pending map grows")
    assert "  java.util.HashMap$Node  " not in outcome.out
    assert "  6 histograms" in outcome.out


def test_rows_that_exceed_the_total_are_rejected(shell, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT.replace("23679         757728", "23679        9757728", 1))
    outcome = shell("heap", "hist", str(tmp_path / "a.txt"))
    assert outcome.code == 2
    assert "the rows add up to " in outcome.err
    assert "  5 histograms" in outcome.out


def test_log_lines_between_histograms_are_not_damaged_rows():
    lines = ["17: worker started", "4711:", *TEXT.splitlines(), "18: left  12  13  Done"]
    assert [each.lost for each in parse(lines) if each.whole] == [[]] * 6
