"""Outcomes as plain JSON values and back; a value of another shape raises."""

from dataclasses import fields
from typing import Any

from ackdoctor.engine.clusters.outcome import Outcome
from ackdoctor.model.finding import (
    Confidence,
    Finding,
    PathStep,
    PathWitness,
    Severity,
    UnknownBase,
    Unreadable,
)
from ackdoctor.model.source import Site, Span

__all__ = ["decode_outcome", "encode_outcome"]

_FINDING = tuple(item.name for item in fields(Finding))
_STEP = tuple(item.name for item in fields(PathStep))


def encode_outcome(outcome: Outcome) -> list[Any]:
    """An outcome that is `lasting`."""
    unreadable = [
        [item.path, item.line, item.column, item.reason, item.partial] for item in outcome.unreadable
    ]
    unknown = [[u.path, u.line, u.name, u.handler, u.base, u.suggestion] for u in outcome.unknown_bases]
    return [
        outcome.components,
        unreadable,
        [_encode_finding(finding) for finding in outcome.findings],
        unknown,
    ]


def decode_outcome(raw: list[Any]) -> Outcome:
    """The outcome that made this value."""
    components, unreadable, findings, unknown = raw
    return Outcome(
        components=components,
        unreadable=tuple(
            Unreadable(path=path, line=line, column=column, reason=why, partial=partial)
            for path, line, column, why, partial in unreadable
        ),
        findings=tuple(_decode_finding(item) for item in findings),
        unknown_bases=tuple(
            UnknownBase(path=path, line=line, name=name, handler=handler, base=base, suggestion=suggestion)
            for path, line, name, handler, base, suggestion in unknown
        ),
    )


def _site(site: Site) -> list[Any]:
    return [site.path, *site.span]


def _unsite(raw: list[Any]) -> Site:
    path, *span = raw
    return Site(path, Span(*span))


def _encode_finding(finding: Finding) -> dict[str, Any]:
    steps = [
        {**{name: getattr(step, name) for name in _STEP}, "site": _site(step.site)}
        for step in finding.evidence.steps
    ]
    values = {name: getattr(finding, name) for name in _FINDING}
    return {**values, "site": _site(finding.site), "evidence": steps}


def _decode_finding(raw: dict[str, Any]) -> Finding:
    steps = tuple(PathStep(**{**step, "site": _unsite(step["site"])}) for step in raw["evidence"])
    changes = {
        "site": _unsite(raw["site"]),
        "evidence": PathWitness(steps=steps),
        "severity": Severity(raw["severity"]),
        "confidence": Confidence(raw["confidence"]),
    }
    return Finding(**{**raw, **changes})
