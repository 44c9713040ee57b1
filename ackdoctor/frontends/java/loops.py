"""Loops that step through a collection by hand: with an iterator, or with an index.

They mean the same as `for (Tuple t : batch)`, and are lowered like it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ackdoctor.frontends.java.lowering import Frame, Lowering
from ackdoctor.frontends.java.syntax import Node, child, parts

_ITERATORS = frozenset({"Iterator", "ListIterator", "java.util.Iterator"})
_PLAIN = ("local_variable_declaration", "expression_statement")
_STEPS = ("{0}++", "++{0}", "{0}+=1")


class IteratorLoop(NamedTuple):
    """`while (it.hasNext()) { T t = it.next(); ... }`: the iterator, and the one call of `next`."""

    iterator: Node
    read: Node


class IndexLoop(NamedTuple):
    """`for (int i = 0; i < list.size(); i++)`: the list, the index, and each `list.get(i)` of the body."""

    collection: Node
    word: str
    reads: Sequence[Node]


def iterator_loop(fn: Lowering, condition: Node | None, body: Node) -> IteratorLoop | None:
    """Read a loop over an iterator that the first statement of the body steps, and that the body may remove from."""
    test = _call(condition)
    statements = parts(body) if body.type == "block" else [body]
    iterator = None if test is None or fn.name(test) != "hasNext" else test.child_by_field_name("object")
    if iterator is None or iterator.type != "identifier" or not _is_iterator(fn.frame, fn.text(iterator)):
        return None
    word, reads = fn.text(iterator), list[Node]()
    for use in _words(body, fn, word):
        name = _method_on(fn, use.parent, word)
        if use.parent is None or name not in ("next", "remove"):
            return None
        reads += [use.parent] if name == "next" else []
    first = statements[0] if statements else body
    in_first = len(reads) == 1 and first.type in _PLAIN and any(each == reads[0] for each in _nodes(first))
    return IteratorLoop(iterator, reads[0]) if in_first else None


def index_loop(fn: Lowering, node: Node) -> IndexLoop | None:
    """Read a loop over all indices of a list whose body uses the index for that list only, and does not change it."""
    condition, body = node.child_by_field_name("condition"), child(node, "body")
    updates = node.children_by_field_name("update")
    if condition is None or condition.type != "binary_expression" or len(updates) != 1:
        return None
    index, bound = child(condition, "left"), _call(child(condition, "right"))
    if fn.text(child(condition, "operator")) != "<" or index.type != "identifier" or bound is None:
        return None
    word, collection = fn.text(index), bound.child_by_field_name("object")
    if (
        fn.name(bound) != "size"
        or collection is None
        or collection.type not in ("identifier", "field_access")
    ):
        return None
    if "".join(fn.text(updates[0]).split()) not in [step.format(word) for step in _STEPS]:
        return None
    if not _starts_at_zero(fn, node, word):
        return None
    reads: list[Node] = []
    for use in _words(body, fn, word):
        call = use.parent.parent if use.parent is not None else None
        if call is None or not _reads(fn, call, collection):
            return None
        reads.append(call)
    others = (
        each for each in _calls_on(fn, body, collection) if each not in reads and fn.name(each) != "size"
    )
    return None if next(others, None) is not None or not reads else IndexLoop(collection, word, reads)


def _starts_at_zero(fn: Lowering, node: Node, word: str) -> bool:
    """Whether a loop declares its index alone, as 0."""
    inits = node.children_by_field_name("init")
    if len(inits) != 1 or inits[0].type != "local_variable_declaration":
        return False
    declarators = inits[0].children_by_field_name("declarator")
    value = declarators[0].child_by_field_name("value")
    return (
        len(declarators) == 1
        and fn.name(declarators[0]) == word
        and value is not None
        and fn.text(value) == "0"
    )


def _reads(fn: Lowering, call: Node, collection: Node) -> bool:
    """Whether a call is `list.get(i)`."""
    found = call.child_by_field_name("object")
    is_get = call.type == "method_invocation" and fn.name(call) == "get"
    return is_get and found is not None and fn.text(found) == fn.text(collection)


def _calls_on(fn: Lowering, body: Node, collection: Node) -> Iterator[Node]:
    """Yield the calls of methods of a list."""
    for each in _nodes(body):
        if each.type == "method_invocation":
            found = each.child_by_field_name("object")
            if found is not None and fn.text(found) == fn.text(collection):
                yield each


def _is_iterator(frame: Frame, word: str) -> bool:
    local = frame.local(word)
    return local is not None and frame.types.get(local.id) in _ITERATORS


def _call(node: Node | None) -> Node | None:
    """The call that a condition is, without parentheses."""
    while node is not None and node.type == "parenthesized_expression":
        node = parts(node)[0]
    return node if node is not None and node.type == "method_invocation" else None


def _method_on(fn: Lowering, node: Node | None, word: str) -> str:
    """The name of the method without arguments that a node calls on a variable, or ""."""
    if node is None or node.type != "method_invocation" or parts(child(node, "arguments")):
        return ""
    receiver = node.child_by_field_name("object")
    return fn.name(node) if receiver is not None and fn.text(receiver) == word else ""


def _words(body: Node, fn: Lowering, word: str) -> Iterator[Node]:
    """Yield the places in a body that name a variable."""
    return (each for each in _nodes(body) if each.type == "identifier" and fn.text(each) == word)


def _nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.named_children)
