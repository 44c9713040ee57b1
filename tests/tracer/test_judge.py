"""Findings of a run have the codes, names and messages of lint."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from ackdoctor import tracer
from ackdoctor.acker.versions import profile
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Report, Severity
from ackdoctor.model.trace import AccessKind
from ackdoctor.reporters import Context, Sources, reporter
from ackdoctor.tracer.findings import RULE_MESSAGES, findings
from tests.rule_pages import load_metadata
from tests.tracer.violations import (
    call,
    culprit,
    framework,
    orphan,
    summary,
    touch,
    traced,
    tree,
    violation,
    written,
)

ACKED, FAILED, ANCHORED, EMITTED, RETURNED, ENDED = (
    AccessKind.ACKED,
    AccessKind.FAILED,
    AccessKind.ANCHORED,
    AccessKind.EMITTED,
    AccessKind.RETURNED,
    AccessKind.ENDED,
)
ANSWER = 'ShellBolt answers "Acked a non-existent or already acked/failed id" and the worker exits'
MIXED_ANSWER = (
    'ShellBolt answers "Acked (or Failed) a non-existent or already acked/failed id" and the worker exits'
)
STAYS = "its entry stays in ShellBolt.inputs for the life of the worker, and its tree times out"


# ---- which rule, and its words ----


def test_two_acks_of_two_calls_are_a_double_ack(path, places):
    twice = violation(
        Misuse.TWICE, traced(path), touch(ACKED, call(path, 9)), touch(ACKED, call(path, 10)), count=3
    )
    (found,) = findings([twice], places=places)
    assert summary(found) == (
        f"sql.py:10:13: error ACK103 double-ack the tuple is acked a second time: {ANSWER}"
    )
    assert found.help == "return after the first ack (line 9), or ack the tuple in one place only"
    assert [(step.site.span.line, step.note, step.state) for step in found.evidence.steps] == [
        (7, "received", "owed"),
        (9, "acked", "acked"),
        (10, "acked again", "acked"),
    ]
    assert (tree(found).delivery, tree(found).seen) == ("7", 3)


def test_one_call_that_acks_twice_while_one_tuple_is_handled_is_an_ack_in_a_loop(path, places):
    again = violation(Misuse.TWICE, traced(path), touch(ACKED, call(path, 10)), touch(ACKED, call(path, 10)))
    (found,) = findings([again], places=places)
    assert summary(found) == (
        "sql.py:10:13: error ACK104 ack-in-loop the tuple is completed again in every "
        f"iteration of the loop: {ANSWER}"
    )


def test_one_call_that_acks_a_kept_tuple_in_a_later_handler_call_is_a_double_ack(path, places):
    later = violation(
        Misuse.TWICE, traced(path), touch(ACKED, call(path, 10)), touch(ACKED, call(path, 10), entry=2)
    )
    (found,) = findings([later], places=places)
    assert (found.code, found.help) == ("ACK103", "ack the tuple in one place only")


def test_a_repeated_ack_is_reported_at_the_call_by_hand(path, places):
    both = violation(
        Misuse.TWICE,
        traced(path, auto_ack=True, auto_fail=True),
        touch(ACKED, call(path, 10)),
        touch(RETURNED),
        touch(ACKED, framework()),
    )
    (found,) = findings([both], places=places)
    assert summary(found) == (
        "sql.py:10:13: error ACK105 ack-with-auto-ack the tuple is acked by hand and pystorm acks it as well: "
        + ANSWER
    )
    assert found.help == (
        "remove this call, or set `auto_ack = False` on the class and complete each tuple by hand, once on every path, ticks too"
    )
    assert [(step.site.span.line, step.note) for step in found.evidence.steps] == [
        (7, "received"),
        (10, "acked"),
        (10, "returns to the framework"),
        (10, "the framework acks it"),
    ]


def test_a_fail_by_hand_that_the_framework_acks_has_the_price_of_a_mixture(path, places):
    both = violation(
        Misuse.MIXED,
        traced(path, auto_ack=True, auto_fail=True),
        touch(FAILED, call(path, 11)),
        touch(ACKED, framework()),
    )
    (found,) = findings([both], places=places)
    assert summary(found) == (
        "sql.py:11:9: error ACK105 ack-with-auto-ack the tuple is failed by hand and pystorm acks it as well: "
        + MIXED_ANSWER
    )
    assert found.help.startswith("set `auto_ack = False` on the class and complete each tuple by hand")


@pytest.mark.parametrize(
    ("misuse", "first", "then", "message"),
    [
        (Misuse.MIXED, ACKED, FAILED, "the tuple is failed although it was already acked"),
        (Misuse.MIXED, FAILED, ACKED, "the tuple is acked although it was already failed"),
        (Misuse.TWICE, FAILED, FAILED, "the tuple is failed although it was already failed"),
    ],
)
def test_completions_that_contradict_each_other_are_ack_and_fail(misuse, first, then, message, path, places):
    mixed = violation(misuse, traced(path), touch(first, call(path, 10)), touch(then, call(path, 11)))
    (found,) = findings([mixed], places=places)
    assert summary(found) == f"sql.py:11:9: error ACK106 ack-and-fail {message}: {MIXED_ANSWER}"


def test_an_exception_after_an_ack_is_ack_and_fail(path, places):
    rescue = violation(
        Misuse.MIXED, traced(path, auto_fail=True), touch(ACKED, call(path, 10)), touch(FAILED, framework())
    )
    (found,) = findings([rescue], places=places)
    assert summary(found) == (
        "sql.py:10:13: error ACK106 ack-and-fail an exception leaves the handler after the tuple was acked, "
        f"and the framework fails it again: {MIXED_ANSWER}"
    )


def test_a_tuple_that_is_never_completed_is_reported_at_its_handler(path, places):
    never = violation(Misuse.NEVER, traced(path), touch(RETURNED), touch(ENDED))
    (found,) = findings([never], places=places)
    assert summary(found) == (
        "sql.py:7:5: error ACK101 missing-ack the tuple leaves SqlBolt.process neither acked nor failed: "
        + STAYS
    )
    assert [step.note for step in found.evidence.steps] == [
        "received",
        "returns to the framework",
        "the run ends",
    ]


def test_a_tuple_that_a_field_still_holds_is_an_undrained_buffer(path, places):
    held = violation(Misuse.NEVER, traced(path), touch(RETURNED), touch(ENDED), held="self.pending")
    (found,) = findings([held], places=places)
    assert summary(found) == (
        "sql.py:7:5: error ACK401 undrained-buffer the tuple is stored in `self.pending`, and SqlBolt never acks "
        f"or fails it: {STAYS}"
    )
    assert found.evidence.steps[-1].note == "the run ends, still in self.pending"


def test_a_batch_that_never_came_is_a_batch_without_timer(path, places):
    waiting = violation(
        Misuse.NEVER,
        traced(path, role="BatchingBolt"),
        touch(ENDED),
        batch=True,
        handler="process_batch",
        held="self._batches",
    )
    (found,) = findings([waiting], places=places)
    assert summary(found) == (
        "sql.py:4:1: warning ACK404 batch-without-timer SqlBolt processes its batches later, "
        "and never processed a tuple of the batch"
    )
    assert found.help == "set topology.tick.tuple.freq.secs in the class's config or in the topology"


def test_an_anchor_that_was_acked_is_an_emit_after_ack(path, places):
    late = violation(
        Misuse.LATE_EMIT, traced(path), touch(ACKED, call(path, 10)), touch(ANCHORED, call(path, 12))
    )
    (found,) = findings([late], places=places)
    assert summary(found) == (
        "sql.py:12:9: error ACK202 emit-after-ack this emit is anchored to the tuple, which was acked: "
        'ShellBolt answers "Anchored onto ... after ack/fail" and the worker exits'
    )


def test_a_tick_acked_by_hand_where_the_framework_does_it_is_a_tick_completion(path, places):
    twice = violation(
        Misuse.TICK_TWICE,
        traced(path, auto_ack=True),
        touch(ACKED, call(path, 10)),
        touch(ACKED, framework()),
        tick=True,
        handler="process_tick",
    )
    (found,) = findings([twice], places=places)
    assert summary(found) == (
        "sql.py:10:13: error ACK109 tick-completion the tick is acked by hand, and the framework acks it: "
        + ANSWER
    )
    assert found.evidence.steps[0].note == "tick received"


def test_an_ack_from_another_thread_is_named_in_its_step_only(path, places):
    who = traced(path, dialect="storm_py")
    here = touch(ACKED, call(path, 10), thread="flusher")
    there = touch(ACKED, call(path, 10), thread="Thread-7")
    one, other = (findings([violation(Misuse.OFF_THREAD, who, t)], places=places)[0] for t in (here, there))
    assert one.code == "ACK108"
    assert one.evidence.steps[-1].note == "acks off the framework's thread, on thread flusher"
    assert one.fingerprint == other.fingerprint


def test_the_fix_of_an_emit_from_another_thread_is_its_anchors_if_the_pipe_is_locked(path, places):
    emitted = violation(Misuse.OFF_THREAD, traced(path), touch(EMITTED, call(path, 12), thread="worker"))
    (found,) = findings([emitted], places=places)
    assert found.help == (
        "name the anchors and ack them after this emit; or put the result into a queue and emit it at a later tick"
    )


def test_each_observable_misuse_has_a_rule_and_no_other():
    folder = Path(tracer.__file__).parent
    names = ("live", "record", "wrappers")
    sources = [folder / f"{name}.py" for name in names]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    seen = {misuse for misuse in Misuse if f"Misuse.{misuse.name}" in text}
    assert {misuse for misuse, _ in RULE_MESSAGES} == seen - {
        Misuse.SPOUT_COMPLETES,  # ShellSpout reports it and dies; lint has no rule for it either
    }


def test_the_page_of_a_rule_says_that_a_run_can_show_it():
    roots = {"ACK504", "ACK601", "ACK602", "ACK603"}  # findings on roots and on the entries of an acker
    said_so = {code for code, rule in load_metadata().items() if "tree" in rule.evidence}
    assert {message.code for message in RULE_MESSAGES.values()} | roots == said_so


def test_every_violation_has_a_page():
    assert {message.code for message in RULE_MESSAGES.values()} <= set(load_metadata())


@pytest.mark.parametrize(("misuse", "turn"), RULE_MESSAGES)
def test_every_violation_has_a_message(misuse, turn, path, places):
    accesses = (touch(ACKED, call(path, 10)), touch(RETURNED))
    for dialect in ("pystorm", "heronpy", "none of ours"):
        (found, *_) = findings([violation(misuse, traced(path, dialect=dialect), *accesses)], places=places)
        assert "{" not in found.message + found.help


def test_an_unknown_framework_has_no_prices(path, places):
    never = violation(Misuse.NEVER, traced(path, dialect="lab", role="Bolt"), touch(RETURNED))
    (found,) = findings([never], places=places)
    assert (found.severity, found.message) == (
        Severity.ERROR,
        "the tuple leaves SqlBolt.process neither acked nor failed",
    )


def test_without_sites_the_finding_is_at_the_handler(path, places):
    twice = violation(Misuse.TWICE, traced(path), touch(ACKED), touch(ACKED))
    (found,) = findings([twice], places=places)
    assert (found.code, str(found.site)) == ("ACK103", "sql.py:7:5")


# ---- one cause, one finding ----


def test_two_misuses_of_one_tuple_at_one_place_are_one_finding_about_one_tuple(path, places):
    who = traced(path, auto_ack=True)
    by_hand = touch(ACKED, call(path, 10))
    second = violation(Misuse.TWICE, who, by_hand, touch(ACKED, call(path, 11)))
    third = violation(Misuse.TWICE, who, by_hand, touch(ACKED, framework()))
    (found,) = findings([second, third], places=places)
    assert (found.code, tree(found).seen) == ("ACK105", 1)


def test_a_fingerprint_knows_neither_line_nor_path_nor_delivery(tmp_path, places):
    old = written(tmp_path)
    moved = tmp_path / "moved.py"
    moved.write_text("\n\n" + Path(old).read_text(encoding="utf-8"), encoding="utf-8")
    one = violation(Misuse.TWICE, traced(old), touch(ACKED, call(old, 9)), touch(ACKED, call(old, 10)))
    other = violation(
        Misuse.TWICE,
        traced(str(moved), line=6),
        touch(ACKED, call(str(moved), 11)),
        touch(ACKED, call(str(moved), 12)),
        delivery="99",
    )
    prints = [findings([each], places=places)[0].fingerprint for each in (one, other)]
    assert len(prints[0]) == 20
    assert prints[0] == prints[1]


def test_findings_are_sorted_by_place(path, places):
    who = traced(path)
    one = violation(Misuse.LATE_EMIT, who, touch(ACKED, call(path, 10)), touch(ANCHORED, call(path, 12)))
    other = violation(Misuse.TWICE, who, touch(ACKED, call(path, 9)), touch(ACKED, call(path, 10)))
    assert findings([one, other], places=places) == findings([other, one], places=places)


# ---- on the screen ----


def test_a_finding_of_a_run_looks_like_one_of_lint(path, places, tmp_path):
    twice = violation(
        Misuse.TWICE,
        traced(path),
        touch(ACKED, call(path, 10)),
        touch(ACKED, call(path, 10)),
        count=42,
        test="tests/test_sql.py::test_insert",
    )
    found = findings(
        [twice], [orphan(77, 3, culprit(2, component="SqlBolt"))], profile=profile("1.1.0"), places=places
    )
    stream = io.StringIO()
    reporter("full")(Report(findings=found), stream, Context(sources=Sources(root=tmp_path)))
    assert stream.getvalue() == (
        "sql.py:10:13  error ACK104 ack-in-loop  the tuple is completed again in every "
        f"iteration of the loop: {ANSWER}\n"
        "      |                                                                   tuple\n"
        "    7 | def process(self, tup):  ╭ received                               owed\n"
        "   10 |         self.ack(tup)    ├ acked                                  acked\n"
        "      |         ^^^^^^^^^^^^^    ╰ completed again in the next iteration  acked\n"
        "      = seen: 42 times, first of delivery 7 in tests/test_sql.py::test_insert\n"
        "      = left: acker: root 77 leaves an orphan, value 3; the spout got ack\n"
        "      = left: acker: such an entry stays until the acker's worker restarts: storm-1.1.0 never drops one\n"
        "      = help: complete the tuple after the loop, or leave the loop with it · ackdoctor explain ACK104\n"
        "\n"
    )


@pytest.mark.parametrize(("discarded", "again"), [(1, "1 more time"), (3, "3 more times")])
def test_a_finding_counts_what_happened_again_to_the_same_tuples(path, places, discarded, again):
    noted = replace(
        violation(Misuse.TWICE, traced(path), touch(ACKED, call(path, 9)), touch(ACKED, call(path, 10))),
        discarded=discarded,
    )
    (found,) = findings([noted], places=places)
    assert tree(found).left == (f"tracer: it happened {again} to the same tuples",)
