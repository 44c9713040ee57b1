"""ACK201 in Java: an emit in the handler, and one in a helper, which then gets the input as a parameter."""

import re

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import (
    handler_of,
    has_two_values,
    input_of,
    is_left_on_purpose,
    is_local,
    parameters,
)
from ackdoctor.fixes.java_methods import calls_of, has_overload, types_of
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

    Every call of the helpers between the handler and the emit must be in this file.
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
        calls = calls_of(document, function)
        if calls is None or len(done) > _MOST_HELPERS:
            return None
        has = _has_parameter(document, function, kind, name, calls)
        added = _with_parameter(document, function, kind, name) if not has else None
        if added is None and not has:
            return None
        passed += [added] if added is not None else []
        for call in calls:
            caller = call.nearest("function")
            if caller is None or caller.nearest("class") is not scope:
                return None
            passed += [_with_argument(document, call, name)] if not has else []
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


def _with_parameter(document: Document, function: Node, kind: str, name: str) -> Edit | None:
    """Add a first parameter to a method that has no variable of this name."""
    called = next((node for node in function.children if node.kind == "name"), None)
    if called is None or has_overload(document, function, kind):
        return None
    if is_local(function, name) or has_two_values(document, function, name):
        return None
    opening = _OPENING.match(document.text, called.end)
    if opening is None:
        return None
    more = document.text[opening.end() : opening.end() + 1] != ")"
    code = f"{kind} {name}"
    return document.edit(opening.end(), opening.end(), f"{code}, " if more else code)


def _has_parameter(document: Document, function: Node, kind: str, name: str, calls: list[Node]) -> bool:
    """Whether an earlier fix made the input the first parameter of a method, and each call passes it."""
    types = types_of(document, function)
    passed = (next((each for each in call.children if each.kind == "argument"), None) for call in calls)
    return (
        parameters(function)[:1] == [name]
        and types[:1] == [kind.rpartition(" ")[2]]
        and not has_two_values(document, function, name)
        and all(each is not None and document.source(each) == name for each in passed)
    )


def _with_argument(document: Document, call: Node, name: str) -> Edit:
    """Add a first argument to a call."""
    given = [each for each in call.children if each.kind == "argument"]
    at = given[0].start if given else document.text.rfind("(", call.start, call.end) + 1
    return document.edit(at, at, f"{name}, " if given else name)
