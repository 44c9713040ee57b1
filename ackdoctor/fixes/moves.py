"""ACK106 and ACK202: leave the handler after a failure, and ack after the work instead of before it.

The first completion may be in a helper: then the handler's call of the helper counts.
"""

from ackdoctor.fixes.completions import skips_work
from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, handler_of, keeps_work
from ackdoctor.fixes.statements import append, insert_after, removal, statement_of
from ackdoctor.model.finding import Edit, Finding, Fix

_LEAVES = frozenset(("return", "raise", "break", "continue"))


def leave_after_failure(finding: Finding, document: Document) -> Fix | None:
    """Return after the call that fails the tuple."""
    first = _completed_at(finding, document, "failed")
    handler = handler_of(first, finding) if first is not None else None
    block = first.parent if first is not None else None
    if first is None or handler is None or block is None or block.kind != "block":
        return None
    around = [node.kind for node in first.around()]
    inside = around[: around.index("function")]
    returned = any(
        node.kind == "return"
        and document.source(node).rstrip("; ") != "return"
        and node.nearest(*SCOPES) is handler
        for node in handler.walk()
    )
    if returned or {"loop", "finally", "lambda", "class"} & set(inside):
        return None
    code = "return;" if document.java else "return"
    edits = append(document, block, code)
    return (
        Fix(
            title=f"Return after `{document.source(first.children[0])}`",
            safe=not skips_work(document, first, handler),
            edits=edits,
        )
        if edits
        else None
    )


def ack_last(finding: Finding, document: Document) -> Fix | None:
    """Move an ack in a `try` behind the statement that may raise, if the exception's handler fails the tuple."""
    first = _completed_at(finding, document, "acked")
    second = _call_at(finding, document)
    handler = second.nearest("handler", *SCOPES) if second is not None else None
    whole = handler.parent if handler is not None and handler.kind == "handler" else None
    if first is None or whole is None:
        return None
    edits = last_in_try(document, first, whole)
    title = f"Move `{document.source(first.children[0])}` to the end of the `try`"
    return Fix(title=title, safe=False, edits=edits) if edits else None


def ack_behind_emit(finding: Finding, document: Document) -> Fix | None:
    """Move an ack behind the emit that is anchored to its tuple."""
    first = _completed_at(finding, document, "acked")
    emit = _call_at(finding, document)
    block = first.parent if first is not None else None
    if first is None or emit is None or block is None or block.kind != "block":
        return None
    target = next((node for node in emit.around() if node.parent is block), None)
    edits = _moved(document, first, block, target) if target is not None else None
    title = f"Move `{document.source(first.children[0])}` behind the emit"
    return Fix(title=title, safe=False, edits=edits) if edits else None


def last_in_try(document: Document, statement: Node, whole: Node) -> tuple[Edit, ...] | None:
    """Return the edits that make a statement in the body of a `try` its last one."""
    body = next((node for node in whole.children if node.kind == "block"), None)
    moved = statement
    while moved.parent is not None and moved.parent is not body:
        holder = moved.parent
        if (
            holder.kind == "block" and len(holder.children) == 1 and document.java
        ):  # `synchronized (lock) { ... }`
            moved = holder.parent or holder
            continue
        if holder.kind == "block" and holder.parent is not None and holder.parent.kind == "loop":
            inside = holder.parent
            return _out_of_loop(document, statement, inside, body) if moved is statement else None
        return None
    if (
        body is None
        or moved.parent is not body
        or moved is body.children[-1]
        or moved.kind in ("if", "loop", "try")
    ):
        return None
    return _moved(document, moved, body, body.children[-1])


def _out_of_loop(
    document: Document, statement: Node, loop: Node, body: Node | None
) -> tuple[Edit, ...] | None:
    leaves = any(node.kind in _LEAVES for node in loop.walk())
    block = statement.parent
    names = {node.name for node in statement.walk() if node.kind == "name"}
    if any(node.kind == "bound" and node.name in names for node in loop.walk()):
        return None  # an ack of each element
    if body is None or loop.parent is not body or leaves or block is None or len(block.children) == 1:
        return None
    removed = removal(document, statement)
    added = insert_after(document, body.children[-1], document.source(statement))
    if not removed or not added or _apart(removed[-1], added[0]) is False:
        return None
    return (*removed, *added)


def _moved(document: Document, statement: Node, block: Node, target: Node) -> tuple[Edit, ...] | None:
    """Return the edits that move a statement of a block behind a later one, if all that is passed over always runs."""
    between = block.children[block.children.index(statement) + 1 : block.children.index(target) + 1]
    nodes = [node for each in between for node in each.walk()]
    names = {node.name for node in statement.walk() if node.kind == "name"}
    if not between or any(node.kind in _LEAVES for node in nodes) or keeps_work(statement):
        return None
    if any(node.kind == "bound" and node.name in names for node in nodes):
        return None
    text = document.source(statement)
    removed, added = removal(document, statement), insert_after(document, target, text)
    if document.indent(statement) != document.indent(target) and "\n" in text:
        return None
    return (*removed, *added) if removed and added and _apart(removed[-1], added[0]) else None


def _apart(removed: Edit, added: Edit) -> bool:
    return removed.span[2:] <= added.span[:2]


def _call_at(finding: Finding, document: Document) -> Node | None:
    return document.node_at(finding.site.span, "call")


def _completed_at(finding: Finding, document: Document, state: str) -> Node | None:
    """Return the statement of the handler, in the finding's file, in which the tuple is completed first."""
    steps = finding.evidence.steps[:-1]
    place = next((at for at, step in enumerate(steps) if step.state in ("acked", "failed")), None)
    if place is None or steps[place].state != state:
        return None
    while place and steps[place].depth:
        place -= 1
    step = steps[place]
    call = document.node_at(step.site.span, "call") if step.site.path == finding.site.path else None
    return statement_of(call) if call is not None else None
