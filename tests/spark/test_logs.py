"""The grammar of a worker's log, its order, copies, logs that repeat others, and times that go back."""

import gzip
import re

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.trace import EventKind
from ackdoctor.spark import log_lines
from ackdoctor.spark.events import quarantined, row_counts
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.logs import (
    Survey,
    events,
    in_rotation_order,
    lines,
    observed,
    parsed_lines,
    quarantine,
    read_logs,
)
from ackdoctor.spark.restarts import Log
from ackdoctor.spark.session import Cache
from ackdoctor.spark.tables import RowCounts
from tests.spark.configured import COMPILED, configured
from tests.tracer.test_log_prefixes import COLLECTORS, LAYOUTS, laid_out

ADAPTIVE = {"spark.sql.adaptive.enabled": "true"}
HUGE = 8000  # bytes of a method that the JVM never compiles
BIG, EDGE = -9223372036854775808, 9223372036854775807
T = "2026-11-21 20:22:08.403 "
TWO = T + "o.a.s.e.Executor Thread-44-__acker-executor[1, 1] [INFO] "
BOLT = T + "o.a.s.e.b.BoltOutputCollectorImpl Thread-9-my bolt-executor[7, 9] [INFO] "
ONE = T + "o.a.s.d.executor Thread-17-__acker-executor[2 2] [INFO] "
OLD = "2014-03-21T12:00:00.123+0000 b.s.d.executor [INFO] "
SAMPLED = " PROC_START_TIME(sampled): null EXEC_START_TIME(sampled): null"
ACKER = {  # messages to an acker in each layout: (kind, component, task, root, value, acker)
    TWO + f"Processing received TUPLE: source: s:4, stream: __ack_init, id: {{}}, [{BIG}, {EDGE}, 4]{SAMPLED} for TASK: 1 ":
        (EventKind.INIT, "s", 4, BIG, EDGE, 1),
    ONE + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_ack, id: {}, [-12 34]":
        (EventKind.ACK, "b", 5, -12, 34, 2),
    ONE + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_fail, id: {}, [-12]":
        (EventKind.FAIL, "b", 5, -12, 0, 2),
    ONE + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_reset_timeout, id: {}, [-12]":
        (EventKind.RESET, "b", 5, -12, 0, 2),
    ONE + "Processing received message FOR -2 TUPLE: source: __system:-1, stream: __tick, id: {}, [3]":
        (EventKind.ROTATED, "__acker", 2, 0, 3, 2),
    "2015-01-01 00:00:00.001 b.s.d.executor [INFO] Processing received message FOR 3 TUPLE: source: s:4, stream: __ack_init, id: {}, [1 2 4]":
        (EventKind.INIT, "s", 4, 1, 2, 3),
    OLD + "Processing received message source: s:4, stream: __ack_ack, id: {}, [-6722594615019711369 -1335723027906100557]":
        (EventKind.ACK, "s", 4, -6722594615019711369, -1335723027906100557, None),
    "2014-03-21 12:00:00 b.s.d.executor [INFO] Processing received message source: s:4, stream: __ack_fail, id: {}, [9]":
        (EventKind.FAIL, "s", 4, 9, 0, None),
    ONE.replace(".403", ",403") + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_ack, id: {}, [-12 35]":
        (EventKind.ACK, "b", 5, -12, 35, 2),
}  # fmt: skip
TUPLES = {  # (kind, component, task, delivery, root, value) of each row
    BOLT + "Processing received TUPLE: source: a b:4, stream: default, id: {1=2, 3=4}, [id: {66=99}, x, for TASK: 66" + SAMPLED + " for TASK: 8 ": [
        (EventKind.RECEIVED, "my bolt", 8, "1=2, 3=4", 0, 0),
        (EventKind.LINKED, "my bolt", 8, "1=2, 3=4", 1, 2),
        (EventKind.LINKED, "my bolt", 8, "1=2, 3=4", 3, 4),
    ],
    BOLT + "BOLT fail TASK: 9 TIME: -1 TUPLE: source: a b:4, stream: default, id: {1=2, 3=4}, [BOLT ack TASK: 66]": [
        (EventKind.FAILED, "my bolt", 9, "1=2, 3=4", 0, 0),
    ],
    BOLT + "TRANSFERRING tuple [dest: 5 tuple: source: my bolt:8, stream: default, id: {1=7}, [x]]": [
        (EventKind.EMITTED, "my bolt", 8, "", 1, 7),
    ],
    BOLT.replace("my bolt", "a[1]: b, (c)]") + "BOLT ack TASK: 9 TIME: -1 TUPLE: source: x[7, 7]:4, stream: default, id: {1=2}, []": [
        (EventKind.ACKED, "a[1]: b, (c)]", 9, "1=2", 0, 0),
    ],
    BOLT + "SPOUT Acking message 77 some, id with spaces": [(EventKind.COMPLETED, "my bolt", 0, "some, id with spaces", 77, 0)],
    BOLT + 'SPOUT Failing -8: {:stream "default", :values ["REASON: FAIL-STREAM"]} REASON: TIMEOUT MSG-ID: m 1': [
        (EventKind.TIMED_OUT, "my bolt", 0, "m 1", -8, 0),
    ],
    BOLT + "SPOUT Failing 9 : TupleInfo[taskId=8,messageId=m,2,stream=default,values=[x],timestamp=0,rootId=9] REASON: FAIL-STREAM": [
        (EventKind.GAVE_UP, "my bolt", 8, "m,2", 9, 0),
    ],
}  # fmt: skip
WRONG = {
    BOLT + "Processing received TUPLE: source: a:4, stream: default, id: {1=": "the line is cut off, or no version of Storm writes it so",
    ONE + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_ack, id: {}, [9999999999999999999 1]": "a root or value is not a 64-bit integer",
    ONE + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_ack, id: {}, [12": "a root or value is not a 64-bit integer",
    "9999-12-31 23:59:59.999 b.s.d.executor [INFO] BOLT ack TASK: 7 TIME:  TUPLE: source: b:5, stream: x, id: {1=2}, []": "its stamp is not a time",
    BOLT + "Processing received TUPLE: source: a:4, stream: default, id: {1=2{}, [source: z:9, stream: x, id: {66=99}, y": "the line is cut off, or no version of Storm writes it so",
    BOLT + "SPOUT Failing 9 : TupleInfo[taskId=8,messageId=m,stream=default,values=[one": "a spout's fail without its reason, which is on another line",
}  # fmt: skip
FOREIGN = [
    T
    + "com.example.Mine Thread-1 [WARN] Processing received TUPLE: source: b:5, stream: __ack_ack, id: {}, [1 2]",
    T
    + "com.example.Mine main [INFO] we say [INFO] BOLT ack TASK: 1 TIME: TUPLE: source: b:5, stream: x, id: {1=2}, []",
    TWO + f"Execute done TUPLE source: b:5, stream: __ack_ack, id: {{}}, [1, 2]{SAMPLED} TASK: 1 DELTA: -1",
    TWO + "Processing received TUPLE: source: __acker:1, stream: __ack_ack, id: {}, [1, 2] for TASK: 1 ",
]
CONTINUED = ["java.lang.IllegalStateException: no", "\tat x.Y.z(Y.java:1)", ""]


def surveyed_of(spark, inputs):
    return read_logs(lines(spark, inputs.files[FileKind.LOG]), Cache())


@pytest.fixture(scope="module")
def read(spark, tmp_path_factory):
    """The same log twice, once zipped by hand; a rotated one before it; a worker that restarted."""
    home = tmp_path_factory.mktemp("logs")
    folder = home / "workers-artifacts" / "topo-1-99" / "6700"
    folder.mkdir(parents=True)
    text = "\n".join((*ACKER, *TUPLES, *WRONG, *FOREIGN, *CONTINUED)) + "\n"
    (folder / "worker.log").write_text(text)
    (home / "copy.log.gz").write_bytes(gzip.compress(text.encode()))
    return surveyed_of(spark, find_inputs([home]))


def test_every_layout_gives_the_messages_to_the_acker(read):
    rows = events(*read).where("kind between 10 and 14").orderBy("seq").collect()
    assert [
        (row["kind"], row["component"], row["task"], row["root"], row["value"], row["acker"]) for row in rows
    ] == list(ACKER.values())
    assert {row["run"] for row in rows} == {"topo-1-99"}
    assert rows[0]["time_ns"] == 1795292528403 * 1_000_000
    assert rows[6]["time_ns"] == 1395403200123 * 1_000_000
    assert rows[8]["time_ns"] == rows[0]["time_ns"]


def test_tuples_are_identified_by_their_edges(read):
    rows = events(*read).where("kind < 10 or kind > 14").orderBy("seq", "kind", "root").collect()
    assert [
        (row["kind"], row["component"], row["task"], row["delivery"], row["root"], row["value"])
        for row in rows
    ] == [row for each in TUPLES.values() for row in each]


def test_every_line_is_counted(read):
    table, surveyed = read
    first, copy = sorted(surveyed.logs, key=lambda log: log.copy_of)
    assert copy.copy_of == first.file
    assert (first.used, first.quarantined) == (len(ACKER) + len(TUPLES), len(WRONG))
    assert row_counts(surveyed) == RowCounts(
        files=1,
        rows=len(ACKER) + len(TUPLES) + len(WRONG) + len(FOREIGN) + len(CONTINUED),
        used=len(ACKER) + len(TUPLES),
        quarantined=len(WRONG),
        foreign=len(FOREIGN),
        continued=len(CONTINUED),
    )
    assert row_counts(surveyed).balanced
    bad = quarantine(table, surveyed).where(F.col("file") == first.file)
    assert [(row["text"], row["reason"]) for row in bad.orderBy("place").collect()] == list(WRONG.items())
    assert sum(each.rows for each in quarantined([bad])) == len(WRONG)


def test_a_collector_s_prefix_changes_nothing(spark, tmp_path):
    text = (*ACKER, *TUPLES, *WRONG, *FOREIGN, *CONTINUED)
    for place, put in enumerate(("", *COLLECTORS.values())):
        (tmp_path / f"{place}.log").write_text("".join(f"{put}{line}\n" for line in text))
    table, surveyed = surveyed_of(spark, find_inputs([tmp_path]))
    first, *copies = surveyed.logs
    assert len(copies) == len(COLLECTORS)
    assert {copy.copy_of for copy in copies} == {first.file}
    assert (first.used, first.quarantined) == (len(ACKER) + len(TUPLES), len(WRONG))
    assert (row_counts(surveyed).foreign, row_counts(surveyed).continued) == (len(FOREIGN), len(CONTINUED))
    assert row_counts(surveyed).balanced
    seen = table.where(f"is = {log_lines.QUARANTINED}").groupBy("text").count().collect()
    assert {row["text"]: row["count"] for row in seen} == dict.fromkeys(WRONG, 1 + len(copies))


def test_a_custom_layout_changes_nothing(spark, tmp_path):
    text = (*ACKER, *TUPLES, *FOREIGN, *CONTINUED)
    for place, layout in enumerate(("", *LAYOUTS.values())):
        lines = [laid_out(layout, line) if layout else line for line in text]
        (tmp_path / f"{place}.log").write_text("".join(f"{line}\n" for line in lines))
    _, surveyed = surveyed_of(spark, find_inputs([tmp_path]))
    first, *copies = surveyed.logs
    assert {copy.copy_of for copy in copies} == {first.file}
    assert [log.used for log in surveyed.logs] == [len(ACKER) + len(TUPLES)] * (1 + len(LAYOUTS))
    assert (row_counts(surveyed).foreign, row_counts(surveyed).quarantined) == (len(FOREIGN), 0)


def test_storm_0_9_logs_each_message_to_an_acker(spark, tmp_path):
    sent = [
        OLD.replace("executor", "task") + "Emitting: spout __ack_init [1 2 10]",
        "2014-03-21 12:00:00 b.s.d.task [INFO] Emitting: my bolt __ack_ack [1 -2]",
        "2012-03-21 12:00:00 task [INFO] Emitting: b __ack_fail [3]",
        "6500 [Thread-8-b] INFO  backtype.storm.daemon.task - Emitting: b __ack_ack [5 6]",
    ]
    others = [
        "2014-03-21 12:00:00 b.s.d.task [INFO] Emitting: b default [x __ack_ack [1 2]]",
        "2014-03-21 12:00:00 b.s.d.task [INFO] Emitting direct: 10; __acker __ack_ack [1]",
        ONE.replace("executor ", "task ", 1)
        + "Emitting: b __ack_ack [7 8]",  # the line BOLT ack has more facts
        OLD + "Processing received message source: spout:4, stream: default, id: {}, [x]",
    ]
    (tmp_path / "worker.log").write_text("".join(f"{line}\n" for line in (*sent, *others)))
    rows = events(*surveyed_of(spark, find_inputs([tmp_path]))).orderBy("seq").collect()
    assert [
        (row["kind"], row["component"], row["task"], row["stream"], row["root"], row["value"]) for row in rows
    ] == [
        (EventKind.SENT, "spout", 10, "__ack_init", 1, 2),
        (EventKind.SENT, "my bolt", 0, "__ack_ack", 1, -2),
        (EventKind.SENT, "b", 0, "__ack_fail", 3, 0),
        (EventKind.SENT, "b", 0, "__ack_ack", 5, 6),
    ]


def test_a_zone_may_follow_a_blank(spark, tmp_path):
    acked = BOLT + "BOLT ack TASK: {} TIME: -1 TUPLE: source: a:4, stream: default, id: {{3=2}}, []"
    east, named = acked.replace("20:22:08.403", "22:22:08.403 +0200"), acked.replace(".403", ".403 CEST")
    text = "".join(f"{line.format(task)}\n" for line, task in ((east, 7), (named, 8)))
    (tmp_path / "worker.log").write_text(text)
    inputs = find_inputs([tmp_path])
    rows = events(*surveyed_of(spark, inputs)).collect()
    at = 1795292528403 * 1_000_000
    assert [(row["component"], row["time_ns"]) for row in rows] == [("my bolt", at), ("my bolt", at)]
    assert [*inputs.begun.values()] == [at]


@pytest.mark.parametrize("text", [[*FOREIGN[:3], *CONTINUED], []])
def test_a_log_without_tuples_is_counted(spark, tmp_path, text):
    (tmp_path / "worker.log").write_text("".join(f"{line}\n" for line in text))
    with configured(spark, ADAPTIVE):  # Spark then drops an empty table and its counters from the plan
        table, surveyed = read_logs(lines(spark, [str(tmp_path)]), Cache())
        assert events(table, surveyed).count() == 0
    found = row_counts(surveyed)
    assert (found.rows, found.foreign, found.continued) == (len(text), len(text[:3]), len(text[3:]))


def test_a_restarted_acker_is_a_new_incarnation_and_old_files_come_first(spark, tmp_path):
    begun = " o.a.s.d.executor main [INFO] Loading executor __acker:[2 2]"
    acked = (
        " o.a.s.d.executor Thread-17-__acker-executor[2 2] [INFO] Processing received message FOR 2 TUPLE: "
        "source: b:5, stream: __ack_ack, id: {}, [%d 1]"
    )
    never = " o.a.s.d.executor main [INFO] Timeouts disabled for executor __acker:[2 2]"
    day = "2026-11-21 20:00:0%d.000"
    oldest = [day % 0 + begun, day % 0 + never, day % 1 + acked % 1]
    (tmp_path / "worker.log.2.gz").write_bytes(gzip.compress("\n".join(oldest).encode()))
    (tmp_path / "worker.log.1.gz").write_bytes(gzip.compress((day % 2 + acked % 2 + "\n").encode()))
    (tmp_path / "worker.log").write_text(
        "\n".join([day % 3 + acked % 3, day % 4 + begun, day % 5 + acked % 4])
    )
    table, surveyed = surveyed_of(spark, find_inputs([tmp_path]))
    rows = events(table, surveyed).orderBy("seq").collect()
    assert [(row["root"], row["incarnation"]) for row in rows] == [(1, 0), (2, 0), (3, 0), (4, 1)]
    assert [row["pid"] for row in rows] == [0, 0, 0, -1]
    assert surveyed.ticks_disabled


@pytest.mark.minutes
def test_the_order_of_a_file_holds_over_its_splits(spark, tmp_path):
    line = ONE + "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_ack, id: {}, [%d 1]\n"
    (tmp_path / "worker.log").write_text("".join(line % number for number in range(40_000)))
    before = {
        name: spark.conf.get(name)
        for name in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    }
    try:
        for name in before:
            spark.conf.set(name, str(1 << 20))
        table = parsed_lines(log_lines.classified(lines(spark, [str(tmp_path / "worker.log")])), ())
        assert table.rdd.getNumPartitions() > 4
        rows = events(table, Survey(logs=())).orderBy("seq").select("root").collect()
        assert [row[0] for row in rows] == list(range(40_000))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_the_jvm_compiles_every_method_of_the_parser(spark, tmp_path, capsys):
    (tmp_path / "worker.log").write_text(next(iter(ACKER)) + "\n")
    read = lines(spark, [str(tmp_path / "worker.log")])
    with configured(spark, COMPILED):
        parsed_lines(observed(read)[0], [*read.inputFiles()]).explain("codegen")
    sizes = [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", capsys.readouterr().out)]
    assert len(sizes) > 1
    assert max(sizes) < HUGE


@pytest.mark.parametrize(
    ("begins", "order"),
    [
        ({"": 90, ".1": 10, ".2.gz": 50}, [".1", ".2.gz", ""]),  # log4j
        ({"": 90, ".1": 50, ".2": 10}, [".2", ".1", ""]),  # logback
        ({"": 40, ".1": 90}, [".1", ""]),  # the clock was put back
        ({"": 95, ".1": 10, ".2": 90, ".3": 40, ".4": 60}, [".1", ".2", ".3", ".4", ""]),
        ({"": None, ".1": None, ".10": None, ".9": None}, [".1", ".9", ".10", ""]),
    ],
)
def test_the_files_of_a_worker_are_in_the_order_of_their_rotation(begins, order):
    name = "file:/logs/worker.log"
    logs = [Log(file=f"{name}{end}", worker=name, begin_ns=at) for end, at in begins.items()]
    found = in_rotation_order(logs)
    assert [log.file.removeprefix(name) for log in found] == order
    assert [log.turn for log in found] == list(range(len(order)))


@pytest.mark.parametrize(
    ("begins", "gaps"),
    [
        ({"": 90, ".1": 10, ".2": 50}, []),
        ({"": 90, ".1": 10, ".3.gz": 50}, [(".1", ".3.gz")]),  # log4j
        ({"": 90, ".2": 10, ".3": 50}, []),  # log4j: older files are missing
        ({"": 90, ".2": 50, ".3": 10}, [(".2", "")]),  # logback
        ({"": 90, ".2": 50, ".4": 10}, [(".4", ".2"), (".2", "")]),
        ({"": 90, ".2.gz": 10}, [(".2.gz", "")]),  # unknown
        ({"": 90, ".20261121": 10, ".20261125": 50}, []),
        ({"": 90}, []),
    ],
)
def test_a_gap_in_the_numbers_of_rotated_files_is_a_missing_file(begins, gaps):
    name = "file:/logs/worker.log"
    logs = [Log(file=f"{name}{end}", worker=name, begin_ns=at) for end, at in begins.items()]
    assert [
        (log.after_gap.removeprefix(name), log.file.removeprefix(name))
        for log in in_rotation_order(logs)
        if log.after_gap
    ] == gaps


@pytest.mark.parametrize(
    "setting",
    [
        'Worker has topology config {"topology.message.timeout.secs" 10, "topology.debug" true}',
        "Worker has topology config {topology.debug=true, topology.message.timeout.secs=10, topology.workers=2}",
        'Worker has topology config {"topology.message.timeout.secs":10,"topology.workers":2}',
        'Worker has topology config {"topology.message.timeout.secs": "10"}',
    ],
)
def test_the_message_timeout_is_found_in_every_spelling(setting):
    assert re.findall(log_lines.TIMEOUT, setting) == ["10"]
    assert re.findall(log_lines.TIMEOUT, "topology.message.timeout.secs=null, topology.workers=2") == []


# ---- logs that repeat others, and times that go back ----


def acker_log(task, begin=0, end=60):
    """Lines of an acker, one a second: an INIT and two ACKs in turn."""
    thread = f"o.a.s.d.executor Thread-17-__acker-executor[{task} {task}] [INFO] Processing received message FOR {task} TUPLE: "
    found = []
    for at in range(begin, end):
        root = 1000 * task + at // 3
        stream, values = (
            ("__ack_init", f"{root} 7 4") if at % 3 == 0 else ("__ack_ack", f"{root} {at % 3 + 2}")
        )
        found.append(
            f"2026-11-21 20:00:{at:02}.000 {thread}source: b:5, stream: {stream}, id: {{}}, [{values}]"
        )
    return found


def survey_of(spark, folder, **files):
    for name, text in files.items():
        (folder / f"{name}.log").write_text("".join(f"{line}\n" for line in text))
    table, survey = surveyed_of(spark, find_inputs([folder]))
    assert row_counts(survey).balanced
    assert events(table, survey).count() == row_counts(survey).used

    def names(pairs):
        return [tuple(str(each).rpartition("/")[2] for each in pair) for pair in pairs]

    return survey, names(survey.repeated), names(survey.disordered)


def test_a_log_that_repeats_another_is_not_used(spark, tmp_path):
    survey, repeated, disordered = survey_of(
        spark, tmp_path, a=acker_log(2)[:40], b=acker_log(2)[10:], c=acker_log(3)
    )
    assert (repeated, disordered) == ([("a.log", "b.log")], [])
    assert survey.left_out == 40


def test_a_log_that_holds_lines_twice_is_not_used(spark, tmp_path):
    _, repeated, _ = survey_of(
        spark, tmp_path, twice=[*acker_log(2)[:30], *acker_log(2)[12:]], other=acker_log(3)
    )
    assert repeated == [("twice.log", "")]


def test_times_that_go_back_are_named_and_the_order_of_the_lines_is_kept(spark, tmp_path):
    joined = [*acker_log(2)[30:], *acker_log(2)[:30]]
    late = acker_log(3)
    late[20], late[21] = late[21], late[20]  # threads write within seconds
    survey, repeated, disordered = survey_of(spark, tmp_path, joined=joined, late=late)
    assert (repeated, disordered) == ([], [("joined.log", "59")])
    assert not survey.left_out
