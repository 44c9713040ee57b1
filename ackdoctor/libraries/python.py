"""Python's standard library, and libraries that components use."""

import sys

from ackdoctor.libraries.library import Library
from ackdoctor.libraries.vocabulary import SCHEDULERS, THREADS

_REMOTE = (
    "asyncore ftplib http httplib imaplib multiprocessing poplib shelve smtplib socket sqlite3 ssl subprocess "
    "telnetlib urllib urllib2 xmlrpc xmlrpclib dbm"
).split()
_LOCAL = (  # numbers, dates, collections, text
    "arrow attr attrs cachetools cachetools2 dateutil numpy pandas pytz simplejson six sortedcontainers toolz ujson "
    "msgpack orjson jmespath blist bidict boltons more_itertools lxml bs4 yaml pydantic jsonschema marshmallow avro "
    "fastavro bson dateparser phonenumbers voluptuous cerberus google.protobuf"
).split()

_MEMORY = (
    "array bisect collections copy datetime decimal fractions functools heapq itertools math operator "
    "random re statistics string time uuid"
).split()

PYTHON = Library(
    local=tuple(f"{name}." for name in (*sys.stdlib_module_names, *_LOCAL)),
    remote=tuple(f"{name}." for name in _REMOTE),
    memory=tuple(f"{name}." for name in _MEMORY),
    threads=THREADS,
    schedulers=SCHEDULERS,
    lazy=frozenset("map filter".split()),
    nonempty=frozenset("split rsplit".split()),
)
