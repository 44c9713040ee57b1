"""A fix of a Java handler acks no work that may be lost, and leaves a file that javac accepts."""

import re

import pytest

from tests.fixes.repairing import diff_of, repaired

HEAD = """import java.util.*;
import java.util.concurrent.*;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

public class Case extends BaseRichBolt {
    private OutputCollector collector;
    private Table table;
    private boolean open;
    private final List<String> rows = new ArrayList<>();
    private final String[] ring = new String[9];
    private final StringBuilder text = new StringBuilder();
    private String line = "";
    private int count;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void execute(final Tuple tuple) {
BODY
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) { }
}
"""


def source(body: str, **changes: str) -> str:
    """Return a bolt with this handler."""
    lines = "\n".join(f"        {line}" if line else "" for line in body.strip("\n").splitlines())
    text = HEAD.replace("BODY", lines)
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def changed(folder, text: str) -> list[str]:
    """Return the lines that all fixes change, without indentation."""
    edited, _ = repaired(folder, {"Case.java": text}, unsafe=True)
    after = edited["Case.java"].decode() if edited else text
    return [re.sub(r"^([+-])\s*", r"\1", line) for line in diff_of(text, after)]


FAILED = {
    "a closed bolt": "if (!open) {\n    return;\n}\ntable.insert(tuple);\ncollector.ack(tuple);",
    "a write that says no": "if (!table.insert(tuple.getString(0))) {\n    return;\n}\ncollector.ack(tuple);",
    "its result in a local": "boolean done = table.insert(tuple.getString(0));\nif (!done) {\n    return;\n}\ncollector.ack(tuple);",
    "a value of a caught exception": """String row = null;
try {
    row = table.find(tuple.getString(0));
} catch (RuntimeException e) {
    count++;
}
if (row == null) {
    return;
}
collector.ack(tuple);""",
    "a write with the name of a reader": "if (!isStored(tuple)) {\n    return;\n}\ncollector.ack(tuple);",
    "a batch of another class": "if (!batch.accept(tuple.getString(0))) {\n    return;\n}\ncollector.ack(tuple);",
    "a flag with the input": "boolean ready = open && tuple.getString(0) != null;\nif (!ready) {\n    return;\n}\ncollector.ack(tuple);",
    "a payment": "if (!card.charge(tuple.getString(0))) {\n    return;\n}\ncollector.ack(tuple);",
    "a value without parts": "Row row = parse(tuple);\nString[] parts = row.generate();\nif (parts.length == 0) {\n    return;\n}\ncollector.ack(tuple);",
    "the state of a switch": """switch (table.insert(tuple.getString(0))) {
    case 0:
        return;
    default:
        collector.ack(tuple);
}""",
}


@pytest.mark.parametrize("body", FAILED.values(), ids=FAILED)
def test_a_return_that_other_things_decide_acks_nothing(body, tmp_path) -> None:
    method = "    private boolean isStored(Tuple tuple) {\n        return table.insert(tuple);\n    }\n"
    lines = changed(tmp_path, source(body).removesuffix("}\n") + method + "}\n")
    assert not [line for line in lines if line.startswith("+") and ".ack(" in line]


ACKED = {
    "a value": "if (tuple.getString(0) == null) {\n    return;\n}\ntable.insert(tuple);\ncollector.ack(tuple);",
    "a parsed local": "String row = tuple.getString(0).trim();\nif (row.isEmpty() || row.equals(NONE)) {\n    return;\n}\ntable.insert(row);\ncollector.ack(tuple);",
    "a pattern": "if (!(tuple.getValue(0) instanceof String row)) {\n    return;\n}\ntable.insert(row);\ncollector.ack(tuple);",
    "a label of a switch": 'switch (tuple.getString(0)) {\n    case "skip":\n        return;\n    default:\n        table.insert(tuple);\n}\ncollector.ack(tuple);',
    "a set that takes an id once": "if (!seen.add(tuple.getString(0))) {\n    return;\n}\ntable.insert(tuple);\ncollector.ack(tuple);",
    "a set of seen ids": "String id = tuple.getString(0);\nif (seen.contains(id)) {\n    return;\n}\ntable.insert(id);\ncollector.ack(tuple);",
}


@pytest.mark.parametrize("body", ACKED.values(), ids=ACKED)
def test_a_return_that_the_input_decides_acks_the_tuple(body, tmp_path) -> None:
    field = "    private int count;\n    private final Set<String> seen = new HashSet<>();"
    text = source(body).replace("    private int count;", field)
    assert changed(tmp_path, text) == ["+collector.ack(tuple);"]


BUFFERS = {
    "a list": "rows.add(tuple.getString(0));\nif (rows.size() < 9) {\n    return;\n}\ntable.insert(rows);\nrows.clear();\ncollector.ack(tuple);",
    "a list without an ack": "rows.add(tuple.getString(0));\nif (rows.size() > 9) {\n    table.insert(rows);\n    rows.clear();\n}",
    "a list of a map": "List<String> group = groups.get(tuple.getString(0));\ngroup.add(tuple.getString(1));\nif (tuple.getString(0).isEmpty()) {\n    return;\n}\ntable.insert(group);\ngroup.clear();\ncollector.ack(tuple);",
    "a branch that keeps it": "if (rows.size() > 9) {\n    table.insert(rows);\n    rows.clear();\n    collector.ack(tuple);\n} else {\n    rows.add(tuple.getString(0));\n}",
    "a field that another method sends": "line = tuple.getString(0);\nflush(line);",
    "a queue of another class": "Batches.INSTANCE.enqueue(tuple.getString(0));",
    "an array": "ring[count++] = tuple.getString(0);\nif (count < 9) {\n    return;\n}\ntable.insert(ring);\ncollector.ack(tuple);",
    "a builder": "text.append(tuple.getString(0));\nif (text.length() < 9) {\n    return;\n}\ntable.insert(text.toString());\ncollector.ack(tuple);",
    "a text": 'line += tuple.getString(0);\nif (line.length() < 9) {\n    return;\n}\ntable.insert(line);\nline = "";\ncollector.ack(tuple);',
}


@pytest.mark.parametrize("body", BUFFERS.values(), ids=BUFFERS)
def test_a_handler_that_fills_a_buffer_gets_no_ack(body, tmp_path) -> None:
    assert changed(tmp_path, source(body)) == []


def test_a_buffer_of_another_method_counts(tmp_path) -> None:
    text = source("if (keep(tuple.getString(0))) {\n    return;\n}\ncollector.ack(tuple);")
    method = """    private boolean keep(String row) {
        rows.add(row);
        return rows.size() < 9;
    }

    public void flush() {
        table.insert(rows);
    }
"""
    assert changed(tmp_path, text.removesuffix("}\n") + method + "}\n") == []


def test_a_return_of_a_catch_fails_where_the_end_acks(tmp_path) -> None:
    body = "try {\n    table.insert(tuple.getString(0));\n} catch (IllegalStateException e) {\n    return;\n}"
    assert changed(tmp_path, source(body)) == ["+collector.fail(tuple);", "+collector.ack(tuple);"]


def test_no_ack_behind_a_catch_that_goes_on(tmp_path) -> None:
    body = (
        "try {\n    table.insert(tuple.getString(0));\n} catch (IllegalStateException e) {\n    count++;\n}"
    )
    assert changed(tmp_path, source(body)) == []


SKIPPED = {
    "a loop": "while (!table.insert(tuple.getString(0)) && count++ < 3) {\n}",
    "a condition": "boolean done = open && table.insert(tuple.getString(0));",
    "a switch": "switch (count) {\n    case 1:\n        table.insert(tuple.getString(0));\n        break;\n}",
    "a lambda": "Optional.of(tuple.getString(0)).filter(row -> open).ifPresent(row -> table.insert(row));",
    "a branch": "if (open) {\n    table.insert(tuple.getString(0));\n}",
}


@pytest.mark.parametrize("body", SKIPPED.values(), ids=SKIPPED)
def test_a_handler_that_may_skip_its_work_gets_no_ack_at_its_end(body, tmp_path) -> None:
    assert changed(tmp_path, source(body)) == []


MAPS = {"Map<String, Tuple>": 4, "Map<String, List<Tuple>>": 0, "Cache<String, Tuple>": 0}


@pytest.mark.parametrize(("kind", "lines"), MAPS.items(), ids=MAPS)
def test_only_a_map_of_tuples_returns_the_replaced_one(kind, lines, tmp_path) -> None:
    body = "waiting.put(tuple.getString(0), tuple);\nif (waiting.size() > 9) {\n    for (Tuple each : waiting.values()) collector.ack(each);\n    waiting.clear();\n}"
    text = source(body).replace(
        "    private int count;", f"    private {kind} waiting;\n    private int count;"
    )
    assert len([line for line in changed(tmp_path, text) if line.startswith("+")]) == lines


def test_a_return_that_skips_other_work_is_unsafe(tmp_path) -> None:
    body = "if (tuple.getString(0).isEmpty()) {\n    collector.fail(tuple);\n}\ncollector.ack(tuple);"
    assert repaired(tmp_path, {"Case.java": source(f"{body}\nrows.clear();")})[0] == {}
    assert repaired(tmp_path, {"Case.java": source(body)})[0]


def test_a_return_without_braces_gets_them(tmp_path) -> None:
    body = "if (tuple.getString(0).isEmpty()) return;\ntable.insert(tuple);\ncollector.ack(tuple);"
    assert changed(tmp_path, source(body)) == [
        "-if (tuple.getString(0).isEmpty()) return;",
        "+if (tuple.getString(0).isEmpty()) { collector.ack(tuple); return; }",
    ]


def test_a_call_that_does_work_is_not_repeated_before_a_return(tmp_path) -> None:
    text = source("if (tuple.getString(0).isEmpty()) {\n    return;\n}\nhandle(tuple);")
    method = "    private void handle(Tuple tuple) {\n        table.insert(tuple);\n        collector.ack(tuple);\n    }\n"
    assert changed(tmp_path, text.removesuffix("}\n") + method + "}\n") == []


REJECTED = {
    "an ack behind an endless loop": "while (true) {\n    if (table.insert(tuple.getString(0))) {\n        return;\n    }\n}",
    "a collector of another block": "try {\n    OutputCollector out = this.collector;\n    table.insert(tuple);\n    out.ack(tuple);\n} catch (RuntimeException e) {\n    count++;\n}",
    "an ack of each element": """List<Tuple> all = new ArrayList<>(pending);
try {
    for (Tuple each : all) {
        table.insert(each);
        collector.ack(each);
    }
} catch (RuntimeException e) {
    for (Tuple each : all) {
        collector.fail(each);
    }
}
collector.ack(tuple);""",
}


@pytest.mark.parametrize("body", REJECTED.values(), ids=REJECTED)
def test_a_fix_that_javac_rejects_is_not_offered(body, tmp_path) -> None:
    assert changed(tmp_path, source(body, pending="pending()")) == []


SHAPES = {
    "if without braces": (
        "if (tuple.getString(0).isEmpty()) collector.fail(tuple);\ntable.insert(tuple);\ncollector.ack(tuple);",
        [
            "-if (tuple.getString(0).isEmpty()) collector.fail(tuple);",
            "+if (tuple.getString(0).isEmpty()) { collector.fail(tuple); return; }",
        ],
    ),
    "a lambda": (
        "rows.forEach(row -> collector.emit(new Values(row)));\ncollector.ack(tuple);",
        [
            "-rows.forEach(row -> collector.emit(new Values(row)));",
            "+rows.forEach(row -> collector.emit(tuple, new Values(row)));",
        ],
    ),
    "comments among arguments": (
        'collector.emit(\n    "s", // stream\n    /* all */ new Values(1));\ncollector.ack(tuple);',
        ["-/* all */ new Values(1));", "+/* all */ tuple, new Values(1));"],
    ),
    "a comment in a catch": (
        "try {\n    table.insert(tuple);\n    collector.ack(tuple);\n} catch (RuntimeException e) {\n    // ignored\n}",
        ["+collector.fail(tuple);"],
    ),
    "a dangling else": (
        "if (tuple.size() > 1)\n    if (tuple.getString(0).isEmpty()) {\n        collector.ack(tuple);\n    }\n    else {\n        count++;\n    }\nelse { collector.ack(tuple); }",
        ["+collector.ack(tuple);"],
    ),
    "an ack before its emit": (
        "collector.ack(tuple); // early\nfor (String row : rows) collector.emit(tuple, new Values(row));",
        ["-collector.ack(tuple); // early", "+collector.ack(tuple);"],
    ),
}
TWEAKS = {"LF": str, "CRLF": lambda text: text.replace("\n", "\r\n"), "tabs": lambda text: text.replace("    ", "\t")}  # fmt: skip


@pytest.mark.parametrize("tweak", TWEAKS.values(), ids=TWEAKS)
@pytest.mark.parametrize(("body", "lines"), SHAPES.values(), ids=SHAPES)
def test_an_edit_fits_its_place(body, lines, tweak, tmp_path) -> None:
    text = tweak(source(body))
    assert changed(tmp_path, text) == lines
    after = (tmp_path / "Case.java").read_bytes().decode()
    assert after.count("\r\n") in (0, after.count("\n"))
    assert "\n    " not in after or "\n\t" not in after


HELPERS = {
    "a lambda with its name": "rows.forEach(tuple -> collector.emit(new Values(tuple)));",
    "a call on another instance": "collector.emit(new Values(row));\n        Case other = new Case();\n        other.send(row);",
    "a call of the outer class": "collector.emit(new Values(row));\n        new Thread() { public void run() { Case.this.send(row); } };",
}


@pytest.mark.parametrize("code", HELPERS.values(), ids=HELPERS)
def test_a_helper_that_cannot_take_the_input_stays(code, tmp_path) -> None:
    method = f"    private void send(String row) {{\n        {code}\n    }}\n"
    text = source("send(tuple.getString(0));\ncollector.ack(tuple);").removesuffix("}\n")
    assert changed(tmp_path, f"{text}{method}}}\n") == []


PACKAGES = {
    "org.apache.heron.api.bolt": "org.apache.heron.api.exception",
    "backtype.storm.topology": "backtype.storm.topology",
    "org.apache.storm.topology": "org.apache.storm.topology",
}


@pytest.mark.parametrize(("package", "failed"), PACKAGES.items(), ids=PACKAGES)
def test_a_basic_bolt_throws_the_exception_of_its_framework(package, failed, tmp_path) -> None:
    base = package if "heron" in package else f"{package}.base"
    root = re.sub(r"\.(?:bolt|topology)$", "", package)
    text = f"""import {package}.BasicOutputCollector;
import {base}.BaseBasicBolt;
import {root}.tuple.Tuple;

public class Case extends BaseBasicBolt {{
    private Table table;

    public void execute(Tuple tuple, BasicOutputCollector collector) {{
        try {{
            table.insert(tuple.getString(0));
        }} catch (Exception e) {{
            System.err.println("not stored");
        }}
    }}
}}
"""
    assert f"+import {failed}.FailedException;" in changed(tmp_path, text)
