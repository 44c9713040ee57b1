"""What a fix knows about the handler of a component: its input, and how the component writes an ack or a fail."""

import re
from collections.abc import Iterator

from ackdoctor.fixes.document import SCOPES, Document, Node, NoFix, need
from ackdoctor.fixes.statements import is_bound
from ackdoctor.model.finding import Finding

__all__ = [
    "calls_before",
    "caught_at",
    "completing",
    "handler_of",
    "has_two_values",
    "input_of",
    "is_left_on_purpose",
    "is_local",
    "keeps_work",
    "parameters",
    "unit_of",
]

_STORES = frozenset("add addAll addLast append appendleft extend insert offer push put putAll send".split())
_OWNER = re.compile(r"(?:this\.)?(?!super\b)\w+")
_COLLECTOR = re.compile(r"\bI?OutputCollector\s+\w+\s*;")


def handler_of(node: Node, finding: Finding) -> Node:
    """Return the handler that holds a node; the code of a lambda or an anonymous class in it belongs to it."""
    for each in (node, *node.around()):
        if each.kind == "function" and each.name == finding.handler:
            return each
        if each.kind == "class" and each.name:
            break
    raise NoFix


def caught_at(finding: Finding, document: Document) -> Node:
    """Return the exception handler on whose first line a finding is."""
    line = document.line_start(document.offset(*finding.site.span[:2]))
    handlers = document.holding(finding.site.span, "handler")
    return need(next((each for each in handlers if document.line_start(each.start) == line), None))


def input_of(document: Document, handler: Node, finding: Finding) -> str:
    """Return the parameter that a finding is about; raise NoFix if the handler gives its name to another value."""
    named = (name for name in parameters(handler) if f"`{name}`" in finding.message)
    return need(next((name for name in named if not has_two_values(document, handler, name)), None))


def parameters(function: Node) -> list[str]:
    """Return the names of a function's parameters."""
    nodes = (node for node in function.walk() if node.kind == "parameter")
    return [node.name for node in nodes if node.nearest(*SCOPES) is function]


def has_two_values(document: Document, handler: Node, name: str) -> bool:
    """Whether an assignment, or a parameter of a lambda or a function in the handler, has this name."""
    return is_bound(handler, name) or any(
        node is not handler
        and (
            (node.kind == "function" and name in parameters(node))
            or (node.kind == "lambda" and re.search(rf"\b{name}\b", document.source(node).partition("->")[0]))
        )
        for node in handler.walk()
    )


def is_left_on_purpose(document: Document, emit: Node) -> bool:
    """Whether a comment beside an emit, or in the two lines above it, is about anchors: its author knows."""
    start = document.line_start(emit.start)
    for _ in range(2):
        start = document.line_start(max(0, start - 1))
    near = document.text[start : document.line_end(emit.end)]
    return re.search(r"(?:#|//|\*)[^\n]*\banchor", near, re.IGNORECASE) is not None


def keeps_work(node: Node) -> bool:
    """Whether a statement before a node, in the blocks around it, puts something into a collection: its work is not done."""
    return any(call.name in _STORES for call in calls_before(node))


def calls_before(node: Node) -> Iterator[Node]:
    """Yield the calls in the statements before a node, in the blocks around it up to its function."""
    for each in (node, *node.around()):
        if each.kind in SCOPES:
            return
        block = each.parent
        if block is not None and block.kind == "block":
            before = block.children[: block.children.index(each)]
            yield from (call for statement in before for call in statement.calls())


def is_local(function: Node, name: str) -> bool:
    """Whether a function has a parameter or a variable of this name."""
    return name in parameters(function) or is_bound(function, name)


def completing(document: Document, handler: Node, name: str, verb: str) -> str:
    """Return the statement that completes the input, as the component writes it elsewhere."""
    owner = need(next(_owners(document, handler), None))
    return f"{owner}.{verb}({name}){';' if document.java else ''}"


def _owners(document: Document, handler: Node) -> Iterator[str]:
    """Yield what `ack` and `fail` are called on: in the handler, then in its class; then a field of the right type."""
    scope = handler.nearest("class")
    for place in (handler, scope) if scope is not None else (handler,):
        for call in place.calls("ack", "fail"):
            function = call.nearest("function")
            owner = document.source(call.children[0]) if call.children else ""
            hidden = function is not None and function is not handler and is_local(function, owner)
            if _OWNER.fullmatch(owner) and (owner == "self" or not hidden):
                yield owner
    for field in scope.children if scope is not None else ():
        is_collector = field.kind == "field" and _COLLECTOR.search(document.source(field))
        if is_collector and not is_local(handler, field.name):
            yield field.name


def unit_of(document: Document, function: Node) -> str:
    """Return the white space of one level of indentation."""
    outer = function.nearest("class")
    while outer is not None and document.indent(outer) is None:
        outer = outer.parent
    inner, base = document.indent(function), document.indent(outer) if outer is not None else None
    if inner is not None and base is not None and inner.startswith(base) and len(inner) > len(base):
        return inner[len(base) :]
    return "\t" if "\n\t" in document.text else "    "
