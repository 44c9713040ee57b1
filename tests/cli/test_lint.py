"""`ackdoctor lint` from arguments to exit code, over real files."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from ackdoctor.dialects import load
from tests.cli.running import BOLT, CLEAN
from tests.lint.project import write
from tests.rule_pages import load_metadata


def codes(text: str) -> list[str]:
    return [f"{f['path']}:{f['line']} {f['code']}" for f in json.loads(text)["findings"]]


def test_a_clean_project_exits_0(shell):
    Path("bolt.py").write_text(CLEAN)
    assert shell("lint") == (0, "no findings in 1 file, 1 component\n", "")


def test_findings_exit_1(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--output-format", "concise", ".")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines()[0].startswith(
        "bolt.py:9:13: ACK101 missing-ack `tup` leaves EnrichBolt.process"
    )
    assert outcome.out.splitlines()[-1] == "1 finding (1 error) in 1 file, 1 component"


def test_the_full_screen_is_the_default(shell):
    Path("bolt.py").write_text(BOLT)
    lines = shell("lint").out.splitlines()
    assert lines[0].startswith("bolt.py:9:13  error ACK101 missing-ack  ")
    assert lines[1].split() == ["|", "tuple"]
    assert lines[2].startswith("    7 | def process(self, tup):")
    assert any(line.startswith("      |         ^^^^^^") for line in lines)


def test_exit_zero_hides_findings_from_the_exit_code_only(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--exit-zero", "--output-format", "json")
    assert (outcome.code, codes(outcome.out)) == (0, ["bolt.py:9 ACK101"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "ackdoctor: nowhere: no such file or directory\n"),
        (["."], "ackdoctor: no Python or Java file and no topology under .\n"),
        (["--config", "x.toml", "--isolated"], "ackdoctor: --config and --isolated exclude each other\n"),
        (["--config", "x.toml"], "ackdoctor: x.toml: cannot be read: No such file or directory\n"),
        (["--quiet", "--verbose"], "ackdoctor: --quiet and --verbose exclude each other\n"),
        (["--statistics", "--show-files"], "ackdoctor: --statistics and --show-files exclude each other\n"),
        (
            ["--write-baseline", "--output-file", "x"],
            "ackdoctor: --write-baseline and --output-file exclude each other\n",
        ),
        (["-", "."], "ackdoctor: PATHS: - (standard input) cannot be combined with other paths\n"),
        (["--stdin-filename", "x.py"], "ackdoctor: --stdin-filename needs - (standard input) as the path\n"),
        (
            ["--output-format", "srif"],
            "ackdoctor: --output-format: 'srif' is not one of full, concise, json, json-lines, sarif, github, gitlab, junit; "
            "did you mean `sarif`?\n",
        ),
        (
            ["--min-severity", "bad"],
            "ackdoctor: --min-severity: 'bad' is not one of info, warning, error\n",
        ),
        (["--select", "ACK999"], "ackdoctor: --select: no rule is called `ACK999`; did you mean `ACK901`?\n"),
        (
            ["--ignore", "mising-ack"],
            "ackdoctor: --ignore: no rule is called `mising-ack`; did you mean `missing-ack`?\n",
        ),
        (
            ["--baseline", "b.json"],
            "ackdoctor: b.json: no such file; --write-baseline creates it\n",
        ),
        (
            ["--write-baseline"],
            "ackdoctor: --write-baseline needs --baseline FILE, or `baseline` in the settings\n",
        ),
    ],
)
def test_a_fatal_error_is_one_line_and_exits_2(shell, monkeypatch, arguments, message):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    outcome = shell("lint", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == message


def test_an_unknown_option_exits_2(shell):
    outcome = shell("lint", "--nope")
    assert (outcome.code, outcome.out) == (2, "")
    assert "no such option: --nope" in outcome.err


def test_a_wrong_setting_names_file_line_and_key(shell):
    Path("bolt.py").write_text(BOLT)
    Path("pyproject.toml").write_text('[tool.ackdoctor]\nselct = ["ACK101"]\n')
    outcome = shell("lint")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "ackdoctor: pyproject.toml:2: unknown key `selct`; did you mean `select`?\n"


def test_an_unknown_rule_is_reported_at_the_file_that_names_it(shell):
    Path("bolt.py").write_text(BOLT)
    Path("ackdoctor.toml").write_text('[per-file-ignores]\n"*.py" = ["doubel-ack"]\n')
    outcome = shell("lint")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: ackdoctor.toml:2: no rule is called `doubel-ack`; did you mean `double-ack`?\n",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[extra-bases]\n"corp.Bolt" = "streamparse.Blot"\n',
            ":2: extra-bases: no framework has a class `streamparse.Blot`; did you mean `streamparse.Bolt`?",
        ),
        (
            '[dialect-version]\nstrom = "1"\n',
            ":2: dialect-version: unknown dialect 'strom'; known are "
            + ", ".join(dialect.name for dialect in load()),
        ),
        (
            '[dialect-version]\nstreamparse = "99"\n',
            ":2: dialect-version: no streamparse 99 is known; described are 0 to 5",
        ),
    ],
)
def test_an_unknown_framework_is_reported_at_the_file_that_names_it(shell, text, message):
    Path("bolt.py").write_text(BOLT)
    Path("ackdoctor.toml").write_text(text)
    outcome = shell("lint")
    assert (outcome.code, outcome.err) == (2, f"ackdoctor: ackdoctor.toml{message}\n")


def test_the_line_of_a_wrong_rule_is_in_our_table(shell):
    Path("bolt.py").write_text(BOLT)
    Path("pyproject.toml").write_text(
        '[tool.ruff]\nselect = ["XYZ7"]\n[tool.ackdoctor]\nselect = [\n  "XYZ7",\n]\n'
    )
    assert shell("lint").err == "ackdoctor: pyproject.toml:5: no rule is called `XYZ7`\n"


def test_a_settings_file_above_the_working_folder_is_named_in_full(shell, monkeypatch):
    Path("deep").mkdir()
    Path("deep/bolt.py").write_text(BOLT)
    Path("ackdoctor.toml").write_text('select = ["XYZ7"]\n')
    where = Path("ackdoctor.toml").resolve()
    monkeypatch.chdir("deep")
    assert shell("lint").err == f"ackdoctor: {where}:1: no rule is called `XYZ7`\n"


def test_select_names_the_broken_page_instead_of_another_rule(shell, monkeypatch):
    Path("bolt.py").write_text(BOLT)
    rest = {code: rule for code, rule in load_metadata().items() if code != "ACK103"}
    trouble = "ACK103-double-ack.md:6: not TOML: invalid value"
    monkeypatch.setattr("ackdoctor.rulebook.survey", lambda: (rest, (trouble,)))
    outcome = shell("lint", "--select", "ACK103")
    assert (outcome.code, outcome.err) == (
        2,
        f"ackdoctor: --select: no rule is called `ACK103`, or its page is broken: {trouble}\n",
    )


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
@pytest.mark.parametrize("value", ["", " , "])
def test_an_empty_option_is_ignored(shell, option, value):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", option, value)
    assert (outcome.code, outcome.err) == (
        2,
        f"ackdoctor: {option}: no rule is named; `ackdoctor rules` lists them\n",
    )


def test_a_notebook_is_not_called_clean(shell):
    Path("notebook.ipynb").write_text('{"cells": []}')
    outcome = shell("lint", "notebook.ipynb")
    assert outcome.code == 2
    assert outcome.err == "ackdoctor: notebook.ipynb: a notebook; only Python and Java source is read\n"


def test_settings_come_from_the_folder_of_the_paths(shell):
    Path("a").mkdir()
    Path("a/bolt.py").write_text(BOLT)
    Path("a/ackdoctor.toml").write_text('ignore = ["missing-ack"]\n')
    assert shell("lint", "a").code == 0
    assert shell("lint", "a", "--isolated").code == 1
    assert shell("lint", "a", "--select", "ACK1").code == 1  # starts afresh


def test_a_broken_file_is_reported_and_the_rest_is_linted(shell):
    Path("bolt.py").write_text(BOLT)
    Path("broken.py").write_text("from streamparse import Bolt\nclass B(Bolt:\n    pass\n")
    outcome = shell("lint", "--output-format", "json")
    assert outcome.code == 1
    assert codes(outcome.out) == ["bolt.py:9 ACK101"]
    assert [entry["path"] for entry in json.loads(outcome.out)["unreadable"]] == ["broken.py"]
    assert re.fullmatch(
        r"ackdoctor: broken\.py:[23]:\d+: .+\n", outcome.err
    )  # the position depends on Python's parser


def test_a_broken_file_that_is_named_exits_2(shell):
    Path("broken.py").write_text("from streamparse import Bolt\nclass B(Bolt:\n    pass\n")
    assert shell("lint", "broken.py").code == 2
    assert shell("lint", "--strict-files", ".").code == 2
    assert shell("lint", "--strict-files", "--exit-zero", ".").code == 2


@pytest.mark.parametrize(
    ("name", "text", "place"), [("a.py", "def f(:\n", "a.py:1:7"), ("A.java", "class A {\nvoid f({}\n}\n", "A.java:2:")]
)  # fmt: skip
def test_syntax_errors_without_a_framework_count_in_named_files_only(shell, name, text, place):
    write(Path(), {name: text, "old.py": "print 'Python 2'\n", "ok.py": "pattern = '\\d'\n"})
    named = shell("lint", name, "old.py", "ok.py")
    assert (named.code, named.err.count("\n")) == (2, 1)
    assert named.err.startswith(f"ackdoctor: {place}")
    assert shell("lint", ".")[::2] == (0, "")


def test_a_run_with_a_broken_file_is_never_clean(shell):
    Path("broken.py").write_text("from streamparse import Bolt\nclass B(Bolt:\n    pass\n")
    assert shell("lint", ".").code == 2
    Path("bolt.py").write_text(BOLT)
    assert shell("lint", ".").code == 1
    assert shell("lint", "--exit-zero", ".").code == 2
    assert shell("lint", "--write-baseline", "--baseline", "known.json", ".").code == 2


def test_a_broken_link_has_nothing_to_read(shell):
    Path(".#bolt.py").symlink_to("user@host.1234")
    Path("healthy.py").write_text("from streamparse import Bolt\n")
    outcome = shell("lint", ".")
    assert (outcome.code, outcome.err) == (0, "ackdoctor: .#bolt.py: a broken symbolic link\n")


def test_standard_input_is_linted_under_its_name(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BOLT.encode())))
    outcome = shell("lint", "-", "--stdin-filename", "src/enrich.py")
    assert outcome.code == 1
    assert outcome.out.startswith("src/enrich.py:9:13  error ACK101 missing-ack")
    assert "    8 |     if not tup.values[0]:" in outcome.out


def test_a_report_goes_to_a_file(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--output-format", "sarif", "--output-file", "report.sarif")
    assert outcome == (1, "", "")
    run = json.loads(Path("report.sarif").read_text())["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["ACK101"]
    rule = run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]
    assert (rule["id"], rule["help"]["markdown"].splitlines()[0]) == ("ACK101", "# missing-ack (ACK101)")


def test_a_report_that_cannot_be_written_exits_2(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--output-file", "none/report.txt")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: --output-file: none/report.txt cannot be written: No such file or directory\n",
    )


def test_an_empty_path_is_not_the_current_folder(shell):
    Path("bolt.py").write_text(BOLT)
    assert shell("lint", "") == (
        2,
        "",
        "ackdoctor: PATHS: the path is empty; write `.` for the current directory\n",
    )


def test_a_report_overwrites_no_file_that_is_read(shell):
    Path("bolt.py").write_text(BOLT)
    for paths in ([], ["bolt.py"]):
        outcome = shell("lint", "--output-file", "bolt.py", *paths)
        assert outcome == (2, "", "ackdoctor: --output-file: bolt.py is an input; choose another file\n")
    assert Path("bolt.py").read_text() == BOLT


@pytest.mark.parametrize("name", ["known.json", "ackdoctor.toml", "shared/base.py"])
def test_a_report_overwrites_no_settings_or_baseline(shell, name):
    base = "from streamparse import Bolt\n\n\nclass Base(Bolt):\n    auto_ack = False\n"
    write(
        Path(),
        {
            "shared/base.py": base,
            "bolt.py": BOLT.replace("from streamparse import Bolt", "from shared.base import Base as Bolt"),
            "known.json": '{"version": 1, "findings": []}',
            "ackdoctor.toml": 'baseline = "known.json"\n',
        },
    )
    was = Path(name).read_text()
    outcome = shell("lint", "--output-file", name, "bolt.py")
    assert outcome == (2, "", f"ackdoctor: --output-file: {name} is an input; choose another file\n")
    assert Path(name).read_text() == was


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_report_that_finds_the_disk_full_exits_2(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--output-file", "/dev/full")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: --output-file: /dev/full cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("target", [".", "..", "../sub"])
@pytest.mark.parametrize(("text", "code"), [(CLEAN, 0), (BOLT, 1)])
def test_a_link_that_leads_back_up_changes_no_exit_code(shell, monkeypatch, tmp_path, target, text, code):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    Path("bolt.py").write_text(text)
    Path("up").symlink_to(target)
    outcome = shell("lint", "--no-cache", ".")
    assert (outcome.code, outcome.err) == (
        code,
        "ackdoctor: up: a symbolic link that leads back to a directory above it\n",
    )


def test_a_link_loop_is_named(shell):
    Path("loop.py").symlink_to("loop.py")
    outcome = shell("lint", "loop.py")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: loop.py: a symbolic link that leads back to itself\n",
    )


def test_statistics_count_by_rule(shell):
    Path("bolt.py").write_text(BOLT)
    assert shell("lint", "--statistics").out == (
        "1  ACK101  missing-ack\n1 finding (1 error) in 1 file, 1 component\n"
    )
    outcome = shell("lint", "--statistics", "--output-format", "json")
    assert json.loads(outcome.out) == {"statistics": [{"code": "ACK101", "name": "missing-ack", "count": 1}]}
    assert shell("lint", "--statistics", "--output-format", "sarif").err == (
        "ackdoctor: --statistics: the format sarif is not available; use full, concise or json\n"
    )


def test_show_files_lists_the_files(shell):
    Path("b.py").write_text(BOLT)
    Path("a.py").write_text("x = 1\n")
    assert shell("lint", "--show-files").out == "a.py\nb.py\n"


def test_quiet_prints_only_findings(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--quiet", "--output-format", "concise")
    assert len(outcome.out.splitlines()) == 1


def test_verbose_says_which_settings_are_used(shell, cache):
    Path("bolt.py").write_text(CLEAN)
    outcome = shell("lint", "--verbose")
    assert outcome.err == "ackdoctor: settings: none\nackdoctor: 1 file, 1 component\n"


def test_a_baseline_hides_known_findings_and_reports_fixed_ones(shell):
    Path("bolt.py").write_text(BOLT)
    outcome = shell("lint", "--baseline", "known.json", "--write-baseline")
    assert outcome == (0, "", "ackdoctor: known.json: 1 accepted, 1 of them new, 0 fixed\n")
    outcome = shell("lint", "--baseline", "known.json")
    assert outcome == (0, "no findings in 1 file, 1 component · 1 in the baseline\n", "")
    Path("bolt.py").write_text("# one line more\n" + BOLT)
    assert shell("lint", "--baseline", "known.json").code == 0
    Path("bolt.py").write_text(CLEAN)
    outcome = shell("lint", "--baseline", "known.json")
    assert (outcome.code, outcome.err.splitlines()) == (
        0,
        [
            "ackdoctor: baseline: no longer occurs: bolt.py: ACK101 EnrichBolt.process",
            "ackdoctor: baseline: drop these entries with --write-baseline",
        ],
    )
    outcome = shell("lint", "--baseline", "known.json", "--write-baseline")
    assert outcome.err == "ackdoctor: known.json: 0 accepted, 0 of them new, 1 fixed\n"


@pytest.mark.parametrize("arguments", ["a.py", "--select=ACK103", "--min-severity=error", "."])
def test_writing_a_baseline_preserves_entries_of_unselected_rules(shell, arguments):
    mild = "\n\nclass Loose(Bolt):\n    auto_anchor = False\n\n    def process(self, tup):\n        self.emit([1])\n"
    for name in ("a.py", "b.py"):
        Path(name).write_text(BOLT + mild)
    assert shell("lint", "--baseline", "known.json", "--write-baseline").err.endswith(
        "4 accepted, 4 of them new, 0 fixed\n"
    )
    known = Path("known.json").read_text()
    if arguments == ".":
        Path("b.py").write_text(BOLT + "def (\n")
    outcome = shell("lint", "--baseline", "known.json", "--write-baseline", arguments)
    assert outcome.err.endswith("ackdoctor: known.json: 4 accepted, 0 of them new, 0 fixed\n")
    assert Path("known.json").read_text() == known


def test_a_comment_silences_and_an_unused_one_is_reported(shell):
    source = BOLT.replace(
        "            return\n", "            return  # ackdoctor: ignore[ACK101] dropped on purpose\n"
    )
    Path("bolt.py").write_text(source)
    assert shell("lint") == (0, "no findings in 1 file, 1 component · 1 suppressed by comments\n", "")
    Path("bolt.py").write_text(source.replace("ACK101", "ACK103"))
    assert codes(shell("lint", "--output-format", "json").out) == ["bolt.py:9 ACK101", "bolt.py:9 ACK901"]


def test_thresholds_hide_and_the_footer_counts(shell):
    Path("bolt.py").write_text(BOLT.replace("return\n", "return  # ackdoctor: ignore[ACK101]\n"))
    outcome = shell("lint", "--min-severity", "error")
    assert outcome.out == (
        "no findings in 1 file, 1 component · 1 hidden by --min-severity or --min-confidence"
        " · 1 suppressed by comments\n"
    )


def test_the_environment_forces_and_disables_colours(shell, monkeypatch):
    Path("bolt.py").write_text(BOLT)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31merror\x1b[0m" in shell("lint").out
    assert "\x1b" not in shell("lint", "--output-format", "github").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shell("lint").out


def test_a_baseline_counts_in_a_cached_run(shell, cache):
    Path("bolt.py").write_text(BOLT)
    first = shell("lint", "--output-format", "concise")
    assert first.code == 1
    assert len(list(cache.iterdir())) == 1
    shell("lint", "--baseline", "accepted.json", "--write-baseline")
    assert shell("lint", "--baseline", "accepted.json").code == 0
    assert shell("lint", "--output-format", "concise") == first
    assert shell("lint", "--min-severity", "error", "--select", "ACK103").code == 0


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], {"ACK104"}),
        (["--ignore", "ACK104"], {"ACK101", "ACK202"}),
        (["--select", "ACK202"], {"ACK202"}),
    ],
)
def test_a_finding_that_another_rule_repairs_is_shown_without_that_rule(shell, options, found):
    Path("loop.py").write_text(
        "from streamparse import Bolt\n\n\nclass Split(Bolt):\n    auto_ack = False\n\n"
        "    def process(self, tup):\n        for word in tup.values[0].split():\n"
        "            self.emit([word])\n            self.ack(tup)\n"
    )
    done = shell("lint", "--isolated", "--no-cache", "--output-format", "json", *options, "loop.py")
    assert {finding["code"] for finding in json.loads(done.out)["findings"]} == found


# ---- topologies ----

WINDOW = """name: averages
config:
  topology.message.timeout.secs: 60
  topology.max.spout.pending: 500
components:
  - {id: length, className: "org.apache.storm.topology.base.BaseWindowedBolt$Duration", constructorArgs: [40, SECONDS]}
spouts:
  - {id: readings, className: demo.ReadingSpout}
bolts:
  - id: average
    className: demo.AverageBolt
    configMethods:
      - name: withTumblingWindow
        args: [ref: length]
streams:
  - {from: readings, to: average, grouping: {type: SHUFFLE}}
"""


@pytest.mark.parametrize("path", [".", "flux", "flux/averages.yaml"])
def test_a_topology_without_code_is_judged(shell, path):
    Path("flux").mkdir()
    Path("flux/averages.yaml").write_text(WINDOW)
    outcome = shell("lint", "--output-format", "concise", path)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.startswith("flux/averages.yaml:13:1: ACK504 ")
    assert outcome.out.endswith("\n1 finding (1 error) in 1 file, 1 topology\n")
    assert "{" not in shell("lint", path).out
    assert shell("lint", "--show-files", path).out == "flux/averages.yaml\n"


def test_topologies_without_a_finding_are_counted(shell):
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text(WINDOW.replace("secs: 60", "secs: 300"))
    Path("values.yaml").write_text("replicas: 3\n")
    assert shell("lint") == (0, "no findings in 2 files, 2 topologies\n", "")


def test_the_baseline_drops_a_finding_of_a_topology_that_is_mended(shell):
    Path("averages.yaml").write_text(WINDOW)
    assert shell("lint", "--baseline", "b.json", "--write-baseline").code == 0
    assert shell("lint", "--baseline", "b.json").out.endswith("1 topology · 1 in the baseline\n")
    Path("averages.yaml").write_text(WINDOW.replace("secs: 60", "secs: 300"))
    assert "baseline: no longer occurs: averages.yaml" in shell("lint", "--baseline", "b.json").err


def test_a_named_file_without_a_topology_has_one_line(shell):
    Path("values.yaml").write_text("replicas: 3\n")
    Path("bolt.py").write_text(CLEAN)
    line = "ackdoctor: values.yaml: holds neither code nor a topology\n"
    assert shell("lint", "values.yaml") == (2, "", line)
    assert shell("lint", "values.yaml", "bolt.py") == (0, "no findings in 1 file, 1 component\n", line)
    assert shell("lint") == (0, "no findings in 1 file, 1 component\n", "")


def test_a_topology_on_standard_input_is_refused(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WINDOW.encode())))
    outcome = shell("lint", "-", "--stdin-filename", "averages.yaml", "--quiet")
    assert (outcome.code, outcome.out) == (2, "")
    assert (
        outcome.err == "ackdoctor: averages.yaml: a topology is read from a file, not from standard input\n"
    )


@pytest.mark.parametrize("rule", ["ack101", "Ack1", "MISSING-ACK", "Missing-Ack"])
def test_a_rule_is_selected_in_any_case(rule, shell):
    Path("bolt.py").write_text(BOLT)
    Path("ackdoctor.toml").write_text(f'ignore = ["{rule}"]\n')
    selected = shell("lint", "--isolated", "--select", rule, "--output-format", "json")
    ignored = shell("lint", "--output-format", "json")
    assert (codes(selected.out), codes(ignored.out)) == (["bolt.py:9 ACK101"], [])


def test_github_gets_all_findings_in_the_summary_of_the_step(shell, monkeypatch):
    Path("bolt.py").write_text(BOLT)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    shell("lint", "--output-format", "concise")
    assert not Path("summary.md").exists()
    for _ in range(2):  # steps share the file
        assert shell("lint", "--output-format", "github").code == 1
    assert Path("summary.md").read_text().count("| ACK101 missing-ack | bolt.py:9 |") == 2


@pytest.mark.parametrize("path", ["missing/summary.md", "."])
def test_a_summary_that_cannot_be_written_changes_no_exit_code(path, shell, monkeypatch):
    Path("bolt.py").write_text(BOLT)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", path)
    outcome = shell("lint", "--output-format", "github")
    assert outcome.code == 1
    assert outcome.err.startswith(f"ackdoctor: GITHUB_STEP_SUMMARY: {path} cannot be written: ")
