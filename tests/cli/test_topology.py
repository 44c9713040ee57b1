"""`ackdoctor topology`: arguments, exit codes and what goes where; the topologies are hand-made."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ackdoctor.model.finding import Report, Unreadable
from ackdoctor.model.topology import Gap, Judged, Place, Reason, Word
from ackdoctor.model.trace import RELIABLE, Event, EventKind
from ackdoctor.tracer.trace_files import line
from tests.cli.running import Shell
from tests.reporters.topologies import FROM_ARGUMENTS, verdict, words

Found = Callable[..., None]


@pytest.fixture
def found(monkeypatch) -> Found:
    """Let a lint run find these topologies."""

    def find(*topologies: Judged, unreadable: tuple[Unreadable, ...] = ()) -> None:
        report = Report(topologies=topologies, unreadable=unreadable, files=("src/words.py",))
        monkeypatch.setattr("ackdoctor.cli.topology.lint", lambda *_paths, **_how: report)

    return find


def settings(text: str) -> None:
    Path("ackdoctor.toml").write_text(text, encoding="utf-8")


def test_without_a_requirement_at_most_once_is_no_error(shell, found):
    found(words())
    code, out, err = shell("topology", ".")
    assert (code, err) == (0, "")
    assert out.startswith("WordCount: at most once. words emits without an id (src/words.py:36)")


def test_a_weaker_topology_fails_with_every_reason(shell, found):
    found(words(), words(verdict(Word.EXACTLY_ONCE), name="Other"))
    code, _, err = shell("topology", "--require", "at-least-once")
    assert code == 1
    assert err.splitlines() == [
        "topologies/words.py:9: error: WordCount: at most once; at least once is required",
        "src/words.py:36: error: words: emit without tup_id (spout-no-ids)",
        "src/count.py:51: error: count: counts are flushed by a tick (bolt-acks-before-effect)",
    ]


def test_unknown_does_not_meet_a_requirement(shell, found):
    found(words(verdict(Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE, gaps=[FROM_ARGUMENTS])))
    code, _, err = shell("topology", "--require", "at-least-once")
    assert code == 1
    assert "Main.java:41: error: unknown: ackers come from args[2]" in err


@pytest.mark.parametrize("word", ["at-most-once", "at-least-once"])
def test_an_equal_or_stronger_guarantee_meets_a_requirement(shell, found, word):
    found(words(verdict(Word.AT_LEAST_ONCE)))
    assert shell("topology", "--require", word).code == 0


def test_the_settings_can_require_a_guarantee_and_the_option_wins(shell, found):
    settings('[topology]\nrequire = "at-least-once"\n')
    found(words())
    assert shell("topology").code == 1
    assert shell("topology", "--require", "at-most-once").code == 0
    assert shell("topology", "--isolated").code == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[topology]\nrequire = "twice"\n', "must be one of at-most-once, at-least-once, exactly-once"),
        ("[topology]\nrequires = 1\n", "not 'requires'"),
        ('topology = "x"\n', "must be a table of `require`"),
        ('[topology]\nbest-effort-streams = "s"\n', "must be a list of strings"),
    ],
)
def test_wrong_settings_are_errors_with_their_line(shell, found, text, error):
    settings(text)
    found(words())
    code, _, err = shell("topology")
    assert code == 2
    assert err.startswith("ackdoctor: ")
    assert "ackdoctor.toml:1: `topology` " in err
    assert error in err


WORDS = """name: words
spouts:
  - {id: lines, className: app.LineSpout}
bolts:
  - {id: count, className: app.CountBolt}
  - {id: alert, className: app.AlertBolt}
streams:
  - {from: lines, to: count, grouping: {type: SHUFFLE}}
  - {from: count, to: alert, grouping: {type: SHUFFLE, streamId: late}}
"""
LINE_SPOUT = """package app;
import java.util.*;
import org.apache.storm.spout.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.*;
import org.apache.storm.topology.base.*;
import org.apache.storm.tuple.*;
public class LineSpout extends BaseRichSpout {
  private SpoutOutputCollector collector;
  private Map<Long, String> pending = new HashMap<>();
  public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) { this.collector = collector; }
  public void nextTuple() {
    long id = next();
    pending.put(id, read(id));
    collector.emit(new Values(pending.get(id)), id);
  }
  public void ack(Object id) { pending.remove(id); }
  public void fail(Object id) { collector.emit(new Values(pending.get(id)), id); }
}
"""
COUNT_BOLT = """package app;
import java.util.*;
import org.apache.storm.spout.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.*;
import org.apache.storm.topology.base.*;
import org.apache.storm.tuple.*;
public class CountBolt extends BaseRichBolt {
  private OutputCollector collector;
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
  public void execute(Tuple tuple) {
    collector.emit("late", new Values(tuple.getString(0)));
    collector.ack(tuple);
  }
}
"""
ALERT_BOLT = """package app;
import java.util.*;
import org.apache.storm.spout.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.*;
import org.apache.storm.topology.base.*;
import org.apache.storm.tuple.*;
public class AlertBolt extends BaseBasicBolt {
  public void execute(Tuple tuple, BasicOutputCollector collector) { System.out.println(tuple.getString(0)); }
}
"""


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "at-most-once"),
        ('[topology]\nbest-effort-streams = ["count:late"]\n', "at-least-once"),
        ('[topology]\nbest-effort-streams = ["count:default"]\n', "at-most-once"),
    ],
)
def test_the_settings_accept_loss_on_a_stream(shell, text, word):
    settings(text)
    Path("words.yaml").write_text(WORDS)
    for name, source in (("LineSpout", LINE_SPOUT), ("CountBolt", COUNT_BOLT), ("AlertBolt", ALERT_BOLT)):
        Path(f"{name}.java").write_text(source)
    (topology,) = json.loads(shell("topology", "--output-format", "json").out)["topologies"]
    assert topology["verdict"] == word, topology["gaps"]
    assert bool(topology["boundary"]) is (word == "at-least-once")


def test_no_topology_is_an_error_that_says_what_was_looked_for(shell, found):
    found()
    code, out, err = shell("topology", "src")
    assert (code, out) == (2, "")
    assert err.startswith("ackdoctor: no topology under src; looked for: Java or Python code")
    assert err.count("\n") == 1


def test_an_unreadable_file_is_named_and_the_rest_is_shown(shell, found):
    found(words(), unreadable=(Unreadable(path="flux.yaml", line=11, column=1, reason="not YAML"),))
    code, out, err = shell("topology")
    assert (code, err) == (2, "ackdoctor: flux.yaml:11: not YAML\n")
    assert "WordCount: at most once" in out


def test_a_topology_whose_file_does_not_parse_is_unreadable(shell, found):
    why = "expected <block end>"
    broken = Reason(fact="file-does-not-parse", place=Place("flux.yaml", 11), why=why, sure=False)
    gaps = [Gap(why, Place("flux.yaml", 11))]
    found(words(verdict(Word.AT_MOST_ONCE, Word.EXACTLY_ONCE, reasons=[broken], gaps=gaps)))
    code, out, err = shell("topology")
    assert (code, err) == (2, "ackdoctor: flux.yaml:11: expected <block end>\n")
    assert "It depends on flux.yaml:11" in out


def test_a_topology_is_selected_by_its_name(shell, found):
    found(words(), words(name="Other"))
    out = shell("topology", "--select", "Other").out
    assert out.startswith("Other: ")
    assert "WordCount:" not in out
    code, _, err = shell("topology", "--select", "WordCounts")
    assert (code, err) == (
        2,
        "ackdoctor: --select: no topology is called `WordCounts`; did you mean `WordCount`?\n",
    )


def test_the_weakest_branch_comes_first(shell, found):
    found(
        words(verdict(Word.AT_LEAST_ONCE), branch="args.length > 0"),
        words(verdict(Word.AT_MOST_ONCE), branch="args.length == 0"),
    )
    entries = json.loads(shell("topology", "--output-format", "json").out)["topologies"]
    assert [(entry["verdict"], entry["branch"]) for entry in entries] == [
        ("at-most-once", "args.length == 0"),
        ("at-least-once", "args.length > 0"),
    ]


@pytest.mark.parametrize(
    ("form", "start"),
    [("json", "{\n"), ("mermaid", "flowchart TB\n"), ("dot", "digraph "), ("html", "<!doctype html>\n")],
)
def test_each_format_goes_to_a_file(shell: Shell, found, form, start):
    found(words())
    assert shell("topology", "--output-format", form, "--output-file", "out") == (0, "", "")
    assert Path("out").read_text(encoding="utf-8").startswith(start)


def test_an_input_is_not_overwritten(shell, found):
    found(words())
    Path("src").mkdir()
    code, _, err = shell("topology", "--output-file", "src/words.py")
    assert (code, err) == (2, "ackdoctor: --output-file: src/words.py is an input; choose another file\n")


@pytest.mark.parametrize("arguments", [("--require", "always"), ("--output-format", "svg"), ("",)])
def test_wrong_arguments_are_errors(shell, found, arguments):
    found(words())
    code, out, err = shell("topology", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


# ---- the promise beside a run ----


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Write the trace of a spout whose second message fails, is emitted again and completes."""
    spout = Event(EventKind.EMITTED, 0, component="words", task=1, delivery="a", root=1, flags=RELIABLE)
    done = Event(EventKind.COMPLETED, 0, component="words", task=1, delivery="a", root=1)
    again = (spout._replace(delivery="b", root=root) for root in (2, 3))
    failed = done._replace(kind=EventKind.GAVE_UP, delivery="b", root=2)
    rows = [spout, done, next(again), failed, next(again), done._replace(delivery="b", root=3)]
    folder = tmp_path / "trace" / "v1" / "run=r" / "worker=w"
    folder.mkdir(parents=True)
    lines = (f"{line(row._replace(seq=seq, pid=1, run='r', worker='w'))}\n" for seq, row in enumerate(rows))
    (folder / "part-1-0.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path / "trace"


def test_a_report_has_the_guarantee_beside_the_run(shell, found, run):
    found(words(verdict(Word.AT_LEAST_ONCE)))
    out = shell("trace", "report", "--topology", "src", str(run)).out
    assert (
        "  WordCount (topologies/words.py:9) promises at least once; words: 1 of 2 messages failed or timed out, "
        "1 of them were emitted again; 0 lost\n"
    ) in out
    as_json = shell("trace", "report", "--topology", "src", "--output-format", "json", str(run)).out
    promise = json.loads(as_json)["run"]["promise"]
    assert promise["complete"] is True
    assert promise["topologies"][0]["verdict"] == "at-least-once"
    assert promise["outcomes"][0] | {"ids": 2, "lost": 0, "replayed": 1} == promise["outcomes"][0]
    outcome = shell("trace", "report", "--topology", "src", "--output-format", "concise", str(run))
    assert outcome.err.startswith("ackdoctor: WordCount (topologies/words.py:9) promises at least once; ")


def test_a_report_without_the_option_has_no_promise(shell, found, run):
    found(words())
    assert "promise" not in shell("trace", "report", "--output-format", "json", str(run)).out


def test_a_run_is_held_against_an_existing_topology_only(shell, found, run):
    found()
    code, _, err = shell("trace", "report", "--topology", "src", str(run))
    assert (code, err.startswith("ackdoctor: --topology: no topology under src; looked for: ")) == (2, True)
