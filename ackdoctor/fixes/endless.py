"""ACK305: return from a spout's `next_tuple` instead of repeating it in an endless loop."""

import re

from ackdoctor.fixes.document import SCOPES, Document, Node, NoFix, fits, need, proposed
from ackdoctor.fixes.handlers import unit_of
from ackdoctor.model.finding import Edit, Finding, Fix

_ENDLESS = {  # by whether the file is Java
    True: re.compile(r"(?:while\s*\(\s*true\s*\)|for\s*\(\s*;\s*;\s*\))\s*{\s*"),
    False: re.compile(r"while\s+(?:True|1)\s*:\s*"),
}
_TEXT = re.compile(r'"""|\'\'\'')  # lines of a text have no indentation to lose


def return_each_round(finding: Finding, document: Document) -> Fix:
    """Remove an endless loop that is all that `nextTuple` does: the framework calls it again at once."""
    root, at = need(document.root), document.offset(*finding.site.span[:2])
    loop = need(next((node for node in root.walk() if node.kind == "loop" and node.start == at), None))
    function, body = need(loop.nearest(*SCOPES)), need(loop.block)
    fits(finding.case == "message", function.name == finding.handler, body.children)
    statements = need(function.block).children
    first = body.children[0].start
    documented = not document.java and statements[1:] == [loop] and _is_text(document, statements[0])
    fits(statements == [loop] or documented)
    fits(_ENDLESS[document.java].fullmatch(document.text[loop.start : document.line_start(first)]))
    fits(not _TEXT.search(document.source(loop)))
    leaves = [node for node in body.walk() if node.kind in ("break", "continue") and _leaves(node, loop)]
    fits(all(document.source(node).rstrip(";") == "continue" for node in leaves))
    edits = _without_loop(document, loop, first, unit_of(document, function), [node.start for node in leaves])
    return proposed("Remove the loop: the framework calls the method again", edits)


def _is_text(document: Document, statement: Node) -> bool:
    """Whether a statement is a docstring."""
    return document.source(statement)[:1] in "\"'"


def _leaves(node: Node, loop: Node) -> bool:
    """Whether a `break` or `continue` is about this loop; a label makes every loop possible."""
    return node.nearest("loop", *SCOPES) is loop or bool(node.children)


def _without_loop(document: Document, loop: Node, first: int, unit: str, rounds: list[int]) -> list[Edit]:
    """Remove the lines that hold the loop together, and one level of indentation between them."""
    text, start, line = document.text, document.line_start(loop.start), document.line_start(first)
    end = document.line_start(loop.end) if document.java else document.next_line(loop.end)
    closing = text[end : document.line_end(loop.end)].strip() if document.java else "}"
    fits(not text[start : loop.start].strip(), loop.start < line < end, closing == "}")
    edits = [document.edit(start, line, "")]
    while line < end:
        if text.startswith(unit, line):
            edits.append(document.edit(line, line + len(unit), ""))
        elif text[line : document.line_end(line)].strip():
            raise NoFix
        after = document.next_line(line)
        edits += (document.edit(at, at + len("continue"), "return") for at in rounds if line <= at < after)
        line = after
    return [*edits, document.edit(end, document.next_line(loop.end), "")] if document.java else edits
