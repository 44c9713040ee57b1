"""Remove and insert whole statements."""

from collections.abc import Iterable

from ackdoctor.fixes.document import Document, Node
from ackdoctor.model.finding import Edit
from ackdoctor.model.source import Span

__all__ = [
    "append",
    "completion",
    "falls_through",
    "insert_after",
    "insert_before",
    "is_bound",
    "joined",
    "only_argument",
    "removal",
    "set_in_class",
    "statement_of",
]

_LEAVES = ("return", "raise", "break", "continue")


def statement_of(call: Node) -> Node | None:
    """Return the statement that is this call and nothing more."""
    parent = call.parent
    return (
        parent if parent is not None and parent.kind == "expression" and parent.children == [call] else None
    )


def completion(call: Node, *verbs: str) -> Node | None:
    """Return the variable that a call acks or fails; None for another call, and for one with more arguments."""
    arguments = [each for each in call.children if each.kind == "argument"]
    if call.name not in verbs or len(arguments) != 1 or arguments[0].name:
        return None
    (value,) = arguments[0].children or (None,)
    return value if value is not None and value.kind == "name" else None


def only_argument(call: Node) -> Node | None:
    """Return the value of the only argument of a call."""
    arguments = [each for each in call.children if each.kind == "argument"]
    return arguments[0].children[0] if len(arguments) == 1 and arguments[0].children else None


def is_bound(scope: Node, name: str) -> bool:
    """Whether code in a scope gives a variable another value."""
    return any(node.kind == "bound" and node.name == name for node in scope.walk())


def removal(document: Document, statement: Node) -> tuple[Edit, ...] | None:
    """Remove a statement, with its line and a comment behind it if the line has nothing else."""
    block = statement.parent
    if block is None or block.kind not in ("block", "finally"):
        return None
    text, start, end = document.text, statement.start, statement.end
    siblings = block.children
    place = siblings.index(statement)
    line = document.line_start(start)
    rest = text[end : document.line_end(end)].strip()
    alone = not text[line:start].strip() and (not rest or rest.startswith(("#", "//")))
    if len(siblings) == 1 and not document.java:
        return (document.edit(start, end, "pass"),)
    if (
        alone and line and document.line_end(end) == len(text)
    ):  # a last line without an end takes that of the line before
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
    return None


def insert_before(document: Document, statement: Node, code: str) -> tuple[Edit, ...] | None:
    """Put a statement before another one; in Java perhaps in new braces, as in `if (x) return;`."""
    block = statement.parent
    if document.java and block is not None and block.kind == "if":
        before = document.edit(statement.start, statement.start, f"{{ {code} ")
        return (before, document.edit(statement.end, statement.end, " }"))
    if block is None or block.kind != "block":
        return None
    indent = document.indent(statement)
    if indent is None:
        return (
            document.edit(statement.start, statement.start, f"{code} " if document.java else f"{code}; "),
        )
    return (document.edit(statement.start, statement.start, f"{code}{document.newline}{indent}"),)


def set_in_class(document: Document, body: Node, code: str) -> tuple[Edit, ...] | None:
    """Put an assignment at the top of a class, behind its docstring."""
    first = body.children[0]
    is_text = first.kind == "expression" and document.source(first).lstrip("rRuUbB")[:1] in ("'", '"')
    if is_text and len(body.children) == 1:
        return None
    first = body.children[1] if is_text else first
    if (
        document.text[: document.line_start(first.start)]
        .rstrip()
        .rpartition("\n")[2]
        .lstrip()
        .startswith("@")
    ):
        return None  # the decorator of a method
    is_method = first.kind in ("function", "class")
    return insert_before(document, first, code + document.newline * is_method)


def insert_after(document: Document, statement: Node, code: str) -> tuple[Edit, ...] | None:
    """Put a statement behind another one; both must be alone on their lines, or share one."""
    block = statement.parent
    if block is None:
        return None
    if block.kind != "block":
        if not document.java or block.kind not in ("if", "loop"):
            return None  # `if (x) collector.fail(tuple);`
        before, after = document.edit(statement.start, statement.start, "{ "), f" {code} }}"
        return (before, document.edit(statement.end, statement.end, after))
    indent = document.indent(statement)
    end = statement.end
    if indent is None:
        return (document.edit(end, end, f" {code}" if document.java else f"; {code}"),)
    line_end = document.line_end(end)
    rest = document.text[end:line_end].strip()
    if rest and not rest.startswith(("#", "//")):
        return None
    return (document.edit(line_end, line_end, f"{document.newline}{indent}{code}"),)


def append(document: Document, block: Node, code: str) -> tuple[Edit, ...] | None:
    """Put statements at the end of a block that the last one does not leave."""
    if not block.children or block.children[-1].kind in _LEAVES:
        return None
    return insert_after(document, block.children[-1], code)


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
    if last.kind in _LEAVES:
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
