"""Python's standard library, and libraries that components use."""

import builtins
import sys

from ackdoctor.libraries.vocabulary import SCHEDULERS, THREADS, Library, Wait

_REMOTE = (
    "asyncore ftplib http httplib imaplib mailbox multiprocessing nntplib poplib shelve smtplib socket sqlite3 ssl subprocess "
    "telnetlib urllib urllib2 xmlrpc xmlrpclib dbm"
).split()
_STANDARD = tuple(f"{name}." for name in (*sys.stdlib_module_names, *dir(builtins)))
_LOCAL = (  # numbers, dates, collections, text
    "arrow attr attrs cachetools cachetools2 dateutil numpy pandas pytz simplejson six sortedcontainers toolz ujson "
    "msgpack orjson jmespath blist bidict boltons more_itertools lxml bs4 yaml pydantic jsonschema marshmallow avro "
    "fastavro bson dateparser phonenumbers voluptuous cerberus google.protobuf"
).split()

_MEMORY = (
    "array bisect collections copy datetime decimal fractions functools heapq itertools math operator "
    "random re statistics string time uuid"
).split()

# sources: the documentation of queue, socket and threading; pyzmq `Socket.recv`, redis-py `blpop`, confluent-kafka `poll`,
# websocket-client `recv`, pulsar `Consumer.receive`
_QUEUES = ("queue.", "Queue.", "multiprocessing.", "gevent.queue.", "eventlet.queue.")
_WAITS = (
    *(Wait("get", (module,)) for module in _QUEUES),
    *(Wait(name, ("socket.",), 1) for name in ("recv", "recvfrom", "recv_into")),
    Wait("accept", ("socket.",)),
    *(Wait(name, ("zmq.",)) for name in ("recv", "recv_string", "recv_json", "recv_pyobj", "recv_multipart")),
    *(Wait(name, ("redis.",), 1, (None, 0)) for name in ("blpop", "brpop", "bzpopmin", "bzpopmax")),
    Wait("poll", ("confluent_kafka.",)),
    Wait("recv", ("websocket.",)),
    Wait("receive", ("pulsar.",)),
    Wait("wait", ("threading.",)),
)

PYTHON = Library(
    standard=_STANDARD,
    local=(*_STANDARD, *(f"{name}." for name in _LOCAL)),
    remote=tuple(f"{name}." for name in _REMOTE),
    memory=tuple(f"{name}." for name in _MEMORY),
    threads=THREADS,
    schedulers=SCHEDULERS,
    waits=_WAITS,
    sleeps={"time.sleep": 1, "gevent.sleep": 1, "eventlet.sleep": 1},
    limits=frozenset("settimeout setblocking setdefaulttimeout setsockopt set_timeout register".split()),
    lazy=frozenset("map filter".split()),
    nonempty=frozenset("split rsplit".split()),
)
