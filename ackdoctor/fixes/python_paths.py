"""ACK101, ACK102, ACK105 and ACK109 in Python: complete the tuple where a path leaves it open.

`decisions` says whether a path acks or fails the tuple.  A tick is acked in any case.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from ackdoctor.dialects import known
from ackdoctor.fixes.decisions import is_dead, is_undecided, verb_at
from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, calls_before, parameters, unit_of
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


def ack_everywhere(finding: Finding, document: Document) -> Fix | None:
    """Ack the tuple before each `return` of a handler that completes it on no path, and at its end."""
    handler = _handler(finding, document)
    if handler is None or finding.case not in _EVERYWHERE:
        return None
    at = document.offset(*finding.site.span[:2])
    statement = _Statement(document, finding, handler)
    calls = [each for each in handler.walk() if each.kind == "call" and each.name in ("ack", "fail")]
    own = [
        call for call in calls for each in call.walk() if each.kind == "name" and each.name == statement.tuple
    ]
    if not handler.start <= at < _body(handler).start or own:
        return None  # the calls that are there complete nothing: another one would hide why
    if finding.code == MISSING_ACK and is_undecided(handler, document, statement.tuple):
        return None
    edits = _at_exits(document, handler, statement)
    return _fix(finding, "Ack {} where the handler returns", edits)


def pass_tuple(finding: Finding, document: Document) -> Fix | None:
    """Complete the tuple instead of its id."""
    handler = _handler(finding, document)
    if handler is None or finding.case != "no path" or "not its id" not in finding.help:
        return None
    statement = _Statement(document, finding, handler)
    edits = [
        document.edit(value.start, value.end, statement.tuple)
        for call in handler.walk()
        if call.kind == "call" and call.name in ("ack", "fail")
        for value in [only_argument(call)]
        if value is not None and document.source(value) == f"{statement.tuple}.id"
    ]
    fix = _fix(finding, "Complete {}, not its id", tuple(edits))
    return replace(fix, safe=True) if fix is not None else None


def complete_exit(finding: Finding, document: Document) -> Fix | None:
    """Complete the tuple before the `return`, `break` or `continue` of the path."""
    handler = _handler(finding, document)
    left = document.node_at(finding.site.span, "return", "break", "continue")
    if handler is None or left is None or finding.case not in _PATHS or left.nearest(*SCOPES) is not handler:
        return None
    statement = _Statement(document, finding, handler)
    verb = statement.verb_at(left)
    edits = statement.before(left, verb) if _is_plain_exit(document, left) else None
    return _fix(finding, f"{verb.capitalize()} {{}} on this path", edits)


def complete_handler(finding: Finding, document: Document) -> Fix | None:
    """Fail the tuple at the end of the `except` that the path goes through; ack it if only decoding it failed."""
    handler, node = _handler(finding, document), _branching(finding, document)
    if (
        handler is None
        or node is None
        or node.kind != "handler"
        or node.nearest("loop", *SCOPES) is not handler
    ):
        return None
    statement = _Statement(document, finding, handler)
    more = any(each for each in _afterwards(node, handler))
    verb = statement.verb_at(node)
    edits = statement.at_end(_body(node), verb, leave=more)
    return _fix(finding, f"{verb.capitalize()} {{}} in this handler", edits)


def complete_branch(finding: Finding, document: Document) -> Fix | None:
    """Ack the tuple in the branch that the path takes, or fail it if the result of its work decides about the branch."""
    handler, node = _handler(finding, document), _branching(finding, document)
    if handler is None or node is None or node.kind != "if":
        return None
    statement = _Statement(document, finding, handler)
    blocks = [each for each in node.children if each.kind == "block"]
    taken = next((block for block in blocks if _passes(finding, document, block)), None)
    verb = statement.verb_at(taken.children[0] if taken is not None else node)
    if taken is not None:
        edits = statement.at_end(taken, verb)
    elif len(blocks) == 1 and falls_through(document, blocks[0]):
        edits = statement.as_else(node, verb)
    else:
        edits = None
    return _fix(finding, f"{verb.capitalize()} {{}} on this path", edits)


def complete_end(finding: Finding, document: Document) -> Fix | None:
    """Ack the tuple at the end of the handler."""
    handler, node = _handler(finding, document), _branching(finding, document)
    if handler is None or node is None or node.kind not in ("if", "loop"):
        return None
    statement = _Statement(document, finding, handler)
    verb = statement.verb_at(node)
    if verb == "fail" and not document.on_missing_path:
        return None
    edits = statement.at_end(_body(handler), verb)
    return _fix(finding, f"{verb.capitalize()} {{}} at the end of the handler", edits)


def leave_tick(finding: Finding, document: Document) -> Fix | None:
    """Remove the completion of a tick that must not be completed by hand."""
    call = document.node_at(finding.site.span, "call")
    statement = statement_of(call) if call is not None else None
    if (
        call is None
        or statement is None
        or finding.case != "twice"
        or completion(call, "ack", "fail") is None
    ):
        return None
    edits = removal(document, statement)
    return Fix(title=f"Remove `{document.source(call)}`", safe=True, edits=edits) if edits else None


# ---- completion by hand ----


def complete_by_hand(finding: Finding, document: Document) -> Fix | None:
    """Turn the framework's ack off, keep the fail, and ack on the other paths."""
    call = document.node_at(finding.site.span, "call")
    handler = _handler(finding, document)
    if call is None or handler is None or call.name != "fail" or completion(call, "fail") is None:
        return None
    return _by_hand(finding, document, handler, ())


def fail_by_hand(finding: Finding, document: Document) -> Fix | None:
    """Turn the framework's ack off, fail in the exception handler, and ack on the other paths."""
    handler = _handler(finding, document)
    caught = document.holding(finding.site.span, "handler")
    if handler is None or not caught or finding.case != "message":
        return None
    if caught[-1].nearest("loop", *SCOPES) is not handler:
        return None
    body = _body(caught[-1])
    statement, last = _Statement(document, finding, handler), body.children[-1]
    if last.kind == "return":
        failed = statement.before(last, "fail") if _is_plain_exit(document, last) else None
    else:
        failed = statement.at_end(body, "fail", leave=True)
    return _by_hand(finding, document, handler, failed, body) if failed else None


def _by_hand(
    finding: Finding,
    document: Document,
    handler: Node,
    failed: tuple[Edit, ...] | None,
    done: Node | None = None,
) -> Fix | None:
    role = _role(finding)
    switch = role.discipline.auto_ack.attribute if role is not None else None
    owner = handler.nearest("class")
    if role is None or not switch or owner is None or switch in document.source(owner):
        return None
    body = _body(owner)
    turned = set_in_class(document, body, f"{switch} = False")
    ticks = _tick_handler(document, role, owner, handler)
    handlers = [each for each in body.children if each.kind == "function" and each.name in _handlers(finding)]
    edits = [*(failed or ()), *(turned or ()), *(ticks or ())]
    for each in handlers:
        exits = _at_exits(document, each, _Statement(document, finding, each), done)
        if exits is None:
            return None
        edits += exits
    return (
        _fix(finding, f"Set `{switch} = False`, and complete {{}} by hand", tuple(edits))
        if turned and ticks is not None
        else None
    )


def _role(finding: Finding) -> Role | None:
    """Return the role of the bolt that a finding is about."""
    for dialect in known():
        for role in dialect.roles if dialect.name == finding.dialect else ():
            if role.kind is Kind.BOLT and any(each.method == finding.handler for each in role.entries):
                return role
    return None


def _tick_handler(document: Document, role: Role, owner: Node, handler: Node) -> tuple[Edit, ...] | None:
    """Ack ticks by hand in a class without a handler of ticks, for which the framework acks them only with the switch."""
    ticks = [entry.method for entry in role.entries if entry.kind is EntryKind.TICK]
    if not ticks or role.discipline.tick is not TickDuty.AUTO:
        return ()
    body, receiver = _body(owner), parameters(handler)[:1]
    if any(each.kind == "function" and each.name in ticks for each in body.children):
        return ()
    bases = re.match(r"[^:]*\(\s*([\w.]+)\s*\)\s*:", document.source(owner))
    if bases is None or bases[1].rpartition(".")[2] not in {each.rpartition(".")[2] for each in role.classes}:
        return None  # a base class of the project may handle them
    indent = document.indent(body.children[0])
    if indent is None or not receiver:
        return None
    line = f"{document.newline}{indent}{unit_of(document, handler)}"
    code = f"def {ticks[0]}({receiver[0]}, tick):{line}{receiver[0]}.ack(tick){document.newline}"
    return insert_before(document, handler, code)


def _handlers(finding: Finding) -> set[str]:
    """Return the names of the methods that get a tuple or a tick."""
    kinds = (EntryKind.DATA, EntryKind.TICK)
    dialects = (each for each in known() if each.name == finding.dialect)
    return {
        entry.method
        for dialect in dialects
        for role in dialect.roles
        for entry in role.entries
        if entry.kind in kinds and entry.subject is not None
    }


# ---- the statement ----


class _Statement:
    """The statement that acks or fails the input of a handler."""

    def __init__(self, document: Document, finding: Finding, handler: Node) -> None:
        self._document, self._handler = document, handler
        names = parameters(handler)
        self.tuple = names[1] if len(names) > 1 else ""
        quoted = f"`{self.tuple}`"
        is_own = (
            quoted in finding.message or finding.handler != handler.name or finding.code == TICK_COMPLETION
        )
        self._batch = f"a tuple of {quoted}" in finding.message
        self._guards = (
            finding.code == MISSING_ACK
        )  # elsewhere the framework acks already, or the tuple is a tick
        self._object = _completing_object(document, finding, handler) if is_own else ""
        if not self.tuple or is_bound(handler, self.tuple):
            self._object = ""

    def verb_at(self, node: Node) -> str:
        """Return the verb for a path to a node, "" if neither is certain; what the framework acks anyway, and a tick, is acked."""
        return verb_at(node, self._handler, self._document, self.tuple) if self._guards else "ack"

    def _lines(self, verb: str, indent: str | None, *, leave: bool = False) -> list[str]:
        """Return the lines of code; none if the code cannot be written here."""
        if not self._object or not verb:
            return []
        name = "each" if self._batch else self.tuple
        code = f"{self._object}.{verb}({name})"
        lines = [code]
        if self._batch:
            step = "\t" if indent and indent.endswith("\t") else "    "
            lines = [f"for each in {self.tuple}:", step + code]
        lines += ["return"] * leave
        return lines if indent is not None or len(lines) == 1 else []

    def _text(self, lines: list[str], indent: str | None) -> str:
        return f"{self._document.newline}{indent or ''}".join(lines)

    def _is_guarded(self, node: Node) -> bool:
        """Whether completing the tuple here is wrong if its work waits elsewhere; an `except` fails it in any case."""
        return self._guards and node.nearest("handler", *SCOPES) is self._handler

    def before(self, node: Node, verb: str) -> tuple[Edit, ...] | None:
        """Put it before a statement, unless the handler keeps the work for later."""
        if self._is_guarded(node) and _keeps_work(node):
            return None
        indent = self._document.indent(node)
        lines = self._lines(verb, indent)
        return insert_before(self._document, node, self._text(lines, indent)) if lines else None

    def at_end(self, block: Node, verb: str, *, leave: bool = False) -> tuple[Edit, ...] | None:
        """Put it at the end of a block; `leave` also leaves the handler."""
        if not falls_through(self._document, block) or (
            self._is_guarded(block) and _keeps_work(block.children[-1], behind=True)
        ):
            return None
        indent = self._document.indent(block.children[-1])
        lines = self._lines(verb, indent, leave=leave)
        return append(self._document, block, self._text(lines, indent)) if lines else None

    def as_else(self, node: Node, verb: str) -> tuple[Edit, ...] | None:
        """Add an `else` to an `if`."""
        document = self._document
        block = _body(node)
        outer, inner = document.indent(node), document.indent(block.children[0])
        lines = self._lines(verb, inner)
        end = document.line_end(node.end)
        rest = document.text[node.end : end].strip()
        if outer is None or inner is None or not lines or (rest and not rest.startswith("#")):
            return None
        text = self._text(["", *lines], inner)
        return (document.edit(end, end, f"{document.newline}{outer}else:{text}"),)


def _keeps_work(node: Node, *, behind: bool = False) -> bool:
    """Whether code before a statement, or in it (`behind`), puts something into a collection that outlives the handler."""
    inside = (each for each in node.walk() if behind and each.kind == "call")
    return any(_is_store(call) for call in chain(inside, calls_before(node)))


def _is_store(call: Node) -> bool:
    """Whether a call stores something, and not in a local."""
    owner = call.children[0]  # a call in Python always has one
    return call.name in _STORES and [each.kind for each in owner.children] != ["name"]


def _completing_object(document: Document, finding: Finding, handler: Node) -> str:
    """Return the object whose `ack` and `fail` complete a tuple: `self`, or the framework's module."""
    verbs = [
        verb
        for dialect in known()
        if dialect.name == finding.dialect
        for verb in (
            *dialect.verbs,
            *(each for role in dialect.roles if role.kind is Kind.BOLT for each in role.verbs),
        )
        if verb.kind is VerbKind.ACK and verb.name == "ack"
    ]
    if any(verb.on == OWN for verb in verbs):
        return parameters(handler)[0]
    for call in document.root.walk() if document.root else ():
        owner = call.children[0] if call.kind == "call" and call.children else None
        if owner is None or owner.kind != "receiver" or call.name not in ("ack", "fail", "emit"):
            continue
        text = document.source(owner)
        if any(text.rpartition(".")[2] == verb.on.rpartition(".")[2] for verb in verbs):
            return text
    return ""


# ---- places ----


def _handler(finding: Finding, document: Document) -> Node | None:
    """Return the handler of the finding, if its place is in it."""
    found = document.holding(finding.site.span, "function") if not document.java else []
    return found[-1] if found and found[-1].name == finding.handler else None


def _branching(finding: Finding, document: Document) -> Node | None:
    """Return the statement whose header holds the place of a finding about one path."""
    if document.java or finding.case not in _PATHS:
        return None
    at = document.offset(*finding.site.span[:2])
    inside = document.holding(finding.site.span, "if", "loop", "handler", "try", "other")
    heads = [node for node in inside if any(child.kind == "block" for child in node.children)]
    return heads[-1] if heads and at < _body(heads[-1]).start else None


def _body(node: Node) -> Node:
    return next(each for each in node.children if each.kind == "block")


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
) -> tuple[Edit, ...] | None:
    """Complete the tuple before each `return` of a handler, and ack it at its end.

    Not behind a completion, and not at the end of the block `done`.
    """
    edits: list[Edit] = []
    for each in handler.walk():
        if each.kind != "return" or each.nearest(*SCOPES) is not handler or _is_completed(each):
            continue
        if is_dead(each, document) or (done is not None and each is done.children[-1]):
            continue
        before = statement.before(each, statement.verb_at(each)) if _is_plain_exit(document, each) else None
        if before is None or (done is not None and done in each.around()):
            return None
        edits += before
    body = _body(handler)
    if falls_through(document, body) and not _completes(body.children[-1]):
        end = statement.at_end(body, "ack")
        if end is None:
            return None
        edits += end
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
    return not any(node.kind == "call" for node in left.walk()) and "(" not in document.source(left)


def _fix(finding: Finding, title: str, edits: tuple[Edit, ...] | None) -> Fix | None:
    """Return the edits as a fix; `{}` in its title is the tuple.  Only acks of ticks are safe."""
    if not edits:
        return None
    is_tick = finding.code == TICK_COMPLETION
    tup = "the tick" if is_tick else "the tuple"
    return Fix(title=title.format(tup), safe=is_tick, edits=tuple(sorted(edits)))
