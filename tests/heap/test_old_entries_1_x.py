"""Storm 1.x: entries are Clojure maps, a spout is a closure, the configuration a PersistentHashMap."""

from ackdoctor.heap.judge import findings
from tests.heap.hprof_writer import TAKEN_MS, Heap, read
from tests.heap.test_old_entries import add_map, add_text

CLOSURE = "org.apache.storm.daemon.executor$fn__4976$fn__4991$fn__5022"
NODE = "clojure.lang.PersistentHashMap$BitmapIndexedNode"
ARRAY_NODE = "clojure.lang.PersistentHashMap$ArrayNode"


def declared() -> Heap:
    heap = Heap()
    for name, fields in {
        "org.apache.storm.daemon.acker$mk_acker_bolt$reify__972": "output_collector pending",
        "org.apache.storm.utils.MutableObject": "o",
        "org.apache.storm.utils.RotatingMap": "_buckets",
        CLOSURE: "pending task_datas component_id",
        "org.apache.storm.task.WorkerTopologyContext": "_stormConf",
        "java.util.LinkedList$Node": "item next",
        "clojure.lang.PersistentArrayMap": "array",
        "clojure.lang.PersistentHashMap": "root",
        NODE: "array",
        ARRAY_NODE: "array",
        "clojure.lang.Keyword": "sym",
        "clojure.lang.Symbol": "name",
    }.items():
        heap.declare(name, dict.fromkeys(fields.split(), "object"))
    heap.declare("java.lang.String", {"value": "object", "coder": "byte"})
    heap.declare("java.lang.Long", {"value": "long"})
    heap.declare("java.lang.Integer", {"value": "int"})
    heap.declare("java.util.LinkedList", {"size": "int", "first": "object"})
    heap.declare("java.util.HashMap", {"table": "object", "size": "int"})
    heap.declare(
        "java.util.HashMap$Node", {"hash": "int", "key": "object", "value": "object", "next": "object"}
    )
    heap.declare("[Ljava.util.HashMap$Node;")
    heap.declare("[Ljava.lang.Object;")
    return heap


def rotating(heap: Heap, at: int, pairs: list[tuple[int, int]]) -> int:
    heap.add(at, "org.apache.storm.utils.RotatingMap", _buckets=at + 32)
    heap.add(at + 32, "java.util.LinkedList", size=1, first=at + 64)
    heap.add(at + 64, "java.util.LinkedList$Node", item=at + 0x1000, next=0)
    add_map(heap, at + 0x1000, pairs)
    return at


def add_keyword(heap: Heap, at: int, name: str) -> int:
    heap.add(at, "clojure.lang.Keyword", sym=at + 32)
    heap.add(at + 32, "clojure.lang.Symbol", name=add_text(heap, at + 64, name))
    return at


def worker() -> Heap:
    """Ten tracked entries of roots 100 to 109: the last is of task 4, the spout in the worker is task 7."""
    heap = declared()
    val, task, start = (
        add_keyword(heap, 0x1000 + 256 * number, name)
        for number, name in enumerate(("val", "spout-task", "start-time"))
    )
    heap.add(0x2000, "java.lang.Integer", value=7)
    heap.add(0x2020, "java.lang.Integer", value=4)
    pairs = []
    for number in range(10):
        at = 0x1_0000 + 512 * number
        heap.add(at, "java.lang.Long", value=100 + number)
        heap.add(at + 32, "clojure.lang.PersistentArrayMap", array=at + 64)
        owner = 0x2020 if number == 9 else 0x2000
        heap.array(at + 64, "[Ljava.lang.Object;", val, at + 160, task, owner, start, at + 192)
        heap.add(at + 160, "java.lang.Long", value=1 << 60 | number)
        heap.add(at + 192, "java.lang.Long", value=TAKEN_MS - 5_000 * number)
        pairs.append((at, at + 32))
    heap.add(
        0x3000, "org.apache.storm.daemon.acker$mk_acker_bolt$reify__972", output_collector=0, pending=0x3020
    )
    heap.add(0x3020, "org.apache.storm.utils.MutableObject", o=rotating(heap, 0x10_0000, pairs))
    heap.add(0x4000, "java.lang.Long", value=104)  # of the spout's own map: another Long
    name = add_text(heap, 0x5000, "jobs")
    heap.add(
        0x6000, CLOSURE,
        pending=rotating(heap, 0x20_0000, [(0x4000, 0x2000)]),
        task_datas=add_map(heap, 0x30_0000, [(0x2000, 0x2000)]),
        component_id=name,
    )  # fmt: skip
    key = add_text(heap, 0x7000, "topology.message.timeout.secs")
    heap.add(0x7100, "java.lang.Long", value=10)
    heap.add(0x8000, "org.apache.storm.task.WorkerTopologyContext", _stormConf=0x8020)
    heap.add(0x8020, "clojure.lang.PersistentHashMap", root=0x8040)
    heap.add(0x8040, ARRAY_NODE, array=0x8060)
    heap.array(0x8060, "[Ljava.lang.Object;", 0, 0x8100)
    heap.add(0x8100, NODE, array=0x8120)
    heap.array(0x8120, "[Ljava.lang.Object;", name, 0, 0, 0x8200)  # a null key has a node beside it
    heap.add(0x8200, NODE, array=0x8220)
    heap.array(0x8220, "[Ljava.lang.Object;", key, 0x7100)
    return heap


def test_old_entries_are_looked_up_in_the_closure_s_map(tmp_path):
    dump = read(worker(), tmp_path)
    assert (dump.timeout.seconds, dump.timeout.source) == (10, "the dump's topology configuration")
    [acker] = dump.ackers
    waits = acker.tally.waits
    assert (waits.given_up, waits.pending, waits.unknown) == (5, 1, 1)  # 15 s old and older: roots 103 to 109
    [spout] = dump.buffers
    assert (spout.owner, spout.tasks, spout.entries) == ("jobs", frozenset({7}), 1)
    [finding] = [each for each in findings(dump) if each.code == "ACK601"]
    assert finding.evidence.left == (
        "tracked: 10, 7 of them old",
        "their spouts have given up 5, and 1 are still pending",
        "the spouts of 1 are not in this dump: these may still be pending",
    )
    assert set(finding.evidence.roots) <= set(range(103, 110))
