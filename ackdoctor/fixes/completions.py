"""ACK103 to ACK106 and ACK202: one completion too many, or one too early.

A fix removes or moves a completion, or leaves the handler behind it.  The first completion may be in a helper: then the
handler's call of the helper counts.
"""

from collections.abc import Iterator
from itertools import takewhile

from ackdoctor.fixes.document import LEAVES, SCOPES, Document, Node, fits, need, proposed
from ackdoctor.fixes.handlers import handler_of, keeps_work
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


# ---- the second completion ----


def leave_to_framework(finding: Finding, document: Document) -> Fix:
    """Remove an ack that the framework repeats at once."""
    call = document.call_at(finding)
    fits(completion(call, "ack"), not finding.details)  # of a later ack, the framework's own is too early
    statement = need(statement_of(call))
    while not document.java and _is_all_of_loop(document, statement):
        statement = need(need(statement.parent).parent)
    return proposed(f"Remove `{document.source(call)}`", removal(document, statement), safe=True)


def _is_all_of_loop(document: Document, statement: Node) -> bool:
    """Whether a statement is all that a loop over a variable does, without a comment, in a block with more statements."""
    block = statement.parent
    loop = block.parent if block is not None else None
    if block is None or loop is None or loop.kind != "loop" or loop.parent is None:
        return False
    is_plain = [each.kind for each in loop.children if each.kind != "block"] == ["bound", "name"]
    has_comment = "#" in document.text[loop.start : statement.start]
    return is_plain and not has_comment and block.children == [statement] and len(loop.parent.children) > 1


def complete_once(finding: Finding, document: Document) -> Fix:
    """Remove the second of two completions in a row, or leave the handler after the first."""
    first, second = _first_completion(finding, document), document.call_at(finding)
    tup, again = need(completion(first, "ack", "fail")), need(completion(second, "ack", "fail"))
    start, end, scope = need(statement_of(first)), need(statement_of(second)), need(first.nearest(*SCOPES))
    fits(second is not first, tup.name == again.name, not is_bound(scope, tup.name))
    fits(scope.kind == "function", second.nearest(*SCOPES) is scope)
    fits((first.name, second.name) != ("ack", "fail"))  # either of them may be meant
    if _follows(start, end):
        return proposed(f"Remove `{document.source(second)}`", removal(document, end), safe=True)
    return _leave_after(finding, document, scope, start, end)


def _first_completion(finding: Finding, document: Document, *, helper: bool = False) -> Node:
    """Return the call of the path that completed the tuple first; `helper`: perhaps in a function that the handler calls."""
    steps = finding.evidence.steps[:-1]
    first = need(next((step for step in steps if step.state in _COMPLETED), None))
    fits(helper or not first.depth, first.site.path == finding.site.path)
    return need(document.node_at(first.site.span, "call"))


def _follows(first: Node, second: Node) -> bool:
    """Whether every path to the second statement runs the first one just before, in the same block."""
    block = first.parent
    if block is None or block.kind != "block":
        return False
    inside = next((node for node in (second, *second.around()) if node.parent is block), None)
    return inside is not None and block.children.index(inside) > block.children.index(first)


def _leave_after(finding: Finding, document: Document, scope: Node, first: Node, second: Node) -> Fix:
    """Add a `return` behind the block that completes first."""
    fits(scope.name == finding.handler, not _returns_value(document, scope))
    fits(all(node.kind not in ("loop", "finally") for node in _between(first, scope)))
    code, block = _return(document), need(first.parent)
    edits = append(document, block, code) if block.kind == "block" else insert_after(document, first, code)
    call, skipped = first.children[0], list(_afterwards(first, scope))
    safe = skipped == [second] or (call.name == "fail" and not _skips_work(document, first, scope))
    return proposed(f"Return after `{document.source(call)}`", edits, safe=safe)


def _return(document: Document) -> str:
    return "return;" if document.java else "return"


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


def _skips_work(document: Document, statement: Node, scope: Node) -> bool:
    """Whether a Java handler does more behind the block of a statement than emit, ack and fail, as to clear a field."""
    behind = (
        node for each in _afterwards(statement, scope) for node in each.walk() if node.kind == "expression"
    )
    calls = [node.children[0].name if node.children[0].kind == "call" else "" for node in behind]
    return document.java and not set(calls) <= {"ack", "emit", "fail"}


# ---- completions in loops and branches ----


def complete_element(finding: Finding, document: Document) -> Fix:
    """Complete the element of a loop over a field, instead of the tuple that was added last."""
    call = document.call_at(finding)
    tup = need(completion(call, "ack", "fail"))
    loop, function = need(call.nearest("loop", *SCOPES)), need(call.nearest(*SCOPES))
    fits(not document.java, loop.kind == "loop", function.kind == "function")
    parts = [each for each in loop.children if each.kind != "block"]
    fits([each.kind for each in parts] == ["bound", "attribute"] and parts[0].name != tup.name)
    field, text = document.source(parts[1]), document.source(function)
    fits(any(f"{field}.{verb}({tup.name})" in text for verb in ("append", "add")))
    edit = document.edit(tup.start, tup.end, parts[0].name)
    return proposed(f"{call.name.capitalize()} each tuple of `{field}`", [edit])


def fail_or_ack(finding: Finding, document: Document) -> Fix:
    """Move an ack into the `else` of the `if` that fails the same tuple."""
    first, second = _first_completion(finding, document, helper=True), document.call_at(finding)
    start, choice = need(statement_of(first)), need(second.nearest("if", *SCOPES))
    fits(not document.java, choice.kind == "if")
    fits(need(completion(first, "ack")).name == need(completion(second, "fail")).name)
    blocks = [each for each in choice.children if each.kind == "block"]
    outer, inner = need(document.indent(choice)), need(document.indent(blocks[0].children[0]))
    block = need(choice.parent)
    fits(start.parent is block, len(blocks) == 1)
    fits(block.children.index(start) + 1 >= block.children.index(choice))  # nothing is between them
    end = document.line_end(choice.end)
    fits(not document.text[choice.end : end].strip(), statement_of(second) is blocks[0].children[-1])
    fits(not any(node.kind == "bound" for node in choice.walk()))
    nl, ack = document.newline, document.source(start)
    added = document.edit(end, end, f"{nl}{outer}else:{nl}{inner}{ack}")
    return proposed(f"`{ack}` only if it does not fail", [*removal(document, start), added])


def move_behind_loop(finding: Finding, document: Document) -> Fix:
    """Move a completion from the body of a loop behind the loop."""
    call = document.call_at(finding)
    statement, tup = need(statement_of(call)), _completed_by(document, call)
    block = need(statement.parent)
    loop, scope = need(block.parent), need(call.nearest(*SCOPES))
    fits(block.kind == "block", loop.kind == "loop", len(block.children) > 1)
    # an outer loop would repeat it
    fits(loop.nearest("loop", *SCOPES) is scope, not is_bound(scope, tup.name))
    fits(all(node.kind not in LEAVES for node in loop.walk()))
    removed = removal(document, statement)
    added = insert_after(document, loop, document.source(statement))
    edits: tuple[Edit, ...] = (*removed, *added)
    if edits[0].span[2:] > edits[-1].span[:2]:  # the statement ends the loop: it gets the loop's indentation
        inner, outer = need(document.indent(statement)), need(document.indent(loop))
        edits = (document.edit(statement.start - len(inner), statement.start, outer),)
    return proposed(f"Move `{document.source(call)}` behind the loop", edits)


def _completed_by(document: Document, call: Node) -> Node:
    """Return the tuple that a call completes, perhaps through a helper of which it is the only argument."""
    tup = completion(call, "ack", "fail")
    helper = only_argument(call) if tup is None and not document.java else None
    return need(helper if helper is not None and helper.kind == "name" else tup)


# ---- completions before the work ----


def leave_after_failure(finding: Finding, document: Document) -> Fix:
    """Return after the call that fails the tuple."""
    first = _completed_at(finding, document, "failed")
    handler, block = handler_of(first, finding), need(first.parent)
    inside = {node.kind for node in takewhile(lambda node: node.kind != "function", first.around())}
    fits(block.kind == "block", not _returns_value(document, handler))
    fits(not {"loop", "finally", "lambda", "class"} & inside)
    edits = append(document, block, _return(document))
    title = f"Return after `{document.source(first.children[0])}`"
    return proposed(title, edits, safe=not _skips_work(document, first, handler))


def ack_last(finding: Finding, document: Document) -> Fix:
    """Move an ack in a `try` behind the statement that may raise, if the exception's handler fails the tuple."""
    first = _completed_at(finding, document, "acked")
    catch = need(document.call_at(finding).nearest("handler", *SCOPES))
    fits(catch.kind == "handler")
    edits = last_in_try(document, first, need(catch.parent))
    return proposed(f"Move `{document.source(first.children[0])}` to the end of the `try`", edits)


def ack_behind_emit(finding: Finding, document: Document) -> Fix:
    """Move an ack behind the emit that is anchored to its tuple."""
    first, emit = _completed_at(finding, document, "acked"), document.call_at(finding)
    block = need(first.parent)
    fits(block.kind == "block")
    target = need(next((node for node in emit.around() if node.parent is block), None))
    edits = _moved(document, first, block, target)
    return proposed(f"Move `{document.source(first.children[0])}` behind the emit", edits)


def last_in_try(document: Document, statement: Node, whole: Node) -> tuple[Edit, ...]:
    """Return the edits that make a statement in the body of a `try` its last one."""
    body, moved = need(whole.block), statement
    while moved.parent is not None and moved.parent is not body:
        holder = moved.parent
        fits(holder.kind == "block")
        if len(holder.children) == 1 and document.java:  # `synchronized (lock) { ... }`
            moved = holder.parent or holder
            continue
        fits(moved is statement, need(holder.parent).kind == "loop")
        return _out_of_loop(document, statement, need(holder.parent), body)
    fits(moved.parent is body, moved is not body.children[-1], moved.kind not in ("if", "loop", "try"))
    return _moved(document, moved, body, body.children[-1])


def _out_of_loop(document: Document, statement: Node, loop: Node, body: Node) -> tuple[Edit, ...]:
    fits(not _binds_name_of(statement, loop))  # else an ack of each element
    fits(all(node.kind not in LEAVES for node in loop.walk()))
    fits(loop.parent is body, len(need(statement.parent).children) > 1)
    return _apart(
        removal(document, statement), insert_after(document, body.children[-1], document.source(statement))
    )


def _moved(document: Document, statement: Node, block: Node, target: Node) -> tuple[Edit, ...]:
    """Return the edits that move a statement of a block behind a later one, if all that is passed over always runs."""
    between = block.children[block.children.index(statement) + 1 : block.children.index(target) + 1]
    nodes = [node for each in between for node in each.walk()]
    fits(between, all(node.kind not in LEAVES for node in nodes), not keeps_work(statement))
    fits(not any(_binds_name_of(statement, each) for each in between))
    text = document.source(statement)
    fits(document.indent(statement) == document.indent(target) or "\n" not in text)
    return _apart(removal(document, statement), insert_after(document, target, text))


def _binds_name_of(statement: Node, code: Node) -> bool:
    """Whether code gives a variable of a statement another value."""
    names = {node.name for node in statement.walk() if node.kind == "name"}
    return any(node.kind == "bound" and node.name in names for node in code.walk())


def _apart(removed: tuple[Edit, ...], added: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Return edits that remove a statement and insert it again behind."""
    fits(removed[-1].span[2:] <= added[0].span[:2])
    return (*removed, *added)


def _completed_at(finding: Finding, document: Document, state: str) -> Node:
    """Return the statement of the handler, in the finding's file, in which the tuple is completed first."""
    steps = finding.evidence.steps[:-1]
    place = need(next((at for at, step in enumerate(steps) if step.state in _COMPLETED), None))
    fits(steps[place].state == state)
    while place and steps[place].depth:
        place -= 1
    site = steps[place].site
    fits(site.path == finding.site.path)
    return need(statement_of(need(document.node_at(site.span, "call"))))
