"""An analysis as a page and on a screen, from hand-made tables, without Spark."""

import re
import shutil
import subprocess
from dataclasses import replace
from datetime import datetime, timezone
from io import StringIO
from pathlib import Path

import pytest

from ackdoctor import __version__
from ackdoctor.model.finding import Confidence, Finding, Report, Severity, TreeWitness, Unreadable
from ackdoctor.model.source import Site, Span
from ackdoctor.model.trace import Culprit, GrowthPoint, PendingEntry, Residue, RunTally, TupleTree, Verdict
from ackdoctor.reporters import Context, Sources
from ackdoctor.reporters.analysis import about, forecast, rows_line, screen, verdict
from ackdoctor.reporters.analysis_html import page
from ackdoctor.spark.tables import (
    AckerLoad,
    Analysis,
    Comb,
    Completions,
    Deaths,
    Forecast,
    Latency,
    Quarantined,
    Replays,
    RowCounts,
    Timeline,
    TimelineRow,
    TreeCount,
    Uncompleted,
)
from tests.sampled import sampled

HOSTILE = "<script>alert(1)</script>"
TREE = TupleTree(
    root=-66,
    verdict=Verdict.COMPLETE,
    entry=PendingEntry(root=-66, value=7, task=None, age_ms=90_000),
    residue=Residue.EVEN,
    culprits=(Culprit(delivery="4", component="sql", task=4, value=7, acks=2),),
)
FINDING = Finding(
    code="ACK103",
    name="double-ack",
    severity=Severity.ERROR,
    confidence=Confidence.MUST,
    site=Site("bolts/sql.py", Span(12, 9, 12, 22)),
    message=f"the tuple is acked a second time {HOSTILE}",
    component="sql",
    handler="execute",
    dialect="storm",
    evidence=TreeWitness(steps=(), seen=41, left=("acker: root -66 leaves an orphan, value 7",)),
    cause="twice",
    help="ack it in one place",
)
ANALYSIS = Analysis(
    acker="storm-1.1.0",
    row_counts=RowCounts(files=2, rows=1000, used=980, continued=15, quarantined=5),
    tally=RunTally(
        growth=tuple(
            GrowthPoint(time_ms=n * 1000, pending=n * 3, orphans=n * 2, started=9) for n in range(1, 31)
        ),
        completed=90,
        pending=90,
        high_water=91,
    ),
    findings=(FINDING,),
    roots=120,
    begin_ms=0,
    end_ms=30_000,
    completions=(
        Completions(
            component=HOSTILE,
            stream="default",
            delivered=120,
            never=3,
            once=76,
            more=41,
            mixed=0,
            acked=158,
            failed=0,
            p50_ms=2.0,
            p90_ms=9.0,
            p99_ms=70.0,
            max_ms=400.0,
            oldest_ms=21_000.0,
        ),
    ),
    latencies=(Latency(spout="orders[3]", roots=90, p50_ms=8.0, p90_ms=20.0, p99_ms=90.0, max_ms=800.0),),
    ackers=(
        AckerLoad(run="a", acker=1, roots=80, messages=300, high_water=60, pending=60),
        AckerLoad(run="a", acker=2, roots=40, messages=150, high_water=31, pending=30),
    ),
    trees=(TreeCount(verdict="complete", residue=Residue.EVEN.value, roots=41, left=41),),
    uncompleted=(Uncompleted(component="audit", stream="default", roots=3),),
    combs=(Comb(period_s=30, bursts=4, roots=44),),
    replays=(Replays(spout="orders", ids=2, emits=5, most=3, worst="order-7"),),
    forecast=Forecast(per_second=3.0, fit=1.0, entry_bytes=144, heap=768 << 20, full_in="21 days"),
    timelines=(
        Timeline(
            tree=TREE,
            rows=(
                TimelineRow(
                    time_ms=0, what="init", component="orders", task=3, delivery="", value=7, site=""
                ),
                TimelineRow(
                    time_ms=1,
                    what="ack",
                    component="sql",
                    task=4,
                    delivery="4",
                    value=7,
                    site="sql.py:9 execute",
                ),
                TimelineRow(
                    time_ms=1,
                    what="spout gets ack",
                    component="__acker",
                    task=1,
                    delivery="",
                    value=0,
                    site="",
                ),
                TimelineRow(
                    time_ms=8,
                    what="ack",
                    component="sql",
                    task=4,
                    delivery="4",
                    value=7,
                    site="sql.py:12 execute",
                ),
            ),
        ),
        Timeline(tree=replace(TREE, root=67), rows=(), more=0),
    ),
    quarantine=(Quarantined(file="worker.log.3.gz", reason="cut off", rows=5, sample="2026-01-01 00:0"),),
)
REPORT = Report(findings=(FINDING,))


MORNING_MS = 1_795_292_527_890
MADE = datetime(2026, 11, 21, 22, 30, 0, tzinfo=timezone.utc)


def html(report: Report = REPORT, analysis: Analysis = ANALYSIS) -> str:
    stream = StringIO()
    page(report, analysis, stream, inputs=["logs"], made=MADE)
    return stream.getvalue()


@pytest.fixture(scope="module")
def text() -> str:
    return html()


def test_text_from_an_input_is_escaped(text):
    assert HOSTILE not in text
    assert (
        text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 7
    )  # verdict, step, finding, bar, dots, tables


def test_the_page_shows_each_life_once_and_opens_the_first(text):
    assert re.findall(
        r'<details class="root" name="roots"( open)?><summary><bdi class="mono">(-?\d+)', text
    ) == [
        (" open", "-66"),
        ("", "67"),
    ]


def test_a_repeated_ack_is_marked(text):
    marks = re.findall(r'<i class="(k-[^"]+)" style="left:([\d.]+%)" title', text)
    assert marks == [
        ("k-init", "12.50%"),
        ("k-ack", "37.50%"),
        ("k-ack k-again", "87.50%"),
        ("k-acked", "62.50%"),
    ]


def test_page_and_screen_explain_dropped_entries_alike():
    kinds = [(Residue.EVEN, 3), (Residue.NONE, 1)]
    trees = tuple(
        TreeCount(verdict="expired", residue=each.value, roots=roots, left=0) for each, roots in kinds
    )
    rested = replace(ANALYSIS, trees=trees, timelines=())
    on_screen = StringIO()
    screen(REPORT, rested, on_screen, Context(sources=Sources(root=Path())), 200)
    cells = '<tr><td class="n">{}</td><td>expired</td><td class="n">0</td><td>{}</td></tr>'
    on_page = html(REPORT, rested)
    for row in (cells.format(3, Residue.EVEN.value), cells.format(1, "")):
        assert row in on_page
    lines = [line.split() for line in on_screen.getvalue().splitlines() if "expired" in line]
    assert lines == [["3", "expired", "0", *Residue.EVEN.value.split()], ["1", "expired", "0"]]


def test_an_empty_page_is_valid():
    nothing = Analysis(acker="storm-2.8", row_counts=RowCounts(files=1, rows=0, used=0), tally=RunTally())
    assert "<strong>EMPTY</strong><p>the trace has no rows</p>" in html(Report(), nothing)


def test_counts_that_do_not_add_up_are_reported():
    assert rows_line(ANALYSIS) == "1,000 rows of 2 files: 980 used, 15 continuations, 5 quarantined"
    lost = replace(ANALYSIS, row_counts=RowCounts(files=1, rows=10, used=9))
    assert rows_line(lost) == "10 rows of 1 file: 9 used, 0 quarantined; THE COUNTS DO NOT ADD UP"


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        (
            RowCounts(files=1, rows=79, used=0, continued=44, foreign=35),
            "EMPTY: none of 79 rows is about acking: a worker logs tuples only with topology.debug=true",
        ),
        (
            RowCounts(files=1, rows=9, used=0, foreign=7, quarantined=2),
            "INCOMPLETE: none of 9 rows is about acking: 2 in quarantine",
        ),
        (
            RowCounts(files=1, rows=9, used=8, quarantined=1),
            "INCOMPLETE: nothing is wrong in what could be used (120 roots)",
        ),
        (RowCounts(files=1, rows=9, used=8, foreign=1), "OK: 120 roots, nothing is wrong"),
        (RowCounts(files=1, rows=9, used=8, foreign=1, silent=8), "EMPTY: none of 9 rows is about acking"),
    ],
    ids=["no debug", "quarantine", "partly", "used", "ticks"],
)
def test_unused_rows_are_not_ok(kept, line):
    quiet = replace(ANALYSIS, findings=(), row_counts=kept, quarantine=())
    assert verdict(Report(), quiet) == line
    word, _, rest = line.partition(": ")
    plain = re.sub(r"</?button[^>]*>", "", html(Report(), quiet))
    assert f"><strong>{word}</strong><p>{rest}</p>" in plain
    assert ("Nothing needs repair" in plain) is (word == "OK")


def test_a_curve_without_a_price_has_a_slope():
    flat = replace(
        ANALYSIS, forecast=Forecast(per_second=-0.5, fit=0.2, entry_bytes=None, heap=1, full_in=None)
    )
    assert forecast(flat) == "-0.5 entries a second (R2 0.20)"
    assert forecast(replace(ANALYSIS, forecast=None)) == ""


def test_the_screen_shows_the_worst_first():
    stream = StringIO()
    screen(REPORT, ANALYSIS, stream, Context(sources=Sources(root=Path())), 100)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("BROKEN: sql: the tuple is acked a second time")
    assert lines[1] == (
        "  1,000 rows of 2 files: 980 used, 15 continuations, 5 quarantined, over 30.0 s, "
        "judged as storm-1.1.0 would have acked"
    )
    assert lines[4] == "  error   ACK103 double-ack  bolts/sql.py:12 sql.execute  41 times"
    assert "timeouts in bursts: 44 roots in 4 bursts, multiples of 30 s apart" in lines
    assert "replays: orders emitted 2 message ids 5 times in all; order-7 came 3 times" in lines


def test_a_line_that_does_not_fit_forecasts_nothing_on_the_page(text):
    trend = Forecast(per_second=3.0, fit=0.38, entry_bytes=144, heap=768 << 20, full_in="21 days")
    weak = replace(ANALYSIS, forecast=trend)
    assert "full in 21 days" in text
    assert "full in 21 days" not in html(REPORT, weak)
    assert "no steady growth: a straight line does not fit" in html(REPORT, weak)


@pytest.mark.parametrize(
    ("times", "logged", "verdict"),
    [
        ((0, 30_000), True, ""),
        ((MORNING_MS, MORNING_MS + 30_000), False, "from 2026-11-21 20:22:07 to 20:22:37 UTC"),
        ((MORNING_MS, MORNING_MS + 86_400_000), False, "from 2026-11-21 20:22:07 to 2026-11-22 20:22:07 UTC"),
        (
            (MORNING_MS, MORNING_MS),
            True,
            "from 2026-11-21 20:22:07 to 20:22:07 by the logs' own clocks (UTC where they name a zone)",
        ),
    ],
    ids=["virtual", "a day", "two days", "a log"],
)
def test_the_report_shows_its_time_span(times, logged, verdict):
    begin, end = times
    lines = [*about(REPORT, replace(ANALYSIS, begin_ms=begin, end_ms=end, logged=logged))]
    assert [line for line in lines if line.startswith("from ")] == [verdict] * bool(verdict)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_figure_is_not_cut_on_a_narrow_screen(width):
    row = replace(ANALYSIS.completions[0], component="A" * 50, delivered=12_345_678, once=12_345_600)
    stream = StringIO()
    screen(
        REPORT, replace(ANALYSIS, completions=(row,)), stream, Context(sources=Sources(root=Path())), width
    )
    words = stream.getvalue().split()
    assert {"A" * 50, "12,345,678", "12,345,600"} <= set(words)
    assert not [
        line for line in stream.getvalue().splitlines() if line.startswith("  comp") and len(line) > 80
    ]


def test_a_page_of_many_findings_shows_some_folds_some_and_counts_the_rest():
    many = tuple(replace(FINDING, message=f"nr {number}") for number in range(10_000))
    text = html(Report(findings=many), replace(ANALYSIS, findings=many))
    shown, found, folded = text.partition("<details><summary>9,995 more findings</summary>")
    assert found
    assert "and 9,999 more" not in shown.partition("Do this")[2]
    assert (shown.count("<article"), folded.count("<article")) == (5, 45)
    assert "and 9,950 more findings; --output-format json has all" in folded
    assert "and 9,999 more findings" in shown


def test_the_worst_of_many_components_are_shown_and_the_rest_is_counted():
    rows = tuple(replace(ANALYSIS.completions[0], component=f"bolt-{number}") for number in range(3_000))
    many = replace(ANALYSIS, completions=rows, uncompleted=ANALYSIS.uncompleted * 12)
    text, shown = html(REPORT, many), StringIO()
    screen(REPORT, many, shown, Context(sources=Sources(root=Path())), 100)
    assert text.count("bolt-99<") == 2  # bar, table
    assert "bolt-100" not in text
    assert "and 2,900 more; --output-format json has all" in text
    assert "  and 2,950 more; --output-format json has all" in shown.getvalue().splitlines()
    assert (
        f"and {len(many.uncompleted) - 10} more such components; --output-format json has all"
        in shown.getvalue()
    )


def test_a_name_cannot_turn_the_direction_of_the_page():
    text = html(replace(REPORT, findings=(replace(FINDING, component="sq\u202el\x1b[1m"),)))
    assert "sq\N{REPLACEMENT CHARACTER}l\N{REPLACEMENT CHARACTER}[1m.execute" in text
    assert not {"\u202e", "\x1b"} & set(text)


# ---- what, when, and what to do first ----


def steps(text: str) -> list[tuple[str, str]]:
    """Return each step's action and place."""
    box = text.partition('id="do"')[2].partition("</section>")[0]
    found = re.findall(r"<li><p><b>(.*?)</b>(?: <code>(.*?)</code>)?</p>", box)
    return [(re.sub(r"<[^>]+>", "", action), place) for action, place in found]


def test_the_steps_are_the_worst_findings_first_each_once():
    may = replace(FINDING, severity=Severity.WARNING, confidence=Confidence.MAY, component="b", help="look")
    again = replace(FINDING, message="another tuple")
    same_mistake = replace(FINDING, code="ACK106", help="return", repaired_by="ACK103")
    text = html(Report(findings=(may, FINDING, again, same_mistake)))
    assert steps(text)[:2] == [
        ("ack it in one place", "bolts/sql.py:12"),
        ("if it applies: look", "bolts/sql.py:12"),
    ]


def test_a_step_links_to_its_rule_and_its_evidence(text):
    assert '<a href="https://ackdoctor.readthedocs.io/en/latest/rules/ACK103-double-ack/">' in text
    assert '<a href="#finding-0">evidence' in text
    assert 'id="finding-0"' in text


def test_what_keeps_a_verdict_open_is_a_step():
    open_ends = replace(
        ANALYSIS,
        findings=(),
        deaths=(Deaths(cause="out of memory", component="", times=2),),
        unreadable=(Unreadable(path="a.gz", line=0, column=0, reason="cut off"),),
        missing=("7",),
    )
    assert [action for action, _ in steps(html(Report(), open_ends))] == [
        "make the input readable and run the command again",
        "look at why workers died: run ackdoctor diagnose on these logs",
        "add the logs of all workers and analyze them together",
        "look at the rows in quarantine",
    ]


def test_the_head_has_inputs_dates_and_version():
    times = replace(ANALYSIS, begin_ms=MORNING_MS, end_ms=MORNING_MS + 30_000)
    text = re.sub(r"<[^>]+>", " ", html(REPORT, times))
    assert "from 2026-11-21 20:22:07 to 20:22:37 UTC; the last row is 2 hours older than this page" in text
    assert f"2026-11-21 22:30:00 UTC by ackdoctor {__version__}" in text


def test_credentials_of_an_input_are_not_shown():
    stream = StringIO()
    page(REPORT, ANALYSIS, stream, inputs=["s3a://key:secret@bucket/x"], made=MADE)
    assert "s3a://bucket/x" in stream.getvalue()
    assert "secret" not in stream.getvalue()


def test_the_latency_scale_begins_at_zero_and_keeps_the_order():
    rows = [
        replace(ANALYSIS.latencies[0], p50_ms=0, p90_ms=0.4, p99_ms=1, max_ms=90_000),
        replace(ANALYSIS.latencies[0], spout="b", p50_ms=10, p90_ms=100, p99_ms=1_000, max_ms=10_000),
    ]
    text = html(REPORT, replace(ANALYSIS, latencies=tuple(rows), completions=()))
    places = {
        time: float(place)
        for place, time in re.findall(
            r'<i class="(?:p\d\d|slowest)" style="left:([\d.]+)%" title="[^:]+: ([^"]+)"', text
        )
    }
    assert places["90.0 s"] == max(places.values())
    assert [*places.values()].count(0.0) == 1
    axis = text.partition('<div class="axis">')[2].partition("</div>")[0]
    ticks = {time: float(place) for place, time in re.findall(r'left:([\d.]+)%">([^<]+)<', axis)}
    assert ticks["0"] == 0.0
    assert ticks["1 ms"] == places["1 ms"]
    assert [*ticks.values()] == sorted(ticks.values())


MORNING_MS = 1_795_292_527_890


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
@pytest.mark.parametrize("width", sampled([420, 1280], [420]))
def test_a_browser_shows_the_page_without_a_sideways_scroll(text, tmp_path, width):
    probe = (
        "document.querySelectorAll('.root > summary')[1].click();"
        "document.title = [document.documentElement.scrollWidth <= innerWidth,"
        "document.querySelector('svg').getBoundingClientRect().width > 200].join(' ')"
    )
    assert title_in_a_browser(text, probe, tmp_path, width) == "true true"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
@pytest.mark.parametrize("width", sampled([420, 1280], [420]))
def test_a_very_long_name_leaves_room_for_the_rest(tmp_path, width):
    name = "AName" * 60
    finding = replace(FINDING, component=name, message=f"{name} acks twice")
    rows = tuple(replace(row, component=name) for row in ANALYSIS.completions)
    long = replace(
        ANALYSIS, completions=rows, uncompleted=(replace(ANALYSIS.uncompleted[0], component=name),)
    )
    probe = (
        "const inside = Array.from(document.querySelectorAll('.card:not(.scroll) *')).filter(e => !e.closest('.scroll'));"
        "document.title = [inside.every(e => e.getBoundingClientRect().right <= innerWidth),"
        "document.querySelector('.bar').getBoundingClientRect().width > 200,"
        "document.querySelector('.dots').getBoundingClientRect().width > 200].join(' ')"
    )
    assert (
        title_in_a_browser(html(Report(findings=(finding,)), long), probe, tmp_path, width)
        == "true true true"
    )


def title_in_a_browser(text: str, probe: str, folder: Path, width: int) -> str:
    """Return the title of the page in a browser after the probe has run."""
    file = folder / "page.html"
    text = text.replace("default-src 'none'", "script-src 'unsafe-inline'")
    file.write_text(text.replace("</body>", f"<script>{probe};</script></body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},2000", "--dump-dom"]
    command = [str(CHROMIUM), *options, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    return str(re.findall(r"<title>(.*?)</title>", done.stdout)[0])
