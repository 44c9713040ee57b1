"""ACK201 and ACK204: the anchors of an emit, and arguments in the wrong place."""

import re

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import is_left_on_purpose
from ackdoctor.fixes.statements import is_bound
from ackdoctor.model.finding import Edit, Finding, Fix

_TO_THE_CLOSE = re.compile(r"(?:\s|#[^\n]*\n|\))*\)")


def add_anchor(finding: Finding, document: Document) -> Fix | None:
    """Anchor an emit of the handler itself to its input, in Python."""
    call = document.node_at(finding.site.span, "call")
    if call is None or document.java or len(finding.details) != 3:  # noqa: PLR2004  # keyword, name and list
        return None
    if is_left_on_purpose(document, call):
        return None
    keyword, name, anchors = finding.details
    function = call.nearest("function", "class")
    if not name or function is None or function.kind != "function" or function.name != finding.handler:
        return None
    inputs = [node for node in function.children for node in node.walk() if node.kind == "parameter"]
    if not any(node.name == name for node in inputs) or is_bound(function, name):
        return None
    edit = _keyword(document, call, keyword, anchors)
    return Fix(title=f"Anchor the emit to `{name}`", safe=True, edits=(edit,)) if edit is not None else None


def _keyword(document: Document, call: Node, keyword: str, value: str) -> Edit | None:
    """Add a keyword argument behind the last one."""
    given = _arguments(call)
    if not given or not keyword or any(each.name in ("*", keyword) for each in given):
        return None
    at = given[-1].end
    if found := _TO_THE_CLOSE.match(document.text, at, call.end - 1):
        at = found.end()
    return document.edit(at, at, f", {keyword}={value}")


def _arguments(call: Node) -> list[Node]:
    return [each for each in call.children if each.kind == "argument"]


def repair_arguments(finding: Finding, document: Document) -> Fix | None:
    """Repair the anchors, the stream or the payload of an emit in Python."""
    call = document.node_at(finding.site.span, "call")
    if call is None or document.java:
        return None
    given = _arguments(call)
    named = next((each for each in given if each.name == "anchors"), None)
    match finding.case:
        case "tuple" | "id" if named is not None:
            return _replace(document, named, _as_list(document, named.children[0]))
        case "list of ids" if named is not None:
            return _replace(document, named, _without_ids(document, named.children[0]))
        case "element" if named is not None and len(named.children[0].children) == 1:
            return _replace(document, named, _without_attribute(document, named.children[0].children[0]))
        case "nested" if named is not None and len(named.children[0].children) == 1:
            return _replace(document, named, document.source(named.children[0].children[0]))
        case "ignored" if named is not None:
            return _leave_out(document, given, named)
        case "stream":
            return _name_anchors(document, given)
        case "payload" if given and not given[0].name and given[0].children[0].kind == "name":
            values = f"{document.source(given[0])}.values"
            edit = document.edit(given[0].start, given[0].end, values)
            return Fix(title=f"Emit `{values}`", safe=False, edits=(edit,))
        case _:
            return None


def _replace(document: Document, argument: Node, value: str | None) -> Fix | None:
    if value is None:
        return None
    node = argument.children[0]
    edit = document.edit(node.start, node.end, value)
    return Fix(title=f"Pass `anchors={value}`", safe=True, edits=(edit,))


def _as_list(document: Document, value: Node) -> str | None:
    """`tup` and `tup.id` as `[tup]`."""
    tup = _without_id(value)
    return f"[{document.source(tup)}]" if tup is not None else None


def _without_id(value: Node) -> Node | None:
    """Return the variable in `tup.id`, or the variable or element itself."""
    if value.kind == "attribute" and value.name == "id" and value.children:
        value = value.children[0]
    return value if value.kind == "name" else None


def _without_ids(document: Document, value: Node) -> str | None:
    tuples = [_without_id(each) for each in value.children] if value.kind == "list" else []
    names = [document.source(each) for each in tuples if each is not None]
    return f"[{', '.join(names)}]" if names and len(names) == len(tuples) else None


def _without_attribute(document: Document, element: Node) -> str | None:
    """Return the list of the tuple whose attribute an anchor names."""
    return _as_list(document, element.children[0]) if element.children else None


def _leave_out(document: Document, given: list[Node], argument: Node) -> Fix | None:
    """Remove a keyword argument that has no effect, with the comma before it."""
    place = given.index(argument)
    if place == 0 or any(node.kind == "call" for node in argument.walk()):
        return None
    start = document.text.rfind(",", given[place - 1].end, argument.start)
    between = document.text[given[place - 1].end : argument.start]
    if start < 0 or "#" in between:
        return None
    return Fix(title="Remove `anchors`", safe=True, edits=(document.edit(start, argument.end, ""),))


def _name_anchors(document: Document, given: list[Node]) -> Fix | None:
    """Name the second positional argument, which is meant as the anchors."""
    positional = [each for each in given if not each.name]
    if len(positional) != 2 or len(given) != 2:  # noqa: PLR2004
        return None
    value = positional[1].children[0]
    text = document.source(value) if value.kind == "list" else _as_list(document, value)
    if text is None:
        return None
    edit = document.edit(positional[1].start, positional[1].end, f"anchors={text}")
    return Fix(title=f"Pass `anchors={text}`", safe=True, edits=(edit,))
