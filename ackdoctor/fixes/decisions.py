"""What decides that control reaches a place of a handler, and so whether a tuple that stays open there is acked or failed.

An ack of lost work is the worst fix, and a fail of what can never succeed is replayed for ever.  So the input is acked where
it alone decides, failed where the result of work decides, and left open where anything else does, such as a field.
"""

import builtins
import re
from collections.abc import Iterator
from itertools import pairwise

from ackdoctor.fixes.document import SCOPES, Document, Node, NoFix
from ackdoctor.fixes.handlers import parameters

__all__ = ["is_buffered", "is_dead", "is_dropped_on_purpose", "is_undecided", "verb_at"]

_READ = re.compile(
    r"(?!\w*And[A-Z])(?:get|(?:is|has)[A-Z]|contains|equals|startsWith|endsWith|matche?[sr]|length$|size$|indexOf|compare|parse"
    r"|split|trim|strip|to[A-Z]|value|keys?$|keySet|find|charAt|(?:int|long|double|boolean)Value|read|decode|deserialize"
    r"|convert|extract|lookup|select|valid|test$|from|as[A-Z]|fetch|of$|ofNullable|format|substring|replace|concat"
    r"|(?:is|has)_|is(?:instance|digit|alpha|alnum|space|upper|lower|numeric)$|(?:starts|ends)with$|lower$|upper$|[lr]strip$"
    r"|len$|int$|float$|str$|bool$|list$|dict$|set$|tuple$|type$|repr$|sorted$|enumerate$|zip$|any$|all$|min$|max$|loads$|items$|rsplit$)"
)
_DECODE = re.compile(  # of a module, a class or a builtin: computes from its arguments alone
    r"parse[A-Z]|(?:de|en)code|to[A-Z]|value[Of]?|of$|format$|isoformat|from(?:iso|timestamp|hex|bytes)|(?:is|equals|matches|compare)(?:[A-Z]|$)"
    r"|loads$|dumps$|strptime$|literal_eval$|unpack$|b64decode$|unquote|isinstance$|len$|int$|float$|str$|bool$|list$|dict$|set$|tuple$"
    r"|type$|repr$|sorted$|enumerate$|zip$|any$|all$|min$|max$|ofNullable$|asList$|match$|search$|fullmatch$|range$"
)
_HOLDS = re.compile(
    r"contains(?:Key)?$|matcher$|matches$|test$|match$|search$|fullmatch$|get$|length$|size$|isEmpty$"
)
_LOG = re.compile(r"(?:this\.|self\.)?_?(?:log(?:ger)?|LOG(?:GER)?|System\.(?:out|err)|logging)\b")
_START = frozenset("__init__ initialize init setup prepare open configure".split())
_MUTATED = (
    r"(?:\s*(?:[-+*/|&]|//|<<|>>)?=(?!=)|\s*\+\+|\s*--|\s*\[[^\]]*\]\s*[-+|]?=(?!=)|\s*\.\s*(?:add|append|extend|insert|offer|push|put|merge"
    r"|compute|set|write|update|setdefault|clear|poll|pop|remove|delete|discard|drain|close|retain)\w*\s*\()"
)
_MADE = r"(?:set|dict|list|OrderedDict|defaultdict|Counter)\s*\(|\{|\[|new\s+\w*(?:Set|Map)\b"
_WRITE = re.compile(
    r"_?(?:insert|store|save|write|send|put|post|publish|update|upsert|delete|persist|charge|commit|produce|push|index|upload"
    r"|submit|deliver|transfer|book|offer|enqueue|ship)(?!\w*(?:[Ii]f|[Nn]x|[Aa]bsent|[Oo]nce))"
)
_VALUE = r"[\w.()\[\]]+"
_NOTHING = r"(?:None|null|[Ff]alse|0|-1)"
_NO = re.compile(
    rf"(?:not\s+|!\s*){_VALUE}|{_VALUE}\s*(?:(?:is|==)\s*{_NOTHING}|!=\s*(?!{_NOTHING}\b)[\w.]+|<=?\s*0)"
)
_YES = re.compile(rf"{_VALUE}(?:\s*(?:(?:is\s+not|!=)\s*{_NOTHING}|==\s*(?!{_NOTHING}\b)[\w.]+|>=?\s*[01]))?")
_STORE = r"\.\s*(?:add\w*|append|insert\w*|offer\w*|push|put\w*|merge|compute\w*|set|write\w*)\s*\("
_EMPTIED = (
    r"\.\s*(?:clear|poll\w*|pop|drainTo|remove\w*|setLength|delete|take|flush|commit|execute\w*|iterator|stream"
    r"|entrySet|values|forEach|reset|toArray)\s*\("
)
_LATER = re.compile(r"\.\s*(?:enqueue|schedule|submit|buffer|queue|defer)\w*\s*\(|\b\w+Async\s*\(")
_DEEPEST = 4  # calls of the component's own methods


def verb_at(node: Node, handler: Node, document: Document, name: str) -> str:
    """Return what completes the input `name` on a path to a node, "ack" or "fail"; raise NoFix if neither is certain.

    The settings decide first, but a tuple whose work failed is failed in any case.
    """
    path = _Path(node, handler, document, name)
    if path.is_caught:
        return "fail"
    if document.on_missing_path:
        return document.on_missing_path
    if path.is_dropped():
        return "ack"
    if path.is_refused():
        return "fail"
    raise NoFix


def is_dropped_on_purpose(node: Node, handler: Node, document: Document, name: str) -> bool:
    """Whether only the input decides that control reaches a node, and the failure of no work does."""
    path = _Path(node, handler, document, name)
    return not path.is_caught and path.is_dropped()


def is_undecided(handler: Node, document: Document, name: str) -> bool:
    """Whether a handler may reach its end without the work.

    A branch that does more than log or keep a field up to date depends on anything but the input, or a `catch` of more than
    reading goes on.
    """
    path = _Path(None, handler, document, name)
    for node in handler.walk():
        if is_dead(node, document):
            continue
        if (node.kind == "handler" and _goes_on(node, document)) or path.is_skipped(node):
            return True
        if node.kind == "if" and node.nearest(*SCOPES) is handler and path.chooses_work(node):
            return True
    return False


def is_dead(node: Node, document: Document) -> bool:
    """Whether a node is below an `if False`."""
    above = (each for each in node.around() if each.kind == "if" and _is_never(each, document))
    return any(_below(each, node) is _then(each) for each in above)


class _Path:
    """What a path of a handler to a node depends on; without a node, what the whole handler depends on.

    `inputs` are the input and the locals that are computed from it by reading alone, `constants` the fields that only the
    start of the component sets.
    """

    def __init__(self, node: Node | None, handler: Node, document: Document, name: str) -> None:
        self._document, self._handler, self._node, self._name = document, handler, node, name
        self._scope = handler.nearest("class")
        self._own = "this" if document.java else next(iter(parameters(handler)), "self")
        self._constants = self._constant_fields()
        self._worked: dict[str, bool] = {}  # locals with the result of work, and whether all of it writes
        self._inputs = {name}
        self._derive()

    # ---- the whole path ----

    @property
    def is_caught(self) -> bool:
        """Whether the path goes through an `except` whose `try` does more than decode the input."""
        around = (self._node, *self._node.around()) if self._node is not None else ()
        return any(each.kind == "handler" and not self._decodes(each.parent) for each in around)

    def is_dropped(self) -> bool:
        """Whether the input alone decides about all branches around the node, and how often a loop runs that the path leaves."""
        node = self._node
        if node is not None and node.kind == "loop" and not self._runs_through(node):
            return False
        return all(self._decides(condition, taken) for condition, taken in self._conditions())

    def _runs_through(self, loop: Node) -> bool:
        """Whether the input alone decides about a loop and about the branches in it."""
        heads = [each for each in loop.children if each.kind not in ("block", "bound")]
        branches = [_condition(each) for each in loop.walk() if each.kind == "if" or self._is_switch(each)]
        return bool(heads) and all(self._decides(each, False) for each in (*heads[:1], *branches))

    def is_refused(self) -> bool:
        """Whether the result of work decides about a branch, and the input about the others."""
        others = [each for each in self._conditions() if not self._decides(*each)]
        return bool(others) and all(self._says_no(*each) for each in others)

    def _conditions(self) -> Iterator[tuple[Node, bool]]:
        """Yield the conditions of the branches around the node, each with whether it holds on the path.

        The node `if` itself counts as its missing `else`.
        """
        node = self._node
        if node is None:
            return
        if node.kind == "if":
            yield _condition(node), False
        for each in (node, *node.around()):
            above = each.parent
            if each is self._handler or above is None:
                return
            condition = _condition(above) if above.children else each
            if each is not condition and above.kind == "if":
                yield condition, each is _then(above)
            elif each is not condition and self._is_switch(above):
                yield condition, True

    def _is_switch(self, node: Node) -> bool:
        return (
            node.kind == "other" and re.match(r"(?:switch|match)\b", self._document.source(node)) is not None
        )

    # ---- one condition ----

    def _decides(self, condition: Node, taken: bool) -> bool:  # noqa: FBT001
        """Whether a condition is about the input, or about a key that the component knows already."""
        if not any(_is_work(each, self._document) for each in condition.walk()) and self.is_about(condition):
            return True
        return self._is_known_key(condition, taken)

    def is_about(self, node: Node) -> bool:
        """Whether a condition reads the input, constants, and nothing else."""
        return self._reads(node) and any(True for _ in self._mentions(node))

    def _mentions(self, node: Node) -> Iterator[Node]:
        return (each for each in node.walk() if each.kind == "name" and each.name in self._inputs)

    def _reads(self, node: Node) -> bool:
        match node.kind:
            case "name":
                plain = node.name[:1].isupper() or (not self._document.java and hasattr(builtins, node.name))
                return plain or node.name in self._inputs or self._is_constant(node)
            case "attribute":
                last = self._document.source(node).rpartition(".")[2]
                return last.isupper() or self._is_constant(node) or self._reads(node.children[0])
            case "call":
                return self._call_reads(node)
            case _ if re.search(r"\binstanceof\b", self._document.source(node)) and len(node.children) > 1:
                return self._reads(node.children[0])  # the others are a type and its variable
            case _:
                return all(map(self._reads, node.children))

    def _call_reads(self, call: Node) -> bool:
        """Whether a call computes something from the input: a method of a value, a decoder, or a pure method of the class."""
        arguments = [each for each in call.children if each.kind != "receiver"]
        receiver = next((each for each in call.children if each.kind == "receiver"), None)
        if _is_work(call, self._document) or not all(map(self._reads, arguments)):
            return False
        text = self._document.source(receiver) if receiver is not None else ""
        if text == self._own or (self._document.java and receiver is None):
            return self._is_pure(call.name)
        if receiver is None or text == call.name:
            return True  # a builtin, or a function of the module
        if any(True for _ in self._mentions(receiver)):
            return all(map(self._reads, receiver.children))
        if self._is_constant(receiver):
            return _HOLDS.match(call.name) is not None
        return self._is_library(text) and _DECODE.match(call.name) is not None

    def _is_library(self, name: str) -> bool:
        """Whether a name is a class, or a module that the file imports."""
        imported = rf"(?m)^\s*(?:from|import)\b.*\b{re.escape(name)}\b"
        return name[:1].isupper() or (
            not self._document.java and re.search(imported, self._document.text) is not None
        )

    def _is_pure(self, name: str) -> bool:
        """Whether a method of the class, and those that it calls, read no field that changes and do no work."""
        found, names = [], [name]
        for _ in range(_DEEPEST):
            found = [each for each in self._methods() if each.name in names]
            names += [call.name for each in found for call in each.calls()]
        fields = {match for each in found for match in self._fields_in(self._document.source(each))}
        return bool(found) and all(map(_READ.match, names)) and fields <= self._constants

    def _is_known_key(self, condition: Node, taken: bool) -> bool:  # noqa: FBT001
        """Whether a set of the component has the key of the input already, and its work cannot have failed meanwhile."""
        text = _plain(self._document.source(condition))
        own = rf"(?:{self._own}\.)?(\w+)"
        known = re.fullmatch(rf".*\bin\s+{own}|{own}\.contains(?:Key)?\(\)|!\s*{own}\.add\(\)", text)
        new = re.fullmatch(rf".*\bnot\s+in\s+{own}|!\s*{own}\.contains(?:Key)?\(\)|{own}\.add\(\)", text)
        known = None if known is not None and re.search(r"\bnot\s+in\b", text) else known
        found = known if taken else new
        field = next((each for each in found.groups() if each), "") if found is not None else ""
        call = next(condition.calls(), None)
        keys = (call.arguments if call and field else []) or condition.children[:1]
        handles = any(each.kind == "handler" for each in self._handler.walk())
        fails = handles or any(True for _ in self._handler.calls("fail"))
        return bool(field) and not fails and self._is_collection(field) and all(map(self.is_about, keys))

    def _is_collection(self, field: str) -> bool:
        """Whether the class makes a field a new set or map."""
        text = self._document.source(self._scope) if self._scope is not None else ""
        typed = rf"\b\w*(?:Set|Map)(?:<[^;=()]*>)?\s+{field}\b"
        return re.search(rf"{typed}|\b{field}\s*(?::[^=\n]*)?=\s*(?:{_MADE})", text) is not None

    def _says_no(self, condition: Node, taken: bool) -> bool:  # noqa: FBT001
        """Whether the result of work decides about a branch, and says that the work was not done."""
        text = _plain(self._document.source(condition))
        calls = [each for each in condition.walk() if self._works(each)]
        locals_ = {each.name for each in condition.walk() if each.kind == "name"} & set(self._worked)
        writes = all(map(self._writes, calls)) and all(self._worked[each] for each in locals_)
        return writes and bool(calls or locals_) and (_NO if taken else _YES).fullmatch(text) is not None

    def _writes(self, call: Node) -> bool:
        """Whether a call is a write of something that the handler did not make, such as a store or a method of the class."""
        root = re.match(r"\w+", self._document.source(call))
        made = {each.name for each in self._handler.walk() if each.kind == "bound"} | {self._name}
        return _WRITE.match(call.name) is not None and root is not None and root[0] not in made

    def _works(self, call: Node) -> bool:
        return call.kind == "call" and _is_work(call, self._document)

    # ---- the handler ----

    def _decodes(self, whole: Node | None) -> bool:
        """Whether the body of a `try` only decodes the input: what it raises, it raises again for the same input."""
        body = whole.block if whole is not None else None
        if body is None:
            return False
        inside = _Path(next(iter(body.children), body), self._handler, self._document, self._name)
        return all(map(inside._reads, body.children))  # another path of the same handler

    def _derive(self) -> None:
        """Find the locals that are computed from the input by reading alone, and those with the result of work.

        A local that is set in a `try` says behind it whether an exception was caught.
        """
        others = set()
        bound = (node for node in self._handler.walk() if node.kind == "bound")
        for node in sorted(bound, key=lambda each: each.start):
            values = _values_of(node)
            about = any(True for each in values for _ in self._mentions(each))
            if about and all(map(self._reads, values)) and not _is_tried(node, self._node):
                self._inputs.add(node.name)
            elif any(each.kind in ("call", "name") for value in values for each in value.walk()):
                others.add(node.name)
            works = [each for value in values for each in value.walk() if self._works(each)]
            if works:
                self._worked[node.name] = all(map(self._writes, works))
        self._inputs -= others

    def chooses_work(self, branch: Node) -> bool:
        """Whether anything but the input decides about a branch that does more than log, or than update the field that is asked."""
        condition = _condition(branch)
        if any(map(self._works, condition.walk())):
            return True
        if self.is_about(condition) or _is_never(branch, self._document):
            return False
        fields = {
            each for each in self._fields_in(self._document.source(condition)) if self._is_collection(each)
        }
        statements = [
            node
            for part in branch.children
            if part is not condition
            for node in part.walk()
            if node.kind == "expression"
            or (node.kind == "other" and node.parent is not None and node.parent.kind == "block")
        ]
        logs = bool(statements) and all(_LOG.match(self._document.source(each)) for each in statements)
        return not logs and not (fields and all(self._updates(each, fields) for each in statements))

    def _updates(self, statement: Node, fields: set[str]) -> bool:
        """Whether a statement changes one of some fields, and nothing else but a local."""
        text = self._document.source(statement)
        field = rf"(?:{self._own}\.)?(?:{'|'.join(fields)})\b"
        calls = (each for each in statement.calls() if not _READ.match(each.name))
        own = all(re.match(field, self._document.source(each)) for each in calls)
        local = any(each.kind == "bound" for each in statement.walk()) and not text.startswith(
            f"{self._own}."
        )
        return own and (local or _LOG.match(text) is not None or re.match(field, text) is not None)

    def is_skipped(self, node: Node) -> bool:
        """Whether work is in a condition of a loop or a choice within an expression, in a `switch`, or in a lambda."""
        text = self._document.source(node)
        work = any(map(self._works, node.walk()))
        if node.kind == "loop":
            head = [each for each in node.children if each.kind != "block"]
            return text.startswith(("while", "do")) and any(
                map(self._works, (x for each in head for x in each.walk()))
            )
        if node.kind == "lambda" and (self._document.java or text.startswith("lambda")):
            run = node.nearest("call")
            return work and (run is None or run.name != "forEach")
        if self._is_switch(node):
            return work and not self.is_about(_condition(node))
        between = pairwise(node.children) if node.kind == "other" else ()
        operators = {self._document.text[one.end : two.start].strip() for one, two in between}
        return work and bool(operators & {"?", "&&", "||", "and", "or", "if"})

    # ---- the class ----

    def _methods(self) -> list[Node]:
        scope = self._scope
        return [each for each in scope.walk() if each.kind == "function"] if scope is not None else []

    def _constant_fields(self) -> set[str]:
        """Return the fields that the class sets, and no method but those that run first changes."""
        if self._scope is None:
            return set()
        text = self._document.source(self._scope)
        later = "\n".join(
            self._document.source(each)
            for each in self._methods()
            if each.name not in _START and not each.name[:1].isupper()
        )
        return {
            name
            for name in self._fields_in(text)
            if re.search(rf"\b{name}\s*(?::[^=\n]*)?=(?!=)", text)
            and not re.search(rf"\b{name}{_MUTATED}", later)
        }

    def _fields_in(self, text: str) -> set[str]:
        """Return the fields of the class that a text names."""
        if not self._document.java:
            return set(re.findall(rf"\b{self._own}\.(\w+)\b(?!\s*\()", text))
        fields = (
            {each.name for each in self._scope.children if each.kind == "field"} if self._scope else set()
        )
        return {name for name in fields if re.search(rf"\b{name}\b", text)}

    def _is_constant(self, node: Node) -> bool:
        text = self._document.source(node)
        if text.startswith(f"{self._own}."):
            return text.partition(".")[2] in self._constants
        return self._document.java and text in self._constants and text not in parameters(self._handler)


# ---- nodes ----


def _plain(text: str) -> str:
    """Return a condition without the parentheses around it and the arguments of its calls."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    for _ in range(_DEEPEST):
        text = re.sub(r"\((?:[^()]|\(\))+\)", "()", text)
    return text


def _condition(branch: Node) -> Node:
    """Return what decides about a branch."""
    return next((each for each in branch.children if each.kind != "block"), branch)


def _is_never(branch: Node, document: Document) -> bool:
    return document.source(_condition(branch)).strip("() ") in ("False", "false", "0")


def _then(branch: Node) -> Node:
    """Return the part of an `if` that runs if its condition holds."""
    return next(each for each in branch.children if each is not _condition(branch))


def _below(above: Node, node: Node) -> Node:
    """Return the child of a node that holds another one."""
    return next(each for each in (node, *node.around()) if each.parent is above)


def _goes_on(catch: Node, document: Document) -> bool:
    """Whether the code behind a `try` that does more than read runs after this `catch` too."""
    block, whole = catch.block, catch.parent
    tried = (each for each in (whole.children if whole is not None else ()) if each.kind == "block")
    works = any(_is_work(call, document) for each in tried for call in each.calls())
    leaves = block is not None and block.children and block.children[-1].kind in ("return", "raise")
    return works and not leaves


def _values_of(bound: Node) -> list[Node]:
    """Return what a local is set to; the whole value if several locals share it."""
    for each in (bound, *bound.around()):
        above = each.parent
        if above is None or above.kind in ("block", *SCOPES):
            break
        later = [
            one for one in above.children if one.start >= each.end and one.kind not in ("block", "bound")
        ]
        if later:
            return later
    return []


def _is_tried(bound: Node, place: Node | None) -> bool:
    whole = bound.nearest("try", *SCOPES)
    if whole is None or not any(each.kind == "handler" for each in whole.children):
        return False
    return place is None or whole not in place.around()


def _is_work(node: Node, document: Document) -> bool:
    """Whether a node is a call that does more than read, or than ask a set or a map for a new key."""
    if node.kind != "call" or _READ.match(node.name):
        return False
    owner = document.source(node.children[0]).removeprefix("this.") if node.children else ""
    asks = node.name in ("add", "putIfAbsent") and re.fullmatch(r"\w+", owner)
    return not (asks and re.search(rf"\b\w*(?:Set|Map)(?:<[^;=()]*>)?\s+{owner}\b", document.text))


# ---- work that waits in a buffer ----


def is_buffered(document: Document, handler: Node, end: int) -> bool:
    """Whether the handler before an offset, or a method it calls, fills a buffer or hands its work to other code."""
    scope = handler.nearest("class")
    whole = document.source(scope) if scope is not None else document.source(handler)
    parts = [document.text[handler.children[-1].start : end]]
    parts += (document.source(each) for each in _called(handler, end))
    return any(_LATER.search(part) for part in parts) or any(
        _is_emptied(whole, name) for part in parts for name in _stored(part) if not _is_new(handler, name)
    )


def _called(handler: Node, end: int) -> list[Node]:
    """Return the methods of the class that a handler calls before an offset, and those that they call."""
    scope = handler.nearest("class")
    own = [each for each in scope.children if each.kind == "function"] if scope is not None else []
    names = {call.name for call in handler.calls() if call.start < end}
    for _ in range(_DEEPEST):
        names |= {call.name for each in own if each.name in names for call in each.calls()}
    return [each for each in own if each.name in names and each is not handler]


def _stored(code: str) -> set[str]:
    """Return the variables into which code stores: by a call, by an index, or by appending to a text."""
    patterns = (
        rf"(\w+)\s*{_STORE}",
        r"(\w+)\s*\[[^\]]*\]\s*=[^=]",
        r"(\w+)\s*\+=\s*[^\d\s]",
        r"(?m)^\s*(?:this\.)?(\w+)\s*=[^=]",
    )
    return {name for pattern in patterns for name in re.findall(pattern, code)}


def _is_emptied(whole: str, name: str) -> bool:
    """Whether the class empties a variable, sends all of it, or replaces it."""
    patterns = (
        rf"\b{name}\s*{_EMPTIED}",
        rf"[(,:]\s*(?:this\.)?{name}\s*[,)]",
        rf"\b{name}\s*=\s*(?:new\b|\"\")",
    )
    found = [each for pattern in patterns for each in re.finditer(pattern, whole)]
    declared = re.compile(rf"[\w>\]]\s+{name}\s*=\s*(?:new\b|\"\")")
    made = {each.end() for each in declared.finditer(whole)}
    texts = re.search(rf"\b{name}\.(?:toString|length)\s*\(", whole)
    return bool(texts) or any(each.end() not in made for each in found)


def _is_new(handler: Node, name: str) -> bool:
    """Whether a name is a parameter, or a local whose value is no part of a field: a new object, or a text."""
    declared = [
        node for node in handler.walk() if node.kind == "bound" and node.name == name and _is_declared(node)
    ]
    return name in parameters(handler) or any(not _is_part_of_field(node, handler) for node in declared)


def _is_part_of_field(bound: Node, handler: Node) -> bool:
    """Whether a local is read from a field or from a method of the component."""
    above = bound.parent
    names = {node.name for node in handler.walk() if node.kind == "bound"} | set(parameters(handler))
    values = [each for each in above.children if each.start > bound.start] if above is not None else []
    first = next((node for each in values[:1] for node in each.walk() if not node.children), None)
    return first is not None and (first.kind == "call" or (first.kind == "name" and first.name not in names))


def _is_declared(bound: Node) -> bool:
    """Whether a write declares a variable: the declarator ends with its value, and another node holds it."""
    above = bound.parent.parent if bound.parent is not None else None
    return bound.parent is not None and (
        bound.parent.kind == "loop" or (above is not None and above.kind not in ("expression", "field"))
    )
