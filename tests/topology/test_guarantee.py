"""The verdict: each row of the decision table, on hand-built topologies."""

from dataclasses import replace

import pytest

from ackdoctor.model.topology import Anchors, Defect, Gap, OnFail, Place, SourceAck
from ackdoctor.topology.guarantee import verdict
from tests.topology.wiring import (
    ACKERS,
    AT_LEAST,
    AT_MOST,
    EXACTLY,
    HERE,
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


def test_a_topology_without_a_fault_is_at_least_once() -> None:
    found = judge(TWO_BOLTS)

    assert (found.word, found.may_lose, found.may_repeat) == ("at-least-once", False, True)
    assert not found.reasons
    assert not found.gaps
    assert not found.broken_paths
    assert found.death == "also when the spout dies"


# ---- the decision table ----


def test_ackers_zero_loses_and_does_not_repeat() -> None:
    found = judge(replace(ONE_BOLT, settings=(setting(ACKERS, 0),)))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, False)
    assert facts_of(found) == ["ackers-zero - topology.py:30"]
    assert found.broken_paths == (("words", "count"),)


@pytest.mark.parametrize("value", [None, 1, 2, "2"])
def test_other_acker_settings_keep_tracking_on(value: object) -> None:
    assert judge(replace(ONE_BOLT, settings=(setting(ACKERS, value),))).word == "at-least-once"


def test_an_emit_without_an_id_loses_and_does_not_repeat() -> None:
    found = judge(words=spout(emits=(emit(5, has_id=False, path="words.py"),), on_fail=OnFail.NOTHING))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, False)
    assert facts_of(found) == ["spout-no-ids words words.py:5"]
    assert not found.death


def test_one_of_two_emits_without_an_id_loses_its_own_messages() -> None:
    found = judge(words=spout(emits=(emit(5, has_id=True), emit(6, has_id=False))))

    assert (found.word, found.may_repeat) == ("at-most-once", True)
    assert facts_of(found) == ["spout-no-ids words code.py:6"]


def test_an_emit_without_an_id_that_no_component_consumes_costs_nothing() -> None:
    assert (
        judge(words=spout(emits=(emit(5, has_id=True), emit(6, has_id=False, stream="log")))).word
        == "at-least-once"
    )


@pytest.mark.parametrize(
    ("on_fail", "fact", "repeats"),
    [
        (OnFail.NOTHING, "spout-no-replay", False),
        (OnFail.DEAD_LETTER, "spout-no-replay", False),
        (OnFail.BOUNDED, "bounded-retry", True),
    ],
)
def test_a_spout_that_does_not_replay_loses(on_fail: OnFail, fact: str, *, repeats: bool) -> None:
    found = judge(words=spout(on_fail=on_fail))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, repeats)
    assert facts_of(found) == [f"{fact} words words.py:8"]


def test_a_spout_that_buries_what_keeps_failing_is_at_least_once_with_a_note() -> None:
    found = judge(words=spout(on_fail=OnFail.BURIED))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-least-once", False, True)
    assert "words moves a message that keeps failing to a dead letter (words.py:8)" in found.notes


def test_a_source_that_is_acked_on_delivery_confirms_the_loss() -> None:
    delivered = {"source_ack": SourceAck.ON_DELIVERY, "source_ack_place": Place("words.py", 4)}
    found = judge(words=spout(on_fail=OnFail.NOTHING, **delivered))

    assert facts_of(found) == ["spout-no-replay words words.py:8"]
    assert found.reasons[0].why.endswith("its source forgets the message before the ack (words.py:4)")
    assert judge(words=spout(**delivered)).word == "at-least-once"


def test_a_source_that_is_acked_on_delivery_decides_nothing_if_fail_is_not_known() -> None:
    delivered = {"source_ack": SourceAck.ON_DELIVERY, "source_ack_place": Place("words.py", 4)}

    assert judge(words=spout(on_fail=OnFail.UNKNOWN, **delivered)).word == "unknown"
    assert judge(words=spout(on_fail=OnFail.SOURCE, **delivered)).word == "at-most-once"


def test_kafkas_no_guarantee_loses_and_repeats() -> None:
    top = replace(
        ONE_BOLT,
        nodes=(
            node("words", "spout", arguments={"processingGuarantee": "ProcessingGuarantee.NO_GUARANTEE"}),
            node("count"),
        ),
    )
    found = judge(top, words=spout(emits=(emit(5, has_id=False),)))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, True)


@pytest.mark.parametrize("anchors", [Anchors.NONE, Anchors.SOME])
def test_an_emit_without_every_anchor_loses_beyond_its_edge(anchors: Anchors) -> None:
    found = judge(TWO_BOLTS, count=bolt(emits=(emit(12, anchors),)))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, True)
    assert facts_of(found) == ["unanchored-emit count code.py:12"]
    assert found.broken_paths == (("words", "count", "store"),)


@pytest.mark.parametrize(
    ("code", "fact", "loses"),
    [
        ("ACK101", "bolt-never-acks", False),
        ("ACK102", "bolt-acks-on-failure", True),
        ("ACK103", "double-completion", True),
        ("ACK104", "double-completion", True),
        ("ACK105", "double-completion", True),
        ("ACK106", "double-completion", True),
        ("ACK107", "bolt-acks-before-effect", True),
        ("ACK110", "bolt-never-acks", False),
        ("ACK202", "bolt-acks-before-effect", True),
        ("ACK204", "unanchored-emit", True),
        ("ACK401", "bolt-never-acks", False),
        ("ACK402", "bolt-never-acks", False),
        ("ACK403", "bolt-never-acks", False),
    ],
)
def test_a_finding_about_a_bolt_breaks_at_least_once(code: str, fact: str, *, loses: bool) -> None:
    found = judge(count=bolt(faults=(fault(code),)))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", loses, True)
    assert facts_of(found) == [f"{fact} count code.py:20"]
    assert found.broken_paths == (("words", "count"),)


@pytest.mark.parametrize("code", ["ACK109", "ACK205", "ACK206", "ACK303", "ACK304", "ACK404"])
def test_other_findings_do_not_change_the_word(code: str) -> None:
    assert judge(count=bolt(faults=(fault(code),))).word == "at-least-once"


def test_timeouts_that_are_off_lose_what_the_network_loses() -> None:
    off = setting("topology.enable.message.timeouts", value=False)
    found = judge(replace(ONE_BOLT, settings=(off,)))

    assert (found.word, found.may_lose, found.may_repeat) == ("at-most-once", True, True)
    assert facts_of(found) == ["timeouts-off - topology.py:30"]
    untracked = judge(replace(ONE_BOLT, settings=(off,)), words=spout(emits=(emit(5, has_id=False),)))
    assert facts_of(untracked) == ["spout-no-ids words code.py:5"]


# ---- what is no proof ----


def test_an_ignored_double_ack_is_no_proof() -> None:
    found = judge(count=bolt(faults=(fault("ACK103", ignored=True),)))

    assert (found.word, found.lower, found.upper) == ("unknown", AT_MOST, AT_LEAST)


def test_an_absent_class_is_unknown_and_a_reason_names_it() -> None:
    found = verdict(ONE_BOLT, {"words": spout()})

    assert found.word == "unknown"
    assert facts_of(found) == ["component-not-found count topology.py:2"]
    assert not found.reasons[0].sure


def test_an_absent_class_behind_a_spout_without_ids_changes_nothing() -> None:
    found = verdict(ONE_BOLT, {"words": spout(emits=(emit(5, has_id=False),))})

    assert found.word == "at-most-once"
    assert facts_of(found)[0] == "spout-no-ids words code.py:5"
    assert not found.gaps


def test_an_unknown_spout_or_anchor_is_unknown() -> None:
    for found in (
        judge(words=spout(on_fail=OnFail.UNKNOWN)),
        judge(words=spout(emits=(emit(5, has_id=None),))),
        judge(words=spout(emits=())),
        judge(TWO_BOLTS, count=bolt(emits=(emit(12, Anchors.UNKNOWN),))),
        judge(TWO_BOLTS, count=bolt(emits=())),
    ):
        assert (found.word, found.lower, found.upper) == ("unknown", AT_MOST, AT_LEAST)
        assert found.gaps


def test_a_finding_that_depends_on_an_assumption_is_unknown() -> None:
    found = judge(count=bolt(faults=(fault("ACK101", must=False),)))

    assert (found.word, found.lower, found.upper) == ("unknown", AT_MOST, AT_LEAST)
    assert not found.broken_paths


def test_a_stream_that_its_source_does_not_declare_carries_nothing() -> None:
    wired = topology("words -> count", "count:missing -> store")
    found = judge(wired, count=bolt(streams={"default": None}), store=bolt(completes=False))

    assert found.word == "at-least-once"


def test_a_computed_stream_may_be_any_stream() -> None:
    wired = topology("words -> count", "count:big -> store")

    assert judge(wired, count=bolt(emits=(emit(12, Anchors.NONE, stream="?"),))).word == "at-most-once"


@pytest.mark.parametrize("stream", ["Words.BIG", "BIG", "streamOf(word)"])
def test_a_stream_that_the_reader_knows_by_its_expression_may_be_any_stream(stream: str) -> None:
    wired = topology("words -> count", f"count:{stream} -> store")
    loses = bolt(streams={"big": None}, emits=(emit(12, Anchors.NONE, stream="big"),))

    assert judge(wired, count=loses).word == "at-most-once"


def test_the_deciding_reason_is_first_and_the_next_ones_follow() -> None:
    found = judge(
        TWO_BOLTS,
        words=spout(emits=(emit(5, has_id=False),)),
        count=bolt(emits=(emit(12, Anchors.NONE),), faults=(fault("ACK107", must=False),)),
    )

    assert facts_of(found) == [
        "spout-no-ids words code.py:5",
        "unanchored-emit count code.py:12",
        "bolt-acks-before-effect count code.py:20",
    ]


def test_a_bolt_that_waits_for_ticks_without_ticks_never_acks() -> None:
    waits = bolt(holds=True, flushes_at_ticks=True)
    found = judge(topology("words -> count"), count=waits)
    ticked = topology(
        "words -> count", settings=(setting("topology.tick.tuple.freq.secs", 2, component="count"),)
    )

    assert (found.word, [reason.fact for reason in found.reasons]) == ("at-most-once", ["bolt-never-acks"])
    assert judge(ticked, count=waits).word == "at-least-once"


@pytest.mark.parametrize("is_mapping", [True, False])
def test_ticks_are_open_if_a_mapping_that_is_not_read_may_set_them(*, is_mapping: bool) -> None:
    ticks, others = "topology.tick.tuple.freq.secs", "topology.max.spout.pending"
    gap = Gap("limits()", Place("topology.py", 30))
    keys = (ticks, others) if is_mapping else (ticks,)
    top = topology("words -> count", settings=tuple(setting(key, gap, component="count") for key in keys))
    found = judge(top, count=bolt(holds=True, flushes_at_ticks=True))

    assert (found.word, found.upper) == ("unknown" if is_mapping else "at-least-once", AT_LEAST)


def test_timeouts_that_a_computed_flag_may_turn_off_are_open() -> None:
    flag = setting("topology.enable.message.timeouts", Gap("args[1]", Place("topology.py", 30)))
    found = judge(topology("words -> count", settings=(flag,)))

    assert (found.lower, found.upper) == (AT_MOST, AT_LEAST)
    assert [gap.why for gap in found.gaps] == ["args[1]"]


# ---- boundaries ----


def test_an_explicit_best_effort_emit_gives_two_verdicts() -> None:
    found = judge(TWO_BOLTS, count=bolt(emits=(emit(12, Anchors.WAIVED),)), store=bolt(completes=False))

    assert found.word == "at-least-once"
    assert found.boundary == (
        "tracking ends at count (code.py:12), on purpose: at-least-once up to there, at-most-once behind it"
    )


@pytest.mark.parametrize("name", ["default", "count:default"])
def test_a_stream_that_the_settings_name_best_effort_is_a_boundary(name: str) -> None:
    facts = {"words": spout(), "count": bolt(emits=(emit(12, Anchors.NONE),)), "store": bolt()}

    assert verdict(TWO_BOLTS, facts).word == "at-most-once"
    found = verdict(TWO_BOLTS, facts, best_effort={name})
    assert found.word == "at-least-once"
    assert found.boundary.startswith("tracking ends at count")


def test_a_component_behind_a_boundary_counts_if_a_tracked_path_reaches_it() -> None:
    both = topology("words -> count", "count:log -> store", "words -> store")
    facts = bolt(emits=(emit(12, Anchors.WAIVED, stream="log"),))

    assert judge(both, count=facts, store=bolt(completes=False)).word == "at-most-once"


# ---- files that do not parse ----


def test_a_file_that_does_not_parse_is_unknown() -> None:
    broken = Defect(kind="yaml-syntax", sure="certain", place=Place("t.yaml", 11), why="expected <block end>")
    found = judge(replace(ONE_BOLT, defects=(broken,)))

    assert (found.word, found.lower, found.upper) == ("unknown", AT_MOST, EXACTLY)
    assert facts_of(found) == ["file-does-not-parse - t.yaml:11"]


def test_a_topology_without_a_spout_is_unknown() -> None:
    assert judge(topology(nodes=(node("count"),))).word == "unknown"


def test_counts_in_memory_are_a_note_beside_at_least_once() -> None:
    found = judge(count=bolt(keeps=Place("count.py", 7)))

    assert found.word == "at-least-once"
    assert [note for note in found.notes if "count.py:7" in note and "lost with its worker" in note]
    assert not [
        note
        for note in judge(words=spout(on_fail=OnFail.NOTHING), count=bolt(keeps=HERE)).notes
        if "lost" in note
    ]


def test_emits_without_an_id_are_one_reason() -> None:
    found = judge(words=spout(emits=(emit(5, has_id=False), emit(9, has_id=False))))

    assert facts_of(found) == ["spout-no-ids words code.py:5"]
    assert "(also code.py:9)" in found.reasons[0].why


def test_code_that_is_not_read_is_a_note_if_other_facts_decide() -> None:
    top = replace(TWO_BOLTS)
    known = {"words": spout(on_fail=OnFail.NOTHING), "count": bolt()}
    found = verdict(top, known)

    assert facts_of(found) == ["spout-no-replay words words.py:8"]
    assert "store is not judged: no file here has the class Store (topology.py:2)" in found.notes


def test_a_missing_ack_repeats_nothing_if_the_spout_does_not_replay() -> None:
    found = judge(words=spout(on_fail=OnFail.NOTHING), count=bolt(faults=(fault("ACK101"),)))

    assert facts_of(found) == ["spout-no-replay words words.py:8"]


def test_a_bolt_whose_source_is_not_known_may_be_on_any_path() -> None:
    wired = topology("words -> count", "count -> store")
    found = judge(replace(wired, edges=(wired.edges[0], replace(wired.edges[1], source="?"))))

    assert (found.word, [gap.why for gap in found.gaps]) == (
        "unknown",
        ["it is not known what store subscribes to"],
    )
