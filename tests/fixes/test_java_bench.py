"""Fixed Java files compile where the files before did, and their components complete each input once and lose nothing."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from ackdoctor.fixes import FIXES
from tests.advice.test_fixes import PAIRS
from tests.differential.conftest import jars_of
from tests.fixes.java_bench import Bench, write_sources
from tests.fixes.repairing import prepare, repaired
from tests.fixes.test_java_spouts import TRACKED
from tests.rule_cases import cases_by_code

pytestmark = [pytest.mark.java, pytest.mark.minutes]

_MARKER = re.compile(r"[ \t]*// (?:expect|price|todo).*$", re.MULTILINE)
_FIXTURES = Path(__file__).parents[2] / "fixtures" / "topologies"
_CODES = ("ACK101", "ACK102", "ACK106", "ACK109", "ACK201", "ACK202", "ACK301", "ACK302", "ACK303", "ACK304")


@pytest.fixture(scope="module")
def bench(pytestconfig) -> Bench:
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} on the path")
    return Bench(f"{jars_of(pytestconfig, 'storm-client', '2.8.3')}/*")


def _projects() -> dict[str, dict[str, str]]:
    """Return the Java fixtures, the help texts before their fix, and the Java cases of rules with Java fixes."""
    found = {
        f"{kind}-{folder.name}": {
            file.relative_to(folder).as_posix(): file.read_bytes().decode() for file in folder.rglob("*.java")
        }
        for kind in ("storm_java", "backtype_storm", "heron_java")
        for folder in sorted((_FIXTURES / kind).iterdir())
    }
    found |= {pair.name: {"Case.java": pair.before} for pair in PAIRS if pair.language == "java"}
    for code in FIXES:
        cases = [case for case in cases_by_code().get(code, ()) if case.language == "java"]
        for number, case in enumerate(cases if code in _CODES else cases[:1]):
            found[f"{code}-{number}"] = {file.name: file.text for file in case.files}
    return found


def test_a_file_that_compiles_compiles_after_each_kind_of_fix(bench, tmp_path) -> None:
    folders: dict[str, Path] = {}
    fixed: list[tuple[str, str]] = []
    for number, (name, texts) in enumerate(_projects().items()):
        files = {each: _MARKER.sub("", text) for each, text in texts.items()}
        for kind in ("safe", "unsafe"):
            base = tmp_path / f"{number}-{kind}"
            repairs, report = prepare(base / "project", files)
            repairs.fix(report, unsafe=kind == "unsafe")
            if repairs.after:
                after = files | {path: data.decode() for path, data in repairs.after.items()}
                folders[f"{name} before"] = write_sources(base / "before", files)
                folders[f"{name} {kind}"] = write_sources(base / "after", after)
                fixed.append((name, kind))
    errors = bench.errors(folders)
    new = {
        (name, kind): Counter(errors[f"{name} {kind}"]) - Counter(errors[f"{name} before"])
        for name, kind in fixed
    }
    assert {key: each for key, each in new.items() if each} == {}
    assert (
        sum(not errors[f"{name} before"] for name, _ in fixed) > 20
    )  # outside classes keep the others from it


HEAD = """import java.util.*;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

"""
TABLE = """import java.util.*;

public class Table {
    public static final List<String> WRITTEN = new ArrayList<>();

    boolean insert(String row) {
        if (row.startsWith("bad")) {
            throw new IllegalStateException(row);
        }
        return !row.startsWith("no") && WRITTEN.add(row);
    }
}
"""
RICH = """public class Case extends BaseRichBolt {
    private OutputCollector collector;
    private final Table table = new Table();

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("row"));
    }

"""
BOLTS = {
    "ACK101 a catch": """    @Override
    public void execute(Tuple tuple) {
        try {
            if (!table.insert(tuple.getString(0))) throw new IllegalStateException();
            collector.ack(tuple);
        } catch (RuntimeException e) {
            System.err.println("not stored");
        }
    }
}
""",
    "ACK101 a branch": """    @Override
    public void execute(Tuple tuple) {
        if (table.insert(tuple.getString(0))) {
            collector.ack(tuple);
        }
    }
}
""",
    "ACK101 a write that says no": """    @Override
    public void execute(Tuple tuple) {
        if (tuple.getString(0).isEmpty()) {
            return;
        }
        if (!table.insert(tuple.getString(0))) return;
        collector.ack(tuple);
    }
}
""",
    "ACK101 no ack at all": """    @Override
    public void execute(Tuple tuple) {
        try {
            collector.emit(tuple, new Values(tuple.getString(0).trim()));
        } catch (RuntimeException e) {
            return;
        }
    }
}
""",
    "ACK102 an ack in a finally": """    @Override
    public void execute(Tuple tuple) {
        try {
            if (tuple.getString(0).isEmpty()) return;
            if (!table.insert(tuple.getString(0))) throw new IllegalStateException();
        } catch (Exception e) {
            System.err.println("not stored");
        } finally {
            collector.ack(tuple);
        }
    }
}
""",
    "ACK102 an ack behind a catch": """    @Override
    public void execute(Tuple tuple) {
        try {
            if (!table.insert(tuple.getString(0))) throw new IllegalStateException();
        } catch (Exception e) {
            System.err.println("not stored");
        }
        collector.ack(tuple);
    }
}
""",
    "ACK106 a fail without a return": """    @Override
    public void execute(Tuple tuple) {
        if (!table.insert(tuple.getString(0))) collector.fail(tuple);
        collector.ack(tuple);
    }
}
""",
    "ACK106 an ack before what may raise": """    @Override
    public void execute(Tuple tuple) {
        try {
            collector.ack(tuple);
            collector.emit(tuple, new Values(tuple.getString(0).trim()));
            table.insert(tuple.getString(0));
        } catch (RuntimeException e) {
            collector.fail(tuple);
        }
    }
}
""",
    "ACK109 a tick": """    @Override
    public void execute(Tuple tuple) {
        collector.emit(tuple, new Values(Integer.parseInt(tuple.getStringByField("row"))));
        collector.ack(tuple);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.tick.tuple.freq.secs", 10);
        return conf;
    }
}
""",
    "ACK201 a lambda and a helper": """    @Override
    public void execute(final Tuple tuple) {
        List<String> rows = Arrays.asList(tuple.getString(0).split(" "));
        rows.forEach(row -> collector.emit(new Values(row)));
        send(tuple.getString(0));
        collector.ack(tuple);
    }

    private <T> void send(final T row) {
        collector.emit(new Values(row));
    }
}
""",
    "ACK201 overloads": """    @Override
    public void execute(Tuple tuple) {
        Object row = tuple.getString(0).isEmpty() ? Integer.valueOf(0) : tuple.getString(0);
        if (row instanceof Integer) {
            send((Integer) row);
        } else {
            send((String) row);
        }
        collector.ack(tuple);
    }

    void send(Integer row) {
        collector.emit(new Values(row));
    }

    void send(String row) {
        for (String each : row.split(" ")) {
            send(each, 1);
        }
    }

    private void send(String row, int copies) {
        collector.emit(new Values(row));
    }
}
""",
    "ACK202 an ack before the emit": """    @Override
    public void execute(Tuple tuple) {
        collector.ack(tuple);
        for (String row : tuple.getString(0).split(" ")) {
            collector.emit(tuple, new Values(row));
        }
    }
}
""",
}
BASIC = """public class Case extends BaseBasicBolt {
    private final Table table = new Table();

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        try {
            if (!table.insert(tuple.getString(0))) throw new IllegalStateException();
        } catch (Exception e) {
            System.err.println("not stored");
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) { }
}
"""
SPOUT = """public class Case extends BaseRichSpout {
    private SpoutOutputCollector collector;
    private final Map<Object, Values> pending = new HashMap<>();
    private int next;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void nextTuple() {
        Values row = new Values("row" + next);
        Object id = next++;
        pending.put(id, row);
        collector.emit(row, id);
    }

    @Override
    public void fail(Object id) {
        collector.emit(pending.get(id), id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("row"));
    }
}
"""
VALUES = ("a row", "7", "bad row", "no row", "null", "", "8")
TICKS = ("7", "tick", "8", "tick", "row")
_EMIT = re.compile(r"emit \[(.*)\] anchored to \[(.*)\]")


def _wrong(calls: list[str], values: tuple[str, ...]) -> list[str]:
    """Return what is wrong with a run; an input may be without work only if it is empty, null or a tick.

    An input on which the handler dies, so that its worker does, is replayed.
    """
    found = []
    emits = [match.groups() for call in calls if (match := _EMIT.fullmatch(call))]
    written = [call.removeprefix("written ") for call in calls if call.startswith("written ")]
    found += [f"{row} is not anchored" for row, anchors in emits if not anchors]
    for at, value in enumerate(values):
        name = f"t{at}"
        acks, fails = calls.count(f"ack {name}"), calls.count(f"fail {name}")
        died = any(call.startswith(f"died {name} ") for call in calls)
        if (acks + fails != 1 and not died and value != "tick") or acks + fails > 1 or (died and acks):
            found.append(f"{value!r}: {acks} acks, {fails} fails{', died' if died else ''}")
        done = any(value in row for row in written) or any(name in anchors for _, anchors in emits)
        if acks and not done and value not in ("", "null", "tick"):
            found.append(f"{value!r} is lost")
        if value == "tick" and died:
            found.append("a tick kills the worker")
        late = [i for i, call in enumerate(calls) if call.startswith("emit") and name in call]
        if acks and late and late[-1] > calls.index(f"ack {name}"):
            found.append(f"{value!r} is emitted after its ack")
    return found


def test_fixed_components_complete_each_input_once_and_lose_nothing(bench, tmp_path) -> None:
    sources = {name: HEAD + RICH + body for name, body in BOLTS.items()}
    sources |= {"ACK102 a basic bolt": HEAD + BASIC, "ACK303 a spout": HEAD + SPOUT}
    requests: list[tuple[str, ...]] = []
    for number, (name, text) in enumerate(sources.items()):
        edited, _ = repaired(tmp_path / f"project-{number}", {"Case.java": text}, unsafe=True)
        assert edited, name
        values = TICKS if "ACK109" in name else ("ack", "fail", "ack", "ack") if "ACK303" in name else VALUES
        for kind, code in (("before", text), ("after", edited["Case.java"].decode())):
            folder = write_sources(tmp_path / f"{kind}-{number}", {"Case.java": code, "Table.java": TABLE})
            requests += (("compile", str(folder)), ("run", str(folder), "Case", *values))
    answers = bench.ask(requests)
    assert answers[::2] == [[]] * len(answers[::2])
    runs = zip(sources, requests[1::4], answers[1::4], answers[3::4], strict=True)
    faults = {}
    for name, request, before, after in runs:
        if "ACK303" in name:
            assert "kept pending 4" in before
            faults[name] = [call for call in after if call.startswith("kept")]
        else:
            assert _wrong(before, request[3:])
            faults[name] = _wrong(after, request[3:])
    assert {name: each for name, each in faults.items() if each} == {}


REPLAYS = ("fail", "fail", "ack", "fail", "fail", "fail", "fail", "ack", "ack")
_MOST = 4  # emits of one record


def test_fixed_spouts_replay_what_fails_a_few_times_and_keep_nothing(bench, tmp_path) -> None:
    requests: list[tuple[str, ...]] = []
    for number, (name, (_, text)) in enumerate(TRACKED.items()):
        edited, _ = repaired(tmp_path / f"project-{number}", {"Case.java": text}, unsafe=True)
        assert edited, name
        folder = write_sources(tmp_path / f"after-{number}", {"Case.java": edited["Case.java"].decode()})
        requests += (("compile", str(folder)), ("run", str(folder), "Case", *REPLAYS))
    answers = bench.ask(requests)
    assert answers[::2] == [[]] * len(answers[::2])
    for name, calls in zip(TRACKED, answers[1::2], strict=True):
        emits = Counter(call for call in calls if call.startswith("emit"))
        assert (name, [call for call in calls if call.startswith("kept")]) == (name, [])
        assert (name, max(emits.values()) in (3, _MOST), min(emits.values())) == (name, True, 1)
