"""The topologies of a run: those that its code wires and those of its texts, each with its guarantee and its findings."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ackdoctor.lint.discover import LIMIT, Candidate, reason
from ackdoctor.lint.project import Result
from ackdoctor.model.finding import Finding, Unreadable
from ackdoctor.model.source import read_file
from ackdoctor.model.topology import Judged, Place, Topology
from ackdoctor.topology.texts import Texts, matters


@dataclass(slots=True)
class Wiring:
    """The judged topologies of a run, their findings, and the texts that belong to them, by display path."""

    judged: tuple[Judged, ...] = ()
    findings: tuple[Finding, ...] = ()
    unreadable: list[Unreadable] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    used: frozenset[str] = frozenset()  # texts that wire or configure a topology

    @contextmanager
    def costing(self, path: str) -> Iterator[None]:
        """Let an internal error cost the topologies of one file, and no more."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the others go on
            self.unreadable.append(Unreadable.crash(path, error, where="a topology", partial=True))


def judge_topologies(
    candidates: Sequence[Candidate],
    results: Sequence[Result],
    best_effort: Sequence[str] = (),
    ignored: Callable[[], Collection[tuple[str, int, str]]] = tuple,
    overlay: Mapping[str, bytes] | None = None,
) -> Wiring:
    """Return the topologies of these texts and results.  What fails becomes an entry of `unreadable`.

    `best_effort` names the streams ("count:alerts") on which loss is accepted.  `ignored` returns the findings that
    comments silence: file, line and rule.  `overlay` holds contents that are not (yet) on disk.
    """
    wiring = Wiring()
    wired = [topology for result in results for topology in result.topologies]
    for candidate in candidates:
        path = candidate.display_path
        try:
            edited = (overlay or {}).get(candidate.path)
            data = read_file(candidate.path, LIMIT) if edited is None else edited
        except OSError as error:
            wiring.unreadable.append(Unreadable(path=path, line=0, column=0, reason=reason(error)))
            continue
        if matters(path, data):
            wiring.texts[path] = data
    if not wired and not wiring.texts:
        return wiring
    from ackdoctor.topology.checks import findings  # a run without topologies needs none of these
    from ackdoctor.topology.judge import judge
    from ackdoctor.topology.readers.flux_sources import with_sources
    from ackdoctor.topology.readers.text import configured, from_text
    from ackdoctor.topology.readers.undecided import without_fragments

    texts = Texts(wiring.texts)
    topologies: list[Topology] = []
    for topology in without_fragments(wired):
        with wiring.costing(topology.place.path):
            topologies += configured(topology, texts)
    for path in texts:
        with wiring.costing(path):
            topologies += from_text(path, texts)
    topologies = list(with_sources(topologies))
    facts = [each for result in results for each in result.facts]
    if topologies:
        with wiring.costing(topologies[0].place.path):
            wiring.judged = judge(topologies, facts, best_effort=best_effort, ignored=ignored())
            wiring.findings = findings(wiring.judged)
    wiring.used = frozenset(wiring.texts) & {
        place.path for topology in topologies for place in _places(topology)
    }
    return wiring


def _places(topology: Topology) -> Iterator[Place]:
    yield topology.place
    if topology.config is not None:
        yield topology.config
    yield from (node.place for node in topology.nodes)
    yield from (edge.place for edge in topology.edges)
    yield from (setting.place for setting in topology.settings)
