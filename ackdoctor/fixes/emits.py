"""ACK201, ACK204 and ACK205: the anchors of an emit, arguments in the wrong place, and a field that the serialiser rejects.

In Java a helper that emits gets the input as a parameter.
"""

import re

from ackdoctor.fixes.document import Document, Node, fits, need, proposed
from ackdoctor.fixes.handlers import (
    handler_of,
    has_two_values,
    input_of,
    is_left_on_purpose,
    is_local,
    parameters,
)
from ackdoctor.fixes.java_methods import calls_of, has_overload, types_of
from ackdoctor.fixes.statements import is_bound
from ackdoctor.model.finding import Edit, Finding, Fix

_TO_THE_CLOSE = re.compile(r"(?:\s|#[^\n]*\n|\))*\)")
_CONVERSIONS = {  # by the phrase of the rule's advice
    "sequence": "list({})",
    "iterator": "list({})",
    "datetime": "{}.isoformat()",
    "date": "{}.isoformat()",
    "duration": "{}.total_seconds()",
    "array": "{}.tolist()",
    "number": "{}.item()",
    "text": "str({})",
}
_ATOMS = ("name", "attribute", "call")
_MOST_HELPERS = 8
_OPENING = re.compile(r"\(\s*")


# ---- Python ----


def add_anchor(finding: Finding, document: Document) -> Fix:
    """Anchor an emit of the handler itself to its input, in Python."""
    call = document.call_at(finding)
    fits(not document.java, len(finding.details) == 3, not is_left_on_purpose(document, call))  # noqa: PLR2004
    keyword, name, anchors = finding.details
    function = need(call.nearest("function", "class"))
    fits(name, function.kind == "function", function.name == finding.handler)
    inputs = {node.name for each in function.children for node in each.walk() if node.kind == "parameter"}
    fits(name in inputs, not is_bound(function, name))
    given = call.arguments
    fits(given, keyword, all(each.name not in ("*", keyword) for each in given))
    at = given[-1].end
    if found := _TO_THE_CLOSE.match(document.text, at, call.end - 1):
        at = found.end()
    edit = document.edit(at, at, f", {keyword}={anchors}")
    return proposed(f"Anchor the emit to `{name}`", [edit], safe=True)


def repair_arguments(finding: Finding, document: Document) -> Fix:
    """Repair the anchors, the stream or the payload of an emit in Python."""
    given = document.call_at(finding).arguments
    fits(not document.java)
    match finding.case:
        case "stream":
            return _name_anchors(document, given)
        case "payload":
            fits(given and not given[0].name and given[0].children[0].kind == "name")
            values = f"{document.source(given[0])}.values"
            return proposed(f"Emit `{values}`", [document.edit(given[0].start, given[0].end, values)])
        case "ignored":
            return _leave_out(document, given, need(_named(given)))
        case case:
            node = need(_named(given)).children[0]
            value = _repaired(document, case, node)
            return proposed(
                f"Pass `anchors={value}`", [document.edit(node.start, node.end, value)], safe=True
            )


def _named(given: list[Node]) -> Node | None:
    return next((each for each in given if each.name == "anchors"), None)


def _repaired(document: Document, case: str, value: Node) -> str:
    """Return what a wrong value of `anchors` should be."""
    if case in ("tuple", "id"):
        return _as_list(document, value)
    if case == "list of ids":
        fits(value.kind == "list", value.children)
        return f"[{', '.join(document.source(_without_id(each)) for each in value.children)}]"
    fits(case in ("element", "nested"), len(value.children) == 1)
    element = value.children[0]
    if case == "nested":
        return document.source(element)
    fits(element.children)
    return _as_list(document, element.children[0])


def _as_list(document: Document, value: Node) -> str:
    """`tup` and `tup.id` as `[tup]`."""
    return f"[{document.source(_without_id(value))}]"


def _without_id(value: Node) -> Node:
    """Return the variable in `tup.id`, or the variable or element itself."""
    if value.kind == "attribute" and value.name == "id" and value.children:
        value = value.children[0]
    fits(value.kind == "name")
    return value


def _leave_out(document: Document, given: list[Node], argument: Node) -> Fix:
    """Remove a keyword argument that has no effect, with the comma before it."""
    place = given.index(argument)
    fits(place, not any(True for _ in argument.calls()))
    before = given[place - 1].end
    start = document.text.rfind(",", before, argument.start)
    fits(start >= 0, "#" not in document.text[before : argument.start])
    return proposed("Remove `anchors`", [document.edit(start, argument.end, "")], safe=True)


def _name_anchors(document: Document, given: list[Node]) -> Fix:
    """Name the second positional argument, which is meant as the anchors."""
    fits(len(given) == 2 and not any(each.name for each in given))  # noqa: PLR2004
    value = given[1].children[0]
    text = document.source(value) if value.kind == "list" else _as_list(document, value)
    edit = document.edit(given[1].start, given[1].end, f"anchors={text}")
    return proposed(f"Pass `anchors={text}`", [edit], safe=True)


def convert_field(finding: Finding, document: Document) -> Fix:
    """Convert the value where it is emitted."""
    given = document.call_at(finding).arguments
    fits(not document.java, len(finding.details) == 2, given and not given[0].name)  # noqa: PLR2004
    place, phrase = finding.details
    conversion, fields = need(_CONVERSIONS.get(phrase)), given[0].children[0].children
    opening = document.source(given[0].children[0])[:1]
    fits(opening in ("[", "("), int(place) < len(fields))
    value = fields[int(place)]
    text = document.source(value)
    fits(not text.startswith("*"), value.kind in _ATOMS or not conversion.startswith("{"))
    fixed = conversion.format(text[1:-1] if value.kind == "lambda" and text[:1] == "(" else text)
    return proposed(f"Emit `{fixed}`", [document.edit(value.start, value.end, fixed)], safe=True)


# ---- Java ----


def anchor_in_handler(finding: Finding, document: Document) -> Fix:
    """Anchor an emit in the handler, or in a lambda or an anonymous class of it, which can read the input."""
    emit = document.call_at(finding)
    fits(document.java)
    name = input_of(document, handler_of(emit, finding), finding)
    fits(name in finding.details)
    return proposed(f"Anchor the emit to `{name}`", [_anchored(document, emit, name)], safe=True)


def anchor_in_helper(finding: Finding, document: Document) -> Fix:
    """Pass the input on to the helper that emits, and anchor the emit to it.

    Every call of the helpers between the handler and the emit must be in this file.
    """
    emit = document.call_at(finding)
    fits(document.java, finding.details)
    helper = need(emit.nearest("function"))
    scope, name = need(helper.nearest("class")), finding.details[1]
    handlers = [node for node in scope.children if node.kind == "function" and node.name == finding.handler]
    fits(len(handlers) == 1 and helper is not handlers[0])
    kind = _tuple_type(document, handlers[0], name)
    input_of(document, handlers[0], finding)
    edits = [_anchored(document, emit, name)]
    waiting, done = [helper], [handlers[0]]
    while waiting:
        function = waiting.pop()
        if function in done:
            continue
        done.append(function)
        calls = calls_of(document, function)
        fits(len(done) <= _MOST_HELPERS)
        callers = [need(call.nearest("function")) for call in calls]
        fits(all(caller.nearest("class") is scope for caller in callers))
        waiting += callers
        if not _has_parameter(document, function, kind, name, calls):
            edits.append(_with_parameter(document, function, kind, name))
            edits += (_with_argument(document, call, name) for call in calls)
    return proposed(f"Pass `{name}` to `{helper.name}`, and anchor the emit to it", edits)


def _anchored(document: Document, emit: Node, name: str) -> Edit:
    """Put the anchor before the values: `emit(values)` and `emit(stream, values)`."""
    given = emit.arguments
    fits(not is_left_on_purpose(document, emit), emit.name == "emit", 1 <= len(given) <= 2, name)  # noqa: PLR2004
    return document.edit(given[-1].start, given[-1].start, f"{name}, ")


def _tuple_type(document: Document, handler: Node, name: str) -> str:
    """Return the declared type of the handler's input."""
    declared = (node for node in handler.walk() if node.kind == "parameter" and node.name == name)
    node = need(next(declared, None))
    return need(document.source(node).removeprefix("final ").removesuffix(name).strip() or None)


def _with_parameter(document: Document, function: Node, kind: str, name: str) -> Edit:
    """Add a first parameter to a method that has no variable of this name."""
    called = need(next((node for node in function.children if node.kind == "name"), None))
    fits(not has_overload(document, function, kind))
    fits(not is_local(function, name), not has_two_values(document, function, name))
    at = need(_OPENING.match(document.text, called.end)).end()
    more = document.text[at : at + 1] != ")"
    return document.edit(at, at, f"{kind} {name}, " if more else f"{kind} {name}")


def _has_parameter(document: Document, function: Node, kind: str, name: str, calls: list[Node]) -> bool:
    """Whether an earlier fix made the input the first parameter of a method, and each call passes it."""
    types = types_of(document, function)
    return (
        parameters(function)[:1] == [name]
        and types[:1] == [kind.rpartition(" ")[2]]
        and not has_two_values(document, function, name)
        and all([document.source(each) for each in call.arguments[:1]] == [name] for call in calls)
    )


def _with_argument(document: Document, call: Node, name: str) -> Edit:
    """Add a first argument to a call."""
    given = call.arguments
    at = given[0].start if given else document.text.rfind("(", call.start, call.end) + 1
    return document.edit(at, at, f"{name}, " if given else name)
