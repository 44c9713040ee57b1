"""ACK201 in Java: an emit in the handler, and one in a helper, which then gets the input as a parameter."""

import re

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import handler_of, has_two_values, input_of, is_left_on_purpose, is_local
from ackdoctor.model.finding import Edit, Finding, Fix

_MOST_HELPERS = 8
_OPENING = re.compile(r"\(\s*")


def anchor_in_handler(finding: Finding, document: Document) -> Fix | None:
    """Anchor an emit in the handler, or in a lambda or an anonymous class of it, which can read the input."""
    emit = document.node_at(finding.site.span, "call") if document.java else None
    handler = handler_of(emit, finding) if emit is not None else None
    name = input_of(document, handler, finding) if handler is not None else ""
    edits = _anchored(document, emit, name) if emit is not None and name in finding.details else None
    return Fix(title=f"Anchor the emit to `{name}`", safe=True, edits=edits) if edits else None


def anchor_in_helper(finding: Finding, document: Document) -> Fix | None:
    """Pass the input on to the helper that emits, and anchor the emit to it.

    All helpers between the handler and the emit must be private, so that every call of them is in the file.
    """
    emit = document.node_at(finding.site.span, "call") if document.java and finding.details else None
    helper = emit.nearest("function") if emit is not None else None
    scope = helper.nearest("class") if helper is not None else None
    if emit is None or helper is None or scope is None or document.root is None:
        return None
    handlers = [node for node in scope.children if node.kind == "function" and node.name == finding.handler]
    kind = _tuple_type(document, handlers[0], finding.details[1]) if len(handlers) == 1 else None
    edits = _anchored(document, emit, finding.details[1])
    if kind is None or edits is None or helper is handlers[0] or not input_of(document, handlers[0], finding):
        return None
    name = finding.details[1]
    passed: list[Edit] = []
    waiting, done = [helper], [handlers[0]]
    while waiting:
        function = waiting.pop()
        if function in done:
            continue
        done.append(function)
        added = _with_parameter(document, function, f"{kind} {name}", name)
        calls = _calls_of(document, function)
        if added is None or calls is None or len(done) > _MOST_HELPERS:
            return None
        passed.append(added)
        for call in calls:
            caller = call.nearest("function")
            if caller is None or caller.nearest("class") is not scope:
                return None
            passed.append(_with_argument(document, call, name))
            waiting.append(caller)
    title = f"Pass `{name}` to `{helper.name}`, and anchor the emit to it"
    return Fix(title=title, safe=False, edits=(*edits, *passed))


def _anchored(document: Document, emit: Node, name: str) -> tuple[Edit, ...] | None:
    """Put the anchor before the values: `emit(values)` and `emit(stream, values)`."""
    given = [each for each in emit.children if each.kind == "argument"]
    if is_left_on_purpose(document, emit) or emit.name != "emit" or not 1 <= len(given) <= 2 or not name:  # noqa: PLR2004
        return None
    return (document.edit(given[-1].start, given[-1].start, f"{name}, "),)


def _tuple_type(document: Document, handler: Node, name: str) -> str | None:
    """Return the declared type of the handler's input."""
    for node in handler.walk():
        if node.kind == "parameter" and node.name == name:
            return document.source(node).removeprefix("final ").removesuffix(name).strip() or None
    return None


def _with_parameter(document: Document, function: Node, code: str, name: str) -> Edit | None:
    """Add a first parameter to a private method that has no variable of this name, and no other method its name."""
    scope = function.nearest("class")
    head = document.text[function.start : function.children[-1].start]
    named = (
        [node for node in scope.children if node.kind == "function" and node.name == function.name]
        if scope
        else []
    )
    called = next((node for node in function.children if node.kind == "name"), None)
    if not re.search(r"\bprivate\b", head) or len(named) != 1 or called is None:
        return None
    if is_local(function, name) or has_two_values(document, function, name):
        return None
    opening = _OPENING.match(document.text, called.end)
    if opening is None:
        return None
    more = document.text[opening.end() : opening.end() + 1] != ")"
    return document.edit(opening.end(), opening.end(), f"{code}, " if more else code)


def _calls_of(document: Document, function: Node) -> list[Node] | None:
    """Return the calls of a private method; None if the file mentions it in another way, as in `this::send`."""
    root = document.root
    calls = (
        [node for node in root.walk() if node.kind == "call" and node.name == function.name] if root else []
    )
    calls = [
        each
        for each in calls
        if not each.children
        or each.children[0].kind != "receiver"
        or document.source(each.children[0]) == "this"
    ]
    scope = function.nearest("class")
    kind = rf"\b{scope.name}(?:<[^;=()]*>)?\s+" if scope is not None else ""
    mentions = rf"::\s*{function.name}\b|\.this\s*\.\s*{function.name}\s*\(|{kind}(\w+)\b(?=[\s\S]*\b\1\.{function.name}\s*\()"
    return calls if calls and not re.search(mentions, document.text) else None


def _with_argument(document: Document, call: Node, name: str) -> Edit:
    """Add a first argument to a call."""
    given = [each for each in call.children if each.kind == "argument"]
    at = given[0].start if given else document.text.rfind("(", call.start, call.end) + 1
    return document.edit(at, at, f"{name}, " if given else name)
