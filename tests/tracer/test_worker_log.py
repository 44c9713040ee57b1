"""The plain reader of worker logs, on logs of real ackers."""

import gzip
from functools import partial
from pathlib import Path

import pytest

from ackdoctor.acker.residue import traced_tuples
from ackdoctor.model.trace import EventKind
from ackdoctor.tracer.worker_log import WorkerLogs, is_log, open_log
from tests.tracer.test_log_prefixes import COLLECTORS, LAYOUTS, laid_out

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
ROOTS = {  # leaf twice, inner twice, leaf never, healthy; all of the second wave
    "2.8.3": (-3009258064162806601, -2649877735888617978, 2375429451940955981, 501350289754240323),
    "1.1.0": (-793417287787337920, 2096689201093157742, -6426329124324551927, 6686919501478097143),
    "0.10.2": (-2749321630204294324, -300641741814088418, -3104049340830071473, 8088566357364431860),
}


@pytest.mark.parametrize("version", ROOTS)
def test_each_delivery_is_tied_to_the_values_of_its_acks(version):
    files = [path for path in (LOGS / f"storm-{version}").iterdir() if is_log(path)]
    roots = ROOTS[version]
    found = traced_tuples(WorkerLogs(files, roots).events(), dict.fromkeys(roots))
    assert [
        [(each.component, len(each.values), len(set(each.values))) for each in found[root]] for root in roots
    ] == [
        [("split", 1, 1), ("store", 2, 1)],
        [("split", 2, 1), ("store", 1, 1)],
        [("split", 1, 1), ("store", 0, 0)],
        [("split", 1, 1), ("store", 1, 1)],
    ]


def test_a_journald_prefix_and_another_layout_change_no_rows(tmp_path):
    roots = ROOTS["2.8.3"]
    plain = LOGS / "storm-2.8.3" / "worker.log"
    log = tmp_path / "worker.log"
    lines = plain.read_text().splitlines()
    for relaid in (COLLECTORS["journalctl"].__add__, partial(laid_out, LAYOUTS["as in log4j's manual"])):
        log.write_text("".join(f"{relaid(line)}\n" for line in lines))
        assert is_log(log)
        assert list(WorkerLogs([log], roots).events()) == list(WorkerLogs([plain], roots).events())


def test_an_acker_s_own_log_has_acks_without_deliveries(tmp_path):
    line = (
        "2026-11-21 20:22:17.710 o.a.s.e.Executor Thread-44-__acker-executor[1, 1] [INFO] Processing received TUPLE: "
        "source: store:7, stream: __ack_ack, id: {}, [66, 99] PROC_START_TIME(sampled): null for TASK: 1 \n"
    )
    log = tmp_path / "worker.log"
    log.write_text(line * 2 + line.replace("[66, 99]", "[67, 66]"))
    acks = [
        (row.kind, row.component, row.task, row.root, row.value) for row in WorkerLogs([log], {66}).events()
    ]
    assert acks == [(EventKind.ACK, "store", 7, 66, 99)] * 2


def test_values_that_look_like_log_lines_are_ignored(tmp_path):
    log = tmp_path / "worker.log"
    log.write_text(
        "2026-11-21 20:22:17.710 o.a.s.d.Task Thread-41-source-executor[4, 4] [INFO] Emitting Tuple: taskId=4 "
        "componentId=source stream=default values=[[INFO] BOLT ack TASK: 7 TIME: -1 TUPLE: source: a:1, stream: "
        "default, id: {66=99}, [x]]\n"
    )
    assert list(WorkerLogs([log], {66}).events()) == []


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_log_written_by_powershell_is_read(tmp_path, encoding, zipped):
    text = "\ufeff" * (encoding == "utf-16-be") + "für\nzwei\n"
    data = text.encode(encoding)
    log = tmp_path / "worker.log"
    log.write_bytes(gzip.compress(data) if zipped else data)
    with open_log(log) as lines:
        assert list(lines) == ["für\n", "zwei\n"]


def test_a_cut_archive_is_read_as_far_as_it_goes(tmp_path):
    whole = (LOGS / "storm-2.8.3" / "worker.log.1.gz").read_bytes()
    log = tmp_path / "worker.log.1.gz"
    log.write_bytes(whole[:-2000])
    logs = WorkerLogs([log], {-5494221057578710339})
    assert [row.kind for row in logs.events()][:2] == [EventKind.INIT, EventKind.LINKED]
    assert [(each.path, each.reason) for each in logs.unreadable] == [
        (str(log), "cut off: Compressed file ended before the end-of-stream marker was reached")
    ]


OLD = "2026-11-21 20:22:17 b.s.d.{} [INFO] {}\n"


def test_storm_0_9_a_tuple_with_a_sent_ack_is_not_called_unacked(tmp_path):
    log = tmp_path / "worker.log"
    lines = [
        ("executor", "Processing received message source: spout:5, stream: default, id: {66=7}, [x]"),
        ("task", "Emitting: store __ack_ack [66 7]"),
        ("executor", "Processing received message source: spout:5, stream: default, id: {66=9}, [x]"),
    ]
    log.write_text("".join(OLD.format(*line) for line in lines))
    links = [(row.kind, row.delivery) for row in WorkerLogs([log], {66}).events()]
    assert links == [(EventKind.LINKED, "66=9")]
