"""ACK301 to ACK304 in Java: message ids, records that wait for their ack, replays with a limit."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ackdoctor.fixes.document import SCOPES, Document, Node, fits, need, proposed
from ackdoctor.fixes.handlers import parameters, unit_of
from ackdoctor.fixes.java_paths import append
from ackdoctor.fixes.statements import import_edits, insert_before, is_bound, joined, statement_of
from ackdoctor.model.finding import Edit, Finding, Fix
from ackdoctor.rulebook import SPOUT_EMIT_WITHOUT_ID, SPOUT_WITHOUT_REPLAY

_TRIES = 3
_COLLECTOR = re.compile(r"\b\w*SpoutOutputCollector\s+\w+\s*;")
_ENDLESS = re.compile(r"(?:while\s*\(\s*true\s*\)|for\s*\(\s*;|for\s*\([^;)]*:\s*(?:this\.)?\w+\s*\.)")
_NEXT_OF = re.compile(r"while\s*\(\s*(\w+)\s*\.\s*hasNext\s*\(")  # one of Kafka 0.8 waits for the next record
_LOGS = re.compile(r"(?:this\.)?(?:_?log(?:ger)?|LOG(?:GER)?|System\.(?:out|err))\.|super\.\w+\(\w+\);$")
_STREAM = re.compile(r'"[^"]*"|(?:\w+\.)*[A-Z][A-Z0-9_]*')
_NEW = re.compile(r"new\s+\w+\(|Arrays\.asList\(")
_BACK = tuple("add addFirst addLast offer offerFirst offerLast push put".split())


def forget_on_ack(finding: Finding, document: Document) -> Fix:
    """Remove the entry of the acked message in `ack`, which is added if the spout has none."""
    put = document.call_at(finding)
    fits(document.java, finding.case == "message", put.name == "put")
    scope, function = need(put.nearest("class")), need(put.nearest(*SCOPES))
    field, acks = document.source(put.children[0]), _methods(scope, "ack")
    fits(function.kind == "function", re.fullmatch(r"(?:this\.)?\w+", field), len(acks) <= 1)
    if acks:
        names, block = parameters(acks[0]), acks[0].children[-1]
        leaves = any(node.kind in ("return", "raise") for node in block.walk())
        fits(len(names) == 1 and block.kind == "block" and not leaves)
        edits = append(document, acks[0], block, f"{field}.remove({names[0]});")
    else:
        edits = _method_with(document, function, "ack", [f"{field}.remove(\0);"])
    return proposed(f"Remove the entry from `{field}` in `ack`", edits)


def forget_on_replay(finding: Finding, document: Document) -> Fix:
    """Take the entry of the failed message out of the field, where `fail` reads it."""
    put = document.call_at(finding)
    function = need(put.nearest(*SCOPES))
    names = parameters(function)
    fits(document.java, finding.case == "new id", function.kind == "function", len(names) == 1)
    field = document.source(put.children[0])
    reads = [node for node in function.calls("get") if document.source(node) == f"{field}.get({names[0]})"]
    fits(len(reads) == 1 and reads[0].nearest("loop", "if", "function") is function)
    at = reads[0].start + len(field) + 1
    edit = document.edit(at, at + len("get"), "remove")
    return proposed(f"Remove the old entry from `{field}`", [edit])


def track(finding: Finding, document: Document) -> Fix:
    """Emit with a message id, keep the values until the ack, and emit them again in `fail`, a few times."""
    sent = _sent_at(finding, document)
    pending, tries = _free(document, "pending", "inFlight"), _free(document, "tries", "attempts")
    fields = [_map(document, "Values", pending), _map(document, "Integer", tries)]
    lines, edits, key, values = [], [], sent.key, document.source(sent.values)
    if not sent.key:
        key = _free(document, "lastId", "lastMessageId")
        fields.append(f"private long {key};")
        lines.append(f"{key}++;")
        edits.append(document.edit(sent.values.end, sent.values.end, f", {key}"))
    if sent.values.kind != "name":
        fits(not is_bound(sent.function, "values"))
        lines.append(f"Values values = {values};")
        edits.append(document.edit(sent.values.start, sent.values.end, "values"))
        values = "values"
    lines.append(f"{pending}.put({key}, {values});")
    edits += insert_before(document, sent.statement, _code(document, sent.statement, lines))
    title = "Keep the values until the ack, and" if sent.key else "Emit with a message id, and"
    again = _again("Values", pending, tries, f"{sent.collector}.emit({sent.stream}values, \0);")
    return _tracked(document, sent, f"{title} again", fields, again, edits)


def track_all(finding: Finding, document: Document) -> Fix:
    """Emit through a method that keeps the values until the ack, and emit them again in `fail`, a few times."""
    emits = _all_sent(finding, document)
    pending, tries, streams = (
        _free(document, each, f"{each}ById") for each in ("pending", "tries", "streams")
    )
    send, key = _free(document, "emitTracked", "emitWithId"), _free(document, "lastId", "lastMessageId")
    collector = emits[0].collector
    keeps, drops, stream, kept_stream, parameter, kept = [], [], "", "", "", []
    if emits[0].stream:
        keeps, drops = [f"{streams}.put({key}, stream);"], [f"{streams}.remove(\0);"]
        stream, kept_stream, parameter = "stream, ", f"{streams}.get(\0), ", "String stream, "
        kept = [_map(document, "String", streams)]
    fields = [
        _map(document, "List<Object>", pending),
        *kept,
        _map(document, "Integer", tries),
        f"private long {key};",
    ]
    sends = [
        f"{key}++;",
        f"{pending}.put({key}, values);",
        *keeps,
        f"{collector}.emit({stream}values, {key});",
    ]
    head = f"private void {send}({parameter}List<Object> values)"
    calls = (next(each for each in sent.statement.walk() if each.name == "emit") for sent in emits)
    edits = [
        *_method_behind(document, emits[0].function, head, sends),
        *(
            document.edit(each.start, document.text.index("(", each.start + len(collector)), send)
            for each in calls
        ),
    ]
    again = _again("List<Object>", pending, tries, f"{collector}.emit({kept_stream}values, \0);", drops)
    title = f"Emit with a message id through `{send}`, and again"
    return _tracked(document, emits[0], title, fields, again, edits)


def _map(document: Document, values: str, name: str) -> str:
    """Return the declaration of a map by message id."""
    types = "<>" if "<>" in document.text else f"<Object, {values}>"
    return f"private final Map<Object, {values}> {name} = new HashMap{types}();"


class _Again(NamedTuple):
    """The lines of `ack` and of `fail` for records that wait; NUL is the id."""

    acked: list[str]
    failed: list[str]


def _again(kind: str, pending: str, tries: str, emit: str, drops: Sequence[str] = ()) -> _Again:
    acked = [f"{pending}.remove(\0);", *drops, f"{tries}.remove(\0);"]
    failed = [
        f"{kind} values = {pending}.get(\0);",
        f"int failures = {tries}.containsKey(\0) ? {tries}.get(\0) + 1 : 1;",
        f"if (values != null && failures < {_TRIES}) {{",
        f"\t{tries}.put(\0, failures);",
        f"\t{emit}",
        "} else {",
        *(f"\t{line}" for line in acked),
        "}",
    ]
    return _Again(acked, failed)


def _tracked(
    document: Document, sent: "_Sent", title: str, fields: list[str], again: _Again, edits: list[Edit]
) -> Fix:
    """Return the fix that keeps records in fields, with the edits of the emits."""
    types = [each for each in ("HashMap", "List", "Map") if any(f"{each}<" in field for field in fields)]
    edits = [
        *edits,
        *(edit for each in types for edit in import_edits(document, f"java.util.{each}")),
        *_behind(document, sent.field, fields),
        *_method_with(document, sent.function, "ack", again.acked),
        *_method_with(document, sent.function, "fail", again.failed),
    ]
    return proposed(f"{title} after a failure, {_TRIES} times at most", joined(edits))


def limit(finding: Finding, document: Document) -> Fix:
    """Give a record up after a few failures, as if it were acked; its id must stay the same."""
    fits(document.java, not _is_shared(finding))
    scope = need(next(reversed(document.holding(finding.site.span, "class")), None))
    (failed, *more), (acked, *others) = (need(_methods(scope, each) or None) for each in ("fail", "ack"))
    tries, names = _free(document, "tries", "attempts"), parameters(failed)
    field = need(next((each for each in reversed(scope.children) if each.kind == "field"), None))
    fits(not more, not others, len(names) == 1 and _keeps_id(document, failed, names[0]))
    fits(
        failed.start <= document.offset(*finding.site.span[:2]) < failed.end, not is_bound(failed, "failures")
    )
    lines = [
        f"int failures = {tries}.containsKey(\0) ? {tries}.get(\0) + 1 : 1;",
        f"{tries}.put(\0, failures);",
        f"if (failures > {_TRIES}) {{",
        "\tack(\0);",
        "\treturn;",
        "}",
    ]
    edits = (
        *import_edits(document, "java.util.HashMap"),
        *import_edits(document, "java.util.Map"),
        *_behind(document, field, [_map(document, "Integer", tries)]),
        *_at_start(document, acked, [f"{tries}.remove(\0);"]),
        *_at_start(document, failed, lines),
    )
    return proposed(f"Give a record up after {_TRIES} replays", joined(edits))


def _keeps_id(document: Document, failed: Node, name: str) -> bool:
    """Whether `fail` emits under the id that it gets, or puts this id back: a record with a new id is not counted."""
    given = {
        verb: [
            re.sub(r"^\([\w\[\]<>, ]+\)\s*", "", document.source(call.children[-1]))
            for call in failed.calls(*verbs)
            if call.children
        ]
        for verb, verbs in (("emit", ("emit",)), ("back", _BACK))
    }
    return all(each == name for each in given["emit"]) and (bool(given["emit"]) or name in given["back"])


# ---- the emit of a spout ----


class _Sent(NamedTuple):
    """The only emit of a spout: `stream` with its comma, and `key`, the text of its message id, or ""."""

    statement: Node
    function: Node
    field: Node  # that holds the collector
    collector: str
    stream: str
    values: Node
    key: str


def _sent_at(finding: Finding, document: Document) -> _Sent:
    """Return the emit of a finding, if it is the only one of its class and `nextTuple` runs it on the spout's thread."""
    call = document.call_at(finding)
    fits(document.java, not _is_shared(finding))
    sent = _sent(document, call)
    emits = [each for each in need(sent.function.parent).calls() if each.name.startswith("emit")]
    fits(len(emits) == 1)
    return _with_arguments(document, call, sent, is_tracked=finding.code == SPOUT_WITHOUT_REPLAY)


def _all_sent(finding: Finding, document: Document) -> list[_Sent]:
    """Return all emits of a spout, if `nextTuple` runs them on the spout's thread with new values."""
    first = document.call_at(finding)
    fits(document.java, finding.code == SPOUT_EMIT_WITHOUT_ID, not _is_shared(finding))
    scope = need(need(first.nearest(*SCOPES)).parent)
    found = []
    for call in scope.calls():
        if call.name.startswith("emit"):
            sent, given = _sent(document, call), call.arguments
            fits(len(given) in (1, 2) and _NEW.match(document.source(given[-1])))
            stream = document.source(given[0]) if len(given) > 1 else ""
            fits(not stream or _STREAM.fullmatch(stream))
            found.append(sent._replace(stream=stream))
    alike = {(each.function, each.collector, bool(each.stream)) for each in found}
    fits(len(alike) == 1 and found[0].collector not in ("values", "stream"))
    return found


def _is_shared(finding: Finding) -> bool:
    return bool(finding.home or finding.heritage or finding.details)


def _sent(document: Document, call: Node) -> _Sent:
    """Return an emit that is a statement of `nextTuple`, without its arguments."""
    statement, function = need(statement_of(call)), need(call.nearest(*SCOPES))
    fits(call.name == "emit", function.name == "nextTuple", need(statement.parent).kind == "block")
    fits(not _may_never_end(document, call))
    collector = document.source(call.children[0])
    name = collector.removeprefix("this.")
    fields = (each for each in need(function.parent).children if each.kind == "field" and each.name == name)
    field = need(next(fields, None))
    fits(_COLLECTOR.search(document.source(field)))
    return _Sent(statement, function, field, collector, "", call, "")


def _with_arguments(document: Document, call: Node, sent: _Sent, *, is_tracked: bool) -> _Sent:
    """Add the arguments of an emit; raise NoFix for values or an id that cannot be kept."""
    given = call.arguments
    more = given[:-1] if is_tracked else given
    key = document.source(given[-1]) if is_tracked else ""
    fits(len(more) in (1, 2) and re.fullmatch(r"(?:this\.)?\w*", key))
    stream = document.source(more[0]) if len(more) > 1 else ""
    is_new = re.match(r"new\s+Values\(", document.source(more[-1])) is not None
    values = more[-1] if is_new or not more[-1].children else more[-1].children[0]
    fits(not stream or _STREAM.fullmatch(stream), "\n" not in document.source(values))
    fits(is_new or _is_fresh(document, sent.function, call, values))
    return sent._replace(stream=f"{stream}, " if stream else "", values=values, key=key)


def _is_fresh(document: Document, function: Node, call: Node, values: Node) -> bool:
    """Whether a local is set once, to new `Values` in the block of the emit, and nothing changes it."""
    bound = [each for each in function.walk() if each.kind == "bound" and each.name == values.name]
    uses = [each for each in function.walk() if each.kind == "name" and each.name == values.name]
    text = document.source(bound[0].parent) if len(bound) == 1 and bound[0].parent is not None else ""
    near = bool(bound) and bound[0].nearest("block") is call.nearest("block")
    return near and len(uses) == 1 and re.match(rf"{values.name}\s*=\s*new\s+Values\(", text) is not None


def _may_never_end(document: Document, call: Node) -> bool:
    """Whether an emit is in a loop that may not end: no ack would come, and every record would be kept."""
    heads = [document.source(each) for each in call.around() if each.kind == "loop"]
    waiting = [match[1] for head in heads if (match := _NEXT_OF.match(head))]
    return any(map(_ENDLESS.match, heads)) or any(
        re.search(rf"\bConsumerIterator\b[^;]*\b{name}\b", document.text) for name in waiting
    )


# ---- text ----


def _methods(scope: Node | None, name: str) -> list[Node]:
    """Return the methods of a class that have a name."""
    parts = scope.children if scope is not None else ()
    return [each for each in parts if each.kind == "function" and each.name == name]


def _free(document: Document, *names: str) -> str:
    """Return the first of some names that the file does not use."""
    return need(next((name for name in names if not re.search(rf"\b{name}\b", document.text)), None))


def _code(document: Document, near: Node, lines: list[str]) -> str:
    """Return lines of code with the indentation of a node."""
    function = near if near.kind == "function" else near.nearest("function") or near
    indent = document.newline + (document.indent(near) or "")
    return indent.join(lines).replace("\t", unit_of(document, function))


def _behind(document: Document, field: Node, lines: list[str]) -> tuple[Edit, ...]:
    """Put fields behind another one."""
    indent, end = need(document.indent(field)), document.line_end(field.end)
    rest = document.text[field.end : end].strip()
    fits(not rest or rest.startswith("//"))
    return (document.edit(end, end, "".join(f"{document.newline}{indent}{line}" for line in lines)),)


def _at_start(document: Document, method: Node, lines: list[str]) -> tuple[Edit, ...]:
    """Put lines at the start of a method with one parameter, whose name replaces the NUL in them."""
    names, block = parameters(method), method.children[-1]
    fits(len(names) == 1 and block.kind == "block" and not is_bound(method, names[0]))
    inner = [line.replace("\0", names[0]) for line in lines]
    if not block.children:
        outer, unit = need(document.indent(method)), unit_of(document, method)
        code = f"{document.newline}{outer}{unit}".join(inner).replace("\t", unit)
        return append(document, method, block, code)
    fits(document.indent(block.children[0]) is not None)
    return insert_before(document, block.children[0], _code(document, block.children[0], inner))


def _method_with(document: Document, beside: Node, name: str, lines: list[str]) -> tuple[Edit, ...]:
    """Put lines at the start of a method that only logs, or add the method behind another one."""
    found = _methods(beside.parent, name)
    if found:
        fits(len(found) == 1)
        fits(all(_LOGS.match(document.source(each)) for each in found[0].children[-1].children))
        return _at_start(document, found[0], lines)
    head = f"@Override\npublic void {name}(Object msgId)"
    return _method_behind(document, beside, head, [line.replace("\0", "msgId") for line in lines])


def _method_behind(document: Document, beside: Node, head: str, lines: list[str]) -> tuple[Edit, ...]:
    """Add a method behind another one."""
    indent, end, line = need(document.indent(beside)), document.line_end(beside.end), document.newline
    fits(not document.text[beside.end : end].strip())
    unit = unit_of(document, beside)
    start = "".join(f"{line}{indent}{each}" for each in head.split("\n"))
    code = "".join(f"{line}{indent}{unit}{each}" for each in lines).replace("\t", unit)
    return (document.edit(end, end, f"{line}{start} {{{code}{line}{indent}}}"),)
