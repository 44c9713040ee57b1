"""ACK101, ACK102 and ACK109 in Java: complete the tuple in a `catch`, in a branch, at the end; take the ack out of a `finally`; skip ticks.

Whether a path should ack or fail is the author's decision, so these fixes are unsafe.
"""

import re

from ackdoctor.fixes.completions import last_in_try
from ackdoctor.fixes.decisions import is_buffered, is_dropped_on_purpose, is_undecided, verb_at
from ackdoctor.fixes.document import LEAVES, SCOPES, Document, Node, fits, need, proposed
from ackdoctor.fixes.handlers import caught_at, completing, handler_of, input_of, parameters, unit_of
from ackdoctor.fixes.statements import (
    completion,
    import_edits,
    insert_after,
    insert_before,
    removal,
    statement_of,
)
from ackdoctor.model.finding import Edit, Finding, Fix

_FAILED = {  # what fails the tuple of a basic bolt, by the imports of a framework
    "org.apache.storm.": "org.apache.storm.topology.FailedException",
    "backtype.storm.": "backtype.storm.topology.FailedException",
    "org.apache.heron.api.": "org.apache.heron.api.exception.FailedException",
}
_TICKS = {
    "org.apache.storm.": "org.apache.storm.utils.TupleUtils",
    "org.apache.heron.": "org.apache.heron.api.utils.TupleUtils",
}


# ---- a catch ----


def fail_in_catch(finding: Finding, document: Document) -> Fix:
    """Fail the tuple at the end of the `catch` that leaves it open; ack it if only decoding it failed."""
    fits(document.java, finding.case == "one path")
    left = document.node_at(finding.site.span, "return")
    catch = need(left.nearest("handler", *SCOPES)) if left is not None else caught_at(finding, document)
    fits(catch.kind == "handler")
    code, block = _completing(catch, left or catch, finding, document), need(catch.block)
    edits = insert_before(document, left, code) if left is not None else append(document, catch, block, code)
    return proposed(f"`{code.rstrip(';')}` in the `catch`", edits)


def fail_and_ack_last(finding: Finding, document: Document) -> Fix:
    """Fail the tuple in the `catch`, and move the ack to the end of the `try`: what follows it may raise."""
    failing, whole = fail_in_catch(finding, document), need(caught_at(finding, document).parent)
    calls = (each.children[0] for each in need(whole.block).children if each.kind == "expression")
    acks = [statement_of(call) for call in calls if call.kind == "call" and completion(call, "ack")]
    fits(len(acks) == 1)
    moved = last_in_try(document, need(acks[0]), whole)
    return proposed(f"{failing.title}, and the ack at the end of the `try`", (*moved, *failing.edits))


def ack_behind_finally(finding: Finding, document: Document) -> Fix:
    """Fail the tuple in the `catch` and return; ack it behind the `try` instead of in the `finally`."""
    fits(document.java, finding.case == "message")
    catch = caught_at(finding, document)
    whole = need(catch.parent)
    last = need(next((node for node in whole.children if node.kind == "finally"), None))
    handler = handler_of(catch, finding)
    name = input_of(document, handler, finding)
    acks = [call for call in last.calls("ack") if (tup := completion(call, "ack")) and tup.name == name]
    fits(len(acks) == 1 and need(whole.parent).kind == "block")
    ack, finish, block = need(statement_of(acks[0])), need(last.block), need(catch.block)
    fits(ack.parent is finish, whole.nearest("loop", *SCOPES) is handler)
    code, indent = document.source(ack), need(document.indent(whole))
    early = [node for node in whole.walk() if node.kind == "return" and node.nearest(*SCOPES) is handler]
    # an ack before the `return` of a `catch` would hide its failure
    fits(all(node.nearest("handler", "function") is handler for node in early))
    fits(all(document.source(node) == "return;" for node in early))
    earlier = [edit for node in early for edit in insert_before(document, node, code)]
    fail = re.sub(r"\.ack\(", ".fail(", code)
    fits(fail != code, "\n" not in code)
    inner = _inner(document, catch, block)
    failing = append(document, catch, block, f"{fail}{document.newline}{inner}return;")
    behind: tuple[Edit, ...]
    if len(finish.children) == 1 and not _has_comment(document, finish):
        before_finally = len(document.text[: last.start].rstrip())
        behind = (document.edit(before_finally, last.end, f"{document.newline}{indent}{code}"),)
    else:
        behind = (*removal(document, ack), *insert_after(document, whole, code))
    title = f"`{fail.rstrip(';')}` in the `catch`, and the ack behind the `try`"
    return proposed(title, (*earlier, *failing, *behind))


def throw_failed(finding: Finding, document: Document) -> Fix:
    """Throw the exception by which a basic bolt fails its tuple."""
    fits(document.java, finding.case == "message", "BasicOutputCollector" in document.text)
    catch = caught_at(finding, document)
    failed, block = _of_framework(_FAILED, document), need(catch.block)
    caught = need(next((node for node in catch.children[0].children if node.kind == "name"), None))
    fits(not any(completion(call, "ack", "fail") for call in handler_of(catch, finding).calls()))
    thrown = append(document, catch, block, f"throw new FailedException({caught.name});")
    return proposed("Throw `FailedException`", (*import_edits(document, failed), *thrown))


def _of_framework(classes: dict[str, str], document: Document) -> str:
    """Return the class of the framework that a file imports."""
    return need(next((name for start, name in classes.items() if f"import {start}" in document.text), None))


# ---- a branch, a return, the end ----


def finish_early(finding: Finding, document: Document) -> Fix:
    """Repeat before a `return` the call that ends the handler, if the input is all that it gets."""
    fits(document.java, finding.case == "one path")
    left = need(document.node_at(finding.site.span, "return"))
    handler = handler_of(left, finding)
    block, name = handler.children[-1], input_of(document, handler, finding)
    fits(block.kind == "block", document.source(left) == "return;")
    last = block.children[-1]
    call = last.children[0] if last.kind == "expression" else last
    fits(call.kind == "call", [document.source(each) for each in call.arguments] == [name])
    fits(_only_completes(document, handler, call), not is_buffered(document, handler, left.start))
    fits(is_dropped_on_purpose(left, handler, document, name))
    edits = insert_before(document, left, document.source(last))
    return proposed(f"`{document.source(call)}` before this return", edits)


def _only_completes(document: Document, handler: Node, call: Node) -> bool:
    """Whether a call acks its argument, or runs a method of the class that does this alone."""
    if completion(call, "ack"):
        return True
    scope, first = need(handler.nearest("class")), call.children[0]
    methods = [each for each in scope.children if each.kind == "function" and each.name == call.name]
    fits(len(methods) == 1, first.kind != "receiver" or document.source(first) == "this")
    calls = [*methods[0].calls()]
    return bool(calls) and all(completion(each, "ack") for each in calls)


def complete_branch(finding: Finding, document: Document) -> Fix:
    """Ack the tuple in the branch that completes nothing, where the other one acks it, or fail it if the result of its work decides."""
    fits(document.java, finding.case == "one path")
    at = document.offset(*finding.site.span[:2])
    around = document.holding(finding.site.span, "if")
    at_head = (
        each for each in around if each.start == at or each.children[0].start <= at <= each.children[0].end
    )
    branch = need(next(at_head, None))
    fits(len(branch.children) in (2, 3) and branch.children[1].kind == "block")
    fits(not is_buffered(document, handler_of(branch, finding), branch.end))
    taken, other = (*branch.children[1:], None)[:2]
    completes = [bool(each and any(True for _ in each.calls("ack", "fail"))) for each in (taken, other)]
    fits(completes[0] != completes[1])
    open_branch = taken if completes[1] else other
    code = _completing(branch, open_branch or branch, finding, document)
    if open_branch is None:
        indent, inner = need(document.indent(branch)), _inner(document, branch, branch.children[1])
        text = f" else {{{document.newline}{inner}{code}{document.newline}{indent}}}"
        edits: tuple[Edit, ...] = (document.edit(branch.end, branch.end, text),)
    else:
        fits(open_branch.kind == "block")
        edits = append(document, open_branch, open_branch, code)
    return proposed(f"`{code.rstrip(';')}` in the other branch", edits)


def ack_at_the_end(finding: Finding, document: Document) -> Fix:
    """Ack the tuple wherever a handler without any ack or fail ends."""
    fits(document.java, finding.case == "no path")
    handler = _handler_around(finding, document)
    name, block = input_of(document, handler, finding), handler.children[-1]
    ack = completing(document, handler, name, "ack")
    fits(block.kind == "block", not is_buffered(document, handler, handler.end))
    fits(not is_undecided(handler, document, name))
    edits: list[Edit] = []
    for left in handler.walk():
        if left.kind == "return" and left.nearest(*SCOPES) is handler:
            fits(document.source(left).rstrip("; ") == "return")
            verb = verb_at(left, handler, document, name)
            edits += insert_before(document, left, ack.replace(".ack(", f".{verb}(", 1))
    if not block.children or block.children[-1].kind not in LEAVES:
        edits += append(document, handler, block, ack)
    return proposed(f"`{ack.rstrip(';')}` at the end", edits)


def skip_ticks(finding: Finding, document: Document) -> Fix:
    """Return from a handler of data at once if the tuple is a tick."""
    fits(document.java, finding.case == "data")
    handler = _handler_around(finding, document)
    names = parameters(handler)
    fits(names, handler.children[-1].children)
    first = handler.children[-1].children[0]
    line, unit, indent = document.newline, unit_of(document, handler), need(document.indent(first))
    test = f"TupleUtils.isTick({names[0]})"
    code = f"if ({test}) {{{line}{indent}{unit}return;{line}{indent}}}{line}{indent}"
    added = import_edits(document, _of_framework(_TICKS, document))
    return proposed(f"Return if `{test}`", (*added, document.edit(first.start, first.start, code)))


# ---- places ----


def _handler_around(finding: Finding, document: Document) -> Node:
    functions = document.holding(finding.site.span, "function")
    return need(next((each for each in functions if each.name == finding.handler), None))


def _completing(node: Node, place: Node, finding: Finding, document: Document) -> str:
    """Return the statement that completes the input on a path to a place."""
    handler = handler_of(node, finding)
    name = input_of(document, handler, finding)
    return completing(document, handler, name, verb_at(place, handler, document, name))


def _has_comment(document: Document, block: Node) -> bool:
    """Whether a block of one statement holds anything else."""
    inner = document.source(block)[1:-1]
    return inner.strip() != document.source(block.children[0])


def _inner(document: Document, owner: Node, block: Node) -> str:
    """Return the indentation of the statements of a block."""
    found = document.indent(block.children[-1]) if block.children else None
    if found is not None:
        return found
    text = document.text[document.line_start(owner.start) :]
    return text[: len(text) - len(text.lstrip(" \t"))] + _unit(document, owner)


def _unit(document: Document, owner: Node) -> str:
    return unit_of(document, owner if owner.kind == "function" else owner.nearest("function") or owner)


def append(document: Document, owner: Node, block: Node, code: str) -> tuple[Edit, ...]:
    """Put code at the end of a block that may be empty."""
    if block.children:
        last = block.children[-1]
        if last.kind == "return":
            return insert_before(document, last, code)
        fits(last.kind not in LEAVES)
        return insert_after(document, last, code)
    inside = document.text[block.start + 1 : block.end - 1]
    inner = _inner(document, owner, block)
    if inside.strip():  # a comment: the code goes on a line of its own below it
        at = block.start + 1 + len(inside.rstrip())
        return (document.edit(at, at, f"{document.newline}{inner}{code}"),)
    outer = inner[: len(inner) - len(_unit(document, owner))]
    text = f"{document.newline}{inner}{code}{document.newline}{outer}"
    return (document.edit(block.start + 1, block.end - 1, text),)
