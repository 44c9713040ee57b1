"""Dispatch by declared types: collectors in wrappers, tasks that carry a tuple, overloads."""

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.java import Lowered, lower_source

HEAD = """
import java.util.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.*;
"""


def findings(**files: str) -> list[tuple[str, str, int]]:
    """Rule, file and line of every finding, warnings and worse; each file starts with HEAD, on one line."""
    units = []
    for name, text in files.items():
        head = f"package com.acme; {' '.join(HEAD.split(chr(10)))} "
        lowered = lower_source(path=f"com/acme/{name}.java", data=(head + text.strip()).encode())
        assert isinstance(lowered, Lowered)
        assert lowered.broken == ()
        units.append(lowered.unit)
    program = Program(units, load())
    found = [
        f for component in program.components for f in check_component(RuleContext.of(program, component))
    ]
    return sorted(
        {
            (f.code, f.site.path.rpartition("/")[2], f.site.span.line)
            for f in found
            if f.severity.word != "info"
        }
    )


def test_a_project_s_own_collector_class_is_resolved() -> None:
    wrapper = """class Acking extends OutputCollector {
    Acking(IOutputCollector delegate) { super(delegate); }
    void done(Tuple tuple) { super.ack(tuple); }
}"""
    bolt = """class B extends BaseRichBolt {
    private Acking collector;
    public void execute(Tuple tuple) {
        collector.done(tuple);
        collector.ack(tuple);
    }
}"""
    assert findings(Acking=wrapper, B=bolt) == [("ACK103", "B.java", 5)]


def test_a_collector_field_of_a_base_class_in_another_file_is_resolved() -> None:
    base = """abstract class Base<T> extends BaseRichBolt {
    protected OutputCollector out;
    protected OutputCollector collector() { return out; }
}"""
    bolt = """class B extends Base<String> {
    public void execute(Tuple tuple) {
        collector().ack(tuple);
        out.emit(tuple, new Values(1));
    }
}"""
    assert findings(Base=base, B=bolt) == [("ACK202", "B.java", 4)]


def test_a_task_object_carries_the_tuple() -> None:
    bolt = """class B extends BaseRichBolt {
    private OutputCollector collector;
    private java.util.concurrent.ExecutorService pool;
    public void execute(Tuple tuple) {
        pool.submit(new Work(tuple, collector));
    }
    static class Work implements Runnable {
        private final Tuple tuple; private final OutputCollector collector;
        Work(Tuple tuple, OutputCollector collector) { this.tuple = tuple; this.collector = collector; }
        public void run() {
            collector.ack(tuple);
            collector.fail(tuple);
        }
    }
}"""
    assert findings(B=bolt) == [("ACK106", "B.java", 12)]


def test_a_tuple_added_to_a_list_that_a_map_holds_is_stored() -> None:
    bolt = """class B extends BaseRichBolt {
    private OutputCollector collector;
    private Map<String, List<Tuple>> waiting = new HashMap<>();
    public void execute(Tuple tuple) {
        List<Tuple> row = waiting.get(tuple.getString(0));
        if (row == null) {
            row = new ArrayList<>();
            waiting.put(tuple.getString(0), row);
        }
        row.add(tuple);
    }
    public void cleanup() {
        for (List<Tuple> row : waiting.values()) { for (Tuple each : row) { collector.fail(each); } }
    }
}"""
    assert findings(B=bolt) == []


def test_the_declared_type_selects_the_overload() -> None:
    bolt = """class B extends BaseRichBolt {
    private OutputCollector collector;
    public void execute(Tuple tuple) {
        String word = tuple.getString(0);
        finish(word, tuple);
        collector.ack(tuple);
    }
    private void finish(String word, Tuple tuple) { collector.emit(tuple, new Values(word)); }
    private void finish(Integer count, Tuple tuple) { collector.ack(tuple); }
}"""
    assert findings(B=bolt) == []
