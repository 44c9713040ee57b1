"""The verdict is never better than the published rule, and a fault never improves it.

The rule: at least once needs ackers, ids on every emit, a spout that replays, every emit anchored, and bolts that ack or
fail each tuple.  If one is missing the word is at most once; exactly once needs Trident or Heron's checkpoints.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random

import pytest

from ackdoctor.model.topology import Anchors, ComponentFacts, Gap, OnFail, Topology, Word
from ackdoctor.topology.guarantee import verdict
from tests.properties.examples import seeds
from tests.topology.wiring import HERE, bolt, emit, fault, setting, spout, topology

FAULTS = ("ACK101", "ACK102", "ACK103", "ACK106", "ACK107", "ACK202", "ACK204", "ACK401", "ACK404")
LOWERS = ("ACK101", "ACK102", "ACK103", "ACK106", "ACK107", "ACK401")


def wire(random: Random) -> Topology:
    """Return a random connected graph without cycles, with random ackers."""
    bolts = [f"bolt{number}" for number in range(random.randint(1, 6))]
    names = ["words", *bolts]
    wires = []
    for at, target in enumerate(bolts, start=1):
        sources = random.sample(names[:at], random.randint(1, min(2, at)))
        wires += [f"{source}{random.choice(('', ':log'))} -> {target}" for source in sources]
    ackers = random.choice((None, None, 0, 1, Gap("args", HERE)))
    given = () if ackers is None else (setting("topology.acker.executors", ackers),)
    return topology(*wires, settings=given)


def random_facts(random: Random, top: Topology) -> dict[str, ComponentFacts]:
    return {
        each.id: a_spout(random) if each.role == "spout" else a_bolt(random)
        for each in top.nodes
        if random.random() < 0.95
    }


def a_spout(random: Random) -> ComponentFacts:
    ids = random.choice((True, True, False, None))
    emits = tuple(emit(5 + at, stream=stream, has_id=ids) for at, stream in enumerate(("default", "log")))
    return spout(emits=emits, on_fail=random.choice(list(OnFail)))


def a_bolt(random: Random) -> ComponentFacts:
    anchors = (Anchors.ALL, Anchors.ALL, Anchors.FRAMEWORK, Anchors.NONE, Anchors.SOME, Anchors.UNKNOWN)
    emits = tuple(
        emit(10 + at, random.choice(anchors), stream=stream) for at, stream in enumerate(("default", "log"))
    )
    faults = tuple(
        fault(random.choice(FAULTS), line, must=random.random() < 0.7)
        for line in range(random.choice((0, 0, 1)))
    )
    return bolt(emits=emits, faults=faults, completes=random.random() < 0.9)


def missing(top: Topology, facts: Mapping[str, ComponentFacts]) -> Iterator[str]:
    """Yield what the published rule misses; what is unknown counts as missing."""
    ackers = next((each.value for each in top.settings), 1)
    if not isinstance(ackers, int) or ackers == 0:
        yield "ackers"
    consumed = {(edge.source, edge.stream) for edge in top.edges}
    for each in top.nodes:
        known = facts.get(each.id)
        if known is None:
            yield f"code of {each.id}"
            continue
        emits = [one for one in known.emits if (each.id, one.stream) in consumed]
        if each.role == "spout":
            if not all(one.has_id for one in emits):
                yield "ids"
            if known.on_fail not in (OnFail.REPLAYS, OnFail.SOURCE, OnFail.BURIED):
                yield "replay"
            continue
        if not all(one.anchors in (Anchors.ALL, Anchors.FRAMEWORK) for one in emits):
            yield "anchors"
        if not known.completes or any(one.code in LOWERS for one in known.faults):
            yield "acks"


@pytest.mark.parametrize("seed", seeds(20))
def test_the_word_is_never_better_than_the_published_rule(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        top = wire(random)
        facts = random_facts(random, top)
        found = verdict(top, facts)
        lacks = list(missing(top, facts))

        assert found.upper is not Word.EXACTLY_ONCE
        assert found.lower.rank <= found.upper.rank
        if lacks:
            assert found.lower is Word.AT_MOST_ONCE, lacks
        if found.lower is Word.AT_LEAST_ONCE:
            assert not found.may_lose


@pytest.mark.parametrize("seed", seeds(20))
def test_a_further_fault_never_improves_the_word(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        top = wire(random)
        facts = random_facts(random, top)
        before = verdict(top, facts)
        for name, known in facts.items():
            after = verdict(top, {**facts, name: worse(random, known)})
            assert after.lower.rank <= before.lower.rank
            assert after.upper.rank <= before.upper.rank


def worse(random: Random, known: ComponentFacts) -> ComponentFacts:
    """Return the facts with one more fault."""
    if known.role == "spout":
        emits = tuple(replace(one, has_id=False) for one in known.emits)
        return replace(known, **random.choice(({"emits": emits}, {"on_fail": OnFail.NOTHING})))
    unanchored = tuple(replace(one, anchors=Anchors.NONE) for one in known.emits)
    more = (*known.faults, fault(random.choice(FAULTS), 90, must=random.random() < 0.5))
    return replace(known, **random.choice(({"emits": unanchored}, {"faults": more}, {"completes": False})))
