"""ACK305: return from a spout's `next_tuple` instead of repeating it in an endless loop."""

import re

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, unit_of
from ackdoctor.model.finding import Edit, Finding, Fix

_ENDLESS = {  # by whether the file is Java
    True: re.compile(r"(?:while\s*\(\s*true\s*\)|for\s*\(\s*;\s*;\s*\))\s*{\s*"),
    False: re.compile(r"while\s+(?:True|1)\s*:\s*"),
}
_TEXT = re.compile(r'"""|\'\'\'')  # lines of a text have no indentation to lose


def return_each_round(finding: Finding, document: Document) -> Fix | None:
    """Remove an endless loop that is all that `nextTuple` does: the framework calls it again at once."""
    if finding.case != "message" or document.root is None:
        return None
    at = document.offset(*finding.site.span[:2])
    loop = next((node for node in document.root.walk() if node.kind == "loop" and node.start == at), None)
    function = loop.nearest(*SCOPES) if loop is not None else None
    body = next((node for node in loop.children if node.kind == "block"), None) if loop is not None else None
    if (
        loop is None
        or body is None
        or function is None
        or function.name != finding.handler
        or not body.children
    ):
        return None
    statements = next(node for node in function.children if node.kind == "block").children
    first = body.children[0].start
    if statements != [loop] and (
        document.java or statements[1:] != [loop] or not _is_text(document, statements[0])
    ):
        return None
    if not _ENDLESS[document.java].fullmatch(
        document.text[loop.start : document.line_start(first)]
    ) or _TEXT.search(document.source(loop)):
        return None
    leaves = [node for node in body.walk() if node.kind in ("break", "continue") and _leaves(node, loop)]
    if any(node.kind == "break" or document.source(node).rstrip(";") != "continue" for node in leaves):
        return None
    edits = _without_loop(document, loop, first, unit_of(document, function), [node.start for node in leaves])
    return (
        Fix(title="Remove the loop: the framework calls the method again", safe=False, edits=edits)
        if edits
        else None
    )


def _is_text(document: Document, statement: Node) -> bool:
    """Whether a statement is a docstring."""
    return document.source(statement)[:1] in "\"'"


def _leaves(node: Node, loop: Node) -> bool:
    """Whether a `break` or `continue` is about this loop; a label makes every loop possible."""
    return node.nearest("loop", *SCOPES) is loop or bool(node.children)


def _without_loop(
    document: Document, loop: Node, first: int, unit: str, rounds: list[int]
) -> tuple[Edit, ...] | None:
    """Remove the lines that hold the loop together, and one level of indentation between them."""
    text, start, line = document.text, document.line_start(loop.start), document.line_start(first)
    end = document.line_start(loop.end) if document.java else document.next_line(loop.end)
    closing = text[end : document.line_end(loop.end)].strip() if document.java else "}"
    if text[start : loop.start].strip() or line <= loop.start or closing != "}" or end <= line:
        return None
    edits = [document.edit(start, line, "")]
    while line < end:
        if text.startswith(unit, line):
            edits.append(document.edit(line, line + len(unit), ""))
        elif text[line : document.line_end(line)].strip():
            return None
        after = document.next_line(line)
        edits += (document.edit(at, at + len("continue"), "return") for at in rounds if line <= at < after)
        line = after
    return (*edits, document.edit(end, document.next_line(loop.end), "")) if document.java else tuple(edits)
