"""ACK301 to ACK304 in Python: message ids, records that wait for their ack, replays with a limit.

Each of these fixes decides how often a record is tried and when it is given up, so all but calls of `super()` are unsafe.
"""

import re
from typing import NamedTuple

from ackdoctor.dialects import known
from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, parameters
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

    def method(self, kind: EntryKind) -> Node | None:
        """Return the method that the class defines for an event."""
        names = {entry.method for entry in self.role.entries if entry.kind is kind}
        return next(
            (each for each in _block(self.cls).children if each.kind == "function" and each.name in names),
            None,
        )

    def entry(self, kind: EntryKind) -> Entry | None:
        """Return the method that the framework calls for an event."""
        return next((each for each in self.role.entries if each.kind is kind), None)

    def free(self, *names: str) -> str:
        """Return the first of some names that the file does not use."""
        return next((name for name in names if not re.search(rf"\b{name}\b", self.document.text)), "")

    @property
    def own(self) -> str:
        """The name of `self`."""
        method = self.method(EntryKind.NEXT)
        return parameters(method)[0] if method is not None and parameters(method) else ""

    @property
    def step(self) -> str:
        """What one level of indentation is."""
        body = _block(self.cls)
        outer, inner = self.document.indent(self.cls), self.document.indent(body.children[0])
        return inner.removeprefix(outer or "") if inner is not None else ""

    def with_lines(self, kind: EntryKind, lines: tuple[str, ...], *, given: str) -> tuple[Edit, ...] | None:
        """Put lines at the start of a method, or add the method; `given` is the name of its argument then."""
        method, entry = self.method(kind), self.entry(kind)
        if entry is None or not self.step:
            return None
        if method is None:
            added = entry.params or ((given,) if given else ())
            return self._add_method(entry, added, [line.replace(_ID, given) for line in lines])
        names = parameters(method)
        first = _first_statement(self.document, _block(method))
        if first is None or (given and (len(names) < 2 or is_bound(method, names[1]))):  # noqa: PLR2004
            return None
        inner = [line.replace(_ID, names[1] if given else "").replace("\t", self.step) for line in lines]
        indent = self.document.indent(first)
        if indent is not None and self.document.source(first) == "pass":
            end = self.document.line_end(first.end)  # with a comment that says that nothing is done
            text = f"{self.document.newline}{indent}".join(inner)
            return (self.document.edit(first.start, end, text),)
        if indent is not None:
            return insert_before(self.document, first, f"{self.document.newline}{indent}".join(inner))
        outer = self.document.indent(method)
        if outer is None or self.document.source(first) != "pass":
            return None
        text = "".join(f"{self.document.newline}{outer}{self.step}{line}" for line in inner)
        start = first.start - (self.document.text[first.start - 1] == " ")
        return (self.document.edit(start, first.end, text),)

    def _add_method(self, entry: Entry, names: tuple[str, ...], lines: list[str]) -> tuple[Edit, ...] | None:
        """Add a method at the end of the class, or before the other methods if it is called first."""
        document, body = self.document, _block(self.cls)
        outer = document.indent(body.children[0])
        if outer is None:
            return None
        head = f"def {entry.method}({', '.join((self.own, *names))}):"
        inner = [outer + self.step + line.replace("\t", self.step) for line in lines]
        first = _methods(self.cls)[0]
        above = document.text[: document.line_start(first.start)].rstrip().rpartition("\n")[2]
        if entry.kind is EntryKind.INIT and not above.lstrip().startswith("@"):
            text = document.newline.join((head, *inner, "", outer))
            return (document.edit(first.start, first.start, text),)
        end = document.line_end(body.children[-1].end)
        rest = document.text[body.children[-1].end : end].strip()
        if rest and not rest.startswith("#"):
            return None
        text = document.newline.join(("", "", outer + head, *inner))
        return (document.edit(end, end, text),)


def track(finding: Finding, document: Document) -> Fix | None:
    """Emit with a message id, keep the values until the ack, and emit them again in `fail`, a few times."""
    spout = _spout(finding, document)
    call = document.node_at(finding.site.span, "call")
    if spout is None or call is None or spout.emit.message_id is None:
        return None
    found = [each for each in spout.cls.walk() if each.kind == "call" and each.name == spout.emit.name]
    values, more, stream = _payload(spout, call)
    if any(f"={name}`" in finding.help for name in stream):
        return None  # the id is at the place of the stream
    if (
        len(found) != 1
        or values is None
        or _does_something(spout, EntryKind.FAILED)
        or _may_change(call, values)
        or _may_never_end(spout, call)
    ):
        return None
    pending, counter, name = spout.free(*_FIELDS), spout.free(*_COUNTERS), spout.free(*_VALUES)
    if not pending or not counter or not name or not spout.own:
        return None
    pending, counter = f"{spout.own}.{pending}", f"{spout.own}.{counter}"
    given = next((each for each in _arguments(call) if each.name == spout.emit.message_id), None)
    sent = _send(spout, call, _Record(values, name, stream), given, pending, counter)
    again = f"{_function_text(spout, call)}({name}{more}, {spout.emit.message_id}={_ID})"
    parts_of = ", ".join((name, *stream))
    nothing = ", ".join(("None",) * (1 + len(stream)))
    start = (f"{pending} = {{}}", *((f"{counter} = 0",) if given is None else ()))
    parts = (
        sent,
        _initialise(spout, start),
        spout.with_lines(EntryKind.ACKED, (f"{pending}.pop({_ID}, None)",), given="tup_id"),
        spout.with_lines(
            EntryKind.FAILED,
            (
                f"{parts_of}, tries = {pending}.pop({_ID}, ({nothing}, {_TRIES}))",
                f"if tries < {_TRIES}:",
                f"\t{pending}[{_ID}] = {parts_of}, tries + 1",
                f"\t{again}",
            ),
            given="tup_id",
        ),
    )
    title = "Emit with a message id, and" if given is None else "Keep the values until the ack, and"
    return _fix(f"{title} again after a failure, {_TRIES} times at most", parts)


def pass_id(finding: Finding, document: Document) -> Fix | None:
    """Pass the id under which the spout stores the record of the same emit."""
    spout = _spout(finding, document)
    call = document.node_at(finding.site.span, "call")
    statement = statement_of(call) if call is not None else None
    if spout is None or call is None or statement is None or spout.emit.message_id is None:
        return None
    function, block = call.nearest(*SCOPES), statement.parent
    if (
        function is None
        or block is None
        or any(each.name in ("*", spout.emit.message_id) for each in _arguments(call))
    ):
        return None
    stores = [each for each in _stores(spout, function) if each.statement in block.children]
    keys = {each.key for each in stores}
    if (
        len(keys) != 1
        or not all(each.statement.start < statement.start for each in stores)
        or not _arguments(call)
    ):
        return None
    last = _arguments(call)[-1]
    text = document.text[last.end : call.end]
    if text.strip(" \t,)"):
        return None
    (key,) = keys
    code, at = f"{spout.emit.message_id}={key}", last.end
    is_stream = not last.name and document.source(last) == key  # the id is at the place of the stream
    edit = document.edit(last.start, at, code) if is_stream else document.edit(at, at, f", {code}")
    return Fix(title=f"Pass `{spout.emit.message_id}={key}`", safe=False, edits=(edit,))


def forget(finding: Finding, document: Document) -> Fix | None:
    """Remove the entry from the field when the tuple is acked."""
    spout = _spout(finding, document)
    if spout is None or finding.case != "message":
        return None
    at = document.offset(*finding.site.span[:2])
    function = next((each for each in _methods(spout.cls) if each.start <= at < each.end), None)
    stores = _stores(spout, function) if function is not None else []
    store = next((each for each in stores if each.statement.start <= at < each.statement.end), None)
    emits = (
        [each for each in function.walk() if each.kind == "call" and each.name == spout.emit.name]
        if function
        else []
    )
    ids = {
        document.source(each.children[0])
        for call in emits
        for each in _arguments(call)
        if each.name == spout.emit.message_id
    }
    if store is None or ids != {store.key}:
        return None
    line = f"{store.field}.pop({_ID}, None)"
    return _fix(
        f"Remove the entry from `{store.field}` when it is acked",
        (spout.with_lines(EntryKind.ACKED, (line,), given="tup_id"),),
    )


def call_framework(finding: Finding, document: Document) -> Fix | None:
    """Call the method of the framework that an override hides."""
    from ackdoctor.fixes.python_tree import is_python2

    spout = _spout(finding, document)
    if spout is None or finding.case != "owned method":
        return None
    at = document.offset(*finding.site.span[:2])
    method = next((each for each in _methods(spout.cls) if each.start <= at < _block(each).start), None)
    kind = next((e.kind for e in spout.role.entries if method is not None and e.method == method.name), None)
    if method is None or kind is None or is_python2(document.text):
        return None
    line = f"super().{method.name}({_ID})"
    parts = (spout.with_lines(kind, (line,), given="tup_id"),)
    return _fix(f"Call `super().{method.name}(...)`", parts, safe=True)


def limit(finding: Finding, document: Document) -> Fix | None:
    """Give a record up after a few failures, as if it were acked."""
    spout = _spout(finding, document)
    if spout is None:
        return None
    failed, acked = spout.method(EntryKind.FAILED), spout.method(EntryKind.ACKED)
    tries = spout.free(*_LIMITS)
    if failed is None or acked is None or not tries or not _is_inside(document, finding, failed):
        return None
    names = parameters(failed)
    if not _keeps_id(document, failed, names[-1] if names else "", spout.emit.message_id or ""):
        return None
    tries = f"{spout.own}.{tries}"
    parts = (
        _initialise(spout, (f"{tries} = {{}}",)),
        spout.with_lines(EntryKind.ACKED, (f"{tries}.pop({_ID}, None)",), given="tup_id"),
        spout.with_lines(
            EntryKind.FAILED,
            (
                f"{tries}[{_ID}] = {tries}.get({_ID}, 0) + 1",
                f"if {tries}[{_ID}] > {_TRIES}:",
                f"\t{spout.own}.{acked.name}({_ID})",
                "\treturn",
            ),
            given="tup_id",
        ),
    )
    return _fix(f"Give a record up after {_TRIES} replays", parts)


def _keeps_id(document: Document, failed: Node, name: str, keyword: str) -> bool:
    """Whether `fail` emits under the id that it gets, or puts this id back: a record with a new id is not counted."""
    emits = [
        {each.name: document.source(each.children[0]) for each in _arguments(call)}
        for call in failed.walk()
        if call.kind == "call" and call.name == "emit"
    ]
    back = any(
        call.name in ("append", "appendleft", "put", "add", "insert") and document.source(each) == name
        for call in failed.walk()
        if call.kind == "call"
        for each in _arguments(call)
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
) -> tuple[Edit, ...] | None:
    """Store the values of an emit before it, and emit them with the id."""
    document, statement = spout.document, statement_of(call)
    indent = document.indent(statement) if statement is not None else None
    scope = call.nearest(*SCOPES)
    if statement is None or indent is None or scope is None or scope.kind != "function":
        return None
    lines, edits = [], []
    values = record.values
    text, key = document.source(values), counter
    if "\n" in text or "\r" in text:
        return None
    if given is None:
        lines.append(f"{counter} += 1")
    else:
        key = document.source(given.children[0])
    if given is not None and given.children[0].kind not in ("name", "attribute"):
        if is_bound(scope, "tup_id") or "tup_id" in parameters(scope):
            return None
        lines.append(f"tup_id = {key}")
        edits.append(document.edit(given.children[0].start, given.children[0].end, "tup_id"))
        key = "tup_id"
    if values.kind != "name":
        lines.append(f"{record.name} = {text}")
        edits.append(document.edit(values.start, values.end, record.name))
        text = record.name
    lines.append(f"{pending}[{key}] = {', '.join((text, *record.stream))}, 1")
    if given is None:
        at = _arguments(call)[-1].end
        if document.text[at : call.end].strip(" \t,)"):
            return None
        edits.append(document.edit(at, at, f", {spout.emit.message_id}={key}"))
    before = insert_before(document, statement, f"{document.newline}{indent}".join(lines))
    return (*before, *edits) if before else None


def _may_never_end(spout: _Spout, call: Node) -> bool:
    """Whether an emit is in a loop that may not end: no ack would come, and every record would be kept."""
    for loop in (each for each in call.around() if each.kind == "loop"):
        head = spout.document.text[loop.start : _block(loop).start]
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


def _payload(spout: _Spout, call: Node) -> tuple[Node | None, str, tuple[str, ...]]:
    """Return the values that are emitted, the text of the stream behind them and its variable; None for another emit."""
    given, nothing = _arguments(call), (None, "", ())
    if not given or given[0].name or statement_of(call) is None:
        return nothing
    more = [each for each in given[1:] if each.name != spout.emit.message_id]
    if not more:
        return given[0].children[0], "", ()
    name = more[0].name or (spout.emit.params[1] if len(spout.emit.params) > 1 else "")
    stream = more[0].children[0]
    is_text = spout.document.source(stream)[:1] in ("'", '"')
    if len(more) > 1 or name != "stream" or not (is_text or stream.kind == "name"):
        return nothing
    return given[0].children[0], f", {spout.document.source(more[0])}", () if is_text else (stream.name,)


def _initialise(spout: _Spout, lines: tuple[str, ...]) -> tuple[Edit, ...] | None:
    """Put assignments at the start of the method that the framework calls first."""
    return spout.with_lines(EntryKind.INIT, lines, given="")


def _does_something(spout: _Spout, kind: EntryKind) -> bool:
    """Whether a method has statements beside its docstring and `pass`."""
    method = spout.method(kind)
    if method is None:
        return False
    return any(not _is_idle(spout.document, each) for each in _block(method).children)


def _is_idle(document: Document, statement: Node) -> bool:
    """Whether a statement is `pass`, a text, or a call that logs."""
    if statement.kind == "expression" and statement.children:
        call = statement.children[0]
        return (call.kind == "call" and call.name in LOGGING) or document.source(call)[:1] in ("'", '"')
    return document.source(statement) == "pass"


def _spout(finding: Finding, document: Document) -> _Spout | None:
    """Return the class around the place of a finding; None if it inherits the code, or others inherit it (`details`)."""
    if document.java or finding.home or finding.heritage or finding.details:
        return None
    classes = document.holding(finding.site.span, "class")
    if not classes or classes[-1].name != finding.component.rpartition(".")[2]:
        return None
    dialect = next((each for each in known() if each.name == finding.dialect), None)
    role = _role(dialect, document, classes[-1]) if dialect is not None else None
    verbs = dialect.verbs_of(role) if dialect is not None and role is not None else ()
    emit = next((each for each in verbs if each.kind is VerbKind.EMIT and each.message_id), None)
    return _Spout(document, classes[-1], role, emit) if role is not None and emit is not None else None


def _role(dialect: Dialect, document: Document, cls: Node) -> Role | None:
    """Return the role whose name is that of a base class; if there is none, the plain one."""
    roles = [role for role in dialect.roles if role.kind is Kind.SPOUT]
    head = document.text[cls.start : _block(cls).start]
    named = (role for role in reversed(roles) if re.search(rf"\b{role.name}\b", head.partition("(")[2]))
    return next(named, None)


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
    return [each for each in _block(cls).children if each.kind == "function"]


def _block(node: Node) -> Node:
    return next(each for each in node.children if each.kind == "block")


def _arguments(call: Node) -> list[Node]:
    return [each for each in call.children if each.kind == "argument"]


def _is_inside(document: Document, finding: Finding, node: Node) -> bool:
    return node.start <= document.offset(*finding.site.span[:2]) < node.end


def _fix(title: str, parts: tuple[tuple[Edit, ...] | None, ...], *, safe: bool = False) -> Fix | None:
    """Return all parts as one fix; None if one is missing, or two are at the same place."""
    edits = [edit for part in parts if part for edit in part]
    if not all(parts):
        return None
    return Fix(title=title, safe=safe, edits=joined(edits))
