"""ACK402: fail the tuple that waited under the same key."""

import re

from ackdoctor.fixes.document import Document
from ackdoctor.fixes.handlers import completing, handler_of, unit_of
from ackdoctor.model.finding import Edit, Finding, Fix

_NAME = "replaced"
_PUT = re.compile(r"(?:this\.)?\w+\.put\(.*\);", re.DOTALL)
_STORE = re.compile(r"(self\.\w+)\[([\w.]+)\] = \w+")


def fail_replaced(finding: Finding, document: Document) -> Fix | None:
    """Fail the tuple that the field holds under the key, where another one is stored."""
    if finding.case != "message" or document.root is None or re.search(rf"\b{_NAME}\b", document.text):
        return None
    start = document.offset(*finding.site.span[:2])
    if document.java and not _holds_tuples(document, start):
        return None
    pattern = _PUT if document.java else _STORE
    found = (
        node
        for node in document.root.walk()
        if node.start == start and pattern.fullmatch(document.source(node))
    )
    store = next(found, None)
    handler = handler_of(store, finding) if store is not None else None
    indent = document.indent(store) if store is not None else None
    fail = completing(document, handler, _NAME, "fail") if handler is not None else None
    if (
        store is None
        or store.parent is None
        or store.parent.kind != "block"
        or indent is None
        or fail is None
        or handler is None
    ):
        return None
    line, inner = document.newline, f"{document.newline}{indent}{unit_of(document, handler)}"
    if document.java:
        before = document.edit(store.start, store.start, f"Tuple {_NAME} = ")
        test = f"{line}{indent}if ({_NAME} != null) {{{inner}{fail}{line}{indent}}}"
        edits: tuple[Edit, ...] = (before, document.edit(store.end, store.end, test))
    else:
        match = _STORE.fullmatch(document.source(store))
        code = (
            f"{_NAME} = {match[1]}.pop({match[2]}, None){line}{indent}if {_NAME} is not None:{inner}{fail}{line}{indent}"
            if match
            else ""
        )
        edits = (document.edit(store.start, store.start, code),)
    return Fix(title=f"`{fail.rstrip(';')}` if a tuple waits under the key", safe=False, edits=edits)


def _holds_tuples(document: Document, start: int) -> bool:
    """Whether the field of a `put` is declared as a map of tuples: another `put` returns no tuple."""
    name = re.compile(r"(?:this\.)?(\w+)").match(document.text, start)
    return name is not None and bool(re.search(rf"Map<[^;=]*\bTuple>\s+{name[1]}\b", document.text))
