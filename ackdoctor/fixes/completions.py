"""ACK103, ACK104, ACK105 and ACK106: one completion too many."""

from collections.abc import Iterator

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES
from ackdoctor.fixes.statements import (
    append,
    completion,
    insert_after,
    is_bound,
    only_argument,
    removal,
    statement_of,
)
from ackdoctor.model.finding import Edit, Finding, Fix

_COMPLETED = ("acked", "failed")  # the stage of a step


def leave_to_framework(finding: Finding, document: Document) -> Fix | None:
    """Remove an ack that the framework repeats."""
    call = document.node_at(finding.site.span, "call")
    if call is None or completion(call, "ack") is None:
        return None
    statement = statement_of(call)
    while statement is not None and not document.java and _is_all_of_loop(document, statement):
        statement = statement.parent.parent if statement.parent is not None else None
    edits = removal(document, statement) if statement is not None else None
    return Fix(title=f"Remove `{document.source(call)}`", safe=True, edits=edits) if edits else None


def _is_all_of_loop(document: Document, statement: Node) -> bool:
    """Whether a statement is all that a loop over a variable does, without a comment, in a block with more statements."""
    loop = statement.parent.parent if statement.parent is not None else None
    if (
        loop is None
        or loop.kind != "loop"
        or "#" in document.text[loop.start : statement.start]
        or [each.kind for each in loop.children if each.kind != "block"] != ["bound", "name"]
    ):
        return False
    alone = statement.parent is not None and statement.parent.children == [statement]
    return alone and loop.parent is not None and len(loop.parent.children) > 1


def complete_once(finding: Finding, document: Document) -> Fix | None:
    """Remove the second of two completions in a row, or leave the handler after the first."""
    second = document.node_at(finding.site.span, "call")
    first = _first_completion(finding, document)
    if second is None or first is None or second is first:
        return None
    tup, again = completion(first, "ack", "fail"), completion(second, "ack", "fail")
    start, end = statement_of(first), statement_of(second)
    scope = first.nearest(*SCOPES)
    if tup is None or again is None or start is None or end is None or tup.name != again.name:
        return None
    if (
        scope is None
        or scope.kind != "function"
        or second.nearest(*SCOPES) is not scope
        or is_bound(scope, tup.name)
    ):
        return None
    if _follows(start, end):
        edits = removal(document, end) if (first.name, second.name) != ("ack", "fail") else None
        return Fix(title=f"Remove `{document.source(second)}`", safe=True, edits=edits) if edits else None
    if first.name == "ack" and second.name == "fail":
        return None  # either of them may be meant
    return _leave_after(finding, document, scope, start, end)


def _first_completion(finding: Finding, document: Document, *, helper: bool = False) -> Node | None:
    """Return the call of the path that completed the tuple first; `helper`: perhaps in a function that the handler calls."""
    steps = finding.evidence.steps[:-1]
    first = next((step for step in steps if step.state in _COMPLETED), None)
    if first is None or (first.depth and not helper) or first.site.path != finding.site.path:
        return None
    return document.node_at(first.site.span, "call")


def _follows(first: Node, second: Node) -> bool:
    """Whether every path to the second statement runs the first one just before, in the same block."""
    block = first.parent
    if block is None or block.kind != "block":
        return False
    inside = next((node for node in (second, *second.around()) if node.parent is block), None)
    return inside is not None and block.children.index(inside) > block.children.index(first)


def _leave_after(finding: Finding, document: Document, scope: Node, first: Node, second: Node) -> Fix | None:
    """Add a `return` behind the block that completes first."""
    if scope.name != finding.handler or _returns_value(document, scope):
        return None
    if any(node.kind in ("loop", "finally") for node in _between(first, scope)):
        return None
    code = "return;" if document.java else "return"
    block = first.parent
    if block is None:
        return None
    edits = append(document, block, code) if block.kind == "block" else insert_after(document, first, code)
    if not edits:
        return None
    skipped = list(_afterwards(first, scope))
    call = document.source(first.children[0])
    safe = skipped == [second] or (call_name(first) == "fail" and not skips_work(document, first, scope))
    return Fix(title=f"Return after `{call}`", safe=safe, edits=edits)


def call_name(statement: Node) -> str:
    """Return what a statement calls."""
    return statement.children[0].name


def _returns_value(document: Document, scope: Node) -> bool:
    """Whether a function returns anything but None: a bare `return` would change its result."""
    returns = (node for node in scope.walk() if node.kind == "return" and node.nearest(*SCOPES) is scope)
    return any(document.source(each).rstrip("; ") != "return" for each in returns)


def _between(node: Node, scope: Node) -> Iterator[Node]:
    for each in node.around():
        if each is scope:
            return
        yield each


def _afterwards(statement: Node, scope: Node) -> Iterator[Node]:
    """Yield the statements that run after the block of a statement, up to the end of the function."""
    for node in _between(statement, scope):
        parent = node.parent
        if node.kind != "block" and parent is not None and parent.kind == "block":
            yield from parent.children[parent.children.index(node) + 1 :]


def skips_work(document: Document, statement: Node, scope: Node) -> bool:
    """Whether a Java handler does more behind the block of a statement than emit, ack and fail, as to clear a field."""
    behind = [
        node for each in _afterwards(statement, scope) for node in each.walk() if node.kind == "expression"
    ]
    calls = [node.children[0].name if node.children[0].kind == "call" else "" for node in behind]
    return document.java and not set(calls) <= {"ack", "emit", "fail"}


def complete_element(finding: Finding, document: Document) -> Fix | None:
    """Complete the element of a loop over a field, instead of the tuple that was added last."""
    call = document.node_at(finding.site.span, "call")
    tup = completion(call, "ack", "fail") if call is not None else None
    if call is None or tup is None or document.java:
        return None
    loop, function = call.nearest("loop", *SCOPES), call.nearest(*SCOPES)
    if loop is None or loop.kind != "loop" or function is None or function.kind != "function":
        return None
    parts = [each for each in loop.children if each.kind != "block"]
    if [each.kind for each in parts] != ["bound", "attribute"] or parts[0].name == tup.name:
        return None
    field = document.source(parts[1])
    stores = (f"{field}.{verb}({tup.name})" for verb in ("append", "add"))
    text = document.source(function)
    if not any(store in text for store in stores):
        return None
    edit = document.edit(tup.start, tup.end, parts[0].name)
    title = f"{call.name.capitalize()} each tuple of `{field}`"
    return Fix(title=title, safe=False, edits=(edit,))


def fail_or_ack(finding: Finding, document: Document) -> Fix | None:
    """Move an ack into the `else` of the `if` that fails the same tuple."""
    second, first = (
        document.node_at(finding.site.span, "call"),
        _first_completion(finding, document, helper=True),
    )
    start = statement_of(first) if first is not None else None
    if second is None or first is None or start is None or document.java:
        return None
    names = [tup.name for tup in (completion(first, "ack"), completion(second, "fail")) if tup is not None]
    choice = second.nearest("if", *SCOPES)
    if len(names) != 2 or names[0] != names[1] or choice is None or choice.kind != "if":  # noqa: PLR2004
        return None
    blocks = [each for each in choice.children if each.kind == "block"]
    outer, inner = document.indent(choice), document.indent(blocks[0].children[0])
    block = choice.parent
    if block is None or start.parent is not block or outer is None or inner is None or len(blocks) != 1:
        return None
    between = block.children[block.children.index(start) + 1 : block.children.index(choice)]
    end = document.line_end(choice.end)
    is_clean = not document.text[choice.end : end].strip()
    is_last = statement_of(second) is blocks[0].children[-1]
    removed = removal(document, start)
    if (
        between
        or not is_clean
        or not is_last
        or not removed
        or any(node.kind == "bound" for node in choice.walk())
    ):
        return None
    nl = document.newline
    added = document.edit(end, end, f"{nl}{outer}else:{nl}{inner}{document.source(start)}")
    return Fix(
        title=f"`{document.source(start)}` only if it does not fail", safe=False, edits=(*removed, added)
    )


def _moved_out(document: Document, call: Node) -> Node | None:
    """Return the tuple that a call completes, perhaps through a helper of which it is the only argument."""
    tup = completion(call, "ack", "fail")
    helper = only_argument(call) if tup is None and not document.java else None
    return helper if helper is not None and helper.kind == "name" else tup


def move_behind_loop(finding: Finding, document: Document) -> Fix | None:
    """Move a completion from the body of a loop behind the loop."""
    call = document.node_at(finding.site.span, "call")
    statement = statement_of(call) if call is not None else None
    if call is None or statement is None:
        return None
    tup, block = _moved_out(document, call), statement.parent
    loop = block.parent if block is not None else None
    scope = call.nearest(*SCOPES)
    if (
        tup is None
        or block is None
        or block.kind != "block"
        or loop is None
        or loop.kind != "loop"
        or scope is None
    ):
        return None
    if loop.nearest("loop", *SCOPES) is not scope or is_bound(scope, tup.name):
        return None  # an outer loop would repeat it
    leaves = any(node.kind in ("return", "raise", "break", "continue") for node in loop.walk())
    removed = removal(document, statement) if len(block.children) > 1 else None
    added = insert_after(document, loop, document.source(statement))
    if leaves or not removed or not added:
        return None
    edits: tuple[Edit, ...] = (*removed, *added)
    if edits[0].span[2:] > edits[-1].span[:2]:  # the statement ends the loop: one edit for both
        edits = _merged(document, statement, loop)
    return (
        Fix(title=f"Move `{document.source(call)}` behind the loop", safe=False, edits=edits)
        if edits
        else None
    )


def _merged(document: Document, statement: Node, loop: Node) -> tuple[Edit, ...]:
    """Indent the last statement of a loop as the loop itself."""
    inner, outer = document.indent(statement), document.indent(loop)
    if inner is None or outer is None:
        return ()
    return (document.edit(statement.start - len(inner), statement.start, outer),)
