"""Old tracked entries are looked up in the pending maps of the dump's spouts; the message timeout in its configuration."""

import pytest

from ackdoctor.heap.dump import read_dump
from ackdoctor.heap.judge import findings, trees, with_culprits
from ackdoctor.model.finding import Severity
from ackdoctor.model.trace import Culprit, Verdict
from ackdoctor.tracer.sites import Places
from tests.heap.hprof_writer import TAKEN_MS, Heap, acker_heap, read

STORM = "org.apache.storm"
NODE = "java.util.HashMap$Node"


def add_text(heap: Heap, id_: int, text: str) -> int:
    heap.add(id_, "java.lang.String", value=id_ + 32, coder=0)
    heap.text(id_ + 32, text.encode())
    return id_


def add_map(heap: Heap, id_: int, pairs: list[tuple[int, int]]) -> int:
    """A HashMap with all its nodes in one chain."""
    heap.add(id_, "java.util.HashMap", table=id_ + 32, size=len(pairs))
    heap.array(id_ + 32, "[Ljava.util.HashMap$Node;", *([id_ + 256] if pairs else [0]), *[0] * 8)
    for number, (key, value) in enumerate(pairs):
        following = id_ + 256 + 64 * (number + 1) if number + 1 < len(pairs) else 0
        heap.add(id_ + 256 + 64 * number, NODE, hash=0, key=key, value=value, next=following)
    return id_


def worker(held, *, pending=(), tasks=(7,), settings=None) -> Heap:
    """A worker of Storm 2.x: entries in its acker, and a spout that waits for these roots."""
    heap = acker_heap(held=held)
    heap.declare("java.lang.Integer", {"value": "int"})
    heap.declare("java.lang.Boolean", {"value": "boolean"})
    heap.declare("java.lang.String", {"value": "object", "coder": "byte"})
    heap.declare("java.util.ArrayList", {"size": "int", "elementData": "object"})
    heap.declare("[Ljava.lang.Object;")
    heap.declare(f"{STORM}.executor.spout.SpoutExecutor", {"pending": "object", "taskIds": "object"})
    heap.declare(f"{STORM}.task.TopologyContext", {"_topoConf": "object"})
    at = 0x100_0000
    heap.add(at, f"{STORM}.executor.spout.SpoutExecutor", pending=at + 64, taskIds=at + 192)
    heap.add(at + 64, f"{STORM}.utils.RotatingMap", buckets=at + 96, callback=0)
    heap.add(at + 96, "java.util.LinkedList", size=1, first=at + 128, last=at + 128)
    heap.add(at + 128, "java.util.LinkedList$Node", item=at + 0x1000, next=0, prev=0)
    heap.add(at + 192, "java.util.ArrayList", size=len(tasks), elementData=at + 224)
    heap.array(at + 224, "[Ljava.lang.Object;", *(at + 0x800 + 32 * task for task in tasks))
    for task in tasks:
        heap.add(at + 0x800 + 32 * task, "java.lang.Integer", value=task)
    for number, root in enumerate(pending):
        heap.add(at + 0x8000 + 32 * number, "java.lang.Long", value=root)
    add_map(heap, at + 0x1000, [(at + 0x8000 + 32 * number, at) for number in range(len(pending))])
    if settings is not None:
        heap.add(at + 0xB000, f"{STORM}.task.TopologyContext", _topoConf=at + 0xC000)
        pairs = []
        for number, (name, (kind, value)) in enumerate(settings.items()):
            key = add_text(heap, at + 0xE000 + 256 * number, name)
            heap.add(at + 0xF000 + 32 * number, f"java.lang.{kind}", value=value)
            pairs.append((key, at + 0xF000 + 32 * number))
        add_map(heap, at + 0xC000, pairs)
    return heap


def add_acker(heap: Heap, held) -> None:
    at = 0x200_0000
    heap.add(at, f"{STORM}.daemon.Acker", collector=0, pending=at + 64)
    heap.add(at + 64, f"{STORM}.utils.RotatingMap", buckets=at + 96, callback=0)
    heap.add(at + 96, "java.util.LinkedList", size=1, first=at + 128, last=at + 128)
    heap.add(at + 128, "java.util.LinkedList$Node", item=at + 0x1000, next=0, prev=0)
    for number, (root, value, task) in enumerate(held):
        place = at + 0x8000 + 64 * number
        heap.add(place, "java.lang.Long", value=root)
        start = TAKEN_MS - 100_000
        heap.add(
            place + 32,
            f"{STORM}.daemon.Acker$AckObject",
            val=value,
            startTime=start,
            spoutTask=task,
            failed=0,
        )
    places = [at + 0x8000 + 64 * number for number in range(len(held))]
    add_map(heap, at + 0x1000, [(place, place + 32) for place in places])


def entries(amount, task=7):
    return [(100 + number, 1 + number, task) for number in range(amount)]


def test_an_entry_that_its_spout_has_pending_is_not_given_up(tmp_path):
    dump = read(
        worker(entries(10), pending=(107, 108, 999)), tmp_path, timeout_s=1
    )  # old are those of 3 s and more
    waits = dump.ackers[0].tally.waits
    assert (waits.given_up, waits.pending, waits.unknown) == (5, 2, 0)
    [finding, _] = findings(dump)
    assert (finding.code, finding.severity) == ("ACK601", Severity.ERROR)
    assert "and their spouts have given some of them up" in finding.message
    assert "their spouts have given up 5, and 2 are still pending" in finding.evidence.left


def test_a_map_of_pending_entries_is_a_warning(tmp_path):
    dump = read(worker(entries(5), pending=range(100, 105)), tmp_path, timeout_s=1)
    [finding, *_] = findings(dump)
    assert finding.severity == Severity.WARNING
    assert "and their spouts have waited for them longer than the message timeout" in finding.message


def test_a_spout_in_another_worker_is_unknown(tmp_path):
    dump = read(worker(entries(10, task=4), pending=(999,)), tmp_path, timeout_s=1)
    waits = dump.ackers[0].tally.waits
    assert (waits.given_up, waits.pending, waits.unknown) == (0, 0, 7)
    [finding, _] = findings(dump)
    assert "their spouts are not in this dump" in finding.message
    assert "have given" not in finding.message


def test_a_spout_whose_map_has_lost_entries_proves_nothing(tmp_path):
    heap = worker(entries(10), pending=(107, 108, 999))
    at = next(place for place, body in enumerate(heap.body) if body[1:9] == (0x100_1000).to_bytes(8, "big"))
    heap.body[at] = heap.body[at][:-4] + (90).to_bytes(4, "big")  # its size says 90
    waits = read(heap, tmp_path, timeout_s=1).ackers[0].tally.waits
    assert (waits.given_up, waits.pending, waits.unknown) == (0, 2, 5)


TIMEOUT = "topology.message.timeout.secs"


@pytest.mark.parametrize(
    ("settings", "given", "seconds", "source"),
    [
        ({TIMEOUT: ("Integer", 10)}, None, 10, "the dump's topology configuration"),
        ({TIMEOUT: ("Long", 10)}, 10, 10, "the dump's topology configuration"),
        ({TIMEOUT: ("Integer", 10)}, 60, 10, "the dump's topology configuration; --message-timeout 60 is not used"),
        ({"other": ("Integer", 10)}, 60, 60, "--message-timeout; none in the dump"),
        ({"other": ("Integer", 10)}, None, 30, "Storm's default; none in the dump: set --message-timeout"),
        (None, None, 30, "Storm's default; none in the dump: set --message-timeout"),
    ],
)  # fmt: skip
def test_the_message_timeout_is_that_of_the_dump(settings, given, seconds, source, tmp_path):
    dump = read(worker(entries(1), settings=settings), tmp_path, timeout_s=given)
    assert (dump.timeout.seconds, dump.timeout.source, dump.timeout.off) == (seconds, source, False)


def test_disabled_message_timeouts_are_recognised(tmp_path):
    off = {TIMEOUT: ("Integer", 10), "topology.enable.message.timeouts": ("Boolean", 0)}
    assert read(worker(entries(1), settings=off), tmp_path).timeout.off


def test_entries_of_another_clock_have_no_age(tmp_path):
    heap = worker(entries(3))
    whole = heap.hprof().replace(TAKEN_MS.to_bytes(8, "big"), (TAKEN_MS * 10).to_bytes(8, "big"), 1)
    path = tmp_path / "worker.hprof"
    path.write_bytes(whole)
    dump = read_dump(path)
    assert dump.ackers[0].tally.oldest_ms == 0
    assert [finding.code for finding in findings(dump)] == []


def blamed(tree):
    return type(tree)(
        root=tree.root,
        verdict=Verdict.EXPIRED,
        entry=tree.entry,
        residue=tree.residue,
        culprits=(Culprit(delivery="1", component="sql", task=4, value=tree.entry.value, acks=2),),
    )


def test_a_sampled_tuple_in_a_trace_is_called_a_sample(tmp_path):
    dump = read(worker(entries(10)), tmp_path, samples=2, timeout_s=1)
    wanted = trees(dump)
    explained = with_culprits(
        [blamed(tree) for tree in wanted.values()],
        dump,
        findings(dump),
        keeper=None,
        places=Places(folder=str(tmp_path), nowhere=dump.path),
    )
    named = [finding for finding in explained if finding.evidence.sample]
    assert [finding.evidence.sample for finding in named] == [(len(wanted), 10)] * len(named)
    assert named
    assert "ACK601" in [finding.code for finding in explained if not finding.evidence.sample]


def test_every_acker_of_the_dump_counts(tmp_path):
    heap = worker(entries(10))
    add_acker(heap, [(500 + number, 9, 7) for number in range(4)])
    dump = read(heap, tmp_path, timeout_s=1)
    assert [acker.tally.entries for acker in dump.ackers] == [10, 4]
    found = {finding.code: finding.evidence for finding in findings(dump)}
    assert (found["ACK601"].entries, found["ACK603"].entries) == (7 + 4, 14)
    assert found["ACK603"].path == "Acker.pending.buckets of 2 ackers"
    assert "10 in acker 1, 4 in acker 2" in found["ACK601"].left
    assert [acker.tally.oldest_ms for acker in dump.ackers] == [9_000, 100_000]


def test_each_acker_has_its_own_age(tmp_path):
    heap = worker(entries(2))
    add_acker(heap, [(500, 9, 7)])
    found = {finding.code: finding.evidence for finding in findings(read(heap, tmp_path, timeout_s=20))}
    assert (found["ACK601"].entries, found["ACK603"].entries) == (1, 1)


def test_every_shellbolt_of_a_component_counts(tmp_path):
    heap = worker(entries(1))
    heap.declare(f"{STORM}.task.ShellBolt", {"command": "object", "inputs": "object"})
    heap.declare("java.util.concurrent.ConcurrentHashMap", {"table": "object", "baseCount": "long"})
    for number, amount in enumerate((900, 400)):
        at = 0x300_0000 + 256 * number
        heap.add(at, f"{STORM}.task.ShellBolt", command=0, inputs=at + 64)
        heap.add(at + 64, "java.util.concurrent.ConcurrentHashMap", table=0, baseCount=amount)
    [finding] = [each for each in findings(read(heap, tmp_path)) if each.code == "ACK401"]
    assert (finding.evidence.entries, finding.evidence.path) == (1_300, "ShellBolt.inputs of 2 ShellBolts")
