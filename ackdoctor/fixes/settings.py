"""ACK503, ACK505 and ACK901: bound the tuples in flight, and remove a setting or an ignore comment that does nothing."""

import re

from ackdoctor.fixes.document import Document, fits, need, proposed
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
_MARKS = ("#", "//")


def bound_pending(finding: Finding, document: Document) -> Fix:
    """Set `topology.max.spout.pending` where the configuration is made."""
    fits(finding.case == "max-pending-unset")
    if finding.site.path.endswith(".py"):
        return _bound_in_class(finding, document)
    start = document.offset(finding.site.span.line, 1)
    end = document.line_end(start)
    if document.java:
        config = need(_CONFIG.fullmatch(document.text, start, end))[1]
        indent, code = _indent(document, start), f"{config}.setMaxSpoutPending({_BOUND});"
    else:
        fits(_is_yaml(finding))
        head = need(_HEAD.fullmatch(document.text, start, end))
        indent, code = _indent(document, document.next_line(end)), f"{_MAX_PENDING}: {_BOUND}"
        fits(len(indent) > len(head[1]))
    return proposed(f"Add `{code}`", [document.edit(end, end, f"{document.newline}{indent}{code}")])


def _bound_in_class(finding: Finding, document: Document) -> Fix:
    """Add the setting to the `config` of a `Topology` class, which is added if the class has none."""
    cls = need(next(reversed(document.holding(finding.site.span, "class")), None))
    body = need(cls.block)
    head, text = document.text[cls.start : body.start], document.source(body)
    setting = f'"{_MAX_PENDING}": {_BOUND}'
    given = _MAPPING.search(text)
    edits: tuple[Edit, ...]
    if given is not None:
        at = body.start + given.end()
        more = document.text[at : at + 1] != "}"
        edits = (document.edit(at, at, f"{setting}, " if more else setting),)
    else:
        fits(not re.search(r"\bconfig\b", text), re.search(r"\(\s*Topology\s*\)", head))
        edits = set_in_class(document, body, f"config = {{{setting}}}")
    return proposed(f"Add `{setting}` to `config`", edits)


def _is_yaml(finding: Finding) -> bool:
    """Whether a finding is in a YAML file."""
    return finding.site.path.endswith((".yaml", ".yml"))


def _indent(document: Document, start: int) -> str:
    line = document.text[start : document.line_end(start)]
    return line[: len(line) - len(line.lstrip())]


def submit_settings(finding: Finding, document: Document) -> Fix:
    """Submit the configuration that has the settings, instead of a new one that is empty."""
    fits(finding.case == "config-object-not-passed", document.java)
    start = document.offset(finding.site.span.line, 1)
    made = need(_CONFIG.fullmatch(document.text, start, document.line_end(start)))
    place = finding.site.span._replace(column=made.start(1) - start + 1)
    function = need(next(reversed(document.holding(place, "function")), None))
    calls = [each for each in function.calls() if each.name.startswith("submitTopology")]
    given = calls[0].arguments if len(calls) == 1 else []
    fits(len(given) >= _SUBMITTED and calls[0].start >= start and _EMPTY.fullmatch(document.source(given[1])))
    return proposed(f"Submit `{made[1]}`", [document.edit(given[1].start, given[1].end, made[1])])


def remove_setting(finding: Finding, document: Document) -> Fix:
    """Remove the statement of a setting that has no effect."""
    fits(finding.case in _DEAD)
    start = document.offset(finding.site.span.line, 1)
    end = document.line_end(start)
    if _is_yaml(finding) and _ENTRY.fullmatch(document.text, start, end):
        edit = document.edit(start, document.next_line(end), "")
        return proposed(f"Remove `{document.text[start:end].strip()}`", [edit])
    fits(document.java)
    statements = (node for node in need(document.root).walk() if node.kind == "expression")
    inside = [node for node in statements if start <= node.start < end]
    fits(len(inside) == 1 and inside[0].children and _SETS.fullmatch(inside[0].children[0].name))
    above = document.text[document.line_start(max(0, start - 1)) : start].strip()
    names = [node.name for node in inside[0].walk() if node.kind == "name" and node.name[:1].islower()]
    alone = any(len(re.findall(rf"\b{name}\b", document.text)) <= 2 for name in names)  # noqa: PLR2004
    # a comment or a variable would be left behind
    fits(not above.startswith(("//", "*", "/*")), not alone, len(need(inside[0].parent).children) > 1)
    return proposed(f"Remove `{document.source(inside[0])}`", removal(document, inside[0]))


def remove_ignore(finding: Finding, document: Document) -> Fix:
    """Remove the comment with the line or the white space that only it needs."""
    fits(finding.case == "unused", not finding.details)  # else it still silences another rule
    span, text = finding.site.span, document.text
    start, end = document.offset(*span[:2]), document.offset(*span[2:])
    line, line_end = document.line_start(start), document.line_end(start)
    # no string of @SuppressWarnings, no block comment
    fits(text.startswith(_MARKS, start), end <= line_end)
    if text[end:line_end].strip():
        rest = line_end - len(text[end:line_end].lstrip())
        edit = document.edit(start, rest, "")
    elif not text[line:start].strip():
        edit = document.edit(line, document.next_line(start), "")
    else:
        edit = document.edit(line + len(text[line:start].rstrip()), line_end, "")
    return proposed("Remove the comment", [edit], safe=True)
