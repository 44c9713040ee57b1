"""The analysis of a small trace agrees with the report of the tracer, and has the counts of Spark."""

import gzip
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")


from ackdoctor.acker.versions import profile
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import RELIABLE, Event, EventKind
from ackdoctor.spark.analysis import analyze, frames
from ackdoctor.spark.events import quarantined
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.judge import Request, examine
from ackdoctor.spark.replay import acker_version
from ackdoctor.spark.roots import growth, replays, uncompleted
from ackdoctor.spark.schema import ENTRIES, EVENTS, QUARANTINE
from ackdoctor.spark.tables import Analysis, Latency, Replays, RowCounts, TreeCount, Uncompleted
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.trace_reader import read
from tests.spark.event_tables import STATEMENTS, events

REQUEST = Request(
    version=acker_version("1.1.0"), nowhere="trace", folder=str(STATEMENTS.parent.parent.parent)
)


@pytest.fixture(scope="module")
def analysis(spark, tmp_path_factory) -> Analysis:
    place = str(tmp_path_factory.mktemp("tables"))
    return analyze(find_inputs([str(STATEMENTS / "v1")]), session=spark, request=REQUEST, output_dir=place)


@pytest.fixture(scope="module")
def report():
    rows = list(read([STATEMENTS / "v1"]).events())
    nowhere = Site("trace", NOWHERE)
    places = Places(folder=REQUEST.folder, nowhere="trace")
    return judge_trace(lambda: iter(rows), profile("1.1.0"), patience_s=30, places=places, nowhere=nowhere)


def test_the_findings_are_those_of_the_trace_report(analysis, report):
    of_code = [finding for finding in report.findings if finding.code != "ACK603"]
    assert [finding for finding in analysis.findings if finding.code != "ACK603"] == of_code
    assert [finding.code for finding in of_code] == ["ACK104", "ACK101"]


def test_the_curve_is_a_finding_as_well(analysis, report):
    (mine,) = (finding for finding in analysis.findings if finding.code == "ACK603")
    (theirs,) = (finding for finding in report.findings if finding.code == "ACK603")
    assert (mine.message, mine.severity, mine.fingerprint) == (
        theirs.message,
        theirs.severity,
        theirs.fingerprint,
    )
    assert (
        mine.evidence.left[-1] == "acker: at 144 bytes an entry the 768 MB of a worker are full in 647 days"
    )


def test_the_roots_are_those_of_the_model(analysis, report):
    assert sorted(analysis.tally.trees, key=lambda tree: tree.root) == sorted(
        (
            replace(tree, entry=replace(tree.entry, age_ms=mine.entry.age_ms, bucket=0), run=mine.run)
            for tree in report.tally.trees
            for mine in analysis.tally.trees
            if mine.root == tree.root
        ),
        key=lambda tree: tree.root,
    )
    assert (analysis.roots, analysis.tally.completed, analysis.tally.pending, analysis.tally.high_water) == (
        report.roots,
        report.tally.completed,
        report.tally.pending,
        report.tally.high_water,
    )


def test_the_tables(analysis):
    assert analysis.row_counts == RowCounts(files=1, rows=191, used=191, silent=2)
    assert [
        (row.component, row.delivered, row.never, row.once, row.more) for row in analysis.completions
    ] == [
        ("sql", 15, 0, 0, 15),
        ("audit", 15, 3, 12, 0),
    ]
    assert analysis.latencies == (
        Latency(spout="orders[3]", roots=12, p50_ms=20.0, p90_ms=20.0, p99_ms=20.0, max_ms=20.0),
    )
    even = "a tuple was acked an even number of times, or never"
    assert analysis.trees == (
        TreeCount(verdict="complete", residue=even, roots=12, left=12),
        TreeCount(verdict="expired", residue=even, roots=3, left=3),
    )
    assert analysis.uncompleted == (Uncompleted(component="audit", stream="default", roots=3),)
    assert [row.what for row in analysis.timelines[0].rows] == [
        "emitted",
        "received",
        "init",
        "received",
        "ack",
        "ack",
        "spout times out",
    ]


def test_full_tables_come_as_parquet(spark, analysis):
    names = ["verdicts", "entries", "deliveries", "completions", "growth", "ackers"]
    assert [place.rpartition("/")[2] for place in analysis.written] == names
    assert [spark.read.parquet(place).count() for place in analysis.written] == [15, 27, 30, 2, 15, 1]


@pytest.mark.minutes
def test_roots_beyond_the_samples_are_counted(spark, monkeypatch):
    monkeypatch.setattr("ackdoctor.spark.deliveries._MOST_SHAPES", 1)
    monkeypatch.setattr("ackdoctor.spark.verdicts._MOST_TREES", 1)
    few = analyze(find_inputs([str(STATEMENTS / "v1")]), session=spark, request=REQUEST)
    bad = sum(kind.roots for kind in few.trees if kind.verdict != "complete" or kind.left)
    assert few.notes == (
        "3 more deliveries (3 of audit) have other shapes than the 1 that are judged, and may be wrong: --output-dir writes each (deliveries)",
        f"{bad - len(few.trees):,} more roots that did not end well are only counted: "
        "--output-dir writes each (verdicts)",
    )
    assert bad > len(few.trees) == len(few.tally.trees)


@pytest.mark.minutes
def test_a_root_with_an_explained_end_is_omitted(spark, monkeypatch, analysis):
    monkeypatch.setattr("ackdoctor.spark.causes._MOST_EXPLAINED", 1)
    few = analyze(find_inputs([str(STATEMENTS / "v1")]), session=spark, request=REQUEST)
    assert [finding.code for finding in few.findings] == [finding.code for finding in analysis.findings]
    assert few.trees == analysis.trees
    assert few.notes == (
        "2 more roots that did not end well are only counted: --output-dir writes each (verdicts)",
    )


def test_a_bad_row_without_a_place_is_shown(spark):
    rows = [
        ("part-1", None, "2 7 sql", "damaged"),
        ("a.log", 9, "second", "cut off"),
        ("a.log", 3, "z first", "cut off"),
    ]
    bad_rows = quarantined([spark.createDataFrame(rows, QUARANTINE)])
    assert [(row.file, row.rows, row.sample) for row in bad_rows] == [
        ("a.log", 2, "z first"),
        ("part-1", 1, "2 7 sql"),
    ]


@pytest.mark.minutes
def test_a_damaged_part_is_named_and_the_others_are_judged(spark, tmp_path, analysis):
    rows = spark.read.schema(EVENTS).json(str(STATEMENTS / "v1"))
    rows.drop("run", "worker", "acker", "incarnation").coalesce(1).write.parquet(str(tmp_path / "run=a"))
    (part,) = (tmp_path / "run=a").glob("*.parquet")
    data = part.read_bytes()
    (tmp_path / "run=b").mkdir()
    (tmp_path / "run=b" / "part.parquet").write_bytes(data[:100] + b"\xff" * 60 + data[160:])
    found = analyze(
        find_inputs([str(tmp_path)]), session=spark, request=replace(REQUEST, folder=str(tmp_path))
    )
    assert [each.path for each in found.unreadable] == ["run=b/part.parquet"]
    assert "Spark" in found.unreadable[0].reason
    assert (found.roots, found.row_counts) == (analysis.roots, analysis.row_counts)


@pytest.mark.minutes
def test_a_trace_of_components_alone_has_no_roots(spark):
    rows = [row for row in read([STATEMENTS / "v1"]).events() if row.kind < 6 or row.kind == EventKind.NAMED]
    with frames(events(spark, rows), REQUEST) as tables:
        analysis = examine(spark, tables, REQUEST)
    assert [finding.code for finding in analysis.findings] == ["ACK104", "ACK101"]
    assert (analysis.roots, analysis.ackers, analysis.tally.pending) == (0, (), 3)
    assert analysis.tally.growth[-1].pending == 3


@pytest.mark.minutes
def test_open_deliveries_without_an_acker_are_those_of_the_trace_report(spark):
    second = 1_000_000_000
    rows = []
    for number in range(40):  # a second each; every fourth tuple stays open
        at = number * second
        rows.append(Event(EventKind.RECEIVED, at, 2 * number, "words", 5, "default", str(number)))
        if number % 4:
            done = Event(EventKind.ACKED, at + second // 2, 2 * number + 1, "words", 5, "", str(number))
            rows.append(done)
    rows.append(Event(EventKind.COMPLETED, 41 * second, 99, "jobs", 3, "", "m-1"))
    here = judge_trace(lambda: iter(rows), profile("1.1.0")).tally
    with frames(events(spark, rows), REQUEST) as tables:
        there = examine(spark, tables, REQUEST).tally
    assert (there.pending, there.high_water) == (here.pending, here.high_water) == (10, 11)
    assert [one.high_water for one in there.components if one.component == "words"] == [11]
    assert there.growth[-1].pending == here.growth[-1].pending == 10
    assert sum(point.started for point in there.growth) == 40


def acked_twice(component: str, roots: range) -> list[Event]:
    """Messages of trees: one component acks the first tuple twice, another never acks the second."""
    rows = []
    for root in roots:
        edge, next_ = root << 8, root << 16
        ack = Event(EventKind.ACK, root + 1, component=component, value=edge ^ next_)
        events = [
            Event(EventKind.INIT, root, component="spout", value=edge),
            ack,
            ack,
            Event(EventKind.ACK, root + 2, component="last", value=next_),
        ]
        rows += [row._replace(root=root, seq=root * 4 + at, run="a", pid=1) for at, row in enumerate(events)]
    return rows


@pytest.mark.parametrize(("most", "omitted"), [(2_000, 0), (4, 26)])
@pytest.mark.minutes
def test_a_rare_culprit_is_reported_beside_a_frequent_one(most, omitted, spark, monkeypatch):
    monkeypatch.setattr("ackdoctor.spark.verdicts._MOST_TREES", most)
    rows = acked_twice("often", range(1, 26)) + acked_twice("seldom", range(26, 31))
    request = replace(REQUEST, patience_s=0)
    with frames(events(spark, rows), request) as tables:
        few = examine(spark, tables, request)
    counts = {
        finding.component: finding.evidence.seen for finding in few.findings if finding.code == "ACK601"
    }
    assert counts == {"often": 25, "seldom": 5}
    assert sum(tree.roots for tree in few.tally.trees) == 30
    assert len(few.tally.trees) == 30 - omitted


@pytest.mark.minutes
def test_a_tuple_that_two_lines_ack_is_one_finding(spark):
    sites = ("split.py:9 Split.execute", "split.py:12 Split.execute")
    rows = acked_twice("split", range(1, 7))
    for at, row in enumerate(rows):
        if row.component == "split":
            rows[at] = row._replace(site=sites[at % 4 - 1], delivery=str(row.root))
    acks = [row for row in rows if row.component == "split"]
    rows += [row._replace(kind=EventKind.RECEIVED, seq=-row.seq, value=0, site="") for row in acks[::2]]
    rows += [row._replace(kind=EventKind.ACKED, seq=100 + row.seq, value=0) for row in acks]
    request = replace(REQUEST, patience_s=0)
    with frames(events(spark, rows), request) as tables:
        found = examine(spark, tables, request)
        culprit_sites = {tuple(one["sites"]) for row in tables.verdicts.collect() for one in row["culprits"]}
    assert culprit_sites == {sites}
    findings = [(one.code, one.site.span.line, one.evidence.seen) for one in found.findings]
    assert findings == [("ACK103", 12, 6)]


@pytest.mark.parametrize(
    ("said", "name", "notes"),
    [
        (
            "Timeouts disabled for executor __acker:[2 2]",
            "2.8.8",
            "an acker says that it gets no ticks, so it never drops an entry, as storm-2.8.8 does: judge it with "
            "--acker-version 1.1.0, or 2.8-no-timeouts",
        ),
        (
            "Finished loading executor __acker:[2 2]",
            "2.8.8",
            "no row says when the acker rotated its map, as storm-2.8.8 does: without --message-timeout what it has "
            "forgotten counts as pending",
        ),
        ("Timeouts disabled for executor __acker:[2 2]", "1.1.0", ""),
    ],
)
@pytest.mark.minutes
def test_an_acker_that_never_rotates_is_noted(spark, tmp_path, said, name, notes):
    begin = "2026-11-21 20:00:00.000 o.a.s.d.executor"
    acked = "Processing received message FOR 2 TUPLE: source: b:5, stream: __ack_ack, id: {}, [7 1]"
    (tmp_path / "worker.log").write_text(
        f"{begin} main [INFO] {said}\n{begin} Thread-1-__acker-executor[2 2] [INFO] {acked}\n"
    )
    found = analyze(
        find_inputs([str(tmp_path)]), session=spark, request=replace(REQUEST, version=acker_version(name))
    )
    assert found.notes[2:] == tuple(filter(None, [notes]))
    assert found.notes[0] == "no line is of b[5]: give the logs of all workers"
    assert found.notes[1].startswith("1 root has acks and no __ack_init")


LOADS = "o.a.s.d.executor main [INFO] Loading executor x:[3 3]"
ALIVE = "c.acme.Metrics main [INFO] alive"


GOES_ON = [("20:09:00.000", ALIVE), ("20:10:00.000", ALIVE)]
MOMENT = [("20:00:20.000", ALIVE)]
RESTARTED = [("20:09:00.000", LOADS), ("20:10:00.000", ALIVE)]


ENDS = {  # by bolt: the lines after the last tuple, and their time zone
    "ends": ([], ""),
    "moment": (MOMENT, "+0200"),
    "goes": (GOES_ON, ""),
    "zipped": (GOES_ON, "-0200"),
    "restarted": (RESTARTED, ""),
}


@pytest.mark.minutes
def test_a_log_ends_with_its_last_line_of_any_kind(spark, tmp_path):
    """Five topologies, a day apart, each with its own bolt: if the log goes on, the bolt never completed its tuple."""
    template = "o.a.s.d.executor Thread-3-x-executor[3 3] [INFO] {} FOR 3 TUPLE: source: s:4, stream: default, id: {{{}=2}}, [1]"
    begin = [
        ("20:00:00.000", LOADS),
        ("20:00:01.000", template.format("Processing received message", 1)),
        (
            "20:00:01.100",
            template.format("BOLT ack", 1).replace("FOR", "TASK:").replace("TUPLE", "TIME:  TUPLE"),
        ),
        ("20:00:02.000", template.format("Processing received message", 5)),
    ]
    for day, (bolt, (later, zone)) in enumerate(ENDS.items(), start=11):
        text = "".join(f"2026-11-{day} {at}{zone} {line}\n" for at, line in (*begin, *later))
        data = text.replace("x:", f"{bolt}:").replace("-x-", f"-{bolt}-").encode()
        folder = tmp_path / "workers-artifacts" / bolt / "6700"
        folder.mkdir(parents=True)
        zipped = bolt == "zipped"
        (folder / ("worker.log.gz" if zipped else "worker.log")).write_bytes(
            gzip.compress(data) if zipped else data
        )
    found = analyze(find_inputs([str(tmp_path)]), session=spark, request=REQUEST)
    findings = sorted((finding.component, finding.code) for finding in found.findings)
    assert findings == [("goes", "ACK101"), ("zipped", "ACK101")]
    assert {one.component: one.never for one in found.completions} == dict.fromkeys(ENDS, 1)


@pytest.mark.minutes
def test_an_expired_entry_is_not_pending(spark):
    tick = Event(EventKind.ROTATED, 0, run="a", pid=1)
    early, late_ = acked_twice("often", range(1, 4)), acked_twice("often", range(10, 12))
    rows = [*early, *(tick._replace(time_ns=5 + at, seq=20 + at) for at in range(3)), *late_]
    request = replace(REQUEST, version=acker_version("2.8.8"), patience_s=0)
    with frames(events(spark, rows), request) as tables:
        found = examine(spark, tables, request)
    assert (found.roots, found.tally.pending) == (5, 2)
    assert sum(kind.left for kind in found.trees) == 2


def entry(
    root: int, *, first: int, end: int | None, init: int | None = None, acker: int = 1
) -> tuple[object, ...]:
    """Return an entry that begins and ends at these seconds."""
    row = dict.fromkeys(ENTRIES.names) | {
        "run": "a",
        "acker": acker,
        "incarnation": 0,
        "root": root,
        "outcome": "pending" if end is None else "acked",
        "spout_task": None if init is None else 3,
        "first_ns": first * 10**9,
        "init_ns": None if init is None else init * 10**9,
        "end_ns": None if end is None else end * 10**9,
    }
    return tuple(row.values())


def test_a_map_grows_by_its_entries(spark):
    rows = [
        entry(1, first=1, end=5, init=1),
        entry(2, first=2, end=None, init=2),
        entry(3, first=12, end=None),
    ]
    found = growth(spark.createDataFrame(rows, ENTRIES), 10_000).collect()
    assert [tuple(row) for row in found] == [("a", 1, 10_000, 1, 0, 2, 2), ("a", 1, 20_000, 2, 1, 2, 0)]


def test_a_map_is_never_negative_if_the_clock_goes_back(spark):
    (found,) = growth(spark.createDataFrame([entry(1, first=3, end=1, init=3)], ENTRIES), 10_000).collect()
    assert (found["time_ms"], found["pending"], found["high_water"]) == (10_000, 0, 0)


@pytest.mark.minutes
def test_a_root_of_one_run_is_none_of_another(spark):
    rows = [
        Event(kind, 0, seq=seq, component=component, delivery=delivery, root=1, value=5, run=run, pid=1)
        for run, held in (("a", "sql"), ("b", "mail"))
        for seq, (kind, component, delivery) in enumerate(
            [(EventKind.INIT, "spout", ""), (EventKind.LINKED, held, "d")]
        )
    ]
    request = replace(REQUEST, patience_s=0)
    with frames(events(spark, rows), request) as tables:
        found = examine(spark, tables, request)
    assert {tree.run: [one.component for one in tree.culprits] for tree in found.tally.trees} == {
        "a": ["sql"],
        "b": ["mail"],
    }
    received = {one.tree.run: [row.component for row in one.rows] for one in found.timelines}
    assert received == {"a": ["spout", "sql"], "b": ["spout", "mail"]}


@pytest.mark.parametrize(("patience_s", "components"), [(30, []), (0, ["sql"])])
@pytest.mark.minutes
def test_a_root_that_is_young_left_nothing_uncompleted(spark, patience_s, components):
    row = Event(EventKind.INIT, 0, component="spout", root=1, value=5, run="a", pid=1)
    handed = row._replace(kind=EventKind.RECEIVED, seq=1, component="sql", delivery="d", root=0, value=0)
    linked = handed._replace(kind=EventKind.LINKED, seq=2, root=1, value=5)
    request = replace(REQUEST, patience_s=patience_s)
    with frames(events(spark, [row, handed, linked]), request) as tables:
        found = examine(spark, tables, request)
    assert [row.component for row in found.uncompleted] == components


def test_equal_roots_of_two_runs_are_counted_apart(spark):
    linked = Event(EventKind.LINKED, 0, component="sql", delivery="d", root=1, value=5, pid=1)
    rows = events(spark, [linked._replace(run=run) for run in ("a", "b", "c")])
    late = spark.createDataFrame([("a", 1), ("b", 1)], "run string, root bigint")
    assert [tuple(row) for row in uncompleted(rows, late, rows).collect()] == [("sql", "", 2)]


def test_the_high_water_mark_counts_milliseconds(spark):
    end = ENTRIES.names.index("end_ns")
    entries = [entry(root, first=1, end=1, init=1) for root in range(50)]
    rows = [(*row[:end], 1_060_000_000, *row[end + 1 :]) for row in entries]
    (found,) = growth(spark.createDataFrame(rows, ENTRIES), 10_000).collect()
    assert (found["pending"], found["high_water"]) == (0, 50)


def test_a_message_that_comes_again_is_a_replay(spark):
    emit = Event(EventKind.EMITTED, 0, component="kafka", task=1, flags=RELIABLE, pid=1)
    rows = [emit._replace(delivery=name, seq=seq) for seq, name in enumerate(["a", "b", "a", "c", "a", "b"])]
    found = [Replays(**row.asDict()) for row in replays(events(spark, rows), ["kafka"]).collect()]
    assert found == [Replays(spout="kafka", ids=2, emits=5, most=3, worst="a")]


@pytest.mark.parametrize("name", ["1.1.0", "1.2.4", "2.8.8", "2.8-no-timeouts", "jstorm-2.4.0", "heron"])
def test_the_cost_of_an_entry_is_that_of_the_model(name):
    keeper, model = acker_version(name), profile(name)
    assert (keeper.name, keeper.engine, keeper.forgets) == (model.name, model.engine, model.forgets)
