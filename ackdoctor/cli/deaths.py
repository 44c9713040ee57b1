"""Deaths of workers, as `diagnose` finds them in local logs, and what they add to what `analyze` says."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ackdoctor.diagnose import Death, deaths
from ackdoctor.model.finding import Confidence, Finding, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.rulebook.messages import (
    ACK_AND_FAIL,
    ACK_IN_LOOP,
    ACK_WITH_AUTO_ACK,
    DOUBLE_ACK,
    EMIT_AFTER_ACK,
    words,
)
from ackdoctor.spark.read.file_kinds import FileKind
from ackdoctor.spark.read.inputs import Inputs
from ackdoctor.spark.read.logs import worker_of
from ackdoctor.spark.read.paths import local
from ackdoctor.spark.tables import Analysis, Deaths
from ackdoctor.tracer.judge.findings import gathered
from ackdoctor.tracer.judge.messages import name_of

__all__ = ["add_deaths"]

_MOST_BYTES = 512 << 20  # of logs; what is larger `diagnose` reads by itself
_TOO_LARGE = "the logs are too large to look for the causes of deaths in passing: ackdoctor diagnose does it"
_MOST_LEFT = 5
_TWICE = frozenset(
    {DOUBLE_ACK, ACK_IN_LOOP, ACK_WITH_AUTO_ACK, ACK_AND_FAIL}
)  # the same defect, where the log shows both completions
_RULES: Mapping[str, str] = {  # symptoms of deaths that one mistake in acking explains
    "acked twice": DOUBLE_ACK,
    "failed twice": ACK_AND_FAIL,
    "anchored too late": EMIT_AFTER_ACK,
}


def add_deaths(analysis: Analysis, inputs: Inputs) -> None:
    """Count the deaths that the local logs tell of; those by a double completion or a late anchor become findings."""
    files = [name for name in inputs.files[FileKind.LOG] if local(name) is not None]
    if not files:
        return
    if inputs.size > _MOST_BYTES:
        analysis.notes += (_TOO_LARGE,)
        return
    ordered = sorted(files, key=lambda name: (worker_of(name), inputs.begun.get(name) or 0, name))
    found = deaths([Path(name) for name in ordered]).deaths
    times = Counter((death.symptom, death.component) for death in found)
    analysis.deaths = tuple(
        Deaths(cause=cause, component=component, times=count)
        for (cause, component), count in times.most_common()
    )
    charged: defaultdict[tuple[str, str], list[Death]] = defaultdict(list)
    for death in found:
        if death.symptom in _RULES and death.component:
            charged[death.symptom, death.component].append(death)
    if charged:
        analysis.findings = gathered(_charged(analysis.findings, charged))


def _charged(
    findings: Iterable[Finding], charged: Mapping[tuple[str, str], Sequence[Death]]
) -> Iterator[Finding]:
    """The findings; one that explains the deaths of its component names them."""
    named = set()
    for finding in findings:
        for (symptom, component), its in charged.items():
            same = _TWICE if _RULES[symptom] in _TWICE else {_RULES[symptom]}
            if (
                finding.component == component
                and finding.code in same
                and isinstance(finding.evidence, TreeWitness)
            ):
                named.add((symptom, component))
                left = (*finding.evidence.left, *_left(its))
                finding = replace(finding, evidence=replace(finding.evidence, left=left))  # noqa: PLW2901
        yield finding
    for (symptom, component), its in charged.items():
        if (symptom, component) not in named:
            yield _finding(symptom, component, its)


def _finding(symptom: str, component: str, its: Sequence[Death]) -> Finding:
    code = _RULES[symptom]
    return Finding(
        code=code,
        name=name_of(code),
        severity=Severity.ERROR,
        confidence=Confidence.MAY,  # an id that a serializer changed looks the same
        site=Site(its[0].file, NOWHERE),
        message=words(code, "death").message,
        component=component,
        handler="",
        dialect="",
        evidence=TreeWitness(steps=(), left=tuple(_left(its)), seen=len(its)),
        cause=f"death|{symptom}",
        help="complete each tuple exactly once; `ackdoctor diagnose` on this log lists the likely causes in order",
    )


def _left(its: Sequence[Death]) -> Iterator[str]:
    for death in its[:_MOST_LEFT]:
        yield f"{death.worker or death.file}: died {death.time or f'at line {death.line}'}: {death.cause}"
    if (more := len(its) - _MOST_LEFT) > 0:
        yield f"and {more:,} more deaths like these"
