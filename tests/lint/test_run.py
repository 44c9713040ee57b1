"""From paths to a report, through the real frontend, solver and checks."""

import random

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint import analysis
from ackdoctor.lint.run import lint
from ackdoctor.model.errors import ConfigError
from ackdoctor.model.finding import stamp
from tests.lint.project import BASE, BOLT, CLEAN, JAVA_BOLT, lines, linted, printed, write

FAILS = BOLT.replace("        self.ack(tup)\n", "        self.fail(tup)\n", 1)  # ACK106 in line 9


def many(count: int) -> dict[str, str]:
    return {f"bolts/b{number:02}.py": (BOLT, CLEAN, FAILS)[number % 3] for number in range(count)}


def test_a_report_lists_findings_by_place_and_counts_components(tmp_path):
    write(
        tmp_path, {"src/b.py": BOLT, "src/a.py": FAILS, "src/clean.py": CLEAN, "src/other.py": "import os\n"}
    )
    report = linted(tmp_path)
    assert lines(report) == ["src/a.py:9 ACK106", "src/b.py:9 ACK103"]
    assert report.files == ("src/a.py", "src/b.py", "src/clean.py", "src/other.py")
    assert (report.components, report.unreadable, report.suppressed) == (3, (), 0)


def test_rules_are_selected_by_code_start_and_name(tmp_path):
    write(tmp_path, {"a.py": FAILS, "b.py": BOLT})
    assert lines(linted(tmp_path, settings=Settings(select=("ACK103",)))) == ["b.py:9 ACK103"]
    assert lines(linted(tmp_path, settings=Settings(ignore=("ACK1",)))) == []
    assert lines(linted(tmp_path, settings=Settings(ignore=("ack-and-fail",)))) == ["b.py:9 ACK103"]


def test_per_file_ignores_start_where_the_settings_lie(tmp_path):
    write(tmp_path, {"p/old/a.py": BOLT, "p/new/a.py": BOLT})
    settings = Settings(per_file_ignores={"/old/": ("ACK103",)}, directory=tmp_path / "p")
    assert lines(linted(tmp_path, settings=settings)) == ["p/new/a.py:9 ACK103"]


def test_a_comment_silences_a_finding_and_an_idle_one_is_reported(tmp_path):
    silenced = BOLT[:-1] + "  # ackdoctor: ignore[ACK103] the broker counts\n"
    write(tmp_path, {"a.py": silenced, "b.py": "x = 1  # ackdoctor: ignore[ACK103] nothing here\n"})
    report = linted(tmp_path)
    assert lines(report) == ["b.py:1 ACK901"]
    assert report.suppressed == 1


def test_a_bolt_is_told_of_a_fault_that_it_inherits_from_a_file_not_asked_for(tmp_path):
    child = "from base import CountBolt\n\n\nclass Child(CountBolt):\n    pass\n"
    write(tmp_path, {"base.py": BOLT, "child.py": child, "other.py": "from base import CountBolt\n"})
    assert lines(linted(tmp_path, "child.py")) == ["base.py:9 ACK103"]
    assert lines(linted(tmp_path, "base.py")) == ["base.py:9 ACK103"]
    assert lines(linted(tmp_path, "other.py")) == []


def test_a_comment_in_a_base_speaks_for_the_bolt_that_is_asked_for(tmp_path):
    child = "from base import CountBolt\n\n\nclass Child(CountBolt):\n    pass\n"
    silenced = BOLT[:-1] + "  # ackdoctor: ignore[ACK103] the broker counts\n"
    idle = "x = 1  # ackdoctor: ignore[ACK101] nothing here\n"
    write(tmp_path, {"base.py": silenced + idle, "child.py": child})
    report = linted(tmp_path, "child.py")
    assert (lines(report), report.suppressed) == ([], 1)
    assert lines(linted(tmp_path)) == ["base.py:10 ACK901"]


def test_a_comment_in_a_named_file_is_not_called_idle_for_its_heirs_may_need_it(tmp_path):
    base = BASE + "\n    def process(self, tup):\n        self.count(tup)\n        self.ack(tup)"
    counts = (
        "from base import Base\n\n\nclass Heir(Base):\n    def count(self, tup):\n        self.ack(tup)\n"
    )
    reason, none = "  # ackdoctor: ignore[ACK103] heirs ack\n", "  # ackdoctor: ignore[ACK103]\n"
    write(tmp_path, {"base.py": base + reason, "heir.py": counts})
    assert lines(linted(tmp_path)) == []
    assert lines(linted(tmp_path, "base.py")) == []
    write(tmp_path, {"base.py": base + none, "heir.py": counts.replace("self.ack", "self.log")})
    assert lines(linted(tmp_path, "base.py")) == ["base.py:9 ACK901"]  # it has no reason, whoever needs it
    write(tmp_path, {"base.py": base + reason})
    assert lines(linted(tmp_path)) == ["base.py:9 ACK901"]
    assert (
        lines(linted(tmp_path, ".", "base.py"))
        == lines(linted(tmp_path, "base.py", "."))
        == ["base.py:9 ACK901"]
    )


def test_a_fault_that_many_inherit_is_said_once(tmp_path):
    child = "from base import CountBolt\n\n\nclass Child{0}(CountBolt):\n    pass\n"
    write(tmp_path, {"base.py": BOLT, **{f"c{n}.py": child.format(n) for n in range(3)}})
    report = linted(tmp_path)
    assert lines(report) == ["base.py:9 ACK103"]
    assert report.components == 4


def test_an_inherited_fault_has_one_fingerprint_whichever_heirs_there_are(tmp_path):
    child = "from base import CountBolt\n\n\nclass {0}(CountBolt):\n    pass\n"
    write(tmp_path, {"base.py": BOLT, "c.py": child.format("Child"), "b.py": child.format("Brother")})
    ways = [("base.py",), ("c.py",), ("b.py",), (".",)]
    stamped = [stamp(linted(tmp_path, *paths).findings) for paths in ways]
    assert {tuple(finding.fingerprint for finding in found) for found in stamped} == {
        (stamped[0][0].fingerprint,)
    }


def test_standard_input_is_linted_as_if_it_stood_there(tmp_path):
    base = "from streamparse import Bolt\n\n\nclass Base(Bolt):\n    auto_ack = False\n"
    child = "from base import Base\n\n\nclass C(Base):\n    def process(self, tup):\n        self.ack(tup)\n        self.ack(tup)\n"
    write(tmp_path, {"src/base.py": base, "src/child.py": "on disk\n"})
    report = lint([], Settings(), root=tmp_path, stdin=("src/child.py", child.encode()))
    assert lines(report) == ["src/child.py:7 ACK103"]
    assert report.files == ("src/child.py",)


def test_the_report_does_not_depend_on_order_or_jobs(tmp_path, monkeypatch):
    write(tmp_path, many(12))
    alone = linted(tmp_path)
    assert len(alone.findings) == 8
    names = list(many(12))
    random.Random(1).shuffle(names)
    monkeypatch.setattr(analysis, "_WORTH_WORKERS", 0)
    steps: list[tuple[int, int]] = []
    assert linted(tmp_path, *names, jobs=2) == alone
    assert linted(tmp_path, jobs=3, progress=lambda done, total: steps.append((done, total))) == alone
    assert steps[-1] == (12, 12)


@pytest.mark.slow
def test_workers_that_start_from_nothing_say_the_same(tmp_path, monkeypatch):
    write(tmp_path, many(4))
    monkeypatch.setattr(analysis, "_WORTH_WORKERS", 0)
    monkeypatch.setattr(analysis, "_start_method", lambda: "spawn")
    assert linted(tmp_path, jobs=2) == linted(tmp_path)


def test_an_unknown_version_of_a_dialect_is_a_wrong_setting(tmp_path):
    write(tmp_path, {"a.py": ""})
    with pytest.raises(ConfigError, match="unknown dialect 'storrm'"):
        linted(tmp_path, settings=Settings(dialect_version={"storrm": "1"}))


def test_an_older_dialect_judges_by_its_own_rules(tmp_path):
    source = "from streamparse.bolt import Bolt\n\n\nclass B(Bolt):\n    def process(self, tup):\n        self.ack(tup)\n"
    write(tmp_path, {"a.py": source})
    assert lines(linted(tmp_path)) == ["a.py:6 ACK105"]
    assert lines(linted(tmp_path, settings=Settings(dialect_version={"streamparse": "0.0"}))) == []


def test_a_tree_without_components_loads_no_parser(tmp_path):
    write(tmp_path, {f"m{number}.py": "import os\nclass A(dict):\n    pass\n" for number in range(300)})
    script = (
        "r = lint([root], Settings(), root=root);"
        "print(len(r.files), sorted({'libcst', 'multiprocessing', 'ackdoctor.checks', 'pathspec'} & set(sys.modules)))"
    )
    assert printed(tmp_path, script).split(maxsplit=1) == ["300", "[]\n"]


def test_nothing_of_the_programs_outlives_the_run(tmp_path):
    write(tmp_path, {"a.py": BOLT, "CountBolt.java": JAVA_BOLT})
    script = (
        "import gc; from ackdoctor.model.component import Function;"
        "found = lint([root], Settings(), root=root).findings; gc.collect();"
        "print(len(found), sum(type(kept) is Function for kept in gc.get_objects()))"
    )
    assert printed(tmp_path, script) == "2 0\n"
