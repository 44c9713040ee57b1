"""What the acker keeps, as findings: entries that can never become zero (ACK601) and orphans (ACK602).

An entry is charged to the tuples that the residue law names (law L1).  An orphan alone
proves nothing (L4): every fail with acks still under way leaves one behind in a correct program, too.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Confidence, Finding, PathStep, Severity, TreeWitness
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.verdict import Culprit, PendingEntry, Residue, TupleTree, Verdict
from ackdoctor.model.violation import AccessKind, CallSite, Violation
from ackdoctor.rulebook.messages import NEVER_ZERO_ENTRY, ORPHAN_ENTRY, Words, phrase, words
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.labels import name_of
from ackdoctor.tracer.judge.place import Places, parsed

__all__ = ["ACKER", "Causes", "left_by", "times", "tree_findings", "under_way"]

ACKER = "acker"  # the component of a finding that names no other
_HEARD: Mapping[Verdict, str] = {
    Verdict.COMPLETE: "the spout heard ack",
    Verdict.FAILED: "the spout heard fail",
    Verdict.EXPIRED: "the spout timed out and replays",
    Verdict.OPEN: "the spout still waits",
    Verdict.ORPHAN: "no spout has asked for it",
}
_ORPHANED: Mapping[Verdict, str] = {
    Verdict.COMPLETE: "messages came after the tree was complete",
    Verdict.FAILED: "acks under way when the tree failed made the entry anew",
    Verdict.EXPIRED: "acks came after the entry had been given up",
    Verdict.OPEN: "the spout has not been heard of yet",
    Verdict.ORPHAN: "its spout was never heard of",
}


_LOST: Mapping[str, str] = {
    "ack": "an ack that {} sent never reached the acker",
    "fail": "a fail that {} sent never reached the acker",
    "init": "the __ack_init that {} sent never reached the acker",
    "tuple": "a tuple that {} sent never reached its task",
}
_DROPPED = " (lost between workers or still in a queue, or its receiver's log is not complete)"


class Causes:
    """Which trees a violation explains: by their root, or by a culprit that is the same delivery or the same calls."""

    def __init__(self, trees: Iterable[TupleTree]) -> None:
        self._trees = list(trees)
        self._places: dict[Hashable, list[int]] = {}
        for place, tree in enumerate(self._trees):
            keys: set[Hashable] = {tree.root}
            for culprit in tree.culprits:
                who = _bare(culprit.component)
                keys |= {("delivery", who, culprit.delivery), ("sites", culprit.sites)}
                if not culprit.acks and not culprit.lost:
                    keys.add(("never", who))
            for key in keys:
                self._places.setdefault(key, []).append(place)

    def of(self, violation: Violation) -> list[TupleTree]:
        """The trees, in their order."""
        done = tuple(
            str(touch.site)
            for touch in violation.history
            if touch.site is not None and touch.kind in (AccessKind.ACKED, AccessKind.FAILED)
        )
        keys: list[Hashable] = [violation.root] if violation.root is not None else []
        who = _bare(violation.traced.name)
        keys += [("delivery", who, violation.delivery)] if violation.delivery else []
        keys += [("sites", done)] if done else []
        keys += [("never", who)] if violation.misuse is Misuse.NEVER else []
        found = {place for key in keys for place in self._places.get(key, ())}
        return [self._trees[place] for place in sorted(found)]


def _bare(component: str) -> str:
    """A component is known by its id in the topology, which may be its class's name, or by its class."""
    return component.rpartition(".")[2]


def left_by(tree: TupleTree) -> str:
    """One line on what became of a root: "acker: root 77 leaves an orphan, value 3; the spout heard ack"."""
    entry = tree.entry
    heard = _HEARD[tree.verdict]
    if entry is None:
        return f"acker: root {tree.root} is gone; {heard}"
    kind = "an orphan" if entry.task is None else "a tracked entry"
    return f"acker: root {tree.root} leaves {kind}, {_value(entry)}; {heard}"


def times(acks: int) -> str:
    """`never acked`, `acked once`, `acked twice`, `acked 3 times`."""
    return {0: "never acked", 1: "acked once", 2: "acked twice"}.get(acks, f"acked {acks} times")


def under_way(tree: TupleTree, patience_s: int) -> bool:
    """Whether the acks of an open root may still have been on their way when the evidence ended."""
    young = tree.entry is not None and tree.entry.age_ms < patience_s * 1000
    surplus = any(culprit.acks > 1 for culprit in tree.culprits)
    return tree.verdict is Verdict.OPEN and young and not surplus and tree.residue is not Residue.FAILED


def tree_findings(
    trees: Iterable[TupleTree], *, profile: Keeper | None, places: Places, nowhere: Site | None
) -> Iterator[Finding]:
    """One finding for each entry that no delivery's finding accounts for."""
    for tree in trees:
        if tree.entry is None:
            continue
        if tree.entry.task is not None or any(culprit.acks > 1 or culprit.lost for culprit in tree.culprits):
            yield _never_zero(tree, profile, places, nowhere)
        else:
            yield _orphan(tree, profile, nowhere)


def _never_zero(tree: TupleTree, profile: Keeper | None, places: Places, nowhere: Site | None) -> Finding:
    surplus = any(culprit.acks > 1 for culprit in tree.culprits)
    on_its_way = any(culprit.lost for culprit in tree.culprits)
    proved = (tree.verdict is not Verdict.OPEN or surplus) and not on_its_way
    never = phrase(NEVER_ZERO_ENTRY, "proved" if proved else "open")
    path = tuple(step for culprit in tree.culprits for step in _steps(culprit, places))
    first = next((culprit for culprit in tree.culprits if not culprit.lost), None)
    calls = [call for culprit in tree.culprits for site in culprit.sites if (call := parsed(site))]
    blame = _blame(tree)
    return _finding(
        NEVER_ZERO_ENTRY,
        tree,
        words(
            NEVER_ZERO_ENTRY,
            "trace",
            never=never,
            blame=blame,
            stays=stays(profile),
            advice=_advice(tree.culprits),
        ),
        severity=Severity.ERROR if proved else Severity.WARNING,
        confidence=Confidence.MUST if proved and not tree.ambiguous else Confidence.MAY,
        site=path[-1].site if path else nowhere,
        path=path,
        component=first.component or ACKER if first is not None else ACKER,
        handler=calls[-1].function.rpartition(".")[2] if calls else "",
        cause=f"{never}: {blame}|{'/'.join(call.function for call in calls)}",
    )


def _orphan(tree: TupleTree, profile: Keeper | None, nowhere: Site | None) -> Finding:
    """A warning where only a misuse leaves an orphan: after an ACK nothing more is due."""
    suspicious = tree.verdict is Verdict.COMPLETE
    reason = _ORPHANED[tree.verdict]
    advice = phrase(ORPHAN_ENTRY, "suspicious" if suspicious else "harmless")
    return _finding(
        ORPHAN_ENTRY,
        tree,
        words(ORPHAN_ENTRY, "trace", reason=reason, stays=stays(profile), advice=advice),
        severity=Severity.WARNING if suspicious else Severity.INFO,
        confidence=Confidence.MAY,
        site=nowhere,
        path=(),
        component=ACKER,
        handler="",
        cause=reason,
    )


def _finding(
    code: str,
    tree: TupleTree,
    said: Words,
    *,
    severity: Severity,
    confidence: Confidence,
    site: Site | None,
    path: tuple[PathStep, ...],
    component: str,
    handler: str,
    cause: str,
) -> Finding:
    return Finding(
        code=code,
        name=name_of(code),
        severity=severity,
        confidence=confidence,
        site=site or Site(f"<{ACKER}>", NOWHERE),
        message=said.message,
        component=component,
        handler=handler,
        dialect="",
        evidence=TreeWitness(
            steps=path,
            delivery=tree.culprits[0].delivery if tree.culprits else "",
            root=tree.root,
            left=(left_by(tree), *map(_named, tree.culprits)),
            seen=tree.roots,
        ),
        cause=cause,
        help=said.help,
    )


def _blame(tree: TupleTree) -> str:
    if not tree.culprits:
        return "no tuple that was seen explains what is left"
    who = " and ".join(dict.fromkeys(map(_did, tree.culprits)))
    if all(culprit.lost for culprit in tree.culprits):
        return who + _DROPPED
    return f"{who} (others would explain it as well)" if tree.ambiguous else who


def _did(culprit: Culprit) -> str:
    if culprit.lost:
        return _LOST[culprit.lost].format(culprit.component or f"task {culprit.task}")
    whose = f" of {culprit.component}" if culprit.component else ""
    return f"a tuple{whose} was {times(culprit.acks)}"


def _advice(culprits: Collection[Culprit]) -> str:
    lost = all(culprit.lost for culprit in culprits)
    return phrase(NEVER_ZERO_ENTRY, "no culprit" if not culprits else "lost" if lost else "culprits")


def _named(culprit: Culprit) -> str:
    if culprit.lost:
        return f"law L1: {culprit.value} is the value of what {culprit.component}[{culprit.task}] sent"
    if not culprit.component:
        return f"law L1: {culprit.value} is what the ack of a tuple would send; {times(culprit.acks)}"
    delivery = f" delivery {culprit.delivery}" if culprit.delivery else ""
    return f"law L1: {culprit.value} is what {culprit.component}[{culprit.task}]{delivery} sends; {times(culprit.acks)}"


def _steps(culprit: Culprit, places: Places) -> Iterator[PathStep]:
    known: list[CallSite] = [call for site in culprit.sites if (call := parsed(site))]
    for number, call in enumerate(known):
        yield PathStep(site=places.of(call), note="acked again" if number else "acked", state="acked")


def _value(entry: PendingEntry) -> str:
    value = "no value" if entry.value is None else f"value {entry.value}"
    return f"{value}, failed" if entry.failed else value
