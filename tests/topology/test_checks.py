"""The rules about wiring and configuration, on hand-built topologies."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ackdoctor import topology as topology_package
from ackdoctor.model.finding import Confidence, Severity
from ackdoctor.model.topology import (
    Anchors,
    ComponentFacts,
    Defect,
    Fault,
    Gap,
    Judged,
    OnFail,
    Place,
    Setting,
    Topology,
)
from ackdoctor.rulebook import catalogue
from ackdoctor.topology.checks import defects, findings, load
from ackdoctor.topology.guarantee import verdict
from ackdoctor.topology.settings import LATE_STREAM
from tests.topology.wiring import HERE, bolt, emit, fault, node, setting, spout, topology

ACKERS, PENDING = "topology.acker.executors", "topology.max.spout.pending"
TIMEOUT, TIMEOUTS = "topology.message.timeout.secs", "topology.enable.message.timeouts"
TICKS, MODE = "topology.tick.tuple.freq.secs", "topology.reliability.mode"
WINDOW = "topology.bolts.window"
BOUNDED = setting(PENDING, 500)
NO_IDS = spout(emits=(emit(5, has_id=False),), source="")


def judged(*settings: Setting, top: Topology | None = None, **facts: ComponentFacts) -> Judged:
    """Judge `words -> count` with these settings; components without facts are faultless."""
    wired = replace(top or topology("words -> count"), settings=settings)
    known: Mapping[str, ComponentFacts] = {
        each.id: spout() if each.role == "spout" else bolt() for each in wired.nodes
    }
    known = {**known, **facts}
    return Judged(topology=wired, verdict=verdict(wired, known), facts=known)


def kinds(*settings: Setting, **more: Any) -> list[str]:
    """Return the defects as "kind sure"."""
    return [f"{each.kind} {each.sure}" for each in defects(judged(*settings, **more))]


def test_a_faultless_topology_has_no_defect() -> None:
    assert kinds(BOUNDED) == []


# ---- ACK501 ----


def test_ackers_zero_with_a_spout_that_gives_ids() -> None:
    assert kinds(setting(ACKERS, 0)) == ["ackers-zero-with-tracking-spout certain"]


def test_ackers_zero_without_ids_is_consistent() -> None:
    assert kinds(setting(ACKERS, 0), words=NO_IDS) == ["ackers-zero information"]


def test_ackers_zero_without_ids_and_a_durable_source() -> None:
    kafka = replace(NO_IDS, source="kafka")

    assert kinds(setting(ACKERS, 0), words=kafka) == ["ackers-zero-with-tracking-spout certain"]


def test_ackers_that_one_of_several_files_turns_off() -> None:
    """The code reads the number from a file, and one of those that have it says 0."""
    of_file = replace(setting(ACKERS, 0), why="if the code reads it from local.yaml")
    gap = setting(ACKERS, Gap('file.get("storm.ackers")', HERE))
    assert kinds(of_file, gap) == ["ackers-zero-with-tracking-spout likely"]
    assert kinds(of_file, gap, words=NO_IDS) == []
    assert kinds(replace(of_file, value=2), gap) == []
    assert kinds(setting(ACKERS, 0), gap) == []  # the code itself replaces it


def test_ackers_without_ids_have_no_work() -> None:
    assert kinds(setting(ACKERS, 2), words=NO_IDS) == ["ackers-without-ids information"]
    assert kinds(words=NO_IDS) == []


def test_herons_at_most_once_with_a_spout_that_gives_ids() -> None:
    heron = topology("words -> count", kind="heronpy", framework="heron")

    assert kinds(setting(MODE, "ATMOST_ONCE"), top=heron) == ["ackers-zero-with-tracking-spout certain"]


# ---- ACK502 ----


def test_timeouts_that_are_off() -> None:
    assert kinds(BOUNDED, setting(TIMEOUTS, value=False)) == ["timeouts-off certain"]
    assert kinds(BOUNDED, setting(TIMEOUTS, value=True)) == []
    assert "timeouts-off certain" not in kinds(setting(TIMEOUTS, value=False), words=NO_IDS)


# ---- ACK503 ----


def test_a_replaying_spout_without_a_bound_is_reported_where_the_configuration_begins() -> None:
    top = topology("words -> count", config=Place("Main.java", 7))
    found = defects(judged(top=top))

    assert [(each.kind, each.sure, each.place) for each in found] == [
        ("max-pending-unset", "likely", Place("Main.java", 7))
    ]


@pytest.mark.parametrize(
    "top",
    [
        topology("words -> count", kind="heronpy", framework="heron"),
        topology("words -> count", kind="streamparse-clj", framework="streamparse 2.1"),
        topology("words -> count", kind="trident"),
    ],
)
def test_frameworks_that_set_a_bound_themselves(top: Topology) -> None:
    more = (setting(MODE, "ATLEAST_ONCE"),) if top.kind == "heronpy" else ()

    assert kinds(*more, top=top) == []


def test_a_spout_that_does_not_replay_needs_no_bound() -> None:
    assert kinds(words=spout(on_fail=OnFail.NOTHING)) == []
    assert kinds(setting(ACKERS, Gap("args", HERE))) == []


def test_a_bound_that_bounds_nothing() -> None:
    assert kinds(setting(PENDING, 100_000_000)) == ["max-pending-without-bound likely"]
    assert kinds(setting(PENDING, 99_999)) == []
    assert kinds(setting(PENDING, Gap("args", HERE))) == []


def test_a_bound_of_zero_is_refused() -> None:
    assert kinds(setting(PENDING, 0)) == ["max-pending-zero certain"]


# ---- ACK504 ----


def window(length: int, slide: int, timeout: int = 30, **more: Any) -> list[str]:
    """Return the defects of a window of so many seconds."""
    return kinds(
        BOUNDED,
        setting(TIMEOUT, timeout),
        setting(f"{WINDOW}.length.duration.ms", length * 1000, component="count"),
        setting(f"{WINDOW}.sliding.interval.duration.ms", slide * 1000, component="count"),
        count=bolt(windowed=True, emits=(emit(12, Anchors.FRAMEWORK),)),
        **more,
    )


def test_a_tumbling_window_counts_twice() -> None:
    assert window(16, 16) == ["window-exceeds-timeout certain"]
    assert window(15, 15, timeout=61) == []


def test_a_window_without_tracking_is_refused_all_the_same() -> None:
    assert window(40, 5, words=NO_IDS)[0] == "window-exceeds-timeout certain"


def test_a_count_window_that_needs_more_tuples_than_a_spout_may_have_open() -> None:
    counts = [(f"{WINDOW}.length.count", 400), (f"{WINDOW}.sliding.interval.count", 200)]
    given = [setting(key, value, component="count") for key, value in counts]

    assert kinds(BOUNDED, *given) == ["window-exceeds-max-pending certain"]
    assert kinds(setting(PENDING, 600), *given) == []


@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        (60, ["path-exceeds-timeout certain"]),
        (30, ["path-exceeds-timeout likely"]),
        (15, ["path-exceeds-timeout information"]),
        (14, []),
    ],
)
def test_ticks_of_a_bolt_that_holds_tuples(ticks: int, expected: list[str]) -> None:
    assert kinds(BOUNDED, setting(TICKS, ticks, component="count"), count=bolt(holds=True)) == expected


def test_a_bolt_that_acks_at_once_waits_for_nothing() -> None:
    assert kinds(BOUNDED, setting(TICKS, 60, component="count"), count=bolt(holds=False)) == []


def test_a_producer_that_lingers_holds_its_tuples() -> None:
    lingers = bolt(holds=True, linger=(70.0, Place("Sink.java", 9)))
    found = [each for each in defects(judged(BOUNDED, count=lingers)) if each.kind == "path-exceeds-timeout"]

    assert [(each.sure, str(each.place)) for each in found] == [
        ("likely", "Sink.java:9")
    ]  # a full batch is sent sooner


@pytest.mark.parametrize(
    ("cluster", "expected"), [(90, ["request-exceeds-timeout likely"]), (121, []), (None, [])]
)
def test_a_request_that_its_server_gives_up_first(cluster: int | None, expected: list[str]) -> None:
    requests = node("words", "spout", cls="org.apache.storm.drpc.DRPCSpout")
    top = replace(topology("words -> count"), nodes=(requests, node("count")))
    given = [setting(TIMEOUT, 900), setting(TICKS, 120, component="count")]
    server = "drpc.request.timeout.secs"
    given += (
        [setting(server, cluster, place=Place("conf/storm.yaml", 3))] if cluster else [setting(server, 90)]
    )

    found = kinds(BOUNDED, *given, top=top, count=bolt(holds=True))
    assert [each for each in found if each.startswith("request")] == expected


def test_waits_of_a_path_add_up_and_those_of_branches_do_not() -> None:
    slow = {"one": bolt(holds=True), "two": bolt(holds=True)}
    ticks = [setting(TICKS, 20, component="one"), setting(TICKS, 15, component="two", place=Place("t", 31))]
    in_line = topology("words -> one", "one -> two")
    in_parallel = topology("words -> one", "words -> two")

    assert kinds(BOUNDED, *ticks, top=in_line, **slow) == ["path-exceeds-timeout likely"]
    assert kinds(BOUNDED, *ticks, top=in_parallel, **slow) == ["path-exceeds-timeout information"] * 2


def test_checkpoints_that_are_slower_than_the_timeout() -> None:
    slow = setting("topology.state.checkpoint.interval.ms", 40_000)

    assert kinds(BOUNDED, slow, count=bolt(stateful=True)) == ["checkpoint-exceeds-timeout certain"]
    assert kinds(BOUNDED, slow) == []


@pytest.mark.parametrize(
    ("framework", "given", "slept", "expected"),
    [
        ("pyleus", (), 30, ["subprocess-timeout likely"]),
        ("pyleus", (), 29, []),
        ("pyleus", (("topology.subprocess.timeout.secs", 60),), 45, []),
        ("pyleus", (("topology.subprocess.timeout.secs", 5),), 6, ["subprocess-timeout likely"]),
        ("pyleus", (("supervisor.worker.timeout.secs", 60),), 45, []),
        ("heron", (), 60, []),
    ],
)
def test_a_bolt_in_a_process_that_sleeps_longer_than_storm_waits(
    framework: str, given: tuple[tuple[str, int], ...], slept: int, expected: list[str]
) -> None:
    top = replace(topology("words -> count"), framework=framework)
    slow = bolt(sleep=(slept, Place("count.py", 9)))

    found = kinds(BOUNDED, *(setting(key, value) for key, value in given), top=top, count=slow)
    assert [each for each in found if each.startswith("subprocess")] == expected
    in_java = replace(slow, sleep=(slept, Place("Count.java", 9)))
    assert "subprocess-timeout likely" not in kinds(BOUNDED, top=top, count=in_java)


def batch(size: int, *settings: Setting, tasks: int | None = 2, **more: Any) -> list[str]:
    """Return the defects of a batch behind a spout that may have 500 tuples open in each task."""
    wired = topology("words -> count")
    spouts = tuple(replace(each, parallelism=tasks) if each.role == "spout" else each for each in wired.nodes)
    more = {"count": bolt(holds=True, batch_size=size), "top": replace(wired, nodes=spouts), **more}
    return kinds(*(settings or (BOUNDED,)), **more)


def test_a_batch_that_is_larger_than_the_number_of_open_tuples() -> None:
    assert batch(1001) == ["batch-larger-than-max-pending certain"]
    assert batch(1000) == []


def test_a_batch_whose_open_tuples_are_not_known() -> None:
    assert "batch-larger-than-max-pending certain" not in batch(5000, setting(TIMEOUT, 60))
    assert batch(5000, tasks=None) == []
    assert batch(5000, words=spout(emits=(emit(5, has_id=True), emit(6, has_id=None)))) == []
    ticked = batch(5000, count=bolt(holds=True, batch_size=5000, flushes_at_ticks=True))
    assert ticked == ["batch-without-ticks certain"]


def test_a_batch_behind_another_bolt_may_fill() -> None:
    wired = topology("words -> split", "split -> count")
    assert (
        batch(5000, top=replace(wired, nodes=tuple(replace(each, parallelism=1) for each in wired.nodes)))
        == []
    )


# ---- ACK505 ----


def test_settings_of_tuples_that_are_not_tracked() -> None:
    unused = (BOUNDED, setting(TIMEOUT, 60, place=Place("topology.py", 31)))

    assert kinds(*unused, words=NO_IDS) == [
        "max-pending-without-effect certain",
        "timeout-without-effect likely",
    ]
    assert kinds(*unused) == []


def test_a_dead_key() -> None:
    assert kinds(BOUNDED, setting("topology.ackers", 4)) == ["dead-key certain"]


def test_a_key_that_storm_drops_from_a_component() -> None:
    assert kinds(BOUNDED, setting(TIMEOUT, 60, component="count")) == [
        "component-setting-without-effect certain"
    ]


# ---- ACK506 ----


def test_a_subscription_to_a_component_that_is_not_there() -> None:
    top = topology("words -> count", "wordz -> count", nodes=(node("words", "spout"), node("count")))

    assert kinds(BOUNDED, top=top) == ["unknown-component certain"]
    assert kinds(BOUNDED, top=replace(top, gaps=(Gap("a loop", HERE),))) == []


def test_streams_of_the_system_need_no_component() -> None:
    top = topology(
        "words -> count", "__system:__tick -> count", nodes=(node("words", "spout"), node("count"))
    )

    assert kinds(BOUNDED, top=top) == []


def test_a_stream_that_its_source_does_not_declare() -> None:
    top = topology("words -> count", "count:late -> store")
    declared = bolt(streams={"default": ("word",)})

    assert "undeclared-stream certain" in kinds(BOUNDED, top=top, count=declared)
    assert "undeclared-stream certain" not in kinds(BOUNDED, top=top, count=bolt(streams={"?": None}))
    assert "undeclared-stream certain" not in kinds(BOUNDED, top=top, count=bolt())


def test_the_framework_declares_the_stream_of_late_tuples() -> None:
    top = topology("words -> count", "count:late -> store")
    declared = bolt(streams={"default": ("word",)})

    assert "undeclared-stream certain" in kinds(
        BOUNDED, setting(LATE_STREAM, "older", component="count"), top=top, count=declared
    )
    assert "undeclared-stream certain" not in kinds(
        BOUNDED, setting(LATE_STREAM, "late", component="count"), top=top, count=declared
    )


def test_a_bolt_without_input() -> None:
    top = topology("words -> count", nodes=(node("words", "spout"), node("count"), node("lost")))

    assert kinds(BOUNDED, top=top) == ["bolt-without-input likely"]
    assert kinds(BOUNDED, setting(TICKS, 5, component="lost"), top=top) == []


def test_a_stream_without_a_consumer_is_information() -> None:
    two = bolt(emits=(emit(), emit(13, stream="late")))

    assert kinds(BOUNDED, top=topology("words -> count", "count -> store"), count=two) == [
        "unconsumed-stream information"
    ]
    assert kinds(BOUNDED, count=two) == []  # the last bolt


def test_a_bound_that_one_branch_needs_is_not_dead() -> None:
    branches = [judged(BOUNDED), judged(BOUNDED, words=NO_IDS)]
    known = [replace(each, defects=defects(each)) for each in branches]

    assert [each.cause for each in findings(known[1:])] == ["max-pending-without-effect"]
    assert not findings(known)


# ---- ACK507 ----


def test_a_bolt_that_waits_for_ticks_and_gets_none() -> None:
    waits = bolt(holds=True, flushes_at_ticks=True)

    assert kinds(BOUNDED, count=waits) == ["batch-without-ticks certain"]
    assert kinds(BOUNDED, setting(TICKS, 2, component="count"), count=waits) == []
    assert kinds(BOUNDED, setting(TICKS, 2), count=waits) == []


# ---- ACK508 ----


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (
            {"processingGuarantee": "KafkaSpoutConfig.ProcessingGuarantee.AT_MOST_ONCE"},
            "kafka-not-at-least-once",
        ),
        ({"processingGuarantee": "NO_GUARANTEE"}, "kafka-not-at-least-once"),
        ({"firstPollOffsetStrategy": "UNCOMMITTED_LATEST"}, "offsets-from-latest"),
    ],
)
def test_weak_arguments_of_a_kafka_spout(arguments: dict[str, Any], kind: str) -> None:
    top = topology("words -> count", nodes=(node("words", "spout", arguments=arguments), node("count")))

    assert kinds(BOUNDED, top=top) == [f"{kind} likely"]


def test_a_kafka_spout_that_commits_by_itself() -> None:
    words = node("words", "spout", arguments={"enable.auto.commit": True}, given={"enable.auto.commit": HERE})
    top = topology("words -> count", nodes=(words, node("count")))
    before = spout(source="kafka", on_fail=OnFail.NOTHING, emits=NO_IDS.emits)
    found = defects(judged(top=top, words=before))

    assert [(each.kind, each.place) for each in found] == [("kafka-not-at-least-once", HERE)]
    assert not defects(judged(BOUNDED, top=top, words=spout(source="kafka")))


def test_heron_without_a_mode() -> None:
    heron = topology("words -> count", kind="heronpy", framework="heron")

    assert kinds(top=heron) == ["heron-default certain"]
    assert kinds(top=heron, words=NO_IDS) == ["heron-default information"]


def test_effectively_once_without_state() -> None:
    heron = topology("words -> count", kind="heronpy", framework="heron")
    once = setting(MODE, "EFFECTIVELY_ONCE")
    interval = setting("topology.stateful.checkpoint.interval.seconds", 30)

    assert kinds(once, interval, top=heron) == ["effectively-once-without-state certain"]
    assert kinds(once, interval, top=heron, words=spout(stateful=True), count=bolt(stateful=True)) == []


# ---- findings ----


@pytest.mark.parametrize(
    ("sure", "severity", "confidence"),
    [
        ("certain", Severity.WARNING, Confidence.MUST),
        ("likely", Severity.WARNING, Confidence.MAY),
        ("information", Severity.INFO, Confidence.MAY),
    ],
)
def test_a_defect_becomes_a_finding(sure: str, severity: Severity, confidence: Confidence) -> None:
    defect = Defect(kind="dead-key", sure=sure, place=Place("config.json", 0), why="nothing reads `x`")
    found = findings([replace(judged(BOUNDED), defects=(defect,))])

    assert [(each.code, each.name, each.message) for each in found] == [
        ("ACK505", "dead-setting", "nothing reads `x`")
    ]
    assert (found[0].severity, found[0].confidence) == (severity, confidence)
    assert (found[0].site.path, found[0].site.span.line) == ("config.json", 1)
    assert found[0].help


def test_branches_share_a_finding() -> None:
    off = judged(setting(ACKERS, 0))
    branch = replace(off, defects=defects(off))

    assert len(findings([branch, branch])) == 1


def test_a_fault_of_a_bolt_is_no_defect() -> None:
    assert kinds(BOUNDED, count=bolt(faults=(fault("ACK101"),))) == []


def test_a_trident_state_that_forgets_the_txid_is_a_finding_and_no_defect_of_the_configuration() -> None:
    top = topology("words -> counts", kind="trident", nodes=(node("words", "spout"), node("counts", "state")))
    forgets = Fault(
        "state-forgets-txid", must=True, place=Place("Map.java", 48), message="the map drops the txid"
    )
    counts = bolt(role="state", batch="transactional", faults=(forgets,))
    result = judged(top=top, words=spout(batch="transactional"), counts=counts)

    assert defects(result) == ()
    assert [(each.code, str(each.site), each.severity) for each in findings([result])] == [
        ("ACK508", "Map.java:48:1", Severity.WARNING)
    ]


def test_every_kind_of_a_defect_is_on_a_page() -> None:
    known = {kind for code in load() for kind in catalogue(code).cases}
    sources = (path.read_text(encoding="utf-8") for path in Path(topology_package.__path__[0]).rglob("*.py"))
    made = {kind for text in sources for kind in re.findall(r'Defect\(\s*kind="([a-z-]+)"', text)}

    assert len(made) > 3
    assert made <= known


def test_a_setting_that_a_mapping_only_may_hold_is_no_dead_setting() -> None:
    gap = Gap("args decide the settings", HERE)
    may = [setting(PENDING, gap, place=HERE), setting(TIMEOUT, gap, place=HERE)]

    assert not [each for each in kinds(*may, words=NO_IDS) if "without-effect" in each]
    looked_up = [setting(PENDING, gap), setting("topology.workers", gap, place=Place("topology.py", 31))]
    assert "max-pending-without-effect certain" in kinds(*looked_up, words=NO_IDS)
