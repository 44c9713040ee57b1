"""ACK301 to ACK304 in Python: message ids, records that wait for their ack, replays with a limit.

Each of these fixes decides how often a record is tried and when it is given up, so all but calls of `super()` are unsafe.
"""

import re
from typing import NamedTuple

from ackdoctor.dialects import known
from ackdoctor.fixes.document import SCOPES, Document, Node, fits, need, proposed
from ackdoctor.fixes.handlers import parameters
from ackdoctor.fixes.statements import insert_before, is_bound, joined, statement_of
from ackdoctor.libraries.vocabulary import LOGGING
from ackdoctor.model.dialect import Dialect, Entry, EntryKind, Kind, Role, Verb, VerbKind
from ackdoctor.model.finding import Edit, Finding, Fix

_TRIES = 3
_ID = "\0"  # in lines of code: the name of the parameter that is the id
_FIELDS = ("pending", "in_flight", "unacked", "waiting_for_ack")
_COUNTERS = ("last_id", "last_message_id", "emitted_so_far")
_VALUES = ("values", "record", "payload")
_LIMITS = ("tries", "replays", "times_failed")
_STORES = re.compile(r"(?P<own>\w+)\.(?P<field>\w+)\[")


class _Spout(NamedTuple):
    """The class of a finding about a spout."""

    document: Document
    cls: Node
    role: Role
    emit: Verb

    @property
    def message_id(self) -> str:
        """The keyword of the message id."""
        return need(self.emit.message_id)

    def method(self, kind: EntryKind) -> Node | None:
        """Return the method that the class defines for an event."""
        names = {entry.method for entry in self.role.entries if entry.kind is kind}
        return next((each for each in _methods(self.cls) if each.name in names), None)

    def free(self, *names: str) -> str:
        """Return the first of some names that the file does not use."""
        unused = (name for name in names if not re.search(rf"\b{name}\b", self.document.text))
        return need(next(unused, None))

    @property
    def own(self) -> str:
        """The name of `self`."""
        return need(next(iter(parameters(need(self.method(EntryKind.NEXT)))), None))

    @property
    def step(self) -> str:
        """What one level of indentation is."""
        inner = need(self.document.indent(need(self.cls.block).children[0]))
        return need(inner.removeprefix(self.document.indent(self.cls) or "") or None)

    def with_lines(self, kind: EntryKind, lines: tuple[str, ...], *, given: str) -> tuple[Edit, ...]:
        """Put lines at the start of a method, or add the method; `given` is the name of its argument then."""
        document, method = self.document, self.method(kind)
        entry = need(next((each for each in self.role.entries if each.kind is kind), None))
        if method is None:
            added = entry.params or ((given,) if given else ())
            return self._add_method(entry, added, [line.replace(_ID, given) for line in lines])
        names = parameters(method)
        fits(not given or (len(names) > 1 and not is_bound(method, names[1])))
        first = need(_first_statement(document, need(method.block)))
        inner = [line.replace(_ID, names[1] if given else "").replace("\t", self.step) for line in lines]
        indent = document.indent(first)
        if indent is not None and document.source(first) == "pass":
            end = document.line_end(first.end)  # with a comment that says that nothing is done
            return (document.edit(first.start, end, f"{document.newline}{indent}".join(inner)),)
        if indent is not None:
            return insert_before(document, first, f"{document.newline}{indent}".join(inner))
        outer = need(document.indent(method))
        fits(document.source(first) == "pass")
        text = "".join(f"{document.newline}{outer}{self.step}{line}" for line in inner)
        start = first.start - (document.text[first.start - 1] == " ")
        return (document.edit(start, first.end, text),)

    def _add_method(self, entry: Entry, names: tuple[str, ...], lines: list[str]) -> tuple[Edit, ...]:
        """Add a method at the end of the class, or before the other methods if it is called first."""
        document, body = self.document, need(self.cls.block)
        outer = need(document.indent(body.children[0]))
        head = f"def {entry.method}({', '.join((self.own, *names))}):"
        inner = [outer + self.step + line.replace("\t", self.step) for line in lines]
        first = _methods(self.cls)[0]
        above = document.text[: document.line_start(first.start)].rstrip().rpartition("\n")[2]
        if entry.kind is EntryKind.INIT and not above.lstrip().startswith("@"):
            text = document.newline.join((head, *inner, "", outer))
            return (document.edit(first.start, first.start, text),)
        end = document.line_end(body.children[-1].end)
        rest = document.text[body.children[-1].end : end].strip()
        fits(not rest or rest.startswith("#"))
        text = document.newline.join(("", "", outer + head, *inner))
        return (document.edit(end, end, text),)


def track(finding: Finding, document: Document) -> Fix:
    """Emit with a message id, keep the values until the ack, and emit them again in `fail`, a few times."""
    spout, call = _spout(finding, document), document.call_at(finding)
    fits(sum(1 for _ in spout.cls.calls(spout.emit.name)) == 1)
    values, more, stream = _payload(spout, call)
    fits(not any(f"={name}`" in finding.help for name in stream))  # else the id is at the place of the stream
    given = next((each for each in call.arguments if each.name == spout.message_id), None)
    fits(not _does_something(spout, EntryKind.FAILED))
    fits(given is not None or _accepts_number(spout))
    fits(not _may_change(call, values), not _may_never_end(spout, call))
    pending, counter = (f"{spout.own}.{spout.free(*names)}" for names in (_FIELDS, _COUNTERS))
    name = spout.free(*_VALUES)
    sent = _send(spout, call, _Record(values, name, stream), given, pending, counter)
    again = f"{_function_text(spout, call)}({name}{more}, {spout.message_id}={_ID})"
    parts_of = ", ".join((name, *stream))
    nothing = ", ".join(("None",) * (1 + len(stream)))
    start = (f"{pending} = {{}}", *((f"{counter} = 0",) if given is None else ()))
    failed = (
        f"{parts_of}, tries = {pending}.pop({_ID}, ({nothing}, {_TRIES}))",
        f"if tries < {_TRIES}:",
        f"\t{pending}[{_ID}] = {parts_of}, tries + 1",
        f"\t{again}",
    )
    edits = (
        *sent,
        *spout.with_lines(EntryKind.INIT, start, given=""),
        *spout.with_lines(EntryKind.ACKED, (f"{pending}.pop({_ID}, None)",), given="tup_id"),
        *spout.with_lines(EntryKind.FAILED, failed, given="tup_id"),
    )
    title = "Emit with a message id, and" if given is None else "Keep the values until the ack, and"
    return proposed(f"{title} again after a failure, {_TRIES} times at most", joined(edits))


def pass_id(finding: Finding, document: Document) -> Fix:
    """Pass the id under which the spout stores the record of the same emit."""
    spout, call = _spout(finding, document), document.call_at(finding)
    statement, function = need(statement_of(call)), need(call.nearest(*SCOPES))
    block, given = need(statement.parent), call.arguments
    fits(given, all(each.name not in ("*", spout.message_id) for each in given))
    stores = [each for each in _stores(spout, function) if each.statement in block.children]
    keys = {each.key for each in stores}
    fits(len(keys) == 1, all(each.statement.start < statement.start for each in stores))
    (key,), last = keys, given[-1]
    fits(not document.text[last.end : call.end].strip(" \t,)"))
    code, at = f"{spout.message_id}={key}", last.end
    is_stream = not last.name and document.source(last) == key  # the id is at the place of the stream
    edit = document.edit(last.start, at, code) if is_stream else document.edit(at, at, f", {code}")
    return proposed(f"Pass `{code}`", [edit])


def forget(finding: Finding, document: Document) -> Fix:
    """Remove the entry from the field when the tuple is acked."""
    spout = _spout(finding, document)
    fits(finding.case == "message")
    at = document.offset(*finding.site.span[:2])
    function = need(next((each for each in _methods(spout.cls) if each.start <= at < each.end), None))
    holding = (each for each in _stores(spout, function) if each.statement.start <= at < each.statement.end)
    store = need(next(holding, None))
    given = (each for call in function.calls(spout.emit.name) for each in call.arguments)
    fits(
        {document.source(each.children[0]) for each in given if each.name == spout.message_id} == {store.key}
    )
    edits = spout.with_lines(EntryKind.ACKED, (f"{store.field}.pop({_ID}, None)",), given="tup_id")
    return proposed(f"Remove the entry from `{store.field}` when it is acked", edits)


def call_framework(finding: Finding, document: Document) -> Fix:
    """Call the method of the framework that an override hides."""
    from ackdoctor.fixes.python_tree import is_python2

    spout = _spout(finding, document)
    at = document.offset(*finding.site.span[:2])
    heads = (each for each in _methods(spout.cls) if each.start <= at < need(each.block).start)
    method = need(next(heads, None))
    kind = need(next((each.kind for each in spout.role.entries if each.method == method.name), None))
    fits(finding.case == "owned method", not is_python2(document.text))
    edits = spout.with_lines(kind, (f"super().{method.name}({_ID})",), given="tup_id")
    return proposed(f"Call `super().{method.name}(...)`", edits, safe=True)


def limit(finding: Finding, document: Document) -> Fix:
    """Give a record up after a few failures, as if it were acked."""
    spout = _spout(finding, document)
    failed, acked = need(spout.method(EntryKind.FAILED)), need(spout.method(EntryKind.ACKED))
    tries, names = f"{spout.own}.{spout.free(*_LIMITS)}", parameters(failed)
    fits(failed.start <= document.offset(*finding.site.span[:2]) < failed.end)
    fits(_keeps_id(document, failed, names[-1] if names else "", spout.message_id))
    lines = (
        f"{tries}[{_ID}] = {tries}.get({_ID}, 0) + 1",
        f"if {tries}[{_ID}] > {_TRIES}:",
        f"\t{spout.own}.{acked.name}({_ID})",
        "\treturn",
    )
    edits = (
        *spout.with_lines(EntryKind.INIT, (f"{tries} = {{}}",), given=""),
        *spout.with_lines(EntryKind.ACKED, (f"{tries}.pop({_ID}, None)",), given="tup_id"),
        *spout.with_lines(EntryKind.FAILED, lines, given="tup_id"),
    )
    return proposed(f"Give a record up after {_TRIES} replays", joined(edits))


def _keeps_id(document: Document, failed: Node, name: str, keyword: str) -> bool:
    """Whether `fail` emits under the id that it gets, or puts this id back: a record with a new id is not counted."""
    emits = [
        {each.name: document.source(each.children[0]) for each in call.arguments}
        for call in failed.calls("emit")
    ]
    back = any(
        document.source(each) == name
        for call in failed.calls("append", "appendleft", "put", "add", "insert")
        for each in call.arguments
    )
    return all(given.get(keyword) == name for given in emits) and (bool(emits) or back)


# ---- parts ----


class _Record(NamedTuple):
    """What an emit sends: its values, the local that holds them, and the variable of its stream, if there is one."""

    values: Node
    name: str
    stream: tuple[str, ...]


class _Store(NamedTuple):
    """A statement that stores something under a key in a field."""

    statement: Node
    field: str
    key: str


def _stores(spout: _Spout, function: Node) -> list[_Store]:
    """Return the statements `self.field[key] = ...` of a function."""
    found = []
    for node in function.walk():
        parent = node.parent
        if node.kind != "other" or parent is None or parent.kind not in ("block", "finally"):
            continue
        text = spout.document.source(node)
        match = _STORES.match(text)
        if match is None or match["own"] != spout.own or not node.children or not text.startswith(match[0]):
            continue
        target = spout.document.source(node.children[0])
        if not target.endswith("]") or not re.match(
            r"\s*=(?!=)", spout.document.text[node.children[0].end :]
        ):
            continue
        key = target[len(match[0]) : -1].strip()
        if "[" not in key and "]" not in key:
            found.append(_Store(node, f"{match['own']}.{match['field']}", key))
    return found


def _send(
    spout: _Spout, call: Node, record: _Record, given: Node | None, pending: str, counter: str
) -> tuple[Edit, ...]:
    """Store the values of an emit before it, and emit them with the id."""
    document, statement, scope = spout.document, need(statement_of(call)), need(call.nearest(*SCOPES))
    indent, values = need(document.indent(statement)), record.values
    text, lines, edits = document.source(values), [], []
    fits(scope.kind == "function", "\n" not in text, "\r" not in text)
    if given is None:
        key = counter
        lines.append(f"{counter} += 1")
    elif given.children[0].kind in ("name", "attribute"):
        key = document.source(given.children[0])
    else:
        key = "tup_id"
        fits(not is_bound(scope, key), key not in parameters(scope))
        lines.append(f"{key} = {document.source(given.children[0])}")
        edits.append(document.edit(given.children[0].start, given.children[0].end, key))
    if values.kind != "name":
        lines.append(f"{record.name} = {text}")
        edits.append(document.edit(values.start, values.end, record.name))
        text = record.name
    lines.append(f"{pending}[{key}] = {', '.join((text, *record.stream))}, 1")
    if given is None:
        at = call.arguments[-1].end
        fits(not document.text[at : call.end].strip(" \t,)"))
        edits.append(document.edit(at, at, f", {spout.message_id}={key}"))
    before = insert_before(document, statement, f"{document.newline}{indent}".join(lines))
    return (*before, *edits)


def _may_never_end(spout: _Spout, call: Node) -> bool:
    """Whether an emit is in a loop that may not end: no ack would come, and every record would be kept."""
    for loop in (each for each in call.around() if each.kind == "loop"):
        head = spout.document.text[loop.start : need(loop.block).start]
        if re.match(rf"while\s+(?:True|1)\b|for\b.*\bin\s+{spout.own}\.\w+\s*:", head):
            return True
    return False


def _may_change(call: Node, values: Node) -> bool:
    """Whether what an emit sends may change before it is sent again: a field, or a local that other code uses as well."""
    if values.kind != "name":
        return values.kind == "attribute"
    scope, loop = call.nearest(*SCOPES), call.nearest("loop", *SCOPES)
    if scope is None or loop is None or not is_bound(loop, values.name):
        return True
    later = (
        node
        for node in scope.walk()
        if node.kind == "name" and node.name == values.name and node.start > call.end
    )
    calls = (node.nearest("call") for node in later)
    return any(user is None or user.name not in LOGGING for user in calls)


def _payload(spout: _Spout, call: Node) -> tuple[Node, str, tuple[str, ...]]:
    """Return the values that are emitted, the text of the stream behind them and its variable."""
    given = call.arguments
    fits(given and not given[0].name and statement_of(call))
    values, more = given[0].children[0], [each for each in given[1:] if each.name != spout.message_id]
    if not more:
        return values, "", ()
    name = more[0].name or (spout.emit.params[1] if len(spout.emit.params) > 1 else "")
    stream = more[0].children[0]
    is_text = spout.document.source(stream)[:1] in ("'", '"')
    fits(len(more) == 1, name == "stream", is_text or stream.kind == "name")
    return values, f", {spout.document.source(more[0])}", () if is_text else (stream.name,)


def _does_something(spout: _Spout, kind: EntryKind) -> bool:
    """Whether a method has statements beside its docstring and `pass`."""
    body = method.block if (method := spout.method(kind)) is not None else None
    return body is not None and any(not _is_idle(spout.document, each) for each in body.children)


def _accepts_number(spout: _Spout) -> bool:
    """Whether `ack` and `fail` run with a number as the id: they only log it, and join it to no text."""
    methods = [spout.method(kind) for kind in (EntryKind.ACKED, EntryKind.FAILED)]
    joined_to_text = any(
        re.search(rf"\+\s*{name}\b|\b{name}\s*\+", spout.document.source(method))
        for method in methods
        if method is not None
        for name in parameters(method)[1:2]
    )
    return not joined_to_text and not _does_something(spout, EntryKind.ACKED)


def _is_idle(document: Document, statement: Node) -> bool:
    """Whether a statement is `pass`, a text, or a call that logs."""
    if statement.kind == "expression" and statement.children:
        call = statement.children[0]
        return (call.kind == "call" and call.name in LOGGING) or document.source(call)[:1] in ("'", '"')
    return document.source(statement) == "pass"


def _spout(finding: Finding, document: Document) -> _Spout:
    """Return the class around the place of a finding, unless it inherits the code, or others inherit it (`details`)."""
    fits(not (document.java or finding.home or finding.heritage or finding.details))
    cls = need(next(reversed(document.holding(finding.site.span, "class")), None))
    fits(cls.name == finding.component.rpartition(".")[2])
    dialect = need(next((each for each in known() if each.name == finding.dialect), None))
    role = _role(dialect, document, cls)
    emits = (each for each in dialect.verbs_of(role) if each.kind is VerbKind.EMIT and each.message_id)
    return _Spout(document, cls, role, need(next(emits, None)))


def _role(dialect: Dialect, document: Document, cls: Node) -> Role:
    """Return the role whose name is that of a base class; if there is none, the plain one."""
    roles = [role for role in dialect.roles if role.kind is Kind.SPOUT]
    bases = document.text[cls.start : need(cls.block).start].partition("(")[2]
    named = (role for role in reversed(roles) if re.search(rf"\b{role.name}\b", bases))
    return need(next(named, None))


def _function_text(spout: _Spout, call: Node) -> str:
    owner = call.children[0]
    text = spout.document.source(owner)
    return f"{text}.{call.name}" if owner.kind == "receiver" and text != call.name else call.name


def _first_statement(document: Document, body: Node) -> Node | None:
    """Return the first statement behind the docstring; the docstring itself if there is no other."""
    first = body.children[0]
    is_text = first.kind == "expression" and document.source(first)[:1] in ("'", '"')
    if is_text:
        return body.children[1] if len(body.children) > 1 else None
    return first


def _methods(cls: Node) -> list[Node]:
    return [each for each in need(cls.block).children if each.kind == "function"]
