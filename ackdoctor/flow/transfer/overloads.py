"""Which of several functions or framework calls of one name a call means, told by its arguments.

Only what is known counts: an argument of unknown kind fits everything.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import last_name
from ackdoctor.flow.state import Batch, Coll, Const, Field, Handle, State, TokenKind, TokenRef, Value
from ackdoctor.flow.transfer.declared import maker, text_of
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.model.cfg import Arg, Attr, Bind, Call, Expr, Global, Literal, Mix, Name
from ackdoctor.model.component import Function
from ackdoctor.model.dialect import Kind, Verb

__all__ = ["choose_functions", "choose_verb", "sort_of", "type_text"]

_SORTS = {
    **dict.fromkeys("String CharSequence StringBuilder".split(), "text"),
    **dict.fromkeys("int long short byte Integer Long Short Byte".split(), "number"),
    **dict.fromkeys(("Tuple", "TupleImpl"), "tuple"),
    **dict.fromkeys(
        "Values List ArrayList LinkedList Collection Set HashSet Queue Deque Object Iterable Stack Vector "
        "ImmutableList CopyOnWriteArrayList ArrayDeque LinkedHashSet TreeSet".split(),
        "list",
    ),
}
_SORT_OF_RESULT = {
    **dict.fromkeys(
        "asList of singletonList newArrayList values getValues toList emptyList singleton copyOf collect get getNew "
        "getExpired unmodifiableList keySet subList".split(),
        "list",
    ),
    **dict.fromkeys(
        "toString format getString getStringByField getSourceStreamId getSourceComponent name join concat valueOf "
        "toLowerCase toUpperCase trim substring getStreamId streamId".split(),
        "text",
    ),
    **dict.fromkeys(
        "currentTimeMillis nanoTime size length getInteger getIntegerByField getLong getLongByField parseInt parseLong "
        "intValue longValue incrementAndGet getAndIncrement nextInt nextLong hashCode".split(),
        "number",
    ),
}


def sort_of(context: Context, function: Function, state: State, expr: Expr) -> str:
    """One of the words in `Verb.types` as far as an argument tells, else ""."""
    match evaluate(context, function, state, expr):
        case TokenRef(token=token, part="") if token.kind is TokenKind.STORED:
            return _stored(context, function, expr)
        case TokenRef(part=""):
            return "tuple"
        case Handle(kind="tuple"):
            return "tuple"
        case Batch() | Coll():
            return "list"
        case Const(value=str()):
            return "text"
        case Const(value=int()):
            return "number"
        case Field(name=name):
            found = context.component.declared(name)
            return _SORTS.get(found[1].rpartition(".")[2], "") if found else _by_look(expr)
        case _:
            return _written(function, expr)


def _stored(context: Context, function: Function, expr: Expr) -> str:
    """What comes out of a field is a tuple, unless it is declared otherwise or a spout, which has none, keeps it."""
    if context.component.role.kind is Kind.SPOUT:
        return _written(function, expr)
    return (
        _SORTS.get(text_of(function, expr.id).rpartition(".")[2]) if isinstance(expr, Name) else ""
    ) or "tuple"


def _written(function: Function, expr: Expr) -> str:
    match expr:
        case Literal(value=str()):
            return "text"
        case Mix(op="+"):
            return "text"
        case Name(id=name) if name.startswith("%"):
            return _of_maker(function, name)
        case Name(id=name):
            return _SORTS.get(text_of(function, name).rpartition(".")[2], "")
        case _:
            return _by_look(expr)


def _of_maker(function: Function, name: str) -> str:
    match maker(function, name):
        case Call(func=func):
            word = last_name(func)
            return _SORTS.get(word, "") or _SORT_OF_RESULT.get(word, "") or _by_words(word)
        case Bind(value=value):
            return _written(function, value)
        case _:
            return ""


def _by_look(expr: Expr) -> str:
    """A constant in capitals names a stream more often than anything else."""
    match expr:
        case Attr(name=word) | Global(id=word) if word.isupper():
            return "text"
        case Attr(name=word) | Global(id=word):
            return _by_words(word)
        case _:
            return ""


def _by_words(word: str) -> str:
    lowered = word.lower()
    if "stream" in lowered:
        return "text"
    if lowered.endswith("values"):
        return "list"
    return (
        "list" if lowered.endswith(("anchors", "tuples")) else "tuple" if lowered.endswith("anchor") else ""
    )


def choose_verb(
    context: Context, function: Function, state: State, args: tuple[Arg, ...], verbs: Iterable[Verb]
) -> Verb | None:
    """The verb whose parameters take these arguments; of several that may, one that can be anchored.

    Where one of those passes a message id and another does not, what it gives has no `message_id`: nobody knows.
    """
    candidates = [verb for verb in verbs if not verb.types or len(verb.params) == len(args)]
    if len(candidates) < 2:  # noqa: PLR2004
        return candidates[0] if candidates else None
    sorts = [sort_of(context, function, state, arg.value) for arg in args]
    fits = [_fit(verb.types, sorts) for verb in candidates]
    best = [verb for verb, fit in zip(candidates, fits, strict=True) if fit == max(fits)]
    chosen = max(best, key=lambda verb: verb.anchors == "anchors")
    if len({verb.message_id in verb.params for verb in best}) > 1:
        return replace(chosen, message_id=None)
    return chosen


def _fit(wanted: Sequence[str], given: Sequence[str]) -> int:
    score = 0
    for want, have in zip(wanted, given, strict=False):
        if want and have:
            score += 2 if want == have else -4
    return score


def choose_functions(
    functions: Sequence[Function],
    values: Sequence[Value | None],
    sorts: Sequence[str],
    texts: Sequence[str],
) -> tuple[Function, ...]:
    """The overloads that may take these arguments: several where nothing known tells them apart."""
    fitting = [function for function in functions if _arity_fits(function, len(values))] or list(functions)
    if len(fitting) < 2:  # noqa: PLR2004
        return tuple(fitting)
    scores = [_fits(function, values, sorts, texts) for function in fitting]
    best = max(scores)
    return tuple(function for function, score in zip(fitting, scores, strict=True) if score == best)


def _formal(function: Function) -> list[str | None]:
    params = [param for param in function.params if param.kind in ("positional", "*")]
    return [param.type for param in (params if function.binding in ("static", "none") else params[1:])]


def _arity_fits(function: Function, count: int) -> bool:
    wanted = len(_formal(function))
    return wanted == count or (any(p.kind == "*" for p in function.params) and count >= wanted - 1)


def type_text(function: Function, expr: Expr) -> str:
    """The last part of the type that an argument is declared or made with, or ""."""
    if not isinstance(expr, Name):
        return ""
    text = text_of(function, expr.id)
    if not text and expr.id.startswith("%"):
        match maker(function, expr.id):
            case Call(func=Global(id=word)) if word[:1].isupper():
                return word
            case _:
                return ""
    return text.rpartition(".")[2]


def _fits(
    function: Function, values: Sequence[Value | None], sorts: Sequence[str], texts: Sequence[str]
) -> int:
    score = 0
    for formal, value, sort, text in zip(_formal(function), values, sorts, texts, strict=False):
        last = (formal or "").rpartition(".")[2]
        wanted = _SORTS.get(last, "")
        if text and text == last:
            score += 3
        elif isinstance(value, Handle) and value.kind != "tuple":
            score += 3 if value.kind in last or last in value.kind else -3
        elif wanted and sort:
            score += 2 if wanted == sort else -3
        elif sort in ("text", "number", "tuple") and last and not wanted and last not in ("T", "K", "V"):
            score -= 1
    return score
