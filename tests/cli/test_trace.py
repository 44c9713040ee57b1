"""Input, output and exit codes of `ackdoctor trace` and `explain ROOT --trace`."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from ackdoctor.model.trace import Event, EventKind
from tests.trace_rows import events_of, slow_trace, write_lines

HEALTHY = ["init 66 1", "ack 66 1 by count"]
ROOT = Path(__file__).parent.parent.parent
SICK = ["init 66 1", "ack 66 1 by sql", "ack 66 1 by sql"]


def write_trace(lines: Sequence[str | Event], folder: str = "trace") -> Path:
    """Write a trace with one part in the current directory."""
    part = Path(folder) / "v1" / "run=r" / "worker=w" / "part-1-000000000000.jsonl"
    part.parent.mkdir(parents=True)
    rows = events_of([line for line in lines if isinstance(line, str)])
    write_lines(rows, part)
    return part


# ---- report ----


def test_a_healthy_trace_says_so_in_its_first_line(shell):
    write_trace(HEALTHY)
    outcome = shell("trace", "report", "trace")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "OK: 1 root, nothing is wrong",
        "  2 rows over 1.0 s, judged as storm-2.8 would have acked",
        "",
    ]


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        (
            [*HEALTHY, "init 67 2", "timeout 67", "ack 67 2 by count"],
            "INCOMPLETE: 1 root expired: cause not known (2 roots); nothing is wrong in what could be judged",
        ),
        (
            ["init 66 1", "tick", "tick", "tick"],
            "BROKEN: acker: the acker keeps an entry that can never become zero",
        ),
    ],
)
def test_a_trace_with_roots_that_timed_out_is_never_ok(rows, first, shell):
    write_trace(rows)
    assert shell("trace", "report", "trace").out.startswith(first)


def test_a_bolt_that_holds_tuples_for_longer_than_the_timeout_is_named(shell):
    write_lines(slow_trace(flush_s=35, ticks=True), write_trace([]))
    outcome = shell("trace", "report", "trace", "--message-timeout", "10")
    assert outcome.code == 1
    assert outcome.out.startswith("BROKEN: batch: it holds tuples for up to 34.7 s (")
    assert "ACK504" in outcome.out.splitlines()[0]


def test_a_broken_trace_says_so_in_its_first_line(shell):
    write_trace(SICK)
    outcome = shell("trace", "report", "trace", "--acker-version", "1.1.0")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines()[:2] == [
        "BROKEN: sql: the acker keeps an entry that can never become zero: a tuple of sql was acked twice; it stays "
        "until the acker's worker restarts: storm-1.1.0 never drops one (ACK601)",
        "  3 rows over 2.0 s, judged as storm-1.1.0 would have acked",
    ]


def test_findings_come_in_every_format(shell):
    write_trace(SICK)
    lines = shell("trace", "report", "trace", "--output-format", "json-lines").out.splitlines()
    assert [(row["code"], row["root"]) for row in map(json.loads, lines)] == [("ACK601", "66")]
    document = json.loads(shell("trace", "report", "trace", "--output-format", "json").out)
    assert document["verdict"].startswith("BROKEN: sql: ")
    assert document["run"]["entries"][0]["culprits"][0]["acks"] == 2
    log = json.loads(shell("trace", "report", "trace", "--output-format", "sarif").out)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["ACK601"]
    assert shell("trace", "report", "trace", "--output-format", "concise").out.startswith(
        "trace:1:1: ACK601 "
    )
    assert shell("trace", "report", "trace", "--output-format", "github").out.startswith(
        "::error file=trace,"
    )


def test_lesser_findings_are_hidden_and_counted(shell):
    write_trace(["init 66 3", "fail 66", "ack 66 2 by right"])
    outcome = shell("trace", "report", "trace")
    assert outcome.code == 0
    assert outcome.out.startswith("OK: 1 root, nothing is wrong except 1 hidden finding\n")
    assert outcome.out.splitlines()[2] == "  1 finding below --min-severity not shown"
    assert shell("trace", "report", "trace", "--min-severity", "info").code == 1


def test_ignored_rules_are_not_reported(shell):
    write_trace(SICK)
    Path("ackdoctor.toml").write_text('ignore = ["ACK601"]\n', encoding="utf-8")
    assert shell("trace", "report", "trace").code == 0
    assert shell("trace", "report", "trace", "--isolated").code == 1


def test_rows_before_an_incomplete_line_are_read(shell):
    part = write_trace(HEALTHY)
    with part.open("a", encoding="ascii") as lines:
        lines.write('{"schema":1,"ki')
    outcome = shell("trace", "report", "trace")
    assert outcome.code == 2
    assert outcome.out.startswith("INCOMPLETE: nothing is wrong in what could be read (1 root)\n")
    assert outcome.err.startswith(f"ackdoctor: {part}:3: the last line was not finished\n")


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([], "EMPTY: the trace has no rows"),
        (
            [Event(EventKind.NAMED, 0, component="sql", note="storm IRichBolt")],
            "EMPTY: none of 1 row is about acking",
        ),
    ],
)
def test_a_trace_without_rows_about_acking_is_not_ok_in_any_format(shell, rows, verdict):
    part = write_trace(HEALTHY)
    write_lines(rows, part)
    outcome = shell("trace", "report", "trace")
    assert (outcome.code, outcome.out.splitlines()[0], outcome.err) == (2, verdict, "")
    assert shell("trace", "report", "trace", "--output-format", "json-lines") == (
        2,
        "",
        f"ackdoctor: {verdict}\n",
    )


def test_a_missing_trace_exits_2(shell):
    assert shell("trace", "report", "nowhere") == (2, "", "ackdoctor: nowhere: no such file or directory\n")
    assert shell("explain", "66", "--trace", "nowhere") == (
        2,
        "",
        "ackdoctor: nowhere: no such file or directory\n",
    )
    document = json.loads(shell("trace", "report", "nowhere", "--output-format", "json").out)
    assert document["verdict"].startswith("INCOMPLETE: ")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--acker-version", "1.1"],
            "--acker-version: acker version '1.1' is ambiguous",
        ),
        (["--acker-version", "9"], "--acker-version: unknown acker version '9'"),
        (["--output-format", "xml"], "--output-format: 'xml' is not one of full, concise, json"),
        (["--min-severity", "bad"], "--min-severity: 'bad' is not one of info, warning, error"),
    ],
)
def test_an_unknown_argument_exits_2(arguments, reason, shell):
    write_trace(HEALTHY)
    outcome = shell("trace", "report", "trace", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"ackdoctor: {reason}")


def test_a_narrow_terminal_drops_columns_and_an_old_one_draws_with_ascii(shell, monkeypatch):
    part = write_trace(HEALTHY)
    rows = "".join(
        f'{{"schema":1,"kind":{kind},"time_ns":{n},"component":"sql","delivery":"7"}}\n'
        for n, kind in enumerate((1, 4, 4))
    )
    part.write_text(rows, encoding="ascii")
    monkeypatch.setenv("COLUMNS", "60")
    wide = shell("trace", "report", "trace").out.splitlines()
    head = next(line for line in wide if line.startswith("  component"))
    assert head.split() == ["component", "delivered", "acked", "failed", "open", "violations"]
    assert all(len(line) <= 60 for line in wide[wide.index(head) :])


@pytest.mark.parametrize("command", ["report", "cat"])
def test_an_empty_trace_is_not_the_current_folder(command, shell):
    outcome = shell("trace", command, "")
    assert outcome == (2, "", "ackdoctor: TRACE: the path is empty; write `.` for the current directory\n")


def test_findings_outside_code_are_placed_at_the_trace_per_component(shell):
    part = write_trace(HEALTHY)
    rows = "".join(
        f'{{"schema":1,"kind":{kind},"time_ns":{n},"component":"{name}","delivery":"7"}}\n'
        for name in ("count", "sql")
        for n, kind in enumerate((1, 4, 4))
    )
    part.write_text(rows, encoding="ascii")
    lines = shell("trace", "report", "trace", "--output-format", "json-lines").out.splitlines()
    assert [(f["path"], f["line"], f["component"]) for f in map(json.loads, lines)] == [
        ("trace", 1, "count"),
        ("trace", 1, "sql"),
    ]
    screen = shell("trace", "report", "trace").out.splitlines()
    assert screen[0].startswith(
        "BROKEN: count: the tuple is acked a second time (ACK103), and 1 more finding"
    )
    assert screen[4:6] == ["      |                  tuple", "      |   ╭ received     owed"]


# ---- the other commands ----


def test_cat_prints_every_row_as_a_line_of_json(shell):
    write_trace(SICK)
    outcome = shell("trace", "cat", "trace")
    assert [json.loads(line)["root"] for line in outcome.out.splitlines()] == [66, 66, 66]
    assert (outcome.code, outcome.err) == (0, "")


def test_explain_shows_the_life_of_one_root(shell):
    write_trace(SICK)
    outcome = shell("explain", "66", "--trace", "trace", "--acker-version", "1.1.0")
    assert outcome == (
        0,
        "root 66\n"
        "\n"
        "  after       what    component  delivery  the acker holds  answer\n"
        "  0.000000 s  init 1                       {66 {11 1}}\n"
        "  1.000000 s  ack 1   sql[0]     sql-1     {}               ACK to task 11\n"
        "  2.000000 s  ack 1   sql[0]     sql-1     {66 {- 1}}\n"
        "\n"
        "verdict: acker: root 66 leaves an orphan, value 1; the spout got ack; it stays until the acker's worker "
        "restarts: storm-1.1.0 never drops one\n"
        "why: law L1: what is left is what the tuples acked an even number of times send: "
        "1 = sql[0] delivery sql-1, acked twice\n",
        "",
    )


def test_explain_accepts_negative_roots_and_deliveries(shell):
    write_trace(SICK)
    assert shell("explain", "-66", "--trace", "trace") == (
        2,
        "",
        "ackdoctor: the trace has neither a root nor a tuple -66; `ackdoctor trace cat` prints all ids\n",
    )
    assert shell("explain", "sql-1", "--trace", "trace").out.startswith("delivery sql-1\n")


def test_a_root_without_a_trace_exits_2(shell):
    assert shell("explain", "-66") == (
        2,
        "",
        "ackdoctor: `-66` is not a rule; to explain a root or a tuple, name its trace with --trace\n",
    )


def test_an_acker_version_without_a_trace_exits_2(shell):
    assert shell("explain", "ACK101", "--acker-version", "1.1.0") == (
        2,
        "",
        "ackdoctor: --acker-version needs --trace\n",
    )


def test_a_folder_full_of_other_files_does_not_hide_the_report(shell):
    write_trace(SICK)
    for number in range(13):
        Path("trace", f"{number:02}.txt").touch()
    part = next(Path("trace").rglob("part-*"))
    part.write_bytes(part.read_bytes()[:-3])
    errors = shell("trace", "report", "trace").err.splitlines()
    assert errors[:2] == [f"ackdoctor: trace/0{number}.txt: no part of a trace" for number in (0, 1)]
    assert "ackdoctor: 3 more files: no part of a trace" in errors
    assert sum(line.endswith("no part of a trace") for line in errors) == 11
    assert (
        len(json.loads(shell("trace", "report", "trace", "--output-format", "json").out)["unreadable"]) >= 13
    )


def test_one_incomplete_row_is_counted_in_the_singular(shell):
    path = Path("part-1-000000000000.jsonl")
    path.write_text('{"schema":1,"kind":1,"time_ns":1')
    error = "ackdoctor: 1 incomplete row: the process was killed while writing"
    assert shell("trace", "report", str(path)).err.splitlines()[-1] == error


def test_a_trace_read_from_another_folder_says_that_its_source_is_not_there(shell, tmp_path):
    shutil.copytree(ROOT / "fixtures" / "traces" / "statements" / "v1", tmp_path / "v1")
    place = "fixtures/traces/statements/topology.py"
    assert f"--> {place}: no source here\n" in shell("trace", "report", "v1").out
    Path(place).parent.mkdir(parents=True)
    Path(place).write_text("# another version\n")
    assert f"--> {place}: has no line 23 here\n" in shell("trace", "report", "v1").out
