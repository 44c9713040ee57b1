"""The verdict of a Trident topology: spout kind times state kind, and what breaks exactly once."""

from dataclasses import replace
from typing import Any

import pytest

from ackdoctor.model.topology import ComponentFacts, Fault, OnFail, Place, Verdict, Word
from ackdoctor.topology.guarantee import verdict
from ackdoctor.topology.trident_guarantee import function_key
from tests.topology.wiring import emit, node, setting, spout, topology

PLAIN, TRANSACTIONAL, OPAQUE = "non-transactional", "transactional", "opaque"


def trident(**more: Any) -> Any:
    nodes = (node("words", "spout"), node("counts", "state"))
    return topology("words -> counts", kind="trident", **{"nodes": nodes, **more})


def source(batch: str, **more: Any) -> ComponentFacts:
    return spout(batch=batch, emits=(), **more)


def state(batch: str, *faults: str) -> ComponentFacts:
    found = tuple(
        Fault(code, must=code != "state-in-memory", place=Place("Map.java", 48), message=code)
        for code in faults
    )
    return ComponentFacts(
        cls="Counts", role="state", dialect="trident", place=Place("Map.java", 1), batch=batch, faults=found
    )


def judge(words: ComponentFacts, counts: ComponentFacts, **more: Any) -> Verdict:
    return verdict(trident(**more), {"words": words, "counts": counts})


@pytest.mark.parametrize(
    ("batch", "kind", "word"),
    [
        (PLAIN, PLAIN, "at-least-once"),
        (PLAIN, TRANSACTIONAL, "at-least-once"),
        (PLAIN, OPAQUE, "at-least-once"),
        (TRANSACTIONAL, PLAIN, "at-least-once"),
        (TRANSACTIONAL, TRANSACTIONAL, "exactly-once"),
        (TRANSACTIONAL, OPAQUE, "exactly-once"),
        (OPAQUE, PLAIN, "at-least-once"),
        (OPAQUE, TRANSACTIONAL, "at-least-once"),
        (OPAQUE, OPAQUE, "exactly-once"),
    ],
)
def test_spout_kind_times_state_kind(batch: str, kind: str, word: str) -> None:
    found = judge(source(batch), state(kind))

    assert (found.word, found.may_lose, found.may_repeat) == (word, False, word != "exactly-once")


@pytest.mark.parametrize("sure", ["a write", "a call that may write"])
def test_a_function_on_the_way_to_a_state_writes(sure: str) -> None:
    charge = node("(each Charge)", "bolt")
    nodes = (node("words", "spout"), replace(node("counts", "state"), functions=(charge,)))
    effect = Fault("no-state", must=sure == "a write", place=Place("Charge.java", 9), message="charges")
    facts = {
        "words": source(OPAQUE),
        "counts": state(OPAQUE),
        function_key(charge): replace(state(""), role="bolt", faults=(effect,)),
    }
    found = verdict(trident(nodes=nodes), facts)

    assert found.lower is Word.AT_LEAST_ONCE
    assert found.upper is (Word.AT_LEAST_ONCE if effect.must else Word.EXACTLY_ONCE)
    assert [str(reason.place) for reason in found.reasons] == ["Charge.java:9"]


@pytest.mark.parametrize(
    ("cls", "lower"),
    [("demo.Absent", Word.AT_LEAST_ONCE), ("org.apache.storm.trident.testing.Split", Word.EXACTLY_ONCE)],
)
def test_a_function_that_is_not_read_may_have_an_effect(cls: str, lower: Word) -> None:
    counts = replace(node("counts", "state"), functions=(node("(each)", "bolt", cls=cls),))
    found = verdict(
        trident(nodes=(node("words", "spout"), counts)), {"words": source(OPAQUE), "counts": state(OPAQUE)}
    )

    assert (found.lower, found.upper) == (lower, Word.EXACTLY_ONCE)


def test_ackers_zero_replays_no_batch() -> None:
    found = judge(source(OPAQUE), state(OPAQUE), settings=(setting("topology.acker.executors", 0),))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, False)


def test_a_batch_spout_that_forgets_is_at_most_once() -> None:
    found = judge(source(PLAIN, on_fail=OnFail.NOTHING), state(OPAQUE))

    assert (found.word, found.may_lose) == ("at-most-once", True)
    assert [reason.fact for reason in found.reasons] == ["spout-no-replay"]


def test_a_rich_spout_without_ids_is_at_most_once() -> None:
    found = judge(spout(emits=(emit(5, has_id=False),)), state(OPAQUE))

    assert found.word == "at-most-once"
    assert [reason.fact for reason in found.reasons] == ["spout-no-ids"]


@pytest.mark.parametrize("fault", ["state-forgets-txid", "state-ignores-txid"])
def test_a_state_that_does_not_use_the_txid_is_at_least_once(fault: str) -> None:
    found = judge(source(TRANSACTIONAL), state(TRANSACTIONAL, fault))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-least-once", False, True)
    assert [(reason.fact, str(reason.place)) for reason in found.reasons] == [(fault, "Map.java:48")]
    assert found.broken_paths == (("words", "counts"),)


def test_a_state_in_memory_is_never_exactly_once() -> None:
    found = judge(source(OPAQUE), state(OPAQUE, "state-in-memory"))

    assert (found.lower, found.upper) == (Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE)
    assert "exactly once until the worker dies; then its state is lost" in found.notes


def test_an_effect_in_a_function_is_at_least_once() -> None:
    top = topology("words -> print", kind="trident")
    found = verdict(top, {"words": source(OPAQUE)})

    assert found.word == "at-least-once"
    assert [(reason.fact, reason.component) for reason in found.reasons] == [("no-state", "print")]


def test_the_weakest_sink_decides() -> None:
    nodes = (node("words", "spout"), node("counts", "state"), node("print"))
    top = topology("words -> counts", "words -> print", kind="trident", nodes=nodes)

    assert verdict(top, {"words": source(OPAQUE), "counts": state(OPAQUE)}).word == "at-least-once"


def test_an_unknown_state_or_spout_is_unknown() -> None:
    no_state = verdict(trident(), {"words": source(OPAQUE)})
    no_spout = verdict(trident(), {"counts": state(OPAQUE)})

    assert (no_state.lower, no_state.upper) == (Word.AT_MOST_ONCE, Word.EXACTLY_ONCE)
    assert (no_spout.lower, no_spout.upper) == (Word.AT_MOST_ONCE, Word.EXACTLY_ONCE)


def test_exactly_once_says_what_it_rests_on() -> None:
    found = judge(source(TRANSACTIONAL), state(TRANSACTIONAL))

    assert any("as the interface of a transactional spout demands" in note for note in found.notes)
