"""`ackdoctor lint --fix`, `--unsafe-fixes`, `--diff` and `--fix-only`."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from ackdoctor.lint import repair
from tests.cli.running import BOLT, CLEAN

SICK = """from streamparse import Bolt


class EnrichBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        if not tup.values[0]:
            self.fail(tup)
        self.emit([tup.values[0]], anchors=tup)  # the word
        self.ack(tup)
"""
FIXED = SICK.replace("self.fail(tup)\n", "self.fail(tup)\n            return\n").replace(
    "anchors=tup)", "anchors=[tup])"
)


def test_fix_writes_the_files_and_reports_what_is_left(shell):
    Path("a.py").write_text(SICK)
    Path("b.py").write_text(BOLT)
    outcome = shell("lint", "--fix", "--output-format", "concise")
    assert Path("a.py").read_text() == FIXED
    assert Path("b.py").read_text() == BOLT
    assert outcome.code == 1
    assert [line for line in outcome.out.splitlines() if line.startswith("a.py")] == []
    assert (
        outcome.err
        == "ackdoctor: fixed 3 findings (1 ACK106, 1 ACK202, 1 ACK204); 1 fix is available with --unsafe-fixes\n"
    )


def test_fix_exits_0_if_nothing_is_left_and_changes_nothing_the_second_time(shell):
    Path("a.py").write_text(SICK)
    assert shell("lint", "--fix").code == 0
    before = Path("a.py").stat().st_mtime_ns
    assert shell("lint", "--fix").err == "ackdoctor: fixed 0 findings\n"
    assert Path("a.py").stat().st_mtime_ns == before


def test_diff_writes_nothing_and_exits_1_if_there_is_a_fix(shell):
    Path("a.py").write_text(SICK)
    outcome = shell("lint", "--diff")
    assert (outcome.code, Path("a.py").read_text()) == (1, SICK)
    assert "-        self.emit([tup.values[0]], anchors=tup)  # the word\n" in outcome.out
    assert outcome.err == "ackdoctor: would fix 3 findings (1 ACK106, 1 ACK202, 1 ACK204)\n"
    Path("a.py").write_text(CLEAN)
    assert shell("lint", "--diff") == (0, "", "ackdoctor: would fix 0 findings\n")


def test_unsafe_fixes_are_applied_only_on_request(shell):
    Path("b.py").write_text(BOLT)
    assert shell("lint", "--fix-only")[:2] == (0, "")
    assert Path("b.py").read_text() == BOLT
    assert shell("lint", "--fix", "--unsafe-fixes").code == 0
    assert Path("b.py").read_text() == BOLT.replace(
        "            return", "            self.ack(tup)\n            return"
    )


def test_the_settings_turn_fixes_on_and_the_options_turn_them_off(shell):
    Path("ackdoctor.toml").write_text("fix = true\nunsafe-fixes = true\n")
    Path("b.py").write_text(BOLT)
    assert shell("lint", "--no-fix").code == 1
    assert shell("lint", "--no-unsafe-fixes").code == 1
    shell("lint", "--show-files")
    assert Path("b.py").read_text() == BOLT
    assert shell("lint").code == 0
    assert Path("b.py").read_text() != BOLT


def test_standard_input_is_fixed_on_standard_output(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SICK.replace("\n", "\r\n").encode())))
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    shell("lint", "--fix", "--stdin-filename", "a.py", "-")
    assert out.buffer.getvalue() == FIXED.replace("\n", "\r\n").encode()


def test_json_and_sarif_hold_the_safe_fixes(shell):
    Path("a.py").write_text(SICK)
    Path("b.py").write_text(BOLT)
    found = json.loads(shell("lint", "--output-format", "json").out)["findings"]
    assert {f["code"]: f["fix"] and f["fix"]["title"] for f in found} == {
        "ACK101": None,
        "ACK202": "Return after `self.fail(tup)`",
        "ACK106": "Return after `self.fail(tup)`",
        "ACK204": "Pass `anchors=[tup]`",
    }
    edit = {"line": 10, "column": 44, "end_line": 10, "end_column": 47, "text": "[tup]"}
    assert next(f["fix"]["edits"] for f in found if f["code"] == "ACK204") == [edit]
    results = json.loads(shell("lint", "--output-format", "sarif", "--unsafe-fixes").out)["runs"][0][
        "results"
    ]
    change = next(r for r in results if r["ruleId"] == "ACK101")["fixes"][0]
    assert change["description"]["text"].endswith("(unsafe)")
    assert change["artifactChanges"][0]["artifactLocation"]["uri"] == "b.py"


def test_a_fix_is_not_made_for_a_rule_that_was_not_asked_for(shell):
    Path("a.py").write_text(SICK)
    shell("lint", "--fix", "--select", "ACK204")
    assert Path("a.py").read_text() == SICK.replace("anchors=tup)", "anchors=[tup])")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_a_read_only_file_is_left_alone(shell):
    Path("a.py").write_text(SICK)
    Path("a.py").chmod(0o444)
    outcome = shell("lint", "--fix")
    assert (outcome.code, Path("a.py").read_text()) == (1, SICK)
    assert "ackdoctor: a.py: not fixed: it is read-only\n" in outcome.err


def test_a_symbolic_link_is_left_alone(shell, tmp_path_factory):
    target = tmp_path_factory.mktemp("elsewhere") / "a.py"
    target.write_text(SICK)
    Path("a.py").symlink_to(target)
    outcome = shell("lint", "--fix", "a.py")
    assert (outcome.code, target.read_text(), Path("a.py").is_symlink()) == (1, SICK, True)
    assert "ackdoctor: a.py: not fixed: it is a symbolic link; name its target\n" in outcome.err


def test_a_file_below_a_symbolic_link_is_left_alone(shell, tmp_path_factory):
    target = tmp_path_factory.mktemp("elsewhere") / "deep" / "a.py"
    target.parent.mkdir()
    target.write_text(SICK)
    Path("link").symlink_to(target.parent.parent)
    outcome = shell("lint", "--fix")
    assert (outcome.code, target.read_text()) == (1, SICK)
    assert (
        "ackdoctor: link/deep/a.py: not fixed: it is below a symbolic link; name the target\n" in outcome.err
    )


def test_a_file_that_changes_during_the_run_is_left_alone(shell, monkeypatch):
    Path("a.py").write_text(SICK)
    write = repair.Repairs.write

    def late(repairs: repair.Repairs) -> bool:
        Path("a.py").write_text(SICK + "# edited\n")
        return write(repairs)

    monkeypatch.setattr(repair.Repairs, "write", late)
    outcome = shell("lint", "--fix")
    assert (outcome.code, Path("a.py").read_text()) == (1, SICK + "# edited\n")
    assert "ackdoctor: a.py: not fixed: it changed during the run\n" in outcome.err


def test_options_that_write_something_else_exclude_a_fix(shell):
    outcome = shell("lint", "--fix", "--fix-only")
    assert (outcome.code, outcome.err) == (2, "ackdoctor: --fix and --fix-only exclude each other\n")
