"""Each help text with a component before and after the fix: the fixed component has no finding and no unnamed cost."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from ackdoctor.model.finding import Finding, Severity
from tests.advice.component_runs import Cost, run_components
from tests.rule_cases import FIXES, cases_by_code, findings_of
from tests.rule_pages import Case, CaseFile, load_metadata
from tests.sampled import sampled

pytestmark = pytest.mark.filterwarnings("ignore")  # threads that raise

FOLDER = Path(__file__).parents[1] / "rules"
_PAIR = re.compile(
    r"^```(?P<language>\w+) (?P<dialect>\w+)\n(?P<before>.*?)^```\n+"
    r"^> (?P<help>.*?)\n+"
    r"^```(?P=language) (?P=dialect)\n(?P<after>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_NAMES = {"python": "case.py", "java": "Case.java"}
_ENDS = "ends the worker"
QUICK = ("ACK105", "ACK106")


_WINDOW = "derive from `_`, keep the window yourself, anchor each emit and complete each tuple by hand, once on every path"
UNPROVED = {  # Java's windows: a hand-written window is long
    ("ACK105", _WINDOW),
    ("ACK107", f"{_WINDOW}: keep tuple and future together and complete them at a later tick; or wait first"),
    (
        "ACK108",
        f"do the work in the handler; or {_WINDOW}, put the result into a queue, and emit and ack at a later tick",
    ),
    ("ACK202", "leave the anchor out: Storm acks `_` by itself"),
}


class Pair(NamedTuple):
    code: str
    language: str
    dialect: str
    before: str
    help: str
    after: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.code}-{self.dialect}-{self.number}"


def _pairs() -> list[Pair]:
    found: list[Pair] = []
    for page in sorted(FOLDER.glob(f"ACK*/{FIXES}")):
        code, text = page.parent.name, page.read_text(encoding="utf-8")
        for number, match in enumerate(_PAIR.finditer(text), start=1):
            found.append(Pair(code, number=number, **match.groupdict()))
        assert text.count("\n> ") == len([pair for pair in found if pair.code == code]), page
    return found


PAIRS = _pairs()
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=[pair.name for pair in PAIRS])


def _findings(pair: Pair, text: str) -> list[Finding]:
    name = _NAMES[pair.language]
    case = Case(
        code=pair.code,
        section="",
        name=pair.name,
        language=pair.language,
        dialect=pair.dialect,
        files=(CaseFile(name, text, 1),),
        expected=(),
    )
    return findings_of(case)


@each_pair
def test_lint_gives_the_help_before_the_fix_and_reports_nothing_after(pair: Pair) -> None:
    before = [(found.code, found.help) for found in _findings(pair, pair.before)]
    assert (pair.code, pair.help) in before
    after = [
        f"{f.site.span.line}: {f.code} {f.message}"
        for f in _findings(pair, pair.after)
        if f.severity > Severity.INFO
    ]
    assert after == []


@pytest.mark.parametrize(
    "pair", [pair for pair in PAIRS if pair.language == "python"], ids=lambda pair: pair.name
)
def test_a_fix_has_no_cost_that_its_help_does_not_name(pair: Pair, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_components(pair.dialect, {"case.py": pair.after}, tmp_path)
    assert (result.reason, result.late) == ("", False)
    assert result.classes
    costs = dict(result.costs)
    if _ENDS in pair.help:
        costs.pop(Cost.EXITS, None)
    assert costs == {}


@pytest.mark.parametrize(
    "code",
    sampled(sorted({pair.code for pair in PAIRS}), QUICK),
)
def test_every_help_text_of_a_page_has_a_pair(code) -> None:
    helps = {
        (found.code, _plain(found.help)) for case in cases_by_code()[code] for found in findings_of(case)
    }
    assert helps - _proved() - UNPROVED == set()


def test_no_help_with_a_pair_is_listed_as_unproved() -> None:
    assert UNPROVED & _proved() == set()


def _proved() -> set[tuple[str, str]]:
    return {(pair.code, _plain(pair.help)) for pair in PAIRS}


def _plain(text: str) -> str:
    """Return a help text without the names in it."""
    text = re.sub(r"`[^`]*`", "`_`", text)
    text = re.sub(r"(a tuple of )?`_`", "`_`", text)
    return re.sub(r"line \d+( of \S+\w)?", "line N", text)


def test_every_rule_with_help_has_a_pair() -> None:
    with_help = {code for code, page in load_metadata().items() if "path" in page.evidence} - {"ACK901"}
    assert {pair.code for pair in PAIRS} == with_help
    run = Counter(pair.dialect for pair in PAIRS)
    assert len(PAIRS) >= 100
    assert set(run) >= {"streamparse", "pystorm", "storm_py", "petrel", "pyleus", "heronpy", "storm_java"}
