"""Workflow commands, which GitHub shows beside the changed lines.

A step may annotate ten times per level, so the worst come first and the rest follow as plain lines.  A relative path starts
at the workspace, whatever folder the step runs in (ActionCommandManager.cs of actions/runner takes the workspace off, and looks no further).
"""

import os.path
from collections import Counter
from pathlib import Path
from typing import TextIO

from ackdoctor.model.encoding import lines_of
from ackdoctor.model.finding import Finding, Report, Severity
from ackdoctor.reporters.context import Context, inert, printable
from ackdoctor.reporters.terminal import one_line, told

__all__ = ["github"]

_MOST = 10  # annotations per step and level
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def github(report: Report, stream: TextIO, context: Context) -> None:
    """Errors first; a file that could not be read is an error of its own, but leaves half of the room to findings."""
    room = Counter(dict.fromkeys(_LEVEL.values(), _MOST))
    errors = sum(finding.severity is Severity.ERROR for finding in report.findings)
    for unreadable in report.unreadable[: max(_MOST - errors, _MOST // 2)]:
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
        stream.write(f"and {len(left)} more, for which GitHub has no room beside the code:\n")
        stream.writelines(f"{inert(one_line(finding, context))}\n" for finding in left)


def _file(path: str, context: Context) -> str:
    """The path from the workspace, if it lies there."""
    place = Path(os.path.normpath((context.sources.root / path).absolute()))
    if not context.workspace or not place.is_relative_to(context.workspace):
        return path
    return place.relative_to(context.workspace).as_posix()


def _properties(finding: Finding, context: Context) -> dict[str, str]:
    span = finding.site.span
    one_line_only = {"endColumn": str(span.end_column)} if span.end_line == span.line else {}
    return {
        "file": _file(finding.site.path, context),
        "line": str(span.line),
        "col": str(span.column),
        **one_line_only,
        "title": f"{finding.code} {finding.name}",
    }


def _message(finding: Finding) -> str:
    path = [
        f"  {step.site.span.line}: {step.note}" + (f" ({step.state})" if step.state else "")
        for step in finding.evidence.steps
    ]
    run = [f"  {label}: {text}" for label, text in told(finding.evidence)]
    return "\n".join([finding.message, *path, *run, *filter(None, [finding.help])])


def _command(level: str, properties: dict[str, str], message: str) -> str:
    written = ",".join(
        f"{name}={_clean(value).translate(_IN_PROPERTY)}" for name, value in properties.items()
    )
    return f"::{level} {written}::{_clean(message).translate(_IN_MESSAGE)}\n".replace("##[", "## [")


def _clean(text: str) -> str:
    """The text without control characters, line ends kept."""
    return "\n".join(map(printable, lines_of(text)))
