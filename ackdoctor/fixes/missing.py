"""ACK101, ACK102 and ACK402: a path without completion, a handler that hides a failure, and a tuple that another one replaces.

Whether such a path should ack or fail is the author's decision, so these fixes are unsafe.
"""

import re

from ackdoctor.fixes.decisions import is_buffered, verb_at
from ackdoctor.fixes.document import SCOPES, Document, Node, NoFix, fits, need, proposed
from ackdoctor.fixes.handlers import caught_at, completing, handler_of, keeps_work, unit_of
from ackdoctor.fixes.statements import append, completion, insert_before, is_bound, statement_of
from ackdoctor.model.finding import Finding, Fix

_REPLACED = "replaced"
_PUT = re.compile(r"(?:this\.)?\w+\.put\(.*\);", re.DOTALL)
_STORE = re.compile(r"(self\.\w+)\[([\w.]+)\] = \w+")


def complete_path(finding: Finding, document: Document) -> Fix:
    """Ack the tuple before the `return` that leaves it open, or fail it if the result of its work decides to leave."""
    left = need(document.node_at(finding.site.span, "return"))
    fits(document.source(left).rstrip("; ") == "return", finding.case == "one path", not keeps_work(left))
    ack = _ack_of(left, finding)
    handler, tup = need(left.nearest("function")), need(completion(ack.children[0], "ack"))
    fits(not (document.java and is_buffered(document, handler, left.start)))
    verb = verb_at(left, handler, document, tup.name)
    code = document.source(ack).replace(".ack(", f".{verb}(", 1)
    return proposed(f"`{code.rstrip(';')}` before this return", insert_before(document, left, code))


def fail_in_handler(finding: Finding, document: Document) -> Fix:
    """Fail the tuple at the end of the exception handler, and return."""
    fits(finding.case == "message")
    handler = caught_at(finding, document)
    ack = _ack_of(handler, finding)
    fits(handler.nearest("loop", "function") is handler.nearest("function"))
    block, text = need(handler.block), document.source(ack)
    at = text.rfind(".ack(")
    fits(block.children and ack.children[0].name == "ack" and at >= 0)
    fail = f"{text[:at]}.fail({text[at + len('.ack(') :]}"
    indent = need(document.indent(block.children[-1]))
    leave = "return;" if document.java else "return"
    edits = append(document, block, f"{fail}{document.newline}{indent}{leave}")
    return proposed(f"`{fail.rstrip(';')}` and return", edits)


def _ack_of(node: Node, finding: Finding) -> Node:
    """Return an ack of the handler's own input, as it is written elsewhere in the handler."""
    function = need(node.nearest(*SCOPES))
    fits(function.kind == "function", function.name == finding.handler)
    inputs = {each.name for part in function.children for each in part.walk() if each.kind == "parameter"}
    for call in function.calls():
        tup, ack = completion(call, "ack"), statement_of(call)
        if ack is None or tup is None or call.nearest(*SCOPES) is not function or tup.name not in inputs:
            continue
        if not is_bound(function, tup.name) and f"`{tup.name}`" in finding.message:
            return ack
    raise NoFix


def fail_replaced(finding: Finding, document: Document) -> Fix:
    """Fail the tuple that the field holds under the key, where another one is stored."""
    root, start = need(document.root), document.offset(*finding.site.span[:2])
    fits(finding.case == "message", not re.search(rf"\b{_REPLACED}\b", document.text))
    fits(not document.java or _holds_tuples(document, start))
    pattern = _PUT if document.java else _STORE
    at = (node for node in root.walk() if node.start == start)
    store = need(next((node for node in at if pattern.fullmatch(document.source(node))), None))
    handler, indent = handler_of(store, finding), need(document.indent(store))
    fail = completing(document, handler, _REPLACED, "fail")
    fits(need(store.parent).kind == "block")
    line, inner = document.newline, f"{document.newline}{indent}{unit_of(document, handler)}"
    if document.java:
        test = f"{line}{indent}if ({_REPLACED} != null) {{{inner}{fail}{line}{indent}}}"
        edits = [
            document.edit(store.start, store.start, f"Tuple {_REPLACED} = "),
            document.edit(store.end, store.end, test),
        ]
    else:
        field, key = need(_STORE.fullmatch(document.source(store))).groups()
        code = f"{_REPLACED} = {field}.pop({key}, None){line}{indent}if {_REPLACED} is not None:{inner}{fail}{line}{indent}"
        edits = [document.edit(store.start, store.start, code)]
    return proposed(f"`{fail.rstrip(';')}` if a tuple waits under the key", edits)


def _holds_tuples(document: Document, start: int) -> bool:
    """Whether the field of a `put` is declared as a map of tuples: another `put` returns no tuple."""
    name = re.compile(r"(?:this\.)?(\w+)").match(document.text, start)
    return name is not None and bool(re.search(rf"Map<[^;=]*\bTuple>\s+{name[1]}\b", document.text))
