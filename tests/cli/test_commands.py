"""`rules`, `explain`, `--version`, and internal errors."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ackdoctor import __version__
from ackdoctor.cli import lint
from ackdoctor.cli.output import complain
from ackdoctor.fixes import kinds_of
from tests.cli.running import BOLT
from tests.rule_pages import load_metadata, load_rules

RULES = load_rules()


def test_version(shell):
    assert shell("--version") == (0, f"ackdoctor {__version__}\n", "")


def test_a_path_without_permission_is_not_an_internal_error(shell, monkeypatch):
    def refused(self):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", refused)
    assert shell("trace", "report", "closed/v1") == (2, "", "ackdoctor: closed/v1: Permission denied\n")


@pytest.mark.parametrize(
    "command",
    [
        ("lint",),
        ("topology",),
        ("diagnose", "./nowhere.log"),
        ("heap", "dump"),
        ("heap", "hist"),
        ("trace", "report"),
        ("explain", "66", "--trace"),
        ("lab", "run"),
        ("init",),
    ],
)
def test_every_command_reports_a_missing_file_in_one_form(command, shell):
    outcome = shell(*command, *(() if "./nowhere.log" in command else ("nowhere",)))
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(r"ackdoctor: .*nowhere.*\n", outcome.err)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["trace", "cat", ""], "TRACE"),
        (["trace", "run", "--trace", "", "--", "true"], "--trace"),
        (["trace", "proxy", "--trace", "", "--", "true"], "--trace"),
        (["explain", "1", "--trace", ""], "--trace"),
        (["heap", "dump", ""], "FILE"),
        (["heap", "dump", "worker.hprof", "--trace", ""], "--trace"),
        (["heap", "hist", "a.txt", ""], "FILE"),
        (["watch", ".", "--checkpoint", ""], "--checkpoint"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(arguments, what, shell):
    assert shell(*arguments) == (
        2,
        "",
        f"ackdoctor: {what}: the path is empty; write `.` for the current directory\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heap", "hist", "a.txt", "--every", "nan"], "--every: nan is not a number of seconds;"),
        (["heap", "hist", "a.txt", "--every", "inf"], "--every: inf is not in the range"),
        (["heap", "dump", "a.hprof", "--samples", "9" * 20], "--samples: 99999999999999999999 is not"),
        (["watch", ".", "--every", "nan"], "--every: nan is not a number of seconds;"),
        (["watch", ".", "--until-idle", "inf"], "--until-idle: inf is not in the range"),
    ],
)  # fmt: skip
def test_a_number_that_is_too_large_is_refused(arguments, message, shell):
    outcome = shell(*arguments)
    assert (outcome.code, message in outcome.err) == (2, True)


@pytest.mark.parametrize("rules", [["ACK6"], ["ACK601,pending-growth"], ["ACK1", "--ignore", "ACK1"]])
def test_rules_that_lint_cannot_show_are_no_clean_run(shell, rules):
    Path("bolt.py").write_text(BOLT)
    error = "ackdoctor: no selected rule can be checked by lint; `ackdoctor rules` lists those with a path\n"
    assert shell("lint", "--select", *rules) == (2, "", error)
    assert shell("lint", "--select", "ACK6", "--extend-select", "ACK101").code == 1


def test_rules_come_as_a_table(shell):
    lines = shell("rules").out.splitlines()
    cells = [re.split("  +", line) for line in lines]
    assert cells == [
        [
            r.code,
            r.name,
            r.severity.word + ("" if r.default else ", off"),
            ", ".join(r.evidence),
            kinds_of(r.code),
            r.summary,
        ]
        for r in RULES.values()
    ]
    assert ["ACK206", "stdout-in-multilang", "error"] in [cell[:3] for cell in cells]


def test_rules_come_as_json(shell):
    assert json.loads(shell("rules", "--output-format", "json").out) == [
        {
            "code": r.code,
            "name": r.name,
            "severity": r.severity.word,
            "default": r.default,
            "evidence": list(r.evidence),
            "fix": kinds_of(r.code),
            "summary": r.summary,
        }
        for r in RULES.values()
    ]


@pytest.mark.parametrize("group", [(), ("trace",), ("heap",)])
def test_the_help_cuts_no_command_short(shell, group):
    listed = shell(*group, "--help").out.partition("Commands:\n")[2].splitlines()
    assert len(listed) > 1
    assert [line for line in listed if not line.endswith(".") or line.endswith("..")] == []


@pytest.mark.parametrize("argument", ["rules", "--help", "--version"])
def test_a_full_disk_exits_2(argument):
    if not Path("/dev/full").exists():
        pytest.skip("a device of Linux")
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "ackdoctor", argument],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (
        2,
        "ackdoctor: standard output cannot be written: No space left on device\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk at hand")
@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("lint missing.py", 2),  # reported at the end of the command
        ("lint broken.py . --isolated", 2),  # reported during the command
        ("lint . --no-cache --verbose", 1),
        ("explain missing >/dev/full", 2),
        ("rules >/dev/full", 2),
        ("diagnose --nope", 2),
    ],
)
def test_closed_streams_do_not_change_the_exit_code(tmp_path, typed, code):
    (tmp_path / "bolt.py").write_text(BOLT)
    (tmp_path / "broken.py").write_text("import streamparse\nclass B(:\n")
    ended = subprocess.run(
        f"{sys.executable} -m ackdoctor {typed} 2>/dev/full", shell=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == code


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the stream")
@pytest.mark.parametrize(
    ("typed", "code", "output"),
    [
        ("lint bolt.py >&-", 1, ""),
        ("explain ACK101 >&-", 0, ""),
        ("lint - <&-", 0, "no findings in 1 file, 0 components\n"),
        ("diagnose - <&-", 2, "ackdoctor: the input: empty, so nothing can be said of it\n"),
        ("lint bolt.py 2>&- >&-", 1, ""),
    ],
)
def test_a_closed_stream_is_replaced(tmp_path, typed, code, output):
    (tmp_path / "bolt.py").write_text(BOLT)
    ended = subprocess.run(
        f"{sys.executable} -m ackdoctor {typed}",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout + ended.stderr) == (code, output)


def test_rules_in_another_format_exit_2(shell):
    outcome = shell("rules", "--output-format", "xml")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: --output-format: 'xml' is not one of table, json\n",
    )


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_rule_names_are_not_cut_on_a_narrow_terminal(columns, shell, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    out = re.sub(r"\x1b\[[\d;]*m", "", shell("rules").out)
    lines = out.splitlines()
    assert re.search(r"\bnor\b", out)
    names = [cells[:2] for line in lines if len(cells := line.split()) > 1 and cells[0] in RULES]
    assert names == [[code, rule.name] for code, rule in RULES.items()]


@pytest.mark.parametrize("wanted", ["ACK101", "ack101", "missing-ack"])
def test_explain_prints_the_fix_first_and_the_address_last(shell, wanted):
    lines = shell("explain", wanted).out.splitlines()
    assert lines[:4] == ["missing-ack (ACK101)", "", RULES["ACK101"].summary, ""]
    headings = ["How to fix", "Why is this bad", "Example", "Limits"]
    assert [line for line in lines if line in headings] == headings
    assert lines[4] == headings[0]
    assert lines[-1] == load_metadata()["ACK101"].url


@pytest.mark.parametrize("code", RULES)
def test_explain_fits_80_columns(code, shell):
    *lines, url = shell("explain", code).out.splitlines()
    assert url == RULES[code].url
    assert [line for line in lines if len(line) > 80] == []


def test_explain_prints_the_whole_page_as_it_is(shell):
    assert shell("explain", "ACK101", "--all").out == RULES["ACK101"].text


def test_explain_renders_the_page_for_a_terminal(shell, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = shell("explain", "ACK101").out
    assert "missing-ack (ACK101)" in out
    assert "\n# missing-ack" not in out


def test_explain_names_the_broken_page_instead_of_another_rule(shell, monkeypatch):
    rest = {code: rule for code, rule in RULES.items() if code != "ACK103"}
    trouble = "ACK103-double-ack.md:6: not TOML: invalid value"
    monkeypatch.setattr("ackdoctor.rulebook.survey", lambda: (rest, (trouble,)))
    outcome = shell("explain", "ACK103")
    assert (outcome.code, outcome.err) == (
        2,
        f"ackdoctor: no rule is called `ACK103`, or its page is broken: {trouble}\n",
    )


def test_explain_suggests_the_nearest_rule(shell):
    outcome = shell("explain", "mising-ack")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: no rule is called `mising-ack`; did you mean `missing-ack`?\n",
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            "lint --foo",
            "no such option: --foo (Possible options: --fix); `ackdoctor lint --help` shows the usage",
        ),
        ("lint --jobs x", "--jobs: 'x' is not a whole number; `ackdoctor lint --help` shows the usage"),
        ("heap hist --every x", "--every: 'x' is not a number; `ackdoctor heap hist --help` shows the usage"),
        ("lint --jobs -1", "--jobs: -1 is not in the range x>=0; `ackdoctor lint --help` shows the usage"),
        ("analyze", "missing argument 'INPUT...'; `ackdoctor analyze --help` shows the usage"),
        (
            "topologi",
            "no such command 'topologi'. Did you mean 'topology'?; `ackdoctor --help` shows the usage",
        ),
        ("lint --min-severity", "option '--min-severity' requires an argument"),
    ],
)
def test_typers_errors_have_our_form(arguments, error, shell):
    assert shell(*arguments.split()) == (2, "", f"ackdoctor: {error}\n")


@pytest.mark.parametrize("arguments", [(), ("heap",), ("trace",)])
def test_a_group_without_a_command_shows_its_help(arguments, shell):
    outcome = shell(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"Usage: {' '.join(('ackdoctor', *arguments))} [OPTIONS] COMMAND")


def test_messages_are_wrapped_on_a_terminal_only(monkeypatch, capsys):
    text = "src/bolt.py: " + "a sentence of many words " * 6
    monkeypatch.setenv("COLUMNS", "60")
    complain(text)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    complain(text)
    piped, *wrapped = capsys.readouterr().err.splitlines()
    assert piped == f"ackdoctor: {text}"
    assert [len(line) <= 60 for line in wrapped] == [True] * 3
    assert " ".join(map(str.strip, wrapped)) == piped.strip()


def test_an_interrupt_while_a_command_is_imported_is_no_traceback(shell, monkeypatch):
    def interrupted(**_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ackdoctor.cli.commands.app", interrupted)
    assert shell("lint") == (130, "", "")


def test_a_current_folder_that_was_removed_is_no_error_of_ours(shell, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir("gone")
    (tmp_path / "gone").rmdir()
    assert shell("lint") == (
        2,
        "",
        "ackdoctor: the current directory does not exist any more; change to another one\n",
    )


def test_an_error_of_ours_is_two_lines_and_exits_2(shell, monkeypatch):
    Path("bolt.py").write_text(BOLT)

    def fails(*_arguments, **_options):
        raise ZeroDivisionError("a defect\nof ours")

    monkeypatch.setattr(lint, "lint", fails)
    assert shell("lint") == (
        2,
        "",
        "ackdoctor: internal error: ZeroDivisionError: a defect of ours\n"
        "ackdoctor: please report it, with the traceback that ACKDOCTOR_TRACEBACK=1 shows\n",
    )


def command(folder: Path, *arguments: str, **variables: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "ackdoctor", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_closed_pipe_is_no_error(tmp_path):
    for number in range(60):
        (tmp_path / f"bolt{number}.py").write_text(BOLT * 10)
    with command(tmp_path, "lint", "--no-cache") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_terminal_without_line_drawing_gets_ascii(tmp_path):
    (tmp_path / "bolt.py").write_text(BOLT)
    with command(tmp_path, "lint", "--no-cache", PYTHONIOENCODING="ascii") as process:
        out, err = process.communicate()
    assert err == b""
    assert b"    7 | def process(self, tup):" in out
    assert out.isascii()


def test_an_immediate_exit_loses_no_output(tmp_path):
    for number in range(60):
        (tmp_path / f"bolt{number}.py").write_text(BOLT)
    with command(tmp_path, "lint", "--no-cache", "--output-format", "json") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (1, b"")
    assert len(json.loads(out)["findings"]) == 60


def test_a_profile_of_a_run_is_written(tmp_path):
    (tmp_path / "bolt.py").write_text(BOLT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    profiled = [sys.executable, "-m", "cProfile", "-o", "profile", "-m", "ackdoctor"]
    done = subprocess.run(
        [*profiled, "lint", "--isolated", "--no-cache", "bolt.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert b"ACK101" in done.stdout
    assert (tmp_path / "profile").stat().st_size > 0


MODULES_OF_A_LINT = 115  # of ours, for one file in Python; aim at 70


@pytest.mark.parametrize(("form", "reporter"), [("concise", "terminal"), ("json", "machine")])
def test_lint_starts_without_what_it_does_not_need(form, reporter, tmp_path):
    (tmp_path / "bolt.py").write_text(BOLT)
    probe = (
        "import sys; sys.argv[0] = 'ackdoctor'; from ackdoctor.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'pyspark', 'guppy', 'pytest', 'pydantic', 'asyncio', 'fissix'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
        "faces = ('ackdoctor.cli', 'ackdoctor.reporters')\n"
        "print('fixes:', 'ackdoctor.fixes' in sys.modules)\n"
        "print(sum(name.split('.')[0] == 'ackdoctor' for name in sys.modules))\n"
        "print(*sorted(name.removeprefix('ackdoctor.') for name in sys.modules if name.startswith(faces)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", probe, "lint", "--isolated", "--no-cache", "--output-format", form, "bolt.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    cli = "cli cli.commands cli.lint cli.output"
    *_, loaded, fixes, modules, faces = done.stdout.splitlines()
    assert (loaded, faces) == ("loaded: []", f"{cli} reporters reporters.{reporter}")
    assert fixes == f"fixes: {form == 'json'}"
    assert form == "json" or int(modules) <= MODULES_OF_A_LINT


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("lint --select ACK60", "ACK601 ACK602 ACK603"),
        ("lint --ignore ACK101,missing", "ACK101,missing-ack"),
        ("lint --output-format json", "json json-lines"),
        ("lint --min-severity w", "warning"),
        ("explain double", "double-ack"),
    ],
)
def test_shell_completion_offers_rules_and_words(shell, monkeypatch, typed, offered):
    words = ["ackdoctor", *typed.split()]
    monkeypatch.setenv("_ACKDOCTOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    outcome = shell()
    assert (outcome.code, outcome.out.split()) == (0, offered.split())
