"""ACK901: remove a comment that silences nothing."""

from ackdoctor.fixes.document import Document
from ackdoctor.model.finding import Finding, Fix

_MARKS = ("#", "//")


def remove(finding: Finding, document: Document) -> Fix | None:
    """Remove the comment with the line or the white space that only it needs."""
    if finding.case != "unused" or finding.details:  # it still silences another rule
        return None
    span = finding.site.span
    start, end = document.offset(*span[:2]), document.offset(*span[2:])
    line, line_end = document.line_start(start), document.line_end(start)
    if not document.text.startswith(_MARKS, start) or end > line_end:
        return None  # a string of @SuppressWarnings, a block comment
    if document.text[end:line_end].strip():
        start_of_rest = end + len(document.text[end:line_end]) - len(document.text[end:line_end].lstrip())
        edit = document.edit(start, start_of_rest, "")
    elif not document.text[line:start].strip():
        edit = document.edit(line, document.next_line(start), "")
    else:
        edit = document.edit(line + len(document.text[line:start].rstrip()), line_end, "")
    return Fix(title="Remove the comment", safe=True, edits=(edit,))
