"""From violations and the acker's entries to findings, with the codes, names, severities and prices of lint.

One cause is one finding. If the acker keeps an entry because of a violation, the finding is the violation's and its
witness says what is left in the pending map.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ackdoctor.model.acker import AckerVersion
from ackdoctor.model.finding import Confidence, Finding, PathStep, Severity, TreeWitness, stamp
from ackdoctor.model.protocol import Op, Stage, move
from ackdoctor.model.source import Site
from ackdoctor.model.trace import Access, AccessKind, TupleTree, Violation
from ackdoctor.rulebook import advice
from ackdoctor.tracer.judge.acker import Causes, left_by, stays, tree_findings
from ackdoctor.tracer.judge.messages import (
    RULE_MESSAGES,
    Case,
    FindingSite,
    RuleMessage,
    ViolationContext,
    by_framework,
    name_of,
    severity_of,
)
from ackdoctor.tracer.judge.places import Places

__all__ = ["findings", "gathered", "steps"]


_NOTES: Mapping[AccessKind, str] = {
    AccessKind.RECEIVED: "received",
    AccessKind.ANCHORED: "emitted, anchored to it",
    AccessKind.EMITTED: "emitted without anchor",
    AccessKind.ACKED: "acked",
    AccessKind.FAILED: "failed",
    AccessKind.RETURNED: "returns to the framework",
    AccessKind.LOST: "garbage collected, still owed",
    AccessKind.ENDED: "the run ends",
}
_FRAMEWORK: Mapping[AccessKind, str] = {
    AccessKind.ACKED: "the framework acks it",
    AccessKind.FAILED: "the framework fails it",
    AccessKind.ANCHORED: "the framework anchors an emit to it",
}
_OPS: Mapping[AccessKind, tuple[Op, Op]] = {
    AccessKind.ACKED: (Op.ACK, Op.AUTO_ACK),
    AccessKind.FAILED: (Op.FAIL, Op.AUTO_FAIL),
    AccessKind.ANCHORED: (Op.ANCHOR, Op.ANCHOR),
}


def steps(violation: Violation, places: Places, last: str) -> tuple[PathStep, ...]:
    """One step for each access; the framework's own accesses have the author's last line.

    `last` is what the rule says of the offending record, '' where the record says it itself.
    """
    here = places.receipt(violation.traced, violation.handler)
    state = Stage.OWED
    path: list[PathStep] = []
    for number, touch in enumerate(violation.history):
        own = touch.site if touch.site is not None and not touch.site.framework else None
        if own is not None and own.line:
            here = places.of(own)
        if touch.kind in _OPS:
            state = move(state, _OPS[touch.kind][by_framework(touch)]).state
        offending = number == len(violation.history) - 1
        note = last if offending and last else _note(touch, violation)
        path.append(PathStep(site=here, note=note + _circumstance(touch), state=state.value))
    return tuple(path) or (PathStep(site=here, note=last or "here"),)


def _note(touch: Access, violation: Violation) -> str:
    if by_framework(touch) and touch.kind in _FRAMEWORK:
        return _FRAMEWORK[touch.kind]
    note = _NOTES[touch.kind]
    if touch.kind is AccessKind.ENDED and violation.held:
        return f"{note}, still in {violation.held}"
    return f"tick {note}" if violation.tick and touch.kind is AccessKind.RECEIVED else note


def _circumstance(touch: Access) -> str:
    thread = f", on thread {touch.thread}" if touch.thread else ""
    return f"{thread}, while an exception is handled" if touch.in_except else thread


_MOST_LEFT = 3  # roots that a finding names
_MOST_LINES = 6


def findings(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree] = (),
    *,
    profile: AckerVersion | None = None,
    places: Places | None = None,
    nowhere: Site | None = None,
) -> tuple[Finding, ...]:
    """All findings, one for each cause, sorted by place; `nowhere` is the site of a finding without a place in the code."""
    places = places or Places()
    kept = list(trees)
    causes = Causes(kept)
    explained: set[int] = set()
    found: list[Finding] = []
    for violation in violations:
        finding = _finding_of(violation, places)
        if finding is None:
            continue
        caused = causes.of(violation)
        explained.update(tree.root for tree in caused)
        found.append(_with_left(finding, caused, profile))
    rest = [tree for tree in kept if tree.root not in explained]
    found += tree_findings(rest, profile=profile, places=places, nowhere=nowhere)
    return gathered(found)


def _finding_of(violation: Violation, places: Places) -> Finding | None:
    """The finding of one violation; None for a misuse without a rule: a spout that acks."""
    context = ViolationContext.of(violation)
    message = RULE_MESSAGES.get((context.misuse, _case(context, places)))
    if message is None:
        return None
    words = message.words(context.words)
    path = steps(violation, places, words.note)
    cost = advice.clause(context.discipline, context.misuse) if message.priced and context.discipline else ""
    return Finding(
        code=message.code,
        name=name_of(message.code),
        severity=_severity(message, context),
        confidence=Confidence.MUST,
        site=_site(message, context, path),
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
        cause=f"{words.case}|{_chain(violation)}",
        help=words.help,
    )


def _case(context: ViolationContext, places: Places) -> Case:
    """The case; without a loop in the source, a method was called twice."""
    last = context.violation.history[-1].site if context.violation.history else None
    case = context.case
    if case is Case.ROUND and last is not None and not places.may_loop(last, context.violation.handler):
        return Case.PLAIN
    return case


def gathered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge equal findings of one place, sort and stamp them; the first of each keeps its witness."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in found:
        key = (finding.code, finding.site, finding.component, finding.handler, finding.message)
        known = merged.get(key)
        merged[key] = finding if known is None else _joined(known, finding)
    return stamp(sorted(merged.values(), key=_order))


def _joined(first: Finding, other: Finding) -> Finding:
    """Merge two findings; the same delivery counts once."""
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


def _severity(message: RuleMessage, context: ViolationContext) -> Severity:
    """The severity of lint: at least a warning; never an error if acking is opt-in."""
    discipline = context.discipline
    if message.severity is not None:
        mild = discipline is not None and discipline.advisory
        return min(message.severity, Severity.WARNING) if mild else message.severity
    if discipline is None:
        return severity_of(message.code)
    return max(advice.severity(discipline, context.misuse), Severity.WARNING)


def _site(message: RuleMessage, context: ViolationContext, path: Sequence[PathStep]) -> Site:
    return path[
        {FindingSite.RECEIPT: 0, FindingSite.HAND: context.by_hand, FindingSite.LAST: -1}[message.mark]
    ].site


def _aside(violation: Violation) -> Iterator[str]:
    if violation.note:
        yield violation.note
    if violation.discarded:
        yield f"tracer: it happened {violation.discarded:,} more {'time' if violation.discarded == 1 else 'times'} to the same tuples"


def _chain(violation: Violation) -> str:
    """The history without lines, ids and threads."""
    return "/".join(
        f"{touch.kind.value} {touch.site.function if touch.site is not None else ''}".rstrip()
        for touch in violation.history
    )


def _with_left(finding: Finding, caused: Sequence[TupleTree], profile: AckerVersion | None) -> Finding:
    """The finding with the entries that the violation leaves in the pending map."""
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
