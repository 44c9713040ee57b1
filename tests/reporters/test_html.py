"""What every HTML page keeps: structure for a screen reader, no network, no script, and text of an input stays text."""

import re
from dataclasses import replace
from datetime import datetime, timezone
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from ackdoctor.model.finding import Report, Unreadable
from ackdoctor.model.topology import Edge, Node, Place, Setting
from ackdoctor.reporters import analysis_html, topology_html
from ackdoctor.reporters.html import MAX_ROWS, Words, glossary, table
from ackdoctor.spark.tables import AckerLoad, Quarantined
from tests.reporters.pages import LANDMARKS, Page
from tests.reporters.test_analysis import ANALYSIS, FINDING
from tests.reporters.topologies import EARLY, FROM_ARGUMENTS, NO_IDS, verdict, words

MADE = datetime(2026, 11, 21, tzinfo=timezone.utc)
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\" ' javascript:alert(1) {{7*7}} \u202e\u05d0\x1b[31m`"
LONG = "AVeryLongName" * 80
MANY = 10_000


def analysis_page(name: str = "sql", amount: int = 3) -> str:
    finding = replace(
        FINDING, component=name, message=f"{name} acks twice", help=f"repair `{name}`", handler=name
    )
    completions = [replace(ANALYSIS.completions[0], component=f"{name}{n}") for n in range(amount)]
    analysis = replace(
        ANALYSIS,
        completions=tuple(completions),
        latencies=tuple(replace(ANALYSIS.latencies[0], spout=f"{name}{n}") for n in range(amount)),
        ackers=tuple(
            AckerLoad(run=name, acker=n, roots=1, messages=1, high_water=1, pending=1) for n in range(amount)
        ),
        timelines=ANALYSIS.timelines * amount,
        quarantine=tuple(Quarantined(file=name, reason=name, rows=n, sample=name) for n in range(amount)),
        unreadable=tuple(Unreadable(path=name, line=n, column=0, reason=name) for n in range(amount)),
        notes=(name,),
    )
    findings = tuple(replace(finding, message=f"{finding.message} {n}") for n in range(amount))
    stream = StringIO()
    analysis_html.page(Report(findings=findings), analysis, stream, inputs=[name] * amount, made=MADE)
    return stream.getvalue()


def topology_page(name: str = "words", amount: int = 2) -> str:
    judged = words(
        verdict(reasons=[replace(each, why=name) for each in (NO_IDS, EARLY)] * 2, gaps=[FROM_ARGUMENTS])
    )
    names = [f"{name}{n}" for n in range(amount)]
    topology = replace(
        judged.topology,
        name=name,
        nodes=tuple(Node(id=each, role="bolt", cls=each, place=Place(each)) for each in names),
        edges=tuple(Edge(source=each, target=names[0], place=Place(each, 1), stream=each) for each in names),
        settings=tuple(Setting(key=f"topology.{each}", value=each, place=Place(each)) for each in names),
    )
    stream = StringIO()
    other = replace(judged, verdict=verdict(reasons=[replace(NO_IDS, sure=False)]))
    report = Report(topologies=(replace(judged, topology=topology), other))
    topology_html.page(report, stream, inputs=[name], made=MADE)
    return stream.getvalue()


PAGES = {"analysis": analysis_page, "topology": topology_page}


@pytest.fixture(scope="module", params=[(kind, name) for kind in PAGES for name in ("plain", "hostile")])
def page(request) -> Page:
    kind, name = request.param
    return Page(PAGES[kind](EVIL if name == "hostile" else "sql"))


def test_the_page_has_a_language_a_title_and_landmarks(page):
    assert [element.attributes["lang"] for element in page.all("html")] == ["en"]
    assert [bool(element.text.strip()) for element in page.all("title") if "svg" not in element.inside] == [
        True
    ]
    assert [
        element.tag
        for element in page.all("header", "main", "aside", "footer")
        if element.inside == ("html", "body")
    ] == [
        "header",
        "main",
        "aside",
        "footer",
    ]
    outside = [
        element.tag
        for element in page.all("p", "h2", "h3", "table", "svg", "button")
        if not set(LANDMARKS) & set(element.inside)
    ]
    assert outside == []


def test_headings_are_in_order(page):
    levels = [int(element.tag[1]) for element in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_have_scopes_and_names_and_scroll_in_a_box_that_takes_the_focus(page):
    assert {element.attributes.get("scope") for element in page.all("th")} == {"col"}
    boxes = [
        element.attributes
        for element in page.elements
        if "scroll" in element.attributes.get("class", "").split()
    ]
    shown = [box for box in boxes if box.get("aria-hidden") != "true"]
    assert len(shown) >= len(page.all("table"))
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in shown)


def test_ids_are_unique_and_links_have_targets(page):
    ids = page.values("id")
    assert sorted(ids) == sorted(set(ids))
    targets = {value[1:] for value in page.values("href") if value.startswith("#")}
    targets |= {*page.values("popovertarget"), *page.values("aria-labelledby")}
    targets |= {value[5:-1] for value in page.values("marker-end")}
    assert targets <= set(ids)
    others = {value for value in page.values("href") if not value.startswith("#")}
    assert all(value.startswith("https://ackdoctor.readthedocs.io/en/latest/rules/ACK") for value in others)


def test_images_have_a_name(page):
    assert all(
        element.attributes.get("role") and element.attributes.get("aria-label") for element in page.all("svg")
    )


def test_the_page_loads_nothing_and_runs_nothing(page):
    assert page.all("script", "img", "link", "iframe", "object", "form") == []
    assert [
        element.attributes
        for element in page.elements
        if any(name.startswith("on") for name in element.attributes)
    ] == []
    assert [element for element in page.elements if "src" in element.attributes] == []
    [style] = page.all("style")
    assert not re.search(r"url\(|@import", style.text)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values("content")


def test_text_of_an_input_is_not_a_template_and_turns_no_direction(page):
    body = page.all("body")[0].text
    assert "49" not in re.findall(r"javascript:alert\(1\) (\S+)", body)
    assert not {"\u202e", "\x1b"} & set(body)


@pytest.mark.parametrize("kind", PAGES)
def test_ten_thousand_rows_are_cut_with_a_line_that_says_so(kind):
    text = PAGES[kind]("x", MANY)
    assert text.count("<tr>") < 40 * MAX_ROWS
    assert len(text) < 2_000_000
    assert (
        re.findall(r"and ([\d,]+) more; --output-format json has all", text).count(f"{MANY - MAX_ROWS:,}")
        >= 2
    )


@pytest.mark.parametrize("kind", PAGES)
def test_an_endless_word_is_cut_in_its_middle_and_a_drawing_is_not(kind):
    page = Page(PAGES[kind](LONG))
    assert not re.search(r"[A-Za-z]{400}", page.all("body")[0].text)
    assert "…" in page.all("body")[0].text
    assert not any("…" in path for path in page.values("d"))


def test_an_input_that_could_not_be_read_is_a_step_that_many_findings_do_not_push_out():
    box = analysis_page("x", MANY).partition('id="do"')[2].partition("</section>")[0]
    assert box.count("<li>") <= 7
    assert "make the input readable" in box


def test_a_table_has_no_empty_column_and_counts_what_it_leaves_out():
    rows = [{"a": str(n), "b": ""} for n in range(MAX_ROWS + 2)]
    made = table("Rows", rows, numbers={"a"})
    assert (made.heads, len(made.rows), made.more) == ((("a", True),), MAX_ROWS, 2)
    assert table("Rows", []).rows == ()


# ---- the glossary ----


def test_each_word_has_a_meaning_of_its_own():
    assert glossary()["worker"] == "the JVM that runs executors"
    assert glossary()["ack"] == glossary()["fail"]
    assert "path" not in glossary()


def test_words_are_found_in_any_number_and_not_inside_names():
    found = [
        (piece.text, piece.key)
        for piece in Words().labels("Orphans of my_acker, deliveries.ack, no ack()")
        if piece.key
    ]
    assert found == [("Orphans", "word-orphan")]


def test_prose_explains_a_word_once_and_keeps_code_as_code():
    prose = list(Words().prose("an acker, `the acker`, an acker"))
    assert [piece.text for piece in prose if piece.key] == ["acker"]
    assert [piece.text for piece in prose if piece.code] == ["the acker"]
    assert "".join(piece.text for piece in prose) == "an acker, the acker, an acker"


def test_every_explained_word_has_its_explanation_on_the_page(page):
    assert {*page.values("popovertarget")} == {
        element.attributes["id"] for element in page.elements if "popover" in element.attributes
    }


# ---- colours ----

CSS = (Path(topology_html.__file__).parent / "page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})[;\s]", part))
    for part in CSS.split("* { box-sizing")[0].split("prefers-color-scheme: dark")
)
PAIRS = [
    *((text, ground) for text in ("ink", "soft", "blue", "bad") for ground in ("paper", "card")),
    ("ink", "bad-soft"),
    ("ink", "warn-soft"),
    ("ink", "good-soft"),
    ("ink", "track"),
    ("bad", "bad-soft"),
    ("warn", "warn-soft"),
]


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_has_enough_contrast(colours, text, ground):
    low, high = sorted(luminance(colours[name]) for name in (text, ground))
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_light_and_dark_have_the_same_colours():
    assert LIGHT.keys() == DARK.keys()
