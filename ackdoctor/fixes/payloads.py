"""ACK205: convert the field that the serialiser rejects."""

from ackdoctor.fixes.document import Document
from ackdoctor.model.finding import Finding, Fix

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


def convert_field(finding: Finding, document: Document) -> Fix | None:
    """Convert the value where it is emitted."""
    call = document.node_at(finding.site.span, "call")
    if call is None or len(finding.details) != 2 or document.java:  # noqa: PLR2004  # place and phrase
        return None
    place, phrase = finding.details
    given = [each for each in call.children if each.kind == "argument"]
    if phrase not in _CONVERSIONS or not given or given[0].name:
        return None
    fields = given[0].children[0].children
    opening = document.source(given[0].children[0])[:1]
    if opening not in ("[", "(") or int(place) >= len(fields):
        return None
    value = fields[int(place)]
    text = document.source(value)
    conversion = _CONVERSIONS[phrase]
    if text.startswith("*") or (conversion.startswith("{") and value.kind not in _ATOMS):
        return None
    fixed = conversion.format(text[1:-1] if value.kind == "lambda" and text[:1] == "(" else text)
    edit = document.edit(value.start, value.end, fixed)
    return Fix(title=f"Emit `{fixed}`", safe=True, edits=(edit,))
