"""All bytes outside of the edits stay: line ends, tabs, encodings, byte order marks, comments."""

import codecs
from errno import ENOSPC

import pytest

from tests.fixes.repairing import prepare, repaired

BOLT = """from streamparse import Bolt


class EnrichBolt(Bolt):  # caf\u00e9

    def process(self, tup):
        word = tup.values[0]  # one
        self.emit([ word ] ,
            anchors=tup , )   # caf\u00e9
        self.ack(tup)  # by hand
        self.log("x")   # tail
"""
FIXED = BOLT.replace("anchors=tup ,", "anchors=[tup] ,").replace("        self.ack(tup)  # by hand\n", "")


@pytest.mark.parametrize(
    "change",
    [
        str.encode,
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("        ", "\t\t").replace("    ", "\t").encode(),
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: f"# -*- coding: latin-1 -*-\n{text}".encode("latin-1"),
        lambda text: text.replace("word", "w\u00f6rd").rstrip("\n").encode(),
        lambda text: f"{text}        print >>self.out, `word` <> 07L\n".encode(),
        lambda text: (
            f'{text}        print "done"\n'.replace("        ", "\t\t").replace("    ", "\t").encode()
        ),
    ],
    ids=["plain", "crlf", "cr", "tabs", "mark", "latin-1", "no last line end", "python 2", "python 2, tabs"],
)
def test_only_the_edits_change(change, tmp_path) -> None:
    assert repaired(tmp_path, {"a.py": change(BOLT)})[0] == {"a.py": change(FIXED)}
    assert (tmp_path / "a.py").read_bytes() == change(FIXED)


JAVA = """package bolts;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

public class SplitBolt extends BaseRichBolt {
    private OutputCollector collector;

    @Override
    public void prepare(java.util.Map conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void execute(Tuple input) {
        if (input.getString(0).isEmpty()) collector.fail(input); // caf\u00e9
        collector.emit( "words", new Values(input.getString(0) /* first */));
        collector.ack(input);
    }
}
"""


@pytest.mark.parametrize(
    "change",
    [str.encode, lambda text: text.replace("\n", "\r\n").encode(), lambda text: text.encode("latin-1")],
    ids=["plain", "crlf", "latin-1"],
)
def test_only_the_edits_change_in_java(change, tmp_path) -> None:
    fixed = JAVA.replace("collector.fail(input);", "{ collector.fail(input); return; }")
    fixed = fixed.replace('"words", new', '"words", input, new')
    assert repaired(tmp_path, {"SplitBolt.java": change(JAVA)})[0] == {"SplitBolt.java": change(fixed)}


def test_a_file_that_this_python_cannot_parse_is_left_alone_with_a_sentence(tmp_path, monkeypatch) -> None:
    repairs, report = prepare(tmp_path, {"a.py": BOLT})
    monkeypatch.setattr("ackdoctor.fixes.python_tree.tree", lambda _: None)  # syntax that only libcst knows
    repairs.fix(report, unsafe=True)
    assert (repairs.after, repairs.refused) == ({}, {"a.py": "it has a syntax error"})


TWO = """from streamparse import Bolt


class Enrich(Bolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        self.emit([tup.values[0]], anchors=tup)
        self.ack(tup)
"""


def test_fixes_at_one_place_are_applied_one_after_the_other(tmp_path) -> None:
    edited, left = repaired(tmp_path, {"a.py": TWO}, unsafe=True)
    assert left.findings == ()
    assert edited["a.py"].decode() == TWO.replace("anchors=tup", "anchors=[tup]").replace(
        "        self.ack(tup)\n", "", 1
    )


def test_a_write_that_fails_leaves_the_file_whole(tmp_path, monkeypatch) -> None:
    repairs, report = prepare(tmp_path, {"a.py": TWO})
    repairs.fix(report, unsafe=True)

    def full(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert not repairs.write()
    assert repairs.refused == {"a.py": "No space left on device"}
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.py", TWO)]
