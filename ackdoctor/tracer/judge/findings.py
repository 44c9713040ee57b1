"""From what a run has shown to findings: the codes, names, severities and prices of lint, a tree as the witness.

One cause is one finding.  Where the acker keeps an entry because of what a delivery suffered, the
finding is the delivery's, and its witness says what that left in the pending map (`entries`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ackdoctor.model.finding import Confidence, Finding, PathStep, Severity, TreeWitness, stamp
from ackdoctor.model.source import Site
from ackdoctor.model.verdict import TupleTree
from ackdoctor.model.violation import Violation
from ackdoctor.rulebook import advice
from ackdoctor.tracer.judge.charges import CHARGES, Charge, Mark, Turn
from ackdoctor.tracer.judge.circumstances import Circumstances
from ackdoctor.tracer.judge.entries import Causes, left_by, tree_findings
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.labels import name_of, severity_of
from ackdoctor.tracer.judge.place import Places
from ackdoctor.tracer.judge.steps import steps

__all__ = ["findings", "gathered"]

_MOST_LEFT = 3  # roots that a finding tells one by one
_MOST_LINES = 6


def findings(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree] = (),
    *,
    profile: Keeper | None = None,
    places: Places | None = None,
    nowhere: Site | None = None,
) -> tuple[Finding, ...]:
    """All that is wrong, each cause once, sorted by place; `nowhere` is the site of what has no place in the code."""
    places = places or Places()
    kept = list(trees)
    causes = Causes(kept)
    told: set[int] = set()
    found: list[Finding] = []
    for violation in violations:
        finding = _finding_of(violation, places)
        if finding is None:
            continue
        caused = causes.of(violation)
        told.update(tree.root for tree in caused)
        found.append(_with_left(finding, caused, profile))
    rest = [tree for tree in kept if tree.root not in told]
    found += tree_findings(rest, profile=profile, places=places, nowhere=nowhere)
    return gathered(found)


def _finding_of(violation: Violation, places: Places) -> Finding | None:
    """The finding of one violation; None for a misuse that no rule is about: a spout that acks."""
    facts = Circumstances.of(violation)
    charge = CHARGES.get((facts.misuse, _turn(facts, places)))
    if charge is None:
        return None
    words = charge.words(facts.words)
    path = steps(violation, places, words.note)
    cost = advice.clause(facts.discipline, facts.misuse) if charge.priced and facts.discipline else ""
    return Finding(
        code=charge.code,
        name=name_of(charge.code),
        severity=_severity(charge, facts),
        confidence=Confidence.MUST,
        site=_site(charge, facts, path),
        message=f"{words.message}: {cost}" if cost else words.message,
        component=violation.traced.name,
        handler=violation.handler,
        dialect=violation.traced.dialect,
        evidence=TreeWitness(
            steps=path,
            delivery=violation.delivery,
            root=violation.root,
            left=tuple(_aside(violation)),
            test=violation.test,
            seen=violation.count,
        ),
        cause=f"{words.message}|{_chain(violation)}",
        help=words.help,
    )


def _turn(facts: Circumstances, places: Places) -> Turn:
    """The turn, unless it is a round and the source has no loop: then a method was called twice."""
    last = facts.violation.history[-1].site if facts.violation.history else None
    turn = facts.turn
    if turn is Turn.ROUND and last is not None and not places.may_loop(last, facts.violation.handler):
        return Turn.PLAIN
    return turn


def gathered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that say the same of one place as one, sorted and stamped; the first of them keeps its witness."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in found:
        key = (finding.code, finding.site, finding.component, finding.handler, finding.message)
        known = merged.get(key)
        merged[key] = finding if known is None else _joined(known, finding)
    return stamp(sorted(merged.values(), key=_order))


def _joined(first: Finding, other: Finding) -> Finding:
    """The first, with what the other adds; one delivery that broke two promises at one place is one delivery."""
    one, more = _tree(first), _tree(other)
    same = one.delivery == more.delivery and one.test == more.test and bool(one.delivery)
    seen = max(one.seen, more.seen) if same else one.seen + more.seen
    left = tuple(dict.fromkeys((*one.left, *more.left)))
    return replace(first, evidence=replace(one, seen=seen, left=left[:_MOST_LINES]))


def _tree(finding: Finding) -> TreeWitness:
    assert isinstance(finding.evidence, TreeWitness)  # what a run shows is a tree
    return finding.evidence


def _order(finding: Finding) -> tuple[object, ...]:
    return (finding.site.path, *finding.site.span[:2], finding.code, finding.component, finding.message)


def _severity(charge: Charge, facts: Circumstances) -> Severity:
    """What lint would say: at least a warning; where acking is opt-in, never an error."""
    discipline = facts.discipline
    if charge.severity is not None:
        mild = discipline is not None and discipline.advisory
        return min(charge.severity, Severity.WARNING) if mild else charge.severity
    if discipline is None:
        return severity_of(charge.code)
    return max(advice.severity(discipline, facts.misuse), Severity.WARNING)


def _site(charge: Charge, facts: Circumstances, path: Sequence[PathStep]) -> Site:
    return path[{Mark.RECEIPT: 0, Mark.HAND: facts.by_hand, Mark.LAST: -1}[charge.mark]].site


def _aside(violation: Violation) -> Iterator[str]:
    if violation.note:
        yield violation.note
    if violation.discarded:
        yield f"tracer: it happened {violation.discarded:,} more {'time' if violation.discarded == 1 else 'times'} to the same tuples"


def _chain(violation: Violation) -> str:
    """How it came about, without lines, ids and threads."""
    return "/".join(
        f"{touch.kind.value} {touch.site.function if touch.site is not None else ''}".rstrip()
        for touch in violation.history
    )


def _with_left(finding: Finding, caused: Sequence[TupleTree], profile: Keeper | None) -> Finding:
    """The finding with what the delivery's violation did to the pending map."""
    if not caused:
        return finding
    witness = _tree(finding)
    lines = [left_by(tree) for tree in caused[:_MOST_LEFT]]
    if beyond := sum(tree.roots for tree in caused) - len(lines):
        lines.append(f"acker: {beyond:,} more {'root' if beyond == 1 else 'roots'} like these")
    if any(tree.entry is not None for tree in caused):
        lines.append(f"acker: such an entry {stays(profile)}")
    root = witness.root if witness.root is not None else caused[0].root
    return replace(finding, evidence=replace(witness, root=root, left=(*witness.left, *lines)))
