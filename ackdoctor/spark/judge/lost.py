"""Roots that went down with a worker, or whose acks nobody has written down: no code is to blame for them.

Where a worker ends, what it had in hand is lost, and what is sent to it until it runs again; the spout times it out.  Where
only its log ends, what the acker was sent from then on is not known.  That holds for a root that was young then: of an older
one somebody had let go before.  An acker that was started anew knows none of the roots that others still ack: those are orphans.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ackdoctor.model.verdict import Residue, Verdict
from ackdoctor.spark.deliveries import Ends as LifeEnds
from ackdoctor.spark.read.logbook import quoted

__all__ = ["Ends"]

_LOST = f"'{Verdict.OPEN.name}', '{Verdict.EXPIRED.name}'"
_STRAY = f"'{Verdict.ORPHAN.name}', '{Verdict.EXPIRED.name}'"
_SECOND = 1_000_000_000
_Span: TypeAlias = tuple[int, int, int]  # begun from, the end, begun until


@dataclass(slots=True, kw_only=True)
class Ends:
    """By run, when roots began that went down with a worker, and when those that a new acker does not know, in ns.

    `slow` if a bolt may hold a tuple for longer than the acker keeps its root.
    """

    workers: Mapping[str, list[_Span]] = field(default_factory=dict)
    ackers: Mapping[str, list[_Span]] = field(default_factory=dict)
    slow: bool = False

    @classmethod
    def of(
        cls,
        lives: LifeEnds,
        anew: LifeEnds,
        ackers: Iterable[tuple[str, int]],
        patience_s: int,
        *,
        slow: bool = False,
    ) -> "Ends":
        """When each life of a worker ended, and when the next began if one did; and by run when an acker was started anew."""
        patience_ns = patience_s * _SECOND
        until = {
            life: max(end, anew[life] + patience_ns) if life in anew else end for life, end in lives.items()
        }
        return cls(
            workers=_by_run((life[0], (end - patience_ns, end, until[life])) for life, end in lives.items()),
            ackers=_by_run((run, (start, start, start + patience_ns)) for run, start in ackers),
            slow=slow,
        )

    def sql(self) -> str:
        """Whether a row of VERDICTS was lost so; an entry that was gone before the end was not, unless a bolt is `slow`.

        One that is still kept may be acked yet, though its spout has timed it out.
        """
        gone = "first_ns between span.low and span.high"
        gone += "" if self.slow else " and (kept or coalesce(end_ns >= span.end, true))"
        lost = f"tracked and verdict in ({_LOST}) and residue != '{Residue.FAILED.name}' and {_among(self.workers, gone)}"
        stray = f"not tracked and verdict in ({_STRAY}) and {_among(self.ackers, 'first_ns between span.low and span.high')}"
        return f"(({lost} or {stray}) and not exists(culprits, one -> one.acks > 1))"

    def hold(self, run: str, first_ns: int) -> bool:
        """Whether a root that began then, in ns, was young where a worker ended."""
        return any(low <= first_ns <= high for low, _, high in self.workers.get(run, ()))


def _by_run(spans: Iterable[tuple[str, _Span]]) -> dict[str, list[_Span]]:
    """Each row is asked for all of them, and of one topology most logs end at once: what ends within a second is one."""
    found: defaultdict[str, dict[int, _Span]] = defaultdict(dict)
    for run, (low, end, high) in spans:
        a_low, an_end, a_high = found[run].get(end // _SECOND, (low, end, high))
        found[run][end // _SECOND] = (min(low, a_low), min(end, an_end), max(high, a_high))
    return {run: list(its.values()) for run, its in found.items()}


def _among(spans: Mapping[str, list[_Span]], holds: str) -> str:
    cases = (
        f"when {quoted(run)} then exists(array({', '.join(map(_struct, its))}), span -> {holds})"
        for run, its in spans.items()
    )
    return f"case run {' '.join(cases)} else false end" if spans else "false"


def _struct(span: _Span) -> str:
    low, end, high = span
    return f"struct({low}L as low, {end}L as end, {high}L as high)"
