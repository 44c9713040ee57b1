"""What all HTML pages share: the template's environment, the head, the box "Do this", tables and the glossary.

A page is one file that loads nothing and runs no script, so that it can be mailed and kept.  The templates escape every value.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ackdoctor import __version__
from ackdoctor.model import RulebookError
from ackdoctor.model.finding import Confidence, Finding, PathWitness, Unreadable
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.reporters import printable
from ackdoctor.reporters.tables import span
from ackdoctor.reporters.terminal import finding_place
from ackdoctor.rulebook import PENDING_GROWTH, RULE_URL, read_page_text, rule_name

MAX_ROWS = 100  # of a table, or of a list
_MAX_INPUTS = 5
_MAX_STEPS = 7  # of the box: a list that is read
_LONG_WORD = re.compile(r"(\S{200})\S{40,}(\S{60})")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")


class Step(NamedTuple):
    """An item of the box "Do this": what to do and where, and why.

    `sure` is false if the fault needs a condition that the reader must check.  `target` is the id of the evidence on the page.
    """

    action: str
    place: str = ""
    why: str = ""
    code: str = ""
    sure: bool = True
    target: str = ""
    command: str = ""


class Table(NamedTuple):
    """A table, without columns that are empty; each head has whether its column is of numbers.  `more` rows are left out."""

    caption: str
    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]
    more: int


def table(
    caption: str, rows: Sequence[Mapping[str, str]], *, numbers: Collection[str] = (), total: int = 0
) -> Table:
    """Return the first rows as a table; `total` is the number of rows if these are not all."""
    shown = rows[:MAX_ROWS]
    heads = [head for head in (shown[0] if shown else ()) if any(row[head] for row in shown)]
    return Table(
        caption,
        tuple((head, head in numbers) for head in heads),
        tuple(tuple(row[head] for head in heads) for row in shown),
        max(total, len(rows)) - len(shown),
    )


class Piece(NamedTuple):
    """A part of a text: plain, between back quotes, or a word with its meaning and the id of its explanation."""

    text: str
    code: bool = False
    key: str = ""
    meaning: str = ""


class Words:
    """The words of the glossary that a page uses, by the ids of their explanations."""

    def __init__(self) -> None:
        self.used: dict[str, tuple[str, str]] = {}

    def labels(self, text: str) -> Iterator[Piece]:
        """Yield the parts of a text; each use of a word is explained."""
        at = 0
        for match in _pattern().finditer(text):
            if at < match.start():
                yield Piece(text[at : match.start()])
            yield Piece(match[0].strip("`"), code=True) if match[0].startswith("`") else self._word(match[0])
            at = match.end()
        if at < len(text):
            yield Piece(text[at:])

    def prose(self, text: str) -> Iterator[Piece]:
        """Yield the parts of a text; only the first use of a word on the page is explained."""
        known = set(self.used)
        for piece in self.labels(text):
            yield Piece(piece.text) if piece.key in known else piece
            known.add(piece.key or "-")

    def _word(self, form: str) -> Piece:
        word = _forms()[form.lower()]
        key = f"word-{word.replace(' ', '-')}"
        self.used[key] = (word, glossary()[word])
        return Piece(form, key=key, meaning=glossary()[word])


@cache
def _forms() -> Mapping[str, str]:
    """Return the word of the glossary behind each form of it, in small letters."""
    return {form.lower(): word for word in glossary() for form in (word, _plural(word))}


@cache
def _pattern() -> re.Pattern[str]:
    forms = sorted(_forms(), key=len, reverse=True)
    return re.compile(
        rf"`[^`]+`|(?<![\w./-])(?:{'|'.join(map(re.escape, forms))})(?![\w(/-]|\.\w)", re.IGNORECASE
    )


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def write(
    template: str,
    stream: TextIO,
    *,
    command: str,
    inputs: Sequence[str],
    made: datetime,
    about: Sequence[tuple[str, str]],
    steps: Sequence[Step],
    then: Sequence[Step] = (),
    nothing: str,
    unreadable: Sequence[Unreadable],
    **parts: object,
) -> None:
    """Render a page; `about` are the rows of its head besides the inputs and the time when it was made.

    `steps` repair what is wrong, `then` are those that are never cut: they tell what the page cannot know.
    `nothing` is the sentence in place of the steps if there are none, '' if it would be untrue.
    """
    if unreadable:
        first = unreadable[0]
        again = "make the input readable and run the command again"
        then = [Step(again, first.path, first.reason, target="unreadable"), *then]
    room = max(0, _MAX_STEPS - len(then))
    names = [_CREDENTIALS.sub("", name) for name in inputs]
    head = [
        ("inputs", _list(names[:_MAX_INPUTS], len(names))),
        *about,
        ("made", f"{made:%Y-%m-%d %H:%M:%S %Z} by ackdoctor {__version__}"),
    ]
    stream.writelines(
        _environment()
        .get_template(template)
        .generate(
            command=command,
            subject=_list(names[:1], len(names)),
            head=head,
            steps=[*steps[:room], *then],
            nothing=nothing,
            more_steps=len(steps[room:]),
            unreadable=unreadable[:MAX_ROWS],
            more_unreadable=len(unreadable[MAX_ROWS:]),
            words=Words(),
            **parts,
        )
    )


def _list(names: Sequence[str], total: int) -> str:
    more = total - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


@cache
def _environment() -> Environment:
    """Return what renders our templates: every value is escaped, a missing one is an error."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters.update(
        thousands="{:,}".format,
        percent="{:.2%}".format,
        ms=lambda ms: span(ms / 1000),
        rule_url=lambda code: RULE_URL.format(code=code, name=rule_name(code)),
        rule_name=rule_name,
    )
    return made


def _visible(value: object) -> object:
    """Replace what turns the direction of reading, and the middle of endless words, in text from an input."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _LONG_WORD.sub(r"\1 … \2", printable(value))


# ---- the glossary ----

# docs/glossary.md is the one source; a wheel holds a copy of it.  A row with several words and as many meanings between
# semicolons explains each word by its own meaning.
_SECTIONS = ("Storm", "Reports")  # the words of the other sections have a plain meaning as well
_ROW = re.compile(r"^\| (?!word |---)(?P<words>[^|]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


@cache
def glossary() -> Mapping[str, str]:
    """Return the meaning of each word that reports explain."""
    text = read_page_text(_locate())
    sections = dict(part.partition("\n")[::2] for part in text.split("\n## ")[1:])
    return {word: meaning for name in _SECTIONS for word, meaning in _rows(sections.get(name, ""))}


def _rows(section: str) -> Iterator[tuple[str, str]]:
    for row in _ROW.finditer(section):
        words, meanings = row["words"].split(", "), row["meaning"].split("; ")
        if len(words) != len(meanings):
            meanings = [row["meaning"]] * len(words)
        yield from zip(words, meanings, strict=True)


def _locate() -> Path:
    """Return the page: inside an installed package, under docs/ in a source checkout."""
    package = Path(__file__).parent.parent
    for file in (package / "glossary.md", package.parent / "docs" / "glossary.md"):
        if file.is_file():
            return file
    raise RulebookError(f"{package.as_posix()}: the glossary is missing; reinstall ackdoctor")


# ---- findings ----


MAX_CARDS = 50
_MAX_LEFT = 6  # lines about what a finding left behind


def repairs(worst: Sequence[Finding]) -> list[Step]:
    """Return what to do about the findings, in their order."""
    codes = {finding.code for finding in worst}
    shown_elsewhere = {PENDING_GROWTH} if len(codes) > 1 else set()  # its help names the other findings
    steps: dict[tuple[str, str], Step] = {}
    for number, finding in enumerate(worst):
        if finding.code in shown_elsewhere or finding.repaired_by in codes - {finding.code}:
            continue
        place = finding_place(finding)
        who = ".".join(filter(None, (finding.component, finding.handler)))
        step = Step(
            action=finding.help or f"read what {finding.code} means",
            place=place if place != finding.site.path else who or place,
            why=finding.message,
            code=finding.code,
            sure=finding.confidence is Confidence.MUST,
            target=f"finding-{number}" if number < MAX_CARDS else "",
        )
        steps.setdefault((step.action, step.place), step)
    return list(steps.values())


def cards(worst: Sequence[Finding]) -> list[dict[str, object]]:
    """Return the cards of the first findings; the macro `card` of the base template shows one."""
    return [_card(finding, number) for number, finding in enumerate(worst[:MAX_CARDS])]


def _card(finding: Finding, number: int) -> dict[str, object]:
    left = () if isinstance(finding.evidence, PathWitness) else finding.evidence.left[:_MAX_LEFT]
    return {
        "id": f"finding-{number}",
        "severity": finding.severity.word,
        "code": finding.code,
        "sure": finding.confidence is Confidence.MUST,
        "place": finding_place(finding),
        "who": ".".join(filter(None, (finding.component, finding.handler))),
        "seen": finding.seen,
        "message": finding.message,
        "items": left,
        "help": finding.help,
    }


# ---- the curve of the pending map ----


_MIN_POINTS = 3
_WIDTH, _HEIGHT = 1000, 100  # of the curve's box
_TIME_LABELS = 5
_TOPS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 60, 80, 100)  # of a value axis with four lines


def growth_curve(
    points: Sequence[GrowthPoint], *, zone: str = "", per_second: float | None = None
) -> dict[str, object] | None:
    """Return the paths, ticks and labels of the curve; None for too few points.

    `zone` names the clock of the times, '' for a virtual clock, which begins at the first point.  With `per_second`, a
    straight line of this slope is drawn through the mean.
    """
    if len(points) < _MIN_POINTS:
        return None
    begin, end = points[0].time_ms, points[-1].time_ms
    length = max(1, end - begin)
    top = _axis_top(max(1, *(point.pending for point in points)))
    xs = [(point.time_ms - begin) / length * _WIDTH for point in points]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(xs)), float(_WIDTH)]
    orphans = [point.orphans for point in points]
    ticks = [top * share / 4 for share in (4, 3, 2, 1, 0)]
    times = [_clock(point.time_ms, begin, end, zone) for point in points]
    numbers = [
        {
            "time": time,
            "pending": f"{point.pending:,}",
            "orphans": f"{point.orphans:,}",
            "begun": f"{point.started:,}",
        }
        for time, point in zip(times, points, strict=True)
    ]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "zone": zone,
        "first": points[0].pending,
        "last": points[-1].pending,
        "peak": max(point.pending for point in points),
        "pending": _steps(xs, [point.pending for point in points], top),
        "orphans": _steps(xs, orphans, top) if any(orphans) else "",
        "trend": None if per_second is None else _trend(points, per_second, top),
        "ticks": [f"{tick:,.0f}" if tick == int(tick) else f"{tick:,.1f}" for tick in ticks],
        "times": [
            _clock(begin + length * n / (_TIME_LABELS - 1), begin, end, zone) for n in range(_TIME_LABELS)
        ],
        "slots": [
            (left, right - left, time, point)
            for point, time, left, right in zip(points, times, edges, edges[1:], strict=False)
        ],
        "table": table("The numbers of the curve", numbers, numbers={"pending", "orphans", "begun"}),
    }


def _clock(ms: float, begin: float, end: float, zone: str) -> str:
    """`20:22:07`, with the day if the curve spans several; `28.0 s` after the begin for a virtual clock."""
    if not zone:
        return span((ms - begin) / 1000)
    first, last, time = (datetime.fromtimestamp(at / 1000, timezone.utc) for at in (begin, end, ms))
    return f"{time:%H:%M:%S}" if first.date() == last.date() else f"{time:%m-%d %H:%M}"


def _steps(xs: Sequence[float], sizes: Sequence[int], top: int) -> str:
    """Return the SVG path of a step curve."""
    steps = [f"M{xs[0]:.1f},{_y(sizes[0], top):.2f}"]
    steps += [f"H{x:.1f}V{_y(size, top):.2f}" for x, size in zip(xs[1:], sizes[1:], strict=True)]
    return "".join(steps)


def _trend(points: Sequence[GrowthPoint], per_second: float, top: int) -> tuple[float, float]:
    """Return the heights at which the line begins and ends."""
    mean_s = sum(point.time_ms for point in points) / len(points) / 1000
    mean = sum(point.pending for point in points) / len(points)
    first, last = (mean + per_second * (point.time_ms / 1000 - mean_s) for point in (points[0], points[-1]))
    return _y(min(max(first, 0), top), top), _y(min(max(last, 0), top), top)


def _y(size: float, top: int) -> float:
    return _HEIGHT - size / top * _HEIGHT


def _axis_top(size: int) -> int:
    """Return the next number that four grid lines divide well."""
    tenth: int = 10 ** max(0, len(str(size)) - 2)
    return next(top for n in _TOPS if (top := n * tenth) >= size)
