"""Hand-made topologies with their verdicts, for the screens and the formats."""

from collections.abc import Sequence

from ackdoctor.model.topology import (
    Anchors,
    ComponentFacts,
    Defect,
    Edge,
    Emit,
    Gap,
    Judged,
    Node,
    OnFail,
    Place,
    Reason,
    Setting,
    SourceAck,
    Topology,
    Verdict,
    Word,
)

WIRING = "topologies/words.py"
NO_IDS = Reason(
    fact="spout-no-ids", place=Place("src/words.py", 36), why="emit without tup_id", component="words"
)
EARLY = Reason(
    fact="bolt-acks-before-effect",
    place=Place("src/count.py", 51),
    why="counts are flushed by a tick",
    component="count",
)
FROM_ARGUMENTS = Gap("ackers come from args[2]", Place("Main.java", 41))


def verdict(
    lower: Word = Word.AT_MOST_ONCE,
    upper: Word | None = None,
    *,
    reasons: Sequence[Reason] = (),
    gaps: Sequence[Gap] = (),
    death: str = "",
    notes: Sequence[str] = (),
    boundary: str = "",
) -> Verdict:
    lost = lower is Word.AT_MOST_ONCE
    return Verdict(
        lower=lower,
        upper=upper or lower,
        may_lose=lost if upper in {None, lower} else None,
        may_repeat=lower is Word.AT_LEAST_ONCE,
        reasons=tuple(reasons),
        gaps=tuple(gaps),
        death=death,
        broken_paths=(("words", "count"),) if lost else (),
        boundary=boundary,
        notes=tuple(notes),
    )


def graph(edges: Sequence[tuple[str, str]], given: Verdict | None = None) -> Judged:
    """Return a topology with these edges; components without an input are spouts."""
    targets = {target for _, target in edges}
    ids = dict.fromkeys(end for edge in edges for end in edge)
    nodes = [
        Node(
            id=name,
            role="bolt" if name in targets else "spout",
            cls=f"app.{name.title()}",
            place=Place(WIRING),
        )
        for name in ids
    ]
    return Judged(
        topology=Topology(
            name="graph",
            kind="flux",
            framework="storm 2.8.8",
            place=Place(WIRING),
            nodes=tuple(nodes),
            edges=tuple(
                Edge(source=source, target=target, place=Place(WIRING, n), grouping="shuffle")
                for n, (source, target) in enumerate(edges, start=1)
            ),
        ),
        verdict=given or verdict(Word.AT_LEAST_ONCE),
        facts={},
    )


def words(given: Verdict | None = None, *, name: str = "WordCount", branch: str = "") -> Judged:
    """Return the topology of a word count: `words` emits without ids, `count` acks before its flush."""
    nodes = (
        Node(id="words", role="spout", cls="words.WordSpout", place=Place(WIRING, 12), parallelism=1),
        Node(
            id="count",
            role="bolt",
            cls="count.CountBolt",
            place=Place(WIRING, 13),
            code=Place("src/count.py", 8),
            parallelism=2,
        ),
    )
    edge = Edge(source="words", target="count", place=Place(WIRING, 13), grouping="fields(word)")
    settings = (
        Setting(key="topology.message.timeout.secs", value=60, place=Place("config.json", 12)),
        Setting(key="topology.acker.executors", value=FROM_ARGUMENTS, place=Place("Main.java", 41)),
        Setting(
            key="topology.message.timeout.secs",
            value=5,
            place=Place(WIRING, 13),
            component="count",
            effective=False,
            why="Storm reads it for the whole topology only",
        ),
    )
    facts = {
        "words": ComponentFacts(
            cls="words.WordSpout",
            role="spout",
            dialect="streamparse",
            place=Place("src/words.py", 5),
            emits=(Emit(stream="default", place=Place("src/words.py", 36), has_id=False),),
            on_fail=OnFail.NOTHING,
            source="redis",
            source_ack=SourceAck.ON_DELIVERY,
        ),
        "count": ComponentFacts(
            cls="count.CountBolt",
            role="bolt",
            dialect="streamparse",
            place=Place("src/count.py", 8),
            emits=(Emit(stream="default", place=Place("src/count.py", 60), anchors=Anchors.NONE),),
            auto_ack=True,
            completes=True,
            acks_early=Place("src/count.py", 51),
        ),
    }
    return Judged(
        topology=Topology(
            name=name,
            kind="streamparse-py",
            framework="streamparse>=3",
            place=Place(WIRING, 9),
            nodes=nodes,
            edges=(edge,),
            settings=settings,
            branch=branch,
        ),
        verdict=given or verdict(reasons=(NO_IDS, EARLY), notes=("-o can set ackers to 0",)),
        facts=facts,
        defects=(
            Defect(
                kind="dead-key",
                sure="certain",
                place=Place("config.json", 18),
                why="acker_count has no effect since streamparse 3",
            ),
        ),
    )
