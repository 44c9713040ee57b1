"""Remove and insert whole statements, and the imports of a Java file.  Each function raises NoFix where it cannot."""

import re
from collections.abc import Iterable

from ackdoctor.fixes.document import LEAVES, Document, Node, NoFix, fits, need
from ackdoctor.model.finding import Edit
from ackdoctor.model.source import Span

__all__ = [
    "append",
    "completion",
    "falls_through",
    "import_edits",
    "insert_after",
    "insert_before",
    "is_bound",
    "joined",
    "only_argument",
    "removal",
    "set_in_class",
    "statement_of",
]

_IMPORT = re.compile(r"^import\s+(static\s+)?([\w.]+(?:\.\*)?)\s*;", re.MULTILINE)


def statement_of(call: Node) -> Node | None:
    """Return the statement that is this call and nothing more."""
    parent = call.parent
    is_all = parent is not None and parent.kind == "expression" and parent.children == [call]
    return parent if is_all else None


def completion(call: Node, *verbs: str) -> Node | None:
    """Return the variable that a call acks or fails; None for another call, and for one with more arguments."""
    value = (
        only_argument(call) if call.name in verbs and not any(each.name for each in call.arguments) else None
    )
    return value if value is not None and value.kind == "name" else None


def only_argument(call: Node) -> Node | None:
    """Return the value of the only argument of a call."""
    given = call.arguments
    return given[0].children[0] if len(given) == 1 and given[0].children else None


def is_bound(scope: Node, name: str) -> bool:
    """Whether code in a scope gives a variable another value."""
    return any(node.kind == "bound" and node.name == name for node in scope.walk())


def removal(document: Document, statement: Node) -> tuple[Edit, ...]:
    """Remove a statement, with its line and a comment behind it if the line has nothing else."""
    block = need(statement.parent)
    fits(block.kind in ("block", "finally"))
    text, start, end = document.text, statement.start, statement.end
    siblings = block.children
    place = siblings.index(statement)
    line = document.line_start(start)
    rest = text[end : document.line_end(end)].strip()
    alone = not text[line:start].strip() and (not rest or rest.startswith(("#", "//")))
    if len(siblings) == 1 and not document.java:
        return (document.edit(start, end, "pass"),)
    if alone and line and document.line_end(end) == len(text):
        # a last line without an end takes that of the line before
        before = document.line_end(document.line_start(line - 1))
        return (document.edit(before, len(text), ""),)
    if alone:
        return (document.edit(line, document.next_line(end), ""),)
    following = siblings[place + 1] if place + 1 < len(siblings) else None
    if following is not None and not text[end : following.start].strip(" \t;"):
        return (document.edit(start, following.start, ""),)
    previous = siblings[place - 1] if place else None
    if previous is not None and not text[previous.end : start].strip(" \t;"):
        return (document.edit(previous.end, end, ""),)
    raise NoFix


def insert_before(document: Document, statement: Node, code: str) -> tuple[Edit, ...]:
    """Put a statement before another one; in Java perhaps in new braces, as in `if (x) return;`."""
    block, start = need(statement.parent), statement.start
    if document.java and block.kind == "if":
        return (
            document.edit(start, start, f"{{ {code} "),
            document.edit(statement.end, statement.end, " }"),
        )
    fits(block.kind == "block")
    indent = document.indent(statement)
    if indent is None:
        return (document.edit(start, start, f"{code} " if document.java else f"{code}; "),)
    return (document.edit(start, start, f"{code}{document.newline}{indent}"),)


def set_in_class(document: Document, body: Node, code: str) -> tuple[Edit, ...]:
    """Put an assignment at the top of a class, behind its docstring."""
    first = body.children[0]
    if first.kind == "expression" and document.source(first).lstrip("rRuUbB")[:1] in ("'", '"'):
        fits(len(body.children) > 1)
        first = body.children[1]
    above = document.text[: document.line_start(first.start)].rstrip().rpartition("\n")[2]
    fits(not above.lstrip().startswith("@"))  # the decorator of a method
    is_method = first.kind in ("function", "class")
    return insert_before(document, first, code + document.newline * is_method)


def insert_after(document: Document, statement: Node, code: str) -> tuple[Edit, ...]:
    """Put a statement behind another one; both must be alone on their lines, or share one."""
    block, end = need(statement.parent), statement.end
    if block.kind != "block":
        fits(document.java, block.kind in ("if", "loop"))  # `if (x) collector.fail(tuple);`
        before, after = document.edit(statement.start, statement.start, "{ "), f" {code} }}"
        return (before, document.edit(end, end, after))
    indent = document.indent(statement)
    if indent is None:
        return (document.edit(end, end, f" {code}" if document.java else f"; {code}"),)
    line_end = document.line_end(end)
    rest = document.text[end:line_end].strip()
    fits(not rest or rest.startswith(("#", "//")))
    return (document.edit(line_end, line_end, f"{document.newline}{indent}{code}"),)


def append(document: Document, block: Node, code: str) -> tuple[Edit, ...]:
    """Put statements at the end of a block that the last one does not leave."""
    fits(block.children and block.children[-1].kind not in LEAVES)
    return insert_after(document, block.children[-1], code)


def import_edits(document: Document, name: str) -> tuple[Edit, ...]:
    """Import a class in Java, unless it is imported; its simple name must be free, and another import be there."""
    package, _, simple = name.rpartition(".")
    found = [match for match in _IMPORT.finditer(document.text) if not match[1]]
    names = [match[2] for match in found]
    if name in names or f"{package}.*" in names:
        return ()
    taken = any(each.endswith(f".{simple}") for each in names) or re.search(rf"\b{simple}\b", document.text)
    fits(found, not taken)
    alike = [each for each in found if each[2].partition(".")[0] == name.partition(".")[0]]
    before = [each for each in alike if each[2] < name]
    if alike and not before:
        at = alike[0].start()
        return (document.edit(at, at, f"import {name};{document.newline}"),)
    at = document.line_end((before or found)[-1].end())
    return (document.edit(at, at, f"{document.newline}import {name};"),)


def joined(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Make one edit of those that insert at the same place, in their order."""
    found: dict[Span, Edit] = {}
    for edit in edits:
        old = found.get(edit.span)
        found[edit.span] = edit if old is None else Edit(edit.span, old.text + edit.text)
    return tuple(sorted(found.values()))


def falls_through(document: Document, block: Node) -> bool:
    """Whether control may reach the end of a block in Python."""
    last = block.children[-1]
    if last.kind in LEAVES:
        return False
    blocks = [each for each in last.children if each.kind == "block"]
    match last.kind:
        case "if":
            return len(blocks) == 1 or any(falls_through(document, each) for each in blocks)
        case "try":
            handlers = [part for each in last.children if each.kind == "handler" for part in each.children]
            ways = [*blocks[-1:], *(part for part in handlers if part.kind == "block")]
            final = [each for each in last.children if each.kind == "finally"]
            return any(falls_through(document, each) for each in ways) and all(
                falls_through(document, each) for each in final
            )
        case "loop":
            endless = document.source(last).startswith(("while True:", "while 1:"))
            return not endless or any(each.kind == "break" for each in last.walk())
        case _:
            return True
