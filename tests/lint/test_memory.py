"""A run with the memory of earlier runs reports what a run without one reports."""

import random
from pathlib import Path

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint.memory import Memory, Stopped
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Report

BASE = """\
from streamparse import Bolt


class Base(Bolt):
    auto_ack = auto_anchor = auto_fail = False

    def finish(self, tup):
        self.ack(tup)
"""
HEIR = """\
from base import Base


class Heir(Base):
    def process(self, tup):
        if tup.values:
            self.finish(tup)
"""
OTHER = HEIR.replace("Heir", "Other").replace("self.finish(tup)", "self.fail(tup)\n            self.ack(tup)")
JAVA = """\
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

public class A extends BaseRichBolt {
    public void execute(Tuple input) {
    }
}
"""
FLUX = "name: t\nspouts:\n  - {id: s, className: x.S}\nbolts:\n  - {id: b, className: x.B}\nstreams: []\n"
FILES = {
    "base.py": BASE,
    "heir.py": HEIR,
    "other.py": OTHER,
    "A.java": JAVA,
    "words.yaml": FLUX,
    "util.py": "x = 1\n",
}
EDITS = [
    ("heir.py", HEIR + "# more\n"),
    ("heir.py", HEIR + "        self.seen = tup\n\n    def more(self, tup):\n        self.fail(tup)\n"),
    ("base.py", BASE.replace("self.ack(tup)", "pass")),
    ("base.py", BASE.replace("(Bolt)", "(object)")),
    ("base.py", BASE),
    ("util.py", HEIR.replace("Heir", "Third")),
    ("other.py", "def (\n"),
    ("other.py", OTHER + "# ackdoctor: ignore[ACK101] unused\n"),
    ("A.java", JAVA.replace("{\n    }\n}", "{ throw new IllegalStateException(); }\n}")),
    ("words.yaml", FLUX.replace("streams: []", "streams:\n  - {from: s, to: b}")),
    ("new.py", HEIR.replace("Heir", "New")),
]


@pytest.fixture
def root(tmp_path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _run(root: Path, edited: dict[str, bytes], memory: Memory | None = None) -> Report:
    return lint([root], Settings(directory=root), root=root, edited=edited, memory=memory)


def test_after_each_edit_of_a_buffer_the_report_is_that_of_a_cold_run(root):
    memory, edited = Memory(), dict[str, bytes]()
    reports = [_run(root, {}, memory)]
    for name, text in EDITS:
        edited[name] = text.encode()
        memory.focus = str(root / name)
        focused = _run(root, edited, memory)
        memory.focus = ""
        reports.append(_run(root, edited, memory))
        if (root / name).exists():
            assert reports[-1] == _run(root, edited)
        assert {*_codes(focused, name)} <= {*_codes(reports[-1], name)}
    assert len(set(map(repr, reports))) > len(EDITS) // 2


WORDS = (("ack", "fail"), ("tup", "None"), ("self.", ""), ("False", "True"), ("Base", "Bolt"), ("1", "2"))


def _edited(chance: random.Random, text: str) -> str:
    """Insert, repeat, drop or indent a line, or replace a word."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    line = lines[at]
    old, new = chance.choice(WORDS)
    lines[at] = chance.choice(
        ("\n" + line, line + line, "", "    " + line, line.replace(old, new), line.replace(new or old, old))
    )
    return "".join(lines) or "\n"


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_are_reported_as_by_a_cold_run(root, seed):
    chance, memory, edited = random.Random(seed), Memory(), dict[str, bytes]()
    names = ("base.py", "heir.py", "other.py", "util.py")
    texts = {
        **FILES,
        "util.py": HEIR.replace("Heir", "Third").replace("base", "other").replace("Base", "Other"),
    }
    for _ in range(12):
        name = chance.choice(names)
        before = texts[name]
        texts[name] = _edited(chance, before if chance.random() < 0.7 else FILES[name])
        edited[name] = texts[name].encode()
        memory.focus = str(root / name)
        focused, is_partial = _run(root, edited, memory), memory.is_partial
        memory.focus = ""
        cold = _run(root, edited)
        assert _run(root, edited, memory) == cold
        assert is_partial or focused == cold


def _codes(report: Report, name: str) -> list[str]:
    return [each.code for each in report.findings if name in (each.site.path, each.home)]


def test_a_focused_run_is_exact_about_the_components_of_its_file(root):
    memory = Memory(focus=str(root / "heir.py"))
    report = _run(root, {}, memory)
    assert memory.is_partial
    assert _codes(report, "heir.py") == ["ACK101"]
    assert _codes(report, "other.py") == []


def test_a_file_without_relatives_makes_a_focused_run_complete(root):
    memory = Memory()
    before = _run(root, {}, memory)
    memory.focus = str(root / "A.java")
    assert _run(root, {"A.java": JAVA.encode() + b"// more\n"}, memory) == before
    assert not memory.is_partial


def test_a_new_file_on_disk_is_found_after_another_look(root):
    memory = Memory()
    before = _run(root, {}, memory)
    (root / "more.py").write_text(HEIR.replace("Heir", "More"), encoding="utf-8")
    (root / "other.py").write_text("", encoding="utf-8")
    assert _run(root, {}, memory) == before
    memory.found = None
    assert _run(root, {}, memory) == _run(root, {}) != before


def test_a_stopped_run_keeps_what_it_has_found(root):
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Stopped

    memory = Memory(stop=stop)
    with pytest.raises(Stopped):
        _run(root, {}, memory)
    assert _run(root, {}, memory) == _run(root, {})


def test_a_function_is_kept_while_it_is_the_same(root):
    memory, path = Memory(), str(root / "heir.py")

    def process(text: str) -> object:
        _run(root, {"heir.py": text.encode()}, memory)
        unit = memory.units[path][1].unit
        assert unit is not None
        return unit.classes["Heir"].methods["process"]

    one = process(HEIR + "        self.times = 1\n")
    more = process(HEIR + "        self.times = 1\n\n    def more(self, tup):\n        self.fail(tup)\n")
    true = process(HEIR + "        self.times = True\n")
    lower = process("\n" + HEIR + "        self.times = True\n")
    assert one is more
    assert len({one, true, lower}) == 3
