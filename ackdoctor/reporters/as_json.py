"""For scripts: one document, or one finding a line.  docs/json.md documents every field."""

import json
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.model.finding import Finding, HeapWitness, PathStep, PathWitness, Report, TreeWitness
from ackdoctor.model.source import Site
from ackdoctor.reporters.context import Context

__all__ = ["content", "document", "lines"]


def document(report: Report, stream: TextIO, _context: Context) -> None:
    """The whole report as one object; non-ASCII characters are escaped, so any encoding carries it."""
    json.dump(content(report), stream, indent=2)
    stream.write("\n")


def content(report: Report) -> dict[str, object]:
    """The whole report as plain values."""
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
    """One finding a line, nothing else."""
    stream.writelines(json.dumps(_finding(finding)) + "\n" for finding in report.findings)


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
        **_evidence(finding.evidence),
    }


def _evidence(evidence: PathWitness | TreeWitness | HeapWitness) -> dict[str, object]:
    """Which witness it is, and what it knows beside its steps; a root is text, since many readers cut 64 bits."""
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
