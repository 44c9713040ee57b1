"""Whether the work of a handler is done where a fix would ack the input: an ack of lost work is the worst fix.

An ack is refused in a `catch`, behind a store into a buffer that is emptied elsewhere, and in a branch whose condition
is about anything but the input, such as the result of a write.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, parameters

__all__ = ["is_buffered", "is_dropped_on_purpose", "is_undecided"]

_READ = re.compile(
    r"(?!\w*And[A-Z])(?:get|(?:is|has)[A-Z]|contains|equals|startsWith|endsWith|matche?[sr]|length$|size$|indexOf|compare|parse"
    r"|split|trim|strip|to[A-Z]|value|keys?$|keySet|find|charAt|(?:int|long|double|boolean)Value|read|decode|deserialize"
    r"|convert|extract|lookup|select|valid|test$|from|as[A-Z]|fetch|of$|ofNullable|format|substring|replace|concat"
    r"|(?:is|has)_|is(?:instance|digit|alpha|alnum|space|upper|lower|numeric)$|(?:starts|ends)with$|lower$|upper$|[lr]strip$"
    r"|len$|int$|float$|str$|bool$|list$|dict$|set$|tuple$|type$|repr$|sorted$|enumerate$|zip$|any$|all$|min$|max$|loads$|items$|rsplit$)"
)
_STORE = r"\.\s*(?:add\w*|append|insert\w*|offer\w*|push|put\w*|merge|compute\w*|set|write\w*)\s*\("
_EMPTIED = (
    r"\.\s*(?:clear|poll\w*|pop|drainTo|remove\w*|setLength|delete|take|flush|commit|execute\w*|iterator|stream"
    r"|entrySet|values|forEach|reset|toArray)\s*\("
)
_LATER = re.compile(r"\.\s*(?:enqueue|schedule|submit|buffer|queue|defer)\w*\s*\(|\b\w+Async\s*\(")
_LOG = re.compile(r"(?:this\.)?(?:log|logger|LOG|LOGGER|System\.(?:out|err))")
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


def is_dropped_on_purpose(node: Node, handler: Node, document: Document, name: str) -> bool:
    """Whether only the input decides that control reaches a node, and no exception does."""
    inputs = _derived(document, handler, name, node)
    if any(_works(call, handler, document) for call in _conditions(node, handler, document)):
        return False
    for each in (node, *node.around()):
        if each is handler:
            return True
        above = each.parent
        if above is None or each.kind in ("handler", *SCOPES):
            return False
        decides = above.kind == "if" or document.source(above).startswith("switch")
        if decides and each is not _condition(above) and not _is_about(_condition(above), inputs, document):
            return False
    return False


def _conditions(node: Node, handler: Node, document: Document) -> Iterator[Node]:
    """Yield the calls in the conditions around a node."""
    for each in node.around():
        if each is handler:
            return
        if each.kind == "if" or document.source(each).startswith("switch"):
            yield from (call for call in _condition(each).walk() if call.kind == "call")


def _condition(branch: Node) -> Node:
    """Return what decides about a branch."""
    return next(each for each in branch.children if each.kind != "block")


def _works(call: Node, handler: Node, document: Document) -> bool:
    """Whether a call does more than read, perhaps in a method of the class."""
    if _is_work(call, document):
        return True
    scope, receiver = handler.nearest("class"), call.children[0] if call.children else None
    is_own = receiver is None or receiver.kind != "receiver" or not receiver.children
    if scope is None or not (is_own or (receiver and document.source(receiver) in ("self", "this"))):
        return False
    own = [each for each in scope.walk() if each.kind == "function"]
    names = {call.name}
    for _ in range(_DEEPEST):
        names |= {one.name for each in own if each.name in names for one in each.walk() if one.kind == "call"}
    return any(each.name == call.name for each in own) and not all(map(_READ.match, names))


def is_undecided(handler: Node, document: Document, name: str) -> bool:
    """Whether a handler may reach its end without the work.

    A branch that does more than log depends on anything but the input, or a `catch` of more than reading goes on.
    """
    inputs = _derived(document, handler, name)
    for node in handler.walk():
        if (node.kind == "handler" and _goes_on(node, document)) or _is_skipped(node, document, inputs):
            return True
        if node.kind != "if" or node.nearest(*SCOPES) is not handler:
            continue
        calls = [call for part in node.children[1:] for call in part.walk() if call.kind == "call"]
        logs = all(
            call.children and _LOG.match(document.source(call.children[0]))
            for call in calls
            if _is_outer(call)
        )
        works = any(_is_work(call, document) for call in node.children[0].walk())
        if not _is_about(node.children[0], inputs, document) and (works or not logs or not calls):
            return True
    return False


def _is_skipped(node: Node, document: Document, inputs: set[str]) -> bool:
    """Whether work is in a condition of a loop or a choice within an expression, in a `switch`, or in a lambda."""
    text = document.source(node)
    work = any(_is_work(call, document) for call in node.walk())
    if node.kind == "loop":
        head = [each for each in node.children if each.kind != "block"]
        return text.startswith(("while", "do")) and any(
            _is_work(call, document) for each in head for call in each.walk()
        )
    if node.kind == "lambda":
        run = node.nearest("call")
        return work and (run is None or run.name != "forEach")
    if node.kind == "other" and text.startswith("switch"):
        return work and not _is_about(node.children[0], inputs, document)
    operators = (
        [document.text[one.end : two.start] for one, two in pairwise(node.children)]
        if node.kind == "other"
        else []
    )
    return work and any(each.strip() in ("?", "&&", "||") for each in operators)


def _goes_on(catch: Node, document: Document) -> bool:
    """Whether the code behind a `try` that does more than read runs after this `catch` too."""
    block, whole = catch.children[-1], catch.parent
    works = any(
        _is_work(call, document)
        for part in (whole.children if whole is not None else ())
        if part.kind == "block"
        for call in part.walk()
    )
    return works and not (block.children and block.children[-1].kind in ("return", "raise"))


def _is_outer(call: Node) -> bool:
    return call.parent is not None and call.parent.kind == "expression"


def _derived(document: Document, handler: Node, name: str, place: Node | None = None) -> set[str]:
    """Return the input and the locals that are computed from it by reading alone.

    A local that is set in a `try` says behind it whether an exception was caught.
    """
    found, others = {name}, set()
    for node in handler.walk():
        if node.kind != "bound" or node.parent is None:
            continue
        values = _values_of(node)
        about = any(True for each in values for _ in _mentions(each, found))
        if about and all(_is_about(each, found, document) for each in values) and not _is_caught(node, place):
            found.add(node.name)
        elif any(each.kind in ("call", "name") for value in values for each in value.walk()):
            others.add(node.name)
    return found - others


def _values_of(bound: Node) -> list[Node]:
    """Return what a local is set to; the whole value if several locals share it."""
    for each in (bound, *bound.around()):
        above = each.parent
        if above is None or above.kind in ("block", *SCOPES):
            break
        later = [
            one for one in above.children if one.start >= each.end and one.kind not in ("block", "bound")
        ]
        if later:
            return later
    return []


def _is_caught(bound: Node, place: Node | None) -> bool:
    whole = bound.nearest("try", *SCOPES)
    if whole is None or not any(each.kind == "handler" for each in whole.children):
        return False
    return place is None or whole not in place.around()


def _is_work(node: Node, document: Document) -> bool:
    """Whether a node is a call that does more than read, or than ask a set or a map for a new key."""
    if node.kind != "call" or _READ.match(node.name):
        return False
    owner = document.source(node.children[0]).removeprefix("this.") if node.children else ""
    asks = node.name in ("add", "putIfAbsent") and re.fullmatch(r"\w+", owner)
    return not (asks and re.search(rf"\b\w*(?:Set|Map)(?:<[^;=()]*>)?\s+{owner}\b", document.text))


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
            works = any(_is_work(each, document) for each in node.walk())
            return not works and any(True for _ in _mentions(node, inputs))
        case _ if re.search(r"\binstanceof\b", document.source(node)) and len(node.children) > 1:
            return _is_about(node.children[0], inputs, document)  # the others are a type and its variable
        case _:
            return all(_is_about(each, inputs, document) for each in node.children)
