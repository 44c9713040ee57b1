"""What a spout emits, stores and does in its callbacks, and where its records come from.

The *reach* of a method is the method with every method of the component, closure and function of its file that it calls.
A method is *idle* if its reach has no lasting effect except counters and log lines.

The *provenance* of a value are the qualified names from which it derives: `self.emit([job.body])` leads from `job` to
`self.tube.reserve()`, to `self.tube`, and in `initialize` to `beanstalkc.Connection`.  The search follows locals, fields,
parameters and results of helpers, and stores into containers, in any order.  A library counts by the first parts of its
qualified name ("kafka.KafkaConsumer" is "kafka"), a wrapper in the project by the words of its name
("utils.my_kafka.Reader").
"""

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum, unique
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import argument_of, canonical_form, derived_names, mentions_any
from ackdoctor.checks.facts.fields import Use, is_container, shrunk_fields, uses
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.expressions import assigned_targets, calls_by_result, last_name, operands, subexpressions
from ackdoctor.flow.symbols import Symbol
from ackdoctor.flow.transfer.origins import results
from ackdoctor.libraries.vocabulary import CONTAINER_STORES, LOGGING, PURE_CALLS
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Build,
    Call,
    ClassInfo,
    Closure,
    Compare,
    Drop,
    Expr,
    Function,
    Global,
    Item,
    Name,
    Next,
    Step,
    Test,
    Throw,
    Unpack,
    Update,
)
from ackdoctor.model.dialect import EntryKind, VerbKind

# ---- methods and what they reach ----


def entry_method(context: RuleContext, kind: EntryKind) -> Function | None:
    """Return the project's method for this entry, if it defines one."""
    names = (entry.method for entry in context.role.entries if entry.kind is kind)
    return context.component.method(next(names, ""))


def reach(context: RuleContext, *kinds: EntryKind) -> tuple[Function, ...]:
    """Return the methods for these entries and all functions of the project that they call, nearest first."""
    methods = (
        context.component.method(entry.method) for entry in context.role.entries if entry.kind in kinds
    )
    return with_callees(context, (method for method in methods if method is not None))


def with_callees(
    context: RuleContext, functions: Iterable[Function], *, objects: bool = False
) -> tuple[Function, ...]:
    """Return these functions and all functions of the project that they call, nearest first; with `objects` also methods of other classes."""
    found = dict.fromkeys(functions)
    todo = list(found)
    for function in todo:  # the list grows during the loop
        calls = calls_by_result(function).values()
        called = [
            callee
            for call in calls
            for callee in (
                *callees(context, function, call),
                *(_of_object(context, function, call) if objects else ()),
            )
        ]
        for each in (*function.closures.values(), *called):
            if each not in found:
                found[each] = None
                todo.append(each)
    return tuple(found)


def _of_object(context: RuleContext, function: Function, call: Call) -> Iterator[Function]:
    """Yield the method of a project object that a call runs."""
    if isinstance(call.func, Attr):
        cls = context.project_class(function, call.func.obj)
        method = context.program.find_method(cls, call.func.name) if cls is not None else None
        yield from (method,) if method is not None else ()


def callees(context: RuleContext, function: Function, call: Call) -> Iterator[Function]:
    """Yield the functions of the project that a call runs, or gets as a callback."""
    for arg in call.args:
        callback = context.own_method(function, arg.value)
        if callback is not None:
            yield callback
    own = context.own_method(function, call.func)
    if own is not None:
        yield own
    elif is_super(function, call.func):
        methods = [
            cls.methods[function.name] for cls in context.component.lineage if function.name in cls.methods
        ]
        if function in methods:
            yield from methods[methods.index(function) + 1 :][:1]  # the next in the resolution order
    else:
        yield from (symbol for symbol in context.resolve(function, call.func) if isinstance(symbol, Function))


def is_super(function: Function, func: Expr) -> bool:
    """Whether a callee is `super().name` or `Base.name` of the method's own name."""
    if not isinstance(func, Attr) or func.name != function.name:
        return False
    call = calls_by_result(function).get(func.obj)
    if call is not None:
        return call.func == Global("super")
    base = func.obj
    while isinstance(base, Attr):
        base = base.obj
    return isinstance(base, Global)


def calls_super(function: Function) -> bool:
    """Whether a method calls the one it overrides."""
    return any(is_super(function, call.func) for call in calls_by_result(function).values())


# ---- emits ----


def emits(context: RuleContext, *kinds: EntryKind) -> list[Emitted]:
    """Return the emits reached from these entries, each call once, in source order."""
    found: dict[Step, Emitted] = {}
    for _, emit in context.events(Emitted, *kinds):
        found.setdefault(emit.step, emit)
    return sorted(found.values(), key=lambda emit: (emit.function.path, emit.step.span))


def data_emits(context: RuleContext) -> list[Emitted]:
    """Return the emits of `next_tuple` and its callbacks; without any, those of callbacks that `initialize` registers."""
    found = emits(context, EntryKind.NEXT)
    return found or [emit for emit in emits(context, EntryKind.INIT) if emit.deferral is not None]


def has_id(emit: Emitted) -> bool | None:
    """Whether an emit passes a message id; None if only the caller knows."""
    if emit.verb.message_id is None:
        return None
    if emit.verb.message_id in emit.args:
        value = emit.args[emit.verb.message_id]
        return getattr(value, "value", value) is not None
    return None if emit.unclear else False


# ---- what a method does ----

REMOVALS = frozenset(
    "pop popleft popitem remove discard clear delete delete_one delete_many hdel srem zrem lrem expire unlink "
    "invalidate poll removeIf".split()
)
_IDLE_CALLS = (
    PURE_CALLS
    | LOGGING
    | frozenset(
        "get keys values items startswith endswith strip split join lower upper encode decode loads time now utcnow isoformat "
        "strftime round min max abs sorted list tuple dict set getattr currentframe getpid uuid4 super "
        "containsKey contains isEmpty size length equals trim substring".split()
    )
)


class Effect(NamedTuple):
    """A lasting effect of a step.

    `word` is the name of a call, "=" for an assignment, "del" or "raise"; `field` is the field whose method is called.
    """

    function: Function
    step: Step
    word: str
    field: str | None

    @property
    def is_call(self) -> bool:
        """Whether a call has the effect."""
        return isinstance(self.step.op, Call)


def lasting_effects(context: RuleContext, kind: EntryKind) -> list[Effect]:
    """Return the lasting effects in the reach of a callback; [] for an idle one."""
    found: list[Effect] = []
    for function in reach(context, kind):
        for step in function.cfg.steps:
            word, field = "", None
            match step.op:
                case Throw():
                    word = "raise"
                case Drop(target=Item() | Attr()):
                    word = "del"
                case Bind() | Unpack():
                    lasting = any(isinstance(each, (Item, Attr)) for each in assigned_targets(step.op))
                    word = "=" if lasting else ""
                case Call(func=func) as call if not _is_idle(context, function, call):
                    word = last_name(func) or "call"
                    field = context.field(function, func.obj) if isinstance(func, Attr) else None
                case _:
                    pass
            if word:
                found.append(Effect(function, step, word, field))
    return found


def _is_idle(context: RuleContext, function: Function, call: Call) -> bool:
    """Whether a call counts, logs or only reads; the steps of the project's own functions count by themselves."""
    if context.verb_kind(function, call) in (VerbKind.LOG, VerbKind.REPORT):
        return True
    return last_name(call.func) in _IDLE_CALLS or any(True for _ in callees(context, function, call))


# ---- entries under a message id ----


def stored_under_id(context: RuleContext) -> list[Use]:
    """Return each store in the reach of `next_tuple` under, or together with, a message id."""
    functions = reach(context, EntryKind.NEXT)
    return list(_stores(context, functions, _message_ids(context, data_emits(context), functions)))


def stored_for_ever(context: RuleContext) -> list[Use]:
    """Return the stores in `fail` that add an entry for each failure.

    They are under, or together with, a message id other than the failed one, and `fail` does not shrink the field.
    """
    functions = reach(context, EntryKind.FAILED)
    ids = _message_ids(context, emits(context, EntryKind.FAILED), functions)
    if any(_derives_from_failed(functions[0], function, expr) for function, expr in ids):
        return []
    shrunk = shrunk_fields(context, functions)
    stores = _stores(context, functions, ids)
    return [use for use in stores if use.field not in shrunk and is_container(context, use.field)]


def remembered_fields(context: RuleContext) -> set[str]:
    """Return the fields in which `next_tuple` looks up whether it has emitted a record, and from which no callback reads.

    An entry that is removed when its tuple is acked lets the spout emit the record again.
    """
    functions = reach(context, EntryKind.NEXT)
    found = {use.field for use in uses(context, functions) if use.how in ("contains", "containsKey")}
    for function in functions:
        for step in function.cfg.steps:
            if isinstance(step.op, Test):
                parts = subexpressions(step.op.condition)
                sets = (
                    part.right for part in parts if isinstance(part, Compare) and part.op in ("in", "not in")
                )
                found.update(field for each in sets if (field := context.field(function, each)) is not None)
    callbacks = uses(context, reach(context, EntryKind.ACKED, EntryKind.FAILED))
    return found - {use.field for use in callbacks if use.how not in ("discard", "remove", "del")}


def _derives_from_failed(fail: Function, function: Function, expr: Expr) -> bool:
    """Whether an id may derive from the argument of `fail`; a helper's parameters are resolved at its callers."""
    params = frozenset(param.name for param in function.params[1:])
    if function is not fail and isinstance(expr, Name) and expr.id in params:
        return False
    return mentions_any(expr, derived_names(function, params))


def _stores(
    context: RuleContext, functions: tuple[Function, ...], ids: list[tuple[Function, Expr]]
) -> Iterator[Use]:
    for function in functions:
        wanted = {canonical_form(function, expr) for owner, expr in ids if owner is function}
        for use in uses(context, [function]) if wanted else ():
            keys = [canonical_form(function, use.key)] if use.how == "=" and use.key is not None else []
            if use.whole and use.how in CONTAINER_STORES:
                for value in use.values:
                    match canonical_form(function, value):
                        case Build(kind="tuple" | "list", items=items):
                            keys += items
                        case key:
                            keys.append(key)
            if not wanted.isdisjoint(keys):
                yield use


def _message_ids(
    context: RuleContext, sent: list[Emitted], functions: tuple[Function, ...]
) -> list[tuple[Function, Expr]]:
    """Return the message ids of these emits, also as the callers of an emitting helper pass them."""
    found = [(emit.function, emit.args[emit.verb.message_id or ""]) for emit in sent if has_id(emit)]
    for helper, expr in found:  # the list grows during the loop
        if not isinstance(expr, Name) or all(param.name != expr.id for param in helper.params):
            continue
        for caller in functions:
            for call in calls_by_result(caller).values():
                calls = context.own_method(caller, call.func) is helper
                value = argument_of(call, helper, expr.id) if calls else None
                if value is not None and (caller, value) not in found:
                    found.append((caller, value))
    return found


# ---- where records come from ----


@unique
class Source(IntEnum):
    """How a lost record could be replayed; of several sources the greatest counts."""

    UNKNOWN = 0
    FILE = 1  # lines can be read again
    GENERATED = 2  # created on the spot, even from lines of a file
    LIVE = 3  # a feed that cannot be read again
    KEPT = 4  # a log, queue server or database that keeps its records

    @property
    def replayable(self) -> bool:
        """Whether the record can be read a second time."""
        return self in (Source.FILE, Source.KEPT)


_KEPT = frozenset(
    "kafka confluent_kafka pykafka aiokafka samsa brod faust pulsar nsq gnsq disque "
    "redis rediscluster aioredis rq walrus hotqueue redis_collections "
    "pika amqp amqplib kombu haigha aio_pika puka rabbitpy kiwi celery "
    "stomp stompest proton qpid "
    "beanstalkc beanstalkt pystalkd greenstalk pystalk "
    "boto boto3 botocore aiobotocore aioboto3 kinesis kcl amazon_kclpy sqs "
    "google.cloud azure.servicebus azure.eventhub azure.storage "
    "pymongo motor mongoengine mongokit "
    "psycopg2 psycopg asyncpg MySQLdb pymysql mysql sqlite3 sqlalchemy peewee django.db pyodbc pymssql cx_Oracle "
    "oracledb ibm_db jaydebeapi "
    "cassandra pycassa cql happybase phoenixdb hbase impala pyhive pyhs2 elasticsearch pysolr influxdb couchdb "
    "neo4j py2neo rethinkdb aerospike riak tarantool memcache "
    "java.sql.DriverManager java.sql.Connection java.sql.ResultSet javax.sql.DataSource "
    "javax.jms.ConnectionFactory javax.jms.MessageConsumer jakarta.jms.ConnectionFactory jakarta.jms.MessageConsumer "
    "org.apache.activemq org.apache.pulsar org.apache.rocketmq com.alibaba.rocketmq com.google.cloud.pubsub "
    "org.apache.hadoop.hbase".split()
)
_LIVE = frozenset(
    "tweepy twitter twython birdy tushare praw feedparser requests urllib urllib2 urllib3 httplib http httplib2 aiohttp httpx "
    "pycurl socket websocket websockets zmq nanomsg paho mosquitto serial smbus bluetooth scapy pcap cv2 psutil "
    "sseclient irc slackclient slack_sdk blockchain bs4 scrapy selenium telnetlib imaplib poplib sys.stdin fileinput "
    "twitter4j java.net.Socket java.net.URL".split()
)
_GENERATED = frozenset(
    "random itertools.cycle numpy.random faker uuid secrets "
    "java.util.Random java.util.SplittableRandom java.util.concurrent.ThreadLocalRandom java.security.SecureRandom".split()
)
_FILE = frozenset(
    "open io.open codecs.open gzip bz2 zipfile tarfile csv glob os.listdir os.walk os.scandir pathlib linecache "
    "pandas shelve pickle json.load xml.etree lxml xlrd openpyxl avro fastavro hdfs pyarrow h5py mailbox "
    "java.io.FileReader java.io.FileInputStream java.io.RandomAccessFile java.nio.file.Files "
    "org.apache.commons.io.FileUtils org.apache.hadoop.fs".split()
)
_TABLES = ((_KEPT, Source.KEPT), (_LIVE, Source.LIVE), (_GENERATED, Source.GENERATED), (_FILE, Source.FILE))

_WORDS = re.compile(
    r"kafka|rabbit|redis|sqs|kinesis|amqp|pubsub|mongo|beanstalk|cassandra|mysql|postgres", re.IGNORECASE
)


def payload_source(context: RuleContext, emit: Emitted) -> Source:
    """Return the source of an emit's payload."""
    payload = emit.payload
    names = provenance(context, emit.function, payload) if payload is not None else ()
    return max(map(_source_of, names), default=Source.UNKNOWN)


def _source_of(name: str) -> Source:
    """Return the source that a qualified name denotes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        head = ".".join(parts[:length])
        for table, source in _TABLES:
            if head in table:
                return source
    return Source.KEPT if _WORDS.search(name) else Source.UNKNOWN


def provenance(context: RuleContext, function: Function, expr: Expr) -> frozenset[str]:
    """Return the qualified names from which an expression of the component derives."""
    project = tuple(f"{unit.module}." for unit in context.program.units.values())
    names, seen = set[str](), set[object]()
    todo: list[tuple[Function, Expr | Call]] = [(function, expr)]
    for owner, value in todo:  # the list grows during the loop
        method = context.own_method(owner, value.func) if isinstance(value, Call) else None
        called = [method] if method is not None else []
        exprs = operands(value) if isinstance(value, Call) else (value,)
        for part in (part for each in exprs for part in subexpressions(each)):
            field = context.own_field(owner, part)
            key = (None if field else owner, part)
            if part == context.own_names.get(owner) or key in seen:
                continue
            seen.add(key)
            if field or isinstance(part, (Name, Global)):
                todo += values_of(context, owner, part)
            if isinstance(part, Name):
                todo += _arguments(context, owner, part.id)
            if isinstance(part, (Name, Attr)):
                declared = context.declared_names(owner, part)
                if len(declared) == 1:  # several: one for each `import a.*`
                    names.update(name for name in declared if not name.startswith(project))
            for symbol in context.resolve(owner, part) if isinstance(part, (Attr, Global)) else ():
                called += [symbol] if isinstance(symbol, Function) else []
                names.update(name for name in _names_of(context, symbol) if not name.startswith(project))
        todo += ((each, value) for each in called if each not in seen for value in results(each))
        seen.update(called)
    return frozenset(names)


def _names_of(context: RuleContext, symbol: Symbol) -> Iterator[str]:
    """Yield the qualified name of a symbol; for a class of the project, every name that its methods call."""
    match symbol:
        case str():
            yield symbol
        case ClassInfo(methods=methods):
            for method in methods.values():
                for call in calls_by_result(method).values():
                    yield from context.qualified_names(method, call.func)
        case _:
            pass


def _arguments(context: RuleContext, function: Function, name: str) -> Iterator[tuple[Function, Expr]]:
    """Yield the arguments with which the component calls a helper, or with which a callback is registered."""
    if all(param.name != name for param in function.params):
        return
    for caller, call in context.calls():
        if _denotes(context, caller, call.func, function):
            value = argument_of(call, function, name)
            if value is not None:
                yield caller, value
        elif any(_denotes(context, caller, arg.value, function) for arg in call.args):
            yield caller, call.func


def _denotes(context: RuleContext, caller: Function, value: Expr, function: Function) -> bool:
    """Whether an expression is this method or closure itself."""
    if context.own_method(caller, value) is function:
        return True
    closures = _assigned(caller, value) if isinstance(value, Name) and caller.closures else [value]
    return any(isinstance(each, Closure) and caller.closures.get(each.key) is function for each in closures)


def values_of(
    context: RuleContext, function: Function, place: Expr
) -> Iterator[tuple[Function, Expr | Call]]:
    """Yield everything that the code assigns to a local, global or field of the component, or puts into it."""
    name = context.own_field(function, place)
    if name is None:
        owner = context.program.units[function.path].body if isinstance(place, Global) else function
        yield from ((owner, value) for value in _assigned(owner, place))
        return
    for each, own in context.own_names.items():
        yield from ((each, value) for value in _assigned(each, Attr(own, name)))
    default = context.component.attribute(name)
    if default is not None:
        yield context.module_body, default


def _assigned(function: Function, place: Expr) -> Iterator[Expr | Call]:
    for step in function.cfg.steps:
        match step.op:
            case Call(func=Attr(obj=obj, name=name), args=args) if name in CONTAINER_STORES and obj == place:
                yield from (arg.value for arg in args)
            case Call(func=Attr(obj=obj), args=(Arg(value=Attr(obj=target, name=name)),)) if (
                name in CONTAINER_STORES and target == place
            ):
                yield obj  # `records.forEach(self.buffer::add)`
            case Call(result=result) as call if result == place:
                yield call
            case Bind(value=value) | Update(value=value) | Unpack(value=value) | Next(iterable=value):
                if any(_container(target) == place for target in assigned_targets(step.op)):
                    yield value
            case _:
                pass


def _container(target: Expr) -> Expr:
    while isinstance(target, Item):
        target = target.obj
    return target
