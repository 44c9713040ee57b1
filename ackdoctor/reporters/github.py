"""Workflow commands: GitHub shows them as annotations beside the code.

GitHub shows ten annotations per step and level, so the worst findings come first and the rest follow as plain lines.
Relative paths start at the workspace, not at the directory of the step (ActionCommandManager.cs of actions/runner).
"""

import os.path
from collections import Counter
from pathlib import Path
from typing import TextIO

from ackdoctor.model.finding import Finding, Report, Severity
from ackdoctor.model.source import lines_of
from ackdoctor.reporters.context import Context, escape_commands, printable
from ackdoctor.reporters.terminal import evidence_notes, one_line

__all__ = ["github"]

_MAX_ANNOTATIONS = 10  # annotations per step and level
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def github(report: Report, stream: TextIO, context: Context) -> None:
    """Write annotations, errors first; files that could not be read take at most half of the room for errors."""
    room = Counter(dict.fromkeys(_LEVEL.values(), _MAX_ANNOTATIONS))
    errors = sum(finding.severity is Severity.ERROR for finding in report.findings)
    for unreadable in report.unreadable[: max(_MAX_ANNOTATIONS - errors, _MAX_ANNOTATIONS // 2)]:
        properties = {
            "file": _file(unreadable.path, context),
            "line": str(unreadable.line or 1),
            "title": "internal error" if unreadable.internal else "not read",
        }
        stream.write(_command("error", properties, unreadable.reason))
        room["error"] -= 1
    left: list[Finding] = []
    for finding in sorted(report.findings, key=lambda finding: -finding.severity):
        level = _LEVEL[finding.severity]
        if room[level] == 0:
            left.append(finding)
            continue
        room[level] -= 1
        stream.write(_command(level, _properties(finding, context), _message(finding)))
    if left:
        stream.write(f"and {len(left)} more findings that GitHub does not show beside the code:\n")
        stream.writelines(f"{escape_commands(one_line(finding, context))}\n" for finding in left)


def _file(path: str, context: Context) -> str:
    """Return the path relative to the workspace, for a file inside it."""
    place = Path(os.path.normpath((context.sources.root / path).absolute()))
    if not context.workspace or not place.is_relative_to(context.workspace):
        return path
    return place.relative_to(context.workspace).as_posix()


def _properties(finding: Finding, context: Context) -> dict[str, str]:
    span = finding.site.span
    end = {"endColumn": str(span.end_column)} if span.end_line == span.line else {}
    return {
        "file": _file(finding.site.path, context),
        "line": str(span.line),
        "col": str(span.column),
        **end,
        "title": f"{finding.code} {finding.name}",
    }


def _message(finding: Finding) -> str:
    path = [
        f"  {step.site.span.line}: {step.note}" + (f" ({step.state})" if step.state else "")
        for step in finding.evidence.steps
    ]
    notes = [f"  {label}: {text}" for label, text in evidence_notes(finding.evidence)]
    return "\n".join([finding.message, *path, *notes, *filter(None, [finding.help])])


def _command(level: str, properties: dict[str, str], message: str) -> str:
    pairs = ",".join(f"{name}={_clean(value).translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::{level} {pairs}::{_clean(message).translate(_IN_MESSAGE)}\n".replace("##[", "## [")


def _clean(text: str) -> str:
    """Return the text without control characters other than line ends."""
    return "\n".join(map(printable, lines_of(text)))
