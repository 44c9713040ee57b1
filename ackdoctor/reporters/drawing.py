"""The drawing of a topology on a terminal, in box-drawing characters or in ASCII.

An unsafe line is dashed, and the box where it arrives has the sign ! with the number of the reason.
"""

from collections.abc import Mapping

from ackdoctor.model.topology import Judged
from ackdoctor.reporters import UNICODE, Context
from ackdoctor.reporters.layout import Box, Layout, Link, arrange, outline, segments, sign

_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
_LINES = " │─└││┌├─┘─┴┐┤┬┼"  # by the directions in which a line leaves the cell
_ASCII_LINES = " |-+||++-+-++++|"
_CORNERS: Mapping[str, str] = {"spout": "╭╮╰╯", "bolt": "┌┐└┘", "state": "╔╗╚╝"}
_INDENT = "  "


class _Canvas:
    """Cells with a character and a style."""

    def __init__(self, width: int, height: int) -> None:
        self.texts = [[" "] * width for _ in range(height)]
        self.styles = [[""] * width for _ in range(height)]
        self.lines = [[0] * width for _ in range(height)]
        self.owners: dict[tuple[int, int], str] = {}  # the upper item of the line in a cell
        self.unsafe: dict[tuple[int, int], bool] = {}

    def put(self, x: int, y: int, text: str, style: str = "") -> None:
        """Write a text."""
        for n, char in enumerate(text):
            self.texts[y][x + n] = char
            self.styles[y][x + n] = style

    def join(self, x: int, y: int, directions: int, owner: str, *, unsafe: bool) -> None:
        """Let a line leave a cell in these directions; where lines of two owners cross, the vertical one is drawn."""
        cell = (x, y)
        if self.owners.get(cell, owner) != owner:
            vertical = bool(directions & (_UP | _DOWN))
            if not vertical:
                return
            self.lines[y][x] = 0
            self.unsafe.pop(cell, None)
        self.owners[cell] = owner
        self.lines[y][x] |= directions
        self.unsafe[cell] = self.unsafe.get(cell, True) and unsafe


def draw(judged: Judged, context: Context, width: int) -> str:
    """Return the drawing of a topology; '' if it has no component, and a list if the drawing has no room."""
    layout = arrange(judged, width)
    if layout is None:
        return "".join(_listed(box, context) for box in outline(judged, width))
    fancy = context.glyphs is UNICODE
    canvas = _Canvas(layout.width, layout.height)
    _draw_links(canvas, layout, fancy=fancy)
    for box in layout.boxes:
        if not box.rail:
            _draw_box(canvas, box, fancy=fancy)
    rows = zip(canvas.texts, canvas.styles, strict=True)
    return "".join(f"{_INDENT}{_painted(texts, styles, context)}".rstrip() + "\n" for texts, styles in rows)


def _listed(box: Box, context: Context) -> str:
    """Return a component with its inputs below it."""
    paint = context.palette.paint
    name, kind, *inputs = box.lines
    rows = [f"{_INDENT}{paint('code', name.text)}  {kind.text}"]
    rows += (f"{2 * _INDENT}{line.text}{paint('error', sign(line.marks))}" for line in inputs)
    return "".join(f"{row}\n" for row in rows)


def _draw_box(canvas: _Canvas, box: Box, *, fancy: bool) -> None:
    corners = _CORNERS.get(box.role, _CORNERS["bolt"]) if fancy else "++++"
    across, down = ("─", "│") if fancy else ("-", "|")
    if fancy and box.role == "state":
        across, down = "═", "║"
    inner = box.width - 2
    canvas.put(box.x, box.y, f"{corners[0]}{across * inner}{corners[1]}")
    for n, line in enumerate(box.lines):
        y = box.y + 1 + n
        canvas.put(box.x, y, f"{down}{' ' * inner}{down}")
        text = line.text
        if fancy:
            text = text.replace("<- ", "← ", 1) if text.startswith("<- ") else text
        canvas.put(box.x + 2, y, text, "code" if n == 0 else "")
        canvas.put(box.x + 2 + len(text), y, sign(line.marks), "error")
    canvas.put(box.x, box.y + box.height - 1, f"{corners[2]}{across * inner}{corners[3]}")


def _draw_links(canvas: _Canvas, layout: Layout, *, fancy: bool) -> None:
    for link in layout.links:
        _trace(canvas, link)
    for box in layout.boxes:
        if box.rail:
            unsafe = all(link.unsafe for link in layout.links if link.lower is box)
            for y in range(box.y, box.y + box.height):
                canvas.join(box.x, y, _UP | _DOWN, box.id, unsafe=unsafe)
    glyphs = _LINES if fancy else _ASCII_LINES
    for (x, y), unsafe in canvas.unsafe.items():
        char = glyphs[canvas.lines[y][x]]
        if unsafe:
            dashed = {"│": "╎", "─": "╌", "|": ":", "-": "."} if fancy else {"|": ":", "-": "."}
            char = dashed.get(char, char)
        canvas.put(x, y, char, "error" if unsafe else "")
    for link in layout.links:
        if not link.lower.rail:
            canvas.put(link.end, link.lower.y - 1, "▼" if fancy else "v", "error" if link.unsafe else "")


def _trace(canvas: _Canvas, link: Link) -> None:
    """Draw one line, cell by cell; the common part of several lines is unsafe if all of them are."""
    for (x1, y1), (x2, y2) in segments(link):
        if x1 == x2:
            for y in range(y1, y2 + 1):
                directions = (_UP if y > y1 or y == link.upper.y + link.upper.height else 0) | (
                    _DOWN if y < y2 or y == link.lower.y - 1 else 0
                )
                canvas.join(x1, y, directions, link.upper.id, unsafe=link.unsafe)
        else:
            low, high = min(x1, x2), max(x1, x2)
            for x in range(low, high + 1):
                directions = (_LEFT if x > low else 0) | (_RIGHT if x < high else 0)
                canvas.join(x, y1, directions, link.upper.id, unsafe=link.unsafe)


def _painted(texts: list[str], styles: list[str], context: Context) -> str:
    """Return a row with the colours of its cells."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(texts) + 1):
        if at == len(texts) or styles[at] != styles[start]:
            part = "".join(texts[start:at])
            parts.append(context.palette.paint(styles[start], part) if styles[start] else part)
            start = at
    return "".join(parts)
