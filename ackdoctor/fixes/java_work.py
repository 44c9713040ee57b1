"""Whether the work of a Java handler is done where a fix would ack the input: an ack of lost work is the worst fix.

An ack is refused in a `catch`, behind a store into a buffer that is emptied elsewhere, and in a branch whose condition
is about anything but the input, such as the result of a write.
"""

import re
from collections.abc import Iterator

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, parameters

__all__ = ["is_buffered", "is_dropped_on_purpose", "is_undecided"]

_READ = re.compile(
    r"(?:get|is|has|contains|equals|starts|ends|match|length$|size$|index|compare|parse|split|trim|strip|to[A-Z]|value|key"
    r"|find|char|int|long|double|boolean|read|decode|deserialize|convert|extract|lookup|select|valid|accept|test$|from"
    r"|as[A-Z]|json|fetch|map|of$|format|substring|replace|concat)"
)
_STORE = r"\.\s*(?:add\w*|append|insert\w*|offer\w*|push|put\w*|merge|compute\w*|set|write\w*)\s*\("
_EMPTIED = (
    r"\.\s*(?:clear|poll\w*|pop|drainTo|remove\w*|setLength|delete|take|flush|commit|execute\w*|iterator|stream"
    r"|entrySet|values|forEach|reset|toArray)\s*\("
)
_LOG = re.compile(r"(?:this\.)?(?:log|logger|LOG|LOGGER|System\.(?:out|err))")
_DEEPEST = 4  # calls of the component's own methods


def is_buffered(document: Document, handler: Node, end: int) -> bool:
    """Whether code of the handler before an offset, or a method it calls, stores into a buffer of the component."""
    scope = handler.nearest("class")
    whole = document.source(scope) if scope is not None else document.source(handler)
    parts = [document.text[handler.children[-1].start : end]]
    parts += (document.source(each) for each in _called(handler, end))
    return any(
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
    patterns = (rf"(\w+)\s*{_STORE}", r"(\w+)\s*\[[^\]]*\]\s*=[^=]", r"(\w+)\s*\+=\s*[^\d\s]")
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
    """Whether a name is a local or a parameter of the handler."""
    locals_ = {node.name for node in handler.walk() if node.kind == "bound" and _is_declared(node)}
    return name in locals_ or name in parameters(handler)


def _is_declared(bound: Node) -> bool:
    """Whether a write declares a variable: the declarator ends with its value, and another node holds it."""
    above = bound.parent.parent if bound.parent is not None else None
    return bound.parent is not None and (
        bound.parent.kind == "loop" or (above is not None and above.kind not in ("expression", "field"))
    )


def is_dropped_on_purpose(node: Node, handler: Node, document: Document, name: str) -> bool:
    """Whether only the input decides that control reaches a node, and no exception does."""
    inputs = _derived(handler, name, node)
    for each in (node, *node.around()):
        if each is handler:
            return True
        above = each.parent
        if above is None or each.kind in ("handler", *SCOPES):
            return False
        decides = above.kind == "if" or document.source(above).startswith("switch")
        if decides and each is not above.children[0] and not _is_about(above.children[0], inputs, document):
            return False
    return False


def is_undecided(handler: Node, document: Document, name: str) -> bool:
    """Whether a handler may reach its end without the work.

    A branch that does more than log depends on anything but the input, or a `catch` of more than reading goes on.
    """
    inputs = _derived(handler, name)
    for node in handler.walk():
        if node.kind == "handler" and node.nearest(*SCOPES) is handler and _goes_on(node):
            return True
        if node.kind != "if" or node.nearest(*SCOPES) is not handler:
            continue
        calls = [call for part in node.children[1:] for call in part.walk() if call.kind == "call"]
        logs = all(
            call.children and _LOG.match(document.source(call.children[0]))
            for call in calls
            if _is_outer(call)
        )
        works = any(call.kind == "call" and not _READ.match(call.name) for call in node.children[0].walk())
        if not _is_about(node.children[0], inputs, document) and (works or not logs or not calls):
            return True
    return False


def _goes_on(catch: Node) -> bool:
    """Whether the code behind a `try` that does more than read runs after this `catch` too."""
    block, whole = catch.children[-1], catch.parent
    works = any(
        call.kind == "call" and not _READ.match(call.name)
        for part in (whole.children if whole is not None else ())
        if part.kind == "block"
        for call in part.walk()
    )
    return works and not (block.children and block.children[-1].kind in ("return", "raise"))


def _is_outer(call: Node) -> bool:
    return call.parent is not None and call.parent.kind == "expression"


def _derived(handler: Node, name: str, place: Node | None = None) -> set[str]:
    """Return the input and the locals that are computed from it by reading alone.

    A local that is set in a `try` says behind it whether an exception was caught.
    """
    found, others = {name}, set()
    for node in handler.walk():
        if node.kind != "bound" or node.parent is None:
            continue
        values = [each for each in node.parent.children if each.start > node.start and each.kind != "block"]
        if values and all(_reads(each, found) for each in values) and not _is_caught(node, place):
            found.add(node.name)
        elif any(each.kind in ("call", "name") for value in values for each in value.walk()):
            others.add(node.name)
    return found - others


def _is_caught(bound: Node, place: Node | None) -> bool:
    whole = bound.nearest("try", *SCOPES)
    if whole is None or not any(each.kind == "handler" for each in whole.children):
        return False
    return place is None or whole not in place.around()


def _reads(node: Node, inputs: set[str]) -> bool:
    """Whether an expression reads from the input and does nothing else."""
    calls = all(_READ.match(each.name) for each in node.walk() if each.kind == "call")
    return calls and any(True for _ in _mentions(node, inputs))


def _mentions(node: Node, inputs: set[str]) -> Iterator[Node]:
    return (each for each in node.walk() if each.kind == "name" and each.name in inputs)


def _is_about(node: Node, inputs: set[str], document: Document) -> bool:
    """Whether a condition reads the input, constants, and nothing else."""
    match node.kind:
        case "name":
            return node.name in inputs or node.name[:1].isupper()
        case "attribute":
            last = document.source(node).rpartition(".")[2]
            return last.isupper() or any(True for _ in _mentions(node, inputs))
        case "call":
            return _reads(node, inputs)
        case _:
            return all(_is_about(each, inputs, document) for each in node.children)
