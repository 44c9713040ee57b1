"""Topologies as Mermaid and as Graphviz's dot; unsafe edges are red and dashed, with the reason."""

import re
from collections.abc import Mapping, Sequence
from typing import TextIO

from ackdoctor.model.topology import Edge, Judged
from ackdoctor.reporters import printable
from ackdoctor.reporters.layout import alike, component_ids, marks_of, shown_edges
from ackdoctor.reporters.topology import branch_of, guarantee

_MERMAID_SHAPES: Mapping[str, tuple[str, str]] = {
    "spout": ("([", "])"),
    "bolt": ("[", "]"),
    "state": ("[(", ")]"),
}
_DOT_SHAPES = {"spout": "oval", "bolt": "box", "state": "cylinder"}
_MERMAID_SPECIAL = re.compile(r"[^\w .,:()/+*=-]")


def mermaid(topologies: Sequence[Judged], stream: TextIO) -> None:
    """Write one flowchart with a subgraph for each topology."""
    stream.write("flowchart TB\n")
    links = 0
    unsafe: list[int] = []
    for number, judged in enumerate(topologies):
        names = _names(judged, f"t{number}_")
        stream.write(f"  subgraph t{number}[{_quoted(_title(judged))}]\n")
        roles = {node.id: node.role for node in judged.topology.nodes}
        classes = {node.id: node.short_class for node in judged.topology.nodes}
        for name, key in names.items():
            role = roles.get(name, "unknown")
            before, after = _MERMAID_SHAPES.get(role, ("[", "]"))
            label = _quoted(name, classes.get(name, "not found"))
            stream.write(f"    {key}{before}{label}{after}:::{role}\n")
        marks, groups = marks_of(judged), alike(judged.verdict.reasons)
        for edge in shown_edges(judged):
            label = _edge_label(edge)
            if edge in marks:
                unsafe.append(links)
                facts = ", ".join(groups[mark - 1][0].fact for mark in marks[edge])
                arrow = f"-. {_quoted(label, facts)} .->"
            else:
                arrow = f"-- {_quoted(label)} -->"
            stream.write(f"    {names[edge.source]} {arrow} {names[edge.target]}\n")
            links += 1
        stream.write("  end\n")
    stream.write("  classDef spout fill:#e6f5ea,stroke:#15803d,color:#1d2125\n")
    stream.write("  classDef bolt fill:#ffffff,stroke:#5b6570,color:#1d2125\n")
    stream.write("  classDef state fill:#e8effc,stroke:#2563eb,color:#1d2125\n")
    stream.write("  classDef unknown fill:#fdf5dc,stroke:#a16207,color:#1d2125\n")
    if unsafe:
        stream.write(f"  linkStyle {','.join(map(str, unsafe))} stroke:#c2410c,color:#c2410c\n")


def dot(topologies: Sequence[Judged], stream: TextIO) -> None:
    """Write one directed graph with a cluster for each topology."""
    stream.write('digraph topologies {\n  rankdir=TB;\n  node [fontname="sans-serif"];\n')
    stream.write('  edge [fontname="sans-serif", fontsize=11];\n')
    for number, judged in enumerate(topologies):
        names = _names(judged, f"t{number}_")
        stream.write(f"  subgraph cluster_{number} {{\n    label={_dot_text(_title(judged))};\n")
        roles = {node.id: node.role for node in judged.topology.nodes}
        classes = {node.id: node.short_class for node in judged.topology.nodes}
        for name, key in names.items():
            shape = _DOT_SHAPES.get(roles.get(name, ""), "box")
            label = _dot_text(name, classes.get(name, "not found"))
            stream.write(f"    {key} [shape={shape}, label={label}];\n")
        marks, groups = marks_of(judged), alike(judged.verdict.reasons)
        for edge in shown_edges(judged):
            reasons = [groups[mark - 1][0] for mark in marks.get(edge, ())]
            label = _dot_text(_edge_label(edge), *(reason.fact for reason in reasons))
            style = ', style=dashed, color="#c2410c", fontcolor="#c2410c"' if reasons else ""
            stream.write(f"    {names[edge.source]} -> {names[edge.target]} [label={label}{style}];\n")
        stream.write("  }\n")
    stream.write("}\n")


def _names(judged: Judged, prefix: str) -> dict[str, str]:
    """Return a name for each component that both languages accept, whatever its id is."""
    return {name: f"{prefix}{number}" for number, name in enumerate(component_ids(judged))}


def _title(judged: Judged) -> str:
    return f"{f'{judged.topology.name} {branch_of(judged)}'.strip()}: {guarantee(judged.verdict)}"


def _edge_label(edge: Edge) -> str:
    grouping = edge.grouping or "?"
    return grouping if edge.stream == "default" else f"{edge.stream}: {grouping}"


def _quoted(*lines: str) -> str:
    """Return lines as a quoted text of Mermaid, with entities for its special characters."""
    escaped = (_MERMAID_SPECIAL.sub(lambda found: f"#{ord(found[0])};", printable(line)) for line in lines)
    return f'"{"<br/>".join(escaped)}"'


def _dot_text(*lines: str) -> str:
    """Return lines as a quoted text of dot."""
    escaped = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"{}"'.format("\\n".join(escaped))
