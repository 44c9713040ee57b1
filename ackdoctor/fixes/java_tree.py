"""The tree of a Java file."""

import codecs

from ackdoctor.fixes.document import Node
from ackdoctor.frontends.java.syntax import COMMENTS, by_type, parse
from ackdoctor.frontends.java.syntax import Node as Syntax

_KINDS = by_type(
    {
        "class_declaration enum_declaration record_declaration interface_declaration class_body": "class",
        "method_declaration constructor_declaration compact_constructor_declaration": "function",
        "lambda_expression": "lambda",
        "formal_parameter": "parameter",
        "field_declaration": "field",
        "program block constructor_body switch_block_statement_group": "block",
        "expression_statement": "expression",
        "return_statement": "return",
        "break_statement": "break",
        "continue_statement": "continue",
        "throw_statement": "raise",
        "if_statement": "if",
        "for_statement enhanced_for_statement while_statement do_statement": "loop",
        "try_statement try_with_resources_statement": "try",
        "catch_clause": "handler",
        "finally_clause": "finally",
        "method_invocation": "call",
        "field_access": "attribute",
        "identifier": "name",
    }
)
_NAMED = frozenset(("class", "function", "parameter", "call", "field"))
_WRITES = {"assignment_expression": "left", "variable_declarator": "name", "enhanced_for_statement": "name"}


def encoding_of(data: bytes) -> str:
    """Return the encoding: UTF-8, or Latin-1 as the frontend reads old sources."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "latin-1"
    return "utf-8"


def tree(text: str) -> Node | None:
    """Return the tree of a file; None for a file with syntax errors."""
    data = text.replace("\r\n", "\0\n").replace("\r", "\n").replace("\0\n", "\r\n").encode()
    syntax = parse(data)
    if syntax.has_error:
        return None
    offsets = range(len(data) + 1) if text.isascii() else _offsets(text)
    root = Node("block", 0, len(text))
    waiting: list[tuple[Syntax, Node]] = [(each, root) for each in reversed(syntax.named_children)]
    while waiting:
        source, parent = waiting.pop()
        if source.type in COMMENTS:
            continue
        node = parent.add(_kind(source), offsets[source.start_byte], offsets[source.end_byte])
        if node.kind in _NAMED and (name := _name_of(source)) is not None:
            node.name = _text(name)
        elif node.kind in ("name", "bound"):
            node.name = _text(source)
        if node.kind == "call":
            _add_call(source, node, offsets, waiting)
        else:
            waiting += ((each, node) for each in reversed(source.named_children))
    return root


def _offsets(text: str) -> list[int]:
    """Map each offset in UTF-8 to an offset in the text."""
    found = [place for place, char in enumerate(text) for _ in char.encode()]
    return [*found, len(text)]


def _name_of(source: Syntax) -> Syntax | None:
    """Return the name of a definition or a call; of a field the first one."""
    named = source.child_by_field_name("declarator") or source
    return named.child_by_field_name("name")


def _text(node: Syntax) -> str:
    return (node.text or b"").decode()


def _kind(source: Syntax) -> str:
    above = source.parent
    field = _WRITES.get(above.type) if above is not None else None
    if (
        source.type == "identifier"
        and above is not None
        and field
        and above.child_by_field_name(field) == source
    ):
        return "bound"
    return _KINDS.get(source.type, "other")


def _add_call(
    source: Syntax, node: Node, offsets: "range | list[int]", waiting: list[tuple[Syntax, Node]]
) -> None:
    """Add the object and the arguments of a call, and queue what is in them."""

    def add(kind: str, part: Syntax) -> tuple[Syntax, Node]:
        return part, node.add(kind, offsets[part.start_byte], offsets[part.end_byte])

    owner, arguments = source.child_by_field_name("object"), source.child_by_field_name("arguments")
    added = [add("receiver", owner)] if owner is not None else []
    given = arguments.named_children if arguments is not None else ()
    added += [add("argument", each) for each in given if each.type not in COMMENTS]
    waiting += reversed(added)
