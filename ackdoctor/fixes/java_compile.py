"""What javac rejects in an edited Java file: statements that cannot be reached, and locals out of their scope.

Both follow the Java Language Specification (14.22 and 6.3), except that a constant condition is only seen as `true`.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ackdoctor.frontends.java.syntax import COMMENTS, Node, parse

__all__ = ["faults"]

_JUMPS = frozenset(
    ("return_statement", "throw_statement", "break_statement", "continue_statement", "yield_statement")
)
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement", "enhanced_for_statement"))
_SWITCHES = frozenset(("switch_expression", "switch_statement"))
_BODIES = frozenset(
    ("method_declaration", "constructor_declaration", "compact_constructor_declaration", "lambda_expression")
)
_BINDS = {  # what declares a local, by the field that holds its name
    "variable_declarator": "name",
    "formal_parameter": "name",
    "catch_formal_parameter": "name",
    "enhanced_for_statement": "name",
    "resource": "name",
}
_SCOPES = frozenset(
    (
        "block", "constructor_body", "switch_block", "for_statement", "enhanced_for_statement", "catch_clause",
        "try_with_resources_statement", *_BODIES,
    )
)  # fmt: skip


def faults(text: str, inserted: Sequence[tuple[int, int]]) -> list[str]:
    """Return the faults of a file; `inserted` are the offsets of new code, whose locals must be in scope."""
    data = text.encode()
    root = parse(data)
    found = [_text(each) for each in _unreachable(root)]
    spans = [(len(text[:start].encode()), len(text[:end].encode())) for start, end in inserted]
    for node in _walk(root):
        if node.type == "identifier" and any(
            start <= node.start_byte and node.end_byte <= end for start, end in spans
        ):
            found += [_text(node)] if _is_out_of_scope(node) else []
    return found


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(each.named_children)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _parts(node: Node) -> list[Node]:
    return [each for each in node.named_children if each.type not in COMMENTS]


# ---- statements that cannot be reached ----


def _unreachable(root: Node) -> Iterator[Node]:
    """Yield the statements behind one that does not complete normally."""
    for node in _walk(root):
        statements = _parts(node)
        if node.type == "switch_block_statement_group":
            statements = [each for each in statements if each.type != "switch_label"]
        elif node.type not in ("block", "constructor_body"):
            continue
        for before, behind in pairwise(statements):
            if not _completes(before):
                yield behind
                break


def _completes(node: Node) -> bool:
    """Whether a statement can complete normally."""
    match node.type:
        case kind if kind in _JUMPS:
            return False
        case "block" | "constructor_body":
            return all(map(_completes, _parts(node)))
        case "if_statement":
            ways = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
            return any(way is None or _completes(way) for way in ways)
        case kind if kind in _LOOPS:
            return _loop_completes(node)
        case kind if kind in _SWITCHES:
            return _switch_completes(node)
        case "labeled_statement" | "synchronized_statement":
            return _completes(_parts(node)[-1]) or _is_left(node)
        case "try_statement" | "try_with_resources_statement":
            return _try_completes(node)
        case _:
            return True


def _loop_completes(loop: Node) -> bool:
    condition = loop.child_by_field_name("condition")
    endless = _text(condition).strip("() \t\r\n") == "true" if condition else loop.type == "for_statement"
    return not endless or _is_left(loop)


def _switch_completes(switch: Node) -> bool:
    body = switch.child_by_field_name("body")
    ways = _parts(body) if body is not None else []
    default = any(_text(way).lstrip().startswith("default") or _has_default(way) for way in ways)
    if not default or _is_left(switch):
        return True
    last = [_parts(way)[-1] for way in ways]
    if ways[-1].type == "switch_rule":
        return any(map(_completes, last))
    return last[-1].type == "switch_label" or _completes(last[-1])


def _has_default(way: Node) -> bool:
    return any(each.type == "switch_label" and _text(each).startswith("default") for each in _parts(way))


def _try_completes(whole: Node) -> bool:
    blocks: dict[str, list[bool]] = {"block": [], "catch_clause": [], "finally_clause": []}
    for each in _parts(whole):
        if each.type in blocks:
            blocks[each.type].append(_completes(each if each.type == "block" else _parts(each)[-1]))
    return any(blocks["block"] + blocks["catch_clause"]) and all(blocks["finally_clause"])


def _is_left(target: Node) -> bool:
    """Whether a `break` leaves a loop, a `switch` or a labelled statement."""
    above = target if target.type == "labeled_statement" else target.parent
    label = _text(_parts(above)[0]) if above is not None and above.type == "labeled_statement" else None
    for node in _walk(target):
        if node.type != "break_statement":
            continue
        named = _parts(node)
        if named:
            if _text(named[0]) == label:
                return True
        elif _nearest_loop(node) == target:
            return True
    return False


def _nearest_loop(node: Node) -> Node | None:
    above = node.parent
    while above is not None and above.type not in _LOOPS | _SWITCHES:
        above = above.parent
    return above


# ---- locals out of their scope ----


def _is_out_of_scope(name: Node) -> bool:
    """Whether the method declares a local of this name, but not where the name is read, and no field has it."""
    above = name.parent
    if above is None or above.type in ("method_declaration", "labeled_statement", *_BINDS):
        return False
    if above.type == "method_invocation" and above.child_by_field_name("name") == name:
        return False
    if above.type == "field_access" and above.child_by_field_name("field") == name:
        return False
    around = _around(name)
    outermost = next((each for each in reversed(around) if each.type in _BODIES), None)
    if outermost is None:
        return False
    declared = [each for each in _declarations(outermost) if _text(each) == _text(name)]
    fields = (each for each in _declarations(around[-1]) if _text(each) == _text(name) and _is_field(each))
    if not declared or any(True for _ in fields):
        return False
    return not any(
        each.start_byte <= name.start_byte
        and next(at for at in _around(each) if at.type in _SCOPES) in around
        for each in declared
    )


def _around(node: Node) -> list[Node]:
    found = []
    above = node.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def _declarations(scope: Node) -> Iterator[Node]:
    for node in _walk(scope):
        field = _BINDS.get(node.type)
        name = node.child_by_field_name(field) if field else None
        if name is not None:
            yield name
        elif node.type == "lambda_expression" and (given := node.child_by_field_name("parameters")):
            yield from [given] if given.type == "identifier" else _parts(given)


def _is_field(name: Node) -> bool:
    above = name.parent.parent if name.parent is not None else None
    return above is not None and above.type == "field_declaration"
