"""Spouts in Java: message ids, records that wait for their ack, replays with a limit."""

import re

import pytest

from tests.fixes.repairing import diff_of, repaired

__all__ = ["REFUSED", "TRACKED", "spout"]

_HEAD = """import java.util.Arrays;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

public class Case extends BaseRichSpout {
    private static final String ROWS = "rows";
    private SpoutOutputCollector collector;
    private int next;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void nextTuple() {
BODY
    }

METHODS    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("row"));
        declarer.declareStream(ROWS, new Fields("row"));
    }
}
"""
_LOGS = """    @Override
    public void fail(Object id) {
        System.err.println("failed " + id);
    }

"""
_AGAIN = """    @Override
    public void ack(Object id) {
        System.err.println("acked " + id);
    }

    @Override
    public void fail(Object id) {
        collector.emit(new Values("row" + id), KEY);
    }

"""


def spout(body: str, methods: str = "") -> str:
    """Return a spout with this `nextTuple`."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return _HEAD.replace("BODY", lines).replace("METHODS", methods)


TRACKED = {  # with their rule
    "new values": ("ACK301", spout('collector.emit(new Values("row" + next++));')),
    "a local and a stream": (
        "ACK301",
        spout('Values row = new Values("row" + next++);\nthis.collector.emit(ROWS, row);'),
    ),
    "a fail that logs": ("ACK301", spout('collector.emit("rows", new Values("row" + next++));', _LOGS)),
    "a list of another type": ("ACK301", spout('collector.emit(Arrays.asList("row" + next++));')),
    "two emits": (
        "ACK301",
        spout(
            'collector.emit(new Values("row" + next++));\ncollector.emit(Arrays.asList("row" + next++));',
            _LOGS,
        ),
    ),
    "an emit in each branch": (
        "ACK301",
        spout(
            'if (next++ % 2 == 0) {\n    collector.emit("default", new Values("row" + next));\n} else {\n'
            '    collector.emit(ROWS, new Values("row" + next));\n}'
        ),
    ),
    "an id without a fail": ("ACK302", spout('next++;\ncollector.emit(new Values("row" + next), next);')),
    "an id and a fail that logs": (
        "ACK302",
        spout(
            'Object id = ++next;\nif (next < 9) {\n    collector.emit(new Values("row" + id), id);\n}', _LOGS
        ),
    ),
    "a replay without an end": (
        "ACK304",
        spout('collector.emit(new Values("row" + next), next++);', _AGAIN.replace("KEY", "id")),
    ),
}
REFUSED = {
    "two emits, one with a stream": spout(
        'collector.emit(new Values("a"));\ncollector.emit(ROWS, new Values("b"));'
    ),
    "two emits, one of values that change": spout(
        'Values row = new Values();\nrow.add("a");\ncollector.emit(row);\ncollector.emit(new Values("b"));'
    ),
    "two emits, one on another thread": spout(
        'collector.emit(new Values("a"));\nnew Thread(() -> collector.emit(new Values("b"))).start();'
    ),
    "two emits, one with an id": spout(
        'collector.emit(new Values("a"));\ncollector.emit(new Values("b"), next++);'
    ),
    "a loop without an end": spout(
        'next++;\nwhile (true) {\n    collector.emit(new Values("row" + next++));\n}'
    ),
    "a loop over a stream": spout(
        "for (String row : rows.stream()) {\n    collector.emit(new Values(row));\n}"
    ),
    "a loop over records that waits for the next": spout(
        "kafka.consumer.ConsumerIterator<byte[], byte[]> records = stream.iterator();\n"
        "while (records.hasNext()) {\n    collector.emit(new Values(records.next().message()));\n}"
    ),
    "another thread": spout('new Thread(() -> collector.emit(new Values("row"))).start();'),
    "a list that others may change": spout('collector.emit(rows.get("row" + next++));'),
    "values that change": spout('Values row = new Values();\nrow.add("row");\ncollector.emit(row);'),
    "an id that is computed": spout('collector.emit(new Values("row"), Math.random());'),
    "a stream that is computed": spout('collector.emit("row" + next, new Values("row"));'),
    "an if without braces": spout('if (next < 9) collector.emit(new Values("row" + next++));'),
    "a fail that does something": spout(
        'collector.emit(new Values("row"), next++);', _LOGS.replace("System.err.println", "count")
    ),
    "a new id for each replay": spout(
        'collector.emit(new Values("row"), next++);', _AGAIN.replace("KEY", "next++")
    ),
}


@pytest.mark.parametrize(("code", "text"), TRACKED.values(), ids=TRACKED)
def test_a_record_is_kept_until_its_ack_and_replayed_a_few_times(code, text, tmp_path) -> None:
    edited, left = repaired(tmp_path, {"Case.java": text}, unsafe=True)
    after = edited["Case.java"].decode()
    assert [each.code for each in left.findings if each.code == code] == []
    assert len(re.findall(r"tries\.remove\(\w+\);", after)) >= 1
    assert [line for line in diff_of(text, after) if line.startswith("-") and "emit(" not in line] == []


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_record_that_cannot_be_kept_stays(text, tmp_path) -> None:
    edited, _ = repaired(tmp_path, {"Case.java": text}, unsafe=True)
    assert "tries" not in (edited["Case.java"].decode() if edited else "")


def test_the_parts_of_a_tracked_spout_fit_the_file(tmp_path) -> None:
    edited, _ = repaired(tmp_path, {"Case.java": TRACKED["new values"][1]}, unsafe=True)
    assert diff_of(TRACKED["new values"][1], edited["Case.java"].decode()) == [
        "+import java.util.HashMap;",
        "+    private final Map<Object, Values> pending = new HashMap<Object, Values>();",
        "+    private final Map<Object, Integer> tries = new HashMap<Object, Integer>();",
        "+    private long lastId;",
        '-        collector.emit(new Values("row" + next++));',
        "+        lastId++;",
        '+        Values values = new Values("row" + next++);',
        "+        pending.put(lastId, values);",
        "+        collector.emit(values, lastId);",
        "+    }",
        "+",
        "+    @Override",
        "+    public void ack(Object msgId) {",
        "+        pending.remove(msgId);",
        "+        tries.remove(msgId);",
        "+    }",
        "+",
        "+    @Override",
        "+    public void fail(Object msgId) {",
        "+        Values values = pending.get(msgId);",
        "+        int failures = tries.containsKey(msgId) ? tries.get(msgId) + 1 : 1;",
        "+        if (values != null && failures < 3) {",
        "+            tries.put(msgId, failures);",
        "+            collector.emit(values, msgId);",
        "+        } else {",
        "+            pending.remove(msgId);",
        "+            tries.remove(msgId);",
        "+        }",
    ]


def test_all_emits_of_a_spout_go_through_one_method(tmp_path) -> None:
    text = TRACKED["an emit in each branch"][1]
    edited, _ = repaired(tmp_path, {"Case.java": text}, unsafe=True)
    lines = diff_of(text, edited["Case.java"].decode())
    assert [line.removeprefix("-").strip() for line in lines if line[0] == "-"] == [
        'collector.emit("default", new Values("row" + next));',
        'collector.emit(ROWS, new Values("row" + next));',
    ]
    code = [line.removeprefix("+").strip() for line in lines]
    at = code.index("private void emitTracked(String stream, List<Object> values) {")
    assert code[at + 1 : at + 5] == [
        "lastId++;",
        "pending.put(lastId, values);",
        "streams.put(lastId, stream);",
        "collector.emit(stream, values, lastId);",
    ]
    assert "collector.emit(streams.get(msgId), values, msgId);" in code
    assert code.count("streams.remove(msgId);") == 2
    assert repaired(tmp_path, {}, unsafe=True)[0] == {}
