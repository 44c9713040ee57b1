"""Whether the work of a handler waits in a buffer that is emptied elsewhere, where a fix would ack the input."""

import re

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import parameters

__all__ = ["is_buffered"]

_STORE = r"\.\s*(?:add\w*|append|insert\w*|offer\w*|push|put\w*|merge|compute\w*|set|write\w*)\s*\("
_EMPTIED = (
    r"\.\s*(?:clear|poll\w*|pop|drainTo|remove\w*|setLength|delete|take|flush|commit|execute\w*|iterator|stream"
    r"|entrySet|values|forEach|reset|toArray)\s*\("
)
_LATER = re.compile(r"\.\s*(?:enqueue|schedule|submit|buffer|queue|defer)\w*\s*\(|\b\w+Async\s*\(")
_DEEPEST = 4  # calls of the component's own methods


def is_buffered(document: Document, handler: Node, end: int) -> bool:
    """Whether the handler before an offset, or a method it calls, fills a buffer or hands its work to other code."""
    scope = handler.nearest("class")
    whole = document.source(scope) if scope is not None else document.source(handler)
    parts = [document.text[handler.children[-1].start : end]]
    parts += (document.source(each) for each in _called(handler, end))
    return any(_LATER.search(part) for part in parts) or any(
        _is_emptied(whole, name) for part in parts for name in _stored(part) if not _is_new(handler, name)
    )


def _called(handler: Node, end: int) -> list[Node]:
    """Return the methods of the class that a handler calls before an offset, and those that they call."""
    scope = handler.nearest("class")
    own = [each for each in scope.children if each.kind == "function"] if scope is not None else []
    names = {call.name for call in handler.walk() if call.kind == "call" and call.start < end}
    for _ in range(_DEEPEST):
        names |= {
            call.name for each in own if each.name in names for call in each.walk() if call.kind == "call"
        }
    return [each for each in own if each.name in names and each is not handler]


def _stored(code: str) -> set[str]:
    """Return the variables into which code stores: by a call, by an index, or by appending to a text."""
    patterns = (
        rf"(\w+)\s*{_STORE}",
        r"(\w+)\s*\[[^\]]*\]\s*=[^=]",
        r"(\w+)\s*\+=\s*[^\d\s]",
        r"(?m)^\s*(?:this\.)?(\w+)\s*=[^=]",
    )
    return {name for pattern in patterns for name in re.findall(pattern, code)}


def _is_emptied(whole: str, name: str) -> bool:
    """Whether the class empties a variable, sends all of it, or replaces it."""
    patterns = (
        rf"\b{name}\s*{_EMPTIED}",
        rf"[(,:]\s*(?:this\.)?{name}\s*[,)]",
        rf"\b{name}\s*=\s*(?:new\b|\"\")",
    )
    found = [each for pattern in patterns for each in re.finditer(pattern, whole)]
    declared = re.compile(rf"[\w>\]]\s+{name}\s*=\s*(?:new\b|\"\")")
    made = {each.end() for each in declared.finditer(whole)}
    texts = re.search(rf"\b{name}\.(?:toString|length)\s*\(", whole)
    return bool(texts) or any(each.end() not in made for each in found)


def _is_new(handler: Node, name: str) -> bool:
    """Whether a name is a parameter, or a local whose value is no part of a field: a new object, or a text."""
    declared = [
        node for node in handler.walk() if node.kind == "bound" and node.name == name and _is_declared(node)
    ]
    return name in parameters(handler) or any(not _is_part_of_field(node, handler) for node in declared)


def _is_part_of_field(bound: Node, handler: Node) -> bool:
    """Whether a local is read from a field or from a method of the component."""
    above = bound.parent
    names = {node.name for node in handler.walk() if node.kind == "bound"} | set(parameters(handler))
    values = [each for each in above.children if each.start > bound.start] if above is not None else []
    first = next((node for each in values[:1] for node in each.walk() if not node.children), None)
    return first is not None and (first.kind == "call" or (first.kind == "name" and first.name not in names))


def _is_declared(bound: Node) -> bool:
    """Whether a write declares a variable: the declarator ends with its value, and another node holds it."""
    above = bound.parent.parent if bound.parent is not None else None
    return bound.parent is not None and (
        bound.parent.kind == "loop" or (above is not None and above.kind not in ("expression", "field"))
    )
