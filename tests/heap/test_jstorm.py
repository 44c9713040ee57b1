"""JStorm's acker and spouts, laid out as its sources have them (2.4.0: Acker, AckObject, RotatingMap, SpoutExecutors)."""

import shutil
import subprocess

import pytest

from ackdoctor.heap.dump import read_dump
from ackdoctor.heap.entries import Kind
from ackdoctor.heap.judge import findings
from tests.differential.conftest import jars_of
from tests.heap.conftest import JAVA, _run
from tests.heap.hprof_writer import Heap, read

JSTORM = "com.alibaba.jstorm:jstorm-core:2.1.1"
LOGGING = ("storm-client", "2.8.3")  # which brings slf4j
TASK = "com.alibaba.jstorm.task"
NODE = {"hash": "int", "key": "object", "value": "object", "next": "object"}


def jstorm_heap():
    """An acker with two buckets of a HashMap each, and a spout with one of a ConcurrentHashMap."""
    heap = Heap()
    heap.declare(f"{TASK}.acker.Acker", {"collector": "object", "pending": "object"})
    heap.declare(f"{TASK}.acker.AckObject", {"val": "long", "spout_task": "object", "failed": "boolean"})
    heap.declare(f"{TASK}.execute.spout.SpoutExecutors", {"pending": "object", "componentId": "object"})
    heap.declare(
        f"{TASK}.execute.spout.SingleThreadSpoutExecutors", {}, f"{TASK}.execute.spout.SpoutExecutors"
    )
    heap.declare("com.alibaba.jstorm.utils.RotatingMap", {"buckets": "object", "isSingleThread": "boolean"})
    heap.declare("java.util.LinkedList", {"size": "int", "first": "object"})
    heap.declare("java.util.LinkedList$Node", {"item": "object", "next": "object"})
    heap.declare("java.util.concurrent.LinkedBlockingDeque", {"first": "object", "count": "int"})
    heap.declare("java.util.concurrent.LinkedBlockingDeque$Node", {"item": "object", "next": "object"})
    heap.declare("java.util.HashMap", {"table": "object", "size": "int"})
    heap.declare("java.util.HashMap$Node", NODE)
    heap.declare("[Ljava.util.HashMap$Node;")
    heap.declare("java.util.concurrent.ConcurrentHashMap", {"table": "object", "baseCount": "long"})
    heap.declare(
        "java.util.concurrent.ConcurrentHashMap$Node",
        {"hash": "int", "key": "object", "val": "object", "next": "object"},
    )
    heap.declare("java.lang.Long", {"value": "long"})
    heap.declare("java.lang.Integer", {"value": "int"})
    heap.add(64, f"{TASK}.acker.Acker", collector=0, pending=96)
    heap.add(96, "com.alibaba.jstorm.utils.RotatingMap", buckets=128, isSingleThread=1)
    heap.add(128, "java.util.LinkedList", size=2, first=160)
    heap.add(160, "java.util.LinkedList$Node", item=224, next=192)
    heap.add(192, "java.util.LinkedList$Node", item=256, next=0)
    heap.add(224, "java.util.HashMap", table=288, size=3)
    heap.add(256, "java.util.HashMap", table=320, size=1)
    heap.array(288, "[Ljava.util.HashMap$Node;", 512, 0, 640)
    heap.array(320, "[Ljava.util.HashMap$Node;", 896)
    heap.add(384, "java.lang.Integer", value=7)
    entries = [(512, 66, 3, 384, 0), (640, 67, 4, 0, 0), (768, 68, 0, 0, 0), (896, 69, 5, 0, 1)]
    for at, root, value, task, failed in entries:
        heap.add(
            at, "java.util.HashMap$Node", hash=0, key=at + 32, value=at + 64, next=768 if at == 640 else 0
        )
        heap.add(at + 32, "java.lang.Long", value=root)
        heap.add(at + 64, f"{TASK}.acker.AckObject", val=value, spout_task=task, failed=failed)
    heap.add(1024, f"{TASK}.execute.spout.SingleThreadSpoutExecutors", pending=1056, componentId=0)
    heap.add(1056, "com.alibaba.jstorm.utils.RotatingMap", buckets=1088, isSingleThread=0)
    heap.add(1088, "java.util.concurrent.LinkedBlockingDeque", first=1120, count=1)
    heap.add(1120, "java.util.concurrent.LinkedBlockingDeque$Node", item=1152, next=0)
    heap.add(1152, "java.util.concurrent.ConcurrentHashMap", table=1184, baseCount=1)
    heap.array(1184, "[Ljava.util.HashMap$Node;", 1216)
    heap.add(1216, "java.util.concurrent.ConcurrentHashMap$Node", hash=0, key=544, val=0, next=0)
    return heap


def test_every_kind_of_entry_of_jstorm_is_distinguished(tmp_path):
    dump = read(jstorm_heap(), tmp_path)
    [acker] = dump.ackers
    assert (acker.path, acker.problem, dump.storm) == ("Acker.pending.buckets", "", True)
    assert [
        {kind: many for kind, many in bucket.kinds.items() if many} for bucket in acker.tally.buckets
    ] == [
        {Kind.WAITING: 1, Kind.ORPHAN: 1, Kind.ZERO: 1},
        {Kind.FAILED: 1},
    ]
    assert [
        (entry.root, entry.value, entry.task, entry.failed)
        for kind in (Kind.WAITING, Kind.ORPHAN, Kind.ZERO, Kind.FAILED)
        for entry in acker.tally.samples[kind]
    ] == [(66, 3, 7, False), (67, 4, None, False), (68, 0, None, False), (69, 5, None, True)]
    assert [each.code for each in findings(dump)] == ["ACK602"]


def test_a_spout_of_jstorm_is_found_with_its_pending_tuples(tmp_path):
    [buffer] = read(jstorm_heap(), tmp_path).buffers
    assert (buffer.role, buffer.path, buffer.entries, buffer.roots) == (
        "spout",
        "SingleThreadSpoutExecutors.pending.buckets",
        1,
        (66,),
    )


@pytest.mark.minutes
@pytest.mark.java
@pytest.mark.slow
def test_the_real_acker_of_jstorm_is_read(pytestconfig, tmp_path):
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    logging = jars_of(pytestconfig, *LOGGING)
    fetched = subprocess.run(
        ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={JSTORM}", f"-DoutputDirectory={tmp_path}"],
        capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    if fetched.returncode:
        pytest.skip(f"Maven cannot resolve {JSTORM}")
    file = tmp_path / "worker.hprof"
    _run(["javac", "-nowarn", "-d", str(tmp_path), str(JAVA / "JStormDriver.java")], "")
    entries = "66 3 7 false 67 4 - false tick 68 0 - false 69 5 - true 70 6 9 true".split()
    _run(["java", "-cp", f"{tmp_path}:{tmp_path}/*:{logging}/*", "JStormDriver", *entries, str(file)], "")
    [acker] = read_dump(file).ackers
    assert acker.path == "Acker.pending._buckets"
    assert [
        {kind: many for kind, many in bucket.kinds.items() if many} for bucket in acker.tally.buckets
    ] == [
        {Kind.WAITING: 1, Kind.ZERO: 1, Kind.FAILED: 1},
        {Kind.WAITING: 1, Kind.ORPHAN: 1},
        {},
    ]
    assert sorted((each.root, each.task) for each in acker.tally.samples[Kind.WAITING]) == [(66, 7), (70, 9)]
