"""The HTML page of `ackdoctor topology`: one file that loads nothing.  The drawing is the terminal's layout as SVG."""

from collections.abc import Iterator
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.model.finding import Report
from ackdoctor.model.topology import Judged
from ackdoctor.reporters import counted
from ackdoctor.reporters.html import environment
from ackdoctor.reporters.layout import Box, Layout, Link, arrange, points
from ackdoctor.reporters.topology import (
    about_storm,
    branch_of,
    code_of,
    component_facts,
    defects_of,
    guarantee,
    sentences,
    shown,
)

_COLUMN, _ROW = 8.0, 19.0  # pixels of a cell of the layout
_WIDE = 130  # columns of the page on a desk
_NARROW = (42, 58, 74)  # on a phone, the first that has room
_STYLES = {"at-most-once": "INCOMPLETE", "unknown": "INCOMPLETE"}


def page(report: Report, stream: TextIO) -> None:
    """Write the whole page; it depends on nothing but the argument."""
    template = environment().get_template("topology.html.jinja")
    topologies = [_topology(judged, number) for number, judged in enumerate(report.topologies)]
    stream.writelines(
        template.generate(
            version=__version__,
            count=counted(len(topologies), "topology").replace("topologys", "topologies"),
            topologies=topologies,
            unreadable=report.unreadable,
        )
    )


def _topology(judged: Judged, number: int) -> dict[str, object]:
    topology, verdict = judged.topology, judged.verdict
    wide = arrange(judged, _WIDE)
    narrow = next((layout for width in _NARROW if (layout := arrange(judged, width))), wide)
    settings = [setting for setting in topology.settings if about_storm(setting)]
    return {
        "key": f"t{number}",
        "name": topology.name,
        "style": _STYLES.get(verdict.word, ""),
        "guarantee": guarantee(verdict),
        "sentences": sentences(judged)[1:],
        "about": [topology.kind, topology.framework, str(topology.place)],
        "branch": branch_of(judged),
        "boundary": verdict.boundary,
        "drawings": [
            (css, _drawing(layout, judged))
            for css, layout in (("wide", wide), ("narrow", narrow))
            if layout is not None
        ],
        "reasons": [
            (each.fact, str(each.place), each.component, each.sure, each.why) for each in verdict.reasons
        ],
        "gaps": [(str(gap.place), gap.why) for gap in dict.fromkeys((*verdict.gaps, *topology.gaps))],
        "components": [
            (
                node.id,
                node.role,
                node.cls,
                "" if node.parallelism is None else node.parallelism,
                str(code_of(node, judged.facts.get(node.id))),
                ", ".join(
                    f"{name}: {_fact(value)}"
                    for name, value in component_facts(node, judged.facts.get(node.id)).items()
                ),
            )
            for node in topology.nodes
        ],
        "edges": [
            (edge.source, edge.target, edge.stream, edge.grouping or "?", str(edge.place))
            for edge in topology.edges
        ],
        "settings": [
            (
                setting.key,
                shown(setting.value),
                setting.component or "topology",
                str(setting.place),
                "" if setting.effective else f"none: {setting.why}",
            )
            for setting in settings
        ],
        "more_settings": len(topology.settings) - len(settings),
        "defects": [(each.kind, each.sure, str(each.place), each.why) for each in defects_of(judged)],
        "notes": verdict.notes,
    }


def _fact(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_fact, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


# ---- the drawing ----


def _drawing(layout: Layout, judged: Judged) -> dict[str, object]:
    return {
        "width": round(layout.width * _COLUMN + 2),
        "height": round(layout.height * _ROW),
        "boxes": [_box(box) for box in layout.boxes if not box.rail],
        "lines": [_line(link, layout, judged) for link in layout.links],
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


def _line(link: Link, layout: Layout, judged: Judged) -> dict[str, object]:
    corners = [(x + 0.5, y + 0.5) for x, y in points(link)]
    corners[0] = (corners[0][0], corners[0][1] - 1)
    last_x, last_y = corners[-1]
    corners[-1] = (last_x, last_y + (link.lower.height if link.lower.rail else 0.6))
    marks = sorted(_marks(link, layout)) if link.unsafe else []
    return {
        "css": "unsafe" if link.unsafe else "safe",
        "arrow": not link.lower.rail,
        "path": "M" + "L".join(f"{x * _COLUMN:.1f},{y * _ROW:.1f}" for x, y in corners),
        "marks": marks,
        "title": "; ".join(judged.verdict.reasons[mark - 1].why for mark in marks),
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
