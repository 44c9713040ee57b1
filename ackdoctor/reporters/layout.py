"""A layered layout of a topology: boxes from the spouts down to the sinks, and lines between them.

Coordinates are columns and rows of a character grid; the screen and the SVG draw the same layout.  A box lists its
inputs, so that a line needs no label.  A layer that is too wide is continued on the next one.  All lines of a component
that pass a layer share one rail.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ackdoctor.model.topology import Edge, Judged, Node, Place, Reason
from ackdoctor.reporters import printable

_GAP = 3  # columns between two items of a layer
_PADDING = 4  # columns of a box around its text
_WIDEST = 44  # columns of the text of a box
_SWEEPS = 6
_MAX_ITEMS = 400  # boxes and rails
_TRACKED = frozenset(
    {"spout-no-ids", "spout-no-replay", "source-acked-on-delivery", "bounded-retry", "unanchored-emit"}
)
"""Facts that hold for all that follows the component; the other facts hold for its inputs."""


@dataclass(slots=True)
class Line:
    """A line of text in a box; `marks` are the numbers of the groups of reasons that make an input unsafe."""

    text: str
    marks: tuple[int, ...] = ()


@dataclass(slots=True)
class Box:
    """A component, or a rail (without lines) that carries edges of `source` past a layer."""

    id: str
    lines: list[Line]
    role: str = ""
    source: str = ""
    layer: int = 0
    x: int = 0
    y: int = 0
    width: int = 1
    height: int = 0

    @property
    def rail(self) -> bool:
        """Whether this is a rail."""
        return not self.lines


@dataclass(slots=True)
class Link:
    """A line from the bottom of an item to the top of one in the next layer: down, along the track, down."""

    upper: Box
    lower: Box
    unsafe: bool = False
    start: int = 0  # column
    end: int = 0
    track: int = 0  # row; the row of the lower end if the line is straight


@dataclass(slots=True)
class Layout:
    """The boxes and lines of a drawing, and its size."""

    boxes: list[Box] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    width: int = 0
    height: int = 0


def shown_edges(judged: Judged) -> list[Edge]:
    """Return the edges without those of system components, such as ticks."""
    return [edge for edge in judged.topology.edges if not edge.source.startswith("__")]


# ---- unsafe edges ----


def alike(reasons: Iterable[Reason]) -> list[list[Reason]]:
    """Return the reasons in groups that differ only in their place; the groups are in the order of their first reasons."""
    groups: dict[Reason, list[Reason]] = {}
    for reason in reasons:
        groups.setdefault(replace(reason, place=Place("", 0)), []).append(reason)
    return list(groups.values())


def places(group: Iterable[Reason]) -> str:
    """`Count.java:12, Count.java:31`."""
    return ", ".join(str(reason.place) for reason in group)


def marks_of(judged: Judged) -> dict[Edge, tuple[int, ...]]:
    """Return the numbers, from 1, of the groups of `alike` reasons that make each unsafe edge unsafe."""
    edges = shown_edges(judged)
    outputs: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        outputs[edge.source].append(edge)
    marks: dict[Edge, list[int]] = {}
    for number, group in enumerate(alike(judged.verdict.reasons), start=1):
        unsafe = dict.fromkeys(
            edge for reason in group for edge in _made_unsafe(judged, reason, edges, outputs)
        )
        for edge in unsafe:
            marks.setdefault(edge, []).append(number)
    return {edge: tuple(numbers) for edge, numbers in marks.items()}


def _made_unsafe(
    judged: Judged, reason: Reason, edges: Sequence[Edge], outputs: Mapping[str, Sequence[Edge]]
) -> Iterable[Edge]:
    """Return the edges that a reason makes unsafe; `outputs` has those that leave a component."""
    if not reason.component:
        return edges
    if reason.fact not in _TRACKED:
        return (edge for edge in edges if edge.target == reason.component)
    facts, own = judged.facts.get(reason.component), outputs.get(reason.component, ())
    streams = {emit.stream for emit in facts.emits if emit.place == reason.place} if facts else set()
    return _reachable([edge for edge in own if edge.stream in streams] or own, outputs)


def _reachable(edges: Iterable[Edge], outputs: Mapping[str, Sequence[Edge]]) -> list[Edge]:
    found: dict[Edge, None] = {}
    pending = list(edges)
    while pending:
        edge = pending.pop()
        if edge not in found:
            found[edge] = None
            pending += outputs.get(edge.target, ())
    return list(found)


# ---- the layout ----


def arrange(judged: Judged, width: int) -> Layout | None:
    """Return the layout of a topology on `width` columns; None if it has no component or does not fit."""
    edges = shown_edges(judged)
    ids = component_ids(judged)
    if not ids or len(ids) > _MAX_ITEMS:
        return None
    forward = _acyclic(ids, edges)
    boxes = _boxes(judged, ids, forward, width)
    pairs = list(dict.fromkeys((edge.source, edge.target) for edge in forward))
    layers = _layers(boxes, pairs, width)
    if layers is None:
        return None
    marks = marks_of(judged)
    unsafe = {
        pair: all(edge in marks for edge in forward if (edge.source, edge.target) == pair) for pair in pairs
    }
    links = _links(layers, boxes, pairs, unsafe)
    _order(layers, links)
    _place(layers, links, width)
    return _routed(layers, links)


def outline(judged: Judged, width: int) -> list[Box]:
    """Return the boxes of all components, for a drawing without lines."""
    return list(_boxes(judged, component_ids(judged), (), width).values())


def component_ids(judged: Judged) -> list[str]:
    """Return the ids of the components, and those that only an edge names."""
    ends = (end for edge in shown_edges(judged) for end in (edge.source, edge.target))
    return list(dict.fromkeys((*(node.id for node in judged.topology.nodes), *ends)))


def _acyclic(ids: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges without those that close a cycle, as seen from the first components on."""
    targets: dict[str, list[str]] = {name: [] for name in ids}
    inputs = {edge.target for edge in edges}
    for edge in edges:
        targets[edge.source].append(edge.target)
    done: set[str] = set()
    back: set[tuple[str, str]] = set()
    for root in sorted(ids, key=inputs.__contains__):  # components without inputs first
        path: dict[str, Iterator[str]] = {} if root in done else {root: iter(targets[root])}
        while path:
            name, following = next(reversed(path.items()))
            target = next(following, None)
            if target is None:
                done.add(name)
                del path[name]
            elif target in path:
                back.add((name, target))
            elif target not in done:
                path[target] = iter(targets[target])
    return [edge for edge in edges if (edge.source, edge.target) not in back]


def _boxes(judged: Judged, ids: Iterable[str], forward: Sequence[Edge], width: int) -> dict[str, Box]:
    """Return a box for each component; without `forward` edges, no line shows where an input comes from."""
    nodes = {node.id: node for node in judged.topology.nodes}
    inputs: dict[str, list[Edge]] = defaultdict(list)
    for edge in shown_edges(judged):
        inputs[edge.target].append(edge)
    marks = marks_of(judged)
    drawn = set(forward)
    boxes = {}
    room = max(16, min(_WIDEST, width - _PADDING - 3 * (_GAP + 1)))  # beside the widest box fit three rails
    for name in ids:
        node = nodes.get(name)
        lines = [Line(f"{name}{_amount(node)}")]
        lines += [Line(f"{node.role} {node.short_class}" if node else "not found")]
        lines += [Line("its code is not read")] if node and node.unread else []
        several = len({edge.source for edge in inputs[name]}) > 1
        for edge in inputs[name]:
            back = bool(drawn) and edge not in drawn
            text = _input(edge, named=several or edge not in drawn, back=back)
            lines.append(Line(text, marks.get(edge, ())))
        lines = [Line(_cut(line.text, room - len(sign(line.marks))), line.marks) for line in lines]
        length = max(len(line.text) + len(sign(line.marks)) for line in lines)
        role = node.role if node else ""
        boxes[name] = Box(name, lines, role, name, width=length + _PADDING, height=len(lines) + 2)
    return boxes


def _amount(node: Node | None) -> str:
    many = "s" if node and node.repeated else ""
    return f" x{node.parallelism}{many}" if node and node.parallelism is not None else many and " (several)"


def _input(edge: Edge, *, named: bool, back: bool) -> str:
    stream = "" if edge.stream == "default" else edge.stream
    parts = [edge.source if named else "", stream, edge.grouping or "?"]
    return f"{'back from' if back else '<-'} {', '.join(filter(None, parts))}"


def sign(marks: Sequence[int]) -> str:
    """Return the sign of an unsafe input: ` !1,3`."""
    return f" !{','.join(map(str, marks))}" if marks else ""


def _cut(text: str, room: int) -> str:
    text = printable(text)
    return text if len(text) <= room else f"{text[: max(1, room - 2)]}.."


def _layers(boxes: Mapping[str, Box], pairs: Sequence[tuple[str, str]], width: int) -> list[list[Box]] | None:
    """Assign each box the layer after its inputs, and move boxes down until no layer is wider than the drawing."""
    least = dict.fromkeys(boxes, 0)
    for _ in range(_MAX_ITEMS):
        ranks = _ranks(least, pairs)
        layers: list[list[Box]] = [[] for _ in range(max(ranks.values()) + 1)]
        for name, box in boxes.items():
            box.layer = ranks[name]
            layers[box.layer].append(box)
        for name, last in _last_uses(ranks, pairs).items():
            for layer in range(ranks[name] + 1, last):
                layers[layer].append(Box(f"{name}:{layer}", [], source=name, layer=layer))
        if sum(map(len, layers)) > _MAX_ITEMS:
            return None
        wide = next((layer for layer in layers if _width(layer) > width), None)
        if wide is None:
            return layers
        real = [box for box in wide if not box.rail]
        if len(real) == 1:
            return None
        kept = [box for box in wide if box.rail]
        for box in real:  # the first box always stays
            if box is not real[0] and _width([*kept, box]) > width:
                least[box.id] = box.layer + 1
            else:
                kept.append(box)
        if all(box in kept for box in real):
            return None
    return None


def _ranks(least: Mapping[str, int], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    ranks = dict(least)
    changed = True
    while changed:  # ends, since the pairs have no cycle
        changed = False
        for source, target in pairs:
            if ranks[target] <= ranks[source]:
                ranks[target] = ranks[source] + 1
                changed = True
    return ranks


def _last_uses(ranks: Mapping[str, int], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    last: dict[str, int] = {}
    for source, target in pairs:
        last[source] = max(last.get(source, 0), ranks[target])
    return last


def _width(layer: Sequence[Box]) -> int:
    return sum(box.width for box in layer) + _GAP * (len(layer) - 1)


def _links(
    layers: Sequence[Sequence[Box]],
    boxes: Mapping[str, Box],
    pairs: Sequence[tuple[str, str]],
    unsafe: Mapping[tuple[str, str], bool],
) -> list[Link]:
    """Return the links from each box and rail to the next layer; a rail is unsafe if all that it carries is."""
    rails = {(box.source, box.layer): box for layer in layers for box in layer if box.rail}
    carried: dict[tuple[str, int], list[bool]] = defaultdict(list)
    links = []
    for source, target in pairs:
        last = boxes[target].layer
        for layer in range(boxes[source].layer + 1, last):
            carried[source, layer].append(unsafe[source, target])
        upper = rails.get((source, last - 1), boxes[source])
        links.append(Link(upper, boxes[target], unsafe[source, target]))
    for (source, layer), rail in rails.items():
        upper = rails.get((source, layer - 1), boxes[source])
        links.append(Link(upper, rail, all(carried[source, layer])))
    return links


def _order(layers: Sequence[list[Box]], links: Sequence[Link]) -> None:
    """Sort each layer by the mean place of its neighbours, downward and upward in turn, against crossings."""
    above, below = _neighbours(links)
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for layer in reversed(layers) if sweep % 2 else layers:
            places = {box.id: n for each in layers for n, box in enumerate(each)}
            around = {box.id: [places[other.id] for other in neighbours[box.id]] for box in layer}
            means = {name: sum(at) / len(at) if at else places[name] for name, at in around.items()}
            layer.sort(key=lambda box, means=means: means[box.id])  # type: ignore[misc]


def _neighbours(links: Sequence[Link]) -> tuple[dict[str, list[Box]], dict[str, list[Box]]]:
    above: dict[str, list[Box]] = defaultdict(list)
    below: dict[str, list[Box]] = defaultdict(list)
    for link in links:
        above[link.lower.id].append(link.upper)
        below[link.upper.id].append(link.lower)
    return above, below


def _place(layers: Sequence[list[Box]], links: Sequence[Link], width: int) -> None:
    """Place each item as near below and above its neighbours as the order and the gaps allow."""
    above, below = _neighbours(links)
    for layer in layers:
        x = 0
        for box in layer:
            box.x = x
            x += box.width + _GAP
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for layer in reversed(layers) if sweep % 2 else layers:
            wanted = []
            for box in layer:
                others = [middle(other) for other in neighbours[box.id]]
                wanted.append((sum(others) / len(others) if others else middle(box)) - box.width // 2)
            for box, x in zip(layer, _apart(layer, wanted, width), strict=True):
                box.x = x
    left = min(box.x for layer in layers for box in layer)
    for box in (box for layer in layers for box in layer):
        box.x -= left


def middle(box: Box) -> int:
    """Return the column of the middle of a box."""
    return box.x + box.width // 2


def _apart(layer: Sequence[Box], wanted: Sequence[float], width: int) -> list[int]:
    """Return the places nearest to the wanted ones that keep order, gaps and width: isotonic regression."""
    offsets = [0]
    for box in layer[:-1]:
        offsets.append(offsets[-1] + box.width + _GAP)
    last = max(0, width - _width(layer))
    pools: list[tuple[float, int]] = []  # mean and size
    for x, offset in zip(wanted, offsets, strict=True):
        pools.append((x - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    means = [mean for mean, size in pools for _ in range(size)]
    return [round(min(max(mean, 0), last)) + offset for mean, offset in zip(means, offsets, strict=True)]


# ---- lines ----


def _routed(layers: Sequence[Sequence[Box]], links: Sequence[Link]) -> Layout:
    by_layer: dict[int, list[Link]] = defaultdict(list)
    for link in links:
        by_layer[link.upper.layer].append(link)
    y = 0
    for number, layer in enumerate(layers):
        height = max(box.height for box in layer)
        for box in layer:
            box.y = y
            box.height = height if box.rail else box.height
        y += height
        leaving = by_layer[number]
        if leaving:
            _ports(leaving)
            y += _tracks(leaving, y)
    boxes = [box for layer in layers for box in layer]
    return Layout(boxes, list(links), max(box.x + box.width for box in boxes), y)


def _ports(links: Sequence[Link]) -> None:
    """Set the columns where each link leaves and arrives; the arrivals of a box are in the order of their sources."""
    arrivals: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        link.start = middle(link.upper)
        arrivals[link.lower.id].append(link)
    for group in arrivals.values():
        group.sort(key=lambda link: link.start)
        box = group[0].lower
        if box.rail:
            group[0].end = box.x
            continue
        low, high = box.x + 1, box.x + box.width - 2
        step = max(1, (high - low) // (len(group) + 1))
        for number, link in enumerate(group, start=1):
            straight = low <= link.start <= high and len(group) == 1
            link.end = link.start if straight else min(high, low + number * step)
            if abs(link.end - link.start) == 1 and low <= link.start <= high:
                link.end = link.start  # no step of one column


def _tracks(links: Sequence[Link], top: int) -> int:
    """Give the lines of each upper item a row of their own where they would meet others; return the rows between."""
    nets: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        nets[link.upper.id].append(link)
    for _ in links:
        bent = {name: net for name, net in nets.items() if any(link.start != link.end for link in net)}
        leaving = {net[0].start: name for name, net in bent.items()}
        placed, rows = _placed(bent, leaving)
        met = [
            link
            for name, net in bent.items()
            for link in net
            if placed[leaving.get(link.end, name)] >= placed[name] and leaving.get(link.end, name) != name
        ]
        if not met or not _moved(met[0], links):
            break
    else:
        placed, rows = {}, 0
    height = rows + 2
    for name, net in nets.items():
        for link in net:
            link.track = top + 1 + placed[name] if name in placed else top + height - 1
    return height


def _placed(bent: Mapping[str, Sequence[Link]], leaving: Mapping[int, str]) -> tuple[dict[str, int], int]:
    """Return the row of each net, and the number of rows."""
    rows: list[list[tuple[int, int]]] = []
    placed: dict[str, int] = {}
    for name in _above_first(bent, leaving):
        columns = [column for link in bent[name] for column in (link.start, link.end)]
        low, high = min(columns), max(columns)
        others = {leaving.get(link.end, name) for link in bent[name]} - {name}
        row = max((placed[other] for other in others if other in placed), default=-1) + 1
        while row < len(rows) and any(low <= b + 1 and a - 1 <= high for a, b in rows[row]):
            row += 1
        rows.extend([] for _ in range(row + 1 - len(rows)))
        rows[row].append((low, high))
        placed[name] = row
    return placed, len(rows)


def _moved(link: Link, links: Sequence[Link]) -> bool:
    """Move an arrival off the column where another line leaves; return whether there is room."""
    box = link.lower
    taken = {each.end for each in links} | {each.start for each in links if each.upper is not link.upper}
    columns = (box.x - 1, box.x + 1) if box.rail else range(box.x + 1, box.x + box.width - 1)
    free = [column for column in columns if column not in taken and column >= 0]
    if not free:
        return False
    link.end = min(free, key=lambda column: abs(column - link.end))
    if box.rail:
        box.x = link.end
    return True


def _above_first(bent: Mapping[str, Sequence[Link]], leaving: Mapping[int, str]) -> list[str]:
    """Sort the nets so that one whose start is in the column of another's end comes before that one."""
    order: dict[str, None] = {}

    def visit(name: str, open_names: frozenset[str]) -> None:
        if name in order or name in open_names:
            return
        for link in bent[name]:
            other = leaving.get(link.end, name)
            visit(other, open_names | {name})
        order[name] = None

    for name in sorted(bent, key=lambda name: bent[name][0].start):
        visit(name, frozenset())
    return list(order)


def points(link: Link) -> list[tuple[int, int]]:
    """Return the corners of a line, from the bottom of the upper item to the row above the lower one."""
    top, bottom = link.upper.y + link.upper.height, link.lower.y - 1
    if link.start == link.end:
        return [(link.start, top), (link.end, bottom)]
    return [(link.start, top), (link.start, link.track), (link.end, link.track), (link.end, bottom)]


def segments(link: Link) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the straight parts of a line."""
    yield from pairwise(points(link))
