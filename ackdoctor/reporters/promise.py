"""The guarantee of a topology beside what a run shows.  A run can show a loss; that there is none holds for this run only."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass

from ackdoctor.model.finding import counted
from ackdoctor.model.topology import Judged, Word
from ackdoctor.model.trace import Outcomes
from ackdoctor.reporters import printable
from ackdoctor.reporters.topology import branch_of, guarantee


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Promise:
    """The topologies that a run may be of, and what became of its messages.

    `complete`: no row of the run is missing.  `paths` are where the topologies were looked for.
    """

    topologies: tuple[Judged, ...]
    outcomes: tuple[Outcomes, ...]
    complete: bool
    paths: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield a line for each spout of each topology."""
        if not self.topologies:
            yield printable(f"no topology under {', '.join(self.paths)} has a component of this run")
        for judged in self.topologies:
            topology = judged.topology
            head = " ".join(filter(None, (topology.name, f"({topology.place})", branch_of(judged))))
            known = judged.verdict.lower is judged.verdict.upper
            head += f" promises {guarantee(judged.verdict)}" if known else f": {guarantee(judged.verdict)}"
            own = [each for each in self.outcomes if each.spout in _names(judged)]
            if not own:
                yield printable(f"{head}; the run shows no message id, so it can show no loss")
            for each in own:
                yield printable(f"{head}; {self._shown(each, judged.verdict.lower)}")

    def _shown(self, run: Outcomes, promised: Word) -> str:
        """`kafka: 3,924 of 10,000 messages failed or timed out, 3,924 of them were emitted again; 0 lost`."""
        parts = [f"{run.spout}: {run.failed:,} of {counted(run.ids, 'message')} failed or timed out"]
        if run.failed:
            parts[0] += f", {run.replayed:,} of them were emitted again"
        if run.open:
            parts.append(f"{run.open:,} open at the end")
        if run.lost:
            why = ": the promise is broken, or the run ended before the replay"
            parts.append(f"{run.lost:,} never completed{'' if promised is Word.AT_MOST_ONCE else why}")
        elif not run.open:
            parts.append(
                "0 lost" if self.complete else "0 lost of those seen, but parts of the run are missing"
            )
        if run.repeated:
            parts.append(f"{run.repeated:,} completed more than once")
        return "; ".join(parts)

    def plain(self) -> dict[str, object]:
        """Return the same for JSON."""
        return {
            "topologies": [
                {
                    "name": judged.topology.name,
                    "branch": judged.topology.branch,
                    "verdict": judged.verdict.word,
                    "lower": judged.verdict.lower.value,
                    "upper": judged.verdict.upper.value,
                }
                for judged in self.topologies
            ],
            "outcomes": [asdict(each) for each in self.outcomes],
            "complete": self.complete,
        }


def matching(topologies: Sequence[Judged], components: Collection[str]) -> tuple[Judged, ...]:
    """Return the topologies that have most of the run's components, by their ids or the names of their classes."""
    shared = [(len(_names(judged) & set(components)), judged) for judged in topologies]
    most = max((count for count, _ in shared), default=0)
    return tuple(judged for count, judged in shared if count == most and most)


def _names(judged: Judged) -> set[str]:
    return {name for node in judged.topology.nodes for name in (node.id, node.cls.rpartition(".")[2])}
