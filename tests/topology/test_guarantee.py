"""The verdict: each row of the decision table and each hard case, on hand-built topologies."""

from dataclasses import replace
from typing import Any

import pytest

from ackdoctor.model.topology import (
    Anchors,
    ComponentFacts,
    Defect,
    Gap,
    OnFail,
    Place,
    SourceAck,
    Verdict,
    Word,
)
from ackdoctor.topology.guarantee import by_spout, verdict
from tests.topology.wiring import HERE, bolt, emit, fault, node, setting, spout, topology

ACKERS = "topology.acker.executors"
MODE = "topology.reliability.mode"
ONE_BOLT = topology("words -> count")
TWO_BOLTS = topology("words -> count", "count -> store")
AT_MOST, AT_LEAST, EXACTLY = Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE, Word.EXACTLY_ONCE


def judge(top: Any = ONE_BOLT, /, **facts: ComponentFacts) -> Verdict:
    """Return the verdict; components without facts are faultless."""
    known = {each.id: spout() if each.role == "spout" else bolt() for each in top.nodes}
    return verdict(top, {**known, **facts})


def facts_of(found: Verdict) -> list[str]:
    """Return the reasons as "fact component file:line"."""
    return [f"{reason.fact} {reason.component or '-'} {reason.place}" for reason in found.reasons]


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


# ---- the hard cases, by their number ----


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


def test_an_ignored_double_ack_is_no_proof() -> None:
    found = judge(count=bolt(faults=(fault("ACK103", ignored=True),)))

    assert (found.word, found.lower, found.upper) == ("unknown", AT_MOST, AT_LEAST)


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


# ---- boundaries ----


def test_an_explicit_best_effort_emit_gives_two_verdicts() -> None:
    found = judge(TWO_BOLTS, count=bolt(emits=(emit(12, Anchors.WAIVED),)), store=bolt(completes=False))

    assert found.word == "at-least-once"
    assert found.boundary == (
        "tracking ends at count (code.py:12), on purpose: at-least-once up to there, at-most-once behind it"
    )


def test_a_stream_that_the_settings_name_best_effort_is_a_boundary() -> None:
    facts = {"words": spout(), "count": bolt(emits=(emit(12, Anchors.NONE),)), "store": bolt()}

    assert verdict(TWO_BOLTS, facts).word == "at-most-once"
    found = verdict(TWO_BOLTS, facts, best_effort={"count:default"})
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
