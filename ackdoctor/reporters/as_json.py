"""Findings for scripts: one JSON document, or one finding per line.  docs/json.md documents every field."""

import json
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.model.finding import Finding, HeapWitness, PathStep, PathWitness, Report, TreeWitness
from ackdoctor.model.source import Site
from ackdoctor.reporters.context import Context
from ackdoctor.reporters.terminal import rule_counts

__all__ = ["content", "document", "evidence_fields", "lines", "statistics"]


def document(report: Report, stream: TextIO, _context: Context) -> None:
    """Write the report as one object, in ASCII."""
    json.dump(content(report), stream, indent=2)
    stream.write("\n")


def content(report: Report) -> dict[str, object]:
    """Return the report as plain values."""
    return {
        "version": __version__,
        "findings": [_finding(finding) for finding in report.findings],
        "unreadable": [
            {
                "path": u.path,
                "line": u.line,
                "column": u.column,
                "reason": u.reason,
                "internal_error": bool(u.internal),
            }
            for u in report.unreadable
        ],
        "unknown_bases": [
            {
                "path": u.path,
                "line": u.line,
                "class": u.name,
                "handler": u.handler,
                "base": u.base,
                "suggestion": u.suggestion,
            }
            for u in report.unknown_bases
        ],
        "fixed": list(report.fixed),
        "notes": list(report.notes),
        "summary": {
            "files": len(report.files),
            "components": report.components,
            "findings": len(report.findings),
            "unreadable": len(report.unreadable),
            "internal_errors": sum(bool(u.internal) for u in report.unreadable),
            "suppressed": report.suppressed,
            "baselined": report.baselined,
            "hidden": report.hidden,
        },
    }


def lines(report: Report, stream: TextIO, _context: Context) -> None:
    """Write one finding per line."""
    stream.writelines(json.dumps(_finding(finding)) + "\n" for finding in report.findings)


def statistics(report: Report, stream: TextIO, _context: Context) -> None:
    """Write how many findings each rule has."""
    rows = [{"code": code, "name": name, "count": count} for count, code, name in rule_counts(report)]
    json.dump({"statistics": rows}, stream, indent=2)
    stream.write("\n")


def _finding(finding: Finding) -> dict[str, object]:
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
        "steps": [_step(step) for step in finding.evidence.steps],
        "fingerprint": finding.fingerprint,
        **evidence_fields(finding.evidence),
    }


def evidence_fields(evidence: PathWitness | TreeWitness | HeapWitness) -> dict[str, object]:
    """Return the kind of evidence and its fields besides the steps.

    Roots are text: many JSON readers cut 64-bit numbers.
    """
    if isinstance(evidence, PathWitness):
        return {"evidence": "path"}
    if isinstance(evidence, HeapWitness):
        return {
            "evidence": "heap",
            "held": evidence.path,
            "entries": evidence.entries,
            "sample": None
            if evidence.sample is None
            else dict(zip(("read", "of"), evidence.sample, strict=True)),
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


def _step(step: PathStep) -> dict[str, object]:
    return {**_site(step.site), "note": step.note, "state": step.state, "depth": step.depth}


def _site(site: Site) -> dict[str, object]:
    return {
        "path": site.path,
        "line": site.span.line,
        "column": site.span.column,
        "end_line": site.span.end_line,
        "end_column": site.span.end_column,
    }
