"""A class that looks like a bolt or a spout and has an unknown base is named: no findings does not mean clean."""

import json
import re
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from tests.cli.running import BOLT
from tests.lint.project import lines, lint_project, write

PYTHON = """\
from acme.topologies import AcmeBolt


class CountBolt(AcmeBolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        self.ack(tup)
"""
SPOUT = """\
from acme import topologies


class WordSpout(topologies.AcmeSpout):
    def next_tuple(self):
        self.emit(["word"])
"""
JAVA = """\
package com.acme.words;

import org.apache.storm.tuple.Tuple;
import com.acme.storm.AcmeBolt;

public class CountBolt extends AcmeBolt {
    private OutputCollector collector;
    public void execute(Tuple input) { System.out.println(input); }
}
"""
JAVA_SPOUT = """\
package com.acme.words;

public class WordSpout extends AcmeSpout {
    public void nextTuple() { emit(new Values("word", new Tuple())); }
}
"""


@pytest.mark.parametrize(
    ("name", "source", "warning"),
    [
        (
            "bolts.py",
            PYTHON,
            "bolts.py:4: CountBolt has process(self, tup) and was not analysed: its base acme.topologies.AcmeBolt is "
            'unknown. If it is a component, add "acme.topologies.AcmeBolt" = "streamparse.Bolt" to extra-bases in '
            "the settings",
        ),
        (
            "spouts.py",
            SPOUT.replace("from acme", "from pystorm.component import Tuple\nfrom acme"),
            "spouts.py:5: WordSpout has next_tuple(self) and was not analysed: its base acme.topologies.AcmeSpout is "
            'unknown. If it is a component, add "acme.topologies.AcmeSpout" = "pystorm.Spout" to extra-bases in '
            "the settings",
        ),
        (
            "CountBolt.java",
            JAVA,
            "CountBolt.java:6: CountBolt has execute(Tuple input) and was not analysed: its base com.acme.storm.AcmeBolt "
            'is unknown. If it is a component, add "com.acme.storm.AcmeBolt" = '
            '"org.apache.storm.topology.base.BaseRichBolt" to extra-bases in the settings',
        ),
        (
            "WordSpout.java",
            JAVA_SPOUT,
            "WordSpout.java:3: WordSpout has nextTuple() and was not analysed: its base com.acme.words.AcmeSpout "
            'is unknown. If it is a component, add "com.acme.words.AcmeSpout" = '
            '"org.apache.storm.topology.base.BaseRichSpout" to extra-bases in the settings',
        ),
    ],
)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another component"])
def test_an_unknown_base_is_named_below_the_summary(shell, name, source, warning, beside):
    Path(name).write_text(source)
    if beside:
        Path("other.py").write_text(BOLT)
    outcome = shell("lint", "--no-cache", "--output-format", "concise", ".")
    found = "1 finding (1 error) in 2 files, 1 component" if beside else "no findings in 1 file, 0 components"
    assert (outcome.code, outcome.err) == (int(beside), "")
    assert outcome.out.splitlines()[-2:] == [
        found,
        warning,
    ]


@pytest.mark.parametrize("more", [["-q"], ["--output-format", "sarif"], ["--output-format", "github"]])
def test_without_a_summary_unknown_bases_go_to_standard_error(shell, more):
    Path("bolts.py").write_text(PYTHON)
    outcome = shell("lint", "--no-cache", *more, ".")
    assert outcome.code == 0
    assert outcome.err.startswith(
        "ackdoctor: bolts.py:4: CountBolt has process(self, tup) and was not analysed"
    )


def test_json_and_the_cache_hold_unknown_bases(shell):
    Path("bolts.py").write_text(PYTHON)
    for cache in ([], [], ["--no-cache"]):
        document = json.loads(shell("lint", "--output-format", "json", *cache, ".").out)
        assert document["unknown_bases"] == [
            {
                "path": "bolts.py",
                "line": 4,
                "class": "CountBolt",
                "handler": "process(self, tup)",
                "base": "acme.topologies.AcmeBolt",
                "suggestion": "streamparse.Bolt",
            }
        ]


@pytest.mark.parametrize(("name", "source"), [("b.py", PYTHON), ("s.py", SPOUT), ("CountBolt.java", JAVA)])
def test_the_suggested_setting_makes_it_a_component(shell, name, source):
    Path(name).write_text(source)
    printed = shell("lint", "--no-cache", ".").out
    entry = re.search(r'"[\w.]+" = "[\w.]+"', printed)
    assert entry is not None
    Path("ackdoctor.toml").write_text(f"[extra-bases]\n{entry[0]}\n")
    assert "1 file, 1 component" in shell("lint", "--no-cache", ".").out
    assert "was not analysed" not in shell("lint", "--no-cache", ".").out


@pytest.mark.parametrize(
    "source",
    [
        "class Worker:\n    def process(self, tup):\n        self.ack(tup)\n",
        "import threading\nclass Worker(threading.Thread):\n    def process(self, tup):\n        pass\n",
        "from acme import Base\nclass Worker(Base):\n    def process(self, record):\n        record.save()\n",
        "from acme import Base\nclass Worker(Base):\n    def process(self, tup, more):\n        pass\n",
        "from acme import Base\nclass Worker(Base):\n    def process(self, tup):\n        raise NotImplementedError\n",
        "from acme import Base\nclass Worker(Base):\n    def handle(self, tup):\n        self.process(tup)\n",
        "from streamparse import Bolt\nfrom acme import Base\nclass Worker(Base, Bolt):\n    def process(self, tup):\n        pass\n",
    ],
)
def test_a_class_that_need_not_be_a_component_is_not_named(tmp_path, source):
    write(tmp_path, {"worker.py": source})
    assert lint_project(tmp_path).unknown_bases == ()


def test_a_base_in_another_file_is_not_unknown(tmp_path):
    write(
        tmp_path,
        {
            "acme/topologies.py": "from streamparse import Bolt\nclass AcmeBolt(Bolt):\n    pass\n",
            "b.py": PYTHON,
        },
    )
    report = lint_project(tmp_path)
    assert (lines(report), report.unknown_bases) == (["b.py:9 ACK103"], ())
    assert lint_project(tmp_path, "b.py").unknown_bases == ()


def test_a_setting_may_give_the_last_part_of_the_name(tmp_path):
    write(tmp_path, {"b.py": PYTHON})
    settings = Settings(extra_bases={"AcmeBolt": "streamparse.Bolt"})
    report = lint_project(tmp_path, settings=settings)
    assert (lines(report), report.unknown_bases) == (["b.py:9 ACK103"], ())
