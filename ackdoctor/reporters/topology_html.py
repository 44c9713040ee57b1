"""The HTML page of `ackdoctor topology`.  The drawing is the terminal's layout as SVG."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TextIO

from ackdoctor.model.finding import Confidence, Report, counted
from ackdoctor.model.topology import Judged, Reason, Word
from ackdoctor.reporters.html import MAX_ROWS, Step, Table, table, write
from ackdoctor.reporters.layout import Box, Layout, Link, alike, arrange, places, points
from ackdoctor.reporters.topology import (
    branch_of,
    code_of,
    component_facts,
    defects_of,
    gaps_of,
    guarantee,
    sentences,
    setting_rows,
)
from ackdoctor.reporters.topology_advice import Advice

_COLUMN, _ROW = 8.0, 19.0  # pixels of a cell of the layout
_WIDE = 130  # columns of the page on a desk
_NARROW = (42, 58, 74)  # on a phone, the first that has room
_UNADVISED = "change this, unless it is meant"
_UNDECIDED = "decide this in a file that the command reads: the guarantee depends on it"


def page(report: Report, stream: TextIO, *, inputs: Sequence[str], made: datetime) -> None:
    """Write the whole page; it depends on nothing but the arguments."""
    advice = Advice(report.findings)
    steps: dict[tuple[str, str], Step] = {}
    weakest = sorted(enumerate(report.topologies), key=lambda item: _weakness(item[1]))[:MAX_ROWS]
    for number, judged in weakest:
        for step in _steps(judged, f"t{number}", advice):
            steps.setdefault((step.action, step.place), step)
    topologies = [_topology(judged, number, advice) for number, judged in sorted(weakest, key=itemgetter(0))]
    words = Counter(judged.verdict.word.replace("-", " ") for judged in report.topologies)
    open_ends = report.unreadable or any(judged.topology.gaps for judged in report.topologies)
    total = counted(len(report.topologies), "topology")
    write(
        "topology.html.jinja",
        stream,
        command="topology",
        inputs=inputs,
        made=made,
        about=[("files", f"{counted(len(report.files), 'file')}, as they were when this page was made")],
        steps=list(steps.values()),
        nothing="" if open_ends else "Nothing in these files weakens the guarantee.",
        unreadable=report.unreadable,
        summary=f"{total}: {', '.join(f'{count:,} {word}' for word, count in sorted(words.items()))}",
        weak=any(not _good(judged) for judged in report.topologies),
        topologies=topologies,
        more_topologies=len(report.topologies) - len(topologies),
    )


def _good(judged: Judged) -> bool:
    return judged.verdict.word in {Word.AT_LEAST_ONCE.value, Word.EXACTLY_ONCE.value}


def _weakness(judged: Judged) -> tuple[int, int]:
    return judged.verdict.lower.rank, judged.verdict.upper.rank


# ---- what to do first ----


def _steps(judged: Judged, key: str, advice: Advice) -> Iterator[Step]:
    """Yield what to do for one topology: its reasons, what the files do not decide, and the defects."""
    name = judged.topology.name
    numbered = list(enumerate(alike(judged.verdict.reasons), start=1))
    for number, group in (item for item in numbered if item[1][0].sure):
        yield _step_of_reasons(group, name, f"{key}-r{number}", advice)
    for gap in judged.verdict.gaps:
        yield Step(action=_UNDECIDED, place=str(gap.place), why=f"{name}: {gap.why}", target=f"{key}-gaps")
    for number, group in (item for item in numbered if not item[1][0].sure):
        yield _step_of_reasons(group, name, f"{key}-r{number}", advice)
    for defect in defects_of(judged):
        finding = advice.about(defect.place, defect.why)
        if finding is not None and finding.help and defect.sure != "information":
            yield Step(
                action=finding.help,
                place=str(defect.place),
                why=f"{name}: {defect.why}",
                code=finding.code,
                sure=finding.confidence is Confidence.MUST,
                target=f"{key}-defects",
            )


def _step_of_reasons(group: Sequence[Reason], name: str, target: str, advice: Advice) -> Step:
    reason = group[0]
    return Step(
        action=advice.action(reason) or _UNADVISED,
        place=places(group),
        why=f"{name}{f', {reason.component}' if reason.component else ''}: {reason.why}",
        code=advice.rule(reason),
        sure=reason.sure,
        target=target,
    )


# ---- one topology ----


def _topology(judged: Judged, number: int, advice: Advice) -> dict[str, object]:
    topology, verdict = judged.topology, judged.verdict
    groups = alike(verdict.reasons)
    wide = arrange(judged, _WIDE)
    narrow = next((layout for width in _NARROW if (layout := arrange(judged, width))), wide)
    gaps = gaps_of(judged)
    return {
        "key": f"t{number}",
        "name": topology.name,
        "style": "good" if _good(judged) else "warn",
        "guarantee": guarantee(verdict),
        "sentences": sentences(judged)[1:],
        "about": list(filter(None, dict.fromkeys((topology.kind, topology.framework, str(topology.place))))),
        "place": str(topology.place),
        "branch": branch_of(judged),
        "boundary": verdict.boundary,
        "drawings": [
            (css, _drawing(layout, groups))
            for css, layout in (("wide", wide), ("narrow", narrow))
            if layout is not None
        ],
        "reasons": [(each[0], places(each), advice.rule(each[0])) for each in groups[:MAX_ROWS]],
        "more_reasons": len(groups) - MAX_ROWS,
        "gaps": [(str(gap.place), gap.why) for gap in gaps[:MAX_ROWS]],
        "more_gaps": len(gaps) - MAX_ROWS,
        "tables": _tables(judged),
        "more_settings": len(topology.settings) - len(setting_rows(judged)),
        "notes": verdict.notes,
    }


def _tables(judged: Judged) -> dict[str, Table]:
    topology = judged.topology
    defects = [
        {"defect": each.kind, "sure": each.sure, "place": str(each.place), "why": each.why}
        for each in defects_of(judged)
    ]
    components = [
        {
            "id": node.id,
            "role": node.role,
            "class": node.cls,
            "parallelism": "" if node.parallelism is None else f"{node.parallelism:,}",
            "code": str(code_of(node, judged.facts.get(node.id))),
            "what its code shows": ", ".join(
                f"{name.replace('_', ' ')}: {_fact(value)}"
                for name, value in component_facts(node, judged.facts.get(node.id)).items()
            ),
        }
        for node in topology.nodes[:MAX_ROWS]
    ]
    streams = [
        {
            "from": edge.source,
            "to": edge.target,
            "stream": edge.stream,
            "grouping": edge.grouping or "?",
            "place": str(edge.place),
        }
        for edge in topology.edges[:MAX_ROWS]
    ]
    return {
        "defects": table("Defects of the configuration", defects),
        "settings": table("Settings", setting_rows(judged)),
        "components": table("Components", components, numbers={"parallelism"}, total=len(topology.nodes)),
        "streams": table("Streams", streams, total=len(topology.edges)),
    }


def _fact(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_fact, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


# ---- the drawing ----


def _drawing(layout: Layout, groups: Sequence[Sequence[Reason]]) -> dict[str, object]:
    return {
        "width": round(layout.width * _COLUMN + 2),
        "height": round(layout.height * _ROW),
        "boxes": [_box(box) for box in layout.boxes if not box.rail],
        "lines": [_line(link, layout, groups) for link in layout.links],
    }


def _box(box: Box) -> dict[str, object]:
    return {
        "css": box.role or "unknown",
        "x": f"{(box.x + 0.5) * _COLUMN:.1f}",
        "y": f"{(box.y + 0.5) * _ROW:.1f}",
        "width": f"{(box.width - 1) * _COLUMN:.1f}",
        "height": f"{(box.height - 1) * _ROW:.1f}",
        "text_x": f"{(box.x + 2) * _COLUMN:.1f}",
        "lines": [
            (
                f"{(box.y + 1.75 + n) * _ROW:.1f}",
                line.text.replace("<- ", "\N{LEFTWARDS ARROW} ", 1),
                line.marks,
            )
            for n, line in enumerate(box.lines)
        ],
    }


def _line(link: Link, layout: Layout, groups: Sequence[Sequence[Reason]]) -> dict[str, object]:
    corners = [(x + 0.5, y + 0.5) for x, y in points(link)]
    corners[0] = (corners[0][0], corners[0][1] - 1)
    last_x, last_y = corners[-1]
    corners[-1] = (last_x, last_y + (link.lower.height if link.lower.rail else 0.6))
    marks = sorted(_marks(link, layout)) if link.unsafe else []
    sure = any(groups[mark - 1][0].sure for mark in marks)
    return {
        "css": ("unsafe" if sure else "doubt") if link.unsafe else "safe",
        "arrow": not link.lower.rail,
        "path": "M" + "L".join(f"{x * _COLUMN:.1f},{y * _ROW:.1f}" for x, y in corners),
        "title": "; ".join(groups[mark - 1][0].why for mark in marks),
    }


def _marks(link: Link, layout: Layout) -> Iterator[int]:
    """Yield the numbers of the reasons at the boxes where a line, or the rail that it enters, arrives."""
    if link.lower.rail:
        for following in layout.links:
            if following.upper is link.lower:
                yield from _marks(following, layout)
        return
    for line in link.lower.lines:
        yield from line.marks
