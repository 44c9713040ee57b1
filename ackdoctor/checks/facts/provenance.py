"""Provenance: the qualified names from which a value derives, and the kind of source that they denote.

`self.emit([job.body])` leads from `job` to `self.tube.reserve()`, to `self.tube`, and in `initialize` to
`beanstalkc.Connection`.  The search follows locals, fields, parameters and results of helpers, and stores into
containers, in any order.  A library counts by the first parts of its qualified name ("kafka.KafkaConsumer" is "kafka"),
a wrapper in the project by the words of its name ("utils.my_kafka.Reader").
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum, unique

from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Emitted
from ackdoctor.flow.library import CONTAINER_STORES
from ackdoctor.flow.symbols import Symbol
from ackdoctor.model.cfg import (
    Attr,
    Bind,
    Build,
    Call,
    ClassInfo,
    Closure,
    Compare,
    Expr,
    Function,
    Global,
    Item,
    Mix,
    Name,
    Next,
    Not,
    Return,
    Star,
    Unpack,
    Update,
    Yield,
)

__all__ = ["Source", "assigned_values", "field_values", "payload_source", "provenance", "source_of"]


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
    "neo4j py2neo rethinkdb aerospike riak tarantool memcache".split()
)
_LIVE = frozenset(
    "tweepy twitter twython birdy tushare praw feedparser requests urllib urllib2 urllib3 httplib http httplib2 aiohttp httpx "
    "pycurl socket websocket websockets zmq nanomsg paho mosquitto serial smbus bluetooth scapy pcap cv2 psutil "
    "sseclient irc slackclient slack_sdk blockchain bs4 scrapy selenium telnetlib imaplib poplib sys.stdin fileinput".split()
)
_GENERATED = frozenset(
    "random itertools.cycle numpy.random faker uuid secrets "
    "java.util.Random java.util.SplittableRandom java.util.concurrent.ThreadLocalRandom java.security.SecureRandom".split()
)
_FILE = frozenset(
    "open io.open codecs.open gzip bz2 zipfile tarfile csv glob os.listdir os.walk os.scandir pathlib linecache "
    "pandas shelve pickle json.load xml.etree lxml xlrd openpyxl avro fastavro hdfs pyarrow h5py mailbox".split()
)
_TABLES = ((_KEPT, Source.KEPT), (_LIVE, Source.LIVE), (_GENERATED, Source.GENERATED), (_FILE, Source.FILE))

_WORDS = re.compile(
    r"kafka|rabbit|redis|sqs|kinesis|amqp|pubsub|mongo|beanstalk|cassandra|mysql|postgres", re.IGNORECASE
)


def source_of(names: Iterable[str]) -> Source:
    """Return the source that these qualified names denote."""
    return max((_one(name) for name in names), default=Source.UNKNOWN)


def _one(name: str) -> Source:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        head = ".".join(parts[:length])
        for table, source in _TABLES:
            if head in table:
                return source
    return Source.KEPT if _WORDS.search(name) else Source.UNKNOWN


def provenance(context: RuleContext, function: Function, expr: Expr) -> frozenset[str]:
    """Return the qualified names from which an expression of the component derives."""
    units = context.program.units.values()
    walk = _Walk(context, modules=tuple(f"{unit.module}." for unit in units))
    walk.value(function, expr)
    walk.run()
    return frozenset(walk.names)


def payload_source(context: RuleContext, emit: Emitted) -> Source:
    """Return the source of an emit's payload."""
    payload = emit.args.get(emit.verb.subject or "")
    return source_of(provenance(context, emit.function, payload)) if payload is not None else Source.UNKNOWN


@dataclass(slots=True, eq=False)
class _Walk:
    context: RuleContext
    names: set[str] = field(default_factory=set)
    todo: list[tuple[Function, Expr]] = field(default_factory=list)
    seen: set[tuple[int, Expr]] = field(default_factory=set)
    functions: tuple[Function, ...] = ()
    modules: tuple[str, ...] = ()  # prefixes of the project's own modules
    owns: dict[int, Name | None] = field(default_factory=dict)

    def run(self) -> None:
        """Follow all pending places."""
        self.functions = tuple(self.context.functions())
        while self.todo:
            function, place = self.todo.pop()
            match place:
                case Name():
                    self._local(function, place)
                case Attr(name=name):
                    self._field(name)
                case _:
                    self._module_value(function, place)

    def _enqueue(self, function: Function, place: Expr) -> None:
        key = (0 if isinstance(place, Attr) else id(function), place)
        if key not in self.seen:
            self.seen.add(key)
            self.todo.append((function, place))

    # ---- expressions ----

    def value(self, function: Function, expr: Expr) -> None:
        """Follow an expression of a function."""
        match expr:
            case Name():
                self._enqueue(function, expr)
            case Global():
                self._symbols(function, expr)
                self._enqueue(function, expr)
            case Attr(obj=obj):
                name = self._own_field(function, expr)
                if name is not None:
                    self._enqueue(function, Attr(Name("self"), name))
                else:
                    self._symbols(function, expr)
                    self.value(function, obj)
            case Item(obj=obj, key=key):
                self.value(function, obj)
                self.value(function, key)
            case Build(items=parts) | Mix(parts=parts):
                for part in parts:
                    self.value(function, part)
            case Star(value=inner) | Not(value=inner):
                self.value(function, inner)
            case Compare(left=left, right=right):
                self.value(function, left)
                self.value(function, right)
            case _:
                pass

    def _own_field(self, function: Function, expr: Expr) -> str | None:
        if id(function) not in self.owns:
            self.owns[id(function)] = self.context.own_name(function)
        own = self.owns[id(function)]
        match expr:
            case Attr(obj=obj, name=name) if own is not None and obj == own:
                return name
            case _:
                return None

    def _symbols(self, function: Function, expr: Expr) -> None:
        for symbol in self.context.resolve(function, expr):
            self._symbol(symbol)

    def _symbol(self, symbol: Symbol) -> None:
        match symbol:
            case str() if not symbol.startswith(self.modules):
                self.names.add(symbol)
            case Function():
                self._returned(symbol)
            case ClassInfo():
                for method in symbol.methods.values():
                    self._called(method)

    # ---- where a place gets its value ----

    def _local(self, function: Function, name: Name) -> None:
        for source in assigned_values(function, name):
            self._source(function, source)
        params = [param.name for param in function.params]
        if name.id in params:
            self._parameter(function, params.index(name.id))

    def _field(self, name: str) -> None:
        for function, source in field_values(self.context, self.functions, name):
            self._source(function, source)
        value = self.context.component.attribute(name)
        if value is not None:
            self.value(next(iter(self.context.component.cls.methods.values()), self.functions[0]), value)

    def _module_value(self, function: Function, place: Expr) -> None:
        body = self.context.program.units[function.path].body
        for source in assigned_values(body, place):
            self._source(body, source)

    def _source(self, function: Function, source: Expr | Call) -> None:
        if not isinstance(source, Call):
            self.value(function, source)
            return
        self.value(function, source.func)
        for arg in source.args:
            self.value(function, arg.value)
        method = self.context.own_method(function, source.func)
        if method is not None:
            self._returned(method)

    def _parameter(self, function: Function, position: int) -> None:
        """Follow the arguments with which the component calls a helper, or with which a callback is registered."""
        offset = 0 if function.binding in ("static", "none") else 1
        name = function.params[position].name
        for caller in self.functions:
            for step in caller.cfg.steps:
                if not isinstance(step.op, Call):
                    continue
                if self._refers(caller, step.op.func, function):
                    plain = [arg.value for arg in step.op.args if arg.name is None]
                    named = [arg.value for arg in step.op.args if arg.name == name]
                    for value in named or plain[position - offset : position - offset + 1]:
                        self.value(caller, value)
                elif any(self._refers(caller, arg.value, function) for arg in step.op.args):
                    self.value(caller, step.op.func)

    def _refers(self, caller: Function, value: Expr, function: Function) -> bool:
        """Whether an argument is this method or closure itself."""
        match value:
            case Closure(key=key):
                return caller.closures.get(key) is function
            case Name():
                return any(
                    isinstance(source, Closure) and caller.closures.get(source.key) is function
                    for source in assigned_values(caller, value)
                )
            case _:
                return self.context.own_method(caller, value) is function

    def _returned(self, function: Function) -> None:
        if (id(function), Name("return")) in self.seen:
            return
        self.seen.add((id(function), Name("return")))
        for step in function.cfg.steps:
            match step.op:
                case Return(value=value) | Yield(value=value) if value is not None:
                    self.value(function, value)
                case _:
                    pass

    def _called(self, function: Function) -> None:
        """Add every name that a method of another class of the project calls."""
        for step in function.cfg.steps:
            if isinstance(step.op, Call):
                for symbol in self.context.resolve(function, step.op.func):
                    if isinstance(symbol, str):
                        self._symbol(symbol)


def field_values(
    context: RuleContext, functions: Iterable[Function], name: str
) -> Iterator[tuple[Function, Expr | Call]]:
    """Yield everything that these functions assign to a field of the component, or put into it."""
    for function in functions:
        own = context.own_name(function)
        if own is not None:
            yield from ((function, value) for value in assigned_values(function, Attr(own, name)))


def assigned_values(function: Function, place: Expr) -> Iterator[Expr | Call]:
    """Yield everything that a function assigns to a local or field, or puts into it."""
    for step in function.cfg.steps:
        match step.op:
            case Bind(target=target, value=value) | Update(target=target, value=value) if (
                _root(target) == place
            ):
                yield value
            case Unpack(targets=targets, value=value) if any(
                t is not None and _root(t) == place for t in targets
            ):
                yield value
            case Next(target=target, iterable=value) if target is not None and _root(target) == place:
                yield value
            case Call(result=result) as call if result == place:
                yield call
            case Call(func=Attr(obj=obj, name=name), args=args) if name in CONTAINER_STORES and obj == place:
                yield from (arg.value for arg in args)
            case _:
                pass


def _root(target: Expr) -> Expr:
    while isinstance(target, (Item, Star)):
        target = target.obj if isinstance(target, Item) else target.value
    return target
