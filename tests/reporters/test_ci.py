"""Reports for CI: GitLab's code quality, JUnit, the summary of a step on GitHub."""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from ackdoctor.model.finding import Report, Unreadable
from tests.reporters.samples import DOUBLE, IDLE, MISSING, REPORT
from tests.reporters.test_screens import rendered

# https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
BROKEN = Unreadable(path="bolts/broken.py", reason="is not text", line=0, column=0)


@pytest.mark.parametrize(
    "report", [Report(), REPORT, Report(findings=(MISSING, MISSING)), Report(unreadable=(BROKEN,))]
)
def test_gitlab_gets_a_code_quality_report(report):
    rows = json.loads(rendered("gitlab", report))
    jsonschema.validate(rows, CODE_QUALITY)
    assert len(rows) == len(report.findings) + len(report.unreadable)
    assert len({row["fingerprint"] for row in rows}) == len(rows)


def test_gitlab_shows_rule_place_and_severity():
    rows = json.loads(rendered("gitlab", Report(findings=(MISSING, DOUBLE))))
    assert [(row["check_name"], row["severity"], row["location"]["lines"]["begin"]) for row in rows] == [
        ("ACK101", "critical", 12),
        ("ACK103", "major", 19),
    ]


def test_junit_has_a_failed_test_for_each_finding():
    suite = ET.fromstring(rendered("junit", Report(findings=(MISSING, IDLE), unreadable=(BROKEN,))))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "1")
    assert [case.get("name") for case in suite] == [
        "ACK101 missing-ack line 12",
        "ACK901 unused-ignore line 7",
        "not read",
    ]
    failure = suite[0].find("failure")
    assert failure is not None
    assert (failure.text or "").splitlines()[1] == "  bolts/enrich.py:9: received (owed)"


def test_junit_has_a_passed_test_without_findings():
    suite = ET.fromstring(rendered("junit", Report()))[0]
    assert [(case.get("name"), len(case)) for case in suite] == [("no findings", 0)]


def test_junit_is_xml_whatever_a_message_holds():
    odd = replace(MISSING, message="<tup> & \x00 \x1b \ud800 完了", help="")
    suite = ET.fromstring(rendered("junit", Report(findings=(odd,))))[0]
    assert "完了" in (suite[0][0].get("message") or "")


def test_the_summary_of_a_step_lists_the_worst_first():
    warning = replace(DOUBLE, message="a | b <script>")
    lines = rendered("step-summary", Report(findings=(warning, MISSING))).splitlines()
    assert lines[0] == "### ackdoctor: 2 findings"
    assert [line.split(" | ")[1] for line in lines if "ACK" in line] == [
        "ACK101 missing-ack",
        "ACK103 double-ack",
    ]
    assert "a \\| b &lt;script>" in lines[-1]


def test_the_summary_of_a_step_stays_below_githubs_limit():
    many = tuple(replace(MISSING, message=f"{number} " + "ü" * 2_000) for number in range(1_000))
    unread = tuple(
        Unreadable(path=f"{number}.py", line=0, column=0, reason="x" * 2_000) for number in range(1_000)
    )
    text = rendered("step-summary", Report(findings=many, unreadable=unread))
    assert 900_000 < len(text.encode()) < 1 << 20
    shown = sum(line.startswith("| error") for line in text.splitlines())
    assert text.endswith(f"and {1_000 - shown} more; `--output-format json` has all\n")
    read = sum(line.startswith("- not read") for line in text.splitlines())
    assert f"\nand {1_000 - read} more; `--output-format json` has all\n" in text
