"""ACK109 in Java: leave ticks out of a handler of data."""

from ackdoctor.fixes.document import Document
from ackdoctor.fixes.handlers import parameters, unit_of
from ackdoctor.fixes.java_imports import import_edits
from ackdoctor.model.finding import Finding, Fix

_UTILITIES = (
    ("import org.apache.storm.", "org.apache.storm.utils.TupleUtils"),
    ("import org.apache.heron.", "org.apache.heron.api.utils.TupleUtils"),
)


def skip_ticks(finding: Finding, document: Document) -> Fix | None:
    """Return from a handler of data at once if the tuple is a tick."""
    if not document.java or finding.case != "data":
        return None
    functions = document.holding(finding.site.span, "function")
    handler = next((node for node in functions if node.name == finding.handler), None)
    utility = next((name for line, name in _UTILITIES if line in document.text), None)
    added = import_edits(document, utility) if utility else None
    first = (
        handler.children[-1].children[0] if handler is not None and handler.children[-1].children else None
    )
    indent = document.indent(first) if first is not None else None
    if handler is None or first is None or added is None or indent is None or not parameters(handler):
        return None
    line, unit = document.newline, unit_of(document, handler)
    test = f"TupleUtils.isTick({parameters(handler)[0]})"
    code = f"if ({test}) {{{line}{indent}{unit}return;{line}{indent}}}{line}{indent}"
    edits = (*added, document.edit(first.start, first.start, code))
    return Fix(title=f"Return if `{test}`", safe=False, edits=edits)
