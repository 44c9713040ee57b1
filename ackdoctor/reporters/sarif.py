"""SARIF 2.1.0 for code scanning: paths as code flows, rule pages as help, fingerprints.

GitHub refuses or cuts a file beyond its limits.  The least severe findings beyond them are left out, and a notification
says so.  `automationDetails` is left to the upload: where a file has it, upload-sarif ignores `category`
(populateRunAutomationDetails in upload-lib.ts of github/codeql-action), and of two directories uploaded under one category
the second closes the alerts of the first.
"""

import json
import os.path
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO, TypeAlias
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
from ackdoctor.model.source import Site
from ackdoctor.reporters.as_json import evidence_fields
from ackdoctor.reporters.context import Context, Page, Sources

__all__ = ["sarif"]

Json: TypeAlias = dict[str, object]

_MAX_RESULTS = 25_000  # per run
_MAX_STEPS = 1_000  # per thread flow
_MAX_TEXT = 1_024  # characters of a message or description
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
_PRECISION = {Confidence.MUST: "very-high", Confidence.MAY: "high"}
_ROOT = "%SRCROOT%"


def sarif(report: Report, stream: TextIO, context: Context) -> None:
    """Write one log with one run, in ASCII."""
    pages = sorted(context.pages(), key=lambda page: page.code)
    indexes = {page.code: index for index, page in enumerate(pages)}
    kept = _worst(report.findings)
    cut = len(report.findings) - len(kept)
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ackdoctor",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(page) for page in pages],
                        "notifications": [
                            {"id": "unreadable"},
                            {"id": "internal-error"},
                            {"id": "cut"},
                            {"id": "note"},
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {
                    _ROOT: {"description": {"text": "the directory in which ackdoctor was started"}}
                },
                "invocations": [
                    {
                        "executionSuccessful": not any(unread.internal for unread in report.unreadable),
                        "toolExecutionNotifications": [
                            *(_unreadable(unread, context.sources.root) for unread in report.unreadable),
                            *_cut(cut),
                            *map(_note, report.notes),
                            *(_note(str(item)) for item in report.unknown_bases),
                        ],
                    }
                ],
                "results": [_result(finding, indexes, context.sources) for finding in kept],
            }
        ],
    }
    json.dump(log, stream, indent=2)
    stream.write("\n")


def _worst(findings: Sequence[Finding]) -> Sequence[Finding]:
    if len(findings) <= _MAX_RESULTS:
        return findings
    return sorted(findings, key=lambda finding: -finding.severity)[:_MAX_RESULTS]


def _rule(page: Page) -> Json:
    summary = _short(page.summary)
    return {
        "id": page.code,
        "name": "".join(word.capitalize() for word in page.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": summary},
        "helpUri": page.url,
        "help": {"text": f"ackdoctor explain {page.code}", "markdown": page.markdown},
        "defaultConfiguration": {"level": _LEVEL[page.severity]},
        "properties": {
            "tags": ["correctness", "reliability"],
            "precision": "high",
            "problem.severity": _PROBLEM[page.severity],
        },
    }


def _result(finding: Finding, indexes: Mapping[str, int], sources: Sources) -> Json:
    result: Json = {
        "ruleId": finding.code,
        "level": _LEVEL[finding.severity],
        "message": {"text": _short(finding.message + (f". {finding.help}" if finding.help else ""))},
        "locations": [_primary(finding, sources)],
        "partialFingerprints": {"ackdoctor/v1": finding.fingerprint} if finding.fingerprint else {},
        "properties": {
            "confidence": finding.confidence.word,
            "precision": _PRECISION[finding.confidence],
            "dialect": finding.dialect,
            **_evidence(finding.evidence),
        },
    }
    if finding.code in indexes:
        result["ruleIndex"] = indexes[finding.code]
    if finding.evidence.steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(finding.evidence.steps, sources.root)}]}]
    return result


def _evidence(evidence: PathWitness | TreeWitness | HeapWitness) -> Json:
    if isinstance(evidence, PathWitness):
        return {}
    fields = evidence_fields(evidence)
    return {key: value for key, value in fields.items() if key != "sample" and value not in ("", [], None)}


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


def _flow(steps: Iterable[PathStep], root: Path) -> list[Json]:
    flow = []
    for order, step in enumerate(list(steps)[:_MAX_STEPS], start=1):
        location = _place(step.site, root)
        location["message"] = {"text": _short(step.note)}
        entry: Json = {"location": location, "executionOrder": order, "nestingLevel": step.depth}
        if step.state:
            entry["state"] = {"tuple": {"text": step.state}}
        flow.append(entry)
    return flow


def _place(site: Site, root: Path) -> Json:
    span = site.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {"physicalLocation": {"artifactLocation": _artifact(site.path, root), "region": region}}


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
        "level": "error",
        "descriptor": {"id": "internal-error" if unreadable.internal else "unreadable"},
        "message": {"text": _short(unreadable.reason)},
        "locations": [{"physicalLocation": physical}],
        **({"exception": {"kind": kind, "message": message}} if message else {}),
    }


def _cut(amount: int) -> list[Json]:
    if amount == 0:
        return []
    text = f"{amount} findings of the lowest severity are left out: a run holds {_MAX_RESULTS}"
    return [{"level": "warning", "descriptor": {"id": "cut"}, "message": {"text": text}}]


def _note(text: str) -> Json:
    return {"level": "note", "descriptor": {"id": "note"}, "message": {"text": _short(text)}}


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
