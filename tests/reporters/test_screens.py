"""The output for people and scripts, character by character.  `pytest --golden` rewrites the files."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from ackdoctor.model.finding import PathWitness, Report, Severity, Unreadable
from ackdoctor.reporters import ASCII, COLOURED, Context, reporter
from ackdoctor.rulebook import Rule
from tests.reporters.samples import DOUBLE, IDLE, MISSING, REPORT, RUN, context, site, step

GOLDEN = Path(__file__).parent / "golden"
PAGE = (
    Rule(
        code="ACK101",
        name="missing-ack",
        summary="A path leaves the tuple neither acked nor failed.",
        severity=Severity.ERROR,
        default=True,
        evidence=("path",),
        path=Path(),
    ),
    "# missing-ack (ACK101)\n",
)


def rendered(form: str, report: Report = REPORT, with_context: Context | None = None) -> str:
    stream = io.StringIO()
    reporter(form)(report, stream, with_context or context())
    return stream.getvalue()


def check_golden(request: pytest.FixtureRequest, file: str, text: str) -> None:
    golden = GOLDEN / file
    if request.config.getoption("--golden"):
        golden.write_text(text, encoding="utf-8", newline="")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "form", "with_context"),
    [
        ("full.txt", "full", context()),
        ("full-ascii.txt", "full", replace(context(), glyphs=ASCII)),
        ("full-coloured.txt", "full", replace(context(), palette=COLOURED)),
        ("concise.txt", "concise", context()),
        ("statistics.txt", "statistics", context()),
        ("statistics.json", "statistics-json", context()),
        ("findings.json", "json", context()),
        ("findings.jsonl", "json-lines", context()),
        ("findings.sarif", "sarif", replace(context(), pages=lambda: [PAGE])),
        ("github.txt", "github", context()),
        ("files.txt", "files", context()),
        ("summary.txt", "summary", context()),
    ],
)
def test_a_report_looks_as_recorded(request, file, form, with_context):
    check_golden(request, file, rendered(form, with_context=with_context))


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("run-full.txt", "full"),
        ("run-concise.txt", "concise"),
        ("run.json", "json"),
        ("run.jsonl", "json-lines"),
        ("run.sarif", "sarif"),
        ("run-github.txt", "github"),
    ],
)
def test_a_report_of_a_run_looks_as_recorded(request, file, form):
    check_golden(request, file, rendered(form, RUN))


def test_nothing_found_says_so():
    report = Report(files=("a.py",), components=2)
    assert rendered("full", report) == ""
    assert rendered("summary", report) == "no findings in 1 file, 2 components\n"


def test_the_path_is_shown_in_its_own_order():
    back = replace(
        MISSING,
        evidence=PathWitness(
            steps=(
                step(site("bolts/enrich.py", 12, 1, 2), "first", "owed"),
                step(site("bolts/enrich.py", 9, 1, 2), "then"),
                step(site("bolts/enrich.py", 12, 1, 2), "again", "owed"),
            )
        ),
    )
    assert rendered("full", Report(findings=(back,))).splitlines()[1:-2] == [
        "      |                                   tuple",
        "   12 |         return           ╭ first  owed",
        "    9 | def process(self, tup):  ├ then",
        "   12 |         return           ╰ again  owed",
        "      |         ^^^^^^",
    ]


def test_a_long_path_is_folded_in_the_middle():
    steps = tuple(step(site("bolts/enrich.py", 11, 1, 2), f"turn {n}") for n in range(40))
    long = replace(MISSING, evidence=PathWitness(steps=(*steps, MISSING.evidence.steps[-1])))
    lines = rendered("full", Report(findings=(long,))).splitlines()
    assert len(lines) == 30
    assert lines[13:16] == [
        "      |              ├ turn 11",
        "      |              ⋮ 17 steps",
        "      |              ├ turn 29",
    ]


def test_a_finding_outside_its_path_shows_its_line_first():
    elsewhere = replace(DOUBLE, site=site("bolts/enrich.py", 7, 5, 13))
    assert rendered("full", Report(findings=(elsewhere,))).splitlines()[2:4] == [
        "    7 | auto_ack = False",
        "      | ^^^^^^^^",
    ]


def test_a_source_line_that_is_too_long_takes_several_rows():
    long = context()
    long.sources.in_memory = {"bolts/enrich.py": b"x = " + b"y" * 200}
    finding = replace(IDLE, site=site("bolts/enrich.py", 1, 1, 204))
    assert rendered("full", Report(findings=(finding,)), long).splitlines()[1:5] == [
        "    1 | x = " + "y" * 128,
        "      | " + "^" * 132,
        "      |     " + "y" * 72,
        "      |     " + "^" * 71,
    ]


def test_notes_stand_below_the_source_on_a_narrow_screen():
    narrow = replace(context(), width=40, wraps=True)
    assert rendered("full", Report(findings=(MISSING,)), narrow).splitlines() == [
        "bolts/enrich.py:12:13",
        "  error ACK101 missing-ack",
        "  `tup` leaves EnrichBolt.process",
        "  neither acked nor failed",
        "      |             tuple",
        "    9 | def process(self, tup):",
        "      | ╭ received  owed",
        "   11 |     if not row:",
        "      | ├ true",
        "   12 |         return",
        "      |         ^^^^^^",
        "      | ╰ returns   owed",
        "      = help: ack or fail `tup` before",
        "        this return",
        "      = help: ackdoctor explain ACK101",
        "",
    ]


def test_a_source_that_is_too_short_is_named():
    older = context()
    older.sources.in_memory = {"bolts/enrich.py": b"from streamparse import Bolt\n"}
    lines = rendered("full", Report(findings=(MISSING,)), older).splitlines()
    assert lines[2] == "      | --> bolts/enrich.py: has no line 9 here"


def test_a_rule_is_explained_once():
    lines = rendered("full", Report(findings=(DOUBLE, MISSING, DOUBLE))).splitlines()
    assert [line.rpartition(" ")[2] for line in lines if "ackdoctor explain" in line] == ["ACK103", "ACK101"]


def test_the_path_is_shown_without_its_source():
    gone = context()
    gone.sources.in_memory = {}
    assert rendered("full", Report(findings=(MISSING,)), gone).splitlines()[2:6] == [
        "      | --> bolts/enrich.py: no source here",
        "    9 |   ╭ received  owed",
        "   11 |   ├ true",
        "   12 |   ╰ returns   owed",
    ]


@pytest.mark.parametrize("form", ["full", "concise", "github"])
def test_a_source_cannot_steer_the_terminal(form):
    evil = context()
    evil.sources.in_memory = {"bolts/enrich.py": b"x = '\x1b[2J\x07'\n" * 20}
    finding = replace(MISSING, message="a\x1b]0;b\nc", site=site("bolts/\x1benrich.py", 1, 1, 2))
    assert "\x1b" not in rendered(form, Report(findings=(finding,)), evil)


def test_github_annotates_ten_of_a_kind_and_prints_the_rest():
    many = tuple(replace(DOUBLE, site=site("a.py", n, 1, 2)) for n in range(1, 13))
    lines = rendered("github", Report(findings=(*many, MISSING))).splitlines()
    assert lines[0].startswith("::error file=bolts/enrich.py,line=12,")
    assert [line.partition(" ")[0] for line in lines[1:11]] == ["::warning"] * 10
    assert lines[11:] == [
        "and 2 more findings that GitHub does not show beside the code:",
        "a.py:11:1: ACK103 double-ack (may) `tup` is acked twice",
        "a.py:12:1: ACK103 double-ack (may) `tup` is acked twice",
    ]


@pytest.mark.parametrize(("errors", "unread"), [(0, 10), (3, 7), (20, 5)])
def test_github_has_room_for_findings_beside_what_could_not_be_read(errors, unread):
    torn = tuple(Unreadable(path=f"{n:02}.py", line=1, column=1, reason="torn") for n in range(12))
    lines = rendered("github", Report(findings=(MISSING,) * errors, unreadable=torn)).splitlines()
    annotations = [line for line in lines if line.startswith("::error ")]
    assert [line.partition("file=")[2][:5] for line in annotations[:unread]] == [
        item.path for item in torn[:unread]
    ]
    assert all(MISSING.code in line for line in annotations[unread:])
    assert len(annotations) == 10


def test_github_commands_are_escaped():
    odd = replace(IDLE, site=site("a,b:c%.py", 1, 1, 2), message="50%\r\nmore: yes, it is", help="")
    assert rendered("github", Report(findings=(odd,))) == (
        "::warning file=a%2Cb%3Ac%25.py,line=1,col=1,endColumn=2,title=ACK901 unused-ignore"
        "::50%25%0Amore: yes, it is\n"
    )


def test_a_path_of_one_bare_place_has_no_note():
    bare = replace(MISSING, evidence=PathWitness(steps=(step(MISSING.site, ""),)))
    lines = rendered("full", Report(findings=(bare,))).splitlines()
    assert "   12 | return" in lines
    assert not any("╶" in line for line in lines)
