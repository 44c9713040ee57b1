"""What each fact costs, and how facts and gaps become a word.

A row of `COSTS` answers two questions about a fact: may a message be lost, may it take effect twice?  Every fact alone
breaks at least once; a gap widens the word to an interval.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ackdoctor.model.topology import Gap, Node, Place, Reason, Verdict, Word

__all__ = ["COSTS", "Cost", "Evidence", "minimum", "undecided", "unique"]

T = TypeVar("T")
_UNREAD = "component-not-found"


class Cost(NamedTuple):
    """What a fact costs; None: the fact alone does not tell.

    `if_tracked` is true for a fact that costs nothing where Storm does not track the tuple.
    """

    may_lose: bool | None
    may_repeat: bool | None = None
    if_tracked: bool = False
    word: Word = Word.AT_MOST_ONCE


COSTS: Mapping[str, Cost] = {
    "ackers-zero": Cost(may_lose=True, may_repeat=False),
    "reliability-off": Cost(may_lose=True, may_repeat=False),
    "timeouts-off": Cost(may_lose=True),
    "spout-no-ids": Cost(may_lose=True, may_repeat=False),
    "spout-no-replay": Cost(may_lose=True, may_repeat=False),
    "bounded-retry": Cost(may_lose=True, may_repeat=True),
    "source-acked-on-delivery": Cost(may_lose=True),
    "unanchored-emit": Cost(may_lose=True),
    "bolt-never-acks": Cost(may_lose=False, may_repeat=True, if_tracked=True),
    "double-completion": Cost(may_lose=True, may_repeat=True, if_tracked=True),
    "bolt-acks-before-effect": Cost(may_lose=True),
    "bolt-acks-on-failure": Cost(may_lose=True),
    "bolt-swallows-failure": Cost(may_lose=True),
    "not-stateful": Cost(may_lose=None, may_repeat=True, word=Word.AT_LEAST_ONCE),
    "no-state": Cost(may_lose=False, may_repeat=True, word=Word.AT_LEAST_ONCE),
    "state-forgets-txid": Cost(may_lose=False, may_repeat=True, word=Word.AT_LEAST_ONCE),
    "state-ignores-txid": Cost(may_lose=False, may_repeat=True, word=Word.AT_LEAST_ONCE),
    "state-in-memory": Cost(may_lose=True),
    "component-not-found": Cost(may_lose=None),
    "file-does-not-parse": Cost(may_lose=None),
}


@dataclass
class Evidence:
    """What is found about one spout and the components behind it."""

    reasons: list[Reason] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    boundaries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, fact: str, place: Place, why: str, component: str = "", *, sure: bool = True) -> None:
        """Add a reason, once for each fact, component and line."""
        new = Reason(
            fact=fact, place=place, why=why, component=component, sure=sure, lowers_to=COSTS[fact].word
        )
        for at, known in enumerate(self.reasons):
            if (known.fact, known.component, known.place) == (fact, component, place):
                self.reasons[at] = new if sure and not known.sure else known
                return
        self.reasons.append(new)

    def add_unread(self, node: Node) -> None:
        """Add a component whose code is not known."""
        if node.unread:
            self.gaps.append(Gap(f"{node.id} is not read: {node.unread}", node.place))
            return
        kind = "script" if node.cls.endswith(".py") else "class"
        why = f"no file here has the {kind} {node.cls}"
        self.gaps.append(Gap(f"{node.id}: {why}", node.place))
        self.add(_UNREAD, node.place, why, node.id, sure=False)

    def words(self, best: Word) -> tuple[Word, Word]:
        """Return both ends of the word: doubts count for the lower end only, sure reasons for both."""
        upper = _weakest([best, *(reason.lowers_to for reason in self.reasons if reason.sure)])
        doubts = [reason.lowers_to for reason in self.reasons]
        lower = _weakest([upper, *doubts, *(Word.AT_MOST_ONCE for _ in self.gaps)])
        return lower, upper

    def may_lose(self) -> bool | None:
        """Whether a message may be lost."""
        if any(reason.sure and COSTS[reason.fact].may_lose for reason in self.reasons):
            return True
        doubts = any(COSTS[reason.fact].may_lose is not False for reason in self.reasons)
        return None if doubts or self.gaps else False

    def decisive(self, lower: Word, upper: Word) -> tuple[Reason, ...]:
        """Return the reasons, the deciding one first: sure ones first, then those that cost most.

        Code that was not read is no reason for a word that other facts decide; it becomes a note.
        """
        ordered = sorted(self.reasons, key=lambda reason: (not reason.sure, reason.lowers_to.rank))
        if lower is not upper:
            return tuple(ordered)
        unread = [reason for reason in ordered if reason.fact == _UNREAD]
        self.notes += [
            f"{reason.component} is not judged: {reason.why} ({reason.place})" for reason in unread
        ]
        return tuple(reason for reason in ordered if reason.fact != _UNREAD)


def _weakest(words: Iterable[Word]) -> Word:
    return min(words, key=lambda word: word.rank)


def undecided(
    gaps: Iterable[Gap], reasons: Iterable[Reason] = (), upper: Word = Word.EXACTLY_ONCE
) -> Verdict:
    """Return a verdict that only bounds the guarantee from above."""
    return Verdict(
        lower=Word.AT_MOST_ONCE,
        upper=upper,
        may_lose=None,
        may_repeat=None,
        reasons=tuple(reasons),
        gaps=unique(gaps),
    )


def minimum(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Join the verdicts of spouts: the weakest word, and what weakens any of them, the weakest spout first."""
    ordered = dict(sorted(verdicts.items(), key=lambda item: (item[1].upper.rank, item[1].lower.rank)))
    every = tuple(ordered.values())
    lower = _weakest(each.lower for each in every)
    upper = _weakest(each.upper for each in every)
    return Verdict(
        lower=lower,
        upper=upper,
        may_lose=_any(each.may_lose for each in every),
        may_repeat=_any(each.may_repeat for each in every),
        reasons=unique(reason for each in every for reason in each.reasons),
        gaps=unique(gap for each in every for gap in each.gaps) if lower is not upper else (),
        death=_deaths({spout: each.death for spout, each in ordered.items() if each.death}),
        broken_paths=unique(path for each in every for path in each.broken_paths),
        boundary="; ".join(unique(each.boundary for each in every if each.boundary)),
        notes=unique(note for each in every for note in each.notes),
    )


def _deaths(deaths: Mapping[str, str]) -> str:
    """Say once what the death of any spout does, or name the spouts if they differ."""
    texts = unique(deaths.values())
    return texts[0] if len(texts) == 1 else "; ".join(f"{spout}: {text}" for spout, text in deaths.items())


def _any(answers: Iterable[bool | None]) -> bool | None:
    """True if one answer is true, else None if one is unknown."""
    known = set(answers)
    return True if True in known else None if None in known else False


def unique(items: Iterable[T]) -> tuple[T, ...]:
    """Return the items without repetitions, in their order."""
    return tuple(dict.fromkeys(items))
