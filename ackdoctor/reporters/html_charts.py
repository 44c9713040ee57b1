"""The page's charts: shapes are SVG or boxes in per cent, so that they fit any width while the text keeps its size."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import log10

from ackdoctor.model.tally import GrowthPoint
from ackdoctor.reporters.context import printable
from ackdoctor.reporters.figures import span
from ackdoctor.spark.tables import Forecast, Life, LifeRow

__all__ = ["bars", "curve", "dots", "escaped", "timeline"]

_WIDE, _HIGH = 1000, 100  # of the curve's box
_LABELS = 6  # on a time axis
_TOPS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 60, 80, 100)  # of a value axis with four lines
_FLAT = 0.9  # R2 below which a trend is not drawn
_KINDS = {
    "init": "k-init",
    "ack": "k-ack",
    "fail": "k-fail",
    "received": "k-link",
    "emitted": "k-link",
    "spout hears ack": "k-heard",
    "spout hears fail": "k-lost",
    "spout times out": "k-lost",
}
_LEGEND = (
    ("k-link", "emitted, received"),
    ("k-init", "init"),
    ("k-ack", "ack"),
    ("k-fail", "fail"),
    ("k-heard", "spout hears ack"),
    ("k-lost", "spout hears fail, or times out"),
)


def escaped(text: str) -> str:
    """What an input says, as text of a page: a name must neither be markup nor turn the direction of reading."""
    return escape(printable(text))


def curve(points: Sequence[GrowthPoint], trend: Forecast | None) -> str:
    """Pending roots over time, the orphans among them, and the straight line if there is one."""
    begin, end = points[0].time_ms, points[-1].time_ms
    across = max(1, end - begin)
    top = _rounded(max(1, *(point.pending for point in points)))
    xs = [(point.time_ms - begin) / across * _WIDE for point in points]

    def path(sizes: Sequence[int]) -> str:
        steps = [f"M{xs[0]:.1f},{_y(sizes[0], top):.2f}"]
        steps += [f"H{x:.1f}V{_y(size, top):.2f}" for x, size in zip(xs[1:], sizes[1:], strict=True)]
        return "".join(steps)

    pending = path([point.pending for point in points])
    orphans = [point.orphans for point in points]
    dashed = f'<path class="orphans" d="{path(orphans)}"/>' if any(orphans) else ""
    grid = "".join(
        f'<line class="grid" x1="0" x2="{_WIDE}" y1="{y}" y2="{y}"/>' for y in (0, 25, 50, 75, 100)
    )
    ticks = "".join(f"<span>{_count(top * share / 4)}</span>" for share in (4, 3, 2, 1, 0))
    times = "".join(f"<span>{span(across * n / (_LABELS - 1) / 1000)}</span>" for n in range(_LABELS))
    legend = '<span><i style="background:var(--blue)"></i>pending</span>'
    legend += (
        '<span><i class="rule" style="color:var(--violet)"></i>orphans among them</span>' if dashed else ""
    )
    line = _trend(points, trend, top)
    legend += '<span><i class="rule" style="color:var(--bad)"></i>straight line</span>' if line else ""
    return (
        f'<div class="legend">{legend}</div><div class="chart"><div class="y">{ticks}</div>'
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" preserveAspectRatio="none" role="img" aria-label="pending roots over time">'
        f'{grid}<path class="area" d="{pending}V{_HIGH}H0Z"/><path class="curve" d="{pending}"/>{dashed}{line}'
        f'{_slots(points, xs)}</svg><div class="x">{times}</div></div>'
    )


def _trend(points: Sequence[GrowthPoint], trend: Forecast | None, top: int) -> str:
    if trend is None or trend.fit < _FLAT:
        return ""
    mean_s = sum(point.time_ms for point in points) / len(points) / 1000
    mean = sum(point.pending for point in points) / len(points)
    ends = [mean + trend.per_second * (point.time_ms / 1000 - mean_s) for point in (points[0], points[-1])]
    low, high = (_y(min(max(size, 0), top), top) for size in ends)
    return f'<line class="trend" x1="0" x2="{_WIDE}" y1="{low:.2f}" y2="{high:.2f}"/>'


def _slots(points: Sequence[GrowthPoint], xs: Sequence[float]) -> str:
    """What each window says when it is pointed at."""
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(xs)), float(_WIDE)]
    return "".join(
        f'<rect class="slot" x="{left:.1f}" width="{right - left:.1f}" y="0" height="{_HIGH}"><title>'
        f"{span((point.time_ms - points[0].time_ms) / 1000)}: {point.pending:,} pending, {point.orphans:,} orphans, "
        f"{point.started:,} begun</title></rect>"
        for point, left, right in zip(points, edges, edges[1:], strict=False)
    )


def _y(size: float, top: int) -> float:
    return _HIGH - size / top * _HIGH


def _rounded(size: int) -> int:
    """The next number that four lines divide well."""
    tenth = int(f"1{'0' * max(0, len(str(size)) - 2)}")
    return next(top for n in _TOPS if (top := n * tenth) >= size)


def _count(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def bars(rows: Sequence[tuple[str, tuple[int, ...], str]], parts: Sequence[tuple[str, str]]) -> str:
    """Stacked bars, each as long as the whole: shares of a name's deliveries."""
    legend = "".join(f'<span><i class="{css}"></i>{escaped(label)}</span>' for css, label in parts)
    lines = []
    for name, sizes, said in rows:
        total = sum(sizes) or 1
        boxes = "".join(
            f'<i class="{css}" style="width:{size / total:.2%}" title="{escaped(label)}: {size:,}"></i>'
            for size, (css, label) in zip(sizes, parts, strict=True)
            if size
        )
        lines.append(
            f'<span class="name">{escaped(name)}</span><div class="bar">{boxes}</div><span class="soft">{said}</span>'
        )
    return f'<div class="legend">{legend}</div><div class="bars">{"".join(lines)}</div>'


def dots(rows: Sequence[tuple[str, tuple[float, ...], str]]) -> str:
    """p50, p90, p99 and the slowest of each row on one logarithmic axis."""
    known = [ms for _, times, _ in rows for ms in times if ms > 0]
    low, high = log10(min(known)) - 0.1, log10(max(known)) + 0.1
    names = (("p50", "half are faster (p50)"), ("p90", "p90"), ("p99", "p99"), ("max", "slowest"))
    legend = "".join(f'<span><i class="{css}"></i>{label}</span>' for css, label in names)
    lines = []
    for name, times, said in rows:
        boxes = "".join(
            f'<i class="{css}" style="left:{_along(ms, low, high):.2%}" title="{css}: {span(ms / 1000)}"></i>'
            for ms, (css, _) in reversed(list(zip(times, names, strict=True)))
        )
        lines.append(
            f'<span class="name">{escaped(name)}</span><div class="dots">{boxes}</div><span class="soft">{escaped(said)}</span>'
        )
    ends = "".join(f"<span>{span(10 ** (low + (high - low) * n / 3) / 1000)}</span>" for n in range(4))
    return f'<div class="legend">{legend}</div><div class="bars">{"".join(lines)}<div class="axis">{ends}</div></div>'


def _along(ms: float, low: float, high: float) -> float:
    return 0.02 if ms <= 0 else 0.02 + 0.96 * (log10(ms) - low) / (high - low)


# ---- one root's life ----


def timeline(life: Life) -> str:
    """Lanes by who did it, a place for each thing that happened, in order; then the same as a table."""
    rows = life.rows
    lanes = list(dict.fromkeys((row.component, row.task) for row in rows))
    drawn = "".join(
        f'<span class="who">{escaped(component)}[{task}]</span><div class="lane">{_marks(rows, component, task)}</div>'
        for component, task in lanes
    )
    legend = "".join(f'<span><i class="{css}"></i>{label}</span>' for css, label in _LEGEND)
    more = f'<p class="soft">and {life.more:,} rows more</p>' if life.more else ""
    return (
        f'<h3>root <span class="mono">{life.tree.root}</span></h3><div class="legend">{legend}</div>'
        f'<div class="scroll"><div class="lanes">{drawn}<span></span><div class="times">{_times(rows)}</div></div></div>'
        f"{_rows(rows)}{more}"
    )


def _marks(rows: Sequence[LifeRow], component: str, task: int) -> str:
    seen: set[str] = set()
    marks = []
    for number, row in enumerate(rows):
        if (row.component, row.task) != (component, task):
            continue
        again = " k-again" if row.what == "ack" and row.delivery and row.delivery in seen else ""
        if row.what == "ack":
            seen.add(row.delivery)
        css = _KINDS.get(row.what, "k-link") + again
        said = escaped(f"{row.what}{', again' if again else ''} {_after(row, rows)} {row.site}".strip())
        marks.append(f'<i class="{css}" style="left:{_place(number, rows):.2%}" title="{said}"></i>')
    return "".join(marks)


def _times(rows: Sequence[LifeRow]) -> str:
    """When: where the time changes, and not closer than the labels are wide."""
    labels, last = [], -1.0
    for number, row in enumerate(rows):
        place = _place(number, rows)
        if (number and row.time_ms == rows[number - 1].time_ms) or place - last < 1 / 9:
            continue
        labels.append(f'<span style="left:{place:.2%}">{_after(row, rows)}</span>')
        last = place
    return "".join(labels)


def _place(number: int, rows: Sequence[LifeRow]) -> float:
    return (number + 0.5) / len(rows)


def _after(row: LifeRow, rows: Sequence[LifeRow]) -> str:
    return f"+{span((row.time_ms - rows[0].time_ms) / 1000)}"


def _rows(rows: Sequence[LifeRow]) -> str:
    heads = "".join(
        f"<th>{head}</th>" for head in ("after", "what", "who", "delivery", "value", "XOR so far", "where")
    )
    cells, sum_ = [], 0
    for row in rows:
        held = ""
        if row.what in {"init", "ack"}:
            sum_ ^= row.value
            held = str(sum_)
        elif row.what in {"spout hears ack", "spout hears fail"}:
            sum_ = 0
        value = str(row.value) if row.value else ""
        cells.append(
            f"<tr><td>{_after(row, rows)}</td><td>{escaped(row.what)}</td><td>{escaped(row.component)}[{row.task}]</td>"
            f'<td>{escaped(row.delivery)}</td><td class="mono">{value}</td><td class="mono">{held}</td>'
            f"<td><code>{escaped(row.site)}</code></td></tr>\n"
        )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>\n<tbody>{"".join(cells)}</tbody></table></div>'
