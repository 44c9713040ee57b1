"""Reports for CI: GitLab's code quality, JUnit, and the summary of a step on GitHub."""

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import TextIO
from xml.etree import ElementTree as ET

from ackdoctor.model.finding import Finding, Report, Severity, counted
from ackdoctor.reporters import Context, printable
from ackdoctor.reporters.machine import workspace_path

_GITLAB = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}
_MAX_SUMMARY = 1_000_000  # bytes; GitHub refuses the summary of a step above 1 MiB


def gitlab(report: Report, stream: TextIO, context: Context) -> None:
    """Write GitLab's code quality report: one object for each finding and each file that could not be read.

    No two objects have the same fingerprint: GitLab would show only one of them.
    """
    seen: Counter[str] = Counter()

    def entry(name: str, text: str, severity: str, path: str, line: int, mark: str = "") -> dict[str, object]:
        mark = mark or sha256(f"{name} {path} {text}".encode("utf-8", "replace")).hexdigest()
        seen[mark] += 1
        return {
            "description": text,
            "check_name": name,
            "fingerprint": mark if seen[mark] == 1 else f"{mark}-{seen[mark]}",
            "severity": severity,
            "location": {"path": workspace_path(path, context), "lines": {"begin": max(1, line)}},
        }

    rows = [
        entry(
            finding.code,
            f"{finding.name}: {finding.message}",
            _GITLAB[finding.severity],
            finding.site.path,
            finding.site.span.line,
            finding.fingerprint,
        )
        for finding in report.findings
    ]
    rows += [
        entry("internal-error" if each.internal else "not-read", each.reason, "blocker", each.path, each.line)
        for each in report.unreadable
    ]
    json.dump(rows, stream, indent=2)
    stream.write("\n")


def junit(report: Report, stream: TextIO, context: Context) -> None:
    """Write a failed test for each finding and an error for each file that could not be read, else a passed test."""
    suites = ET.Element("testsuites")
    suite = ET.SubElement(suites, "testsuite", name="ackdoctor")
    for finding in report.findings:
        path, line = workspace_path(finding.site.path, context), finding.site.span.line
        case = _case(suite, path, f"{finding.code} {finding.name} line {line}", line)
        failure = ET.SubElement(case, "failure", type=finding.code, message=printable(finding.message))
        failure.text = "\n".join(_lines(finding, f"{path}:{line}: {finding.severity.word}"))
    for each in report.unreadable:
        path = workspace_path(each.path, context)
        case = _case(suite, path, "internal error" if each.internal else "not read", each.line)
        ET.SubElement(case, "error", type="unreadable", message=printable(each.reason))
    if not len(suite):
        ET.SubElement(suite, "testcase", classname="ackdoctor", name="no findings")
    amounts = {"tests": len(suite), "failures": len(report.findings), "errors": len(report.unreadable)}
    suite.attrib |= {name: str(amount) for name, amount in amounts.items()}
    ET.indent(suites)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
    text = ET.tostring(suites, encoding="unicode")
    stream.write(text.encode("ascii", "xmlcharrefreplace").decode() + "\n")


def _case(suite: ET.Element, path: str, name: str, line: int) -> ET.Element:
    place = {"classname": printable(path), "name": name, "file": printable(path), "line": str(max(1, line))}
    return ET.SubElement(suite, "testcase", place)


def _lines(finding: Finding, head: str) -> list[str]:
    """Return the lines of a failed test: the place, the path of the tuple, the help."""
    steps = [
        f"  {step.site.path}:{step.site.span.line}: {step.note}" + (f" ({step.state})" if step.state else "")
        for step in finding.evidence.steps
    ]
    return [
        printable(line) for line in (head, *steps, finding.help, f"ackdoctor explain {finding.code}") if line
    ]


def step_summary(report: Report, stream: TextIO, context: Context) -> None:
    """Write a Markdown table of all findings, the worst first, for the summary of a step on GitHub.

    Files that could not be read take at most half of it.
    """
    worst = sorted(report.findings, key=lambda finding: -finding.severity)
    stream.write(f"### ackdoctor: {counted(len(worst), 'finding') if worst else 'no findings'}\n\n")
    faults = (f"- not read: {_cell(each.path)}: {_cell(each.reason)}\n" for each in report.unreadable)
    left = _write_lines(faults, len(report.unreadable), stream, _MAX_SUMMARY // 2)
    if worst:
        stream.write("\n| severity | rule | place | finding |\n| --- | --- | --- | --- |\n")
    _write_lines((_row(finding, context) for finding in worst), len(worst), stream, left + _MAX_SUMMARY // 2)


def _row(finding: Finding, context: Context) -> str:
    place = f"{workspace_path(finding.site.path, context)}:{finding.site.span.line}"
    rule = f"{finding.code} {finding.name}"
    return f"| {finding.severity.word} | {rule} | {_cell(place)} | {_cell(finding.message)} |\n"


def _write_lines(lines: Iterable[str], total: int, stream: TextIO, room: int) -> int:
    """Write as many lines as there is room for, in bytes, and how many are left out; return the room that is left."""
    for number, line in enumerate(lines):
        size = len(line.encode("utf-8", "backslashreplace"))
        if size > room:
            stream.write(f"\nand {total - number:,} more; `--output-format json` has all\n")
            return 0
        room -= size
        stream.write(line)
    return room


def _cell(text: str) -> str:
    """Return the text for a cell of a Markdown table; back quotes still mark code, HTML does not work."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
