"""ACK503 and ACK505 in topologies of Java, Python and YAML: bound the tuples in flight, and remove a setting that does nothing."""

import re

from ackdoctor.fixes.document import Document
from ackdoctor.fixes.statements import removal, set_in_class
from ackdoctor.model.finding import Edit, Finding, Fix

_CONFIG = re.compile(r"\s*(?:final\s+)?Config\s+(\w+)\s*=\s*new\s+Config\(\);\s*(?://.*)?")
_HEAD = re.compile(r"(\s*)config\s*:\s*(?:#.*)?")
_ENTRY = re.compile(r"(\s*)[\w.\"'-]+\s*:\s+[^\s{[|>&*#][^#]*(?:#.*)?")
_MAPPING = re.compile(r"^[ \t]*config\s*=\s*\{(?=[^\s#])", re.MULTILINE)
_EMPTY = re.compile(r"new\s+(?:\w*Map|Config)(?:<[\w\s,<>]*>)?\(\)")
_SUBMITTED = 3  # a name, a configuration and a topology
_SETS = re.compile(r"set[A-Z]\w*|put")
_MAX_PENDING = "topology.max.spout.pending"
_BOUND = 1000  # per spout task: the page's example
_DEAD = ("setting-without-effect", "max-pending-without-effect", "timeout-without-effect", "dead-key")


def bound_pending(finding: Finding, document: Document) -> Fix | None:
    """Set `topology.max.spout.pending` where the configuration is made."""
    if finding.case != "max-pending-unset":
        return None
    if finding.site.path.endswith(".py"):
        return _bound_in_class(finding, document)
    start = document.offset(finding.site.span.line, 1)
    end = document.line_end(start)
    if document.java:
        found = _CONFIG.fullmatch(document.text, start, end)
        indent = _indent(document, start)
        code = f"{found[1]}.setMaxSpoutPending({_BOUND});" if found is not None else ""
    else:
        found = _HEAD.fullmatch(document.text, start, end) if is_yaml(finding) else None
        indent = _indent(document, document.next_line(end))
        code = f"{_MAX_PENDING}: {_BOUND}"
        found = found if found is not None and len(indent) > len(found[1]) else None
    if found is None:
        return None
    edit = document.edit(end, end, f"{document.newline}{indent}{code}")
    return Fix(title=f"Add `{code}`", safe=False, edits=(edit,))


def _bound_in_class(finding: Finding, document: Document) -> Fix | None:
    """Add the setting to the `config` of a `Topology` class, which is added if the class has none."""
    classes = document.holding(finding.site.span, "class")
    if not classes:
        return None
    body = next(each for each in classes[-1].children if each.kind == "block")
    head, text = document.text[classes[-1].start : body.start], document.source(body)
    setting = f'"{_MAX_PENDING}": {_BOUND}'
    given = _MAPPING.search(text)
    if given is not None:
        at = body.start + given.end()
        more = document.text[at : at + 1] != "}"
        edits: tuple[Edit, ...] | None = (document.edit(at, at, f"{setting}, " if more else setting),)
    elif re.search(r"\bconfig\b", text) or not re.search(r"\(\s*Topology\s*\)", head):
        return None
    else:
        edits = set_in_class(document, body, f"config = {{{setting}}}")
    return Fix(title=f"Add `{setting}` to `config`", safe=False, edits=edits) if edits else None


def is_yaml(finding: Finding) -> bool:
    """Whether a finding is in a YAML file."""
    return finding.site.path.endswith((".yaml", ".yml"))


def _indent(document: Document, start: int) -> str:
    line = document.text[start : document.line_end(start)]
    return line[: len(line) - len(line.lstrip())]


def submit_settings(finding: Finding, document: Document) -> Fix | None:
    """Submit the configuration that has the settings, instead of a new one that is empty."""
    if finding.case != "config-object-not-passed" or not document.java:
        return None
    start = document.offset(finding.site.span.line, 1)
    made = _CONFIG.fullmatch(document.text, start, document.line_end(start))
    functions = (
        document.holding(finding.site.span._replace(column=made.start(1) - start + 1), "function")
        if made
        else []
    )
    if made is None or not functions:
        return None
    calls = [
        each
        for each in functions[-1].walk()
        if each.kind == "call" and each.name.startswith("submitTopology")
    ]
    given = [each for each in calls[0].children if each.kind == "argument"] if len(calls) == 1 else []
    if len(given) < _SUBMITTED or calls[0].start < start or not _EMPTY.fullmatch(document.source(given[1])):
        return None
    edit = document.edit(given[1].start, given[1].end, made[1])
    return Fix(title=f"Submit `{made[1]}`", safe=False, edits=(edit,))


def remove_setting(finding: Finding, document: Document) -> Fix | None:
    """Remove the statement of a setting that has no effect."""
    if finding.case not in _DEAD:
        return None
    start = document.offset(finding.site.span.line, 1)
    end = document.line_end(start)
    if is_yaml(finding) and _ENTRY.fullmatch(document.text, start, end):
        edit = document.edit(start, document.next_line(end), "")
        return Fix(title=f"Remove `{document.text[start:end].strip()}`", safe=False, edits=(edit,))
    if not document.java or document.root is None:
        return None
    inside = [
        node for node in document.root.walk() if node.kind == "expression" and start <= node.start < end
    ]
    if len(inside) != 1 or not inside[0].children or not _SETS.fullmatch(inside[0].children[0].name):
        return None
    block = inside[0].parent
    above = document.text[document.line_start(max(0, start - 1)) : start].strip()
    names = [node.name for node in inside[0].walk() if node.kind == "name" and node.name[:1].islower()]
    alone = any(len(re.findall(rf"\b{name}\b", document.text)) <= 2 for name in names)  # noqa: PLR2004
    if above.startswith(("//", "*", "/*")) or alone:
        return None  # a comment or a variable would be left behind
    edits = removal(document, inside[0]) if block is not None and len(block.children) > 1 else None
    return Fix(title=f"Remove `{document.source(inside[0])}`", safe=False, edits=edits) if edits else None
