"""ACK301 to ACK304 in Java: message ids, records that wait for their ack, replays with a limit."""

import re
from typing import NamedTuple

from ackdoctor.fixes.document import Document, Node
from ackdoctor.fixes.handlers import SCOPES, parameters, unit_of
from ackdoctor.fixes.java_imports import import_edits
from ackdoctor.fixes.java_paths import append
from ackdoctor.fixes.statements import insert_before, is_bound, joined, statement_of
from ackdoctor.model.finding import Edit, Finding, Fix
from ackdoctor.rulebook import SPOUT_EMIT_WITHOUT_ID, SPOUT_WITHOUT_REPLAY

_TRIES = 3
_COLLECTOR = re.compile(r"\b\w*SpoutOutputCollector\s+\w+\s*;")
_ENDLESS = re.compile(r"(?:while\s*\(\s*true\s*\)|for\s*\(\s*;|for\s*\([^;)]*:\s*(?:this\.)?\w+\s*\.)")
_NEXT_OF = re.compile(r"while\s*\(\s*(\w+)\s*\.\s*hasNext\s*\(")  # one of Kafka 0.8 waits for the next record
_LOGS = re.compile(r"(?:this\.)?(?:_?log(?:ger)?|LOG(?:GER)?|System\.(?:out|err))\.|super\.\w+\(\w+\);$")
_STREAM = re.compile(r'"[^"]*"|(?:\w+\.)*[A-Z][A-Z0-9_]*')
_NEW = re.compile(r"new\s+\w+\(|Arrays\.asList\(")
_BACK = frozenset("add addFirst addLast offer offerFirst offerLast push put".split())


def forget_on_ack(finding: Finding, document: Document) -> Fix | None:
    """Remove the entry of the acked message in `ack`, which is added if the spout has none."""
    put = document.node_at(finding.site.span, "call") if document.java and finding.case == "message" else None
    scope = put.nearest("class") if put is not None else None
    function = put.nearest(*SCOPES) if put is not None else None
    if put is None or put.name != "put" or scope is None or function is None or function.kind != "function":
        return None
    field = document.source(put.children[0])
    if not re.fullmatch(r"(?:this\.)?\w+", field):
        return None
    acks = [node for node in scope.children if node.kind == "function" and node.name == "ack"]
    if len(acks) > 1:
        return None
    if acks:
        names = parameters(acks[0])
        block = acks[0].children[-1]
        if (
            len(names) != 1
            or block.kind != "block"
            or any(node.kind in ("return", "raise") for node in block.walk())
        ):
            return None
        edits = append(document, acks[0], block, f"{field}.remove({names[0]});")
    else:
        edits = _method_with(document, function, "ack", [f"{field}.remove(\0);"])
    return Fix(title=f"Remove the entry from `{field}` in `ack`", safe=False, edits=edits) if edits else None


def forget_on_replay(finding: Finding, document: Document) -> Fix | None:
    """Take the entry of the failed message out of the field, where `fail` reads it."""
    put = document.node_at(finding.site.span, "call") if document.java and finding.case == "new id" else None
    function = put.nearest(*SCOPES) if put is not None else None
    if put is None or function is None or function.kind != "function" or len(parameters(function)) != 1:
        return None
    field, name = document.source(put.children[0]), parameters(function)[0]
    reads = [
        node
        for node in function.walk()
        if node.kind == "call" and document.source(node) == f"{field}.get({name})" and node.name == "get"
    ]
    if len(reads) != 1 or reads[0].nearest("loop", "if", "function") is not function:
        return None
    at = reads[0].start + len(field) + 1
    edits = (document.edit(at, at + len("get"), "remove"),)
    return Fix(title=f"Remove the old entry from `{field}`", safe=False, edits=edits)


def track(finding: Finding, document: Document) -> Fix | None:
    """Emit with a message id, keep the values until the ack, and emit them again in `fail`, a few times."""
    sent = _sent_at(finding, document)
    pending, tries = _free(document, "pending", "inFlight"), _free(document, "tries", "attempts")
    if sent is None or not pending or not tries:
        return None
    new = "<>" if "<>" in document.text else None
    fields = [
        f"private final Map<Object, Values> {pending} = new HashMap{new or '<Object, Values>'}();",
        f"private final Map<Object, Integer> {tries} = new HashMap{new or '<Object, Integer>'}();",
    ]
    lines, key, values = [], sent.key, document.source(sent.values)
    if not key:
        key = _free(document, "lastId", "lastMessageId")
        fields.append(f"private long {key};")
        lines.append(f"{key}++;")
    if not key or (sent.values.kind != "name" and is_bound(sent.function, "values")):
        return None
    edits = []
    if sent.values.kind != "name":
        lines.append(f"Values values = {values};")
        edits.append(document.edit(sent.values.start, sent.values.end, "values"))
        values = "values"
    lines.append(f"{pending}.put({key}, {values});")
    if not sent.key:
        edits.append(document.edit(sent.values.end, sent.values.end, f", {key}"))
    again = [
        f"Values values = {pending}.get(\0);",
        f"int failures = {tries}.containsKey(\0) ? {tries}.get(\0) + 1 : 1;",
        f"if (values != null && failures < {_TRIES}) {{",
        f"\t{tries}.put(\0, failures);",
        f"\t{sent.collector}.emit({sent.stream}values, \0);",
        "} else {",
        f"\t{pending}.remove(\0);",
        f"\t{tries}.remove(\0);",
        "}",
    ]
    parts = (
        import_edits(document, "java.util.HashMap"),
        import_edits(document, "java.util.Map"),
        _behind(document, sent.field, fields),
        insert_before(document, sent.statement, _code(document, sent.statement, lines)),
        _method_with(document, sent.function, "ack", [f"{pending}.remove(\0);", f"{tries}.remove(\0);"]),
        _method_with(document, sent.function, "fail", again),
    )
    if any(each is None for each in parts):
        return None
    title = "Keep the values until the ack, and" if sent.key else "Emit with a message id, and"
    return Fix(
        title=f"{title} again after a failure, {_TRIES} times at most",
        safe=False,
        edits=joined([*edits, *(edit for part in parts for edit in part or ())]),
    )


def track_all(finding: Finding, document: Document) -> Fix | None:
    """Emit through a method that keeps the values until the ack, and emit them again in `fail`, a few times."""
    emits = _all_sent(finding, document)
    names = [_free(document, name, f"{name}ById") for name in ("pending", "tries", "streams")]
    send, key = _free(document, "emitTracked", "emitWithId"), _free(document, "lastId", "lastMessageId")
    if not emits or not send or not key or "" in names:
        return None
    pending, tries, streams = names
    collector, function = emits[0].collector, emits[0].function
    with_stream = bool(emits[0].stream)
    new = "<>" if "<>" in document.text else ""
    fields = [
        f"private final Map<Object, List<Object>> {pending} = new HashMap{new or '<Object, List<Object>>'}();",
        f"private final Map<Object, Integer> {tries} = new HashMap{new or '<Object, Integer>'}();",
        f"private long {key};",
    ]
    if with_stream:
        fields.insert(
            1, f"private final Map<Object, String> {streams} = new HashMap{new or '<Object, String>'}();"
        )
    keeps = [f"{streams}.put({key}, stream);"] if with_stream else []
    drops = [f"{streams}.remove(\0);"] if with_stream else []
    stream, kept_stream = ("stream, ", f"{streams}.get(\0), ") if with_stream else ("", "")
    again = [
        f"List<Object> values = {pending}.get(\0);",
        f"int failures = {tries}.containsKey(\0) ? {tries}.get(\0) + 1 : 1;",
        f"if (values != null && failures < {_TRIES}) {{",
        f"\t{tries}.put(\0, failures);",
        f"\t{collector}.emit({kept_stream}values, \0);",
        "} else {",
        *(f"\t{line}" for line in (f"{pending}.remove(\0);", *drops, f"{tries}.remove(\0);")),
        "}",
    ]
    kept = [
        f"{key}++;",
        f"{pending}.put({key}, values);",
        *keeps,
        f"{collector}.emit({stream}values, {key});",
    ]
    head = f"private void {send}({'String stream, ' if with_stream else ''}List<Object> values)"
    parts = (
        *(import_edits(document, f"java.util.{each}") for each in ("HashMap", "List", "Map")),
        _behind(document, emits[0].field, fields),
        _method_behind(document, function, head, kept),
        _method_with(document, function, "ack", [f"{pending}.remove(\0);", *drops, f"{tries}.remove(\0);"]),
        _method_with(document, function, "fail", again),
    )
    if any(each is None for each in parts):
        return None
    calls = (next(each for each in sent.statement.walk() if each.name == "emit") for sent in emits)
    edits = [
        document.edit(call.start, document.text.index("(", call.start + len(collector)), send)
        for call in calls
    ]
    return Fix(
        title=f"Emit with a message id through `{send}`, and again after a failure, {_TRIES} times at most",
        safe=False,
        edits=joined([*edits, *(edit for part in parts for edit in part or ())]),
    )


def limit(finding: Finding, document: Document) -> Fix | None:
    """Give a record up after a few failures, as if it were acked; its id must stay the same."""
    scopes = document.holding(finding.site.span, "class") if document.java and not finding.details else []
    methods = [node for node in scopes[-1].children if node.kind == "function"] if scopes else []
    found = {name: [each for each in methods if each.name == name] for name in ("ack", "fail")}
    tries = _free(document, "tries", "attempts")
    if any(len(each) != 1 for each in found.values()) or not tries or finding.home or finding.heritage:
        return None
    failed, acked = found["fail"][0], found["ack"][0]
    at, names = document.offset(*finding.site.span[:2]), parameters(failed)
    fields = [each for each in scopes[-1].children if each.kind == "field"]
    if len(names) != 1 or not failed.start <= at < failed.end or not fields:
        return None
    if is_bound(failed, "failures") or not _keeps_id(document, failed, names[0]):
        return None
    new = "<>" if "<>" in document.text else "<Object, Integer>"
    lines = [
        f"int failures = {tries}.containsKey(\0) ? {tries}.get(\0) + 1 : 1;",
        f"{tries}.put(\0, failures);",
        f"if (failures > {_TRIES}) {{",
        "\tack(\0);",
        "\treturn;",
        "}",
    ]
    parts = (
        import_edits(document, "java.util.HashMap"),
        import_edits(document, "java.util.Map"),
        _behind(document, fields[-1], [f"private final Map<Object, Integer> {tries} = new HashMap{new}();"]),
        _at_start(document, acked, [f"{tries}.remove(\0);"]),
        _at_start(document, failed, lines),
    )
    if any(each is None for each in parts):
        return None
    edits = joined(edit for part in parts for edit in part or ())
    return Fix(title=f"Give a record up after {_TRIES} replays", safe=False, edits=edits)


def _keeps_id(document: Document, failed: Node, name: str) -> bool:
    """Whether `fail` emits under the id that it gets, or puts this id back: a record with a new id is not counted."""
    given = {
        verb: [
            re.sub(r"^\([\w\[\]<>, ]+\)\s*", "", document.source(call.children[-1]))
            for call in failed.walk()
            if call.kind == "call" and call.name in verbs and call.children[-1:]
        ]
        for verb, verbs in (("emit", frozenset({"emit"})), ("back", _BACK))
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


def _sent_at(finding: Finding, document: Document) -> _Sent | None:
    """Return the emit of a finding, if it is the only one of its class and `nextTuple` runs it on the spout's thread."""
    call = document.node_at(finding.site.span, "call") if document.java else None
    sent = _sent(document, call) if call is not None and not _is_shared(finding) else None
    if call is None or sent is None:
        return None
    scope = sent.function.parent
    if (
        scope is None
        or sum(each.kind == "call" and each.name.startswith("emit") for each in scope.walk()) != 1
    ):
        return None
    return _with_arguments(document, call, sent, is_tracked=finding.code == SPOUT_WITHOUT_REPLAY)


def _all_sent(finding: Finding, document: Document) -> list[_Sent]:
    """Return all emits of a spout, if `nextTuple` runs them on the spout's thread with new values; [] otherwise."""
    first = document.node_at(finding.site.span, "call") if document.java else None
    function = first.nearest(*SCOPES) if first is not None else None
    scope = function.parent if function is not None else None
    if scope is None or finding.code != SPOUT_EMIT_WITHOUT_ID or _is_shared(finding):
        return []
    found = []
    for call in scope.walk():
        if call.kind != "call" or not call.name.startswith("emit"):
            continue
        sent = _sent(document, call)
        given = [each for each in call.children if each.kind == "argument"]
        if sent is None or len(given) not in (1, 2) or not _NEW.match(document.source(given[-1])):
            return []
        if len(given) > 1 and not _STREAM.fullmatch(document.source(given[0])):
            return []
        found.append(sent._replace(stream=document.source(given[0]) if len(given) > 1 else ""))
    alike = {(each.function, each.collector, bool(each.stream)) for each in found}
    return found if len(alike) == 1 and found[0].collector not in ("values", "stream") else []


def _is_shared(finding: Finding) -> bool:
    return bool(finding.home or finding.heritage or finding.details)


def _sent(document: Document, call: Node) -> _Sent | None:
    """Return an emit that is a statement of `nextTuple`, without its arguments."""
    statement, function = statement_of(call), call.nearest(*SCOPES)
    scope = function.parent if function is not None else None
    if (
        call.name != "emit"
        or statement is None
        or function is None
        or function.name != "nextTuple"
        or scope is None
    ):
        return None
    if statement.parent is None or statement.parent.kind != "block" or _may_never_end(document, call):
        return None
    collector = document.source(call.children[0])
    field = next(
        (
            each
            for each in scope.children
            if each.kind == "field" and each.name == collector.removeprefix("this.")
        ),
        None,
    )
    if field is None or not _COLLECTOR.search(document.source(field)):
        return None
    return _Sent(statement, function, field, collector, "", call, "")


def _with_arguments(document: Document, call: Node, sent: _Sent, *, is_tracked: bool) -> _Sent | None:
    """Add the arguments of an emit; None for values or an id that cannot be kept."""
    given = [each for each in call.children if each.kind == "argument"]
    more = given[:-1] if is_tracked else given
    key = document.source(given[-1]) if is_tracked else ""
    if len(more) not in (1, 2) or not re.fullmatch(r"(?:this\.)?\w*", key):
        return None
    stream = document.source(more[0]) if len(more) > 1 else ""
    values = more[-1].children[0] if more[-1].children else more[-1]
    is_new = re.match(r"new\s+Values\(", document.source(more[-1])) is not None
    if is_new:
        values = more[-1]
    if (stream and not _STREAM.fullmatch(stream)) or "\n" in document.source(values):
        return None
    if not is_new and not _is_fresh(document, sent.function, call, values):
        return None
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


def _free(document: Document, *names: str) -> str:
    """Return the first of some names that the file does not use."""
    return next((name for name in names if not re.search(rf"\b{name}\b", document.text)), "")


def _code(document: Document, near: Node, lines: list[str]) -> str:
    """Return lines of code with the indentation of a node."""
    function = near if near.kind == "function" else near.nearest("function") or near
    indent = document.newline + (document.indent(near) or "")
    return indent.join(lines).replace("\t", unit_of(document, function))


def _behind(document: Document, field: Node, lines: list[str]) -> tuple[Edit, ...] | None:
    """Put fields behind another one."""
    indent, end = document.indent(field), document.line_end(field.end)
    rest = document.text[field.end : end].strip()
    if indent is None or (rest and not rest.startswith("//")):
        return None
    return (document.edit(end, end, "".join(f"{document.newline}{indent}{line}" for line in lines)),)


def _at_start(document: Document, method: Node, lines: list[str]) -> tuple[Edit, ...] | None:
    """Put lines at the start of a method with one parameter, whose name replaces the NUL in them."""
    names, block = parameters(method), method.children[-1]
    if len(names) != 1 or block.kind != "block" or is_bound(method, names[0]):
        return None
    inner = [line.replace("\0", names[0]) for line in lines]
    if not block.children:
        outer = document.indent(method)
        if outer is None:
            return None
        unit = unit_of(document, method)
        code = f"{document.newline}{outer}{unit}".join(inner).replace("\t", unit)
        return append(document, method, block, code)
    if document.indent(block.children[0]) is None:
        return None
    return insert_before(document, block.children[0], _code(document, block.children[0], inner))


def _method_with(document: Document, beside: Node, name: str, lines: list[str]) -> tuple[Edit, ...] | None:
    """Put lines at the start of a method that only logs, or add the method behind another one."""
    scope = beside.parent
    found = (
        [each for each in scope.children if each.kind == "function" and each.name == name] if scope else []
    )
    if found:
        body = found[0].children[-1]
        logs = all(_LOGS.match(document.source(each)) for each in body.children)
        return _at_start(document, found[0], lines) if len(found) == 1 and logs else None
    head = f"@Override\npublic void {name}(Object msgId)"
    return _method_behind(document, beside, head, [line.replace("\0", "msgId") for line in lines])


def _method_behind(document: Document, beside: Node, head: str, lines: list[str]) -> tuple[Edit, ...] | None:
    """Add a method behind another one."""
    indent, end, line = document.indent(beside), document.line_end(beside.end), document.newline
    if indent is None or document.text[beside.end : end].strip():
        return None
    unit = unit_of(document, beside)
    start = "".join(f"{line}{indent}{each}" for each in head.split("\n"))
    code = "".join(f"{line}{indent}{unit}{each}" for each in lines).replace("\t", unit)
    return (document.edit(end, end, f"{line}{start} {{{code}{line}{indent}}}"),)
