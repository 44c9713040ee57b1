"""ACK303 in Java: forget a record when it is acked or sent again."""

import re

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, parameters, unit_of
from ackdoctor.fixes.java_paths import append
from ackdoctor.model.finding import Edit, Finding, Fix


def forget_on_ack(finding: Finding, document: Document) -> Fix | None:
    """Remove the entry of the acked message in `ack`, which is added if the spout has none."""
    put = document.node_at(finding.site.span, "call") if document.java and finding.case == "message" else None
    scope = put.nearest("class") if put is not None else None
    function = put.nearest(*SCOPES) if put is not None else None
    if put is None or put.name != "put" or scope is None or function is None or function.kind != "function":
        return None
    field = document.source(put.children[0])
    if not re.fullmatch(r"(?:this\.)?\w+", field):
        return None
    acks = [node for node in scope.children if node.kind == "function" and node.name == "ack"]
    if len(acks) > 1:
        return None
    if acks:
        names = parameters(acks[0])
        block = acks[0].children[-1]
        if (
            len(names) != 1
            or block.kind != "block"
            or any(node.kind in ("return", "raise") for node in block.walk())
        ):
            return None
        edits = append(document, acks[0], block, f"{field}.remove({names[0]});")
    else:
        edits = _method(document, function, f"{field}.remove(msgId);")
    return Fix(title=f"Remove the entry from `{field}` in `ack`", safe=False, edits=edits) if edits else None


def _method(document: Document, function: Node, code: str) -> tuple[Edit, ...] | None:
    """Add the method `ack` behind another one."""
    indent, end = document.indent(function), document.line_end(function.end)
    if indent is None or document.text[function.end : end].strip():
        return None
    unit, line = unit_of(document, function), document.newline
    text = f"{line}{line}{indent}@Override{line}{indent}public void ack(Object msgId) {{{line}{indent}{unit}{code}{line}{indent}}}"
    return (document.edit(end, end, text),)


def forget_on_replay(finding: Finding, document: Document) -> Fix | None:
    """Take the entry of the failed message out of the field, where `fail` reads it."""
    put = document.node_at(finding.site.span, "call") if document.java and finding.case == "new id" else None
    function = put.nearest(*SCOPES) if put is not None else None
    if put is None or function is None or function.kind != "function" or len(parameters(function)) != 1:
        return None
    field, name = document.source(put.children[0]), parameters(function)[0]
    reads = [
        node
        for node in function.walk()
        if node.kind == "call" and document.source(node) == f"{field}.get({name})" and node.name == "get"
    ]
    if len(reads) != 1 or reads[0].nearest("loop", "if", "function") is not function:
        return None
    at = reads[0].start + len(field) + 1
    edits = (document.edit(at, at + len("get"), "remove"),)
    return Fix(title=f"Remove the old entry from `{field}`", safe=False, edits=edits)
