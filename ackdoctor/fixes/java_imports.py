"""Add an import to a Java file."""

import re

from ackdoctor.fixes.document import Document
from ackdoctor.model.finding import Edit

_IMPORT = re.compile(r"^import\s+(static\s+)?([\w.]+(?:\.\*)?)\s*;", re.MULTILINE)


def import_edits(document: Document, name: str) -> tuple[Edit, ...] | None:
    """Return the edits after which a class is imported; None if its simple name is taken or there is no import yet."""
    package, _, simple = name.rpartition(".")
    found = [match for match in _IMPORT.finditer(document.text) if not match[1]]
    names = [match[2] for match in found]
    if name in names or f"{package}.*" in names:
        return ()
    if (
        not found
        or any(each.endswith(f".{simple}") for each in names)
        or re.search(rf"\b{simple}\b", document.text)
    ):
        return None
    before = [
        match for match in found if match[2] < name and match[2].partition(".")[0] == name.partition(".")[0]
    ]
    after = [each for each in found if each[2].partition(".")[0] == name.partition(".")[0]]
    if after and not before:
        at = after[0].start()
        return (document.edit(at, at, f"import {name};{document.newline}"),)
    at = document.line_end((before[-1] if before else found[-1]).end())
    return (document.edit(at, at, f"{document.newline}import {name};"),)
