"""ACK101 and ACK102: a path without completion, and a handler that hides a failure.

Whether such a path should ack or fail is the author's decision, so these fixes are unsafe.
"""

from ackdoctor.fixes.decisions import verb_at
from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, caught_at, keeps_work
from ackdoctor.fixes.lost_work import is_buffered
from ackdoctor.fixes.statements import append, completion, insert_before, is_bound, statement_of
from ackdoctor.model.finding import Finding, Fix


def complete_path(finding: Finding, document: Document) -> Fix | None:
    """Ack the tuple before the `return` that leaves it open, or fail it if the result of its work decides to leave."""
    left = document.node_at(finding.site.span, "return")
    if left is None or document.source(left).rstrip("; ") != "return" or finding.case != "one path":
        return None
    ack = _ack_of(left, finding) if not keeps_work(left) else None
    code = _finishing(document, left, ack) if ack is not None else ""
    edits = insert_before(document, left, code) if code else None
    if not code or not edits:
        return None
    title = f"`{code.rstrip(';')}` before this return"
    return Fix(title=title, safe=False, edits=edits)


def _finishing(document: Document, left: Node, ack: Node) -> str:
    """Return what completes the tuple before a `return`; "" if neither verb is certain."""
    code, handler = document.source(ack), left.nearest("function")
    tup = completion(ack.children[0], "ack")
    if handler is None or tup is None or (document.java and is_buffered(document, handler, left.start)):
        return ""
    verb = verb_at(left, handler, document, tup.name)
    return code.replace(".ack(", f".{verb}(", 1) if verb else ""


def fail_in_handler(finding: Finding, document: Document) -> Fix | None:
    """Fail the tuple at the end of the exception handler, and return."""
    handler = caught_at(finding, document) if finding.case == "message" else None
    ack = _ack_of(handler, finding) if handler is not None else None
    if (
        handler is None
        or ack is None
        or handler.nearest("loop", "function") is not handler.nearest("function")
    ):
        return None
    block = next((node for node in handler.children if node.kind == "block"), None)
    text = document.source(ack)
    call = ack.children[0]
    at = text.rfind(".ack(")
    if block is None or not block.children or call.name != "ack" or at < 0:
        return None
    fail = f"{text[:at]}.fail({text[at + len('.ack(') :]}"
    indent = document.indent(block.children[-1])
    if indent is None:
        return None
    leave = "return;" if document.java else "return"
    edits = append(document, block, f"{fail}{document.newline}{indent}{leave}")
    return Fix(title=f"`{fail.rstrip(';')}` and return", safe=False, edits=edits) if edits else None


def _ack_of(node: Node, finding: Finding) -> Node | None:
    """Return an ack of the handler's own input, as it is written elsewhere in the handler."""
    function = node.nearest(*SCOPES)
    if function is None or function.kind != "function" or function.name != finding.handler:
        return None
    inputs = {each.name for part in function.children for each in part.walk() if each.kind == "parameter"}
    for call in function.walk():
        tup = completion(call, "ack") if call.kind == "call" else None
        ack = statement_of(call) if tup is not None else None
        if ack is None or tup is None or call.nearest(*SCOPES) is not function or tup.name not in inputs:
            continue
        if not is_bound(function, tup.name) and f"`{tup.name}`" in finding.message:
            return ack
    return None
