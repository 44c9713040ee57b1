"""ACK101 and ACK102 in Java: complete the tuple in a `catch`, in a branch, at the end; and take the ack out of a `finally`.

Whether a path should ack or fail is the author's decision, so these fixes are unsafe.
"""

import re

from ackdoctor.fixes.decisions import is_dropped_on_purpose, is_undecided, verb_at
from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, caught_at, completing, handler_of, input_of, unit_of
from ackdoctor.fixes.java_imports import import_edits
from ackdoctor.fixes.lost_work import is_buffered
from ackdoctor.fixes.moves import last_in_try
from ackdoctor.fixes.statements import completion, insert_after, insert_before, removal, statement_of
from ackdoctor.model.finding import Edit, Finding, Fix

_LEAVES = ("return", "raise", "break", "continue")
_FAILED = {  # what fails the tuple of a basic bolt, by the imports of a framework
    "org.apache.storm.": "org.apache.storm.topology.FailedException",
    "backtype.storm.": "backtype.storm.topology.FailedException",
    "org.apache.heron.api.": "org.apache.heron.api.exception.FailedException",
}


def fail_in_catch(finding: Finding, document: Document) -> Fix | None:
    """Fail the tuple at the end of the `catch` that leaves it open; ack it if only decoding it failed."""
    if not document.java or finding.case != "one path":
        return None
    left = document.node_at(finding.site.span, "return")
    catch = left.nearest("handler", *SCOPES) if left is not None else caught_at(finding, document)
    if catch is None or catch.kind != "handler":
        return None
    code, block = _completing(catch, left or catch, finding, document), _block_of(catch)
    if not code or block is None:
        return None
    edits = insert_before(document, left, code) if left is not None else append(document, catch, block, code)
    return Fix(title=f"`{code.rstrip(';')}` in the `catch`", safe=False, edits=edits) if edits else None


def fail_and_ack_last(finding: Finding, document: Document) -> Fix | None:
    """Fail the tuple in the `catch`, and move the ack to the end of the `try`: what follows it may raise."""
    failing, catch = fail_in_catch(finding, document), caught_at(finding, document)
    whole = catch.parent if catch is not None else None
    body = _block_of(whole) if whole is not None else None
    if failing is None or whole is None or body is None:
        return None
    calls = (statement.children[0] for statement in body.children if statement.kind == "expression")
    acks = [statement_of(call) for call in calls if call.kind == "call" and completion(call, "ack")]
    moved = last_in_try(document, acks[0], whole) if len(acks) == 1 and acks[0] else None
    title = f"{failing.title}, and the ack at the end of the `try`"
    return Fix(title=title, safe=False, edits=(*moved, *failing.edits)) if moved else None


def finish_early(finding: Finding, document: Document) -> Fix | None:
    """Repeat before a `return` the call that ends the handler, if the input is all that it gets."""
    left = (
        document.node_at(finding.site.span, "return")
        if document.java and finding.case == "one path"
        else None
    )
    handler = handler_of(left, finding) if left is not None else None
    block = handler.children[-1] if handler is not None else None
    name = input_of(document, handler, finding) if handler is not None else ""
    if (
        left is None
        or block is None
        or not name
        or block.kind != "block"
        or document.source(left) != "return;"
    ):
        return None
    last = block.children[-1]
    call = last.children[0] if last.kind == "expression" else last
    given = [each for each in call.children if each.kind == "argument"]
    if call.kind != "call" or len(given) != 1 or document.source(given[0]) != name:
        return None
    if handler is None or not _only_completes(document, handler, call):
        return None
    if is_buffered(document, handler, left.start) or not is_dropped_on_purpose(left, handler, document, name):
        return None
    edits = insert_before(document, left, document.source(last))
    return (
        Fix(title=f"`{document.source(call)}` before this return", safe=False, edits=edits) if edits else None
    )


def _only_completes(document: Document, handler: Node, call: Node) -> bool:
    """Whether a call acks its argument, or runs a method of the class that does this alone."""
    if completion(call, "ack"):
        return True
    scope = handler.nearest("class")
    methods = (
        [each for each in scope.children if each.kind == "function" and each.name == call.name]
        if scope
        else []
    )
    if len(methods) != 1 or (
        call.children[0].kind == "receiver" and document.source(call.children[0]) != "this"
    ):
        return False
    calls = [each for each in methods[0].walk() if each.kind == "call"]
    return bool(calls) and all(completion(each, "ack") for each in calls)


def complete_branch(finding: Finding, document: Document) -> Fix | None:
    """Ack the tuple in the branch that completes nothing, where the other one acks it, or fail it if the result of its work decides."""
    if not document.java or finding.case != "one path":
        return None
    at = document.offset(*finding.site.span[:2])
    around = document.holding(finding.site.span, "if")
    at_head = (
        each for each in around if each.start == at or each.children[0].start <= at <= each.children[0].end
    )
    branch = next(at_head, None)
    if branch is None or len(branch.children) not in (2, 3):
        return None
    handler = handler_of(branch, finding)
    if handler is None or is_buffered(document, handler, branch.end):
        return None
    taken, other = branch.children[1], branch.children[2] if len(branch.children) == 3 else None  # noqa: PLR2004
    if taken.kind != "block":
        return None
    completes = [
        any(call.name in ("ack", "fail") for call in each.walk()) if each else False
        for each in (taken, other)
    ]
    if completes[0] == completes[1]:
        return None
    open_branch = taken if completes[1] else other
    code = _completing(branch, open_branch or branch, finding, document)
    if not code:
        return None
    if open_branch is None:
        edits = _else(document, branch, code)
    else:
        edits = append(document, open_branch, open_branch, code) if open_branch.kind == "block" else None
    return Fix(title=f"`{code.rstrip(';')}` in the other branch", safe=False, edits=edits) if edits else None


def ack_at_the_end(finding: Finding, document: Document) -> Fix | None:
    """Ack the tuple wherever a handler without any ack or fail ends."""
    if not document.java or finding.case != "no path":
        return None
    functions = document.holding(finding.site.span, "function")
    handler = next((each for each in functions if each.name == finding.handler), None)
    name = input_of(document, handler, finding) if handler is not None else ""
    ack = completing(document, handler, name, "ack") if handler is not None and name else None
    block = handler.children[-1] if handler is not None else None
    if handler is None or ack is None or block is None or block.kind != "block":
        return None
    if is_buffered(document, handler, handler.end) or is_undecided(handler, document, name):
        return None
    edits: list[Edit] = []
    for left in handler.walk():
        if left.kind == "return" and left.nearest(*SCOPES) is handler:
            verb = verb_at(left, handler, document, name)
            before = insert_before(document, left, ack.replace(".ack(", f".{verb}(", 1)) if verb else None
            if document.source(left).rstrip("; ") != "return" or before is None:
                return None
            edits += before
    if not block.children or block.children[-1].kind not in _LEAVES:
        edits += append(document, handler, block, ack) or ()
    return Fix(title=f"`{ack.rstrip(';')}` at the end", safe=False, edits=tuple(edits)) if edits else None


def ack_behind_finally(finding: Finding, document: Document) -> Fix | None:
    """Fail the tuple in the `catch` and return; ack it behind the `try` instead of in the `finally`."""
    catch = caught_at(finding, document) if document.java and finding.case == "message" else None
    whole = catch.parent if catch is not None else None
    last = (
        next((node for node in whole.children if node.kind == "finally"), None) if whole is not None else None
    )
    if catch is None or whole is None or last is None or whole.parent is None or whole.parent.kind != "block":
        return None
    handler = handler_of(catch, finding)
    name = input_of(document, handler, finding) if handler is not None else ""
    acks = [call for call in last.walk() if (tup := completion(call, "ack")) is not None and tup.name == name]
    ack = statement_of(acks[0]) if len(acks) == 1 else None
    finish, block = _block_of(last), _block_of(catch)
    if (
        ack is None
        or finish is None
        or block is None
        or ack.parent is not finish
        or whole.nearest("loop", *SCOPES) is not handler
    ):
        return None
    code = document.source(ack)
    indent = document.indent(whole)
    early = [node for node in whole.walk() if node.kind == "return" and node.nearest(*SCOPES) is handler]
    if any(node.nearest("handler", "function") is not handler for node in early):
        return None  # an ack before the `return` of a `catch` would hide its failure
    before = [insert_before(document, node, code) for node in early]
    earlier = [edit for edits in before for edit in edits or ()]
    if indent is None or None in before or any(document.source(node) != "return;" for node in early):
        return None
    fail = re.sub(r"\.ack\(", ".fail(", code)
    inner = _inner(document, catch, block)
    failing = append(document, catch, block, f"{fail}{document.newline}{inner}return;")
    if failing is None or fail == code or "\n" in code:
        return None
    if len(finish.children) == 1 and not _has_comment(document, finish):
        behind: tuple[Edit, ...] = (
            document.edit(_behind(document, last), last.end, f"{document.newline}{indent}{code}"),
        )
    else:
        behind = (*(removal(document, ack) or ()), *(insert_after(document, whole, code) or ()))
        if len(behind) != 2:  # noqa: PLR2004
            return None
    return Fix(
        title=f"`{fail.rstrip(';')}` in the `catch`, and the ack behind the `try`",
        safe=False,
        edits=(*earlier, *failing, *behind),
    )


def throw_failed(finding: Finding, document: Document) -> Fix | None:
    """Throw the exception by which a basic bolt fails its tuple."""
    catch = caught_at(finding, document) if document.java and finding.case == "message" else None
    handler = handler_of(catch, finding) if catch is not None else None
    block = _block_of(catch) if catch is not None else None
    if catch is None or handler is None or block is None or "BasicOutputCollector" not in document.text:
        return None
    failed = next((name for start, name in _FAILED.items() if f"import {start}" in document.text), None)
    caught = next((node for node in catch.children[0].children if node.kind == "name"), None)
    if (
        failed is None
        or caught is None
        or any(completion(call, "ack", "fail") for call in handler.walk() if call.kind == "call")
    ):
        return None
    added = import_edits(document, failed)
    code = f"throw new FailedException({caught.name});"
    thrown = append(document, catch, block, code)
    if added is None or thrown is None:
        return None
    return Fix(title="Throw `FailedException`", safe=False, edits=(*added, *thrown))


# ---- places ----


def _completing(node: Node, place: Node, finding: Finding, document: Document) -> str | None:
    """Return the statement that completes the input on a path to a place; None if neither verb is certain."""
    handler = handler_of(node, finding)
    name = input_of(document, handler, finding) if handler is not None else ""
    verb = verb_at(place, handler, document, name) if handler is not None and name else ""
    return completing(document, handler, name, verb) if handler is not None and verb else None


def _block_of(node: Node) -> Node | None:
    return next((each for each in node.children if each.kind == "block"), None)


def _has_comment(document: Document, block: Node) -> bool:
    """Whether a block of one statement holds anything else."""
    inner = document.source(block)[1:-1]
    return inner.strip() != document.source(block.children[0])


def _behind(document: Document, last: Node) -> int:
    """Return where the text before a `finally` ends."""
    return len(document.text[: last.start].rstrip())


def _inner(document: Document, owner: Node, block: Node) -> str:
    """Return the indentation of the statements of a block."""
    found = document.indent(block.children[-1]) if block.children else None
    if found is not None:
        return found
    text = document.text[document.line_start(owner.start) :]
    function = owner if owner.kind == "function" else owner.nearest("function") or owner
    return text[: len(text) - len(text.lstrip(" \t"))] + unit_of(document, function)


def append(document: Document, owner: Node, block: Node, code: str) -> tuple[Edit, ...] | None:
    """Put code at the end of a block that may be empty."""
    if block.children:
        if block.children[-1].kind == "return":
            return insert_before(document, block.children[-1], code)
        return (
            None if block.children[-1].kind in _LEAVES else insert_after(document, block.children[-1], code)
        )
    inside = document.text[block.start + 1 : block.end - 1]
    inner = _inner(document, owner, block)
    if inside.strip():  # a comment: the code goes on a line of its own below it
        at = block.start + 1 + len(inside.rstrip())
        return (document.edit(at, at, f"{document.newline}{inner}{code}"),)
    outer = inner[
        : len(inner)
        - len(unit_of(document, owner if owner.kind == "function" else owner.nearest("function") or owner))
    ]
    text = f"{document.newline}{inner}{code}{document.newline}{outer}"
    return (document.edit(block.start + 1, block.end - 1, text),)


def _else(document: Document, branch: Node, code: str) -> tuple[Edit, ...] | None:
    """Add an `else` with one statement."""
    indent = document.indent(branch)
    if indent is None:
        return None
    inner = _inner(document, branch, branch.children[1])
    end = branch.end
    text = f" else {{{document.newline}{inner}{code}{document.newline}{indent}}}"
    return (document.edit(end, end, text),)
