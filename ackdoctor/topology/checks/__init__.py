"""The rules about wiring and configuration: one function per rule page, found by its name (`ack503_unbounded_pending`).

A check is a function of a `Wiring` that yields defects.  A defect's kind is a case in the messages of the rule's page.
Readers and `settings` report defects as well; the page that has the kind owns it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from ackdoctor.checks import Check, checks_in
from ackdoctor.model.finding import Confidence, Finding, PathStep, PathWitness, Severity
from ackdoctor.model.source import Site, Span
from ackdoctor.model.topology import Defect, Judged, Place
from ackdoctor.rulebook import DEAD_SETTING, WEAK_GUARANTEE, catalogue, rule_name, rule_severity, words
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.settings import MAX_PENDING, TIMEOUT, setting_defects

__all__ = ["defects", "findings", "load", "without_needed"]

_OF_TRACKED = (MAX_PENDING, TIMEOUT)  # settings that need tuples that are tracked
_WITHOUT_EFFECT = ("max-pending-without-effect", "timeout-without-effect")
_FORGETFUL = ("state-forgets-txid", "state-ignores-txid")


@cache
def load() -> Mapping[str, Check]:
    """Return every check by its rule code, in order."""
    return checks_in(__name__, __path__)


def defects(judged: Judged) -> tuple[Defect, ...]:
    """Return all defects of a topology, each kind once for each place: those of the readers first."""
    wiring = Wiring.of(judged)
    found = [*judged.topology.defects, *setting_defects(judged.topology)]
    for check in load().values():
        found += check.run(wiring)
    unique: dict[object, Defect] = {}
    for defect in found:
        unique.setdefault((defect.kind, defect.place), defect)
    return tuple(unique.values())


def findings(judged: Iterable[Judged]) -> tuple[Finding, ...]:
    """Return the findings of all topologies, each once: branches share defects."""
    found: dict[object, Finding] = {}
    for each in without_needed(judged):
        for defect in (*each.defects, *_forgetful_states(each)):
            if defect.place.path:
                finding = _finding(each, defect)
                found.setdefault((finding.code, finding.site, finding.cause), finding)
    return tuple(found.values())


def without_needed(judged: Iterable[Judged]) -> tuple[Judged, ...]:
    """Return the topologies without the defects of settings that another topology needs, such as another branch."""
    known = tuple(judged)
    needed = {place for each in known for place in _needed(each)}
    return tuple(
        replace(
            each,
            defects=tuple(
                defect
                for defect in each.defects
                if defect.kind not in _WITHOUT_EFFECT or defect.place not in needed
            ),
        )
        for each in known
    )


def _needed(judged: Judged) -> set[Place]:
    """Return the lines of the settings that have an effect in a topology, as far as tracking decides it."""
    idle = {defect.place for defect in judged.defects if defect.kind in _WITHOUT_EFFECT}
    return {each.place for each in judged.topology.settings if each.key in _OF_TRACKED} - idle


def _forgetful_states(judged: Judged) -> Iterator[Defect]:
    """Yield the Trident states that do not use the transaction id: code, and no defect of the configuration.

    An own state that looks exactly-once and is not is certain; a state that is plain by design is information.
    """
    wired = {node.place for node in judged.topology.nodes}
    for reason in judged.verdict.reasons:
        if reason.fact in _FORGETFUL:
            plain = reason.place in wired or reason.fact == "state-ignores-txid"
            sure = "information" if plain else "certain" if reason.sure else "likely"
            why = words(WEAK_GUARANTEE, reason.fact, why=reason.why).message
            yield Defect(kind=reason.fact, sure=sure, place=reason.place, why=why, component=reason.component)


def _finding(judged: Judged, defect: Defect) -> Finding:
    code = _rule_of(defect.kind)
    cases = catalogue(code).cases
    line = max(defect.place.line, 1)
    site = Site(defect.place.path, Span(line, 1, line, 1))
    facts = judged.facts.get(defect.component)
    severity = {"certain": rule_severity(code), "information": Severity.INFO}.get(
        defect.sure, Severity.WARNING
    )
    return Finding(
        code=code,
        name=rule_name(code),
        severity=severity,
        confidence=Confidence.MUST if defect.sure == "certain" else Confidence.MAY,
        site=site,
        message=defect.why,
        component=defect.component or judged.topology.name,
        handler="",
        dialect=facts.dialect if facts is not None else judged.topology.kind,
        evidence=PathWitness(steps=(PathStep(site=site, note=""),)),
        cause=defect.kind,
        case=defect.kind,
        help=cases[defect.kind].help if defect.kind in cases else "",
    )


@cache
def _rule_of(kind: str) -> str:
    """Return the rule whose page has a kind; a fault of a setting that no page names is a dead setting."""
    return next((code for code in load() if kind in catalogue(code).cases), DEAD_SETTING)
