"""The sentences, the screen, the drawing and the formats of topologies, from hand-made ones."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from io import StringIO
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from ackdoctor.model.finding import Report, Unreadable
from ackdoctor.model.source import Site, Span
from ackdoctor.model.topology import Defect, Edge, Gap, Judged, Place, Reason, Word
from ackdoctor.reporters import ASCII, COLOURED, Context, Sources
from ackdoctor.reporters.drawing import draw
from ackdoctor.reporters.graph_formats import dot, mermaid
from ackdoctor.reporters.layout import arrange, marks_of
from ackdoctor.reporters.topology import document, screen, sentences, shortfalls, weaker
from ackdoctor.reporters.topology_html import page
from ackdoctor.topology.evidence import COSTS
from tests.reporters.test_analysis import FINDING as SAMPLE
from tests.reporters.topologies import EARLY, FROM_ARGUMENTS, NO_IDS, graph, verdict, words

PLAIN_CONTEXT = Context(sources=Sources(root=Path()))
HOSTILE = '<script>alert("1")</script>]]"; rm\n\x1b[31m'


def on_screen(judged: Judged, width: int = 100, context: Context = PLAIN_CONTEXT) -> str:
    stream = StringIO()
    screen(Report(topologies=(judged,)), stream, replace(context, width=width))
    return stream.getvalue()


# ---- sentences ----


def test_three_sentences_name_the_guarantee_the_deciding_fact_and_the_next():
    assert sentences(words()) == [
        "WordCount: at most once.",
        "words emits without an id (src/words.py:36), so nothing is replayed.",
        "Next: count acks before its effect (src/count.py:51).",
    ]


def test_both_ends_of_an_unknown_guarantee_and_the_line_that_decides_are_named():
    open_ends = verdict(Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE, gaps=[FROM_ARGUMENTS])
    assert sentences(words(open_ends)) == [
        "WordCount: unknown (at best at least once; at worst at most once).",
        "It depends on Main.java:41: ackers come from args[2].",
    ]


@pytest.mark.parametrize(
    ("death", "text"),
    [
        ("also when the spout dies", "at least once, also when the spout dies"),
        ("only while the spout lives", "at least once, only while the spout lives"),
        ("unknown", "at least once, unknown when the spout dies"),
        ("", "at least once"),
    ],
)
def test_at_least_once_is_qualified_by_the_death_of_the_spout(death, text):
    assert sentences(words(verdict(Word.AT_LEAST_ONCE, death=death))) == [f"WordCount: {text}."]


def test_loss_and_repeats_together_are_named():
    both = replace(verdict(reasons=[EARLY]), may_repeat=True)
    assert sentences(words(both))[0] == "WordCount: at most once, and may repeat."


def test_a_boundary_is_in_the_sentence_of_the_guarantee():
    bounded = verdict(Word.AT_LEAST_ONCE, boundary="tracking ends at count (src/count.py:51), on purpose")
    assert sentences(words(bounded)) == [
        "WordCount: at least once; tracking ends at count (src/count.py:51), on purpose."
    ]


def test_a_reason_that_only_may_hold_is_not_stated_as_a_fact():
    unsure = replace(NO_IDS, sure=False)
    assert "words perhaps emits without an id" in sentences(words(verdict(reasons=[unsure])))[1]


def test_every_fact_of_the_guarantee_has_a_sentence():
    for fact in COSTS:
        reason = Reason(fact=fact, place=Place("a.py", 1), why="UNUSED", component="words")
        assert "UNUSED" not in sentences(words(verdict(reasons=[reason])))[1]


def test_an_unknown_fact_is_named_by_its_own_words():
    odd = Reason(fact="new-fact", place=Place("a.py", 1), why="does something", component="words")
    assert sentences(words(verdict(reasons=[odd])))[1] == "words does something (a.py:1)."


def test_one_fault_at_several_places_is_shown_once():
    again = replace(NO_IDS, place=Place("src/words.py", 40))
    judged = words(verdict(reasons=[NO_IDS, again, EARLY]))

    assert sentences(judged)[2] == "Next: count acks before its effect (src/count.py:51)."
    shown = on_screen(judged)
    assert "src/words.py:36, src/words.py:40" in shown
    assert "!2 count: " in shown
    assert "!3" not in shown
    assert html(judged).count("<article") == 2


# ---- the required guarantee ----


def test_unknown_counts_as_less_and_names_the_line_that_decides():
    judged = words(verdict(Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE, gaps=[FROM_ARGUMENTS]))
    assert weaker(judged, Word.AT_LEAST_ONCE)
    assert not weaker(judged, Word.AT_MOST_ONCE)
    assert list(shortfalls(judged, Word.AT_LEAST_ONCE)) == [
        "topologies/words.py:9: error: WordCount: unknown (at best at least once; at worst at most once); "
        "at least once is required",
        "Main.java:41: error: unknown: ackers come from args[2]",
    ]


def test_every_reason_below_the_required_guarantee_is_an_error():
    lines = list(shortfalls(words(), Word.AT_LEAST_ONCE))
    assert lines[1:] == [
        "src/words.py:36: error: words: emit without tup_id (spout-no-ids)",
        "src/count.py:51: error: count: counts are flushed by a tick (bolt-acks-before-effect)",
    ]


def test_a_reason_that_lowers_to_the_required_guarantee_is_no_error():
    memory = replace(NO_IDS, fact="state-in-memory", lowers_to=Word.AT_LEAST_ONCE)
    judged = words(verdict(Word.AT_LEAST_ONCE, reasons=[memory]))
    assert not weaker(judged, Word.AT_LEAST_ONCE)
    assert len(list(shortfalls(judged, Word.EXACTLY_ONCE))) == 2


# ---- unsafe edges ----


def test_what_follows_an_untracked_emit_is_unsafe_and_nothing_before_it():
    edges = [("spout", "a"), ("a", "b"), ("b", "c"), ("spout", "d")]
    loss = replace(NO_IDS, fact="unanchored-emit", component="a")
    judged = graph(edges, verdict(reasons=[loss]))
    assert {(edge.source, edge.target) for edge in marks_of(judged)} == {("a", "b"), ("b", "c")}


def test_the_inputs_of_a_bolt_that_acks_early_are_unsafe():
    judged = graph([("spout", "a"), ("a", "b")], verdict(reasons=[replace(EARLY, component="a")]))
    assert {(edge.source, edge.target): marks for edge, marks in marks_of(judged).items()} == {
        ("spout", "a"): (1,)
    }


def test_only_the_stream_of_the_emit_is_unsafe():
    judged = words()
    other = Edge(source="words", target="count", place=Place("x", 1), stream="raw", grouping="all")
    topology = replace(judged.topology, edges=(*judged.topology.edges, other))
    judged = replace(judged, topology=topology, verdict=verdict(reasons=[NO_IDS]))
    assert [edge.stream for edge in marks_of(judged)] == ["default"]


def test_without_ackers_every_edge_is_unsafe():
    off = Reason(fact="ackers-zero", place=Place("Main.java", 12), why="setNumAckers(0)")
    judged = graph([("spout", "a"), ("a", "b")], verdict(reasons=[off]))
    assert set(marks_of(judged).values()) == {(1,)}
    assert len(marks_of(judged)) == 2


# ---- the drawing ----

_OPEN = {  # the directions of a line's characters: up 1, right 2, down 4, left 8
    **dict(zip("│╎─╌└├┌┘┴┐┤┬┼", (5, 5, 10, 10, 3, 7, 6, 9, 11, 12, 13, 14, 15), strict=True)),
}
_STEPS = {1: (0, -1), 2: (1, 0), 4: (0, 1), 8: (-1, 0)}
_BACK = {1: 4, 4: 1, 2: 8, 8: 2}


def connections(judged: Judged, width: int) -> set[tuple[str, str]]:
    """Follow the lines of a drawing from the bottoms of the boxes to their tops."""
    rows = draw(judged, PLAIN_CONTEXT, width).splitlines()
    size = max(map(len, rows))
    rows = [row.ljust(size)[2:] for row in rows]
    layout = arrange(judged, width)
    assert layout is not None
    boxes = [box for box in layout.boxes if not box.rail]
    for box in boxes:
        assert rows[box.y + 1][box.x + 2 :].startswith(box.lines[0].text)
    found = set()
    for box in boxes:
        below = box.y + box.height
        for x in range(box.x, box.x + box.width):
            if below < len(rows) and rows[below][x] in _OPEN:
                for end_x, end_y in _ends(rows, x, below):
                    target = next(b for b in boxes if b.y == end_y + 1 and b.x < end_x < b.x + b.width - 1)
                    found.add((box.id, target.id))
    return found


def _ends(rows: list[str], x: int, y: int) -> Iterator[tuple[int, int]]:
    pending, seen = [(x, y, 4)], set()
    while pending:
        x, y, going = state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        char = rows[y][x]
        if char == "▼":
            yield x, y
            continue
        ways = _OPEN[char]
        if not ways & _BACK[going]:  # a line that crosses ours
            assert going in {2, 8}
            assert ways == 5
            ways = going
        for way, (right, down) in _STEPS.items():
            if ways & way and way != _BACK[going]:
                pending.append((x + right, y + down, way))


GRAPHS = {
    "chain": [("s", "a"), ("a", "b"), ("b", "c")],
    "diamond": [("s", "a"), ("s", "b"), ("a", "c"), ("b", "c")],
    "long edge": [("s", "a"), ("a", "b"), ("b", "c"), ("s", "c"), ("a", "c")],
    "fan": [("s", f"bolt_{n}") for n in range(9)],
    "join": [(f"spout_{n}", "join") for n in range(9)],
    "two spouts": [("s", "a"), ("t", "b"), ("s", "b"), ("t", "a")],
    "apart": [("s", "a"), ("t", "b")],
}


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
def test_a_drawing_connects_what_the_edges_connect(edges, width):
    assert connections(graph(edges), width) == set(edges)


@pytest.mark.parametrize("seed", range(120))
def test_drawings_of_random_graphs_are_right_and_fit(seed):
    random = Random(seed)
    names = [f"{'n' * random.randint(1, 12)}{n}" for n in range(random.randint(2, 12))]
    pairs = [(a, b) for n, a in enumerate(names) for b in names[n + 1 :] if random.random() < 0.3]
    edges = pairs or list(pairwise(names))
    width = random.choice([60, 72, 100, 140, 200])
    judged = graph(edges)
    text = draw(judged, PLAIN_CONTEXT, width - 2)
    assert max(map(len, text.splitlines())) <= width
    if arrange(judged, width - 2) is not None:
        assert connections(judged, width - 2) == set(edges)


def test_an_edge_that_closes_a_cycle_is_named_in_its_target():
    text = draw(graph([("s", "a"), ("a", "b"), ("b", "a")]), PLAIN_CONTEXT, 80)
    assert "back from b, shuffle" in text
    assert "← s, shuffle" in text


def test_a_component_that_only_an_edge_names_is_drawn_as_not_found():
    judged = words()
    lost = Edge(source="ghost", target="count", place=Place("x", 1))
    judged = replace(judged, topology=replace(judged.topology, edges=(*judged.topology.edges, lost)))
    assert "not found" in draw(judged, PLAIN_CONTEXT, 80)


def test_a_graph_without_room_is_a_list_with_the_same_marks():
    edges = [(f"spout_{n}", f"bolt_{m}") for n in range(20) for m in range(20)]
    off = Reason(fact="ackers-zero", place=Place("Main.java", 12), why="setNumAckers(0)")
    text = draw(graph(edges, verdict(reasons=[off])), PLAIN_CONTEXT, 60)
    assert text.count("!1") == 400
    assert max(map(len, text.splitlines())) <= 60


def test_a_large_graph_is_drawn_in_time():
    edges = [(f"n{n}", f"n{n // 2 + 100}") for n in range(100)] + [("s", f"n{n}") for n in range(100)]
    assert draw(graph(edges), PLAIN_CONTEXT, 100)


def test_system_streams_are_not_drawn():
    judged = words()
    tick = Edge(source="__system", target="count", place=Place("x", 1), stream="__tick", grouping="all")
    judged = replace(judged, topology=replace(judged.topology, edges=(*judged.topology.edges, tick)))
    assert "__system" not in draw(judged, PLAIN_CONTEXT, 80)


# ---- the screen ----


@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_screen_fits_its_width_and_says_everything_once(width):
    text = on_screen(words(), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    flat = re.sub(r"\s+", " ", text)
    assert "WordCount: at most once." in flat
    assert "!1 words: emit without tup_id, src/words.py:36 (spout-no-ids)" in flat
    assert "← fields(word) !1,2" in flat
    assert "config.json:12" in flat or width == 60  # a narrow table folds its cells
    assert "-o can set ackers to 0" in flat


def test_a_reason_has_the_help_of_the_finding_about_it():
    """The finding knows the wiring, so it may name another consequence."""
    reason = replace(NO_IDS, fact="bolt-never-acks", why="`tup` is never acked: its tree times out")
    finding = replace(
        SAMPLE,
        code="ACK101",
        site=Site(reason.place.path, Span(reason.place.line, 1, reason.place.line, 9)),
        message="`tup` is never acked; this costs nothing yet: no ids",
        help="ack `tup`",
    )
    report = Report(topologies=(words(verdict(reasons=[reason, EARLY])),), findings=(finding,))
    stream = StringIO()
    screen(report, stream, PLAIN_CONTEXT)

    shown = stream.getvalue().splitlines()
    first = next(number for number, line in enumerate(shown) if "!1 words: " in line)
    assert shown[first + 1 : first + 3] == ["     = help: ack `tup`", "     = help: ackdoctor explain ACK101"]
    assert "     = help: ack each tuple after its effect" in shown


def test_a_defect_has_the_help_of_the_finding_about_it():
    defect = Defect(
        kind="dead-key", sure="certain", place=Place("conf.yaml", 3), why="nothing reads this setting"
    )
    finding = replace(
        SAMPLE, code="ACK505", site=Site("conf.yaml", Span(3, 1, 3, 9)), message=defect.why, help="delete it"
    )
    stream = StringIO()
    judged = replace(words(), defects=(defect,))
    screen(Report(topologies=(judged,), findings=(finding,)), stream, PLAIN_CONTEXT)

    assert stream.getvalue().partition("\ndefects\n")[2].splitlines()[:3] == [
        "  certain: nothing reads this setting, conf.yaml:3 (dead-key)",
        "     = help: delete it",
        "     = help: ackdoctor explain ACK505",
    ]


def test_a_branch_leaves_out_what_is_as_before():
    stream = StringIO()
    branches = [
        words(branch=f"{way} (topologies/words.py:{n})") for n, way in enumerate(("args", "!args"), 1)
    ]
    screen(Report(topologies=tuple(branches)), stream, PLAIN_CONTEXT)
    first, _, second = stream.getvalue().partition("\n\nWordCount: ")
    assert "if args (line 1)" in first
    assert "spout WordSpout" in first
    assert "if !args (line 2)" in second
    assert "spout WordSpout" not in second
    assert second.endswith("the rest is as in the branch before\n")


def test_the_screen_in_ascii_is_ascii():
    context = Context(sources=Sources(root=Path()), glyphs=ASCII)
    assert on_screen(words(), 80, context).isascii()


def test_unsafe_inputs_have_a_colour_and_a_sign():
    text = on_screen(words(), 100, Context(sources=Sources(root=Path()), palette=COLOURED))
    assert "\x1b[1;31m!1,2\x1b[0m" in text
    assert "\x1b[1;31m▼\x1b[0m" in text


def test_no_name_of_an_input_steers_the_terminal():
    judged = words(name=HOSTILE)
    hostile = replace(judged.topology.nodes[0], cls=HOSTILE)
    judged = replace(judged, topology=replace(judged.topology, nodes=(hostile, judged.topology.nodes[1])))
    assert "\x1b" not in on_screen(judged)


# ---- JSON ----

TEXT, NUMBER, LIST, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "array"}, {"type": "boolean"}
MAYBE_TEXT, MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
GUARANTEES = ["at-most-once", "at-least-once", "exactly-once"]


def strict(optional: tuple[str, ...] = (), /, **keys: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": keys,
        "required": [key for key in keys if key not in optional],
        "additionalProperties": False,
    }


def many(**keys: object) -> dict[str, object]:
    return {"type": "array", "items": strict(**keys)}


AT = {"file": MAYBE_TEXT, "line": MAYBE_NUMBER}
SCHEMA = strict(
    version=TEXT,
    notes=LIST,
    unreadable=many(path=TEXT, line=NUMBER, reason=TEXT),
    topologies=many(
        **dict.fromkeys(("name", "kind", "framework", "branch", "spout_death", "boundary"), TEXT),
        paths=strict(topology=LIST, components=LIST, config=LIST),
        components=many(
            **{"id": TEXT, "role": {"enum": ["spout", "bolt", "state"]}, "class": TEXT, **AT},
            parallelism=MAYBE_NUMBER,
            facts={"type": "object"},
        ),
        edges=many(**{"from": TEXT, "to": TEXT, "stream": TEXT, "grouping": TEXT, "line": MAYBE_NUMBER}),
        config={
            "type": "array",
            "items": strict(("without_effect",), key=TEXT, value={}, level=TEXT, without_effect=TEXT, **AT),
        },
        verdict={"enum": [*GUARANTEES, "unknown"]},
        lower={"enum": GUARANTEES},
        upper={"enum": GUARANTEES},
        may_lose={"type": ["boolean", "null"]},
        may_repeat={"type": ["boolean", "null"]},
        reasons=many(fact=TEXT, component=MAYBE_TEXT, why=TEXT, sure=FLAG, **AT),
        broken_paths={"type": "array", "items": {"type": "array", "items": TEXT}},
        config_defects=many(
            kind=TEXT,
            component=MAYBE_TEXT,
            confidence={"enum": ["certain", "likely", "information"]},
            why=TEXT,
            **AT,
        ),
        gaps=many(why=TEXT, **AT),
        notes=LIST,
    ),
)


def as_json(*topologies: Judged) -> Any:
    stream = StringIO()
    unread = Unreadable(path="a.yaml", line=3, column=1, reason="not YAML")
    document(Report(unreadable=(unread,), topologies=topologies), stream)
    return json.loads(stream.getvalue())


def test_the_json_has_every_key_of_its_schema_and_no_other():
    jsonschema.validate(as_json(words(), graph([("s", "a")])), SCHEMA)


def test_the_docs_name_every_key_of_the_json():
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8").partition("## Topologies")[2]
    entry = as_json(words())["topologies"][0]
    keys = {
        *entry,
        *(
            key
            for value in entry.values()
            if isinstance(value, list)
            for row in value
            if isinstance(row, dict)
            for key in row
        ),
    }
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_a_setting_that_the_files_do_not_decide_says_why():
    config = as_json(words())["topologies"][0]["config"]
    assert config[1]["value"] == {"unknown": "ackers come from args[2]", "file": "Main.java", "line": 41}
    assert config[2]["level"] == "component count"
    assert config[2]["without_effect"] == "Storm reads it for the whole topology only"


def test_facts_hold_what_is_known_only():
    spout, bolt = as_json(words())["topologies"][0]["components"]
    assert spout["facts"] == {"ids": False, "fail": "nothing", "source": "redis", "source_ack": "on-delivery"}
    assert bolt["facts"] == {
        "anchors": ["none"],
        "auto_ack": True,
        "acks": True,
        "acks_before_effect": "src/count.py:51",
    }
    assert (spout["file"], bolt["file"]) == ("src/words.py", "src/count.py")


# ---- Mermaid, dot and HTML ----


def hostile() -> Judged:
    judged = words(name=HOSTILE)
    renamed = {"words": f'w "{HOSTILE}', "count": "end"}  # `end` is a keyword of Mermaid
    topology = replace(
        judged.topology,
        branch=HOSTILE,
        nodes=tuple(replace(n, id=renamed[n.id], cls=HOSTILE) for n in judged.topology.nodes),
        edges=tuple(
            replace(e, source=renamed[e.source], target=renamed[e.target], stream="a|b", grouping=HOSTILE)
            for e in judged.topology.edges
        ),
    )
    reasons = [
        replace(reason, component=renamed[reason.component], why=HOSTILE) for reason in (NO_IDS, EARLY)
    ]
    gaps = [Gap(HOSTILE, Place(HOSTILE, 1))]
    return replace(judged, topology=topology, verdict=verdict(reasons=reasons, gaps=gaps))


def test_mermaid_has_nodes_and_dotted_unsafe_edges():
    stream = StringIO()
    mermaid([words()], stream)
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    assert lines[0] == "flowchart TB"
    assert 't0_0(["words<br/>WordSpout"]):::spout' in lines
    assert 't0_0 -. "fields(word)<br/>spout-no-ids, bolt-acks-before-effect" .-> t0_1' in lines
    assert "linkStyle 0 stroke:#c2410c,color:#c2410c" in lines


def test_mermaid_text_of_an_input_stays_text():
    stream = StringIO()
    mermaid([hostile()], stream)
    for line in stream.getvalue().splitlines():
        quoted = re.findall(r'"([^"]*)"', line)
        assert line.count('"') == 2 * len(quoted)
        assert not re.search(r"<(?!br/>)", line)
        assert not re.search(
            r"[\[\]{}|;\\`](?<!#\d;)", "".join(re.sub(r"#\d+;", "", text) for text in quoted)
        )


@pytest.mark.parametrize("judged", [words(), hostile()], ids=["plain", "hostile"])
def test_dot_is_accepted_by_graphviz(judged):
    stream = StringIO()
    dot([judged], stream)
    assert stream.getvalue().count("style=dashed") == 1
    if (graphviz := shutil.which("dot")) is None:
        pytest.skip("Graphviz is not installed")
    subprocess.run([graphviz, "-Tsvg"], input=stream.getvalue(), text=True, check=True, capture_output=True)


def html(*topologies: Judged) -> str:
    stream = StringIO()
    page(
        Report(topologies=topologies),
        stream,
        inputs=["src"],
        made=datetime(2026, 11, 21, tzinfo=timezone.utc),
    )
    return stream.getvalue()


def test_unsafe_edges_of_the_page_link_to_their_reasons():
    text = html(words())
    anchors = set(re.findall(r'id="(t0-r\d+)"', text))
    assert anchors == {"t0-r1", "t0-r2"}
    assert set(re.findall(r'href="#(t0-r\d+)"', text)) == anchors
    assert '<path class="line unsafe"' in text
    assert "<title>emit without tup_id; counts are flushed by a tick</title>" in text


def test_the_first_step_repairs_what_decides_the_weakest_topology():
    help_text = "pass `tup_id=...`"
    finding = replace(SAMPLE, code="ACK301", site=Site("src/words.py", Span(36, 9, 36, 20)), help=help_text)
    report = Report(topologies=(words(verdict(Word.AT_LEAST_ONCE)), words()), findings=(finding,))
    stream = StringIO()
    page(report, stream, inputs=["src"], made=datetime(2026, 11, 21, tzinfo=timezone.utc))
    box = re.sub(r"<[^>]+>", "", stream.getvalue().partition('id="do"')[2].partition("</section>")[0])
    lines = [line for line in box.splitlines() if line.strip()]
    assert lines[1:4] == [
        "pass tup_id=... src/words.py:36",
        "WordCount, words: emit without tup_id",
        "ACK301 spout-emit-without-id evidence of step 1",
    ]
    assert lines[4] == "ack each tuple after its effect src/count.py:51"


def test_of_many_topologies_the_weakest_are_shown():
    strong = [words(verdict(Word.AT_LEAST_ONCE), name=f"strong-{n}") for n in range(120)]
    text = html(*strong, words(name="weak"))
    assert "<h2>weak</h2>" in text
    assert "<h2>strong-98</h2>" in text
    assert "<h2>strong-99</h2>" not in text
    assert "<title>121 topologies: 120 at least once, 1 at most once: ackdoctor topology src</title>" in text
    assert "and 21 more; --output-format json has all" in text


def test_an_undecided_line_comes_before_what_only_may_weaken():
    open_ends = verdict(
        Word.AT_MOST_ONCE, Word.AT_LEAST_ONCE, gaps=[FROM_ARGUMENTS], reasons=[replace(NO_IDS, sure=False)]
    )
    box = html(words(open_ends)).partition('id="do"')[2].partition("</section>")[0]
    assert box.index("Main.java:41") < box.index("if it applies: ")


def test_a_topology_without_a_fault_has_nothing_to_do():
    plain = replace(words(verdict(Word.AT_LEAST_ONCE)), defects=())
    assert "Nothing in these files weakens the guarantee." in html(plain)
    assert "Nothing in these files" not in html(words())
    open_end = replace(plain, topology=replace(plain.topology, gaps=(FROM_ARGUMENTS,)))
    assert "Nothing in these files" not in html(open_end)
