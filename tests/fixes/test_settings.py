"""Fixes in topologies: the bound of the tuples in flight, also with the fix of a spout, and settings that are lost."""

import json

import pytest

from tests.cli.running import Shell
from tests.fixes.repairing import diff_of, prepare, repaired
from tests.fixes.test_java_spouts import spout

_SPOUT = """from streamparse import Spout


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self):
        self.emit(["word"])
"""
_TOPOLOGY = """from spouts import Words
from streamparse import Topology


class Count(Topology):
{}    words = Words.spec()
"""
_JAVA = spout('collector.emit(new Values("row" + next++));')
_RUN = """import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.TopologyBuilder;

public class Run {
    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("case", new Case());
        CONF
        StormSubmitter.submitTopology("rows", conf, builder.createTopology());
    }
}
"""
_MADE = _RUN.replace("CONF", "Config conf = new Config();")
_BOUND = '    config = {"topology.max.spout.pending": 1000}\n'


@pytest.mark.parametrize(
    ("before", "added"),
    [
        (_TOPOLOGY.format(""), [f"+{_BOUND[:-1]}"]),
        (
            _TOPOLOGY.format('    config = {"topology.workers": 2}\n'),
            [
                '-    config = {"topology.workers": 2}',
                '+    config = {"topology.max.spout.pending": 1000, "topology.workers": 2}',
            ],
        ),
        (_TOPOLOGY.format('    """Count."""\n\n'), [f"+{_BOUND[:-1]}"]),
    ],
    ids=["no config", "config", "docstring"],
)
def test_a_streamparse_topology_gets_the_bound(before, added, tmp_path) -> None:
    edited, left = repaired(tmp_path, {"spouts.py": _SPOUT, "topology.py": before}, unsafe=True)
    assert diff_of(before, edited["topology.py"].decode()) == added
    assert "tup_id=self.last_id" in edited["spouts.py"].decode()
    assert [each.code for each in left.findings] == ["ACK506"]  # nothing consumes the stream
    assert repaired(tmp_path, {}, unsafe=True)[0] == {}


def test_a_topology_with_a_bound_is_left_alone(tmp_path) -> None:
    edited, _ = repaired(
        tmp_path, {"spouts.py": _SPOUT, "topology.py": _TOPOLOGY.format(_BOUND)}, unsafe=True
    )
    assert sorted(edited) == ["spouts.py"]


def test_spout_and_topology_of_one_file(tmp_path) -> None:
    topology = _TOPOLOGY.format("").partition("\n")[2]
    before = f"{_SPOUT}\n\n{topology}"
    edited, _ = repaired(tmp_path, {"case.py": before}, unsafe=True)
    lines = diff_of(before, edited["case.py"].decode())
    assert f"+{_BOUND[:-1]}" in lines
    assert "+        self.emit(values, tup_id=self.last_id)" in lines


def test_a_java_topology_gets_the_bound(tmp_path) -> None:
    edited, left = repaired(tmp_path, {"Case.java": _JAVA, "Run.java": _MADE}, unsafe=True)
    assert diff_of(_MADE, edited["Run.java"].decode()) == ["+        conf.setMaxSpoutPending(1000);"]
    assert [each.code for each in left.findings] == ["ACK506"]  # nothing consumes the stream


def test_no_fix_if_the_bound_has_no_place(tmp_path) -> None:
    run = (
        _RUN.replace("CONF", "Config conf = Case.settings();")
        .replace("}\n}\n", "}\n    static Config settings() { return new Config(); }\n}\n")
        .replace("Case.settings", "settings")
    )
    edited, _ = repaired(tmp_path, {"Case.java": _JAVA, "Run.java": run}, unsafe=True)
    assert edited == {}


def test_the_fix_of_two_files_is_offered(tmp_path) -> None:
    repairs, report = prepare(tmp_path, {"Case.java": _JAVA, "Run.java": _MADE}, select=("ACK301",))
    fix = repairs.offer_all(report, unsafe=True).findings[0].fix
    assert fix is not None
    assert not fix.safe
    assert fix.title.endswith("; Add `conf.setMaxSpoutPending(1000);` in Run.java")
    assert [each.text.strip() for each in fix.edits if each.path] == ["conf.setMaxSpoutPending(1000);"]
    assert {each.path for each in fix.edits} == {"", "Run.java"}


def test_json_and_sarif_name_both_files(tmp_path, monkeypatch, capsys) -> None:
    for name, text in (("Case.java", _JAVA), ("Run.java", _MADE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = [
        "lint",
        "--isolated",
        "--no-cache",
        "--unsafe-fixes",
        "--select",
        "ACK301",
        "--min-severity",
        "info",
    ]
    shell = Shell(monkeypatch, capsys)
    (finding,) = json.loads(shell(*options, "--output-format", "json").out)["findings"]
    assert {edit.get("path") for edit in finding["fix"]["edits"]} == {None, "Run.java"}
    (result,) = json.loads(shell(*options, "--output-format", "sarif").out)["runs"][0]["results"]
    changes = result["fixes"][0]["artifactChanges"]
    assert [each["artifactLocation"]["uri"] for each in changes] == ["Case.java", "Run.java"]


_LOST = (
    _MADE.replace("conf, builder", "new HashMap<String, Object>(), builder")
    .replace("import org.apache.storm.Config;", "import java.util.HashMap;\nimport org.apache.storm.Config;")
    .replace("new Config();", "new Config();\n        conf.setNumWorkers(2);")
)


def test_the_configuration_with_the_settings_is_submitted(tmp_path) -> None:
    edited, left = repaired(tmp_path, {"Run.java": _LOST}, unsafe=True)
    assert diff_of(_LOST, edited["Run.java"].decode()) == [
        '-        StormSubmitter.submitTopology("rows", new HashMap<String, Object>(), builder.createTopology());',
        '+        StormSubmitter.submitTopology("rows", conf, builder.createTopology());',
    ]
    assert "ACK505" not in {each.code for each in left.findings}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("new HashMap<String, Object>(), builder", "other(), builder"),
        (
            "    }\n}",
            '        StormSubmitter.submitTopology("two", new Config(), builder.createTopology());\n    }\n}',
        ),
    ],
    ids=["another configuration", "two topologies"],
)
def test_the_right_configuration_may_be_unclear(old, new, tmp_path) -> None:
    edited, _ = repaired(tmp_path, {"Run.java": _LOST.replace(old, new)}, unsafe=True)
    assert edited == {}
