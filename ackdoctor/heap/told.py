"""A finding of which a heap is the witness, of a JVM or of Python."""

from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.tracer.judge.entries import ACKER
from ackdoctor.tracer.judge.labels import name_of

__all__ = ["heap_finding"]


def heap_finding(
    code: str,
    message: str,
    witness: HeapWitness,
    *,
    help: str,  # noqa: A002  # the word a reader of the finding knows
    component: str = ACKER,
    site: Site | None = None,
    severity: Severity = Severity.WARNING,
) -> Finding:
    """MAY, since a heap shows what is there and not how it came; without a `site` it stands on the component."""
    return Finding(
        code=code,
        name=name_of(code),
        severity=severity,
        confidence=Confidence.MAY,
        site=site or Site(f"<{component}>", NOWHERE),
        message=message,
        component=component,
        handler="",
        dialect="",
        evidence=witness,
        cause=f"{witness.path}|{message}",
        help=help,
    )
