"""ACK101, ACK102, ACK105 and ACK109 in Python: complete the tuple where a path leaves it open.

`decisions` says whether a path acks or fails the tuple.  A tick is acked in any case.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from ackdoctor.dialects import known
from ackdoctor.fixes.decisions import is_dead, is_undecided, verb_at
from ackdoctor.fixes.document import SCOPES, Document, Node, fits, need, proposed
from ackdoctor.fixes.handlers import calls_before, parameters, unit_of
from ackdoctor.fixes.statements import (
    append,
    completion,
    falls_through,
    insert_before,
    is_bound,
    only_argument,
    removal,
    set_in_class,
    statement_of,
)
from ackdoctor.model.dialect import OWN, EntryKind, Kind, Role, TickDuty, VerbKind
from ackdoctor.model.finding import Edit, Finding, Fix
from ackdoctor.rulebook import MISSING_ACK, TICK_COMPLETION

_PATHS = ("one path", "never")
_EVERYWHERE = ("no path", "never")
_STORES = frozenset("append appendleft extend push put put_nowait send send_nowait submit".split())


# ---- where paths leave ----


def ack_everywhere(finding: Finding, document: Document) -> Fix:
    """Ack the tuple before each `return` of a handler that completes it on no path, and at its end."""
    handler = _handler(finding, document)
    statement = _Statement(document, finding, handler)
    fits(finding.case in _EVERYWHERE)
    fits(handler.start <= document.offset(*finding.site.span[:2]) < _body(handler).start)
    # calls that are there complete nothing: another one would hide why
    named = (each for call in handler.calls("ack", "fail") for each in call.walk() if each.kind == "name")
    fits(all(each.name != statement.tuple for each in named))
    fits(finding.code != MISSING_ACK or not is_undecided(handler, document, statement.tuple))
    return _fix(finding, "Ack {} where the handler returns", _at_exits(document, handler, statement))


def pass_tuple(finding: Finding, document: Document) -> Fix:
    """Complete the tuple instead of its id."""
    handler = _handler(finding, document)
    fits(finding.case == "no path", "not its id" in finding.help)
    name = _Statement(document, finding, handler).tuple
    values = (only_argument(call) for call in handler.calls("ack", "fail"))
    ids = [value for value in values if value is not None and document.source(value) == f"{name}.id"]
    edits = (document.edit(value.start, value.end, name) for value in ids)
    return proposed("Complete the tuple, not its id", edits, safe=True)


def complete_exit(finding: Finding, document: Document) -> Fix:
    """Complete the tuple before the `return`, `break` or `continue` of the path."""
    handler = _handler(finding, document)
    left = need(document.node_at(finding.site.span, "return", "break", "continue"))
    fits(finding.case in _PATHS, left.nearest(*SCOPES) is handler, _is_plain_exit(document, left))
    statement = _Statement(document, finding, handler)
    verb = statement.verb_at(left)
    return _fix(finding, f"{verb.capitalize()} {{}} on this path", statement.before(left, verb))


def complete_handler(finding: Finding, document: Document) -> Fix:
    """Fail the tuple at the end of the `except` that the path goes through; ack it if only decoding it failed."""
    handler, node = _handler(finding, document), _branching(finding, document)
    fits(node.kind == "handler", node.nearest("loop", *SCOPES) is handler)
    statement = _Statement(document, finding, handler)
    more = any(True for _ in _afterwards(node, handler))
    verb = statement.verb_at(node)
    edits = statement.at_end(_body(node), verb, leave=more)
    return _fix(finding, f"{verb.capitalize()} {{}} in this handler", edits)


def complete_branch(finding: Finding, document: Document) -> Fix:
    """Ack the tuple in the branch that the path takes, or fail it if the result of its work decides about the branch."""
    handler, node = _handler(finding, document), _branching(finding, document)
    fits(node.kind == "if")
    statement = _Statement(document, finding, handler)
    blocks = [each for each in node.children if each.kind == "block"]
    taken = next((block for block in blocks if _passes(finding, document, block)), None)
    verb = statement.verb_at(taken.children[0] if taken is not None else node)
    if taken is not None:
        edits = statement.at_end(taken, verb)
    else:
        fits(len(blocks) == 1 and falls_through(document, blocks[0]))
        edits = statement.as_else(node, verb)
    return _fix(finding, f"{verb.capitalize()} {{}} on this path", edits)


def complete_end(finding: Finding, document: Document) -> Fix:
    """Ack the tuple at the end of the handler."""
    handler, node = _handler(finding, document), _branching(finding, document)
    fits(node.kind in ("if", "loop"))
    statement = _Statement(document, finding, handler)
    verb = statement.verb_at(node)
    fits(verb == "ack" or document.on_missing_path)
    edits = statement.at_end(_body(handler), verb)
    return _fix(finding, f"{verb.capitalize()} {{}} at the end of the handler", edits)


def leave_tick(finding: Finding, document: Document) -> Fix:
    """Remove the completion of a tick that must not be completed by hand."""
    call = document.call_at(finding)
    fits(finding.case == "twice", completion(call, "ack", "fail"))
    edits = removal(document, need(statement_of(call)))
    return proposed(f"Remove `{document.source(call)}`", edits, safe=True)


# ---- completion by hand ----


def complete_by_hand(finding: Finding, document: Document) -> Fix:
    """Turn the framework's ack off, keep the fail, and ack on the other paths."""
    fits(completion(document.call_at(finding), "fail"))
    return _by_hand(finding, document, _handler(finding, document), ())


def fail_by_hand(finding: Finding, document: Document) -> Fix:
    """Turn the framework's ack off, fail in the exception handler, and ack on the other paths."""
    handler = _handler(finding, document)
    caught = need(next(reversed(document.holding(finding.site.span, "handler")), None))
    fits(finding.case == "message", caught.nearest("loop", *SCOPES) is handler)
    body = _body(caught)
    statement, last = _Statement(document, finding, handler), body.children[-1]
    if last.kind == "return":
        fits(_is_plain_exit(document, last))
        failed = statement.before(last, "fail")
    else:
        failed = statement.at_end(body, "fail", leave=True)
    return _by_hand(finding, document, handler, failed, body)


def _by_hand(
    finding: Finding, document: Document, handler: Node, failed: tuple[Edit, ...], done: Node | None = None
) -> Fix:
    role, owner = _role(finding), need(handler.nearest("class"))
    switch = need(role.discipline.auto_ack.attribute or None)
    fits(switch not in document.source(owner))
    body = _body(owner)
    turned = set_in_class(document, body, f"{switch} = False")
    edits = [*failed, *turned, *_tick_handler(document, role, owner, handler)]
    names = _handlers(finding)
    for each in body.children:
        if each.kind == "function" and each.name in names:
            edits += _at_exits(document, each, _Statement(document, finding, each), done)
    return _fix(finding, f"Set `{switch} = False`, and complete {{}} by hand", edits)


def _roles(finding: Finding) -> Iterator[Role]:
    """Yield the roles of a finding's framework."""
    return (role for dialect in known() if dialect.name == finding.dialect for role in dialect.roles)


def _role(finding: Finding) -> Role:
    """Return the role of the bolt that a finding is about."""
    bolts = (role for role in _roles(finding) if role.kind is Kind.BOLT)
    own = (role for role in bolts if any(each.method == finding.handler for each in role.entries))
    return need(next(own, None))


def _tick_handler(document: Document, role: Role, owner: Node, handler: Node) -> tuple[Edit, ...]:
    """Ack ticks by hand in a class without a handler of ticks, for which the framework acks them only with the switch."""
    ticks = [entry.method for entry in role.entries if entry.kind is EntryKind.TICK]
    if not ticks or role.discipline.tick is not TickDuty.AUTO:
        return ()
    body, receiver = _body(owner), parameters(handler)[:1]
    if any(each.kind == "function" and each.name in ticks for each in body.children):
        return ()
    bases = need(re.match(r"[^:]*\(\s*([\w.]+)\s*\)\s*:", document.source(owner)))
    # another base class of the project may handle them
    fits(bases[1].rpartition(".")[2] in {each.rpartition(".")[2] for each in role.classes}, receiver)
    indent = need(document.indent(body.children[0]))
    line = f"{document.newline}{indent}{unit_of(document, handler)}"
    code = f"def {ticks[0]}({receiver[0]}, tick):{line}{receiver[0]}.ack(tick){document.newline}"
    return insert_before(document, handler, code)


def _handlers(finding: Finding) -> set[str]:
    """Return the names of the methods that get a tuple or a tick."""
    entries = (entry for role in _roles(finding) for entry in role.entries if entry.subject is not None)
    return {entry.method for entry in entries if entry.kind in (EntryKind.DATA, EntryKind.TICK)}


# ---- the statement ----


class _Statement:
    """The statement that acks or fails the input of a handler."""

    def __init__(self, document: Document, finding: Finding, handler: Node) -> None:
        self._document, self._handler = document, handler
        names = parameters(handler)
        self.tuple = names[1] if len(names) > 1 else ""
        quoted, is_tick = f"`{self.tuple}`", finding.code == TICK_COMPLETION
        is_own = quoted in finding.message or finding.handler != handler.name or is_tick
        self._batch = f"a tuple of {quoted}" in finding.message
        # elsewhere the framework acks already, or the tuple is a tick
        self._guards = finding.code == MISSING_ACK
        is_known = is_own and self.tuple and not is_bound(handler, self.tuple)
        self._object = _completing_object(document, finding, handler) if is_known else ""

    def verb_at(self, node: Node) -> str:
        """Return the verb for a path to a node; what the framework acks anyway, and a tick, is acked."""
        return verb_at(node, self._handler, self._document, self.tuple) if self._guards else "ack"

    def _lines(self, verb: str, indent: str | None, *, leave: bool = False) -> list[str]:
        """Return the lines of code."""
        fits(self._object)
        lines = [f"{self._object}.{verb}({'each' if self._batch else self.tuple})"]
        if self._batch:
            step = "\t" if indent and indent.endswith("\t") else "    "
            lines = [f"for each in {self.tuple}:", step + lines[0]]
        lines += ["return"] * leave
        fits(indent is not None or len(lines) == 1)
        return lines

    def _text(self, lines: list[str], indent: str | None) -> str:
        return f"{self._document.newline}{indent or ''}".join(lines)

    def _is_guarded(self, node: Node) -> bool:
        """Whether completing the tuple here is wrong if its work waits elsewhere; an `except` fails it in any case."""
        return self._guards and node.nearest("handler", *SCOPES) is self._handler

    def before(self, node: Node, verb: str) -> tuple[Edit, ...]:
        """Put it before a statement, unless the handler keeps the work for later."""
        fits(not (self._is_guarded(node) and _keeps_work(node)))
        indent = self._document.indent(node)
        return insert_before(self._document, node, self._text(self._lines(verb, indent), indent))

    def at_end(self, block: Node, verb: str, *, leave: bool = False) -> tuple[Edit, ...]:
        """Put it at the end of a block; `leave` also leaves the handler."""
        fits(falls_through(self._document, block))
        fits(not (self._is_guarded(block) and _keeps_work(block.children[-1], behind=True)))
        indent = self._document.indent(block.children[-1])
        return append(self._document, block, self._text(self._lines(verb, indent, leave=leave), indent))

    def as_else(self, node: Node, verb: str) -> tuple[Edit, ...]:
        """Add an `else` to an `if`."""
        document = self._document
        outer, inner = need(document.indent(node)), need(document.indent(_body(node).children[0]))
        end = document.line_end(node.end)
        rest = document.text[node.end : end].strip()
        fits(not rest or rest.startswith("#"))
        text = self._text(["", *self._lines(verb, inner)], inner)
        return (document.edit(end, end, f"{document.newline}{outer}else:{text}"),)


def _keeps_work(node: Node, *, behind: bool = False) -> bool:
    """Whether code before a statement, or in it (`behind`), puts something into a collection that outlives the handler."""
    return any(map(_is_store, chain(node.calls() if behind else (), calls_before(node))))


def _is_store(call: Node) -> bool:
    """Whether a call stores something, and not in a local."""
    owner = call.children[0]  # a call in Python always has one
    return call.name in _STORES and [each.kind for each in owner.children] != ["name"]


def _completing_object(document: Document, finding: Finding, handler: Node) -> str:
    """Return the object whose `ack` and `fail` complete a tuple: `self`, or the framework's module."""
    dialects = [dialect for dialect in known() if dialect.name == finding.dialect]
    bolts = (role for role in _roles(finding) if role.kind is Kind.BOLT)
    named = (
        verb
        for verbs in (*(each.verbs for each in dialects), *(each.verbs for each in bolts))
        for verb in verbs
    )
    verbs = [verb for verb in named if verb.kind is VerbKind.ACK and verb.name == "ack"]
    if any(verb.on == OWN for verb in verbs):
        return parameters(handler)[0]
    modules = {verb.on.rpartition(".")[2] for verb in verbs}
    for call in document.root.calls("ack", "fail", "emit") if document.root else ():
        owner = call.children[0] if call.children else None
        if owner is not None and owner.kind == "receiver":
            text = document.source(owner)
            if text.rpartition(".")[2] in modules:
                return text
    return ""


# ---- places ----


def _handler(finding: Finding, document: Document) -> Node:
    """Return the handler of the finding, if its place is in it."""
    fits(not document.java)
    found = need(next(reversed(document.holding(finding.site.span, "function")), None))
    fits(found.name == finding.handler)
    return found


def _branching(finding: Finding, document: Document) -> Node:
    """Return the statement whose header holds the place of a finding about one path."""
    fits(finding.case in _PATHS)
    inside = document.holding(finding.site.span, "if", "loop", "handler", "try", "other")
    head = need(next((node for node in reversed(inside) if node.block is not None), None))
    fits(document.offset(*finding.site.span[:2]) < _body(head).start)
    return head


def _body(node: Node) -> Node:
    return need(node.block)


def _passes(finding: Finding, document: Document, block: Node) -> bool:
    """Whether the path of a finding goes through a block."""
    places = (
        document.offset(*step.site.span[:2])
        for step in finding.evidence.steps
        if not step.depth and step.site.path == finding.site.path
    )
    return any(block.start <= at < block.end for at in places)


def _afterwards(node: Node, handler: Node) -> Iterator[Node]:
    """Yield the statements that run after the statement around a node."""
    for each in (node, *node.around()):
        if each is handler:
            return
        parent = each.parent
        if parent is not None and parent.kind == "block" and each.kind != "block":
            yield from parent.children[parent.children.index(each) + 1 :]
        if each.kind == "try":
            yield from (child for child in each.children if child.kind == "finally")


def _at_exits(
    document: Document, handler: Node, statement: _Statement, done: Node | None = None
) -> tuple[Edit, ...]:
    """Complete the tuple before each `return` of a handler, and ack it at its end.

    Not behind a completion, and not at the end of the block `done`.
    """
    edits: list[Edit] = []
    for each in handler.walk():
        if each.kind != "return" or each.nearest(*SCOPES) is not handler or _is_completed(each):
            continue
        if is_dead(each, document) or (done is not None and each is done.children[-1]):
            continue
        fits(_is_plain_exit(document, each), done is None or done not in each.around())
        edits += statement.before(each, statement.verb_at(each))
    body = _body(handler)
    if falls_through(document, body) and not _completes(body.children[-1]):
        edits += statement.at_end(body, "ack")
    return tuple(edits)


def _is_completed(left: Node) -> bool:
    """Whether the statement before an exit acks or fails."""
    block = left.parent
    place = block.children.index(left) if block is not None else 0
    return block is not None and place > 0 and _completes(block.children[place - 1])


def _completes(statement: Node) -> bool:
    call = statement.children[0] if statement.kind == "expression" and statement.children else None
    return call is not None and call.kind == "call" and completion(call, "ack", "fail") is not None


def _is_plain_exit(document: Document, left: Node) -> bool:
    """Whether an exit computes nothing that could fail behind an ack."""
    return not any(True for _ in left.calls()) and "(" not in document.source(left)


def _fix(finding: Finding, title: str, edits: Iterable[Edit]) -> Fix:
    """Return the edits as a fix; `{}` in its title is the tuple.  Only acks of ticks are safe."""
    is_tick = finding.code == TICK_COMPLETION
    title = title.format("the tick" if is_tick else "the tuple")
    return proposed(title, sorted(edits), safe=is_tick)
