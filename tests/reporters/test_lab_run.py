"""The screen, the document and the page of a lab run, from a hand-made outcome."""

import json
from dataclasses import replace
from datetime import datetime, timezone
from io import StringIO
from pathlib import Path
from shutil import which

import pytest

from ackdoctor.acker.versions import NEWEST
from ackdoctor.lab.fates import Blame, Fate, Unjudged
from ackdoctor.lab.faults import plan
from ackdoctor.lab.run import Ended, Options, Outcome, Vanished
from ackdoctor.model.finding import Report
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.reporters import Context, Sources
from ackdoctor.reporters.lab_html import page
from ackdoctor.reporters.lab_run import LabRun, document, screen
from tests.reporters.pages import Page
from tests.reporters.test_analysis import FINDING, title_in_a_browser
from tests.reporters.topologies import words

HOSTILE = '<script>alert("1")</script>\n\x1b[31m'
OUTCOME = Outcome(
    profile=NEWEST,
    virtual_s=61.0,
    fates=(Fate(spout=HOSTILE, messages=30, completed=20, repeated=5, lost=3, lost_at_death=1, stuck=7),),
    vanished=(Vanished(source=HOSTILE, target="count", stream="default", copies=4),),
    deaths=(Ended(component="count", reason=HOSTILE, planned=False, times=2, lost=9),),
    growth=tuple(GrowthPoint(time_ms=1000 * n, pending=n) for n in range(5)),
    high_water=4,
    findings=(FINDING,),
    blamed=(
        Blame("words", "words.py:9", "ACK302", HOSTILE),
        Blame("", "topology.py:3", "ACK507", "no ticks"),
    ),
    unjudged=(Unjudged("count", "count.py:5", "acks early"),),
    missed=("--kill count@500",),
)
CLEAN = replace(
    OUTCOME, fates=(Fate(spout="words", messages=30, completed=30),), vanished=(), findings=(), blamed=()
)


def made(outcome: Outcome = OUTCOME) -> tuple[LabRun, Report]:
    options = Options(project=Path(), plan=plan(kills=["count@500"]), seed=3, seconds=1)
    run = LabRun(
        judged=words(), options=options, outcome=outcome, command="ackdoctor lab run words.py --seed 3"
    )
    return run, Report(findings=outcome.findings, files=("words.py",), components=2, notes=("search: none",))


def html(outcome: Outcome = OUTCOME) -> str:
    stream = StringIO()
    page(*made(outcome), stream, inputs=["words.py"], made=datetime(2026, 11, 26, tzinfo=timezone.utc))
    return stream.getvalue()


def test_the_page_has_everything_and_escapes_it():
    text = html()
    shown = Page(text)
    body = " ".join(shown.all("body")[0].text.split())
    assert "<script" not in text
    assert "\x1b" not in text
    heads = [each.text for each in shown.all("h2")]
    assert heads == [
        "Do this",
        "What the components did wrong",
        "What became of the messages",
        "Untracked tuples that are lost",
        "Deaths",
        "Entries of the acker over time",
        "Not judged",
    ]
    for part in (
        "BROKEN",
        "seed 3, 1.0 s with faults",
        "--kill count@500",
        "3 (1 with the spout)",
        "search: none",
        "2026-11-26",
    ):
        assert part in body
    assert [each for each in ("ACK302", "ACK507", FINDING.code) if each not in body] == []
    links = {each.lstrip("#") for each in shown.values("href") if each.startswith("#")}
    assert links <= set(shown.values("id"))


def test_a_clean_page_says_so_and_names_what_is_not_judged():
    body = Page(html(CLEAN)).all("body")[0].text
    assert "OK" in body
    assert "complete a tuple after its effect" in body
    assert "What the components did wrong" not in body


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (
            CLEAN,
            "OK: 30 messages, none lost or stuck; --kill count@500 did not happen; not judged: what `count` had acked and still held",
        ),
        (replace(CLEAN, missed=(), unjudged=()), "OK: 30 messages, none lost or stuck"),
        (replace(CLEAN, stopped="interrupted"), "INCOMPLETE: interrupted; nothing wrong until then"),
        (replace(CLEAN, fates=(Fate(spout="words"),), deaths=()), "INCOMPLETE: no spout emitted a message"),
        (replace(CLEAN, findings=(FINDING,)), "BROKEN: 1 finding"),
        (
            replace(CLEAN, fates=(Fate(spout="words", messages=9, open=2),)),
            "BROKEN: 2 messages of words open at the end",
        ),
        (
            replace(CLEAN, fates=(Fate(spout="words", messages=9, open=2),), stopped="too slow"),
            "INCOMPLETE: too slow; nothing wrong until then",
        ),
    ],
)
def test_the_verdict_is_one_sentence(outcome, verdict):
    assert outcome.verdict == verdict
    assert outcome.survived == verdict.startswith("OK")


def test_the_screen_has_no_control_characters():
    stream = StringIO()
    screen(*made(), stream, Context(sources=Sources(root=Path())), 80)
    assert "\x1b" not in stream.getvalue()
    assert "  topology: topology.py:3 ACK507: no ticks\n" in stream.getvalue()
    assert "  count (count.py:5): acks early\n" in stream.getvalue()
    assert "  again: ackdoctor lab run words.py --seed 3\n" in stream.getvalue()


def test_the_document_has_every_part():
    stream = StringIO()
    document(*made(), stream)
    run = json.loads(stream.getvalue())["run"]
    assert (run["missed"], run["unjudged"][0]["component"], run["blamed"][1]["code"]) == (
        ["--kill count@500"],
        "count",
        "ACK507",
    )


@pytest.mark.minutes
@pytest.mark.skipif(which("chromium") is None, reason="there is no browser")
def test_a_phone_shows_the_page_without_a_sideways_scroll(tmp_path):
    probe = "document.title = document.documentElement.scrollWidth <= innerWidth"
    assert title_in_a_browser(html(), probe, tmp_path, 390) == "true"
