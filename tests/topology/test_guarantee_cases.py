"""The verdict: the hard cases, by their number."""

from dataclasses import replace
from typing import Any

import pytest

from ackdoctor.model.topology import Anchors, ComponentFacts, Gap, OnFail, Place, SourceAck
from ackdoctor.topology.guarantee import by_spout, verdict
from tests.topology.wiring import (
    ACKERS,
    AT_LEAST,
    AT_MOST,
    EXACTLY,
    HERE,
    MODE,
    ONE_BOLT,
    TWO_BOLTS,
    bolt,
    emit,
    facts_of,
    fault,
    judge,
    node,
    setting,
    spout,
    topology,
)


def test_case_1_a_bolt_that_never_acks() -> None:
    found = judge(count=bolt(completes=False))

    assert (found.word, found.may_lose) == ("at-most-once", False)
    assert facts_of(found) == ["bolt-never-acks count count.py:1"]


@pytest.mark.parametrize(
    "settings_and_spout",
    [((setting(ACKERS, 0),), spout()), ((), spout(emits=(emit(5, has_id=False),)))],
)
def test_case_1_a_missing_ack_of_an_untracked_tuple_is_not_counted(settings_and_spout: Any) -> None:
    settings, words = settings_and_spout
    found = judge(
        replace(ONE_BOLT, settings=settings),
        words=words,
        count=bolt(completes=False, faults=(fault("ACK101"), fault("ACK103"))),
    )

    assert len(found.reasons) == 1


def test_case_2_an_unanchored_emit_without_a_consumer() -> None:
    last = bolt(emits=(emit(12, Anchors.NONE),))
    aside = bolt(emits=(emit(), emit(12, Anchors.NONE, stream="log")))

    assert judge(count=last).word == "at-least-once"
    assert judge(TWO_BOLTS, count=aside).word == "at-least-once"


def test_case_2_a_finding_about_an_emit_without_a_consumer() -> None:
    late = bolt(emits=(emit(20),), faults=(fault("ACK202"), fault("ACK204")))

    assert judge(count=late).word == "at-least-once"
    assert judge(TWO_BOLTS, count=late).word == "at-most-once"


def test_case_3_a_bolt_behind_an_unanchored_emit_need_not_ack() -> None:
    found = judge(TWO_BOLTS, count=bolt(emits=(emit(12, Anchors.NONE),)), store=bolt(completes=False))

    assert facts_of(found) == ["unanchored-emit count code.py:12"]


def test_case_5_a_swallowed_failure_with_auto_ack() -> None:
    found = judge(count=bolt(auto_ack=True, faults=(fault("ACK102"),)))

    assert facts_of(found) == ["bolt-swallows-failure count code.py:20"]


def test_case_5_an_ignore_comment_makes_a_drop_deliberate() -> None:
    found = judge(count=bolt(faults=(fault("ACK102", ignored=True),)))

    assert found.word == "at-least-once"
    assert "count may lose messages (code.py:20), on purpose" in found.boundary


@pytest.mark.parametrize("code", ["ACK101", "ACK106"])
def test_case_5_a_failure_that_the_spout_replays_is_no_loss(code: str) -> None:
    found = judge(count=bolt(faults=(fault(code, after_catch=True, must=False),)))

    assert (found.word, found.may_lose) == ("at-least-once", False)
    assert any("count (code.py:20)" in note for note in found.notes)
    never = judge(count=bolt(completes=False, faults=(fault(code, after_catch=True),)))
    assert never.word == "at-most-once"


def test_case_5_a_swallowed_failure_needs_no_further_assumption() -> None:
    assert judge(count=bolt(faults=(fault("ACK102", after_catch=True, must=False),))).word == "at-most-once"
    assert judge(count=bolt(faults=(fault("ACK102", must=False),))).word == "unknown"


def test_case_6_a_flush_after_the_ack() -> None:
    found = judge(count=bolt(auto_ack=True, acks_early=Place("count.py", 23)))

    assert (found.word, found.may_lose) == ("at-most-once", True)
    assert facts_of(found) == ["bolt-acks-before-effect count count.py:23"]


def test_case_8_a_basic_bolt_that_only_the_framework_completes() -> None:
    basic = bolt(auto_ack=True, completes=False, emits=(emit(12, Anchors.FRAMEWORK),))

    assert judge(TWO_BOLTS, count=basic).word == "at-least-once"


def test_case_9_a_window_is_at_least_once_and_drops_late_data() -> None:
    found = judge(TWO_BOLTS, count=bolt(windowed=True, auto_ack=True, emits=(emit(12, Anchors.FRAMEWORK),)))

    assert found.word == "at-least-once"
    assert "a window drops late tuples unless it has a late stream" in found.notes


def test_case_10_a_stateful_bolt_is_never_exactly_once() -> None:
    assert judge(count=bolt(stateful=True), words=spout(stateful=True)).word == "at-least-once"


def test_case_11_the_weakest_spout_decides() -> None:
    both = topology("words -> count", "clicks -> count")
    weak = spout(emits=(emit(5, has_id=False),))
    verdicts = by_spout(both, {"words": spout(), "clicks": weak, "count": bolt()})

    assert {name: each.word for name, each in verdicts.items()} == {
        "words": "at-least-once",
        "clicks": "at-most-once",
    }
    found = judge(both, clicks=weak)
    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, True)
    assert found.broken_paths == (("clicks", "count"),)


def test_case_11_a_spout_that_is_not_read_is_unknown() -> None:
    unread = replace(ONE_BOLT, nodes=(node("words", "spout", unread="JavaScript"), node("count")))
    found = verdict(unread, {"count": bolt()})

    assert (found.lower, found.upper, found.may_lose, found.may_repeat) == (AT_MOST, AT_LEAST, None, None)
    assert found.gaps == (Gap("words is not read: JavaScript", Place("topology.py", 2)),)


def test_case_12_a_join_that_anchors_to_one_side_breaks_the_path() -> None:
    join = topology("words -> left", "words -> right", "left -> join", "right -> join", "join -> store")
    found = judge(join, join=bolt(emits=(emit(14, Anchors.SOME),)))

    assert facts_of(found) == ["unanchored-emit join code.py:14"]


def test_case_13_a_cycle_ends() -> None:
    cycle = topology("words -> count", "count -> again", "again -> count")

    assert judge(cycle).word == "at-least-once"


def test_case_14_a_bolt_without_input_does_not_lower_the_word() -> None:
    alone = topology("words -> count", nodes=(node("words", "spout"), node("count"), node("lost")))

    assert judge(alone, lost=bolt(faults=(fault("ACK101"),))).word == "at-least-once"


def test_case_15_ackers_from_an_argument_give_an_interval() -> None:
    gap = Gap("ackers come from args[2]", Place("Main.java", 41))
    found = judge(replace(ONE_BOLT, settings=(setting(ACKERS, gap),)))

    assert (found.word, found.lower, found.upper) == ("unknown", AT_MOST, AT_LEAST)
    assert (found.gaps, found.may_lose, found.may_repeat) == ((gap,), None, None)


def test_case_15_a_gap_of_the_graph_gives_an_interval() -> None:
    gap = Gap("bolts are added in a loop", HERE)

    assert judge(replace(ONE_BOLT, gaps=(gap,))).gaps == (gap,)


def test_case_16_a_short_timeout_does_not_change_the_word() -> None:
    short = setting("topology.message.timeout.secs", 1)

    assert judge(replace(ONE_BOLT, settings=(short,))).word == "at-least-once"


@pytest.mark.parametrize(
    ("facts", "death"),
    [
        (spout(on_fail=OnFail.SOURCE), "also when the spout dies"),
        (spout(source_ack=SourceAck.ON_DELIVERY), "only while the spout lives"),
        (spout(source_ack=SourceAck.GENERATED), "only while the spout lives"),
        (spout(source_ack=SourceAck.UNKNOWN), "unknown"),
        (spout(on_fail=OnFail.NOTHING), ""),
    ],
)
def test_case_17_the_death_of_the_spout_is_a_separate_line(facts: ComponentFacts, death: str) -> None:
    found = judge(words=facts)

    assert found.death == death


def heron(kind: str = "heronpy", **settings: object) -> Any:
    keys = {"mode": MODE, "interval": "topology.stateful.checkpoint.interval.seconds", "ackers": ACKERS}
    given = tuple(setting(keys[name], value) for name, value in settings.items())
    return topology("words -> count", kind=kind, framework="heron", settings=given)


def test_case_18_herons_default_is_at_most_once() -> None:
    found = judge(heron())

    assert found.word == "at-most-once"
    assert facts_of(found) == ["reliability-off - topology.py:1"]


@pytest.mark.parametrize(
    ("mode", "word"),
    [
        ("ATMOST_ONCE", "at-most-once"),
        ("Config.TopologyReliabilityMode.ATLEAST_ONCE", "at-least-once"),
        ("SOMETIMES", "unknown"),
    ],
)
def test_case_18_a_reliability_mode_decides(mode: str, word: str) -> None:
    assert judge(heron(mode=mode)).word == word


def test_case_18_effectively_once_needs_state_everywhere_and_an_interval() -> None:
    once = heron(mode="EFFECTIVELY_ONCE", interval=30)
    words, count = spout(stateful=True), bolt(stateful=True)

    # acks and anchors mean nothing in this mode
    assert judge(once, words=words, count=replace(count, completes=False)).word == "exactly-once"
    stateless = judge(once, words=words)
    assert (stateless.lower, stateless.upper) == (AT_MOST, AT_LEAST)
    assert facts_of(stateless) == ["not-stateful - topology.py:30"]
    no_interval = judge(heron(mode="EFFECTIVELY_ONCE"), words=words, count=count)
    assert (no_interval.lower, no_interval.upper) == (AT_MOST, AT_LEAST)
    unread = verdict(once, {"words": words})
    assert (unread.lower, unread.upper) == (AT_MOST, EXACTLY)


def test_case_18_effectively_once_needs_a_source_that_rewinds() -> None:
    once = heron(mode="EFFECTIVELY_ONCE", interval=30)
    count = bolt(stateful=True)
    kafka = spout(stateful=True, source="kafka", source_ack=SourceAck.ON_ACK)
    committed = replace(kafka, source_ack=SourceAck.ON_DELIVERY, source_ack_place=Place("words.py", 3))

    unknown = judge(once, words=kafka, count=count)
    assert (unknown.lower, unknown.upper) == (AT_MOST, EXACTLY)
    forgets = judge(once, words=committed, count=count)
    assert forgets.word == "at-most-once"
    assert facts_of(forgets) == ["source-acked-on-delivery words words.py:3"]


def test_case_19_a_storm_jar_on_heron_tracks_nothing_without_ackers() -> None:
    assert judge(heron("java-builder")).word == "at-most-once"
    assert judge(heron("java-builder", ackers=2)).word == "at-least-once"
    assert judge(heron("java-builder", ackers=0)).word == "at-most-once"


def test_case_20_a_spout_with_auto_commit_replays_only_while_it_lives() -> None:
    found = judge(words=spout(source="kafka", source_ack=SourceAck.ON_DELIVERY))

    assert (found.word, found.death) == ("at-least-once", "only while the spout lives")


def test_case_21_an_ack_on_another_thread_is_unknown() -> None:
    found = judge(count=bolt(faults=(fault("ACK108"),)))

    assert (found.lower, found.upper) == (AT_MOST, AT_LEAST)
    assert found.gaps == (Gap("count completes tuples on another thread", Place("code.py", 20)),)


def test_case_23_the_command_line_is_a_footnote_and_no_gap() -> None:
    note = "this holds unless the command line or the cluster's storm.yaml sets topology.acker.executors to 0"

    assert note in judge().notes
    assert note not in judge(replace(ONE_BOLT, settings=(setting(ACKERS, 2),))).notes
