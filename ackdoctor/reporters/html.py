"""What `ackdoctor analyze` has to say, as one page of HTML: nothing is loaded, so it can be mailed and kept.

Everything that came out of an input is escaped; shapes are inline SVG and plain boxes, text stays text.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.model.finding import Finding, PathWitness, Report
from ackdoctor.model.source import NOWHERE
from ackdoctor.reporters.analysis import about, asides, books, forecast, named, tells, verdict
from ackdoctor.reporters.figures import span
from ackdoctor.reporters.footer import counted
from ackdoctor.reporters.html_charts import bars, curve, dots, escaped, timeline
from ackdoctor.reporters.run import worst_first
from ackdoctor.spark.tables import Analysis

__all__ = ["page"]

_MOST_FINDINGS = 50
_OPEN_FINDINGS = 5  # the curve should be seen without much scrolling
_MOST_LEFT = 6
_MOST_ROWS = 100  # of components, and of latencies
_FEWEST_POINTS = 3
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(report: Report, analysis: Analysis, stream: TextIO) -> None:
    """The whole page; a function of what it is given, without a clock."""
    here = Path(__file__)
    style = here.with_name("html_page.css").read_text(encoding="utf-8")
    script = here.with_name("html_page.js").read_text(encoding="utf-8")
    sections = (
        _head(report, analysis),
        _section("What is wrong", _findings(report.findings)),
        _section(f"{'Pending roots' if analysis.ackers else 'Open deliveries'} over time", _growth(analysis)),
        _section("Completions per delivery", _completions(analysis)),
        _section("Latency", _latency(analysis)),
        _section("What became of the roots", _trees(analysis)),
        _section("Roots to look at", _roots(analysis)),
        _section("Ackers", _ackers(analysis)),
        _section("What was read", _inputs(report, analysis)),
    )
    stream.write(
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(verdict(report, analysis).partition(':')[0])}: ackdoctor analyze</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n{''.join(sections)}"
        f"<footer>ackdoctor {escaped(__version__)}</footer>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escaped(title)}</h2>\n{body}</section>\n" if body else ""


def _head(report: Report, analysis: Analysis) -> str:
    word, _, rest = verdict(report, analysis).partition(": ")
    lines = "".join(f"<p>{escaped(line)}</p>" for line in about(report, analysis))
    tiles = "".join(
        f'<div class="tile"><b>{value}</b><span>{label}</span></div>' for value, label in _tiles(analysis)
    )
    return (
        f'<h1>ackdoctor analyze</h1>\n<div class="verdict {word}"><strong>{word}</strong><p>{escaped(rest)}</p></div>\n'
        f'<div class="about">{lines}</div>\n<div class="tiles">{tiles}</div>\n'
    )


def _tiles(analysis: Analysis) -> Iterator[tuple[str, str]]:
    tally = analysis.tally
    deliveries = sum(row.delivered for row in analysis.completions)
    if analysis.roots:
        yield f"{analysis.roots:,}", "roots begun"
        yield f"{tally.completed:,}", "trees the acker completed"
        yield f"{tally.pending:,}", "entries pending at the end"
        yield f"{tally.high_water:,}", "pending at most"
    if deliveries:
        yield f"{deliveries:,}", "deliveries"
        yield f"{sum(row.never for row in analysis.completions):,}", "never completed"
        yield f"{sum(row.more for row in analysis.completions):,}", "completed more than once"


def _findings(findings: Sequence[Finding]) -> str:
    cards = [_finding(finding) for finding in worst_first(findings)[:_MOST_FINDINGS]]
    shown, folded = "".join(cards[:_OPEN_FINDINGS]), "".join(cards[_OPEN_FINDINGS:])
    if not folded:
        return shown
    rest = len(findings) - _OPEN_FINDINGS
    more = len(findings) - _MOST_FINDINGS
    beyond = (
        f'<p class="soft">and {more:,} more findings; --output-format json has all</p>\n' if more > 0 else ""
    )
    return f"{shown}<details><summary>{rest:,} more findings</summary>\n{folded}{beyond}</details>\n"


def _finding(finding: Finding) -> str:
    who = ".".join(filter(None, (finding.component, finding.handler)))
    site = finding.site
    place = f"{site.path}:{site.span.line}" if site.span != NOWHERE else site.path
    left = () if isinstance(finding.evidence, PathWitness) else finding.evidence.left[:_MOST_LEFT]
    items = "".join(
        f"<li>{escaped(line)}</li>" for line in (*left, *([f"help: {finding.help}"] if finding.help else []))
    )
    seen = finding.seen
    often = f'<span class="soft">seen {seen:,} times</span>' if seen > 1 else ""
    return (
        f'<article class="card finding {finding.severity.word}"><header>'
        f'<span class="chip {finding.severity.word}">{finding.severity.word}</span>'
        f"<b>{escaped(finding.code)} {escaped(finding.name)}</b><code>{escaped(place)}</code>"
        f'<span class="soft">{escaped(who)}</span>{often}</header>'
        f"<p>{escaped(finding.message)}</p><ul>{items}</ul></article>\n"
    )


def _growth(analysis: Analysis) -> str:
    points = analysis.tally.growth
    if len(points) < _FEWEST_POINTS:
        return ""
    said = forecast(analysis)
    note = f'<p class="soft">{escaped(said)}</p>' if said else ""
    return f'<div class="card">{curve(points, analysis.forecast)}{note}</div>\n'


def _completions(analysis: Analysis) -> str:
    rows = analysis.completions[:_MOST_ROWS]
    if not rows:
        return ""
    shown = [
        (_who(row.component, row.stream), (row.once, row.never, row.more), f"{row.delivered:,}")
        for row in rows
    ]
    chart = bars(
        shown,
        (("once", "completed once"), ("never", "never completed"), ("more", "completed more than once")),
    )
    heads = ("component", "stream", "delivered", "0x", "1x", "2x+", "acked", "failed", "oldest open")
    cells = (
        (
            row.component,
            row.stream,
            *(f"{n:,}" for n in (row.delivered, row.never, row.once, row.more, row.acked, row.failed)),
            span(row.oldest_ms / 1000) if row.never else "",
        )
        for row in rows
    )
    return f'<div class="card">{chart}</div>\n<div class="card">{_table(heads, cells, numbers=range(2, 9))}{_beyond(len(analysis.completions))}</div>\n'


def _latency(analysis: Analysis) -> str:
    rows = [
        (
            f"{row.spout}, complete",
            (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms),
            counted(row.roots, "root"),
        )
        for row in analysis.latencies
    ]
    rows += [
        (
            f"{_who(row.component, row.stream)}, process",
            (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms),
            counted(row.delivered - row.never, "tuple"),
        )
        for row in analysis.completions
        if row.delivered > row.never
    ]
    if not rows:
        return ""
    beyond = _beyond(len(rows))
    rows = rows[:_MOST_ROWS]
    heads = ("what", "of", "p50", "p90", "p99", "slowest")
    cells = ((name, of, *(span(ms / 1000) for ms in times)) for name, times, of in rows)
    chart = (
        f'<div class="card">{dots(rows)}</div>\n' if any(ms for _, times, _ in rows for ms in times) else ""
    )
    return f'{chart}<div class="card">{_table(heads, cells, numbers=range(1, 6))}{beyond}</div>\n'


def _beyond(count: int) -> str:
    more = count - _MOST_ROWS
    return f'<p class="soft">and {more:,} more; --output-format json has all</p>\n' if more > 0 else ""


def _trees(analysis: Analysis) -> str:
    cells = ((f"{row.roots:,}", row.verdict, f"{row.left:,}", tells(row)) for row in analysis.trees)
    lines = "".join(f"<p>{escaped(line)}</p>" for line in asides(analysis))
    heads = ("roots", "ended", "entries still kept", "what is left tells")
    tables = f'<div class="card">{_table(heads, cells, numbers=(0, 2))}</div>\n' if analysis.trees else ""
    return tables + (f'<div class="card">{lines}</div>\n' if lines else "")


def _roots(analysis: Analysis) -> str:
    if not analysis.lives:
        return ""
    rows, lives = [], []
    for number, life in enumerate(analysis.lives):
        tree, entry = life.tree, life.tree.entry
        value = "" if entry is None or entry.value is None else str(entry.value)
        kept = "" if entry is None else "orphan" if entry.task is None else "tracked"
        age = span(entry.age_ms / 1000) if entry is not None else ""
        rows.append(
            f'<tr data-life="life-{number}"><td><button class="mono" type="button" aria-controls="life-{number}">'
            f"{tree.root}</button></td><td>{escaped(tree.verdict.value)}</td><td>{kept}</td>"
            f'<td class="mono">{value}</td><td class="n">{age}</td><td>{escaped(named(tree))}</td></tr>\n'
        )
        hidden = " hidden" if number else ""
        lives.append(f'<div class="card life" id="life-{number}"{hidden}>{timeline(life)}</div>\n')
    names = ("root", "ended", "entry", "value left", "age", "who")
    heads = "".join(f'<th class="n">{head}</th>' if head == "age" else f"<th>{head}</th>" for head in names)
    return (
        f'<div class="card scroll"><table class="roots"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{''.join(rows)}</tbody></table></div>\n{''.join(lives)}"
    )


def _ackers(analysis: Analysis) -> str:
    if not analysis.ackers:
        return ""
    roots = sum(row.roots for row in analysis.ackers) or 1
    cells = (
        (
            row.run,
            str(row.acker),
            f"{row.roots:,}",
            f"{row.roots / roots:.0%}",
            *(f"{n:,}" for n in (row.messages, row.high_water, row.pending)),
        )
        for row in analysis.ackers
    )
    heads = ("run", "acker", "roots", "share", "messages", "pending at most", "left")
    return f'<div class="card">{_table(heads, cells, numbers=range(1, 7))}</div>\n'


def _inputs(report: Report, analysis: Analysis) -> str:
    lines = f"<p>{escaped(books(analysis))}</p>"
    lines += "".join(
        f"<p><code>{escaped(fault.path)}</code>: {escaped(fault.reason)}</p>" for fault in report.unreadable
    )
    cells = ((f"{row.rows:,}", row.file, row.reason, row.sample) for row in analysis.quarantine)
    kept = (
        _table(("rows", "file", "reason", "one of them"), cells, numbers=(0,)) if analysis.quarantine else ""
    )
    return f'<div class="card">{lines}{kept}</div>\n'


def _who(component: str, stream: str) -> str:
    return f"{component} ({stream})" if stream not in {"", "default"} else component


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()) -> str:
    right = set(numbers)
    mark = [' class="n"' if n in right else "" for n in range(len(heads))]
    head = "".join(f"<th{mark[n]}>{escaped(text)}</th>" for n, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{mark[n]}>{escaped(cell)}</td>" for n, cell in enumerate(row)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n'
