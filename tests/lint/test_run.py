"""From paths to a report, through the real frontend, solver and checks."""

import random

import pytest

from ackdoctor.config import Settings
from ackdoctor.lint import analysis
from ackdoctor.lint.run import lint
from ackdoctor.model import ConfigError
from ackdoctor.model.finding import stamp
from ackdoctor.rulebook import Catalogue, catalogue
from tests.lint.project import BASE, BOLT, CLEAN, JAVA_BOLT, lines, lint_project, output_of, write

FAILS = BOLT.replace("        self.ack(tup)\n", "        self.fail(tup)\n", 1)  # ACK106 in line 9


def many(count: int) -> dict[str, str]:
    return {f"bolts/b{number:02}.py": (BOLT, CLEAN, FAILS)[number % 3] for number in range(count)}


def test_a_report_lists_findings_by_place_and_counts_components(tmp_path):
    write(
        tmp_path, {"src/b.py": BOLT, "src/a.py": FAILS, "src/clean.py": CLEAN, "src/other.py": "import os\n"}
    )
    report = lint_project(tmp_path)
    assert lines(report) == ["src/a.py:9 ACK106", "src/b.py:9 ACK103"]
    assert report.files == ("src/a.py", "src/b.py", "src/clean.py", "src/other.py")
    assert (report.components, report.unreadable, report.suppressed) == (3, (), 0)


def test_rules_are_selected_by_code_start_and_name(tmp_path):
    write(tmp_path, {"a.py": FAILS, "b.py": BOLT})
    assert lines(lint_project(tmp_path, settings=Settings(select=("ACK103",)))) == ["b.py:9 ACK103"]
    assert lines(lint_project(tmp_path, settings=Settings(ignore=("ACK1",)))) == []
    assert lines(lint_project(tmp_path, settings=Settings(ignore=("ack-and-fail",)))) == ["b.py:9 ACK103"]


def test_per_file_ignores_start_at_the_settings_file(tmp_path):
    write(tmp_path, {"p/old/a.py": BOLT, "p/new/a.py": BOLT})
    settings = Settings(per_file_ignores={"/old/": ("ACK103",)}, directory=tmp_path / "p")
    assert lines(lint_project(tmp_path, settings=settings)) == ["p/new/a.py:9 ACK103"]


def test_per_file_ignores_apply_by_glob_and_selector(tmp_path):
    write(tmp_path, {"tests/a.py": BOLT, "src/a.py": BOLT})
    settings = Settings(per_file_ignores={"tests/**": ("ACK1",), "src/**": ("ACK2",)}, directory=tmp_path)
    assert lines(lint_project(tmp_path, settings=settings)) == ["src/a.py:9 ACK103"]


def test_a_comment_silences_a_finding_and_an_unused_one_is_reported(tmp_path):
    silenced = BOLT[:-1] + "  # ackdoctor: ignore[ACK103] the broker counts\n"
    write(tmp_path, {"a.py": silenced, "b.py": "x = 1  # ackdoctor: ignore[ACK103] nothing here\n"})
    report = lint_project(tmp_path)
    assert lines(report) == ["b.py:1 ACK901"]
    assert report.suppressed == 1


def test_a_run_over_one_bolt_reports_a_fault_in_its_base_class(tmp_path):
    child = "from base import CountBolt\n\n\nclass Child(CountBolt):\n    pass\n"
    write(tmp_path, {"base.py": BOLT, "child.py": child, "other.py": "from base import CountBolt\n"})
    assert lines(lint_project(tmp_path, "child.py")) == ["base.py:9 ACK103"]
    assert lines(lint_project(tmp_path, "base.py")) == ["base.py:9 ACK103"]
    assert lines(lint_project(tmp_path, "other.py")) == []


def test_a_comment_in_a_base_class_silences_a_run_over_one_bolt(tmp_path):
    child = "from base import CountBolt\n\n\nclass Child(CountBolt):\n    pass\n"
    silenced = BOLT[:-1] + "  # ackdoctor: ignore[ACK103] the broker counts\n"
    idle = "x = 1  # ackdoctor: ignore[ACK101] nothing here\n"
    write(tmp_path, {"base.py": silenced + idle, "child.py": child})
    report = lint_project(tmp_path, "child.py")
    assert (lines(report), report.suppressed) == ([], 1)
    assert lines(lint_project(tmp_path)) == ["base.py:10 ACK901"]


def test_a_comment_in_a_named_file_is_not_unused_since_a_subclass_may_need_it(tmp_path):
    base = BASE + "\n    def process(self, tup):\n        self.count(tup)\n        self.ack(tup)"
    counts = (
        "from base import Base\n\n\nclass Heir(Base):\n    def count(self, tup):\n        self.ack(tup)\n"
    )
    reason, none = "  # ackdoctor: ignore[ACK103] heirs ack\n", "  # ackdoctor: ignore[ACK103]\n"
    write(tmp_path, {"base.py": base + reason, "heir.py": counts})
    assert lines(lint_project(tmp_path)) == []
    assert lines(lint_project(tmp_path, "base.py")) == []
    write(tmp_path, {"base.py": base + none, "heir.py": counts.replace("self.ack", "self.log")})
    assert lines(lint_project(tmp_path, "base.py")) == ["base.py:9 ACK901"]  # it has no reason
    write(tmp_path, {"base.py": base + reason})
    assert lines(lint_project(tmp_path)) == ["base.py:9 ACK901"]
    assert (
        lines(lint_project(tmp_path, ".", "base.py"))
        == lines(lint_project(tmp_path, "base.py", "."))
        == ["base.py:9 ACK901"]
    )


def test_a_fault_that_several_components_inherit_is_reported_once(tmp_path):
    child = "from base import CountBolt\n\n\nclass Child{0}(CountBolt):\n    pass\n"
    write(tmp_path, {"base.py": BOLT, **{f"c{n}.py": child.format(n) for n in range(3)}})
    report = lint_project(tmp_path)
    assert lines(report) == ["base.py:9 ACK103"]
    assert report.components == 4


def test_the_fingerprint_of_an_inherited_fault_does_not_depend_on_the_subclass(tmp_path):
    child = "from base import CountBolt\n\n\nclass {0}(CountBolt):\n    pass\n"
    write(tmp_path, {"base.py": BOLT, "c.py": child.format("Child"), "b.py": child.format("Brother")})
    ways = [("base.py",), ("c.py",), ("b.py",), (".",)]
    stamped = [stamp(lint_project(tmp_path, *paths).findings) for paths in ways]
    assert {tuple(finding.fingerprint for finding in found) for found in stamped} == {
        (stamped[0][0].fingerprint,)
    }


def test_standard_input_is_linted_as_the_file_of_its_name(tmp_path):
    base = "from streamparse import Bolt\n\n\nclass Base(Bolt):\n    auto_ack = False\n"
    child = "from base import Base\n\n\nclass C(Base):\n    def process(self, tup):\n        self.ack(tup)\n        self.ack(tup)\n"
    write(tmp_path, {"src/base.py": base, "src/child.py": "on disk\n"})
    report = lint([], Settings(), root=tmp_path, stdin=("src/child.py", child.encode()))
    assert lines(report) == ["src/child.py:7 ACK103"]
    assert report.files == ("src/child.py",)


def test_the_report_does_not_depend_on_order_or_jobs(tmp_path, monkeypatch):
    write(tmp_path, many(12))
    alone = lint_project(tmp_path)
    assert len(alone.findings) == 8
    names = list(many(12))
    random.Random(1).shuffle(names)
    monkeypatch.setattr(analysis, "_WORTH_WORKERS", 0)
    steps: list[tuple[int, int]] = []
    assert lint_project(tmp_path, *names, jobs=2) == alone
    assert lint_project(tmp_path, jobs=3, progress=lambda done, total: steps.append((done, total))) == alone
    assert steps[-1] == (12, 12)


@pytest.mark.slow
def test_spawned_workers_report_the_same(tmp_path, monkeypatch):
    write(tmp_path, many(4))
    monkeypatch.setattr(analysis, "_WORTH_WORKERS", 0)
    monkeypatch.setattr(analysis, "_start_method", lambda: "spawn")
    assert lint_project(tmp_path, jobs=2) == lint_project(tmp_path)


def test_an_unknown_dialect_is_a_wrong_setting(tmp_path):
    write(tmp_path, {"a.py": ""})
    with pytest.raises(ConfigError, match="unknown dialect 'storrm'"):
        lint_project(tmp_path, settings=Settings(dialect_version={"storrm": "1"}))


def test_an_older_dialect_judges_by_its_own_rules(tmp_path):
    source = "from streamparse.bolt import Bolt\n\n\nclass B(Bolt):\n    def process(self, tup):\n        self.ack(tup)\n"
    write(tmp_path, {"a.py": source})
    assert lines(lint_project(tmp_path)) == ["a.py:6 ACK105"]
    assert lines(lint_project(tmp_path, settings=Settings(dialect_version={"streamparse": "0.0"}))) == []


def test_a_tree_without_components_loads_no_parser(tmp_path):
    write(tmp_path, {f"m{number}.py": "import os\nclass A(dict):\n    pass\n" for number in range(300)})
    script = (
        "r = lint([root], Settings(), root=root);"
        "print(len(r.files), sorted({'libcst', 'multiprocessing', 'ackdoctor.checks'} & set(sys.modules)))"
    )
    assert output_of(tmp_path, script).split(maxsplit=1) == ["300", "[]\n"]


def test_a_run_frees_its_programs(tmp_path):
    write(tmp_path, {"a.py": BOLT, "CountBolt.java": JAVA_BOLT})
    script = (
        "import gc; from ackdoctor.model.cfg import Function;"
        "found = lint([root], Settings(), root=root).findings; gc.collect();"
        "print(len(found), sum(type(kept) is Function for kept in gc.get_objects()))"
    )
    assert output_of(tmp_path, script) == "2 0\n"


def test_a_new_wording_keeps_the_fingerprints(tmp_path, monkeypatch):
    write(tmp_path, {"a.py": BOLT})
    before = stamp(lint_project(tmp_path).findings)

    def reworded(code: str) -> Catalogue:
        found = catalogue(code)
        cases = {
            name: words._replace(message=f"now: {words.message}", note="here")
            for name, words in found.cases.items()
        }
        return found._replace(cases=cases)

    monkeypatch.setattr("ackdoctor.rulebook.catalogue", reworded)
    after = stamp(lint_project(tmp_path).findings)
    assert [finding.message for finding in after] == [f"now: {finding.message}" for finding in before]
    assert [finding.fingerprint for finding in after] == [finding.fingerprint for finding in before]
