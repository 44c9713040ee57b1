"""Findings for other programs: JSON, SARIF, and GitHub's workflow commands.  docs/json.md documents every field of JSON."""

import json
import os.path
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias
from urllib.parse import quote

from ackdoctor import __version__
from ackdoctor.model.finding import (
    Confidence,
    Finding,
    HeapWitness,
    PathStep,
    PathWitness,
    Report,
    Severity,
    TreeWitness,
    Unreadable,
)
from ackdoctor.model.source import Site, Span, lines_of
from ackdoctor.reporters import Context, Sources, escape_commands, printable

if TYPE_CHECKING:
    from ackdoctor.rulebook import Rule


Json: TypeAlias = dict[str, object]


# ---- JSON: one document, or one finding per line ----


def document(report: Report, stream: TextIO, _context: Context | None = None, **more: object) -> None:
    """Write the report as one object, in ASCII; `more` are further keys."""
    plain = {
        "version": __version__,
        "findings": [_finding(finding) for finding in report.findings],
        "unreadable": [
            {
                "path": item.path,
                "line": item.line,
                "column": item.column,
                "reason": item.reason,
                "internal_error": bool(item.internal),
            }
            for item in report.unreadable
        ],
        "unknown_bases": [
            {("class" if key == "name" else key): value for key, value in asdict(base).items()}
            for base in report.unknown_bases
        ],
        "fixed": list(report.fixed),
        "notes": list(report.notes),
        "summary": {
            "files": len(report.files),
            "components": report.components,
            "findings": len(report.findings),
            "unreadable": len(report.unreadable),
            "internal_errors": sum(bool(item.internal) for item in report.unreadable),
            "suppressed": report.suppressed,
            "baselined": report.baselined,
            "hidden": report.hidden,
        },
    }
    json.dump({**plain, **more}, stream, indent=2)
    stream.write("\n")


def lines(report: Report, stream: TextIO, _context: Context) -> None:
    """Write one finding per line."""
    stream.writelines(json.dumps(_finding(finding)) + "\n" for finding in report.findings)


def statistics(report: Report, stream: TextIO, _context: Context) -> None:
    """Write how many findings each rule has."""
    from ackdoctor.reporters.terminal import rule_counts  # JSON and SARIF do not need it

    rows = [{"code": code, "name": name, "count": count} for count, code, name in rule_counts(report)]
    json.dump({"statistics": rows}, stream, indent=2)
    stream.write("\n")


def _finding(finding: Finding) -> Json:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.word,
        "confidence": finding.confidence.word,
        **_site(finding.site),
        "message": finding.message,
        "help": finding.help,
        "component": finding.component,
        "handler": finding.handler,
        "dialect": finding.dialect,
        "steps": [
            {**_site(step.site), "note": step.note, "state": step.state, "depth": step.depth}
            for step in finding.evidence.steps
        ],
        "fingerprint": finding.fingerprint,
        "fix": _fix(finding),
        **_evidence(finding.evidence),
    }


def _fix(finding: Finding) -> Json | None:
    fix = finding.fix
    if fix is None:
        return None
    edits = [
        {**({"path": edit.path} if edit.path else {}), **_span(edit.span), "text": edit.text}
        for edit in fix.edits
    ]
    return {"title": fix.title, "safe": fix.safe, "edits": edits}


def _site(site: Site) -> Json:
    return {"path": site.path, **_span(site.span)}


def _span(span: Span) -> Json:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _evidence(evidence: PathWitness | TreeWitness | HeapWitness) -> Json:
    """Return the kind of evidence and its fields besides the steps.

    Roots are text: many JSON readers cut 64-bit numbers.
    """
    if isinstance(evidence, PathWitness):
        return {"evidence": "path"}
    if isinstance(evidence, HeapWitness):
        sample = evidence.sample
        return {
            "evidence": "heap",
            "held": evidence.path,
            "entries": evidence.entries,
            "sample": None if sample is None else {"read": sample[0], "of": sample[1]},
            "bytes": evidence.size,
            "roots": [str(root) for root in evidence.roots],
            "left": list(evidence.left),
        }
    return {
        "evidence": "tree",
        "delivery": evidence.delivery,
        "root": None if evidence.root is None else str(evidence.root),
        "left": list(evidence.left),
        "seen": evidence.seen,
        "test": evidence.test,
    }


# ---- SARIF 2.1.0 for code scanning: paths as code flows, rule pages as help, fingerprints ----

# GitHub refuses or cuts a file beyond its limits.  The least severe findings beyond them are left out, and a notification
# says so.  `automationDetails` is left to the upload: where a file has it, upload-sarif ignores `category`
# (populateRunAutomationDetails in upload-lib.ts of github/codeql-action), and of two directories uploaded under one
# category the second closes the alerts of the first.

_MAX_RESULTS = 25_000  # per run
_MAX_STEPS = 1_000  # per thread flow
_MAX_TEXT = 1_024  # characters of a message or description
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM = {**_LEVEL, Severity.INFO: "recommendation"}
_PRECISION = {Confidence.MUST: "very-high", Confidence.MAY: "high"}
_ROOT = "%SRCROOT%"


def sarif(report: Report, stream: TextIO, context: Context) -> None:
    """Write one log with one run, in ASCII."""
    pages = sorted(context.pages(), key=lambda page: page[0].code)
    indexes = {rule.code: index for index, (rule, _) in enumerate(pages)}
    root = context.sources.root
    kept: Sequence[Finding] = report.findings
    notifications = [_unreadable(unread, root) for unread in report.unreadable]
    if cut := max(0, len(kept) - _MAX_RESULTS):
        kept = sorted(kept, key=lambda finding: -finding.severity)[:_MAX_RESULTS]
        text = f"{cut} findings of the lowest severity are left out: a run holds {_MAX_RESULTS}"
        notifications.append(_notification("warning", "cut", text))
    notes = (*report.notes, *map(str, report.unknown_bases))
    notifications += (_notification("note", "note", note) for note in notes)
    run = {
        "tool": {
            "driver": {
                "name": "ackdoctor",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule, explanation) for rule, explanation in pages],
                "notifications": [{"id": name} for name in ("unreadable", "internal-error", "cut", "note")],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "the directory in which ackdoctor was started"}}
        },
        "invocations": [
            {
                "executionSuccessful": not any(unread.internal for unread in report.unreadable),
                "toolExecutionNotifications": notifications,
            }
        ],
        "results": [_result(finding, indexes, context.sources) for finding in kept],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    json.dump(log, stream, indent=2)
    stream.write("\n")


def _rule(rule: "Rule", explanation: str) -> Json:
    summary = _text(rule.summary)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": summary,
        "fullDescription": summary,
        "helpUri": rule.url,
        "help": {"text": f"ackdoctor explain {rule.code}", "markdown": explanation},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {
            "tags": ["correctness", "reliability"],
            "precision": "high",
            "problem.severity": _PROBLEM[rule.severity],
        },
    }


def _result(finding: Finding, indexes: Mapping[str, int], sources: Sources) -> Json:
    fields = {} if isinstance(finding.evidence, PathWitness) else _evidence(finding.evidence)
    result: Json = {
        "ruleId": finding.code,
        "level": _LEVEL[finding.severity],
        "message": _text(finding.message + (f". {finding.help}" if finding.help else "")),
        "locations": [_primary(finding, sources)],
        "partialFingerprints": {"ackdoctor/v1": finding.fingerprint} if finding.fingerprint else {},
        "properties": {
            "confidence": finding.confidence.word,
            "precision": _PRECISION[finding.confidence],
            "dialect": finding.dialect,
            **{
                key: value for key, value in fields.items() if key != "sample" and value not in ("", [], None)
            },
        },
    }
    if finding.code in indexes:
        result["ruleIndex"] = indexes[finding.code]
    if steps := finding.evidence.steps[:_MAX_STEPS]:
        flow = [_flow_step(order, step, sources.root) for order, step in enumerate(steps, start=1)]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if finding.fix is not None:
        changes: dict[str, list[Json]] = {}
        for edit in finding.fix.edits:
            replacement = {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
            changes.setdefault(edit.path or finding.site.path, []).append(replacement)
        files = [
            {"artifactLocation": _artifact(path, sources.root), "replacements": replacements}
            for path, replacements in changes.items()
        ]
        title = finding.fix.title + ("" if finding.fix.safe else " (unsafe)")
        result["fixes"] = [{"description": _text(title), "artifactChanges": files}]
    return result


def _primary(finding: Finding, sources: Sources) -> Json:
    """Return the finding's first line: GitHub shows a finding on a pull request if all of its lines changed."""
    span = finding.site.span
    if span.end_line > span.line:
        end = max(span.column + 1, len(sources.line(finding.site.path, span.line)) + 1)
        span = span._replace(end_line=span.line, end_column=end)
    place = _place(Site(finding.site.path, span), sources.root)
    symbol = ".".join(filter(None, (finding.component, finding.handler)))
    if symbol:
        place["logicalLocations"] = [{"fullyQualifiedName": symbol, "kind": "function"}]
    return place


def _flow_step(order: int, step: PathStep, root: Path) -> Json:
    location = {**_place(step.site, root), "message": _text(step.note)}
    state = {"state": {"tuple": {"text": step.state}}} if step.state else {}
    return {"location": location, "executionOrder": order, "nestingLevel": step.depth, **state}


def _place(site: Site, root: Path) -> Json:
    return {
        "physicalLocation": {"artifactLocation": _artifact(site.path, root), "region": _region(site.span)}
    }


def _region(span: Span) -> Json:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: str, root: Path) -> Json:
    """Return a relative address, or a file address for a path outside the current directory: `..` is not allowed."""
    if path.startswith("../") or Path(path).is_absolute():
        return {"uri": Path(os.path.normpath((root / path).absolute())).as_uri()}
    return {"uri": quote(path.encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}


def _unreadable(unreadable: Unreadable, root: Path) -> Json:
    physical: Json = {"artifactLocation": _artifact(unreadable.path, root)}
    if unreadable.line:
        physical["region"] = {"startLine": unreadable.line, "startColumn": max(1, unreadable.column)}
    kind, _, message = unreadable.internal.partition(": ")
    return {
        **_notification(
            "error", "internal-error" if unreadable.internal else "unreadable", unreadable.reason
        ),
        "locations": [{"physicalLocation": physical}],
        **({"exception": {"kind": kind, "message": message}} if message else {}),
    }


def _notification(level: str, kind: str, text: str) -> Json:
    return {"level": level, "descriptor": {"id": kind}, "message": _text(text)}


def _text(text: str) -> Json:
    return {"text": text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"}


# ---- workflow commands, which GitHub shows as annotations beside the code ----

# GitHub shows ten annotations per step and level, so the worst findings come first and the rest follow as plain lines.
# Relative paths start at the workspace, not at the directory of the step (ActionCommandManager.cs of actions/runner).

_MAX_ANNOTATIONS = 10  # annotations per step and level
_ANNOTATION = {**_LEVEL, Severity.INFO: "notice"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = {**_IN_MESSAGE, ord(":"): "%3A", ord(","): "%2C"}


def github(report: Report, stream: TextIO, context: Context) -> None:
    """Write annotations, errors first; files that could not be read take at most half of the room for errors."""
    from ackdoctor.reporters.terminal import one_line

    room = Counter(dict.fromkeys(_ANNOTATION.values(), _MAX_ANNOTATIONS))
    errors = sum(finding.severity is Severity.ERROR for finding in report.findings)
    for unread in report.unreadable[: max(_MAX_ANNOTATIONS - errors, _MAX_ANNOTATIONS // 2)]:
        title = "internal error" if unread.internal else "not read"
        properties = {
            "file": workspace_path(unread.path, context),
            "line": str(unread.line or 1),
            "title": title,
        }
        stream.write(_command("error", properties, unread.reason))
        room["error"] -= 1
    left: list[Finding] = []
    for finding in sorted(report.findings, key=lambda finding: -finding.severity):
        level = _ANNOTATION[finding.severity]
        if room[level] == 0:
            left.append(finding)
            continue
        room[level] -= 1
        stream.write(_annotation(level, finding, context))
    if left:
        stream.write(f"and {len(left)} more findings that GitHub does not show beside the code:\n")
        stream.writelines(f"{escape_commands(one_line(finding, context))}\n" for finding in left)


def workspace_path(path: str, context: Context) -> str:
    """Return the path relative to the workspace, for a file inside it."""
    place = Path(os.path.normpath((context.sources.root / path).absolute()))
    if not context.workspace or not place.is_relative_to(context.workspace):
        return path
    return place.relative_to(context.workspace).as_posix()


def _annotation(level: str, finding: Finding, context: Context) -> str:
    from ackdoctor.reporters.terminal import evidence_notes

    span = finding.site.span
    properties = {
        "file": workspace_path(finding.site.path, context),
        "line": str(span.line),
        "col": str(span.column),
        **({"endColumn": str(span.end_column)} if span.end_line == span.line else {}),
        "title": f"{finding.code} {finding.name}",
    }
    path = [
        f"  {step.site.span.line}: {step.note}" + (f" ({step.state})" if step.state else "")
        for step in finding.evidence.steps
    ]
    notes = [f"  {label}: {text}" for label, text in evidence_notes(finding.evidence)]
    message = "\n".join([finding.message, *path, *notes, *filter(None, [finding.help])])
    return _command(level, properties, message)


def _command(level: str, properties: Mapping[str, str], message: str) -> str:
    pairs = ",".join(f"{name}={_clean(value).translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::{level} {pairs}::{_clean(message).translate(_IN_MESSAGE)}\n".replace("##[", "## [")


def _clean(text: str) -> str:
    """Return the text without control characters other than line ends."""
    return "\n".join(map(printable, lines_of(text)))
