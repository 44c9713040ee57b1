"""What a spout does with failed messages, where its messages come from, and when their source forgets them."""

import re
from collections.abc import Callable, Iterable, Iterator

from ackdoctor.checks.facts.dataflow import canonical_form, reachable
from ackdoctor.checks.facts.fields import Use, drained_fields, is_container, uses
from ackdoctor.checks.facts.spouts import (
    REMOVALS,
    Effect,
    calls_super,
    data_emits,
    emits,
    entry_method,
    has_id,
    is_super,
    lasting_effects,
    provenance,
    reach,
)
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import calls_by_result, last_name, name_words, subexpressions
from ackdoctor.libraries import LIBRARIES
from ackdoctor.libraries.vocabulary import CONTAINER_STORES, METRICS
from ackdoctor.model.cfg import (
    EXIT,
    Attr,
    Bind,
    Call,
    Compare,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Mix,
    Name,
    Step,
    Test,
    Throw,
)
from ackdoctor.model.dialect import EntryKind
from ackdoctor.model.topology import OnFail, Place, SourceAck
from ackdoctor.topology.store_states import reset_records

# ---- failed messages ----

_ORDERS = ("<", "<=", ">", ">=")
_NACKS = frozenset(
    "nack basicNack basic_nack basicReject basic_reject reject requeue release seek rollback recover basicRecover abandon changeMessageVisibility "
    "change_message_visibility change_visibility changeVisibility negativeAcknowledge negative_acknowledge changeMessageVisibilityBatch change_message_visibility_batch".split()
)
_REQUEUE_AT = {"basicReject": 1, "basic_reject": 1, "reject": 1, "basicNack": 2, "basic_nack": 2}  # argument
_DROPPING = frozenset({"reject"})  # negative acks that put nothing back unless an argument asks for it
_ACKS = frozenset(
    "ack acknowledge basicAck basic_ack deleteMessage deleteMessageBatch delete_message delete_message_batch "
    "delete_messages complete".split()
)
_COMMITS = frozenset("commit commitAsync commitSync commit_offsets commitOffsets".split())
_SENDS = frozenset(
    "lpush rpush push put send publish basic_publish basicPublish send_message sendMessage add enqueue insert "
    "insert_one zadd sadd offer".split()
)
_BACK = frozenset("again back requeue redeliver rewind retry unlock".split())  # words of names
_COUNTS = frozenset(
    "incrementAndGet getAndIncrement addAndGet inc incr increment incrBy mark scope decrementAndGet".split()
)
_LOGGERS = frozenset("log logger logging".split())
_LEVELS = frozenset(
    "trace debug info warn warning error exception critical fatal severe config fine finer finest".split()
)
_DEAD_LETTER = re.compile(r"dead.?letter|dlq|dlx|poison|bury", re.IGNORECASE)
_DEAD_QUEUE = re.compile(r"(?<![a-z])dead(?![a-z])", re.IGNORECASE)  # in a text: "payments.dead"
_FROM_COLLECTIONS = frozenset("pop popleft popitem remove discard clear poll removeIf".split())
_TAKES = frozenset({"pop", "remove"})  # an entry by its key
_MEMBERSHIP = frozenset("contains containsKey __contains__ has_key containsValue".split())


def on_fail(context: RuleContext) -> tuple[OnFail, Place | None]:
    """Return what the spout does with a failed message, and where: at `fail`, or at the emit if there is no `fail`."""
    method = entry_method(context, EntryKind.FAILED)
    if context.discipline.replays and (method is None or calls_super(method)):
        head = context.component.cls.head
        return OnFail.BOUNDED, Place(context.component.cls.path, head.line)
    if method is None:
        return _without_method(context)
    place = Place(method.path, method.head.line)
    effects = [each for each in lasting_effects(context, EntryKind.FAILED) if not _is_idle(each)]
    again = list(_replays(context))
    given = again or [(each.function, each.step) for each in effects if _gives_again(context, each)]
    limit = next((found for each in given if (found := _limit_of(context, method, *each))), None)
    limit = limit or _taken(context)
    if limit is not None:
        return OnFail.BURIED if any(map(_is_dead_letter, effects)) else OnFail.BOUNDED, limit
    if again:
        return OnFail.UNKNOWN if _has_one_id(context) else OnFail.REPLAYS, place
    once = emits(context, EntryKind.FAILED)
    if once:  # without an id, so that a second failure is not seen
        return OnFail.BOUNDED, _place(once[0].function, once[0].step)
    return _of_effects(context, effects), place


def _place(function: Function, step: Step) -> Place:
    return Place(function.path, step.span.line)


def _without_method(context: RuleContext) -> tuple[OnFail, Place | None]:
    if context.component.opaque:
        return OnFail.UNKNOWN, None
    found = data_emits(context)
    first = next((emit for emit in found if has_id(emit)), next(iter(found), None))
    return OnFail.NOTHING, _place(first.function, first.step) if first is not None else None


def _replays(context: RuleContext) -> Iterator[tuple[Function, Step]]:
    """Yield the steps of `fail` that emit the message again, or put it where `next_tuple` takes it."""
    for emit in emits(context, EntryKind.FAILED):
        if has_id(emit) is not False:
            yield emit.function, emit.step
    drained = drained_fields(context, reach(context, EntryKind.NEXT))
    for use in uses(context, reach(context, EntryKind.FAILED)):
        if use.field in drained and _is_store(use):
            yield use.function, use.step
    yield from reset_records(context)


def _taken(context: RuleContext) -> Place | None:
    """Return where `fail` emits a message that it takes out of its buffer for good: a second failure finds nothing."""
    kept = {use.field for use in uses(context, reach(context, EntryKind.FAILED)) if _is_store(use)}
    for emit in emits(context, EntryKind.FAILED):
        payload = canonical_form(emit.function, emit.payload) if emit.payload is not None else None
        for part in subexpressions(payload) if payload is not None else ():
            func = part.parts[0] if isinstance(part, Mix) and part.op == "call" else None
            if isinstance(func, Attr) and func.name in _TAKES and has_id(emit):
                field = context.field(emit.function, func.obj)
                if field is not None and field not in kept:
                    return _place(emit.function, emit.step)
    return None


def _has_one_id(context: RuleContext) -> bool:
    """Whether different messages have the same id: `fail` cannot tell which of them failed."""
    emitted = [emit for emit in data_emits(context) if has_id(emit)]
    ids = [emit.args[emit.verb.message_id or ""] for emit in emitted]
    return all(isinstance(each, Literal) for each in ids) and not all(map(_is_constant, emitted))


def _is_constant(emit: Emitted) -> bool:
    """Whether an emit always sends the same values."""
    values = canonical_form(emit.function, emit.payload) if emit.payload is not None else None
    return values is not None and not any(isinstance(part, Name | Attr) for part in subexpressions(values))


def _is_store(use: Use) -> bool:
    return use.how in CONTAINER_STORES or (use.how == "=" and isinstance(use.place, Item))


def _limit_of(context: RuleContext, method: Function, function: Function, replay: Step) -> Place | None:
    """Return the comparison that limits a replay, where it happens or where `fail` calls the helper that does it."""
    found = _limit(function, replay)
    for step in method.cfg.steps if function is not method else ():
        if (
            found is None
            and isinstance(step.op, Call)
            and context.own_method(method, step.op.func) is function
        ):
            found = _limit(method, step)
    return found


def _limit(function: Function, replay: Step) -> Place | None:
    """Return the comparison that decides whether a failed message is sent again."""
    steps = function.cfg.steps
    index = steps.index(replay)
    for at, step in enumerate(steps):
        if isinstance(step.op, Test) and _compares_sizes(function, step.op):
            sides = [
                index in reachable(function, [edge.target])
                for edge in step.edges
                if edge.kind in (EdgeKind.TRUE, EdgeKind.FALSE)
            ]
            others = reachable(function, [at], [(index, kind) for kind in EdgeKind])
            ends = EXIT in others or any(isinstance(steps[each].op, Throw) for each in others)
            if True in sides and False in sides and ends:
                return _place(function, step)
    return None


def _compares_sizes(function: Function, op: Test) -> bool:
    parts = subexpressions(canonical_form(function, op.condition))
    return any(isinstance(part, Compare) and part.op in _ORDERS for part in parts)


def _is_dead_letter(effect: Effect) -> bool:
    op = effect.step.op
    if not isinstance(op, Call):
        return False
    parts = [op.func, *(arg.value for arg in op.args)]
    found = [part for each in parts for part in subexpressions(each)]
    texts = [str(part.value) for part in found if isinstance(part, Literal)]
    words = (*texts, *(last_name(part) for part in found))
    return any(map(_DEAD_LETTER.search, words)) or any(map(_DEAD_QUEUE.search, texts))


def _gives_back(effect: Effect) -> bool:
    """Whether a call names that it gives a message back: `source.put_back(order)`, `mailbox.unlock(id)`."""
    op, words = effect.step.op, set(name_words(effect.word))
    return isinstance(op, Call) and bool(op.args) and not _BACK.isdisjoint(words) and "off" not in words


def _of_effects(context: RuleContext, effects: list[Effect]) -> OnFail:
    """Return what the lasting effects of `fail` mean; no effect, and no source that keeps the message: NOTHING."""
    returned = [effect for effect in effects if effect.word in _NACKS]
    if not returned and any(map(_is_dead_letter, effects)):
        return OnFail.DEAD_LETTER
    failing = reach(context, EntryKind.FAILED)
    elsewhere = {use.field for use in uses(context) if use.function not in failing and use.how != "="}
    returned = returned or [
        effect
        for effect in effects
        if (effect.word in _SENDS or _gives_back(effect)) and not _is_unread(context, effect, elsewhere)
    ]
    if returned:
        return OnFail.SOURCE if all(_gives_again(context, each) for each in returned) else OnFail.UNKNOWN
    read = _fields_read(context)
    if any(not _is_removal(each) and not _is_unread(context, each, read) for each in effects):
        return OnFail.UNKNOWN
    return _of_removals(context, [effect for effect in effects if _is_removal(effect)])


def _fields_read(context: RuleContext) -> set[str]:
    return {use.field for use in uses(context, reach(context, EntryKind.NEXT))}


def _gives_again(context: RuleContext, effect: Effect) -> bool:
    """Whether a call certainly gives a message back to the source from which `next_tuple` reads."""
    if effect.word in _NACKS:
        return _requeues(effect)
    if effect.word not in _SENDS and not _gives_back(effect):
        return False
    return _client(context, effect) in _fields_read(context) and _is_read_again(context, effect)


def _client(context: RuleContext, effect: Effect) -> str | None:
    """Return the field whose client a call uses, also by `pipe = self.client.pipeline()`."""
    op = effect.step.op
    if effect.field is not None or not isinstance(op, Call):
        return effect.field
    parts = subexpressions(canonical_form(effect.function, op.func))
    return next((found for part in parts if (found := context.field(effect.function, part))), None)


def _is_read_again(context: RuleContext, effect: Effect) -> bool:
    """Whether a call sends to a place that `next_tuple` reads: `rpush("failed", id)` is no replay of `lpop("jobs")`."""
    op = effect.step.op
    if effect.word not in _SENDS or not isinstance(op, Call) or not op.args[1:]:
        return True  # a message without a place
    forms = {canonical_form(effect.function, arg.value) for arg in op.args}
    given = {each for each in forms if _is_place(each)}
    reading = reach(context, EntryKind.NEXT, EntryKind.INIT)
    calls = ((each, call) for each in reading for call in calls_by_result(each).values())
    return any(canonical_form(each, arg.value) in given for each, call in calls for arg in call.args)


def _is_place(value: Expr) -> bool:
    """Whether a value may name a queue; a number does not, nor does a parameter."""
    if isinstance(value, Literal):
        return isinstance(value.value, str) and value.value != ""
    return not isinstance(value, Name)


def _requeues(effect: Effect) -> bool:
    """Whether a negative ack certainly puts the message back: `basicReject(tag, false)` does not, and a setting may not."""
    op = effect.step.op
    args = op.args if isinstance(op, Call) else ()
    at = _REQUEUE_AT.get(effect.word, max(1, len(args) - 1))
    asked = [arg for arg in args if arg.name == "requeue"] or [arg for arg in args[at:] if not arg.name]
    if not asked:
        return effect.word not in _DROPPING
    if effect.word in _REQUEUE_AT or asked[0].name:
        return asked[0].value == Literal(True)
    last = asked[0].value
    return not (isinstance(last, Literal) and last.value is False)  # a visibility of 0 gives it back at once


def _of_removals(context: RuleContext, removals: list[Effect]) -> OnFail:
    """Return what a `fail` means that at most removes: the source may still have what `ack` does not complete there."""
    acked = [
        each for each in lasting_effects(context, EntryKind.ACKED) if each.is_call and not _is_idle(each)
    ]
    completed = {each.word for each in acked if not _is_own(context, each)}
    away = {each.word for each in removals if not _is_own(context, each)}
    if away:  # at the source, or in an object of unknown kind
        certain = away <= completed and not away & _FROM_COLLECTIONS
        return OnFail.NOTHING if certain else OnFail.UNKNOWN
    if completed & _COMMITS:
        return OnFail.UNKNOWN
    if completed & _ACKS or ("delete" in completed and source_of(context)[0] in _LEASED):
        return OnFail.SOURCE
    fields = {each.field for each in removals}
    asked = any(_asks(use) for use in uses(context) if use.field in fields)
    return OnFail.UNKNOWN if completed or asked else OnFail.NOTHING


def _is_own(context: RuleContext, effect: Effect) -> bool:
    """Whether an effect is on a collection of the component."""
    if not effect.is_call:
        return effect.word in ("del", "=")
    return effect.field is not None and is_container(context, effect.field)


def _is_removal(effect: Effect) -> bool:
    return effect.word in REMOVALS or effect.word == "del"


def _is_unread(context: RuleContext, effect: Effect, read: set[str]) -> bool:
    """Whether an effect assigns a field, or stores into a collection, that the code does not read."""
    op = effect.step.op
    if isinstance(op, Bind):
        field = context.field(effect.function, op.target)
        return field is not None and field not in read
    stores = effect.word in CONTAINER_STORES and _is_own(context, effect)
    return stores and effect.field not in read


def _is_idle(effect: Effect) -> bool:
    """Whether an effect only counts, or calls the framework's empty method."""
    op = effect.step.op
    if not isinstance(op, Call):
        return False
    if is_super(effect.function, op.func):
        return True
    names = {word for part in subexpressions(op.func) for word in name_words(last_name(part))}
    if _LOGGERS.isdisjoint(name_words(effect.word)) and effect.word not in _LEVELS:
        names -= _LOGGERS  # `log.rewind(...)`: an access log is no logger
    return effect.word in _COUNTS or not METRICS.isdisjoint(names)


def _asks(use: Use) -> bool:
    """Whether a use asks whether a key is in a field."""
    return use.how in _MEMBERSHIP or (use.how == "get" and use.whole)


# ---- the source ----

_SOURCES = (  # the first that matches a qualified name
    ("kafka", r"kafka|samsa|brod\b"),
    ("redis", r"redis|jedis|lettuce|^rq\b|hotqueue"),
    ("rabbitmq", r"rabbit|\bpika\b|\bamqp|kombu|haigha"),
    ("sqs", r"\bsqs\b"),
    ("kinesis", r"kinesis"),
    ("pubsub", r"pubsub"),
    ("jms", r"\bjms\b|activemq|stomp"),
    ("mqtt", r"mqtt|paho"),
    ("zeromq", r"\bzmq\b|zeromq"),
    ("beanstalk", r"beanstalk"),
    ("twitter", r"tweepy|twitter|twython|birdy"),
    ("mongodb", r"mongo"),
    ("cassandra", r"cassandra|pycassa"),
    ("hbase", r"hbase"),
    ("elasticsearch", r"elasticsearch|opensearch"),
    ("database", r"mysql|postgres|psycopg|sqlite|\bjdbc|java\.sql|javax\.sql|sqlalchemy|cx_Oracle|pyodbc"),
    ("http", r"^requests\b|urllib|^httplib|http|feedparser|^bs4|websocket|scrapy|selenium"),
    ("socket", r"\bsocket|java\.net\.\w*Socket|Datagram|^telnetlib|serial"),
    (
        "file",
        r"^open$|^io\.open|codecs\.open|java\.io\.|java\.nio\.|^csv|^gzip|^glob|listdir|os\.walk|pandas|hdfs",
    ),
)
_PATTERNS = tuple((word, re.compile(pattern, re.IGNORECASE)) for word, pattern in _SOURCES)
_POPS = frozenset(
    "lpop rpop blpop brpop spop zpopmin zpopmax bzpopmin dequeue listen get_message subscribe".split()
)
_LEASED = frozenset({"sqs", "beanstalk"})  # sources that hand out again what is not deleted in time
_POPPED = frozenset({"redis", "beanstalk"})  # sources with such calls
_CLIENTS = frozenset(word for word, _ in _SOURCES) - {"http", "socket", "file", "database"}
_FORGOTTEN = frozenset({"twitter", "mqtt", "zeromq"})  # what is not kept for a second reader
_JAVA_LANG = tuple(
    f"{name}." for name in "System Math String Integer Long Double Boolean StringBuilder Thread".split()
)
_NO_ACK = frozenset("no_ack auto_ack autoAck noAck".split())
_CONSUMES = frozenset("basicConsume basicGet basic_consume basic_get consume".split())
_AUTO_COMMIT = re.compile(r"(?:enable[._]auto[._]commit|auto[._]commit[._]enable)", re.IGNORECASE)
_MANUAL = frozenset("pykafka".split())  # clients that commit nothing by default


def source_of(context: RuleContext) -> tuple[str, SourceAck, Place | None]:
    """Return the kind of the spout's source, "" if it is not recognised, when it forgets a message, and where that is."""
    found = data_emits(context) or [emit for _, emit in context.events(Emitted)]
    names = frozenset[str]()
    for emit in found:
        payload = emit.args.get(emit.verb.subject or "")
        names |= provenance(context, emit.function, payload) if payload is not None else frozenset()
    source = (
        source_kind(names)
        or _imported(context)
        or ("generated" if found and _is_local(context, names) else "")
    )
    if source == "generated":
        return source, SourceAck.GENERATED, None
    moment, place = _forgets(context, source, names)
    if place is None and found:
        place = _place(found[0].function, found[0].step)
    return source, moment, place if moment is not SourceAck.UNKNOWN else None


def source_kind(names: frozenset[str]) -> str:
    """Return the kind of client that these qualified names belong to; "" if it is not recognised."""
    return next((word for word, pattern in _PATTERNS if any(map(pattern.search, names))), "")


def _is_local(context: RuleContext, names: frozenset[str]) -> bool:
    """Whether all names are of objects that live in the process: the spout makes its messages itself."""
    library = LIBRARIES[context.dialect.language]
    framework = tuple(word.decode() for word in context.dialect.words)
    local = (*library.local, *_JAVA_LANG, *framework)
    return all(f"{name}.".startswith(local) and not name.startswith(library.remote) for name in names)


def _imported(context: RuleContext) -> str:
    """Return the source whose client the spout's file imports, where no payload leads to it."""
    unit = context.program.units[context.component.cls.path]
    names = frozenset((*unit.stars, *(name for names in unit.imports.values() for name in names)))
    found = source_kind(names)
    return found if found in _CLIENTS else ""


def _forgets(context: RuleContext, source: str, names: frozenset[str]) -> tuple[SourceAck, Place | None]:
    completed = _ACKS | _COMMITS | frozenset({"delete"})
    read = reach(context, EntryKind.NEXT, EntryKind.INIT)
    acked = _first_call(reach(context, EntryKind.ACKED), lambda call: last_name(call.func) in completed)
    if acked is not None:
        chosen = _first_call(read, lambda call: _no_ack(call) not in (None, Literal(False)))
        return (SourceAck.UNKNOWN, None) if chosen is not None else (SourceAck.ON_ACK, acked)
    early = completed | (_POPS if source in _POPPED else frozenset())
    at = _first_call(read, lambda call: last_name(call.func) in early or _takes_all(call))
    if at is not None:
        return SourceAck.ON_DELIVERY, at
    if source == "kafka":
        return _commits(context, names)
    return SourceAck.ON_DELIVERY if source in _FORGOTTEN else SourceAck.UNKNOWN, None


def _first_call(functions: Iterable[Function], matches: Callable[[Call], bool]) -> Place | None:
    for function in functions:
        for step in function.cfg.steps:
            if isinstance(step.op, Call) and not is_super(function, step.op.func) and matches(step.op):
                return _place(function, step)
    return None


def _takes_all(call: Call) -> bool:
    """Whether a subscription tells the broker to expect no ack."""
    return _no_ack(call) == Literal(True)


def _no_ack(call: Call) -> Expr | None:
    """Return the argument that tells the broker whether to expect no ack: by its name, or second as in `basicConsume(queue, true, ...)`."""
    named = next((arg.value for arg in call.args if arg.name in _NO_ACK), None)
    if named is not None or last_name(call.func) not in _CONSUMES:
        return named
    second = next((arg.value for arg in call.args[1:2] if not arg.name), None)
    return second if second in (Literal(True), Literal(False)) or _says_no_ack(second) else None


def _says_no_ack(value: Expr | None) -> bool:
    return value is not None and last_name(value) in _NO_ACK


def _commits(context: RuleContext, names: frozenset[str]) -> tuple[SourceAck, Place | None]:
    """Return when a Kafka consumer commits that the spout never asks to: by a timer, unless that is switched off."""
    for function in context.functions:
        for step in function.cfg.steps:
            value = _auto_commit(step.op) if isinstance(step.op, Call) else None
            if value is not None:
                off = str(value.value).lower() == "false"
                return (SourceAck.UNKNOWN, None) if off else (SourceAck.ON_DELIVERY, _place(function, step))
    manual = any(name.partition(".")[0] in _MANUAL for name in names)
    return SourceAck.UNKNOWN if manual else SourceAck.ON_DELIVERY, None


def _auto_commit(call: Call) -> Literal | None:
    """Return the value that a call gives to the auto-commit setting of a consumer."""
    for arg in call.args:
        if arg.name is not None and _AUTO_COMMIT.fullmatch(arg.name) and isinstance(arg.value, Literal):
            return arg.value
    values = [arg.value for arg in call.args]
    if isinstance(call.func, Attr) and len(values) > 1 and _names_auto_commit(values[0]):
        return values[1] if isinstance(values[1], Literal) else None
    return None


def _names_auto_commit(key: object) -> bool:
    word = str(key.value) if isinstance(key, Literal) else last_name(key) if isinstance(key, Attr) else ""
    return _AUTO_COMMIT.search(word) is not None
