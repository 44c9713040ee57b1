"""The screen of a traced run, and the verdict in its first line."""

import io
import json
from dataclasses import replace

import pytest

from ackdoctor.model.finding import Report, Unreadable
from ackdoctor.model.trace import (
    ComponentTally,
    Culprit,
    GrowthPoint,
    PendingEntry,
    Residue,
    RunTally,
    TupleTree,
    Verdict,
)
from ackdoctor.reporters import ASCII, COLOURED, Context
from ackdoctor.reporters.trace import About, document, screen, timeline, verdict
from ackdoctor.tracer.replay import Moment, Timeline
from tests.reporters.samples import LEAK, RUN, SEEN, context

TALLY = RunTally(
    components=(
        ComponentTally(component="count", dialect="pystorm", delivered=1200, emitted=3600, acked=1200),
        ComponentTally(
            component="sql",
            dialect="pystorm",
            delivered=1200,
            acked=2400,
            pending=3,
            high_water=1500,
            oldest_ms=90_000,
            violations=1200,
        ),
    ),
    growth=tuple(GrowthPoint(time_ms=n * 1000, pending=n * n, orphans=n) for n in range(9)),
    trees=(
        TupleTree(
            root=-6722594615019711369,
            verdict=Verdict.COMPLETE,
            entry=PendingEntry(root=-6722594615019711369, value=3, task=None),
            residue=Residue.EVEN,
            culprits=(Culprit(delivery="7", component="sql", task=4, value=3, acks=2),),
            ambiguous=True,
        ),
        *(
            TupleTree(
                root=root,
                verdict=Verdict.EXPIRED,
                entry=PendingEntry(root=root, value=root, task=3),
                residue=Residue.EVEN,
            )
            for root in (70, 71)
        ),
        TupleTree(root=99, verdict=Verdict.FAILED),
    ),
    completed=1195,
    pending=3,
    high_water=1500,
)
ABOUT = About(tally=TALLY, acker="storm-1.1.0", rows=9_600, roots=1_200, seconds=8.0)


def rendered(
    report: Report, about: About = ABOUT, with_context: Context | None = None, width: int = 100
) -> list[str]:
    stream = io.StringIO()
    screen(report, about, stream, replace(with_context or context(), width=width))
    return stream.getvalue().splitlines()


def test_the_figures_follow_the_findings():
    lines = rendered(Report())
    assert lines == [
        "OK: 1,200 roots, 2,400 deliveries, nothing is wrong",
        "  9,600 rows over 8.0 s, judged as storm-1.1.0 would have acked",
        "",
        "3 entries left in the acker, 1,500 at most at once",
        "  entries   example                value left   state              meaning",
        "  ──────────────────────────────────────────────────────────────────────────────────────────────────",
        "        2   70                     70           expired            a tuple was acked an even number",
        "                                                                   of times, or never",
        "        1   -6722594615019711369   3            orphan, complete   sql acked it 2x (or others)",
        "",
        "pending roots",
        "  ▁▁▁▂▂▄▅▇█  0 to 64 in 8.0 s, at most 64, 8 of them orphans",
        "",
        "components",
        "  component   delivered   emitted   acked   failed   open   at most   oldest   violations",
        "  ───────────────────────────────────────────────────────────────────────────────────────",
        "  sql             1,200         0   2,400        0      3     1,500   90.0 s        1,200",
        "  count           1,200     3,600   1,200        0      0         0",
    ]


@pytest.mark.parametrize(
    ("report", "about", "line"),
    [
        (
            RUN,
            ABOUT,
            "BROKEN: TwiceBolt: `tup` is acked twice, bolts/enrich.py:19 (ACK103, 1,200 times), and 1 more finding",
        ),
        (
            Report(findings=(LEAK,)),
            ABOUT,
            "BROKEN: acker: the pending map grows in every window although the load does not (ACK603)",
        ),
        (Report(), replace(ABOUT, rows=0), "EMPTY: the trace has no rows"),
        (Report(), replace(ABOUT, rows=2, telling=False), "EMPTY: none of 2 rows is about acking"),
        (
            Report(),
            replace(ABOUT, rows=2, telling=False, tally=replace(TALLY, dropped=7)),
            "INCOMPLETE: none of 2 rows is about acking",
        ),
        (
            Report(hidden=2, suppressed=1),
            ABOUT,
            "OK: 1,200 roots, 2,400 deliveries, nothing is wrong except 3 hidden findings",
        ),
        (
            Report(),
            replace(
                ABOUT, roots=1, tally=replace(TALLY, components=(replace(TALLY.components[0], delivered=1),))
            ),
            "OK: 1 root, 1 delivery, nothing is wrong",
        ),
        (
            Report(unreadable=(Unreadable(path="t", line=0, column=0, reason="torn"),)),
            ABOUT,
            "INCOMPLETE: nothing is wrong in what could be read (1,200 roots, 2,400 deliveries)",
        ),
        (
            Report(),
            replace(ABOUT, tally=replace(TALLY, dropped=7)),
            "INCOMPLETE: nothing is wrong in what could be read (1,200 roots, 2,400 deliveries)",
        ),
        (
            Report(),
            replace(ABOUT, taken=True),
            "INCOMPLETE: nothing is wrong in what could be judged (1,200 roots, 2,400 deliveries); restarted workers lost tuples "
            "that cannot be judged",
        ),
    ],
    ids=[
        *("broken", "leaking", "empty", "mute", "mute and dropped", "hidden", "one", "unreadable", "dropped"),
        "went down",
    ],
)
def test_the_verdict_is_one_sentence(report, about, line):
    assert verdict(report, about) == line
    assert rendered(report, about)[0] == line


def test_reservations_follow_the_verdict():
    report = Report(
        unreadable=(Unreadable(path="t", line=0, column=0, reason="torn"),),
        hidden=2,
        suppressed=1,
        notes=tuple(f"sql[{n}] ended: killed by SIGKILL" for n in range(7)),
    )
    tally = replace(TALLY, dropped=12, unobserved=("Quiet: ack is a mock",))
    lines = rendered(report, replace(ABOUT, tally=tally))
    assert lines[1 : lines.index("")] == [
        "  9,600 rows over 8.0 s, judged as storm-1.1.0 would have acked",
        "  12 rows are missing: the tracer had no room for them, or fell behind",
        "  1 file of the trace could not be read to the end",
        "  2 findings below --min-severity not shown",
        "  1 finding suppressed by comments",
        *(f"  sql[{n}] ended: killed by SIGKILL" for n in range(5)),
        "  and 2 more notes; --output-format json has all",
        "  not observed: Quiet: ack is a mock",
    ]


def test_findings_are_shown_between_the_verdict_and_the_tables():
    lines = rendered(RUN)
    assert lines[3] == "bolts/enrich.py:19:25  error ACK103 double-ack  `tup` is acked twice"
    assert lines.index("3 entries left in the acker, 1,500 at most at once") > 10


def test_an_old_terminal_gets_ascii_and_a_narrow_one_fewer_columns():
    lines = rendered(Report(), ABOUT, replace(context(), glyphs=ASCII), 60)
    assert [line for line in lines if not line.isascii() or len(line) > 63] == []
    assert any(
        line.startswith("        1 | -6722594615019711369 | ") for line in lines
    )  # rows that a user can copy
    table = lines[lines.index("components") + 1 :]
    assert table == [
        "  component | delivered | acked | failed | open | violations",
        "  ----------+-----------+-------+--------+------+-----------",
        "  sql       |     1,200 | 2,400 |      0 |    3 |      1,200",
        "  count     |     1,200 | 1,200 |      0 |    0 |",
    ]


def test_colours_are_used_only_on_request():
    assert "\x1b" in "".join(rendered(RUN, with_context=replace(context(), palette=COLOURED)))
    assert "\x1b" not in "".join(rendered(RUN))


def test_names_cannot_steer_the_terminal():
    evil = replace(TALLY.components[0], component="a\x1b]0;b\nc[red]d")
    report = Report(findings=(replace(SEEN, component="a\x1b]0;b"),), notes=("x\x1b[2J",))
    lines = rendered(report, replace(ABOUT, tally=replace(TALLY, components=(evil,), unobserved=("y\x07",))))
    assert not any(char in line for line in lines for char in "\x1b\x07")
    assert any("c[red]d" in line for line in lines)


def test_the_document_has_the_figures_and_ids_as_text():
    stream = io.StringIO()
    document(RUN, ABOUT, stream)
    content = json.loads(stream.getvalue())
    assert [finding["code"] for finding in content["findings"]] == ["ACK103", "ACK603"]
    assert content["verdict"].startswith("BROKEN: TwiceBolt")
    assert content["run"]["entries"][0] == {
        "root": "-6722594615019711369",
        "value": "3",
        "task": None,
        "failed": False,
        "age_ms": 0,
        "verdict": "complete",
        "residue": "even",
        "culprits": [
            {"delivery": "7", "component": "sql", "task": 4, "value": "3", "acks": 2, "sites": [], "lost": ""}
        ],
        "ambiguous": True,
    }
    assert content["run"]["components"][1]["pending"] == 3
    assert "offences" in content["run"]["components"][1]


def test_repeated_events_are_one_line():
    moment = Moment(time_ns=0, what="ack 1", component="sql[4]", state="{66 {- 1}}")
    long = Timeline(subject="root 66", moments=(moment, moment, moment), verdict="v", law="l", more=2)
    stream = io.StringIO()
    timeline(long, stream, context())
    assert stream.getvalue().splitlines() == [
        "root 66",
        "",
        "  after       what   component  the acker holds",
        "  0.000000 s  ack 1  sql[4]     {66 {- 1}}       x 3",
        "  and 2 more rows",
        "",
        "verdict: v",
        "why: l",
    ]
